/* schedule_online_tile.c: online ops by tiles: which are computed so, their panels, and the loops
 * over blocks of rows and keys. See schedule_online_tile.h. What is refused here is left to
 * schedule_online.c, and so are sizes below a few tiles, when the kernel runs.
 *
 * Blocks of rows are independent and run in parallel, those with the most keys (of a causal mask)
 * first; how they are cut depends on shapes alone. */
#include "passes/schedule_online_tile.h"

enum { SEARCH = 128, FEW_ROWS = 12, FEW_KEYS = 32, BLOCK_KEYS = 64 };
enum { MANY_UNITS = 32, FEW_BLOCKS = 8 }; /* of panels; of rows, for each of them */

/* --- what is in the way --- */

static bool is_stored(const sched *s, const value *x)
{
    return is_leaf(x) || s->plan[history_of(x)->id].stored;
}

/* Stored, and for some elements only. */
static bool is_partial(const sched *s, const value *x)
{
    return !is_leaf(x) && s->plan[history_of(x)->id].need.n > 0;
}

static bool harmless(const sched *s, const value *x, unsigned *budget)
{
    if (is_stored(s, x))
        return !is_partial(s, x);
    if (*budget == 0 || OP_HAS(x->op, T_BINDS) || x->op == OP_join || checks(s, x) ||
        (x->op == OP_read && s->plan[x->id].unsafe))
        return false;
    (*budget)--;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!harmless(s, x->args[i], budget))
            return false;
    }
    return !x->where || harmless(s, x->where, budget);
}

bool online_is_harmless(const sched *s, const value *x)
{
    unsigned budget = SEARCH;
    return harmless(s, x, &budget);
}

static bool is_outer(const online_tiles *t, const ix *i)
{
    for (uint32_t k = 0; k < t->n_outer; k++) {
        if (t->outer[k] == i)
            return true;
    }
    return false;
}

/* --- the score --- */

/* The sums in x's elementwise code that have the key. False: one is no sum of tiles, so that there
 * would be a loop in the loop over keys. */
static bool find_sums(sched *s, online_tiles *t, const value *x, unsigned *budget)
{
    if (is_stored(s, x) || !value_has_ix(x, t->key))
        return true;
    if (*budget == 0)
        return false;
    (*budget)--;
    if (OP_HAS(x->op, T_BINDS)) {
        for (uint32_t i = 0; i < t->n_sums; i++) {
            if (t->sums[i].v == x)
                return true;
        }
        tile_sum *sum = &t->sums[t->n_sums];
        if (t->n_sums == ONLINE_MAX_SUMS || !tile_plan(s, sum, x, &t->row, 1, t->key) ||
            (t->n_sums && sum->n_cols != t->sums[0].n_cols))
            return false;
        for (uint32_t i = 0; i < sum->n_panels; i++) {
            /* its panels are made for all keys, the excluded ones too */
            if (t->v->where && !online_is_harmless(s, sum->panels[i].v))
                return false;
        }
        for (uint32_t i = 0; i < sum->n_scalars; i++) {
            if (t->v->where && !online_is_harmless(s, sum->scalars[i]))
                return false;
        }
        t->keys = BLOCK_KEYS / sum->n_cols * sum->n_cols;
        t->n_sums++;
        return true;
    }
    if (x->op == OP_read || x->op == OP_join)
        return online_is_harmless(s, x);
    if (!OP_HAS(x->op, T_ELEM))
        return false;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!find_sums(s, t, x->args[i], budget))
            return false;
    }
    return !x->where || find_sums(s, t, x->where, budget);
}

/* Elementwise code whose checks would be met by excluded elements, or what is not there for them.
 */
static bool has_checks(const sched *s, const online_tiles *t, const value *x, unsigned *budget)
{
    if (is_stored(s, x))
        return is_partial(s, x);
    if (*budget == 0)
        return true;
    (*budget)--;
    for (uint32_t i = 0; i < t->n_sums; i++) {
        if (t->sums[i].v == x)
            return false;
    }
    bool any = checks(s, x) || (x->op == OP_read && s->plan[x->id].unsafe);
    for (uint32_t i = 0; i < x->n_args && !any; i++)
        any = has_checks(s, t, x->args[i], budget);
    return any || (x->where && has_checks(s, t, x->where, budget));
}

