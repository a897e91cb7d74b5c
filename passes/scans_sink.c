/* scans_sink.c: what makes one row of each state joins the recurrence of the state.
 *
 *   y[t] = q[t] @ S[t], where S[t] is a matrix that is carried along, reads all of S, and S is
 * steps times as large as any of its rows. Computed in the region it reads the row at hand, and the
 *   schedule keeps as many rows of S as the next step looks at. The sum itself stays as it was.
 *
 * A vector that is carried along stays outside: its rows are no larger than what is made of them,
 * and outside all steps are computed at once. */
#include "passes/scans_internal.h"
#include "passes/simplify_internal.h"

/* One scan at a time. */
typedef struct sink {
    scans *s;
    const value *scan;
    const bool *behind; /* by id: depends on it */
    value_list sums;    /* contractions that join it */
} sink;

/* The read of `all` that v, a contraction, multiplies with something of the step that lacks one of
 * its indices: a matrix and a vector. Weights, which are the same at all steps, have the state for
 * their vector: outside they are multiplied with all steps at once. */
static value *matrix_operand(const value *v, const value *all)
{
    for (uint32_t k = 0; v->op == OP_contract && k < 2; k++) {
        value *read = v->args[k];
        const value *other = v->args[1 - k];
        if (read->op != OP_read || read->args[0] != all ||
            !value_has_ix(other, all->args[0]->bound[0]))
            continue;
        for (uint32_t i = 0; i < read->n_ix; i++) {
            if (value_has_ix(v, read->ix[i]) && !value_has_ix(other, read->ix[i]))
                return read;
        }
    }
    return NULL;
}

/* The row at its own step: `all` has no other readers that need its rows. */
static bool reads_row(const value *read, const value *scan, const value *h)
{
    if (read->op != OP_read || read->where)
        return false;
    for (uint32_t i = 0; i < h->n_ix; i++) {
        const value *at = read->args[i + 1];
        if (h->ix[i] == h->bound[0] ? at->op != OP_index || at->ix[0] != scan->bound[0]
                                    : value_has_ix(at, scan->bound[0]))
            return false;
    }
    return true;
}

static bool may_join(const sink *k, const value *v, const value *read)
{
    const scans *s = k->s;
    const value *other = v->args[v->args[0] == read];
    return other != read && !v->where && !k->behind[other->id] && s->places.home[v->id] == 0 &&
           (!s->risky[v->id] || s->everywhere[v->id]);
}

static bool is_result(const graph *g, const value *v)
{
    for (size_t i = 0; i < g->results.n; i++) {
        if (g->results.v[i].v == v)
            return true;
    }
    return false;
}

static bool uses(const value *v, const value *x)
{
    bool any = v->where == x;
    for (uint32_t k = 0; k < v->n_args; k++)
        any = any || v->args[k] == x;
    return any;
}

/* The contractions that are all there is of the result `all`, behind what is there; false:
 * something else needs it. */
static bool find_sums(sink *k, const value *all)
{
    const value_list *live = &k->s->places.live;
    const value *h = k->scan->args[all->kind]->args[0];
    for (size_t i = 0; i < live->n; i++) {
        value *read = live->v[i];
        if (!uses(read, all))
            continue;
        if (!reads_row(read, k->scan, h) || is_result(k->s->g, read))
            return false;
        for (size_t m = 0; m < live->n; m++) {
            value *v = live->v[m];
            if (!uses(v, read))
                continue;
            if (matrix_operand(v, all) != read || !may_join(k, v, read))
                return false;
            vec_push(k->s->scratch, &k->sums, v);
        }
    }
    return true;
}

static const bool *find_behind(const scans *s, const value *scan)
{
    bool *behind = ARENA_ARRAY(s->scratch, bool, s->places.n);
    for (size_t i = 0; i < s->places.live.n; i++) {
        const value *v = s->places.live.v[i];
        bool is = v->where && behind[v->where->id];
        for (uint32_t k = 0; k < v->n_args; k++)
            is = is || v->args[k] == scan || behind[v->args[k]->id];
        behind[v->id] = is;
    }
    return behind;
}

