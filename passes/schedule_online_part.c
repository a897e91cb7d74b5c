/* schedule_online_part.c: one part of the keys of an online op with few rows
 * (schedule_online_split.h): scores and weights of all rows, and the streams' sums with them. */
#include <math.h>

#include "passes/schedule_online_split.h"

enum { KEYS_AT_ONCE = 32 }; /* that all rows go over, while they are near */

static const kexpr *zero(sched *s)
{
    return kx_real(s->k, 0.0);
}

static const kexpr *minus_inf(sched *s)
{
    return kx_real(s->k, -(double)INFINITY);
}

static const kexpr *weight_at(sched *s, const frame *f, const split_online *t, int64_t i)
{
    const kexpr *c = k2(s, OP_sub, bound_value(f, t->key), t->first);
    return kx_load(s->k, t->w, (const kexpr *const[]){t->to[i], c});
}

/* --- loops --- */

static kstmt *stepped(sched *s, const char *name, const kexpr *lo, const kexpr *hi, int64_t step,
                      scope *o)
{
    kstmt *loop = ks_for(s->k, s->at, kernel_var(s->k, name, DT_I64, false), lo, hi, KL_SEQ);
    loop->step = step;
    *o = scope_open(s, &loop->body);
    return loop;
}

/* The body for some keys and some rows after the other. */
static void each_tile(sched *s, frame *f, split_online *t, nest_body *body, void *ctx)
{
    scope keys, rows;
    t->lo = t->first;
    t->hi = t->end;
    if (t->one_tile) {
        for (int64_t i = 0; i < t->tile; i++)
            t->row[i] = t->to[i] = kx_int(s->k, i);
        body(s, f, ctx);
        return;
    }
    const kexpr *n = kx_dim(s->k, t->n_rows), *last = k2(s, OP_sub, n, kx_int(s->k, 1));
    t->lo = kx_var(s->k, stepped(s, "key", t->first, t->end, KEYS_AT_ONCE, &keys)->var);
    t->hi = k2(s, OP_min, k2(s, OP_add, t->lo, kx_int(s->k, KEYS_AT_ONCE)), t->end);
    t->hi = hold(s, t->hi, "last");
    const kexpr *r = kx_var(s->k, stepped(s, "r", kx_int(s->k, 0), n, t->tile, &rows)->var);
    for (int64_t i = 0; i < t->tile; i++) {
        t->to[i] = k2(s, OP_add, r, kx_int(s->k, i));
        t->row[i] = i ? hold(s, k2(s, OP_min, t->to[i], last), "row") : r;
    }
    body(s, f, ctx);
    scope_close(s, rows);
    scope_close(s, keys);
}

static nest over_keys(sched *s, const split_online *t, nest_body *body, void *ctx, const value *of)
{
    nest n = {.body = body, .ctx = ctx, .lo = t->lo, .hi = t->hi, .ahead = ONLINE_AHEAD};
    const ix **key = ARENA_ARRAY(s->scratch, const ix *, 1);
    key[0] = t->key;
    n.ix = key;
    n.n = 1;
    n.body_of = s->plan[history_of(of)->id].stored ? NULL : of;
    if (t->v->where)
        split_conjuncts(s->scratch, t->v->where, &n.where[0]);
    return n;
}

/* What is known in f is known in the frames of the rows, as long as the code at hand lasts. */
typedef struct rows {
    frame f[SPLIT_MAX_ROWS];
    const split *splits;
    const active *active;
} rows;

static void open_frames(sched *s, const frame *f, const split_online *t, rows *r)
{
    r->splits = s->splits;
    r->active = s->active;
    for (int64_t i = 0; i < t->tile; i++)
        r->f[i] = split_row(s, f, t, t->row[i]);
}

static void close_frames(sched *s, const rows *r)
{
    s->splits = r->splits;
    s->active = r->active;
}

/* --- scores --- */

typedef struct sums { /* one sum of the score, of all rows at hand */
    const split_online *t;
    const value *v;
    kvar *acc[SPLIT_MAX_ROWS];
} sums;