/* Nothing but the sums is loaded by key. */
static bool is_padded(const sched *s, const online_tiles *t, const value *x, unsigned *budget)
{
    if (!value_has_ix(x, t->key) || x->op == OP_index)
        return true;
    if (*budget == 0)
        return false;
    (*budget)--;
    for (uint32_t i = 0; i < t->n_sums; i++) {
        if (t->sums[i].v == x)
            return true;
    }
    bool plain = OP_HAS(x->op, T_ELEM) && !is_stored(s, x) &&
                 (!x->where || is_padded(s, t, x->where, budget));
    for (uint32_t i = 0; i < x->n_args && plain; i++)
        plain = is_padded(s, t, x->args[i], budget);
    return plain;
}

/* --- streams --- */

/* The largest number of rows, at most as many as the registers hold, that divides a block. */
static int64_t rows_of_tile(const sched *s, int64_t n_cols)
{
    int64_t n = tile_best_rows(s, n_cols, 0);
    while (ONLINE_ROWS % n != 0)
        n--;
    return n;
}

static bool plan_stream(sched *s, online_tiles *t, const value *part)
{
    if (t->n_streams == ONLINE_MAX_STREAMS)
        return false;
    online_stream *x = &t->streams[t->n_streams++];
    *x = (online_stream){.part = part, .x = t->v->args[part->kind + 1]};
    for (uint32_t i = 0; i < x->x->n_ix; i++) {
        const ix *own = x->x->ix[i];
        if (own == t->key || own == t->row || is_outer(t, own) || is_step_of(s, t->v, own))
            continue;
        if (x->col)
            return false;
        x->col = own;
    }
    if (!x->col)
        return online_is_harmless(s, x->x) || !t->v->where;
    if (value_has_ix(x->x, t->row) || !value_has_ix(x->x, t->key) || !online_is_harmless(s, x->x))
        return false;
    const ix **bound = ARENA_ARRAY(s->scratch, const ix *, 1);
    bound[0] = t->key;
    if (!tile_plan_sum(s, &x->sum, x->x, bound, 1, (conjuncts){0}, NULL, 0, x->col))
        return false;
    x->n_rows = rows_of_tile(s, x->sum.n_cols);
    return x->sum.n_panels > 0;
}

/* --- the plan --- */

static bool only_bounds(const value *p)
{
    if (p->op == OP_and)
        return only_bounds(p->args[0]) && only_bounds(p->args[1]);
    return p->op != OP_or && p->op != OP_not;
}

static bool plan_with_row(sched *s, online_tiles *t, const ix *row, const value *const *parts,
                          size_t n)
{
    const value *v = t->v;
    unsigned budget = SEARCH;
    t->row = row;
    t->keys = BLOCK_KEYS;
    t->n_sums = t->n_streams = t->n_outer = 0;
    t->statistics.n = 0;
    t->weights = NULL;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (v->ix[i] != row && !is_step_of(s, v, v->ix[i]))
            t->outer[t->n_outer++] = v->ix[i];
    }
    if (!find_sums(s, t, v->args[0], &budget))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (parts[i]->kind == PART_weights)
            t->weights = parts[i];
        else if (parts[i]->kind < 0)
            vec_push(s->scratch, &t->statistics, parts[i]);
        else if (!plan_stream(s, t, parts[i]))
            return false;
    }
    for (uint32_t i = 0; i < t->n_sums; i++)
        t->sum_rows[i] = rows_of_tile(s, t->sums[i].n_cols);
    budget = SEARCH;
    t->guarded = v->where && has_checks(s, t, v->args[0], &budget);
    budget = SEARCH;
    t->padded = !t->guarded && !t->weights && is_padded(s, t, v->args[0], &budget) &&
                (!v->where || is_padded(s, t, v->where, &budget));
    for (uint32_t i = 0; i < t->n_streams; i++)
        t->padded = t->padded && t->streams[i].col;
    if (v->where) {
        domain_way way = domain_way_of(s->scratch, v->where, t->key, &t->row, 1);
        t->tests = way > DOMAIN_BOUNDS || !only_bounds(v->where);
    }
    return true;
}

/* What a tile is good for: something in it is used more than once. */
static bool pays(const online_tiles *t)
{
    bool any = t->n_sums > 0;
    for (uint32_t i = 0; i < t->n_streams; i++)
        any = any || t->streams[i].col;
    return any;
}

static bool is_long(const ix *i)
{
    int64_t n;
    return !dim_is_const(i->extent, &n) || n >= ONLINE_ROWS;
}

/* The row is the index that the predicate speaks of, if it can be, or one that may be long: batches
 * and heads that share their keys could be rows, too. */
