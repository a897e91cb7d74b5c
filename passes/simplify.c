/* simplify.c: smaller graphs of the same meaning.
 *
 * Requires: nothing. Keeps: every value of every output, inf, NaN and the sign of zero included,
 * but for the order of a sum where two nested sums become one; traps that reach an output. Breaks:
 * nothing.
 *
 * Constants and comparisons that are decided fold; x * 1, and(p, true), select(c, x, x) and the
 * like become x; a read that changes nothing vanishes and a read of a read becomes one, as does one
 * of a row just appended; sums of products become contractions; histories that nothing reads are
 * dropped. x + 0 stays for reals (x may be -0) and so does x * 0 (x may be NaN). Rounds go on until
 * nothing changes. */
#include "passes/simplify_internal.h"

enum { MAX_ROUNDS = 16 };

typedef struct round {
    const pass_ctx *pc;
    const uint32_t *uses;
    size_t n_uses;
} round_info;

/* What is left of v where its predicate never holds. */
static value *excluded(graph *g, value *v)
{
    if (v->op != OP_reduce)
        return zero_like(g, v);
    bool real = is_real_dt(v->dt);
    switch (v->kind) {
    case RED_prod:
        return real ? graph_real(g, 1) : graph_int(g, 1);
    case RED_all:
        return graph_bool(g, true);
    case RED_max:
    case RED_logsumexp:
        return real ? graph_real(g, -(double)__builtin_inff()) : graph_int(g, 0);
    case RED_min:
        return real ? graph_real(g, (double)__builtin_inff()) : graph_int(g, 0);
    default:
        return zero_like(g, v);
    }
}

/* Which rule it was that fold_algebra applied to v. */
static rule_id algebra_rule(const value *v)
{
    switch (v->op) {
    case OP_add:
    case OP_sub:
        return RULE_simplify_sum;
    case OP_max:
    case OP_min:
        return RULE_simplify_extreme;
    case OP_neg:
    case OP_not:
        return RULE_simplify_twice;
    case OP_and:
    case OP_or:
        return RULE_simplify_logic;
    case OP_select:
        return RULE_simplify_select;
    case OP_weigh:
        return RULE_simplify_weight;
    default:
        return RULE_simplify_product;
    }
}

static rule_id read_rule(const value *v, const value *made)
{
    return made == v->args[0]            ? RULE_simplify_same_read
           : v->args[0]->op == OP_append ? RULE_simplify_appended_read
                                         : RULE_simplify_nested_read;
}

static value *simplify_value(void *ctx, graph *g, value *v)
{
    const round_info *r = ctx;
    const pass_ctx *pc = r->pc;
    if (v->where && is_bool_const(v->where, true)) {
        v = graph_with_args(g, v, v->args, NULL);
        rule_hit(pc, RULE_simplify_unconditional);
    } else if (v->where && is_bool_const(v->where, false) && v->op != OP_online) {
        return rule_made(pc, RULE_simplify_excluded, v, excluded(g, v));
    }
    if (OP_HAS(v->op, T_ELEM) && !v->where) {
        v = rule_made(pc, RULE_simplify_constants, v, fold_constants(g, v));
        v = rule_made(pc, RULE_simplify_comparison, v, fold_comparison(g, v));
        v = rule_made(pc, RULE_simplify_condition, v, fold_condition(g, v));
        if (v->where || !OP_HAS(v->op, T_ELEM))
            return v;
        return rule_made(pc, algebra_rule(v), v, fold_algebra(g, v));
    }
    if (OP_HAS(v->op, T_BINDS)) {
        bool products = v->n_args && v->args[0]->op == OP_mul;
        return rule_made(
            pc, products ? RULE_simplify_sum_of_products : RULE_simplify_sum_of_contraction, v,
            fold_sum(g, v, r->uses, r->n_uses));
    }
    if (v->op != OP_read)
        return v;
    value *made = fold_read(g, v);
    return rule_made(pc, read_rule(v, made), v, made);
}

static void count_uses(const graph *g, arena *scratch, round_info *r)
{
    value_list live = {0};
    uint32_t *uses = ARENA_ARRAY(scratch, uint32_t, g->values.n);
    graph_live(g, scratch, &live);
    for (size_t i = 0; i < live.n; i++) {
        const value *v = live.v[i];
        for (uint32_t k = 0; k < v->n_args; k++)
            uses[v->args[k]->id]++;
        if (v->where)
            uses[v->where->id]++;
    }
    for (size_t i = 0; i < g->results.n; i++)
        uses[g->results.v[i].v->id]++;
    *r = (round_info){.uses = uses, .n_uses = g->values.n};
}

/* One round; true where a result is another value than before. */
static bool run_round(const pass_ctx *pc)
{
    graph *g = pc->g;
    arena *scratch = pc->scratch;
    round_info r = {0};
    count_uses(g, scratch, &r);
    r.pc = pc;
    value **before = ARENA_ARRAY(scratch, value *, g->results.n);
    for (size_t i = 0; i < g->results.n; i++)
        before[i] = g->results.v[i].v;
    graph_rewrite(g, simplify_value, &r);
    bool changed = false;
    for (size_t i = 0; i < g->results.n; i++)
        changed = changed || before[i] != g->results.v[i].v;
    return changed;
}

bool pass_simplify(pass_ctx *pc)
{
    for (int i = 0; i < MAX_ROUNDS; i++) {
        bool changed = run_round(pc);
        if (drop_histories(pc->g, pc->scratch)) {
            rule_hit(pc, RULE_simplify_history);
            changed = true;
        }
        pc->changed = pc->changed || changed;
        if (!changed)
            break;
    }
    return true;
}
