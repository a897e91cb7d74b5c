/* causal_bounds.c: upper bounds of indices relative to a step: from sums, from predicates, through
 * reads. What cannot be bounded has none; nothing is guessed. */
#include "frontend/causal_bounds.h"

#include <string.h>

enum { MAX_LEAVES = 24 }; /* of one sum of indices; longer: no bound */

bool at_most_step(sema *s, const dim *up)
{
    return up && dim_proved_le(s->g->dims, up, dim_const(s->g->dims, 0));
}

/* --- bounds of index arithmetic --- */

typedef struct leaf {
    const value *v;
    bool minus;
} leaf;

typedef struct sum {
    uint32_t n;
    leaf leaf[MAX_LEAVES];
    bool too_long;
} sum;

static void add_leaves(sum *m, const value *v, bool minus)
{
    if (v->dt == DT_I64 && (v->op == OP_add || v->op == OP_sub)) {
        add_leaves(m, v->args[0], minus);
        add_leaves(m, v->args[1], minus != (v->op == OP_sub));
    } else if (v->dt == DT_I64 && v->op == OP_neg) {
        add_leaves(m, v->args[0], !minus);
    } else if (m->n == MAX_LEAVES) {
        m->too_long = true;
    } else {
        m->leaf[m->n++] = (leaf){v, minus};
    }
}

const bound *bound_of(const known *k, const ix *i)
{
    for (uint32_t j = 0; j < k->n; j++)
        if (k->ix[j] == i)
            return &k->b[j];
    return NULL;
}

/* The upper end of the leaves but `skip`; NULL: none. */
static const dim *highest(sema *s, const sum *m, uint32_t skip)
{
    dims *t = s->g->dims;
    const dim *total = dim_const(t, 0), *lo, *hi;
    for (uint32_t i = 0; i < m->n; i++) {
        if (i == skip)
            continue;
        if (!value_int_bounds(s, m->leaf[i].v, &lo, &hi))
            return NULL;
        total = m->leaf[i].minus ? dim_sub(t, total, lo) : dim_add(t, total, hi);
    }
    return total;
}

static bound smaller(sema *s, bound a, bound b)
{
    if (!a.up || !b.up)
        return a.up ? a : b;
    if (dim_proved_le(s->g->dims, a.up, b.up))
        return a;
    if (dim_proved_le(s->g->dims, b.up, a.up))
        return b;
    return at_most_step(s, b.up) || (a.by_range && !b.by_range) ? b : a;
}

static bound larger(sema *s, bound a, bound b)
{
    if (!a.up || !b.up)
        return a.up ? b : a;
    return smaller(s, a, b).up == a.up ? b : a;
}

static bound upper(sema *s, const known *k, const value *v);

static bound upper_of_leaf(sema *s, const known *k, const value *v)
{
    dims *t = s->g->dims;
    const dim *lo, *hi;
    bound r = {0};
    switch (v->op) {
    case OP_index: {
        const bound *b = bound_of(k, v->ix[0]);
        return b ? *b : r;
    }
    case OP_min:
        return smaller(s, upper(s, k, v->args[0]), upper(s, k, v->args[1]));
    case OP_max:
        return larger(s, upper(s, k, v->args[0]), upper(s, k, v->args[1]));
    case OP_select:
        return larger(s, upper(s, k, v->args[1]), upper(s, k, v->args[2]));
    case OP_idiv: /* i // n <= i and i % n <= i for what is not negative */
    case OP_imod:
        if (value_int_bounds(s, v->args[0], &lo, &hi) && dim_proved_le(t, dim_const(t, 0), lo) &&
            value_int_bounds(s, v->args[1], &lo, &hi) && dim_proved_le(t, dim_const(t, 0), lo))
            return upper(s, k, v->args[0]);
        return r;
    default:
        return r;
    }
}

/* The bound of a sum: of one of its leaves by what is known, of the others by their ranges; or of
 * all by their ranges. */
