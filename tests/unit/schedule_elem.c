/* schedule_elem.c: every elementwise op, shared and long expressions, traps of ints. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/op.h"
#include "tests/unit/schedule_support.h"

static const char *operand(op_sig sig, int i)
{
    switch (sig) {
    case SIG_REAL:
        return i == 0 ? "%x" : "%y";
    case SIG_INT:
    case SIG_TOREAL:
        return i == 0 ? "%m" : "%n";
    case SIG_BOOL:
        return i == 0 ? "%p" : "%q";
    case SIG_SELECT:
        return i == 0 ? "%p" : i == 1 ? "%x" : "%y";
    default:
        return i == 0 ? "%x" : "%y";
    }
}

static void check_op(op_id op, bool ints, const char *where, unsigned flags)
{
    char text[1024], args[64] = "";
    op_sig sig = op_table[op].sig;
    bool swap = ints && (sig == SIG_SAME || sig == SIG_CMP);
    for (int i = 0; i < op_table[op].n_args; i++) {
        strcat(args, i ? ", " : " ");
        strcat(args, swap ? operand(SIG_INT, i) : operand(sig, i));
    }
    bool real =
        sig == SIG_REAL || sig == SIG_SELECT || sig == SIG_TOREAL || (sig == SIG_SAME && !ints);
    bool boolean = sig == SIG_BOOL || sig == SIG_CMP;
    const char *dt = real ? "f64" : boolean ? "bool" : "i64";
    snprintf(text, sizeof text,
             "graph @run real f64 {\n dims T, S\n"
             " %%x = input \"x\" f64 : f64<i:T, j:S>\n %%y = input \"y\" f64 : f64<j:S>\n"
             " %%m = input \"m\" i64 : i64<i:T, j:S>\n %%n = input \"n\" i64 : i64<j:S>\n"
             " %%p = input \"p\" bool : bool<i:T, j:S>\n %%q = input \"q\" bool : bool<j:S>\n"
             " %%r = %s%s%s : %s<%s>\n output \"r\" %s %%r[i, j]\n}\n",
             op_table[op].text, args, where, dt, "i:T, j:S", dt);
    check_case(text, "T=5 S=4", 4, flags);
    check_case(text, "T=0 S=4", 4, flags);
}

START_TEST(every_op)
{
    for (op_id op = 0; op < OP_COUNT; op++) {
        if (!OP_HAS(op, T_ELEM))
            continue;
        op_sig sig = op_table[op].sig;
        check_op(op, false, "", 0);
        /* Of specials to int there is nothing to compare but the status. */
        check_op(op, false, "", CASE_SPECIAL);
        if (sig == SIG_SAME || sig == SIG_CMP)
            check_op(op, true, "", 0);
        if (OP_HAS(op, T_TRAP)) {
            check_op(op, true, "", CASE_TRAPS | CASE_SPECIAL);
            check_op(op, true, " where %p", CASE_TRAPS | CASE_SPECIAL);
            check_op(op, true, " where 1 <= j", CASE_TRAPS);
        }
    }
}
END_TEST

/* x1 = x0 + x0, forty times: shared, so small. */
START_TEST(shared)
{
    mem m = {0};
    arena *a = arena_new(&m);
    strbuf b = {.a = a};
    sb_puts(&b, "graph @run real f32 {\n dims T\n %x0 = input \"x\" f32 : f32<i:T>\n");
    for (int i = 0; i < 40; i++)
        sb_printf(&b, " %%x%d = add %%x%d, %%x%d : f32<i:T>\n", i + 1, i, i);
    sb_puts(&b, " output \"y\" f32 %x40[i]\n}\n");
    ck_assert_uint_lt(strlen(schedule_text(a, sb_text(&b))), 4000);
    check_graph(sb_text(&b), "T=3", 0);
    arena_free(a);
}
END_TEST

/* The same through reads, ints, reductions and branches, which all could double. */
START_TEST(shared_everywhere)
{
    mem m = {0};
    arena *a = arena_new(&m);
    for (int kind = 0; kind < 3; kind++) {
        strbuf b = {.a = a};
        sb_puts(&b, "graph @run real f32 {\n dims T, K\n %x0 = input \"x\" f32 : f32<i:T>\n"
                    " %w = input \"w\" f32 : f32<i:T, k:K>\n");
        for (int i = 0; i < 40; i++) {
            if (kind == 0)
                sb_printf(&b, " %%r%d = read %%x%d[i - 1] where 1 <= i : f32<i:T>\n", i, i);
            else if (kind == 1)
                sb_printf(&b, " %%r%d = contract %%x%d, %%w over k : f32<i:T>\n", i, i);
            else
                sb_printf(&b, " %%r%d = sigmoid %%x%d : f32<i:T>\n", i, i);
            sb_printf(&b, " %%x%d = add %%x%d, %%r%d : f32<i:T>\n", i + 1, i, i);
        }
        sb_puts(&b, " output \"y\" f32 %x40[i]\n}\n");
        ck_assert_uint_lt(strlen(schedule_text(a, sb_text(&b))), 40000);
        check_case(sb_text(&b), "T=3 K=1", 0, 0);
    }
    arena_free(a);
}
END_TEST

START_TEST(long_chain)
{
    mem m = {0};
    arena *a = arena_new(&m);
    strbuf b = {.a = a};
    sb_puts(&b, "graph @run real f32 {\n dims T\n %x0 = input \"x\" f32 : f32<i:T>\n");
    for (int i = 0; i < 10000; i++)
        sb_printf(&b, " %%x%d = %s %%x%d, 0.5 : f32<i:T>\n", i + 1, i % 2 ? "add" : "mul", i);
    sb_puts(&b, " output \"y\" f32 %x10000[i]\n}\n");
    check_case(sb_text(&b), "T=2", 0, 0);
    arena_free(a);
}
END_TEST

/* Ints that are known to be in range need no checks; others do. */
START_TEST(checks_where_needed)
{
    static const char text[] =
        "graph @run real f32 {\n dims N, K\n %n = input \"n\" i64 : i64<i:N>\n"
        " %x = input \"x\" f32 : f32<m:N*K>\n"
        " %a = read %x[i * K + k] : f32<i:N, k:K>\n"
        " %s = reduce sum %a over i, k : f32<>\n"
        " output \"s\" f32 %s[]\n}\n";
    mem m = {0};
    arena *a = arena_new(&m);
    ck_assert_ptr_null(strstr(schedule_text(a, text), "check"));
    static const char data[] = "graph @run real f32 {\n dims N\n %n = input \"n\" i64 : i64<i:N>\n"
                               " %m = add %n, 1 : i64<i:N>\n output \"m\" i64 %m[i]\n}\n";
    ck_assert_ptr_nonnull(strstr(schedule_text(a, data), "overflows.add(x, 1)"));
    check_graph(text, "N=3 K=2", 0);
    check_case(data, "N=4", 3, CASE_TRAPS);
    arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_elem");
    TCase *c = tcase_create("schedule_elem");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, every_op);
    tcase_add_test(c, shared);
    tcase_add_test(c, shared_everywhere);
    tcase_add_test(c, long_chain);
    tcase_add_test(c, checks_where_needed);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
