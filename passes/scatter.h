/* scatter.h: sums whose elements go where data says: `sum[j where id[j] == i](x[j])` is one pass
 * over j that adds x[j] to the element i = id[j], not a pass over all j for each i. Here is which
 * they are; schedule_scatter.c makes the loops. */
#ifndef ATTNC_PASSES_SCATTER_H
#define ATTNC_PASSES_SCATTER_H

#include "ir/graph/graph.h"

enum { SCATTER_MAX = 4 };

/* A free index of the sum that a conjunct of its predicate gives: i = data + off, or data - off. */
typedef struct scatter_ix {
    const ix *i;
    const value *conjunct;
    const value *data; /* an int that has a bound index, and no index that is given */
    const value *off;  /* a constant or a dim; NULL: 0 */
    bool minus;
} scatter_ix;

typedef struct scatter {
    scatter_ix ix[SCATTER_MAX];
    uint32_t n;
} scatter;

/* Whether v is a reduction that can be made so and gains by it; `out` may be NULL. Steps of the
 * recurrences around v are no indices of it. */
bool scatter_find(const value_list *live, const uint32_t *home, const value *v, scatter *out);
bool scatter_gives(const scatter *t, const ix *i);       /* i is one of the indices given */
bool scatter_mentions(const scatter *t, const value *v); /* v has one of them */

#endif
