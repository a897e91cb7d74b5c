/* backend_ops.c: every elementwise operation on every type against C, NaN, infinities and -0
 * included. */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* ---- Reals
 * --------------------------------------------------------------------------------------- */

/* Results of f64 arguments; for f32 they are rounded once, which is right for all rows with
 * tolerance 0. */
typedef struct real_op {
    const char *expr; /* of x and z */
    double (*ref)(double x, double z);
    double tolerance; /* relative */
} real_op;

static double r_neg(double x, double z)
{
    (void)z;
    return -x;
}
static double r_add(double x, double z)
{
    return x + z;
}
static double r_sub(double x, double z)
{
    return x - z;
}
static double r_mul(double x, double z)
{
    return x * z;
}
static double r_div(double x, double z)
{
    return x / z;
}
static double r_abs(double x, double z)
{
    (void)z;
    return fabs(x);
}
static double r_sign(double x, double z)
{
    (void)z;
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double r_max(double x, double z)
{
    return isnan(x) || isnan(z) ? NAN : x > z ? x : z;
}
static double r_min(double x, double z)
{
    return isnan(x) || isnan(z) ? NAN : x < z ? x : z;
}
static double r_sqrt(double x, double z)
{
    (void)z;
    return sqrt(x);
}
static double r_weigh(double x, double z)
{
    return x == 0 ? 0 : x * z;
}
static double r_exp(double x, double z)
{
    (void)z;
    return exp(x);
}
static double r_exp2(double x, double z)
{
    (void)z;
    return exp2(x);
}
static double r_log(double x, double z)
{
    (void)z;
    return log(x);
}
static double r_log1p(double x, double z)
{
    (void)z;
    return log1p(x);
}
static double r_expm1(double x, double z)
{
    (void)z;
    return expm1(x);
}
static double r_tanh(double x, double z)
{
    (void)z;
    return tanh(x);
}
static double r_sigmoid(double x, double z)
{
    (void)z;
    return 1 / (1 + exp(-x));
}
static double r_erf(double x, double z)
{
    (void)z;
    return erf(x);
}
static double r_sin(double x, double z)
{
    (void)z;
    return sin(x);
}
static double r_cos(double x, double z)
{
    (void)z;
    return cos(x);
}
static double r_select(double x, double z)
{
    return x < z ? x : z;
}
static double r_square(double x, double z)
{
    (void)z;
    return x * x;
}
static double r_root(double x, double z)
{
    (void)z;
    return pow(x, 0.5);
}
static double r_inverse(double x, double z)
{
    (void)z;
    return 1 / x;
}
static double r_eq(double x, double z)
{
    return x == z;
}
static double r_ne(double x, double z)
{
    return x != z;
}
static double r_lt(double x, double z)
{
    return x < z;
}
static double r_le(double x, double z)
{
    return x <= z;
}

static const real_op real_ops[] = {
    {"neg(x[i])", r_neg, 0},
    {"add(x[i], z[j])", r_add, 0},
    {"sub(x[i], z[j])", r_sub, 0},
    {"mul(x[i], z[j])", r_mul, 0},
    {"div(x[i], z[j])", r_div, 0},
    {"abs(x[i])", r_abs, 0},
    {"sign(x[i])", r_sign, 0},
    {"max(x[i], z[j])", r_max, 0},
    {"min(x[i], z[j])", r_min, 0},
    {"sqrt(x[i])", r_sqrt, 0},
    {"weigh(x[i], z[j])", r_weigh, 0},
    {"exp(x[i])", r_exp, 4},
    {"exp2(x[i])", r_exp2, 4},
    {"log(x[i])", r_log, 4},
    {"log1p(x[i])", r_log1p, 4},
    {"expm1(x[i])", r_expm1, 4},
    {"tanh(x[i])", r_tanh, 4},
    {"sigmoid(x[i])", r_sigmoid, 4},
    {"erf(x[i])", r_erf, 4},
    {"sin(x[i])", r_sin, 4},
    {"cos(x[i])", r_cos, 4},
    {"pow(x[i], z[j])", pow, 4},
    {"pow(x[i], 2.0)", r_square, 0},
    {"pow(x[i], real(2))", r_square, 0},
    {"pow(x[i], 0.5)", r_root, 0},
    {"pow(x[i], -1.0)", r_inverse, 0},
    {"select(lt(x[i], z[j]), x[i], z[j])", r_select, 0},
    {"select(eq(x[i], z[j]), 1.0, 0.0)", r_eq, 0},
    {"select(ne(x[i], z[j]), 1.0, 0.0)", r_ne, 0},
    {"select(lt(x[i], z[j]), 1.0, 0.0)", r_lt, 0},
    {"select(le(x[i], z[j]), 1.0, 0.0)", r_le, 0},
    {"select(not(or(lt(x[i], z[j]), eq(x[i], z[j]))), 0.0, 1.0)", r_le, 0},
    {"select(and(le(x[i], z[j]), ne(x[i], z[j])), 1.0, 0.0)", r_lt, 0},
};
enum { N_REAL_OPS = sizeof real_ops / sizeof real_ops[0] };

static const double reals[] = {0.0,      -0.0,      1.0,  -1.0,  0.5,   -0.5,     2.0,   -2.0,
                               3.0,      1.5,       -1.5, 0.1,   -0.1,  1e-6,     10.0,  -10.0,
                               80.0,     -80.0,     1e30, -1e30, 1e-30, 7.0,      100.0, 1e5,
                               INFINITY, -INFINITY, NAN,  1e-40, 0.25,  12345.678};
enum { N_REALS = sizeof reals / sizeof reals[0] };

static bool agree(double got, double want, double tolerance)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (got == want)
        return true;
    if (tolerance == 0 || isinf(want) || isinf(got))
        return false;
    return fabs(got - want) <= tolerance * fabs(want) ||
           (fabs(want) < 0x1p-126 && fabs(got) < 0x1p-126);
}

