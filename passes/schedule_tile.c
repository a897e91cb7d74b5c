/* schedule_tile.c: one tile of a sum: what its element is made of, and its loops. See
 * schedule_tile.h. */
#include "passes/schedule_tile.h"

enum { MAX_PARTS = 64 };

/* --- shapes --- */

int64_t tile_lanes(const sched *s)
{
    return s->shape.vector_bytes / (s->k->real == DT_F32 ? 4 : 8);
}

int64_t tile_best_cols(const sched *s, const dim *extent)
{
    int64_t n = tile_lanes(s) * (s->shape.vector_regs >= 32 ? 4 : 2), some;
    if (dim_is_const(extent, &some) && some < n)
        n = some < 1 ? tile_lanes(s) : (some + tile_lanes(s) - 1) / tile_lanes(s) * tile_lanes(s);
    return n;
}

/* Accumulators, one row of the operand and one broadcast at a time; then as even tiles as can be.
 */
int64_t tile_best_rows(const sched *s, int64_t n_cols, int64_t rows)
{
    int64_t vectors = n_cols / tile_lanes(s);
    int64_t n = (s->shape.vector_regs - 1 - vectors) / vectors;
    n = n < 1 ? 1 : n > TILE_MAX_ROWS ? TILE_MAX_ROWS : n;
    if (rows > 0) {
        int64_t tiles = (rows + n - 1) / n;
        n = (rows + tiles - 1) / tiles;
    }
    return n;
}

const dim *tile_blocks(sched *s, const tile_sum *t)
{
    dims *d = s->g->dims;
    const dim *up = dim_add(d, t->col->extent, dim_const(d, t->n_cols - 1));
    return dim_floordiv(d, up, dim_const(d, t->n_cols));
}

const kbuf *tile_buf(sched *s, kbuf_role role, int64_t rows, int64_t cols, uint32_t nth)
{
    const dim *shape[] = {dim_const(s->g->dims, rows), dim_const(s->g->dims, cols)};
    for (size_t i = 0; i < s->tiles.n; i++) {
        const kbuf *b = s->tiles.v[i];
        if (b->role == role && b->shape[0] == shape[0] && b->shape[1] == shape[1] && nth-- == 0)
            return b;
    }
    const char *name = role == KB_REG ? "acc" : "tile";
    const kbuf *b = kernel_buf(s->k, role, name, temp_store(s, s->k->real), shape, 2);
    vec_push(s->scratch, &s->tiles, b);
    return b;
}

/* --- what the element is made of --- */

static bool has_row(const tile_sum *t, const value *x)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        if (value_has_ix(x, t->rows[i]))
            return true;
    }
    return false;
}

static bool is_stored(const sched *s, const value *x)
{
    return is_leaf(x) || s->plan[history_of(x)->id].stored;
}

static void add_scalar(tile_sum *t, const value *x)
{
    if (x->op == OP_const || x->op == OP_dim || x->op == OP_index)
        return;
    for (uint32_t i = 0; i < t->n_scalars; i++) {
        if (t->scalars[i] == x)
            return;
    }
    t->scalars[t->n_scalars++] = x;
}

static bool add_panel(tile_sum *t, const value *x)
{
    for (uint32_t i = 0; i < t->n_panels; i++) {
        if (t->panels[i].v == x)
            return true;
    }
    if (t->n_panels == TILE_MAX_PANELS)
        return false;
    t->panels[t->n_panels++].v = x;
    return true;
}

/* What has no column is a scalar, what has it and no row lies in a panel; only elementwise code may
 * have both. */
static bool plan_part(sched *s, tile_sum *t, const value *x, unsigned *budget)
{
    if (*budget == 0)
        return false;
    (*budget)--;
    if (!value_has_ix(x, t->col)) {
        add_scalar(t, x);
        return true;
    }
    if (x->op == OP_index)
        return true;
    if (!has_row(t, x) && !s->plan[x->id].index_only)
        return add_panel(t, x);
    if (is_stored(s, x) || !OP_HAS(x->op, T_ELEM) || x->where || checks(s, x))
        return false;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!plan_part(s, t, x->args[i], budget))
            return false;
    }
    return true;
}

static bool plan_parts(sched *s, tile_sum *t)
{
    unsigned budget = MAX_PARTS;
    t->panels = ARENA_ARRAY(s->scratch, panel, TILE_MAX_PANELS);
    t->scalars = ARENA_ARRAY(s->scratch, const value *, MAX_PARTS);
    t->n_cols = tile_best_cols(s, t->col->extent);
    for (uint32_t i = 0; i < t->where.n; i++) {
        if (value_has_ix(t->where.v[i], t->col) || has_row(t, t->where.v[i]))
            return false;
    }
    for (uint32_t i = 0; i < t->n_elem; i++) {
        if (!plan_part(s, t, t->elem[i], &budget))
            return false;
    }
    return t->n_rows <= TILE_MAX_ROW_AXES;
}

