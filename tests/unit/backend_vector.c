/* backend_vector.c: vector loops against the same loops in order: every form that a body can have,
 * every length of the rest, f32 and f64, several widths of vectors. Memory behind a range holds a
 * mark that must stay. */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_N = 80, PAD = 64 };

/* A body for `vector for i in 0 .. N`; `before` and `after` stand around the loop. x, z: N reals;
 * q: N ints, in 0 .. N; p: N bools; m: N times 8 reals; y, u: N reals out; w: N ints out; s: 8
 * reals out. exact: a sum's order makes no difference. */
typedef struct form {
    const char *name, *before, *body, *after;
    bool reordered;
    attn_status status; /* of an N of at least 8 */
} form;

static const form forms[] = {
    {"copy", "", "y[i] = x[i]", "", false, ATTN_OK},
    {"arithmetic", "", "y[i] = div(sub(mul(x[i], z[i]), 2.5), add(abs(z[i]), 1.0))", "", false,
     ATTN_OK},
    {"uniform", "", "y[i] = mul(x[i], z[0])", "", false, ATTN_OK},
    {"functions", "", "y[i] = add(exp(mul(x[i], 0.1)), mul(tanh(x[i]), sigmoid(z[i])))", "", false,
     ATTN_OK},
    {"more functions", "",
     "y[i] = add(add(log(add(abs(x[i]), 0.5)), sin(z[i])), add(erf(x[i]), pow(abs(z[i]), 1.5)))",
     "", false, ATTN_OK},
    {"comparisons", "",
     "y[i] = select(and(lt(x[i], z[i]), not(eq(q[i], 3))), x[i], max(z[i], 1.0))", "", false,
     ATTN_OK},
    {"indices as data", "",
     "w[i] = add(mul(i, 3), imod(i, 5))\n y[i] = add(real(idiv(i, 4)), real(sub(N, i)))", "", false,
     ATTN_OK},
    {"division by data", "", "w[i] = idiv(sub(i, 20), max(q[i], 1))", "", false, ATTN_OK},
    {"negative division", "", "w[i] = add(idiv(sub(q[i], 9), -3), imod(sub(i, 20), sub(0, 7)))", "",
     false, ATTN_OK},
    {"gather", "", "y[i] = x[q[i]]", "", false, ATTN_OK},
    {"strided", "", "y[i] = m[i, 3]\n u[i] = m[sub(sub(N, 1), i), 2]", "", false, ATTN_OK},
    {"reversed", "", "y[i] = x[sub(sub(N, 1), i)]", "", false, ATTN_OK},
    {"reversed store", "", "y[sub(sub(N, 1), i)] = x[i]", "", false, ATTN_OK},
    {"repeated", "", "y[i] = x[idiv(i, 2)]", "", false, ATTN_OK},
    {"bools", "", "y[i] = select(p[i], x[i], neg(x[i]))", "", false, ATTN_OK},
    {"let", "", "let j : i64 = sub(i, 1)\n let b : bool = ge0\n y[i] = x[i]", "", false, ATTN_OK},
    {"guarded load", "",
     "y[i] = select(le(3, i), x[sub(i, 3)], 7.0)\n u[i] = select(lt(add(i, 5), N), x[add(i, 5)], "
     "0.5)",
     "", false, ATTN_OK},
    {"guarded uniform load", "", "y[i] = select(lt(i, 2), x[sub(N, 1)], 7.0)", "", false, ATTN_OK},
    {"never loaded", "", "y[i] = select(lt(i, 0), x[add(N, 1000000000000)], 7.0)", "", false,
     ATTN_OK},
    {"guarded and, or", "",
     "y[i] = select(and(le(1, i), lt(x[sub(i, 1)], 0.0)), 1.0, 2.0)\n"
     " u[i] = select(or(lt(i, 2), lt(x[sub(i, 2)], 0.0)), 1.0, 2.0)",
     "", false, ATTN_OK},
    {"local variable", "",
     "var a : REAL = x[i]\n a = add(a, mul(z[i], 2.0))\n a = mul(a, a)\n y[i] = a", "", false,
     ATTN_OK},
    {"if", "", "y[i] = 1.0\n if lt(x[i], 0.0) {\n y[i] = z[i]\n }", "", false, ATTN_OK},
    {"if else", "",
     "var a : REAL = 0.0\n if lt(x[i], z[i]) {\n a = x[i]\n if p[i] {\n a = add(a, 1.0)\n }\n"
     " w[i] = 1\n } else {\n a = z[i]\n w[i] = 2\n }\n y[i] = a",
     "", false, ATTN_OK},
    {"if of one side", "", "if lt(N, 20) {\n y[i] = x[i]\n } else {\n y[i] = z[i]\n }", "", false,
     ATTN_OK},
    {"loop inside", "",
     "var a : REAL = 0.0\n for j in 0 .. 8 {\n a = add(a, mul(m[i, j], x[0]))\n }\n y[i] = a", "",
     true, ATTN_OK},
    {"uneven loop inside", "",
     "var a : REAL = 0.0\n for j in 0 .. imod(i, 5) {\n a = add(a, x[j])\n }\n y[i] = a", "", true,
     ATTN_OK},
    {"unrolled inside", "for i0 in 0 .. N {\n m2[i0, 2] = 0.0\n }",
     "unroll for r in 0 .. 3 {\n m2[i, r] = mul(x[i], real(r))\n }",
     "for i2 in 0 .. N {\n y[i2] = m2[i2, 2]\n }", false, ATTN_OK},
    {"sum", "var a : REAL = 0.5", "a = add(a, mul(x[i], z[i]))", "s[0] = a", true, ATTN_OK},
    {"sum of ints", "var a : i64 = 5", "a = add(a, mul(q[i], i))", "s[0] = real(a)", false,
     ATTN_OK},
    {"max, min", "var a : REAL = -inf\n var b : REAL = inf", "a = max(a, x[i])\n b = min(z[i], b)",
     "s[0] = a\n s[1] = b", false, ATTN_OK},
    {"max of ints", "var a : i64 = -3", "a = max(a, sub(q[i], 10))", "s[0] = real(a)", false,
     ATTN_OK},
    {"product", "var a : REAL = 1.0", "a = mul(a, add(1.0, mul(x[i], 0.01)))", "s[0] = a", true,
     ATTN_OK},
    {"and, or", "var a : bool = true\n var b : bool = false",
     "a = and(a, lt(x[i], 1000.0))\n b = or(b, lt(x[i], -3.0))",
     "s[0] = select(a, 1.0, 0.0)\n s[1] = select(b, 1.0, 0.0)", false, ATTN_OK},
    {"sum under if", "var a : REAL = 0.0", "if p[i] {\n a = add(a, x[i])\n }", "s[0] = a", true,
     ATTN_OK},
    {"two sums", "var a : REAL = 0.0\n var n : i64 = 0",
     "a = add(a, x[i])\n if lt(x[i], 0.0) {\n n = add(n, 1)\n a = add(a, z[i])\n }",
     "s[0] = a\n s[1] = real(n)", true, ATTN_OK},
    {"sum in registers", "unroll for r in 0 .. 3 {\n t[r] = 0.25\n }",
     "unroll for r2 in 0 .. 3 {\n t[r2] = add(t[r2], mul(x[i], m[i, r2]))\n }",
     "unroll for r3 in 0 .. 3 {\n s[r3] = t[r3]\n }", true, ATTN_OK},
    {"sum in a moving register", "for r in 0 .. 3 {\n t[r] = 0.25\n }\n for r2 in 0 .. 3 {",
     "t[r2] = max(t[r2], mul(x[i], m[i, r2]))", "}\n for r3 in 0 .. 3 {\n s[r3] = t[r3]\n }", false,
     ATTN_OK},
    {"tile of registers",
     "unroll for r in 0 .. 3 {\n VECTOR for c1 in 0 .. 24 {\n tile[r, c1] = 0.0\n }\n }\n"
     " for k in 0 .. N {\n unroll for r1 in 0 .. 3 {\n VECTOR for c2 in 0 .. 24 {\n"
     " tile[r1, c2] = add(tile[r1, c2], mul(m[k, r1], real(c2)))\n }\n }\n }",
     "y[i] = x[i]",
     "for r2 in 0 .. 3 {\n for c3 in 0 .. 24 {\n"
     " s[imod(c3, 8)] = add(mul(s[imod(c3, 8)], 0.0), tile[r2, c3])\n }\n }",
     true, ATTN_OK},
    {"check", "", "check lt(q[i], 1000) else INDEX\n y[i] = x[i]", "", false, ATTN_OK},
    {"failing check", "", "check ne(i, 7) else INDEX\n y[i] = x[i]", "", false, ATTN_INDEX},
    {"failing check under if", "", "if lt(6, i) {\n check lt(i, 7) else INT\n }\n y[i] = x[i]", "",
     false, ATTN_INT},
    {"overflow", "", "y[i] = select(overflows.add(q[i], sub(9223372036854775807, i)), 1.0, 0.0)",
     "", false, ATTN_OK},
    {"in place", "", "y[i] = x[i]\n y[i] = add(y[i], mul(z[i], 3.0))", "", true, ATTN_OK},
    {"halves", "for i0 in 0 .. N {\n h[i0] = 0.0\n }", "h[i] = x[i]",
     "for i2 in 0 .. N {\n y[i2] = h[i2]\n }", false, ATTN_OK},
    {"brain halves", "", "g[i] = x[i]\n y[i] = g[i]", "", false, ATTN_OK},
    {"small ints", "", "c[i] = q[i]\n w[i] = c[i]", "", false, ATTN_OK},
    {"rounding", "", "w[i] = add(floor(x[i]), mul(round(z[i]), 100))\n y[i] = real(ceil(x[i]))", "",
     false, ATTN_OK},
    {"weigh", "", "y[i] = weigh(max(x[i], 0.0), div(1.0, max(x[i], 0.0)))", "", false, ATTN_OK},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const char *text_of(arena *a, const form *f, const char *real, const char *name, bool vector,
                           const char *loop)
{
    const char *text = arena_printf(
        a,
        "kernel @%s real REAL {\n dims N\n"
        " buffer x : input REAL[N] \"x\"\n buffer z : input REAL[N] \"z\"\n"
        " buffer q : input i32[N] \"q\"\n buffer p : input bool[N] \"p\"\n"
        " buffer m : input REAL[N, 8] \"m\"\n"
        " buffer y : output REAL[N] \"y\"\n buffer u : output REAL[N] \"u\"\n"
        " buffer w : output i64[N] \"w\"\n buffer s : output REAL[8] \"s\"\n"
        " buffer m2 : temp REAL[N, 8]\n buffer h : temp f16[N]\n buffer g : temp bf16[N]\n"
        " buffer c : temp u8[N]\n buffer t : reg REAL[3]\n buffer tile : reg REAL[3, 24]\n"
        " let ge0 : bool = le(0, N)\n %s\n %s for %s {\n %s\n }\n %s\n}\n",
        name, f->before, vector ? "vector" : "", loop, f->body, f->after);
    return text_replaced(a, text_replaced(a, text, "VECTOR", vector ? "vector" : ""), "REAL", real);
}

/* ---- One run
 * ------------------------------------------------------------------------------------- */

typedef struct data {
    double x[MAX_N], z[MAX_N], m[MAX_N * 8], out[3][MAX_N + PAD];
    int32_t q[MAX_N];
    int64_t w[MAX_N + PAD];
    unsigned char p[MAX_N];
} data;

static double number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 0x1p21 - 4; /* -4 .. 4 */
}

