/* schedule_sums.c: stored values whose sums are made by tiles: a contraction, or an elementwise
 * value over sums that are computed in place (the gates of a recurrent cell, bias and
 * nonlinearity behind a projection).
 *
 * One index of the value becomes the column, the others rows where the operands that have the
 * column do not depend on them, else loops around. Where there is no row left each element of
 * those operands is used once: tiles then pay only if their panels are made earlier. */
#include <string.h>

#include "passes/schedule_tile.h"

enum { MAX_TERMS = 8, SEARCH = 128, ROW_TILES = 8, FEW = 4 };

struct tiling {
    const value *terms[MAX_TERMS];
    uint32_t n_terms;
    const ix *col;
    const ix **rows, **outer; /* in the order of the buffer's axes */
    uint32_t n_rows, n_outer;
};

const ix *tiling_column(const struct tiling *t)
{
    return t->col;
}

/* --- the sums of a value --- */

static bool is_sum(const value *v)
{
    return v->dt != DT_I64 && (v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum));
}

static bool is_stored(const sched *s, const value *x)
{
    return is_leaf(x) || s->plan[history_of(x)->id].stored;
}

/* No loop and no join stands in x's code. */
static bool has_no_loop(const sched *s, const value *x, unsigned *budget)
{
    if (is_stored(s, x))
        return true;
    if (*budget == 0 || OP_HAS(x->op, T_BINDS) || x->op == OP_join)
        return false;
    (*budget)--;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!has_no_loop(s, x->args[i], budget))
            return false;
    }
    return !x->where || has_no_loop(s, x->where, budget);
}

static bool find_terms(const sched *s, struct tiling *t, const value *root, const value *x,
                       unsigned *budget)
{
    if (x != root && is_stored(s, x))
        return true;
    if (*budget == 0)
        return false;
    (*budget)--;
    if (is_sum(x)) {
        for (uint32_t i = 0; i < t->n_terms; i++) {
            if (t->terms[i] == x)
                return true;
        }
        if (t->n_terms == MAX_TERMS)
            return false;
        t->terms[t->n_terms++] = x;
        return true;
    }
    if (x->op == OP_read && x != root)
        return has_no_loop(s, x, budget);
    if (!OP_HAS(x->op, T_ELEM))
        return false;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!find_terms(s, t, root, x->args[i], budget))
            return false;
    }
    return !x->where || has_no_loop(s, x->where, budget);
}

/* --- rows and columns --- */

/* Takes from the rows what a part of the element that has the column depends on. */
static void limit_rows(const sched *s, struct tiling *t, const value *x, unsigned *budget)
{
    if (!value_has_ix(x, t->col) || *budget == 0)
        return;
    (*budget)--;
    bool parts = (OP_HAS(x->op, T_ELEM) || is_sum(x)) && !is_stored(s, x);
    for (uint32_t i = 0; i < x->n_args && parts; i++)
        limit_rows(s, t, x->args[i], budget);
    if (parts)
        return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        if (!value_has_ix(x, t->rows[i]))
            t->rows[n++] = t->rows[i];
    }
    t->n_rows = n;
}

/* Elements are needed where p->need holds: bounds of the one row index, or conditions outside. */
static bool need_fits(const sched *s, const struct tiling *t, const conjuncts *need)
{
    for (uint32_t i = 0; i < need->n; i++) {
        const value *c = need->v[i];
        if (value_has_ix(c, t->col))
            return false;
        for (uint32_t k = 0; k < t->n_rows; k++) {
            if (value_has_ix(c, t->rows[k]) && (t->n_rows > 1 || !is_bound_of(s, c, t->rows[0])))
                return false;
        }
    }
    return true;
}

static int64_t known(const ix *i)
{
    int64_t n;
    return dim_is_const(i->extent, &n) ? n : -1;
}

