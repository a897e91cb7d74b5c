/* schedule_read.c: reads (shifts, gathers, splits, merges, diagonals), joins, optional inputs,
 * families and the ways an output can ask for its axes. */
#include <check.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

#define GRAPH(real, sizes, body) "graph @run real " real " {\n dims " sizes "\n" body "}\n"

enum { EXCLUDED = 1 << 8 }; /* only predicates hide elements */

typedef struct row {
    const char *name, *text, *sizes;
    long ints;
    unsigned flags;
} row;

static const row rows[] = {
    {"shift",
     GRAPH("f32", "T, E",
           " %x = input \"x\" f32 : f32<t:T, e:E>\n"
           " %a = read %x[t - 1, e] where 1 <= t : f32<t:T, e:E>\n"
           " %b = read %x[t + 1, e] where t + 1 < T : f32<t:T, e:E>\n"
           " %c = add %a, %b : f32<t:T, e:E>\n output \"c\" f32 %c[t, e]\n"),
     "T=4 E=2", 0, CASE_SPECIAL},
    {"window",
     GRAPH("f32", "T, D",
           " %x = input \"x\" f32 : f32<t:T>\n %w = param \"w\" f32 : f32<d:3>\n"
           " %a = read %x[t + d - 1] where 0 <= t + d - 1 and t + d - 1 < T : f32<t:T, d:3>\n"
           " %y = contract %a, %w over d : f32<t:T>\n output \"y\" f32 %y[t]\n"),
     "T=5 D=1", 0, EXCLUDED},
    {"reverse",
     GRAPH("f32", "T",
           " %x = input \"x\" f32 : f32<t:T>\n %y = exp %x : f32<t:T>\n"
           " %a = read %y[T - 1 - t] : f32<t:T>\n output \"a\" f32 %a[t]\n"),
     "T=4", 0, CASE_SPECIAL},
    {"gather",
     GRAPH("f32", "V, E, T, H",
           " %w = param \"w\" f32 : f32<v:V, e:E>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %u = param \"u\" f32 : f32<e:E, h:H>\n"
           " %x = read %w[%ids, e] : f32<t:T, e:E>\n %y = contract %x, %u over e : f32<t:T, h:H>\n"
           " output \"y\" f32 %y[t, h]\n"),
     "V=3 E=2 T=4 H=2", 3, CASE_TRAPS},
    {"gather i32",
     GRAPH("f32", "V, E, T",
           " %w = param \"w\" f16 : f32<v:V, e:E>\n %ids = input \"ids\" u8 : i64<t:T>\n"
           " %x = read %w[%ids, e] where %ids < V : f32<t:T, e:E>\n output \"x\" bf16 %x[e, t]\n"),
     "V=3 E=2 T=6", 5, 0},
    {"gather guarded",
     GRAPH("f32", "V, E, T",
           " %w = param \"w\" f32 : f32<v:V, e:E>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %n = input \"n\" i64 : i64<>\n"
           " %x = read %w[%ids, e] where t < %n : f32<t:T, e:E>\n"
           " %s = reduce sum %x over t where t < %n : f32<e:E>\n output \"s\" f32 %s[e]\n"),
     "V=3 E=2 T=4", 3, CASE_TRAPS | EXCLUDED},
    {"asked for by two readers",
     GRAPH("f32", "V, E, T, D",
           " %w = param \"w\" f32 : f32<v:V, e:E>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %n = input \"n\" i64 : i64<>\n %x = read %w[%ids, e] : f32<t:T, e:E>\n"
           " %y = tanh %x : f32<t:T, e:E>\n"
           " %a = read %y[i, e] where i < %n : f32<i:T, e:E>\n"
           " %s = reduce sum %a over e : f32<i:T>\n"
           " %b = read %y[j, d] : f32<j:T, d:E>\n"
           " %m = reduce max %b over j where j < %n and 1 <= j : f32<d:E>\n"
           " %u = param \"u\" f32 : f32<e:E, h:D>\n"
           " %z = contract %y, %u over e, t where t < %n : f32<h:D>\n"
           " output \"s\" f32 %s[i]\n output \"m\" f32 %m[d]\n output \"z\" f16 %z[h]\n"),
     "V=3 E=2 T=4 D=3", 3, CASE_TRAPS},
    {"asked for behind a product",
     GRAPH("f32", "V, E, T",
           " %w = param \"w\" f32 : f32<v:V, e:E>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %n = input \"n\" i64 : i64<>\n %x = read %w[%ids + 1, e] : f32<t:T, e:E>\n"
           " %u = param \"u\" f32 : f32<e:E, h:E>\n"
           " %y = contract %x, %u over e : f32<t:T, h:E>\n"
           " %z = read %y[t, e] : f32<t:T, e:E>\n %c = add %z, %x : f32<t:T, e:E>\n"
           " %q = read %c[i, e] : f32<i:T, e:E>\n"
           " %a = contract %q, %c over e, t where t < %n and i < %n and t <= i : f32<i:T>\n"
           " %b = read %a[k] where k < %n : f32<k:T>\n"
           " %m = reduce max %c over t where t < %n : f32<e:E>\n"
           " output \"b\" f32 %b[k]\n output \"m\" f32 %m[e]\n"),
     "V=4 E=2 T=5", 3, CASE_TRAPS},
    {"asked for by a mask",
     GRAPH("f32", "V, E, T",
           " %w = param \"w\" f32 : f32<v:V, e:E>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %ok = input \"ok\" bool : bool<t:T>\n %k = add %ids, %ids : i64<t:T>\n"
           " %x = read %w[%k, e] : f32<t:T, e:E>\n"
           " %okj = read %ok[j] : bool<j:T>\n %xj = read %x[j, e] : f32<j:T, e:E>\n"
           " %a = reduce sum %xj over j where %okj : f32<e:E>\n"
           " %y = join m of (e %x), (d:2 1.0) : f32<m:E + 2, t:T>\n"
           " %yi = read %y[m, i] : f32<m:E + 2, i:T>\n %oki = read %ok[i] : bool<i:T>\n"
           " %b = reduce max %yi over i where %oki : f32<m:E + 2>\n"
           " output \"a\" f32 %a[e]\n output \"b\" f32 %b[m]\n"),
     "V=5 E=2 T=4", 3, CASE_TRAPS},
    {"clamped",
     GRAPH("f32", "V, T",
           " %w = param \"w\" f32 : f32<v:V>\n %ids = input \"ids\" i64 : i64<t:T>\n"
           " %a = max %ids, 0 : i64<t:T>\n %b = min %a, (V - 1) : i64<t:T>\n"
           " %x = read %w[%b] : f32<t:T>\n output \"x\" f32 %x[t]\n"),
     "V=3 T=5", 3, CASE_TRAPS},
    {"split merge",
     GRAPH("f32", "N, K",
           " %x = input \"x\" f32 : f32<m:N*K>\n %a = read %x[n * K + k] : f32<n:N, k:K>\n"
           " %b = exp %a : f32<n:N, k:K>\n %c = read %b[m // K, m % K] : f32<m:N*K>\n"
           " output \"c\" f32 %c[m]\n output \"d\" f32 %a[k, n]\n"),
     "N=3 K=2", 0, CASE_SPECIAL},
    {"split merge empty",
     GRAPH("f32", "N, K",
           " %x = input \"x\" f32 : f32<m:N*K>\n %a = read %x[n * K + k] : f32<n:N, k:K>\n"
           " %c = read %a[m // K, m % K] : f32<m:N*K>\n output \"c\" f32 %c[m]\n"),
     "N=3 K=0", 0, 0},
    {"diagonal",
     GRAPH("f32", "T",
           " %x = input \"x\" f32 : f32<i:T, j:T>\n %a = read %x[i, i] : f32<i:T>\n"
           " %b = log %x : f32<i:T, j:T>\n %c = read %b[j, i] : f32<j:T, i:T>\n %d = read %b[i, i] "
           ": f32<i:T>\n"
           " output \"a\" f32 %a[i]\n output \"c\" f32 %c[i, j]\n output \"d\" f32 %d[i]\n"),
     "T=3", 0, 0},
    {"constant place",
     GRAPH("f32", "T, E",
           " %x = input \"x\" f32 : f32<t:T, e:E>\n %a = read %x[0, e] : f32<e:E>\n"
           " %b = read %x[T - 1, e] : f32<e:E>\n %c = sub %a, %b : f32<e:E>\n"
           " output \"c\" f32 %c[e]\n output \"d\" f64 %a[e]\n"),
     "T=2 E=3", 0, CASE_SPECIAL},
    {"constant place of nothing",
     GRAPH("f32", "T",
           " %x = input \"x\" f32 : f32<t:T>\n %a = read %x[0] : f32<>\n output \"a\" f32 %a[]\n"),
     "T=0", 0, 0},
    {"chain of reads",
     GRAPH("f32", "T",
           " %x = input \"x\" f32 : f32<t:T>\n %a = tanh %x : f32<t:T>\n"
           " %b = read %a[t - 1] where 1 <= t : f32<t:T>\n %c = read %b[t - 1] where 1 <= t : "
           "f32<t:T>\n"
           " %d = read %c[u] : f32<u:T>\n %e = add %d, %b : f32<u:T, t:T>\n output \"e\" f32 %e[u, "
           "t]\n"),
     "T=4", 0, CASE_SPECIAL},
    {"optional",
     GRAPH("f32", "B, T",
           " %x = input \"x\" f32 : f32<b:B, t:T>\n %n.in = input \"n\" i64 optional : i64<b:B>\n"
           " %y.in = input \"y\" f32 optional : f32<b:B, t:T>\n"
           " %g = given %n.in : bool<>\n %1 = read %n.in[b] where %g : i64<b:B>\n"
           " %n = select %g, %1, T : i64<b:B>\n %h = given %y.in : bool<>\n"
           " %y = read %y.in[b, t] where %h and t < %n : f32<b:B, t:T>\n %z = add %x, %y : "
           "f32<b:B, t:T>\n"
           " %s = reduce sum %z over t where t < %n : f32<b:B>\n output \"s\" f32 %s[b]\n"
           " output \"z\" f32 %z[b, t]\n"),
     "B=2 T=3", 5, 0},
    {"join",
     GRAPH("f32", "T, A, B",
           " %x = input \"x\" f32 : f32<t:T, a:A>\n %y = input \"y\" f32 : f32<b:B, t:T>\n"
           " %e = exp %y : f32<b:B, t:T>\n"
           " %j = join m of (a %x), (b %e), (c:1 1.5) : f32<m:A + B + 1, t:T>\n"
           " %k = mul %j, 2.0 : f32<m:A + B + 1, t:T>\n"
           " output \"j\" f32 %j[t, m]\n output \"k\" f32 %k[m, t]\n"),
     "T=2 A=3 B=2", 0, CASE_SPECIAL},
    {"join contracted",
     GRAPH("f32", "T, A, B, H",
           " %x = input \"x\" f32 : f32<t:T, a:A>\n %y = input \"y\" f32 : f32<t:T, b:B>\n"
           " %w = param \"w\" f32 : f32<h:H, m:A + B>\n %v = param \"v\" f32 : f32<m:A + B, h:H>\n"
           " %j = join m of (a %x), (b %y) : f32<m:A + B, t:T>\n"
           " %c = contract %w, %j over m : f32<h:H, t:T>\n %d = contract %j, %v over m where m < 3 "
           ": f32<t:T, h:H>\n"
           " output \"c\" f32 %c[t, h]\n output \"d\" f32 %d[t, h]\n"),
     "T=2 A=2 B=3 H=2", 0, CASE_SPECIAL},
    {"join contracted once",
     GRAPH("f32", "T, A, B, H",
           " %x = input \"x\" f32 : f32<t:T, a:A>\n %y = input \"y\" f32 : f32<t:T, b:B>\n"
           " %w = param \"w\" f32 : f32<h:H, m:A + B>\n %n = input \"n\" i64 : i64<t:T>\n"
           " %j = join m of (a %x), (b %y) : f32<m:A + B, t:T>\n"
           " %c = contract %w, %j over m where m < %n and 1 <= m : f32<h:H, t:T>\n"
           " output \"c\" f32 %c[t, h]\n"),
     "T=3 A=2 B=3 H=2", 7, CASE_TRAPS},
    {"two joins",
     GRAPH("f32", "A, B",
           " %x = input \"x\" f32 : f32<a:A>\n %y = input \"y\" f32 : f32<b:B>\n"
           " %j = join m of (a %x), (b %y) : f32<m:A + B>\n %k = join m of (a 1.0), (b %y) : "
           "f32<m:A + B>\n"
           " %l = join m of (b %y), (a %x) : f32<m:A + B>\n"
           " %o = mul %j, %k : f32<m:A + B>\n %p = add %o, %l : f32<m:A + B>\n"
           " %s = softmax %p over m where 1 <= m : f32<m:A + B>\n"
           " output \"p\" f32 %p[m]\n output \"s\" f32 %s[m]\n"),
     "A=2 B=3", 0, CASE_SPECIAL},
    {"join read",
     GRAPH("f32", "A, B, T",
           " %x = input \"x\" f32 : f32<a:A>\n %y = input \"y\" f32 : f32<b:B>\n %i = input \"i\" "
           "i64 : i64<t:T>\n"
           " %j = join m of (a %x), (b %y) : f32<m:A + B>\n %r = read %j[%i] : f32<t:T>\n"
           " output \"r\" f32 %r[t]\n"),
     "A=2 B=1 T=4", 3, CASE_TRAPS},
    {"join of joins",
     GRAPH("f32", "A, B",
           " %x = input \"x\" f32 : f32<a:A>\n %y = input \"y\" f32 : f32<b:B>\n"
           " %j = join m of (a %x), (b %y) : f32<m:A + B>\n"
           " %k = join n of (m %j), (b %y) : f32<n:A + 2*B>\n"
           " %s = reduce logsumexp %k over n : f32<>\n output \"s\" f32 %s[]\n"),
     "A=2 B=3", 0, CASE_SPECIAL},
    {"family",
     GRAPH("f32", "M, D, L",
           " %w = param \"w\" f32 family 1 from \"mem{l}\" : f32<l:3, m:M, d:D>\n"
           " %x = input \"x\" f32 family 1 from \"x{l}\" : f32<l:3, m:M>\n"
           " %a = read %w[1, m, d] : f32<m:M, d:D>\n %y = contract %w, %x over m : f32<l:3, d:D>\n"
           " output \"a\" f32 %a[m, d]\n output \"y\" f32 %y[l, d] family 1 from \"y{l}\"\n"),
     "M=2 D=3 L=1", 0, 0},
    {"repeated",
     GRAPH("f32", "T, S",
           " %x = input \"x\" f32 : f32<t:T>\n %y = input \"y\" f32 : f32<s:S>\n %a = exp %x : "
           "f32<t:T>\n"
           " %b = reduce sum %y over s : f32<>\n"
           " output \"a\" f32 %a[s, t]\n output \"b\" f32 %b[t]\n %one = add 1.0, 0.5 : f32<>\n "
           "output \"c\" f32 %one[]\n"
           " output \"x\" f32 %x[t]\n output \"a2\" f32 %a[t]\n output \"a3\" f16 %a[t]\n"),
     "T=2 S=3", 0, CASE_SPECIAL},
    {"narrow outputs",
     GRAPH("f64", "T, S",
           " %x = input \"x\" f32 : f64<t:T, s:S>\n %a = softmax %x over s : f64<t:T, s:S>\n"
           " %b = reduce sum %x over s : f64<t:T>\n %c = round %b : i64<t:T>\n"
           " %d = lt %b, 0.0 : bool<t:T>\n"
           " output \"a\" f32 %a[t, s]\n output \"b\" f16 %b[t]\n output \"c\" i32 %c[t]\n output "
           "\"d\" bool %d[t]\n"),
     "T=3 S=3", 0, 0},
    {"scalars",
     GRAPH("f32", "T",
           " %x = input \"x\" f32 : f32<>\n %y = exp %x : f32<>\n %z = add %y, %y : f32<>\n"
           " %r = real T : f32<>\n %w = mul %z, %r : f32<>\n output \"w\" f32 %w[]\n"),
     "T=3", 0, CASE_SPECIAL},
    {"rank 12",
     GRAPH(
         "f32", "T",
         " %x = input \"x\" f32 : f32<a:1, b:2, c:1, d:2, e:1, f:2, g:1, h:1, i:1, j:2, k:1, l:T>\n"
         " %y = softmax %x over l, b : f32<a:1, b:2, c:1, d:2, e:1, f:2, g:1, h:1, i:1, j:2, k:1, "
         "l:T>\n"
         " output \"y\" f32 %y[l, k, j, i, h, g, f, e, d, c, b, a]\n"),
     "T=2", 0, CASE_SPECIAL},
};

START_TEST(one)
{
    const row *r = &rows[_i];
    check_case(r->text, r->sizes, r->ints, 0);
    check_case(r->text, r->sizes, r->ints, r->flags);
    if (r->flags & EXCLUDED)
        check_excluded(r->text, r->sizes, r->ints);
    check_case(r->text, r->sizes, r->ints, r->flags | CASE_ABSENT);
    check_case(r->text, r->sizes, r->ints, r->flags | CASE_MIXED);
}
END_TEST

/* Proved reads carry no check, and a read under its predicate no second test. */
START_TEST(no_needless_checks)
{
    mem m = {0};
    arena *a = arena_new(&m);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const proved[] = {"shift",       "window",   "reverse", "clamped",
                                      "split merge", "diagonal", "join"};
        for (size_t k = 0; k < sizeof proved / sizeof proved[0]; k++) {
            if (strcmp(rows[i].name, proved[k]) == 0 && strcmp(proved[k], "clamped") != 0)
                ck_assert_msg(!strstr(schedule_text(a, rows[i].text), "check"), "%s has checks",
                              proved[k]);
        }
    }
    arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_read");
    TCase *c = tcase_create("schedule_read");
    tcase_add_loop_test(c, one, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(c, no_needless_checks);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
