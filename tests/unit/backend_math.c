/* backend_math.c: the f32 functions of vecmath against libm in double, by error in units of the
 * last place.
 *
 *     backend_math            a few million arguments of each function, all ends, and pow
 *     backend_math --all      all 2^32 arguments (minutes)
 *     backend_math --stride=N every N-th argument
 *     backend_math --cpu=X    for another processor than the native one
 *     backend_math --level=N  at another optimisation level than 2
 *
 * Each in a vector loop, whose lanes the backend builds, and in a plain one, which is LLVM's to
 * make vectors of.
 *
 * Not a Check program: it prints what it measures. */
#include "tests/unit/backend_support.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* flush: results below the smallest normal number may be 0. */
typedef struct function {
    const char *name;
    double (*exact)(double);
    double bound;
    bool flush;
} function;

static const function functions[] = {
    {"exp", exp, 2, true},      {"exp2", exp2, 2, true},       {"expm1", expm1, 2, false},
    {"tanh", tanh, 3, false},   {"sigmoid", sigmoid, 3, true}, {"log", log, 2, false},
    {"log1p", log1p, 2, false}, {"erf", erf, 2, false},        {"sin", sin, 2, false},
    {"cos", cos, 2, false},
};

static float from_bits(uint32_t w)
{
    float f;
    memcpy(&f, &w, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

/* |got - want| in units of the last place of an f32 near want. */
static double ulps(float got, double want, bool flush)
{
    float near = (float)want;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(near) || isinf(got)) {
        if (got == near)
            return 0;
        double big = isinf(near) ? fabs(want) : fabs((double)got);
        double other = isinf(near) ? fabs((double)got) : fabs(want);
        /* Where the exact value is just beyond the largest f32, the largest is near. */
        return isinf(big) ? (other >= 0x1.fffffdp127 ? 1 : INFINITY) : (big - other) / 0x1p104;
    }
    if (flush && fabs(want) < 0x1p-126 && got == 0)
        return 0;
    if (want == 0 || got == 0) {
        if (want == 0 && got == 0)
            return !signbit(got) == !signbit(want) ? 0 : INFINITY;
        if (!signbit(got) != !signbit(want))
            return INFINITY;
    }
    int e;
    frexp(want, &e);
    double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
    return fabs((double)got - want) / unit;
}

typedef struct worst {
    double ulps;
    float at, got;
} worst;

static void measure(const function *f, const backend_entry *e, const float *x, float *y, int64_t n,
                    worst *w)
{
    const void *inputs[] = {x};
    void *outputs[] = {y};
    attn_status s = e->run(&n, NULL, NULL, inputs, outputs, NULL, NULL);
    if (s != ATTN_OK) {
        fprintf(stderr, "%s: %s\n", f->name, attn_status_text(s));
        exit(1);
    }
    for (int64_t i = 0; i < n; i++) {
        double u = ulps(y[i], f->exact((double)x[i]), f->flush);
        if (u > w->ulps)
            *w = (worst){u, x[i], y[i]};
    }
}

/* Every k-th f32 there is: both signs, denormals, infinities, NaNs. */
static bool check_function(const function *f, const char *loop, const backend_options *o,
                           uint32_t stride)
{
    static const float ends[] = {
        0.0f,        -0.0f,     1.0f,           -1.0f,          INFINITY,
        -INFINITY,   0x1p-149f, -0x1p-149f,     0x1p-126f,      -0x1p-126f,
        88.72283f,   88.72284f, 88.72285f,      -87.33654f,     -87.33655f,
        -103.9f,     -104.1f,   128.0f,         127.99999f,     -126.0f,
        -126.00001f, 0x1p23f,   0x1.000002p23f, 0x1.fffffep22f, 0x1.fffffep127f};
    bench b;
    bench_init(&b);
    const char *text =
        arena_printf(b.a,
                     "kernel @f real f32 {\n  dims N\n  buffer x : input f32[N] \"x\"\n"
                     "  buffer y : output f32[N] \"y\"\n"
                     "  %s i in 0 .. N {\n    y[i] = %s(x[i])\n  }\n}\n",
                     loop, f->name);
    bench_kernel(&b, text);
    bench_compile(&b, o);
    backend_entry e = bench_entry(&b, "f");
    float *x = arena_array(b.a, CHUNK, sizeof *x), *y = arena_array(b.a, CHUNK, sizeof *y);
    worst w = {0, 0, 0};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        /* Alone and among others: scalar tails must agree with vectors. */
        for (int64_t j = 0; j < 33; j++)
            x[j] = ends[i];
        measure(f, &e, x, y, 33, &w);
        for (int64_t j = 1; j < 33; j++)
            if (to_bits(y[j]) != to_bits(y[0]) && !isnan(y[0])) {
                printf("%s(%a) is %a or %a\n", f->name, (double)x[j], (double)y[0], (double)y[j]);
                w.ulps = INFINITY;
            }
    }
    for (uint64_t at = 0; at <= UINT32_MAX;) {
        int64_t n = 0;
        for (; n < CHUNK && at <= UINT32_MAX; n++, at += stride)
            x[n] = from_bits((uint32_t)at);
        measure(f, &e, x, y, n, &w);
    }
    bool ok = w.ulps <= f->bound;
    printf("%-10s %-8s max %.3f ulp at %a (%a), bound %g%s\n", loop, f->name, w.ulps, (double)w.at,
           (double)w.got, f->bound, ok ? "" : "  FAILED");
    fflush(stdout);
    bench_done(&b);
    return ok;
}

