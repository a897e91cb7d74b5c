/* schedule_large.c: large and odd graphs: they schedule in no time, to code of sensible size, or
 * are refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "tests/unit/schedule_support.h"

#define HEAD                                                                                       \
    "graph @run real f32 {\n dims T, S\n %x = input \"x\" f32 : f32<i:T>\n %n = input \"n\" i64 "  \
    ": i64<i:T>\n"

static strbuf start(mem *m)
{
    strbuf b = {.a = arena_new(m)};
    sb_puts(&b, HEAD);
    return b;
}

static void finish(strbuf *b, const char *sizes, size_t most)
{
    mem m = {0};
    sb_puts(b, "}\n");
    arena *a = arena_new(&m);
    ck_assert_uint_lt(strlen(schedule_text(a, sb_text(b))), most);
    arena_free(a);
    check_case(sb_text(b), sizes, 2, 0);
    arena_free(b->a);
}

/* Ten thousand values, each used by two others. */
START_TEST(lattice)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %v0 = exp %x : f32<i:T>\n %v1 = mul %x, 0.5 : f32<i:T>\n");
    for (int i = 2; i < 10000; i++)
        sb_printf(&b, " %%v%d = %s %%v%d, %%v%d : f32<i:T>\n", i, i % 3 ? "min" : "sub", i - 1,
                  i - 2);
    sb_puts(&b, " output \"y\" f32 %v9999[i]\n");
    finish(&b, "T=2 S=1", 1500000);
}
END_TEST

/* Long chains of ints and bools over indices, which are otherwise never stored. */
START_TEST(index_chains)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %v0 = max (i + 1), 2 : i64<i:T>\n");
    for (int i = 1; i < 3000; i++)
        sb_printf(&b, " %%v%d = %s %%v%d, (i + %d) : i64<i:T>\n", i, i % 2 ? "max" : "min", i - 1,
                  i % 7);
    sb_puts(&b, " %w0 = lt i, 1 : bool<i:T>\n");
    for (int i = 1; i < 3000; i++)
        sb_printf(&b, " %%w%d = %s %%w%d, (i < %d) : bool<i:T>\n", i, i % 2 ? "or" : "and", i - 1,
                  i % 5);
    sb_puts(&b, " %s = reduce sum %x over i where %w2999 : f32<>\n"
                " output \"y\" i64 %v2999[i]\n output \"s\" f32 %s[]\n");
    finish(&b, "T=3 S=1", 1000000);
}
END_TEST

/* Shared ints over indices double with every step unless they are named or stored. */
START_TEST(index_sharing)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %v0 = max i, 1 : i64<i:T>\n");
    for (int i = 0; i < 40; i++)
        sb_printf(&b, " %%m%d = max %%v%d, %d : i64<i:T>\n %%v%d = min %%m%d, %%v%d : i64<i:T>\n",
                  i, i, i, i + 1, i, i);
    sb_puts(&b, " output \"y\" i64 %v40[i]\n");
    finish(&b, "T=3 S=1", 20000);
}
END_TEST

START_TEST(many_conjuncts)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %w0 = lt i, T : bool<i:T>\n");
    for (int i = 0; i < 2000; i++)
        sb_printf(&b,
                  " %%c%d = le %%n, (i + %d) : bool<i:T>\n %%w%d = and %s%d, %s%d : bool<i:T>\n", i,
                  i + 1, i + 1, i % 2 ? "%w" : "%c", i, i % 2 ? "%c" : "%w", i);
    sb_puts(&b, " %s = softmax %x over i where %w2000 : f32<i:T>\n output \"s\" f32 %s[i]\n");
    finish(&b, "T=3 S=1", 1000000);
}
END_TEST

