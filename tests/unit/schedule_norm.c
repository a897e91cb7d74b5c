/* schedule_norm.c: normalisers and reductions under every kind of predicate, with every special
 * value. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ir/graph/op.h"
#include "tests/unit/schedule_support.h"

/* Predicates over i (free) and j (bound); n is data, p any bools, f an optional flag's companion.
 */
static const char *const predicates[] = {
    "",
    " where j <= i",
    " where j < %n",
    " where j <= i and j < %n",
    " where i <= j",
    " where i < j",
    " where i - 1 <= j and j <= i + 1",
    " where j == i",
    " where %n == j",
    " where j != i",
    " where %p",
    " where %p and j <= i",
    " where i < %n",
    " where i < %n and %p and i <= j",
    " where not (j <= i)",
    " where j <= i or %p",
    " where j < 0",
    " where 0 <= j",
    " where 9 < j",
    " where j <= %big",
    " where %small < j",
    " where (i - j) % 2 == 0",
    " where i - j < 2 and j <= i",
};
enum { N_PREDICATES = sizeof predicates / sizeof predicates[0] };

#define HEAD                                                                                       \
    "graph @run real f32 {\n dims T, S\n"                                                          \
    " %%x = input \"x\" f32 : f32<i:T, j:S>\n %%k = input \"k\" i64 : i64<i:T, j:S>\n"             \
    " %%p = input \"p\" bool : bool<i:T, j:S>\n %%n = input \"n\" i64 : i64<i:T>\n"                \
    " %%v = input \"v\" f32 : f32<j:S, d:T>\n"                                                     \
    " %%0 = input \"w\" i64 : i64<>\n %%big = add %%0, 9223372036854775000 : i64<>\n"              \
    " %%small = sub %%0, 9223372036854775000 : i64<>\n"

static void run(const char *text, unsigned flags)
{
    check_case(text, "T=4 S=5", 6, flags);
    check_case(text, "T=1 S=1", 2, flags);
    check_case(text, "T=3 S=0", 2, flags);
    check_case(text, "T=0 S=2", 2, flags);
}

START_TEST(normalisers)
{
    static const char *const ops[] = {"softmax", "normalize", "hardmax"};
    char text[2048];
    snprintf(text, sizeof text,
             HEAD " %%r = %s %%x over j%s : f32<i:T, j:S>\n output \"r\" f32 %%r[i, j]\n}\n",
             ops[_i % 3], predicates[_i / 3]);
    run(text, 0);
    if (_i % 3 == 0)
        check_excluded(text, "T=4 S=5", 6);
    /* A NaN takes part in hardmax as the maximum; the interpreter's row of NaN says less. */
    if (_i % 3 != 2)
        run(text, CASE_SPECIAL);
}
END_TEST

START_TEST(attention)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        HEAD
        " %%r = softmax %%x over j%s : f32<i:T, j:S>\n %%w = weigh %%r, %%v : f32<i:T, j:S, d:T>\n"
        " %%o = reduce sum %%w over j%s : f32<i:T, d:T>\n output \"o\" f32 %%o[i, d]\n"
        " output \"a\" f16 %%r[j, i]\n}\n",
        predicates[_i], predicates[_i]);
    run(text, 0);
    run(text, CASE_SPECIAL);
}
END_TEST

START_TEST(reductions)
{
    char text[2048];
    for (int kind = 0; kind < RED_COUNT; kind++) {
        bool boolean = kind == RED_any || kind == RED_all || kind == RED_count;
        for (int ints = 0; ints < 2; ints++) {
            const char *arg = boolean ? "%p" : ints ? "%k" : "%x";
            op_sig sig = reduce_table[kind].result;
            const char *dt = sig == SIG_INT    ? "i64"
                             : sig == SIG_BOOL ? "bool"
                             : ints            ? "i64"
                                               : "f32";
            if (ints && (boolean || kind == RED_logsumexp))
                continue;
            snprintf(text, sizeof text,
                     HEAD " %%r = reduce %s %s over j%s : %s<i:T>\n output \"r\" %s %%r[i]\n}\n",
                     reduce_table[kind].text, arg, predicates[_i], dt, dt);
            run(text, 0);
            run(text, CASE_SPECIAL);
            if (ints)
                run(text, CASE_TRAPS);
        }
    }
}
END_TEST

START_TEST(contractions)
{
    static const char *const second[] = {"%v", "%y"};
    char text[2048];
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text,
                 HEAD " %%y = input \"y\" f32 : f32<d:T, j:S>\n"
                      " %%r = contract %%x, %s over j%s : f32<i:T, d:T>\n"
                      " output \"r\" f32 %%r[i, d]\n output \"s\" bf16 %%r[d, i]\n}\n",
                 second[k], predicates[_i]);
        run(text, 0);
        check_excluded(text, "T=4 S=5", 6);
        run(text, CASE_SPECIAL);
    }
}
END_TEST

START_TEST(several_bound)
{
    static const char *const what[] = {
        "reduce sum %x over i, j",       "reduce argmax %x over j, i", "reduce argmin %k over i, j",
        "reduce logsumexp %x over i, j", "reduce max %k over j, i",    "softmax %x over i, j",
        "normalize %x over j, i",        "hardmax %x over j, i"};
    static const char *const type[] = {"f32", "i64", "i64", "f32", "i64", "f32", "f32", "f32"};
    char text[2048];
    for (int k = 0; k < N_PREDICATES; k++) {
        /* n depends on i: as a predicate it would be bound too, which is fine */
        bool norm = _i >= 5;
        snprintf(text, sizeof text, HEAD " %%r = %s%s : %s<%s>\n output \"r\" %s %%r[%s]\n}\n",
                 what[_i], predicates[k], type[_i], norm ? "i:T, j:S" : "", type[_i],
                 norm ? "i, j" : "");
        run(text, 0);
        if (_i != 7)
            run(text, CASE_SPECIAL);
    }
}
END_TEST

/* Sums of constants, of an unrelated index, over nothing. */
START_TEST(odd_bodies)
{
    run("graph @run real f64 {\n dims T, S\n %x = input \"x\" f64 : f64<i:T>\n"
        " %h = input \"h\" f64 : f64<j:S>\n"
        " %a = reduce sum %x over j : f64<i:T>\n %b = reduce sum 2.0 over i, j : f64<>\n"
        " %c = exp %x : f64<i:T>\n %d = reduce sum %c over j where j <= i : f64<i:T>\n"
        " %e = reduce count (i <= j) over j : i64<i:T>\n"
        " %f = reduce argmax %x over j : i64<i:T>\n"
        " output \"a\" f64 %a[i]\n output \"b\" f64 %b[i]\n output \"d\" f64 %d[i]\n"
        " output \"e\" i64 %e[i]\n output \"f\" i64 %f[i]\n}\n",
        CASE_SPECIAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_norm");
    TCase *c = tcase_create("schedule_norm");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, normalisers, 0, 3 * N_PREDICATES);
    tcase_add_loop_test(c, attention, 0, N_PREDICATES);
    tcase_add_loop_test(c, reductions, 0, N_PREDICATES);
    tcase_add_loop_test(c, contractions, 0, N_PREDICATES);
    tcase_add_loop_test(c, several_bound, 0, 8);
    tcase_add_test(c, odd_bodies);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