static bound upper_of_sum(sema *s, const known *k, const sum *m)
{
    dims *t = s->g->dims;
    bound best = {0};
    if (m->too_long)
        return best;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->leaf[i].minus)
            continue;
        bound b = upper_of_leaf(s, k, m->leaf[i].v);
        const dim *rest = b.up ? highest(s, m, i) : NULL;
        b.up = rest ? dim_add(t, b.up, rest) : NULL;
        best = smaller(s, best, b);
    }
    const dim *all = highest(s, m, UINT32_MAX);
    bound fixed = {all ? dim_sub(t, all, k->least) : NULL, NULL, true};
    for (uint32_t i = 0; i < m->n && !fixed.from; i++) {
        const bound *b = m->leaf[i].v->op == OP_index ? bound_of(k, m->leaf[i].v->ix[0]) : NULL;
        fixed.from = b ? b->from : NULL;
    }
    return smaller(s, best, fixed);
}

static bound upper(sema *s, const known *k, const value *v)
{
    sum m = {0};
    add_leaves(&m, v, false);
    return upper_of_sum(s, k, &m);
}

/* --- what a predicate adds --- */

known copy_known(sema *s, const known *k)
{
    known r = *k;
    r.b = ARENA_ARRAY(s->a, bound, k->n ? k->n : 1);
    if (k->n)
        memcpy(r.b, k->b, k->n * sizeof *r.b);
    return r;
}

/* a <= b - slack, for every index among the leaves of a - b. */
static void learn_le(sema *s, known *k, const value *a, const value *b, int64_t slack)
{
    dims *t = s->g->dims;
    sum m = {0};
    add_leaves(&m, b, false);
    add_leaves(&m, a, true);
    if (m.too_long)
        return;
    for (uint32_t i = 0; i < m.n; i++) {
        if (m.leaf[i].v->op != OP_index)
            continue;
        sum rest = m;
        rest.leaf[i] = rest.leaf[--rest.n];
        if (m.leaf[i].minus) { /* index <= rest - slack */
            for (uint32_t j = 0; j < k->n; j++) {
                if (k->ix[j] != m.leaf[i].v->ix[0])
                    continue;
                bound u = upper_of_sum(s, k, &rest);
                if (u.up)
                    u.up = dim_sub(t, u.up, dim_const(t, slack));
                k->b[j] = smaller(s, k->b[j], u);
            }
        } else { /* slack - rest <= index <= step + up: the step is late enough */
            const bound *u = bound_of(k, m.leaf[i].v->ix[0]);
            const dim *hi = u && u->up ? highest(s, &rest, UINT32_MAX) : NULL;
            const dim *least = hi ? dim_sub(t, dim_sub(t, dim_const(t, slack), hi), u->up) : NULL;
            if (least && dim_proved_le(t, k->least, least))
                k->least = least;
        }
    }
}

void learn_fact(sema *s, known *k, value *p)
{
    if (!p || !value_is_data(p))
        return;
    fact *f = ARENA_NEW(s->a, fact);
    *f = (fact){p, k->facts};
    k->facts = f;
}

void learn(sema *s, known *k, const value *p, bool holds)
{
    if (!p)
        return;
    if (p->op == OP_not) {
        learn(s, k, p->args[0], !holds);
    } else if (p->op == (holds ? OP_and : OP_or)) {
        learn(s, k, p->args[0], holds);
        learn(s, k, p->args[1], holds);
    } else if (p->op == (holds ? OP_or : OP_and)) {
        known a = copy_known(s, k), b = copy_known(s, k);
        learn(s, &a, p->args[0], holds);
        learn(s, &b, p->args[1], holds);
        for (uint32_t i = 0; i < k->n; i++)
            k->b[i] = larger(s, a.b[i], b.b[i]);
    } else if (p->op == OP_read && p->args[0]->dt == DT_BOOL) {
        known in = read_known(s, k, p);
        learn(s, &in, p->args[0], holds);
        for (uint32_t i = 0; i < in.n; i++) { /* where the index value is an index and a constant */
            sum m = {0};
            add_leaves(&m, p->args[1 + i], false);
            for (uint32_t j = 0; j < k->n && !m.too_long; j++)
                for (uint32_t l = 0; l < m.n; l++) {
                    if (m.leaf[l].minus || m.leaf[l].v->op != OP_index ||
                        m.leaf[l].v->ix[0] != k->ix[j] || !in.b[i].up)
                        continue;
                    sum rest = {0}; /* index = value - rest */
                    for (uint32_t q = 0; q < m.n; q++)
                        if (q != l)
                            rest.leaf[rest.n++] = (leaf){m.leaf[q].v, !m.leaf[q].minus};
                    const dim *hi = highest(s, &rest, UINT32_MAX);
                    bound u = in.b[i];
                    u.up = hi ? dim_add(s->g->dims, u.up, hi) : NULL;
                    k->b[j] = smaller(s, k->b[j], u);
                }
        }
    } else if (p->n_args == 2 && p->args[0]->dt == DT_I64) {
        const value *a = p->args[0], *b = p->args[1];
        if (p->op == OP_le)
            holds ? learn_le(s, k, a, b, 0) : learn_le(s, k, b, a, 1);
        else if (p->op == OP_lt)
            holds ? learn_le(s, k, a, b, 1) : learn_le(s, k, b, a, 0);
        else if (p->op == (holds ? OP_eq : OP_ne)) {
            learn_le(s, k, a, b, 0);
            learn_le(s, k, b, a, 0);
        }
    }
}

