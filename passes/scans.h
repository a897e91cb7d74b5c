/* scans.h: what the pass scans says of a graph without changing it: for every sum over earlier
 * steps how it is computed, and why it is not carried along. Sums by the weights of a softmax are
 * none of its business. */
#ifndef ATTNC_PASSES_SCANS_H
#define ATTNC_PASSES_SCANS_H

#include "ir/graph/graph.h"

/* X(id, word, text) */
#define SCANS_WAYS(X)                                                                              \
    X(WRITTEN, "written", "as it is written")                                                      \
    X(RUNNING, "running", "carried from step to step")                                             \
    X(STATE, "state", "by a state, which takes the place of the steps before")                     \
    X(CHUNKS, "chunks", "in chunks of steps, with a state between them")
typedef enum scans_way {
#define X(id, word, text) SCANS_##id,
    SCANS_WAYS(X)
#undef X
        SCANS_WAY_COUNT
} scans_way;
extern const char *const scans_way_word[SCANS_WAY_COUNT], *const scans_way_text[SCANS_WAY_COUNT];

typedef struct scans_note {
    const value *v; /* the sum */
    scans_way way;
    const char *why; /* SCANS_WRITTEN: of the user's side */
} scans_note;
typedef VEC(scans_note) scans_notes;

/* Of a graph that simplify has seen; in the order of the values, in `a`. The graph may gain indices
 * that nothing uses. */
void scans_report(graph *g, arena *a, scans_notes *out);

#endif