static void add_products(sched *s, frame *f, void *ctx)
{
    const sums *w = ctx;
    rows r;
    open_frames(s, f, w->t, &r);
    for (int64_t i = 0; i < w->t->tile; i++) {
        const kexpr *x = sx(s, &r.f[i], w->v->args[0]);
        if (w->v->op == OP_contract)
            x = k2(s, OP_mul, x, sx(s, &r.f[i], w->v->args[1]));
        ks_set(s->k, s->at, w->acc[i], k2(s, OP_add, kx_var(s->k, w->acc[i]), x));
    }
    close_frames(s, &r);
}

static void sum_up(sched *s, frame *f, const split_online *t, const value *v, rows *r)
{
    sums w = {.t = t, .v = v};
    for (int64_t i = 0; i < t->tile; i++)
        w.acc[i] = new_acc(s, zero(s), "acc");
    nest n = {.ix = v->bound, .n = v->n_bound, .body_of = v, .body = add_products, .ctx = &w};
    if (v->where)
        split_conjuncts(s->scratch, v->where, &n.where[0]);
    run_nest(s, f, &n);
    for (int64_t i = 0; i < t->tile; i++)
        memorise(s, &r->f[i], v, kx_var(s->k, w.acc[i]));
}

static void put_scores(sched *s, frame *f, void *ctx)
{
    const split_online *t = ctx;
    rows r;
    open_frames(s, f, t, &r);
    for (uint32_t k = 0; k < t->n_sums; k++)
        sum_up(s, f, t, t->sums[k], &r);
    const kexpr *c = k2(s, OP_sub, bound_value(f, t->key), t->first);
    for (int64_t i = 0; i < t->tile; i++) {
        const kexpr *x = hold(s, sx(s, &r.f[i], t->v->args[0]), "score");
        if (t->v->kind == ON_normalize)
            x = k_select(s, k2(s, OP_eq, x, minus_inf(s)), zero(s), x);
        ks_store(s->k, s->at, t->w, (const kexpr *const[]){t->to[i], c}, x);
    }
    close_frames(s, &r);
}

static void all_scores(sched *s, frame *f, void *ctx)
{
    nest n = over_keys(s, ctx, put_scores, ctx, ((const split_online *)ctx)->v->args[0]);
    run_nest(s, f, &n);
}

/* --- weights --- */

static const kexpr *weight_loop(sched *s, const split_online *t, const kexpr *row, const kexpr **at,
                                scope *o)
{
    at[0] = row;
    at[1] = split_loop(s, "c", k2(s, OP_sub, t->end, t->first), KL_VECTOR, o);
    return kx_load(s->k, t->w, at);
}

/* The row's scores become weights; their maximum and sum are kept. */
static void weigh_row(sched *s, const split_online *t, const kexpr *row)
{
    scope o;
    const kexpr *at[2], *kept[] = {t->at_outer, row, t->cut}, *base = NULL;
    if (t->most) {
        kvar *most = new_acc(s, minus_inf(s), "most");
        const kexpr *x = weight_loop(s, t, row, at, &o);
        ks_set(s->k, s->at, most, k2(s, OP_max, kx_var(s->k, most), x));
        scope_close(s, o);
        const kexpr *m = kx_var(s->k, most);
        ks_store(s->k, s->at, t->most, kept, m);
        base = hold(s, k_select(s, k2(s, OP_eq, m, minus_inf(s)), zero(s), m), "base");
    }
    kvar *sum = new_acc(s, zero(s), "sum");
    const kexpr *x = weight_loop(s, t, row, at, &o);
    if (base) {
        x = hold(s, k1(s, OP_exp, k2(s, OP_sub, x, base)), "e");
        ks_store(s->k, s->at, t->w, at, x);
    }
    ks_set(s->k, s->at, sum, k2(s, OP_add, kx_var(s->k, sum), x));
    scope_close(s, o);
    ks_store(s->k, s->at, t->total, kept, kx_var(s->k, sum));
}

static void weigh_rows(sched *s, const split_online *t)
{
    scope o;
    const kexpr *r = split_loop(s, "r", kx_dim(s->k, t->n_rows), KL_SEQ, &o);
    weigh_row(s, t, r);
    scope_close(s, o);
}

