/* schedule_online_mask.c: what the predicate of an online op makes of its tiles (domains.h), in the
 * terms of the code at hand. What depends on data along one index is summed up once, block by
 * block, before all rows.
 *
 * This and the bounds of plain loops (schedule_loop.c) are the choice `domains`.
 * require: the predicate of a verified graph.  keep: what is computed: an element that the
 * predicate excludes is left out all the same.  give: bounds and tests that are never wrong, only
 * coarse. Without it every tile and element is visited and tested. */
#include <math.h>

#include "passes/schedule_online_tile.h"

typedef struct mask {
    sched *s;
    frame *f;
    online_tiles *t;
} mask;

static const kexpr *point(void *ctx, const value *v)
{
    mask *m = ctx;
    return sx(m->s, m->f, v);
}

static const kexpr *held(void *ctx, const kexpr *e, const char *name)
{
    return hold(((mask *)ctx)->s, e, name);
}

/* --- data --- */

typedef struct summary {
    online_data *d;
    int64_t block; /* elements */
} summary;

static const kexpr *number(sched *s, const kexpr *e)
{
    if (e->dt != DT_BOOL)
        return e;
    return k_select(s, e, kx_int(s->k, 1), kx_int(s->k, 0));
}

static const kexpr *limit(sched *s, dtype dt, bool least)
{
    if (dt == DT_I64 || dt == DT_BOOL)
        return kx_int(s->k, least ? INT64_MAX : INT64_MIN);
    return kx_real(s->k, least ? (double)INFINITY : -(double)INFINITY);
}

static void sum_up(sched *s, frame *f, void *ctx)
{
    const summary *w = ctx;
    const online_data *d = w->d;
    kernel *k = s->k;
    const kexpr *extent = kx_dim(k, d->along->extent), *size = kx_int(k, w->block);
    kvar *b = kernel_var(k, "block", DT_I64, false), *x = kernel_var(k, "x", DT_I64, false);
    const kexpr *blocks = kx_dim(k, d->least->shape[d->n_axes - 1]);
    kstmt *loop = ks_for(k, s->at, b, kx_int(k, 0), blocks, KL_SEQ);
    scope o = scope_open(s, &loop->body), in;
    kvar *least = new_acc(s, limit(s, d->v->dt, true), "least");
    kvar *greatest = new_acc(s, limit(s, d->v->dt, false), "greatest");
    const kexpr *first = hold(s, k2(s, OP_mul, kx_var(k, b), size), "first");
    const kexpr *end = hold(s, k2(s, OP_min, k2(s, OP_add, first, size), extent), "end");
    kstmt *inner = ks_for(k, s->at, x, first, end, KL_SEQ);
    in = scope_open(s, &inner->body);
    frame own = new_frame(s, f->env);
    bind(s, &own, d->along, kx_var(k, x));
    const kexpr *e = hold(s, number(s, sx(s, &own, d->v)), "value");
    ks_set(k, s->at, least, k2(s, OP_min, kx_var(k, least), e));
    ks_set(k, s->at, greatest, k2(s, OP_max, kx_var(k, greatest), e));
    scope_close(s, in);
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, d->n_axes);
    for (uint32_t i = 0; i + 1 < d->n_axes; i++)
        at[i] = bound_value(f, d->axes[i]);
    at[d->n_axes - 1] = kx_var(k, b);
    ks_store(k, s->at, d->least, at, kx_var(k, least));
    ks_store(k, s->at, d->greatest, at, kx_var(k, greatest));
    scope_close(s, o);
}

static const online_data *make_data(sched *s, online_tiles *t, const value *v, const ix *along)
{
    online_data *d = ARENA_NEW(s->scratch, online_data);
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, v->n_ix + 1);
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, v->n_ix + 1);
    int64_t block = along == t->key ? t->keys : ONLINE_ROWS;
    dims *ds = s->g->dims;
    *d = (online_data){.v = v, .along = along, .axes = axes, .up = t->data};
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (v->ix[i] == along || is_step_of(s, t->v, v->ix[i]))
            continue;
        axes[d->n_axes] = v->ix[i];
        shape[d->n_axes++] = v->ix[i]->extent;
    }
    axes[d->n_axes] = along;
    shape[d->n_axes++] = dim_floordiv(ds, dim_add(ds, along->extent, dim_const(ds, block - 1)),
                                      dim_const(ds, block));
    store_type st = temp_store(s, v->dt == DT_BOOL ? DT_I64 : v->dt);
    d->least = kernel_buf(s->k, KB_TEMP, "least", st, shape, d->n_axes);
    d->greatest = kernel_buf(s->k, KB_TEMP, "greatest", st, shape, d->n_axes);
    t->data = d;
    frame f = new_frame(s, s->steps);
    scope o = scope_open(s, t->before);
    summary w = {d, block};
    nest n = {.ix = axes, .n = d->n_axes - 1, .body = sum_up, .ctx = &w};
    n.note = arena_printf(s->k->a, "blocks of %s", name_of(v));
    run_nest(s, &f, &n);
    scope_close(s, o);
    return d;
}

