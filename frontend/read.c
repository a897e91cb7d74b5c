/* read.c: tensors at index values: which piece, whether it lies inside, what is left over. */
#include "frontend/absence.h"

#include <string.h>

/* --- one piece --- */

typedef struct bounds {
    value *inside; /* with `else` at hand: where the read lies inside */
    value *narrow; /* the conditions in force that keep it inside */
    bool guard;    /* must be checked while running */
    bool bad;
} bounds;

static void static_check(env *e, const dim *a, const dim *b, span at, const char *text)
{
    sema *s = e->in->s;
    if (s->trial)
        return;
    for (size_t i = 0; i < s->g->checks.n; i++)
        if (s->g->checks.v[i].a == a && s->g->checks.v[i].b == b)
            return;
    graph_check c = {.a = a, .b = b, .le = true, .text = text, .at = at};
    vec_push(s->g->a, &s->g->checks, c);
}

static void check_inside(env *e, const tensor *t, value *idx, const dim *extent, span at,
                         bounds *out)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    const dim *lo = NULL, *hi = NULL;
    const char *sym;
    value *zero = graph_int(s->g, 0);
    extent = dims_resolve(s, extent);
    if (!t->given && idx->op == OP_index && dim_is_sym(extent, &sym) &&
        !dims_same(s, idx->ix[0]->extent, extent)) { /* a size nothing has decided yet */
        dims_unify(s, extent, idx->ix[0]->extent);
        extent = dims_resolve(s, extent);
    }
    bool known = value_int_bounds(s, idx, &lo, &hi);
    bool low = known && dims_le(s, dim_const(dt, 0), lo);
    bool high = known && dims_lt(s, hi, extent);
    if (!low && !(low = proved_le(s, zero, idx, 0))) {
        value *p = pred_prover(s, e->demand, zero, idx, 0);
        low = p != NULL;
        out->narrow = p ? b_and(s, out->narrow, p) : out->narrow;
    }
    if (!high && !(high = proved_le(s, idx, b_dim(s, extent), 1))) {
        value *p = pred_prover(s, e->demand, idx, b_dim(s, extent), 1);
        high = p != NULL;
        out->narrow = p ? b_and(s, out->narrow, p) : out->narrow;
    }
    if ((low && high) || (known && dims_lt(s, hi, lo))) /* the latter: over nothing */
        return;
    if (e->else_at_hand) {
        if (!low)
            out->inside = b_and(s, out->inside, b_cmp(s, OP_le, zero, idx));
        if (!high)
            out->inside = b_and(s, out->inside, b_cmp(s, OP_lt, idx, b_dim(s, extent)));
        return;
    }
    if (value_is_data(idx) || !known || e->demand) {
        out->guard = true;
        return;
    }
    if (s->trial)
        return;
    lo = dims_final(s, lo, at); /* positions are said as numbers */
    hi = dims_final(s, hi, at);
    extent = dims_final(s, extent, at);
    bool below = !low && dims_lt(s, lo, dim_const(dt, 0));
    bool above = !high && dims_le(s, extent, hi);
    if (below || above) {
        diag *d = diag_error(
            s->ds, at, "this read leaves %s: its index runs from %s to %s, the axis from 0 to %s",
            t->name, dims_show(s, lo), dims_show(s, hi),
            dims_show(s, dim_sub(dt, extent, dim_const(dt, 1))));
        diag_help(d, "give the value outside: `%s[%s] = ...`, or `... else 0`, or narrow the index",
                  t->name, below ? "-1" : dims_show(s, extent));
        out->bad = true;
        return;
    }
    if (!low)
        static_check(e, dim_const(dt, 0), lo, at,
                     arena_printf(s->a, "an index of %s must not be negative", t->name));
    if (!high)
        static_check(e, dim_add(dt, hi, dim_const(dt, 1)), extent, at,
                     arena_printf(s->a,
                                  "%s must be long enough: %s of its rows are read, it has %s",
                                  t->name, dims_show(s, dim_add(dt, hi, dim_const(dt, 1))),
                                  dims_show(s, extent)));
}

