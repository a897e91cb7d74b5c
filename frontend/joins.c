/* joins.c: values one behind the other along their last axis, and apart again. */
#include "frontend/align.h"
#include <string.h>

tv join_values(env *e, tv *parts, uint32_t n, span at)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    tv bad;
    if (!all_values(parts, n, &bad, at))
        return bad;
    bool bools = parts[0].v->dt == DT_BOOL;
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].kind == TV_FUNC) {
            diag_error(s->ds, parts[i].at, "a function cannot be joined");
            return tv_poison(at);
        }
    if (!bools && !promote(e, parts, n, at, "a join"))
        return tv_poison(at);
    /* each part's last axis on one index of its own; the other axes meet */
    axis *last = ARENA_ARRAY(s->a, axis, n);
    const ix **part_ix = ARENA_ARRAY(s->a, const ix *, n);
    const dim *total = dim_const(dt, 0);
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    for (uint32_t i = 0; i < n; i++)
        tv_ixs(&parts[i], &avoid, s->a);
    tv rest = tv_value(graph_int(s->g, 0), at);
    for (uint32_t i = 0; i < n; i++) {
        tv *p = &parts[i];
        axis one = {.at = p->at, .n = 1};
        one.ix = ARENA_ARRAY(s->a, const ix *, 1);
        one.d = ARENA_ARRAY(s->a, const dim *, 1);
        if (p->n_axes == 0) {
            one.d[0] = dim_const(dt, 1);
            last[i] = one;
        } else {
            last[i] = p->axes[p->n_axes - 1];
            one.d[0] = axis_size(s, &last[i]);
        }
        if (p->n_axes && last[i].n == 1) {
            one.ix[0] = last[i].ix[0];
        } else {
            axis flat = fresh_axis(s, &one, &avoid);
            if (p->n_axes) {
                mover m = {0};
                move_axis(s, &m, &last[i], &flat);
                apply_moves(s, p, &m);
            }
            one = flat;
        }
        part_ix[i] = one.ix[0];
        total = dim_add(dt, total, one.d[0]);
        if (p->n_axes)
            p->n_axes--;
        /* meet the axes of the parts before; the own last index is out of the way */
        tv body = *p;
        if (rest.n_axes || body.n_axes) {
            rest.v = parts[0].v;
            rest.support = NULL;
            if (i == 0) {
                rest.axes = body.axes;
                rest.n_axes = body.n_axes;
            } else if (!align(e, &rest, &body, at, "a join")) {
                return tv_poison(at);
            }
            p->v = body.v;
            p->support = body.support;
        }
    }
    axis whole = {.at = at, .n = 1, .n_join = n, .join = last};
    whole.d = ARENA_ARRAY(s->a, const dim *, 1);
    whole.ix = ARENA_ARRAY(s->a, const ix *, 1);
    whole.d[0] = total;
    for (uint32_t i = 0; i < n; i++)
        tv_ixs(&parts[i], &avoid, s->a);
    whole.ix[0] = pool_ix(s, total, avoid.v, avoid.n, "m");
    value **v = ARENA_ARRAY(s->a, value *, n), **sup = ARENA_ARRAY(s->a, value *, n);
    bool any = false, alike = true;
    for (uint32_t i = 0; i < n; i++) {
        v[i] = parts[i].v;
        any = any || parts[i].support;
        alike = alike && parts[i].support == parts[0].support &&
                !mentions_any(parts[i].support, &part_ix[i], 1);
        sup[i] = parts[i].support ? parts[i].support : graph_bool(s->g, true);
    }
    tv r = tv_value(graph_join(s->g, whole.ix[0], v, part_ix, n), at);
    if (any)
        r.support = alike ? parts[0].support : graph_join(s->g, whole.ix[0], sup, part_ix, n);
    r.n_axes = rest.n_axes + 1;
    r.axes = ARENA_ARRAY(s->a, axis, r.n_axes);
    for (uint32_t i = 0; i < rest.n_axes; i++)
        r.axes[i] = rest.axes[i];
    r.axes[rest.n_axes] = whole;
    return r;
}

tv split_last(env *e, tv v, uint32_t part, uint32_t of, span at)
{
    sema *s = e->in->s;
    dims *dt = s->g->dims;
    if (v.kind != TV_VALUE)
        return v;
    if (v.n_axes == 0) {
        diag_error(s->ds, at, "a single number cannot be taken apart in %u", of);
        return tv_poison(at);
    }
    const axis *l = &v.axes[v.n_axes - 1];
    axis piece = {.at = at, .n = 1};
    const dim *offset = dim_const(dt, 0);
    int64_t c;
    mover m = {0};
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    tv_ixs(&v, &avoid, s->a);
    if (l->n == 1 && l->n_join == of) {
        piece = l->join[part];
        for (uint32_t i = 0; i < part; i++)
            offset = dim_add(dt, offset, axis_size(s, &l->join[i]));
    } else if (l->n > 1 && dims_const(s, l->d[0], &c) && c == of) {
        piece.n = l->n - 1; /* [(4, H)]: the first part chooses */
        piece.d = l->d + 1;
        piece.ix = l->ix + 1;
        piece = fresh_axis(s, &piece, &avoid);
        vec_push(s->a, &m.from, l->ix[0]);
        vec_push(s->a, &m.to, graph_int(s->g, part));
        for (uint32_t k = 0; k < piece.n; k++) {
            vec_push(s->a, &m.from, l->ix[k + 1]);
            vec_push(s->a, &m.to, graph_index(s->g, piece.ix[k]));
        }
    } else {
        const dim *size = axis_size(s, l);
        piece.d = ARENA_ARRAY(s->a, const dim *, 1);
        piece.ix = ARENA_ARRAY(s->a, const ix *, 1);
        piece.d[0] = dim_exact(dt, size, dim_const(dt, of));
        if (!piece.d[0] || (dims_const(s, size, &c) && c % of != 0)) {
            diag_error(s->ds, at, "an axis of size %s cannot be taken apart in %u equal parts",
                       dims_show(s, dims_value(s, size)), of);
            return tv_poison(at);
        }
        offset = dim_mul(dt, piece.d[0], dim_const(dt, part));
    }
    if (m.from.n == 0) {
        piece = fresh_axis(s, &piece, &avoid);
        value *flat = graph_index(s->g, piece.ix[0]);
        for (uint32_t k = 1; k < piece.n; k++) {
            flat = b_elem(s, OP_mul, flat, b_dim(s, piece.d[k]), NULL);
            flat = b_elem(s, OP_add, flat, graph_index(s->g, piece.ix[k]), NULL);
        }
        flat = b_elem(s, OP_add, flat, b_dim(s, offset), NULL);
        for (uint32_t k = l->n; k-- > 0;) {
            value *size = b_dim(s, l->d[k]);
            vec_push(s->a, &m.from, l->ix[k]);
            vec_push(s->a, &m.to, k ? b_elem(s, OP_imod, flat, size, NULL) : flat);
            if (k)
                flat = b_elem(s, OP_idiv, flat, size, NULL);
        }
    }
    apply_moves(s, &v, &m);
    axis *ax = ARENA_ARRAY(s->a, axis, v.n_axes);
    memcpy(ax, v.axes, v.n_axes * sizeof *ax);
    ax[v.n_axes - 1] = piece;
    v.axes = ax;
    return v;
}
