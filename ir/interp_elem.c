/* interp_elem.c: each elementwise op over a row of elements, straight from its line in ops.def. */
#include <math.h>

#include "ir/base/diag.h"
#include "ir/interp_internal.h"

typedef void row_fn(row_call *c);

#define FX(k) (c->a[k].f[(int64_t)r * c->a[k].step])
#define IX(k) (c->a[k].i[(int64_t)r * c->a[k].step])
/* One row function: `out` gets `e`, with x, y, z for the operands. */
#define ROW_FN(name, out, get, T, e)                                                               \
    static void name(row_call *c)                                                                  \
    {                                                                                              \
        for (size_t r = 0; r < c->n; r++) {                                                        \
            T x = get(0);                                                                          \
            (void)x;                                                                               \
            c->out[r] = (e);                                                                       \
        }                                                                                          \
    }
#define ROW_FN2(name, out, get, T, e)                                                              \
    static void name(row_call *c)                                                                  \
    {                                                                                              \
        for (size_t r = 0; r < c->n; r++) {                                                        \
            T x = get(0), y = get(1);                                                              \
            c->out[r] = (e);                                                                       \
        }                                                                                          \
    }
/* An int op that may fail: `ok` is false where it does, and `e` its result where it does not. */
#define ROW_TRAP(name, get, T, decl, ok, e)                                                        \
    static void name(row_call *c)                                                                  \
    {                                                                                              \
        for (size_t r = 0; r < c->n; r++) {                                                        \
            T x = get(0);                                                                          \
            decl;                                                                                  \
            if (ok) {                                                                              \
                c->i[r] = (e);                                                                     \
            } else {                                                                               \
                c->i[r] = 0;                                                                       \
                c->trap[r] = 1;                                                                    \
                c->trapped = true;                                                                 \
            }                                                                                      \
        }                                                                                          \
    }

static double larger(double x, double y)
{
    return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
}

