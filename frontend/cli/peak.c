/* peak.c: loops that do nothing but multiply and add, or read. */
#include "frontend/cli/peak.h"

#include <stdatomic.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

/* Twelve chains of multiply-adds, more than latency times units of any processor. They begin apart,
 * or the compiler would make them one. */
#define CHAINS(X, op)                                                                              \
    X(a, 1, op)                                                                                    \
    X(b, 2, op)                                                                                    \
    X(c, 3, op)                                                                                    \
    X(d, 4, op)                                                                                    \
    X(e, 5, op)                                                                                    \
    X(f, 6, op)                                                                                    \
    X(g, 7, op)                                                                                    \
    X(h, 8, op)                                                                                    \
    X(i, 9, op)                                                                                    \
    X(j, 10, op)                                                                                   \
    X(k, 11, op)                                                                                   \
    X(l, 12, op)
enum { N_CHAINS = 12 };
#define BEGIN(name, start, set) vec name = set(start);
#define STEP(name, start, fma)  name = fma(name, x, y);
#define JOIN(name, start, fma)  sum = fma(name, x, sum);

/* `n` rounds of them. What it returns only keeps the loop from being left out. */
#define BURN(id, attribute, type, set, fma, store, element, lanes)                                 \
    attribute static double burn_##id(int64_t n)                                                   \
    {                                                                                              \
        typedef type vec;                                                                          \
        vec x = set((element)0.999), y = set((element)1e-3), sum = y;                              \
        CHAINS(BEGIN, set)                                                                         \
        for (int64_t round = 0; round < n; round++) {                                              \
            CHAINS(STEP, fma)                                                                      \
        }                                                                                          \
        CHAINS(JOIN, fma)                                                                          \
        element out[lanes];                                                                        \
        store(out, sum);                                                                           \
        return (double)out[0];                                                                     \
    }

#define PLAIN(v)           (v)
#define PLAIN_STORE(p, v)  (*(p) = (v))
#define PLAIN_FMA(p, q, r) ((p) * (q) + (r))

/* X(id, attribute, vector, set, multiply-add, store, element, lanes) and, of the same rows, whether
 * this processor has it. */
#define EVERYWHERE(X)                                                                              \
    X(f32, , float, PLAIN, PLAIN_FMA, PLAIN_STORE, float, 1)                                       \
    X(f64, , double, PLAIN, PLAIN_FMA, PLAIN_STORE, double, 1)
#if defined __x86_64__
#define WITH(features)  __attribute__((target(features)))
#define SSE_PS(p, q, r) _mm_add_ps(_mm_mul_ps(p, q), r)
#define SSE_PD(p, q, r) _mm_add_pd(_mm_mul_pd(p, q), r)
#define BASE(X)                                                                                    \
    X(f32x4, , __m128, _mm_set1_ps, SSE_PS, _mm_storeu_ps, float, 4)                               \
    X(f64x2, , __m128d, _mm_set1_pd, SSE_PD, _mm_storeu_pd, double, 2)
#define MIDDLE(X)                                                                                  \
    X(f32x8, WITH("avx2,fma"), __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps, float,   \
      8)                                                                                           \
    X(f64x4, WITH("avx2,fma"), __m256d, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd, double, \
      4)
#define WIDE(X)                                                                                    \
    X(f32x16, WITH("avx512f"), __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps, float,   \
      16)                                                                                          \
    X(f64x8, WITH("avx512f"), __m512d, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd, double, 8)
#define HAS_MIDDLE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define HAS_WIDE   (__builtin_cpu_supports("avx512f"))
#elif defined __aarch64__
#define NEON_F32(p, q, r) vfmaq_f32(r, p, q)
#define NEON_F64(p, q, r) vfmaq_f64(r, p, q)
#define BASE(X)                                                                                    \
    X(f32x4, , float32x4_t, vdupq_n_f32, NEON_F32, vst1q_f32, float, 4)                            \
    X(f64x2, , float64x2_t, vdupq_n_f64, NEON_F64, vst1q_f64, double, 2)
