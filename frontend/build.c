/* build.c: graph values with the obvious folded, so that what users read in a dump is what they
 * wrote.
 *
 * Only index and predicate arithmetic is folded here; real arithmetic is left to the passes. */
#include "frontend/sema.h"

static value *elem(sema *s, op_id op, value *const *args, value *where)
{
    return graph_elem(s->g, op, args, where);
}

static bool is_int(const value *v, int64_t *i)
{
    if (v->op != OP_const || v->dt != DT_I64)
        return false;
    *i = v->i;
    return true;
}

/* v = base + c; base NULL: v is the constant c. */
static void split_const(sema *s, value *v, value **base, int64_t *c)
{
    int64_t k;
    *base = v;
    *c = 0;
    if (v->dt != DT_I64)
        return;
    if (is_int(v, &k)) {
        *base = NULL;
        *c = k;
    } else if (v->op == OP_dim && v->dim->n > 1 && v->dim->terms[v->dim->n - 1].n == 0) {
        *c = v->dim->terms[v->dim->n - 1].coef; /* S - 1 is S and -1 */
        *base = graph_dim(s->g, dim_sub(s->g->dims, v->dim, dim_const(s->g->dims, *c)));
    } else if ((v->op == OP_add || v->op == OP_sub) && !v->where && is_int(v->args[1], &k) &&
               k > INT32_MIN && k < INT32_MAX) {
        *base = v->args[0];
        *c = v->op == OP_add ? k : -k;
    } else if (v->op == OP_add && !v->where && is_int(v->args[0], &k)) {
        *base = v->args[1];
        *c = k;
    }
}

/* The same with the numbers of fixed dims: for comparisons and proofs. */
static void split_number(sema *s, value *v, value **base, int64_t *c)
{
    int64_t k;
    split_const(s, v, base, c);
    if (!*base || (*base)->op != OP_dim)
        return;
    const dim *d = dims_value(s, (*base)->dim);
    if (!d || d == (*base)->dim)
        return;
    value *rest;
    split_const(s, dim_is_const(d, &k) ? graph_int(s->g, k) : graph_dim(s->g, d), &rest, &k);
    *base = rest;
    *c += k;
}

static value *add_const(sema *s, value *base, int64_t c, value *where)
{
    if (!base)
        return graph_int(s->g, c);
    if (c == 0)
        return base;
    value *args[] = {base, graph_int(s->g, c < 0 ? -c : c)};
    return elem(s, c < 0 ? OP_sub : OP_add, args, where);
}

bool value_is_data(const value *v)
{
    switch (v->op) {
    case OP_const:
    case OP_dim:
    case OP_index:
        return false;
    default:
        if (!OP_HAS(v->op, T_ELEM))
            return true;
        for (uint32_t i = 0; i < v->n_args; i++)
            if (value_is_data(v->args[i]))
                return true;
        return v->where && value_is_data(v->where);
    }
}

value *b_int(sema *s, int64_t i)
{
    return graph_int(s->g, i);
}

value *b_dim(sema *s, const dim *d)
{
    int64_t c;
    d = dims_resolve(s, d);
    return dim_is_const(d, &c) ? graph_int(s->g, c) : graph_dim(s->g, d);
}

value *b_zero(sema *s, dtype dt)
{
    return dt == DT_I64    ? graph_int(s->g, 0)
           : dt == DT_BOOL ? graph_bool(s->g, false)
                           : graph_real(s->g, 0.0);
}

value *b_real(sema *s, value *v)
{
    int64_t i;
    if (v->dt != DT_I64)
        return v;
    if (is_int(v, &i))
        return graph_real(s->g, (double)i);
    return elem(s, OP_real, &v, NULL);
}

value *b_elem1(sema *s, op_id op, value *a, value *where)
{
    if (op == OP_neg && a->op == OP_const) {
        if (a->dt != DT_I64)
            return graph_real(s->g, -a->f);
        if (a->i != INT64_MIN)
            return graph_int(s->g, -a->i);
    }
    return elem(s, op, &a, where);
}

