/* tensor.c: tensors defined by equations: their pieces, their axes, their bodies.
 *
 * The axes come from the declaration, else from the indices on the left and what the right side
 * leaves over. A right side may read tensors whose own axes are being inferred (f[s] = cell(x[s],
 * f[s-1])): it is then tried with messages muted, and whatever does not depend on the unknown
 * decides. */
#include "frontend/absence.h"
#include "frontend/pieces.h"

#include <string.h>

tensor *tensor_new(inst *in, const char *name, span at)
{
    sema *s = in->s;
    tensor *t = ARENA_NEW(s->a, tensor);
    t->id = (uint32_t)s->tensors.n;
    t->name = name;
    t->at = at;
    t->in = in;
    vec_push(s->a, &s->tensors, t);
    return t;
}

/* --- signatures --- */

static void give_ix(tensor *t)
{
    sema *s = t->in->s;
    ix_list avoid = {0};
    for (uint32_t i = 0; i < t->in->n_ctx; i++)
        vec_push(s->a, &avoid, t->in->ctx[i]);
    for (uint32_t i = 0; i < t->n_axes; i++) {
        axis *a = &t->axes[i];
        const ix **ixs = ARENA_ARRAY(s->a, const ix *, a->n);
        for (uint32_t k = 0; k < a->n; k++) {
            ixs[k] = pool_ix(s, a->d[k], avoid.v, avoid.n, NULL);
            vec_push(s->a, &avoid, ixs[k]);
        }
        a->ix = ixs;
    }
}

static void set_placeholder(tensor *t)
{
    sema *s = t->in->s;
    VEC(const ix *) all = {0};
    for (uint32_t i = 0; i < t->in->n_ctx; i++)
        vec_push(s->a, &all, t->in->ctx[i]);
    t->n_ctx = t->in->n_ctx;
    for (uint32_t i = 0; i < t->n_axes; i++)
        for (uint32_t k = 0; k < t->axes[i].n; k++)
            vec_push(s->a, &all, t->axes[i].ix[k]);
    if (all.n == 0) /* a placeholder has a row */
        vec_push(s->a, &all, pool_ix(s, dim_const(s->g->dims, 1), NULL, 0, "one"));
    t->n_ix = (uint32_t)all.n;
    t->ix = all.v;
    t->ph = graph_history(s->g, graph_new_scan(s->g), 0, t->name, t->dt, t->ix, t->n_ix, t->ix[0]);
    t->ph->at = t->at;
}

static scope *push_index(sema *s, const scope *up, const char *name, const ix *i, const dim *lo,
                         span at)
{
    scope *sc = ARENA_NEW(s->a, scope);
    *sc = (scope){(scope *)up, name, i, lo, at};
    return sc;
}

/* The right side in the scope of the left side's indices, whose index values are `ixs` (one per
 * item). */
static tv rhs_value(tensor *t, const equation *q, const left *l, uint32_t n_left,
                    const ix *const *ixs, const dim *const *los, bool real_thing)
{
    sema *s = t->in->s;
    env e = {.in = t->in, .demand = t->in->demand, .reader = real_thing ? t : NULL};
    e.n_targets = q->stmt ? (uint32_t)q->stmt->n_targets : 0;
    for (uint32_t i = 0; i < n_left; i++)
        if (l[i].kind == LEFT_FREE)
            e.indices = push_index(s, e.indices, l[i].name, ixs[i], los[i], l[i].at);
    tv v = q->ret ? elab(&e, q->ret) : elab_component(&e, q->stmt->e, q->component);
    for (uint32_t i = 0; i < q->n_path && v.kind == TV_VALUE; i++)
        v = split_last(&e, v, q->path[i].part, q->path[i].of, q->stmt->e->at);
    if (v.kind == TV_FUNC) {
        diag *d = diag_error(s->ds, v.at, "%s is a function, not a value", funcref_name(v.f));
        if (v.f->decl)
            diag_note(d, v.f->decl->name.at, "%s is defined here", funcref_name(v.f));
        diag_help(d, "call it: `%s(...)`", funcref_name(v.f));
        return tv_poison(v.at);
    }
    return v;
}

