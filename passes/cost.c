/* cost.c: counts the work of a graph. Which share of a value is needed flows from its users to it:
 * under `softmax e over j where j <= i` only half of e is, and half of what e is made of as far as
 * that has the indices i and j. */
#include "passes/cost.h"
#include "passes/scatter.h"

#include <string.h>

/* Of a value: the share of its elements that its users need, and on which indices that depends. */
typedef struct need {
    bool used;
    bool rare; /* only where something is not finite */
    double share;
    uint32_t n;
    const ix *const *on;
} need;

typedef struct counter {
    const graph *g;
    arena *a;
    value_list live;
    const uint32_t *home; /* by value id: graph_homes */
    const int64_t *symbols;
    need *needs;    /* by value id */
    double *shares; /* of predicates, by id; 0: not worked out, else 1 + the share */
    cost *out;
} counter;

const dim *cost_extent(const graph *g, const ix *const *ixs, uint32_t n)
{
    const dim *d = dim_const(g->dims, 1);
    for (uint32_t i = 0; i < n; i++)
        d = dim_mul(g->dims, d, ixs[i]->extent);
    return d;
}

bool cost_symbols(const graph *g, arena *a, const char *const *names, const int64_t *sizes,
                  size_t n, int64_t **symbols, const char **missing)
{
    uint32_t count = dims_n_symbols(g->dims);
    *symbols = ARENA_ARRAY(a, int64_t, count);
    for (uint32_t s = 0; s < count; s++) {
        const char *name = dims_symbol(g->dims, s);
        size_t i = 0;
        while (i < n && strcmp(names[i], name) != 0)
            i++;
        bool wanted = false;
        for (size_t k = 0; k < g->symbols.n; k++)
            wanted = wanted || strcmp(g->symbols.v[k], name) == 0;
        if (i == n && wanted) {
            *missing = name;
            return false;
        }
        (*symbols)[s] = i < n ? sizes[i] : 0;
    }
    return true;
}

/* --- what is needed --- */

static bool among(const ix *const *list, uint32_t n, const ix *i)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == i)
            return true;
    }
    return false;
}

static bool has_all(const value *v, const need *x)
{
    for (uint32_t k = 0; k < x->n; k++) {
        if (!value_has_ix(v, x->on[k]))
            return false;
    }
    return true;
}

/* A user needs that share of v. A value that lacks one of the indices is needed for the others'
 * sake at all of its elements. Several users: at least the largest share. */
static void ask(counter *c, const value *v, need x)
{
    need *have = &c->needs[v->id];
    bool rare = x.rare && (!have->used || have->rare);
    if (!has_all(v, &x))
        x = (need){.share = 1};
    if (!have->used || x.share > have->share)
        *have = x;
    have->used = true;
    have->rare = rare;
}

static double share_of(counter *c, const value *p, const ix *j)
{
    double *known = &c->shares[p->id];
    if (*known == 0)
        *known = 1 + cost_share(c->g, c->a, p, j, c->symbols, &c->out->exact);
    return *known - 1;
}

/* What is needed under `p` as well as under x. */
static need narrow(counter *c, need x, const value *p, const ix *j)
{
    if (!p || !c->symbols)
        return x;
    double share = share_of(c, p, j);
    if (share >= 1)
        return x;
    const ix **on = ARENA_ARRAY(c->a, const ix *, (size_t)x.n + p->n_ix);
    need both = {.used = true, .on = on};
    for (uint32_t k = 0; k < x.n; k++)
        on[both.n++] = x.on[k];
    uint32_t shared = 0;
    for (uint32_t k = 0; k < p->n_ix; k++) {
        if (among(on, x.n, p->ix[k]))
            shared++;
        else
            on[both.n++] = p->ix[k];
    }
    /* One mask met twice, by the weights and by the sum that uses them, is no smaller than once. */
    bool same = x.n > 0 && shared == p->n_ix;
    both.share = same ? (share < x.share ? share : x.share) : share * x.share;
    return both;
}

/* The read's base, where the read only gives its indices other names. */
static bool renames(counter *c, const value *v, need x, need *of_base)
{
    const value *base = v->args[0];
    const ix **on = ARENA_ARRAY(c->a, const ix *, x.n);
    uint32_t found = 0;
    for (uint32_t k = 0; k < base->n_ix; k++) {
        const value *i = v->args[k + 1];
        if (i->op != OP_index)
            return false;
        for (uint32_t m = 0; m < x.n; m++) {
            if (x.on[m] == i->ix[0]) {
                on[m] = base->ix[k];
                found++;
            }
        }
    }
    *of_base = x;
    of_base->on = on;
    return found == x.n;
}

static const ix *solved_index(const value *v)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (v->where && value_has_ix(v->where, v->bound[k]))
            return v->bound[k];
    }
    return NULL;
}

static need need_inside(counter *c, const value *v)
{
    need x = c->needs[v->id];
    bool rare = x.rare || cost_is_rare(v->where);
    if (!rare)
        return narrow(c, x, v->where, solved_index(v));
    x.rare = true;
    return x;
}

static void ask_operands(counter *c, const value *v)
{
    need whole = {.used = true, .share = 1}, inside = need_inside(c, v);
    if (v->where)
        ask(c, v->where, whole);
    for (uint32_t k = 0; k < v->n_args; k++) {
        need x = inside;
        if (v->op == OP_read && k == 0 && !renames(c, v, inside, &x))
            x = (need){.used = true, .rare = inside.rare, .share = 1};
        if (OP_HAS(v->op, T_REGION))
            x = whole;
        ask(c, v->args[k], x);
    }
}

/* --- what it costs --- */

