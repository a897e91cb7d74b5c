/* pieces.c: the equations of one tensor: which is the tensor, which are boundary values, which are
 * tiles of it. */
#include "frontend/pieces.h"

#include <string.h>

/* --- the left side's items --- */

static bool is_index_name(inst *in, const ast_expr *x)
{
    if (x->kind != AST_NAME || dims_find(in, x->name))
        return false;
    entity *n = inst_find(in, x->name);
    return !n || (n->kind != N_CONST && n->kind != N_TENSOR && n->kind != N_DIM);
}

/* A name that nothing knows as a dimension: on a left side it is meant as an index. */
static const char *index_among(inst *in, const ast_expr *x)
{
    const char *r = NULL;
    if (!x)
        return NULL;
    if (x->kind == AST_NAME)
        return is_index_name(in, x) && !mentions_dim(in->decl, x->name) &&
                       !decl_find(in->s, x->name) && !find_define(in->s, x->name)
                   ? x->name
                   : NULL;
    if (x->kind != AST_BINARY && x->kind != AST_UNARY)
        return NULL;
    r = index_among(in, x->a);
    return r ? r : index_among(in, x->b);
}

static bool is_scaled(const ast_expr *x)
{
    return x && (x->kind == AST_BINARY || x->kind == AST_UNARY) &&
           (x->op == OP_MUL || x->op == OP_FLOORDIV || x->op == OP_DIV || x->op == OP_MOD ||
            is_scaled(x->a) || is_scaled(x->b));
}

/* `y[2*m]`, `y[S - 1 - m]`: an equation defines its elements in order, one after another. */
static void not_in_order(sema *s, const char *tensor, const ast_item *it, const char *index)
{
    bool scaled = is_scaled(it->e);
    diag *d = diag_error(s->ds, it->at,
                         scaled ? "the positions of %s on the left side skip or repeat some: "
                                  "index %s may be shifted there, not scaled"
                                : "the position of %s on the left side is index %s and more than "
                                  "a size added to it",
                         tensor, index);
    if (scaled)
        diag_help(
            d,
            "give the axis two parts, such as `%s: [(M, 2)]`, and write `%s[%s, 0] = ...` and "
            "`%s[%s, 1] = ...`",
            tensor, tensor, index, tensor, index);
    else
        diag_help(d, "index %s by %s alone, and put the arithmetic on the right", tensor, index);
}

static left left_item(inst *in, const char *tensor, const ast_item *it)
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
        const char *other = fa != fb ? index_among(in, fa ? x->b : x->a) : NULL;
        if (other) {
            not_in_order(s, tensor, it, other);
            return l;
        }
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
    const char *index = x->kind == AST_NAME ? NULL : index_among(in, x);
    if (index) {
        not_in_order(s, tensor, it, index);
        return l;
    }
    entity *n = x->kind == AST_NAME ? inst_find(in, x->name) : NULL;
    bool tensor_name = n && n->kind == N_TENSOR; /* an int argument may be a position */
    s->ds->muted += tensor_name;
    l.at_dim = dims_eval(in, x);
    s->ds->muted -= tensor_name;
    if (l.at_dim)
        l.kind = LEFT_CONST;
    else if (tensor_name)
        index_shadows(in, x->name, x->at, n->at, "tensor");
    return l;
}

left *left_items(inst *in, const ast_target *t, uint32_t *n)
{
    *n = t && t->index ? (uint32_t)t->index->n : 0;
    left *l = ARENA_ARRAY(in->s->a, left, *n);
    for (uint32_t i = 0; i < *n; i++) {
        l[i] = left_item(in, t->name.s, &t->index->items[i]);
        for (uint32_t k = 0; k < i; k++)
            if (l[i].kind == LEFT_FREE && l[k].kind == LEFT_FREE && l[i].name == l[k].name) {
                diag *d = diag_error(in->s->ds, l[i].at, "index %s stands twice on the left side",
                                     l[i].name);
                diag_note(d, l[k].at, "the other is here");
                diag_help(d, "a diagonal has one index: `d[%s] = m[%s, %s]`", l[i].name, l[i].name,
                          l[i].name);
                l[i].kind = LEFT_BAD;
            }
        if (l[i].kind == LEFT_BAD) {
            *n = UINT32_MAX;
            return NULL;
        }
    }
    if (t && t->index && t->index->where) {
        diag *d =
            diag_error(in->s->ds, t->index->where->at, "a condition cannot stand on the left side");
        diag_help(d, "put it on the right: `... where c`");
        *n = UINT32_MAX;
        return NULL;
    }
    return l;
}

const ast_expr *rhs_of(const equation *q)
{
    return q->ret ? q->ret : q->stmt->e;
}