/* How good the tiles with that column are; 0: there are none. */
static int try_column(sched *s, const value *v, struct tiling *t, const ix *const *axes, uint32_t n)
{
    const frame here = {.env = s->steps};
    t->n_rows = t->n_outer = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (axes[i] != t->col)
            t->rows[t->n_rows++] = axes[i];
    }
    for (uint32_t i = 0; i < t->n_terms; i++) {
        unsigned budget = SEARCH;
        const value *x = t->terms[i];
        for (uint32_t k = 0; k < x->n_args; k++)
            limit_rows(s, t, x->args[k], &budget);
        for (uint32_t k = 0; k < t->n_rows && x->where; k++) {
            if (value_has_ix(x->where, t->rows[k])) {
                memmove(&t->rows[k], &t->rows[k + 1], (t->n_rows - k - 1) * sizeof *t->rows);
                t->n_rows--;
                k--;
            }
        }
    }
    while (t->n_rows > TILE_MAX_ROW_AXES) {
        t->n_rows--;
        memmove(&t->rows[0], &t->rows[1], t->n_rows * sizeof *t->rows);
    }
    for (uint32_t i = 0; i < n; i++) {
        bool row = axes[i] == t->col;
        for (uint32_t k = 0; k < t->n_rows; k++)
            row = row || t->rows[k] == axes[i];
        if (!row)
            t->outer[t->n_outer++] = axes[i];
    }
    if (!need_fits(s, t, &s->plan[v->id].need) || (known(t->col) >= 0 && known(t->col) < FEW))
        return 0;
    int64_t rows = 1;
    for (uint32_t i = 0; i < t->n_rows; i++)
        rows = known(t->rows[i]) < 0 || rows < 0 ? -1 : rows * known(t->rows[i]);
    int good = 3;
    for (uint32_t i = 0; i < t->n_terms; i++) {
        tile_sum sum;
        if (!tile_plan(s, &sum, t->terms[i], t->rows, t->n_rows, t->col) || !sum.n_panels)
            return 0;
        bool early = tile_packs_early(s, &sum, s->home[v->id]);
        if (!early && rows >= 0 && rows < FEW)
            return 0;
        for (uint32_t k = 0; k < sum.n_panels; k++) {
            const value *x = sum.panels[k].v;
            if (!panel_of_params(s, x) && good > 2)
                good = 2;
            if (!panel_possible(s, &here, &sum, x, panel_is_early(s, x, s->home[v->id])))
                return 0;
        }
        if (!early)
            good = 1;
    }
    return good;
}

void choose_tiling(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    unsigned budget = SEARCH;
    struct tiling *t = ARENA_NEW(s->scratch, struct tiling);
    if (!has_tiles(s) || v->dt == DT_I64 || v->dt == DT_BOOL || p->row_form || p->scatter ||
        !find_terms(s, t, v, v, &budget) || !t->n_terms)
        return;
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, v->n_ix + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < (p->buf ? p->buf->rank : v->n_ix); i++) {
        const ix *x = p->buf ? p->axes[i] : v->ix[i];
        if (!is_step_of(s, v, x))
            axes[n++] = x;
    }
    for (uint32_t i = 0; i < t->n_terms; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (!value_has_ix(t->terms[i], axes[k]))
                return;
        }
    }
    t->rows = ARENA_ARRAY(s->scratch, const ix *, n);
    t->outer = ARENA_ARRAY(s->scratch, const ix *, n);
    /* Elements of a buffer that is there already are best written in its order. */
    const ix *best = NULL;
    int how_good = 0;
    for (uint32_t i = n; i-- > 0;) {
        t->col = axes[i];
        int good = try_column(s, v, t, axes, n);
        if (good > how_good) {
            how_good = good;
            best = t->col;
        }
        if (good && p->buf && i == n - 1)
            break;
    }
    if (!best)
        return;
    t->col = best;
    try_column(s, v, t, axes, n);
    p->tiling = t;
}

/* An operand by which a sum over v's bound indices is one by tiles: what it has and the other has
 * not can be the column. */
