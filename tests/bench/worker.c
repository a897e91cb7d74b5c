/* worker.c: bench-worker THREADS: one contestant of a side-by-side benchmark. It reads orders from
 * standard input, a line each, and answers each with one line:
 *
 *     prepare CASEFILE VARIANT         OK | UNSUPPORTED why | ERR why    compiles, packs the
 * weights time MIN_S MIN_REPS MAX_REPS     TIMES t1 t2 ...                   seconds of each call
 *     output FILE                      OK                                one call; its result, raw
 *     rssreset | rss                   OK | RSS now peak                 kilobytes
 *     release | quit                   OK
 *
 * What is timed is the call of the compiled model alone. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/worker.h"

typedef struct worker {
    mem m;
    arena *a; /* of the prepared case; NULL: there is none */
    bench_model model;
    attn_pool *pool;
    attn_exec exec;
    const attn_exec *threads; /* NULL: this one only */
} worker;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void release(worker *w)
{
    model_free(&w->model);
    arena_free(w->a);
    w->a = NULL;
}

/* One line, whatever the text holds. */
static void answer(const char *word, const char *text)
{
    printf("%s ", word);
    for (const char *s = text; *s; s++)
        putchar(*s == '\n' ? ' ' : *s);
    putchar('\n');
}

static void prepare(worker *w, char *rest)
{
    char *at = NULL;
    const char *path = strtok_r(rest, " ", &at);
    release(w);
    if (!path) {
        answer("ERR", "prepare CASEFILE VARIANT");
        return;
    }
    w->a = arena_new(&w->m);
    bench_case c;
    choice of = {0};
    const char *why = case_read(&c, w->a, path);
    if (!why) {
        choose(&c, &of);
        if (!of.unsupported)
            why = model_make(&w->model, &c, &of, w->threads);
    }
    if (why)
        answer("ERR", why);
    else if (of.unsupported)
        answer("UNSUPPORTED", of.unsupported);
    else
        puts("OK");
    if (why || of.unsupported)
        release(w);
}

static void measure(worker *w, const char *rest)
{
    char *end;
    double least = strtod(rest, &end);
    long min_reps = strtol(end, &end, 10), max_reps = strtol(end, &end, 10);
    if (max_reps < 1 || max_reps > 1000000) {
        answer("ERR", "time MIN_S MIN_REPS MAX_REPS");
        return;
    }
    double *times = ARENA_ARRAY(w->a, double, (size_t)max_reps), start = now();
    long n = 0;
    attn_status status = ATTN_OK;
    while (status == ATTN_OK && n < max_reps && (n < min_reps || now() - start < least)) {
        double before = now();
        status = model_run(&w->model);
        times[n++] = now() - before;
    }
    if (status != ATTN_OK) {
        answer("ERR", attn_status_text(status));
        return;
    }
    printf("TIMES");
    for (long i = 0; i < n; i++)
        printf(" %.9f", times[i]);
    putchar('\n');
}

static void output(worker *w, const char *path)
{
    attn_status status = model_run(&w->model);
    if (status != ATTN_OK) {
        answer("ERR", attn_status_text(status));
        return;
    }
    size_t n = (size_t)w->model.out_elements;
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(w->model.outputs[0], sizeof(float), n, f) == n;
    ok = (!f || fclose(f) == 0) && ok;
    if (ok)
        puts("OK");
    else
        answer("ERR", "cannot write the result");
}

static void peak_memory(void)
{
    long rss = 0, peak = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            rss = strtol(line + 6, NULL, 10);
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    printf("RSS %ld %ld\n", rss, peak);
}

static void reset_peak(void)
{
    malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
    puts("OK");
}

static bool obey(worker *w, char *line)
{
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = '\0';
    bool work = strcmp(line, "time") == 0 || strcmp(line, "output") == 0;
    if (strcmp(line, "quit") == 0)
        return false;
    if (work && !w->model.code) {
        answer("ERR", "nothing is prepared");
    } else if (strcmp(line, "prepare") == 0) {
        prepare(w, rest);
    } else if (strcmp(line, "time") == 0) {
        measure(w, rest);
    } else if (strcmp(line, "output") == 0) {
        output(w, rest);
    } else if (strcmp(line, "release") == 0) {
        release(w);
        puts("OK");
    } else if (strcmp(line, "rss") == 0) {
        peak_memory();
    } else if (strcmp(line, "rssreset") == 0) {
        reset_peak();
    } else {
        answer("ERR", "an unknown order");
    }
    return true;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long n = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (n < 1 || n > 4096 || *end) {
        fprintf(stderr, "usage: bench-worker THREADS\n");
        return 2;
    }
    worker w = {0};
    attn_allocator heap = attn_allocator_libc();
    if (n > 1) {
        w.pool = attn_pool_create((int)n, &heap);
        if (!w.pool)
            mem_fail(&w.m);
        w.exec = attn_pool_exec(w.pool);
        w.threads = &w.exec;
    }
    puts("READY attnc");
    fflush(stdout);
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!obey(&w, line))
            break;
        fflush(stdout);
    }
    release(&w);
    attn_pool_destroy(w.pool);
    return 0;
}