value *b_elem(sema *s, op_id op, value *a, value *b, value *where)
{
    int64_t x, y;
    if (a->dt == DT_I64 && OP_HAS(op, T_TRAP) && !value_is_data(a) && !value_is_data(b))
        where = NULL; /* index arithmetic is exact: dims are below DIM_LIMIT */
    if (a->dt == DT_I64 && (op == OP_add || op == OP_sub) && b->dt == DT_I64) {
        if (is_int(a, &x) && is_int(b, &y)) {
            int64_t r;
            bool over =
                op == OP_add ? __builtin_add_overflow(x, y, &r) : __builtin_sub_overflow(x, y, &r);
            if (!over)
                return graph_int(s->g, r);
        } else if (is_int(b, &y) && y > INT32_MIN && y < INT32_MAX) {
            value *base;
            int64_t c;
            split_const(s, a, &base, &c);
            if (base && (a == base || !where))
                return add_const(s, base, op == OP_add ? c + y : c - y, where);
        } else if (op == OP_add && is_int(a, &x) && x > INT32_MIN && x < INT32_MAX) {
            return add_const(s, b, x, where);
        }
    }
    if (a->dt == DT_I64 && op == OP_mul) {
        if (is_int(a, &x) && is_int(b, &y)) {
            int64_t r;
            if (!__builtin_mul_overflow(x, y, &r))
                return graph_int(s->g, r);
        }
        if (is_int(a, &x) && x == 1)
            return b;
        if (is_int(b, &y) && y == 1)
            return a;
    }
    value *args[] = {a, b};
    return elem(s, op, args, where);
}

value *b_select(sema *s, value *c, value *a, value *b)
{
    if (!c)
        return a;
    if (c->op == OP_const)
        return c->i ? a : b;
    if (a == b)
        return a;
    value *args[] = {c, a, b};
    return elem(s, OP_select, args, NULL);
}

static bool conj_has(const value *p, const value *q)
{
    if (p == q)
        return true;
    return p->op == OP_and && (conj_has(p->args[0], q) || conj_has(p->args[1], q));
}

value *b_and(sema *s, value *a, value *b)
{
    if (!a || (a->op == OP_const && a->i))
        return b && b->op == OP_const && b->i ? NULL : b;
    if (!b || (b->op == OP_const && b->i))
        return a;
    if (a->op == OP_const)
        return a;
    if (b->op == OP_const)
        return b;
    if (conj_has(a, b))
        return a;
    if (conj_has(b, a))
        return b;
    if (b->op == OP_and) /* left-leaning, so that equal parts meet */
        return b_and(s, b_and(s, a, b->args[0]), b->args[1]);
    value *args[] = {a, b};
    return elem(s, OP_and, args, NULL);
}

value *b_or(sema *s, value *a, value *b)
{
    if (!a || !b)
        return NULL;
    if (a->op == OP_const)
        return a->i ? NULL : b;
    if (b->op == OP_const)
        return b->i ? NULL : a;
    if (a == b)
        return a;
    value *args[] = {a, b};
    return elem(s, OP_or, args, NULL);
}

value *b_not(sema *s, value *a)
{
    if (!a)
        return graph_bool(s->g, false);
    if (a->op == OP_const)
        return graph_bool(s->g, !a->i);
    if (a->op == OP_not)
        return a->args[0];
    if (a->args && a->n_args == 2 && a->args[0]->dt == DT_I64) {
        if (a->op == OP_le)
            return b_cmp(s, OP_lt, a->args[1], a->args[0]);
        if (a->op == OP_lt)
            return b_cmp(s, OP_le, a->args[1], a->args[0]);
        if (a->op == OP_eq)
            return b_cmp(s, OP_ne, a->args[0], a->args[1]);
        if (a->op == OP_ne)
            return b_cmp(s, OP_eq, a->args[0], a->args[1]);
    }
    return elem(s, OP_not, &a, NULL);
}

