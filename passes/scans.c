/* scans.c: sums over what came before, carried along instead of being added up anew.
 *
 * Requires: simplify before it. Keeps: every value of every output but for rounding. What is
 * excluded is not read, a sum over nothing is 0. A factor in front is multiplied with a sum and no
 * longer with each term, so where data, factors or powers are infinite a carried sum may be NaN for
 * inf or inf for NaN; but not finite it is then in any case, as 0 times inf is NaN and no decay
 * rids a state of either. So from the first step on at which a carried sum is not finite the sum as
 * it is written counts (scans_guard.c). The other way round, a carried sum may be finite where a
 * power or product in the written one is too large for a number and only the result would not be:
 * there it is nearer to the truth. Step by step, where no earlier step is kept that could be summed
 * anew, inf and NaN trade places. Breaks: nothing; step graphs stay step graphs.
 *
 *   y[t] = sum over i <= t of decay^(t - i) f(t) g(i)   is   f(t) S[t], S[t] = decay S[t-1] + g(t)
 *
 * where f(t) g(i) may be a product of factors and of a dot product between the two: then S has the
 * indices that are summed besides, as in linear attention, where it is S[d, e]. i < t likewise. No
 * power is of a negative number of steps, so a decay of 0 is as good as any other.
 *
 *   running  a row of S is no larger than a factor of g or than y: cumulative sums, normalisers.
 *            A scan of its own; in a recurrence one more history.
 *   state    in a step graph: rows of S take the place of the histories that were summed.
 *   chunks   S is a matrix, and all steps are there at once: scans_chunk.c, where that costs less.
 *
 * What a program says as a recurrence, s[t] = a[t] s[t-1] + b[t], stays one: a[t] and b[t] stand
 * outside of the region where they depend on no carry, and a step is one multiplication and one
 * addition to each element, along memory. A tree of log T rounds has more of both, to the end that
 * steps need not wait for each other; a processor with few threads has enough to do with the
 * elements of one step. But where s is a matrix and all that is made of it is y[t] = q[t] @ s[t],
 * that joins the recurrence (scans_sink.c), and s is two rows of memory instead of one for each
 * step. It goes in no chunks: its sum as it is written is the recurrence, of which there would be
 * no step to begin from where a result is not finite. */
#include "ir/graph/scratch.h"
#include "passes/scans_internal.h"
#include "passes/simplify_internal.h"

enum { MAX_SINKS = 64 }; /* states that others join, such as those of layers */

/* What a scan of the graph is given. */
typedef struct addition {
    const separated *p;
    state st;
    value *appended; /* NULL: made when all of the step's rows are there */
} addition;
typedef VEC(addition) addition_list;

typedef struct carry {
    scans s;
    addition_list *added; /* by scan */
    bool any;
} carry;

/* --- which elements are needed --- */

/* Whether u, whose elements are all needed, needs all of its operand k. */
static bool needs_all(const value *u, uint32_t k)
{
    if (u->where || u->op == OP_append || u->op == OP_scan)
        return false;
    if (u->op != OP_read || k > 0)
        return true;
    const value *x = u->args[0];
    for (uint32_t q = 0; q < x->n_ix; q++) {
        const value *at = u->args[q + 1];
        if (at->op != OP_index || at->ix[0]->extent != x->ix[q]->extent)
            return false;
        for (uint32_t o = 0; o < q; o++) {
            if (u->args[o + 1] == at)
                return false; /* a diagonal */
        }
    }
    return true;
}

static const bool *find_everywhere(const scans *s)
{
    const value_list *live = &s->places.live;
    bool *all = ARENA_ARRAY(s->scratch, bool, s->places.n);
    for (size_t i = 0; i < s->g->results.n; i++)
        all[s->g->results.v[i].v->id] = true;
    for (size_t i = live->n; i-- > 0;) {
        const value *v = live->v[i];
        for (uint32_t k = 0; all[v->id] && k < v->n_args; k++)
            all[v->args[k]->id] = all[v->args[k]->id] || needs_all(v, k);
    }
    return all;
}

