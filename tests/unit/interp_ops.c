/* interp_ops.c: the interpreter: elementwise ops, reads, joins, traps, the entry. */
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

/* One op on %x (and %y), both f64<i:4>. */
static run real_op(const char *op, const double *numbers)
{
    bool two = strchr(op, 'Y') != NULL;
    const char *head = arena_strndup(s.a, op, two ? (size_t)(strchr(op, 'Y') - op) : strlen(op));
    const char *text = arena_printf(s.a,
                                    "graph @g real f64 {\n  %%x = input \"x\" f64 : f64<i:4>\n"
                                    "  %%y = input \"y\" f64 : f64<i:4>\n"
                                    "  %%z = %s %%x%s : f64<i:4>\n  output \"z\" f64 %%z[i]\n}\n",
                                    head, two ? ", %y" : "");
    return run_text(&s, text, NULL, numbers);
}

START_TEST(reals)
{
    const double in[8] = {2, -3, NAN, INFINITY, 0.5, 2, 1, -1};
    static const struct {
        const char *op;
        double want[4];
    } row[] = {
        {"neg", {-2, 3, NAN, -INFINITY}},
        {"abs", {2, 3, NAN, INFINITY}},
        {"sign", {1, -1, NAN, 1}},
        {"add Y", {2.5, -1, NAN, INFINITY}},
        {"sub Y", {1.5, -5, NAN, INFINITY}},
        {"mul Y", {1, -6, NAN, -INFINITY}},
        {"div Y", {4, -1.5, NAN, -INFINITY}},
        {"max Y", {2, 2, NAN, INFINITY}},
        {"min Y", {0.5, -3, NAN, -1}},
        {"pow Y", {1.4142135623730951, 9, NAN, 0}},
        {"weigh Y", {1, -6, NAN, -INFINITY}},
        {"sqrt", {1.4142135623730951, NAN, NAN, INFINITY}},
        {"exp", {7.38905609893065, 0.049787068367863944, NAN, INFINITY}},
        {"exp2", {4, 0.125, NAN, INFINITY}},
        {"log", {0.6931471805599453, NAN, NAN, INFINITY}},
        {"log1p", {1.0986122886681098, NAN, NAN, INFINITY}},
        {"expm1", {6.38905609893065, -0.950212931632136, NAN, INFINITY}},
        {"tanh", {0.9640275800758169, -0.9950547536867305, NAN, 1}},
        {"sigmoid", {0.8807970779778823, 0.04742587317756678, NAN, 1}},
        {"erf", {0.9953222650189527, -0.9999779095030014, NAN, 1}},
        {"sin", {0.9092974268256817, -0.1411200080598672, NAN, NAN}},
        {"cos", {-0.4161468365471424, -0.9899924966004454, NAN, NAN}},
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        run r = real_op(row[k].op, in);
        ck_assert_int_eq(r.status, INTERP_OK);
        want_reals(&r.out[0], 4, row[k].want, 1e-14);
    }
    const double zeros[8] = {0, -0.0, 0, 0, NAN, INFINITY, -INFINITY, 7};
    WANT_REALS(&real_op("weigh Y", zeros).out[0], 0, 0, 0, 0);
    const double low[8] = {-INFINITY, -800, 800, 0};
    WANT_REALS(&real_op("sigmoid", low).out[0], 0, 0, 1, 0.5);
    WANT_REALS(&real_op("exp", low).out[0], 0, 0, INFINITY, 1);
}
END_TEST

/* `op x, y` of ints. */
static run int_op(const char *op, int n_args, const char *where, double x, double y)
{
    const char *text = arena_printf(s.a,
                                    "graph @g real f64 {\n  %%x = input \"x\" i64 : i64<>\n"
                                    "  %%y = input \"y\" i64 : i64<>\n"
                                    "  %%z = %s %%x%s%s : i64<>\n  output \"z\" i64 %%z[]\n}\n",
                                    op, n_args > 1 ? ", %y" : "", where);
    const double in[2] = {x, y};
    return run_text(&s, text, NULL, in);
}