/* --- from a value to its operands --- */

known operand_known(sema *s, const known *k, const value *v, const value *arg)
{
    known r = {.n = arg->n_ix, .ix = arg->ix, .least = k->least, .facts = k->facts};
    r.b = ARENA_ARRAY(s->a, bound, r.n ? r.n : 1);
    for (uint32_t i = 0; i < r.n; i++) {
        bool bound_here = false;
        for (uint32_t j = 0; j < v->n_bound; j++)
            bound_here = bound_here || v->bound[j] == arg->ix[i];
        const bound *b = bound_here ? NULL : bound_of(k, arg->ix[i]);
        if (b) {
            r.b[i] = *b;
            continue;
        }
        dims *t = s->g->dims;
        const dim *last = dim_sub(t, arg->ix[i]->extent, dim_const(t, 1));
        r.b[i] = (bound){dim_sub(t, last, k->least), v, true};
        if (at_most_step(s, r.b[i].up))
            r.b[i].from = NULL;
    }
    return r;
}

known scope_known(sema *s, const known *k, const value *v)
{
    uint32_t n = k->n;
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, n + v->n_bound);
    known r = {.ix = ixs, .least = k->least};
    r.b = ARENA_ARRAY(s->a, bound, n + v->n_bound);
    for (uint32_t i = 0; i < n; i++) {
        bool bound_here = false;
        for (uint32_t j = 0; j < v->n_bound; j++)
            bound_here = bound_here || v->bound[j] == k->ix[i];
        if (bound_here)
            continue;
        ixs[r.n] = k->ix[i];
        r.b[r.n++] = k->b[i];
    }
    dims *t = s->g->dims;
    for (uint32_t j = 0; j < v->n_bound; j++) {
        ixs[r.n] = v->bound[j];
        const dim *last = dim_sub(t, v->bound[j]->extent, dim_const(t, 1));
        r.b[r.n] = (bound){dim_sub(t, last, k->least), v, true};
        if (at_most_step(s, r.b[r.n].up))
            r.b[r.n].from = NULL;
        r.n++;
    }
    return r;
}

known read_known(sema *s, const known *k, const value *v)
{
    const value *x = v->args[0];
    known r = {.n = x->n_ix, .ix = x->ix, .least = k->least};
    r.b = ARENA_ARRAY(s->a, bound, r.n ? r.n : 1);
    for (uint32_t i = 0; i < r.n; i++) {
        r.b[i] = upper(s, k, v->args[1 + i]);
        /* data is bounded by a condition only: `x[p[t]] where p[t] <= t` */
        for (const fact *f = k->facts; f && !r.b[i].up; f = f->next)
            for (uint32_t j = 0; j < k->n; j++)
                if (at_most_step(s, k->b[j].up) &&
                    pred_prover(s, f->holds, v->args[1 + i], graph_index(s->g, k->ix[j]), 0))
                    r.b[i] = k->b[j];
        if (at_most_step(s, r.b[i].up))
            r.b[i].from = NULL;
        else if (!r.b[i].from || (r.b[i].from->op != OP_read && v->at.file))
            r.b[i].from = v;
    }
    return r;
}
