/* scores_sum.c: the order in which the terms of a sum are added up. */
#include "passes/scores_internal.h"

enum { MAX_TERMS = 32 };

typedef struct term {
    value *v;
    ix_set ix;
    uint32_t depth;
} term;

/* What an addition does: once for each element, in a region or outside. */
typedef struct cost {
    size_t n;
    uint32_t depth;
} cost;

typedef struct sum {
    graph *g;
    const places *p;
    const bool *inner;
    arena *scratch;
    term term[MAX_TERMS];
    size_t n;
    cost before[MAX_TERMS], after[MAX_TERMS]; /* of its additions */
    size_t n_before, n_after;
} sum;

static bool is_sum(const value *v)
{
    return v->op == OP_add && !v->where && v->dt != DT_I64;
}

bool *inner_sums(const places *p, arena *scratch)
{
    bool *inner = ARENA_ARRAY(scratch, bool, p->n);
    for (size_t i = 0; i < p->live.n; i++) {
        const value *v = p->live.v[i];
        for (uint32_t k = 0; is_sum(v) && k < 2; k++)
            inner[v->args[k]->id] = is_sum(v->args[k]) && p->uses[v->args[k]->id] == 1;
    }
    return inner;
}

static cost cost_of(const ix_set *ix, uint32_t depth)
{
    return (cost){.n = ix->n, .depth = depth};
}

static int compare(cost a, cost b)
{
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    return a.depth < b.depth ? -1 : a.depth > b.depth;
}

/* Dearest first. */
static void insert(cost *list, size_t *n, cost c)
{
    size_t at = (*n)++;
    for (; at > 0 && compare(list[at - 1], c) < 0; at--)
        list[at] = list[at - 1];
    list[at] = c;
}

static bool flatten(sum *s, value *v)
{
    ix_set ix = {0};
    ix_set_add(s->scratch, &ix, v, NULL, 0);
    if (s->n_before == MAX_TERMS - 1)
        return false;
    insert(s->before, &s->n_before, cost_of(&ix, places_depth(s->p, v)));
    for (uint32_t k = 0; k < 2; k++) {
        value *x = v->args[k];
        if (s->inner[x->id]) {
            if (!flatten(s, x))
                return false;
            continue;
        }
        term *t = &s->term[s->n++];
        *t = (term){.v = x, .depth = places_depth(s->p, x)};
        ix_set_add(s->scratch, &t->ix, x, NULL, 0);
    }
    return true;
}

static term pair(const sum *s, const term *a, const term *b)
{
    term t = {.depth = a->depth > b->depth ? a->depth : b->depth};
    for (size_t k = 0; k < a->ix.n; k++)
        vec_push(s->scratch, &t.ix, a->ix.v[k]);
    for (size_t k = 0; k < b->ix.n; k++) {
        if (!ix_set_has(&a->ix, b->ix.v[k]))
            vec_push(s->scratch, &t.ix, b->ix.v[k]);
    }
    return t;
}

/* Which of the terms are added next: the pair that costs least, of equals the first. */
static term cheapest(const sum *s, const term *terms, size_t n, size_t *first, size_t *second)
{
    term best = {0};
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            term t = pair(s, &terms[i], &terms[k]);
            if (any && compare(cost_of(&t.ix, t.depth), cost_of(&best.ix, best.depth)) >= 0)
                continue;
            best = t;
            any = true;
            *first = i;
            *second = k;
        }
    }
    return best;
}

/* Adds the terms up in that order; without `make` only the costs are found. */
static value *add_up(sum *s, bool make)
{
    term terms[MAX_TERMS];
    s->n_after = 0;
    for (size_t i = 0; i < s->n; i++)
        terms[i] = s->term[i];
    for (size_t n = s->n; n > 1; n--) {
        size_t i = 0, k = 0;
        term t = cheapest(s, terms, n, &i, &k);
        value *args[2] = {terms[i].v, terms[k].v};
        insert(s->after, &s->n_after, cost_of(&t.ix, t.depth));
        if (make)
            t.v = graph_elem(s->g, OP_add, args, NULL);
        terms[i] = t;
        for (; k + 1 < n; k++)
            terms[k] = terms[k + 1];
    }
    return terms[0].v;
}

value *regroup_sum(graph *g, const places *p, const bool *inner, arena *scratch, value *v)
{
    sum *s = ARENA_NEW(scratch, sum);
    *s = (sum){.g = g, .p = p, .inner = inner, .scratch = scratch};
    if (!is_sum(v) || inner[v->id] || !flatten(s, v) || s->n < 3)
        return v;
    add_up(s, false);
    for (size_t i = 0; i < s->n_after; i++) {
        int c = compare(s->after[i], s->before[i]);
        if (c != 0)
            return c < 0 ? add_up(s, true) : v;
    }
    return v;
}
