/* hoist_risk.c: what may end the run with an error status where it is computed. */
#include "passes/hoist_internal.h"

bool may_fail(range *r, const value *v)
{
    bool ints = v->dt == DT_I64 && OP_HAS(v->op, T_ELEM);
    if (v->op == OP_read) {
        for (uint32_t k = 0; k + 1 < v->n_args; k++) {
            if (!range_inside(r, v->args[k + 1], v->args[0]->ix[k]->extent, v, v->where))
                return true;
        }
        return false;
    }
    if (!ints || !OP_HAS(v->op, T_TRAP))
        return false;
    if (v->op == OP_idiv || v->op == OP_imod)
        return !range_divides(r, v);
    return op_table[v->op].sig == SIG_TOINT || !range_fits(r, v);
}

const bool *find_risky(const places *p, range *r, arena *scratch)
{
    bool *risky = ARENA_ARRAY(scratch, bool, p->n);
    for (size_t i = 0; i < p->live.n; i++) {
        const value *v = p->live.v[i];
        risky[v->id] = may_fail(r, v);
        for (uint32_t k = 0; k < v->n_args; k++)
            risky[v->id] = risky[v->id] || risky[v->args[k]->id];
        if (v->where)
            risky[v->id] = risky[v->id] || risky[v->where->id];
    }
    return risky;
}
