/* schedule_tiles.c: sums by tiles against the interpreter: shapes around the edges of tiles, every
 * place of a panel, what is fused behind them, predicates. Blocks of the shapes in use have 8 or 64
 * columns, tiles 6 rows, strips 48. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

static void check_sizes(const char *text, const char *sizes, unsigned flags)
{
    check_case(text, sizes, 5, flags);
    check_case(text, sizes, 5, flags | CASE_SPECIAL);
    check_case(text, sizes, 5, flags | CASE_WIDE);
}

static void check_edges(const char *text)
{
    static const int edge[] = {0, 1, 2, 5, 6, 7, 8, 9, 13};
    char sizes[64];
    for (size_t m = 0; m < sizeof edge / sizeof *edge; m++) {
        for (size_t n = 0; n < sizeof edge / sizeof *edge; n++) {
            snprintf(sizes, sizeof sizes, "M=%d N=%d K=%d", edge[m], edge[n], (int)(m + n) % 4);
            check_sizes(text, sizes, 0);
        }
    }
    check_sizes(text, "M=49 N=63 K=2", 0);
    check_sizes(text, "M=97 N=65 K=1", 0);
}

static void check_has(const char *graph_text, const char *want, bool has)
{
    mem m = {0};
    arena *a = arena_new(&m);
    const char *text = schedule_text(a, graph_text);
    if ((strstr(text, want) != NULL) != has)
        ck_abort_msg("%s: %s in\n%s", has ? "missing" : "unwanted", want, text);
    arena_free(a);
}

#define HEAD "graph @run real f32 {\n dims M, N, K\n"

static const char *const projection = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                                           "%w = param \"w\" f16 : f32<n:N, k:K>\n"
                                           "%b = param \"b\" f32 : f32<n:N>\n"
                                           "%s = contract %x, %w over k : f32<m:M, n:N>\n"
                                           "%t = add %s, %b : f32<m:M, n:N>\n"
                                           "%y = tanh %t : f32<m:M, n:N>\n"
                                           "output \"y\" f32 %y[m, n]\n}\n";

START_TEST(weights)
{
    check_has(projection, "w_panel : prepared f32", true);
    check_has(projection, "= tanh(add(tile", true);
    check_edges(projection);
}
END_TEST

START_TEST(weights_by_column)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                            "%w = param \"w\" f32 : f32<k:K, n:N>\n"
                            "%y = contract %x, %w over k : f32<m:M, n:N>\n"
                            "output \"y\" f16 %y[m, n]\n}\n";
    check_has(text, "w_panel : prepared f32", true);
    check_edges(text);
}
END_TEST

START_TEST(transposed_output)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                            "%w = param \"w\" f32 : f32<n:N, k:K>\n"
                            "%y = contract %x, %w over k : f32<m:M, n:N>\n"
                            "output \"y\" f32 %y[n, m]\n}\n";
    check_has(text, "x_panel : temp f32", true);
    check_edges(text);
}
END_TEST

START_TEST(two_inputs)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                            "%z = input \"z\" f32 : f32<n:N, k:K>\n"
                            "%y = contract %x, %z over k : f32<m:M, n:N>\n"
                            "output \"y\" f32 %y[m, n]\n}\n";
    check_has(text, "z_panel : temp f32", true);
    check_edges(text);
}
END_TEST

START_TEST(batches)
{
    const char *text = "graph @run real f32 {\n dims B, M, N, K\n"
                       "%x = input \"x\" f32 : f32<b:B, h:2, m:M, k:K>\n"
                       "%z = input \"z\" f32 : f32<b:B, h:2, n:N, k:K>\n"
                       "%y = contract %x, %z over k : f32<b:B, h:2, m:M, n:N>\n"
                       "output \"y\" f32 %y[b, h, m, n]\n}\n";
    check_has(text, "z_panel : temp f32[B, 2,", true);
    check_sizes(text, "B=0 M=3 N=4 K=2", 0);
    check_sizes(text, "B=1 M=7 N=9 K=2", 0);
    check_sizes(text, "B=3 M=1 N=1 K=3", 0);
    check_sizes(text, "B=2 M=50 N=65 K=2", 0);
    check_sizes(text, "B=2 M=0 N=5 K=2", 0);
}
END_TEST

START_TEST(several_row_axes)
{
    const char *text = "graph @run real f64 {\n dims B, T, N, K\n"
                       "%x = input \"x\" f64 : f64<b:B, t:T, k:K>\n"
                       "%w = param \"w\" f64 : f64<n:N, k:K>\n"
                       "%y = contract %x, %w over k : f64<b:B, t:T, n:N>\n"
                       "output \"y\" f64 %y[b, t, n]\n}\n";
    check_sizes(text, "B=1 T=1 N=3 K=2", 0);
    check_sizes(text, "B=3 T=5 N=9 K=2", 0);
    check_sizes(text, "B=5 T=0 N=9 K=2", 0);
    check_sizes(text, "B=10 T=10 N=5 K=1", 0);
}
END_TEST

/* Weights that are streamed for one row, and what has no row and no panel made before. */
START_TEST(one_row)
{
    const char *weights_of_one = HEAD "%x = input \"x\" f32 : f32<k:K>\n"
                                      "%w = param \"w\" bf16 : f32<n:N, k:K>\n"
                                      "%y = contract %w, %x over k : f32<n:N>\n"
                                      "output \"y\" f32 %y[n]\n}\n";
    const char *inputs = HEAD "%x = input \"x\" f32 : f32<k:K>\n"
                              "%z = input \"z\" f32 : f32<n:N, k:K>\n"
                              "%y = contract %z, %x over k : f32<n:N>\n"
                              "output \"y\" f32 %y[n]\n}\n";
    check_has(weights_of_one, "w_panel : prepared f32", true);
    check_has(inputs, "panel", false);
    for (int n = 0; n < 18; n++) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "M=0 N=%d K=%d", n, n % 5);
        check_sizes(weights_of_one, sizes, 0);
        check_sizes(inputs, sizes, 0);
    }
    check_sizes(weights_of_one, "M=0 N=129 K=3", 0);
}
END_TEST

