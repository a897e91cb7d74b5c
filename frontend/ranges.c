/* ranges.c: which numbers an index runs over.
 *
 * Indices of graph values are canonical: the first free one of an extent is used, so that equal
 * terms written with different letters are one value. */
#include "frontend/sema.h"

#include <string.h>

const ix *pool_ix(sema *s, const dim *extent, const ix *const *avoid, size_t n_avoid,
                  const char *hint)
{
    extent = dims_resolve(s, extent);
    for (size_t i = 0; i < s->pool.n; i++) {
        struct poolix *p = &s->pool.v[i];
        if (p->extent != extent)
            continue;
        bool taken = false;
        for (size_t k = 0; k < n_avoid && !taken; k++)
            taken = avoid[k] == p->ix;
        if (!taken)
            return p->ix;
    }
    const char *name = intern_printf(s->names, "%s'%zu", hint ? hint : "i", s->pool.n);
    struct poolix p = {extent, graph_ix(s->g, name, extent)};
    vec_push(s->a, &s->pool, p);
    return p.ix;
}

static void add_ix(ix_list *out, arena *a, const ix *i)
{
    for (size_t k = 0; k < out->n; k++)
        if (out->v[k] == i)
            return;
    vec_push(a, out, i);
}

void env_ixs(const env *e, ix_list *out, arena *a)
{
    for (const scope *sc = e->indices; sc; sc = sc->up)
        add_ix(out, a, sc->ix);
    for (uint32_t i = 0; i < e->in->n_ctx; i++)
        add_ix(out, a, e->in->ctx[i]);
}

void tv_ixs(const tv *v, ix_list *out, arena *a)
{
    if (v->kind != TV_VALUE)
        return;
    for (uint32_t i = 0; i < v->v->n_ix; i++)
        add_ix(out, a, v->v->ix[i]);
    for (uint32_t i = 0; v->support && i < v->support->n_ix; i++)
        add_ix(out, a, v->support->ix[i]);
    for (uint32_t i = 0; i < v->n_axes; i++)
        for (uint32_t k = 0; k < v->axes[i].n; k++)
            add_ix(out, a, v->axes[i].ix[k]);
}

/* --- ranges from uses --- */

static const scope *in_scope(const env *e, const char *name)
{
    for (const scope *sc = e->indices; sc; sc = sc->up)
        if (sc->name == name)
            return sc;
    return NULL;
}

typedef struct uses {
    env *e;
    const char *name;
    bool report, conflict;
    const dim *extent, *lo;
    span at;
    const char *of;
    bool of_given;          /* an input or param: its size is its own */
    const ast_expr *absent; /* indexed by it, but not defined */
    bool failed;            /* indexed by it, but with an error of its own */
} uses;

static void found(uses *u, const dim *extent, const dim *lo, span at, const char *of, bool given)
{
    sema *s = u->e->in->s;
    if (!u->extent) {
        u->extent = extent;
        u->lo = lo;
        u->at = at;
        u->of = of;
        u->of_given = given;
        return;
    }
    if (dims_same(s, u->extent, extent) || u->conflict)
        return;
    if ((!given || !u->of_given) && dims_unify(s, u->extent, extent))
        return; /* a local's size that nothing has decided yet */
    u->conflict = true;
    if (u->report) {
        diag *d = diag_error(s->ds, at,
                             "index %s has two ranges: %s (an axis of %s) and %s (an axis of %s)",
                             u->name, dims_show(s, u->extent), u->of, dims_show(s, extent), of);
        diag_note(d, u->at, "%s ranges over %s here", u->name, dims_show(s, u->extent));
        diag_help(d, "say which it is: `%s in %s`", u->name, dims_show(s, u->extent));
    }
}

static void walk(uses *u, const ast_expr *x);

static void walk_index(uses *u, const ast_index *ix)
{
    if (!ix)
        return;
    for (size_t i = 0; i < ix->n; i++) {
        if (ix->items[i].e)
            walk(u, ix->items[i].e);
        if (ix->items[i].hi)
            walk(u, ix->items[i].hi);
    }
    if (ix->where)
        walk(u, ix->where);
}

static bool mentions(const ast_expr *x, const char *name);

