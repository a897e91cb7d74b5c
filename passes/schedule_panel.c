/* schedule_panel.c: panels: operands of tiles in memory by blocks of columns (schedule_tile.h).
 *
 * A panel of weights is made in `prepare`, one of what no step of a recurrence changes before the
 * recurrence, any other where it is used. A panel made early is made once for all that use it. */
#include "passes/schedule_tile.h"

enum { SEARCH = 64, IN_PLACE_COLUMNS = 128, SMALL = 16 };

bool panel_of_params(const sched *s, const value *x)
{
    unsigned budget = SEARCH;
    return in_prepare(s, x, &budget);
}

/* An input that has a row for each step is there with its step, not before. */
static bool has_steps(const sched *s, const value *x)
{
    return s->step_scan && x->op == OP_input && s->step_axis[x->id] >= 0;
}

/* The recurrence in front of which x is there already: the outermost one; -1: none. */
static int level_of(const sched *s, const value *x)
{
    for (size_t i = 0; i < s->before.n && !has_steps(s, x); i++) {
        if (s->home[x->id] == s->before.v[i].home)
            return (int)i;
    }
    return -1;
}

/* x is computed from what is there when a recurrence around `home` begins. */
static bool is_before(const sched *s, const value *x, uint32_t home)
{
    return home && s->home[x->id] != home && !has_steps(s, x) &&
           in_region_around(s, s->scan_of[home - 1], s->home[x->id]);
}

bool panel_is_early(const sched *s, const value *x, uint32_t home)
{
    return panel_of_params(s, x) || is_before(s, x, home);
}

/* --- what a panel holds --- */

static bool is_one_of(const ix *i, const ix *const *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == i)
            return true;
    }
    return false;
}

/* c is a predicate over what x's panel runs over, known where it is made. */
static bool applies(const sched *s, const frame *f, const value *x, const value *c, bool early)
{
    if (early && !s->plan[c->id].index_only)
        return false;
    for (uint32_t i = 0; i < c->n_ix; i++) {
        if (!value_has_ix(x, c->ix[i]) && !bound_value(f, c->ix[i]))
            return false;
    }
    return true;
}

static bool has_checks(const sched *s, const value *x, unsigned *budget)
{
    const plan *p = &s->plan[history_of(x)->id];
    if (*budget == 0)
        return true;
    (*budget)--;
    if (is_leaf(x) || p->stored)
        return false;
    if (checks(s, x) || (x->op == OP_read && s->plan[x->id].unsafe) || OP_HAS(x->op, T_BINDS))
        return true;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (has_checks(s, x->args[i], budget))
            return true;
    }
    return false;
}

/* Elements that t excludes are not read by the panel of x either, or they do no harm. */
bool panel_possible(const sched *s, const frame *f, const tile_sum *t, const value *x, bool early)
{
    bool weights = panel_of_params(s, x);
    unsigned budget = SEARCH;
    if (!t->where.n)
        return true;
    bool checked = has_checks(s, x, &budget);
    for (uint32_t i = 0; i < t->where.n; i++) {
        const value *c = t->where.v[i];
        if (applies(s, f, x, c, early))
            continue;
        bool concerned = false;
        for (uint32_t k = 0; k < t->n_bound; k++)
            concerned = concerned || (value_has_ix(c, t->bound[k]) && value_has_ix(x, t->bound[k]));
        if (checked || (concerned && !weights))
            return false;
    }
    return true;
}

/* --- its code --- */

typedef struct packing {
    const tile_sum *t;
    panel *p;
    kvar *block;
    const kexpr *c;
    const kexpr *n;  /* real columns of the block */
    conjuncts where; /* of the loops over bound indices */
    const ix **inner;
    uint32_t n_inner;
    bool zero;
} packing;

