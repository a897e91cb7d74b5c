/* schedule_online_split.c: online ops with few rows and many keys (schedule_online_split.h): which
 * are computed so, their memory, and the loops over parts.
 *
 * Whether there are few rows and many keys is asked when the kernel runs; where the cuts are
 * depends on nothing but the number of keys. What this cannot do is left to schedule_online.c. */
#include "passes/schedule_online_split.h"

enum { MANY_KEYS = 64, FEW_ROWS = 64, FEW_OUTERS = 1024, FEW_ALONE = 64, SEARCH = 128 };

const kexpr *split_loop(sched *s, const char *name, const kexpr *hi, kloop kind, scope *o)
{
    kvar *x = kernel_var(s->k, name, DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, x, kx_int(s->k, 0), hi, kind);
    *o = scope_open(s, &loop->body);
    return kx_var(s->k, x);
}

/* --- the plan --- */

static bool plan_stream(sched *s, split_online *t, const value *part)
{
    const value *v = t->v;
    if (t->n_streams == SPLIT_MAX_STREAMS)
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

/* The sums over keys in the score's elementwise code. One that is not found here is computed row by
 * row. */
static void find_sums(sched *s, split_online *t, const value *x, unsigned *budget)
{
    if (is_leaf(x) || s->plan[history_of(x)->id].stored || !value_has_ix(x, t->key) || *budget == 0)
        return;
    (*budget)--;
    bool sum = x->op == OP_contract || (x->op == OP_reduce && x->kind == RED_sum);
    if (sum && x->dt != DT_I64) {
        for (uint32_t i = 0; i < t->n_sums; i++) {
            if (t->sums[i] == x)
                return;
        }
        if (t->n_sums < SPLIT_MAX_SUMS)
            t->sums[t->n_sums++] = x;
        return;
    }
    for (uint32_t i = 0; i < x->n_args && OP_HAS(x->op, T_ELEM); i++)
        find_sums(s, t, x->args[i], budget);
}

static bool lacks(const split_online *t, const value *x, const ix *i)
{
    return value_has_ix(x, t->key) && !value_has_ix(x, i);
}

/* Rows that differ in i go over the same keys, and some of what is met there is the same. */
static bool is_shared(const split_online *t, const ix *i)
{
    bool any = false;
    if (t->v->where && value_has_ix(t->v->where, i))
        return false;
    for (uint32_t k = 0; k < t->n_streams; k++)
        any = any || lacks(t, t->streams[k].x, i);
    for (uint32_t k = 0; k < t->n_sums; k++) {
        for (uint32_t a = 0; a < t->sums[k]->n_args; a++)
            any = any || lacks(t, t->sums[k]->args[a], i);
    }
    return any;
}

/* Sums of the shared rows whose predicate is that of all of them. */
static void keep_sums(split_online *t)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->n_sums; k++) {
        bool same = true;
        for (uint32_t i = 0; t->sums[k]->where && i < t->n_shared; i++)
            same = same && !value_has_ix(t->sums[k]->where, t->shared[i]);
        if (same)
            t->sums[n++] = t->sums[k];
    }
    t->n_sums = n;
}

static void share_rows(sched *s, split_online *t)
{
    const value *v = t->v;
    dims *d = s->g->dims;
    unsigned budget = SEARCH;
    int64_t sure = 1, extent; /* the number of rows is a multiple of it */
    find_sums(s, t, v->args[0], &budget);
    t->outer = ARENA_ARRAY(s->scratch, const ix *, v->n_ix);
    t->shared = ARENA_ARRAY(s->scratch, const ix *, v->n_ix);
    t->n_outers = t->n_rows = dim_const(d, 1);
    for (uint32_t i = 0; i < v->n_ix; i++) {
        const ix *own = v->ix[i];
        if (!is_shared(t, own)) {
            t->outer[t->n_outer++] = own;
            t->n_outers = dim_mul(d, t->n_outers, own->extent);
            continue;
        }
        t->shared[t->n_shared++] = own;
        t->n_rows = dim_mul(d, t->n_rows, own->extent);
        if (dim_is_const(own->extent, &extent) && extent > 0 && sure <= FEW_ROWS)
            sure *= extent <= FEW_ROWS ? extent : FEW_ROWS;
    }
    keep_sums(t);
    int64_t tiles = (sure + SPLIT_MAX_ROWS - 1) / SPLIT_MAX_ROWS; /* as even as can be */
    t->tile = (sure + tiles - 1) / tiles;
    t->limit = t->tile > 1 ? FEW_OUTERS : FEW_ALONE; /* alone, they are cut for threads only */
    t->one_tile = t->n_rows && dim_is_const(t->n_rows, &extent) && extent == t->tile;
}

static bool plan_split(sched *s, split_online *t)
{
    const value *v = t->v;
    dims *d = s->g->dims;
    int64_t n;
    if (s->nesting || s->in_step || s->home[v->id] || v->n_bound != 1)
        return false;
    t->key = v->bound[0];
    if (dim_is_const(t->key->extent, &n) && n < MANY_KEYS)
        return false;
    for (size_t i = 0; i < t->n_parts; i++) {
        if (t->parts[i]->kind == PART_weights ||
            (t->parts[i]->kind >= 0 && !plan_stream(s, t, t->parts[i])))
            return false;
    }
    share_rows(s, t);
    const dim *up = dim_add(d, t->key->extent, dim_const(d, SPLIT_KEYS - 1));
    t->n_cuts = dim_floordiv(d, up, dim_const(d, SPLIT_KEYS));
    return t->n_outers && t->n_rows && t->n_cuts &&
           !(dim_is_const(t->n_rows, &n) && n >= FEW_ROWS) &&
           !(dim_is_const(t->n_outers, &n) && n >= t->limit);
}

