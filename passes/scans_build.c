/* scans_build.c: the state of a sum that separates, and the sum by it. */
#include "passes/scans_internal.h"
#include "passes/simplify_internal.h"

/* --- small things --- */

static value *both(graph *g, op_id op, value *a, value *b)
{
    return graph_elem(g, op, (value *[]){a, b}, NULL);
}

value *times(graph *g, value *x, value *f)
{
    return x && f ? both(g, OP_mul, x, f) : x ? x : f;
}

value *from_second(graph *g, const ix *i)
{
    return both(g, OP_le, graph_int(g, 1), graph_index(g, i));
}

value *one_less(graph *g, const ix *i)
{
    return both(g, OP_sub, graph_index(g, i), graph_int(g, 1));
}

value *or_zero(graph *g, value *c, value *x)
{
    return graph_elem(g, OP_select, (value *[]){c, x, graph_real(g, 0)}, NULL);
}

value *sum_product(scans *s, value *a, value *b, const ix_set *over, value *where)
{
    graph *g = s->g;
    if (over->n == 0 && !where)
        return times(g, a, b);
    const ix *const *ixs = (const ix *const *)arena_copy(g->a, over->v, over->n * sizeof *over->v);
    uint32_t n = (uint32_t)over->n;
    return a ? graph_contract(g, a, b, ixs, n, where) : graph_reduce(g, RED_sum, b, ixs, n, where);
}

/* --- factors --- */

static value *renamed(const scans *s, const separated *p, const factor *f, value *x)
{
    for (uint32_t k = 0; f->inner && k < p->n_inner; k++) {
        if (p->inner_from[k] != p->inner_to[k])
            x = value_at(s->g, x, p->inner_from[k], graph_index(s->g, p->inner_to[k]));
    }
    return x;
}

value *factor_now(const scans *s, const separated *p, const factor *f)
{
    value *x = places_knows(&s->places, f->v) ? s->now[f->v->id] : f->v;
    return renamed(s, p, f, x);
}

value *times_fronts(const scans *s, const separated *p, value *x, bool kept)
{
    for (uint32_t k = 0; k < p->n_fronts; k++) {
        const factor *f = &p->front[k];
        if (has_kept(s, p, f) != kept)
            continue;
        value *v = factor_now(s, p, f);
        if (f->inverse)
            x = both(s->g, OP_div, x ? x : graph_real(s->g, 1), v);
        else
            x = times(s->g, x, v);
    }
    return x;
}

/* x with n for its power. */
static value *with_power(const scans *s, const factor *f, value *x, value *n)
{
    if (x == f->power)
        return n;
    bool free = true;
    for (uint32_t k = 0; k < f->power->n_ix; k++)
        free = free && !value_has_ix(x, f->power->ix[k]);
    if (free)
        return s->now[x->id];
    value *args[2] = {0};
    for (uint32_t k = 0; k < x->n_args; k++)
        args[k] = with_power(s, f, x->args[k], n);
    x = fold_constants(s->g, graph_with_args(s->g, x, args, NULL));
    return fold_algebra(s->g, x);
}

value *decay_at(const scans *s, const separated *p, value *n)
{
    value *all = NULL;
    for (uint32_t k = 0; k < p->n_decays; k++) {
        const factor *f = &p->decay[k];
        bool falling = f->power->args[0]->ix[0] == p->i; /* i - t */
        value *m = falling ? fold_constants(s->g, graph_elem(s->g, OP_neg, &n, NULL)) : n;
        all = times(s->g, all, renamed(s, p, f, with_power(s, f, f->v, m)));
    }
    return all;
}

/* What g(t) itself is weighed by, which is 1 but where an exponent is 0 times something infinite;
 * NULL: 1. */
static value *first_weight(const scans *s, const separated *p)
{
    bool exact = true;
    for (uint32_t k = 0; k < p->n_decays; k++)
        exact = exact && p->decay[k].v->op == OP_pow;
    return exact ? NULL : decay_at(s, p, graph_int(s->g, 0));
}

/* --- the row of this step --- */

static const value *history_of_base(const value *x)
{
    return x->op == OP_append ? x->args[0] : x;
}

static bool in_region(const scans *s, const value *x, const value *scan)
{
    return s->places.home[x->id] == scan->scan + 1;
}