START_TEST(ints)
{
    WANT_INTS(&int_op("add", 2, "", 2, 3).out[0], 5);
    WANT_INTS(&int_op("sub", 2, "", 2, 3).out[0], -1);
    WANT_INTS(&int_op("mul", 2, "", -2, 3).out[0], -6);
    WANT_INTS(&int_op("idiv", 2, "", -7, 2).out[0], -4);
    WANT_INTS(&int_op("idiv", 2, "", 7, -2).out[0], -4);
    WANT_INTS(&int_op("imod", 2, "", -7, 2).out[0], 1);
    WANT_INTS(&int_op("imod", 2, "", 7, -2).out[0], -1);
    WANT_INTS(&int_op("imod", 2, "", -0x1p63, -1).out[0], 0);
    WANT_INTS(&int_op("imod", 2, "", 0x1.fffffffffffffp62, -3).out[0], -2);
    WANT_INTS(&int_op("idiv", 2, "", 0x1.fffffffffffffp62, -3).out[0], -3074457345618258262);
    WANT_INTS(&int_op("max", 2, "", 2, 3).out[0], 3);
    WANT_INTS(&int_op("min", 2, "", 2, 3).out[0], 2);
    WANT_INTS(&int_op("bitand", 2, "", 6, 3).out[0], 2);
    WANT_INTS(&int_op("neg", 1, "", 6, 3).out[0], -6);
    WANT_INTS(&int_op("abs", 1, "", -6, 3).out[0], 6);
    WANT_INTS(&int_op("sign", 1, "", -6, 3).out[0], -1);
}
END_TEST

START_TEST(int_traps)
{
    static const struct {
        const char *op;
        int n;
        double x, y;
    } row[] = {
        {"idiv", 2, 1, 0},      {"imod", 2, 1, 0},          {"idiv", 2, -0x1p63, -1},
        {"neg", 1, -0x1p63, 0}, {"abs", 1, -0x1p63, 0},     {"add", 2, 0x1p62, 0x1p62},
        {"sub", 2, -0x1p63, 1}, {"mul", 2, 0x1p40, 0x1p40},
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        run r = int_op(row[k].op, row[k].n, "", row[k].x, row[k].y);
        ck_assert_int_eq(r.status, INTERP_INT);
        ck_assert_ptr_nonnull(strstr(r.message, row[k].op));
        r = int_op(row[k].op, row[k].n, " where %x == 77", row[k].x, row[k].y);
        ck_assert_int_eq(r.status, INTERP_OK);
        WANT_INTS(&r.out[0], 0);
    }
}
END_TEST

static run to_int(const char *op, double x)
{
    const char *text = arena_printf(s.a,
                                    "graph @g real f64 {\n  %%x = input \"x\" f64 : f64<>\n"
                                    "  %%z = %s %%x : i64<>\n  output \"z\" i64 %%z[]\n}\n",
                                    op);
    return run_text(&s, text, NULL, &x);
}

START_TEST(reals_to_ints)
{
    WANT_INTS(&to_int("floor", -1.5).out[0], -2);
    WANT_INTS(&to_int("ceil", -1.5).out[0], -1);
    WANT_INTS(&to_int("round", 2.5).out[0], 2);
    WANT_INTS(&to_int("round", 3.5).out[0], 4);
    WANT_INTS(&to_int("round", -0.5).out[0], 0);
    WANT_INTS(&to_int("round", -1.5).out[0], -2);
    WANT_INTS(&to_int("floor", -0x1p63).out[0], INT64_MIN);
    ck_assert_int_eq(to_int("floor", NAN).status, INTERP_INT);
    ck_assert_int_eq(to_int("ceil", INFINITY).status, INTERP_INT);
    ck_assert_int_eq(to_int("round", 0x1p63).status, INTERP_INT);
}
END_TEST

START_TEST(comparisons_and_bools)
{
    const char *text =
        "graph @g real f64 {\n"
        "  %x = input \"x\" f64 : f64<i:3>\n"
        "  %a = eq %x, 1.0 : bool<i:3>\n"
        "  %b = ne %x, 1.0 : bool<i:3>\n"
        "  %c = lt %x, 1.0 : bool<i:3>\n"
        "  %d = le %x, 1.0 : bool<i:3>\n"
        "  %e = and %b, %c : bool<i:3>\n"
        "  %f = or %a, %c : bool<i:3>\n"
        "  %h = not %d : bool<i:3>\n"
        "  %k = select %h, %x, 5.0 : f64<i:3>\n"
        "  %l = real i : f64<i:3>\n"
        "  output \"a\" bool %a[i]\n  output \"b\" bool %b[i]\n  output \"c\" bool %c[i]\n"
        "  output \"d\" bool %d[i]\n  output \"e\" bool %e[i]\n  output \"f\" bool %f[i]\n"
        "  output \"h\" bool %h[i]\n  output \"k\" f64 %k[i]\n  output \"l\" f64 %l[i]\n}\n";
    run r = run_text(&s, text, NULL, (double[]){1, NAN, 0});
    WANT_INTS(&r.out[0], 1, 0, 0);
    WANT_INTS(&r.out[1], 0, 1, 1);
    WANT_INTS(&r.out[2], 0, 0, 1);
    WANT_INTS(&r.out[3], 1, 0, 1);
    WANT_INTS(&r.out[4], 0, 0, 1);
    WANT_INTS(&r.out[5], 1, 0, 1);
    WANT_INTS(&r.out[6], 0, 1, 0);
    WANT_REALS(&r.out[7], 5, NAN, 5);
    WANT_REALS(&r.out[8], 0, 1, 2);
}
END_TEST

