/* kernel_eval.h: runs a kernel by walking it: for tests only, slow and suspicious.
 *
 * Every load and store is checked: in range, of a buffer that is there, of an element that was
 * written, and not of one that the test has poisoned (what a predicate excludes). f32 kernels round
 * every result. */
#ifndef ATTNC_TESTS_KERNEL_EVAL_H
#define ATTNC_TESTS_KERNEL_EVAL_H

#include "ir/kernel/kernel.h"

typedef struct eval_buf {
    bool absent; /* an optional input that was not given */
    size_t n;
    double *f;     /* real buffers */
    int64_t *i;    /* int and bool buffers */
    bool *written; /* temps and outputs */
    bool *poison;  /* inputs: elements that must not be loaded; NULL: none */
} eval_buf;

typedef struct eval_result {
    int status;        /* 0, or of the first check that failed */
    const char *fault; /* what the kernel must never do, or NULL */
    size_t steps;      /* statements run */
} eval_result;

/* `bufs`: one for each buffer of the kernel; inputs and params filled by the caller, the others
 * made here. */
eval_result kernel_eval(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs);

/* A step kernel: the beginning makes states and temps; each call goes on with the states, the
 * inputs of its steps filled by the caller, and makes outputs and temps. `symbols` holds its rows.
 * An input of the other body is all 0. */
eval_result kernel_eval_begin(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs);
eval_result kernel_eval_step(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs,
                             int64_t pos);

/* What a real becomes when it is stored as st. */
double eval_round(store_type st, double x);

#endif
