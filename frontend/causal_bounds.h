/* causal_bounds.h: how far the indices of a value go, relative to the step of a result (causal.c).
 */
#ifndef ATTNC_FRONTEND_CAUSAL_BOUNDS_H
#define ATTNC_FRONTEND_CAUSAL_BOUNDS_H

#include "frontend/sema.h"

typedef struct bound {
    const dim *up;     /* NULL: none known */
    const value *from; /* where it became more than 0; NULL: it did not */
    bool by_range;     /* of the extent alone, not by the step */
} bound;

typedef struct fact {
    value *holds;
    const struct fact *next;
} fact;

/* What is known of the free indices of the value at hand, in the order of its ix. */
typedef struct known {
    uint32_t n;
    const ix *const *ix;
    bound *b;
    const dim *least;  /* the step is at least this */
    const fact *facts; /* conditions on data in force; they bound no index */
} known;

/* All of these work in s->g. */
bool at_most_step(sema *s, const dim *up);
const bound *bound_of(const known *k, const ix *i); /* NULL: not among them */
known copy_known(sema *s, const known *k);

/* What a predicate says: bounds of indices, and conditions on data to be looked up later. */
void learn(sema *s, known *k, const value *p, bool holds);
void learn_fact(sema *s, known *k, value *p);

/* What is known for an operand of v: its own free indices; those bound by v by their range only. */
known operand_known(sema *s, const known *k, const value *v, const value *arg);
/* The union of what is known of v's indices and of those it binds. */
known scope_known(sema *s, const known *k, const value *v);
/* The bounds of the indices of what v reads. The first read that goes too far is the one to name.
 */
known read_known(sema *s, const known *k, const value *v);

#endif
