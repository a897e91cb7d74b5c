/* backend_parallel.c: parallel loops with 1, 2, 3 and 7 threads and with none lent; what each
 * thread has to itself; prepared blocks, also of step kernels. */
#include "runtime/alloc.h"
#include "runtime/pool.h"
#include "tests/unit/backend_support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { M = 101, N = 53 };

static void *block(size_t size)
{
    void *p = aligned_alloc(ATTN_BLOCK_ALIGN, (size / ATTN_BLOCK_ALIGN + 1) * ATTN_BLOCK_ALIGN);
    ck_assert_ptr_nonnull(p);
    memset(p, 0xff, size); /* NaN */
    return p;
}

static attn_pool *new_pool(int threads, attn_exec *exec)
{
    attn_allocator libc = attn_allocator_libc();
    attn_pool *pool = attn_pool_create(threads, &libc);
    ck_assert_ptr_nonnull(pool);
    *exec = attn_pool_exec(pool);
    return pool;
}

/* ---- Loops
 * --------------------------------------------------------------------------------------- */

/* Bodies that read x[M, N], use a local row of N and registers, and write y[M, N]. */
static const char *const bodies[] = {
    "parallel for i in 0 .. M {\n"
    " for j in 0 .. N {\n row[j] = mul(x[i, j], scale)\n }\n"
    " vector for j2 in 0 .. N {\n y[i, j2] = add(exp(row[j2]), n)\n }\n }",
    /* tiles of rows, the last one short; registers */
    "parallel for i in 0 .. M step 4 {\n"
    " unroll for r in 0 .. 4 {\n t[r] = 0.0\n }\n"
    " for r2 in i .. min(add(i, 4), M) {\n"
    " vector for j in 0 .. N {\n t[sub(r2, i)] = add(t[sub(r2, i)], x[r2, j])\n }\n"
    " vector for j2 in 0 .. N {\n y[r2, j2] = sub(x[r2, j2], t[sub(r2, i)])\n }\n }\n }",
    /* one inside another runs in order, in steps, downwards */
    "parallel for i in 0 .. M down {\n"
    " var last : REAL = scale\n"
    " for j0 in 0 .. N {\n row[j0] = last\n last = mul(x[i, j0], 0.5)\n }\n"
    " parallel for j in 0 .. N step 3 {\n"
    " for j2 in j .. min(add(j, 3), N) {\n y[i, j2] = add(row[j2], 1.0)\n }\n }\n }",
    /* in a loop, over what the one before wrote */
    "for i0 in 0 .. M {\n for j0 in 0 .. N {\n y[i0, j0] = x[i0, j0]\n }\n }\n"
    "for turn in 0 .. 5 {\n parallel for i in turn .. M {\n for j in 0 .. N {\n"
    " y[i, j] = add(mul(y[i, j], 0.5), real(turn))\n }\n }\n"
    " parallel for j3 in 0 .. N {\n for i3 in 1 .. M {\n"
    " y[i3, j3] = add(y[i3, j3], mul(y[sub(i3, 1), j3], 0.125))\n }\n }\n }",
    /* nothing to do, and one thing */
    "parallel for i in 3 .. 3 {\n y[i, 0] = 7.0\n }\n"
    "parallel for i1 in 0 .. 1 {\n for a in 0 .. M {\n for b in 0 .. N {\n y[a, b] = x[a, b]\n }\n "
    "}\n }",
};
enum { N_BODIES = sizeof bodies / sizeof bodies[0] };

static const char *kernel_text(arena *a, const char *body, const char *real)
{
    strbuf b = {.a = a};
    for (const char *p = body; *p;) {
        if (strncmp(p, "REAL", 4) == 0) {
            sb_puts(&b, real);
            p += 4;
        } else {
            sb_putn(&b, p++, 1);
        }
    }
    return arena_printf(a,
                        "kernel @f real %s {\n dims M, N\n buffer x : input %s[M, N] \"x\"\n"
                        " buffer k : input i32[M] \"k\"\n"
                        " buffer o : input f32[] \"o\" optional\n"
                        " buffer y : output %s[M, N] \"y\"\n"
                        " buffer row : local %s[N]\n buffer t : reg %s[4]\n"
                        " let scale : %s = x[0, 1]\n let n : %s = real(N)\n %s\n}\n",
                        real, real, real, real, real, real, real, sb_text(&b));
}

