/* cost.h: how much work a graph is: arithmetic and compulsory memory traffic, counted value by
 * value. It says what has to be done, not what a schedule makes of it: each value once for each
 * element that somebody needs, each input, param and result once. */
#ifndef ATTNC_PASSES_COST_H
#define ATTNC_PASSES_COST_H

#include "ir/graph/graph.h"

/* A value that computes. */
typedef struct cost_term {
    const value *v;
    const dim *points; /* of its free and bound indices together; NULL: beyond what a dim can say */
    const dim *flops;  /* add, multiply, divide, compare: 1 each, at all points */
    const dim *calls;  /* of exp, tanh and the like */
    double share;      /* of the points that are needed; 1 without sizes */
} cost_term;

/* As formulas, every point counted, and (with sizes) as numbers, in which a point that a predicate
 * excludes does not count. */
typedef struct cost {
    VEC(cost_term) terms;
    const dim *flops, *calls, *bytes; /* NULL: beyond what a dim can say */
    bool sized;                       /* the numbers below are there */
    bool exact; /* no predicate had to be guessed: it is data, or very large */
    double n_flops, n_calls, n_bytes;
} cost;

/* `symbols`: the sizes as dim_eval has them; NULL: formulas alone. Lives in `a`. */
void cost_of(const graph *g, arena *a, const int64_t *symbols, cost *out);

/* The share of its elements for which a predicate holds, with sizes given: 0 .. 1. `j`: the index
 * to solve for, or NULL. *exact is cleared where it is a guess. */
double cost_share(const graph *g, arena *scratch, const value *p, const ix *j,
                  const int64_t *symbols, bool *exact);

/* Asks for a flag that goes up where something is not finite: what stands under it is not counted,
 * as data are taken to be finite. */
bool cost_is_rare(const value *where);

/* The product of the extents of n indices; NULL as above. */
const dim *cost_extent(const graph *g, const ix *const *ixs, uint32_t n);

/* The sizes of a graph in the order of dim_eval, from n names and numbers; a size that is not among
 * them: false, and its name in *missing. */
bool cost_symbols(const graph *g, arena *a, const char *const *names, const int64_t *sizes,
                  size_t n, int64_t **symbols, const char **missing);

#endif
