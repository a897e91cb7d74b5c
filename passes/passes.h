/* passes.h: what the passes folder offers: the pass manager and the scheduler. */
#ifndef ATTNC_PASSES_PASSES_H
#define ATTNC_PASSES_PASSES_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/kernel/shape.h"

/* Passes over the graph, in the order of passes.def. Each is one file with one public function
 * `bool pass_<id>(pass_ctx *)`, false only after reporting to diag. */
typedef struct pass_ctx {
    graph *g;
    diags *diag;
    arena *scratch; /* freed after the pass */
    bool changed;   /* set by the pass */
} pass_ctx;

enum { PASS_OPTIONAL = 1 << 0 }; /* the result is right without it; counts for --pass-limit */

typedef struct pass_info {
    const char *name;
    char letter;
    const char *summary;
    unsigned flags;
    bool (*run)(pass_ctx *);
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Called around each pass; NULL members are skipped. */
typedef struct pass_options {
    const char *only;       /* comma-separated names: run exactly these, in this order; NULL: all */
    const char *disabled;   /* comma-separated names left out */
    const char *stop_after; /* NULL: run to the end */
    const char *start_from; /* NULL: from the first */
    long limit;             /* optional passes run at most; < 0: no limit */
    bool verify;            /* graph_verify after each */
    void (*after)(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds);
    void *ctx;
} pass_options;

bool passes_run(graph *g, diags *ds, const pass_options *o);

/* graph -> kernel: the last step before the backend; `shape` is of the machine that the kernel is
 * for. NULL after reporting to ds. */
kernel *schedule(arena *a, const graph *g, const machine_shape *shape, diags *ds);
/* step graph -> step kernel: two bodies, one to begin and one that goes some steps on. */
kernel *schedule_step(arena *a, const graph *step_graph, const machine_shape *shape, diags *ds);

#endif