bool may_tile(const sched *s, const value *v)
{
    if (!has_tiles(s) || v->op != OP_contract || s->plan[v->id].inexact)
        return false;
    for (int side = 0; side < 2; side++) {
        const value *a = v->args[side], *b = v->args[1 - side];
        bool column = false, row = false;
        for (uint32_t i = 0; i < a->n_ix; i++)
            column = column || (value_has_ix(v, a->ix[i]) && !value_has_ix(b, a->ix[i]) &&
                                !(v->where && value_has_ix(v->where, a->ix[i])));
        for (uint32_t i = 0; i < b->n_ix; i++)
            row = row ||
                  (value_has_ix(v, b->ix[i]) && !value_has_ix(a, b->ix[i]) &&
                   !is_step_of(s, v, b->ix[i]) && !(v->where && value_has_ix(v->where, b->ix[i])));
        if (column && (row || s->weights[a->id]))
            return true;
    }
    return false;
}

/* --- code --- */

typedef struct sums {
    const value *v;
    const struct tiling *t;
    tile_sum *sum;   /* by term */
    const kbuf **to; /* by term: the tile at hand */
    int64_t n_cols;
    const kexpr *lo, *hi; /* of the rows */
    int64_t n_rows;       /* hi - lo, if that is known; -1 */
    const kexpr *block;
    bool alone;    /* on one thread */
    bool prepares; /* in `prepare`, which has no memory for each thread */
    bool flat;     /* outer indices are counted along with the blocks of columns */
} sums;

/* Row numbers count all row axes, the last one fastest. */
static void bind_row(sched *s, frame *f, const struct tiling *t, const kexpr *row)
{
    for (uint32_t i = t->n_rows; i-- > 0;) {
        const kexpr *rest = row;
        if (i)
            row = tile_split(s, &rest, t->rows[i], t->rows[i - 1]->name);
        bind(s, f, t->rows[i], rest);
    }
}

static void put_column(sched *s, frame *f, const sums *w, const kexpr *r, const kexpr *c)
{
    const kexpr *at[] = {r, c};
    for (uint32_t i = 0; i < w->t->n_terms; i++)
        memorise(s, f, w->t->terms[i], kx_load(s->k, w->to[i], at));
    bool is_term = w->t->n_terms == 1 && w->t->terms[0] == w->v;
    store_at(s, f, w->v, is_term ? sx(s, f, w->v) : sx_compute(s, f, w->v));
}

/* What is stored of one tile, `rows` rows from `first` on. */
static void put_tile(sched *s, const frame *outer, const sums *w, const kexpr *first,
                     const kexpr *rows)
{
    frame f = new_frame(s, outer->env);
    kvar *r = kernel_var(s->k, "r", DT_I64, false), *c = kernel_var(s->k, "c", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, r, kx_int(s->k, 0), rows, KL_SEQ);
    scope o = scope_open(s, &loop->body), in;
    bind_row(s, &f, w->t, hold(s, k2(s, OP_add, first, kx_var(s->k, r)), "row"));
    const kexpr *n = kx_int(s->k, w->n_cols);
    const kexpr *start = hold(s, k2(s, OP_mul, w->block, n), "first");
    if (known(w->t->col) < 0 || known(w->t->col) % w->n_cols) {
        const kexpr *left = k2(s, OP_sub, kx_dim(s->k, w->t->col->extent), start);
        n = hold(s, k2(s, OP_min, left, n), "n");
    }
    kstmt *inner = ks_for(s->k, s->at, c, kx_int(s->k, 0), n, KL_SEQ);
    in = scope_open(s, &inner->body);
    bind(s, &f, w->t->col, k2(s, OP_add, start, kx_var(s->k, c)));
    put_column(s, &f, w, kx_var(s->k, r), kx_var(s->k, c));
    scope_close(s, in);
    scope_close(s, o);
}

/* The sums of n rows. */
static void sum_tile(sched *s, frame *f, const sums *w, const kexpr *first, int64_t n)
{
    for (uint32_t i = 0; i < w->t->n_terms; i++) {
        tile_at at = {.n_rows = n, .block = w->block, .to = w->to[i]};
        tile_rows(s, f, &w->sum[i], &at, first, w->hi);
        tile_run(s, f, &w->sum[i], &at);
    }
}

static int64_t rows_known(const struct tiling *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        if (known(t->rows[i]) < 0)
            return -1;
        n *= known(t->rows[i]);
    }
    return n;
}