static bool find_sink(sink *k, scans *s)
{
    for (size_t i = 0; i < s->places.live.n; i++) {
        const value *all = s->places.live.v[i];
        if (all->op != OP_result || s->places.home[all->args[0]->id] || is_result(s->g, all))
            continue;
        *k = (sink){.s = s, .scan = all->args[0]};
        k->behind = find_behind(s, k->scan);
        if (find_sums(k, all) && k->sums.n)
            return true;
    }
    return false;
}

/* --- rebuilding --- */

/* x, read of a history's result, of the row at hand. */
static value *row_at_hand(const sink *k, value *x)
{
    const value *all = x->op == OP_read ? x->args[0] : NULL;
    if (!all || all->op != OP_result || all->args[0] != k->scan)
        return x;
    return fold_read(k->s->g, graph_read(k->s->g, k->scan->args[all->kind], x->args + 1, NULL));
}

/* v in the region; its history, with that row. */
static value *join_region(const sink *k, const value *v, int slot)
{
    scans *s = k->s;
    graph *g = s->g;
    value *args[2] = {row_at_hand(k, v->args[0]), row_at_hand(k, v->args[1])};
    value *row = graph_with_args(g, v, args, NULL);
    ix_set own = {0};
    ix_set_add(s->scratch, &own, row, NULL, 0);
    const ix *t = k->scan->bound[0], *rows = unused_ix(g, &s->places, "row", t->extent, &own);
    const ix **axes = ARENA_ARRAY(g->a, const ix *, own.n);
    for (size_t i = 0; i < own.n; i++)
        axes[i] = own.v[i] == t ? rows : own.v[i];
    const char *name = v->hint ? v->hint : "sum";
    value *h = graph_history(g, k->scan->scan, slot, name, v->dt, axes, (uint32_t)own.n, rows);
    return graph_append(g, h, row, t);
}

static value *joined(const sink *k, value *scan, uint32_t slot)
{
    graph *g = k->s->g;
    const value *h = scan->args[slot]->args[0];
    value **index = ARENA_ARRAY(g->a, value *, h->n_ix);
    for (uint32_t i = 0; i < h->n_ix; i++)
        index[i] = graph_index(g, h->ix[i] == h->bound[0] ? scan->bound[0] : h->ix[i]);
    return graph_read(g, graph_result_of(g, scan, (int)slot), index, NULL);
}

static value *rebuilt_scan(const sink *k)
{
    const value *old = k->scan;
    uint32_t n = old->n_args + (uint32_t)k->sums.n;
    value **args = ARENA_ARRAY(k->s->g->a, value *, n);
    for (uint32_t i = 0; i < n; i++)
        args[i] =
            i < old->n_args ? old->args[i] : join_region(k, k->sums.v[i - old->n_args], (int)i);
    return graph_scan(k->s->g, old->scan, old->bound[0], old->kind, args, n);
}

/* What is not behind the scan stays. */
static void rebuild(const sink *k)
{
    scans *s = k->s;
    graph *g = s->g;
    value *scan = rebuilt_scan(k);
    for (size_t i = 0; i < s->places.live.n; i++) {
        value *v = s->places.live.v[i], **now = &s->now[v->id];
        *now = v == k->scan ? scan : v;
        for (uint32_t m = 0; m < k->sums.n; m++) {
            if (k->sums.v[m] == v)
                *now = joined(k, scan, k->scan->n_args + m);
        }
        if (*now != v || !k->behind[v->id])
            continue;
        value **args = ARENA_ARRAY(s->scratch, value *, v->n_args);
        for (uint32_t m = 0; m < v->n_args; m++)
            args[m] = s->now[v->args[m]->id];
        *now = graph_with_args(g, v, args, v->where ? s->now[v->where->id] : NULL);
    }
    for (size_t i = 0; i < g->results.n; i++)
        g->results.v[i].v = s->now[g->results.v[i].v->id];
}

bool sink_sums(pass_ctx *pc, scans *s)
{
    sink k;
    s->g = pc->g;
    s->scratch = pc->scratch;
    analyse_scans(s);
    if (pc->g->step || !find_sink(&k, s))
        return false;
    rule_hit(pc, RULE_scans_sink);
    rebuild(&k);
    return true;
}