static online_tiles *plan_tiles(sched *s, const value *v, const value *const *parts, size_t n)
{
    online_tiles *t = ARENA_NEW(s->scratch, online_tiles);
    t->v = v;
    t->outer = ARENA_ARRAY(s->scratch, const ix *, v->n_ix);
    if (v->n_bound != 1 || value_has_ix(v, v->bound[0]))
        return NULL;
    t->key = v->bound[0];
    const ix *best = NULL;
    int how_good = 0;
    for (uint32_t i = v->n_ix; i-- > 0;) {
        if (is_step_of(s, v, v->ix[i]) || !plan_with_row(s, t, v->ix[i], parts, n) || !pays(t))
            continue;
        int good = 1 + is_long(v->ix[i]) + (v->where && value_has_ix(v->where, v->ix[i]) ? 2 : 0);
        if (good > how_good) {
            how_good = good;
            best = v->ix[i];
        }
    }
    return best && plan_with_row(s, t, best, parts, n) ? t : NULL;
}

static bool is_unit(const online_tiles *t, const ix *i)
{
    bool any = false;
    for (uint32_t k = 0; k < t->n_streams; k++)
        any = any || (t->streams[k].col && value_has_ix(t->streams[k].x, i));
    for (uint32_t k = 0; k < t->n_sums; k++) {
        for (uint32_t p = 0; p < t->sums[k].n_panels; p++)
            any = any || value_has_ix(t->sums[k].panels[p].v, i);
    }
    return any;
}

static void units_first(online_tiles *t)
{
    for (uint32_t i = 0; i < t->n_outer; i++) {
        if (!is_unit(t, t->outer[i]))
            continue;
        const ix *unit = t->outer[i];
        for (uint32_t k = i; k > t->n_units; k--)
            t->outer[k] = t->outer[k - 1];
        t->outer[t->n_units++] = unit;
    }
}

/* --- memory --- */

static const kbuf *local(sched *s, const char *name, const dim *blocks, int64_t cols)
{
    dims *d = s->g->dims;
    const dim *shape[3] = {dim_const(d, ONLINE_ROWS)};
    uint32_t rank = 1;
    if (blocks) {
        shape[0] = blocks;
        shape[1] = dim_const(d, ONLINE_ROWS);
        shape[2] = dim_const(d, cols);
        rank = 3;
    }
    return kernel_buf(s->k, KB_LOCAL, name, temp_store(s, s->k->real), shape, rank);
}

static void make_buffers(sched *s, online_tiles *t)
{
    for (uint32_t i = 0; i < t->n_sums; i++)
        t->sum_to[i] = tile_buf(s, KB_LOCAL, ONLINE_ROWS, t->keys, i);
    t->w = tile_buf(s, KB_LOCAL, ONLINE_ROWS, t->keys, 0);
    if (t->v->kind == ON_softmax) {
        t->max = local(s, "row_max", NULL, 0);
        t->part = local(s, "row_part", NULL, 0);
        t->base = local(s, "row_base", NULL, 0);
        t->by = local(s, "row_by", NULL, 0);
    }
    t->total = local(s, "row_sum", NULL, 0);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        online_stream *x = &t->streams[i];
        x->acc = x->col ? local(s, "acc", tile_blocks(s, &x->sum), x->sum.n_cols)
                        : local(s, "acc", NULL, 0);
    }
}

/* 1 where there are enough rows, else 0: what tiles need is not asked for where they are not used.
 */
static const dim *used(sched *s, const online_tiles *t)
{
    dims *d = s->g->dims;
    const dim *some = dim_floordiv(d, t->row->extent, dim_const(d, FEW_ROWS));
    return dim_min(d, some, dim_const(d, 1));
}

/* --- panels --- */

static const kexpr *blocks_of(sched *s, const ix *i, int64_t size)
{
    dims *d = s->g->dims;
    const dim *up = dim_add(d, i->extent, dim_const(d, size - 1));
    return kx_dim(s->k, dim_floordiv(d, up, dim_const(d, size)));
}

/* Indices from their number, the last one fastest. */
static void bind_outer(sched *s, frame *f, const ix *const *outer, uint32_t n, const kexpr *rest)
{
    for (uint32_t i = n; i-- > 0;) {
        const kexpr *extent = kx_dim(s->k, outer[i]->extent);
        rest = hold(s, rest, "rest");
        bind(s, f, outer[i], hold(s, i ? k2(s, OP_imod, rest, extent) : rest, outer[i]->name));
        rest = k2(s, OP_idiv, rest, extent);
    }
}

/* Panels are made for all rows at once, or, where there are many of them for few rows each, one
 * after the other by who uses them, so that they are met where they were just made. */
