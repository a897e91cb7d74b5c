/* cost.c: flops, calls and bytes of graphs, as formulas and at given sizes. */
#include "passes/cost.h"
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

/* "FLOPS; CALLS; BYTES" as formulas. */
static const char *formulas(const char *text)
{
    cost c;
    cost_of(read_one(&s, text), s.a, NULL, &c);
    ck_assert(!c.sized);
    return arena_printf(s.a, "%s; %s; %s", dim_text(s.a, c.flops), dim_text(s.a, c.calls),
                        dim_text(s.a, c.bytes));
}

static cost at(const char *text, const char *const *names, const int64_t *sizes, size_t n)
{
    graph *g = read_one(&s, text);
    int64_t *symbols;
    const char *missing;
    ck_assert(cost_symbols(g, s.a, names, sizes, n, &symbols, &missing));
    cost c;
    cost_of(g, s.a, symbols, &c);
    ck_assert(c.sized);
    return c;
}

#define GEMM                                                                                       \
    "graph @g real f32 {\n  dims M, N, K\n"                                                        \
    "  %a = input \"a\" f32 : f32<i:M, k:K>\n  %b = param \"b\" f16 : f32<j:N, k:K>\n"             \
    "  %c = contract %a, %b over k : f32<i:M, j:N>\n  %t = tanh %c : f32<i:M, j:N>\n"              \
    "  output \"y\" f32 %t[i, j]\n}\n"

START_TEST(counts)
{
    ck_assert_str_eq(formulas(GEMM), "2*M*N*K; M*N; 4*M*N + 4*M*K + 2*N*K");
    cost c = at(GEMM, (const char *[]){"K", "N", "M"}, (int64_t[]){5, 3, 2}, 3);
    ck_assert_double_eq(c.n_flops, 60);
    ck_assert_double_eq(c.n_calls, 6);
    ck_assert_double_eq(c.n_bytes, 40 + 30 + 24);
    ck_assert(c.exact);
}
END_TEST

/* What goes where data says is met once, not once for each place. */
START_TEST(places_by_data)
{
    ck_assert_str_eq(formulas("graph @g real f32 {\n  dims I, J, D\n"
                              "  %x = input \"x\" f32 : f32<j:J, d:D>\n"
                              "  %id = input \"id\" i64 : i64<j:J>\n"
                              "  %s = reduce sum %x over j where %id == i : f32<d:D, i:I>\n"
                              "  output \"y\" f32 %s[i, d]\n}\n"),
                     "J*D; 0; 4*I*D + 4*J*D + 8*J");
}
END_TEST

START_TEST(sizes_by_name)
{
    graph *g = read_one(&s, GEMM);
    int64_t *symbols;
    const char *missing = NULL;
    ck_assert(!cost_symbols(g, s.a, (const char *[]){"M", "K"}, (int64_t[]){1, 2}, 2, &symbols,
                            &missing));
    ck_assert_str_eq(missing, "N");
}
END_TEST

/* Attention where key j is seen under PREDICATE. */
#define ATTENTION(predicate)                                                                       \
    "graph @g real f32 {\n  dims T, D\n"                                                           \
    "  %q = input \"q\" f32 : f32<i:T, d:D>\n  %k = input \"k\" f32 : f32<j:T, d:D>\n"             \
    "  %v = input \"v\" f32 : f32<j:T, e:D>\n"                                                     \
    "  %s = contract %q, %k over d : f32<i:T, j:T>\n"                                              \
    "  %w = softmax %s over j" predicate " : f32<i:T, j:T>\n"                                      \
    "  %p = weigh %w, %v : f32<i:T, j:T, e:D>\n"                                                   \
    "  %o = reduce sum %p over j" predicate " : f32<i:T, e:D>\n"                                   \
    "  output \"o\" f32 %o[i, e]\n}\n"

static double attention_flops(const char *text, bool *exact)
{
    cost c = at(text, (const char *[]){"T", "D"}, (int64_t[]){128, 16}, 2);
    *exact = c.exact;
    return c.n_flops;
}

