/* fuse_build.c: builds the graph again with an online op for each group. Everything is made when
 * what it is made of is there; a group as soon as one of its parts is asked for. */
#include <math.h>

#include "passes/fuse_internal.h"
#include "passes/pass.h"

typedef struct build {
    fuse *f;
    graph *g;
    value **now;    /* by id of the old graph */
    fuse_list todo; /* what waits for others, the latest on top */
    bool waits;
} build;

static value *now(const build *b, const value *v)
{
    return b->now[v->id];
}

static value *zero(const build *b)
{
    return graph_real(b->g, 0);
}

static void hit(const build *b, rule_id r)
{
    rule_hit(b->f->pc, r);
}

/* --- groups --- */

/* What the weights are multiplied with under the sum; NULL: 1. */
static value *stream_of(build *b, const fuse_sum *s)
{
    value *x = NULL;
    for (uint32_t k = 0; k < s->n_steps; k++) {
        const fuse_step *t = &s->steps[k];
        if (!fuse_in_stream(s, t))
            continue;
        value *other = now(b, t->other);
        if (x)
            x = fuse_elem(b->g, t->op, x, other);
        else
            x = t->op == OP_div ? fuse_elem(b->g, OP_div, graph_real(b->g, 1), other) : other;
    }
    if (s->only.n == 0)
        return x;
    hit(b, RULE_fuse_condition);
    fuse_list only = {0};
    for (size_t k = 0; k < s->only.n; k++)
        vec_push(b->f->scratch, &only, now(b, s->only.v[k]));
    return fuse_select(b->g, fuse_and(b->g, &only), x ? x : graph_real(b->g, 1), zero(b));
}

static void build_group(build *b, fuse_group *g)
{
    fuse_list streams = {0};
    for (size_t i = 0; i < g->sums.n; i++) {
        fuse_sum *s = g->sums.v[i];
        s->stream = stream_of(b, s);
        if (!s->stream && OP_HAS(g->w->op, T_NORM))
            s->stream = graph_real(b->g, 1);
        if (!s->stream)
            continue; /* a total of weights by hand */
        size_t k = 0;
        while (k < streams.n && streams.v[k] != s->stream)
            k++;
        if (k == streams.n)
            vec_push(b->f->scratch, &streams, s->stream);
        s->part = (int)k;
    }
    hit(b, g->shift                  ? RULE_fuse_by_hand
           : g->kind == ON_plain     ? RULE_fuse_kernel
           : g->kind == ON_normalize ? RULE_fuse_normalize
                                     : RULE_fuse_softmax);
    if (streams.n > 1)
        hit(b, RULE_fuse_streams);
    if (g->by_data)
        hit(b, RULE_fuse_by_data);
    if (b->f->weights_of[g->w->id] != g && OP_HAS(g->w->op, T_NORM))
        hit(b, RULE_fuse_later);
    g->online = graph_online(b->g, g->kind, now(b, g->score), streams.v, (uint32_t)streams.n,
                             g->bound, g->n_bound, g->where ? now(b, g->where) : NULL);
    graph_inherit(g->online, g->w);
    if (g->weights || g->w == g->score)
        g->online->hint = NULL; /* the weights have that name */
}

static value *sum_part(build *b, const fuse_group *g)
{
    return graph_part(b->g, g->online, PART_sum);
}

/* --- values --- */

/* Exponentials by hand are e^(score - shift), those of the op e^(score - max): the sums differ by
 * this factor where shift is not the maximum itself. Nothing where the sum is empty. */
static value *rescaled(build *b, const fuse_group *g, value *x)
{
    if (!g->shift || g->shift == g->max)
        return x;
    hit(b, RULE_fuse_rescale);
    value *d = fuse_elem(b->g, OP_sub, graph_part(b->g, g->online, PART_max), now(b, g->shift));
    value *factor = graph_elem(b->g, OP_exp, &d, NULL);
    value *some = fuse_elem(b->g, OP_ne, sum_part(b, g), zero(b));
    return fuse_select(b->g, some, fuse_elem(b->g, OP_mul, x, factor), zero(b));
}

/* v is a total of weights of the group. */
static bool is_total_of(const fuse *f, const value *v, const fuse_group *g)
{
    const fuse_sum *s = f->sum_of[v->id];
    return s && s->group == g && fuse_is_total(s);
}

/* The sum of weights times stream, before what stands in front of it. Divided by the weights' total
 * already, where one of the factors says so (*divisor): weights by hand only. */
static value *bare_sum(build *b, const fuse_sum *s, const value **divisor)
{
    const fuse_group *g = s->group;
    if (!s->stream)
        return g->kind == ON_plain ? sum_part(b, g) : rescaled(b, g, sum_part(b, g));
    value *x = graph_part(b->g, g->online, s->part);
    if (!g->shift)
        return x;
    for (uint32_t k = 0; k < s->n_steps; k++) {
        const fuse_step *t = &s->steps[k];
        if (t->op == OP_div && is_total_of(b->f, t->other, g)) {
            *divisor = t->other;
            hit(b, RULE_fuse_divided);
            return x;
        }
    }
    return rescaled(b, g, fuse_elem(b->g, OP_mul, x, sum_part(b, g)));
}

