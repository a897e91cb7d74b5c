/* schedule_online.c: online ops, the plain way: one row at a time. The weights of a row stand in a
 * buffer as long as the bound indices (one for each thread) or, where they are asked for, in that
 * part; sums and statistics follow from it. Nothing has the size of all weights unless it is a
 * result.
 *
 * Since a row is finished before its sums begin, they come out as those of a stored normaliser
 * would, for every special value too. */
#include <math.h>

#include "passes/schedule_internal.h"

typedef struct online {
    const value *v;
    VEC(const value *) parts; /* those that are asked for */
} online;

void place_online(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    if (p->weights) {
        p->buf = s->plan[p->weights->id].buf;
        p->axes = s->plan[p->weights->id].axes;
        return;
    }
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, v->n_bound);
    for (uint32_t i = 0; i < v->n_bound; i++)
        shape[i] = v->bound[i]->extent;
    p->buf = kernel_buf(s->k, KB_LOCAL, name_of(v), temp_store(s, s->k->real), shape, v->n_bound);
    p->axes = v->bound;
}

/* What a loop that computes x in place may have to split itself for. */
static const value *joins_of(const sched *s, const value *x)
{
    return s->plan[history_of(x)->id].stored ? NULL : x;
}

static nest over_bound(sched *s, const value *v, nest_body *body, void *ctx)
{
    nest n = {.ix = v->bound, .n = v->n_bound, .body = body, .ctx = ctx, .ahead = ONLINE_AHEAD};
    if (v->where)
        split_conjuncts(s->scratch, v->where, &n.where[0]);
    return n;
}

/* --- weights --- */

typedef struct plain_row {
    const value *v;
    kvar *sum;
} plain_row;

static void put_zero(sched *s, frame *f, void *ctx)
{
    store_at(s, f, ctx, kx_real(s->k, 0.0));
}

static void put_score(sched *s, frame *f, void *ctx)
{
    const plain_row *r = ctx;
    const kexpr *x = hold(s, sx(s, f, r->v->args[0]), "w");
    store_at(s, f, r->v, x);
    ks_set(s->k, s->at, r->sum, k2(s, OP_add, kx_var(s->k, r->sum), x));
}

static norm_row put_scores(sched *s, frame *f, const value *v, bool zeros)
{
    plain_row r = {.v = v};
    if (v->where && zeros) {
        nest all = {.ix = v->bound, .n = v->n_bound, .body = put_zero, .ctx = (void *)v};
        run_nest(s, f, &all);
    }
    r.sum = new_acc(s, kx_real(s->k, 0.0), "sum");
    nest n = over_bound(s, v, put_score, &r);
    n.body_of = joins_of(s, v->args[0]);
    run_nest(s, f, &n);
    return (norm_row){.sum = r.sum};
}

static norm_row put_weights(sched *s, frame *f, const value *v)
{
    bool zeros = s->plan[v->id].weights != NULL;
    if (v->kind == ON_plain)
        return put_scores(s, f, v, zeros);
    return sx_norm(s, f, v, v->kind == ON_softmax ? OP_softmax : OP_normalize,
                   joins_of(s, v->args[0]), zeros);
}

/* --- sums --- */

typedef struct stream_sum {
    const value *part, *v, *x; /* the part, its online op, the stream */
    kvar *acc;                 /* NULL: a row of results is added to */
} stream_sum;

static void zero_sum(sched *s, frame *f, void *ctx)
{
    const stream_sum *t = ctx;
    store_at(s, f, t->part, kx_real(s->k, 0.0));
}

static void add_element(sched *s, frame *f, void *ctx)
{
    const stream_sum *t = ctx;
    const kexpr *w = sx(s, f, t->v), *x = sx(s, f, t->x);
    const kexpr *old = t->acc ? kx_var(s->k, t->acc) : sx(s, f, t->part);
    const kexpr *e = k2(s, OP_add, old, k2(s, OP_weigh, w, x));
    if (t->acc)
        ks_set(s->k, s->at, t->acc, e);
    else
        store_at(s, f, t->part, e);
}

