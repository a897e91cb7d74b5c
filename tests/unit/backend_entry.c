/* backend_entry.c: the C interface of compiled kernels: what is refused and how, families, optional
 * inputs, empty tensors, the workspace, the reflection record; several models, modules and threads.
 */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static attn_status run(const backend_entry *e, const int64_t *sizes, const void *const *params,
                       const void *const *inputs, void *const *outputs, void *workspace)
{
    return e->run(sizes, params, NULL, inputs, outputs, workspace, NULL);
}

/* ---- Refusals
 * ------------------------------------------------------------------------------------ */

static const char twice[] = "kernel @twice real f32 {\n"
                            "  dims N, M\n"
                            "  buffer x : input f32[N, M] \"x\"\n"
                            "  buffer c : input f32[M] \"c\" optional\n"
                            "  buffer W : param f64[M] \"W\"\n"
                            "  buffer y : output f32[N, M] \"y\"\n"
                            "  buffer t : temp f32[M]\n"
                            "  for i in 0 .. N {\n"
                            "    for j in 0 .. M {\n"
                            "      t[j] = mul(x[i, j], W[j])\n"
                            "    }\n"
                            "    for j2 in 0 .. M {\n"
                            "      y[i, j2] = select(given(c), add(t[j2], c[j2]), t[j2])\n"
                            "    }\n"
                            "  }\n"
                            "}\n";

typedef struct call {
    int64_t sizes[2];
    float x[6], c[3], y[6];
    double w[3];
    const void *in[2], *params[1];
    void *out[1], *workspace;
    _Alignas(64) char block[256];
} call;

static void prepare(call *k)
{
    *k = (call){.sizes = {2, 3}, .x = {1, 2, 3, 4, 5, 6}, .c = {10, 20, 30}, .w = {1, 2, 3}};
    k->in[0] = k->x;
    k->params[0] = k->w;
    k->out[0] = k->y;
    k->workspace = k->block;
}

static attn_status call_it(const backend_entry *e, call *k)
{
    return run(e, k->sizes, k->params, k->in, k->out, k->workspace);
}