/* Infers axes and type of an undeclared tensor from equation q. */
static bool infer(tensor *t, const equation *q, bool whole_axis_known, const dim *whole,
                  uint32_t tile_part)
{
    sema *s = t->in->s;
    uint32_t n;
    left *l = left_items(t->in, q->target, &n);
    if (n == UINT32_MAX)
        return false;
    axis *ax = ARENA_ARRAY(s->a, axis, n);
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, n);
    const dim **los = ARENA_ARRAY(s->a, const dim *, n);
    ix_list avoid = {0};
    for (uint32_t i = 0; i < t->in->n_ctx; i++)
        vec_push(s->a, &avoid, t->in->ctx[i]);
    for (uint32_t i = 0; i < n; i++) {
        const dim *ext = NULL, *lo = NULL;
        ax[i] = (axis){.at = l[i].at, .n = 1};
        ax[i].d = ARENA_ARRAY(s->a, const dim *, 1);
        if (l[i].kind == LEFT_FREE) {
            if (!free_range(t, q, &l[i], NULL, NULL, false, &ext, &lo, !s->trial))
                return false;
            ixs[i] = pool_ix(s, ext, avoid.v, avoid.n, l[i].name);
            vec_push(s->a, &avoid, ixs[i]);
            los[i] = lo;
            axis_set_lo(s, &ax[i], 0, lo);
            ax[i].d[0] = ext;
        } else {
            ax[i].d[0] = dim_const(s->g->dims, 1);
            axis_set_lo(s, &ax[i], 0, l[i].at_dim);
        }
        if (whole_axis_known && i == tile_part) {
            ax[i].d[0] = whole;
            ax[i].lo = NULL;
        }
    }
    const tensor *outer = s->inferring;
    unsigned others = s->unknown_others;
    s->inferring = t;
    s->trial++;
    s->ds->muted++;
    tv v = rhs_value(t, q, l, n, ixs, los, false);
    s->ds->muted--;
    s->trial--;
    s->inferring = outer;
    if (v.kind == TV_UNKNOWN && others == s->unknown_others && n > 0) {
        /* only its own earlier steps are unknown, `S[t, d] = S[t-1, d] + ...`: they have no further
         * axes */
        v = tv_value(b_zero(s, s->o->real), v.at);
    }
    if (v.kind != TV_VALUE)
        return false;
    t->dt = v.v->dt;
    if (v.literal && t->dt == DT_I64 && (t->parent || t->tiles.n))
        t->dt = DT_NONE; /* h[-1] = 0 says nothing about h */
    t->n_axes = n + v.n_axes;
    t->axes = ARENA_ARRAY(s->a, axis, t->n_axes);
    memcpy(t->axes, ax, n * sizeof *ax);
    for (uint32_t i = 0; i < v.n_axes; i++)
        t->axes[n + i] = v.axes[i];
    return true;
}

/* The axes of a piece of a tensor: n positions from lo on of one part. */
static axis *axes_of_piece(sema *s, const axis *axes, uint32_t n_axes, uint32_t part, const dim *lo,
                           const dim *n)
{
    axis *out = ARENA_ARRAY(s->a, axis, n_axes);
    for (uint32_t i = 0, first = 0; i < n_axes; first += axes[i++].n) {
        axis *x = &out[i];
        *x = axes[i];
        if (part < first || part >= first + x->n)
            continue;
        const dim **d = ARENA_ARRAY(s->a, const dim *, x->n);
        for (uint32_t k = 0; k < x->n; k++)
            d[k] = k == part - first ? n : axes[i].d[k];
        x->d = d;
        axis_set_lo(s, x, part - first, lo);
        x->n_join = 0;
    }
    return out;
}

