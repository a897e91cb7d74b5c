/* fuse_split.c: normalisers that no sum fits as they stand, rewritten so that one does.
 *
 * A sink: softmax over m of [s; z] (a join), of which one part alone is read. The weights of that
 * part are softmax over s times what is left of 1: e^(lse s) / (e^(lse s) + e^(lse z)).
 *
 * Sums over another index: softmax over j of s, with all that uses the weights a sum over i. They
 * are e^(s - max) / sum with the statistics of each row, which makes a kernel over i: both passes
 * compute the scores, and none stores them. */
#include <math.h>

#include "passes/fuse_internal.h"
#include "passes/pass.h"

typedef struct splitting {
    pass_ctx *pc;
    graph *g;
    arena *scratch;
    const uint32_t *home;
    unsigned char *sink;   /* by value id: a softmax of a join, all of whose uses read one part */
    unsigned char *across; /* by value id: a softmax whose weights are summed over other indices */
    size_t n;              /* values when it began */
    bool changed;
} splitting;

static bool binds(const value *v, const ix *i)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (v->bound[k] == i)
            return true;
    }
    return false;
}

/* --- sinks --- */

/* The part of the join x that `read` (of a softmax over it) reads whole: each other index as it is,
 * the joined one at the place of that part; -1: none. */
static int part_read(graph *g, const value *read, const value *x)
{
    const value *base = read->args[0];
    const value *at = NULL;
    for (uint32_t k = 0; k < base->n_ix; k++) {
        const value *e = read->args[k + 1];
        if (base->ix[k] == x->bound[0])
            at = e;
        else if (e->op != OP_index || e->ix[0] != base->ix[k])
            return -1;
    }
    const dim *from = dim_const(g->dims, 0);
    for (uint32_t p = 0; at && p < x->n_args; p++) {
        value *own = graph_index(g, x->bound[p + 1]);
        int64_t c = 0;
        value *offset = dim_is_const(from, &c) ? graph_int(g, c) : graph_dim(g, from);
        bool same = at == own && c == 0 && p == 0;
        same = same || at == fuse_elem(g, OP_add, own, offset);
        if (same && !value_has_ix(base, x->bound[p + 1]))
            return (int)p;
        from = dim_add(g->dims, from, x->bound[p + 1]->extent);
    }
    return -1;
}

static bool is_sink(const value *v)
{
    return v->op == OP_softmax && v->n_bound == 1 && v->args[0]->op == OP_join &&
           v->args[0]->bound[0] == v->bound[0] && !v->args[0]->where &&
           (!v->where || !value_has_ix(v->where, v->bound[0]));
}

/* log sum e^part over the part's own index. */
static value *part_lse(graph *g, const value *x, uint32_t p, value *where)
{
    const ix *own = x->bound[p + 1];
    int64_t n = 0;
    if (!value_has_ix(x->args[p], own) && dim_is_const(own->extent, &n) && n == 1 && !where)
        return x->args[p];
    return graph_reduce(g, RED_logsumexp, x->args[p], &own, 1, where);
}

/* The read of one part: weights among themselves times the part's share of the whole. */
static value *split_sink(graph *g, const value *read, int part)
{
    const value *w = read->args[0], *x = w->args[0];
    value *mine = part_lse(g, x, (uint32_t)part, w->where), *max = mine, *all = NULL;
    value **lse = ARENA_ARRAY(g->a, value *, x->n_args);
    for (uint32_t p = 0; p < x->n_args; p++) {
        lse[p] = (int)p == part ? mine : part_lse(g, x, p, w->where);
        max = (int)p == part ? max : fuse_elem(g, OP_max, max, lse[p]);
    }
    value *none = fuse_elem(g, OP_eq, max, graph_real(g, -(double)INFINITY));
    value *base = fuse_select(g, none, graph_real(g, 0), max);
    for (uint32_t p = 0; p < x->n_args; p++) {
        value *d = fuse_elem(g, OP_sub, lse[p], base);
        lse[p] = graph_elem(g, OP_exp, &d, NULL);
        all = all ? fuse_elem(g, OP_add, all, lse[p]) : lse[p];
    }
    value *share = fuse_elem(g, OP_div, lse[part], all);
    share = fuse_select(g, none, graph_real(g, 0), share);
    const ix *own = x->bound[part + 1];
    value *own_w = graph_norm(g, OP_softmax, x->args[part], &own, 1, w->where);
    return fuse_elem(g, OP_weigh, own_w, share);
}

/* --- sums over another index --- */

static bool is_sum(const value *v)
{
    return v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum);
}

/* v, made of weights w alone or times something, is summed over none of w's indices. */
static bool sums_across(const splitting *s, const value *v, const value *w)
{
    if (!is_sum(v) || s->home[v->id] != s->home[w->id])
        return false;
    bool rows = false;
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (binds(w, v->bound[k]))
            return false;
        rows = rows || value_has_ix(w, v->bound[k]);
    }
    return rows;
}

/* The weights from the statistics of their row, exactly as softmax gives them. */
static value *by_statistics(graph *g, const value *w)
{
    value *on = graph_online(g, ON_softmax, w->args[0], NULL, 0, w->bound, w->n_bound, w->where);
    value *max = graph_part(g, on, PART_max), *sum = graph_part(g, on, PART_sum);
    value *zero = graph_real(g, 0), *one = graph_real(g, 1);
    value *none = fuse_elem(g, OP_eq, max, graph_real(g, -(double)INFINITY));
    value *d = fuse_elem(g, OP_sub, w->args[0], fuse_select(g, none, zero, max));
    value *total = fuse_select(g, fuse_elem(g, OP_eq, sum, zero), one, sum);
    value *x = fuse_elem(g, OP_div, graph_elem(g, OP_exp, &d, NULL), total);
    return w->where ? fuse_select(g, w->where, x, zero) : x;
}

