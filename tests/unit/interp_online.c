/* interp_online.c: online ops in the interpreter: every part is what the ops it stands for give,
 * for every special value. */
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

/* Pairs of outputs: a part, and the same by a normaliser, a sum or a reduction. W is a predicate.
 */
static const char *const pairs[] = {
    " %on = online softmax %x over j WHERE sum %v, %u, 1.0 : <i:3>\n"
    " %a = part %on 0 : f64<i:3, d:2>\n %b = part %on 1 : f64<i:3>\n %c = part %on 2 : f64<i:3>\n"
    " %d = part %on weights : f64<i:3, j:4>\n %e = part %on lse : f64<i:3>\n"
    " %f = part %on max : f64<i:3>\n"
    " %w = softmax %x over j WHERE : f64<i:3, j:4>\n"
    " %1 = weigh %w, %v : f64<i:3, j:4, d:2>\n %A = reduce sum %1 over j WHERE : f64<i:3, d:2>\n"
    " %2 = weigh %w, %u : f64<i:3, j:4>\n %B = reduce sum %2 over j WHERE : f64<i:3>\n"
    " %C = reduce sum %w over j WHERE : f64<i:3>\n"
    " %E = reduce logsumexp %x over j WHERE : f64<i:3>\n"
    " %F = reduce max %x over j WHERE : f64<i:3>\n"
    " output \"a\" f64 %a[i, d]\n output \"A\" f64 %A[i, d]\n output \"b\" f64 %b[i]\n"
    " output \"B\" f64 %B[i]\n output \"c\" f64 %c[i]\n output \"C\" f64 %C[i]\n"
    " output \"d\" f64 %d[i, j]\n output \"D\" f64 %w[i, j]\n output \"e\" f64 %e[i]\n"
    " output \"E\" f64 %E[i]\n output \"f\" f64 %f[i]\n output \"F\" f64 %F[i]\n}\n",
    " %on = online normalize %x over j WHERE sum %v, %u : <i:3>\n"
    " %a = part %on 0 : f64<i:3, d:2>\n %b = part %on 1 : f64<i:3>\n"
    " %d = part %on weights : f64<i:3, j:4>\n %e = part %on sum : f64<i:3>\n"
    " %w = normalize %x over j WHERE : f64<i:3, j:4>\n"
    " %1 = weigh %w, %v : f64<i:3, j:4, d:2>\n %A = reduce sum %1 over j WHERE : f64<i:3, d:2>\n"
    " %2 = weigh %w, %u : f64<i:3, j:4>\n %B = reduce sum %2 over j WHERE : f64<i:3>\n"
    " %3 = select %x == -inf, 0.0, %x : f64<i:3, j:4>\n"
    " %E = reduce sum %3 over j WHERE : f64<i:3>\n"
    " output \"a\" f64 %a[i, d]\n output \"A\" f64 %A[i, d]\n output \"b\" f64 %b[i]\n"
    " output \"B\" f64 %B[i]\n output \"d\" f64 %d[i, j]\n output \"D\" f64 %w[i, j]\n"
    " output \"e\" f64 %e[i]\n output \"E\" f64 %E[i]\n}\n",
    " %on = online plain %x over j WHERE sum %v, %u : <i:3>\n"
    " %a = part %on 0 : f64<i:3, d:2>\n %b = part %on 1 : f64<i:3>\n"
    " %d = part %on weights : f64<i:3, j:4>\n %e = part %on sum : f64<i:3>\n"
    " %1 = weigh %x, %v : f64<i:3, j:4, d:2>\n %A = reduce sum %1 over j WHERE : f64<i:3, d:2>\n"
    " %2 = weigh %x, %u : f64<i:3, j:4>\n %B = reduce sum %2 over j WHERE : f64<i:3>\n"
    " %D = read %x[i, j] WHERE : f64<i:3, j:4>\n %E = reduce sum %x over j WHERE : f64<i:3>\n"
    " output \"a\" f64 %a[i, d]\n output \"A\" f64 %A[i, d]\n output \"b\" f64 %b[i]\n"
    " output \"B\" f64 %B[i]\n output \"d\" f64 %d[i, j]\n output \"D\" f64 %D[i, j]\n"
    " output \"e\" f64 %e[i]\n output \"E\" f64 %E[i]\n}\n",
    " %on = online softmax %x over i, j WHERE sum %v, %x : <>\n"
    " %a = part %on 0 : f64<d:2>\n %b = part %on 1 : f64<>\n"
    " %d = part %on weights : f64<i:3, j:4>\n %e = part %on lse : f64<>\n"
    " %w = softmax %x over i, j WHERE : f64<i:3, j:4>\n"
    " %1 = weigh %w, %v : f64<i:3, j:4, d:2>\n %A = reduce sum %1 over i, j WHERE : f64<d:2>\n"
    " %2 = weigh %w, %x : f64<i:3, j:4>\n %B = reduce sum %2 over i, j WHERE : f64<>\n"
    " %E = reduce logsumexp %x over j, i WHERE : f64<>\n"
    " output \"a\" f64 %a[d]\n output \"A\" f64 %A[d]\n output \"b\" f64 %b[]\n"
    " output \"B\" f64 %B[]\n output \"d\" f64 %d[i, j]\n output \"D\" f64 %w[i, j]\n"
    " output \"e\" f64 %e[]\n output \"E\" f64 %E[]\n}\n",
};
enum { N_PAIRS = sizeof pairs / sizeof pairs[0], N_NUMBERS = 3 * 4 + 4 * 2 + 4 };

