/* interp.h: the reference interpreter: f64, straight from the definition of each op, over the
 * unoptimised graph. It shares no lowering with the backend; clear before fast. */
#ifndef ATTNC_IR_INTERP_H
#define ATTNC_IR_INTERP_H

#include "ir/graph/graph.h"

/* A tensor in the interpreter: reals, ints and bools all as they are computed: f64, int64, 0 or 1.
 */
typedef struct interp_tensor {
    bool absent; /* an optional input that was not given */
    uint32_t rank;
    const int64_t *shape;
    double *f;  /* real tensors */
    int64_t *i; /* int and bool tensors */
} interp_tensor;

typedef enum interp_status { /* as attn_status: 0 done */
                             INTERP_OK,
                             INTERP_DIM,   /* an entry check failed: message */
                             INTERP_INDEX, /* an index out of range where it counts */
                             INTERP_INT,   /* division by zero, overflow, non-finite to int */
} interp_status;

/* Inputs and params in the graph's order; families are one tensor with the family axes in front.
 * Outputs are filled (memory from `a`, canonical axis order of the results). `symbols`: one value
 * per g->symbols. Histories start as NaN, so a read of a row not yet written shows. message: text
 * on failure. */
interp_status interp_run(arena *a, const graph *g, const int64_t *symbols,
                         const interp_tensor *inputs, const interp_tensor *params,
                         interp_tensor *outputs, const char **message);

#endif
