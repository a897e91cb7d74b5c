/* scores.c: scores as a contraction and a pointwise part.
 *
 * Requires: nothing; hoist before it makes the sums that are regrouped. Keeps: every value of every
 * output, inf and NaN included, but for rounding and for the sign of a zero. Breaks: nothing.
 *
 *   contract q * s, k over d   is   s * contract q, k over d   where s has none of the bound
 * indices and is known to be finite, so that the tiles see a plain product and a scale behind it x
 * + y + z                  adds what has few indices, or stands outside of a recurrence, first: of
 * W h[j] + V x[t] + U s[t] only one addition is left for each j, and a bias is added to the input
 * half of a recurrence for all steps before it begins */
#include "passes/scores_internal.h"

enum { MAX_ROUNDS = 16 };

typedef struct round {
    const pass_ctx *pc;
    places places;
    const bool *inner;
    arena *scratch;
    bool changed;
} round_info;

static value *score_value(void *ctx, graph *g, value *v)
{
    round_info *r = ctx;
    value *made = v;
    /* What was rebuilt in this round is looked at in the next one. */
    if (!places_knows(&r->places, v))
        return v;
    if (v->op == OP_contract)
        made = rule_made(r->pc, RULE_scores_factor, v, factor_contract(g, v));
    else if (v->op == OP_add)
        made = rule_made(r->pc, RULE_scores_regroup, v,
                         regroup_sum(g, &r->places, r->inner, r->scratch, v));
    r->changed = r->changed || made != v;
    return made;
}

bool pass_scores(pass_ctx *pc)
{
    for (int i = 0; i < MAX_ROUNDS; i++) {
        round_info r = {.pc = pc, .scratch = pc->scratch};
        places_find(&r.places, pc->g, pc->scratch);
        r.inner = inner_sums(&r.places, pc->scratch);
        graph_rewrite(pc->g, score_value, &r);
        pc->changed = pc->changed || r.changed;
        if (!r.changed)
            break;
    }
    return true;
}