value *b_cmp(sema *s, op_id op, value *a, value *b)
{
    if (a->dt == DT_I64 && b->dt == DT_I64) {
        value *ab, *bb;
        int64_t ac, bc;
        split_number(s, a, &ab, &ac);
        split_number(s, b, &bb, &bc);
        if ((a->where && ab != a) || (b->where && bb != b)) {
            ab = a, bb = b, ac = bc = 0; /* a checked sum keeps its check */
        }
        if (!ab && !bb) {
            bool r = op == OP_eq   ? ac == bc
                     : op == OP_ne ? ac != bc
                     : op == OP_lt ? ac < bc
                                   : ac <= bc;
            return graph_bool(s->g, r);
        }
        if (ab == bb) {
            bool r = op == OP_eq   ? ac == bc
                     : op == OP_ne ? ac != bc
                     : op == OP_lt ? ac < bc
                                   : ac <= bc;
            return graph_bool(s->g, r);
        }
        int64_t d = bc - ac;                    /* ab op bb + d */
        if (op == OP_le && d < 0 && ab && bb) { /* `s + 2 <= S` reads better as `s + 1 < S` */
            op = OP_lt;
            d += 1;
        }
        if (!ab) { /* a constant against b: -d op bb */
            /* `-1 < x` reads better as `0 <= x` */
            if (op == OP_lt && -d < INT32_MAX && -d > INT32_MIN) {
                op = OP_le;
                d -= 1;
            }
            a = graph_int(s->g, -d);
            b = bb;
        } else if (!bb) {
            a = ab;
            b = graph_int(s->g, d);
        } else {
            a = d < 0 ? add_const(s, ab, -d, NULL) : ab;
            b = d > 0 ? add_const(s, bb, d, NULL) : bb;
        }
        /* decided for every value of the symbols? */
        const dim *alo, *ahi, *blo, *bhi;
        if (value_int_bounds(s, a, &alo, &ahi) && value_int_bounds(s, b, &blo, &bhi)) {
            if ((op == OP_le && dims_le(s, ahi, blo)) || (op == OP_lt && dims_lt(s, ahi, blo)))
                return graph_bool(s->g, true);
        }
    }
    value *args[] = {a, b};
    return elem(s, op, args, NULL);
}

/* v with index values put for indices. Int and bool arithmetic is built anew, anything else is read
 * there. */
static value *subst(sema *s, value *v, const ix *const *from, value *const *to, uint32_t n,
                    value *where)
{
    bool touched = false;
    for (uint32_t i = 0; v && i < v->n_ix; i++)
        for (uint32_t k = 0; k < n; k++)
            touched = touched || v->ix[i] == from[k];
    if (!touched)
        return v;
    if (v->op == OP_index) {
        for (uint32_t k = 0; k < n; k++)
            if (v->ix[0] == from[k])
                return to[k];
    }
    if (value_is_data(v) || v->where || v->n_args == 0 || v->n_args > 2)
        return b_read(s, v, from, to, n, where); /* elsewhere it may lie outside v */
    value *a = subst(s, v->args[0], from, to, n, where);
    value *b = v->n_args == 2 ? subst(s, v->args[1], from, to, n, where) : NULL;
    switch (v->op) {
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        return b_cmp(s, v->op, a, b);
    case OP_and:
    case OP_or: {
        value *r = v->op == OP_and ? b_and(s, a, b) : b_or(s, a, b);
        return r ? r : graph_bool(s->g, true);
    }
    case OP_not:
        return b_not(s, a);
    default:
        return b ? b_elem(s, v->op, a, b, NULL) : b_elem1(s, v->op, a, NULL);
    }
}