/* Bound indices that are not free, once each; what data names has no loop. */
static const dim *points_of(counter *c, const value *v)
{
    scatter to;
    scatter_find(&c->live, c->home, v, &to);
    const dim *d = dim_const(c->g->dims, 1);
    for (uint32_t k = 0; k < v->n_ix; k++)
        d = scatter_gives(&to, v->ix[k]) ? d : dim_mul(c->g->dims, d, v->ix[k]->extent);
    bool binds = OP_HAS(v->op, T_BINDS);
    for (uint32_t k = 0; binds && k < v->n_bound; k++) {
        if (!value_has_ix(v, v->bound[k]))
            d = dim_mul(c->g->dims, d, v->bound[k]->extent);
    }
    return d;
}

/* Per point. */
typedef struct work {
    int flops, calls;
} work;

static work work_of(const value *v)
{
    const op_info *op = &op_table[v->op];
    bool real = v->dt == DT_F32 || v->dt == DT_F64;
    if (v->op == OP_online)
        return v->kind == ON_softmax     ? (work){3, 1} /* maximum, difference, sum */
               : v->kind == ON_normalize ? (work){1, 0}
                                         : (work){0, 0};
    if (v->op == OP_reduce && v->kind == RED_logsumexp)
        return (work){3, 1};
    if (OP_HAS(v->op, T_ELEM)) {
        bool counts = real && (op->sig == SIG_SAME || op->sig == SIG_REAL);
        return (work){counts && !(op->traits & T_COSTLY), counts && (op->traits & T_COSTLY)};
    }
    switch (v->op) {
    case OP_contract:
        return (work){2, 0};
    case OP_reduce:
        return (work){1, 0};
    case OP_softmax:
        return (work){4, 1};
    case OP_normalize:
        return (work){2, 0};
    case OP_hardmax:
        return (work){1, 0};
    case OP_part: /* a sum is divided at the end */
        return (work){v->kind >= 0 && v->args[0]->kind != ON_plain, 0};
    default:
        return (work){0, 0};
    }
}

/* Products and sums of the streams, each over its own indices besides. */
static const dim *stream_flops(counter *c, const value *v, const dim *points)
{
    dims *t = c->g->dims;
    const dim *sum = dim_const(t, 0);
    for (uint32_t k = 1; v->op == OP_online && k < v->n_args; k++) {
        const value *x = v->args[k];
        const dim *d = dim_mul(t, points, dim_const(t, 2));
        for (uint32_t i = 0; i < x->n_ix; i++) {
            if (!value_has_ix(v, x->ix[i]) && !among(v->bound, v->n_bound, x->ix[i]))
                d = dim_mul(t, d, x->ix[i]->extent);
        }
        sum = dim_add(t, sum, d);
    }
    return sum;
}

static double number(const counter *c, const dim *d)
{
    int64_t n;
    return d && dim_eval(d, c->symbols, &n) ? (double)n : 0;
}

static void count(counter *c, const value *v)
{
    dims *t = c->g->dims;
    work w = work_of(v);
    need inside = need_inside(c, v);
    if (inside.rare)
        return;
    cost_term term = {.v = v, .points = points_of(c, v), .share = inside.share};
    term.flops =
        dim_add(t, dim_mul(t, term.points, dim_const(t, w.flops)), stream_flops(c, v, term.points));
    term.calls = dim_mul(t, term.points, dim_const(t, w.calls));
    int64_t none;
    if (term.flops && dim_is_const(term.flops, &none) && none == 0 && w.calls == 0)
        return;
    vec_push(c->a, &c->out->terms, term);
    c->out->flops = dim_add(t, c->out->flops, term.flops);
    c->out->calls = dim_add(t, c->out->calls, term.calls);
    if (c->symbols) {
        c->out->n_flops += term.share * number(c, term.flops);
        c->out->n_calls += term.share * number(c, term.calls);
    }
}

static void add_bytes(counter *c, const ix *const *axes, uint32_t n, store_type st)
{
    dims *t = c->g->dims;
    const dim *d = dim_mul(t, cost_extent(c->g, axes, n), dim_const(t, store_table[st].bytes));
    c->out->bytes = dim_add(t, c->out->bytes, d);
    if (c->symbols)
        c->out->n_bytes += number(c, d);
}

static void count_traffic(counter *c)
{
    const graph *g = c->g;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const value *v = g->inputs.v[i];
        if (c->needs[v->id].used && !v->optional)
            add_bytes(c, v->ix, v->n_ix, (store_type)v->kind);
    }
    for (size_t i = 0; i < g->params.n; i++) {
        const value *v = g->params.v[i];
        if (c->needs[v->id].used)
            add_bytes(c, v->ix, v->n_ix, (store_type)v->kind);
    }
    for (size_t i = 0; i < g->results.n; i++) {
        const graph_result *r = &g->results.v[i];
        add_bytes(c, r->axes, r->n_axes, r->store);
    }
}

void cost_of(const graph *g, arena *a, const int64_t *symbols, cost *out)
{
    const dim *zero = dim_const(g->dims, 0);
    *out = (cost){
        .flops = zero, .calls = zero, .bytes = zero, .sized = symbols != NULL, .exact = true};
    counter c = {.g = g,
                 .a = a,
                 .symbols = symbols,
                 .needs = ARENA_ARRAY(a, need, g->values.n),
                 .shares = ARENA_ARRAY(a, double, g->values.n),
                 .out = out};
    for (size_t i = 0; i < g->results.n; i++)
        ask(&c, g->results.v[i].v, (need){.share = 1});
    graph_live(g, a, &c.live);
    c.home = graph_homes(g, a, &c.live);
    for (size_t i = c.live.n; i-- > 0;)
        ask_operands(&c, c.live.v[i]);
    for (size_t i = 0; i < c.live.n; i++)
        count(&c, c.live.v[i]);
    count_traffic(&c);
}
