/*
 * host.c - one object, several sizes, two threads: host LIB.so MODEL "B=2,S=5,T=4" "B=3,S=6,T=2"
 *
 * Fills a model's tensors with numbers that depend on the sizes, runs it once for each set of
 * sizes, then runs both at the same time in two threads, many times: every result must be bit for
 * bit the first one. Dims not given are 4. The program is linked with neither the compiler nor
 * libm.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/extent.h"

enum { ROUNDS = 200, MOST = 256 };

typedef struct problem {
    const attn_model_info *info;
    attn_workspace_fn *workspace;
    attn_run_fn *run;
    int64_t dims[MOST];
    void *params[MOST], *inputs[MOST], *first[MOST], *again[MOST];
    size_t out_bytes[MOST];
    void *scratch;
    int failures;
} problem;

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "host: %s %s\n", what, detail);
    exit(1);
}

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        die("out of memory", "");
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

static size_t elements(const problem *p, const attn_tensor_info *t)
{
    size_t n = 1;
    for (int64_t i = 0; i < t->rank; i++) {
        int64_t d;
        if (attn_extent_eval(&t->shape[i], p->dims, p->info->n_dims, &d) != ATTN_EVAL_OK)
            die("cannot size", t->name);
        n *= (size_t)d;
    }
    return n;
}

static void fill(void *to, attn_dtype type, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        float x = (float)(seed >> 8) / 16777216.0f - 0.5f;
        if (type == ATTN_F32)
            ((float *)to)[i] = x;
        else if (type == ATTN_I64)
            ((int64_t *)to)[i] = (int64_t)(seed >> 30); /* 0 .. 3: below every dim */
        else
            die("an element type this host does not make", "");
    }
}

static void prepare(problem *p, const char *sizes)
{
    for (int64_t i = 0; i < p->info->n_dims; i++)
        p->dims[i] = 4;
    char *copy = strdup(sizes);
    for (char *part = strtok(copy, ","); part; part = strtok(NULL, ",")) {
        char *eq = strchr(part, '=');
        int known = 0;
        if (!eq)
            die("not NAME=SIZE:", part);
        *eq = 0;
        for (int64_t i = 0; i < p->info->n_dims; i++)
            if (!strcmp(p->info->dim_names[i], part)) {
                p->dims[i] = atoll(eq + 1);
                known = 1;
            }
        if (!known)
            die("the model has no dim", part);
    }
    free(copy);
    for (int64_t i = 0; i < p->info->n_tensors; i++) {
        const attn_tensor_info *t = &p->info->tensors[i];
        size_t n = elements(p, t), bytes = n * attn_dtype_size(t->dtype);
        if (t->slot >= MOST)
            die("too many tensors in", p->info->name);
        if (t->role == ATTN_OUTPUT) {
            p->first[t->slot] = block(bytes);
            p->again[t->slot] = block(bytes);
            p->out_bytes[t->slot] = bytes;
            continue;
        }
        void *data = NULL; /* an optional input stays out */
        if (!(t->flags & ATTN_OPTIONAL)) {
            data = block(bytes);
            fill(data, t->dtype, n, (unsigned)i * 7919u + (unsigned)p->dims[0]);
        }
        (t->role == ATTN_PARAM ? p->params : p->inputs)[t->slot] = data;
    }
    p->scratch = block(p->workspace(p->dims, 1));
}

static void call(problem *p, void **outputs)
{
    attn_status s = p->run(p->dims, (const void *const *)p->params, NULL,
                           (const void *const *)p->inputs, outputs, p->scratch, NULL);
    if (s != ATTN_OK)
        die("the model answers", attn_status_text(s));
}

static void *repeat(void *arg)
{
    problem *p = arg;
    for (int r = 0; r < ROUNDS; r++) {
        call(p, p->again);
        for (int i = 0; i < MOST; i++)
            if (p->out_bytes[i] && memcmp(p->first[i], p->again[i], p->out_bytes[i]))
                p->failures++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage: host LIB.so MODEL SIZES SIZES", "");
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        die("dlopen:", dlerror());
    static const char *const endings[] = {"_info", "_workspace", ""};
    void *symbols[3];
    for (int i = 0; i < 3; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s", argv[2], endings[i]);
        symbols[i] = dlsym(lib, name);
        if (!symbols[i])
            die("no symbol", name);
    }
    problem *p = block(2 * sizeof *p);
    for (int k = 0; k < 2; k++) {
        p[k].info = symbols[0];
        memcpy(&p[k].workspace, &symbols[1], sizeof symbols[1]);
        memcpy(&p[k].run, &symbols[2], sizeof symbols[2]);
        prepare(&p[k], argv[3 + k]);
        call(&p[k], p[k].first);
    }
    pthread_t t[2];
    for (int k = 0; k < 2; k++)
        if (pthread_create(&t[k], NULL, repeat, &p[k]))
            die("no thread", "");
    for (int k = 0; k < 2; k++)
        pthread_join(t[k], NULL);
    printf("%d differences in %d calls\n", p[0].failures + p[1].failures, 2 * ROUNDS);
    return p[0].failures + p[1].failures != 0;
}