#define MIDDLE(X)
#define WIDE(X)
#define HAS_MIDDLE false
#define HAS_WIDE   false
#else
#define BASE(X)
#define MIDDLE(X)
#define WIDE(X)
#define HAS_MIDDLE false
#define HAS_WIDE   false
#endif
EVERYWHERE(BURN)
BASE(BURN)
MIDDLE(BURN)
WIDE(BURN)

typedef struct burner {
    double (*run)(int64_t n);
    int lanes;
    bool f64;
    bool here; /* this processor has it */
} burner;

enum { MAX_BURNERS = 8 };

static int burners(burner *out)
{
    int n = 0;
#define ROW(has, id, element, lanes)                                                               \
    out[n++] = (burner){burn_##id, lanes, sizeof(element) == 8, has};
#define ROW_BASE(id, attribute, type, set, fma, store, element, lanes) ROW(true, id, element, lanes)
#define ROW_MIDDLE(id, attribute, type, set, fma, store, element, lanes)                           \
    ROW(HAS_MIDDLE, id, element, lanes)
#define ROW_WIDE(id, attribute, type, set, fma, store, element, lanes)                             \
    ROW(HAS_WIDE, id, element, lanes)
    EVERYWHERE(ROW_BASE)
    BASE(ROW_BASE)
    MIDDLE(ROW_MIDDLE)
    WIDE(ROW_WIDE)
    return n;
}

/* --- on all threads --- */

/* A piece of memory that is read at once. */
typedef uint64_t line __attribute__((vector_size(64), aligned(16)));

typedef struct job {
    double (*burn)(int64_t n);
    int64_t rounds;
    const void *words; /* of all threads together, n_words lines */
    size_t n_words;
    int threads;
    atomic_int sink; /* so that no result is left out */
} job;

static void burn_body(void *arg, int64_t i, int64_t worker)
{
    (void)i;
    (void)worker;
    job *j = arg;
    atomic_store(&j->sink, j->burn(j->rounds) > 0);
}

static void read_body(void *arg, int64_t i, int64_t worker)
{
    (void)worker;
    job *j = arg;
    size_t each = j->n_words / (size_t)j->threads;
    const line *w = (const line *)j->words + (size_t)i * each;
    line p = {0}, q = {0}, r = {0}, t = {0};
    for (size_t n = 0; n + 4 <= each; n += 4) {
        p |= w[n];
        q |= w[n + 1];
        r |= w[n + 2];
        t |= w[n + 3];
    }
    p |= q | r | t;
    atomic_store(&j->sink, p[0] > 0);
}

static double seconds(const attn_exec *exec, attn_body *body, job *j)
{
    double start = session_clock();
    j->threads = exec ? exec->threads : 1;
    if (exec)
        exec->parallel_for(exec->ctx, exec->threads, body, j);
    else
        body(j, 0, 0);
    return session_clock() - start;
}

double peak_flops(const attn_exec *exec, bool f64)
{
    burner all[MAX_BURNERS];
    int n = burners(all);
    double best = 0;
    for (int i = 0; i < n; i++) {
        if (!all[i].here || all[i].f64 != f64)
            continue;
        job j = {.burn = all[i].run, .rounds = 100000};
        seconds(exec, burn_body, &j);
        for (int turn = 0; turn < 4; turn++) {
            double t = seconds(exec, burn_body, &j);
            double done = 2.0 * N_CHAINS * all[i].lanes * (double)j.rounds * j.threads;
            best = t > 0 && done / t > best ? done / t : best;
        }
    }
    return best;
}

double peak_bandwidth(session *s, const attn_exec *exec)
{
    size_t bytes = (size_t)256 << 20;
    s->held = mem_try_realloc(&s->m, NULL, bytes);
    if (!s->held)
        return 0;
    memset(s->held, 1, bytes);
    double best = 0;
    job j = {.words = s->held, .n_words = bytes / sizeof(line)};
    for (int turn = 0; turn < 4; turn++) {
        double t = seconds(exec, read_body, &j);
        best = t > 0 && (double)bytes / t > best ? (double)bytes / t : best;
    }
    mem_free(&s->m, s->held);
    s->held = NULL;
    return best;
}
