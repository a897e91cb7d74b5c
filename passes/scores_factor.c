/* scores_factor.c: factors that come out of contractions.
 *
 * A factor may stand in front of a sum only where that changes nothing but the rounding: it must be
 * finite, as inf * 0 + inf * 1 is NaN where inf * (0 + 1) is not; so data is never moved, numbers
 * and what is computed of sizes and indices is. Where a size of 0 would make it infinite, the sum
 * is over nothing and must stay 0: then the size is taken as 1. */
#include <math.h>

#include "passes/scores_internal.h"

/* Far enough from where a product or a quotient would leave the reals. */
static const double largest = 1e9, smallest = 1e-9;

enum { MAX_BITS = 62 }; /* of ints that cannot overflow; more: not known */

static unsigned dim_bits(const dim *d)
{
    int64_t n;
    return dim_is_sym(d, NULL) || (dim_is_const(d, &n) && n >= 0 && n <= DIM_LIMIT) ? 41 : 62;
}

/* An int made of numbers, sizes and indices is below 2 to the so many in size: outside of the
 * contraction's predicate it must not overflow either. */
static unsigned int_bits(const value *v, int depth)
{
    if (v->op == OP_index)
        return dim_bits(v->ix[0]->extent);
    if (v->op == OP_dim)
        return dim_bits(v->dim);
    if (v->op == OP_const) {
        unsigned bits = 0;
        for (uint64_t size = v->i < 0 ? -(uint64_t)v->i : (uint64_t)v->i; size; size >>= 1)
            bits++;
        return bits;
    }
    bool sum = v->op == OP_add || v->op == OP_sub;
    if (depth == 0 || v->where || (!sum && v->op != OP_mul && v->op != OP_neg))
        return MAX_BITS + 1;
    unsigned a = int_bits(v->args[0], depth - 1);
    unsigned b = v->op == OP_neg ? a : int_bits(v->args[1], depth - 1);
    return v->op == OP_neg ? a : v->op == OP_mul ? a + b : (a > b ? a : b) + 1;
}

static bool has_extent(const value *v, const dim *d)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (v->bound[k]->extent == d)
            return true;
    }
    for (uint32_t k = 0; k < v->n_ix; k++) {
        if (v->ix[k]->extent == d)
            return true;
    }
    return false;
}

/* Where d is 0, the contraction v is over nothing or has no elements: d is a product of extents. */
static bool empty_without(const graph *g, const value *v, const dim *d)
{
    if (has_extent(v, d))
        return true;
    if (d->n != 1 || d->terms[0].coef <= 0 || d->terms[0].n == 0)
        return false;
    for (uint32_t k = 0; k < d->terms[0].n; k++) {
        const dim_atom *s = d->terms[0].atoms[k];
        if (s->kind != ATOM_SYM || !has_extent(v, dim_sym(g->dims, s->name)))
            return false;
    }
    return true;
}

/* The real of a size. Not 0, if asked for. */
static value *finite_size(graph *g, const value *v, value *f, bool nonzero)
{
    const dim *one = dim_const(g->dims, 1), *d = f->args[0]->dim;
    if (!nonzero || dim_proved_le(g->dims, one, d))
        return f;
    if (!empty_without(g, v, d))
        return NULL;
    value *size = graph_dim(g, dim_max(g->dims, d, one));
    return graph_elem(g, OP_real, &size, NULL);
}

static value *finite_number(value *f, bool nonzero)
{
    double size = fabs(f->f);
    bool fits = f->f == 0 ? !nonzero : size >= smallest && size <= largest;
    return fits ? f : NULL;
}

/* The factor f of the contraction v as something that is finite wherever it matters, and not 0 if
 * `nonzero`; NULL where that is not known. */
static value *finite(graph *g, const value *v, value *f, bool nonzero, int depth)
{
    value *args[2] = {0};
    if (f->op == OP_const && f->dt != DT_I64 && f->dt != DT_BOOL)
        return finite_number(f, nonzero);
    if (f->op == OP_real && f->args[0]->op == OP_dim)
        return finite_size(g, v, f, nonzero);
    if (f->op == OP_real) /* an int, which may be 0 */
        return nonzero || int_bits(f->args[0], 4) > MAX_BITS ? NULL : f;
    bool root = f->op == OP_sqrt && f->args[0]->op == OP_real && f->args[0]->args[0]->op == OP_dim;
    if (depth == 0 || f->where || f->n_args > 2 ||
        (!root && f->op != OP_neg && f->op != OP_mul && f->op != OP_div))
        return NULL;
    bool changed = false;
    for (uint32_t k = 0; k < f->n_args; k++) {
        bool divisor = f->op == OP_div && k == 1;
        args[k] = finite(g, v, f->args[k], nonzero || divisor, depth - 1);
        if (!args[k])
            return NULL;
        changed = changed || args[k] != f->args[k];
    }
    return changed ? graph_with_args(g, f, args, NULL) : f;
}

static bool has_bound(const value *v, const value *x)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (value_has_ix(x, v->bound[k]))
            return true;
    }
    return false;
}

/* Whether the rest has fewer indices without the factor, or the factor has none at all. */
static bool worth_it(const value *x, const value *rest, const value *factor)
{
    return factor->n_ix == 0 || rest->n_ix < x->n_ix;
}

/* Operand `which` of v without a factor; the factor goes to *factor (NULL: a minus). */
static value *without_factor(graph *g, const value *v, uint32_t which, value **factor)
{
    value *x = v->args[which];
    if (x->where || (x->op != OP_mul && x->op != OP_div && x->op != OP_neg))
        return NULL;
    *factor = NULL;
    if (x->op == OP_neg)
        return x->args[0];
    for (uint32_t k = 0; k < 2; k++) {
        value *f = x->args[1 - k], *rest = x->args[k];
        bool ok = (x->op == OP_mul || k == 0) && !has_bound(v, f) && has_bound(v, rest) &&
                  worth_it(x, rest, f);
        *factor = ok ? finite(g, v, f, x->op == OP_div, 3) : NULL;
        if (*factor)
            return rest;
    }
    return NULL;
}

value *factor_contract(graph *g, value *v)
{
    for (uint32_t which = 0; which < 2; which++) {
        value *factor = NULL, *args[2] = {v->args[0], v->args[1]};
        op_id op = v->args[which]->op;
        value *rest = without_factor(g, v, which, &factor);
        if (!rest)
            continue;
        args[which] = rest;
        value *front[2] = {graph_contract(g, args[0], args[1], v->bound, v->n_bound, v->where),
                           factor};
        return graph_elem(g, op, front, NULL);
    }
    return v;
}
