/* worker.h: the parts of bench-worker: a case as the driver writes it, and a compiled model that
 * runs it. */
#ifndef ATTNC_TESTS_BENCH_WORKER_H
#define ATTNC_TESTS_BENCH_WORKER_H

#include <stddef.h>

#include "backend/backend.h"
#include "ir/base/vec.h"
#include "runtime/pool.h"

/* The programs beside this file, built in. */
struct workload {
    const char *name; /* "sdpa.attn" */
    const char *text; /* NUL-terminated */
    size_t size;
};
extern const struct workload workloads[];
extern const size_t n_workloads;

/* case.c: `key value` lines and `in NAME f32 RANK DIMS FILE` lines. */
enum { CASE_MAX_RANK = 8 };
typedef struct case_tensor {
    const char *name;
    int64_t rank, shape[CASE_MAX_RANK], n;
    float *data;
} case_tensor;
typedef struct case_key {
    const char *key, *value;
} case_key;
typedef struct bench_case {
    arena *a;
    VEC(case_key) keys;
    VEC(case_tensor) in;
} bench_case;
/* NULL, or why the file cannot be used. */
const char *case_read(bench_case *c, arena *a, const char *path);
const char *case_text(const bench_case *c, const char *key); /* "" where there is none */
double case_number(const bench_case *c, const char *key);    /* 0 where there is none */
const case_tensor *case_find(const bench_case *c, const char *name);

/* kinds.c: which program a case is of. */
typedef struct choice {
    const char *file, *text; /* the program */
    size_t size;
    const char *entry;
    VEC(case_key) defines;   /* -D of the sizes and constants that belong to the model */
    int64_t parts;           /* a weight holds that many tensors, one behind the other */
    const char *unsupported; /* why, or NULL */
} choice;
void choose(const bench_case *c, choice *out);
const struct workload *find_workload(const char *name);

/* model.c: a compiled case with its memory, which lies in the arena of the case but for the blocks.
 */
enum { BENCH_OUTPUTS = 6 };
typedef struct bench_model {
    backend_module *code;
    backend_entry entry;
    int64_t *dims;
    const void **params, **inputs;
    void **outputs;
    void *prepared, *workspace;
    const attn_exec *exec;
    int64_t out_elements;
    void *blocks[BENCH_OUTPUTS + 2]; /* results, prepared weights, workspace */
    size_t n_blocks;
} bench_model;
/* NULL, or why not. */
const char *model_make(bench_model *m, const bench_case *c, const choice *of,
                       const attn_exec *exec);
attn_status model_run(const bench_model *m);
void model_free(bench_model *m);

#endif