START_TEST(reads)
{
    const char *text = "graph @g real f64 {\n"
                       "  dims T, E\n"
                       "  %x = input \"x\" f64 : f64<t:T, e:E>\n"
                       "  %id = input \"id\" i64 : i64<k:4>\n"
                       "  %a = read %x[r, c] : f64<r:E, c:T> ; would be out of range if E > T\n"
                       "  %shift = read %x[t - 1, e] where 1 <= t : f64<t:T, e:E>\n"
                       "  %take = read %x[%id, e] : f64<k:4, e:E>\n"
                       "  %diag = read %x[d, d] : f64<d:E>\n"
                       "  output \"shift\" f64 %shift[t, e]\n"
                       "  output \"take\" f64 %take[k, e]\n"
                       "  output \"transposed\" f64 %x[e, t]\n"
                       "  output \"diag\" f64 %diag[d]\n"
                       "  output \"repeated\" f64 %diag[z:2, d]\n}\n";
    const double in[] = {1, 2, 3, 4, 5, 6, 2, 0, 0, 1};
    run r = run_text(&s, text, (int64_t[]){3, 2}, in);
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_REALS(&r.out[0], 0, 0, 1, 2, 3, 4);
    WANT_REALS(&r.out[1], 5, 6, 1, 2, 1, 2, 3, 4);
    WANT_REALS(&r.out[2], 1, 3, 5, 2, 4, 6);
    WANT_REALS(&r.out[3], 1, 4);
    WANT_REALS(&r.out[4], 1, 4, 1, 4);
    const double outside[] = {1, 2, 3, 4, 5, 6, 2, 3, 0, 1};
    r = run_text(&s, text, (int64_t[]){3, 2}, outside);
    ck_assert_int_eq(r.status, INTERP_INDEX);
    ck_assert_str_eq(r.message, "index 3 is outside the extent 3 of index t of %x");
}
END_TEST

/* A trap in an element that nobody counts has no effect: excluded by a sum, or not read. */
START_TEST(excluded_traps)
{
    const char *text =
        "graph @g real f64 {\n"
        "  %x = input \"x\" f64 : f64<i:3>\n"
        "  %q = idiv 6, i : i64<i:3>\n"
        "  %far = read %x[i + 1] : f64<i:3>\n"
        "  %s = reduce sum %q over i where 1 <= i : i64<>\n"
        "  %f = reduce sum %far over i where i < 2 : f64<>\n"
        "  %p = softmax %far over i where i < 2 : f64<i:3>\n"
        "  %w = weigh %p, %x : f64<i:3>\n"
        "  output \"s\" i64 %s[]\n  output \"f\" f64 %f[]\n  output \"w\" f64 %w[i]\n}\n";
    run r = run_text(&s, text, NULL, (double[]){1, 2, 2});
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_INTS(&r.out[0], 9);
    WANT_REALS(&r.out[1], 4);
    WANT_REALS(&r.out[2], 0.5, 1, 0);
    const char *live = "graph @g real f64 {\n"
                       "  %q = idiv 6, i : i64<i:3>\n"
                       "  %c = select i == 0, 1, %q : i64<i:3>\n"
                       "  %s = reduce max %c over i : i64<>\n"
                       "  output \"s\" i64 %s[]\n}\n";
    ck_assert_int_eq(run_text(&s, live, NULL, NULL).status, INTERP_INT);
}
END_TEST