/* How many rows the tiles have that come behind whole ones of n: what is left of a known number,
 * or every second number, so that an odd one has a row to spare. 0 ends the list. */
static void rest_rows(int64_t n, int64_t total, int64_t *rest)
{
    if (total >= 0) {
        if (total % n)
            *rest++ = total % n;
    } else {
        for (int64_t r = n - 2; r > 0; r -= 2)
            *rest++ = r;
    }
    *rest = 0;
}

/* Tiles of n rows, or of the next smaller number that is enough. */
static void sum_rows(sched *s, frame *f, const sums *w, const kexpr *first, const kexpr *rows,
                     int64_t n, const int64_t *rest)
{
    scope o;
    if (!*rest) {
        sum_tile(s, f, w, first, n);
        return;
    }
    kstmt *st = ks_if(s->k, s->at, k2(s, OP_lt, kx_int(s->k, *rest), rows));
    o = scope_open(s, &st->body);
    sum_tile(s, f, w, first, n);
    scope_close(s, o);
    o = scope_open(s, &st->other);
    sum_rows(s, f, w, first, rows, *rest, rest + 1);
    scope_close(s, o);
}

/* The rows lo .. hi of one block of columns. */
static void block_rows(sched *s, frame *f, const sums *w, const kexpr *lo, const kexpr *hi)
{
    int64_t n = tile_best_rows(s, w->n_cols, rows_known(w->t)), rest[TILE_MAX_ROWS];
    for (uint32_t i = 0; i < w->t->n_terms; i++)
        w->to[i] = w->prepares ? tile_buf(s, KB_REG, n, w->n_cols, i + 1)
                               : tile_buf(s, KB_LOCAL, n, w->n_cols, i);
    rest_rows(n, w->n_rows, rest);
    kvar *i = kernel_var(s->k, "row", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, i, lo, hi, KL_SEQ);
    loop->step = n;
    scope o = scope_open(s, &loop->body);
    const kexpr *first = kx_var(s->k, i), *rows = kx_int(s->k, n);
    if (w->n_rows < 0 || *rest)
        rows = hold(s, k2(s, OP_min, rows, k2(s, OP_sub, w->hi, first)), "rows");
    sum_rows(s, f, w, first, rows, n, rest);
    put_tile(s, f, w, first, rows);
    scope_close(s, o);
}

/* Loops of one work after the other: outer indices, blocks of columns, strips of rows. */
typedef struct parts {
    const kexpr *outer;  /* how many combinations of outer indices; NULL: loops around do them */
    const kexpr *strips; /* NULL: one */
    int64_t n;           /* rows of a strip */
} parts;

static void bind_outer(sched *s, frame *f, const struct tiling *t, const kexpr *at)
{
    for (uint32_t i = t->n_outer; i-- > 0;) {
        const kexpr *rest = at;
        if (i)
            at = tile_split(s, &rest, t->outer[i], t->outer[i - 1]->name);
        bind(s, f, t->outer[i], rest);
    }
}

static const kexpr *product(sched *s, const ix *const *ix, uint32_t n)
{
    const dim *all = dim_const(s->g->dims, 1);
    for (uint32_t i = 0; i < n; i++)
        all = dim_mul(s->g->dims, all, ix[i]->extent);
    return kx_dim(s->k, all);
}

static void one_part(sched *s, frame *f, sums *w, const parts *p, const kexpr *part)
{
    const kexpr *from = w->lo, *to = w->hi;
    if (p->strips) {
        const kexpr *rest = hold(s, k2(s, OP_idiv, part, p->strips), "rest");
        from = k2(s, OP_mul, k2(s, OP_imod, part, p->strips), kx_int(s->k, p->n));
        from = hold(s, k2(s, OP_add, w->lo, from), "from");
        to = hold(s, k2(s, OP_min, k2(s, OP_add, from, kx_int(s->k, p->n)), w->hi), "to");
        part = rest;
    }
    w->block = part;
    if (p->outer) {
        const kexpr *blocks = kx_dim(s->k, tile_blocks(s, &w->sum[0]));
        w->block = hold(s, k2(s, OP_imod, part, blocks), "block");
        bind_outer(s, f, w->t, hold(s, k2(s, OP_idiv, part, blocks), "outer"));
    }
    block_rows(s, f, w, from, to);
}