static void record(env *e, tensor *t, const ix *const *from, value *const *to, uint32_t n, span at)
{
    sema *s = e->in->s;
    if (!e->reader || s->trial)
        return;
    access r = {.of = t, .n = t->n_ix, .demand = e->demand, .at = at};
    r.index = ARENA_ARRAY(s->a, value *, t->n_ix);
    for (uint32_t i = 0; i < t->n_ix; i++) {
        r.index[i] = graph_index(s->g, t->ix[i]);
        for (uint32_t k = 0; k < n; k++)
            if (from[k] == t->ix[i])
                r.index[i] = to[k];
    }
    vec_push(s->a, &e->reader->reads, r);
}

/* What v depends on is read at indices of the same ranges: it cannot lie outside. */
static bool stays_inside(sema *s, const value *v, const ix *const *from, value *const *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (value_has_ix(v, from[i]) &&
            !(to[i]->op == OP_index && dims_same(s, to[i]->ix[0]->extent, from[i]->extent)))
            return false;
    return true;
}

/* t (a given tensor, or one piece) at positions pos, one per part, counted from the axes' own lo.
 */
static tv read_piece(env *e, tensor *t, value *const *pos, span at)
{
    sema *s = e->in->s;
    bounds b = {0};
    VEC(const ix *) from = {0};
    VEC(value *) to = {0};
    uint32_t p = 0;
    bool moved = false;
    for (uint32_t i = 0; i < t->n_axes; i++)
        for (uint32_t k = 0; k < t->axes[i].n; k++, p++) {
            value *idx = pos[p];
            const dim *first = axis_lo(&t->axes[i], k);
            if (first)
                idx = b_elem(s, OP_sub, idx, b_dim(s, first), NULL);
            check_inside(e, t, idx, t->axes[i].d[k], at, &b);
            vec_push(s->a, &from, t->axes[i].ix[k]);
            vec_push(s->a, &to, idx);
            moved = moved || idx->op != OP_index;
        }
    if (b.bad)
        return tv_poison(at);
    if (!t->given || t->boundaries.n)
        s->loose_reads++;
    value *base = t->given ? t->val.v : t->ph;
    value *order = NULL, *support = t->given ? t->val.support
                                             : absence_support(e, t, from.v, to.v, from.n, &order);
    tv r = {.kind = TV_VALUE, .at = at};
    value *where = b_and(s, b.inside, b.guard ? e->demand : b.narrow);
    r.v = b_read(s, base, from.v, to.v, (uint32_t)from.n, where);
    if (!r.v->at.file)
        r.v->at = at;
    /* the support is read where the value is: elsewhere the index may lie outside */
    if (support)
        support =
            b_read(s, support, from.v, to.v, (uint32_t)from.n,
                   b_and(s, stays_inside(s, support, from.v, to.v, from.n) ? NULL : where, order));
    r.support = b_and(s, support, b.inside);
    r.weight = t->given ? t->val.weight : t->weight;
    if (!t->given) {
        record(e, t, from.v, to.v, (uint32_t)from.n, at);
        absence_reads(e, r.support, at);
    }
    return r;
}

/* --- pieces together --- */

