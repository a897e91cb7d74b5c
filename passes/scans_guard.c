/* scans_guard.c: a sum that is carried along, and the sum as it was written from the first step on
 * at which the carried one is not finite.
 *
 * A flag that stays up is carried from step to step, and the written sum asks for it in its
 * predicate. As the flag is a history, that sum stands in the region of a scan: its weights are a
 * row, not a matrix of steps by steps, and where all is finite a step costs one look at the flag.
 */
#include <math.h>

#include "passes/scans_internal.h"
#include "passes/simplify_internal.h"

/* The flag of one scan and what asks for it. */
typedef struct guard {
    scans *s;
    const separated *p;
    value *up; /* at this step */
} guard;

bool may_differ(const separated *p)
{
    for (uint32_t k = 0; k < p->n_fronts; k++) {
        const value *f = p->front[k].v;
        if (!is_const(f) || !isfinite(f->f) || f->f == 0)
            return true;
    }
    return p->n_decays > 0 || p->kept.n > 0 || p->rowed.n > 0;
}

/* x where the flag is up; so it is in the region. */
static value *if_up(const guard *u, value *x)
{
    return or_zero(u->s->g, u->up, x);
}

static value *written_decay(const guard *u, const factor *f, value *x)
{
    value *now = u->s->now[x->id];
    if (x->op == OP_real && x->args[0] == f->power)
        return if_up(u, now);
    if (is_free_of_steps(u->p, x))
        return now;
    value *args[2] = {0};
    for (uint32_t k = 0; k < x->n_args; k++)
        args[k] = written_decay(u, f, x->args[k]);
    return graph_with_args(u->s->g, x, args, NULL);
}

/* What depends on i and on t depends on the flag as well. */
static value *written(const guard *u, value *x)
{
    const separated *p = u->p;
    if (!value_has_ix(x, p->i))
        return value_has_ix(x, p->t) ? if_up(u, u->s->now[x->id]) : u->s->now[x->id];
    if (!value_has_ix(x, p->t))
        return u->s->now[x->id];
    for (uint32_t k = 0; k < p->n_decays; k++) {
        if (p->decay[k].v == x)
            return written_decay(u, &p->decay[k], x);
    }
    value *args[2] = {0};
    for (uint32_t k = 0; k < x->n_args; k++)
        args[k] = written(u, x->args[k]);
    return graph_with_args(u->s->g, x, args, NULL);
}

/* One flag for all that the same weights are for: the batch, the heads. */
static void flag_ix(const scans *s, const separated *p, ix_set *own, ix_set *over)
{
    ix_set weights = {0};
    for (uint32_t k = 0; k < p->n_rows; k++) {
        if (has_kept(s, p, &p->row[k]))
            factor_ix(s, p, &p->row[k], &weights);
    }
    for (uint32_t k = 0; k < p->n_fronts; k++) {
        if (has_kept(s, p, &p->front[k]))
            factor_ix(s, p, &p->front[k], &weights);
    }
    vec_push(s->scratch, own, p->t);
    for (uint32_t k = 0; k < p->v->n_ix; k++) {
        const ix *i = p->v->ix[k];
        bool one = p->kept.n == 0 || ix_set_has(&weights, i);
        if (i != p->t)
            vec_push(s->scratch, one ? own : over, i);
    }
}

static value *not_finite(scans *s, value *x, const ix_set *over)
{
    graph *g = s->g;
    value *zero = graph_elem(g, OP_sub, (value *[]){x, x}, NULL); /* but for inf and NaN */
    value *bad = graph_elem(g, OP_ne, (value *[]){zero, graph_real(g, 0)}, NULL);
    if (over->n == 0)
        return bad;
    const ix *const *ixs = (const ix *const *)arena_copy(g->a, over->v, over->n * sizeof *over->v);
    return graph_reduce(g, RED_any, bad, ixs, (uint32_t)over->n, NULL);
}

/* A history with these indices but for the step, which is a row. */
static value *rows_of(const scans *s, const separated *p, uint32_t scan, int slot, dtype dt,
                      const char *what, const ix_set *own)
{
    graph *g = s->g;
    const ix **axes = ARENA_ARRAY(g->a, const ix *, own->n);
    for (size_t k = 0; k < own->n; k++)
        axes[k] = own->v[k] == p->t ? p->i : own->v[k];
    const char *name = arena_printf(g->a, "%s%s", what, p->v->hint ? p->v->hint : "rows");
    return graph_history(g, scan, slot, name, dt, axes, (uint32_t)own->n, p->i);
}

value *guarded(scans *s, const separated *p, value *sum, uint32_t scan, int slot, value **appended)
{
    graph *g = s->g;
    guard u = {.s = s, .p = p};
    ix_set own = {0}, over = {0};
    flag_ix(s, p, &own, &over);
    value *flags = rows_of(s, p, scan, slot, DT_BOOL, "not finite: ", &own);
    value **last = ARENA_ARRAY(g->a, value *, own.n);
    for (size_t k = 0; k < own.n; k++)
        last[k] = own.v[k] == p->t ? one_less(g, p->t) : graph_index(g, own.v[k]);
    value *before = graph_read(g, flags, last, from_second(g, p->t));
    u.up = graph_elem(g, OP_or, (value *[]){before, not_finite(s, sum, &over)}, NULL);
    *appended = graph_append(g, flags, u.up, p->t);

    value *args[2] = {0};
    for (uint32_t k = 0; k < p->v->n_args; k++)
        args[k] = written(&u, p->v->args[k]);
    value *where = graph_elem(g, OP_and, (value *[]){s->now[p->v->where->id], u.up}, NULL);
    value *all = graph_with_args(g, p->v, args, where);
    return graph_elem(g, OP_select, (value *[]){u.up, all, sum}, NULL);
}

value *guarded_steps(scans *s, const separated *p, value *sum)
{
    graph *g = s->g;
    uint32_t scan = graph_new_scan(g);
    ix_set own = {0};
    ix_set_add(s->scratch, &own, p->v, NULL, 0);
    value *appended[2];
    value *rows = rows_of(s, p, scan, 1, p->v->dt, "", &own);
    value *row = guarded(s, p, sum, scan, 0, &appended[0]);
    appended[1] = graph_append(g, rows, row, p->t);
    value *all = graph_result_of(g, graph_scan(g, scan, p->t, false, appended, 2), 1);
    value **index = ARENA_ARRAY(g->a, value *, all->n_ix);
    for (uint32_t k = 0; k < all->n_ix; k++)
        index[k] = graph_index(g, all->ix[k] == p->i ? p->t : all->ix[k]);
    return graph_read(g, all, index, NULL);
}
