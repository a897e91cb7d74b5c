/*
 * aot_host.c - runs one model of a compiled object: aot_host LIB.so MODEL -w FILE -i FILE -o FILE.
 *
 * It is a host as a user might write one: it knows nothing of the model but its reflection record
 * (MODEL_info), and is not linked with the compiler. For the tests' sake it is stricter than a
 * user: results and scratch memory begin as garbage and end in guard bytes, and the model is called
 * several times, with weights packed beforehand and without, on several numbers of threads; all
 * calls must give the same bytes. Exit codes: 0 done, 1 the run failed, 2 usage.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/extent.h"
#include "runtime/io/io.h"
#include "runtime/pool.h"
#include "runtime/solve.h"

#define GUARD_BYTES 64 /* behind each block */
#define GUARD_BYTE  0xA5
#define GARBAGE     0xFF /* in results it stands out: NaN as a real, -1 as an int */

static _Noreturn void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "aot_host: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

/* ---- The object ---------------------------------------------------------------------------- */

typedef struct model {
    const attn_model_info *info;
    attn_workspace_fn *workspace;
    attn_prepared_fn *prepared;
    attn_prepare_fn *prepare;
    attn_run_fn *run;
} model;

static void *symbol(void *lib, const char *name, const char *ending)
{
    char full[512];
    int n = snprintf(full, sizeof full, "%s%s", name, ending);
    if (n < 0 || (size_t)n >= sizeof full)
        fail("the name '%s' is too long", name);
    void *p = dlsym(lib, full);
    if (!p)
        fail("no symbol %s: %s", full, dlerror());
    return p;
}

static model open_model(const char *path, const char *name)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail("%s", dlerror());
    /* POSIX lets an object pointer from dlsym stand for a function; ISO C has no cast for it. */
    model m = {.info = symbol(lib, name, "_info")};
    *(void **)&m.workspace = symbol(lib, name, "_workspace");
    *(void **)&m.prepared = symbol(lib, name, "_prepared");
    *(void **)&m.prepare = symbol(lib, name, "_prepare");
    *(void **)&m.run = symbol(lib, name, "");
    if (m.info->abi_version != ATTN_ABI_VERSION)
        fail("%s has interface version %u, this host %u", path, m.info->abi_version,
             ATTN_ABI_VERSION);
    return m;
}

/* ---- Tensors ------------------------------------------------------------------------------- */

typedef struct tensors {
    attn_allocator alloc;
    attn_tensor_set inputs, params, results;
    attn_tensor **found; /* one for each tensor of the record; NULL: not given */
} tensors;

static const char *source_name(const attn_tensor_info *t)
{
    return t->source ? t->source : t->name;
}

static void read_file(const char *path, attn_tensor_set *set, const attn_allocator *alloc)
{
    attn_text error;
    attn_text_init(&error, alloc);
    if (path && attn_io_read(path, NULL, set, &error) != ATTN_IO_OK)
        fail("%s", attn_text_cstr(&error));
    attn_text_free(&error);
}

/* Finds what the record asks for, in the element type it wants. */
static void match(const model *m, tensors *ts)
{
    for (int64_t i = 0; i < m->info->n_tensors; i++) {
        const attn_tensor_info *t = &m->info->tensors[i];
        if (t->role == ATTN_OUTPUT)
            continue;
        attn_tensor_set *set = t->role == ATTN_PARAM ? &ts->params : &ts->inputs;
        attn_tensor *found = attn_tensor_set_find(set, source_name(t));
        if (!found)
            continue;
        attn_text error;
        attn_text_init(&error, &ts->alloc);
        if (attn_tensor_convert(found, t->dtype, 0, &ts->alloc, &error) != ATTN_IO_OK)
            fail("%s: %s", source_name(t), attn_text_cstr(&error));
        attn_text_free(&error);
        ts->found[i] = found;
    }
}

