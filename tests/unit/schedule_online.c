/* schedule_online.c: online ops: the kernel gives what the interpreter does, for every kind, part
 * and predicate, with every special value, and never looks at what is excluded. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

static const char *const predicates[] = {
    "",
    " where j <= i",
    " where j < %n",
    " where j <= i and j < %n",
    " where i - 1 <= j and j <= i + 1",
    " where %p",
    " where i < %n and %p and i <= j",
    " where j <= i or %p",
    " where j < 0",
    " where (i - j) % 2 == 0",
};
enum { N_PREDICATES = sizeof predicates / sizeof predicates[0] };

#define HEAD                                                                                       \
    "graph @run real f32 {\n dims T, S, D\n"                                                       \
    " %%q = input \"q\" f32 : f32<i:T, d:D>\n %%k = input \"k\" f32 : f32<j:S, d:D>\n"             \
    " %%p = input \"p\" bool : bool<i:T, j:S>\n %%n = input \"n\" i64 : i64<i:T>\n"                \
    " %%v = input \"v\" f32 : f32<j:S, e:D>\n %%u = input \"u\" f32 : f32<e:D, j:S>\n"             \
    " %%1 = contract %%q, %%k over d : f32<i:T, j:S>\n"

static void run(const char *text, unsigned flags)
{
    check_case(text, "T=4 S=5 D=3", 6, flags);
    check_case(text, "T=1 S=1 D=1", 2, flags);
    check_case(text, "T=3 S=0 D=2", 2, flags);
    check_case(text, "T=0 S=2 D=2", 2, flags);
    check_case(text, "T=2 S=3 D=0", 2, flags);
}

START_TEST(attention)
{
    static const char *const kinds[] = {"softmax", "normalize", "plain"};
    char text[4096];
    snprintf(text, sizeof text,
             HEAD " %%on = online %s %%1 over j%s sum %%v, %%u, %%q, 1.0 : <i:T>\n"
                  " %%a = part %%on 0 : f32<i:T, e:D>\n %%b = part %%on 1 : f32<i:T, e:D>\n"
                  " %%c = part %%on 2 : f32<i:T, d:D>\n %%d1 = part %%on 3 : f32<i:T>\n"
                  " output \"a\" f32 %%a[i, e]\n output \"b\" f16 %%b[e, i]\n"
                  " output \"c\" f32 %%c[d, i]\n output \"d\" f32 %%d1[i]\n}\n",
             kinds[_i % 3], predicates[_i / 3]);
    run(text, 0);
    run(text, CASE_SPECIAL);
    snprintf(text, sizeof text,
             HEAD " %%on = online %s %%1 over j%s sum %%u : <i:T>\n"
                  " %%a = part %%on 0 : f32<i:T, e:D>\n output \"a\" f32 %%a[i, e]\n}\n",
             kinds[_i % 3], predicates[_i / 3]);
    check_excluded(text, "T=4 S=5 D=3", 6);
}
END_TEST

/* The weights and all statistics as well. */
START_TEST(parts)
{
    char text[4096];
    snprintf(text, sizeof text,
             HEAD " %%2 = tanh %%1 : f32<i:T, j:S>\n"
                  " %%on = online softmax %%2 over j%s sum %%v : <i:T>\n"
                  " %%a = part %%on 0 : f32<i:T, e:D>\n %%w = part %%on weights : f32<i:T, j:S>\n"
                  " %%l = part %%on lse : f32<i:T>\n %%m = part %%on max : f32<i:T>\n"
                  " %%s = part %%on sum : f32<i:T>\n %%x = mul %%w, %%l : f32<i:T, j:S>\n"
                  " output \"a\" f32 %%a[i, e]\n output \"w\" f32 %%w[j, i]\n"
                  " output \"l\" f32 %%l[i]\n output \"m\" f16 %%m[i]\n output \"s\" f32 %%s[i]\n"
                  " output \"x\" f32 %%x[i, j]\n}\n",
             predicates[_i]);
    run(text, 0);
    run(text, CASE_SPECIAL);
    check_excluded(text, "T=4 S=5 D=3", 6);
}
END_TEST

