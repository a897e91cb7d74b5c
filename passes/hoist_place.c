/* hoist_place.c: where values stand and on what they depend, for the passes that move them. */
#include <string.h>

#include "passes/hoist_internal.h"

/* An outer scan has a larger id than those of its region. */
static const uint32_t *find_depths(const places *p, arena *scratch)
{
    uint32_t *depth = ARENA_ARRAY(scratch, uint32_t, p->g->n_scans);
    for (size_t i = p->live.n; i-- > 0;) {
        const value *v = p->live.v[i];
        if (v->op == OP_scan)
            depth[v->scan] = 1 + (p->home[v->id] ? depth[p->home[v->id] - 1] : 0);
    }
    return depth;
}

static const uint32_t *count_uses(const places *p, arena *scratch)
{
    uint32_t *uses = ARENA_ARRAY(scratch, uint32_t, p->n);
    for (size_t i = 0; i < p->live.n; i++) {
        const value *v = p->live.v[i];
        for (uint32_t k = 0; k < v->n_args; k++)
            uses[v->args[k]->id]++;
        if (v->where)
            uses[v->where->id]++;
    }
    for (size_t i = 0; i < p->g->results.n; i++)
        uses[p->g->results.v[i].v->id]++;
    return uses;
}

void places_find(places *p, const graph *g, arena *scratch)
{
    *p = (places){.g = g, .n = g->values.n};
    graph_live(g, scratch, &p->live);
    p->home = graph_homes(g, scratch, &p->live);
    p->depth_of = find_depths(p, scratch);
    p->uses = count_uses(p, scratch);
    const value *stepped = graph_step_scan(g, &p->live);
    if (stepped) {
        p->step_axis = graph_step_axes(g, scratch, &p->live);
        p->step_depth = p->depth_of[stepped->scan];
    }
}

uint32_t places_depth(const places *p, const value *v)
{
    if (v->id >= p->n) /* made since: of indices and dims alone */
        return 0;
    if (p->step_axis && p->step_axis[v->id] >= 0)
        return p->step_depth;
    return p->home[v->id] ? p->depth_of[p->home[v->id] - 1] : 0;
}

bool ix_set_has(const ix_set *s, const ix *i)
{
    for (size_t k = 0; k < s->n; k++) {
        if (s->v[k] == i)
            return true;
    }
    return false;
}

void ix_set_add(arena *a, ix_set *s, const value *v, const ix *const *bound, uint32_t n_bound)
{
    for (uint32_t k = 0; v && k < v->n_ix; k++) {
        bool drop = ix_set_has(s, v->ix[k]);
        for (uint32_t b = 0; b < n_bound; b++)
            drop = drop || bound[b] == v->ix[k];
        if (!drop)
            vec_push(a, s, v->ix[k]);
    }
}

bool ix_set_within(const ix_set *s, const ix_set *of)
{
    for (size_t k = 0; k < s->n; k++) {
        if (!ix_set_has(of, s->v[k]))
            return false;
    }
    return true;
}

/* --- indices --- */

static value *substitute(graph *g, value *v, const ix *i, value *to, int depth)
{
    if (!value_has_ix(v, i))
        return v;
    if (v->op == OP_index)
        return to;
    /* Of an optional input the predicate must go on saying that it was given. */
    bool read = v->op == OP_read && !(v->args[0]->op == OP_input && v->args[0]->optional);
    bool text = OP_HAS(v->op, T_ELEM) && OP_HAS(v->op, T_INLINE) && !v->where &&
                (v->dt == DT_I64 || v->dt == DT_BOOL);
    if (depth > 0 && (read || text)) {
        value **args = ARENA_ARRAY(g->a, value *, v->n_args);
        for (uint32_t k = 0; k < v->n_args; k++)
            args[k] = read && k == 0 ? v->args[k] : substitute(g, v->args[k], i, to, depth - 1);
        value *where = v->where ? substitute(g, v->where, i, to, depth - 1) : NULL;
        return graph_with_args(g, v, args, where);
    }
    value **index = ARENA_ARRAY(g->a, value *, v->n_ix);
    for (uint32_t k = 0; k < v->n_ix; k++)
        index[k] = v->ix[k] == i ? to : graph_index(g, v->ix[k]);
    return graph_read(g, v, index, NULL);
}

value *value_at(graph *g, value *v, const ix *i, value *to)
{
    return substitute(g, v, i, to, 8);
}

static bool is_step(const places *p, const ix *i)
{
    for (size_t k = 0; k < p->live.n; k++) {
        if (p->live.v[k]->op == OP_scan && p->live.v[k]->bound[0] == i)
            return true;
    }
    return false;
}

static bool is_dim(const graph *g, const char *name)
{
    for (size_t k = 0; k < g->symbols.n; k++) {
        if (strcmp(g->symbols.v[k], name) == 0)
            return true;
    }
    for (uint32_t k = 0; k < dims_n_symbols(g->dims); k++) {
        if (strcmp(dims_symbol(g->dims, k), name) == 0)
            return true;
    }
    return false;
}

const ix *unused_ix(graph *g, const places *p, const char *like, const dim *extent,
                    const ix_set *taken)
{
    size_t stem = strlen(like);
    while (stem > 1 && like[stem - 1] >= '0' && like[stem - 1] <= '9')
        stem--;
    const char *name = like;
    for (unsigned k = 2;; k++) {
        const ix *i = is_dim(g, name) ? NULL : graph_ix(g, name, extent);
        if (i && !ix_set_has(taken, i) && !is_step(p, i))
            return i;
        name = arena_printf(g->a, "%.*s%u", (int)stem, like, k);
    }
}
