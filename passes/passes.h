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

/* A pass over graphs is one file with one public function `bool pass_<id>(pass_ctx *)`, false only
 * after reporting to diag. */
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

/* One over kernels is the same with this, and has nothing to report. */
typedef struct kernel_pass_ctx {
    kernel *k;
    arena *scratch;
    bool changed;
    uint32_t *hits;
} kernel_pass_ctx;

static inline void kernel_rule_hit(const kernel_pass_ctx *pc, rule_id r)
{
    if (pc->hits)
        pc->hits[r]++;
}

/* Decisions that the schedule can do without. */
typedef enum choice_id {
#define SCHEDULE_CHOICE(id, name, letter, summary, flags) CHOICE_##id,
#include "passes/passes.def"
    CHOICE_COUNT
} choice_id;

enum { PASS_OPTIONAL = 1 << 0 }; /* the result is right without it; counts for --pass-limit */

typedef enum pass_kind { PASS_GRAPH, PASS_CHOICE, PASS_SCHEDULE, PASS_KERNEL } pass_kind;

typedef struct pass_info {
    const char *name;
    char letter;
    const char *summary;
    unsigned flags;
    pass_kind kind;
    bool (*run)(pass_ctx *);               /* of PASS_GRAPH */
    bool (*run_kernel)(kernel_pass_ctx *); /* of PASS_KERNEL */
    choice_id choice;                      /* of PASS_CHOICE */
} pass_info;
extern const pass_info pass_table[];
extern const size_t pass_count;

/* Called around each pass; NULL members are skipped. */
typedef struct pass_options {
    /* Comma-separated names: run exactly these, in this order; NULL: all. A kernel that is wanted
     * is made by the schedule all the same. */
    const char *only;
    bool strict; /* a name in `only` that stands where its form is not at hand is an error */
    const char *disabled;   /* comma-separated names left out */
    const char *stop_after; /* NULL: run to the end */
    const char *start_from; /* NULL: from the first */
    long limit;             /* optional passes run at most; < 0: no limit */
    bool verify;            /* graph_verify after each */
    void (*after)(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds);
    /* A pass ended in an internal error, or what it made breaks a rule: `before` is the graph as it
     * was. The process may end behind it. */
    void (*failed)(void *ctx, const pass_info *p, const graph *before);
    /* The same of the schedule, with the names of its choices and its own for --passes. */
    void (*failed_schedule)(void *ctx, const graph *before, const char *passes);
    /* Of the schedule and of passes over kernels; the kernel before as text. */
    void (*after_kernel)(void *ctx, const pass_info *p, const kernel *k, bool changed,
                         double seconds);
    void (*failed_kernel)(void *ctx, const pass_info *p, const strbuf *before);
    /* Of each choice that the schedule had, before after_kernel is called for the schedule. */
    void (*after_choice)(void *ctx, const pass_info *p, double seconds);
    uint32_t *hits;       /* RULE_COUNT counters that are added to; NULL: none */
    const char *sabotage; /* tests: "ice:PASS" or "verify:PASS", how that pass fails; else NULL */
    void *ctx;
} pass_options;

typedef struct schedule_options {
    machine_shape shape; /* of the machine that the kernel is for */
    bool steps;          /* g is a step graph: a step kernel, one body to begin and one for steps */
    unsigned without;    /* 1 << choice_id of the choices left out */
    uint32_t *hits;      /* as of passes */
    double *seconds;     /* by choice_id: added to; NULL: nobody asks */
} schedule_options;
/* graph -> kernel, on which the kernel passes and the backend work. The graph gets values that
 * nothing uses, conditions over other indices. NULL after reporting to ds. */
kernel *schedule(arena *a, graph *g, const schedule_options *so, diags *ds);

/* The rows of passes.def, one form after the other; what fails has been reported to ds. */
bool passes_run(graph *g, diags *ds, const pass_options *o);
/* The schedule with those of its choices that run; `without`, hits and seconds of `so` are set. */
kernel *schedule_run(arena *a, graph *g, schedule_options so, diags *ds, const pass_options *o);
bool kernel_passes_run(kernel *k, diags *ds, const pass_options *o);
/* Whether a list of names has that one. */
bool pass_list_has(const char *list, const char *name);

#endif
