/* schedule_online_split.c: online ops with few rows and many keys (one query against a long
 * memory): the keys are cut into parts of fixed length, so that every thread has one, and what the
 * parts come to is merged in order. There is no reuse in a row: keys and streams are met where they
 * lie, once.
 *
 * Whether there are few rows and many keys is asked when the kernel runs; where the cuts are
 * depends on nothing but the number of keys. What this cannot do is left to schedule_online.c. */
#include <math.h>

#include "passes/schedule_internal.h"

enum { PART_KEYS = 512, MANY_KEYS = 4 * PART_KEYS, FEW_ROWS = 32, MAX_STREAMS = 8 };

typedef struct stream_part {
    const value *part, *x;
    const ix **own; /* indices besides those of the rows */
    uint32_t n_own;
    const kbuf *acc; /* [rows, parts, own...] */
} stream_part;

typedef struct split_online {
    const value *v;
    const ix *key;
    const value *const *parts;
    size_t n_parts;
    stream_part streams[MAX_STREAMS];
    uint32_t n_streams;
    const dim *n_rows, *n_cuts;
    const kbuf *w;            /* local: scores of a part, then weights */
    const kbuf *most, *total; /* [rows, parts] */
    const kexpr *row, *cut;   /* at hand */
    const kexpr *first, *end; /* its keys */
    const kvar *sum;
} split_online;

static const kexpr *zero(sched *s)
{
    return kx_real(s->k, 0.0);
}

static const kexpr *minus_inf(sched *s)
{
    return kx_real(s->k, -(double)INFINITY);
}

static const kexpr *loop_over(sched *s, const char *name, const kexpr *hi, kloop kind, scope *o)
{
    kvar *x = kernel_var(s->k, name, DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, x, kx_int(s->k, 0), hi, kind);
    *o = scope_open(s, &loop->body);
    return kx_var(s->k, x);
}

static const kexpr *at_cut(sched *s, const split_online *t, const kbuf *b, const kexpr *cut)
{
    return kx_load(s->k, b, (const kexpr *const[]){t->row, cut});
}

static void put_cut(sched *s, const split_online *t, const kbuf *b, const kexpr *cut,
                    const kexpr *e)
{
    ks_store(s->k, s->at, b, (const kexpr *const[]){t->row, cut}, e);
}

/* --- the plan --- */

static bool plan_stream(sched *s, split_online *t, const value *part)
{
    const value *v = t->v;
    if (t->n_streams == MAX_STREAMS)
        return false;
    stream_part *x = &t->streams[t->n_streams++];
    *x = (stream_part){.part = part, .x = v->args[part->kind + 1]};
    x->own = ARENA_ARRAY(s->scratch, const ix *, part->n_ix);
    for (uint32_t i = 0; i < part->n_ix; i++) {
        if (!value_has_ix(v, part->ix[i]))
            x->own[x->n_own++] = part->ix[i];
    }
    return true;
}

static bool plan_split(sched *s, split_online *t)
{
    const value *v = t->v;
    dims *d = s->g->dims;
    int64_t keys;
    if (s->nesting || s->in_step || s->home[v->id] || v->n_bound != 1)
        return false;
    t->key = v->bound[0];
    if (dim_is_const(t->key->extent, &keys) && keys < MANY_KEYS)
        return false;
    t->n_rows = dim_const(d, 1);
    for (uint32_t i = 0; i < v->n_ix && t->n_rows; i++)
        t->n_rows = dim_mul(d, t->n_rows, v->ix[i]->extent);
    const dim *up = dim_add(d, t->key->extent, dim_const(d, PART_KEYS - 1));
    t->n_cuts = dim_floordiv(d, up, dim_const(d, PART_KEYS));
    int64_t rows;
    if (!t->n_rows || !t->n_cuts || (dim_is_const(t->n_rows, &rows) && rows >= FEW_ROWS))
        return false;
    for (size_t i = 0; i < t->n_parts; i++) {
        if (t->parts[i]->kind == PART_weights ||
            (t->parts[i]->kind >= 0 && !plan_stream(s, t, t->parts[i])))
            return false;
    }
    return true;
}