START_TEST(statuses)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "twice", twice);
    call k;

    prepare(&k);
    ck_assert_uint_eq(e.workspace(k.sizes, 1), 64);
    ck_assert_uint_eq(e.prepared(k.sizes), 0);
    ck_assert_int_eq(e.prepare(k.sizes, k.params, NULL), ATTN_OK);
    ck_assert_int_eq(call_it(&e, &k), ATTN_OK);
    ck_assert_float_eq(k.y[4], 10);
    k.in[1] = k.c;
    ck_assert_int_eq(call_it(&e, &k), ATTN_OK);
    ck_assert_float_eq(k.y[4], 30);

    ck_assert_int_eq(run(&e, NULL, k.params, k.in, k.out, k.workspace), ATTN_NULL);
    ck_assert_int_eq(run(&e, k.sizes, NULL, k.in, k.out, k.workspace), ATTN_NULL);
    ck_assert_int_eq(run(&e, k.sizes, k.params, NULL, k.out, k.workspace), ATTN_NULL);
    ck_assert_int_eq(run(&e, k.sizes, k.params, k.in, NULL, k.workspace), ATTN_NULL);
    ck_assert_uint_eq(e.workspace(NULL, 1), SIZE_MAX);
    ck_assert_uint_eq(e.prepared(NULL), SIZE_MAX);
    ck_assert_int_eq(e.prepare(NULL, k.params, NULL), ATTN_NULL);
    ck_assert_int_eq(e.prepare(k.sizes, NULL, NULL), ATTN_NULL);

    prepare(&k);
    k.in[0] = NULL;
    ck_assert_int_eq(call_it(&e, &k), ATTN_NULL);
    prepare(&k);
    k.params[0] = NULL;
    ck_assert_int_eq(call_it(&e, &k), ATTN_NULL);
    prepare(&k);
    k.out[0] = NULL;
    ck_assert_int_eq(call_it(&e, &k), ATTN_NULL);
    prepare(&k);
    k.workspace = NULL;
    ck_assert_int_eq(call_it(&e, &k), ATTN_NULL);

    prepare(&k);
    k.workspace = k.block + 32;
    ck_assert_int_eq(call_it(&e, &k), ATTN_ALIGN);
    prepare(&k);
    k.in[0] = (const char *)k.x + 2;
    ck_assert_int_eq(call_it(&e, &k), ATTN_ALIGN);
    prepare(&k);
    k.params[0] = (const char *)k.w + 4; /* aligned for f32, not for f64 */
    ck_assert_int_eq(call_it(&e, &k), ATTN_ALIGN);

    prepare(&k);
    k.out[0] = k.x;
    ck_assert_int_eq(call_it(&e, &k), ATTN_ALIAS);
    prepare(&k);
    k.out[0] = (char *)k.w - 20; /* the last element of y is half of the first of W */
    if ((uintptr_t)k.out[0] % 4 == 0)
        ck_assert_int_eq(call_it(&e, &k), ATTN_ALIAS);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(k.y[i], 0); /* nothing was touched */

    static const int64_t bad[][2] = {{-1, 3},
                                     {2, -1},
                                     {DIM_LIMIT + 1, 3},
                                     {INT64_MAX, 1},
                                     {INT64_MIN, 1},
                                     {DIM_LIMIT, DIM_LIMIT},
                                     {INT64_C(1) << 31, INT64_C(1) << 29}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        prepare(&k);
        memcpy(k.sizes, bad[i], sizeof k.sizes);
        ck_assert_uint_eq(e.workspace(k.sizes, 1), SIZE_MAX);
        ck_assert_uint_eq(e.prepared(k.sizes), SIZE_MAX);
        ck_assert_int_eq(call_it(&e, &k), ATTN_DIM);
        ck_assert_int_eq(e.prepare(k.sizes, k.params, NULL), ATTN_DIM);
    }
    bench_done(&b);
}
END_TEST

/* Empty tensors may be NULL, and no axis makes an empty tensor too large. */
START_TEST(empty)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "twice", twice);
    call k;
    prepare(&k);
    k.sizes[0] = 0;
    k.in[0] = NULL;
    k.out[0] = NULL;
    ck_assert_int_eq(call_it(&e, &k), ATTN_OK);
    prepare(&k);
    k.sizes[1] = 0;
    k.in[0] = k.params[0] = NULL;
    k.out[0] = k.workspace = NULL;
    ck_assert_uint_eq(e.workspace(k.sizes, 1), 0);
    ck_assert_int_eq(call_it(&e, &k), ATTN_OK);
    prepare(&k);
    k.sizes[0] = 0;
    k.sizes[1] = DIM_LIMIT;
    ck_assert_uint_eq(e.workspace(k.sizes, 1), (size_t)4 << 40);
    bench_done(&b);
}
END_TEST

