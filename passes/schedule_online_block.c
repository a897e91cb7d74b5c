/* schedule_online_block.c: one tile of an online op, rows x keys, and what is done before and
 * behind all tiles of a block of rows.
 *
 * An excluded element's score is -inf, so that its weight is exactly 0; and so is the weight of a
 * key behind the last. The numerical rules are those of schedule_norm.c.
 */
#include <math.h>

#include "passes/schedule_online_tile.h"

/* What stands for the score of an excluded element. */
static const kexpr *excluded(sched *s, const online_tiles *t)
{
    return t->v->kind == ON_softmax ? online_minus_inf(s) : online_zero(s);
}

/* --- before the first tile --- */

static void clear(sched *s, const kbuf *b, uint32_t axis, const kexpr **at)
{
    scope o;
    if (axis == b->rank) {
        ks_store(s->k, s->at, b, at, online_zero(s));
        return;
    }
    at[axis] = online_loop(s, "i", online_count(s, 0), kx_dim(s->k, b->shape[axis]),
                           axis + 1 == b->rank ? KL_VECTOR : KL_SEQ, &o);
    clear(s, b, axis + 1, at);
    scope_close(s, o);
}

/* Weights that are asked for are made of the scores, which stand in their place until the row is
 * known. */
static void clear_weights(sched *s, frame *f, online_tiles *t)
{
    scope rows, keys;
    frame own = new_frame(s, f->env);
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &rows);
    bind(s, &own, t->row, k2(s, OP_add, t->row0, r));
    const kexpr *j =
        online_loop(s, "j", online_count(s, 0), kx_dim(s->k, t->key->extent), KL_SEQ, &keys);
    bind(s, &own, t->key, j);
    store_at(s, &own, t->weights, excluded(s, t));
    scope_close(s, keys);
    scope_close(s, rows);
}

void online_begin_rows(sched *s, frame *f, online_tiles *t)
{
    const kexpr *at[3];
    scope o;
    bool softmax = t->v->kind == ON_softmax;
    const kexpr *r =
        online_loop(s, "r", online_count(s, 0), online_count(s, ONLINE_ROWS), KL_VECTOR, &o);
    if (softmax) {
        online_store1(s, t->max, r, online_minus_inf(s));
        online_store1(s, t->part, r, online_zero(s)); /* rows behind the last, too */
    }
    online_store1(s, t->total, r, online_zero(s));
    scope_close(s, o);
    for (uint32_t i = 0; i < t->n_streams; i++)
        clear(s, t->streams[i].acc, 0, at);
    if (!t->n_sums)
        clear(s, t->w, 0, at); /* rows behind the last are read, though nothing comes of it */
    if (t->weights)
        clear_weights(s, f, t);
}

/* --- scores --- */

/* Columns of the sums' panels: a block of keys is one or several of theirs. */
static void sum_columns(sched *s, frame *f, online_tiles *t, const tile_sum *sum, tile_at *at)
{
    int64_t n = t->keys / sum->n_cols;
    scope o;
    if (n == 1) {
        at->block = t->key_block;
        tile_run(s, f, sum, at);
        return;
    }
    /* behind the last block it is that one again where all columns are looked at */
    const kexpr *size = online_count(s, sum->n_cols), *up = online_count(s, sum->n_cols - 1);
    const kexpr *blocks = k2(s, OP_idiv, k2(s, OP_add, t->n_keys, up), size);
    const kexpr *last = k2(s, OP_sub, kx_dim(s->k, tile_blocks(s, sum)), online_count(s, 1));
    const kexpr *b = online_loop(s, "b", online_count(s, 0),
                                 t->padded ? online_count(s, n) : blocks, KL_SEQ, &o);
    at->block = k2(s, OP_add, k2(s, OP_mul, t->key_block, online_count(s, n)), b);
    if (t->padded)
        at->block = k2(s, OP_min, at->block, last);
    at->block = hold(s, at->block, "block");
    at->to_col = hold(s, k2(s, OP_mul, b, size), "col");
    tile_run(s, f, sum, at);
    scope_close(s, o);
}

static void scores(sched *s, frame *f, online_tiles *t)
{
    for (uint32_t i = 0; i < t->n_sums; i++) {
        frame own = new_frame(s, f->env);
        scope o;
        tile_at at = {.n_rows = t->sum_rows[i], .to = t->sum_to[i]};
        kvar *r = kernel_var(s->k, "r", DT_I64, false);
        kstmt *loop = ks_for(s->k, s->at, r, online_count(s, 0), t->rows, KL_SEQ);
        loop->step = at.n_rows;
        o = scope_open(s, &loop->body);
        at.to_row = kx_var(s->k, r);
        const kexpr *end = k2(s, OP_add, t->row0, t->rows);
        tile_rows(s, &own, &t->sums[i], &at, k2(s, OP_add, t->row0, at.to_row), end);
        sum_columns(s, &own, t, &t->sums[i], &at);
        scope_close(s, o);
    }
}