static void make_buffers(sched *s, split_online *t)
{
    dims *d = s->g->dims;
    store_type st = temp_store(s, s->k->real);
    const dim *part = dim_const(d, PART_KEYS);
    const dim *few = dim_min(d, t->n_rows, dim_const(d, FEW_ROWS));
    const dim *each[2] = {few, t->n_cuts};
    t->w = kernel_buf(s->k, KB_LOCAL, "part_weights", st, &part, 1);
    t->total = kernel_buf(s->k, KB_TEMP, "part_sum", st, each, 2);
    if (t->v->kind == ON_softmax)
        t->most = kernel_buf(s->k, KB_TEMP, "part_max", st, each, 2);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        stream_part *x = &t->streams[i];
        const dim **shape = ARENA_ARRAY(s->scratch, const dim *, x->n_own + 2);
        shape[0] = few;
        shape[1] = t->n_cuts;
        for (uint32_t k = 0; k < x->n_own; k++)
            shape[k + 2] = x->own[k]->extent;
        x->acc = kernel_buf(s->k, KB_TEMP, "part_acc", st, shape, x->n_own + 2);
    }
}

/* --- one part of a row's keys --- */

static const kexpr *in_part(sched *s, const frame *f, const split_online *t)
{
    return k2(s, OP_sub, bound_value(f, t->key), t->first);
}

static nest over_keys(sched *s, const split_online *t, nest_body *body, void *ctx, const value *of)
{
    nest n = {.body = body, .ctx = ctx, .lo = t->first, .hi = t->end};
    const ix **key = ARENA_ARRAY(s->scratch, const ix *, 1);
    key[0] = t->key;
    n.ix = key;
    n.n = 1;
    n.body_of = s->plan[history_of(of)->id].stored ? NULL : of;
    if (t->v->where)
        split_conjuncts(s->scratch, t->v->where, &n.where[0]);
    return n;
}

static void put_score(sched *s, frame *f, void *ctx)
{
    const split_online *t = ctx;
    const kexpr *x = hold(s, sx(s, f, t->v->args[0]), "score"), *c = in_part(s, f, t);
    op_id op = t->v->kind == ON_softmax ? OP_max : OP_add;
    if (t->v->kind == ON_normalize)
        x = hold(s, k_select(s, k2(s, OP_eq, x, minus_inf(s)), zero(s), x), "x");
    ks_store(s->k, s->at, t->w, &c, x);
    ks_set(s->k, s->at, t->sum, k2(s, op, kx_var(s->k, t->sum), x));
}

/* e^(score - base) in place of the scores. */
static void softmax_part(sched *s, split_online *t)
{
    scope o;
    const kexpr *m = kx_var(s->k, t->sum);
    put_cut(s, t, t->most, t->cut, m);
    const kexpr *base = hold(s, k_select(s, k2(s, OP_eq, m, minus_inf(s)), zero(s), m), "base");
    t->sum = new_acc(s, zero(s), "sum");
    const kexpr *n = k2(s, OP_sub, t->end, t->first);
    const kexpr *c = loop_over(s, "c", n, KL_VECTOR, &o);
    const kexpr *x = kx_load(s->k, t->w, &c);
    const kexpr *e = hold(s, k1(s, OP_exp, k2(s, OP_sub, x, base)), "e");
    ks_store(s->k, s->at, t->w, &c, e);
    ks_set(s->k, s->at, t->sum, k2(s, OP_add, kx_var(s->k, t->sum), e));
    scope_close(s, o);
}

typedef struct adding {
    const split_online *t;
    const stream_part *x;
    kvar *acc; /* a stream of single numbers */
} adding;

static const kexpr **acc_index(sched *s, const frame *f, const adding *a, const kexpr *cut)
{
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, a->x->n_own + 2);
    at[0] = a->t->row;
    at[1] = cut;
    for (uint32_t i = 0; i < a->x->n_own; i++)
        at[i + 2] = bound_value(f, a->x->own[i]);
    return at;
}

static void clear_acc(sched *s, frame *f, void *ctx)
{
    const adding *a = ctx;
    ks_store(s->k, s->at, a->x->acc, acc_index(s, f, a, a->t->cut), zero(s));
}