START_TEST(dim_conditions)
{
    bench b;
    bench_init(&b);
    backend_entry e =
        bench_run(&b, "f",
                  "kernel @f real f32 {\n  dims N, H, G\n  check G <= N \"few groups\"\n"
                  "  check N == 2*H \"halves\"\n"
                  "  buffer y : output i64[6] \"y\"\n  y[0] = {N / G}\n  y[1] = {N // 3}\n"
                  "  y[2] = {N % 3}\n  y[3] = {max(N, G)}\n  y[4] = {min(H, G)}\n"
                  "  y[5] = {N*H - G}\n}\n");
    int64_t y[6];
    void *out[] = {y};
    const int64_t good[] = {8, 4, 2};
    ck_assert_int_eq(run(&e, good, NULL, NULL, out, NULL), ATTN_OK);
    const int64_t want[] = {4, 2, 2, 8, 2, 30};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(y[i], want[i]);
    static const int64_t bad[][3] = {{8, 4, 9}, {8, 3, 2}, {8, 4, 3},
                                     {8, 4, 0}, {0, 0, 0}, {DIM_LIMIT, DIM_LIMIT / 2, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(run(&e, bad[i], NULL, NULL, out, NULL), ATTN_DIM);
    bench_done(&b);
}
END_TEST

START_TEST(data_checks)
{
    bench b;
    bench_init(&b);
    backend_entry e =
        bench_run(&b, "f",
                  "kernel @f real f32 {\n  dims N, M\n  buffer ids : input i64[N] \"ids\"\n"
                  "  buffer x : input f32[M] \"x\"\n  buffer y : output f32[N] \"y\"\n"
                  "  for i in 0 .. N {\n    let id : i64 = ids[i]\n"
                  "    let ok : bool = and(le(0, id), lt(id, M))\n"
                  "    check ok else INDEX\n"
                  "    check not(overflows.mul(id, id)) else INT\n"
                  "    y[i] = select(ok, x[id], 0.0)\n  }\n}\n");
    enum { N = 100, M = 5 };
    int64_t ids[N];
    const float x[M] = {1, 2, 3, 4, 5};
    float y[N];
    const void *in[] = {ids, x};
    void *out[] = {y};
    const int64_t sizes[] = {N, M};
    for (int i = 0; i < N; i++)
        ids[i] = i % M;
    ck_assert_int_eq(run(&e, sizes, NULL, in, out, NULL), ATTN_OK);
    ck_assert_float_eq(y[93], 4);
    for (int i = 0; i < N; i++) {
        int64_t old = ids[i];
        ids[i] = M;
        ck_assert_int_eq(run(&e, sizes, NULL, in, out, NULL), ATTN_INDEX);
        ids[i] = INT64_MIN;
        ck_assert_int_eq(run(&e, sizes, NULL, in, out, NULL), ATTN_INDEX); /* the lower number */
        ids[i] = old;
    }
    bench_done(&b);
}
END_TEST

/* ---- Families
 * ------------------------------------------------------------------------------------ */

static const char stack[] = "kernel @stack real f32 {\n"
                            "  dims N\n"
                            "  buffer x : input f32[N] \"x\"\n"
                            "  buffer W : param f32[2, 3, N] \"W\" family 2 from \"h.{l}.{m}.w\"\n"
                            "  buffer v : param f32[N] \"v\"\n"
                            "  buffer y : output f32[3, N] \"y\" family 1\n"
                            "  for m in 0 .. 3 {\n"
                            "    for i in 0 .. N {\n"
                            "      var acc : f32 = mul(v[i], x[i])\n"
                            "      for l in 0 .. 2 {\n"
                            "        acc = add(acc, W[l, m, i])\n"
                            "      }\n"
                            "      y[m, i] = acc\n"
                            "    }\n"
                            "  }\n"
                            "}\n";

START_TEST(families)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "stack", stack);
    enum { N = 37 };
    float w[6][N], v[N], x[N], y[3][N];
    const void *params[7], *in[] = {x};
    void *out[] = {y[2], y[0], y[1]}; /* separate tensors, in any order in memory */
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 6; j++)
            w[j][i] = (float)(100 * j + i);
        v[i] = 2;
        x[i] = (float)i;
    }
    for (int j = 0; j < 6; j++)
        params[j] = w[j];
    params[6] = v;
    const int64_t n = N;
    ck_assert_int_eq(run(&e, &n, params, in, out, NULL), ATTN_OK);
    for (int m = 0; m < 3; m++)
        for (int i = 0; i < N; i++)
            ck_assert_float_eq(((float *)out[m])[i], 2 * x[i] + w[m][i] + w[3 + m][i]);
    params[4] = NULL;
    ck_assert_int_eq(run(&e, &n, params, in, out, NULL), ATTN_NULL);
    params[4] = (char *)w[4] + 1;
    ck_assert_int_eq(run(&e, &n, params, in, out, NULL), ATTN_ALIGN);
    params[4] = w[4];
    out[1] = w[5];
    ck_assert_int_eq(run(&e, &n, params, in, out, NULL), ATTN_ALIAS);
    out[1] = out[0];
    ck_assert_int_eq(run(&e, &n, params, in, out, NULL), ATTN_ALIAS);

    ck_assert_int_eq(e.info->n_tensors, 11);
    const attn_tensor_info *t = &e.info->tensors[5];
    ck_assert_str_eq(t->name, "W.1.1");
    ck_assert_str_eq(t->source, "h.1.1.w");
    ck_assert_int_eq(t->slot, 4);
    ck_assert_int_eq(t->rank, 1);
    ck_assert_str_eq(e.info->tensors[10].name, "y.2");
    bench_done(&b);
}
END_TEST

