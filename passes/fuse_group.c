/* fuse_group.c: which of the sums over the same weights one online op computes. What a stream is
 * made of must be there before: a sum that needs another of its group goes to a second op. A group
 * that gains nothing, or whose weights by hand are needed anyway, stays as it is. */
#include <string.h>

#include "passes/fuse_internal.h"

enum { BY_PART = 1, BY_WEIGHTS = 2 };

/* --- statistics --- */

static bool is_statistic(fuse *f, const fuse_group *g, const value *v)
{
    return g->kind == ON_softmax && v->args[0] == g->score &&
           fuse_same_set(v->bound, v->n_bound, g->bound, g->n_bound) &&
           fuse_same_where(f->scratch, v->where, g->where);
}

static void find_statistics(fuse *f)
{
    fuse_group **of = ARENA_ARRAY(f->scratch, fuse_group *, f->g->values.n); /* by score */
    for (size_t i = f->groups.n; i-- > 0;)
        of[f->groups.v[i]->score->id] = f->groups.v[i];
    for (size_t i = 0; i < f->live.n; i++) {
        value *v = f->live.v[i];
        if (v->op != OP_reduce || (v->kind != RED_max && v->kind != RED_logsumexp) ||
            !of[v->args[0]->id])
            continue;
        for (size_t k = 0; k < f->groups.n && !f->stat_of[v->id]; k++) {
            fuse_group *g = f->groups.v[k];
            if (is_statistic(f, g, v) && f->home[v->id] == f->home[g->w->id]) {
                f->stat_of[v->id] = g;
                vec_push(f->scratch, &g->statistics, v);
            }
        }
    }
}

/* --- what depends on what --- */

static unsigned char taint_of_all(const unsigned char *taint, const value *v)
{
    unsigned char all = v->where ? taint[v->where->id] : 0;
    for (uint32_t k = 0; k < v->n_args; k++)
        all |= taint[v->args[k]->id];
    return all;
}

static unsigned char stream_taint(const fuse_sum *s, const unsigned char *taint)
{
    unsigned char all = 0;
    for (uint32_t k = 0; k < s->n_steps; k++) {
        if (fuse_in_stream(s, &s->steps[k]))
            all |= taint[s->steps[k].other->id];
    }
    for (size_t k = 0; k < s->only.n; k++)
        all |= taint[s->only.v[k]->id];
    return all;
}

/* From the weights up to the last sum: what is made of them, and of parts. */
static void mark_taint(const fuse *f, const fuse_group *g, unsigned char *taint)
{
    size_t hi = g->w->id;
    memset(taint, 0, f->g->values.n);
    taint[g->w->id] = BY_WEIGHTS;
    for (size_t i = 0; i < g->statistics.n; i++)
        taint[g->statistics.v[i]->id] = BY_PART;
    for (size_t i = 0; i < g->sums.n; i++) {
        taint[g->sums.v[i]->v->id] = BY_PART;
        hi = g->sums.v[i]->v->id > hi ? g->sums.v[i]->v->id : hi;
    }
    for (size_t id = 0; id <= hi; id++) {
        const value *v = f->g->values.v[id];
        const fuse_group *other = f->sum_of[id] ? f->sum_of[id]->group : f->stat_of[id];
        if (other && other != g && other->w == g->w)
            continue;                     /* a part of an op before this one */
        bool part = taint[id] == BY_PART; /* a sum is made of the weights, but not as a stream */
        taint[id] |= part ? 0 : taint_of_all(taint, v);
    }
}

static void refuse(fuse *f, fuse_group *g, const char *why)
{
    g->why = why;
    if (!f->why[g->w->id])
        f->why[g->w->id] = why;
    for (size_t i = 0; i < g->sums.n; i++)
        f->sum_of[g->sums.v[i]->v->id] = NULL;
    for (size_t i = 0; i < g->statistics.n; i++)
        f->stat_of[g->statistics.v[i]->id] = NULL;
    if (f->weights_of[g->w->id] == g)
        f->weights_of[g->w->id] = NULL;
    g->sums.n = g->statistics.n = 0;
}

/* Leaves in g what can be computed first; the rest makes a group of its own, or stays a sum. */
static void order_group(fuse *f, fuse_group *g, unsigned char *taint)
{
    fuse_group *later = NULL;
    size_t n = 0;
    mark_taint(f, g, taint);
    for (size_t i = 0; i < g->sums.n; i++) {
        fuse_sum *s = g->sums.v[i];
        unsigned char t = stream_taint(s, taint);
        if (t & BY_WEIGHTS) {
            f->sum_of[s->v->id] = NULL;
            f->why[g->w->id] = "what its weights multiply is computed from them";
            continue;
        }
        if (!(t & BY_PART)) {
            g->sums.v[n++] = s;
            continue;
        }
        if (!later) {
            later = ARENA_NEW(f->scratch, fuse_group);
            *later = *g;
            later->sums.v = NULL;
            later->sums.n = later->sums.cap = 0;
            later->statistics.n = 0;
            vec_push(f->scratch, &f->groups, later);
        }
        vec_push(f->scratch, &later->sums, s);
    }
    for (size_t i = 0; later && i < later->sums.n; i++)
        later->sums.v[i]->group = later;
    g->sums.n = n;
}

