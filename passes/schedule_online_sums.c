/* schedule_online_sums.c: the streams' sums of one tile of an online op, and the results of a block
 * of rows. A stream's block that holds inf or NaN is summed element by element, where a weight is
 * not 0; in any other 0 * x is 0. */
#include <math.h>

#include "passes/schedule_online_tile.h"

/* --- sums --- */

typedef struct weight_at {
    const online_tiles *t;
    const kexpr *first; /* row of the tile */
} weight_at;

static const kexpr *weight(sched *s, frame *f, const kexpr *r, void *ctx)
{
    const weight_at *w = ctx;
    const kexpr *c = k2(s, OP_sub, bound_value(f, w->t->key), w->t->key0);
    return online_load2(s, w->t->w, k2(s, OP_add, w->first, r), c);
}

static const kexpr *odd_at(sched *s, frame *f, const online_tiles *t, const online_stream *x)
{
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, x->n_odd_axes);
    for (uint32_t i = 0; i < x->n_odd_axes; i++)
        at[i] = x->odd_axes[i] == t->key ? t->key_block : bound_value(f, x->odd_axes[i]);
    return kx_load(s->k, x->odd, at);
}

/* The columns of a block that are there. */
static const kexpr *columns_of(sched *s, const online_stream *x, const kexpr *first)
{
    const kexpr *left = k2(s, OP_sub, kx_dim(s->k, x->col->extent), first);
    return hold(s, k2(s, OP_min, left, online_count(s, x->sum.n_cols)), "n");
}

static void odd_sums(sched *s, frame *f, online_tiles *t, online_stream *x)
{
    scope rows, keys, some, blocks, cols;
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &rows);
    const kexpr *c = online_loop(s, "c", online_count(s, 0), t->n_keys, KL_SEQ, &keys);
    const kexpr *w = hold(s, online_load2(s, t->w, r, c), "w");
    open_if(s, k2(s, OP_ne, w, online_zero(s)), &some);
    frame own = new_frame(s, f->env);
    bind(s, &own, t->row, k2(s, OP_add, t->row0, r));
    bind(s, &own, t->key, hold(s, k2(s, OP_add, t->key0, c), "key"));
    const kexpr *at[3] = {NULL, r, NULL};
    at[0] = online_loop(s, "block", online_count(s, 0), kx_dim(s->k, x->acc->shape[0]), KL_SEQ,
                        &blocks);
    const kexpr *first = hold(s, k2(s, OP_mul, at[0], online_count(s, x->sum.n_cols)), "first");
    const kexpr *n = columns_of(s, x, first);
    at[2] = online_loop(s, "c", online_count(s, 0), n, KL_VECTOR, &cols);
    bind(s, &own, x->col, k2(s, OP_add, first, at[2]));
    const kexpr *e = k2(s, OP_mul, w, sx(s, &own, x->x));
    ks_store(s->k, s->at, x->acc, at, k2(s, OP_add, kx_load(s->k, x->acc, at), e));
    scope_close(s, cols);
    scope_close(s, blocks);
    scope_close(s, some);
    scope_close(s, keys);
    scope_close(s, rows);
}

static void tile_sums(sched *s, frame *f, online_tiles *t, online_stream *x)
{
    scope blocks, rows;
    frame own = new_frame(s, f->env);
    weight_at w = {.t = t};
    tile_at at = {.n_rows = x->n_rows, .to = x->acc, .add = true};
    at.block = online_loop(s, "block", online_count(s, 0), kx_dim(s->k, x->acc->shape[0]), KL_SEQ,
                           &blocks);
    kvar *r = kernel_var(s->k, "r", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, r, online_count(s, 0), t->rows, KL_SEQ);
    loop->step = x->n_rows;
    rows = scope_open(s, &loop->body);
    at.to_row = w.first = kx_var(s->k, r);
    at.lo = t->key0;
    at.hi = k2(s, OP_add, t->key0, t->n_keys);
    x->sum.factor = weight;
    x->sum.factor_ctx = &w;
    tile_run(s, &own, &x->sum, &at);
    scope_close(s, rows);
    scope_close(s, blocks);
}