START_TEST(additive_scores)
{
    const char *text = HEAD "%a = input \"a\" f32 : f32<m:M, k:K>\n"
                            "%b = input \"b\" f32 : f32<n:N, k:K>\n"
                            "%v = param \"v\" f32 : f32<k:K>\n"
                            "%s = add %a, %b : f32<m:M, k:K, n:N>\n"
                            "%t = tanh %s : f32<m:M, k:K, n:N>\n"
                            "%y = contract %v, %t over k : f32<m:M, n:N>\n"
                            "output \"y\" f32 %y[m, n]\n}\n";
    check_has(text, "b_panel : temp f32", true);
    check_edges(text);
}
END_TEST

START_TEST(distances)
{
    const char *text = HEAD "%a = input \"a\" f32 : f32<m:M, k:K>\n"
                            "%b = input \"b\" f32 : f32<n:N, k:K>\n"
                            "%d = sub %a, %b : f32<m:M, k:K, n:N>\n"
                            "%q = mul %d, %d : f32<m:M, k:K, n:N>\n"
                            "%s = reduce sum %q over k : f32<m:M, n:N>\n"
                            "%g = neg %s : f32<m:M, n:N>\n"
                            "%y = exp %g : f32<m:M, n:N>\n"
                            "output \"y\" f32 %y[m, n]\n}\n";
    check_has(text, "exp(neg(tile", true);
    check_edges(text);
}
END_TEST

START_TEST(joined)
{
    const char *bound = "graph @run real f32 {\n dims M, N, K\n"
                        "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                        "%z = input \"z\" f32 : f32<m:M, l:N>\n"
                        "%w = param \"w\" f32 : f32<n:N, j:K + N>\n"
                        "%j = join j of (k %x), (l %z) : f32<j:K + N, m:M>\n"
                        "%y = contract %w, %j over j : f32<n:N, m:M>\n"
                        "output \"y\" f32 %y[m, n]\n}\n";
    const char *columns = "graph @run real f32 {\n dims M, N, K\n"
                          "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                          "%u = param \"u\" f32 : f32<p:N, k:K>\n"
                          "%v = param \"v\" f32 : f32<q:3, k:K>\n"
                          "%w = join j of (p %u), (q %v) : f32<j:N + 3, k:K>\n"
                          "%y = contract %w, %x over k : f32<j:N + 3, m:M>\n"
                          "output \"y\" f32 %y[m, j]\n}\n";
    check_edges(bound);
    check_edges(columns);
}
END_TEST

