/*
 * runtime_pool.c - the thread pool: every index exactly once, teams with a barrier, several
 * callers, fork. bug/T-02 T-05 T-07 T-14.
 */
#include "runtime/cpu.h"
#include "runtime/pool.h"
#include "runtime_support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ThreadSanitizer cannot follow threads that a forked child makes. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_FORK
#endif
#endif
#if defined(NO_FORK) || defined(__SANITIZE_THREAD__)
enum { CAN_FORK = 0 };
#else
enum { CAN_FORK = 1 };
#endif

enum { MOST = 2000 };

typedef struct tally {
    _Atomic int hits[MOST];
    _Atomic int busy[64]; /* by worker */
    int threads;
} tally;

static void count(void *arg, int64_t i, int64_t worker)
{
    tally *t = arg;
    ck_assert(worker >= 0 && worker < t->threads);
    ck_assert_int_eq(atomic_fetch_add(&t->busy[worker], 1), 0);
    atomic_fetch_add(&t->hits[i], 1);
    atomic_fetch_sub(&t->busy[worker], 1);
}

static void run_counts(const attn_exec *exec)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, MOST};
    tally *t = calloc(1, sizeof *t);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        memset(t, 0, sizeof *t);
        t->threads = exec->threads;
        exec->parallel_for(exec->ctx, sizes[s], count, t);
        for (int64_t i = 0; i < MOST; i++)
            ck_assert_int_eq(t->hits[i], i < sizes[s]);
    }
    free(t);
}

START_TEST(every_index_once)
{
    attn_allocator libc = attn_allocator_libc();
    static const int threads[] = {1, 2, 3, 7, 0};
    for (size_t k = 0; k < sizeof threads / sizeof threads[0]; k++) {
        attn_pool *pool = attn_pool_create(threads[k], &libc);
        attn_exec exec = attn_pool_exec(pool);
        ck_assert_int_eq(exec.threads, threads[k] ? threads[k] : attn_cpu_count());
        for (int i = 0; i < 5; i++)
            run_counts(&exec);
        attn_pool_destroy(pool);
    }
    attn_pool_destroy(NULL);
}
END_TEST

typedef struct team {
    const attn_exec *exec;
    int64_t *cells; /* one per worker and step */
    int64_t steps;
} team;

/* Each step reads what all others wrote in the step before. */
static void recur(void *arg, int64_t i, int64_t worker)
{
    team *t = arg;
    int threads = t->exec->threads;
    ck_assert_int_eq(i, worker);
    for (int64_t s = 1; s <= t->steps; s++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < threads; k++)
            sum += t->cells[(s - 1) * threads + k];
        t->cells[s * threads + i] = sum % 1000003 + i;
        t->exec->barrier(t->exec->ctx);
    }
}

static void run_team(const attn_exec *exec)
{
    int64_t steps = 200;
    int threads = exec->threads;
    size_t cells = (size_t)(steps + 1) * (size_t)threads;
    team t = {exec, calloc(cells, sizeof(int64_t)), steps};
    int64_t *expected = calloc(cells, sizeof(int64_t));
    exec->parallel_for(exec->ctx, threads, recur, &t);
    for (int64_t s = 1; s <= steps; s++)
        for (int64_t i = 0; i < threads; i++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < threads; k++)
                sum += expected[(s - 1) * threads + k];
            expected[s * threads + i] = sum % 1000003 + i;
        }
    ck_assert_int_eq(memcmp(t.cells, expected, cells * sizeof(int64_t)), 0);
    free(t.cells);
    free(expected);
}

START_TEST(barriers)
{
    attn_allocator libc = attn_allocator_libc();
    for (int threads = 1; threads <= 5; threads++) {
        attn_pool *pool = attn_pool_create(threads, &libc);
        attn_exec exec = attn_pool_exec(pool);
        run_team(&exec);
        run_team(&exec);
        attn_pool_destroy(pool);
    }
}
END_TEST

static void *caller(void *arg)
{
    for (int i = 0; i < 5; i++) {
        run_counts(arg);
        run_team(arg);
    }
    return NULL;
}

START_TEST(several_callers)
{
    attn_allocator libc = attn_allocator_libc();
    attn_pool *pool = attn_pool_create(3, &libc);
    attn_exec exec = attn_pool_exec(pool);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, caller, &exec), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    attn_pool_destroy(pool);
}
END_TEST

START_TEST(after_fork)
{
    if (!CAN_FORK)
        return;
    attn_allocator libc = attn_allocator_libc();
    attn_pool *pool = attn_pool_create(3, &libc);
    attn_exec exec = attn_pool_exec(pool);
    run_counts(&exec);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        run_counts(&exec);
        run_team(&exec);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_counts(&exec);
    attn_pool_destroy(pool);
}
END_TEST

START_TEST(no_memory)
{
    torture plan = {.fail_at = 1};
    attn_allocator alloc = torture_allocator(&plan);
    ck_assert_ptr_null(attn_pool_create(2, &alloc));
    attn_pool *pool = attn_pool_create(2, &alloc);
    attn_pool_destroy(pool);
    ck_assert_uint_eq(plan.live, 0);
}
END_TEST

RUN_TESTS("runtime_pool", every_index_once, barriers, several_callers, after_fork, no_memory)