void online_sums(sched *s, frame *f, online_tiles *t)
{
    for (uint32_t i = 0; i < t->n_streams; i++) {
        online_stream *x = &t->streams[i];
        scope o;
        if (!x->col)
            continue;
        kstmt *odd = open_if(s, odd_at(s, f, t, x), &o);
        odd_sums(s, f, t, x);
        scope_close(s, o);
        o = scope_open(s, &odd->other);
        tile_sums(s, f, t, x);
        scope_close(s, o);
    }
}

/* --- which blocks of a stream hold inf or NaN --- */

typedef struct odd_blocks {
    online_tiles *t;
    online_stream *x;
} odd_blocks;

static void find_odd(sched *s, frame *f, void *ctx)
{
    const odd_blocks *w = ctx;
    const online_stream *x = w->x;
    const kexpr *size = online_count(s, w->t->keys), *extent = kx_dim(s->k, w->t->key->extent);
    scope blocks, keys, cols;
    const kexpr *n = kx_dim(s->k, x->odd->shape[x->n_odd_axes - 1]);
    const kexpr *b = online_loop(s, "block", online_count(s, 0), n, KL_SEQ, &blocks);
    kvar *odd = new_acc(s, kx_bool(s->k, false), "odd");
    const kexpr *first = hold(s, k2(s, OP_mul, b, size), "first");
    const kexpr *end = hold(s, k2(s, OP_min, k2(s, OP_add, first, size), extent), "end");
    frame own = new_frame(s, f->env);
    bind(s, &own, w->t->key, online_loop(s, "j", first, end, KL_SEQ, &keys));
    bind(s, &own, x->col,
         online_loop(s, "c", online_count(s, 0), kx_dim(s->k, x->col->extent), KL_VECTOR, &cols));
    const kexpr *far = k1(s, OP_abs, sx(s, &own, x->x));
    const kexpr *finite = k2(s, OP_lt, far, kx_real(s->k, (double)INFINITY));
    ks_set(s->k, s->at, odd, k2(s, OP_or, kx_var(s->k, odd), k1(s, OP_not, finite)));
    scope_close(s, cols);
    scope_close(s, keys);
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, x->n_odd_axes);
    for (uint32_t i = 0; i + 1 < x->n_odd_axes; i++)
        at[i] = bound_value(f, x->odd_axes[i]);
    at[x->n_odd_axes - 1] = b;
    ks_store(s->k, s->at, x->odd, at, kx_var(s->k, odd));
    scope_close(s, blocks);
}

void online_make_odd(sched *s, const frame *f, online_tiles *t, online_stream *x)
{
    const value *v = x->x;
    dims *ds = s->g->dims;
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, v->n_ix + 1);
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, v->n_ix + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (v->ix[i] == t->key || v->ix[i] == x->col || bound_value(f, v->ix[i]))
            continue;
        axes[n] = v->ix[i];
        shape[n++] = v->ix[i]->extent;
    }
    axes[n] = t->key;
    shape[n++] = dim_floordiv(ds, dim_add(ds, t->key->extent, dim_const(ds, t->keys - 1)),
                              dim_const(ds, t->keys));
    x->odd = kernel_buf(s->k, KB_TEMP, "odd", ST_BOOL, shape, n);
    x->odd_axes = axes;
    x->n_odd_axes = n;
}

void online_find_odd(sched *s, frame *f, online_tiles *t, online_stream *x)
{
    odd_blocks w = {t, x};
    nest each = {.ix = x->odd_axes, .n = x->n_odd_axes - 1, .body = find_odd, .ctx = &w};
    each.note = arena_printf(s->k->a, "inf or NaN in %s", name_of(x->x));
    run_nest(s, f, &each);
}

/* --- behind the last tile --- */

static const kexpr *statistic(sched *s, const online_tiles *t, int which, const kexpr *r)
{
    if (which == PART_sum)
        return online_load1(s, t->total, r);
    const kexpr *m = hold(s, online_load1(s, t->max, r), "max");
    if (which == PART_max)
        return m;
    /* an infinite maximum is the result; the sum is 0 or NaN then */
    const kexpr *infinite = k2(s, OP_eq, k1(s, OP_abs, m), kx_real(s->k, (double)INFINITY));
    const kexpr *lse = k2(s, OP_add, m, k1(s, OP_log, online_load1(s, t->total, r)));
    return k_select(s, infinite, m, lse);
}

