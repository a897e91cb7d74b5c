/* interp_reduce.c: the interpreter: reductions, contractions, normalisers, and the path for large
 * values. */
#include "graph_support.h"

static fixture s;

static void setup(void)
{
    open_fixture(&s);
}

static void teardown(void)
{
    close_fixture(&s);
}

/* `op` over j of x : f64<i:2, j:3>, where j < n. */
static run over(const char *op, const char *type, const double *x, double n)
{
    const char *text =
        arena_printf(s.a,
                     "graph @g real f64 {\n  %%x = input \"x\" f64 : f64<i:2, j:3>\n"
                     "  %%n = input \"n\" i64 : i64<>\n"
                     "  %%z = %s %%x over j where j < %%n : %s<%s>\n  output \"z\" %s %%z[%s]\n}\n",
                     op, type, strncmp(op, "reduce", 6) == 0 ? "i:2" : "i:2, j:3", type,
                     strncmp(op, "reduce", 6) == 0 ? "i" : "i, j");
    double in[7];
    memcpy(in, x, 6 * sizeof *x);
    in[6] = n;
    return run_text(&s, text, NULL, in);
}

START_TEST(kinds)
{
    const double x[6] = {1, 3, 3, -2, NAN, 5};
    WANT_REALS(&over("reduce sum", "f64", x, 3).out[0], 7, NAN);
    WANT_REALS(&over("reduce sum", "f64", x, 1).out[0], 1, -2);
    WANT_REALS(&over("reduce prod", "f64", x, 3).out[0], 9, NAN);
    WANT_REALS(&over("reduce max", "f64", x, 3).out[0], 3, NAN);
    WANT_REALS(&over("reduce min", "f64", x, 3).out[0], 1, NAN);
    WANT_INTS(&over("reduce argmax", "i64", x, 3).out[0], 1, 1);
    WANT_INTS(&over("reduce argmin", "i64", x, 3).out[0], 0, 1);
    WANT_INTS(&over("reduce argmax", "i64", x, 1).out[0], 0, 0);
    WANT_REALS(&over("reduce logsumexp", "f64", x, 3).out[0], 3 + log(2 + exp(-2)), NAN);
}
END_TEST

START_TEST(over_nothing)
{
    const double x[6] = {NAN, NAN, NAN, NAN, NAN, NAN};
    WANT_REALS(&over("reduce sum", "f64", x, 0).out[0], 0, 0);
    WANT_REALS(&over("reduce prod", "f64", x, 0).out[0], 1, 1);
    WANT_REALS(&over("reduce max", "f64", x, 0).out[0], -INFINITY, -INFINITY);
    WANT_REALS(&over("reduce min", "f64", x, 0).out[0], INFINITY, INFINITY);
    WANT_REALS(&over("reduce logsumexp", "f64", x, 0).out[0], -INFINITY, -INFINITY);
    WANT_INTS(&over("reduce argmax", "i64", x, 0).out[0], 0, 0);
    WANT_REALS(&over("softmax", "f64", x, 0).out[0], 0, 0, 0, 0, 0, 0);
}
END_TEST

START_TEST(infinities)
{
    const double x[6] = {-INFINITY, -INFINITY, -INFINITY, 1, INFINITY, -INFINITY};
    WANT_REALS(&over("reduce logsumexp", "f64", x, 3).out[0], -INFINITY, INFINITY);
    WANT_REALS(&over("reduce max", "f64", x, 3).out[0], -INFINITY, INFINITY);
    WANT_INTS(&over("reduce argmax", "i64", x, 3).out[0], 0, 1);
    WANT_INTS(&over("reduce argmin", "i64", x, 3).out[0], 0, 2);
    const double large[6] = {1e308, 1e308, -1e308, -1e308, -1e308, -1e308};
    WANT_REALS(&over("softmax", "f64", large, 3).out[0], 0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3);
}
END_TEST

