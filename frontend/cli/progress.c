/* progress.c: the drawing thread. */
#include "frontend/cli/progress.h"

#include <stdio.h>
#include <time.h>

#define QUIET_SECONDS     1.0
#define FRAME_NANOSECONDS 100000000L

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_init(progress *p, bool enabled)
{
    *p = (progress){.enabled = enabled};
}

static void draw(progress *p, double elapsed, unsigned frame)
{
    static const char spinner[] = "|/-\\";
    uint64_t done = atomic_load(&p->done), total = atomic_load(&p->total);
    char amount[64] = "";
    if (total)
        snprintf(amount, sizeof amount, " %.1f of %.1f MB", 1e-6 * (double)done,
                 1e-6 * (double)total);
    else if (done)
        snprintf(amount, sizeof amount, " %.1f MB", 1e-6 * (double)done);
    fprintf(stderr, "\r%c %s%s, %.0f s\033[K", spinner[frame % 4], p->what, amount, elapsed);
    fflush(stderr);
}

static void *run(void *arg)
{
    progress *p = arg;
    bool drawn = false;
    pthread_mutex_lock(&p->lock);
    for (unsigned frame = 0; !p->stop; frame++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += FRAME_NANOSECONDS;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
        double elapsed = now() - p->start;
        if (!p->stop && elapsed >= QUIET_SECONDS) {
            draw(p, elapsed, frame);
            drawn = true;
        }
    }
    if (drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void progress_begin(progress *p, const char *what)
{
    if (!p->enabled || p->running)
        return;
    p->what = what;
    p->start = now();
    p->stop = false;
    atomic_store(&p->done, 0);
    atomic_store(&p->total, 0);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->running = pthread_create(&p->thread, NULL, run, p) == 0;
    if (!p->running) { /* no thread, no progress line: the work is what counts */
        pthread_mutex_destroy(&p->lock);
        pthread_cond_destroy(&p->wake);
    }
}

void progress_end(progress *p)
{
    if (!p->running)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    p->running = false;
}