typedef struct io {
    double x[M * N], y[M * N];
    int32_t k[M];
} io;

static attn_status run(const backend_entry *e, io *d, const attn_exec *exec)
{
    const int64_t dims[] = {M, N};
    const void *in[] = {d->x, d->k, NULL};
    void *out[] = {d->y};
    void *work = block(e->workspace(dims, exec ? exec->threads : 1));
    memset(d->y, 0xff, sizeof d->y);
    attn_status s = e->run(dims, NULL, NULL, in, out, work, exec);
    free(work);
    return s;
}

static void fill(io *d, bool wide)
{
    for (int i = 0; i < M * N; i++) {
        double v = (double)(i * 37 % 101) / 50 - 1;
        if (wide)
            d->x[i] = v;
        else
            ((float *)d->x)[i] = (float)v;
    }
    for (int i = 0; i < M; i++)
        d->k[i] = i;
}

static const int threads[] = {1, 2, 3, 7};

static void check_body(const char *body, bool wide, const backend_options *o)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, kernel_text(b.a, body, wide ? "f64" : "f32"));
    bench_compile(&b, o);
    backend_entry e = bench_entry(&b, "f");
    io *alone = malloc(sizeof *alone), *shared = malloc(sizeof *shared);
    ck_assert(alone && shared);
    fill(alone, wide);
    fill(shared, wide);
    ck_assert_int_eq(run(&e, alone, NULL), ATTN_OK);
    for (size_t i = 0; i < (size_t)M * N * (wide ? 1 : 2); i++)
        if (wide || i < (size_t)M * N)
            ck_assert(wide ? alone->y[i] == alone->y[i]
                           : ((float *)alone->y)[i] == ((float *)alone->y)[i]);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        attn_exec exec;
        attn_pool *pool = new_pool(threads[i], &exec);
        for (int again = 0; again < 3; again++) {
            ck_assert_int_eq(run(&e, shared, &exec), ATTN_OK);
            ck_assert(memcmp(alone->y, shared->y, sizeof alone->y) == 0);
        }
        attn_pool_destroy(pool);
    }
    free(alone);
    free(shared);
    bench_done(&b);
}

START_TEST(any_number_of_threads)
{
    check_body(bodies[_i], false, NULL);
    check_body(bodies[_i], true, NULL);
    static const backend_options plain = {.level = 0};
    check_body(bodies[_i], false, &plain);
}
END_TEST

/* Of several statuses the lowest is returned, whoever raised it. */
START_TEST(statuses)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "f",
                                kernel_text(b.a,
                                            "parallel for i in 0 .. M {\n"
                                            " check ne(k[i], 70) else INT\n"
                                            " check ne(k[i], -1) else INDEX\n"
                                            " vector for j in 0 .. N {\n"
                                            " y[i, j] = x[i, j]\n }\n }",
                                            "f32"));
    io *d = malloc(sizeof *d);
    ck_assert_ptr_nonnull(d);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        attn_exec exec;
        attn_pool *pool = new_pool(threads[i], &exec);
        fill(d, false);
        ck_assert_int_eq(run(&e, d, &exec), ATTN_INT);
        d->k[M - 1] = -1;
        ck_assert_int_eq(run(&e, d, &exec), ATTN_INDEX);
        d->k[70] = -1;
        ck_assert_int_eq(run(&e, d, &exec), ATTN_INDEX);
        d->k[70] = d->k[M - 1] = 0;
        ck_assert_int_eq(run(&e, d, &exec), ATTN_OK);
        attn_pool_destroy(pool);
    }
    free(d);
    bench_done(&b);
}
END_TEST

/* Each thread has its own `local` buffers; a size that nobody has is refused. */
START_TEST(workspace)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "f", kernel_text(b.a, bodies[0], "f32"));
    const int64_t dims[] = {M, N}, large[] = {1, INT64_C(1) << 38};
    size_t one = e.workspace(dims, 1);
    ck_assert_uint_eq(one, 256);
    ck_assert_uint_eq(e.workspace(dims, 0), one);
    ck_assert_uint_eq(e.workspace(dims, -5), one);
    ck_assert_uint_eq(e.workspace(dims, 7), 7 * one);
    ck_assert_uint_eq(e.workspace(large, 1), (size_t)1 << 40);
    ck_assert_uint_eq(e.workspace(large, 1 << 22), SIZE_MAX);
    ck_assert_uint_eq(e.workspace(large, INT32_MAX), SIZE_MAX);
    bench_done(&b);
}
END_TEST