static bool is_sum(const value *v)
{
    return v->dt != DT_I64 && (v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum));
}

/* A sum of an in-place sum is one over the indices of both. */
bool tile_plan(sched *s, tile_sum *t, const value *v, const ix *const *rows, uint32_t n_rows,
               const ix *col)
{
    if (!is_sum(v))
        return false;
    *t = (tile_sum){.v = v, .rows = rows, .n_rows = n_rows, .col = col, .body_of = v};
    const value *inner = v;
    uint32_t n = v->n_bound;
    while (inner->op == OP_reduce && is_sum(inner->args[0]) && !is_stored(s, inner->args[0]) &&
           !inner->args[0]->where) {
        inner = inner->args[0];
        n += inner->n_bound;
    }
    const ix **bound = ARENA_ARRAY(s->scratch, const ix *, n);
    for (const value *x = v;; x = x->args[0]) {
        for (uint32_t i = 0; i < x->n_bound; i++)
            bound[t->n_bound++] = x->bound[i];
        if (x == inner)
            break;
    }
    t->bound = bound;
    t->n_elem = inner->n_args;
    for (uint32_t i = 0; i < inner->n_args; i++)
        t->elem[i] = inner->args[i];
    if (v->where)
        split_conjuncts(s->scratch, v->where, &t->where);
    return plan_parts(s, t);
}

bool tile_plan_sum(sched *s, tile_sum *t, const value *elem, const ix *const *bound,
                   uint32_t n_bound, conjuncts where, const ix *const *rows, uint32_t n_rows,
                   const ix *col)
{
    *t = (tile_sum){.elem = {elem}, .n_elem = elem != NULL, .bound = bound, .n_bound = n_bound};
    t->where = where;
    t->rows = rows;
    t->n_rows = n_rows;
    t->col = col;
    t->body_of = elem;
    return plan_parts(s, t);
}

bool tile_packs_early(const sched *s, const tile_sum *t, uint32_t home)
{
    for (uint32_t i = 0; i < t->n_panels; i++) {
        if (!panel_is_early(s, t->panels[i].v, home))
            return false;
    }
    return true;
}

/* --- rows --- */

static kvar *unroll(sched *s, int64_t n, scope *o)
{
    kvar *r = kernel_var(s->k, "r", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, r, kx_int(s->k, 0), kx_int(s->k, n), KL_UNROLL);
    *o = scope_open(s, &loop->body);
    return r;
}

static kvar *vector(sched *s, int64_t n, scope *o)
{
    kvar *c = kernel_var(s->k, "c", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, c, kx_int(s->k, 0), kx_int(s->k, n), KL_VECTOR);
    *o = scope_open(s, &loop->body);
    return c;
}

const kexpr *tile_split(sched *s, const kexpr **number, const ix *axis, const char *name)
{
    const kexpr *extent = kx_dim(s->k, axis->extent);
    const kexpr *q = hold(s, k2(s, OP_idiv, *number, extent), name);
    *number = hold(s, k2(s, OP_sub, *number, k2(s, OP_mul, q, extent)), axis->name);
    return q;
}

void tile_rows(sched *s, frame *f, const tile_sum *t, tile_at *at, const kexpr *first,
               const kexpr *end)
{
    (void)f;
    if (!t->n_rows)
        return;
    const dim *n[] = {dim_const(s->g->dims, at->n_rows)};
    for (uint32_t i = 0; i < t->n_rows; i++)
        at->row[i] = kernel_buf(s->k, KB_REG, t->rows[i]->name, ST_I64, n, 1);
    const kexpr *last = hold(s, k2(s, OP_sub, end, kx_int(s->k, 1)), "last");
    scope o;
    const kexpr *r = kx_var(s->k, unroll(s, at->n_rows, &o));
    const kexpr *x = hold(s, k2(s, OP_min, k2(s, OP_add, first, r), last), "row");
    for (uint32_t i = t->n_rows; i-- > 0;) {
        const kexpr *rest = x;
        if (i)
            x = tile_split(s, &rest, t->rows[i], t->rows[i - 1]->name);
        ks_store(s->k, s->at, at->row[i], &r, rest);
    }
    scope_close(s, o);
}

static void bind_rows(sched *s, frame *f, const tile_sum *t, const tile_at *at, const kexpr *r)
{
    for (uint32_t i = 0; i < t->n_rows; i++)
        bind(s, f, t->rows[i], kx_load(s->k, at->row[i], &r));
}