static void use_of_tensor(uses *u, tensor *t, const ast_expr *x)
{
    const ast_index *ix = x->index;
    size_t item = 0;
    if (t == u->e->defining)
        return;
    if (!tensor_sig(t) || (t->given && t->val.kind == TV_POISON)) {
        u->failed = u->failed || t->sig == P_BAD || t->given;
        u->e->in->s->met_unknown++;
        return;
    }
    for (uint32_t i = 0; i < t->n_axes && item < ix->n; i++)
        for (uint32_t k = 0; k < t->axes[i].n && item < ix->n; k++, item++) {
            const ast_item *it = &ix->items[item];
            if (it->kind == AST_ITEM_EXPR && it->e->kind == AST_NAME && it->e->name == u->name)
                found(u, t->axes[i].d[k], axis_lo(&t->axes[i], k), it->at, t->name, t->given);
        }
}

/* An index of a call's result, `llm(ids)[t-1, v]`: its axes are known from a trial. */
static void use_of_value(uses *u, const ast_expr *x)
{
    sema *s = u->e->in->s;
    bool wanted = false;
    for (size_t i = 0; i < x->index->n && !wanted; i++)
        wanted = x->index->items[i].kind == AST_ITEM_EXPR &&
                 x->index->items[i].e->kind == AST_NAME && x->index->items[i].e->name == u->name;
    if (!wanted)
        return;
    env e = *u->e;
    e.reader = NULL;
    s->trial++;
    s->ds->muted++;
    tv v = elab(&e, x->a);
    s->ds->muted--;
    s->trial--;
    size_t item = 0;
    for (uint32_t i = 0; v.kind == TV_VALUE && i < v.n_axes; i++)
        for (uint32_t k = 0; k < v.axes[i].n && item < x->index->n; k++, item++) {
            const ast_item *it = &x->index->items[item];
            if (it->kind == AST_ITEM_EXPR && it->e->kind == AST_NAME && it->e->name == u->name)
                found(u, v.axes[i].d[k], NULL, it->at, "this call's result", true);
        }
}

static void walk(uses *u, const ast_expr *x)
{
    if (!x)
        return;
    if (x->kind == AST_INDEX && x->a && x->a->kind == AST_CALL)
        use_of_value(u, x);
    if (x->kind == AST_INDEX && x->a && x->a->kind == AST_NAME) {
        entity n;
        bool wanted = false;
        for (size_t i = 0; i < x->index->n && !wanted; i++)
            wanted = x->index->items[i].kind == AST_ITEM_EXPR &&
                     x->index->items[i].e->kind == AST_NAME &&
                     x->index->items[i].e->name == u->name;
        if (wanted && lookup(u->e, x->a->name, &n)) {
            if (n.kind == N_TENSOR)
                use_of_tensor(u, n.t, x);
            else if (n.kind == N_PART && n.p->index && x->index->n == 1)
                found(u, n.p->extent, n.p->lo, x->index->items[0].at, n.name, true);
        } else if (wanted && !in_scope(u->e, x->a->name) && !u->absent) {
            u->absent = x->a;
        }
    }
    walk(u, x->a);
    walk(u, x->b);
    walk_index(u, x->index);
    for (size_t i = 0; x->items && i < x->n; i++)
        walk(u, x->items[i]);
    for (size_t i = 0; x->args && i < x->n; i++)
        walk(u, x->args[i].e);
}

bool range_from_uses(env *e, const char *name, const ast_expr *const *where_used, size_t n, span at,
                     const dim **extent, const dim **lo, bool report)
{
    sema *s = e->in->s;
    uses u = {.e = e, .name = name, .report = report};
    for (size_t i = 0; i < n; i++)
        walk(&u, where_used[i]);
    *extent = u.extent;
    *lo = u.lo;
    if (u.conflict)
        return false;
    if (u.extent)
        return true;
    if (report && !s->trial && u.absent) {
        elab(e, u.absent); /* says that it is not defined */
    } else if (report && !s->trial && !u.failed) {
        bool used = false;
        for (size_t i = 0; i < n; i++)
            used = used || (where_used[i] && mentions(where_used[i], name));
        diag *d = diag_error(s->ds, at, "index %s has no range", name);
        diag_help(
            d,
            used ? "no axis is indexed by %s alone here; say what it ranges over: `%s in S` or "
                   "`%s in 0..n`"
                 : "%s is not used as an index of anything; say what it ranges over: `%s in S` "
                   "or `%s in 0..n`",
            name, name, name);
    }
    return false;
}

