/* scratch.h: an arena for the time of one call, given back also when memory runs out inside. */
#ifndef ATTNC_IR_GRAPH_SCRATCH_H
#define ATTNC_IR_GRAPH_SCRATCH_H

#include "ir/base/arena.h"

typedef void scratch_fn(void *ctx, arena *scratch);
void with_scratch(mem *m, scratch_fn *f, void *ctx);

#endif
