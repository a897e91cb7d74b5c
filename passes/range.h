/* range.h: what is known about the ints of a graph without running it: bounds as dims and as
 * numbers.
 *
 * Everything is proved for a value's own index space: each free index is below its extent (so that
 * no extent is 0 where an element exists), dims are 0 .. DIM_LIMIT, and the elements of an axis
 * number at most 2^62. A false answer means "not proved". */
#ifndef ATTNC_PASSES_RANGE_H
#define ATTNC_PASSES_RANGE_H

#include "ir/graph/graph.h"

typedef struct range range;
range *range_new(arena *scratch, const graph *g, const value_list *live);

/* 0 <= e, e < extent, and both, for every element of `at` where `where` (or NULL) holds. */
bool range_not_negative(range *r, const value *e, const value *at, const value *where);
bool range_below(range *r, const value *e, const dim *extent, const value *at, const value *where);
bool range_inside(range *r, const value *e, const dim *extent, const value *at, const value *where);

/* The int operation v (neg, add, sub, mul, abs) cannot overflow. */
bool range_fits(const range *r, const value *v);
/* The divisor of v (idiv, imod) is not 0 and the quotient fits. */
bool range_divides(const range *r, const value *v);

/* How e grows with i: 0 not at all, 1 by one, 2 in another way. */
int range_slope(const range *r, const value *e, const ix *i);

#endif