START_TEST(many_parts)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %j = join m of ");
    for (int i = 0; i < 1000; i++)
        sb_printf(&b, "%s(a:1 %d.0)", i ? ", " : "", i);
    sb_puts(&b, " : f32<m:1000>\n %s = reduce sum %j over m : f32<>\n");
    sb_puts(&b, " output \"s\" f32 %s[]\n output \"j\" f32 %j[m]\n");
    finish(&b, "T=1 S=1", 400000);
}
END_TEST

/* Several joins in one nest: their parts must not multiply without end. */
START_TEST(joins_of_joins)
{
    mem m = {0};
    strbuf b = start(&m);
    for (int i = 0; i < 6; i++)
        sb_printf(&b,
                  " %%j%d = join m%d of (a%d:S 1.0), (b%d:S 2.0), (c%d:S 3.0), (d%d:S 4.0) : "
                  "f32<m%d:4*S>\n",
                  i, i, i, i, i, i, i);
    sb_puts(&b,
            " %p1 = mul %j0, %j1 : f32<m0:4*S, m1:4*S>\n %p2 = mul %p1, %j2 : f32<m0:4*S, m1:4*S, "
            "m2:4*S>\n"
            " %p3 = mul %p2, %j3 : f32<m0:4*S, m1:4*S, m2:4*S, m3:4*S>\n"
            " %p4 = add %p3, %j4 : f32<m0:4*S, m1:4*S, m2:4*S, m3:4*S, m4:4*S>\n"
            " %p5 = mul %p4, %j5 : f32<m0:4*S, m1:4*S, m2:4*S, m3:4*S, m4:4*S, m5:4*S>\n"
            " %s = reduce sum %p5 over m0, m1, m2, m3, m4, m5 : f32<>\n output \"s\" f32 %s[]\n");
    finish(&b, "T=1 S=1", 400000);
}
END_TEST

START_TEST(rank_64)
{
    mem m = {0};
    strbuf b = {.a = arena_new(&m)}, list = {.a = b.a}, at = {.a = b.a};
    for (int i = 0; i < 64; i++) {
        sb_printf(&list, "%si%d:%s", i ? ", " : "", i, i == 40 ? "T" : i == 63 ? "2" : "1");
        sb_printf(&at, "%si%d", i ? ", " : "", 63 - i);
    }
    sb_printf(&b,
              "graph @run real f32 {\n dims T, S\n %%x = input \"x\" f32 : f32<%s>\n"
              " %%y = softmax %%x over i40, i0 : f32<%s>\n output \"y\" f32 %%y[%s]\n",
              sb_text(&list), sb_text(&list), sb_text(&at));
    finish(&b, "T=3 S=1", 100000);
}
END_TEST

/* x[l+1] = step of x[l], a hundred recurrences one behind the other. */
START_TEST(many_scans)
{
    mem m = {0};
    strbuf b = start(&m);
    sb_puts(&b, " %r0 = exp %x : f32<i:T>\n");
    for (int i = 0; i < 100; i++)
        sb_printf(&b,
                  " %%a%d = read %%r%d[t] : f32<t:T>\n %%s%d = scan #%d t:T {\n"
                  "  %%h%d = history #%d 0 \"h\" rows i : f32<i:T>\n"
                  "  %%b%d = read %%h%d[t - 1] where 1 <= t : f32<t:T>\n"
                  "  %%c%d = sub %%a%d, %%b%d : f32<t:T>\n  %%d%d = tanh %%c%d : f32<t:T>\n"
                  "  %%e%d = append %%h%d, %%d%d at t : f32<i:T>\n  yield %%e%d\n }\n"
                  " %%r%d = result %%s%d 0 : f32<i:T>\n",
                  i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i + 1, i);
    sb_puts(&b, " output \"y\" f32 %r100[i]\n");
    finish(&b, "T=3 S=1", 200000);
}
END_TEST

