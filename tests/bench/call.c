/* call.c: bench-call LIB.so MODEL NAME=SIZE...: one call of a compiled model by a host that has
 * nothing else in it, so that what is counted or measured around it is the model's own.
 *
 * Tensors are made of numbers that depend on nothing but the place, optional inputs stay out. The
 * call is made by `measured`, which callgrind can be told to look at alone. It prints one line:
 *
 *     PEAK kilobytes WORKSPACE bytes PREPARED bytes TENSORS bytes
 *
 * PEAK is the most memory that the process ever had. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/extent.h"

enum { MOST = 256 };

typedef struct call {
    const attn_model_info *info;
    attn_workspace_fn *workspace;
    attn_prepared_fn *prepared_size;
    attn_prepare_fn *prepare;
    attn_run_fn *run;
    int64_t dims[MOST];
    void *params[MOST], *inputs[MOST], *outputs[MOST];
    void *prepared, *scratch;
    size_t tensor_bytes, scratch_bytes, prepared_bytes;
} call;

static _Noreturn void die(const char *what, const char *detail)
{
    fprintf(stderr, "bench-call: %s %s\n", what, detail);
    exit(1);
}

/* Not touched: what the model leaves alone is no memory in use. */
static void *block(size_t bytes)
{
    void *p = NULL;
    if (bytes > SIZE_MAX - ATTN_BLOCK_ALIGN ||
        posix_memalign(&p, ATTN_BLOCK_ALIGN, bytes + ATTN_BLOCK_ALIGN) != 0)
        die("out of memory", "");
    return p;
}

static size_t elements(const call *c, const attn_tensor_info *t)
{
    size_t n = 1;
    for (int64_t i = 0; i < t->rank; i++) {
        int64_t d;
        if (attn_extent_eval(&t->shape[i], c->dims, c->info->n_dims, &d) != ATTN_EVAL_OK || d < 0 ||
            __builtin_mul_overflow(n, (size_t)d, &n))
            die("there is no size for", t->name);
    }
    return n;
}

/* Parameters are small enough for sums to stay near 1; ints are 0, which every axis has. */
static void fill(const attn_tensor_info *t, void *to, size_t n, unsigned seed)
{
    float scale = t->role == ATTN_PARAM ? 0.1f : 1.0f;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        float x = scale * ((float)(seed >> 8) / 8388608.0f - 1.0f);
        if (t->dtype == ATTN_F32)
            ((float *)to)[i] = x;
        else if (t->dtype == ATTN_F64)
            ((double *)to)[i] = x;
        else if (t->dtype == ATTN_I64)
            ((int64_t *)to)[i] = 0;
        else
            die("an element type that is not made here:", t->name);
    }
}

static void make_tensors(call *c)
{
    for (int64_t i = 0; i < c->info->n_tensors; i++) {
        const attn_tensor_info *t = &c->info->tensors[i];
        size_t n = elements(c, t), bytes = n * attn_dtype_size(t->dtype);
        void **to = t->role == ATTN_PARAM   ? c->params
                    : t->role == ATTN_INPUT ? c->inputs
                                            : c->outputs;
        if (t->slot >= MOST)
            die("too many tensors in", c->info->name);
        if (t->flags & ATTN_OPTIONAL)
            continue;
        to[t->slot] = block(bytes);
        c->tensor_bytes += bytes;
        if (t->role != ATTN_OUTPUT)
            fill(t, to[t->slot], n, (unsigned)i * 7919u + 1);
    }
}

static void check(attn_status status)
{
    if (status != ATTN_OK)
        die("the model answers:", attn_status_text(status));
}

__attribute__((noinline)) static attn_status measured(const call *c)
{
    return c->run(c->dims, (const void *const *)c->params, c->prepared,
                  (const void *const *)c->inputs, c->outputs, c->scratch, NULL);
}

static void *symbol(void *lib, const char *model, const char *ending)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", model, ending);
    void *p = dlsym(lib, name);
    if (!p)
        die("no symbol", name);
    return p;
}

/* ISO C knows no pointer that is either: the bytes are copied. */
static void load(call *c, void *lib, const char *model)
{
    void *workspace = symbol(lib, model, "_workspace"), *size = symbol(lib, model, "_prepared");
    void *prepare = symbol(lib, model, "_prepare"), *run = symbol(lib, model, "");
    c->info = symbol(lib, model, "_info");
    memcpy(&c->workspace, &workspace, sizeof workspace);
    memcpy(&c->prepared_size, &size, sizeof size);
    memcpy(&c->prepare, &prepare, sizeof prepare);
    memcpy(&c->run, &run, sizeof run);
    if (c->info->n_dims > MOST)
        die("too many dims in", model);
}

static void read_dims(call *c, int argc, char **argv)
{
    for (int64_t k = 0; k < c->info->n_dims; k++)
        c->dims[k] = 1;
    for (int i = 3; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        bool known = false;
        for (int64_t k = 0; eq && k < c->info->n_dims; k++) {
            const char *name = c->info->dim_names[k];
            if (strlen(name) == (size_t)(eq - argv[i]) &&
                memcmp(name, argv[i], strlen(name)) == 0) {
                c->dims[k] = strtoll(eq + 1, NULL, 10);
                known = true;
            }
        }
        if (!known)
            die("no dim of the model:", argv[i]);
    }
}

static long peak_kilobytes(void)
{
    long peak = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    return peak;
}

int main(int argc, char **argv)
{
    static const char usage[] = "usage: bench-call LIB.so MODEL NAME=SIZE...";
    if (argc < 3)
        die(usage, "");
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        die("dlopen:", dlerror());
    call *c = calloc(1, sizeof *c);
    if (!c)
        die("out of memory", "");
    load(c, lib, argv[2]);
    read_dims(c, argc, argv);
    make_tensors(c);
    c->prepared_bytes = c->prepared_size(c->dims);
    c->scratch_bytes = c->workspace(c->dims, 1);
    if (c->prepared_bytes == SIZE_MAX || c->scratch_bytes == SIZE_MAX)
        die("the model refuses these sizes", "");
    c->prepared = block(c->prepared_bytes);
    c->scratch = block(c->scratch_bytes);
    check(c->prepare(c->dims, (const void *const *)c->params, c->prepared));
    check(measured(c));
    printf("PEAK %ld WORKSPACE %zu PREPARED %zu TENSORS %zu\n", peak_kilobytes(), c->scratch_bytes,
           c->prepared_bytes, c->tensor_bytes);
    return 0;
}