/* --- the loops --- */

typedef struct running {
    const tile_sum *t;
    const tile_at *at;
    const kbuf *acc;
} running;

static const kexpr *panel_at(sched *s, const frame *f, const panel *p, const kexpr *block,
                             const kexpr *c)
{
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, p->n_axes + 1);
    for (uint32_t i = 0; i < p->n_axes; i++) {
        index[i] = i == p->at_block ? block : bound_value(f, p->axes[i]);
        if (!index[i])
            ice("index %s of panel %s has no value here", p->axes[i]->name, p->buf->name);
    }
    index[p->n_axes] = c;
    return kx_load(s->k, p->buf, index);
}

static const kexpr *element(sched *s, frame *f, const tile_sum *t, const kexpr *factor)
{
    const kexpr *e = factor;
    for (uint32_t i = 0; i < t->n_elem; i++) {
        const kexpr *x = sx(s, f, t->elem[i]);
        e = e ? k2(s, t->weighs ? OP_weigh : OP_mul, e, x) : x;
    }
    return e;
}

static void scalars(sched *s, frame *f, const tile_sum *t, bool of_rows)
{
    for (uint32_t i = 0; i < t->n_scalars; i++) {
        const value *x = t->scalars[i];
        if (has_row(t, x) == of_rows)
            memorise(s, f, x, hold(s, sx(s, f, x), name_of(x)));
    }
}

static void add_one(sched *s, frame *f, void *ctx)
{
    running *w = ctx;
    const tile_sum *t = w->t;
    const binding *env = f->env;
    scope rows, cols;
    scalars(s, f, t, false);
    const kexpr *r = kx_var(s->k, unroll(s, w->at->n_rows, &rows));
    bind_rows(s, f, t, w->at, r);
    scalars(s, f, t, true);
    const kexpr *factor = t->factor ? t->factor(s, f, r, t->factor_ctx) : NULL;
    if (factor)
        factor = hold(s, factor, "factor");
    const kexpr *c = kx_var(s->k, vector(s, t->n_cols, &cols));
    const kexpr *first = k2(s, OP_mul, w->at->block, kx_int(s->k, t->n_cols));
    bind(s, f, t->col, k2(s, OP_add, first, c));
    for (uint32_t i = 0; i < t->n_panels; i++) {
        if (!t->panels[i].in_place)
            memorise(s, f, t->panels[i].v, panel_at(s, f, &t->panels[i], w->at->block, c));
    }
    const kexpr *at[] = {r, c};
    const kexpr *acc = kx_load(s->k, w->acc, at);
    ks_store(s->k, s->at, w->acc, at, k2(s, OP_add, acc, element(s, f, t, factor)));
    scope_close(s, cols);
    scope_close(s, rows);
    f->env = env;
}

static void clear(sched *s, const running *w)
{
    scope rows, cols;
    const kexpr *at[2];
    at[0] = kx_var(s->k, unroll(s, w->at->n_rows, &rows));
    at[1] = kx_var(s->k, vector(s, w->t->n_cols, &cols));
    ks_store(s->k, s->at, w->acc, at, kx_real(s->k, 0.0));
    scope_close(s, cols);
    scope_close(s, rows);
}

static void hand_over(sched *s, const running *w)
{
    scope rows, cols;
    const kexpr *at[2], *to[3] = {w->at->block};
    const uint32_t axis = w->at->to->rank - 2;
    at[0] = kx_var(s->k, unroll(s, w->at->n_rows, &rows));
    at[1] = kx_var(s->k, vector(s, w->t->n_cols, &cols));
    to[axis] = w->at->to_row ? k2(s, OP_add, w->at->to_row, at[0]) : at[0];
    to[axis + 1] = w->at->to_col ? k2(s, OP_add, w->at->to_col, at[1]) : at[1];
    const kexpr *e = kx_load(s->k, w->acc, at);
    if (w->at->add)
        e = k2(s, OP_add, kx_load(s->k, w->at->to, to), e);
    ks_store(s->k, s->at, w->at->to, to, e);
    scope_close(s, cols);
    scope_close(s, rows);
}

void tile_run(sched *s, frame *f, const tile_sum *t, const tile_at *at)
{
    running w = {.t = t, .at = at};
    w.acc = tile_buf(s, KB_REG, at->n_rows, t->n_cols, 0);
    clear(s, &w);
    nest n = {.ix = t->bound, .n = t->n_bound, .where = {t->where}, .body = add_one, .ctx = &w};
    n.body_of = t->body_of;
    n.known = t;
    n.lo = at->lo;
    n.hi = at->hi;
    run_nest(s, f, &n);
    hand_over(s, &w);
}