static void add_element(sched *s, frame *f, void *ctx)
{
    const adding *a = ctx;
    const kexpr *c = in_part(s, f, a->t);
    const kexpr *e = k2(s, OP_weigh, kx_load(s->k, a->t->w, &c), sx(s, f, a->x->x));
    if (a->acc) {
        ks_set(s->k, s->at, a->acc, k2(s, OP_add, kx_var(s->k, a->acc), e));
        return;
    }
    const kexpr **at = acc_index(s, f, a, a->t->cut);
    ks_store(s->k, s->at, a->x->acc, at, k2(s, OP_add, kx_load(s->k, a->x->acc, at), e));
}

static void add_stream(sched *s, frame *f, split_online *t, const stream_part *x)
{
    adding a = {.t = t, .x = x};
    if (!x->n_own)
        a.acc = new_acc(s, zero(s), "acc");
    nest clear = {.ix = x->own, .n = x->n_own, .body = clear_acc, .ctx = &a};
    if (x->n_own)
        run_nest(s, f, &clear);
    nest n = over_keys(s, t, add_element, &a, x->x);
    const ix **order = ARENA_ARRAY(s->scratch, const ix *, x->n_own + 1);
    order[0] = t->key;
    for (uint32_t i = 0; i < x->n_own; i++)
        order[i + 1] = x->own[i];
    n.ix = order;
    n.n = x->n_own + 1;
    run_nest(s, f, &n);
    if (a.acc)
        put_cut(s, t, x->acc, t->cut, kx_var(s->k, a.acc));
}

static void one_part(sched *s, frame *f, split_online *t)
{
    scope o;
    bool softmax = t->v->kind == ON_softmax;
    const kexpr *size = kx_int(s->k, PART_KEYS), *extent = kx_dim(s->k, t->key->extent);
    t->first = hold(s, k2(s, OP_mul, t->cut, size), "first");
    t->end = hold(s, k2(s, OP_min, k2(s, OP_add, t->first, size), extent), "end");
    if (t->v->where) { /* the excluded ones are passed over */
        const kexpr *c = loop_over(s, "c", size, KL_VECTOR, &o);
        ks_store(s->k, s->at, t->w, &c, softmax ? minus_inf(s) : zero(s));
        scope_close(s, o);
    }
    t->sum = new_acc(s, softmax ? minus_inf(s) : zero(s), softmax ? "most" : "sum");
    nest n = over_keys(s, t, put_score, t, t->v->args[0]);
    run_nest(s, f, &n);
    if (softmax)
        softmax_part(s, t);
    put_cut(s, t, t->total, t->cut, kx_var(s->k, t->sum));
    for (uint32_t i = 0; i < t->n_streams; i++)
        add_stream(s, f, t, &t->streams[i]);
}

/* --- the parts of a row, in order --- */

typedef struct merging {
    adding a;
    const kexpr *sum; /* to divide by; NULL: not at all */
} merging;

static void merge_element(sched *s, frame *f, void *ctx)
{
    const merging *m = ctx;
    const split_online *t = m->a.t;
    scope o;
    kvar *acc = new_acc(s, zero(s), "acc");
    const kexpr *cut = loop_over(s, "cut", kx_dim(s->k, t->n_cuts), KL_SEQ, &o);
    const kexpr *e = kx_load(s->k, m->a.x->acc, acc_index(s, f, &m->a, cut));
    if (t->most)
        e = k2(s, OP_weigh, at_cut(s, t, t->most, cut), e);
    ks_set(s->k, s->at, acc, k2(s, OP_add, kx_var(s->k, acc), e));
    scope_close(s, o);
    e = kx_var(s->k, acc);
    if (m->sum) /* a sum of 0 is that of nothing, and so is e */
        e = k_select(s, k2(s, OP_eq, m->sum, zero(s)), zero(s), k2(s, OP_div, e, m->sum));
    store_at(s, f, m->a.x->part, e);
}

/* The maximum of all parts; in the place of each part's, what its sums are multiplied by. */
static const kexpr *merge_maximum(sched *s, split_online *t)
{
    scope o;
    kvar *most = new_acc(s, minus_inf(s), "most");
    const kexpr *n = kx_dim(s->k, t->n_cuts);
    const kexpr *cut = loop_over(s, "cut", n, KL_SEQ, &o);
    ks_set(s->k, s->at, most, k2(s, OP_max, kx_var(s->k, most), at_cut(s, t, t->most, cut)));
    scope_close(s, o);
    const kexpr *m = hold(s, kx_var(s->k, most), "max");
    const kexpr *base = hold(s, k_select(s, k2(s, OP_eq, m, minus_inf(s)), zero(s), m), "base");
    cut = loop_over(s, "cut", n, KL_SEQ, &o);
    put_cut(s, t, t->most, cut, k1(s, OP_exp, k2(s, OP_sub, at_cut(s, t, t->most, cut), base)));
    scope_close(s, o);
    return m;
}