START_TEST(joins)
{
    const char *text = "graph @g real f64 {\n"
                       "  dims A, B\n"
                       "  %x = input \"x\" f64 : f64<a:A>\n"
                       "  %y = input \"y\" f64 : f64<b:B, t:2>\n"
                       "  %j = join m of (a %x), (z:1 9.0), (b %y) : f64<m:A + B + 1, t:2>\n"
                       "  output \"j\" f64 %j[m, t]\n}\n";
    run r = run_text(&s, text, (int64_t[]){1, 2}, (double[]){1, 2, 3, 4, 5});
    WANT_REALS(&r.out[0], 1, 1, 9, 9, 2, 3, 4, 5);
    r = run_text(&s, text, (int64_t[]){0, 0}, NULL);
    WANT_REALS(&r.out[0], 9, 9);
}
END_TEST

START_TEST(optional_inputs)
{
    const char *text = "graph @g real f64 {\n"
                       "  dims T\n"
                       "  %n = input \"n\" i64 optional : i64<>\n"
                       "  %x = input \"x\" f64 : f64<t:T>\n"
                       "  %1 = given %n : bool<>\n"
                       "  %2 = read %n[] where %1 : i64<>\n"
                       "  %3 = select %1, %2, T : i64<>\n"
                       "  %4 = reduce sum %x over t where t < %3 : f64<>\n"
                       "  output \"y\" f64 %4[]\n}\n";
    graph *g = read_one(&s, text);
    run r = run_graph(&s, g, (int64_t[]){3}, (double[]){2, 1, 2, 4}, NULL);
    WANT_REALS(&r.out[0], 3);
    r = run_graph(&s, g, (int64_t[]){3}, (double[]){1, 2, 4}, "n");
    WANT_REALS(&r.out[0], 7);
}
END_TEST

START_TEST(entry_checks)
{
    const char *text = "graph @g real f64 {\n  dims T, S\n"
                       "  check 2*T == S \"x and y differ\"\n"
                       "  %x = input \"x\" f64 : f64<t:T>\n"
                       "  %h = input \"h\" f64 : f64<h:(S / 2)>\n"
                       "  output \"y\" f64 %x[t]\n  output \"z\" f64 %h[h]\n}\n";
    run r = run_text(&s, text, (int64_t[]){2, 4}, (double[]){1, 2, 3, 4});
    ck_assert_int_eq(r.status, INTERP_OK);
    graph *g = read_one(&s, text);
    interp_tensor none[2] = {{0}};
    interp_tensor out[2];
    const char *message = NULL;
    ck_assert_int_eq(interp_run(s.a, g, (int64_t[]){2, 3}, none, NULL, out, &message), INTERP_DIM);
    ck_assert_str_eq(message, "x and y differ: 2*T is 4, S is 3");
    ck_assert_int_eq(interp_run(s.a, g, (int64_t[]){-2, 3}, none, NULL, out, &message), INTERP_DIM);
    ck_assert_int_eq(interp_run(s.a, g, (int64_t[]){2, 4}, none, NULL, out, &message), INTERP_DIM);
    ck_assert_ptr_nonnull(strstr(message, "shape"));
}
END_TEST

START_TEST(nothing_at_all)
{
    const char *text =
        "graph @g real f64 {\n  dims T\n"
        "  %x = input \"x\" f64 : f64<t:T, e:2>\n"
        "  %1 = softmax %x over t : f64<t:T, e:2>\n"
        "  %2 = contract %1, %x over t : f64<e:2>\n"
        "  %3 = read %x[t, 7] : f64<t:T>\n"
        "  output \"a\" f64 %1[t, e]\n  output \"b\" f64 %2[e]\n  output \"c\" f64 %3[t]\n}\n";
    run r = run_text(&s, text, (int64_t[]){0}, NULL);
    ck_assert_int_eq(r.status, INTERP_OK);
    want_reals(&r.out[0], 0, NULL, 0);
    WANT_REALS(&r.out[1], 0, 0);
    want_reals(&r.out[2], 0, NULL, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp ops");
    TCase *c = tcase_create("ops");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, reals);
    tcase_add_test(c, ints);
    tcase_add_test(c, int_traps);
    tcase_add_test(c, reals_to_ints);
    tcase_add_test(c, comparisons_and_bools);
    tcase_add_test(c, reads);
    tcase_add_test(c, excluded_traps);
    tcase_add_test(c, joins);
    tcase_add_test(c, optional_inputs);
    tcase_add_test(c, entry_checks);
    tcase_add_test(c, nothing_at_all);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