static void sum_element(sched *s, frame *f, void *ctx)
{
    stream_sum t = *(const stream_sum *)ctx;
    t.acc = new_acc(s, kx_real(s->k, 0.0), "acc");
    nest n = over_bound(s, t.v, add_element, &t);
    n.body_of = joins_of(s, t.x);
    run_nest(s, f, &n);
    store_at(s, f, t.part, kx_var(s->k, t.acc));
}

/* Where the stream lies in memory along the part's last index, rows are added; else each element is
 * summed by itself. */
static void put_sum(sched *s, frame *f, const value *part)
{
    const value *v = part->args[0];
    const plan *p = &s->plan[part->id];
    stream_sum t = {.part = part, .v = v, .x = v->args[part->kind + 1]};
    const uint32_t n_axes = plan_n_axes(p);
    const ix **order = ARENA_ARRAY(s->scratch, const ix *, (size_t)v->n_bound + n_axes);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_bound; i++)
        order[n++] = v->bound[i];
    for (uint32_t i = 0; i < n_axes; i++) {
        if (!bound_value(f, p->axes[i]))
            order[n++] = p->axes[i];
    }
    const ix *const *own = order + v->n_bound;
    uint32_t n_own = n - v->n_bound;
    if (n_own == 0 || stride_of(s, t.x, own[n_own - 1]) != 1) {
        nest each = {.ix = own, .n = n_own, .body = sum_element, .ctx = &t};
        run_nest(s, f, &each);
        return;
    }
    nest zero = {.ix = own, .n = n_own, .body = zero_sum, .ctx = &t};
    run_nest(s, f, &zero);
    nest add = over_bound(s, v, add_element, &t);
    add.ix = order;
    add.n = n;
    add.body_of = joins_of(s, t.x);
    run_nest(s, f, &add);
}

/* --- statistics --- */

static const kexpr *statistic(sched *s, int which, const norm_row *r)
{
    if (which == PART_max)
        return kx_var(s->k, r->max);
    if (which == PART_sum)
        return kx_var(s->k, r->sum);
    /* lse: an infinite maximum is the result; the sum is 0 or NaN then */
    const kexpr *m = kx_var(s->k, r->max), *inf = kx_real(s->k, (double)INFINITY);
    const kexpr *infinite = k2(s, OP_eq, k1(s, OP_abs, m), inf);
    const kexpr *lse = k2(s, OP_add, m, k1(s, OP_log, kx_var(s->k, r->sum)));
    return k_select(s, infinite, m, lse);
}

static void row_body(sched *s, frame *f, void *ctx)
{
    const online *o = ctx;
    norm_row r = put_weights(s, f, o->v);
    for (size_t i = 0; i < o->parts.n; i++) {
        const value *part = o->parts.v[i];
        if (part->kind >= 0)
            put_sum(s, f, part);
        else if (part->kind != PART_weights)
            store_at(s, f, part, statistic(s, part->kind, &r));
    }
}

void emit_online(sched *s, const value *v)
{
    online *o = ARENA_NEW(s->scratch, online);
    o->v = v;
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_part && s->live.v[i]->args[0] == v)
            vec_push(s->scratch, &o->parts, s->live.v[i]);
    }
    kblock *here;
    const dim *few;
    double begun = choice_begin(s);
    bool tiled = emit_online_tiles(s, v, o->parts.v, o->parts.n, &here, &few);
    choice_end(s, CHOICE_tiles, begun);
    if (tiled && !here)
        return;
    frame f = new_frame(s, s->steps);
    scope at = scope_open(s, here);
    kblock *alone = emit_online_split(s, v, o->parts.v, o->parts.n, few);
    if (!alone) {
        scope_close(s, at);
        return;
    }
    scope rest = scope_open(s, alone), inside;
    form(s, RULE_schedule_online_rows);
    bool flat = open_rows(s, &f, v->ix, v->n_ix, note_of(s, v), &inside);
    nest rows = {.ix = v->ix, .n = v->n_ix, .body = row_body, .ctx = o, .note = note_of(s, v)};
    if (flat)
        row_body(s, &f, o);
    else
        run_nest(s, &f, &rows);
    if (flat)
        scope_close(s, inside);
    scope_close(s, rest);
    scope_close(s, at);
}
