/* fuse.h: what fuse-softmax-sum says of a graph without changing it: for every normaliser, and
 * every one written by hand, whether it becomes an online op, and why not. */
#ifndef ATTNC_PASSES_FUSE_H
#define ATTNC_PASSES_FUSE_H

#include "ir/graph/graph.h"

typedef struct fuse_note {
    const value *v; /* the weights: a normaliser, or the exponentials or kernel of one by hand */
    bool fused;
    const char *why; /* of the user's side: "its weights are read at other indices" */
    uint32_t n_sums; /* fused: sums of one pass, and whether the weights themselves are kept */
    bool weights;
} fuse_note;
typedef VEC(fuse_note) fuse_notes;

/* In the order of the values; texts and notes in `a`. The graph may gain values that nothing uses.
 */
void fuse_report(graph *g, arena *a, fuse_notes *out);

#endif
