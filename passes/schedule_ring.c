/* schedule_ring.c: how many rows of a history are kept: as many as a later step looks at, where all
 * of them are known and few. Row t is then in place t modulo their number. */
#include "passes/schedule_internal.h"

enum { MAX_RING = 16, ALL_ROWS = 1000 };

/* How many steps back the int looks: t is 0, t - 2 is 2 (from the end: t + 2); ALL_ROWS where that
 * is not known. */
static uint32_t steps_back(const value *scan, const value *at)
{
    const ix *t = scan->bound[0];
    if (at->op == OP_index && at->ix[0] == t)
        return 0;
    if ((at->op != OP_sub && at->op != OP_add) || at->where)
        return ALL_ROWS;
    const value *a = at->args[0], *b = at->args[1];
    if (at->op == OP_add && a->op == OP_const) {
        a = at->args[1];
        b = at->args[0];
    }
    if (a->op != OP_index || a->ix[0] != t || b->op != OP_const)
        return ALL_ROWS;
    bool back_is_less = scan->kind == 0;
    if (b->i < -MAX_RING || b->i > MAX_RING)
        return ALL_ROWS;
    int64_t back = (at->op == OP_sub) == back_is_less ? b->i : -b->i;
    return back >= 0 && back < MAX_RING ? (uint32_t)back : ALL_ROWS;
}

/* Rows of the history of x (it, or its append) that operand k of v asks for, the present one
 * included. */
static uint32_t rows_read(const value *scan, const value *v, uint32_t k, const value *x)
{
    const value *h = history_of(x);
    if (v->op == OP_scan || (v->op == OP_append && k == 0))
        return 0;
    if (v->op != OP_read || k != 0)
        return ALL_ROWS;
    for (uint32_t i = 0; i < x->n_ix; i++) {
        if (x->ix[i] == h->bound[0])
            return steps_back(scan, v->args[i + 1]) + 1;
    }
    return ALL_ROWS;
}

/* What stands behind a scan may read all rows, but for the scan of a step kernel, behind which
 * there is nothing. */
static void plan_histories(sched *s, const value *scan)
{
    uint32_t *rows = ARENA_ARRAY(s->scratch, uint32_t, scan->n_args);
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        if (v->op == OP_result && v->args[0] == scan)
            rows[v->kind] = ALL_ROWS;
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            if (!x || (x->op != OP_append && x->op != OP_history))
                continue;
            const value *h = history_of(x);
            uint32_t n = h->scan == scan->scan ? rows_read(scan, v, k, x) : 0;
            if (n > rows[h->kind])
                rows[h->kind] = n;
        }
    }
    for (uint32_t k = 0; k < scan->n_args; k++) {
        const value *append = scan->args[k];
        if (scan == s->step_scan)
            s->plan[append->id].done = rows[k] == 0; /* nothing to be written */
        s->plan[append->args[0]->id].ring = rows[k] <= MAX_RING ? rows[k] : 0;
    }
}

void plan_rings(sched *s)
{
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_scan)
            plan_histories(s, s->live.v[i]);
    }
}

void fit_index(sched *s, const plan *p, const kexpr **index)
{
    int axis = kernel_step_axis(s->k, p->buf);
    if (axis >= 0)
        index[axis] = s->row;
    if (!p->ring)
        return;
    const kexpr *n = kx_int(s->k, p->ring);
    index[p->ring_axis] = p->ring == 1 ? kx_int(s->k, 0) : k2(s, OP_imod, index[p->ring_axis], n);
}
