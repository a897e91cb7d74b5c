/* step_support.h: one call that takes a step graph through everything that runs it: as a whole by
 * the interpreter and compiled, then step by step, by the walker of kernel_eval.h and compiled. */
#ifndef ATTNC_TESTS_STEP_SUPPORT_H
#define ATTNC_TESTS_STEP_SUPPORT_H

#include "backend/backend.h"
#include "ir/interp.h"
#include "passes/passes.h"

enum { STEP_MAX_TENSORS = 16, STEP_MAX_ROWS = 64 };

/* A tensor of the whole sequence as C code sees it. */
typedef struct step_tensor {
    void *data;                /* NULL: not given */
    size_t outer, rows, bytes; /* blocks of `rows` steps (1 without steps) of `bytes` bytes each */
    bool stepped;
} step_tensor;

typedef struct step_test {
    mem m;
    arena *a;
    strtab *names;
    source_set sources;
    diags ds;
    graph *g;
    kernel *k; /* with its step kernel */
    backend_module *module;
    backend_entry e;
    int64_t dims[8];     /* by g->symbols */
    int64_t symbols[16]; /* by the table of dims */
    int64_t steps;       /* the capacity */
    long ints;
    unsigned flags;
    interp_tensor in[STEP_MAX_TENSORS], par[STEP_MAX_TENSORS], want[STEP_MAX_TENSORS];
    step_tensor inputs[STEP_MAX_TENSORS], params[STEP_MAX_TENSORS];
} step_test;

enum { STEP_ABSENT = 1, STEP_SIMPLIFIED = 2 }; /* optional inputs are not given; after the passes */

/* Reads and compiles; inputs for the seed. `sizes`: "T=3 H=2"; ints are 0 .. ints-1. Ends the test
 * with a text where something is wrong. */
void step_begin(step_test *t, const char *text, const char *sizes, long ints, unsigned flags);
void step_inputs(step_test *t, uint64_t seed); /* others, and what they give by the interpreter */
void step_end(step_test *t);

/* One run on its way. */
typedef struct step_run {
    const step_test *t;
    char *state, *workspace; /* guarded */
    size_t state_bytes, workspace_bytes;
    int64_t at;
    char *out[STEP_MAX_TENSORS]; /* of the whole sequence */
} step_run;

void run_begin(step_run *r, const step_test *t);
attn_status run_rows(step_run *r, int64_t rows); /* compares nothing */
void run_check(const step_run *r);               /* all that was done so far against `want` */
void run_end(step_run *r);

/* Everything: several seeds, with and without passes, optional inputs given and not, cut in several
 * ways. */
void check_steps(const char *text, const char *sizes, long ints);

#endif
