/* backend_memory.c: the conversions of memory, against the definition of each format; loops and
 * running sums. */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <math.h>
#include <string.h>

static attn_status run(const backend_entry *e, int64_t n, const void *x, void *const *out)
{
    const void *in[] = {x};
    return e->run(&n, NULL, NULL, in, out, NULL, NULL);
}

static bool same(double got, double want)
{
    return isnan(want) ? isnan(got) : got == want;
}

/* ---- Memory types
 * -------------------------------------------------------------------------------- */

static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double bfloat_value(uint16_t h)
{
    uint32_t w = (uint32_t)h << 16;
    float f;
    memcpy(&f, &w, sizeof f);
    return (double)f;
}

/* Nearest of all 2^16 by search among neighbours: the definition, not an algorithm. */
static bool nearest16(double (*value)(uint16_t), uint16_t got, double x)
{
    if (isnan(x))
        return isnan(value(got));
    if (isnan(value(got)) || !signbit(value(got)) != !signbit(x))
        return false;
    uint16_t top = value(0x7c00) == INFINITY ? 0x7c00 : 0x7f80, m = got & 0x7fff;
    double a = fabs(x), step = value(top - 1) - value(top - 2), limit = value(top - 1) + step / 2;
    if (m == top)
        return a >= limit;
    if (m > top || (m == top - 1 && a >= limit))
        return false;
    double here = fabs(a - value(m));
    double below = m > 0 ? fabs(a - value((uint16_t)(m - 1))) : INFINITY;
    double above = m + 1 < top ? fabs(a - value((uint16_t)(m + 1))) : INFINITY;
    return here <= below && here <= above && ((here < below && here < above) || (m & 1) == 0);
}

typedef struct mode {
    const char *cpu, *real;
} mode;
static const mode modes[] = {{NULL, "f32"}, {"x86-64", "f32"}, {NULL, "f64"}, {"x86-64", "f64"}};

static const char *copy_kernel(arena *a, const char *real, const char *from, const char *to)
{
    return arena_printf(
        a,
        "kernel @f real %s {\n  dims N\n  buffer x : input %s[N] \"x\"\n"
        "  buffer y : output %s[N] \"y\"\n  for i in 0 .. N {\n    y[i] = x[i]\n  }\n}\n",
        real, from, to);
}

static void copy(const mode *md, const char *from, const char *to, const void *x, void *y,
                 int64_t n)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, copy_kernel(b.a, md->real, from, to));
    bench_compile(&b, &(backend_options){.cpu = md->cpu, .level = 2});
    backend_entry e = bench_entry(&b, "f");
    void *out[] = {y};
    ck_assert_int_eq(run(&e, n, x, out), ATTN_OK);
    bench_done(&b);
}

