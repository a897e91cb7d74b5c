/* simplify_read.c: reads that change nothing, reads of reads and of what was just appended, and
 * sums of products. */
#include "passes/simplify_internal.h"

static value *both(graph *g, value *p, value *q)
{
    if (!p || !q)
        return p ? p : q;
    value *args[2] = {p, q};
    return graph_elem(g, OP_and, args, NULL);
}

/* `read %x[i, j]` of `%x : <i, j>`. */
static bool is_identity(const value *v)
{
    const value *x = v->args[0];
    for (uint32_t k = 0; k < x->n_ix; k++) {
        if (v->args[k + 1]->op != OP_index || v->args[k + 1]->ix[0] != x->ix[k])
            return false;
    }
    return !v->where;
}

/* e with the outer read's index values for the inner read's free indices: `outer` reads `inner`, of
 * which e is an operand. Expressions of indices are rebuilt, anything else is read at the new
 * place. */
static value *at_outer(graph *g, value *e, const value *outer, const value *inner, int depth)
{
    bool touched = false;
    for (uint32_t k = 0; k < inner->n_ix; k++) {
        const value *to = outer->args[k + 1];
        bool same = to->op == OP_index && to->ix[0] == inner->ix[k];
        touched = touched || (!same && value_has_ix(e, inner->ix[k]));
        if (e->op == OP_index && e->ix[0] == inner->ix[k])
            return outer->args[k + 1];
    }
    if (!touched)
        return e;
    if (OP_HAS(e->op, T_INLINE) && !e->where && depth > 0 && e->n_args <= 2) {
        value *args[2] = {0};
        for (uint32_t k = 0; k < e->n_args; k++)
            args[k] = at_outer(g, e->args[k], outer, inner, depth - 1);
        return graph_with_args(g, e, args, NULL);
    }
    value **index = ARENA_ARRAY(g->a, value *, e->n_ix);
    for (uint32_t j = 0; j < e->n_ix; j++) {
        index[j] = graph_index(g, e->ix[j]);
        for (uint32_t k = 0; k < inner->n_ix; k++) {
            if (inner->ix[k] == e->ix[j])
                index[j] = outer->args[k + 1];
        }
    }
    return graph_read(g, e, index, NULL);
}

/* Whether every index value of the outer read is an index that stays inside the inner one's: then
 * no check of the outer read is lost. */
static bool stays_inside(graph *g, const value *outer, const value *inner)
{
    for (uint32_t k = 0; k < inner->n_ix; k++) {
        const value *to = outer->args[k + 1];
        if (to->op != OP_index || !dim_proved_le(g->dims, to->ix[0]->extent, inner->ix[k]->extent))
            return false;
    }
    return true;
}

/* This step's row of a history that has it already: what was appended. */
static value *appended(graph *g, value *v)
{
    const value *x = v->args[0];
    value *row = x->args[1];
    const ix *step = x->bound[0], *rows = x->args[0]->bound[0];
    value **index = ARENA_ARRAY(g->a, value *, x->n_ix);
    if (row->n_ix != x->n_ix)
        return v; /* it repeats along an axis, where the read may be out of range */
    for (uint32_t k = 0; k < row->n_ix; k++) {
        for (uint32_t j = 0; j < x->n_ix; j++) {
            if (x->ix[j] == (row->ix[k] == step ? rows : row->ix[k]))
                index[k] = v->args[j + 1];
        }
        bool here = index[k] && index[k]->op == OP_index && index[k]->ix[0] == step;
        if (!index[k] || (row->ix[k] == step && !here))
            return v;
    }
    return graph_read(g, row, index, v->where);
}

value *fold_read(graph *g, value *v)
{
    value *x = v->args[0];
    if (is_identity(v))
        return x;
    if (x->op == OP_append)
        return appended(g, v);
    if (x->op != OP_read || !stays_inside(g, v, x))
        return v;
    value **index = ARENA_ARRAY(g->a, value *, x->n_args - 1);
    for (uint32_t k = 0; k + 1 < x->n_args; k++)
        index[k] = at_outer(g, x->args[k + 1], v, x, 8);
    value *where = x->where ? at_outer(g, x->where, v, x, 8) : NULL;
    return graph_read(g, x->args[0], index, both(g, v->where, where));
}

/* A sum of products is a contraction, and so is a sum of a contraction that nobody else uses. */
value *fold_sum(graph *g, value *v, const uint32_t *uses, size_t n_uses)
{
    if (v->op != OP_reduce || v->kind != RED_sum || !is_real_dt(v->dt))
        return v;
    value *x = v->args[0];
    bool single = x->id < n_uses && uses[x->id] == 1;
    if (x->op == OP_mul && !x->where && single)
        return graph_contract(g, x->args[0], x->args[1], v->bound, v->n_bound, v->where);
    if (x->op != OP_contract || !single)
        return v;
    const ix **bound = ARENA_ARRAY(g->a, const ix *, (size_t)x->n_bound + v->n_bound);
    for (uint32_t k = 0; k < x->n_bound; k++) {
        bound[k] = x->bound[k];
        if (v->where && value_has_ix(v->where, x->bound[k]))
            return v; /* another index of that name, free in the sum's predicate */
    }
    for (uint32_t k = 0; k < v->n_bound; k++) {
        for (uint32_t j = 0; j < x->n_bound; j++) {
            if (x->bound[j] == v->bound[k]) /* not an index of the contraction: a sum of equals */
                return v;
        }
        bound[x->n_bound + k] = v->bound[k];
    }
    return graph_contract(g, x->args[0], x->args[1], bound, x->n_bound + v->n_bound,
                          both(g, x->where, v->where));
}