typedef struct element { /* in a loop over the keys of a row */
    frame f;
    const kexpr *r, *c;
} element;

static const kexpr *open_keys(sched *s, frame *f, online_tiles *t, element *x, const kexpr *r,
                              const kexpr *n, scope *o)
{
    x->f = new_frame(s, f->env);
    x->r = r;
    x->c = online_loop(s, "c", online_count(s, 0), n, KL_VECTOR, o);
    bind(s, &x->f, t->row, k2(s, OP_add, t->row0, r));
    bind(s, &x->f, t->key, k2(s, OP_add, t->key0, x->c));
    for (uint32_t i = 0; i < t->n_sums; i++)
        memorise(s, &x->f, t->sums[i].v, online_load2(s, t->sum_to[i], r, x->c));
    return x->c;
}

/* The score of an element, or what stands for an excluded one. */
static const kexpr *score(sched *s, online_tiles *t, element *x, bool masked)
{
    const value *v = t->v;
    const kexpr *live = masked && v->where ? sx(s, &x->f, v->where) : NULL;
    if (masked && t->padded)
        live = k_and(s, k2(s, OP_lt, x->c, t->n_keys), live);
    if (!live)
        return hold(s, sx(s, &x->f, v->args[0]), "x");
    live = hold(s, live, "live");
    if (!t->guarded)
        return hold(s, k_select(s, live, sx(s, &x->f, v->args[0]), excluded(s, t)), "x");
    kvar *e = new_acc(s, excluded(s, t), "x");
    scope o;
    open_if(s, live, &o);
    ks_set(s->k, s->at, e, sx(s, &x->f, v->args[0]));
    scope_close(s, o);
    return kx_var(s->k, e);
}

/* --- weights --- */

static void keep_score(sched *s, const online_tiles *t, element *x, const kexpr *e)
{
    if (t->weights)
        store_at(s, &x->f, t->weights, e);
}

/* The streams' sums of a row are brought to its new maximum. */
static void rescale(sched *s, online_tiles *t, const kexpr *r, const kexpr *by)
{
    for (uint32_t i = 0; i < t->n_streams; i++) {
        const kbuf *acc = t->streams[i].acc;
        scope blocks, cols;
        if (acc->rank == 1) {
            online_store1(s, acc, r, k2(s, OP_weigh, by, online_load1(s, acc, r)));
            continue;
        }
        const kexpr *at[3];
        at[0] = online_loop(s, "block", online_count(s, 0), kx_dim(s->k, acc->shape[0]), KL_SEQ,
                            &blocks);
        at[1] = r;
        at[2] =
            online_loop(s, "c", online_count(s, 0), kx_dim(s->k, acc->shape[2]), KL_VECTOR, &cols);
        ks_store(s->k, s->at, acc, at, k2(s, OP_weigh, by, kx_load(s->k, acc, at)));
        scope_close(s, cols);
        scope_close(s, blocks);
    }
}

/* The scores of each row in t->w, their maximum in t->part. */
static void put_scores(sched *s, frame *f, online_tiles *t, const kexpr *n, bool masked)
{
    element x;
    scope rows, o;
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &rows);
    kvar *most = new_acc(s, online_minus_inf(s), "most");
    open_keys(s, f, t, &x, r, n, &o);
    const kexpr *e = score(s, t, &x, masked);
    online_store2(s, t->w, r, x.c, e);
    keep_score(s, t, &x, e);
    ks_set(s->k, s->at, most, k2(s, OP_max, kx_var(s->k, most), e));
    scope_close(s, o);
    online_store1(s, t->part, r, kx_var(s->k, most));
    scope_close(s, rows);
}

/* For all rows at once: the new maximum, what is subtracted, and by how much the sums shrink. */
static void move_maximum(sched *s, online_tiles *t)
{
    scope o;
    const kexpr *r =
        online_loop(s, "r", online_count(s, 0), online_count(s, ONLINE_ROWS), KL_VECTOR, &o);
    const kexpr *old = hold(s, online_load1(s, t->max, r), "old");
    const kexpr *m = hold(s, k2(s, OP_max, old, online_load1(s, t->part, r)), "max");
    const kexpr *none = k2(s, OP_eq, m, online_minus_inf(s));
    const kexpr *base = hold(s, k_select(s, none, online_zero(s), m), "base");
    online_store1(s, t->max, r, m);
    online_store1(s, t->base, r, base);
    online_store1(s, t->by, r, k1(s, OP_exp, k2(s, OP_sub, old, base)));
    scope_close(s, o);
    r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &o);
    const kexpr *by = hold(s, online_load1(s, t->by, r), "by");
    scope moved;
    open_if(s, k2(s, OP_ne, by, kx_real(s->k, 1.0)), &moved);
    rescale(s, t, r, by);
    scope_close(s, moved);
    scope_close(s, o);
}