/* Ranges over which a whole tensor's tile reads: choose by position. */
static tv read_tiles(env *e, tensor *t, value *const *pos, span at)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    value *p = pos[t->tile_axis];
    tv r = {0};
    bool have = false;
    const dim *lo, *hi;
    bool known = value_int_bounds(s, p, &lo, &hi);
    for (size_t i = t->tiles.n; i-- > 0;) {
        tensor *tile = t->tiles.v[i];
        const dim *first = dim_const(dt, 0), *end = first;
        for (uint32_t a = 0, k = 0; a < tile->n_axes; a++) {
            if (t->tile_axis >= k && t->tile_axis < k + tile->axes[a].n) {
                const dim *own = axis_lo(&tile->axes[a], t->tile_axis - k);
                first = own ? own : first;
                end = dim_add(dt, first, tile->axes[a].d[t->tile_axis - k]);
            }
            k += tile->axes[a].n;
        }
        value *begins = b_cmp(s, OP_le, b_dim(s, first), p);
        /* never in this tile? */
        if (i > 0 && known && dims_lt(s, hi, first))
            continue;
        if (have && known && dims_le(s, end, lo))
            break;
        env in = *e;
        bool is_first = i == 0;
        if (!is_first && !(begins->op == OP_const && begins->i))
            in.demand = b_and(s, in.demand, begins);
        if (have)
            in.demand = b_and(s, in.demand, b_cmp(s, OP_lt, p, b_dim(s, end)));
        tv x = read_piece(&in, tile, pos, at);
        if (x.kind != TV_VALUE)
            return x;
        if (!have) {
            r = x;
            have = true;
        } else {
            value *later = b_cmp(s, OP_le, b_dim(s, end), p);
            r.support = !r.support && !x.support
                            ? NULL
                            : b_select(s, later, r.support ? r.support : graph_bool(s->g, true),
                                       x.support ? x.support : graph_bool(s->g, true));
            r.v = b_select(s, later, r.v, x.v);
            r.weight = r.weight && x.weight;
        }
        if (begins->op == OP_const && begins->i)
            break;
        if (known && dims_le(s, first, lo))
            break;
    }
    return r;
}

static tv read_inner(env *e, tensor *t, value *const *pos, span at)
{
    return t->tiles.n && !t->given && t->sig == P_DONE ? read_tiles(e, t, pos, at)
                                                       : read_piece(e, t, pos, at);
}

static tv read_boundaries(env *e, tensor *t, size_t from, value *const *pos, span at)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    for (; from < t->boundaries.n; from++) {
        struct boundary *b = &t->boundaries.v[from];
        value *p = pos[b->part];
        const dim *lo, *hi, *c = dims_resolve(s, b->at), *one = dim_const(dt, 1);
        bool ranges =
            p->op == OP_index || value_is_data(p); /* met by offsets, not by what ranges */
        bool known = value_int_bounds(s, p, &lo, &hi);
        bool first = known && dims_equal(s, lo, c), last = known && dims_equal(s, hi, c);
        if (first && last)
            ranges = false;
        else if (ranges || !known || dims_lt(s, hi, c) || dims_lt(s, c, lo))
            continue;
        if (pred_implies_le(s, e->demand, b_dim(s, dim_add(dt, c, one)), p, 0) ||
            pred_implies_le(s, e->demand, p, b_dim(s, dim_sub(dt, c, one)), 0))
            continue;
        if (first && last)
            return read_piece(e, b->t, pos, at);
        /* below all the rest, above it, or between */
        value *rest = first  ? b_cmp(s, OP_le, b_dim(s, dim_add(dt, c, one)), p)
                      : last ? b_cmp(s, OP_le, p, b_dim(s, dim_sub(dt, c, one)))
                             : b_cmp(s, OP_ne, p, b_dim(s, c));
        env in = *e, out = *e;
        in.demand = b_and(s, in.demand, rest);
        out.demand = b_and(s, out.demand, b_not(s, rest));
        value **at_c = ARENA_ARRAY(s->a, value *, 64);
        uint32_t n = 0;
        for (uint32_t i = 0; i < t->n_axes; i++)
            n += t->axes[i].n;
        at_c = n > 64 ? ARENA_ARRAY(s->a, value *, n) : at_c;
        memcpy(at_c, pos, n * sizeof *at_c);
        at_c[b->part] = b_dim(s, c);
        tv x = read_boundaries(&in, t, from + 1, pos, at), y = read_piece(&out, b->t, at_c, at);
        if (x.kind != TV_VALUE || y.kind != TV_VALUE)
            return x.kind != TV_VALUE ? x : y;
        tv r = x;
        r.v = b_select(s, rest, x.v, y.v);
        r.support = !x.support && !y.support
                        ? NULL
                        : b_select(s, rest, x.support ? x.support : graph_bool(s->g, true),
                                   y.support ? y.support : graph_bool(s->g, true));
        r.weight = x.weight && y.weight;
        return r;
    }
    return read_inner(e, t, pos, at);
}