static int64_t *solve(const model *m, const tensors *ts)
{
    const attn_model_info *info = m->info;
    attn_fact *facts = calloc((size_t)info->n_tensors + 1, sizeof *facts);
    int64_t *dims = malloc(((size_t)info->n_dims + 1) * sizeof *dims);
    if (!facts || !dims)
        fail("out of memory");
    for (int64_t i = 0; i < info->n_dims; i++)
        dims[i] = ATTN_DIM_UNKNOWN;
    for (int64_t i = 0; i < info->n_tensors; i++) {
        const attn_tensor *t = ts->found[i];
        if (t)
            facts[i] = (attn_fact){.present = true, .rank = t->rank, .shape = t->shape};
    }
    attn_problems problems;
    attn_problems_init(&problems, &ts->alloc);
    if (attn_solve(info, facts, dims, &problems) != ATTN_OK)
        fail("%s", attn_text_cstr(&problems.text));
    attn_problems_free(&problems);
    free(facts);
    return dims;
}

/* ---- Memory that shows what was done to it -------------------------------------------------- */

typedef struct block {
    unsigned char *p;
    size_t size;
} block;

static block block_new(size_t size)
{
    size_t whole =
        (size + GUARD_BYTES + ATTN_BLOCK_ALIGN - 1) / ATTN_BLOCK_ALIGN * ATTN_BLOCK_ALIGN;
    block b = {.p = whole > size ? aligned_alloc(ATTN_BLOCK_ALIGN, whole) : NULL, .size = size};
    if (!b.p)
        fail("out of memory");
    memset(b.p, GARBAGE, size);
    memset(b.p + size, GUARD_BYTE, GUARD_BYTES);
    return b;
}

static void block_check(const block *b, const char *what)
{
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (b->p[b->size + i] != GUARD_BYTE)
            fail("a byte behind %s was written (offset %zu + %zu)", what, b->size, i);
    }
}

/* ---- The call ------------------------------------------------------------------------------ */

static void **pointers(const model *m)
{
    void **p = calloc((size_t)m->info->n_tensors + 1, sizeof *p);
    if (!p)
        fail("out of memory");
    return p;
}

/* A way to call: all of them give the same bytes. */
typedef struct way {
    bool prepared; /* with the weights packed beforehand */
    int threads;
} way;

static const way WAYS[] = {{true, 1}, {false, 1}, {true, 1}, {true, 2}, {false, 3}, {true, 7}};

enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

/* One call; the results in blocks, one for each tensor of the record (size 0 where it is none). */
static block *call(const model *m, const tensors *ts, const int64_t *dims, way w)
{
    const attn_model_info *info = m->info;
    attn_pool *pool = w.threads > 1 ? attn_pool_create(w.threads, &ts->alloc) : NULL;
    if (w.threads > 1 && !pool)
        fail("out of memory");
    attn_exec exec = {.threads = 1};
    if (pool)
        exec = attn_pool_exec(pool);
    void **params = pointers(m), **inputs = pointers(m), **outputs = pointers(m);
    block *results = calloc((size_t)info->n_tensors + 1, sizeof *results);
    if (!results)
        fail("out of memory");
    for (int64_t i = 0; i < info->n_tensors; i++) {
        const attn_tensor_info *t = &info->tensors[i];
        if (t->role == ATTN_OUTPUT) {
            int64_t shape[ATTN_IO_MAX_RANK];
            size_t bytes;
            if (t->rank > ATTN_IO_MAX_RANK ||
                attn_tensor_extent(t, dims, info->n_dims, shape, &bytes) != ATTN_OK)
                fail("the result %s has no size at these dims", t->name);
            results[i] = block_new(bytes);
            outputs[t->slot] = results[i].p;
        } else if (ts->found[i]) {
            (t->role == ATTN_PARAM ? params : inputs)[t->slot] = ts->found[i]->data;
        }
    }
    size_t workspace_size = m->workspace(dims, exec.threads), prepared_size = m->prepared(dims);
    if (workspace_size == SIZE_MAX || prepared_size == SIZE_MAX)
        fail("the dims are refused");
    block workspace = block_new(workspace_size), packed = block_new(prepared_size);
    attn_status status = ATTN_OK;
    if (w.prepared)
        status = m->prepare(dims, (const void *const *)params, packed.p);
    if (status == ATTN_OK)
        status = m->run(dims, (const void *const *)params, w.prepared ? packed.p : NULL,
                        (const void *const *)inputs, outputs, workspace.p, pool ? &exec : NULL);
    if (status != ATTN_OK)
        fail("status %d: %s", (int)status, attn_status_text(status));
    block_check(&workspace, "the workspace");
    block_check(&packed, "the prepared weights");
    for (int64_t i = 0; i < info->n_tensors; i++) {
        if (results[i].p)
            block_check(&results[i], info->tensors[i].name);
    }
    attn_pool_destroy(pool);
    free(workspace.p);
    free(packed.p);
    free(params);
    free(inputs);
    free(outputs);
    return results;
}