/* --- binders --- */

static bool mentions(const ast_expr *x, const char *name)
{
    if (!x)
        return false;
    if (x->kind == AST_NAME && x->name == name)
        return true;
    if (mentions(x->a, name) || mentions(x->b, name))
        return true;
    for (size_t i = 0; x->items && i < x->n; i++)
        if (mentions(x->items[i], name))
            return true;
    for (size_t i = 0; x->args && i < x->n; i++)
        if (mentions(x->args[i].e, name))
            return true;
    for (size_t i = 0; x->index && i < x->index->n; i++)
        if (mentions(x->index->items[i].e, name) || mentions(x->index->items[i].hi, name))
            return true;
    return x->index && mentions(x->index->where, name);
}

/* The leftmost name of a condition. */
static const ast_expr *first_name(const ast_expr *x)
{
    if (!x)
        return NULL;
    if (x->kind == AST_NAME)
        return x;
    const ast_expr *r = x->kind == AST_CALL ? NULL : first_name(x->a);
    for (size_t i = 0; !r && x->items && i < x->n; i++)
        r = first_name(x->items[i]);
    for (size_t i = 0; !r && x->args && i < x->n; i++)
        r = first_name(x->args[i].e);
    return r ? r : first_name(x->b);
}

void index_shadows(inst *in, const char *name, span at, span first, const char *what)
{
    diag *d = diag_error(in->s->ds, at, "index %s has the name of a %s", name, what);
    if (first.file)
        diag_note(d, first, "the %s %s is named here", what, name);
    diag_help(d, "choose another letter for the index");
}

static bool shadows(env *e, const char *name, span at)
{
    entity *n = inst_find(e->in, name);
    span first = {0};
    const char *what = NULL;
    if (n && n->kind != N_FUNC) {
        first = n->at;
        what = n->kind == N_TENSOR ? "tensor" : n->kind == N_PART ? "part" : "constant";
    } else if (dims_find(e->in, name)) {
        what = "dimension";
        first = dim_place(e->in, name);
    }
    if (!what)
        return false;
    index_shadows(e->in, name, at, first, what);
    return true;
}

/* `S`, `a..b`: extent and first value; a condition where the ends depend on outer indices. */
static bool range_of_item(env *e, const ast_item *it, const dim **extent, const dim **lo, value **a,
                          value **b)
{
    sema *s = e->in->s;
    dims *t = s->g->dims;
    *a = *b = NULL;
    *lo = NULL;
    if (!it->hi) {
        /* a dim, or the indices of a tensor's first axis */
        return (*extent = dims_eval(e->in, it->e)) != NULL;
    }
    tv x = elab(e, it->e), y = elab(e, it->hi);
    if (tv_bad(&x) || tv_bad(&y))
        return false;
    if (x.v->dt != DT_I64 || y.v->dt != DT_I64 || x.n_axes || y.n_axes) {
        diag *d = diag_error(s->ds, it->at, "the ends of a range are whole numbers");
        diag_help(d, "write `%s in 0..n` with ints, or `%s in S` with a dimension", it->name.s,
                  it->name.s);
        return false;
    }
    const dim *xlo, *xhi, *ylo, *yhi;
    if (!value_int_bounds(s, x.v, &xlo, &xhi) || !value_int_bounds(s, y.v, &ylo, &yhi)) {
        diag *d = diag_error(s->ds, it->at, "the ends of this range are known only while running");
        diag_help(d, "range over an axis and narrow it: `%s in S where %s <= ...`", it->name.s,
                  it->name.s);
        return false;
    }
    *extent = dim_max(t, dim_const(t, 0), dim_add(t, dim_sub(t, yhi, xlo), dim_const(t, 1)));
    *lo = xlo;
    if (xlo != xhi)
        *a = x.v;
    if (ylo != yhi)
        *b = y.v;
    return *extent != NULL;
}