START_TEST(sixteen_bits_in)
{
    enum { N = 1 << 16 };
    static uint16_t x[N];
    static double y[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    for (int type = 0; type < 2; type++) {
        copy(&modes[_i], type ? "bf16" : "f16", "f64", x, y, N);
        for (int i = 0; i < N; i++) {
            double want = type ? bfloat_value(x[i]) : half_value(x[i]);
            ck_assert_msg(same(y[i], want), "%04x is %a, not %a", (unsigned)x[i], y[i], want);
            if (!isnan(want))
                ck_assert_int_eq(!signbit(y[i]), !signbit(want));
        }
    }
}
END_TEST

START_TEST(sixteen_bits_out)
{
    enum { N = 1 << 18 };
    static double x[N];
    static uint16_t y[N];
    bool wide = strcmp(modes[_i].real, "f64") == 0;
    uint32_t w = 12345;
    for (int i = 0; i < N; i++) {
        w = w * 1664525u + 1013904223u;
        uint16_t h = (uint16_t)(w >> 16);
        double v = i & 1 ? half_value(h) : bfloat_value(h);
        double next = i & 1 ? half_value((uint16_t)(h + 1)) : bfloat_value((uint16_t)(h + 1));
        switch (i >> 1 & 3) { /* exact, ties, nearly ties, anything */
        case 1:
            v = (v + next) / 2;
            break;
        case 2:
            v = (v + next) / 2 * (1 + ((w & 1) ? 0x1p-50 : -0x1p-50));
            break;
        case 3:
            v = ldexp((double)w - 0x1p31, (int)(w >> 3 & 63) - 62);
            break;
        }
        x[i] = wide ? v : (double)(float)v;
    }
    for (int type = 0; type < 2; type++) {
        copy(&modes[_i], "f64", type ? "bf16" : "f16", x, y, N);
        for (int i = 0; i < N; i++)
            ck_assert_msg(nearest16(type ? bfloat_value : half_value, y[i], x[i]),
                          "%a becomes %04x", x[i], (unsigned)y[i]);
    }
}
END_TEST

START_TEST(small_ints)
{
    const int32_t i32[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    const uint8_t u8[] = {0, 1, 127, 128, 255};
    int64_t y[5];
    copy(&modes[0], "i32", "i64", i32, y, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(y[i], i32[i]);
    copy(&modes[0], "u8", "i64", u8, y, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(y[i], u8[i]);
    int32_t back32[5];
    copy(&modes[0], "i64", "i32", (const int64_t[]){0, 5, -5, INT32_MAX, INT32_MIN}, back32, 5);
    ck_assert_int_eq(back32[2], -5);
    ck_assert_int_eq(back32[4], INT32_MIN);
    uint8_t back8[5];
    copy(&modes[0], "i64", "u8", (const int64_t[]){0, 5, 255, 128, 1}, back8, 5);
    ck_assert_int_eq(back8[2], 255);
}
END_TEST

/* ---- Loops and sums
 * ------------------------------------------------------------------------------ */

START_TEST(loops)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(
        &b, "f",
        "kernel @f real f32 {\n  dims N\n  buffer y : output i64[5, N + 8] \"y\"\n"
        "  buffer n : output i64[5] \"n\"\n"
        "  var c : i64 = 0\n"
        "  for i in 0 .. N {\n    y[0, c] = i\n    c = add(c, 1)\n  }\n  n[0] = c\n"
        "  c = 0\n  for i1 in 0 .. N down {\n    y[1, c] = i1\n    c = add(c, 1)\n  }\n"
        "  n[1] = c\n  c = 0\n"
        "  for i2 in 1 .. N step 3 {\n    y[2, c] = i2\n    c = add(c, 1)\n  }\n"
        "  n[2] = c\n  c = 0\n"
        "  for i3 in 1 .. N step 3 down {\n    y[3, c] = i3\n    c = add(c, 1)\n  }\n"
        "  n[3] = c\n  c = 0\n"
        "  parallel for i4 in 0 .. N {\n    if eq(imod(i4, 2), 0) {\n"
        "      y[4, i4] = 1\n    } else {\n      y[4, i4] = i4\n    }\n  }\n  n[4] = c\n}\n");
    for (int64_t size = 0; size < 9; size++) {
        int64_t y[5][17], n[5];
        int64_t flat[5 * 17];
        void *out[] = {flat, n};
        ck_assert_int_eq(run(&e, size, NULL, out), ATTN_OK);
        for (int r = 0; r < 5; r++)
            memcpy(y[r], flat + r * (size + 8), (size_t)(size + 8) * sizeof(int64_t));
        int64_t steps = size > 1 ? (size - 1 + 2) / 3 : 0;
        ck_assert_int_eq(n[0], size);
        ck_assert_int_eq(n[1], size);
        ck_assert_int_eq(n[2], steps);
        ck_assert_int_eq(n[3], steps);
        for (int64_t i = 0; i < size; i++) {
            ck_assert_int_eq(y[0][i], i);
            ck_assert_int_eq(y[1][i], size - 1 - i);
            ck_assert_int_eq(y[4][i], i % 2 ? i : 1);
        }
        for (int64_t i = 0; i < steps; i++) {
            ck_assert_int_eq(y[2][i], 1 + 3 * i);
            ck_assert_int_eq(y[3][i], 1 + 3 * (steps - 1 - i));
        }
    }
    bench_done(&b);
}
END_TEST

/* Sums may be reordered; maxima see NaN wherever it stands; infinities survive. */
START_TEST(reductions)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(
        &b, "f",
        "kernel @f real f32 {\n  dims N\n  buffer x : input f32[N] \"x\"\n"
        "  buffer y : output f32[4] \"y\"\n  var s : f32 = 0.0\n  var m : f32 = -inf\n"
        "  var l : f32 = inf\n  var d : f32 = 0.0\n  for i in 0 .. N {\n    s = add(s, x[i])\n"
        "    m = max(m, x[i])\n    l = min(l, x[i])\n    d = sub(d, mul(x[i], x[i]))\n  }\n"
        "  y[0] = s\n  y[1] = m\n  y[2] = l\n  y[3] = d\n}\n");
    for (int64_t n = 0; n < 140; n++) {
        float x[140], y[4];
        double s = 0, q = 0;
        for (int i = 0; i < n; i++) {
            x[i] = (float)((i * 37 % 19) - 9);
            s += (double)x[i];
            q += (double)x[i] * (double)x[i];
        }
        void *out[] = {y};
        ck_assert_int_eq(run(&e, n, x, out), ATTN_OK);
        ck_assert_float_eq(y[0], (float)s); /* small integers: exact in any order */
        ck_assert_float_eq(y[3], (float)-q);
        if (n >= 19) {
            ck_assert_float_eq(y[1], 9);
            ck_assert_float_eq(y[2], -9);
        }
        if (n == 0) {
            ck_assert_float_eq(y[1], -INFINITY);
            ck_assert_float_eq(y[2], INFINITY);
        }
        for (int i = 0; i < n; i++) {
            float old = x[i];
            x[i] = NAN;
            ck_assert_int_eq(run(&e, n, x, out), ATTN_OK);
            ck_assert(isnan(y[0]) && isnan(y[1]) && isnan(y[2]) && isnan(y[3]));
            x[i] = -INFINITY;
            ck_assert_int_eq(run(&e, n, x, out), ATTN_OK);
            ck_assert(y[0] == -INFINITY && y[2] == -INFINITY && y[3] == -INFINITY);
            ck_assert(y[1] > -INFINITY || n == 1);
            x[i] = old;
        }
    }
    bench_done(&b);
}
END_TEST

/* Updates under a condition: what is excluded has no effect, be it NaN, and is not read. */
START_TEST(conditional_sums)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b,
                 "kernel @f real f32 {\n  dims N, M\n  buffer x : input f32[M] \"x\"\n"
                 "  buffer y : output f32[5] \"y\"\n  var s : f32 = 0.0\n  var d : f32 = 0.0\n"
                 "  var m : f32 = -inf\n  var l : f32 = inf\n  var p : f32 = 1.0\n"
                 "  for i in 0 .. N {\n    if and(lt(i, M), ne(imod(i, 3), 1)) {\n"
                 "      let v : f32 = x[i]\n      s = add(s, mul(v, 2.0))\n      d = sub(d, v)\n"
                 "      m = max(v, m)\n      l = min(l, v)\n"
                 "      p = add(p, 1.0)\n      p = add(p, p)\n      p = div(p, 2.0)\n    }\n  }\n"
                 "  y[0] = s\n  y[1] = d\n  y[2] = m\n  y[3] = l\n  y[4] = p\n}\n");
    bench_compile(&b, NULL);
    backend_entry e = bench_entry(&b, "f");
    for (int64_t n = 0; n < 120; n++) {
        int64_t sizes[] = {n + 40, n}; /* the loop goes on beyond the end of x */
        float *x = arena_array(b.a, (size_t)n, sizeof *x), y[5];
        double s = 0, m = -INFINITY, l = INFINITY, p = 1;
        for (int i = 0; i < n; i++) {
            x[i] = i % 3 == 1 ? NAN : (float)(i * 31 % 23 - 11);
            if (i % 3 != 1) {
                s += (double)x[i];
                m = fmax(m, (double)x[i]);
                l = fmin(l, (double)x[i]);
                p += 1;
            }
        }
        const void *in[] = {x};
        void *out[] = {y};
        ck_assert_int_eq(e.run(sizes, NULL, NULL, in, out, NULL, NULL), ATTN_OK);
        ck_assert_float_eq(y[0], (float)(2 * s));
        ck_assert_float_eq(y[1], (float)-s);
        ck_assert_float_eq(y[2], (float)m);
        ck_assert_float_eq(y[3], (float)l);
        ck_assert_float_eq(y[4], (float)p);
    }
    bench_done(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_memory");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, sixteen_bits_in, 0, sizeof modes / sizeof modes[0]);
    tcase_add_loop_test(t, sixteen_bits_out, 0, sizeof modes / sizeof modes[0]);
    tcase_add_test(t, small_ints);
    tcase_add_test(t, loops);
    tcase_add_test(t, reductions);
    tcase_add_test(t, conditional_sums);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