/* ---- The record
 * ---------------------------------------------------------------------------------- */

static void same_extent(const attn_extent *a, const attn_extent *b)
{
    ck_assert_str_eq(a->text, b->text);
    ck_assert_int_eq(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
        ck_assert_int_eq(a->code[i], b->code[i]);
}

static void same_record(const attn_model_info *a, const attn_model_info *b)
{
    ck_assert_uint_eq(a->abi_version, ATTN_ABI_VERSION);
    ck_assert_uint_eq(a->abi_version, b->abi_version);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->n_dims, b->n_dims);
    for (int64_t i = 0; i < a->n_dims; i++)
        ck_assert_str_eq(a->dim_names[i], b->dim_names[i]);
    ck_assert_int_eq(a->n_tensors, b->n_tensors);
    for (int64_t i = 0; i < a->n_tensors; i++) {
        const attn_tensor_info *s = &a->tensors[i], *t = &b->tensors[i];
        ck_assert_str_eq(s->name, t->name);
        ck_assert_pstr_eq(s->source, t->source);
        ck_assert(s->role == t->role && s->dtype == t->dtype && s->flags == t->flags &&
                  s->rank == t->rank && s->slot == t->slot && s->step_axis == t->step_axis);
        for (int64_t j = 0; j < s->rank; j++)
            same_extent(&s->shape[j], &t->shape[j]);
    }
    ck_assert_int_eq(a->n_checks, b->n_checks);
    for (int64_t i = 0; i < a->n_checks; i++) {
        ck_assert_str_eq(a->checks[i].message, b->checks[i].message);
        ck_assert_int_eq(a->checks[i].relation, b->checks[i].relation);
        same_extent(&a->checks[i].lhs, &b->checks[i].lhs);
        same_extent(&a->checks[i].rhs, &b->checks[i].rhs);
    }
}

START_TEST(record)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, stack);
    bench_kernel(&b, twice);
    bench_kernel(&b, "kernel @odd real f64 {\n  dims T, E\n  check T <= 2*E + 1 \"enough\"\n"
                     "  buffer x : input bf16[max(T, E // 2), (T + 1) % E, 3] \"x\" optional\n"
                     "  buffer y : output i32[] \"y\"\n  y[] = 5\n}\n");
    bench_compile(&b, NULL);
    for (size_t i = 0; i < b.kernels.n; i++) {
        backend_entry e = bench_entry(&b, b.kernels.v[i]->name);
        same_record(e.info, backend_info(b.a, b.kernels.v[i]));
    }
    backend_entry e = bench_entry(&b, "odd");
    ck_assert_int_eq(e.info->tensors[0].flags, ATTN_OPTIONAL);
    ck_assert_int_eq(e.info->tensors[0].dtype, ATTN_BF16);
    ck_assert_int_eq(e.info->tensors[1].dtype, ATTN_I32);
    const int64_t sizes[] = {1, 2};
    int32_t y = 0;
    const void *in[] = {NULL};
    void *out[] = {&y};
    ck_assert_int_eq(run(&e, sizes, NULL, in, out, NULL), ATTN_OK);
    ck_assert_int_eq(y, 5);
    bench_done(&b);
}
END_TEST

