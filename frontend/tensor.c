/* tensor.c: tensors defined by equations: their pieces, their axes, their bodies.
 *
 * The axes come from the declaration, else from the indices on the left and what the right side leaves over. A
 * right side may read tensors whose own axes are being inferred (f[s] = cell(x[s], f[s-1])): it is then tried with
 * messages muted, and whatever does not depend on the unknown decides. */
#include "frontend/sema.h"

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

/* --- the left side's items ------------------------------------------------------------------------------- */

typedef enum left_kind { LEFT_BAD, LEFT_FREE, LEFT_CONST } left_kind;

typedef struct left {
    left_kind kind;
    span at;
    const char *name;   /* FREE: the index */
    const dim *offset;  /* FREE: position = index + offset; NULL: 0 */
    const ast_item *in; /* FREE with a range of its own */
    const dim *at_dim;  /* CONST: the position */
} left;

static bool is_index_name(inst *in, const ast_expr *x)
{
    if (x->kind != AST_NAME || dims_find(in, x->name))
        return false;
    entity *n = inst_find(in, x->name);
    return !n || (n->kind != N_CONST && n->kind != N_TENSOR && n->kind != N_DIM);
}

static left left_item(inst *in, const ast_item *it)
{
    sema *s = in->s;
    left l = {.kind = LEFT_BAD, .at = it->at};
    const ast_expr *x = it->e;
    if (it->kind == AST_ITEM_IN) {
        l.kind = LEFT_FREE;
        l.name = it->name.s;
        l.in = it;
        return l;
    }
    if (it->kind != AST_ITEM_EXPR) {
        diag *d = diag_error(s->ds, it->at, "a definition needs an index here");
        diag_help(d, "name it: `x[i, j] = ...`; leave an axis out to define it whole");
        return l;
    }
    if (is_index_name(in, x)) {
        l.kind = LEFT_FREE;
        l.name = x->name;
        return l;
    }
    if (x->kind == AST_BINARY && (x->op == OP_ADD || x->op == OP_SUB)) {
        bool fa = is_index_name(in, x->a), fb = is_index_name(in, x->b);
        if (fa != fb && (fa || x->op == OP_ADD)) {
            const dim *c = dims_eval(in, fa ? x->b : x->a);
            if (!c)
                return l;
            l.kind = LEFT_FREE;
            l.name = fa ? x->a->name : x->b->name;
            l.offset = x->op == OP_SUB ? dim_sub(s->g->dims, dim_const(s->g->dims, 0), c) : c;
            return l;
        }
    }
    if (x->kind == AST_CHAIN || (x->kind == AST_BINARY && x->op >= OP_EQ)) {
        diag *d = diag_error(s->ds, it->at, "a condition cannot stand on the left side");
        diag_help(d, "put it on the right: `... where c`");
        return l;
    }
    l.at_dim = dims_eval(in, x);
    if (l.at_dim)
        l.kind = LEFT_CONST;
    return l;
}

static left *left_items(inst *in, const ast_target *t, uint32_t *n)
{
    *n = t && t->index ? (uint32_t)t->index->n : 0;
    left *l = ARENA_ARRAY(in->s->a, left, *n);
    for (uint32_t i = 0; i < *n; i++) {
        l[i] = left_item(in, &t->index->items[i]);
        for (uint32_t k = 0; k < i; k++)
            if (l[i].kind == LEFT_FREE && l[k].kind == LEFT_FREE && l[i].name == l[k].name) {
                diag *d = diag_error(in->s->ds, l[i].at, "index %s stands twice on the left side",
                                     l[i].name);
                diag_note(d, l[k].at, "the other is here");
                l[i].kind = LEFT_BAD;
            }
        if (l[i].kind == LEFT_BAD) {
            *n = UINT32_MAX;
            return NULL;
        }
    }
    if (t && t->index && t->index->where) {
        diag *d = diag_error(in->s->ds, t->index->where->at, "a condition cannot stand on the left side");
        diag_help(d, "put it on the right: `... where c`");
        *n = UINT32_MAX;
        return NULL;
    }
    return l;
}