/* A sum over nothing is 0, whatever the factor in front of it. */
static value *guarded(build *b, const fuse_group *g, value *x)
{
    if (!g->where || g->kind == ON_plain)
        return x;
    hit(b, RULE_fuse_guard);
    value *some = fuse_elem(b->g, OP_ne, sum_part(b, g), zero(b));
    return fuse_select(b->g, some, x, zero(b));
}

static value *build_sum(build *b, const fuse_sum *s)
{
    const value *divided = NULL;
    value *x = bare_sum(b, s, &divided);
    bool factor = false;
    fuse_list rows = {0};
    for (uint32_t k = 0; k < s->n_steps; k++) {
        const fuse_step *t = &s->steps[k];
        if (t->op == OP_select || fuse_in_stream(s, t) || t->other == divided)
            continue;
        x = fuse_elem(b->g, t->op == OP_div ? OP_div : OP_mul, x, now(b, t->other));
        factor = true;
    }
    if (factor) {
        hit(b, RULE_fuse_factor);
        x = guarded(b, s->group, x);
    }
    for (size_t k = 0; k < s->rows.n; k++)
        vec_push(b->f->scratch, &rows, now(b, s->rows.v[k]));
    value *where = fuse_and(b->g, &rows);
    if (where)
        hit(b, RULE_fuse_rows);
    if (s->n_more) {
        hit(b, RULE_fuse_more);
        return graph_reduce(b->g, RED_sum, x, s->more, s->n_more, where);
    }
    return where ? fuse_select(b->g, where, x, zero(b)) : x;
}

/* A sum of weights by hand over their total: the part itself, NaN where nothing is summed. */
static value *quotient(build *b, const value *v)
{
    const fuse_sum *s = v->op == OP_div && !v->where ? b->f->sum_of[v->args[0]->id] : NULL;
    if (!s || !s->stream || !s->group->shift || s->n_more || s->rows.n ||
        !is_total_of(b->f, v->args[1], s->group))
        return NULL;
    for (uint32_t k = 0; k < s->n_steps; k++) {
        if (s->steps[k].op != OP_select && !fuse_in_stream(s, &s->steps[k]))
            return NULL;
    }
    hit(b, RULE_fuse_quotient);
    value *none = fuse_elem(b->g, OP_eq, sum_part(b, s->group), zero(b));
    value *x = graph_part(b->g, s->group->online, s->part);
    graph_inherit(x, v);
    return fuse_select(b->g, none, graph_real(b->g, (double)NAN), x);
}

static value *build_plain(build *b, const value *v)
{
    bool changed = v->where && now(b, v->where) != v->where;
    value **args = ARENA_ARRAY(b->f->scratch, value *, v->n_args);
    for (uint32_t k = 0; k < v->n_args; k++) {
        args[k] = now(b, v->args[k]);
        changed = changed || args[k] != v->args[k];
    }
    return changed ? graph_with_args(b->g, v, args, v->where ? now(b, v->where) : NULL)
                   : b->g->values.v[v->id];
}

static value *build_value(build *b, const value *v)
{
    fuse_sum *s = b->f->sum_of[v->id];
    fuse_group *stat = b->f->stat_of[v->id], *weights = b->f->weights_of[v->id];
    fuse_group *g = s ? s->group : stat ? stat : weights;
    if (g && !g->online)
        build_group(b, g);
    if (s)
        return build_sum(b, s);
    if (stat) {
        hit(b, RULE_fuse_statistic);
        return graph_part(b->g, g->online, v->kind == RED_max ? PART_max : PART_lse);
    }
    if (weights) {
        hit(b, RULE_fuse_weights);
        return graph_part(b->g, g->online, PART_weights);
    }
    value *x = quotient(b, v);
    return x ? x : build_plain(b, v);
}

static void ask(void *ctx, value *v)
{
    build *b = ctx;
    if (now(b, v))
        return;
    b->waits = true;
    vec_push(b->f->scratch, &b->todo, v);
}

static value *run(build *b, value *root)
{
    vec_push(b->f->scratch, &b->todo, root);
    while (b->todo.n) {
        value *v = b->todo.v[b->todo.n - 1];
        b->waits = false;
        if (!now(b, v))
            fuse_needs(b->f, v, ask, b);
        if (b->waits)
            continue;
        b->todo.n--;
        if (now(b, v))
            continue;
        size_t before = b->g->values.n;
        value *made = build_value(b, v);
        if (made->id >= before)
            graph_inherit(made, v);
        b->now[v->id] = made;
    }
    return now(b, root);
}

bool fuse_build(fuse *f)
{
    build b = {.f = f, .g = f->g, .now = ARENA_ARRAY(f->scratch, value *, f->g->values.n)};
    bool any = false;
    for (size_t i = 0; i < f->groups.n; i++)
        any = any || !f->groups.v[i]->why;
    for (size_t i = 0; any && i < f->g->results.n; i++)
        f->g->results.v[i].v = run(&b, f->g->results.v[i].v);
    return any;
}
