/* schedule_online_tile.c: online ops by tiles against the interpreter, for sizes around the edges
 * of tiles, every kind of predicate, score and part. */
#include <check.h>
#include <stdlib.h>

#include "ir/base/arena.h"
#include "tests/unit/schedule_support.h"

static const char *const predicates[] = {
    "",
    " where j <= t",
    " where j <= t + {S} - {T}",
    " where j <= t and t < j + 9",
    " where j < %n",
    " where j <= t and j < %n",
    " where t < %n",
    " where j < %n or j <= t",
    " where %dt == %dj",
    " where %dt == %dj and j <= t",
    " where %valid",
    " where (t - j) % 16 == 0",
    " where t // 10 == j // 10",
    " where %allowed",
    " where %allowed and j <= t",
    " where 99 < j",
    " where not (j <= t)",
};
enum { N_PREDICATES = sizeof predicates / sizeof predicates[0] };

#define HEAD                                                                                       \
    "graph @run real f32 {\n dims H, T, S, D, E\n"                                                 \
    " %q = input \"q\" f32 : f32<h:H, t:T, d:D>\n"                                                 \
    " %k = input \"k\" f32 : f32<h:H, j:S, d:D>\n"                                                 \
    " %v = input \"v\" f32 : f32<h:H, j:S, e:E>\n"                                                 \
    " %u = input \"u\" f32 : f32<j:S>\n"                                                           \
    " %bias = input \"bias\" f32 : f32<t:T, j:S>\n"                                                \
    " %n = input \"n\" i64 : i64<h:H>\n"                                                           \
    " %dt = input \"dt\" i64 : i64<t:T>\n"                                                         \
    " %dj = input \"dj\" i64 : i64<j:S>\n"                                                         \
    " %valid = input \"valid\" bool : bool<j:S>\n"                                                 \
    " %allowed = input \"allowed\" bool : bool<t:T, j:S>\n"
#define DOT " %s = contract %q, %k over d : f32<h:H, t:T, j:S>\n"

static void run(const char *score, const char *online, const char *where, const char *parts,
                const char *sizes, unsigned flags)
{
    mem m = {0};
    arena *a = arena_new(&m);
    const char *text = arena_printf(a,
                                    "%s%s %%on = online %s %%s over j%s sum %%v, %%u"
                                    " : <h:H, t:T>\n%s}\n",
                                    HEAD, score, online, where, parts);
    check_case(text, sizes, 40, flags);
    arena_free(a);
}

#define STREAM                                                                                     \
    " %o = part %on 0 : f32<h:H, t:T, e:E>\n"                                                      \
    " output \"o\" f32 %o[h, t, e]\n"
#define STREAM_X                                                                                   \
    STREAM " %x = part %on 1 : f32<h:H, t:T>\n"                                                    \
           " output \"x\" f32 %x[t, h]\n"
#define ALL                                                                                        \
    STREAM " %x = part %on 1 : f32<h:H, t:T>\n"                                                    \
           " %w = part %on weights : f32<h:H, t:T, j:S>\n"                                         \
           " %l = part %on sum : f32<h:H, t:T>\n"                                                  \
           " output \"x\" f32 %x[t, h]\n"                                                          \
           " output \"w\" f32 %w[h, t, j]\n"                                                       \
           " output \"l\" f32 %l[h, t]\n"
#define SOFTMAX                                                                                    \
    ALL " %m = part %on max : f32<h:H, t:T>\n"                                                     \
        " %lse = part %on lse : f32<h:H, t:T>\n"                                                   \
        " output \"m\" f32 %m[h, t]\n"                                                             \
        " output \"lse\" f32 %lse[h, t]\n"

#define STATISTICS                                                                                 \
    STREAM_X " %m = part %on max : f32<h:H, t:T>\n"                                                \
             " %lse = part %on lse : f32<h:H, t:T>\n"                                              \
             " %l = part %on sum : f32<h:H, t:T>\n"                                                \
             " output \"m\" f32 %m[h, t]\n"                                                        \
             " output \"lse\" f32 %lse[h, t]\n"                                                    \
             " output \"l\" f32 %l[h, t]\n"

START_TEST(predicate)
{
    run(DOT, "softmax", predicates[_i], STREAM, "H=1 T=51 S=130 D=2 E=5", 0);
    run(DOT, "softmax", predicates[_i], SOFTMAX, "H=1 T=13 S=33 D=2 E=9", 0);
    run(DOT, "softmax", predicates[_i], SOFTMAX, "H=1 T=12 S=70 D=1 E=8", CASE_SPECIAL);
    run(DOT, "normalize", predicates[_i], ALL, "H=1 T=13 S=33 D=2 E=3", CASE_SPECIAL);
    run(DOT, "plain", predicates[_i], ALL, "H=1 T=13 S=33 D=2 E=3", 0);
    run(DOT, "softmax", predicates[_i], STREAM_X, "H=1 T=49 S=131 D=2 E=5", 0);
    run(DOT, "softmax", predicates[_i], STREAM, "H=1 T=49 S=131 D=2 E=5", CASE_WIDE);
    run(DOT, "softmax", predicates[_i], SOFTMAX, "H=1 T=13 S=70 D=2 E=3", CASE_WIDE);
    run(DOT, "softmax", predicates[_i], STREAM, "H=1 T=13 S=70 D=2 E=3", CASE_WIDE | CASE_SPECIAL);
}
END_TEST

