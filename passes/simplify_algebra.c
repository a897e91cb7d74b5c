/* simplify_algebra.c: identities that hold exactly, for inf, NaN and -0 too. */
#include <math.h>

#include "passes/simplify_internal.h"

static bool int_is(const value *v, int64_t i)
{
    return is_const(v) && v->dt == DT_I64 && v->i == i;
}

static bool real_is(const value *v, double f)
{
    return is_const(v) && is_real_dt(v->dt) && v->f == f && !signbit(v->f) == !signbit(f);
}

static bool one(const value *v)
{
    return int_is(v, 1) || real_is(v, 1);
}

static value *elem(graph *g, op_id op, value *a, value *b)
{
    value *args[2] = {a, b};
    return graph_elem(g, op, args, NULL);
}

/* x + 0 is x for ints; for reals x + -0 and x - 0 are. */
static value *fold_sum_of_two(value *v, value *a, value *b)
{
    double nothing = v->op == OP_add ? -0.0 : 0.0;
    if (int_is(b, 0) || real_is(b, nothing))
        return a;
    if (v->op == OP_add && (int_is(a, 0) || real_is(a, nothing)))
        return b;
    return v;
}

static value *fold_bool(graph *g, value *v, value *a, value *b)
{
    bool neutral = v->op == OP_and; /* true for and, false for or */
    if (a == b || is_bool_const(b, neutral))
        return a;
    if (is_bool_const(a, neutral))
        return b;
    if (is_bool_const(a, !neutral) || is_bool_const(b, !neutral))
        return graph_bool(g, !neutral);
    return v;
}

static value *fold_select(graph *g, value *v)
{
    value *c = v->args[0], *a = v->args[1], *b = v->args[2];
    if (a == b)
        return a;
    if (is_const(c))
        return c->i ? a : b;
    if (is_bool_const(a, true) && is_bool_const(b, false))
        return c;
    if (is_bool_const(a, false) && is_bool_const(b, true))
        return graph_elem(g, OP_not, &c, NULL);
    if (c->op == OP_not) {
        value *args[3] = {c->args[0], b, a};
        return graph_elem(g, OP_select, args, NULL);
    }
    return v;
}

/* A weight that is a constant is 0 or is not; that of a softmax is never -0. */
static value *fold_weigh(graph *g, value *v, value *w, value *x)
{
    if (w->op == OP_softmax && one(x))
        return w;
    if (!is_const(w))
        return v;
    if (w->f == 0)
        return graph_real(g, 0);
    return w->f == 1 ? x : elem(g, OP_mul, w, x);
}

value *fold_algebra(graph *g, value *v)
{
    value *a = v->n_args > 0 ? v->args[0] : NULL, *b = v->n_args > 1 ? v->args[1] : NULL;
    switch (v->op) {
    case OP_add:
    case OP_sub:
        return fold_sum_of_two(v, a, b);
    case OP_mul:
        return one(b) ? a : one(a) ? b : v;
    case OP_div:
    case OP_idiv:
    case OP_pow:
        return one(b) ? a : v;
    case OP_imod:
        return one(b) ? graph_int(g, 0) : v;
    case OP_max:
    case OP_min:
        return a == b ? a : v;
    case OP_neg: /* an int's may trap */
        return a->op == OP_neg && is_real_dt(v->dt) ? a->args[0] : v;
    case OP_not:
        return a->op == OP_not ? a->args[0] : v;
    case OP_and:
    case OP_or:
        return fold_bool(g, v, a, b);
    case OP_select:
        return fold_select(g, v);
    case OP_weigh:
        return fold_weigh(g, v, a, b);
    default:
        return v;
    }
}