/* What the scheduler refuses, it refuses with a message. */
static void refused(const char *text, const char *message)
{
    mem m = {0};
    arena *a = arena_new(&m);
    source_set sources;
    diags ds;
    source_set_init(&sources, a);
    diags_init(&ds, a, &sources);
    module *mod =
        module_parse(a, strtab_new(a), &ds, source_add(&sources, "t.ir", text, strlen(text)));
    if (!mod)
        diags_print(&ds, stderr, false);
    ck_assert_ptr_nonnull(mod);
    const schedule_options so = {.shape = MACHINE_SHAPE_DEFAULT};
    ck_assert_ptr_null(schedule(a, mod->graphs.v[0], &so, &ds));
    ck_assert_uint_ge(ds.n_errors, 1);
    ck_assert_msg(strstr(ds.first->text, message), "%s", ds.first->text);
    arena_free(a);
}

/* Each recurrence inside the region of the one before. */
START_TEST(nested_deep)
{
    mem m = {0};
    strbuf b = {.a = arena_new(&m)};
    enum { DEPTH = 70 };
    sb_puts(&b, "graph @run real f32 {\n dims T\n");
    for (int i = 0; i < DEPTH; i++)
        sb_printf(&b,
                  " %%s%d = scan #%d t%d:T {\n %%h%d = history #%d 0 \"h%d\" rows i : f32<i:T>\n"
                  " %%a%d = read %%h%d[0] : f32<>\n",
                  i, i, i, i, i, i, i, i);
    for (int i = DEPTH; i-- > 0;) {
        sb_printf(&b, " %%d%d = real t%d : f32<t%d:T>\n %%b%d = add %%d%d, %%a%d : f32<t%d:T>\n", i,
                  i, i, i, i, i ? i - 1 : 0, i);
        if (i + 1 < DEPTH)
            sb_printf(&b,
                      " %%q%d = read %%r%d[0] : f32<>\n %%c%d = add %%b%d, %%q%d : f32<t%d:T>\n", i,
                      i + 1, i, i, i, i);
        sb_printf(&b, " %%e%d = append %%h%d, %%%c%d at t%d : f32<i:T>\n yield %%e%d\n }\n", i, i,
                  i + 1 < DEPTH ? 'c' : 'b', i, i, i);
        sb_printf(&b, " %%r%d = result %%s%d 0 : f32<i:T>\n", i, i);
    }
    sb_puts(&b, " output \"y\" f32 %r0[i]\n}\n");
    refused(sb_text(&b), "nest deeper than 64");
    arena_free(b.a);
}
END_TEST

/* Memory that runs out anywhere: the scheduler leaves by the recovery point and keeps nothing. */
START_TEST(out_of_memory)
{
    const char *text =
        HEAD " %y = softmax %x over i where i < %n : f32<i:T>\n output \"y\" f32 %y[i]\n}\n";
    for (volatile size_t fail = 1;; fail++) {
        mem m = {0};
        jmp_buf oom;
        arena *volatile a = arena_new(&m);
        m.fail_at = m.count + fail;
        m.on_oom = &oom;
        if (setjmp(oom) == 0) {
            source_set sources;
            diags ds;
            source_set_init(&sources, a);
            diags_init(&ds, a, &sources);
            uint32_t file = source_add(&sources, "t.ir", text, strlen(text));
            module *mod = module_parse(a, strtab_new(a), &ds, file);
            const schedule_options so = {.shape = MACHINE_SHAPE_DEFAULT};
            ck_assert_ptr_nonnull(schedule(a, mod->graphs.v[0], &so, &ds));
            arena_free(a);
            break;
        }
        arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_large");
    TCase *c = tcase_create("schedule_large");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, lattice);
    tcase_add_test(c, index_chains);
    tcase_add_test(c, index_sharing);
    tcase_add_test(c, many_conjuncts);
    tcase_add_test(c, many_parts);
    tcase_add_test(c, joins_of_joins);
    tcase_add_test(c, rank_64);
    tcase_add_test(c, many_scans);
    tcase_add_test(c, nested_deep);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