value *b_read(sema *s, value *x, const ix *const *from, value *const *to, uint32_t n, value *where)
{
    value **index = ARENA_ARRAY(s->a, value *, x->n_ix ? x->n_ix : 1);
    bool same = true;
    for (uint32_t i = 0; i < x->n_ix; i++) {
        index[i] = graph_index(s->g, x->ix[i]);
        for (uint32_t k = 0; k < n; k++)
            if (from[k] == x->ix[i]) {
                same = same && to[k] == index[i];
                index[i] = to[k];
            }
    }
    if (same && (!where || x->n_ix == 0) && !x->optional)
        return x;
    if (x->op == OP_read) { /* a read of a read is one read */
        value **inner = ARENA_ARRAY(s->a, value *, x->n_args);
        for (uint32_t i = 1; i < x->n_args; i++)
            inner[i - 1] = subst(s, x->args[i], from, to, n, where);
        value *base = x->args[0];
        value *cond = x->where ? subst(s, x->where, from, to, n, where) : NULL;
        cond = b_and(s, cond, where);
        bool identity = !cond && !base->optional;
        for (uint32_t i = 0; i < base->n_ix && identity; i++)
            identity = inner[i]->op == OP_index && inner[i]->ix[0] == base->ix[i];
        return identity ? base : graph_read(s->g, base, inner, cond);
    }
    return graph_read(s->g, x, index, where);
}

bool value_int_bounds(sema *s, const value *v, const dim **lo, const dim **hi)
{
    dims *t = s->g->dims;
    const dim *alo, *ahi, *blo, *bhi;
    int64_t c;
    *lo = *hi = NULL;
    if (v->dt != DT_I64)
        return false;
    switch (v->op) {
    case OP_const:
        *lo = *hi = dim_const(t, v->i);
        break;
    case OP_dim:
        *lo = *hi = dims_resolve(s, v->dim);
        break;
    case OP_index:
        *lo = dim_const(t, 0);
        *hi = dim_sub(t, dims_resolve(s, v->ix[0]->extent), dim_const(t, 1));
        break;
    case OP_add:
    case OP_sub:
    case OP_min:
    case OP_max:
        if (!value_int_bounds(s, v->args[0], &alo, &ahi) ||
            !value_int_bounds(s, v->args[1], &blo, &bhi))
            return false;
        *lo = v->op == OP_add   ? dim_add(t, alo, blo)
              : v->op == OP_sub ? dim_sub(t, alo, bhi)
              : v->op == OP_min ? dim_min(t, alo, blo)
                                : dim_max(t, alo, blo);
        *hi = v->op == OP_add   ? dim_add(t, ahi, bhi)
              : v->op == OP_sub ? dim_sub(t, ahi, blo)
              : v->op == OP_min ? dim_min(t, ahi, bhi)
                                : dim_max(t, ahi, bhi);
        break;
    case OP_neg:
        if (!value_int_bounds(s, v->args[0], &alo, &ahi))
            return false;
        *lo = dim_sub(t, dim_const(t, 0), ahi);
        *hi = dim_sub(t, dim_const(t, 0), alo);
        break;
    case OP_mul:
        if (!value_int_bounds(s, v->args[0], &alo, &ahi) ||
            !value_int_bounds(s, v->args[1], &blo, &bhi))
            return false;
        if (blo == bhi && dims_const(s, blo, &c) && c < 0) {
            *lo = dim_mul(t, ahi, blo);
            *hi = dim_mul(t, alo, blo);
        } else if (dims_le(s, dim_const(t, 0), blo) && dims_le(s, dim_const(t, 0), alo)) {
            *lo = dim_mul(t, alo, blo);
            *hi = dim_mul(t, ahi, bhi); /* an empty index gives -1 here: then nothing is read */
        } else if (blo == bhi && dims_le(s, dim_const(t, 0), blo)) {
            *lo = dim_mul(t, alo, blo);
            *hi = dim_mul(t, ahi, blo);
        } else {
            return false;
        }
        break;
    case OP_idiv:
    case OP_imod:
        if (!value_int_bounds(s, v->args[0], &alo, &ahi) ||
            !value_int_bounds(s, v->args[1], &blo, &bhi) || blo != bhi)
            return false;
        if (v->op == OP_imod) {
            if (!dims_le(s, dim_const(t, 0), blo))
                return false;
            *lo = dim_const(t, 0);
            *hi = dim_sub(t, blo, dim_const(t, 1));
        } else {
            if (!dims_le(s, dim_const(t, 1), blo) && !dims_le(s, dim_const(t, 0), alo))
                return false;
            *lo = dim_floordiv(t, alo, blo);
            *hi = dim_floordiv(t, ahi, blo);
        }
        break;
    case OP_select:
        if (!value_int_bounds(s, v->args[1], &alo, &ahi) ||
            !value_int_bounds(s, v->args[2], &blo, &bhi))
            return false;
        *lo = dim_min(t, alo, blo);
        *hi = dim_max(t, ahi, bhi);
        break;
    default:
        return false;
    }
    return *lo && *hi;
}

