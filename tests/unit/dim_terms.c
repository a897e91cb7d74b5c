/* dim_terms.c: dims: interning, arithmetic, division, proofs, text and evaluation. */
#include "graph_support.h"

static fixture s;
static dims *t;

static void setup(void)
{
    open_fixture(&s);
    t = dims_new(s.a, s.names);
    dim_sym(t, "T");
    dim_sym(t, "S");
    dim_sym(t, "H");
    dim_sym(t, "K");
}

static void teardown(void)
{
    close_fixture(&s);
}

static const dim *d(const char *text)
{
    const char *error = NULL;
    size_t used = 0;
    const dim *x = dim_parse(t, s.a, text, strlen(text), &used, &error);
    ck_assert_msg(x != NULL, "%s: %s", text, error);
    ck_assert_uint_eq(used, strlen(text));
    return x;
}

/* The text reads as the dim that `wanted` is, and prints so, and that reads back as the same. */
static void check_text(const char *text, const char *wanted)
{
    const dim *x = d(text);
    ck_assert_str_eq(dim_text(s.a, x), wanted);
    ck_assert_ptr_eq(d(wanted), x);
}

START_TEST(sums_are_canonical)
{
    check_text("H + T", "T + H");
    check_text("T - T", "0");
    check_text("1 + 2*H", "2*H + 1");
    check_text("H*T + T*H", "2*T*H");
    check_text("(T + 1) * (T - 1)", "T*T - 1");
    check_text("-T", "-T");
    check_text("-H + T - 3", "T - H - 3");
    check_text("2 * (3 - T)", "-2*T + 6");
    ck_assert_ptr_eq(dim_add(t, d("T"), d("S")), dim_add(t, d("S"), d("T")));
}
END_TEST

START_TEST(divisions)
{
    check_text("4*H / 4", "H");
    check_text("(T*H + T*K) / T", "H + K");
    check_text("(T*T - 1) / (T + 1)", "T - 1");
    check_text("(T*T - S*S) / (T - S)", "T + S");
    check_text("H / K", "(H / K)");
    check_text("(H / K) * K", "H");
    check_text("T * K * (H / K)", "T*H");
    check_text("(H / (T + S)) * (T + S)", "H");
    check_text("2 * (H / 2)", "H");
    check_text("2*H / 4", "(H / 2)");
    check_text("(T*H) / (T*K)", "(H / K)");
    check_text("(2*H + 1) // 2", "H");
    check_text("T // 2", "(T // 2)");
    check_text("T // 2 // 3", "(T // 6)");
    check_text("(T + 63) // 64", "((T + 63) // 64)");
    check_text("(T*K + 5) % K", "(5 % K)");
    check_text("(4*T + 3) % 4", "3");
    check_text("-7 // 2", "-4");
    check_text("-7 % 2", "1");
    check_text("T // (S*H)", "(T // (S*H))");
    check_text("(T % S) * 2 - 1", "2*(T % S) - 1");
    check_text("(T + S) // -1", "-T - S");
    ck_assert_ptr_null(dim_floordiv(t, d("T"), d("0")));
    ck_assert_ptr_null(dim_exact(t, d("7"), d("2")));
    ck_assert_ptr_null(dim_mod(t, NULL, d("2")));
}
END_TEST

START_TEST(maximum_and_minimum)
{
    check_text("max(T, T + 1)", "T + 1");
    check_text("max(S, T)", "max(T, S)");
    check_text("max(T, S) + 1", "max(T, S) + 1");
    check_text("min(T, T + S)", "T");
    check_text("max(max(T, S), T)", "max(T, S)");
    check_text("max(T, 0)", "T");
    check_text("max(T // 2, T)", "T");
    check_text("min(T - 1, 3)", "min(T - 1, 3)");
}
END_TEST

static bool le(const char *a, const char *b)
{
    return dim_proved_le(t, d(a), d(b));
}

START_TEST(proofs)
{
    ck_assert(le("0", "T"));
    ck_assert(le("T", "T"));
    ck_assert(le("T", "2*T"));
    ck_assert(le("T*H", "T*H + S"));
    ck_assert(le("T // 2", "T"));
    ck_assert(le("2*(T // 2)", "T"));
    ck_assert(le("(T // S) * S", "T"));
    ck_assert(le("T % S", "T"));
    ck_assert(le("T % 4", "3"));
    ck_assert(le("T", "max(T, S)"));
    ck_assert(le("min(T, S)", "S"));
    ck_assert(le("max(T, S)", "T + S"));
    ck_assert(le("T", "64*((T + 63) // 64)"));
    ck_assert(dim_proved_lt(t, d("T % S"), d("S")));
    ck_assert(dim_proved_lt(t, d("T"), d("T + 1")));
    ck_assert(!le("T", "S"));
    ck_assert(!le("1", "T"));
    ck_assert(!le("T", "T*H"));
    ck_assert(!le("T", "2*(T // 2)"));
    ck_assert(!le("max(T, S)", "T"));
    ck_assert(!le("T", "min(T, S)"));
    ck_assert(!dim_proved_lt(t, d("T"), d("T")));
}
END_TEST