START_TEST(masks)
{
    bool exact;
    double full = attention_flops(ATTENTION(""), &exact);
    ck_assert_double_eq(full, 128.0 * 128 * (2 * 16 + 4 + 2 * 16));
    ck_assert(exact);
    /* Half of the pairs, and the diagonal; within what tiles can tell. */
    double causal = attention_flops(ATTENTION(" where j <= i"), &exact);
    ck_assert(exact);
    ck_assert_double_eq_tol(causal / full, 129.0 / 256, 0.01);
    double near = attention_flops(ATTENTION(" where j <= i and i < j + 8"), &exact);
    ck_assert_double_eq_tol(near / full, 8.0 / 128, 0.02);
    ck_assert_double_eq(attention_flops(ATTENTION(" where j < 0"), &exact), 0);
}
END_TEST

/* What an excluded element is made of is not needed either, but what others share is. */
START_TEST(needs)
{
    const char *text = "graph @g real f32 {\n  dims T\n"
                       "  %x = input \"x\" f32 : f32<i:T>\n  %y = input \"y\" f32 : f32<j:T>\n"
                       "  %a = exp %x : f32<i:T>\n  %b = exp %y : f32<j:T>\n"
                       "  %c = add %a, %b : f32<i:T, j:T>\n  %d = tanh %c : f32<i:T, j:T>\n"
                       "  %s = reduce sum %d over j where j < i : f32<i:T>\n"
                       "  output \"s\" f32 %s[i]\n}\n";
    cost c = at(text, (const char *[]){"T"}, (int64_t[]){64}, 1);
    ck_assert_double_eq_tol(c.n_calls, 64 + 64 + 64 * 63 / 2, 40);
}
END_TEST

/* A value in a recurrence is computed at every step; a history is not computed at all. */
START_TEST(recurrences)
{
    const char *text = "graph @rnn real f32 {\n  dims T, H\n"
                       "  %x = input \"x\" f32 : f32<t:T, h:H>\n"
                       "  %W = param \"W\" f32 : f32<h:H, k:H>\n"
                       "  %s = scan #0 t {\n"
                       "    %h.0 = history #0 0 \"h\" rows i : f32<i:T, h:H>\n"
                       "    %1 = read %h.0[t - 1, k] where 1 <= t : f32<t:T, k:H>\n"
                       "    %2 = contract %W, %1 over k : f32<h:H, t:T>\n"
                       "    %h = add %2, %x : f32<h:H, t:T>\n"
                       "    %h.1 = append %h.0, %h at t : f32<i:T, h:H>\n    yield %h.1\n  }\n"
                       "  %r = result %s 0 : f32<i:T, h:H>\n  output \"h\" f32 %r[i, h]\n}\n";
    ck_assert_str_eq(formulas(text), "2*T*H*H + T*H; 0; 8*T*H + 4*H*H");
}
END_TEST

/* One pass counts as the three ops that it stands for. */
START_TEST(online)
{
    const char *text = "graph @g real f32 {\n  dims T, S, E\n"
                       "  %s = input \"s\" f32 : f32<i:T, j:S>\n"
                       "  %v = input \"v\" f32 : f32<j:S, e:E>\n"
                       "  %on = online softmax %s over j sum %v : <i:T>\n"
                       "  %o = part %on 0 : f32<i:T, e:E>\n"
                       "  output \"o\" f32 %o[i, e]\n}\n";
    ck_assert_str_eq(formulas(text), "2*T*S*E + 3*T*S + T*E; T*S; 4*T*S + 4*T*E + 4*S*E");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *t = tcase_create("cost");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, counts);
    tcase_add_test(t, places_by_data);
    tcase_add_test(t, sizes_by_name);
    tcase_add_test(t, masks);
    tcase_add_test(t, needs);
    tcase_add_test(t, recurrences);
    tcase_add_test(t, online);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