static void put(void *to, size_t i, double v, bool wide)
{
    if (wide)
        ((double *)to)[i] = v;
    else
        ((float *)to)[i] = (float)v;
}

static double get(const void *from, size_t i, bool wide)
{
    return wide ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static data *new_data(bool wide, int64_t n)
{
    data *d = malloc(sizeof *d);
    ck_assert_ptr_nonnull(d);
    memset(d, 0x5a, sizeof *d); /* the mark; as a number it is finite */
    uint32_t state = 12345;
    for (size_t i = 0; i < MAX_N; i++) {
        put(d->x, i, number(&state), wide);
        put(d->z, i, number(&state), wide);
        d->q[i] = n > 0 ? (int32_t)(((uint32_t)i * 7 + 3) % (uint32_t)n) : 0;
        d->p[i] = i % 3 == 0;
    }
    for (size_t i = 0; i < MAX_N * 8; i++)
        put(d->m, i, number(&state), wide);
    return d;
}

static attn_status run(const backend_entry *e, data *d, int64_t n)
{
    const void *in[] = {d->x, d->z, d->q, d->p, d->m};
    void *out[] = {d->out[0], d->out[1], d->w, d->out[2]};
    size_t size = e->workspace(&n, 1);
    ck_assert_uint_ne(size, SIZE_MAX);
    void *work = aligned_alloc(64, size + 64);
    ck_assert_ptr_nonnull(work);
    attn_status s = e->run(&n, NULL, NULL, in, out, work, NULL);
    free(work);
    return s;
}

static void compare(const form *f, const data *x, const data *y, bool wide, int64_t n)
{
    ck_assert_msg(memcmp(x->w, y->w, sizeof x->w) == 0, "%s, n = %d: ints", f->name, (int)n);
    if (!f->reordered && memcmp(x->out, y->out, sizeof x->out) == 0)
        return;
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < MAX_N; i++) {
            double a = get(x->out[k], i, wide), b = get(y->out[k], i, wide);
            double unit = f->reordered ? (wide ? 1e-13 : 1e-4) : (wide ? 1e-15 : 3e-7);
            bool near = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= unit * (1 + fabs(a));
            ck_assert_msg(near, "%s, n = %d: output %d[%zu] is %.9g in lanes, %.9g in order",
                          f->name, (int)n, k, i, b, a);
        }
    }
}

