/* hoist_split.c: contractions over joins and over sums, taken apart where the parts differ in the
 * regions they stand in or in their indices. */
#include "passes/hoist_internal.h"

/* An operand that is a join along an index: the join itself, or a read of it at that index. */
typedef struct joined {
    const value *join; /* NULL: it is none */
    const value *read;
} joined;

static bool is_index(const value *v, const ix *i)
{
    return v->op == OP_index && v->ix[0] == i;
}

static joined as_join(const value *x, const ix *i)
{
    if (x->op == OP_join && x->bound[0] == i)
        return (joined){.join = x};
    if (x->op != OP_read || x->where || x->args[0]->op != OP_join)
        return (joined){0};
    const value *j = x->args[0];
    bool whole = false;
    for (uint32_t k = 0; k < j->n_ix; k++) {
        const value *at = x->args[k + 1];
        if (j->ix[k] == j->bound[0])
            whole = is_index(at, i) && i->extent == j->bound[0]->extent;
        else if (value_has_ix(at, i))
            return (joined){0};
    }
    return whole ? (joined){.join = j, .read = x} : (joined){0};
}

/* Part p of it, its own index being `own`. */
static value *part_at(graph *g, const joined *j, uint32_t p, const ix *own)
{
    value *part = j->join->args[p];
    value **index = ARENA_ARRAY(g->a, value *, part->n_ix);
    bool same = true;
    for (uint32_t k = 0; k < part->n_ix; k++) {
        const ix *i = part->ix[k];
        index[k] = graph_index(g, i == j->join->bound[p + 1] ? own : i);
        for (uint32_t q = 0; j->read && q < j->join->n_ix; q++) {
            if (j->join->ix[q] == i)
                index[k] = j->read->args[q + 1];
        }
        same = same && is_index(index[k], i);
    }
    return same ? part : graph_read(g, part, index, NULL);
}

/* What a contraction, or a part of one, costs in kind. */
typedef struct cost {
    uint32_t depth;
    ix_set ix;
} cost;

static bool same_cost(const cost *a, const cost *b)
{
    return a->depth == b->depth && a->ix.n == b->ix.n && ix_set_within(&a->ix, &b->ix);
}

typedef struct split {
    graph *g;
    const places *p;
    arena *scratch;
    value *v; /* the contraction */
    const ix *i;
} split;

static void add_cost(const split *s, cost *c, const value *x)
{
    if (!x)
        return;
    uint32_t d = places_depth(s->p, x);
    c->depth = d > c->depth ? d : c->depth;
    ix_set_add(s->scratch, &c->ix, x, s->v->bound, s->v->n_bound);
}

/* Part p of a join, without its own index. */
static void add_part_cost(const split *s, cost *c, const joined *j, uint32_t p)
{
    const value *part = j->join->args[p];
    uint32_t d = places_depth(s->p, part);
    c->depth = d > c->depth ? d : c->depth;
    for (uint32_t k = 0; k < part->n_ix; k++) {
        const ix *i = part->ix[k];
        if (i == j->join->bound[p + 1])
            continue;
        for (uint32_t q = 0; j->read && q < j->join->n_ix; q++) {
            if (j->join->ix[q] == i)
                add_cost(s, c, j->read->args[q + 1]);
        }
        if (!j->read && !ix_set_has(&c->ix, i))
            vec_push(s->scratch, &c->ix, i);
    }
}

/* The part of j that begins at `off` and is `extent` long; false: none is. */
static bool find_part(const split *s, const joined *j, const dim *off, const dim *extent,
                      uint32_t *part)
{
    const dim *at = dim_const(s->g->dims, 0);
    for (uint32_t p = 0; j->join && p < j->join->n_args; p++) {
        const dim *e = j->join->bound[p + 1]->extent;
        *part = p;
        if (at == off && e == extent)
            return true;
        at = dim_add(s->g->dims, at, e);
    }
    return false;
}

/* x where i is off .. off + extent: of a join that has just that part, the part. */
static void add_cost_at(const split *s, cost *c, const value *x, const dim *off, const dim *extent)
{
    uint32_t q = 0;
    const joined o = x ? as_join(x, s->i) : (joined){0};
    if (find_part(s, &o, off, extent, &q))
        add_part_cost(s, c, &o, q);
    else
        add_cost(s, c, x);
}

/* Of the contraction of the other operand with part p, which begins at `off`. */
static cost part_cost(const split *s, const joined *j, uint32_t p, const dim *off,
                      const value *other)
{
    cost c = {0};
    const dim *extent = j->join->bound[p + 1]->extent;
    add_cost_at(s, &c, other, off, extent);
    add_cost_at(s, &c, s->v->where, off, extent);
    add_part_cost(s, &c, j, p);
    return c;
}

/* `over` with the index `own` for i. */
static const ix **bound_with(const split *s, const ix *own)
{
    const ix **bound = ARENA_ARRAY(s->g->a, const ix *, s->v->n_bound);
    for (uint32_t k = 0; k < s->v->n_bound; k++)
        bound[k] = s->v->bound[k] == s->i ? own : s->v->bound[k];
    return bound;
}

/* A constant costs nothing wherever it stands. */
static bool is_filler(const value *part)
{
    return part->op == OP_const;
}

static value *add(graph *g, value *a, value *b)
{
    value *args[2] = {a, b};
    return a ? graph_elem(g, OP_add, args, NULL) : b;
}

/* x where i is off .. off + own's extent: of a join that has just that part, the part. */
static value *there(const split *s, value *x, const dim *off, const ix *own, value *to)
{
    const joined j = as_join(x, s->i);
    uint32_t p = 0;
    if (find_part(s, &j, off, own->extent, &p))
        return part_at(s->g, &j, p, own);
    return value_at(s->g, x, s->i, to);
}