bool value_as_dim(sema *s, const value *v, const dim **d)
{
    dims *t = s->g->dims;
    const dim *a, *b;
    *d = NULL;
    if (v->dt != DT_I64)
        return false;
    if (v->op == OP_const)
        *d = dim_const(t, v->i);
    else if (v->op == OP_dim)
        *d = dims_resolve(s, v->dim);
    else if (v->n_args == 2 && value_as_dim(s, v->args[0], &a) && value_as_dim(s, v->args[1], &b))
        *d = v->op == OP_add    ? dim_add(t, a, b)
             : v->op == OP_sub  ? dim_sub(t, a, b)
             : v->op == OP_mul  ? dim_mul(t, a, b)
             : v->op == OP_idiv ? dim_floordiv(t, a, b)
             : v->op == OP_imod ? dim_mod(t, a, b)
             : v->op == OP_max  ? dim_max(t, a, b)
             : v->op == OP_min  ? dim_min(t, a, b)
                                : NULL;
    return *d != NULL;
}

/* What `x op y` says as base_x <= base_y + c. */
static bool says_le(sema *s, value *p, bool flip, value **xb, value **yb, int64_t *c)
{
    if (p->n_args != 2 || p->args[0]->dt != DT_I64 ||
        (p->op != OP_le && p->op != OP_lt && p->op != OP_eq) || (flip && p->op != OP_eq))
        return false;
    int64_t xc, yc;
    split_number(s, p->args[flip ? 1 : 0], xb, &xc);
    split_number(s, p->args[flip ? 0 : 1], yb, &yc);
    *c = yc - xc - (p->op == OP_lt);
    return true;
}

bool proved_le(sema *s, value *a, value *b, int64_t slack)
{
    value *ab, *bb;
    int64_t ac, bc;
    const dim *alo, *ahi, *blo, *bhi;
    if (value_int_bounds(s, a, &alo, &ahi) && value_int_bounds(s, b, &blo, &bhi) &&
        dims_le(s, dim_add(s->g->dims, ahi, dim_const(s->g->dims, slack)), blo))
        return true;
    split_number(s, a, &ab, &ac);
    split_number(s, b, &bb, &bc);
    return ab == bb && ac - bc <= -slack;
}

value *pred_prover(sema *s, value *pred, value *a, value *b, int64_t slack)
{
    value *ab, *bb, *xb, *yb;
    int64_t ac, bc, c;
    if (!pred)
        return NULL;
    if (pred->op == OP_and) {
        value *p = pred_prover(s, pred->args[0], a, b, slack);
        return p ? p : pred_prover(s, pred->args[1], a, b, slack);
    }
    split_number(s, a, &ab, &ac);
    split_number(s, b, &bb, &bc);
    for (int flip = 0; flip < 2; flip++)
        if (says_le(s, pred, flip, &xb, &yb, &c) && xb == ab && yb == bb && c + ac - bc <= -slack)
            return pred;
    return NULL;
}

bool pred_implies_le(sema *s, value *pred, value *a, value *b, int64_t slack)
{
    return proved_le(s, a, b, slack) || pred_prover(s, pred, a, b, slack);
}