/* A form in order and in lanes, numbers k and k + 1 of a module. */
static void read_form(bench *b, size_t at, bool wide, const char *loop)
{
    const char *real = wide ? "f64" : "f32";
    for (int lanes = 0; lanes < 2; lanes++)
        bench_kernel(b, text_of(b->a, &forms[at], real,
                                arena_printf(b->a, "k%zu%s", at, lanes ? "lanes" : "plain"), lanes,
                                loop));
}

static void run_form(bench *b, size_t at, bool wide, int64_t n, attn_status want)
{
    const form *f = &forms[at];
    backend_entry plain = bench_entry(b, arena_printf(b->a, "k%zuplain", at));
    backend_entry lanes = bench_entry(b, arena_printf(b->a, "k%zulanes", at));
    data *x = new_data(wide, n), *y = new_data(wide, n);
    attn_status sx = run(&plain, x, n), sy = run(&lanes, y, n);
    ck_assert_msg(sx == sy, "%s, n = %d: status %d, in order %d", f->name, (int)n, (int)sy,
                  (int)sx);
    if (want != ATTN_OK)
        ck_assert_int_eq(sx, want);
    compare(f, x, y, wide, n);
    free(x);
    free(y);
}

/* All forms in one module, run with every n from 1 on. */
static void check_forms(bool wide, const backend_options *o, const char *loop)
{
    bench b;
    bench_init(&b);
    for (size_t i = 0; i < N_FORMS; i++)
        read_form(&b, i, wide, loop);
    bench_compile(&b, o);
    bool whole = strcmp(loop, "i in 0 .. N") == 0;
    for (size_t i = 0; i < N_FORMS; i++)
        for (int64_t n = 1; n <= MAX_N; n += n < 40 ? 1 : 7)
            run_form(&b, i, wide, n, whole && n >= 8 ? forms[i].status : ATTN_OK);
    bench_done(&b);
}