static const char *real_kernel(arena *a, const char *real, const char *expr)
{
    return arena_printf(
        a,
        "kernel @f real %s {\n  dims N\n  buffer x : input %s[N] \"x\"\n"
        "  buffer z : input %s[N] \"z\"\n  buffer y : output %s[N, N] \"y\"\n"
        "  for i in 0 .. N {\n    for j in 0 .. N {\n      y[i, j] = %s\n    }\n  }\n}\n",
        real, real, real, real, expr);
}

START_TEST(real_f32)
{
    const real_op *op = &real_ops[_i];
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "f", real_kernel(b.a, "f32", op->expr));
    float x[N_REALS], y[N_REALS * N_REALS];
    for (int i = 0; i < N_REALS; i++)
        x[i] = (float)reals[i];
    const void *in[] = {x, x};
    void *out[] = {y};
    int64_t n = N_REALS;
    ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
    for (int i = 0; i < N_REALS; i++)
        for (int j = 0; j < N_REALS; j++) {
            float want = (float)op->ref((double)x[i], (double)x[j]), got = y[i * N_REALS + j];
            ck_assert_msg(agree((double)got, (double)want, op->tolerance * 0x1p-24),
                          "%s of %a, %a is %a, not %a", op->expr, (double)x[i], (double)x[j],
                          (double)got, (double)want);
        }
    bench_done(&b);
}
END_TEST

START_TEST(real_f64)
{
    const real_op *op = &real_ops[_i];
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "f", real_kernel(b.a, "f64", op->expr));
    double y[N_REALS * N_REALS];
    const void *in[] = {reals, reals};
    void *out[] = {y};
    int64_t n = N_REALS;
    ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
    for (int i = 0; i < N_REALS; i++)
        for (int j = 0; j < N_REALS; j++) {
            double want = op->ref(reals[i], reals[j]), got = y[i * N_REALS + j];
            ck_assert_msg(agree(got, want, op->tolerance * 0x1p-53), "%s of %a, %a is %a, not %a",
                          op->expr, reals[i], reals[j], got, want);
        }
    bench_done(&b);
}
END_TEST

/* ---- Ints
 * ---------------------------------------------------------------------------------------- */

typedef struct int_op {
    const char *expr;
    int64_t (*ref)(int64_t x, int64_t z);
} int_op;