/* Bounds of the rows differ from one place of the outer indices to the next. */
static bool need_outer(const struct tiling *t, const conjuncts *need)
{
    for (uint32_t i = 0; i < need->n; i++) {
        for (uint32_t k = 0; k < t->n_outer; k++) {
            if (value_has_ix(need->v[i], t->outer[k]))
                return true;
        }
    }
    return false;
}

static void all_tiles(sched *s, frame *f, void *ctx)
{
    sums *w = ctx;
    const struct tiling *t = w->t;
    const kexpr *lo = NULL, *hi = NULL;
    int64_t rows = rows_known(t);
    parts p = {.n = tile_best_rows(s, w->n_cols, rows) * ROW_TILES};
    if (t->n_rows == 1)
        nest_bounds(s, f, t->rows[0], &s->plan[w->v->id].need, &lo, &hi);
    w->n_rows = lo || hi ? -1 : rows;
    w->lo = lo ? hold(s, lo, "lo") : kx_int(s->k, 0);
    w->hi = hold(s, hi ? hi : product(s, t->rows, t->n_rows), "hi");
    const kexpr *n = kx_dim(s->k, tile_blocks(s, &w->sum[0]));
    if (w->flat && t->n_outer) {
        p.outer = product(s, t->outer, t->n_outer);
        n = k2(s, OP_mul, p.outer, n);
    }
    if (!w->alone && (rows < 0 || rows > p.n)) {
        const kexpr *up = k2(s, OP_add, k2(s, OP_sub, w->hi, w->lo), kx_int(s->k, p.n - 1));
        p.strips = k2(s, OP_max, k2(s, OP_idiv, up, kx_int(s->k, p.n)), kx_int(s->k, 0));
        p.strips = hold(s, p.strips, "strips");
        n = k2(s, OP_mul, n, p.strips);
    }
    kvar *part = kernel_var(s->k, "part", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, part, kx_int(s->k, 0), n, w->alone ? KL_SEQ : KL_PARALLEL);
    const binding *env = f->env;
    scope o = scope_open(s, &loop->body);
    one_part(s, f, w, &p, kx_var(s->k, part));
    scope_close(s, o);
    f->env = env;
}

void emit_tiling(sched *s, frame *f, const value *v)
{
    const plan *p = &s->plan[v->id];
    const struct tiling *t = p->tiling;
    sums w = {.v = v, .t = t, .n_cols = tile_best_cols(s, t->col->extent)};
    w.prepares = p->buf->role == KB_PREPARED;
    w.alone = s->before.n != 0 && !w.prepares;
    w.sum = ARENA_ARRAY(s->scratch, tile_sum, t->n_terms);
    w.to = ARENA_ARRAY(s->scratch, const kbuf *, t->n_terms);
    for (uint32_t i = 0; i < t->n_terms; i++) {
        if (!tile_plan(s, &w.sum[i], t->terms[i], t->rows, t->n_rows, t->col))
            ice("%s is no sum by tiles", name_of(t->terms[i]));
        tile_pack(s, f, &w.sum[i], KB_TEMP);
    }
    const value **cs = ARENA_ARRAY(s->scratch, const value *, p->need.n);
    nest n = {.ix = t->outer, .n = t->n_outer, .body = all_tiles, .ctx = &w};
    n.where[0].v = cs;
    for (uint32_t i = 0; i < p->need.n; i++) {
        if (t->n_rows != 1 || !value_has_ix(p->need.v[i], t->rows[0]))
            cs[n.where[0].n++] = p->need.v[i];
    }
    n.note = note_of(s, v);
    /* Conditions on outer indices need loops of their own; one thread does as well with them. */
    w.flat = !w.alone && n.where[0].n == 0 && !need_outer(t, &p->need);
    if (w.flat)
        n.n = 0;
    run_nest(s, f, &n);
}