static bool sig_of_whole(tensor *t)
{
    sema *s = t->in->s;
    dims *dt = s->g->dims;
    /* the size along the tiles, then any tile's other axes */
    const dim *total = dim_const(dt, 0), *lo = axis_lo(&t->tiles.v[0]->axes[0], 0);
    for (size_t i = 0; i < t->tiles.n; i++)
        total = dim_add(dt, total, t->tiles.v[i]->axes[0].d[0]);
    bool ok = false;
    dtype d = DT_NONE;
    if (t->declared) {
        ok = true;
        d = t->dt;
    }
    for (size_t i = 0; i < t->tiles.n && !(ok && d != DT_NONE); i++) {
        tensor *p = t->tiles.v[i];
        t->dt = DT_NONE;
        if (infer(t, &p->eqs.v[0], true, total, t->tile_axis)) {
            ok = true;
            d = t->dt;
        }
    }
    if (!ok)
        return false;
    t->dt = d == DT_NONE ? s->o->real : d;
    uint32_t part = t->tile_axis;
    axis *along = NULL;
    uint32_t along_part = 0;
    for (uint32_t i = 0; i < t->n_axes && !along; i++) {
        if (part < t->axes[i].n) {
            along = &t->axes[i];
            along_part = part;
        } else {
            part -= t->axes[i].n;
        }
    }
    ICE_UNLESS(along);
    int64_t c;
    if (t->declared && !dims_unify(s, along->d[along_part], total)) {
        diag *g = diag_error(s->ds, vec_last(&t->tiles)->at,
                             "the equations of %s cover %s rows, its type says %s", t->name,
                             dims_show(s, total), dims_show(s, along->d[along_part]));
        diag_note(g, t->declared_at, "%s is declared here", t->name);
        diag_help(g, "define every row once, and no more");
        t->sig = P_BAD;
        return false;
    }
    bool from_0 = dims_const(s, lo, &c) && c == 0;
    if (!from_0 && !t->declared) {
        axis_set_lo(s, along, along_part, lo);
    } else if (!from_0) {
        diag *g =
            diag_error(s->ds, t->tiles.v[0]->at, "the first equation of %s begins at %s, not at 0",
                       t->name, dims_show(s, lo));
        if (t->declared)
            diag_note(g, t->declared_at, "%s is declared here", t->name);
        diag_help(g, "define every row once, from row 0 on");
        t->sig = P_BAD;
        return false;
    }
    give_ix(t);
    for (size_t i = 0; i < t->tiles.n; i++) {
        tensor *p = t->tiles.v[i];
        axis range = p->axes[0];
        p->dt = t->dt;
        p->n_axes = t->n_axes;
        p->axes =
            axes_of_piece(s, t->axes, t->n_axes, t->tile_axis, axis_lo(&range, 0), range.d[0]);
        give_ix(p);
        p->declared = NULL;
        set_placeholder(p);
        p->sig = P_DONE;
    }
    return true;
}

/* A boundary has its parent's axes, one position of one of them. */
static bool sig_of_boundary(tensor *t)
{
    sema *s = t->in->s;
    tensor *p = t->parent;
    if (!tensor_sig(p))
        return false;
    t->dt = p->dt;
    t->n_axes = p->n_axes;
    t->axes = axes_of_piece(s, p->axes, p->n_axes, t->parent_part, t->parent_at,
                            dim_const(s->g->dims, 1));
    give_ix(t);
    set_placeholder(t);
    t->sig = P_DONE;
    return true;
}

/* The axes left over by a boundary's right side decide where the main equation cannot. */
static bool infer_from_boundaries(tensor *t)
{
    sema *s = t->in->s;
    for (size_t i = 0; i < t->boundaries.n; i++) {
        tensor tmp = *t->boundaries.v[i].t;
        uint32_t n;
        left *l = left_items(t->in, t->eqs.v[0].target, &n);
        if (n == UINT32_MAX || !infer(&tmp, &tmp.eqs.v[0], false, NULL, 0) || tmp.n_axes < n)
            continue;
        axis *ax = ARENA_ARRAY(s->a, axis, tmp.n_axes);
        memcpy(ax, tmp.axes, tmp.n_axes * sizeof *ax);
        bool ok = true;
        for (uint32_t k = 0; k < n && ok; k++) {
            const dim *ext, *lo;
            ok = free_range(t, &t->eqs.v[0], &l[k], NULL, NULL, false, &ext, &lo, false);
            if (!ok)
                break;
            ax[k] = (axis){.at = l[k].at, .n = 1};
            axis_set_lo(s, &ax[k], 0, lo);
            ax[k].d = ARENA_ARRAY(s->a, const dim *, 1);
            ax[k].d[0] = ext;
        }
        if (!ok)
            continue;
        t->axes = ax;
        t->n_axes = tmp.n_axes;
        t->dt = tmp.dt;
        return true;
    }
    return false;
}