START_TEST(normalisers)
{
    const double x[6] = {0, log(3), NAN, 2, 2, 1};
    WANT_REALS(&over("softmax", "f64", x, 2).out[0], 0.25, 0.75, 0, 0.5, 0.5, 0);
    WANT_REALS(&over("softmax", "f64", x, 3).out[0], NAN, NAN, NAN, 1 / (2 + exp(-1)),
               1 / (2 + exp(-1)), exp(-1) / (2 + exp(-1)));
    WANT_REALS(&over("hardmax", "f64", x, 2).out[0], 0, 1, 0, 1, 0, 0);
    WANT_REALS(&over("hardmax", "f64", x, 3).out[0], NAN, NAN, NAN, 1, 0, 0);
    const double y[6] = {1, 3, NAN, 0, 0, 4};
    WANT_REALS(&over("normalize", "f64", y, 2).out[0], 0.25, 0.75, 0, 0, 0, 0);
    const double z[6] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, 1, 1};
    WANT_REALS(&over("softmax", "f64", z, 3).out[0], 0, 0, 0, 0, 0.5, 0.5);
    WANT_REALS(&over("hardmax", "f64", z, 3).out[0], 0, 0, 0, 0, 1, 0);
    WANT_REALS(&over("normalize", "f64", z, 3).out[0], 0, 0, 0, 0, 0.5, 0.5);
    const double w[6] = {INFINITY, 1, -INFINITY, 1, 2, INFINITY};
    WANT_REALS(&over("softmax", "f64", w, 3).out[0], NAN, NAN, NAN, NAN, NAN, NAN);
    WANT_REALS(&over("hardmax", "f64", w, 3).out[0], 1, 0, 0, 0, 0, 1);
}
END_TEST

START_TEST(several_indices)
{
    const char *text =
        "graph @g real f64 {\n"
        "  %x = input \"x\" f64 : f64<i:2, j:3>\n"
        "  %a = reduce argmax %x over j, i : i64<>\n"
        "  %b = reduce argmax %x over i, j : i64<>\n"
        "  %h = hardmax %x over j, i : f64<i:2, j:3>\n"
        "  %c = reduce sum %x over i, j where i + j == 2 : f64<>\n"
        "  %d = reduce count 1.0 <= %x over i, j : i64<>\n"
        "  %e = reduce any 9.0 <= %x over i, j : bool<>\n"
        "  %f = reduce all %x <= 9.0 over j : bool<i:2>\n"
        "  %g = reduce prod j + 1 over j : i64<>\n"
        "  %k = reduce max i - j over i : i64<j:3>\n"
        "  %l = reduce sum 1.5 over z:4 : f64<>\n"
        "  output \"a\" i64 %a[]\n  output \"b\" i64 %b[]\n  output \"h\" f64 %h[i, j]\n"
        "  output \"c\" f64 %c[]\n  output \"d\" i64 %d[]\n  output \"e\" bool %e[]\n"
        "  output \"f\" bool %f[i]\n  output \"g\" i64 %g[]\n  output \"k\" i64 %k[j]\n"
        "  output \"l\" f64 %l[]\n}\n";
    /* 9 stands at (0, 1) and (1, 0): which is first depends on the order of the indices */
    run r = run_text(&s, text, NULL, (double[]){0, 9, 1, 9, 2, 3});
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_INTS(&r.out[0], 1);
    WANT_INTS(&r.out[1], 1);
    WANT_REALS(&r.out[2], 0, 0, 0, 1, 0, 0);
    WANT_REALS(&r.out[3], 3);
    WANT_INTS(&r.out[4], 5);
    WANT_INTS(&r.out[5], 1);
    WANT_INTS(&r.out[6], 1, 1);
    WANT_INTS(&r.out[7], 6);
    WANT_INTS(&r.out[8], 1, 0, -1);
    WANT_REALS(&r.out[9], 6);
}
END_TEST