static const ast_expr *rhs_of(const equation *q)
{
    return q->ret ? q->ret : q->stmt->e;
}

/* Extent and first value of a free index of an equation. declared: the axis part it stands for, or NULL. */
static bool free_range(tensor *t, const equation *q, const left *l, const dim *declared,
                       const dim *declared_lo, bool tiles, const dim **extent, const dim **lo,
                       bool report)
{
    sema *s = t->in->s;
    env e = {.in = t->in, .demand = t->in->demand};
    const ast_expr *rhs = rhs_of(q);
    *lo = NULL;
    if (l->in) {
        dims *dt = s->g->dims;
        if (!l->in->hi)
            return (*extent = dims_eval(t->in, l->in->e)) != NULL;
        const dim *a = dims_eval(t->in, l->in->e), *b = dims_eval(t->in, l->in->hi);
        if (!a || !b)
            return false;
        int64_t c;
        *lo = dim_is_const(a, &c) && c == 0 ? NULL : a;
        *extent = dim_max(dt, dim_const(dt, 0), dim_add(dt, dim_sub(dt, b, a), dim_const(dt, 1)));
        return true;
    }
    if (declared && !tiles && !l->offset) {
        *extent = declared;
        *lo = declared_lo;
        return true;
    }
    if (range_from_uses(&e, l->name, &rhs, 1, l->at, extent, lo, report && !declared))
        return true;
    if (declared && !l->offset && !s->trial) {
        *extent = declared;
        *lo = declared_lo;
        return true;
    }
    return false;
}

/* --- pieces ---------------------------------------------------------------------------------------------- */

static void overlap(sema *s, const tensor *t, span a, span b)
{
    diag *d = diag_error(s->ds, b, "%s is defined twice", t->name);
    diag_note(d, a, "the other definition is here");
    diag_help(d, "several equations may tile one tensor, each with a range or a constant index of its own");
}

/* The part of the axes that the equations tile: where one is shifted (`x[l+1]`), or a constant stands beside a range;
 * a constant below 0 or at the end is a boundary. */
static bool find_tile_part(tensor *t, left *const *l, const uint32_t *n, uint32_t *part)
{
    sema *s = t->in->s;
    int best = 0;
    uint32_t most = 0;
    for (size_t q = 0; q < t->eqs.n; q++)
        most = n[q] > most ? n[q] : most;
    *part = 0;
    for (uint32_t i = 0; i < most; i++) {
        bool shifted = false, ranged = false, first = false, constant = false;
        for (size_t q = 0; q < t->eqs.n; q++) {
            int64_t c;
            if (i >= n[q])
                continue;
            const left *x = &l[q][i];
            shifted = shifted || (x->kind == LEFT_FREE && x->offset);
            ranged = ranged || (x->kind == LEFT_FREE && x->in);
            constant = constant || x->kind == LEFT_CONST;
            first = first || (x->kind == LEFT_CONST && dim_is_const(x->at_dim, &c) && c >= 0);
        }
        int score = 16 * shifted + 8 * (ranged && first) + 4 * first + 2 * constant + ranged;
        if (score > best) {
            best = score;
            *part = i;
        }
    }
    for (size_t q = 0; q < t->eqs.n; q++)
        if (n[q] > 0 && n[q] <= *part) {
            diag *d = diag_error(s->ds, t->eqs.v[q].target->at, "this equation of %s needs its index %u too", t->name,
                                 *part + 1);
            diag_note(d, t->eqs.v[q ? 0 : 1].target->at, "the equations of %s tile that axis", t->name);
            return false;
        }
    return true;
}

static tensor *piece_of(tensor *t, const equation *q, const char *suffix, span at)
{
    tensor *p = tensor_new(t->in, intern_printf(t->in->s->names, "%s%s", t->name, suffix), at);
    vec_push(t->in->s->a, &p->eqs, *q);
    p->pieces_done = true;
    p->declared = t->declared;
    return p;
}

/* What one equation covers along the tiled axis. */
struct range {
    const dim *lo, *n; /* n NULL: the whole axis */
    size_t q;          /* which equation; SIZE_MAX: placed */
    bool tile;
};