static void merge_row(sched *s, frame *f, split_online *t)
{
    scope o;
    const kexpr *m = t->most ? merge_maximum(s, t) : NULL;
    kvar *total = new_acc(s, zero(s), "total");
    const kexpr *cut = loop_over(s, "cut", kx_dim(s->k, t->n_cuts), KL_SEQ, &o);
    const kexpr *e = at_cut(s, t, t->total, cut);
    if (t->most)
        e = k2(s, OP_weigh, at_cut(s, t, t->most, cut), e);
    ks_set(s->k, s->at, total, k2(s, OP_add, kx_var(s->k, total), e));
    scope_close(s, o);
    const kexpr *sum = kx_var(s->k, total);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        const stream_part *x = &t->streams[i];
        merging g = {.a = {.t = t, .x = x}, .sum = t->v->kind == ON_plain ? NULL : sum};
        nest n = {.ix = x->own, .n = x->n_own, .body = merge_element, .ctx = &g};
        run_nest(s, f, &n);
    }
    for (size_t i = 0; i < t->n_parts; i++) {
        const value *part = t->parts[i];
        if (part->kind == PART_max)
            store_at(s, f, part, m);
        else if (part->kind == PART_sum)
            store_at(s, f, part, sum);
        else if (part->kind == PART_lse) { /* an infinite maximum is the result */
            e = k2(s, OP_eq, k1(s, OP_abs, m), kx_real(s->k, (double)INFINITY));
            store_at(s, f, part, k_select(s, e, m, k2(s, OP_add, m, k1(s, OP_log, sum))));
        }
    }
}

/* --- loops --- */

static void bind_row(sched *s, frame *f, const split_online *t)
{
    const kexpr *rest = t->row;
    for (uint32_t i = t->v->n_ix; i-- > 0;) {
        const ix *own = t->v->ix[i];
        const kexpr *extent = kx_dim(s->k, own->extent);
        bind(s, f, own, i ? hold(s, k2(s, OP_imod, rest, extent), own->name) : rest);
        rest = i ? hold(s, k2(s, OP_idiv, rest, extent), "rest") : rest;
    }
}

static void all_parts(sched *s, split_online *t)
{
    scope o;
    const kexpr *cuts = kx_dim(s->k, t->n_cuts);
    const kexpr *all = k2(s, OP_mul, kx_dim(s->k, t->n_rows), cuts);
    frame f = new_frame(s, s->steps);
    kblock *at = s->at;
    const kexpr *x = loop_over(s, "part", all, KL_PARALLEL, &o);
    vec_last(&at->s)->note = note_of(s, t->v);
    t->row = hold(s, k2(s, OP_idiv, x, cuts), "row");
    t->cut = hold(s, k2(s, OP_imod, x, cuts), "cut");
    bind_row(s, &f, t);
    one_part(s, &f, t);
    scope_close(s, o);
    f = new_frame(s, s->steps);
    t->row = loop_over(s, "row", kx_dim(s->k, t->n_rows), KL_SEQ, &o);
    bind_row(s, &f, t);
    merge_row(s, &f, t);
    scope_close(s, o);
}

kblock *emit_online_split(sched *s, const value *v, const value *const *parts, size_t n)
{
    split_online *t = ARENA_NEW(s->scratch, split_online);
    *t = (split_online){.v = v, .parts = parts, .n_parts = n};
    if (!plan_split(s, t))
        return s->at;
    const kexpr *few = k2(s, OP_lt, kx_dim(s->k, t->n_rows), kx_int(s->k, FEW_ROWS));
    const kexpr *many = k2(s, OP_le, kx_int(s->k, MANY_KEYS), kx_dim(s->k, t->key->extent));
    kstmt *st = ks_if(s->k, s->at, k2(s, OP_and, few, many));
    scope o = scope_open(s, &st->body);
    form(s, RULE_schedule_online_split);
    make_buffers(s, t);
    all_parts(s, t);
    scope_close(s, o);
    return &st->other;
}