static int64_t wrap(uint64_t u)
{
    return (int64_t)u;
}
static int64_t i_neg(int64_t x, int64_t z)
{
    (void)z;
    return wrap(0 - (uint64_t)x);
}
static int64_t i_add(int64_t x, int64_t z)
{
    return wrap((uint64_t)x + (uint64_t)z);
}
static int64_t i_sub(int64_t x, int64_t z)
{
    return wrap((uint64_t)x - (uint64_t)z);
}
static int64_t i_mul(int64_t x, int64_t z)
{
    return wrap((uint64_t)x * (uint64_t)z);
}
static int64_t i_abs(int64_t x, int64_t z)
{
    (void)z;
    return x < 0 ? wrap(0 - (uint64_t)x) : x;
}
static int64_t i_sign(int64_t x, int64_t z)
{
    (void)z;
    return (x > 0) - (x < 0);
}
static int64_t i_max(int64_t x, int64_t z)
{
    return x > z ? x : z;
}
static int64_t i_min(int64_t x, int64_t z)
{
    return x < z ? x : z;
}
static int64_t i_and(int64_t x, int64_t z)
{
    return x & z;
}
static bool undefined(int64_t x, int64_t z)
{
    return z == 0 || (x == INT64_MIN && z == -1);
}
static int64_t i_div(int64_t x, int64_t z)
{
    if (undefined(x, z))
        return 77;
    return x / z - (x % z != 0 && (x % z < 0) != (z < 0));
}
static int64_t i_mod(int64_t x, int64_t z)
{
    if (undefined(x, z))
        return 77;
    return x % z + (x % z != 0 && (x % z < 0) != (z < 0) ? z : 0);
}
static int64_t i_div4(int64_t x, int64_t z)
{
    (void)z;
    return i_div(x, 4);
}
static int64_t i_mod4(int64_t x, int64_t z)
{
    (void)z;
    return i_mod(x, 4);
}
static int64_t i_div7(int64_t x, int64_t z)
{
    (void)z;
    return i_div(x, 7);
}
static int64_t i_mod_7(int64_t x, int64_t z)
{
    (void)z;
    return i_mod(x, -7);
}
static int64_t i_eq(int64_t x, int64_t z)
{
    return x == z;
}
static int64_t i_ne(int64_t x, int64_t z)
{
    return x != z;
}
static int64_t i_lt(int64_t x, int64_t z)
{
    return x < z;
}
static int64_t i_le(int64_t x, int64_t z)
{
    return x <= z;
}
static int64_t over_add(int64_t x, int64_t z)
{
    int64_t r;
    return __builtin_add_overflow(x, z, &r);
}
static int64_t over_sub(int64_t x, int64_t z)
{
    int64_t r;
    return __builtin_sub_overflow(x, z, &r);
}
static int64_t over_mul(int64_t x, int64_t z)
{
    int64_t r;
    return __builtin_mul_overflow(x, z, &r);
}
static int64_t over_neg(int64_t x, int64_t z)
{
    (void)z;
    return x == INT64_MIN;
}

#define GUARD "or(eq(z[j], 0), and(eq(x[i], -9223372036854775808), eq(z[j], -1)))"
static const int_op int_ops[] = {
    {"neg(x[i])", i_neg},
    {"add(x[i], z[j])", i_add},
    {"sub(x[i], z[j])", i_sub},
    {"mul(x[i], z[j])", i_mul},
    {"abs(x[i])", i_abs},
    {"sign(x[i])", i_sign},
    {"max(x[i], z[j])", i_max},
    {"min(x[i], z[j])", i_min},
    {"bitand(x[i], z[j])", i_and},
    {"select(" GUARD ", 77, idiv(x[i], z[j]))", i_div},
    {"select(" GUARD ", 77, imod(x[i], z[j]))", i_mod},
    {"idiv(x[i], 4)", i_div4},
    {"imod(x[i], 4)", i_mod4},
    {"idiv(x[i], 7)", i_div7},
    {"imod(x[i], -7)", i_mod_7},
    {"select(eq(x[i], z[j]), 1, 0)", i_eq},
    {"select(ne(x[i], z[j]), 1, 0)", i_ne},
    {"select(lt(x[i], z[j]), 1, 0)", i_lt},
    {"select(le(x[i], z[j]), 1, 0)", i_le},
    {"select(overflows.add(x[i], z[j]), 1, 0)", over_add},
    {"select(overflows.sub(x[i], z[j]), 1, 0)", over_sub},
    {"select(overflows.mul(x[i], z[j]), 1, 0)", over_mul},
    {"select(overflows.neg(x[i]), 1, 0)", over_neg},
    {"select(overflows.abs(x[i]), 1, 0)", over_neg},
};
enum { N_INT_OPS = sizeof int_ops / sizeof int_ops[0] };

