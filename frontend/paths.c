/* paths.c: under which conditions a body reads a tensor, and what they prove of the index.
 *
 * A path leads from the body to a read through the predicates on the way: of reductions,
 * normalisers and reads, and of the sides of a select. A read counts where all of some path hold.
 * What is proved must follow on every path. It says nothing about orders: that is order.c's. */
#include "frontend/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PATHS = 8,   /* to one value; with more, nothing is known of it */
    MAX_LEAVES = 24, /* of one sum */
    MAX_DEPTH = 16,  /* of conditions that read conditions */
};

/* --- paths --- */

typedef struct walk {
    order *o;
    const tensor *t; /* whose body */
    VEC(value *) todo;
} walk;

/* Whether some tensor can be reached from each value. */
static void find_reach(order *o)
{
    const graph *g = o->from;
    o->n_reach = g->values.n;
    o->reach = ARENA_ARRAY(o->s->a, bool, o->n_reach + 1);
    o->path = arena_array(o->s->a, o->n_reach + 1, sizeof *o->path);
    o->met = ARENA_ARRAY(o->s->a, uint32_t, o->n_reach + 1);
    for (size_t i = 0; i < o->n_reach; i++) {
        const value *v = g->values.v[i];
        bool yes = placeholder_of(o, v) != NULL;
        for (uint32_t k = 0; k < v->n_args && !yes && v->op != OP_given; k++)
            yes = o->reach[v->args[k]->id];
        o->reach[i] = yes || (v->where && o->reach[v->where->id]);
    }
}

static void collect(walk *w, value *v)
{
    order *o = w->o;
    if (!v || !o->reach[v->id] || o->met[v->id] == o->n_walks)
        return;
    o->met[v->id] = o->n_walks;
    o->path[v->id] = (path_list){0};
    vec_push(o->s->a, &w->todo, v);
    bool leaf = placeholder_of(o, v) && !is_own_value(w->t, v);
    bool base_is_leaf = v->op == OP_read && placeholder_of(o, v->args[0]);
    for (uint32_t i = base_is_leaf ? 1 : 0; i < v->n_args && !leaf && v->op != OP_given; i++)
        collect(w, v->args[i]);
    if (!leaf)
        collect(w, v->where);
}