/* The axes of a declared tensor; those of a family of results come first. */
static bool declared_axes(tensor *t, uint32_t *n, axis **axes)
{
    sema *s = t->in->s;
    if (!axes_of_type(t->in, t->declared, n, axes))
        return false;
    const ast_index *fam = t->result_formal ? t->result_formal->index : NULL;
    if (!fam)
        return true;
    axis *all = ARENA_ARRAY(s->a, axis, *n + fam->n);
    for (size_t i = 0; i < fam->n; i++) {
        const ast_item *it = &fam->items[i];
        const dim *d = it->kind == AST_ITEM_IN && !it->hi ? dims_eval(t->in, it->e) : NULL;
        if (!d) {
            diag *g = diag_error(s->ds, fam->at, "a family of results needs an index and its range");
            diag_help(g, "write `%s[l in L]: ... from \"%s{l}\"`", t->name, t->name);
            return false;
        }
        all[i] = (axis){.at = it->at, .n = 1};
        all[i].ix = ARENA_ARRAY(s->a, const ix *, 1);
        all[i].d = ARENA_ARRAY(s->a, const dim *, 1);
        all[i].d[0] = d;
    }
    for (uint32_t i = 0; i < *n; i++)
        all[fam->n + i] = (*axes)[i];
    *axes = all;
    *n += (uint32_t)fam->n;
    return true;
}