static const backend_options here = {.level = 2};

START_TEST(in_lanes)
{
    check_forms(_i, &here, "i in 0 .. N");
}
END_TEST

START_TEST(narrow_lanes)
{
    static const backend_options v2 = {.cpu = "x86-64-v2", .level = 2},
                                 v3 = {.cpu = "x86-64-v3", .level = 2};
    machine_shape native;
    bench b;
    bench_init(&b);
    ck_assert(backend_shape(&here, &native, &b.ds));
    bench_done(&b);
    check_forms(true, native.vector_bytes >= 16 ? &v2 : &here, "i in 0 .. N");
    if (native.vector_bytes >= 32)
        check_forms(false, &v3, "i in 0 .. N");
}
END_TEST

START_TEST(unoptimised)
{
    static const backend_options o = {.level = 0};
    check_forms(false, &o, "i in 0 .. N");
}
END_TEST

START_TEST(steps_and_offsets)
{
    static const char *const loops[] = {"i in 1 .. N", "i in 0 .. N step 3",
                                        "i in idiv(N, 2) .. N down"};
    check_forms(false, &here, loops[_i]);
}
END_TEST

/* Each form with some of the lengths. */
START_TEST(constant_lengths)
{
    static const int lengths[] = {0, 1, 3, 8, 15, 24, 48, 70};
    enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };
    static const backend_options o = {.level = 1};
    bench b;
    bench_init(&b);
    for (size_t i = 0; i < N_FORMS; i++)
        read_form(&b, i, false,
                  arena_printf(b.a, "i in 0 .. %d", lengths[(i * 3 + (size_t)_i) % N_LENGTHS]));
    bench_compile(&b, &o);
    for (size_t i = 0; i < N_FORMS; i++)
        run_form(&b, i, false, MAX_N, ATTN_OK);
    bench_done(&b);
}
END_TEST