START_TEST(ints)
{
    static const int64_t v[] = {0,
                                1,
                                -1,
                                2,
                                -2,
                                3,
                                -3,
                                4,
                                5,
                                -5,
                                7,
                                -7,
                                8,
                                -8,
                                12345,
                                -12345678,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                INT64_C(1) << 32,
                                INT64_C(3037000500)};
    enum { N = sizeof v / sizeof v[0] };
    const int_op *op = &int_ops[_i];
    bench b;
    bench_init(&b);
    const char *text = arena_printf(
        b.a,
        "kernel @f real f32 {\n  dims N\n  buffer x : input i64[N] \"x\"\n  buffer z : input "
        "i64[N] \"z\"\n"
        "  buffer y : output i64[N, N] \"y\"\n  for i in 0 .. N {\n    for j in 0 .. N {\n"
        "      y[i, j] = %s\n    }\n  }\n}\n",
        op->expr);
    backend_entry e = bench_run(&b, "f", text);
    int64_t y[N * N], n = N;
    const void *in[] = {v, v};
    void *out[] = {y};
    ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            ck_assert_msg(y[i * N + j] == op->ref(v[i], v[j]), "%s of %lld, %lld is %lld, not %lld",
                          op->expr, (long long)v[i], (long long)v[j], (long long)y[i * N + j],
                          (long long)op->ref(v[i], v[j]));
    bench_done(&b);
}
END_TEST

START_TEST(rounding)
{
    static const double v[] = {0.0,
                               -0.0,
                               0.5,
                               -0.5,
                               1.5,
                               -1.5,
                               2.5,
                               -2.5,
                               0.49999999,
                               -0.49999999,
                               3.7,
                               -3.7,
                               1e15,
                               -1e15,
                               4503599627370497.5,
                               -4503599627370497.5,
                               7,
                               -7};
    enum { N = sizeof v / sizeof v[0] };
    bench b;
    bench_init(&b);
    for (int wide = 0; wide < 2; wide++)
        bench_kernel(
            &b, arena_printf(b.a,
                             "kernel @f%d real %s {\n  dims N\n  buffer x : input %s[N] \"x\"\n"
                             "  buffer y : output i64[N, 4] \"y\"\n  for i in 0 .. N {\n"
                             "    y[i, 0] = floor(x[i])\n    y[i, 1] = ceil(x[i])\n"
                             "    y[i, 2] = round(x[i])\n    y[i, 3] = round(real(round(x[i])))\n"
                             "  }\n}\n",
                             wide, wide ? "f64" : "f32", wide ? "f64" : "f32"));
    bench_compile(&b, NULL);
    for (int wide = 0; wide < 2; wide++) {
        backend_entry e = bench_entry(&b, wide ? "f1" : "f0");
        float f[N];
        for (int i = 0; i < N; i++)
            f[i] = (float)v[i];
        int64_t y[N][4], n = N;
        const void *in[] = {wide ? (const void *)v : f};
        void *out[] = {y};
        ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
        for (int i = 0; i < N; i++) {
            double x = wide ? v[i] : (double)f[i];
            ck_assert_int_eq(y[i][0], (int64_t)floor(x));
            ck_assert_int_eq(y[i][1], (int64_t)ceil(x));
            ck_assert_int_eq(y[i][2], (int64_t)nearbyint(x));
            ck_assert_int_eq(y[i][3], (int64_t)nearbyint(x));
        }
    }
    bench_done(&b);
}
END_TEST

START_TEST(bools)
{
    bench b;
    bench_init(&b);
    backend_entry e =
        bench_run(&b, "f",
                  "kernel @f real f32 {\n  dims N\n  buffer x : input bool[N] \"x\"\n"
                  "  buffer z : input bool[N] \"z\"\n  buffer y : output bool[N, 7] \"y\"\n"
                  "  for i in 0 .. N {\n    y[i, 0] = and(x[i], z[i])\n"
                  "    y[i, 1] = or(x[i], z[i])\n    y[i, 2] = not(x[i])\n"
                  "    y[i, 3] = eq(x[i], z[i])\n    y[i, 4] = ne(x[i], z[i])\n"
                  "    y[i, 5] = lt(x[i], z[i])\n    y[i, 6] = le(x[i], z[i])\n  }\n}\n");
    /* Any byte but 0 is true; what is stored is 0 or 1. */
    const uint8_t x[] = {0, 0, 1, 1, 7}, z[] = {0, 1, 0, 1, 1};
    uint8_t y[5][7];
    int64_t n = 5;
    const void *in[] = {x, z};
    void *out[] = {y};
    ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
    for (int i = 0; i < 5; i++) {
        int p = x[i] != 0, q = z[i] != 0;
        const int want[7] = {p && q, p || q, !p, p == q, p != q, p < q, p <= q};
        for (int j = 0; j < 7; j++)
            ck_assert_int_eq(y[i][j], want[j]);
    }
    bench_done(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_ops");
    TCase *t = tcase_create("ops");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, real_f32, 0, N_REAL_OPS);
    tcase_add_loop_test(t, real_f64, 0, N_REAL_OPS);
    tcase_add_loop_test(t, ints, 0, N_INT_OPS);
    tcase_add_test(t, rounding);
    tcase_add_test(t, bools);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