/* What stands for the scores of excluded keys, which are passed over. */
static void clear_scores(sched *s, const split_online *t)
{
    scope rows, keys;
    const kexpr *at[2];
    at[0] = split_loop(s, "r", kx_dim(s->k, t->w->shape[0]), KL_SEQ, &rows);
    weight_loop(s, t, at[0], at, &keys);
    ks_store(s->k, s->at, t->w, at, t->most ? minus_inf(s) : zero(s));
    scope_close(s, keys);
    scope_close(s, rows);
}

/* --- streams --- */

typedef struct adding {
    split_online *t;
    const stream_part *x;
    const kexpr *w[SPLIT_MAX_ROWS]; /* weights of the key at hand */
    bool some;                      /* none of them is 0 */
} adding;

static void add_element(sched *s, frame *f, void *ctx)
{
    const adding *a = ctx;
    const split_online *t = a->t;
    rows r;
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, a->x->n_own + 3);
    open_frames(s, f, t, &r);
    at[0] = t->at_outer;
    at[1] = t->cut;
    for (uint32_t i = 0; i < a->x->n_own; i++)
        at[i + 3] = bound_value(f, a->x->own[i]);
    for (int64_t i = 0; i < t->tile; i++) {
        at[2] = t->to[i];
        const kexpr *e = k2(s, a->some ? OP_mul : OP_weigh, a->w[i], sx(s, &r.f[i], a->x->x));
        ks_store(s->k, s->at, a->x->acc, at, k2(s, OP_add, kx_load(s->k, a->x->acc, at), e));
    }
    close_frames(s, &r);
}

static void add_row(sched *s, frame *f, adding *a, bool some)
{
    const value *x = a->x->x;
    nest n = {.ix = a->x->own, .n = a->x->n_own, .body = add_element, .ctx = a};
    n.body_of = s->plan[history_of(x)->id].stored ? NULL : x;
    a->some = some;
    run_nest(s, f, &n);
}

/* A weight of 0 is asked for once, not for each element. */
static void add_key(sched *s, frame *f, void *ctx)
{
    adding *a = ctx;
    const kexpr *some = NULL;
    for (int64_t i = 0; i < a->t->tile; i++) {
        a->w[i] = hold(s, weight_at(s, f, a->t, i), "w");
        some = k_and(s, some, k2(s, OP_ne, a->w[i], zero(s)));
    }
    if (!a->x->n_own) {
        add_row(s, f, a, false);
        return;
    }
    scope o;
    kstmt *st = open_if(s, some, &o);
    add_row(s, f, a, true);
    scope_close(s, o);
    o = scope_open(s, &st->other);
    add_row(s, f, a, false);
    scope_close(s, o);
}

static void add_keys(sched *s, frame *f, void *ctx)
{
    const adding *a = ctx;
    nest n = over_keys(s, a->t, add_key, ctx, a->x->x);
    run_nest(s, f, &n);
}

static void clear(sched *s, const stream_part *x, uint32_t axis, const kexpr **at)
{
    scope o;
    if (axis == x->acc->rank) {
        ks_store(s->k, s->at, x->acc, at, zero(s));
        return;
    }
    at[axis] = split_loop(s, "i", kx_dim(s->k, x->acc->shape[axis]), KL_SEQ, &o);
    clear(s, x, axis + 1, at);
    scope_close(s, o);
}

static void add_stream(sched *s, frame *f, split_online *t, const stream_part *x)
{
    adding a = {.t = t, .x = x};
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, x->acc->rank);
    at[0] = t->at_outer;
    at[1] = t->cut;
    clear(s, x, 2, at);
    each_tile(s, f, t, add_keys, &a);
}

void split_part(sched *s, frame *f, split_online *t)
{
    const kexpr *size = kx_int(s->k, SPLIT_KEYS), *extent = kx_dim(s->k, t->key->extent);
    t->first = hold(s, k2(s, OP_mul, t->cut, size), "first");
    t->end = hold(s, k2(s, OP_min, k2(s, OP_add, t->first, size), extent), "end");
    if (t->v->where)
        clear_scores(s, t);
    each_tile(s, f, t, all_scores, t);
    weigh_rows(s, t);
    for (uint32_t i = 0; i < t->n_streams; i++)
        add_stream(s, f, t, &t->streams[i]);
}