START_TEST(contractions)
{
    const char *text =
        "graph @g real f64 {\n"
        "  %a = input \"a\" f64 : f64<i:2, k:3>\n"
        "  %b = input \"b\" f64 : f64<k:3, j:2>\n"
        "  %c = contract %a, %b over k : f64<i:2, j:2>\n"
        "  %d = contract %a, %b over k where k <= i : f64<i:2, j:2>\n"
        "  %e = contract %a, %c over i, j : f64<k:3>\n"
        "  output \"c\" f64 %c[i, j]\n  output \"d\" f64 %d[i, j]\n  output \"e\" f64 %e[k]\n}\n";
    run r = run_text(&s, text, NULL, (double[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 4, NAN, 6});
    WANT_REALS(&r.out[0], NAN, 28, NAN, 64);
    WANT_REALS(&r.out[1], 1, 2, 19, 28);
    r = run_text(&s, text, NULL, (double[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
    WANT_REALS(&r.out[0], 22, 28, 49, 64);
    WANT_REALS(&r.out[2], 502, 665, 828);
}
END_TEST

START_TEST(int_sums_overflow)
{
    const char *text = "graph @g real f64 {\n  dims N\n"
                       "  %x = input \"x\" i64 : i64<>\n"
                       "  %s = reduce sum %x over k:N : i64<>\n  output \"s\" i64 %s[]\n}\n";
    ck_assert_int_eq(run_text(&s, text, (int64_t[]){1}, (double[]){0x1p62}).status, INTERP_OK);
    ck_assert_int_eq(run_text(&s, text, (int64_t[]){2}, (double[]){0x1p62}).status, INTERP_INT);
}
END_TEST

/* Values of more than a million elements are not stored but computed along rows; 3 of the 1200 rows
 * are checked against sums made here. Rows are longer than one piece of the interpreter. */
START_TEST(large_values)
{
    const char *text =
        "graph @g real f64 {\n  dims N, M\n"
        "  %x = input \"x\" f64 : f64<i:N>\n"
        "  %y = input \"y\" f64 : f64<j:M>\n"
        "  %a = mul %x, %y : f64<i:N, j:M>\n"
        "  %b = add %a, %y : f64<i:N, j:M>\n"
        "  %c = tanh %b : f64<i:N, j:M>\n"
        "  %d = mul %c, %b : f64<i:N, j:M>\n"
        "  %r = reduce sum %d over j where j <= i : f64<i:N>\n"
        "  %q = reduce max %c over i where j <= i : f64<j:M>\n"
        "  %p = softmax %b over j where j <= i : f64<i:N, j:M>\n"
        "  %o = weigh %p, %y : f64<i:N, j:M>\n"
        "  %s = reduce sum %o over j : f64<i:N>\n"
        "  output \"r\" f64 %r[i]\n  output \"q\" f64 %q[j]\n  output \"s\" f64 %s[i]\n}\n";
    enum { N = 1200, M = 1100 };
    double *in = ARENA_ARRAY(s.a, double, N + M);
    for (int k = 0; k < N + M; k++)
        in[k] = sin(k * 1.7);
    run r = run_text(&s, text, (int64_t[]){N, M}, in);
    ck_assert_int_eq(r.status, INTERP_OK);
    const double *x = in, *y = in + N;
    for (int i = 0; i < N; i += 599) {
        double sum = 0, top = -INFINITY, below = 0, o = 0;
        for (int j = 0; j <= i && j < M; j++) {
            double b = x[i] * y[j] + y[j];
            sum += tanh(b) * b;
            top = b > top ? b : top;
        }
        for (int j = 0; j <= i && j < M; j++) {
            double e = exp(x[i] * y[j] + y[j] - top);
            below += e;
            o += e * y[j];
        }
        ck_assert_double_eq_tol(r.out[0].f[i], sum, 1e-9);
        ck_assert_double_eq_tol(r.out[2].f[i], o / below, 1e-12);
    }
    double top = -INFINITY;
    for (int i = 3; i < N; i++)
        top = fmax(top, tanh(x[i] * y[3] + y[3]));
    ck_assert_double_eq(r.out[1].f[3], top);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp reduce");
    TCase *c = tcase_create("reduce");
    tcase_set_timeout(c, 100);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, kinds);
    tcase_add_test(c, over_nothing);
    tcase_add_test(c, infinities);
    tcase_add_test(c, normalisers);
    tcase_add_test(c, several_indices);
    tcase_add_test(c, contractions);
    tcase_add_test(c, int_sums_overflow);
    tcase_add_test(c, large_values);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
