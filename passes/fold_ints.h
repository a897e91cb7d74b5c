/* fold_ints.h: operations on known ints and bools, for simplify and domains. */
#ifndef ATTNC_PASSES_FOLD_INTS_H
#define ATTNC_PASSES_FOLD_INTS_H

#include "ir/graph/op.h"

/* op of x and y (of x alone, where it takes one); false where it would trap or is none of ints. */
bool fold_ints(op_id op, int64_t x, int64_t y, int64_t *out);

#endif
