/* simplify_internal.h: what the simplify*.c files share; nobody else includes it. */
#ifndef ATTNC_PASSES_SIMPLIFY_INTERNAL_H
#define ATTNC_PASSES_SIMPLIFY_INTERNAL_H

#include "passes/pass.h"

/* Each gives v or what to use instead; the operands are simplified already. */
value *fold_constants(graph *g, value *v);
value *fold_algebra(graph *g, value *v);
value *fold_comparison(graph *g, value *v); /* by the bounds of indices and dims */
value *fold_condition(graph *g, value *v);  /* select: of weights by their own predicate */
value *fold_read(graph *g, value *v);
/* uses: by id, how often; for the values that were there before the round. */
value *fold_sum(graph *g, value *v, const uint32_t *uses, size_t n_uses);

/* Drops the histories of scans that nothing needs. True where some were. */
bool drop_histories(graph *g, arena *scratch);

static inline bool is_real_dt(dtype dt)
{
    return dt == DT_F32 || dt == DT_F64;
}

static inline bool is_const(const value *v)
{
    return v->op == OP_const;
}

static inline bool is_bool_const(const value *v, bool b)
{
    return is_const(v) && v->dt == DT_BOOL && v->i == b;
}

/* A constant of v's element type that is 0 or false. */
static inline value *zero_like(graph *g, const value *v)
{
    return is_real_dt(v->dt) ? graph_real(g, 0)
           : v->dt == DT_I64 ? graph_int(g, 0)
                             : graph_bool(g, false);
}

#endif