/* ---- pow: pairs
 * ---------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool check_pow(const char *loop, const backend_options *o, int64_t pairs)
{
    static const float special[] = {0.0f,      -0.0f,       1.0f,     -1.0f,      2.0f,
                                    -2.0f,     3.0f,        -3.0f,    0.5f,       -0.5f,
                                    1.5f,      -2.5f,       INFINITY, -INFINITY,  NAN,
                                    0x1p-149f, -0x1p-149f,  0x1p127f, -0x1p127f,  0x1p24f,
                                    -0x1p24f,  16777215.0f, 0x1p30f,  1.0000001f, 0.99999994f};
    enum { S = sizeof special / sizeof special[0] };
    bench b;
    bench_init(&b);
    bench_kernel(&b,
                 arena_printf(b.a,
                              "kernel @f real f32 {\n  dims N\n  buffer x : input f32[N] \"x\"\n"
                              "  buffer z : input f32[N] \"z\"\n  buffer y : output f32[N] \"y\"\n"
                              "  %s i in 0 .. N {\n    y[i] = pow(x[i], z[i])\n  }\n}\n",
                              loop));
    bench_compile(&b, o);
    backend_entry e = bench_entry(&b, "f");
    float *x = arena_array(b.a, CHUNK, sizeof *x), *y = arena_array(b.a, CHUNK, sizeof *y);
    float *z = arena_array(b.a, CHUNK, sizeof *z);
    const void *inputs[] = {x, z};
    void *outputs[] = {y};
    worst w = {0, 0, 0};
    float worst_z = 0;
    uint64_t state = 88172645463325252u;
    for (int64_t done = 0; done < pairs; done += CHUNK) {
        for (int64_t i = 0; i < CHUNK; i++) {
            if (done == 0 && i < S * S) {
                x[i] = special[i / S];
                z[i] = special[i % S];
            } else if (next(&state) & 1) {
                x[i] = from_bits((uint32_t)(next(&state) >> 16));
                z[i] = from_bits((uint32_t)(next(&state) >> 16));
            } else { /* results of middling size */
                x[i] = (float)ldexp((double)(next(&state) >> 40) + 1, -20);
                z[i] = (float)((double)(next(&state) >> 40) / 0x1p18 - 32);
            }
        }
        int64_t n = CHUNK;
        if (e.run(&n, NULL, NULL, inputs, outputs, NULL, NULL) != ATTN_OK)
            exit(1);
        for (int64_t i = 0; i < n; i++) {
            double u = ulps(y[i], pow((double)x[i], (double)z[i]), false);
            if (u > w.ulps) {
                w = (worst){u, x[i], y[i]};
                worst_z = z[i];
            }
        }
    }
    bool ok = w.ulps <= 1;
    printf("%-10s %-8s max %.3f ulp at %a, %a (%a), bound 1%s\n", loop, "pow", w.ulps, (double)w.at,
           (double)worst_z, (double)w.got, ok ? "" : "  FAILED");
    bench_done(&b);
    return ok;
}

int main(int argc, char **argv)
{
    backend_options o = {.level = 2};
    uint32_t stride = 1511; /* an odd number: all low bits occur */
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            stride = 1;
        else if (strncmp(argv[i], "--stride=", 9) == 0 && atoi(argv[i] + 9) > 0)
            stride = (uint32_t)atoi(argv[i] + 9);
        else if (strncmp(argv[i], "--cpu=", 6) == 0)
            o.cpu = argv[i] + 6;
        else if (strncmp(argv[i], "--level=", 8) == 0)
            o.level = atoi(argv[i] + 8);
        else
            only = argv[i];
    }
    static const char *const loops[] = {"vector for", "for"};
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
            if (!only || strcmp(only, functions[i].name) == 0)
                ok = check_function(&functions[i], loops[k], &o, stride) && ok;
        if (!only || strcmp(only, "pow") == 0)
            ok = check_pow(loops[k], &o, stride == 1 ? INT64_C(1) << 30 : INT64_C(1) << 21) && ok;
    }
    return ok ? 0 : 1;
}