bool free_range(tensor *t, const equation *q, const left *l, const dim *declared,
                const dim *declared_lo, bool tiles, const dim **extent, const dim **lo, bool report)
{
    sema *s = t->in->s;
    env e = {.in = t->in, .demand = t->in->demand, .defining = t};
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
        *lo = dims_const(s, a, &c) && c == 0 ? NULL : a;
        *extent = dim_max(dt, dim_const(dt, 0), dim_add(dt, dim_sub(dt, b, a), dim_const(dt, 1)));
        return true;
    }
    if (declared && !tiles && !l->offset) {
        *extent = declared;
        *lo = declared_lo;
        return true;
    }
    unsigned unknown = s->met_unknown;
    if (range_from_uses(&e, l->name, &rhs, 1, l->at, extent, lo, report && !declared))
        return true;
    /* x[M + e]: what is left of the axis from M on; in a trial a use may decide later */
    if (declared && (!s->trial || s->met_unknown == unknown)) {
        *extent = l->offset ? dim_sub(s->g->dims, declared, l->offset) : declared;
        *lo = declared_lo;
        return true;
    }
    return false;
}

/* --- pieces --- */

static void overlap(sema *s, const tensor *t, span a, span b)
{
    diag *d = diag_error(s->ds, b, "%s is defined twice", t->name);
    diag_note(d, a, "the other definition is here");
    diag_help(
        d,
        "several equations may tile one tensor, each with a range or a constant index of its own");
}

/* The part of the axes that the equations tile: where one is shifted (`x[l+1]`), or a constant
 * stands beside a range; a constant below 0 or at the end is a boundary. */
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
            first = first || (x->kind == LEFT_CONST && dims_const(s, x->at_dim, &c) && c >= 0);
        }
        int score = 16 * shifted + 8 * (ranged && first) + 4 * first + 2 * constant + ranged;
        if (score > best) {
            best = score;
            *part = i;
        }
    }
    for (size_t q = 0; q < t->eqs.n; q++)
        if (n[q] > 0 && n[q] <= *part) {
            diag *d = diag_error(s->ds, t->eqs.v[q].target->at,
                                 "this equation of %s needs its index %u too", t->name, *part + 1);
            diag_note(d, t->eqs.v[q ? 0 : 1].target->at, "the equations of %s tile that axis",
                      t->name);
            return false;
        }
    return true;
}

/* Part i is fixed to one position by all equations that index it, and has no other: it divides
 * nothing. Without a declaration (ax NULL) the equations decide its size. */
