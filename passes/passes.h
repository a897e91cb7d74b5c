/* passes.h: what the passes folder offers: the pass manager and the scheduler. */
#ifndef ATTNC_PASSES_PASSES_H
#define ATTNC_PASSES_PASSES_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/kernel/shape.h"

typedef enum rule_id {
#define RULE(pass, id, meaning) RULE_##pass##_##id,
#include "passes/rules.def"
#undef RULE
    RULE_COUNT
} rule_id;
typedef struct rule_info {
    const char *pass, *name, *meaning;
} rule_info;
extern const rule_info rule_table[RULE_COUNT];

/* Passes over the graph, in the order of passes.def. Each is one file with one public function
 * `bool pass_<id>(pass_ctx *)`, false only after reporting to diag. */
typedef struct pass_ctx {
    graph *g;
    diags *diag;
    arena *scratch; /* freed after the pass */
    bool changed;   /* set by the pass */
    uint32_t *hits; /* by rule_id: how often it was applied; NULL: nobody asks */
} pass_ctx;

static inline void rule_hit(const pass_ctx *pc, rule_id r)
{
    if (pc->hits)
        pc->hits[r]++;
}
/* `made` is what the rule makes of v: v itself where it does not apply. */
static inline value *rule_made(const pass_ctx *pc, rule_id r, const value *v, value *made)
{
    if (made != v)
        rule_hit(pc, r);
    return made;
}

enum { PASS_OPTIONAL = 1 << 0 }; /* the result is right without it; counts for --pass-limit */

typedef struct pass_info {
    const char *name;
    char letter;
    const char *summary;
    unsigned flags;
    bool (*run)(pass_ctx *);               /* NULL: it works on kernels */
    bool (*run_kernel)(kernel *, arena *); /* whether it changed something */
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Called around each pass; NULL members are skipped. */
typedef struct pass_options {
    const char *only; /* comma-separated names: run exactly these, in this order; NULL: all */
    bool one_form; /* the other form is not made: a name in `only` of a pass over it is an error */
    const char *disabled;   /* comma-separated names left out */
    const char *stop_after; /* NULL: run to the end */
    const char *start_from; /* NULL: from the first */
    long limit;             /* optional passes run at most; < 0: no limit */
    bool verify;            /* graph_verify after each */
    void (*after)(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds);
    /* A pass ended in an internal error, or what it made breaks a rule: `before` is the graph as it
     * was. The process may end behind it. */
    void (*failed)(void *ctx, const pass_info *p, const graph *before);
    /* The same of passes over kernels; the kernel before as text. */
    void (*after_kernel)(void *ctx, const pass_info *p, const kernel *k, bool changed,
                         double seconds);
    void (*failed_kernel)(void *ctx, const pass_info *p, const strbuf *before);
    uint32_t *hits;       /* RULE_COUNT counters that are added to; NULL: none */
    const char *sabotage; /* tests: "ice:PASS" or "verify:PASS", how that pass fails; else NULL */
    void *ctx;
} pass_options;

bool passes_run(graph *g, diags *ds, const pass_options *o);
/* The passes over kernels, on what the schedule made. */
bool kernel_passes_run(kernel *k, diags *ds, const pass_options *o);

/* graph -> kernel, on which the kernel passes and the backend work; `shape` is of the machine that
 * the kernel is for. NULL after reporting to ds. hits: as of passes. */
kernel *schedule(arena *a, const graph *g, const machine_shape *shape, diags *ds, uint32_t *hits);
/* step graph -> step kernel: two bodies, one to begin and one that goes some steps on. */
kernel *schedule_step(arena *a, const graph *step_graph, const machine_shape *shape, diags *ds,
                      uint32_t *hits);

#endif