bool bind_items(env *e, const ast_index *ixs, const ast_expr *const *bodies, size_t n_bodies,
                const ix ***bound, uint32_t *n_bound, const dim ***los, value **cond)
{
    sema *s = e->in->s;
    VEC(const ix *) b = {0};
    VEC(const dim *) l = {0};
    bool ok = true;
    *cond = NULL;

    /* where an index may be used: the bodies, and the conditions beside it */
    VEC(const ast_expr *) used = {0};
    for (size_t i = 0; i < n_bodies; i++)
        vec_push(s->a, &used, bodies[i]);
    if (ixs->where)
        vec_push(s->a, &used, ixs->where);
    for (size_t i = 0; i < ixs->n; i++)
        if (ixs->items[i].kind == AST_ITEM_EXPR && ixs->items[i].e->kind != AST_NAME)
            vec_push(s->a, &used, ixs->items[i].e);

    for (size_t i = 0; i < ixs->n; i++) {
        const ast_item *it = &ixs->items[i];
        const dim *extent = NULL, *lo = NULL;
        value *from = NULL, *to = NULL;
        ast_name name = it->name;
        if (it->kind == AST_ITEM_ALL || it->kind == AST_ITEM_RANGE) {
            diag_help(diag_error(s->ds, it->at, "an index is expected here"),
                      "name it: `i`, `i in S` or `i <= n`");
            ok = false;
            continue;
        }
        if (it->kind == AST_ITEM_EXPR) {
            const ast_expr *first = first_name(it->e);
            if (!first || in_scope(e, first->name)) {
                if (it->e->kind == AST_NAME || !first) {
                    diag *d = diag_error(s->ds, it->at,
                                         first ? "index %s is bound already"
                                               : "an index is expected here%s",
                                         first ? first->name : "");
                    if (first)
                        diag_note(d, in_scope(e, first->name)->at, "it is bound here");
                    diag_help(d, first ? "choose another letter for one of them"
                                       : "name it: `i`, `i in S` or `i <= n`");
                    ok = false;
                }
                continue; /* narrows only: done below */
            }
            name = (ast_name){first->name, first->at};
        }
        if (in_scope(e, name.s)) {
            diag *d = diag_error(s->ds, name.at, "index %s is bound already", name.s);
            diag_note(d, in_scope(e, name.s)->at, "it is bound here");
            diag_help(d, "choose another letter for one of them");
            ok = false;
            continue;
        }
        if (shadows(e, name.s, name.at)) {
            ok = false;
            continue;
        }
        bool have = it->kind == AST_ITEM_IN
                        ? range_of_item(e, it, &extent, &lo, &from, &to)
                        : range_from_uses(e, name.s, used.v, used.n, name.at, &extent, &lo, true);
        if (!have) {
            ok = false;
            continue;
        }
        ix_list avoid = {0};
        env_ixs(e, &avoid, s->a);
        scope *sc = ARENA_NEW(s->a, scope);
        *sc = (scope){(scope *)e->indices, name.s, pool_ix(s, extent, avoid.v, avoid.n, name.s), lo,
                      name.at};
        e->indices = sc;
        vec_push(s->a, &b, sc->ix);
        vec_push(s->a, &l, lo);
        value *me = graph_index(s->g, sc->ix);
        if (lo)
            me = b_elem(s, OP_add, me, b_dim(s, lo), NULL);
        if (from)
            *cond = b_and(s, *cond, b_cmp(s, OP_le, from, me));
        if (to)
            *cond = b_and(s, *cond, b_cmp(s, OP_le, me, to));
    }
    value *outer = e->demand;
    e->demand = b_and(s, outer, *cond);
    for (size_t i = 0; ok && i < ixs->n; i++) {
        const ast_item *it = &ixs->items[i];
        if (it->kind != AST_ITEM_EXPR || it->e->kind == AST_NAME)
            continue;
        value *c = elab_condition(e, it->e);
        ok = c != NULL;
        *cond = ok ? b_and(s, *cond, c) : NULL;
        e->demand = b_and(s, outer, *cond);
    }
    if (ok && ixs->where) {
        value *c = elab_condition(e, ixs->where);
        ok = c != NULL;
        *cond = ok ? b_and(s, *cond, c) : NULL;
        e->demand = b_and(s, outer, *cond);
    }
    *bound = b.v;
    *n_bound = (uint32_t)b.n;
    *los = l.v;
    return ok;
}