bool tensor_sig(tensor *t)
{
    sema *s = t->in->s;
    if (t->sig == P_DONE || t->given)
        return true;
    if (t->sig == P_BUSY && t->declared_known)
        return true;
    if (t->sig == P_BAD || t->sig == P_BUSY)
        return false;
    if (t->parent)
        return sig_of_boundary(t);
    bool outermost = s->trial == 0;
    t->sig = P_BUSY;
    if (t->declared && !t->declared_known) {
        if (!declared_axes(t, &t->n_axes, &t->axes)) {
            t->sig = P_BAD;
            return false;
        }
        t->dt = dtype_of(s, t->declared->scalar);
        give_ix(t);
        set_placeholder(t); /* for trials; made anew where the tensor has tiles */
        t->declared_known = true;
    }
    tensor_pieces(t);
    if (t->sig == P_BAD)
        return false;
    if (!t->pieces_done) {
        t->sig = P_NEW;
        return false;
    }
    bool ok = false;
    if (t->declared) {
        ok = declared_axes(t, &t->n_axes, &t->axes);
        t->dt = dtype_of(s, t->declared->scalar);
        if (!ok) {
            t->sig = P_BAD;
            return false;
        }
    }
    if (t->tiles.n > 0) {
        ok = sig_of_whole(t);
    } else if (!t->declared) {
        ok = infer(t, &t->eqs.v[0], false, NULL, 0) || infer_from_boundaries(t);
        if (ok && t->dt == DT_NONE)
            t->dt = s->o->real;
    }
    if (!ok && t->sig == P_BAD)
        return false;
    if (!ok) {
        t->sig = P_NEW;
        if (outermost) {
            /* say why: elaborate once more, aloud */
            size_t errors = s->ds->n_errors;
            bool follows = false;
            t->sig = P_BUSY;
            uint32_t n;
            const equation *q = t->tiles.n ? &t->tiles.v[0]->eqs.v[0] : &t->eqs.v[0];
            left *l = left_items(t->in, q->target, &n);
            if (n != UINT32_MAX) {
                const ix **ixs = ARENA_ARRAY(s->a, const ix *, n);
                const dim **los = ARENA_ARRAY(s->a, const dim *, n);
                ix_list avoid = {0};
                bool have = true;
                for (uint32_t i = 0; i < t->in->n_ctx; i++)
                    vec_push(s->a, &avoid, t->in->ctx[i]);
                for (uint32_t i = 0; i < n && have; i++)
                    if (l[i].kind == LEFT_FREE) {
                        const dim *ext, *lo;
                        have = free_range(t, q, &l[i], NULL, NULL, false, &ext, &lo, true);
                        if (have) {
                            ixs[i] = pool_ix(s, ext, avoid.v, avoid.n, l[i].name);
                            vec_push(s->a, &avoid, ixs[i]);
                            los[i] = lo;
                        }
                    }
                follows = !have || rhs_value(t, q, l, n, ixs, los, false).kind == TV_POISON;
            }
            follows = follows && errors > 0; /* from what was reported of something it reads */
            if (s->ds->n_errors == errors && !follows) {
                diag *d = diag_error(s->ds, t->at, "the shape of %s cannot be inferred", t->name);
                diag_help(d, "declare it: `%s: [T, H]`", t->name);
            }
            t->sig = P_BAD;
        }
        return false;
    }
    if (t->tiles.n == 0) {
        give_ix(t);
        set_placeholder(t);
    }
    t->sig = P_DONE;
    return true;
}

/* --- bodies --- */

/* The indices of t's axes for the left side's items, in order, and the axes left over: of a packed
 * axis the parts without an item. */