static const char *const sizes[] = {
    "H=1 T=48 S=128 D=4 E=8", "H=1 T=12 S=32 D=4 E=8",  "H=2 T=49 S=33 D=0 E=7",
    "H=1 T=11 S=99 D=4 E=8",  "H=1 T=99 S=31 D=4 E=8",  "H=3 T=12 S=39 D=5 E=1",
    "H=0 T=50 S=50 D=2 E=2",  "H=1 T=0 S=50 D=2 E=2",   "H=1 T=50 S=0 D=2 E=2",
    "H=1 T=97 S=150 D=2 E=0", "H=1 T=50 S=41 D=9 E=17",
};

START_TEST(size)
{
    run(DOT, "softmax", " where j <= t", SOFTMAX, sizes[_i], 0);
    run(DOT, "softmax", "", SOFTMAX, sizes[_i], 0);
}
END_TEST

static const char *const scores[] = {
    /* scaled, with a bias and a soft cap */
    " %1 = contract %q, %k over d : f32<h:H, t:T, j:S>\n"
    " %2 = real D : f32<>\n"
    " %3 = sqrt %2 : f32<>\n"
    " %4 = div %1, %3 : f32<h:H, t:T, j:S>\n"
    " %5 = add %4, %bias : f32<h:H, t:T, j:S>\n"
    " %6 = tanh %5 : f32<h:H, t:T, j:S>\n"
    " %s = mul 3.0, %6 : f32<h:H, t:T, j:S>\n",
    /* additive */
    " %1 = add %q, %k : f32<h:H, t:T, d:D, j:S>\n"
    " %2 = tanh %1 : f32<h:H, t:T, d:D, j:S>\n"
    " %s = reduce sum %2 over d : f32<h:H, t:T, j:S>\n",
    /* minus the squared distance */
    " %1 = sub %q, %k : f32<h:H, t:T, d:D, j:S>\n"
    " %2 = mul %1, %1 : f32<h:H, t:T, d:D, j:S>\n"
    " %3 = reduce sum %2 over d : f32<h:H, t:T, j:S>\n"
    " %s = neg %3 : f32<h:H, t:T, j:S>\n",
    /* two sums */
    " %1 = contract %q, %k over d : f32<h:H, t:T, j:S>\n"
    " %2 = sub %q, %k : f32<h:H, t:T, d:D, j:S>\n"
    " %3 = abs %2 : f32<h:H, t:T, d:D, j:S>\n"
    " %4 = reduce sum %3 over d : f32<h:H, t:T, j:S>\n"
    " %s = sub %1, %4 : f32<h:H, t:T, j:S>\n",
    /* none */
    " %1 = read %q[h, t, 0] where 1 <= D : f32<h:H, t:T>\n"
    " %2 = add %1, %bias : f32<h:H, t:T, j:S>\n"
    " %s = mul %2, %u : f32<h:H, t:T, j:S>\n",
    /* with a gather that only its own predicate keeps in range */
    " %1 = contract %q, %k over d : f32<h:H, t:T, j:S>\n"
    " %2 = read %u[t - j] where j <= t and t < S : f32<t:T, j:S>\n"
    " %s = add %1, %2 : f32<h:H, t:T, j:S>\n",
};
enum { N_SCORES = sizeof scores / sizeof scores[0] };

START_TEST(score)
{
    run(scores[_i], "softmax", "", STREAM, "H=2 T=51 S=45 D=3 E=5", 0);
    run(scores[_i], "softmax", " where j <= t and j < %n", SOFTMAX, "H=1 T=21 S=45 D=3 E=5", 0);
    run(scores[_i], "softmax", " where t <= j", STREAM, "H=1 T=21 S=45 D=3 E=5", CASE_SPECIAL);
}
END_TEST

/* An index that only the predicate keeps in range: nothing excluded is looked up. */
START_TEST(guarded)
{
    check_graph(HEAD DOT
                " %1 = read %u[%dj + t + h] : f32<j:S, t:T, h:H>\n"
                " %2 = add %s, %1 : f32<h:H, t:T, j:S>\n"
                " %on = online softmax %2 over j where %dj + t + h < S sum %v : <h:H, t:T>\n" STREAM
                "}\n",
                "H=1 T=20 S=40 D=2 E=3", 60);
}
END_TEST

