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

left *left_items(inst *in, const ast_target *t, uint32_t *n)
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
    if (declared && !s->trial) { /* x[M + e]: what is left of the axis from M on */
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
            diag *d = diag_error(s->ds, t->eqs.v[q].target->at,
                                 "this equation of %s needs its index %u too", t->name, *part + 1);
            diag_note(d, t->eqs.v[q ? 0 : 1].target->at, "the equations of %s tile that axis",
                      t->name);
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
                    diag *d =
                        diag_error(s->ds, l[q][i].at, "one index of a definition may be constant");
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
                    if (l[k][part].kind == LEFT_CONST && dim_is_const(l[k][part].at_dim, &c) &&
                        c == 0)
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
            diag *d =
                diag_error(s->ds, qb->target->at,
                           "the equations of %s leave a hole or overlap: this one begins at %s, "
                           "the others end at %s",
                           t->name, dims_show(s, r.v[bad].lo), dims_show(s, at));
            (void)good;
            diag_help(d, "tiles of one tensor must meet exactly, without overlap");
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
        *pa = (axis){.at = p->at, .n = 1, .lo = next->lo};
        pa->d = ARENA_ARRAY(s->a, const dim *, 1);
        pa->d[0] = len;
        p->axes = pa;
        at = dim_add(dt, next->lo, len);
        next->q = SIZE_MAX;
    }
}