static bool data(void *ctx, const value *v, const domain_span *along, const kexpr **least,
                 const kexpr **greatest)
{
    mask *m = ctx;
    sched *s = m->s;
    const online_data *d = m->t->data;
    if (!online_is_harmless(s, v))
        return false;
    while (d && (d->v != v || d->along != along->i))
        d = d->up;
    if (!d)
        d = make_data(s, m->t, v, along->i);
    const kexpr **at = ARENA_ARRAY(s->scratch, const kexpr *, d->n_axes);
    for (uint32_t i = 0; i + 1 < d->n_axes; i++)
        at[i] = bound_value(m->f, d->axes[i]);
    at[d->n_axes - 1] = along->i == m->t->key ? m->t->key_block : m->t->row_block;
    *least = hold(s, kx_load(s->k, d->least, at), "least");
    *greatest = hold(s, kx_load(s->k, d->greatest, at), "greatest");
    return true;
}

/* --- bounds and tests --- */

static domain_span rows_of(sched *s, const online_tiles *t)
{
    const kexpr *one = kx_int(s->k, 1);
    const kexpr *last = k2(s, OP_sub, k2(s, OP_add, t->row0, t->rows), one);
    return (domain_span){t->row, t->row0, hold(s, last, "last_row")};
}

static void count_ways(sched *s, const online_tiles *t)
{
    static const rule_id rules[DOMAIN_WAY_COUNT] = {
        [DOMAIN_OUTER] = RULE_domains_outer,       [DOMAIN_BOUNDS] = RULE_domains_bounds,
        [DOMAIN_TILES] = RULE_domains_tiles,       [DOMAIN_DATA] = RULE_domains_data,
        [DOMAIN_ELEMENTS] = RULE_domains_elements,
    };
    conjuncts all;
    if (!s->hits)
        return;
    split_conjuncts(s->scratch, t->v->where, &all);
    for (uint32_t i = 0; i < all.n; i++)
        form(s, rules[domain_way_of(s->scratch, all.v[i], t->key, &t->row, 1)]);
}

/* The bounds that are known without a look at the predicate: all keys are visited, and of those
 * of a predicate none is known to hold for all rows. */
static online_bounds whole(sched *s, const online_tiles *t)
{
    const kexpr *zero = kx_int(s->k, 0), *extent = kx_dim(s->k, t->key->extent);
    return (online_bounds){zero, extent, zero, t->v->where ? zero : extent};
}

static online_bounds solve_bounds(sched *s, frame *f, online_tiles *t)
{
    mask m = {s, f, t};
    domain_host h = {s->k, &m, point, data, held, s->hits};
    domain_span rows = rows_of(s, t);
    count_ways(s, t);
    domain_range r = domain_bounds(&h, t->v->where, t->key, &rows, 1);
    return (online_bounds){r.lo, r.hi, r.full_lo, r.full_hi};
}

online_bounds online_bounds_of(sched *s, frame *f, online_tiles *t)
{
    if (!t->v->where || !decides(s, CHOICE_domains))
        return whole(s, t);
    double begun = choice_begin(s);
    online_bounds b = solve_bounds(s, f, t);
    choice_end(s, CHOICE_domains, begun);
    return b;
}

static const kexpr *end_of_keys(sched *s, const online_tiles *t)
{
    return k2(s, OP_add, t->key0, kx_int(s->k, t->keys));
}

/* Without a predicate only the last block of keys may not be full. */
static online_state state_of_all(sched *s, const online_tiles *t, const online_bounds *b)
{
    int64_t extent;
    bool even = dim_is_const(t->key->extent, &extent) && extent % t->keys == 0;
    const kexpr *full = k2(s, OP_le, end_of_keys(s, t), b->full_hi);
    return (online_state){.full = even ? NULL : hold(s, full, "full")};
}

static online_state solve_state(sched *s, frame *f, online_tiles *t, const online_bounds *b)
{
    const kexpr *full = k2(s, OP_le, b->full_lo, t->key0);
    online_state st = {0};
    full = k2(s, OP_and, full, k2(s, OP_le, end_of_keys(s, t), b->full_hi));
    if (t->tests) {
        mask m = {s, f, t};
        domain_host h = {s->k, &m, point, data, held, s->hits};
        const kexpr *last = k2(s, OP_sub, k2(s, OP_add, t->key0, t->n_keys), kx_int(s->k, 1));
        domain_span tile[2] = {rows_of(s, t), {t->key, t->key0, hold(s, last, "last_key")}};
        domain_truth truth = domain_test(&h, t->v->where, tile, 2);
        const kexpr *whole = k2(s, OP_eq, t->n_keys, kx_int(s->k, t->keys));
        if (truth.must->kind != KX_CONST || truth.must->i)
            full = k2(s, OP_or, full, k2(s, OP_and, truth.must, whole));
        if (truth.can->kind != KX_CONST || !truth.can->i)
            st.can = hold(s, truth.can, "some");
    }
    st.full = hold(s, full, "full");
    return st;
}

online_state online_state_of(sched *s, frame *f, online_tiles *t, const online_bounds *b)
{
    if (!t->v->where)
        return state_of_all(s, t, b);
    if (!decides(s, CHOICE_domains))
        return (online_state){.full = kx_bool(s->k, false)};
    double begun = choice_begin(s);
    online_state st = solve_state(s, f, t, b);
    choice_end(s, CHOICE_domains, begun);
    return st;
}