/* x divided by the row's sum, which is not 0 or replaced. */
static const kexpr *divided(sched *s, const online_tiles *t, const kexpr *x, const kexpr *sum)
{
    if (t->v->kind == ON_plain)
        return x;
    const kexpr *none = k2(s, OP_eq, sum, online_zero(s));
    if (t->v->kind == ON_normalize)
        return k_select(s, none, online_zero(s), k2(s, OP_div, x, sum));
    return k2(s, OP_div, x, sum);
}

static const kexpr *divisor(sched *s, const online_tiles *t, const kexpr *r)
{
    const kexpr *sum = online_load1(s, t->total, r);
    if (t->v->kind != ON_softmax)
        return hold(s, sum, "sum");
    sum = hold(s, sum, "sum");
    return hold(s, k_select(s, k2(s, OP_eq, sum, online_zero(s)), kx_real(s->k, 1.0), sum), "sum");
}

static void put_stream(sched *s, frame *f, online_tiles *t, online_stream *x, const kexpr *r,
                       const kexpr *sum)
{
    scope blocks, cols;
    if (!x->col) {
        store_at(s, f, x->part, divided(s, t, online_load1(s, x->acc, r), sum));
        return;
    }
    const kexpr *at[3] = {NULL, r, NULL};
    at[0] = online_loop(s, "block", online_count(s, 0), kx_dim(s->k, x->acc->shape[0]), KL_SEQ,
                        &blocks);
    const kexpr *first = hold(s, k2(s, OP_mul, at[0], online_count(s, x->sum.n_cols)), "first");
    const kexpr *n = columns_of(s, x, first);
    at[2] = online_loop(s, "c", online_count(s, 0), n, KL_VECTOR, &cols);
    frame own = new_frame(s, f->env);
    bind(s, &own, x->col, k2(s, OP_add, first, at[2]));
    store_at(s, &own, x->part, divided(s, t, kx_load(s->k, x->acc, at), sum));
    scope_close(s, cols);
    scope_close(s, blocks);
}

static void put_weights(sched *s, frame *f, online_tiles *t, const kexpr *r, const kexpr *sum)
{
    scope keys;
    const value *v = t->weights;
    frame own = new_frame(s, f->env);
    const kexpr *base = NULL;
    if (t->v->kind == ON_plain)
        return;
    if (t->v->kind == ON_softmax) {
        const kexpr *m = hold(s, online_load1(s, t->max, r), "max");
        base =
            hold(s, k_select(s, k2(s, OP_eq, m, online_minus_inf(s)), online_zero(s), m), "base");
    }
    bind(s, &own, t->key,
         online_loop(s, "j", online_count(s, 0), kx_dim(s->k, t->key->extent), KL_VECTOR, &keys));
    const kexpr *e = sx(s, &own, v);
    if (base)
        e = k1(s, OP_exp, k2(s, OP_sub, e, base));
    e = divided(s, t, e, sum);
    if (t->v->where) /* a NaN is for the others */
        e = k_select(s, sx(s, &own, t->v->where), e, online_zero(s));
    store_at(s, &own, v, e);
    scope_close(s, keys);
}

void online_end_rows(sched *s, frame *f, online_tiles *t)
{
    scope o;
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &o);
    frame own = new_frame(s, f->env);
    bind(s, &own, t->row, hold(s, k2(s, OP_add, t->row0, r), t->row->name));
    const kexpr *sum = divisor(s, t, r);
    for (uint32_t i = 0; i < t->n_streams; i++)
        put_stream(s, &own, t, &t->streams[i], r, sum);
    for (size_t i = 0; i < t->statistics.n; i++)
        store_at(s, &own, t->statistics.v[i], statistic(s, t, t->statistics.v[i]->kind, r));
    if (t->weights)
        put_weights(s, &own, t, r, sum);
    scope_close(s, o);
}
