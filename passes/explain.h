/* explain.h: what the compiler made of a model, as facts for people: normalisers, recurrences,
 * masks, work and memory. It looks and changes nothing; how it reads is the command line's
 * business. */
#ifndef ATTNC_PASSES_EXPLAIN_H
#define ATTNC_PASSES_EXPLAIN_H

#include "ir/kernel/kernel.h"
#include "passes/cost.h"
#include "passes/domains.h"
#include "passes/fuse.h"
#include "passes/scans.h"

/* A softmax or its like. The bytes are estimates of what goes between the caches and memory. */
typedef struct explain_norm {
    const fuse_note *note;
    const dim *stored;    /* bytes of its weights; NULL: beyond what a dim can say */
    VEC(const ix *) rows; /* its indices that something it is summed with lacks */
    double share;         /* of the weights that is not excluded; 1 without sizes */
    double plain_bytes;   /* with sizes: moved where the weights are stored ... */
    double fused_bytes;   /* ... and where they are made and used tile by tile */
} explain_norm;

/* A recurrence. */
typedef struct explain_scan {
    const value *v;
    const ix *step;
    value_list sequential; /* in order, step by step: what has a name */
    value_list reads;      /* what of earlier steps they look at */
    value_list ahead;      /* what they use that is computed for all steps at once */
} explain_scan;

/* A predicate over an index that is summed or normalised over. */
typedef struct explain_conjunct {
    const value *p;
    const char *solved; /* how, in words */
} explain_conjunct;
typedef struct explain_mask {
    const value *p, *user;
    const ix *row, *j; /* row: NULL where there is none */
    VEC(explain_conjunct) parts;
    bool counted;
    domain_share share; /* of tiles of EXPLAIN_ROWS (in a recurrence: 1) by EXPLAIN_KEYS */
} explain_mask;
enum { EXPLAIN_ROWS = 48, EXPLAIN_KEYS = 64 };

typedef struct explanation {
    VEC(explain_norm) norms;
    scans_notes sums;     /* over earlier steps */
    scans_notes by_steps; /* the same in the form that runs step by step */
    VEC(explain_scan) scans;
    VEC(explain_mask) masks;
    cost work;
    const dim *workspace, *prepared; /* bytes, but for rounding; NULL: beyond what a dim can say */
    double n_workspace, n_prepared;  /* with sizes, for one thread */
} explanation;

/* What has to be asked in between, before the passes of these names and behind the first. */
#define EXPLAIN_SCANS "scans"
#define EXPLAIN_FUSE  "fuse-softmax-sum"
typedef struct explain_origin {
    value_list live;
    fuse_notes notes;
    bool no_domains; /* the schedule is without them */
    scans_notes sums, by_steps;
    uint32_t first_scan, end_scan; /* the scans and indices that the pass over sums has made: */
    size_t first_ix, end_ix;       /* they are told of with the sums, not as recurrences */
} explain_origin;
void explain_before_scans(graph *g, arena *a, explain_origin *out);
void explain_after_scans(const graph *g, explain_origin *out);
void explain_before_fuse(graph *g, arena *a, explain_origin *out);

/* `g`: after the passes; `k`: the kernel. Lives in `a`. `symbols`: the sizes, or NULL. */
void explain(graph *g, const kernel *k, const explain_origin *origin, arena *a,
             const int64_t *symbols, explanation *out);

#endif
