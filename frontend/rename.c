/* rename.c: the same value over other indices, built anew. */
#include "frontend/order.h"

#include <string.h>

typedef struct renaming {
    sema *s;
    order *o;
    const ix *a, *b; /* exchanged */
    const tensor *t; /* whose body */
    value **memo;
    uint32_t n_memo;
} renaming;

static const ix *other(const renaming *r, const ix *i)
{
    return i == r->a ? r->b : i == r->b ? r->a : i;
}

/* As a value that is a tensor is to the bodies of others. */
static bool is_leaf(const renaming *r, const value *v)
{
    return v->n_args == 0 || (placeholder_of(r->o, v) && !is_own_value(r->t, v));
}

static value *rename_value(renaming *r, value *v)
{
    sema *s = r->s;
    graph *g = s->g;
    if (!v)
        return NULL;
    if (v->id < r->n_memo && r->memo[v->id])
        return r->memo[v->id];
    value *out = v;
    if (v->op == OP_index) {
        out = graph_index(g, other(r, v->ix[0]));
    } else if (v->op == OP_given) {
        out = v;
    } else if (is_leaf(r, v)) {
        /* a leaf on its own indices: read it at the others */
        bool touched = value_has_ix(v, r->a) || value_has_ix(v, r->b);
        if (touched) {
            value **index = ARENA_ARRAY(s->a, value *, v->n_ix);
            for (uint32_t i = 0; i < v->n_ix; i++)
                index[i] = graph_index(g, other(r, v->ix[i]));
            out = graph_read(g, v, index, NULL);
        }
    } else if (v->op == OP_read && is_leaf(r, v->args[0])) {
        value **index = ARENA_ARRAY(s->a, value *, v->n_args);
        for (uint32_t i = 1; i < v->n_args; i++)
            index[i - 1] = rename_value(r, v->args[i]);
        out = graph_read(g, v->args[0], index, rename_value(r, v->where));
    } else {
        value **args = ARENA_ARRAY(s->a, value *, v->n_args);
        bool same = true;
        for (uint32_t i = 0; i < v->n_args; i++) {
            args[i] = rename_value(r, v->args[i]);
            same = same && args[i] == v->args[i];
        }
        value *where = rename_value(r, v->where);
        const ix **bound = ARENA_ARRAY(s->a, const ix *, v->n_bound ? v->n_bound : 1);
        bool bound_same = true;
        for (uint32_t i = 0; i < v->n_bound; i++) {
            bound[i] = other(r, v->bound[i]);
            bound_same = bound_same && bound[i] == v->bound[i];
        }
        if (same && where == v->where && bound_same)
            out = v;
        else if (v->op == OP_read) {
            /* positions follow the operand's indices */
            const ix **from = ARENA_ARRAY(s->a, const ix *, v->args[0]->n_ix);
            for (uint32_t i = 0; i < v->args[0]->n_ix; i++)
                from[i] = other(r, v->args[0]->ix[i]);
            out = b_read(s, args[0], from, args + 1, v->args[0]->n_ix, where);
        } else if (v->op == OP_reduce)
            out = graph_reduce(g, (reduce_kind)v->kind, args[0], bound, v->n_bound, where);
        else if (v->op == OP_contract)
            out = graph_contract(g, args[0], args[1], bound, v->n_bound, where);
        else if (OP_HAS(v->op, T_NORM))
            out = graph_norm(g, v->op, args[0], bound, v->n_bound, where);
        else if (v->op == OP_join)
            out = graph_join(g, bound[0], args, bound + 1, v->n_args);
        else
            out = graph_with_args(g, v, args, where);
    }
    if (!out->at.file)
        out->at = v->at;
    if (v->id < r->n_memo)
        r->memo[v->id] = out;
    return out;
}

bool rename_step(sema *s, order *o, tensor *t, uint32_t pos, const ix *step)
{
    if (t->ix[pos] == step)
        return true;
    renaming r = {.s = s, .o = o, .a = t->ix[pos], .b = step, .t = t};
    r.n_memo = (uint32_t)s->g->values.n;
    r.memo = ARENA_ARRAY(s->a, value *, r.n_memo + 1);
    if (!dims_same(s, r.a->extent, step->extent))
        return false;
    t->body = rename_value(&r, t->body);
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, t->n_ix);
    for (uint32_t i = 0; i < t->n_ix; i++)
        ixs[i] = other(&r, t->ix[i]);
    for (size_t i = 0; i < t->reads.n; i++) {
        access *a = &t->reads.v[i];
        value **index = ARENA_ARRAY(s->a, value *, a->n);
        for (uint32_t k = 0; k < a->n; k++)
            index[k] = rename_value(&r, a->index[k]);
        a->index = index;
        a->demand = rename_value(&r, a->demand);
    }
    t->ix = ixs;
    o->edges[t->id].n = 0;
    o->edges_done[t->id] = false;
    order_edges(o, t);
    return true;
}