/* sum over i of the weights times x: a kernel and its sums. */
static value *split_across(graph *g, const value *v)
{
    const value *p = v->op == OP_contract ? v : v->args[0];
    value *x = NULL;
    const value *w = p;
    if (p->op == OP_weigh || p->op == OP_contract || p->op == OP_mul) {
        bool first = p->args[0]->op == OP_softmax;
        w = p->args[first ? 0 : 1];
        x = p->args[first ? 1 : 0];
    }
    value *on = graph_online(g, ON_plain, by_statistics(g, w), &x, x ? 1 : 0, v->bound, v->n_bound,
                             v->where);
    return graph_part(g, on, x ? 0 : PART_sum);
}

/* --- which --- */

/* What v does with its operand w, a softmax of interest; false: it needs the weights as they are.
 */
static bool fits_across(const splitting *s, const value *v, const value *w, const uint32_t *uses,
                        const value *const *user)
{
    if (v == w)
        return false;
    bool product = (v->op == OP_weigh && v->args[0] == w && v->args[1] != w) ||
                   (v->op == OP_mul && v->args[0] != v->args[1]);
    if (product && !v->where)
        return uses[v->id] == 1 && user[v->id] && user[v->id]->op == OP_reduce &&
               user[v->id]->args[0] == v && user[v->id]->where != v &&
               sums_across(s, user[v->id], w);
    if (v->op == OP_contract && v->args[0] == v->args[1])
        return false;
    return sums_across(s, v, w) && v->where != w;
}

static void find(splitting *s, const value_list *live)
{
    size_t n = s->n;
    uint32_t *uses = ARENA_ARRAY(s->scratch, uint32_t, n);
    uint32_t *good = ARENA_ARRAY(s->scratch, uint32_t, n);
    const value **user = ARENA_ARRAY(s->scratch, const value *, n);
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            if (!x)
                continue;
            uses[x->id]++;
            user[x->id] = v;
        }
    }
    for (size_t i = 0; i < s->g->results.n; i++)
        uses[s->g->results.v[i].v->id] += 2;
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        for (uint32_t k = 0; k < v->n_args; k++) {
            const value *w = v->args[k];
            if (w->op != OP_softmax)
                continue;
            if (is_sink(w))
                good[w->id] += v->op == OP_read && part_read(s->g, v, w->args[0]) >= 0;
            else
                good[w->id] += fits_across(s, v, w, uses, user);
        }
    }
    for (size_t i = 0; i < live->n; i++) {
        const value *w = live->v[i];
        bool all = w->op == OP_softmax && good[w->id] == uses[w->id] && uses[w->id] > 0;
        s->sink[w->id] = all && is_sink(w);
        s->across[w->id] = all && !is_sink(w);
    }
}

static bool is_across(const splitting *s, const value *w)
{
    return w->id < s->n && s->across[w->id];
}

static value *rewrite(void *ctx, graph *g, value *v)
{
    splitting *s = ctx;
    if (v->op == OP_read && v->args[0]->id < s->n && s->sink[v->args[0]->id]) {
        s->changed = true;
        rule_hit(s->pc, RULE_fuse_sink);
        return split_sink(g, v, part_read(g, v, v->args[0]->args[0]));
    }
    if (!is_sum(v))
        return v;
    const value *p = v->op == OP_contract ? v : v->args[0];
    bool any = is_across(s, p);
    for (uint32_t k = 0; k < p->n_args && (p == v || OP_HAS(p->op, T_ELEM)); k++)
        any = any || is_across(s, p->args[k]);
    if (!any)
        return v;
    s->changed = true;
    rule_hit(s->pc, RULE_fuse_across);
    return split_across(g, v);
}

static splitting look(graph *g, arena *scratch, const value_list *live, const uint32_t *home)
{
    splitting s = {.g = g, .scratch = scratch, .home = home, .n = g->values.n};
    s.sink = ARENA_ARRAY(scratch, unsigned char, s.n);
    s.across = ARENA_ARRAY(scratch, unsigned char, s.n);
    find(&s, live);
    return s;
}

unsigned char *fuse_splits(graph *g, arena *scratch, const value_list *live, const uint32_t *home)
{
    splitting s = look(g, scratch, live, home);
    unsigned char *any = ARENA_ARRAY(scratch, unsigned char, g->values.n);
    for (size_t i = 0; i < s.n; i++)
        any[i] = s.sink[i] || s.across[i];
    return any;
}

/* One that is computed from another one split before is met in the next round. */
bool fuse_split(pass_ctx *pc)
{
    bool changed = false;
    for (bool again = true; again;) {
        value_list live = {0};
        graph_live(pc->g, pc->scratch, &live);
        const uint32_t *home = graph_homes(pc->g, pc->scratch, &live);
        splitting s = look(pc->g, pc->scratch, &live, home);
        s.pc = pc;
        graph_rewrite(pc->g, rewrite, &s);
        again = s.changed;
        changed = changed || again;
    }
    return changed;
}