/* ---- Where the data end
 * -------------------------------------------------------------------------- */

/* n floats that end where memory ends. */
typedef struct edge {
    char *block;
    float *v;
} edge;

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static edge edge_new(int64_t n)
{
    void *p = NULL;
    ck_assert_int_eq(posix_memalign(&p, page_bytes(), 2 * page_bytes()), 0);
    edge e = {p, NULL};
    ck_assert_int_eq(mprotect(e.block + page_bytes(), page_bytes(), PROT_NONE), 0);
    e.v = (float *)(void *)(e.block + page_bytes()) - n;
    return e;
}

static void edge_free(edge e)
{
    ck_assert_int_eq(mprotect(e.block + page_bytes(), page_bytes(), PROT_READ | PROT_WRITE), 0);
    free(e.block);
}

/* Elements behind the end, and those whose lanes are off, are neither read nor written. */
START_TEST(ends_of_memory)
{
    static const char *const text =
        "kernel @f real f32 {\n dims N\n buffer x : input f32[N] \"x\"\n"
        " buffer y : output f32[N] \"y\"\n buffer z : output f32[N] \"z\"\n"
        " vector for i in 0 .. N {\n"
        " y[i] = add(mul(x[i], 2.0), select(lt(add(i, 3), N), x[add(i, 3)], 0.5))\n"
        " if lt(i, sub(N, 2)) {\n z[add(i, 2)] = x[i]\n }\n }\n}\n";
    static const char *const cpus[] = {"native", "x86-64-v2"};
    bench b;
    bench_init(&b);
    bench_kernel(&b, text);
    backend_options o = {.cpu = cpus[_i], .level = 2};
    bench_compile(&b, &o);
    backend_entry e = bench_entry(&b, "f");
    for (int64_t n = 1; n < 70; n++) {
        edge x = edge_new(n), y = edge_new(n), z = edge_new(n);
        for (int64_t i = 0; i < n; i++)
            x.v[i] = (float)i;
        const void *in[] = {x.v};
        void *out[] = {y.v, z.v};
        ck_assert_int_eq(e.run(&n, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
        for (int64_t i = 0; i < n; i++) {
            ck_assert(y.v[i] == (float)(2 * i) + (i + 3 < n ? (float)(i + 3) : 0.5f));
            ck_assert(i < 2 || z.v[i] == (float)(i - 2));
        }
        edge_free(x);
        edge_free(y);
        edge_free(z);
    }
    bench_done(&b);
}
END_TEST

/* Compiled for machines that the host need not be. */
START_TEST(every_level)
{
    static const char *const cpus[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                                       "neoverse-n1"};
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        bench b;
        bench_init(&b);
        for (size_t j = i % 2; j < N_FORMS; j += 2) {
            const char *name = arena_printf(b.a, "k%zu", j);
            bench_kernel(
                &b, text_of(b.a, &forms[j], j % 4 < 2 ? "f64" : "f32", name, true, "i in 0 .. N"));
        }
        const char *triple =
            strncmp(cpus[i], "x86", 3) == 0 ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
        backend_options o = {.triple = triple, .cpu = cpus[i], .level = 2};
        bench_compile(&b, &o);
        strbuf out = {.a = b.a};
        ck_assert(backend_print_asm(b.module, &out, &b.ds));
        bench_done(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_vector");
    TCase *t = tcase_create("lanes");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, in_lanes, 0, 2);
    tcase_add_test(t, narrow_lanes);
    tcase_add_test(t, unoptimised);
    tcase_add_loop_test(t, steps_and_offsets, 0, 3);
    tcase_add_loop_test(t, constant_lengths, 0, 3);
    tcase_add_loop_test(t, ends_of_memory, 0, 2);
    tcase_add_test(t, every_level);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
