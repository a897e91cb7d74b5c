/* kernel_text.c: kernels as text: what is printed reads back, wrong text is refused with a place,
 * and any text is survived. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/kernel/kernel.h"

typedef struct session {
    mem m;
    arena *a;
    strtab *names;
    source_set sources;
    diags ds;
} session;

static void open_session(session *s)
{
    *s = (session){0};
    s->a = arena_new(&s->m);
    s->names = strtab_new(s->a);
    source_set_init(&s->sources, s->a);
    diags_init(&s->ds, s->a, &s->sources);
}

static kernel *parse(session *s, const char *text, size_t n)
{
    return kernel_parse(s->a, s->names, &s->ds, source_add(&s->sources, "k.ir", text, n));
}

/* Every form there is. */
static const char every_form[] =
    "kernel @'odd name' real f32 recurrence {\n"
    "  dims T, E, max, for\n"
    "  check E == 2*T \"E, \\\"twice\\\" T\"\n"
    "  check T <= E + 1 \"\"\n"
    "  buffer x : input f16[T, E] \"x\"\n"
    "  buffer n : input i64[] \"n\" optional\n"
    "  buffer w : param bf16[3, T + E, max(T, E)] \"w\" family 1 from \"mem{l}\"\n"
    "  buffer h : output f32[T] \"h\"\n"
    "  buffer ok : output bool[] \"ok\"\n"
    "  buffer packed : prepared f32[T]\n"
    "  buffer s : temp f32[]\n"
    "  buffer part : local f32[E]\n"
    "  buffer tile : reg f32[2, 4]\n"
    "  prepare {\n"
    "    packed[0] = w[0, 0, 0]\n"
    "  }\n"
    "  s[] = 0.0\n"
    "  let a : i64 = -9223372036854775808 ; %a\n"
    "  var acc : f32 = -inf\n"
    "  let q : f32 = nan\n"
    "  let p : bool = and(true, not(false))\n"
    "  for t in 0 .. T { ; %h\n"
    "    parallel for e in a .. {2*T + E} step 4 down {\n"
    "      part[0] = mul(x[t, e], 1e-40)\n"
    "    }\n"
    "    vector for z in max .. for {\n"
    "      acc = max(acc, x[t, z])\n"
    "    }\n"
    "    unroll for r in 0 .. 2 {\n"
    "      tile[r, 0] = packed[0]\n"
    "    }\n"
    "    if given(n) {\n"
    "      let m : i64 = n[]\n"
    "      check not(overflows.add(m, t)) else INT\n"
    "      check and(le(0, m), lt(m, T)) else INDEX ; the row\n"
    "    } else {\n"
    "      h[t] = select(p, acc, w[0, t, t])\n"
    "    }\n"
    "    if p {\n"
    "    }\n"
    "  }\n"
    "  ok[] = eq(round(acc), {max(T, E)})\n"
    "}\n";

START_TEST(round_trip)
{
    session s;
    open_session(&s);
    kernel *k = parse(&s, every_form, strlen(every_form));
    if (!k)
        diags_print(&s.ds, stderr, false);
    ck_assert_ptr_nonnull(k);
    ck_assert(kernel_verify(k, &s.ds, NULL));
    strbuf b = {.a = s.a};
    kernel_print(k, &b);
    ck_assert_str_eq(sb_text(&b), every_form);
    ck_assert_str_eq(k->name, "odd name");
    ck_assert_uint_eq(k->checks.n, 2);
    ck_assert_str_eq(k->checks.v[0].text, "E, \"twice\" T");
    ck_assert_uint_eq(k->bufs.v[2]->n_family, 1);
    arena_free(s.a);
}
END_TEST

#define HEAD                                                                                       \
    "kernel @k real f32 {\n dims T\n buffer x : input f32[T] \"x\"\n buffer y : output f32[T] "    \
    "\"y\"\n"