static bool left_to_axes(tensor *t, const left *l, uint32_t n, const ix **ixs, const dim **los,
                         uint32_t *n_rest, axis **rest)
{
    sema *s = t->in->s;
    uint32_t item = 0;
    *n_rest = 0;
    *rest = ARENA_ARRAY(s->a, axis, t->n_axes);
    for (uint32_t i = 0; i < t->n_axes; i++) {
        uint32_t k = 0;
        for (; k < t->axes[i].n && item < n; k++, item++) {
            ixs[item] = t->axes[i].ix[k];
            los[item] = axis_lo(&t->axes[i], k);
            if (l[item].kind == LEFT_FREE && l[item].offset)
                los[item] = dim_sub(s->g->dims, los[item] ? los[item] : dim_const(s->g->dims, 0),
                                    l[item].offset);
        }
        if (k == t->axes[i].n)
            continue;
        axis *left_over = &(*rest)[(*n_rest)++];
        *left_over = t->axes[i];
        left_over->n -= k;
        left_over->ix += k;
        left_over->d += k;
        if (left_over->lo)
            left_over->lo += k;
    }
    if (item < n) {
        diag *d = diag_error(s->ds, l[item].at, "%s takes %u ind%s, here %s %u", t->name, item,
                             item == 1 ? "ex" : "ices", n == 1 ? "is" : "are", n);
        if (t->declared)
            diag_note(d, t->declared_at, "%s is declared %s", t->name,
                      axes_show(s, t->axes, t->n_axes));
        diag_help(d, "leave out the last ones, or declare %s with more axes", t->name);
        return false;
    }
    return true;
}

/* t's equation, or all its pieces, once. */
static bool define_equations(tensor *t)
{
    sema *s = t->in->s;
    bool ok = true;
    for (size_t i = 0; i < t->boundaries.n; i++)
        ok = tensor_define(t->boundaries.v[i].t) && ok;
    if (t->tiles.n > 0) {
        for (size_t i = 0; i < t->tiles.n; i++)
            ok = tensor_define(t->tiles.v[i]) && ok;
        return ok;
    }
    const equation *q = &t->eqs.v[0];
    uint32_t n, n_rest = 0;
    axis *rest = NULL;
    left *l = left_items(t->in, q->target, &n);
    ok = n != UINT32_MAX;
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, ok ? n : 0);
    const dim **los = ARENA_ARRAY(s->a, const dim *, ok ? n : 0);
    if (!ok || !left_to_axes(t, l, n, ixs, los, &n_rest, &rest))
        return false;
    tv v = rhs_value(t, q, l, n, ixs, los, true);
    if (v.kind != TV_VALUE) {
        if (v.kind == TV_UNKNOWN && s->ds->n_errors == 0)
            diag_error(s->ds, t->at, "the shape of %s cannot be inferred", t->name);
        return false;
    }
    env e = {.in = t->in, .demand = t->in->demand};
    span here = rhs_of(q)->at;
    const char *what = n ? arena_printf(s->a, "%s[...]", t->name) : t->name;
    s->here = here;
    if (!fit_axes(&e, &v, rest, n_rest, here, t->declared ? t->declared_at : t->at, what))
        return false;
    if (t->dt != DT_BOOL && t->dt != DT_I64 && v.v->dt == DT_I64)
        v = to_real(&e, v);
    if (v.v->dt != t->dt) {
        bool hidden = t->name[0] == '('; /* an equation of `until` */
        diag *d = hidden ? diag_error(s->ds, here, "`until` needs a condition, this is %s",
                                      dtype_word(v.v->dt))
                         : diag_error(s->ds, here, "%s is %s, but this is %s", t->name,
                                      dtype_word(t->dt), dtype_word(v.v->dt));
        if (hidden)
            diag_help(d, "compare it with something: `until ids[t] == EOS`");
        else if (t->declared)
            diag_note(d, t->declared_at, "%s is declared here", t->name);
        if (t->dt == DT_I64)
            diag_help(d, "floor, round and ceil make an int of a real");
        else if (v.v->dt == DT_BOOL)
            diag_help(d, "a bool is never a number: write `1 where c else 0`");
        return false;
    }
    t->body = v.v;
    t->weight = v.weight;
    absence_defined(t, v.support);
    return true;
}

bool tensor_define(tensor *t)
{
    if (t->given || t->def == P_DONE)
        return true;
    if (t->def == P_BAD)
        return false;
    if (t->def == P_BUSY)
        return true;
    if (t->sig == P_BUSY)
        return true; /* its shape is being inferred: a value is not needed yet */
    if (!tensor_sig(t)) {
        t->def = P_BAD;
        return false;
    }
    absence_begin(t);
    do {
        t->def = P_BUSY;
        t->def = define_equations(t) ? P_DONE : P_BAD;
    } while (!absence_settled(t));
    return t->def == P_DONE;
}
