/* scores_internal.h: what scores*.c share; nobody else includes it. */
#ifndef ATTNC_PASSES_SCORES_INTERNAL_H
#define ATTNC_PASSES_SCORES_INTERNAL_H

#include "passes/hoist_internal.h"

/* v is a contraction: v, or what it is with one factor of its operands in front of it. */
value *factor_contract(graph *g, value *v);

/* v is an addition: v, or its terms added up in another order that does less. */
value *regroup_sum(graph *g, const places *p, const bool *inner, arena *scratch, value *v);
/* By id: the additions that are a term of another one and of nothing else. */
bool *inner_sums(const places *p, arena *scratch);

#endif
