/* schedule_place.c: values that are made in memory that is there anyway: outputs, rows of
 * histories.
 *
 * Through reads that only rename indices it reaches what they read; so it does, for a result of an
 * online op, through one that takes an axis apart (heads o[h] = part[h // R, h % R]): the memory is
 * the same. */
#include "passes/schedule_internal.h"

static bool exact_store(const sched *s, store_type st)
{
    return st == ST_F64 || st == ST_I64 || st == ST_BOOL || (st == ST_F32 && s->k->real == DT_F32);
}

/* axes are v's indices, but for steps of the recurrences that v lies in. */
static bool covers(const sched *s, const value *v, const ix *const *axes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!value_has_ix(v, axes[i]))
            return false;
    }
    for (uint32_t i = 0; i < v->n_ix; i++) {
        bool found = is_step_of(s, v, v->ix[i]);
        for (uint32_t k = 0; k < n; k++)
            found = found || axes[k] == v->ix[i];
        if (!found)
            return false;
    }
    return true;
}

/* For a read that only renames indices: the axes of its source. */
static const ix *const *renamed(sched *s, const value *v, const ix *const *axes, uint32_t n)
{
    const value *x = v->args[0];
    const ix **own = ARENA_ARRAY(s->scratch, const ix *, n);
    if (v->where || s->home[x->id] != s->home[v->id])
        return NULL;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        const value *at = v->args[k + 1];
        if (at->op != OP_index || at->ix[0]->extent != x->ix[k]->extent ||
            (is_step_of(s, x, x->ix[k]) && at->ix[0] != x->ix[k]))
            return NULL;
        for (uint32_t i = 0; i < n; i++) {
            if (axes[i] != at->ix[0])
                continue;
            if (own[i])
                return NULL; /* a diagonal */
            own[i] = x->ix[k];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!own[i])
            return NULL;
    }
    return own;
}

/* --- axes taken apart --- */

typedef struct digit { /* (of // unit) % size */
    const ix *of;
    const dim *unit, *size; /* size: NULL: all that is left */
} digit;

static const dim *constant(const sched *s, const value *v)
{
    if (v->op == OP_const && v->dt == DT_I64)
        return dim_const(s->g->dims, v->i);
    return v->op == OP_dim ? v->dim : NULL;
}

static bool is_digit(const sched *s, const value *at, digit *d)
{
    *d = (digit){.unit = dim_const(s->g->dims, 1)};
    if (at->op == OP_imod) {
        d->size = constant(s, at->args[1]);
        if (!d->size)
            return false;
        at = at->args[0];
    }
    if (at->op == OP_idiv) {
        d->unit = constant(s, at->args[1]);
        at = at->args[0];
    }
    d->of = at->op == OP_index ? at->ix[0] : NULL;
    return d->of && d->unit;
}

static bool is_one(const dim *d)
{
    int64_t n;
    return dim_is_const(d, &n) && n == 1;
}

/* The indices of x that axis stands for, the slowest one first; 0: it is not taken apart into them.
 */
static uint32_t digits_of(const sched *s, const value *read, const ix *axis, const ix **to)
{
    const value *x = read->args[0];
    const dim *unit = dim_const(s->g->dims, 1);
    uint32_t n = 0;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < x->n_ix && !more; k++) {
            digit d;
            if (!is_digit(s, read->args[k + 1], &d) || d.of != axis || d.unit != unit ||
                is_one(x->ix[k]->extent) || (d.size && d.size != x->ix[k]->extent))
                continue;
            for (uint32_t i = n++; i > 0; i--)
                to[i] = to[i - 1];
            to[0] = x->ix[k];
            unit = dim_mul(s->g->dims, unit, x->ix[k]->extent);
            more = true;
        }
    }
    return unit == axis->extent ? n : 0;
}

/* For a read that takes axes apart: the indices of its source, how[i] of them for axis i. Those
 * with one value only need not be among them. NULL: it does something else. */
static const ix *const *apart(sched *s, const value *v, const ix *const *axes, uint32_t n,
                              uint32_t *how)
{
    const value *x = v->args[0];
    const ix **own = ARENA_ARRAY(s->scratch, const ix *, (size_t)x->n_ix *n);
    uint32_t n_own = 0;
    if (x->op != OP_part || x->kind < 0 || v->where || s->home[x->id] || s->home[v->id])
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        how[i] = digits_of(s, v, axes[i], own + n_own);
        n_own += how[i];
        if (!how[i] && !is_one(axes[i]->extent))
            return NULL;
    }
    for (uint32_t k = 0; k < x->n_ix; k++) {
        uint32_t times = is_one(x->ix[k]->extent) && value_has_ix(x->args[0], x->ix[k]);
        for (uint32_t i = 0; i < n_own; i++)
            times += own[i] == x->ix[k];
        if (times != 1)
            return NULL;
    }
    return own;
}