static int later_first(const void *a, const void *b)
{
    uint32_t x = (*(value *const *)a)->id, y = (*(value *const *)b)->id;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void add_path(walk *w, const value *v, path p)
{
    order *o = w->o;
    if (!v || !o->reach[v->id])
        return;
    path_list *l = &o->path[v->id];
    for (size_t i = 0; i < l->n; i++)
        if ((!l->v[i].all && !l->v[i].drops) || (l->v[i].all == p.all && l->v[i].drops == p.drops))
            return;
    if (l->n == MAX_PATHS || (!p.all && !p.drops)) {
        l->n = 0;
        p = (path){0};
    }
    vec_push(o->s->a, l, p);
}

/* What is left of a conjunction where these indices stand for something else. */
static value *without(sema *s, value *p, const ix *const *ixs, uint32_t n)
{
    if (!p)
        return NULL;
    if (p->op == OP_and)
        return b_and(s, without(s, p->args[0], ixs, n), without(s, p->args[1], ixs, n));
    for (uint32_t i = 0; i < n; i++)
        if (value_has_ix(p, ixs[i]))
            return NULL;
    return p;
}

static value *without_data(sema *s, value *p)
{
    if (p->op == OP_and)
        return b_and(s, without_data(s, p->args[0]), without_data(s, p->args[1]));
    return value_is_data(p) ? NULL : p;
}

static path path_without(sema *s, path p, const ix *const *ixs, uint32_t n)
{
    return (path){without(s, p.all, ixs, n), without(s, p.drops, ixs, n)};
}

static path path_and(sema *s, path p, value *where)
{
    return (path){b_and(s, p.all, where), b_and(s, p.drops, where)};
}

static bool reads_in_place(const value *v)
{
    for (uint32_t i = 0; i < v->args[0]->n_ix; i++)
        if (v->args[i + 1]->op != OP_index || v->args[i + 1]->ix[0] != v->args[0]->ix[i])
            return false;
    return true;
}

static void follow(walk *w, const value *v, path p)
{
    order *o = w->o;
    sema *s = o->s;
    if ((placeholder_of(o, v) && !is_own_value(w->t, v)) || v->op == OP_given)
        return;
    add_path(w, v->where, v->n_bound ? path_without(s, p, v->bound, v->n_bound) : p);
    switch (v->op) {
    case OP_read:
        p = path_and(s, p, v->where);
        for (uint32_t i = 1; i < v->n_args; i++)
            add_path(w, v->args[i], p);
        if (placeholder_of(o, v->args[0]))
            return;
        if (!reads_in_place(v))
            p = path_without(s, p, v->args[0]->ix, v->args[0]->n_ix);
        add_path(w, v->args[0], p);
        return;
    case OP_select:
        add_path(w, v->args[0], p);
        add_path(w, v->args[1], (path){b_and(s, p.all, v->args[0]), p.drops});
        add_path(w, v->args[2], (path){b_and(s, p.all, b_not(s, v->args[0])), p.drops});
        return;
    case OP_and: /* false whatever the other side is */
        for (uint32_t i = 0; i < 2; i++)
            add_path(w, v->args[i],
                     (path){b_and(s, p.all, without_data(s, v->args[1 - i])), p.drops});
        return;
    case OP_join:
        for (uint32_t i = 0; i < v->n_args; i++)
            add_path(w, v->args[i], path_without(s, p, &v->bound[1 + i], 1));
        return;
    default:
        p = path_and(s, path_without(s, p, v->bound, v->n_bound), v->where);
        for (uint32_t i = 0; i < v->n_args; i++)
            add_path(w, v->args[i], p);
    }
}

void paths_find(order *o, const tensor *t)
{
    if (!o->reach || t->body->id >= o->n_reach)
        find_reach(o);
    walk w = {.o = o, .t = t};
    graph *before = o->s->g;
    o->n_walks++;
    collect(&w, t->body);
    if (w.todo.n == 0)
        return;
    qsort(w.todo.v, w.todo.n, sizeof *w.todo.v, later_first);
    o->s->g = o->from;
    add_path(&w, t->body, (path){0});
    for (size_t i = 0; i < w.todo.n; i++) {
        path_list l = o->path[w.todo.v[i]->id];
        for (size_t k = 0; k < l.n; k++)
            follow(&w, w.todo.v[i], l.v[k]);
    }
    o->s->g = before;
}

/* --- proofs --- */

/* The indices of what is read are its index values, those on the indices of `up`. */
typedef struct map {
    const struct map *up;
    uint32_t n;
    const ix *const *from;
    value *const *to;
    unsigned depth;
} map;

/* c + the leaves; a claim says that it is at least 0. */
typedef struct sum {
    const dim *c;
    uint32_t n;
    struct {
        const value *v;
        bool minus;
    } leaf[MAX_LEAVES];
    bool unknown;
} sum;

static void add_dim(sema *s, sum *m, const dim *d, bool minus)
{
    m->c = minus ? dim_sub(s->g->dims, m->c, d) : dim_add(s->g->dims, m->c, d);
}

static void add_leaf(sum *m, const value *v, bool minus)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->leaf[i].v == v && m->leaf[i].minus != minus) {
            m->leaf[i] = m->leaf[--m->n];
            return;
        }
    m->unknown = m->unknown || m->n == MAX_LEAVES;
    if (m->unknown)
        return;
    m->leaf[m->n].v = v;
    m->leaf[m->n++].minus = minus;
}

static void add_value(sema *s, sum *m, const value *v, bool minus, const map *in)
{
    if (m->unknown)
        return;
    switch (v->op) {
    case OP_const:
        add_dim(s, m, dim_const(s->g->dims, v->i), minus);
        return;
    case OP_dim:
        add_dim(s, m, dims_resolve(s, v->dim), minus);
        return;
    case OP_add:
    case OP_sub:
        add_value(s, m, v->args[0], minus, in);
        add_value(s, m, v->args[1], minus != (v->op == OP_sub), in);
        return;
    case OP_neg:
        add_value(s, m, v->args[0], !minus, in);
        return;
    default:
        break;
    }
    for (uint32_t k = 0; in && k < in->n; k++) {
        if (!value_has_ix(v, in->from[k]))
            continue;
        if (v->op == OP_index)
            add_value(s, m, in->to[k], minus, in->up);
        else
            m->unknown = true;
        return;
    }
    add_leaf(m, v, minus);
}

/* b - a - slack */
static sum difference(sema *s, const value *b, const value *a, int64_t slack, const map *in)
{
    sum m = {.c = dim_const(s->g->dims, -slack)};
    add_value(s, &m, b, false, in);
    add_value(s, &m, a, true, in);
    return m;
}

/* By the ranges of its leaves. */
static bool holds_always(sema *s, const sum *m)
{
    const dim *low = m->c, *lo, *hi;
    if (m->unknown)
        return false;
    for (uint32_t i = 0; i < m->n; i++) {
        if (!value_int_bounds(s, m->leaf[i].v, &lo, &hi))
            return false;
        low = m->leaf[i].minus ? dim_sub(s->g->dims, low, hi) : dim_add(s->g->dims, low, lo);
    }
    return dims_le(s, dim_const(s->g->dims, 0), low);
}

static sum minus(sema *s, const sum *claim, const sum *known)
{
    sum m = *claim;
    m.unknown = m.unknown || known->unknown;
    for (uint32_t i = 0; i < known->n; i++)
        add_leaf(&m, known->leaf[i].v, !known->leaf[i].minus);
    add_dim(s, &m, known->c, true);
    return m;
}

