/* graph_wrong.c: the reader on wrong and on hostile text. The wording of common faults is tested by
 * tests/invalid; here are faults that need no wording: that nothing crashes, hangs or gets through.
 */
#include <stdlib.h>
#include <time.h>

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

static const char *const good =
    "graph @g real f32 recurrence {\n"
    "  dims B, T, E\n"
    "  check E == 2*B + (T // 2) \"text\"\n"
    "  %x = input \"x\" f32 : f32<b:B, t:T>\n"
    "  %n = input \"n\" i64 optional : i64<b:B>\n"
    "  %W = param \"W\" f32 family 1 from \"w{l}\" : f32<l:B, e:max(E, T)>\n"
    "  %1 = given %n : bool<>\n"
    "  %2 = read %n[b] where %1 and 0 <= b : i64<b:B>\n"
    "  %s = scan #0 t backward {\n"
    "    %h.0 = history #0 0 \"h\" rows i : f32<b:B, i:T>\n"
    "    %3 = read %h.0[b, t + 1] where t < T - 1 : f32<b:B, t:T>\n"
    "    %4 = add %3, %x : f32<b:B, t:T>\n"
    "    %h.1 = append %h.0, %4 at t : f32<b:B, i:T>\n"
    "    yield %h.1\n"
    "  }\n"
    "  %5 = result %s 0 : f32<b:B, i:T>\n"
    "  %6 = join m of (b %5), (e %W) : f32<m:B + max(E, T), i:T, l:B>\n"
    "  %7 = contract %5, %x over b where b // 2 < 3 : f32<i:T, t:T>\n"
    "  %8 = softmax %7 over t where t <= i : f32<i:T, t:T>\n"
    "  %9 = reduce sum %8 over t, k:3 : f32<i:T>\n"
    "  %10 = select t % 2 == 0, %9, -1.5e3 : f32<t:T, i:T>\n"
    "  output \"y\" f32 %10[i, t, z:4] family 1 from \"y{l}\"\n"
    "}\n";

/* Reads the text; where it is accepted, what is printed must read back and print the same. */
static bool survives(const char *text, size_t n)
{
    diags_init(&s.ds, s.a, &s.sources);
    uint32_t file = source_add(&s.sources, "mutant.ir", text, n);
    module *m = module_parse(s.a, s.names, &s.ds, file);
    ck_assert(!m == (s.ds.n_errors > 0));
    if (!m)
        return false;
    strbuf once = {.a = s.a}, twice = {.a = s.a};
    module_print(m, &once);
    m = module_parse(s.a, s.names, &s.ds,
                     source_add(&s.sources, "again.ir", sb_text(&once), once.n));
    ck_assert_msg(m != NULL, "does not read back:\n%s", sb_text(&once));
    module_print(m, &twice);
    ck_assert_str_eq(sb_text(&once), sb_text(&twice));
    return true;
}

static uint64_t seed;

static size_t pick(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(seed >> 33) % n;
}

/* Texts near the good one: pieces cut, doubled, moved, bytes changed. */
START_TEST(mutants)
{
    const char bytes[] = "%#@:<>[](){},.\"'-+*/= \n;09azTb\\x\0\xff";
    size_t n = strlen(good), accepted = 0;
    seed = 7 + (uint64_t)_i;
    for (int round = 0; round < 1500; round++) {
        char *text = arena_alloc(s.a, 2 * n + 64);
        memcpy(text, good, n);
        size_t len = n;
        for (size_t edits = 1 + pick(3); edits > 0; edits--) {
            size_t at = pick(len), count = 1 + pick(pick(4) ? 4 : 60);
            count = count > len - at ? len - at : count;
            switch (pick(4)) {
            case 0:
                text[at] = bytes[pick(sizeof bytes - 1)];
                break;
            case 1: /* cut */
                memmove(text + at, text + at + count, len - at - count);
                len -= count;
                break;
            case 2: /* twice */
                if (len + count > 2 * n)
                    break;
                memmove(text + at + count, text + at, len - at);
                len += count;
                break;
            default: { /* over another place */
                size_t to = pick(len - count + 1);
                memmove(text + to, text + at, count);
            }
            }
            len = len ? len : 1;
        }
        accepted += survives(text, len);
    }
    ck_assert_uint_gt(accepted, 0);
}
END_TEST

/* Every beginning of the good text is either wrong or all of it. */
START_TEST(prefixes)
{
    size_t n = strlen(good);
    ck_assert(survives(good, n));
    for (size_t len = 1; len + 1 < n; len++)
        ck_assert(!survives(good, len));
}
END_TEST

static void quick(strbuf *b)
{
    clock_t start = clock();
    survives(sb_text(b), b->n);
    ck_assert_msg(clock() - start < 20 * CLOCKS_PER_SEC, "too slow");
}

START_TEST(hostile)
{
    strbuf b = {.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  %1 = add ");
    for (int k = 0; k < 1000000; k++)
        sb_puts(&b, "(");
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  %1 = select ");
    for (int k = 0; k < 200000; k++)
        sb_puts(&b, "not ");
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  dims T\n");
    for (int k = 0; k < 50000; k++)
        sb_printf(&b, "  %%s%d = scan #%d t:T {\n", k, k);
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  dims ");
    for (int k = 0; k < 100000; k++)
        sb_printf(&b, "D%d, ", k);
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  %x = input \"x\" f32 : f32<");
    for (int k = 0; k < 5000; k++)
        sb_printf(&b, "%si%d:2", k ? ", " : "", k);
    sb_puts(&b, ">\n}\n");
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  %x0 = input \"x\" i64 : i64<>\n");
    for (int k = 0; k < 50000; k++)
        sb_printf(&b, "  %%x%d = add %%x%d, 1 : i64<>\n", k + 1, k);
    sb_puts(&b, "  output \"y\" i64 %x50000[]\n}\n");
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n");
    for (int k = 0; k < 100000; k++)
        sb_puts(&b, "  bad\n");
    quick(&b);
    b = (strbuf){.a = s.a};
    sb_puts(&b, "graph @");
    for (int k = 0; k < 1000000; k++)
        sb_puts(&b, "a");
    quick(&b);
    survives("\xff\xfeg\0r", 5);
    survives("\0", 1);
}
END_TEST

/* Reads and prints in an arena of its own. */
static void read_and_print(arena *a)
{
    source_set sources;
    diags ds;
    strbuf b = {.a = a};
    strtab *names = strtab_new(a);
    source_set_init(&sources, a);
    diags_init(&ds, a, &sources);
    module_print(module_parse(a, names, &ds, source_add(&sources, "x", good, strlen(good))), &b);
}

/* Whether the n-th allocation was never asked for. */
static bool try_failing(size_t n)
{
    struct {
        mem m;
        arena *a;
        jmp_buf here;
    } f = {0};
    f.a = arena_new(&f.m);
    f.m.count = 0;
    f.m.fail_at = n;
    f.m.on_oom = &f.here;
    if (setjmp(f.here) == 0)
        read_and_print(f.a);
    arena_free(f.a);
    return f.m.count < f.m.fail_at;
}

/* Whatever allocation fails, nothing leaks: the failure comes out at the session's recovery point.
 */
START_TEST(out_of_memory)
{
    size_t n = 1;
    while (n < 100000 && !try_failing(n))
        n += 1 + n / 40;
    ck_assert_uint_lt(n, 100000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph wrong");
    TCase *c = tcase_create("wrong");
    tcase_set_timeout(c, 200);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, mutants, 0, 4);
    tcase_add_test(c, prefixes);
    tcase_add_test(c, hostile);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