static void take(const split *s, ix_set *set, const value *v)
{
    ix_set_add(s->scratch, set, v, NULL, 0);
}

/* What is free in these parts but for their own indices. */
static void take_free(const split *s, ix_set *set, const joined *j, uint32_t first, uint32_t end)
{
    for (uint32_t p = first; p < end; p++)
        ix_set_add(s->scratch, set, j->join->args[p], &j->join->bound[p + 1], 1);
    if (j->read)
        take(s, set, j->read);
}

/* Parts first .. end - 1 as one value along an index of its own, which is not among `taken`. A
 * part's own index inside of a join need not differ from what is free outside of it. */
static value *group_value(const split *s, const joined *j, uint32_t first, uint32_t end,
                          ix_set *taken, const ix **own)
{
    graph *g = s->g;
    uint32_t n = end - first;
    value **parts = ARENA_ARRAY(g->a, value *, n);
    const ix **part_ix = ARENA_ARRAY(g->a, const ix *, n);
    const dim *sum = dim_const(g->dims, 0);
    ix_set inside = {0};
    take_free(s, &inside, j, first, end);
    for (uint32_t k = 0; k < n; k++) {
        const ix *i = j->join->bound[first + k + 1];
        part_ix[k] = unused_ix(g, s->p, i->name, i->extent, n == 1 ? taken : &inside);
        parts[k] = part_at(g, j, first + k, part_ix[k]);
        sum = dim_add(g->dims, sum, i->extent);
    }
    *own = part_ix[0];
    if (n == 1)
        return parts[0];
    for (uint32_t k = 0; k < n; k++)
        vec_push(s->scratch, taken, part_ix[k]);
    *own = unused_ix(g, s->p, s->i->name, sum, taken);
    return graph_join(g, *own, parts, part_ix, n);
}

/* The contraction over parts first .. end - 1, which begin at `off`. */
static value *group_contract(const split *s, const joined *j, value *other, bool left,
                             uint32_t first, uint32_t end, const dim *off)
{
    graph *g = s->g;
    ix_set taken = {0};
    const ix *own = NULL;
    take(s, &taken, other);
    take(s, &taken, s->v->where);
    take_free(s, &taken, j, first, end);
    for (uint32_t k = 0; k < s->v->n_bound; k++)
        vec_push(s->scratch, &taken, s->v->bound[k]);
    value *x = group_value(s, j, first, end, &taken, &own);
    value *to = graph_index(g, own);
    if (off->n > 0) {
        value *sum[2] = {graph_dim(g, off), to};
        to = graph_elem(g, OP_add, sum, NULL);
    }
    value *y = there(s, other, off, own, to);
    value *where = s->v->where ? there(s, s->v->where, off, own, to) : NULL;
    if (where && where->op == OP_const && where->i)
        where = NULL;
    return graph_contract(g, left ? x : y, left ? y : x, bound_with(s, own), s->v->n_bound, where);
}

/* Where parts of the join differ, the sum of the contractions over runs of parts alike; else NULL.
 */
static value *split_join(const split *s, uint32_t which)
{
    const joined j = as_join(s->v->args[which], s->i);
    value *other = s->v->args[1 - which], *sum = NULL;
    if (!j.join)
        return NULL;
    uint32_t n = j.join->n_args, groups = 0;
    uint32_t *group = ARENA_ARRAY(s->scratch, uint32_t, n);
    cost last = {0};
    const dim *off = dim_const(s->g->dims, 0);
    for (uint32_t p = 0; p < n; p++) {
        cost c = part_cost(s, &j, p, off, other);
        off = dim_add(s->g->dims, off, j.join->bound[p + 1]->extent);
        if (!is_filler(j.join->args[p])) {
            groups += groups == 0 || !same_cost(&c, &last);
            last = c;
        }
        group[p] = groups ? groups - 1 : 0; /* fillers go with what stands before them */
    }
    if (groups < 2)
        return NULL;
    off = dim_const(s->g->dims, 0);
    for (uint32_t first = 0, end; first < n; first = end) {
        const dim *next = off;
        for (end = first; end < n && group[end] == group[first]; end++)
            next = dim_add(s->g->dims, next, j.join->bound[end + 1]->extent);
        sum = add(s->g, sum, group_contract(s, &j, other, which == 0, first, end, off));
        off = next;
    }
    return sum;
}

/* contract A, x + y where both contractions have fewer indices: the sum is then the only thing that
 * has them all. */
static value *split_sum(const split *s, uint32_t which)
{
    const value *x = s->v->args[which];
    value *other = s->v->args[1 - which], *made[2];
    if ((x->op != OP_add && x->op != OP_sub) || x->where)
        return NULL;
    for (uint32_t k = 0; k < 2; k++) {
        cost c = {0};
        add_cost(s, &c, other);
        add_cost(s, &c, x->args[k]);
        add_cost(s, &c, s->v->where);
        if (c.ix.n >= s->v->n_ix)
            return NULL;
    }
    for (uint32_t k = 0; k < 2; k++)
        made[k] = graph_contract(s->g, which ? other : x->args[k], which ? x->args[k] : other,
                                 s->v->bound, s->v->n_bound, s->v->where);
    return graph_elem(s->g, x->op, made, NULL);
}

value *split_contract(graph *g, const places *p, arena *scratch, value *v)
{
    split s = {.g = g, .p = p, .scratch = scratch, .v = v};
    for (uint32_t which = 0; which < 2; which++) {
        value *made = split_sum(&s, which);
        for (uint32_t k = 0; !made && k < v->n_bound; k++) {
            s.i = v->bound[k];
            made = split_join(&s, which);
        }
        if (made)
            return made;
    }
    return v;
}