static void compare(const model *m, const block *first, const block *again, way w)
{
    for (int64_t i = 0; i < m->info->n_tensors; i++) {
        if (first[i].p && memcmp(first[i].p, again[i].p, first[i].size) != 0)
            fail("%s differs with %s weights and %d threads from prepared ones and 1 thread",
                 m->info->tensors[i].name, w.prepared ? "prepared" : "unprepared", w.threads);
    }
}

static void free_results(const model *m, block *results)
{
    for (int64_t i = 0; i < m->info->n_tensors; i++)
        free(results[i].p);
    free(results);
}

static void write_results(const model *m, tensors *ts, const int64_t *dims, const block *results,
                          const char *path)
{
    for (int64_t i = 0; i < m->info->n_tensors; i++) {
        const attn_tensor_info *t = &m->info->tensors[i];
        if (t->role != ATTN_OUTPUT)
            continue;
        int64_t shape[ATTN_IO_MAX_RANK];
        size_t bytes;
        attn_tensor_extent(t, dims, m->info->n_dims, shape, &bytes);
        attn_io_status status;
        attn_tensor *to =
            attn_tensor_set_add(&ts->results, source_name(t), t->dtype, t->rank, shape, &status);
        if (!to)
            fail("out of memory");
        memcpy(to->data, results[i].p, bytes);
    }
    attn_text error;
    attn_text_init(&error, &ts->alloc);
    if (attn_io_write(path, &ts->results, &error) != ATTN_IO_OK)
        fail("%s", attn_text_cstr(&error));
    attn_text_free(&error);
}

int main(int argc, char **argv)
{
    const char *weights = NULL, *inputs = NULL, *out = NULL;
    for (int i = 3; i + 1 < argc; i += 2) {
        const char **to = strcmp(argv[i], "-w") == 0   ? &weights
                          : strcmp(argv[i], "-i") == 0 ? &inputs
                          : strcmp(argv[i], "-o") == 0 ? &out
                                                       : NULL;
        if (to)
            *to = argv[i + 1];
    }
    if (argc < 3 || !out) {
        fprintf(stderr, "usage: aot_host LIB.so MODEL [-w WEIGHTS] [-i INPUTS] -o RESULTS\n");
        return 2;
    }
    model m = open_model(argv[1], argv[2]);
    tensors ts = {.alloc = attn_allocator_libc()};
    ts.found = calloc((size_t)m.info->n_tensors + 1, sizeof *ts.found);
    if (!ts.found)
        fail("out of memory");
    attn_tensor_set_init(&ts.inputs, &ts.alloc);
    attn_tensor_set_init(&ts.params, &ts.alloc);
    attn_tensor_set_init(&ts.results, &ts.alloc);
    read_file(inputs, &ts.inputs, &ts.alloc);
    read_file(weights, &ts.params, &ts.alloc);
    match(&m, &ts);
    int64_t *dims = solve(&m, &ts);

    block *first = call(&m, &ts, dims, WAYS[0]);
    for (int i = 1; i < N_WAYS; i++) {
        block *again = call(&m, &ts, dims, WAYS[i]);
        compare(&m, first, again, WAYS[i]);
        free_results(&m, again);
    }
    write_results(&m, &ts, dims, first, out);
    free_results(&m, first);
    free(dims);
    free(ts.found);
    attn_tensor_set_free(&ts.inputs);
    attn_tensor_set_free(&ts.params);
    attn_tensor_set_free(&ts.results);
    return 0;
}