/* --- by syntax --- */

typedef struct item_value {
    value *v; /* position */
    value *support;
    uint32_t n_axes; /* an index that is itself a vector */
    axis *axes;
    const ix *fresh; /* a left-over part: its index */
    const dim *d;
} item_value;

static bool item_position(env *e, tensor *t, const ast_item *it, const dim *d, const dim *lo,
                          ix_list *avoid, item_value *out)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    if (!it || it->kind == AST_ITEM_ALL) {
        out->fresh = pool_ix(s, d, avoid->v, avoid->n, t->name);
        out->d = d;
        vec_push(s->a, avoid, out->fresh);
        out->v = graph_index(s->g, out->fresh);
        if (lo)
            out->v = b_elem(s, OP_add, out->v, b_dim(s, lo), NULL);
        return true;
    }
    if (it->kind == AST_ITEM_IN) {
        diag *g = diag_error(s->ds, it->at, "an index cannot be bound while reading %s", t->name);
        diag_help(g, "bind it on the left side, or by an operator: `sum[%s in ...](...)`",
                  it->name.s);
        return false;
    }
    env inner = *e;
    inner.else_at_hand = e->else_at_hand;
    tv x = elab(&inner, it->e);
    if (x.kind != TV_VALUE) {
        out->v = NULL;
        return false;
    }
    if (it->kind == AST_ITEM_RANGE) {
        tv y = elab(&inner, it->hi);
        const dim *xlo, *xhi, *ylo, *yhi;
        if (y.kind != TV_VALUE)
            return false;
        if (!value_int_bounds(s, x.v, &xlo, &xhi) || !value_int_bounds(s, y.v, &ylo, &yhi) ||
            xlo != xhi || ylo != yhi) {
            diag *g = diag_error(s->ds, it->at, "the ends of a slice are sizes known at entry");
            diag_help(g, "name the index and narrow it with `where`");
            return false;
        }
        out->d =
            dim_max(dt, dim_const(dt, 0), dim_add(dt, dim_sub(dt, ylo, xlo), dim_const(dt, 1)));
        out->fresh = pool_ix(s, out->d, avoid->v, avoid->n, t->name);
        vec_push(s->a, avoid, out->fresh);
        out->v = b_elem(s, OP_add, graph_index(s->g, out->fresh), b_dim(s, xlo), NULL);
        return true;
    }
    if (x.v->dt != DT_I64) {
        diag *g = diag_error(s->ds, it->at, "an index of %s must be an int, this is %s", t->name,
                             x.v->dt == DT_BOOL ? "a bool" : "real");
        diag_help(g, x.v->dt == DT_BOOL ? "put a condition behind `where`"
                                        : "floor, round and ceil make an int");
        return false;
    }
    if (x.n_axes) {
        x = rename_axes(e, x, avoid->v, avoid->n);
        out->n_axes = x.n_axes;
        out->axes = x.axes;
        tv_ixs(&x, avoid, s->a);
    }
    out->v = x.v;
    out->support = x.support;
    return true;
}

