/* rewrite.c: rebuilding values over other operands, the one way in which passes change a graph. */
#include <string.h>

#include "ir/graph/graph_internal.h"
#include "ir/graph/scratch.h"

/* x as a value that depends on i as well. */
static value *widen(graph *g, value *x, const ix *i)
{
    value *bounds[2] = {graph_int(g, 0), graph_index(g, i)};
    value *args[3] = {graph_elem(g, OP_le, bounds, NULL), x, x};
    return graph_elem(g, OP_select, args, NULL);
}

/* A read's index values belong to its base's indices by position: puts them in the new base's
 * order. */
static void refit_read(graph *g, const value *old_base, value **args)
{
    for (uint32_t i = 0; i < old_base->n_ix; i++) {
        if (!value_has_ix(args[0], old_base->ix[i]))
            args[0] = widen(g, args[0], old_base->ix[i]);
    }
    uint32_t n = old_base->n_ix;
    ICE_UNLESS(args[0]->n_ix == n);
    value **index = ARENA_ARRAY(g->a, value *, n);
    memcpy(index, args + 1, n * sizeof *index);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (old_base->ix[k] == args[0]->ix[i])
                args[i + 1] = index[k];
        }
    }
}

static void refit(graph *g, const value *v, value **args)
{
    if (v->op == OP_read && v->args[0]->n_ix > 0)
        refit_read(g, v->args[0], args);
    for (uint32_t i = 0; OP_HAS(v->op, T_NORM) && i < v->n_bound; i++) {
        if (!value_has_ix(args[0], v->bound[i]))
            args[0] = widen(g, args[0], v->bound[i]);
    }
}

void graph_inherit(value *v, const value *from)
{
    if (!v->hint)
        v->hint = from->hint;
    if (v->at.file == 0)
        v->at = from->at;
}

value *graph_with_args(graph *g, const value *v, value *const *args, value *where)
{
    value proto = *v;
    value **copy = arena_copy(g->a, args, v->n_args * sizeof *args);
    refit(g, v, copy);
    proto.args = copy;
    proto.where = where;
    size_t before = g->values.n;
    const char *error = NULL;
    value *made = graph_make(g, &proto, &error);
    if (!made)
        ice("graph @%s: %s over new operands: %s", g->name, op_table[v->op].text, error);
    if (made->id >= before)
        graph_inherit(made, v);
    return made;
}

typedef struct rewriting {
    graph *g;
    graph_rewrite_fn *f;
    void *ctx;
} rewriting;

static void rewrite_all(void *ctx, arena *scratch)
{
    rewriting *r = ctx;
    graph *g = r->g;
    value_list live = {0};
    size_t before = g->values.n;
    graph_live(g, scratch, &live);
    value **now = ARENA_ARRAY(scratch, value *, before);
    for (size_t i = 0; i < live.n; i++) {
        value *v = live.v[i], *made = v;
        value **args = ARENA_ARRAY(scratch, value *, v->n_args);
        value *where = v->where ? now[v->where->id] : NULL;
        bool changed = where != v->where;
        for (uint32_t k = 0; k < v->n_args; k++) {
            args[k] = now[v->args[k]->id];
            changed = changed || args[k] != v->args[k];
        }
        if (changed)
            made = graph_with_args(g, v, args, where);
        made = r->f(r->ctx, g, made);
        if (made->id >= before)
            graph_inherit(made, v);
        now[v->id] = made;
    }
    for (size_t i = 0; i < g->results.n; i++)
        g->results.v[i].v = now[g->results.v[i].v->id];
}

void graph_rewrite(graph *g, graph_rewrite_fn *f, void *ctx)
{
    rewriting r = {.g = g, .f = f, .ctx = ctx};
    with_scratch(arena_mem(g->a), rewrite_all, &r);
}