/* Every factor is computed for all steps, also where a reader asks for some only. */
static bool may_compute(const scans *s, const separated *p)
{
    bool risky = false;
    for (uint32_t k = 0; k < p->n_where; k++)
        risky = risky || s->risky[p->where[k]->id];
    for (uint32_t k = 0; k < p->n_rows; k++)
        risky = risky || s->risky[p->row[k].v->id];
    for (uint32_t k = 0; k < p->n_fronts; k++)
        risky = risky || (places_knows(&s->places, p->front[k].v) && s->risky[p->front[k].v->id]);
    return !risky || (s->everywhere[p->v->id] && p->n_where == 0 && !p->strict);
}

/* --- the sums --- */

/* In a region: one more history of its scan. */
static value *carried_sum(carry *c, const separated *p, const value *scan)
{
    scans *s = &c->s;
    addition_list *added = &c->added[scan->scan];
    addition a = {.p = p};
    value *after = NULL;
    a.st = new_state(s, p, scan->scan, (int)(scan->n_args + added->n));
    if (!p->strict)
        a.appended = advance(s, p, &a.st, row_now(s, p, scan), &after);
    vec_push(s->scratch, added, a);
    value *sum = sum_of_state(s, p, &a.st, after);
    if (s->g->step || !may_differ(p))
        return sum;
    rule_hit(s->pc, RULE_scans_guard);
    addition flag = {.p = p};
    sum = guarded(s, p, sum, scan->scan, (int)(scan->n_args + added->n), &flag.appended);
    vec_push(s->scratch, added, flag);
    return sum;
}

/* --- how a sum is computed --- */

static const char *why_no_scan(const scans *s, const separated *p, const value *scan)
{
    bool step = s->g->step == p->t;
    if (scan->bound[0] != p->t || scan->kind != 0 || s->places.depth_of[scan->scan] != 1)
        return "it stands in a recurrence over something else, or in two";
    if (!p->running && !step)
        return "in its recurrence it would take a state that is larger than a row";
    if (!p->running && !state_pays(s, p))
        return "a state costs more than the sum at these sizes";
    return rows_settled(s, p, scan) ? NULL : "its terms are not made of rows that are known then";
}

static scans_way way_of(scans *s, value *v, separated *p)
{
    if (!separate(s, v, p))
        return SCANS_WRITTEN;
    if (s->places.home[v->id]) {
        p->why = why_no_scan(s, p, s->scan_of[s->places.home[v->id] - 1]);
        return p->why ? SCANS_WRITTEN : p->running ? SCANS_RUNNING : SCANS_STATE;
    }
    if (s->g->step)
        p->why = "it does not depend on the inputs of the steps";
    else if (!may_compute(s, p))
        p->why = "its terms may end in an error status at steps that nobody asks for";
    else if (!p->running)
        p->why = why_no_chunks(s, p);
    return p->why ? SCANS_WRITTEN : p->running ? SCANS_RUNNING : SCANS_CHUNKS;
}

static value *carry_sum(carry *c, value *v)
{
    static const rule_id rules[SCANS_WAY_COUNT] = {[SCANS_RUNNING] = RULE_scans_running,
                                                   [SCANS_STATE] = RULE_scans_state,
                                                   [SCANS_CHUNKS] = RULE_scans_chunks};
    scans *s = &c->s;
    separated *p = ARENA_NEW(s->scratch, separated);
    scans_way way = way_of(s, v, p);
    if (way == SCANS_WRITTEN)
        return NULL;
    rule_hit(s->pc, rules[way]);
    if (s->places.home[v->id])
        return carried_sum(c, p, s->scan_of[s->places.home[v->id] - 1]);
    value *sum = p->running ? running_sum(s, p) : chunked_sum(s, p);
    if (!may_differ(p))
        return sum;
    rule_hit(s->pc, RULE_scans_guard);
    return guarded_steps(s, p, sum);
}

/* --- rebuilding --- */