/* Every proof holds on a grid of values, and whatever folds has the value of what it stands for. */
START_TEST(proofs_hold)
{
    const char *const text[] = {"T",
                                "S",
                                "T + S",
                                "T*S",
                                "T // 3",
                                "T % 3",
                                "T // (S + 1)",
                                "max(T, S)",
                                "min(T, 2)",
                                "T - S",
                                "max(T - S, 0)",
                                "2*(T // 2)",
                                "(T % (S + 1)) + 1",
                                "min(T, S) * 2",
                                "max(T, S) - min(T, S)",
                                "-T",
                                "3",
                                "(T + 2) // 3 * 3"};
    size_t n = sizeof text / sizeof text[0];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            bool proved = le(text[i], text[j]);
            const dim *max = dim_max(t, d(text[i]), d(text[j]));
            for (int64_t k = 0; k < 36; k++) {
                int64_t at[4] = {k / 6, k % 6, 1, 1}, a = 0, b = 0, m = 0;
                ck_assert(dim_eval(d(text[i]), at, &a) && dim_eval(d(text[j]), at, &b));
                ck_assert_msg(!proved || a <= b, "%s <= %s at %d", text[i], text[j], (int)k);
                ck_assert(dim_eval(max, at, &m) && m == (a > b ? a : b));
            }
        }
    }
}
END_TEST

START_TEST(evaluation)
{
    int64_t at[4] = {7, 3, 4, 2}, x = 0;
    ck_assert(dim_eval(d("T*S - H // 3 + T % 4"), at, &x) && x == 23);
    ck_assert(dim_eval(d("H / K"), at, &x) && x == 2);
    ck_assert(!dim_eval(d("T / K"), at, &x));
    at[3] = 0;
    ck_assert(!dim_eval(d("T // K"), at, &x));
    at[0] = DIM_LIMIT;
    ck_assert(!dim_eval(d("T*T*T"), at, &x));
}
END_TEST

START_TEST(substitution)
{
    const dim *by[4] = {d("S + 1"), NULL, NULL, d("2")};
    ck_assert_ptr_eq(dim_subst(t, d("T*T + K*S"), by), d("S*S + 4*S + 1"));
    ck_assert_ptr_eq(dim_subst(t, d("max(T, S)"), by), d("S + 1"));
    ck_assert(dim_mentions(d("T // (S + 1)"), "S"));
    ck_assert(!dim_mentions(d("T // (S + 1)"), "H"));
}
END_TEST

static const char *parse_error(const char *text)
{
    const char *error = NULL;
    size_t used = 0;
    ck_assert_ptr_null(dim_parse(t, s.a, text, strlen(text), &used, &error));
    return error;
}

START_TEST(wrong_text)
{
    ck_assert_str_eq(parse_error("T +"), "expected a dim: a name, a number or `(`");
    ck_assert_str_eq(parse_error("(T"), "expected `)`");
    ck_assert_str_eq(parse_error("Sizze"), "unknown dim Sizze");
    ck_assert_str_eq(parse_error("h"), "unknown dim h; is it H?");
    ck_assert_str_eq(parse_error("99999999999999999999"), "the number is too large");
    ck_assert_ptr_nonnull(parse_error("T // 0"));
    strbuf b = {.a = s.a};
    for (int i = 0; i < 100000; i++)
        sb_puts(&b, "(");
    ck_assert_str_eq(parse_error(sb_text(&b)), "the dim nests too deep");
    ck_assert_ptr_null(dim_mul(t, d("9223372036854775807"), d("2")));
    const dim *x = d("T + S + H + K + 1");
    for (int i = 0; i < 40 && x; i++)
        x = dim_mul(t, x, d("T + S + H + K + 1"));
    ck_assert_ptr_null(x);
}
END_TEST

START_TEST(names)
{
    const char *const name[] = {"a",   "x1.y", "true",     "it's", "",
                                "a b", "1a",   "\xce\xb1", "a..b", "\n"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        strbuf b = {.a = s.a};
        const char *back = NULL;
        name_print(&b, name[i]);
        ck_assert_uint_eq(name_scan(s.names, s.a, sb_text(&b), b.n, &back), b.n);
        ck_assert_str_eq(back, name[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dim");
    TCase *c = tcase_create("dim");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, sums_are_canonical);
    tcase_add_test(c, divisions);
    tcase_add_test(c, maximum_and_minimum);
    tcase_add_test(c, proofs);
    tcase_add_test(c, proofs_hold);
    tcase_add_test(c, evaluation);
    tcase_add_test(c, substitution);
    tcase_add_test(c, wrong_text);
    tcase_add_test(c, names);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