static bool follows_from(sema *s, const sum *claim, const value *b, const value *a, int64_t slack,
                         const map *in)
{
    sum known = difference(s, b, a, slack, in), rest = minus(s, claim, &known);
    return holds_always(s, &rest);
}

static bool says(const order *o, const value *p, bool holds, const map *in, const sum *claim);

/* A condition that is read: what it says there. */
static bool read_says(const order *o, const value *p, bool holds, const map *in, const sum *claim)
{
    const value *x = p->op == OP_read ? p->args[0] : p;
    const tensor *t = placeholder_of(o, x);
    map inner = {in, x->n_ix, x->ix, p->op == OP_read ? p->args + 1 : NULL, in ? in->depth + 1 : 0};
    if (x->dt != DT_BOOL || inner.depth > MAX_DEPTH || (!t && p == x))
        return false;
    if (t && t->ph->op == OP_history) { /* a mask, called */
        inner.from = t->ix;
        x = t->body;
    }
    value **to = NULL;
    if (p->op != OP_read) {
        to = ARENA_ARRAY(o->s->a, value *, p->n_ix);
        for (uint32_t i = 0; i < p->n_ix; i++)
            to[i] = graph_index(o->from, p->ix[i]);
        inner.to = to;
    }
    return x && says(o, x, holds, &inner, claim);
}

static bool says(const order *o, const value *p, bool holds, const map *in, const sum *claim)
{
    sema *s = o->s;
    if (!p)
        return false;
    const value *a = p->n_args ? p->args[0] : NULL, *b = p->n_args > 1 ? p->args[1] : NULL;
    switch (p->op) {
    case OP_const:
        return (p->i != 0) != holds; /* never */
    case OP_not:
        return says(o, a, !holds, in, claim);
    case OP_and:
    case OP_or:
        return (p->op == OP_and) == holds
                   ? says(o, a, holds, in, claim) || says(o, b, holds, in, claim)
                   : says(o, a, holds, in, claim) && says(o, b, holds, in, claim);
    case OP_history:
        return read_says(o, p, holds, in, claim);
    case OP_read:
        return holds && (says(o, p->where, true, in, claim) || read_says(o, p, true, in, claim));
    default:
        break;
    }
    if (!a || a->dt != DT_I64)
        return false;
    switch (p->op) {
    case OP_le:
        return holds ? follows_from(s, claim, b, a, 0, in) : follows_from(s, claim, a, b, 1, in);
    case OP_lt:
        return holds ? follows_from(s, claim, b, a, 1, in) : follows_from(s, claim, a, b, 0, in);
    case OP_eq:
    case OP_ne:
        return (p->op == OP_eq) == holds &&
               (follows_from(s, claim, b, a, 0, in) || follows_from(s, claim, a, b, 0, in));
    default:
        return false;
    }
}

/* What every reader of e->from keeps to: its index q is at most its step + up. */
static bool reader_sum(const order *o, const edge *e, uint32_t q, sum *m)
{
    sema *s = o->s;
    const reach_of *r = o->readers ? &o->readers[e->from->id] : NULL;
    if (!r || !r->up || q >= e->from->n_ix || !r->up[q])
        return false;
    *m = (sum){.c = r->up[q]};
    add_value(s, m, graph_index(s->g, e->from->ix[r->step]), false, NULL);
    add_value(s, m, graph_index(s->g, e->from->ix[q]), true, NULL);
    return true;
}

static bool proved_on(const order *o, const edge *e, const value *p, const sum *claim)
{
    sema *s = o->s;
    return holds_always(s, claim) || says(o, p, true, NULL, claim) ||
           says(o, e->where, true, NULL, claim) || says(o, e->from->in->demand, true, NULL, claim);
}

static bool proved(const order *o, const edge *e, const sum *claim, bool drops, bool readers)
{
    sema *s = o->s;
    for (size_t i = 0; i < e->paths.n; i++) {
        const value *p = drops ? e->paths.v[i].drops : e->paths.v[i].all;
        bool ok = proved_on(o, e, p, claim);
        for (uint32_t q = 0; q < e->from->n_ix && !ok && readers; q++) {
            sum known;
            if (!reader_sum(o, e, q, &known))
                continue;
            sum rest = minus(s, claim, &known);
            ok = proved_on(o, e, p, &rest);
        }
        if (!ok)
            return false;
    }
    return e->paths.n > 0;
}

bool paths_prove(const order *o, const edge *e, const value *a, const value *b, int64_t slack,
                 bool drops)
{
    sum claim = difference(o->s, b, a, slack, NULL);
    bool real = e->to->dt != DT_I64 && e->to->dt != DT_BOOL;
    return proved(o, e, &claim, drops, real || !drops);
}

bool paths_bound(const order *o, const edge *e, const value *a, const value *b, const dim *up)
{
    sum claim = difference(o->s, b, a, 0, NULL);
    add_dim(o->s, &claim, up, false);
    return proved(o, e, &claim, false, true);
}