/* Phase by phase, so that no row waits for another: e^(score - base) in t->w, its sums. */
static void softmax_weights(sched *s, frame *f, online_tiles *t, const kexpr *n, bool masked)
{
    scope rows, o;
    put_scores(s, f, t, n, masked);
    move_maximum(s, t);
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &rows);
    const kexpr *base = hold(s, online_load1(s, t->base, r), "base");
    kvar *sum = new_acc(s, online_zero(s), "sum");
    const kexpr *c = online_loop(s, "c", online_count(s, 0), n, KL_VECTOR, &o);
    const kexpr *e = hold(s, k1(s, OP_exp, k2(s, OP_sub, online_load2(s, t->w, r, c), base)), "e");
    online_store2(s, t->w, r, c, e);
    ks_set(s->k, s->at, sum, k2(s, OP_add, kx_var(s->k, sum), e));
    scope_close(s, o);
    online_store1(s, t->part, r, kx_var(s->k, sum));
    scope_close(s, rows);
    r = online_loop(s, "r", online_count(s, 0), online_count(s, ONLINE_ROWS), KL_VECTOR, &o);
    const kexpr *total = k2(s, OP_weigh, online_load1(s, t->by, r), online_load1(s, t->total, r));
    online_store1(s, t->total, r, k2(s, OP_add, total, online_load1(s, t->part, r)));
    scope_close(s, o);
}

/* normalize, plain: the scores are the weights; to normalize -inf is nothing. */
static void plain_row(sched *s, frame *f, online_tiles *t, const kexpr *r, const kexpr *n,
                      bool masked)
{
    element x;
    scope o;
    kvar *sum = new_acc(s, online_zero(s), "sum");
    open_keys(s, f, t, &x, r, n, &o);
    const kexpr *e = score(s, t, &x, masked);
    if (t->v->kind == ON_normalize)
        e = hold(s, k_select(s, k2(s, OP_eq, e, online_minus_inf(s)), online_zero(s), e), "x");
    online_store2(s, t->w, r, x.c, e);
    keep_score(s, t, &x, e);
    ks_set(s->k, s->at, sum, k2(s, OP_add, kx_var(s->k, sum), e));
    scope_close(s, o);
    online_store1(s, t->total, r, k2(s, OP_add, online_load1(s, t->total, r), kx_var(s->k, sum)));
}

/* Streams without a column, where they may be NaN or inf at any weight. */
static void scalar_streams(sched *s, frame *f, online_tiles *t, const kexpr *r, const kexpr *n)
{
    for (uint32_t i = 0; i < t->n_streams; i++) {
        const online_stream *st = &t->streams[i];
        element x;
        scope o;
        if (st->col)
            continue;
        kvar *sum = new_acc(s, online_zero(s), "sum");
        open_keys(s, f, t, &x, r, n, &o);
        const kexpr *w = hold(s, online_load2(s, t->w, r, x.c), "w");
        kvar *e = NULL;
        scope in;
        if (!online_is_harmless(s, st->x)) {
            e = new_acc(s, online_zero(s), "e");
            open_if(s, k2(s, OP_ne, w, online_zero(s)), &in);
            ks_set(s->k, s->at, e, k2(s, OP_mul, w, sx(s, &x.f, st->x)));
            scope_close(s, in);
        }
        const kexpr *wx = e ? kx_var(s->k, e) : k2(s, OP_weigh, w, sx(s, &x.f, st->x));
        ks_set(s->k, s->at, sum, k2(s, OP_add, kx_var(s->k, sum), wx));
        scope_close(s, o);
        online_store1(s, st->acc, r, k2(s, OP_add, online_load1(s, st->acc, r), kx_var(s->k, sum)));
    }
}

static void weights(sched *s, frame *f, online_tiles *t, const kexpr *n, bool masked)
{
    scope o;
    bool softmax = t->v->kind == ON_softmax, any = !softmax;
    if (softmax)
        softmax_weights(s, f, t, n, masked);
    for (uint32_t i = 0; i < t->n_streams; i++)
        any = any || !t->streams[i].col;
    if (!any)
        return;
    const kexpr *r = online_loop(s, "r", online_count(s, 0), t->rows, KL_SEQ, &o);
    if (!softmax)
        plain_row(s, f, t, r, n, masked);
    scalar_streams(s, f, t, r, n);
    scope_close(s, o);
}

void online_block(sched *s, frame *f, online_tiles *t, const kexpr *full)
{
    scope o;
    scores(s, f, t);
    const kexpr *n = t->padded ? online_count(s, t->keys) : t->n_keys;
    if (full && full->kind == KX_CONST && !full->i) {
        weights(s, f, t, n, true);
    } else if (full) {
        kstmt *st = open_if(s, full, &o);
        weights(s, f, t, online_count(s, t->keys), false);
        scope_close(s, o);
        o = scope_open(s, &st->other);
        weights(s, f, t, n, true);
        scope_close(s, o);
    } else {
        weights(s, f, t, online_count(s, t->keys), false);
    }
    online_sums(s, f, t);
}