/* Whether x is row i of a history of the scan, written by then. */
static bool is_row_i(const separated *p, const value *x, const value *scan)
{
    const value *h = history_of_base(x);
    return h->scan == scan->scan && h->bound[0] == p->i && (x->op == OP_append || p->strict) &&
           scan->args[h->kind]->args[1]->n_ix == x->n_ix;
}

/* Whether x is what it is through row i of the scan's histories, written by then, alone. */
static bool row_settled(const scans *s, const separated *p, const value *x, const value *scan,
                        int depth)
{
    if (!in_region(s, x, scan))
        return s->places.home[x->id] == 0 && !s->risky[x->id];
    if (x->op == OP_history || x->op == OP_append)
        return is_row_i(p, x, scan);
    if (depth == 0 || !OP_HAS(x->op, T_PURE) || x->dt == DT_NONE || may_fail(s->range, x))
        return false;
    const value *h = x->op == OP_read ? history_of_base(x->args[0]) : NULL;
    if (h && h->op != OP_history && in_region(s, x->args[0], scan))
        return false;
    if (h && h->op == OP_history) {
        const value *row = scan->args[h->kind]->args[1];
        if (h->scan != scan->scan || x->where || row->n_ix != x->args[0]->n_ix ||
            (x->args[0]->op == OP_history && !p->strict))
            return false;
        for (uint32_t k = 0; k < h->n_ix; k++) {
            const value *at = x->args[k + 1];
            if (h->ix[k] == h->bound[0] ? at->op != OP_index || at->ix[0] != p->i
                                        : value_has_ix(at, p->i) || in_region(s, at, scan))
                return false;
        }
        return true;
    }
    for (uint32_t k = 0; k < x->n_bound; k++) {
        if (x->bound[k] == p->i)
            return false;
    }
    for (uint32_t k = 0; k < x->n_args; k++) {
        if (!row_settled(s, p, x->args[k], scan, depth - 1))
            return false;
    }
    return !x->where || row_settled(s, p, x->where, scan, depth - 1);
}

bool rows_settled(const scans *s, const separated *p, const value *scan)
{
    for (uint32_t k = 0; k < p->n_rows; k++) {
        if (!row_settled(s, p, p->row[k].v, scan, 6))
            return false;
    }
    for (uint32_t k = 0; k < p->n_where; k++) {
        if (s->places.home[p->where[k]->id] || s->risky[p->where[k]->id])
            return false;
    }
    return true;
}

/* x over new values where i is t. */
static value *at_step(const scans *s, const separated *p, const value *x, const value *scan)
{
    graph *g = s->g;
    if (!scan || !in_region(s, x, scan)) {
        value *v = value_at(g, s->now[x->id], p->i, graph_index(g, p->t));
        return v->op == OP_read ? fold_read(g, v) : v;
    }
    if (x->op == OP_history || x->op == OP_append)
        return s->now[scan->args[history_of_base(x)->kind]->args[1]->id];
    const value *h = x->op == OP_read ? history_of_base(x->args[0]) : NULL;
    if (!h || h->op != OP_history) {
        value **args = ARENA_ARRAY(g->a, value *, x->n_args);
        for (uint32_t k = 0; k < x->n_args; k++)
            args[k] = at_step(s, p, x->args[k], scan);
        return graph_with_args(g, x, args, x->where ? at_step(s, p, x->where, scan) : NULL);
    }
    value *row = s->now[scan->args[h->kind]->args[1]->id];
    value **index = ARENA_ARRAY(g->a, value *, row->n_ix);
    for (uint32_t k = 0; k < row->n_ix; k++) {
        index[k] = graph_index(g, row->ix[k]);
        for (uint32_t q = 0; row->ix[k] != p->t && q < h->n_ix; q++) {
            if (h->ix[q] == row->ix[k])
                index[k] = s->now[x->args[q + 1]->id];
        }
    }
    return fold_read(g, graph_read(g, row, index, NULL));
}

