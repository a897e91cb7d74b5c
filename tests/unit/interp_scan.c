/* interp_scan.c: the interpreter: recurrences, forwards, backwards, nested; what was not written;
 * memory. */
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

/* y[t] = x[t] + y[t-1] / 2 (or t+1, backwards). */
static const char *filter(fixture *f, const char *way, const char *before, const char *where)
{
    return arena_printf(f->a,
                        "graph @g real f64 {\n  dims B, T\n"
                        "  %%x = input \"x\" f64 : f64<b:B, t:T>\n"
                        "  %%s = scan #0 t%s {\n"
                        "    %%y.0 = history #0 0 \"y\" rows i : f64<b:B, i:T>\n"
                        "    %%1 = read %%y.0[b, %s]%s : f64<b:B, t:T>\n"
                        "    %%2 = mul %%1, 0.5 : f64<b:B, t:T>\n"
                        "    %%3 = add %%2, %%x : f64<b:B, t:T>\n"
                        "    %%y.1 = append %%y.0, %%3 at t : f64<b:B, i:T>\n"
                        "    yield %%y.1\n  }\n"
                        "  %%y = result %%s 0 : f64<b:B, i:T>\n  output \"y\" f64 %%y[b, i]\n}\n",
                        way, before, where);
}

START_TEST(forwards_and_backwards)
{
    const double x[6] = {1, 2, 4, 8, 0, 2};
    run r = run_text(&s, filter(&s, "", "t - 1", " where 1 <= t"), (int64_t[]){2, 3}, x);
    WANT_REALS(&r.out[0], 1, 2.5, 5.25, 8, 4, 4);
    r = run_text(&s, filter(&s, " backward", "t + 1", " where t < T - 1"), (int64_t[]){2, 3}, x);
    WANT_REALS(&r.out[0], 3, 4, 4, 8.5, 1, 2);
    r = run_text(&s, filter(&s, "", "t - 1", " where 1 <= t"), (int64_t[]){2, 0}, x);
    ck_assert_int_eq(r.status, INTERP_OK);
    want_reals(&r.out[0], 0, NULL, 0);
}
END_TEST

/* y[t] = t + 1 + sum of the rows where the predicate holds, in ints. */
static const char *int_sum(fixture *f, const char *where)
{
    return arena_printf(f->a,
                        "graph @g real f64 {\n  dims T\n"
                        "  %%s = scan #0 t:T {\n"
                        "    %%y.0 = history #0 0 \"y\" rows i : i64<i:T>\n"
                        "    %%c = reduce sum %%y.0 over i where %s : i64<t:T>\n"
                        "    %%1 = add %%c, t + 1 : i64<t:T>\n"
                        "    %%y.1 = append %%y.0, %%1 at t : i64<i:T>\n"
                        "    yield %%y.1\n  }\n"
                        "  %%y = result %%s 0 : i64<i:T>\n  output \"y\" i64 %%y[i]\n}\n",
                        where);
}

START_TEST(rows_not_written)
{
    const double x[3] = {1, 2, 4};
    run r = run_text(&s, filter(&s, "", "t", ""), (int64_t[]){1, 3}, x);
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_REALS(&r.out[0], NAN, NAN, NAN);
    r = run_text(&s, filter(&s, "", "t - 1", ""), (int64_t[]){1, 3}, x);
    ck_assert_int_eq(r.status, INTERP_INDEX);
    ck_assert_ptr_nonnull(strstr(r.message, "index -1"));
    r = run_text(&s, int_sum(&s, "i < t"), (int64_t[]){4}, NULL);
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_INTS(&r.out[0], 1, 3, 7, 15);
    r = run_text(&s, int_sum(&s, "i <= t"), (int64_t[]){4}, NULL);
    ck_assert_int_eq(r.status, INTERP_INDEX);
    ck_assert_ptr_nonnull(strstr(r.message, "internal error"));
}
END_TEST