START_TEST(several_bound)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, h:3, k:K>\n"
                            "%w = param \"w\" f32 : f32<n:N, c:3*K>\n"
                            "%r = read %w[n, h * K + k] : f32<n:N, h:3, k:K>\n"
                            "%s = contract %r, %x over k : f32<n:N, h:3, m:M>\n"
                            "%y = reduce sum %s over h : f32<n:N, m:M>\n"
                            "output \"y\" f32 %y[m, n]\n}\n";
    check_has(text, "r_panel : prepared f32", true);
    check_edges(text);
}
END_TEST

START_TEST(made_of_weights)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                            "%u = param \"u\" f32 : f32<n:N, l:4>\n"
                            "%v = param \"v\" f32 : f32<l:4, k:K>\n"
                            "%w = contract %u, %v over l : f32<n:N, k:K>\n"
                            "%y = contract %w, %x over k : f32<n:N, m:M>\n"
                            "output \"y\" f32 %y[m, n]\n}\n";
    check_has(text, ": prepared f32[N, K]", true);
    check_edges(text);
}
END_TEST

/* Predicates over the bound index are bounds; over rows or columns they leave the plain way. */
START_TEST(predicates)
{
    static const char *const where[] = {
        "k < %n", "k <= 1", "1 <= k and k < %n", "k <= m", "k <= n", "m <= n", "m < %n", "n < %n"};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD "%%x = input \"x\" f32 : f32<m:M, k:K>\n"
                      "%%z = input \"z\" f32 : f32<n:N, k:K>\n"
                      "%%n = input \"n\" i64 : i64<>\n"
                      "%%y = contract %%x, %%z over k where %s : f32<m:M, n:N>\n"
                      "output \"y\" f32 %%y[m, n]\n}\n",
                 where[i]);
        check_sizes(text, "M=7 N=9 K=4", 0);
        check_sizes(text, "M=1 N=1 K=1", 0);
        check_sizes(text, "M=49 N=3 K=3", 0);
        check_excluded(text, "M=7 N=9 K=4", 5);
    }
}
END_TEST

/* Only some rows are asked for. */
START_TEST(needed_rows)
{
    const char *text = HEAD "%x = input \"x\" f32 : f32<m:M, k:K>\n"
                            "%w = param \"w\" f32 : f32<n:N, k:K>\n"
                            "%n = input \"n\" i64 : i64<>\n"
                            "%s = contract %x, %w over k : f32<m:M, n:N>\n"
                            "%y = reduce sum %s over m where m < %n : f32<n:N>\n"
                            "%z = reduce max %s over m where m < %n : f32<n:N>\n"
                            "%q = add %y, %z : f32<n:N>\n"
                            "output \"q\" f32 %q[n]\n}\n";
    check_sizes(text, "M=3 N=9 K=4", 0);
    check_sizes(text, "M=9 N=17 K=2", 0);
    check_excluded(text, "M=9 N=9 K=4", 5);
}
END_TEST