/* Sorts out which equations are boundary values, which is the tensor, which are tiles of it. */
void tensor_pieces(tensor *t)
{
    sema *s = t->in->s;
    dims *dt = s->g->dims;
    if (t->pieces_done)
        return;
    t->pieces_done = true;
    if (t->given ? t->eqs.n == 0 : t->eqs.n == 1 && !t->eqs.v[0].target)
        return;
    left **l = ARENA_ARRAY(s->a, left *, t->eqs.n);
    uint32_t *n = ARENA_ARRAY(s->a, uint32_t, t->eqs.n);
    size_t n_free = 0, first_free = 0;
    for (size_t q = 0; q < t->eqs.n; q++) {
        l[q] = left_items(t->in, t->eqs.v[q].target, &n[q]);
        if (n[q] == UINT32_MAX) {
            t->sig = P_BAD;
            return;
        }
    }
    uint32_t part = 0;
    if (t->eqs.n > 1 && !find_tile_part(t, l, n, &part)) {
        t->sig = P_BAD;
        return;
    }
    const dim *declared = NULL;
    if (t->given || t->declared) {
        uint32_t na = t->n_axes, k = part;
        axis *ax = t->axes;
        if (!t->given && !declared_axes(t, &na, &ax)) {
            t->sig = P_BAD;
            return;
        }
        for (uint32_t i = 0; i < na; i++) {
            if (k < ax[i].n) {
                declared = ax[i].d[k];
                break;
            }
            k -= ax[i].n;
        }
    }
    VEC(struct range) r = {0};
    for (size_t q = 0; q < t->eqs.n; q++) {
        bool is_const = false;
        for (uint32_t i = 0; i < n[q]; i++)
            if (l[q][i].kind == LEFT_CONST) {
                if (is_const || (t->eqs.n > 1 && i != part && l[q][part].kind == LEFT_CONST)) {
                    diag *d = diag_error(s->ds, l[q][i].at, "one index of a definition may be constant");
                    diag_help(d, "give the other one a range");
                    t->sig = P_BAD;
                    return;
                }
                is_const = true;
            }
        if (!is_const) {
            first_free = n_free++ == 0 ? q : first_free;
        }
    }
    bool tiled = !t->given && (n_free != 1);
    /* ranges of the tiles along `part` */
    for (size_t q = 0; q < t->eqs.n && !t->given; q++) {
        if (n[q] == 0) {
            if (t->eqs.n > 1) {
                overlap(s, t, t->eqs.v[0].target->at, t->eqs.v[q ? q : 1].target->at);
                t->sig = P_BAD;
                return;
            }
            return;
        }
        left *x = &l[q][part];
        struct range g = {.q = q};
        if (x->kind == LEFT_CONST || (l[q][part].kind == LEFT_FREE && n[q] > 0)) {
            bool other_const = false;
            for (uint32_t i = 0; i < n[q]; i++)
                other_const = other_const || (i != part && l[q][i].kind == LEFT_CONST);
            if (other_const)
                continue; /* a boundary along another axis */
        }
        if (x->kind == LEFT_CONST) {
            g.lo = x->at_dim;
            g.n = dim_const(dt, 1);
        } else {
            const dim *lo, *ext;
            bool many = n_free > 1 || x->offset != NULL;
            if (!many && t->eqs.n > 1) { /* a constant at 0 beside it makes it a tile */
                for (size_t k = 0; k < t->eqs.n; k++) {
                    int64_t c;
                    if (l[k][part].kind == LEFT_CONST && dim_is_const(l[k][part].at_dim, &c) && c == 0)
                        many = true;
                }
            }
            if (!many && n_free == 1 && !x->in) { /* the whole axis; constants are boundaries */
                g.lo = dim_const(dt, 0);
                g.n = NULL;
            } else {
                if (!free_range(t, &t->eqs.v[q], x, declared, NULL, many, &ext, &lo, true)) {
                    if (s->trial) {
                        t->pieces_done = false;
                        return;
                    }
                    t->sig = P_BAD;
                    return;
                }
                g.lo = lo ? lo : dim_const(dt, 0);
                if (x->offset)
                    g.lo = dim_add(dt, g.lo, x->offset);
                g.n = ext;
            }
            g.tile = true;
        }
        vec_push(s->a, &r, g);
    }
    /* constants: tiles where they join the others, boundaries elsewhere */
    struct range *main = NULL;
    for (size_t i = 0; i < r.n; i++)
        if (r.v[i].tile && (!main || dim_proved_lt(dt, r.v[i].lo, main->lo)))
            main = &r.v[i];
    for (size_t i = 0; i < r.n; i++) {
        struct range *g = &r.v[i];
        int64_t c;
        if (g->tile)
            continue;
        bool constant = dim_is_const(g->lo, &c);
        if (declared)
            g->tile = !(constant && c < 0) && !dims_same(s, g->lo, declared) &&
                      dim_proved_lt(dt, g->lo, dims_resolve(s, declared)) && (!main || main->n);
        else if (main && main->n)
            g->tile = dims_same(s, dim_add(dt, g->lo, dim_const(dt, 1)), main->lo) &&
                      !(constant && c < 0);
        else if (!main)
            g->tile = !(constant && c < 0);
        if (declared && !g->tile && main && main->n && constant && c >= 0 &&
            dims_same(s, dim_add(dt, g->lo, dim_const(dt, 1)), main->lo))
            g->tile = true;
    }
    size_t n_tiles = 0;
    for (size_t i = 0; i < r.n; i++)
        n_tiles += r.v[i].tile;
    tiled = !t->given && (n_tiles > 1 || (n_tiles == 1 && main == NULL) ||
                          (main && main->n && l[main->q][part].offset));
    /* boundaries, also along other axes */
    for (size_t q = 0; q < t->eqs.n; q++) {
        bool tile = false;
        for (size_t i = 0; i < r.n; i++)
            if (r.v[i].q == q)
                tile = r.v[i].tile;
        if (tile)
            continue;
        for (uint32_t i = 0; i < n[q]; i++)
            if (l[q][i].kind == LEFT_CONST) {
                struct boundary b = {i, l[q][i].at_dim,
                                     piece_of(t, &t->eqs.v[q],
                                              arena_printf(s->a, "[%s]", dims_show(s, l[q][i].at_dim)),
                                              t->eqs.v[q].target->at),
                                     l[q][i].at};
                b.t->parent = t;
                b.t->parent_part = i;
                b.t->parent_at = b.at;
                for (size_t k = 0; k < t->boundaries.n; k++)
                    if (t->boundaries.v[k].part == i && dims_same(s, t->boundaries.v[k].at, b.at))
                        overlap(s, t, t->boundaries.v[k].where, b.where);
                vec_push(s->a, &t->boundaries, b);
            }
    }
    if (t->given)
        return;
    if (!tiled) {
        if (n_free == 0 || !main) {
            diag *d = diag_error(s->ds, t->at, "%s has boundary values but no equation", t->name);
            diag_help(d, "add one with a free index: `%s[t] = ...`", t->name);
            t->sig = P_BAD;
            return;
        }
        equation keep = t->eqs.v[main->q];
        t->eqs.n = 0;
        vec_push(s->a, &t->eqs, keep);
        return;
    }
    /* order the tiles; they must meet exactly */
    t->tile_axis = part;
    const dim *at = NULL;
    for (size_t k = 0; k < n_tiles; k++) {
        struct range *next = NULL;
        for (size_t i = 0; i < r.n; i++) {
            struct range *g = &r.v[i];
            if (!g->tile || g->q == SIZE_MAX)
                continue;
            if (at ? dims_same(s, g->lo, at)
                   : !next || dim_proved_lt(dt, dims_resolve(s, g->lo), dims_resolve(s, next->lo)))
                next = g;
        }
        if (!next) {
            size_t bad = SIZE_MAX, good = SIZE_MAX;
            for (size_t i = 0; i < r.n; i++)
                if (r.v[i].tile && r.v[i].q != SIZE_MAX)
                    bad = i;
                else if (r.v[i].tile)
                    good = i;
            const equation *qb = &t->eqs.v[bad == SIZE_MAX ? 0 : r.v[bad].q];
            diag *d = diag_error(s->ds, qb->target->at,
                                 "the equations of %s leave a hole or overlap: this one begins at %s, "
                                 "the others end at %s",
                                 t->name, dims_show(s, r.v[bad].lo), dims_show(s, at));
            (void)good;
            diag_help(d, "tiles of one tensor must meet exactly, without overlap");
            t->sig = P_BAD;
            return;
        }
        const dim *len = next->n;
        tensor *p = piece_of(t, &t->eqs.v[next->q], arena_printf(s->a, "[%s..]", dims_show(s, next->lo)),
                             t->eqs.v[next->q].target->at);
        vec_push(s->a, &t->tiles, p);
        p->n_axes = 0; /* filled by tensor_sig of t */
        p->body = NULL;
        axis *pa = ARENA_NEW(s->a, axis); /* remember the range until then */
        *pa = (axis){.at = p->at, .n = 1, .lo = next->lo};
        pa->d = ARENA_ARRAY(s->a, const dim *, 1);
        pa->d[0] = len;
        p->axes = pa;
        at = dim_add(dt, next->lo, len);
        next->q = SIZE_MAX;
    }
}

