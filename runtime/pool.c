/*
 * pool.c - workers that wait for a job, take indices from a shared counter, and report. Waiting
 * spins briefly, because the steps of a recurrence are microseconds apart, then sleeps.
 */
#include "pool.h"

#include "cpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1024,
    SPINS = 2000,
    STACK_BYTES = 2 << 20,
    /* Chunks per worker: enough to even out unequal tiles, few enough to keep the counter cold. */
    CHUNKS = 16
};

/* A counter on which threads wait for change; advanced under the pool's lock. */
typedef struct event {
    _Atomic unsigned value;
    pthread_cond_t changed;
} event;

typedef struct worker {
    attn_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct attn_pool {
    attn_allocator alloc;
    int room;     /* entries of workers */
    int promised; /* the `threads` of the exec */
    int threads;  /* workers including the caller; fewer than promised only after fork */
    int spins;
    pid_t owner; /* the process whose threads these are */
    pthread_mutex_t turn;
    pthread_mutex_t lock;
    event started;  /* a job is ready, or stop is set */
    event finished; /* the last worker has left the job */
    event released; /* a barrier is complete */
    bool stop;
    /* The job. Written before `started` advances, read after it. */
    attn_body *body;
    void *arg;
    int64_t n;
    int64_t chunk; /* 0: index i belongs to worker i */
    _Atomic int64_t next;
    _Atomic int running;
    _Atomic int arrived;
    worker workers[];
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void event_await(attn_pool *pool, event *e, unsigned old)
{
    for (int i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&e->value, memory_order_acquire) != old)
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&e->value, memory_order_acquire) == old)
        pthread_cond_wait(&e->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void event_advance(attn_pool *pool, event *e)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(&e->value, 1, memory_order_release);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&pool->lock);
}

static void work(attn_pool *pool, int number)
{
    if (pool->chunk == 0) {
        if (number < pool->n)
            pool->body(pool->arg, number, number);
        return;
    }
    for (;;) {
        int64_t first = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
        if (first >= pool->n)
            return;
        int64_t last = pool->n - first < pool->chunk ? pool->n : first + pool->chunk;
        for (int64_t i = first; i < last; i++)
            pool->body(pool->arg, i, number);
    }
}

static void *worker_main(void *argument)
{
    worker *w = argument;
    attn_pool *pool = w->pool;
    unsigned seen = 0;
    for (;;) {
        event_await(pool, &pool->started, seen++);
        if (pool->stop)
            return NULL;
        work(pool, w->number);
        if (atomic_fetch_sub_explicit(&pool->running, 1, memory_order_acq_rel) == 1)
            event_advance(pool, &pool->finished);
    }
}

/* Fresh locks and threads, for a new pool or in a forked child, which inherits neither. */
static void start(attn_pool *pool, int threads)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    event *events[] = {&pool->started, &pool->finished, &pool->released};
    for (int i = 0; i < 3; i++) {
        atomic_init(&events[i]->value, 0);
        pthread_cond_init(&events[i]->changed, NULL);
    }
    pool->owner = getpid();
    pool->stop = false;
    pool->threads = 1;
    /* Spinning only helps while every worker can have a processor to itself. */
    pool->spins = threads <= attn_cpu_count() ? SPINS : 0;
    sigfillset(&all);
    bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    if (pthread_attr_init(&attr) == 0) {
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        for (int i = 1; i < threads; i++) {
            worker *w = &pool->workers[i - 1];
            *w = (worker){.pool = pool, .number = i};
            if (pthread_create(&w->thread, &attr, worker_main, w) != 0)
                break;
            pool->threads++;
        }
        pthread_attr_destroy(&attr);
    }
    if (masked)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static size_t pool_bytes(int threads)
{
    return sizeof(attn_pool) + (size_t)threads * sizeof(worker);
}

attn_pool *attn_pool_create(int threads, const attn_allocator *alloc)
{
    if (threads <= 0)
        threads = attn_cpu_count();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    attn_pool *pool = attn_alloc(alloc, pool_bytes(threads));
    if (!pool)
        return NULL;
    pool->alloc = *alloc;
    pool->room = threads;
    start(pool, threads);
    pool->promised = pool->threads;
    return pool;
}

void attn_pool_destroy(attn_pool *pool)
{
    if (!pool)
        return;
    if (pool->owner == getpid()) {
        pool->stop = true;
        event_advance(pool, &pool->started);
        for (int i = 1; i < pool->threads; i++)
            pthread_join(pool->workers[i - 1].thread, NULL);
        pthread_cond_destroy(&pool->started.changed);
        pthread_cond_destroy(&pool->finished.changed);
        pthread_cond_destroy(&pool->released.changed);
        pthread_mutex_destroy(&pool->lock);
        pthread_mutex_destroy(&pool->turn);
    }
    attn_allocator alloc = pool->alloc;
    attn_free(&alloc, pool, pool_bytes(pool->room));
}

static void pool_parallel_for(void *ctx, int64_t n, attn_body *body, void *arg)
{
    attn_pool *pool = ctx;
    if (n <= 0)
        return;
    if (pool->owner != getpid())
        start(pool, pool->promised);
    if (pool->threads == 1 || n == 1) {
        for (int64_t i = 0; i < n; i++)
            body(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&pool->turn);
    pool->body = body;
    pool->arg = arg;
    pool->n = n;
    int64_t per_worker = n / pool->threads / CHUNKS;
    pool->chunk = n == pool->promised && n == pool->threads ? 0 : per_worker > 1 ? per_worker : 1;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->running, pool->threads, memory_order_relaxed);
    atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
    unsigned done = atomic_load_explicit(&pool->finished.value, memory_order_relaxed);
    event_advance(pool, &pool->started);
    work(pool, 0);
    if (atomic_fetch_sub_explicit(&pool->running, 1, memory_order_acq_rel) == 1)
        event_advance(pool, &pool->finished);
    event_await(pool, &pool->finished, done);
    pthread_mutex_unlock(&pool->turn);
}

static void pool_barrier(void *ctx)
{
    attn_pool *pool = ctx;
    if (pool->promised == 1)
        return;
    if (pool->threads < pool->promised) {
        /* A forked child that gets no threads can share loops out, but not run a team. */
        fprintf(stderr, "attn_pool: no threads for a barrier after fork\n");
        abort();
    }
    /* Read first: once this thread has arrived, the others may complete the barrier at once. */
    unsigned old = atomic_load_explicit(&pool->released.value, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == pool->threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        event_advance(pool, &pool->released);
    } else {
        event_await(pool, &pool->released, old);
    }
}

attn_exec attn_pool_exec(attn_pool *pool)
{
    return (attn_exec){pool->promised, pool_parallel_for, pool_barrier, pool};
}