/* Weights in panels, the input half before the recurrence, gates behind the sums. */
static const char *const cell = "graph @run real f32 recurrence {\n dims M, T, N, K\n"
                                "%x = input \"x\" f32 : f32<m:M, t:T, k:K>\n"
                                "%u = param \"u\" f32 : f32<g:2*N, k:K>\n"
                                "%w = param \"w\" f32 : f32<g:2*N, l:N>\n"
                                "%a = contract %u, %x over k : f32<g:2*N, m:M, t:T>\n"
                                "%s = scan #0 t {\n"
                                "%h.0 = history #0 0 \"h\" rows i : f32<m:M, i:T, n:N>\n"
                                "%1 = read %h.0[m, t - 1, l] where 1 <= t : f32<m:M, t:T, l:N>\n"
                                "%2 = read %w[n, l] : f32<n:N, l:N>\n"
                                "%3 = read %w[n + N, l] : f32<n:N, l:N>\n"
                                "%4 = contract %2, %1 over l : f32<n:N, m:M, t:T>\n"
                                "%5 = contract %3, %1 over l : f32<n:N, m:M, t:T>\n"
                                "%6 = read %a[n, m, t] : f32<n:N, m:M, t:T>\n"
                                "%7 = read %a[n + N, m, t] : f32<n:N, m:M, t:T>\n"
                                "%8 = add %4, %6 : f32<n:N, m:M, t:T>\n"
                                "%9 = add %5, %7 : f32<n:N, m:M, t:T>\n"
                                "%10 = tanh %8 : f32<n:N, m:M, t:T>\n"
                                "%11 = sigmoid %9 : f32<n:N, m:M, t:T>\n"
                                "%h = mul %10, %11 : f32<n:N, m:M, t:T>\n"
                                "%h.1 = append %h.0, %h at t : f32<m:M, i:T, n:N>\n"
                                "yield %h.1\n}\n"
                                "%r = result %s 0 : f32<m:M, i:T, n:N>\n"
                                "output \"h\" f32 %r[m, i, n]\n}\n";

START_TEST(recurrent_cell)
{
    check_has(cell, "mul(tanh(add(tile", true);
    check_sizes(cell, "M=1 T=4 N=9 K=3", 0);
    check_sizes(cell, "M=7 T=3 N=5 K=3", 0);
    check_sizes(cell, "M=16 T=2 N=65 K=1", 0);
    check_sizes(cell, "M=0 T=2 N=3 K=1", 0);
    check_sizes(cell, "M=2 T=0 N=3 K=1", 0);
    check_sizes(cell, "M=2 T=3 N=0 K=0", 0);
}
END_TEST

/* An operand that no step changes is packed before the recurrence, one that steps change within. */
START_TEST(panels_of_recurrences)
{
    const char *text = "graph @run real f32 recurrence {\n dims M, T, N\n"
                       "%x = input \"x\" f32 : f32<m:M, t:T, n:N>\n"
                       "%z = input \"z\" f32 : f32<n:N, l:N>\n"
                       "%s = scan #0 t {\n"
                       "%h.0 = history #0 0 \"h\" rows i : f32<m:M, i:T, n:N>\n"
                       "%1 = read %h.0[m, t - 1, l] where 1 <= t : f32<m:M, t:T, l:N>\n"
                       "%4 = contract %z, %1 over l : f32<n:N, m:M, t:T>\n"
                       "%h = add %4, %x : f32<n:N, m:M, t:T>\n"
                       "%h.1 = append %h.0, %h at t : f32<m:M, i:T, n:N>\n"
                       "yield %h.1\n}\n"
                       "%r = result %s 0 : f32<m:M, i:T, n:N>\n"
                       "output \"h\" f32 %r[m, i, n]\n}\n";
    check_has(text, "z_panel : temp f32", true);
    check_sizes(text, "M=1 T=4 N=9", 0);
    check_sizes(text, "M=7 T=3 N=5", 0);
    check_sizes(text, "M=9 T=2 N=17", 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule_tiles");
    TCase *tc = tcase_create("tiles");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, weights);
    tcase_add_test(tc, weights_by_column);
    tcase_add_test(tc, transposed_output);
    tcase_add_test(tc, two_inputs);
    tcase_add_test(tc, batches);
    tcase_add_test(tc, several_row_axes);
    tcase_add_test(tc, one_row);
    tcase_add_test(tc, additive_scores);
    tcase_add_test(tc, distances);
    tcase_add_test(tc, joined);
    tcase_add_test(tc, several_bound);
    tcase_add_test(tc, made_of_weights);
    tcase_add_test(tc, predicates);
    tcase_add_test(tc, needed_rows);
    tcase_add_test(tc, recurrent_cell);
    tcase_add_test(tc, panels_of_recurrences);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