/* --- places --- */

static bool place_apart(sched *s, const value *v, const kbuf *buf, const ix *const *axes)
{
    uint32_t *how = ARENA_ARRAY(s->scratch, uint32_t, buf->rank);
    if (v->op != OP_read || !exact_store(s, buf->store) || s->plan[v->id].n_uses != 1)
        return false;
    plan *p = &s->plan[v->args[0]->id];
    const ix *const *own = apart(s, v, axes, buf->rank, how);
    if (!own || p->buf || p->n_uses != 1)
        return false;
    p->buf = buf;
    p->axes = own;
    p->fold = how;
    form(s, RULE_schedule_apart);
    p->stored = true;
    p->depth = 0;
    return true;
}

/* Lets v be computed in buf, whose axes stand for those indices. Through renamings it reaches what
 * they read. */
static plan *place_in(sched *s, const value *v, const kbuf *buf, const ix *const *axes,
                      uint32_t home)
{
    bool exact = buf->role == KB_TEMP || exact_store(s, buf->store);
    bool alone = true; /* nobody else reads it */
    for (; v->op == OP_read; v = v->args[0]) {
        const ix *const *own = s->plan[v->id].buf ? NULL : renamed(s, v, axes, buf->rank);
        if (!own)
            break;
        alone = alone && s->plan[v->id].n_uses == 1;
        axes = own;
    }
    bool is_history = v->op == OP_result;
    const value *h = history_of(v);
    plan *p = &s->plan[h->id];
    alone = alone && s->plan[v->id].n_uses == 1;
    if (is_leaf(v) || (OP_HAS(v->op, T_REGION) && !is_history) || p->buf || s->home[v->id] != home)
        return NULL;
    if (!covers(s, v, axes, buf->rank))
        return NULL;
    /* A history, a normaliser's row, a part of an online op and a scattered sum are read while they
     * are made. */
    if (!exact && (!alone || is_history || OP_HAS(v->op, T_NORM) || v->op == OP_part ||
                   scatter_find(&s->live, s->home, v, NULL)))
        return NULL;
    p->buf = buf;
    p->axes = axes;
    p->stored = true;
    p->depth = 0;
    p->inexact = !exact;
    return p;
}

/* In a step kernel: the row of histories that no step reads, so that it is no history's memory. */
static bool is_unread_row(const sched *s, const value *row)
{
    const value *scan = s->step_scan;
    for (uint32_t k = 0; k < scan->n_args; k++) {
        const value *append = scan->args[k];
        if (append->args[1] == row && !s->plan[append->id].done)
            return false;
    }
    return true;
}

void plan_outputs(sched *s)
{
    for (size_t i = 0; i < s->g->results.n; i++) {
        out *o = &s->outs[i];
        if (!s->step_scan)
            o->done = place_apart(s, o->v, output_buf(s, i), o->axes) ||
                      place_in(s, o->v, output_buf(s, i), o->axes, 0);
        else if (o->step_axis >= 0 && is_unread_row(s, o->v))
            o->done = place_in(s, o->v, output_buf(s, i), o->axes, s->step_scan->scan + 1) != NULL;
        if (o->done)
            form(s, RULE_schedule_output);
    }
}

/* A row that is computed for its history alone, or kept anyway, is computed in it. */
void plan_row(sched *s, const value *v)
{
    const value *h = v->args[0];
    const plan *p = &s->plan[h->id];
    if (s->plan[v->id].done) /* nothing of it is kept */
        return;
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, p->buf->rank);
    for (uint32_t i = 0; i < p->buf->rank; i++)
        axes[i] = p->axes[i] == h->bound[0] ? v->bound[0] : p->axes[i];
    plan *placed = place_in(s, v->args[1], p->buf, axes, h->scan + 1);
    s->plan[v->id].done = placed != NULL;
    if (placed) {
        form(s, RULE_schedule_row);
        placed->ring = p->ring;
        placed->ring_axis = p->ring_axis;
    }
}