static value *rebuilt_scan(carry *c, const value *v, value *const *args)
{
    scans *s = &c->s;
    addition_list *added = &c->added[v->scan];
    value **all = ARENA_ARRAY(s->g->a, value *, v->n_args + added->n);
    for (uint32_t k = 0; k < v->n_args; k++)
        all[k] = args[k];
    for (size_t k = 0; k < added->n; k++) {
        addition *a = &added->v[k];
        value *after = NULL;
        if (!a->appended)
            a->appended = advance(s, a->p, &a->st, row_now(s, a->p, v), &after);
        all[v->n_args + k] = a->appended;
    }
    return graph_scan(s->g, v->scan, v->bound[0], v->kind, all, v->n_args + (uint32_t)added->n);
}

static value *rebuilt(carry *c, value *v)
{
    scans *s = &c->s;
    value *sum = carry_sum(c, v);
    if (sum) {
        c->any = true;
        return sum;
    }
    bool changed = v->where && s->now[v->where->id] != v->where;
    value **args = ARENA_ARRAY(s->scratch, value *, v->n_args);
    for (uint32_t k = 0; k < v->n_args; k++) {
        args[k] = s->now[v->args[k]->id];
        changed = changed || args[k] != v->args[k];
    }
    if (v->op == OP_scan && c->added[v->scan].n)
        return rebuilt_scan(c, v, args);
    return changed ? graph_with_args(s->g, v, args, v->where ? s->now[v->where->id] : NULL) : v;
}

void analyse_scans(scans *s)
{
    places_find(&s->places, s->g, s->scratch);
    const value_list *live = &s->places.live;
    s->range = range_new(s->scratch, s->g, live);
    s->risky = find_risky(&s->places, s->range, s->scratch);
    s->everywhere = find_everywhere(s);
    s->now = ARENA_ARRAY(s->scratch, value *, s->places.n);
    s->scan_of = ARENA_ARRAY(s->scratch, const value *, s->g->n_scans);
    for (size_t i = 0; i < live->n; i++) {
        if (live->v[i]->op == OP_scan)
            s->scan_of[live->v[i]->scan] = live->v[i];
    }
}

/* False: nothing is carried along that was not. */
static bool carry_sums(pass_ctx *pc)
{
    graph *g = pc->g;
    carry c = {.s = {.pc = pc, .g = g, .scratch = pc->scratch}};
    scans *s = &c.s;
    analyse_scans(s);
    c.added = ARENA_ARRAY(pc->scratch, addition_list, g->n_scans);
    const value_list *live = &s->places.live;
    for (size_t i = 0; i < live->n; i++) {
        value *v = live->v[i];
        value *made = rebuilt(&c, v);
        if (made->id >= s->places.n)
            graph_inherit(made, v);
        s->now[v->id] = made;
    }
    if (!c.any)
        return false;
    for (size_t i = 0; i < g->results.n; i++)
        g->results.v[i].v = s->now[g->results.v[i].v->id];
    drop_histories(g, pc->scratch);
    return true;
}

bool pass_scans(pass_ctx *pc)
{
    scans s = {.pc = pc};
    pc->changed = carry_sums(pc);
    for (int i = 0; i < MAX_SINKS && sink_sums(pc, &s); i++)
        pc->changed = true;
    return true;
}

/* --- report --- */

const char *const scans_way_word[SCANS_WAY_COUNT] = {
#define X(id, word, text) word,
    SCANS_WAYS(X)
#undef X
};
const char *const scans_way_text[SCANS_WAY_COUNT] = {
#define X(id, word, text) text,
    SCANS_WAYS(X)
#undef X
};

typedef struct reporting {
    graph *g;
    arena *a;
    scans_notes *out;
} reporting;

static void report(void *ctx, arena *scratch)
{
    reporting *r = ctx;
    scans s = {.g = r->g, .scratch = scratch};
    analyse_scans(&s);
    for (size_t i = 0; i < s.places.live.n; i++) {
        separated p;
        scans_note n = {.v = s.places.live.v[i]};
        n.way = way_of(&s, s.places.live.v[i], &p);
        n.why = p.why;
        if (n.way != SCANS_WRITTEN || n.why)
            vec_push(r->a, r->out, n);
    }
}

void scans_report(graph *g, arena *a, scans_notes *out)
{
    reporting r = {.g = g, .a = a, .out = out};
    *out = (scans_notes){0};
    with_scratch(arena_mem(g->a), report, &r);
}
