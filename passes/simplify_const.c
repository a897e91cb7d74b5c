/* simplify_const.c: operations on constants, and comparisons that the ranges of indices and dims
 * decide. */
#include <math.h>

#include "passes/fold_ints.h"
#include "passes/simplify_internal.h"

/* --- constants --- */

/* Those real operations whose f64 result is what the graph's real gives, or nearer to the exact
 * one. */
static bool fold_reals(op_id op, double x, double y, double *out)
{
    switch (op) {
    case OP_neg:
        *out = -x;
        return true;
    case OP_abs:
        *out = fabs(x);
        return true;
    case OP_add:
        *out = x + y;
        return true;
    case OP_sub:
        *out = x - y;
        return true;
    case OP_mul:
        *out = x * y;
        return true;
    case OP_div:
        *out = x / y;
        return true;
    case OP_sqrt:
        *out = sqrt(x);
        return true;
    case OP_max:
        *out = isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
        return true;
    case OP_min:
        *out = isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
        return true;
    default:
        return false;
    }
}

/* Comparisons are folded only where rounding to f32 cannot change them. */
static bool fold_real_comparison(op_id op, double x, double y, bool *out)
{
    bool exact = (isnan(x) || (double)(float)x == x) && (isnan(y) || (double)(float)y == y);
    *out = op == OP_eq ? x == y : op == OP_ne ? x != y : op == OP_lt ? x < y : x <= y;
    return exact && op_table[op].sig == SIG_CMP;
}

value *fold_constants(graph *g, value *v)
{
    if (v->n_args == 0 || v->n_args > 2)
        return v;
    for (uint32_t k = 0; k < v->n_args; k++) {
        if (!is_const(v->args[k]))
            return v;
    }
    const value *x = v->args[0], *y = v->args[v->n_args - 1];
    int64_t i = 0;
    double f = 0;
    bool b = false;
    if (!is_real_dt(x->dt)) {
        if (op_table[v->op].sig == SIG_TOREAL)
            return graph_real(g, (double)x->i);
        if (!fold_ints(v->op, x->i, y->i, &i))
            return v;
        return v->dt == DT_BOOL ? graph_bool(g, i != 0) : graph_int(g, i);
    }
    if (is_real_dt(v->dt) && fold_reals(v->op, x->f, y->f, &f))
        return graph_real(g, f);
    if (v->dt == DT_BOOL && fold_real_comparison(v->op, x->f, y->f, &b))
        return graph_bool(g, b);
    return v;
}

/* --- comparisons by bounds --- */

typedef struct bounds {
    const dim *lo, *hi; /* NULL: not known */
} bounds;

static bounds bounds_of(graph *g, const value *v, int depth)
{
    dims *t = g->dims;
    bounds b = {0};
    if (depth == 0 || v->where)
        return b;
    if (v->op == OP_const && v->dt == DT_I64) {
        b.lo = b.hi = dim_const(t, v->i);
    } else if (v->op == OP_dim) {
        b.lo = b.hi = v->dim;
    } else if (v->op == OP_index) { /* where there is an element, the extent is not 0 */
        b.lo = dim_const(t, 0);
        b.hi = dim_sub(t, v->ix[0]->extent, dim_const(t, 1));
    } else if (v->op == OP_add || v->op == OP_sub) {
        bounds x = bounds_of(g, v->args[0], depth - 1), y = bounds_of(g, v->args[1], depth - 1);
        bool add = v->op == OP_add;
        b.lo = add ? dim_add(t, x.lo, y.lo) : dim_sub(t, x.lo, y.hi);
        b.hi = add ? dim_add(t, x.hi, y.hi) : dim_sub(t, x.hi, y.lo);
    }
    return b;
}

value *fold_comparison(graph *g, value *v)
{
    bool less = v->op == OP_lt || v->op == OP_le, equal = v->op == OP_eq || v->op == OP_ne;
    if ((!less && !equal) || v->args[0]->dt != DT_I64)
        return v;
    if (v->args[0] == v->args[1])
        return graph_bool(g, v->op == OP_le || v->op == OP_eq);
    bounds x = bounds_of(g, v->args[0], 4), y = bounds_of(g, v->args[1], 4);
    if (!x.lo || !x.hi || !y.lo || !y.hi)
        return v;
    bool below = dim_proved_lt(g->dims, x.hi, y.lo), above = dim_proved_lt(g->dims, y.hi, x.lo);
    if (equal)
        return below || above ? graph_bool(g, v->op == OP_ne) : v;
    if (v->op == OP_lt)
        return below                                ? graph_bool(g, true)
               : dim_proved_le(g->dims, y.hi, x.lo) ? graph_bool(g, false)
                                                    : v;
    return dim_proved_le(g->dims, x.hi, y.lo) ? graph_bool(g, true)
           : above                            ? graph_bool(g, false)
                                              : v;
}
