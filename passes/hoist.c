/* hoist.c: what is computed once need not be computed again.
 *
 * Requires: nothing; simplify before it finds more. Keeps: every value of every output, inf, NaN
 * and absence included, but for the order of sums. Breaks: nothing; step graphs stay step graphs.
 *
 * A value stands outside a recurrence where it does not depend on its histories, so hoisting means
 * to take apart what depends on them in part only:
 *
 *   contract A, [x; h] over i   is   contract A_x, x over e + contract A_h, h over k   where the
 *       parts differ in the regions they stand in or in their indices: the input half of a
 *       recurrence is then one contraction over all steps, and of W @ [q; k] each half is computed
 *       once for each query and once for each key. Parts of a kind stay together.
 *   contract A, x + y over i    likewise, where each of both has fewer indices than the sum.
 *   contract W, h[j] over k     where h is a history that is read at all j: the products become a
 *       history of their own, to which each step appends one row (hoist_project.c).
 *
 * A predicate of the contraction goes to every part, at that part's indices. Nothing is split where
 * every part stays where the whole is: that would be the same work in more pieces. */
#include "passes/hoist_internal.h"

enum { MAX_ROUNDS = 16 };

typedef struct round {
    const pass_ctx *pc;
    places places;
    arena *scratch;
    bool changed;
} round_info;

static value *hoist_value(void *ctx, graph *g, value *v)
{
    round_info *r = ctx;
    /* What was rebuilt in this round is looked at in the next one. */
    if (v->op != OP_contract || !places_knows(&r->places, v))
        return v;
    value *made =
        rule_made(r->pc, RULE_hoist_split, v, split_contract(g, &r->places, r->scratch, v));
    r->changed = r->changed || made != v;
    return made;
}

bool pass_hoist(pass_ctx *pc)
{
    for (int i = 0; i < MAX_ROUNDS; i++) {
        round_info r = {.pc = pc, .scratch = pc->scratch};
        places_find(&r.places, pc->g, pc->scratch);
        graph_rewrite(pc->g, hoist_value, &r);
        pc->changed = pc->changed || r.changed;
        if (!r.changed)
            break;
    }
    if (project_histories(pc->g, pc->scratch)) {
        rule_hit(pc, RULE_hoist_projection);
        pc->changed = true;
    }
    return true;
}
