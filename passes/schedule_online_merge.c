/* schedule_online_merge.c: what the parts of a row's keys come to (schedule_online_split.h), in the
 * order of the parts: the maximum of all, the sum of weights, the streams' sums. */
#include <math.h>

#include "passes/schedule_online_split.h"

static const kexpr *zero(sched *s)
{
    return kx_real(s->k, 0.0);
}

static const kexpr *at_cut(sched *s, const split_online *t, const kbuf *b, const kexpr *cut)
{
    return kx_load(s->k, b, (const kexpr *const[]){t->at_outer, t->row[0], cut});
}

static void put_cut(sched *s, const split_online *t, const kbuf *b, const kexpr *cut,
                    const kexpr *e)
{
    ks_store(s->k, s->at, b, (const kexpr *const[]){t->at_outer, t->row[0], cut}, e);
}

static const kexpr *over_cuts(sched *s, const split_online *t, scope *o)
{
    return split_loop(s, "cut", kx_dim(s->k, t->n_cuts), KL_SEQ, o);
}

/* The maximum of all parts; in the place of each part's, what its sums are multiplied by. */
static const kexpr *merge_maximum(sched *s, split_online *t)
{
    scope o;
    const kexpr *minus_inf = kx_real(s->k, -(double)INFINITY);
    kvar *most = new_acc(s, minus_inf, "most");
    const kexpr *cut = over_cuts(s, t, &o);
    ks_set(s->k, s->at, most, k2(s, OP_max, kx_var(s->k, most), at_cut(s, t, t->most, cut)));
    scope_close(s, o);
    const kexpr *m = hold(s, kx_var(s->k, most), "max");
    const kexpr *base = hold(s, k_select(s, k2(s, OP_eq, m, minus_inf), zero(s), m), "base");
    cut = over_cuts(s, t, &o);
    put_cut(s, t, t->most, cut, k1(s, OP_exp, k2(s, OP_sub, at_cut(s, t, t->most, cut), base)));
    scope_close(s, o);
    return m;
}

static const kexpr *merge_total(sched *s, split_online *t)
{
    scope o;
    kvar *total = new_acc(s, zero(s), "total");
    const kexpr *cut = over_cuts(s, t, &o);
    const kexpr *e = at_cut(s, t, t->total, cut);
    if (t->most)
        e = k2(s, OP_weigh, at_cut(s, t, t->most, cut), e);
    ks_set(s->k, s->at, total, k2(s, OP_add, kx_var(s->k, total), e));
    scope_close(s, o);
    return kx_var(s->k, total);
}

/* --- streams --- */

typedef struct merging {
    const split_online *t;
    const stream_part *x;
    const kexpr *cut;
    bool add;         /* to the first part's sums, which are multiplied first */
    const kexpr *by;  /* what the part is multiplied by; NULL: not at all */
    const kexpr *sum; /* to divide by; NULL: not at all */
} merging;

static const kexpr **acc_index(sched *s, const frame *f, const merging *m, const kexpr *cut)
{
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, m->x->n_own + 3);
    at[0] = m->t->at_outer;
    at[1] = cut;
    at[2] = m->t->row[0];
    for (uint32_t i = 0; i < m->x->n_own; i++)
        at[i + 3] = bound_value(f, m->x->own[i]);
    return at;
}

static void add_part(sched *s, frame *f, void *ctx)
{
    const merging *m = ctx;
    const kexpr **to = acc_index(s, f, m, kx_int(s->k, 0));
    const kexpr *e = kx_load(s->k, m->x->acc, acc_index(s, f, m, m->cut));
    if (m->by)
        e = k2(s, OP_weigh, m->by, e);
    if (m->add)
        e = k2(s, OP_add, kx_load(s->k, m->x->acc, to), e);
    ks_store(s->k, s->at, m->x->acc, to, e);
}

static void put_sum(sched *s, frame *f, void *ctx)
{
    const merging *m = ctx;
    const kexpr *e = kx_load(s->k, m->x->acc, acc_index(s, f, m, kx_int(s->k, 0)));
    if (m->sum) /* a sum of 0 is that of nothing, and so is e */
        e = k_select(s, k2(s, OP_eq, m->sum, zero(s)), zero(s), k2(s, OP_div, e, m->sum));
    store_at(s, f, m->x->part, e);
}

static void merge_stream(sched *s, frame *f, merging *m)
{
    const split_online *t = m->t;
    nest n = {.ix = m->x->own, .n = m->x->n_own, .body = add_part, .ctx = m};
    scope o;
    m->cut = kx_int(s->k, 0);
    if (t->most) {
        m->by = hold(s, at_cut(s, t, t->most, m->cut), "by");
        run_nest(s, f, &n);
    }
    kvar *cut = kernel_var(s->k, "cut", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, cut, kx_int(s->k, 1), kx_dim(s->k, t->n_cuts), KL_SEQ);
    o = scope_open(s, &loop->body);
    m->cut = kx_var(s->k, cut);
    m->add = true;
    if (t->most)
        m->by = hold(s, at_cut(s, t, t->most, m->cut), "by");
    run_nest(s, f, &n);
    scope_close(s, o);
    n.body = put_sum;
    run_nest(s, f, &n);
}

void split_merge(sched *s, frame *f, split_online *t)
{
    const kexpr *m = t->most ? merge_maximum(s, t) : NULL;
    const kexpr *sum = merge_total(s, t);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        merging g = {.t = t, .x = &t->streams[i]};
        g.sum = t->v->kind == ON_plain ? NULL : sum;
        merge_stream(s, f, &g);
    }
    for (size_t i = 0; i < t->n_parts; i++) {
        const value *part = t->parts[i];
        if (part->kind == PART_max)
            store_at(s, f, part, m);
        else if (part->kind == PART_sum)
            store_at(s, f, part, sum);
        else if (part->kind == PART_lse) { /* an infinite maximum is the result */
            const kexpr *inf = k2(s, OP_eq, k1(s, OP_abs, m), kx_real(s->k, (double)INFINITY));
            store_at(s, f, part, k_select(s, inf, m, k2(s, OP_add, m, k1(s, OP_log, sum))));
        }
    }
}