value *row_now(scans *s, const separated *p, const value *scan)
{
    graph *g = s->g;
    value *early = NULL, *late = NULL;
    for (uint32_t k = 0; k < p->n_rows; k++) {
        value *x = renamed(s, p, &p->row[k], at_step(s, p, p->row[k].v, scan));
        if (k + 1 < p->n_rows)
            early = times(g, early, x);
        else
            late = x;
    }
    value *row = sum_product(s, early, late, &p->rowed, NULL);
    if (p->n_where == 0)
        return row;
    /* What is excluded is not read. */
    value **index = ARENA_ARRAY(g->a, value *, row->n_ix);
    for (uint32_t k = 0; k < row->n_ix; k++)
        index[k] = graph_index(g, row->ix[k]);
    value *where = NULL;
    for (uint32_t k = 0; k < p->n_where; k++) {
        value *c = value_at(g, s->now[p->where[k]->id], p->i, graph_index(g, p->t));
        where = where ? both(g, OP_and, where, c) : c;
    }
    return graph_read(g, row, index, where);
}

/* --- the state --- */

static void state_ix(const scans *s, const separated *p, ix_set *out)
{
    ix_set all = {0};
    vec_push(s->scratch, &all, p->t);
    for (uint32_t k = 0; k < p->n_rows; k++)
        factor_ix(s, p, &p->row[k], &all);
    for (uint32_t k = 0; k < p->n_where; k++)
        ix_set_add(s->scratch, &all, p->where[k], NULL, 0);
    for (uint32_t k = 0; k < p->n_decays; k++)
        factor_ix(s, p, &p->decay[k], &all);
    for (size_t k = 0; k < all.n; k++) {
        if (all.v[k] != p->i && !ix_set_has(&p->rowed, all.v[k]))
            vec_push(s->scratch, out, all.v[k]);
    }
}

state new_state(const scans *s, const separated *p, uint32_t scan, int slot)
{
    graph *g = s->g;
    ix_set own = {0};
    state_ix(s, p, &own);
    const ix **axes = ARENA_ARRAY(g->a, const ix *, own.n);
    value **index = ARENA_ARRAY(g->a, value *, own.n);
    for (size_t k = 0; k < own.n; k++) {
        bool step = own.v[k] == p->t;
        axes[k] = step ? p->i : own.v[k];
        index[k] = step ? one_less(g, p->t) : graph_index(g, own.v[k]);
    }
    const char *name = arena_printf(g->a, "sum of %s", p->v->hint ? p->v->hint : "rows");
    state st = {0};
    st.history = graph_history(g, scan, slot, name, p->v->dt, axes, (uint32_t)own.n, p->i);
    value *found = graph_read(g, st.history, index, from_second(g, p->t));
    st.before = times(g, found, decay_at(s, p, graph_int(g, 1)));
    return st;
}

value *advance(const scans *s, const separated *p, const state *st, value *row, value **after)
{
    graph *g = s->g;
    value *found = or_zero(g, from_second(g, p->t), st->before);
    *after = both(g, OP_add, found, times(g, row, first_weight(s, p)));
    return graph_append(g, st->history, *after, p->t);
}

value *sum_of_state(scans *s, const separated *p, const state *st, value *after)
{
    value *x = sum_product(s, times_fronts(s, p, NULL, true), p->strict ? st->before : after,
                           &p->kept, NULL);
    x = times_fronts(s, p, x, false);
    return p->strict ? or_zero(s->g, from_second(s->g, p->t), x) : x;
}

value *running_sum(scans *s, const separated *p)
{
    graph *g = s->g;
    uint32_t scan = graph_new_scan(g);
    state st = new_state(s, p, scan, 0);
    value *after = NULL;
    value *appended = advance(s, p, &st, row_now(s, p, NULL), &after);
    value *all = graph_result_of(g, graph_scan(g, scan, p->t, false, &appended, 1), 0);
    value **index = ARENA_ARRAY(g->a, value *, all->n_ix);
    for (uint32_t k = 0; k < all->n_ix; k++) {
        value *now = p->strict ? one_less(g, p->t) : graph_index(g, p->t);
        index[k] = all->ix[k] == p->i ? now : graph_index(g, all->ix[k]);
    }
    value *read = graph_read(g, all, index, p->strict ? from_second(g, p->t) : NULL);
    st.before = p->strict ? times(g, read, decay_at(s, p, graph_int(g, 1))) : NULL;
    return sum_of_state(s, p, &st, read);
}