/* ---- Several at once
 * ----------------------------------------------------------------------------- */

/* Two modules with equal names in one process; each lives and dies by itself. */
START_TEST(two_modules)
{
    bench a, b;
    bench_init(&a);
    bench_init(&b);
    static const char text[] =
        "kernel @f real f64 {\n  dims N\n  buffer x : input f64[N] \"x\"\n"
        "  buffer y : output f64[N] \"y\"\n  for i in 0 .. N {\n    y[i] = %s(x[i])\n  }\n}\n";
    backend_entry ea = bench_run(&a, "f", arena_printf(a.a, text, "exp"));
    backend_entry eb = bench_run(&b, "f", arena_printf(b.a, text, "neg"));
    const double x[] = {1, 2, 3};
    double y[3];
    const void *in[] = {x};
    void *out[] = {y};
    const int64_t n = 3;
    ck_assert_int_eq(run(&ea, &n, NULL, in, out, NULL), ATTN_OK);
    ck_assert_double_eq(y[1], exp(2));
    bench_done(&a);
    ck_assert_int_eq(run(&eb, &n, NULL, in, out, NULL), ATTN_OK);
    ck_assert_double_eq(y[1], -2);
    bench_done(&b);
}
END_TEST

typedef struct worker {
    const backend_entry *e;
    int seed;
    bool compile;
    bool ok;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    bench b;
    backend_entry own;
    if (w->compile) {
        bench_init(&b);
        own = bench_run(&b, "twice", twice);
        w->e = &own;
    }
    call k;
    w->ok = true;
    for (int i = 0; i < 2000; i++) {
        prepare(&k);
        for (int j = 0; j < 6; j++)
            k.x[j] = (float)(w->seed + i + j);
        w->ok = w->ok && call_it(w->e, &k) == ATTN_OK;
        for (int j = 0; j < 6; j++)
            w->ok = w->ok && k.y[j] == k.x[j] * (float)k.w[j % 3];
    }
    if (w->compile)
        bench_done(&b);
    return NULL;
}

START_TEST(threads)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "twice", twice);
    worker w[4] = {{&e, 1, false, false},
                   {&e, 1000, false, false},
                   {NULL, 5, true, false},
                   {NULL, 7, true, false}};
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, work, &w[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++)
        ck_assert(w[i].ok);
    bench_done(&b);
}
END_TEST

#if defined(__x86_64__)
/* Control and rounding bits stay; exception flags are the caller's to read or not. */
START_TEST(environment)
{
    bench b;
    bench_init(&b);
    backend_entry e = bench_run(&b, "twice", twice);
    call k;
    prepare(&k);
    unsigned before = _mm_getcsr() & ~0x3fu;
    ck_assert_int_eq(call_it(&e, &k), ATTN_OK);
    ck_assert_uint_eq(_mm_getcsr() & ~0x3fu, before);
    bench_done(&b);
}
END_TEST
#endif

/* ---- The user's mistakes
 * ------------------------------------------------------------------------- */

static const char *errors_of(bench *b, const char *text, const backend_options *o)
{
    bench_kernel(b, text);
    b->module = backend_compile(b->kernels.v, b->kernels.n, o, &b->ds);
    ck_assert_ptr_null(b->module);
    return bench_errors(b);
}