static void put(sched *s, frame *f, packing *w, const kexpr *e)
{
    const panel *p = w->p;
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, p->n_axes + 1);
    for (uint32_t i = 0; i < p->n_axes; i++)
        index[i] = i == p->at_block ? kx_var(s->k, w->block) : bound_value(f, p->axes[i]);
    index[p->n_axes] = w->c;
    ks_store(s->k, s->at, p->buf, index, e);
}

/* Element c of the block at hand. */
static const kexpr *element(sched *s, frame *f, const packing *w, const kexpr *c)
{
    const kexpr *first = k2(s, OP_mul, kx_var(s->k, w->block), kx_int(s->k, w->t->n_cols));
    bind(s, f, w->t->col, k2(s, OP_add, first, c));
    return w->zero ? k_zero(s, w->p->v->dt) : sx(s, f, w->p->v);
}

static void one_column(sched *s, frame *f, packing *w)
{
    const binding *env = f->env;
    put(s, f, w, element(s, f, w, w->c));
    f->env = env;
}

static scope column_loop(sched *s, packing *w)
{
    kvar *c = kernel_var(s->k, "c", DT_I64, false);
    const kexpr *all = kx_int(s->k, w->t->n_cols), *none = kx_int(s->k, 0);
    kstmt *loop = ks_for(s->k, s->at, c, w->zero ? w->n : none, w->zero ? all : w->n, KL_SEQ);
    w->c = kx_var(s->k, c);
    return scope_open(s, &loop->body);
}

static void columns(sched *s, frame *f, void *ctx)
{
    packing *w = ctx;
    scope o = column_loop(s, w);
    one_column(s, f, w);
    scope_close(s, o);
}

static void column(sched *s, frame *f, void *ctx)
{
    one_column(s, f, ctx);
}

static void inner_loops(sched *s, frame *f, packing *w, nest_body *body)
{
    nest n = {.ix = w->inner, .n = w->n_inner, .where = {w->where}, .body = body, .ctx = w};
    n.body_of = w->p->v;
    run_nest(s, f, &n);
}

/* Where memory runs along the innermost bound index, so do the loops. */
static bool along_bound(const sched *s, const packing *w)
{
    return w->n_inner && stride_of(s, w->p->v, w->inner[w->n_inner - 1]) == 1 &&
           stride_of(s, w->p->v, w->t->col) == 2;
}

/* The stores stand side by side: what they need comes first. */
static void neighbours(sched *s, frame *f, void *ctx)
{
    packing *w = ctx;
    const kexpr *first = w->c;
    const int64_t n = tile_lanes(s);
    const kexpr **e = ARENA_ARRAY(s->scratch, const kexpr *, n);
    const split *splits = s->splits;
    const active *active = s->active;
    for (int64_t i = 0; i < n; i++) {
        frame own = new_frame_like(s, f);
        e[i] = element(s, &own, w, k2(s, OP_add, first, kx_int(s->k, i)));
    }
    s->splits = splits;
    s->active = active;
    for (int64_t i = 0; i < n; i++) {
        w->c = k2(s, OP_add, first, kx_int(s->k, i));
        put(s, f, w, e[i]);
    }
    w->c = first;
}

/* A whole block, as many columns at a time as there are lanes: the backend turns rows into columns
 * in registers. */
static void whole_block(sched *s, frame *f, packing *w)
{
    kvar *c = kernel_var(s->k, "c", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, c, kx_int(s->k, 0), kx_int(s->k, w->t->n_cols), KL_SEQ);
    loop->step = tile_lanes(s);
    scope o = scope_open(s, &loop->body);
    w->c = kx_var(s->k, c);
    inner_loops(s, f, w, neighbours);
    scope_close(s, o);
}

static void some_columns(sched *s, frame *f, packing *w, bool zero)
{
    w->zero = zero;
    if (!along_bound(s, w)) {
        inner_loops(s, f, w, columns);
        return;
    }
    scope o = column_loop(s, w);
    inner_loops(s, f, w, column);
    scope_close(s, o);
}