/* --- signatures ------------------------------------------------------------------------------------------ */

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
    s->n_ph++;
}

static scope *push_index(sema *s, const scope *up, const char *name, const ix *i, const dim *lo, span at)
{
    scope *sc = ARENA_NEW(s->a, scope);
    *sc = (scope){(scope *)up, name, i, lo, at};
    return sc;
}

/* The right side in the scope of the left side's indices, whose index values are `ixs` (one per item). */
static tv rhs_value(tensor *t, const equation *q, const left *l, uint32_t n_left, const ix *const *ixs,
                    const dim *const *los, bool real_thing)
{
    sema *s = t->in->s;
    env e = {.in = t->in, .demand = t->in->demand, .reader = real_thing ? t : NULL};
    for (uint32_t i = 0; i < n_left; i++)
        if (l[i].kind == LEFT_FREE)
            e.indices = push_index(s, e.indices, l[i].name, ixs[i], los[i], l[i].at);
    tv v = q->ret ? elab(&e, q->ret) : elab_component(&e, q->stmt->e, q->component);
    for (uint32_t i = 0; i < q->n_path && v.kind == TV_VALUE; i++)
        v = split_last(&e, v, q->path[i].part, q->path[i].of, q->path[i].join, q->stmt->e->at);
    if (v.kind == TV_FUNC) {
        diag_error(s->ds, v.at, "a function is not a value here");
        return tv_poison(v.at);
    }
    return v;
}