static bool is_unit_part(tensor *t, left *const *l, const uint32_t *n, uint32_t i, const axis *ax,
                         uint32_t n_axes)
{
    sema *s = t->in->s;
    const dim *at = NULL, *size = NULL;
    int64_t c;
    for (size_t q = 0; q < t->eqs.n; q++) {
        if (i >= n[q] && ax)
            continue;
        if (i >= n[q] || l[q][i].kind != LEFT_CONST || (at && !dims_equal(s, at, l[q][i].at_dim)))
            return false;
        at = l[q][i].at_dim;
    }
    if (!at || !dims_const(s, at, &c) || c < 0)
        return false;
    for (uint32_t a = 0, first = 0; a < n_axes && !size; first += ax[a++].n)
        size = i < first + ax[a].n ? ax[a].d[i - first] : NULL;
    return !ax || (c == 0 && size && dims_const(s, size, &c) && c == 1);
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

bool declared_axes(tensor *t, uint32_t *n, axis **axes)
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
            diag *g =
                diag_error(s->ds, fam->at, "a family of results needs an index and its range");
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
    axis *ax = t->given ? t->axes : NULL;
    uint32_t part = 0, na = t->given ? t->n_axes : 0;
    if (!t->given && t->declared && !declared_axes(t, &na, &ax)) {
        t->sig = P_BAD;
        return;
    }
    for (size_t q = 0; q < t->eqs.n; q++)
        for (uint32_t i = 0; i < n[q]; i++)
            if (is_unit_part(t, l, n, i, ax, na))
                for (size_t k = 0; k < t->eqs.n; k++)
                    if (i < n[k])
                        l[k][i].kind = LEFT_UNIT;
    bool fixed = false; /* one equation with a constant index: `y[t, 0] = ...` */
    for (uint32_t i = 0; t->eqs.n == 1 && i < n[0]; i++)
        fixed = fixed || l[0][i].kind == LEFT_CONST;
    if ((t->eqs.n > 1 || fixed) && !find_tile_part(t, l, n, &part)) {
        t->sig = P_BAD;
        return;
    }
    for (size_t q = 0; q < t->eqs.n; q++) /* nothing else is divided */
        if (part < n[q] && l[q][part].kind == LEFT_UNIT)
            l[q][part].kind = LEFT_CONST;
    const dim *declared = NULL;
    for (uint32_t i = 0, k = part; i < na && !declared; k -= ax[i++].n)
        if (k < ax[i].n) {
            declared = ax[i].d[k];
            break;
        }
    VEC(struct range) r = {0};
    for (size_t q = 0; q < t->eqs.n; q++) {
        bool is_const = false;
        for (uint32_t i = 0; i < n[q]; i++)
            if (l[q][i].kind == LEFT_CONST) {
                if (is_const || (t->eqs.n > 1 && i != part && l[q][part].kind == LEFT_CONST)) {
                    diag *d =
                        diag_error(s->ds, l[q][i].at, "one index of a definition may be constant");
                    diag_note(d, t->eqs.v[q].target->at,
                              "the equations of %s divide one axis, its index %u; another constant "
                              "stands for an axis of size 1 only",
                              t->name, part + 1);
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
                    if (l[k][part].kind == LEFT_CONST && dims_const(s, l[k][part].at_dim, &c) &&
                        c == 0)
                        many = true;
                }
            }
            if (!many && n_free == 1 && !x->in) { /* the whole axis; constants are boundaries */
                g.lo = dim_const(dt, 0);
                g.n = NULL;
            } else if (declared && n_free == 1 &&
                       !x->in) { /* what the constants leave of the axis */
                g.lo = x->offset ? x->offset : dim_const(dt, 0);
                g.n = dim_sub(dt, declared, g.lo);
                for (size_t k = 0; k < t->eqs.n; k++)
                    if (l[k][part].kind == LEFT_CONST &&
                        dim_proved_le(dt, g.lo, dims_resolve(s, l[k][part].at_dim)) &&
                        dim_proved_lt(dt, dims_resolve(s, l[k][part].at_dim),
                                      dims_resolve(s, declared)))
                        g.n = dim_sub(dt, g.n, dim_const(dt, 1));
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
        if (r.v[i].tile && (!main || dims_lt(s, r.v[i].lo, main->lo)))
            main = &r.v[i];
    for (size_t i = 0; i < r.n; i++) {
        struct range *g = &r.v[i];
        int64_t c;
        if (g->tile)
            continue;
        bool constant = dims_const(s, g->lo, &c);
        if (declared)
            g->tile = !(constant && c < 0) && dims_lt(s, g->lo, declared) && (!main || main->n);
        else if (main && main->n)
            g->tile = dims_equal(s, dim_add(dt, g->lo, dim_const(dt, 1)), main->lo) &&
                      !(constant && c < 0);
        else if (!main)
            g->tile = !(constant && c < 0);
        if (declared && !g->tile && main && main->n && constant && c >= 0 &&
            dims_equal(s, dim_add(dt, g->lo, dim_const(dt, 1)), main->lo))
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
                struct boundary b = {
                    i, l[q][i].at_dim,
                    piece_of(t, &t->eqs.v[q],
                             arena_printf(s->a, "[%s]", dims_show(s, l[q][i].at_dim)),
                             t->eqs.v[q].target->at),
                    l[q][i].at};
                b.t->parent = t;
                b.t->parent_part = i;
                b.t->parent_at = b.at;
                for (size_t k = 0; k < t->boundaries.n; k++)
                    if (t->boundaries.v[k].part == i && dims_equal(s, t->boundaries.v[k].at, b.at))
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
            bool before = next && dims_le(s, g->lo, next->lo);
            bool sooner = !next || (before && !dims_le(s, next->lo, g->lo)) ||
                          (before && dims_le(s, g->n, dim_const(dt, 0))); /* an empty one first */
            if (sooner && (!at || dims_equal(s, g->lo, at)))
                next = g;
        }
        if (!next) {
            size_t bad = SIZE_MAX;
            for (size_t i = 0; i < r.n; i++)
                if (r.v[i].tile && r.v[i].q != SIZE_MAX)
                    bad = i;
            const equation *qb = &t->eqs.v[bad == SIZE_MAX ? 0 : r.v[bad].q];
            const dim *begin = bad == SIZE_MAX ? at : dims_resolve(s, r.v[bad].lo);
            const char *fault = dims_lt(s, begin, at)   ? "overlap"
                                : dims_lt(s, at, begin) ? "leave a hole"
                                                        : "leave a hole or overlap";
            diag *d = diag_error(s->ds, qb->target->at,
                                 "the equations of %s %s: this one begins at %s, not at %s",
                                 t->name, fault, dims_show(s, begin), dims_show(s, at));
            diag_note(d, t->tiles.v[t->tiles.n - 1]->at, "the one before it ends at %s",
                      dims_show(s, at));
            diag_help(d, "tiles of one tensor must meet exactly: shift one of them");
            t->sig = P_BAD;
            return;
        }
        const dim *len = next->n;
        tensor *p =
            piece_of(t, &t->eqs.v[next->q], arena_printf(s->a, "[%s..]", dims_show(s, next->lo)),
                     t->eqs.v[next->q].target->at);
        vec_push(s->a, &t->tiles, p);
        p->n_axes = 0; /* filled by tensor_sig of t */
        p->body = NULL;
        axis *pa = ARENA_NEW(s->a, axis); /* remember the range until then */
        *pa = (axis){.at = p->at, .n = 1};
        axis_set_lo(s, pa, 0, next->lo);
        pa->d = ARENA_ARRAY(s->a, const dim *, 1);
        pa->d[0] = len;
        p->axes = pa;
        at = dim_add(dt, next->lo, len);
        next->q = SIZE_MAX;
    }
}
