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

static value *simplify_value(void *ctx, graph *g, value *v)
{
    const round_info *r = ctx;
    if (v->where && is_bool_const(v->where, true))
        v = graph_with_args(g, v, v->args, NULL);
    else if (v->where && is_bool_const(v->where, false))
        return excluded(g, v);
    if (OP_HAS(v->op, T_ELEM) && !v->where) {
        v = fold_constants(g, v);
        v = fold_comparison(g, v);
        return fold_algebra(g, v);
    }
    if (OP_HAS(v->op, T_BINDS))
        return fold_sum(g, v, r->uses, r->n_uses);
    return v->op == OP_read ? fold_read(g, v) : v;
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
static bool run_round(graph *g, arena *scratch)
{
    round_info r = {0};
    count_uses(g, scratch, &r);
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
        bool changed = run_round(pc->g, pc->scratch);
        changed = drop_histories(pc->g, pc->scratch) || changed;
        pc->changed = pc->changed || changed;
        if (!changed)
            break;
    }
    return true;
}
