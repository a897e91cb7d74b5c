/* base_str.c: names, text building, numbers as text, near names. */
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/str.h"

START_TEST(interned_names)
{
    mem m = {0};
    arena *a = arena_new(&m);
    strtab *t = strtab_new(a);
    const char *x = intern(t, "x");
    ck_assert_ptr_eq(x, intern_n(t, "xyz", 1));
    ck_assert_ptr_ne(x, intern(t, "y"));
    ck_assert_ptr_ne(x, intern_n(t, "x\0y", 3));
    ck_assert_ptr_eq(intern(t, ""), intern_n(t, "z", 0));
    const char *names[5000];
    for (int i = 0; i < 5000; i++)
        names[i] = intern_printf(t, "name_%d", i);
    for (int i = 0; i < 5000; i++)
        ck_assert_ptr_eq(names[i], intern_printf(t, "name_%d", i));
    ck_assert_ptr_eq(x, intern(t, "x"));
    arena_free(a);
}
END_TEST

START_TEST(text_building)
{
    mem m = {0};
    arena *a = arena_new(&m);
    strbuf b = {.a = a};
    ck_assert_str_eq(sb_text(&b), "");
    sb_putn(&b, "", 0);
    ck_assert_str_eq(b.s, "");
    for (int i = 0; i < 1000; i++)
        sb_printf(&b, "%d,", i % 10);
    sb_puts(&b, "end");
    ck_assert_uint_eq(b.n, 2003);
    ck_assert_uint_eq(strlen(sb_text(&b)), 2003);
    ck_assert_uint_eq(hash_bytes(1, "abcdefghij", 10), hash_bytes(1, "abcdefghij", 10));
    ck_assert_uint_ne(hash_bytes(1, "abcdefghij", 10), hash_bytes(1, "abcdefghik", 10));
    ck_assert_uint_ne(hash_bytes(1, "a", 1), hash_bytes(2, "a", 1));
    ck_assert_uint_ne(hash_bytes(1, "\0", 1), hash_bytes(1, "\0\0", 2));
    arena_free(a);
}
END_TEST

static const struct {
    double d;
    const char *text;
} doubles[] = {
    {0.0, "0"},
    {-0.0, "-0"},
    {8, "8"},
    {-0.5, "-0.5"},
    {0.1, "0.1"},
    {1e-5, "1e-5"},
    {0.0001, "0.0001"},
    {123456.75, "123456.75"},
    {1e16, "10000000000000000"},
    {1e22, "1e22"},
    {1.0 / 3, "0.3333333333333333"},
    {5e-324, "5e-324"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {1.7976931348623157e308, "1.7976931348623157e308"},
    {9007199254740993.0, "9007199254740992"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
    {NAN, "nan"},
};

START_TEST(double_text)
{
    mem m = {0};
    arena *a = arena_new(&m);
    strbuf b = {.a = a};
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a decimal comma, where it is installed */
    sb_put_double(&b, doubles[_i].d);
    ck_assert_str_eq(sb_text(&b), doubles[_i].text);
    if (isfinite(doubles[_i].d)) {
        double back;
        ck_assert(str_to_double(a, b.s, b.n, &back));
        ck_assert_int_eq(memcmp(&back, &doubles[_i].d, sizeof back), 0);
    }
    arena_free(a);
}
END_TEST

START_TEST(double_round_trip)
{
    mem m = {0};
    arena *a = arena_new(&m);
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double d, back;
        memcpy(&d, &bits, sizeof d);
        if (!isfinite(d))
            continue;
        strbuf b = {.a = a};
        sb_put_double(&b, d);
        ck_assert(str_to_double(a, b.s, b.n, &back));
        ck_assert_msg(memcmp(&back, &d, sizeof d) == 0, "%a printed as %s", d, b.s);
    }
    double d = 7;
    ck_assert(str_to_double(a, "1e999999999999999999999", 23, &d) && isinf(d));
    ck_assert(str_to_double(a, "1e-999999999999999999999", 24, &d) && d == 0);
    ck_assert(str_to_double(a, ".5", 2, &d) && d == 0.5);
    d = 7;
    static const char *const wrong[] = {"",     "-",     ".",    "e5",  "1e",
                                        "1e+x", "1.2.3", "0x10", "inf", "1 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!str_to_double(a, wrong[i], strlen(wrong[i]), &d), "%s", wrong[i]);
    ck_assert_double_eq(d, 7);
    arena_free(a);
}
END_TEST

START_TEST(near_names)
{
    static const char *const names[] = {"softmax", "hidden", "Hidden",      "h",
                                        "H",       "scale",  "weight_ih_l0"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"sofmax", "softmax"},
                 {"sotfmax", "softmax"},
                 {"hiddne", "hidden"},
                 {"HIDDEN", "hidden"},
                 {"g", NULL},
                 {"scael", "scale"},
                 {"weight_ih_10", "weight_ih_l0"},
                 {"unrelated", NULL},
                 {"", NULL},
                 {"softmax", NULL},
                 {"hidden", "Hidden"}};
    mem m = {0};
    arena *a = arena_new(&m);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = str_nearest(a, cases[i].typed, names, 7);
        if (cases[i].meant)
            ck_assert_str_eq(found, cases[i].meant);
        else
            ck_assert_ptr_null(found);
    }
    ck_assert_str_eq(str_nearest(a, "h", (const char *const[]){"H", "x"}, 2), "H");
    char *huge = arena_alloc(a, 1000001);
    memset(huge, 'a', 1000000);
    ck_assert_ptr_null(str_nearest(a, huge, (const char *const *)&huge, 1));
    arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base_str");
    TCase *c = tcase_create("str");
    tcase_add_test(c, interned_names);
    tcase_add_test(c, text_building);
    tcase_add_loop_test(c, double_text, 0, (int)(sizeof doubles / sizeof doubles[0]));
    tcase_add_test(c, double_round_trip);
    tcase_add_test(c, near_names);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