static void choose_apart(sched *s, online_tiles *t)
{
    const kexpr *units = kx_int(s->k, 1), *each = blocks_of(s, t->row, ONLINE_ROWS);
    for (uint32_t i = 0; i < t->n_outer; i++) {
        const kexpr *n = kx_dim(s->k, t->outer[i]->extent);
        if (i < t->n_units)
            units = k2(s, OP_mul, units, n);
        else
            each = k2(s, OP_mul, each, n);
    }
    t->units = units;
    t->each = hold(s, each, "each");
    if ((units->kind == KX_CONST && units->i < MANY_UNITS) ||
        (each->kind == KX_CONST && each->i > FEW_BLOCKS))
        return;
    const kexpr *many = k2(s, OP_le, kx_int(s->k, MANY_UNITS), units);
    const kexpr *small = k2(s, OP_le, t->each, kx_int(s->k, FEW_BLOCKS));
    t->apart = hold(s, k2(s, OP_and, many, small), "apart");
    form(s, RULE_schedule_online_apart);
}

static void pack(sched *s, online_tiles *t)
{
    frame f = new_frame(s, s->steps);
    scope o;
    for (uint32_t i = 0; i < t->n_sums; i++)
        t->sums[i].times = used(s, t);
    for (uint32_t i = 0; i < t->n_streams; i++)
        t->streams[i].sum.times = used(s, t);
    if (t->apart)
        open_if(s, k1(s, OP_not, t->apart), &o);
    for (uint32_t i = 0; i < t->n_sums; i++)
        tile_pack(s, &f, &t->sums[i], KB_TEMP);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        if (!t->streams[i].col)
            continue;
        tile_pack(s, &f, &t->streams[i].sum, KB_TEMP);
        online_make_odd(s, &f, t, &t->streams[i]);
        online_find_odd(s, &f, t, &t->streams[i]);
    }
    if (t->apart)
        scope_close(s, o);
}

static void pack_unit(sched *s, online_tiles *t, const kexpr *unit)
{
    frame f = new_frame(s, s->steps);
    scope o;
    open_if(s, t->apart, &o);
    bind_outer(s, &f, t->outer, t->n_units, unit);
    for (uint32_t i = 0; i < t->n_sums; i++)
        tile_pack_part(s, &f, &t->sums[i]);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        if (!t->streams[i].col)
            continue;
        tile_pack_part(s, &f, &t->streams[i].sum);
        online_find_odd(s, &f, t, &t->streams[i]);
    }
    scope_close(s, o);
}

/* --- loops --- */

static void key_blocks(sched *s, frame *f, online_tiles *t, const online_bounds *b)
{
    const kexpr *size = kx_int(s->k, t->keys);
    kvar *block = kernel_var(s->k, "key_block", DT_I64, false);
    const kexpr *lo = k2(s, OP_idiv, b->lo, size);
    const kexpr *hi = k2(s, OP_add, b->hi, kx_int(s->k, t->keys - 1));
    kstmt *loop = ks_for(s->k, s->at, block, b->lo->kind == KX_CONST ? kx_int(s->k, 0) : lo,
                         k2(s, OP_idiv, hi, size), KL_SEQ);
    scope o = scope_open(s, &loop->body), some;
    t->key_block = kx_var(s->k, block);
    t->key0 = hold(s, k2(s, OP_mul, t->key_block, size), "key0");
    const kexpr *left = k2(s, OP_sub, kx_dim(s->k, t->key->extent), t->key0);
    t->n_keys = hold(s, k2(s, OP_min, left, size), "n_keys");
    online_state st = online_state_of(s, f, t, b);
    if (st.can)
        open_if(s, st.can, &some);
    online_block(s, f, t, st.full);
    if (st.can)
        scope_close(s, some);
    scope_close(s, o);
}

/* The block of rows and the outer indices, from one number. */
static void bind_rows(sched *s, frame *f, online_tiles *t, const kexpr *x)
{
    const kexpr *blocks = blocks_of(s, t->row, ONLINE_ROWS), *size = kx_int(s->k, ONLINE_ROWS);
    const kexpr *last = k2(s, OP_sub, blocks, kx_int(s->k, 1));
    t->row_block = hold(s, k2(s, OP_sub, last, k2(s, OP_imod, x, blocks)), "row_block");
    t->row0 = hold(s, k2(s, OP_mul, t->row_block, size), "row0");
    const kexpr *left = k2(s, OP_sub, kx_dim(s->k, t->row->extent), t->row0);
    t->rows = hold(s, k2(s, OP_min, left, size), "rows");
    bind_outer(s, f, t->outer, t->n_outer, k2(s, OP_idiv, x, blocks));
}