/* x where it is below n, else 0: sizes that are not met here need no memory. */
static const dim *if_below(dims *d, const dim *x, int64_t n)
{
    const dim *one = dim_const(d, 1);
    return dim_mul(d, x, dim_sub(d, one, dim_min(d, dim_floordiv(d, x, dim_const(d, n)), one)));
}

static void make_buffers(sched *s, split_online *t, const dim *few)
{
    dims *d = s->g->dims;
    store_type st = temp_store(s, s->k->real);
    const dim *tile = dim_const(d, t->tile), *outers = if_below(d, t->n_outers, t->limit);
    outers = dim_mul(d, outers, few);
    const dim *tiles = dim_floordiv(d, dim_add(d, t->n_rows, dim_const(d, t->tile - 1)), tile);
    const dim *rows = dim_mul(d, if_below(d, tiles, FEW_ROWS / t->tile + 1), tile);
    t->w = kernel_buf(s->k, KB_LOCAL, "part_weights", st,
                      (const dim *const[]){rows, dim_const(d, SPLIT_KEYS)}, 2);
    const dim *each[] = {outers, rows, t->n_cuts};
    t->total = kernel_buf(s->k, KB_TEMP, "part_sum", st, each, 3);
    if (t->v->kind == ON_softmax)
        t->most = kernel_buf(s->k, KB_TEMP, "part_max", st, each, 3);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        stream_part *x = &t->streams[i];
        const dim **shape = ARENA_ARRAY(s->scratch, const dim *, x->n_own + 3);
        shape[0] = outers;
        shape[1] = t->n_cuts;
        shape[2] = rows;
        for (uint32_t k = 0; k < x->n_own; k++)
            shape[k + 3] = x->own[k]->extent;
        x->acc = kernel_buf(s->k, KB_TEMP, "part_acc", st, shape, x->n_own + 3);
    }
}

/* --- loops --- */

/* Indices from their number, the last one fastest. */
static void bind_all(sched *s, frame *f, const ix *const *own, uint32_t n, const kexpr *rest)
{
    for (uint32_t i = n; i-- > 0;) {
        const kexpr *extent = kx_dim(s->k, own[i]->extent);
        bind(s, f, own[i], i ? hold(s, k2(s, OP_imod, rest, extent), own[i]->name) : rest);
        rest = i ? hold(s, k2(s, OP_idiv, rest, extent), "rest") : rest;
    }
}

frame split_row(sched *s, const frame *f, const split_online *t, const kexpr *x)
{
    frame own = new_frame_like(s, f);
    bind_all(s, &own, t->shared, t->n_shared, x);
    return own;
}

static void all_parts(sched *s, split_online *t)
{
    scope o;
    const kexpr *cuts = kx_dim(s->k, t->n_cuts), *outers = kx_dim(s->k, t->n_outers);
    frame f = new_frame(s, s->steps);
    kblock *at = s->at;
    const kexpr *x = split_loop(s, "part", k2(s, OP_mul, outers, cuts), KL_PARALLEL, &o);
    vec_last(&at->s)->note = note_of(s, t->v);
    t->at_outer = hold(s, k2(s, OP_idiv, x, cuts), "outer");
    t->cut = hold(s, k2(s, OP_imod, x, cuts), "cut");
    bind_all(s, &f, t->outer, t->n_outer, t->at_outer);
    split_part(s, &f, t);
    scope_close(s, o);
    const kexpr *rows = kx_dim(s->k, t->n_rows);
    f = new_frame(s, s->steps);
    x = split_loop(s, "part", k2(s, OP_mul, outers, rows), KL_PARALLEL, &o);
    t->at_outer = hold(s, k2(s, OP_idiv, x, rows), "outer");
    t->row[0] = hold(s, k2(s, OP_imod, x, rows), "row");
    bind_all(s, &f, t->outer, t->n_outer, t->at_outer);
    bind_all(s, &f, t->shared, t->n_shared, t->row[0]);
    split_merge(s, &f, t);
    scope_close(s, o);
}

static const kexpr *below(sched *s, const dim *x, int64_t n)
{
    int64_t known;
    if (dim_is_const(x, &known) && known < n)
        return NULL;
    return k2(s, OP_lt, kx_dim(s->k, x), kx_int(s->k, n));
}

kblock *emit_online_split(sched *s, const value *v, const value *const *parts, size_t n,
                          const dim *few)
{
    split_online *t = ARENA_NEW(s->scratch, split_online);
    *t = (split_online){.v = v, .parts = parts, .n_parts = n};
    int64_t keys;
    if (!plan_split(s, t))
        return s->at;
    const kexpr *cond = k_and(s, below(s, t->n_rows, FEW_ROWS), below(s, t->n_outers, t->limit));
    if (!dim_is_const(t->key->extent, &keys))
        cond = k_and(s, k2(s, OP_le, kx_int(s->k, MANY_KEYS), kx_dim(s->k, t->key->extent)), cond);
    kstmt *st = cond ? ks_if(s->k, s->at, cond) : NULL;
    scope o = scope_open(s, st ? &st->body : s->at);
    form(s, RULE_schedule_online_split);
    if (t->tile > 1)
        form(s, RULE_schedule_online_shared);
    make_buffers(s, t, few);
    all_parts(s, t);
    scope_close(s, o);
    return st ? &st->other : NULL;
}