tv tensor_read(env *e, tensor *t, const ast_index *index, span at)
{
    sema *s = e->in->s;
    if (!t->given) {
        if (!tensor_sig(t)) {
            if (t->sig == P_BAD)
                return tv_poison(at);
            s->met_unknown++;
            s->unknown_others += t != s->inferring;
            if (!s->trial) {
                diag *d = diag_error(s->ds, at, "the shape of %s depends on itself", t->name);
                diag_help(d, "declare it: `%s: [T, H]`", t->name);
                return tv_poison(at);
            }
            return (tv){.kind = TV_UNKNOWN, .at = at};
        }
        if (!s->trial && t->def == P_NEW && !tensor_define(t))
            return tv_poison(at);
        if (t->def == P_BAD)
            return tv_poison(at);
        absence_note(s, t);
    } else {
        if (t->val.kind != TV_VALUE)
            return t->val.kind == TV_UNKNOWN ? (tv){.kind = TV_UNKNOWN, .at = at} : tv_poison(at);
        tensor_pieces(t);
        for (size_t i = 0; i < t->boundaries.n && !s->trial; i++)
            tensor_define(t->boundaries.v[i].t);
    }
    for (size_t i = 0; i < t->boundaries.n; i++)
        if (!tensor_sig(t->boundaries.v[i].t))
            return s->trial ? (tv){.kind = TV_UNKNOWN, .at = at} : tv_poison(at);
    uint32_t n_parts = 0, n_items = index ? (uint32_t)index->n : 0;
    for (uint32_t i = 0; i < t->n_axes; i++)
        n_parts += t->axes[i].n;
    if (n_items > n_parts) {
        diag *d = diag_error(s->ds, at, "%s takes %u ind%s, here %s %u", t->name, n_parts,
                             n_parts == 1 ? "ex" : "ices", n_items == 1 ? "is" : "are", n_items);
        diag_note(d, t->declared ? t->declared_at : t->at, "%s is %s", t->name,
                  axes_show(s, t->axes, t->n_axes));
        diag_help(d, n_parts ? "leave out the last ones" : "read it without brackets");
        return tv_poison(at);
    }
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    value **pos = ARENA_ARRAY(s->a, value *, n_parts ? n_parts : 1);
    value *support = NULL;
    VEC(axis) left = {0};
    uint32_t p = 0;
    for (uint32_t i = 0; i < t->n_axes; i++) {
        const axis *ax = &t->axes[i];
        VEC(const ix *) fresh = {0};
        VEC(const dim *) sizes = {0};
        bool whole = true;
        for (uint32_t k = 0; k < ax->n; k++, p++) {
            item_value iv = {0};
            const ast_item *it = p < n_items ? &index->items[p] : NULL;
            if (!item_position(e, t, it, ax->d[k], axis_lo(ax, k), &avoid, &iv))
                return s->trial ? (tv){.kind = TV_UNKNOWN, .at = at} : tv_poison(at);
            pos[p] = iv.v;
            support = b_and(s, support, iv.support);
            for (uint32_t j = 0; j < iv.n_axes; j++)
                vec_push(s->a, &left, iv.axes[j]);
            if (iv.fresh) {
                vec_push(s->a, &fresh, iv.fresh);
                vec_push(s->a, &sizes, iv.d);
                whole = whole && iv.d == ax->d[k];
            } else {
                whole = false;
            }
        }
        if (fresh.n) {
            axis a = {.at = ax->at, .n = (uint32_t)fresh.n, .ix = fresh.v, .d = sizes.v};
            if (whole && ax->n_join) {
                a.n_join = ax->n_join;
                a.join = ax->join;
            }
            vec_push(s->a, &left, a);
        }
    }
    env inner = *e;
    inner.demand = b_and(s, e->demand, support);
    if (index && index->where) {
        value *c = elab_condition(&inner, index->where);
        if (!c)
            return tv_poison(at);
        support = b_and(s, support, c);
        inner.demand = b_and(s, inner.demand, c);
    }
    tv r = read_boundaries(&inner, t, 0, pos, at);
    if (r.kind != TV_VALUE)
        return r;
    r.support = b_and(s, r.support, support);
    r.axes = left.v;
    r.n_axes = (uint32_t)left.n;
    r.at = at;
    return r;
}