static void one_block(sched *s, online_tiles *t, const kexpr *x)
{
    frame f = new_frame(s, s->steps);
    bind_rows(s, &f, t, x);
    online_begin_rows(s, &f, t);
    online_bounds b = online_bounds_of(s, &f, t);
    key_blocks(s, &f, t, &b);
    online_end_rows(s, &f, t);
}

/* Blocks of rows; where panels are made apart, all that use one of them. */
static void row_blocks(sched *s, online_tiles *t)
{
    const kexpr *n = k2(s, OP_mul, t->units, t->each), *each = NULL;
    if (t->apart) {
        n = hold(s, k_select(s, t->apart, t->units, n), "parts");
        each = hold(s, k_select(s, t->apart, t->each, kx_int(s->k, 1)), "each");
    }
    kblock aside = {0}; /* until it is known what stands before the loop */
    const kexpr *x = kx_var(s->k, kernel_var(s->k, "part", DT_I64, false));
    kstmt *loop = ks_for(s->k, &aside, x->var, kx_int(s->k, 0), n, KL_PARALLEL);
    loop->note = note_of(s, t->v);
    t->before = s->at;
    scope o = scope_open(s, &loop->body), in;
    if (each) {
        pack_unit(s, t, x);
        const kexpr *i = online_loop(s, "i", kx_int(s->k, 0), each, KL_SEQ, &in);
        one_block(s, t, hold(s, k2(s, OP_add, k2(s, OP_mul, x, each), i), "block"));
        scope_close(s, in);
    } else {
        one_block(s, t, x);
    }
    scope_close(s, o);
    vec_push(s->k->a, &s->at->s, loop);
}

bool open_rows(sched *s, frame *f, const ix *const *ixs, uint32_t n, const char *note, scope *o)
{
    if (s->nesting || s->in_step || n == 0)
        return false;
    const kexpr *all = kx_dim(s->k, ixs[0]->extent);
    for (uint32_t i = 1; i < n; i++)
        all = k2(s, OP_mul, all, kx_dim(s->k, ixs[i]->extent));
    kvar *x = kernel_var(s->k, n == 1 ? ixs[0]->name : "part", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, x, kx_int(s->k, 0), all, KL_PARALLEL);
    loop->note = note;
    *o = scope_open(s, &loop->body);
    const kexpr *rest = kx_var(s->k, x);
    for (uint32_t i = n; i-- > 0;) {
        const kexpr *extent = kx_dim(s->k, ixs[i]->extent);
        rest = hold(s, rest, "rest");
        bind(s, f, ixs[i], i ? hold(s, k2(s, OP_imod, rest, extent), ixs[i]->name) : rest);
        rest = i ? k2(s, OP_idiv, rest, extent) : rest;
    }
    return true;
}

/* At least so many, or NULL where that is known. */
static const kexpr *enough(sched *s, const ix *i, int64_t n, bool *never)
{
    int64_t known;
    if (dim_is_const(i->extent, &known)) {
        *never = *never || known < n;
        return NULL;
    }
    return k2(s, OP_le, kx_int(s->k, n), kx_dim(s->k, i->extent));
}

static void count_forms(const sched *s, const online_tiles *t)
{
    form(s, RULE_schedule_online_tiles);
    for (uint32_t i = 0; i < t->n_streams; i++) {
        if (!t->streams[i].col)
            form(s, RULE_schedule_online_numbers);
    }
    if (t->guarded)
        form(s, RULE_schedule_online_guarded);
    if (t->weights)
        form(s, RULE_schedule_online_weights);
}

bool emit_online_tiles(sched *s, const value *v, const value *const *parts, size_t n,
                       kblock **otherwise, const dim **few)
{
    online_tiles *t = has_tiles(s) ? plan_tiles(s, v, parts, n) : NULL;
    bool never = false;
    *otherwise = s->at;
    *few = dim_const(s->g->dims, 1);
    if (!t)
        return false;
    const kexpr *rows = enough(s, t->row, FEW_ROWS, &never);
    const kexpr *keys = enough(s, t->key, FEW_KEYS, &never);
    if (never)
        return false;
    const kexpr *cond = k_and(s, rows, keys);
    kstmt *st = cond ? ks_if(s->k, s->at, cond) : NULL;
    scope o = scope_open(s, st ? &st->body : s->at);
    count_forms(s, t);
    make_buffers(s, t);
    units_first(t);
    choose_apart(s, t);
    pack(s, t);
    row_blocks(s, t);
    scope_close(s, o);
    *otherwise = st ? &st->other : NULL;
    *few = dim_sub(s->g->dims, *few, used(s, t));
    return true;
}