static const struct {
    const char *text, *message;
} wrong[] = {
    {"", "expected `kernel`"},
    {"graph @k", "expected `kernel`"},
    {"kernel k", "expected `@`"},
    {"kernel @k real f16 {", "expected f32 or f64"},
    {"kernel @k real f32 { dims T, T", "named twice"},
    {"kernel @k real f32 { dims T }", NULL},
    {"kernel @k real f32 { dims T } x", "expected the end"},
    {"kernel @k real f32 { dims T", "expected a statement"},
    {"kernel @k real f32 {\n dims T\n buffer x : input f32[S] \"x\"\n}", "unknown dim S"},
    {"kernel @k real f32 {\n dims T\n buffer T : temp f32[T]\n}", "in use already"},
    {"kernel @k real f32 {\n dims T\n buffer add : temp f32[T]\n}", "in use already"},
    {"kernel @k real f32 {\n dims T\n buffer x.y : temp f32[T]\n}", "letters, digits and _"},
    {"kernel @k real f32 {\n dims T\n buffer x : temp f32[T] \"a\n}", "does not end"},
    {"kernel @k real f32 {\n dims T\n buffer x : temp f32[T] \"\\q\"\n}", "after `\\`"},
    {"kernel @k real f32 {\n dims T\n buffer x : lokal f32[T]\n}", "expected a role"},
    {"kernel @k real f32 {\n dims T\n buffer x : temp f8[T]\n}", "expected a storage type"},
    {"kernel @k real f32 {\n dims T\n buffer x : temp f32[T] family 99999999999999999999\n}",
     "too large"},
    {HEAD "y[0] = 1\n}", "must be f32, this is i64"},
    {HEAD "y[0.0] = 1.0\n}", "must be i64, this is f32"},
    {HEAD "y[] = 1.0\n}", "expected an expression"},
    {HEAD "y[0, 0] = 1.0\n}", "has 1 axes"},
    {HEAD "y = 1.0\n}", "expected `[`"},
    {HEAD "z = 1.0\n}", "expected a statement"},
    {HEAD "let z : f32 = 1.0\nz = 2.0\n}", "cannot be set"},
    {HEAD "let z : f32 = 1.0\nlet z : f32 = 2.0\n}", "in use already"},
    {HEAD "let z : f32 = zz\n}", "unknown name zz"},
    {HEAD "let count : i64 = T\nlet b : i64 = cuont\n}", "unknown name cuont"},
    {HEAD "if true { let z : f32 = 1.0 }\ny[0] = z\n}", "not visible here"},
    {HEAD "for i in 0 .. T { }\ny[i] = 0.0\n}", "not visible here"},
    {HEAD "for i in 0 .. T step 0 { }\n}", "must be positive"},
    {HEAD "for i in 0 T { }\n}", "expected `..`"},
    {HEAD "for i of 0 .. T { }\n}", "expected `in`"},
    {HEAD "parallel let a : i64 = 0\n}", "expected `for`"},
    {HEAD "y[0] = add(1.0)\n}", "takes 2 operands"},
    {HEAD "y[0] = add(1.0, 1.0, 1.0)\n}", "takes 2 operands"},
    {HEAD "y[0] = add(1.0, 1)\n}", "no meaning"},
    {HEAD "y[0] = not(1.0)\n}", "no meaning"},
    {HEAD "y[0] = softmax(1.0)\n}", "unknown name softmax"},
    {HEAD "check overflows.idiv(1, 2) else INT\n}", "unknown name"},
    {HEAD "check overflows.add(1.0, 2.0) else INT\n}", "no meaning"},
    {HEAD "check true else MAYBE\n}", "expected a status"},
    {HEAD "check true\n}", "expected `else`"},
    {HEAD "if given(x) { }\n}", "optional input"},
    {HEAD "let a : i64 = 9223372036854775808\n}", "does not fit"},
    {HEAD "let a : i64 = -9223372036854775809\n}", "does not fit"},
    {HEAD "let a : i64 = -b\n}", "expected a number"},
    {HEAD "let a : i64 = {T}}\n}", "expected the end"},
    {HEAD "let a : i64 = {T + }\n}", "expected a dim"},
    {HEAD "let a : i64 = ?\n}", "no meaning here"},
    {HEAD "let a : int = 0\n}", "expected a type"},
};

START_TEST(refused)
{
    session s;
    open_session(&s);
    kernel *k = parse(&s, wrong[_i].text, strlen(wrong[_i].text));
    if (!wrong[_i].message) {
        ck_assert_ptr_nonnull(k);
    } else {
        ck_assert_msg(!k, "accepted: %s", wrong[_i].text);
        ck_assert_uint_eq(s.ds.n_errors, 1);
        ck_assert_msg(strstr(s.ds.first->text, wrong[_i].message), "%s\n  says: %s", wrong[_i].text,
                      s.ds.first->text);
        ck_assert_uint_ne(s.ds.first->at.file, 0);
    }
    arena_free(s.a);
}
END_TEST

/* Cut anywhere, and with bytes replaced, removed and doubled. */
START_TEST(damaged)
{
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        session s;
        char text[2 * sizeof every_form];
        size_t n = strlen(every_form);
        memcpy(text, every_form, n);
        if (round < (int)n) {
            n = (size_t)round;
        } else {
            for (int k = 0; k < 3; k++) {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                size_t at = seed % n;
                static const char bytes[] = "{}[](),.:=\"\\;@0a\n\0-'% e9";
                if (seed >> 40 & 1)
                    text[at] = bytes[(seed >> 20) % (sizeof bytes - 1)];
                else
                    memmove(text + at, text + at + 1, --n - at);
            }
        }
        open_session(&s);
        kernel *k = parse(&s, text, n);
        ck_assert(k || s.ds.n_errors == 1);
        if (k)
            kernel_verify(k, &s.ds, "as read");
        arena_free(s.a);
    }
}
END_TEST

START_TEST(deep)
{
    static const char *const opening[] = {"if true { ", "let a : f32 = neg(", "y[0] = y["};
    for (int kind = 0; kind < 3; kind++) {
        session s;
        open_session(&s);
        strbuf b = {.a = s.a};
        sb_puts(&b, HEAD);
        for (int i = 0; i < 100000; i++)
            sb_puts(&b, i == 0 || kind == 0 ? opening[kind] : kind == 1 ? "neg(" : "y[");
        ck_assert_ptr_null(parse(&s, sb_text(&b), b.n));
        ck_assert_uint_eq(s.ds.n_errors, 1);
        arena_free(s.a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kernel_text");
    TCase *c = tcase_create("kernel_text");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, round_trip);
    tcase_add_loop_test(c, refused, 0, sizeof wrong / sizeof wrong[0]);
    tcase_add_test(c, damaged);
    tcase_add_test(c, deep);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