START_TEST(mistakes)
{
    static const backend_options usual = {.level = 1};
    static const struct {
        const char *text, *want;
        backend_options o;
    } cases[] = {
        {"kernel @f real f32 {\n  dims N\n  buffer a : input f32[N] \"a.b\"\n  buffer b : input "
         "f32[N] \"a_b\"\n}\n",
         "both called a_b",
         {.level = 1}},
        {"kernel @f real f32 {\n  dims L, N\n  buffer W : param f32[L, N] \"W\" family 1\n}\n",
         "number of tensors in the family W",
         {.level = 1}},
        {"kernel @f real f32 {\n  dims N\n}\n",
         "processor 'haswel' is not known",
         {.cpu = "haswel"}},
        {"kernel @f real f32 {\n  dims N\n}\n", "did you mean 'haswell'", {.cpu = "haswel"}},
        {"kernel @f real f32 {\n  dims N\n}\n", "no code generator", {.triple = "vax-dec-ultrix"}},
        {"kernel @f real f32 {\n  dims N\n}\n",
         "64-bit",
         {.triple = "i386-linux-gnu", .cpu = NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b;
        bench_init(&b);
        const char *said = errors_of(&b, cases[i].text, &cases[i].o);
        ck_assert_msg(strstr(said, cases[i].want) != NULL, "no '%s' in: %s", cases[i].want, said);
        bench_done(&b);
    }
    bench b;
    bench_init(&b);
    bench_kernel(&b, "kernel @f real f32 {\n  dims N\n}\n");
    const char *said = errors_of(&b, "kernel @f_workspace real f32 {\n  dims N\n}\n", &usual);
    ck_assert_ptr_nonnull(strstr(said, "both called f_workspace"));
    bench_done(&b);

    bench_init(&b);
    bench_kernel(&b, "kernel @run real f32 {\n  dims N\n}\n");
    bench_compile(&b, NULL);
    backend_entry e;
    ck_assert(!backend_jit(b.module, "runn", &e, &b.ds));
    ck_assert_ptr_nonnull(strstr(bench_errors(&b), "did you mean 'run'"));
    bench_done(&b);
}
END_TEST

/* Code for a machine that this one may not be is not run. */
START_TEST(foreign_code)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, twice);
    backend_options o = {.triple = "aarch64-linux-gnu", .level = 2};
#if defined(__aarch64__)
    o.triple = "x86_64-linux-gnu";
#endif
    bench_compile(&b, &o);
    backend_entry e;
    ck_assert(!backend_jit(b.module, "twice", &e, &b.ds));
    ck_assert_ptr_nonnull(strstr(bench_errors(&b), "cannot be known to run"));
    strbuf s = {.a = b.a};
    ck_assert(backend_print_asm(b.module, &s, &b.ds));
    ck_assert_ptr_nonnull(strstr(sb_text(&s), "twice.body"));
    bench_done(&b);
}
END_TEST

/* Every allocation fails once; what LLVM holds is given back (the leak checker watches). */
START_TEST(out_of_memory)
{
    for (size_t at = 1, done = 0; !done; at += 1 + at / 6) {
        bench b;
        bench_init(&b);
        bench_kernel(&b, twice);
        jmp_buf here;
        backend_module *volatile m = NULL;
        volatile bool failed = false;
        b.m.on_oom = &here;
        b.m.fail_at = b.m.count + at;
        if (setjmp(here) == 0)
            m = backend_compile(b.kernels.v, b.kernels.n, &(backend_options){.level = 0}, &b.ds);
        else
            failed = true;
        ck_assert(failed == (m == NULL));
        done = !failed;
        backend_free(m);
        bench_done(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_entry");
    TCase *t = tcase_create("entry");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, statuses);
    tcase_add_test(t, empty);
    tcase_add_test(t, dim_conditions);
    tcase_add_test(t, data_checks);
    tcase_add_test(t, families);
    tcase_add_test(t, record);
    tcase_add_test(t, two_modules);
    tcase_add_test(t, threads);
#if defined(__x86_64__)
    tcase_add_test(t, environment);
#endif
    tcase_add_test(t, mistakes);
    tcase_add_test(t, foreign_code);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
