/* hoist_internal.h: what hoist*.c, scores*.c and scans*.c share; nobody else includes it. */
#ifndef ATTNC_PASSES_HOIST_INTERNAL_H
#define ATTNC_PASSES_HOIST_INTERNAL_H

#include "passes/pass.h"
#include "passes/range.h"

/* Where the values of a graph stand: in how many regions, one in another. For the values that were
 * there when it was made. */
typedef struct places {
    const graph *g;
    size_t n;
    value_list live;
    const uint32_t *home;     /* by value id, as graph_homes gives it */
    const uint32_t *depth_of; /* by scan: of the values of its region */
    const uint32_t *uses;     /* by value id: by how many operands and results */
    const int *step_axis;     /* step graphs: graph_step_axes; else NULL */
    uint32_t step_depth;
} places;
void places_find(places *p, const graph *g, arena *scratch);
/* The depth at which what uses v stands at least. */
uint32_t places_depth(const places *p, const value *v);
static inline bool places_knows(const places *p, const value *v)
{
    return v->id < p->n;
}

/* A set of free indices: those of some values but for some that are bound. */
typedef VEC(const ix *) ix_set;
bool ix_set_has(const ix_set *s, const ix *i);
void ix_set_add(arena *a, ix_set *s, const value *v, const ix *const *bound, uint32_t n_bound);
bool ix_set_within(const ix_set *s, const ix_set *of);

/* v with `to` for the index i, where `to` is always below i's extent. */
value *value_at(graph *g, value *v, const ix *i, value *to);
/* An index as long as `extent` that is named like `like` and not among `taken`; never a scan's step
 * index. */
const ix *unused_ix(graph *g, const places *p, const char *like, const dim *extent,
                    const ix_set *taken);

/* Whether computing v, its operands aside, may end the run with an error status. */
bool may_fail(range *r, const value *v);
/* By id: whether it may, its operands included. */
const bool *find_risky(const places *p, range *r, arena *scratch);

/* v is a contraction that is there since before the round. Gives v, or the sum of contractions that
 * it is split into. */
value *split_contract(graph *g, const places *p, arena *scratch, value *v);

/* Gives the projections of histories histories of their own. True where there were some. */
bool project_histories(graph *g, arena *scratch);

#endif