/* ---- Prepared blocks
 * ----------------------------------------------------------------------------- */

static const char prepared_kernel[] =
    "kernel @f real f32 {\n dims N\n buffer x : input f32[N] \"x\"\n"
    " buffer w : param f32[N, N] \"w\"\n buffer v : param f32[2, N] \"v\" family 1\n"
    " buffer y : output f32[N] \"y\"\n"
    " buffer wt : prepared f32[N, N]\n buffer tmp : temp f32[N]\n"
    " buffer twice : prepared f32[N]\n buffer t : local f32[4]\n"
    " prepare {\n"
    " for i in 0 .. N {\n vector for j in 0 .. N {\n wt[j, i] = w[i, j]\n }\n"
    " t[3] = v[1, i]\n tmp[i] = mul(t[3], 2.0)\n }\n"
    " for i1 in 0 .. N {\n twice[i1] = tmp[i1]\n }\n"
    " check le(w[0, 0], 100.0) else INDEX\n }\n"
    " for i2 in 0 .. N {\n var s : f32 = twice[i2]\n"
    " vector for j2 in 0 .. N {\n s = add(s, mul(wt[i2, j2], x[j2]))\n }\n y[i2] = s\n }\n}\n";

START_TEST(prepared)
{
    enum { K = 19 };
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "f", prepared_kernel);
    const int64_t n = K;
    float x[K], w[K * K], v[2][K], y[K], again[K];
    for (int i = 0; i < K; i++) {
        x[i] = (float)(i % 5);
        v[0][i] = 0;
        v[1][i] = (float)i;
    }
    for (int i = 0; i < K * K; i++)
        w[i] = (float)(i % 7);
    const void *params[] = {w, v[0], v[1]}, *in[] = {x};
    void *out[] = {y};
    size_t size = e.prepared(&n), work_size = e.workspace(&n, 1);
    ck_assert_uint_eq(size, 1472 + 128 + 128 + 64);
    ck_assert_uint_eq(work_size, size + 128 + 64);
    char *p = block(size + 64);
    void *work = block(work_size);

    ck_assert_int_eq(e.run(&n, params, NULL, in, out, work, NULL), ATTN_OK);
    for (int i = 0; i < K; i++) {
        float s = 2 * v[1][i];
        for (int j = 0; j < K; j++)
            s += w[j * K + i] * x[j];
        ck_assert(y[i] == s);
    }
    ck_assert_int_eq(e.prepare(&n, params, p), ATTN_OK);
    w[1] = 1000; /* what is prepared stays as it is */
    out[0] = again;
    ck_assert_int_eq(e.run(&n, params, p, in, out, work, NULL), ATTN_OK);
    ck_assert(memcmp(y, again, sizeof y) == 0);

    ck_assert_int_eq(e.prepare(&n, params, NULL), ATTN_NULL);
    ck_assert_int_eq(e.prepare(&n, params, p + 4), ATTN_ALIGN);
    ck_assert_int_eq(e.prepare(NULL, params, p), ATTN_NULL);
    ck_assert_int_eq(e.prepare(&n, NULL, p), ATTN_NULL);
    ck_assert_int_eq(e.run(&n, params, p + 4, in, out, work, NULL), ATTN_ALIGN);
    ck_assert_int_eq(e.run(&n, params, NULL, in, out, NULL, NULL), ATTN_NULL);
    params[2] = NULL;
    ck_assert_int_eq(e.prepare(&n, params, p), ATTN_NULL);
    params[2] = (const char *)(const void *)v[1] + 1;
    ck_assert_int_eq(e.prepare(&n, params, p), ATTN_ALIGN);
    params[2] = v[1];
    w[0] = 101;
    ck_assert_int_eq(e.prepare(&n, params, p), ATTN_INDEX);
    ck_assert_int_eq(e.run(&n, params, NULL, in, out, work, NULL), ATTN_INDEX);
    int64_t none = 0, wrong = -1;
    ck_assert_uint_eq(e.prepared(&none), 64);
    ck_assert_uint_eq(e.prepared(&wrong), SIZE_MAX);
    free(p);
    free(work);
    bench_done(&b);
}
END_TEST