/* An outer state steps over t; each step runs an inner recurrence over s that starts from it. */
static const char *const nested = "graph @g real f64 {\n  dims T, S\n"
                                  "  %x = input \"x\" f64 : f64<t:T, s:S>\n"
                                  "  %o = scan #0 t {\n"
                                  "    %h.0 = history #0 0 \"h\" rows i : f64<i:T>\n"
                                  "    %1 = read %h.0[t - 1] where 1 <= t : f64<t:T>\n"
                                  "    %n = scan #1 s backward {\n"
                                  "      %g.0 = history #1 0 \"g\" rows j : f64<t:T, j:S>\n"
                                  "      %2 = read %g.0[t, s + 1] where s < S - 1 : f64<t:T, s:S>\n"
                                  "      %3 = select s == S - 1, %1, %2 : f64<s:S, t:T>\n"
                                  "      %4 = add %3, %x : f64<s:S, t:T>\n"
                                  "      %g.1 = append %g.0, %4 at s : f64<t:T, j:S>\n"
                                  "      yield %g.1\n"
                                  "    }\n"
                                  "    %5 = result %n 0 : f64<t:T, j:S>\n"
                                  "    %6 = read %5[t, 0] : f64<t:T>\n"
                                  "    %7 = mul %6, 2.0 : f64<t:T>\n"
                                  "    %h.1 = append %h.0, %7 at t : f64<i:T>\n"
                                  "    yield %h.1\n"
                                  "  }\n"
                                  "  %8 = result %o 0 : f64<i:T>\n"
                                  "  output \"h\" f64 %8[i]\n}\n";

START_TEST(nested_scans)
{
    const double x[6] = {1, 2, 3, 4, 5, 6};
    run r = run_text(&s, nested, (int64_t[]){2, 3}, x);
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_REALS(&r.out[0], 12, 54);
}
END_TEST

/* Two histories that read each other, one of them after its append. */
START_TEST(two_histories)
{
    const char *text = "graph @g real f64 {\n  dims T\n"
                       "  %x = input \"x\" f64 : f64<t:T>\n"
                       "  %s = scan #0 t {\n"
                       "    %a.0 = history #0 0 \"a\" rows i : f64<i:T>\n"
                       "    %b.0 = history #0 1 \"b\" rows i : f64<i:T>\n"
                       "    %1 = read %b.0[t - 1] where 1 <= t : f64<t:T>\n"
                       "    %2 = add %1, %x : f64<t:T>\n"
                       "    %a.1 = append %a.0, %2 at t : f64<i:T>\n"
                       "    %3 = reduce sum %a.1 over i where i <= t : f64<t:T>\n"
                       "    %b.1 = append %b.0, %3 at t : f64<i:T>\n"
                       "    yield %a.1, %b.1\n  }\n"
                       "  %a = result %s 0 : f64<i:T>\n  %b = result %s 1 : f64<i:T>\n"
                       "  output \"a\" f64 %a[i]\n  output \"b\" f64 %b[i]\n}\n";
    run r = run_text(&s, text, (int64_t[]){4}, (double[]){1, 1, 1, 1});
    WANT_REALS(&r.out[0], 1, 2, 4, 8);
    WANT_REALS(&r.out[1], 1, 3, 7, 15);
}
END_TEST

static void run_in(arena *a)
{
    fixture f = {.a = a};
    f.names = strtab_new(a);
    source_set_init(&f.sources, a);
    diags_init(&f.ds, a, &f.sources);
    module *m =
        module_parse(a, f.names, &f.ds, source_add(&f.sources, "x", nested, strlen(nested)));
    double x[6] = {1, 2, 3, 4, 5, 6};
    interp_tensor in = {.rank = 2, .shape = (int64_t[]){2, 3}, .f = x}, out;
    const char *message = NULL;
    interp_run(a, m->graphs.v[0], (int64_t[]){2, 3}, &in, NULL, &out, &message);
}

static bool try_failing(size_t n)
{
    struct {
        mem m;
        arena *a;
        jmp_buf here;
    } f = {0};
    f.a = arena_new(&f.m);
    f.m.count = 0;
    f.m.fail_at = n;
    f.m.on_oom = &f.here;
    if (setjmp(f.here) == 0)
        run_in(f.a);
    arena_free(f.a);
    return f.m.count < f.m.fail_at;
}

/* No allocation that fails loses memory (leaks show under the sanitizer). */
START_TEST(out_of_memory)
{
    size_t n = 1;
    while (n < 100000 && !try_failing(n))
        n += 1 + n / 50;
    ck_assert_uint_lt(n, 100000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp scan");
    TCase *c = tcase_create("scan");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, forwards_and_backwards);
    tcase_add_test(c, rows_not_written);
    tcase_add_test(c, nested_scans);
    tcase_add_test(c, two_histories);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