/* Values that are not the keys, several at once, one of them reshaped. */
START_TEST(streams)
{
    check_graph(HEAD DOT
                " %p = input \"p\" f32 : f32<j:S, g:E>\n"
                " %r = read %v[0, j, e] where 1 <= H : f32<j:S, e:E>\n"
                " %2 = mul %r, %u : f32<j:S, e:E>\n"
                " %on = online softmax %s over j where j <= t sum %v, %p, %2, %bias : <h:H, t:T>\n"
                " %a = part %on 0 : f32<h:H, t:T, e:E>\n"
                " %b = part %on 1 : f32<h:H, t:T, g:E>\n"
                " %c = part %on 2 : f32<h:H, t:T, e:E>\n"
                " %d0 = part %on 3 : f32<h:H, t:T>\n"
                " output \"a\" f32 %a[h, t, e]\n"
                " output \"b\" f32 %b[h, t, g]\n"
                " output \"c\" f32 %c[h, t, e]\n"
                " output \"d0\" f32 %d0[h, t]\n}\n",
                "H=2 T=50 S=81 D=2 E=5", 40);
}
END_TEST

/* What is stored by key must not be looked at behind the last one. */
START_TEST(stored)
{
    const char *text = HEAD DOT " %1 = exp %u : f32<j:S>\n"
                                " %2 = tanh %1 : f32<j:S>\n"
                                " %3 = add %s, %2 : f32<h:H, t:T, j:S>\n"
                                " %on = online softmax %3 over j sum %v : <h:H, t:T>\n" STREAM
                                " output \"y\" f32 %2[j]\n}\n";
    check_case(text, "H=1 T=20 S=70 D=2 E=3", 40, CASE_WIDE);
    check_case(text, "H=1 T=20 S=70 D=2 E=3", 40, 0);
}
END_TEST

/* Keys and values that heads share. */
START_TEST(grouped)
{
    check_graph("graph @run real f32 {\n dims G, T, D\n"
                " %q = input \"q\" f32 : f32<h:3*G, t:T, d:D>\n"
                " %k = input \"k\" f32 : f32<g:G, j:T, d:D>\n"
                " %v = input \"v\" f32 : f32<g:G, j:T, e:D>\n"
                " %k1 = read %k[h // 3, j, d] : f32<h:3*G, j:T, d:D>\n"
                " %v1 = read %v[h // 3, j, e] : f32<h:3*G, j:T, e:D>\n"
                " %s = contract %q, %k1 over d : f32<h:3*G, t:T, j:T>\n"
                " %on = online softmax %s over j where j <= t sum %v1 : <h:3*G, t:T>\n"
                " %o = part %on 0 : f32<h:3*G, t:T, e:D>\n"
                " output \"o\" f32 %o[h, t, e]\n}\n",
                "G=2 T=50 D=6", 40);
}
END_TEST

/* Few rows and many keys: cut into parts, which are merged. */
START_TEST(parts)
{
    static const char *const some[] = {"", " where j <= t + {S} - {T}", " where j < %n",
                                       " where %valid and t < 1"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        run(DOT, "softmax", some[i], STATISTICS, "H=1 T=2 S=2100 D=2 E=3", 0);
        run(DOT, "softmax", some[i], STATISTICS, "H=1 T=2 S=2048 D=1 E=2", CASE_SPECIAL);
        run(DOT, "normalize", some[i], STREAM_X, "H=3 T=1 S=2049 D=2 E=0", 0);
        run(DOT, "plain", some[i], STREAM_X, "H=2 T=1 S=2049 D=2 E=1", 0);
    }
}
END_TEST

/* In double precision fewer columns fit, so that a block of keys is several of theirs. */
START_TEST(doubles)
{
    const char *text = "graph @run real f64 {\n dims T, D\n"
                       " %q = input \"q\" f64 : f64<t:T, d:D>\n"
                       " %k = input \"k\" f64 : f64<j:T, d:D>\n"
                       " %s = contract %q, %k over d : f64<t:T, j:T>\n"
                       " %on = online softmax %s over j where j <= t sum %k : <t:T>\n"
                       " %o = part %on 0 : f64<t:T, d:D>\n"
                       " output \"o\" f64 %o[t, d]\n}\n";
    check_case(text, "T=130 D=3", 2, 0);
    check_case(text, "T=97 D=3", 2, CASE_WIDE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_online_tile");
    TCase *tc = tcase_create("schedule_online_tile");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, predicate, 0, N_PREDICATES);
    tcase_add_loop_test(tc, size, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(tc, score, 0, N_SCORES);
    tcase_add_test(tc, guarded);
    tcase_add_test(tc, streams);
    tcase_add_test(tc, stored);
    tcase_add_test(tc, grouped);
    tcase_add_test(tc, parts);
    tcase_add_test(tc, doubles);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