static void block(sched *s, frame *f, packing *w, bool whole)
{
    scope o;
    if (!along_bound(s, w) || s->plan[w->p->v->id].size > SMALL) {
        some_columns(s, f, w, false);
        if (!whole)
            some_columns(s, f, w, true);
        return;
    }
    if (whole) {
        whole_block(s, f, w);
        return;
    }
    kstmt *st = open_if(s, k2(s, OP_eq, w->n, kx_int(s->k, w->t->n_cols)), &o);
    whole_block(s, f, w);
    scope_close(s, o);
    o = scope_open(s, &st->other);
    some_columns(s, f, w, false);
    some_columns(s, f, w, true);
    scope_close(s, o);
}

static const kexpr *blocks_of(sched *s, const tile_sum *t)
{
    return kx_dim(s->k, tile_blocks(s, t));
}

static void blocks(sched *s, frame *f, void *ctx)
{
    packing *w = ctx;
    int64_t some;
    const dim *extent = w->t->col->extent;
    w->block = kernel_var(s->k, "block", DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, w->block, kx_int(s->k, 0), blocks_of(s, w->t), KL_SEQ);
    scope o = scope_open(s, &loop->body);
    bool whole = dim_is_const(extent, &some) && some % w->t->n_cols == 0;
    const kexpr *left = k2(s, OP_sub, kx_dim(s->k, extent),
                           k2(s, OP_mul, kx_var(s->k, w->block), kx_int(s->k, w->t->n_cols)));
    w->n = kx_int(s->k, w->t->n_cols);
    if (!whole)
        w->n = hold(s, k2(s, OP_min, left, w->n), "n");
    block(s, f, w, whole);
    scope_close(s, o);
}

static void emit_panel(sched *s, frame *f, const tile_sum *t, panel *p, bool early)
{
    packing w = {.t = t, .p = p, .inner = ARENA_ARRAY(s->scratch, const ix *, t->n_bound)};
    const ix **outer = ARENA_ARRAY(s->scratch, const ix *, p->n_axes);
    const value **cs = ARENA_ARRAY(s->scratch, const value *, t->where.n);
    nest n = {.ix = outer, .body = blocks, .ctx = &w};
    for (uint32_t i = 0; i < p->at_block; i++)
        outer[n.n++] = p->axes[i];
    for (uint32_t i = p->at_block + 1; i < p->n_axes; i++)
        w.inner[w.n_inner++] = p->axes[i];
    w.where.v = cs;
    for (uint32_t i = 0; i < t->where.n; i++) {
        if (applies(s, f, p->v, t->where.v[i], early))
            cs[w.where.n++] = t->where.v[i];
    }
    n.note = arena_printf(s->k->a, "panel %s", name_of(p->v));
    run_nest(s, f, &n);
}

/* --- its memory --- */

/* Rows of whole blocks of columns, one after the other: to pack them would change next to nothing.
 */
static bool lies_so(const sched *s, const tile_sum *t, const value *x)
{
    const plan *p = &s->plan[x->id];
    int64_t n;
    bool there = x->op == OP_input || (p->stored && !OP_HAS(x->op, T_REGION));
    return there && p->buf && !p->fold && !p->inexact && p->buf->rank >= 2 && t->n_bound == 1 &&
           p->buf->store == temp_store(s, x->dt) && p->axes[p->buf->rank - 1] == t->col &&
           p->axes[p->buf->rank - 2] == t->bound[0] && dim_is_const(t->col->extent, &n) &&
           n % t->n_cols == 0 && n <= IN_PLACE_COLUMNS;
}