/* Infers axes and type of an undeclared tensor from equation q. */
static bool infer(tensor *t, const equation *q, bool whole_axis_known, const dim *whole, uint32_t tile_part)
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
            ax[i].lo = lo;
            ax[i].d[0] = ext;
        } else {
            ax[i].d[0] = dim_const(s->g->dims, 1);
            ax[i].lo = l[i].at_dim;
        }
        if (whole_axis_known && i == tile_part) {
            ax[i].d[0] = whole;
            ax[i].lo = NULL;
        }
    }
    s->trial++;
    s->ds->muted++;
    tv v = rhs_value(t, q, l, n, ixs, los, false);
    s->ds->muted--;
    s->trial--;
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

static bool sig_of_whole(tensor *t)
{
    sema *s = t->in->s;
    dims *dt = s->g->dims;
    /* the size along the tiles, then any tile's other axes */
    const dim *total = dim_const(dt, 0), *lo = t->tiles.v[0]->axes[0].lo;
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
        diag *g = diag_error(s->ds, t->at, "the equations of %s cover %s rows, its type says %s", t->name,
                             dims_show(s, total), dims_show(s, along->d[along_part]));
        diag_note(g, t->declared_at, "%s is declared here", t->name);
        return false;
    }
    if (along->n == 1 && !(dim_is_const(lo, &c) && c == 0) && !t->declared)
        along->lo = lo;
    else if (!(dim_is_const(lo, &c) && c == 0)) {
        diag_error(s->ds, t->at, "the first equation of %s begins at %s, not at 0", t->name,
                   dims_show(s, lo));
        return false;
    }
    give_ix(t);
    for (size_t i = 0; i < t->tiles.n; i++) {
        tensor *p = t->tiles.v[i];
        axis range = p->axes[0];
        p->dt = t->dt;
        p->n_axes = t->n_axes;
        p->axes = ARENA_ARRAY(s->a, axis, t->n_axes);
        for (uint32_t k = 0, at = 0; k < t->n_axes; k++) {
            p->axes[k] = t->axes[k];
            if (t->tile_axis >= at && t->tile_axis < at + t->axes[k].n) {
                const dim **sizes = ARENA_ARRAY(s->a, const dim *, t->axes[k].n);
                memcpy(sizes, t->axes[k].d, t->axes[k].n * sizeof *sizes);
                sizes[t->tile_axis - at] = range.d[0];
                p->axes[k].d = sizes;
                p->axes[k].lo = t->axes[k].n == 1 ? range.lo : NULL;
                p->axes[k].n_join = 0;
            }
            at += t->axes[k].n;
        }
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
    t->axes = ARENA_ARRAY(s->a, axis, p->n_axes);
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->n_axes; i++) {
        t->axes[i] = p->axes[i];
        if (t->parent_part >= at && t->parent_part < at + p->axes[i].n) {
            const dim **d = ARENA_ARRAY(s->a, const dim *, p->axes[i].n);
            memcpy(d, p->axes[i].d, p->axes[i].n * sizeof *d);
            d[t->parent_part - at] = dim_const(s->g->dims, 1);
            t->axes[i].d = d;
            t->axes[i].lo = p->axes[i].n == 1 ? t->parent_at : NULL;
            t->axes[i].n_join = 0;
        }
        at += p->axes[i].n;
    }
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
            ax[k] = (axis){.at = l[k].at, .n = 1, .lo = lo};
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
    if (t->sig == P_BAD || t->sig == P_BUSY)
        return false;
    if (t->parent)
        return sig_of_boundary(t);
    bool outermost = s->trial == 0;
    t->sig = P_BUSY;
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
    if (!ok) {
        t->sig = P_NEW;
        if (outermost) {
            /* say why: elaborate once more, aloud */
            size_t errors = s->ds->n_errors;
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
                if (have)
                    rhs_value(t, q, l, n, ixs, los, false);
            }
            if (s->ds->n_errors == errors) {
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

/* --- bodies ---------------------------------------------------------------------------------------------- */

/* The indices of t's axes for the left side's items, in order; the rest are left over. */
static bool left_to_axes(tensor *t, const left *l, uint32_t n, const ix **ixs, const dim **los,
                         uint32_t *first_rest)
{
    sema *s = t->in->s;
    uint32_t item = 0, i = 0;
    for (; i < t->n_axes && item < n; i++)
        for (uint32_t k = 0; k < t->axes[i].n && item < n; k++, item++) {
            ixs[item] = t->axes[i].ix[k];
            los[item] = t->axes[i].lo;
            if (l[item].kind == LEFT_FREE && l[item].offset)
                los[item] = dim_sub(s->g->dims, los[item] ? los[item] : dim_const(s->g->dims, 0),
                                    l[item].offset);
            if (k + 1 < t->axes[i].n && item + 1 == n) {
                diag *d = diag_error(s->ds, l[item].at, "axis (%s) of %s needs an index for each of its parts",
                                     axes_show(s, &t->axes[i], 1), t->name);
                diag_help(d, "write `%s[..., i, j]`", t->name);
                return false;
            }
        }
    if (item < n) {
        diag *d = diag_error(s->ds, l[item].at, "%s has %u axes, here are %u indices", t->name, item, n);
        if (t->declared)
            diag_note(d, t->declared_at, "%s is declared %s", t->name, axes_show(s, t->axes, t->n_axes));
        return false;
    }
    *first_rest = i;
    return true;
}

bool tensor_define(tensor *t)
{
    sema *s = t->in->s;
    if (t->given || t->def == P_DONE)
        return true;
    if (t->def == P_BAD)
        return false;
    if (t->def == P_BUSY)
        return true;
    if (!tensor_sig(t)) {
        t->def = P_BAD;
        return false;
    }
    t->def = P_BUSY;
    bool ok = true;
    for (size_t i = 0; i < t->boundaries.n; i++)
        ok = tensor_define(t->boundaries.v[i].t) && ok;
    if (t->tiles.n > 0) {
        for (size_t i = 0; i < t->tiles.n; i++)
            ok = tensor_define(t->tiles.v[i]) && ok;
        t->def = ok ? P_DONE : P_BAD;
        return ok;
    }
    const equation *q = &t->eqs.v[0];
    uint32_t n, rest = 0;
    left *l = left_items(t->in, q->target, &n);
    ok = n != UINT32_MAX;
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, ok ? n : 0);
    const dim **los = ARENA_ARRAY(s->a, const dim *, ok ? n : 0);
    if (!ok || !left_to_axes(t, l, n, ixs, los, &rest)) {
        t->def = P_BAD;
        return false;
    }
    tv v = rhs_value(t, q, l, n, ixs, los, true);
    if (v.kind != TV_VALUE) {
        if (v.kind == TV_UNKNOWN && s->ds->n_errors == 0)
            diag_error(s->ds, t->at, "the shape of %s cannot be inferred", t->name);
        t->def = P_BAD;
        return false;
    }
    env e = {.in = t->in, .demand = t->in->demand};
    span here = rhs_of(q)->at;
    if (!fit_axes(&e, &v, t->axes + rest, t->n_axes - rest, here,
                  t->declared ? t->declared_at : t->at, t->name)) {
        t->def = P_BAD;
        return false;
    }
    if (t->dt != DT_BOOL && t->dt != DT_I64 && v.v->dt == DT_I64)
        v = to_real(&e, v);
    if (v.v->dt != t->dt) {
        static const char *const word[] = {"nothing", "real", "real", "int", "bool"};
        diag *d = diag_error(s->ds, here, "%s is %s, but this is %s", t->name, word[t->dt],
                             word[v.v->dt]);
        if (t->declared)
            diag_note(d, t->declared_at, "%s is declared here", t->name);
        if (t->dt == DT_I64)
            diag_help(d, "floor, round and ceil make an int of a real");
        else if (v.v->dt == DT_BOOL)
            diag_help(d, "a bool is never a number: write `1 where c else 0`");
        t->def = P_BAD;
        return false;
    }
    t->body = v.v;
    t->support = v.support;
    t->weight = v.weight;
    t->def = P_DONE;
    return true;
}