/* --- is it worth it --- */

static const char *too_little(const fuse_group *g)
{
    size_t totals = 0;
    for (size_t i = 0; i < g->sums.n; i++)
        totals += fuse_is_total(g->sums.v[i]);
    if (g->sums.n == 0 && !g->by_data)
        return "nothing is summed with its weights";
    if (g->shift && totals == g->sums.n)
        return "nothing is summed with its weights";
    if (g->kind == ON_plain && (totals == 0 || totals == g->sums.n))
        return totals ? "nothing is summed with its weights" : "it has no sum to be divided by";
    return NULL;
}

/* --- what is needed --- */

/* While it is asked what is needed for itself, a kernel that is its group's score does not count.
 */
static void group_needs(const fuse *f, const fuse_group *g, fuse_visit *visit, void *ctx)
{
    if (f->asking && g->score == g->w) {
        for (uint32_t k = 0; k < g->w->n_args; k++)
            visit(ctx, g->w->args[k]);
    } else {
        visit(ctx, g->score);
    }
    if (g->where)
        visit(ctx, g->where);
    for (size_t i = 0; i < g->sums.n; i++) {
        const fuse_sum *s = g->sums.v[i];
        for (uint32_t k = 0; k < s->n_steps; k++) {
            if (fuse_in_stream(s, &s->steps[k]))
                visit(ctx, s->steps[k].other);
        }
        for (size_t k = 0; k < s->only.n; k++)
            visit(ctx, s->only.v[k]);
    }
}

void fuse_needs(fuse *f, const value *v, fuse_visit *visit, void *ctx)
{
    const fuse_sum *s = f->sum_of[v->id];
    const fuse_group *g = s                      ? s->group
                          : f->stat_of[v->id]    ? f->stat_of[v->id]
                          : f->weights_of[v->id] ? f->weights_of[v->id]
                                                 : NULL;
    if (g)
        group_needs(f, g, visit, ctx);
    for (uint32_t k = 0; s && k < s->n_steps; k++) {
        if (s->steps[k].op != OP_select && !fuse_in_stream(s, &s->steps[k]))
            visit(ctx, s->steps[k].other);
    }
    for (size_t k = 0; s && k < s->rows.n; k++)
        visit(ctx, s->rows.v[k]);
    if (s && g->shift && g->shift != g->max)
        visit(ctx, g->shift);
    if (g)
        return;
    for (uint32_t k = 0; k < v->n_args; k++)
        visit(ctx, v->args[k]);
    if (v->where)
        visit(ctx, v->where);
}

typedef struct reach {
    fuse *f;
    fuse_list todo;
} reach;

static void need(void *ctx, value *v)
{
    reach *r = ctx;
    if (r->f->needed[v->id])
        return;
    r->f->needed[v->id] = 1;
    vec_push(r->f->scratch, &r->todo, v);
}

static void find_needed(fuse *f)
{
    reach r = {.f = f};
    memset(f->needed, 0, f->g->values.n);
    for (size_t i = 0; i < f->g->results.n; i++)
        need(&r, f->g->results.v[i].v);
    f->asking = true;
    while (r.todo.n)
        fuse_needs(f, r.todo.v[--r.todo.n], need, &r);
    f->asking = false;
}

/* Weights by hand that are needed for themselves would be computed twice. True where one is given
 * up. */
static bool give_up(fuse *f)
{
    bool any = false;
    find_needed(f);
    for (size_t i = 0; i < f->groups.n; i++) {
        fuse_group *g = f->groups.v[i];
        bool normaliser = OP_HAS(g->w->op, T_NORM);
        if (g->why || !f->needed[g->w->id])
            continue;
        if (normaliser) {
            g->weights = f->weights_of[g->w->id] == g;
        } else {
            refuse(f, g, "its weights are also used for themselves");
            any = true;
        }
    }
    return any;
}

void fuse_groups(fuse *f)
{
    unsigned char *taint = ARENA_ARRAY(f->scratch, unsigned char, f->g->values.n);
    find_statistics(f);
    for (size_t i = 0; i < f->groups.n; i++) { /* it grows */
        fuse_group *g = f->groups.v[i];
        order_group(f, g, taint);
        const char *why = too_little(g);
        if (why)
            refuse(f, g, why);
        else if (OP_HAS(g->w->op, T_NORM) && !f->weights_of[g->w->id])
            f->weights_of[g->w->id] = g;
    }
    while (give_up(f))
        continue;
}