/* The text with each WHERE replaced. */
static const char *with_where(const char *text, const char *where)
{
    strbuf b = {.a = s.a};
    sb_puts(&b, "graph @g real f64 {\n %x = input \"x\" f64 : f64<i:3, j:4>\n"
                " %v = input \"v\" f64 : f64<j:4, d:2>\n %u = input \"u\" f64 : f64<j:4>\n");
    for (const char *at; (at = strstr(text, "WHERE")); text = at + 5) {
        sb_putn(&b, text, (size_t)(at - text));
        sb_puts(&b, where);
    }
    sb_puts(&b, text);
    return sb_text(&b);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b || fabs(a - b) <= 1e-12 * fabs(b);
}

static void check_pairs(const char *text, const double *x)
{
    graph *g = read_one(&s, text);
    run r = run_graph(&s, g, NULL, x, NULL);
    ck_assert_int_eq(r.status, INTERP_OK);
    for (size_t k = 0; k + 1 < g->results.n; k += 2) {
        size_t n = 1;
        for (uint32_t i = 0; i < r.out[k].rank; i++)
            n *= (size_t)r.out[k].shape[i];
        for (size_t i = 0; i < n; i++) {
            double got = r.out[k].f[i], want = r.out[k + 1].f[i];
            ck_assert_msg(same(got, want), "%s[%zu]: %g, not %g, in\n%s", g->results.v[k].name, i,
                          got, want, text);
        }
    }
}

START_TEST(as_defined)
{
    static const char *const wheres[] = {"", "where j <= i", "where i < j and j < 3",
                                         "where 0.5 < %u", "where j < 0"};
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, 1e308, -1e308, 3};
    double x[N_NUMBERS];
    uint32_t seed = 1;
    for (int w = 0; w < 5; w++) {
        const char *text = with_where(pairs[_i], wheres[w]);
        for (int turn = 0; turn < 60; turn++) {
            for (int k = 0; k < N_NUMBERS; k++) {
                seed = seed * 1664525u + 1013904223u;
                x[k] = turn && seed >> 28 < 3 ? odd[seed >> 20 & 7 ? (seed >> 20 & 7) - 1 : 0]
                                              : (double)(seed >> 16 & 1023) / 128 - 3;
            }
            check_pairs(text, x);
        }
    }
}
END_TEST

/* A statistic of an online softmax that no other op gives. */
START_TEST(sum_of_softmax)
{
    const char *text = "graph @g real f64 {\n %x = input \"x\" f64 : f64<i:5, j:2>\n"
                       " %on = online softmax %x over j : <i:5>\n %z = part %on sum : f64<i:5>\n"
                       " output \"z\" f64 %z[i]\n}\n";
    const double x[10] = {7, 7, -INFINITY, -INFINITY, INFINITY, 0, 0, -800, NAN, 1};
    run r = run_text(&s, text, NULL, x);
    WANT_REALS(&r.out[0], 2, 0, NAN, 1, NAN);
}
END_TEST

/* What is excluded has no effect, not even where it cannot be computed. */
START_TEST(excluded_traps)
{
    const char *text = "graph @g real f64 {\n %x = input \"x\" f64 : f64<j:3>\n"
                       " %k = input \"k\" i64 : i64<j:3>\n"
                       " %s = read %x[%k] : f64<j:3>\n"
                       " %on = online softmax %s over j where j < 2 sum %s : <>\n"
                       " %z = part %on 0 : f64<>\n output \"z\" f64 %z[]\n}\n";
    run r = run_text(&s, text, NULL, (double[]){2, 2, 2, 0, 1, 9});
    ck_assert_int_eq(r.status, INTERP_OK);
    WANT_REALS(&r.out[0], 2);
    r = run_text(&s, text, NULL, (double[]){2, 2, 2, 0, 9, 0});
    ck_assert_int_eq(r.status, INTERP_INDEX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_online");
    TCase *c = tcase_create("interp_online");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, as_defined, 0, N_PAIRS);
    tcase_add_test(c, sum_of_softmax);
    tcase_add_test(c, excluded_traps);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
