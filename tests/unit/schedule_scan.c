/* schedule_scan.c: recurrences: forward, backward, nested, with histories in outputs and in temps.
 */
#include <check.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

typedef struct row {
    const char *name, *text, *sizes;
    long ints;
} row;

#define RNN_HEAD                                                                                   \
    "graph @run real f32 recurrence {\n dims B, T, H, E\n"                                         \
    " %x = input \"x\" f32 : f32<b:B, t:T, e:E>\n %W = param \"W\" f32 : f32<h:H, e:E>\n"          \
    " %U = param \"U\" f32 : f32<h:H, g:H>\n %n = input \"n\" i64 : i64<b:B>\n"                    \
    " %wx = contract %W, %x over e : f32<h:H, b:B, t:T>\n"

static const row rows[] = {
    {"rnn",
     RNN_HEAD " %s = scan #0 t {\n"
              "  %h.0 = history #0 0 \"h\" rows i : f32<b:B, i:T, h:H>\n"
              "  %1 = read %h.0[b, t - 1, g] where 1 <= t : f32<b:B, t:T, g:H>\n"
              "  %2 = contract %U, %1 over g : f32<h:H, b:B, t:T>\n"
              "  %3 = add %wx, %2 : f32<h:H, b:B, t:T>\n  %h = tanh %3 : f32<h:H, b:B, t:T>\n"
              "  %h.1 = append %h.0, %h at t : f32<b:B, i:T, h:H>\n  yield %h.1\n }\n"
              " %r = result %s 0 : f32<b:B, i:T, h:H>\n output \"h\" f32 %r[i, h, b]\n}\n",
     "B=2 T=4 H=2 E=3", 0},
    {"rnn kept in a temp",
     RNN_HEAD " %s = scan #0 t {\n"
              "  %h.0 = history #0 0 \"h\" rows i : f32<b:B, i:T, h:H>\n"
              "  %1 = read %h.0[b, t - 1, g] where 1 <= t : f32<b:B, t:T, g:H>\n"
              "  %2 = contract %U, %1 over g : f32<h:H, b:B, t:T>\n"
              "  %3 = add %wx, %2 : f32<h:H, b:B, t:T>\n"
              "  %k = read %h.0[b, t - 1, h] where 1 <= t : f32<b:B, t:T, h:H>\n"
              "  %h = select t < %n, %3, %k : f32<t:T, b:B, h:H>\n"
              "  %h.1 = append %h.0, %h at t : f32<b:B, i:T, h:H>\n  yield %h.1\n }\n"
              " %r = result %s 0 : f32<b:B, i:T, h:H>\n"
              " %last = read %r[b, T - 1, h] where 1 <= T : f32<b:B, h:H>\n"
              " output \"h\" f16 %r[b, i, h]\n output \"last\" f32 %last[b, h]\n}\n",
     "B=2 T=3 H=2 E=2", 5},
    {"backward and joined",
     RNN_HEAD " %s = scan #0 t {\n"
              "  %h.0 = history #0 0 \"f\" rows i : f32<b:B, i:T, h:H>\n"
              "  %1 = read %h.0[b, t - 1, h] where 1 <= t : f32<b:B, t:T, h:H>\n"
              "  %f = add %wx, %1 : f32<h:H, b:B, t:T>\n"
              "  %h.1 = append %h.0, %f at t : f32<b:B, i:T, h:H>\n  yield %h.1\n }\n"
              " %s2 = scan #1 t backward {\n"
              "  %g.0 = history #1 0 \"g\" rows i : f32<b:B, i:T, h:H>\n"
              "  %2 = read %g.0[b, t + 1, h] where t + 1 < T : f32<b:B, t:T, h:H>\n"
              "  %g = sub %wx, %2 : f32<h:H, b:B, t:T>\n"
              "  %k = select t < %n, %g, %2 : f32<t:T, b:B, h:H>\n"
              "  %g.1 = append %g.0, %k at t : f32<b:B, i:T, h:H>\n  yield %g.1\n }\n"
              " %rf = result %s 0 : f32<b:B, i:T, h:H>\n %rg = result %s2 0 : f32<b:B, i:T, h:H>\n"
              " %hg = read %rg[b, i, g] : f32<b:B, i:T, g:H>\n"
              " %y = join m of (h %rf), (g %hg) : f32<m:2*H, b:B, i:T>\n"
              " %z = select i < %n, %y, 0.0 : f32<i:T, b:B, m:2*H>\n"
              " output \"z\" f32 %z[b, i, m]\n}\n",
     "B=2 T=4 H=2 E=2", 5},
    {"attention over the past",
     RNN_HEAD
     " %s = scan #0 t {\n"
     "  %h.0 = history #0 0 \"h\" rows i : f32<b:B, i:T, h:H>\n"
     "  %a.0 = history #0 1 \"a\" rows i : f32<i:T, j:T, b:B>\n"
     "  %1 = contract %wx, %h.0 over h where i < t : f32<b:B, t:T, i:T>\n"
     "  %2 = read %h.0[b, t - 2, h] where 2 <= t : f32<b:B, t:T, h:H>\n"
     "  %al = softmax %1 over i where i < t and i < %n : f32<b:B, t:T, i:T>\n"
     "  %l = reduce logsumexp %1 over i where i < t : f32<b:B, t:T>\n"
     "  %3 = weigh %al, %h.0 : f32<b:B, t:T, i:T, h:H>\n"
     "  %c = reduce sum %3 over i where i < t and i < %n : f32<b:B, t:T, h:H>\n"
     "  %4 = add %c, %wx : f32<b:B, t:T, h:H>\n  %5 = add %4, %2 : f32<b:B, t:T, h:H>\n"
     "  %m = select 1 <= t, %l, 0.0 : f32<t:T, b:B>\n  %h = mul %5, %m : f32<b:B, t:T, h:H>\n"
     "  %6 = add %h, %wx : f32<b:B, t:T, h:H>\n"
     "  %h.1 = append %h.0, %6 at t : f32<b:B, i:T, h:H>\n"
     "  %7 = read %al[b, t, j] : f32<b:B, t:T, j:T>\n"
     "  %a.1 = append %a.0, %7 at t : f32<i:T, j:T, b:B>\n  yield %h.1, %a.1\n }\n"
     " %r1 = result %s 0 : f32<b:B, i:T, h:H>\n %r2 = result %s 1 : f32<i:T, j:T, b:B>\n"
     " output \"h\" f32 %r1[b, i, h]\n output \"a\" f32 %r2[b, i, j]\n}\n",
     "B=2 T=4 H=2 E=2", 4},
    {"nested",
     "graph @run real f64 recurrence {\n dims T, S, H\n"
     " %x = input \"x\" f64 : f64<t:T, u:S, h:H>\n"
     " %s = scan #0 t {\n"
     "  %y.0 = history #0 0 \"y\" rows i : f64<i:T, h:H>\n"
     "  %1 = read %y.0[t - 1, h] where 1 <= t : f64<t:T, h:H>\n"
     "  %s1 = scan #1 u {\n"
     "   %z.0 = history #1 0 \"z\" rows k : f64<k:S, h:H, t:T>\n"
     "   %2 = read %z.0[u - 1, h, t] where 1 <= u : f64<u:S, h:H, t:T>\n"
     "   %3 = add %x, %2 : f64<t:T, u:S, h:H>\n   %4 = add %3, %1 : f64<t:T, u:S, h:H>\n"
     "   %5 = tanh %4 : f64<t:T, u:S, h:H>\n"
     "   %z.1 = append %z.0, %5 at u : f64<k:S, h:H, t:T>\n   yield %z.1\n  }\n"
     "  %6 = result %s1 0 : f64<k:S, h:H, t:T>\n  %7 = reduce sum %6 over k : f64<h:H, t:T>\n"
     "  %y.1 = append %y.0, %7 at t : f64<i:T, h:H>\n  yield %y.1\n }\n"
     " %r = result %s 0 : f64<i:T, h:H>\n output \"y\" f64 %r[i, h]\n}\n",
     "T=3 S=2 H=2", 0},
    {"two histories of one row, ints",
     "graph @run real f32 recurrence {\n dims T\n %x = input \"x\" i64 : i64<t:T>\n"
     " %s = scan #0 t {\n"
     "  %a.0 = history #0 0 \"a\" rows i : i64<i:T>\n  %b.0 = history #0 1 \"b\" rows i : "
     "i64<i:T>\n"
     "  %1 = read %a.0[t - 1] where 1 <= t : i64<t:T>\n  %2 = add %1, %x : i64<t:T>\n"
     "  %a.1 = append %a.0, %2 at t : i64<i:T>\n  %b.1 = append %b.0, %2 at t : i64<i:T>\n"
     "  yield %a.1, %b.1\n }\n"
     " %r = result %s 0 : i64<i:T>\n %q = result %s 1 : i64<i:T>\n"
     " output \"a\" i32 %r[i]\n output \"b\" i64 %q[i]\n output \"c\" i64 %q[i]\n}\n",
     "T=4", 5},
    {"history of an input",
     "graph @run real f32 recurrence {\n dims T, H\n %x = input \"x\" f32 : f32<t:T, h:H>\n"
     " %s = scan #0 t {\n"
     "  %a.0 = history #0 0 \"a\" rows i : f32<i:T, h:H>\n"
     "  %c.0 = history #0 1 \"c\" rows i : f32<i:T, h:H>\n"
     "  %a.1 = append %a.0, %x at t : f32<i:T, h:H>\n"
     "  %2 = reduce sum %a.1 over i where i <= t : f32<h:H, t:T>\n"
     "  %3 = select t < T, %2, 0.0 : f32<t:T, h:H>\n"
     "  %c.1 = append %c.0, %3 at t : f32<i:T, h:H>\n  yield %a.1, %c.1\n }\n"
     " %q = result %s 1 : f32<i:T, h:H>\n output \"c\" f32 %q[i, h]\n}\n",
     "T=3 H=2", 0},
    {"greedy",
     "graph @run real f32 recurrence {\n dims T, V\n %e = param \"e\" f32 : f32<v:V, w:V>\n"
     " %p = input \"p\" i64 : i64<>\n"
     " %s = scan #0 t:T {\n"
     "  %a.0 = history #0 0 \"ids\" rows i : i64<i:T>\n"
     "  %1 = read %a.0[t - 1] where 1 <= t : i64<t:T>\n"
     "  %2 = select 1 <= t, %1, %p : i64<t:T>\n"
     "  %3 = read %e[%2, w] : f32<t:T, w:V>\n"
     "  %4 = reduce argmax %3 over w : i64<t:T>\n"
     "  %a.1 = append %a.0, %4 at t : i64<i:T>\n  yield %a.1\n }\n"
     " %q = result %s 0 : i64<i:T>\n output \"ids\" i64 %q[i]\n}\n",
     "T=5 V=4", 4},
};

START_TEST(one)
{
    check_graph(rows[_i].text, rows[_i].sizes, rows[_i].ints);
}
END_TEST

START_TEST(no_steps)
{
    check_graph(rows[_i].text, "B=2 T=0 H=2 E=1 S=2 V=1", 1);
    check_graph(rows[_i].text, "B=0 T=2 H=1 E=0 S=0 V=1", 1);
}
END_TEST

/* Histories that are outputs are written in place, rows too: no temp holds them. */
START_TEST(in_place)
{
    mem m = {0};
    arena *a = arena_new(&m);
    const char *text = schedule_text(a, rows[0].text);
    ck_assert_ptr_null(strstr(text, "h1 : temp"));
    ck_assert_ptr_nonnull(strstr(text, "= tanh("));
    arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_scan");
    TCase *c = tcase_create("schedule_scan");
    tcase_add_loop_test(c, one, 0, sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(c, no_steps, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(c, in_place);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