static double smaller(double x, double y)
{
    return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* Ties to even, whatever the rounding mode is. */
static double to_even(double x)
{
    double low = floor(x), rest = x - low;
    return rest < 0.5 || (rest == 0.5 && fmod(low, 2) == 0) ? low : low + 1;
}

static bool fits(double x)
{
    return x >= -0x1p63 && x < 0x1p63; /* false for NaN */
}

static int64_t floor_quotient(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

/* Of the sign of y; the product y * quotient need not fit. */
static int64_t floor_rest(int64_t x, int64_t y)
{
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* Reals to reals. */
ROW_FN(f_neg, f, FX, double, -x)
ROW_FN(f_abs, f, FX, double, fabs(x))
ROW_FN(f_sign, f, FX, double, isnan(x) ? x : (double)((x > 0) - (x < 0)))
ROW_FN(f_sqrt, f, FX, double, sqrt(x))
ROW_FN(f_exp, f, FX, double, exp(x))
ROW_FN(f_exp2, f, FX, double, exp2(x))
ROW_FN(f_log, f, FX, double, log(x))
ROW_FN(f_log1p, f, FX, double, log1p(x))
ROW_FN(f_expm1, f, FX, double, expm1(x))
ROW_FN(f_tanh, f, FX, double, tanh(x))
ROW_FN(f_sigmoid, f, FX, double, sigmoid(x))
ROW_FN(f_erf, f, FX, double, erf(x))
ROW_FN(f_sin, f, FX, double, sin(x))
ROW_FN(f_cos, f, FX, double, cos(x))
ROW_FN2(f_add, f, FX, double, x + y)
ROW_FN2(f_sub, f, FX, double, x - y)
ROW_FN2(f_mul, f, FX, double, x *y)
ROW_FN2(f_div, f, FX, double, x / y)
ROW_FN2(f_max, f, FX, double, larger(x, y))
ROW_FN2(f_min, f, FX, double, smaller(x, y))
ROW_FN2(f_pow, f, FX, double, pow(x, y))
ROW_FN2(f_weigh, f, FX, double, x == 0 ? 0.0 : x * y)

/* Reals to ints and bools. */
ROW_TRAP(f_floor, FX, double, double t = floor(x), fits(t), (int64_t)t)
ROW_TRAP(f_ceil, FX, double, double t = ceil(x), fits(t), (int64_t)t)
ROW_TRAP(f_round, FX, double, double t = isfinite(x) ? to_even(x) : x, fits(t), (int64_t)t)
ROW_FN2(f_eq, i, FX, double, x == y)
ROW_FN2(f_ne, i, FX, double, x != y)
ROW_FN2(f_lt, i, FX, double, x < y)
ROW_FN2(f_le, i, FX, double, x <= y)

/* Ints and bools. */
#define WITH_Y int64_t y = IX(1), t = 0
ROW_TRAP(i_neg, IX, int64_t, int64_t t = 0, !__builtin_sub_overflow((int64_t)0, x, &t), t)
ROW_TRAP(i_abs, IX, int64_t, int64_t t = x, x >= 0 || !__builtin_sub_overflow((int64_t)0, x, &t), t)
ROW_TRAP(i_add, IX, int64_t, WITH_Y, !__builtin_add_overflow(x, y, &t), t)
ROW_TRAP(i_sub, IX, int64_t, WITH_Y, !__builtin_sub_overflow(x, y, &t), t)
ROW_TRAP(i_mul, IX, int64_t, WITH_Y, !__builtin_mul_overflow(x, y, &t), t)
ROW_TRAP(i_idiv, IX, int64_t, WITH_Y, y != 0 && !(y == -1 && x == INT64_MIN),
         floor_quotient(x, y) + t)
ROW_TRAP(i_imod, IX, int64_t, WITH_Y, y != 0, y == -1 ? t : floor_rest(x, y))
ROW_FN(i_sign, i, IX, int64_t, (x > 0) - (x < 0))
ROW_FN(i_not, i, IX, int64_t, !x)
ROW_FN2(i_max, i, IX, int64_t, x > y ? x : y)
ROW_FN2(i_min, i, IX, int64_t, x < y ? x : y)
ROW_FN2(i_bitand, i, IX, int64_t, x &y)
ROW_FN2(i_eq, i, IX, int64_t, x == y)
ROW_FN2(i_ne, i, IX, int64_t, x != y)
ROW_FN2(i_lt, i, IX, int64_t, x < y)
ROW_FN2(i_le, i, IX, int64_t, x <= y)
ROW_FN2(i_and, i, IX, int64_t, x &y)
ROW_FN2(i_or, i, IX, int64_t, x | y)
ROW_FN(i_real, f, IX, int64_t, (double)x)
ROW_FN(f_select, f, IX, int64_t, x ? FX(1) : FX(2))
ROW_FN(i_select, i, IX, int64_t, x ? IX(1) : IX(2))

typedef struct elem_row {
    row_fn *real; /* where the last operand is real */
    row_fn *ints; /* where it is an int or bool */
} elem_row;

static const elem_row elem_table[OP_COUNT] = {
    [OP_neg] = {f_neg, i_neg},
    [OP_add] = {f_add, i_add},
    [OP_sub] = {f_sub, i_sub},
    [OP_mul] = {f_mul, i_mul},
    [OP_abs] = {f_abs, i_abs},
    [OP_sign] = {f_sign, i_sign},
    [OP_max] = {f_max, i_max},
    [OP_min] = {f_min, i_min},
    [OP_div] = {f_div, NULL},
    [OP_pow] = {f_pow, NULL},
    [OP_sqrt] = {f_sqrt, NULL},
    [OP_exp] = {f_exp, NULL},
    [OP_exp2] = {f_exp2, NULL},
    [OP_log] = {f_log, NULL},
    [OP_log1p] = {f_log1p, NULL},
    [OP_expm1] = {f_expm1, NULL},
    [OP_tanh] = {f_tanh, NULL},
    [OP_sigmoid] = {f_sigmoid, NULL},
    [OP_erf] = {f_erf, NULL},
    [OP_sin] = {f_sin, NULL},
    [OP_cos] = {f_cos, NULL},
    [OP_floor] = {f_floor, NULL},
    [OP_ceil] = {f_ceil, NULL},
    [OP_round] = {f_round, NULL},
    [OP_real] = {NULL, i_real},
    [OP_idiv] = {NULL, i_idiv},
    [OP_imod] = {NULL, i_imod},
    [OP_bitand] = {NULL, i_bitand},
    [OP_eq] = {f_eq, i_eq},
    [OP_ne] = {f_ne, i_ne},
    [OP_lt] = {f_lt, i_lt},
    [OP_le] = {f_le, i_le},
    [OP_and] = {NULL, i_and},
    [OP_or] = {NULL, i_or},
    [OP_not] = {NULL, i_not},
    [OP_weigh] = {f_weigh, NULL},
    [OP_select] = {f_select, i_select},
};

void run_elem(op_id op, bool real_args, row_call *c)
{
    row_fn *f = real_args ? elem_table[op].real : elem_table[op].ints;
    if (!f)
        ice("the interpreter has no %s of %s", op_table[op].text, real_args ? "reals" : "ints");
    f(c);
}