static void make_buf(sched *s, const frame *f, const tile_sum *t, panel *p, kbuf_role role,
                     const dim *times)
{
    const value *x = p->v;
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, x->n_ix + t->n_bound + 1);
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, x->n_ix + t->n_bound + 2);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_ix; i++) {
        if (x->ix[i] != t->col && !is_one_of(x->ix[i], t->bound, t->n_bound) &&
            !bound_value(f, x->ix[i]))
            axes[n++] = x->ix[i];
    }
    p->at_block = n;
    axes[n++] = t->col;
    for (uint32_t i = 0; i < t->n_bound; i++) {
        if (value_has_ix(x, t->bound[i]))
            axes[n++] = t->bound[i];
    }
    for (uint32_t i = 0; i < n; i++)
        shape[i] = i == p->at_block ? tile_blocks(s, t) : axes[i]->extent;
    if (times)
        shape[p->at_block] = dim_mul(s->g->dims, shape[p->at_block], times);
    shape[n] = dim_const(s->g->dims, t->n_cols);
    p->axes = axes;
    p->n_axes = n;
    const char *name = arena_printf(s->scratch, "%s_panel", name_of(x));
    p->buf = kernel_buf(s->k, role, name, temp_store(s, x->dt), shape, n + 1);
}

/* The same panel, made before. What conjuncts left out of it may differ, so there are none. */
static const panel *made_before(const sched *s, const tile_sum *t, const value *x, bool early)
{
    if (!early || t->where.n)
        return NULL;
    for (size_t i = 0; i < s->panels.n; i++) {
        const panel *p = s->panels.v[i];
        int64_t n_cols;
        if (p->v != x || p->axes[p->at_block] != t->col ||
            !dim_is_const(p->buf->shape[p->n_axes], &n_cols) || n_cols != t->n_cols)
            continue;
        uint32_t at = p->at_block + 1;
        for (uint32_t k = 0; k < t->n_bound && at <= p->n_axes; k++) {
            if (value_has_ix(x, t->bound[k]))
                at = at < p->n_axes && p->axes[at] == t->bound[k] ? at + 1 : p->n_axes + 1;
        }
        if (at == p->n_axes)
            return p;
    }
    return NULL;
}

static void remember(sched *s, const tile_sum *t, const panel *p)
{
    if (!t->where.n)
        vec_push(s->scratch, &s->panels, arena_copy(s->scratch, p, sizeof *p));
}

static void pack_early(sched *s, const tile_sum *t, panel *p)
{
    const panel *same = made_before(s, t, p->v, true);
    if (same) {
        form(s, RULE_schedule_panel_again);
        *p = *same;
        return;
    }
    bool weights = panel_of_params(s, p->v);
    int level = weights ? -1 : level_of(s, p->v);
    ICE_UNLESS(weights || level >= 0);
    form(s, weights ? RULE_schedule_panel_prepared : RULE_schedule_panel_before);
    bool in_step = s->in_step;
    frame f = new_frame(s, weights ? NULL : s->before.v[level].steps);
    kblock *where = weights ? &s->k->prepare : s->before.v[level].block;
    if (where == &s->k->body || weights)
        s->in_step = false;
    scope o = scope_open(s, where);
    make_buf(s, &f, t, p, weights ? KB_PREPARED : KB_TEMP, NULL);
    emit_panel(s, &f, t, p, true);
    scope_close(s, o);
    s->in_step = in_step;
    remember(s, t, p);
}

void tile_pack(sched *s, frame *f, tile_sum *t, kbuf_role role)
{
    for (uint32_t i = 0; i < t->n_panels; i++) {
        panel *p = &t->panels[i];
        if (panel_of_params(s, p->v) || level_of(s, p->v) >= 0) {
            pack_early(s, t, p);
            continue;
        }
        p->in_place = lies_so(s, t, p->v);
        p->here = !p->in_place;
        form(s, p->in_place ? RULE_schedule_panel_in_place : RULE_schedule_panel_here);
        if (p->in_place)
            continue;
        make_buf(s, f, t, p, role, t->times);
        emit_panel(s, f, t, p, false);
    }
}

void tile_pack_part(sched *s, frame *f, const tile_sum *t)
{
    for (uint32_t i = 0; i < t->n_panels; i++) {
        if (t->panels[i].here)
            emit_panel(s, f, t, &t->panels[i], false);
    }
}