START_TEST(several_bound)
{
    char text[4096];
    snprintf(text, sizeof text,
             HEAD " %%on = online softmax %%1 over j, i%s sum %%v, %%q : <>\n"
                  " %%a = part %%on 0 : f32<e:D>\n %%b = part %%on 1 : f32<d:D>\n"
                  " %%w = part %%on weights : f32<i:T, j:S>\n"
                  " output \"a\" f32 %%a[e]\n output \"b\" f32 %%b[d]\n"
                  " output \"w\" f32 %%w[i, j]\n}\n",
             predicates[_i]);
    run(text, 0);
    run(text, CASE_SPECIAL);
}
END_TEST

/* Scores and streams that are joins, reads, reductions of each other. */
START_TEST(odd_operands)
{
    run("graph @run real f32 {\n dims T, S, D\n %x = input \"x\" f32 : f32<i:T, j:S>\n"
        " %y = input \"y\" f32 : f32<i:T, k:T>\n %v = input \"v\" f32 : f32<m:S + T, e:D>\n"
        " %s = join m of (j %x), (k %y) : f32<m:S + T, i:T>\n %r = real i + m : f32<i:T, m:S + T>\n"
        " %on = online softmax %s over m sum %v, %s, %r : <i:T>\n"
        " %a = part %on 0 : f32<i:T, e:D>\n %b = part %on 1 : f32<i:T>\n"
        " %c = part %on 2 : f32<i:T>\n"
        " %b2 = part %on lse : f32<i:T>\n %z = read %a[i, e] where 1 <= i : f32<i:T, e:D>\n"
        " %o2 = online softmax 0.0 over e, i:T where i < e sum %a : <>\n"
        " %f = part %o2 0 : f32<>\n"
        " output \"a\" f32 %a[i, e]\n output \"b\" f32 %b[i]\n output \"c\" f32 %c[i]\n"
        " output \"l\" f32 %b2[i]\n output \"z\" f32 %z[i, e]\n output \"f\" f32 %f[]\n}\n",
        CASE_SPECIAL);
}
END_TEST

/* In a recurrence: attention over what was written so far. */
START_TEST(history)
{
    run("graph @run real f32 recurrence {\n dims T, S, D\n %x = input \"x\" f32 : f32<t:T, d:D>\n"
        " %s = scan #0 t {\n  %h.0 = history #0 0 \"h\" rows i : f32<i:T, d:D>\n"
        "  %c.0 = history #0 1 \"c\" rows i : f32<i:T, d:D>\n"
        "  %w.0 = history #0 2 \"w\" rows i : f32<i:T, j:T>\n"
        "  %1 = read %c.0[t - 1, d] where 1 <= t : f32<t:T, d:D>\n"
        "  %2 = add %x, %1 : f32<t:T, d:D>\n  %h = tanh %2 : f32<t:T, d:D>\n"
        "  %h.1 = append %h.0, %h at t : f32<i:T, d:D>\n"
        "  %3 = contract %h, %h.1 over d : f32<t:T, i:T>\n"
        "  %on = online softmax %3 over i where i <= t sum %h.1 : <t:T>\n"
        "  %c = part %on 0 : f32<t:T, d:D>\n  %w = part %on weights : f32<t:T, i:T>\n"
        "  %4 = read %w[t, j] : f32<t:T, j:T>\n"
        "  %c.1 = append %c.0, %c at t : f32<i:T, d:D>\n"
        "  %w.1 = append %w.0, %4 at t : f32<i:T, j:T>\n  yield %h.1, %c.1, %w.1\n }\n"
        " %r = result %s 1 : f32<i:T, d:D>\n %q = result %s 2 : f32<i:T, j:T>\n"
        " output \"c\" f32 %r[i, d]\n output \"w\" f32 %q[i, j]\n}\n",
        CASE_SPECIAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_online");
    TCase *c = tcase_create("schedule_online");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, attention, 0, 3 * N_PREDICATES);
    tcase_add_loop_test(c, parts, 0, N_PREDICATES);
    tcase_add_loop_test(c, several_bound, 0, N_PREDICATES);
    tcase_add_test(c, odd_operands);
    tcase_add_test(c, history);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