/* A kernel and its step kernel, which make p of w each in their own way. */
static void with_steps(arena *a, kernel **k, bench *b, const char *own, const char *steps)
{
    const char *run = arena_printf(
        a,
        "kernel @f real f32 recurrence {\n dims T, N\n buffer x : input f32[T, N] \"x\"\n"
        " buffer w : param f32[N] \"w\"\n buffer y : output f32[T, N] \"y\"\n"
        " buffer p : prepared f32[N]\n prepare {\n for i in 0 .. N {\n p[i] = %s\n }\n }\n"
        " for t in 0 .. T {\n for j in 0 .. N {\n y[t, j] = mul(x[t, j], p[j])\n }\n }\n}\n",
        own);
    const char *step = arena_printf(
        a,
        "kernel @f real f32 recurrence {\n dims T, N\n steps rows of T\n"
        " buffer x : input f32[rows, N] \"x\"\n"
        " buffer w : param f32[N] \"w\"\n buffer y : output f32[rows, N] \"y\"\n"
        " buffer n : state i64[]\n"
        " buffer p : prepared f32[N]\n prepare {\n for i in 0 .. N {\n p[i] = %s\n }\n }\n"
        " begin {\n n[] = 0\n }\n"
        " step pos {\n for t in 0 .. rows {\n for j in 0 .. N {\n"
        " y[t, j] = mul(x[t, j], p[j])\n }\n }\n }\n}\n",
        steps);
    *k = bench_kernel(b, run);
    (*k)->stepper = bench_kernel(b, step);
    b->kernels.n = 1;
}

static void check_steps(const char *own, const char *steps, float own_by, float steps_by,
                        size_t blocks)
{
    enum { T = 6, K = 20 };
    bench b;
    bench_init(&b);
    kernel *k;
    with_steps(b.a, &k, &b, own, steps);
    bench_compile(&b, NULL);
    backend_entry e = bench_entry(&b, "f");
    const int64_t dims[] = {T, K};
    float x[T * K], w[K], y[T * K];
    for (int i = 0; i < T * K; i++)
        x[i] = (float)i;
    for (int i = 0; i < K; i++)
        w[i] = 3;
    const void *params[] = {w}, *in[] = {x};
    void *out[] = {y};
    size_t size = e.prepared(dims);
    ck_assert_uint_eq(size, blocks * 128);
    void *p = block(size), *work = block(e.workspace(dims, 1)), *state = block(e.state(dims));
    ck_assert_int_eq(e.prepare(dims, params, p), ATTN_OK);
    for (int given = 0; given < 2; given++) {
        const void *prepared = given ? p : NULL;
        ck_assert_int_eq(e.run(dims, params, prepared, in, out, work, NULL), ATTN_OK);
        for (int i = 0; i < T * K; i++)
            ck_assert(y[i] == x[i] * own_by);
        ck_assert_int_eq(e.begin(dims, params, prepared, NULL, state, work, NULL), ATTN_OK);
        for (int t = 0; t < T; t += 2) {
            const void *some[] = {x + (ptrdiff_t)t * K};
            void *to[] = {y + (ptrdiff_t)t * K};
            ck_assert_int_eq(e.step(state, 2, some, to, work, NULL), ATTN_OK);
        }
        for (int i = 0; i < T * K; i++)
            ck_assert(y[i] == x[i] * steps_by);
    }
    free(p);
    free(work);
    free(state);
    bench_done(&b);
}

START_TEST(prepared_for_steps)
{
    check_steps("mul(w[i], w[i])", "mul(w[i], w[i])", 9, 9, 1); /* one block serves both */
    check_steps("mul(w[i], w[i])", "add(w[i], w[i])", 9, 6, 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_parallel");
    TCase *t = tcase_create("parallel");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, any_number_of_threads, 0, N_BODIES);
    tcase_add_test(t, statuses);
    tcase_add_test(t, workspace);
    tcase_add_test(t, prepared);
    tcase_add_test(t, prepared_for_steps);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
