/* schedule_use.c: who uses each value, and what follows: which values are computed once into a
 * buffer and which wherever they are needed.
 *
 * Users come before operands, so each value's uses are all known when it is decided. A context is
 * one block of code with one meaning for each value: the loop nest of a stored value, the body of a
 * reduction, what stands under a read. Whatever is met in two contexts would be computed twice.
 *
 * That an elementwise value (a map) is computed where it is used is the choice `fuse-maps`.
 * require: a verified graph.  keep: what is computed, but for rounding where code of a sum goes
 * another way.  give: no memory, and no loops, for maps that one place uses, that are cheap, or
 * that are as large as an online op's weights. Without it a map is stored unless it is made of
 * indices and constants alone, of a score, or may fail: an element that no output needs must not be
 * computed. */
#include "passes/schedule_internal.h"

enum { CHEAP = 3, CHEAP_BOOL = 12, ANY_CONTEXT = 1 };

typedef struct user {
    const value *v; /* NULL: an output */
    uint32_t context;
    bool same;        /* the user computes no element twice */
    conjuncts need;   /* it looks at elements only where these hold */
    conjuncts asked;  /* ... and these, said over other indices before */
    conjuncts held;   /* ... by then its code has tested these */
    uint32_t n_space; /* indices that its code runs over, steps not counted */
    bool reads;       /* it looks at other indices than its own */
} user;

static uint32_t new_context(sched *s)
{
    return ANY_CONTEXT + ++s->n_contexts;
}

static uint32_t n_free(const sched *s, const value *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_ix; i++)
        n += !is_step_of(s, v, v->ix[i]);
    return n;
}

static bool contains(const conjuncts *c, const value *v)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->v[i] == v)
            return true;
    }
    return false;
}

static void intersect(sched *s, conjuncts *into, const conjuncts *with)
{
    const value **keep = ARENA_ARRAY(s->scratch, const value *, into->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < into->n; i++) {
        if (contains(with, into->v[i]))
            keep[n++] = into->v[i];
    }
    *into = (conjuncts){.v = keep, .n = n};
}

static bool is_among(const conjuncts *c, const conjuncts *all)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (!contains(all, c->v[i]))
            return false;
    }
    return true;
}

static conjuncts both(sched *s, conjuncts a, const value *where)
{
    conjuncts b;
    if (!where)
        return a;
    split_conjuncts(s->scratch, where, &b);
    const value **all = ARENA_ARRAY(s->scratch, const value *, a.n + b.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++)
        all[n++] = a.v[i];
    for (uint32_t i = 0; i < b.n && n < MAX_CONJUNCTS; i++) {
        if (!contains(&a, b.v[i]))
            all[n++] = b.v[i];
    }
    return (conjuncts){.v = all, .n = n};
}

static void use(sched *s, const value *x, const user *u)
{
    plan *p = &s->plan[x->id];
    if (is_leaf(x))
        return;
    bool same =
        u->same && n_free(s, x) == u->n_space && (!u->v || s->home[x->id] == s->home[u->v->id]);
    p->under_read = p->under_read || u->reads;
    if (p->context == 0) {
        p->context = u->context;
        p->many = u->context == ANY_CONTEXT;
        p->same_space = same;
        p->need = u->need;
        p->asked = u->asked;
        p->held = u->held;
        return;
    }
    p->many = p->many || p->context != u->context || u->context == ANY_CONTEXT;
    p->same_space = p->same_space && same;
    intersect(s, &p->need, &u->need);
    intersect(s, &p->asked, &u->asked);
    intersect(s, &p->held, &u->held);
}

/* Predicates are met conjunct by conjunct. */
static void use_where(sched *s, const value *where, user u)
{
    conjuncts c;
    if (!where)
        return;
    u.need = u.asked = u.held = (conjuncts){0};
    split_conjuncts(s->scratch, where, &c);
    for (uint32_t i = 0; i < c.n; i++)
        use(s, c.v[i], &u);
}

/* c can be computed where v is: whatever of it may be stored comes before v. */
static bool is_ready(const sched *s, const value *c, const value *v, int depth)
{
    const plan *p = &s->plan[c->id];
    if (p->index_only || c->op == OP_given)
        return true;
    if (c->id < v->id && in_region_around(s, v, s->home[c->id]))
        return true;
    const value *x = c->n_args ? c->args[0] : c;
    bool read = c->op == OP_read && x->op == OP_input && !p->unsafe &&
                !(s->step_axis && s->step_axis[x->id] >= 0);
    bool ready = (OP_HAS(c->op, T_ELEM) || read) && is_cheap(c, p) && !p->stored && depth < 8;
    for (uint32_t i = 0; i < c->n_args && ready; i++)
        ready = is_ready(s, c->args[i], v, depth + 1);
    return ready && !c->where;
}

/* What v's nest may be restricted to: conjuncts over its own indices that are known before it. */
static void limit(sched *s, const value *v, conjuncts *need)
{
    const value **keep = ARENA_ARRAY(s->scratch, const value *, need->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < need->n; i++) {
        const value *c = need->v[i];
        bool known = is_ready(s, c, v, 0);
        for (uint32_t k = 0; k < c->n_ix && known; k++)
            known = value_has_ix(v, c->ix[k]) || is_step_of(s, v, c->ix[k]);
        if (known)
            keep[n++] = c;
    }
    *need = (conjuncts){.v = keep, .n = n};
}

/* --- reads --- */

/* No element of the source is asked for twice: each index value follows one index of v, each a
 * different one. */
static bool is_injective(const sched *s, const value *v)
{
    const value *x = v->args[0];
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        const value *at = v->args[k + 1];
        uint32_t moving = 0;
        for (uint32_t i = 0; i < at->n_ix; i++) {
            if (is_step_of(s, v, at->ix[i]))
                continue;
            if (range_slope(s->range, at, at->ix[i]) != 1)
                return false;
            for (uint32_t j = 0; j < k; j++) {
                if (value_has_ix(v->args[j + 1], at->ix[i]))
                    return false;
            }
            moving++;
        }
        if (moving > 1)
            return false;
        n += moving;
    }
    return n == n_free(s, v);
}

/* --- row form --- */

static bool runs_along(const sched *s, const value *v, const ix *i)
{
    bool any = false;
    for (uint32_t k = 0; k < v->n_args; k++) {
        int st = stride_of(s, v->args[k], i);
        if (st == 2)
            return false;
        any = any || st == 1;
    }
    return any;
}

static bool row_possible(const sched *s, const value *v, const ix *i)
{
    return !is_step_of(s, v, i) && !(v->where && value_has_ix(v->where, i)) && value_has_ix(v, i) &&
           runs_along(s, v, i);
}

/* Sums whose elements go where data says: a row along which the operands lie is added at once.
 * False: not so. */
static bool choose_scatter(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    scatter *t = ARENA_NEW(s->scratch, scatter);
    if (p->inexact || p->in_score || !scatter_find(&s->live, s->home, v, t))
        return false;
    p->scatter = t;
    if (p->buf) {
        p->row_form = p->buf->rank && row_possible(s, v, p->axes[p->buf->rank - 1]);
        return true;
    }
    const ix **last = ARENA_ARRAY(s->scratch, const ix *, 1);
    *last = t->ix[0].i;
    for (uint32_t i = v->n_ix; i-- > 0 && !p->row_form;) {
        p->row_form = row_possible(s, v, v->ix[i]);
        *last = p->row_form ? v->ix[i] : *last;
    }
    p->axes = last; /* make_temp puts it last */
    return true;
}

/* Sums whose operands lie along a free index and not along the last bound one. */
static void choose_form(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    if (choose_scatter(s, v))
        return;
    bool sum =
        v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum && v->dt != DT_I64);
    if (!sum || p->inexact || p->in_score || runs_along(s, v, v->bound[v->n_bound - 1]) ||
        may_tile(s, v))
        return;
    if (p->buf) {
        p->row_form = p->buf->rank && row_possible(s, v, p->axes[p->buf->rank - 1]);
        return;
    }
    for (uint32_t i = v->n_ix; i-- > 0;) {
        if (!row_possible(s, v, v->ix[i]))
            continue;
        const ix **last = ARENA_ARRAY(s->scratch, const ix *, 1);
        *last = v->ix[i];
        p->axes = last; /* make_temp puts it last */
        p->row_form = true;
        return;
    }
}

/* --- decisions --- */

bool is_cheap(const value *v, const plan *p)
{
    return p->index_only || (!p->costly && p->cost <= (v->dt == DT_BOOL ? CHEAP_BOOL : CHEAP));
}

/* Without fuse-maps: which maps stay where they are used. */
static bool stays_in_place(const plan *p)
{
    return p->index_only || p->in_score || p->may_fail || p->context == 0;
}

static void count_map(const sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    form(s, p->stored                   ? RULE_maps_stored
            : !p->many && p->same_space ? RULE_maps_once
            : p->in_score               ? RULE_maps_score
                                        : RULE_maps_again);
}

/* Computing it may set a status, whatever its operands do. */
static bool fails_itself(const sched *s, const value *v)
{
    return checks(s, v) || (v->op == OP_read && s->plan[v->id].unsafe);
}

static bool must_store(const sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    bool once = !p->many && p->same_space;
    if (fails_itself(s, v) && !is_among(&p->asked, &p->held))
        return true;
    if (OP_HAS(v->op, T_ELEM) && !decides(s, CHOICE_fuse_maps) && !stays_in_place(p))
        return true;
    if (v->op == OP_join)
        return p->many || p->under_read; /* else loops split along its axis */
    if (OP_HAS(v->op, T_BINDS))
        return !once || p->row_form || p->scatter;
    return !once && !is_cheap(v, p) && !p->in_score;
}

/* What stands under v: v's own block of code, or the one where v is computed. */
static user user_of(sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    user u = {.v = v, .n_space = n_free(s, v), .need = p->need, .asked = p->asked};
    u.held = p->guarded ? p->asked : p->stored ? p->need : p->held;
    u.context = p->stored ? new_context(s) : p->many ? ANY_CONTEXT : p->context;
    u.same = p->stored || p->same_space;
    return u;
}

/* A block of code inside that one. */
static void enter(sched *s, const value *v, user *u)
{
    const plan *p = &s->plan[v->id];
    u->context = p->stored || !p->many ? new_context(s) : ANY_CONTEXT;
}

/* Those that can be said of what is read. */
static conjuncts on_source(sched *s, const value *read, conjuncts all)
{
    const value **keep = ARENA_ARRAY(s->scratch, const value *, all.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        keep[n] = condition_on_source(s, read, all.v[i]);
        n += keep[n] != NULL;
    }
    return (conjuncts){.v = keep, .n = n};
}

static void use_read(sched *s, const value *v, user u)
{
    for (uint32_t i = 1; i < v->n_args; i++)
        use(s, v->args[i], &u);
    use_where(s, v->where, u);
    enter(s, v, &u);
    u.reads = true;
    u.asked = on_source(s, v, both(s, u.asked, v->where));
    u.held = on_source(s, v, both(s, u.held, v->where));
    u.need = (conjuncts){0};
    u.same = u.same && is_injective(s, v);
    u.n_space = n_free(s, v->args[0]);
    use(s, v->args[0], &u);
}

/* Those that do not depend on i. */
static conjuncts without(sched *s, conjuncts all, const ix *i)
{
    const value **keep = ARENA_ARRAY(s->scratch, const value *, all.n);
    uint32_t n = 0;
    for (uint32_t k = 0; k < all.n; k++) {
        if (!value_has_ix(all.v[k], i))
            keep[n++] = all.v[k];
    }
    return (conjuncts){.v = keep, .n = n};
}

static void use_join(sched *s, const value *v, user u)
{
    u.need = (conjuncts){0};
    u.asked = without(s, u.asked, v->bound[0]);
    u.held = without(s, u.held, v->bound[0]);
    for (uint32_t i = 0; i < v->n_args; i++) {
        enter(s, v, &u);
        u.n_space = n_free(s, v) - 1 + value_has_ix(v->args[i], v->bound[i + 1]);
        use(s, v->args[i], &u);
    }
}

/* Reductions, contractions and normalisers: operands and predicate are met in a loop over the bound
 * indices, which for some of them runs more than once. */
static void use_bound(sched *s, const value *v, user u)
{
    bool norm = OP_HAS(v->op, T_NORM);
    enter(s, v, &u);
    if (norm)
        u.need = u.asked = u.held = (conjuncts){0};
    else
        u.n_space += v->n_bound;
    if (v->op == OP_reduce && v->kind == RED_logsumexp)
        u.context = ANY_CONTEXT;
    user w = u;
    if (norm)
        w.context = ANY_CONTEXT;
    use_where(s, v->where, w);
    u.need = both(s, u.need, v->where);
    u.asked = both(s, u.asked, v->where);
    u.held = both(s, u.held, v->where);
    for (uint32_t i = 0; i < v->n_args; i++)
        use(s, v->args[i], &u);
}

/* x has an index of the row and one that is bound. A step of a recurrence is a row to what lies
 * outside of it. */
static bool is_pairwise(const sched *s, const value *on, const value *x)
{
    bool row = false, bound = false;
    for (uint32_t i = 0; i < on->n_ix; i++)
        row = row || (value_has_ix(x, on->ix[i]) && !is_step_of(s, x, on->ix[i]));
    for (uint32_t i = 0; i < on->n_bound; i++)
        bound = bound || value_has_ix(x, on->bound[i]);
    return row && bound;
}

static bool has_all(const value *x, const ix *const *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!value_has_ix(x, list[i]))
            return false;
    }
    return true;
}

/* What a score or predicate is made of for each pair of row and bound index is computed again for
 * each of its users: stored, it would be as large as what online ops are there to avoid, or larger.
 * But for what a sum in the score would compute several times, and for sums of one step of a
 * recurrence, of which there are no more than keys. */
static void keep_in_score(sched *s, const value *on, const value *x, unsigned *budget)
{
    bool sum = x->op == OP_contract || x->op == OP_reduce;
    bool of_step = sum && s->home[on->id] && s->home[x->id] == s->home[on->id];
    if (*budget == 0 || is_leaf(x) || s->plan[x->id].stored || !is_pairwise(s, on, x) ||
        (!sum && x->op != OP_read && !OP_HAS(x->op, T_ELEM)))
        return;
    (*budget)--;
    s->plan[x->id].in_score = !of_step;
    if (x->op == OP_read)
        return;
    for (uint32_t i = 0; i < x->n_args; i++) {
        const value *a = x->args[i];
        if (of_step && s->home[a->id] == s->home[on->id])
            continue;
        bool once = has_all(a, x->ix, x->n_ix) && has_all(a, x->bound, x->n_bound);
        if (!sum || once || a->op == OP_read)
            keep_in_score(s, on, a, budget);
    }
    if (x->where)
        keep_in_score(s, on, x->where, budget);
}

/* Online ops: the row of scores once, then a loop for each stream. Parts ask for nothing more. */
static void use_online(sched *s, const value *v)
{
    unsigned budget = 128;
    keep_in_score(s, v, v->args[0], &budget);
    if (v->where)
        keep_in_score(s, v, v->where, &budget);
    user u = {.v = v, .context = ANY_CONTEXT, .same = true};
    u.n_space = n_free(s, v) + v->n_bound;
    use_where(s, v->where, u);
    u.need = both(s, u.need, v->where);
    u.asked = both(s, u.asked, v->where);
    u.held = both(s, u.held, v->where);
    for (uint32_t i = 0; i < v->n_args; i++) {
        const value *x = v->args[i];
        user w = u;
        w.context = new_context(s);
        for (uint32_t k = 0; k < x->n_ix; k++) {
            bool known = value_has_ix(v, x->ix[k]) || is_step_of(s, v, x->ix[k]);
            for (uint32_t j = 0; j < v->n_bound; j++)
                known = known || v->bound[j] == x->ix[k];
            w.n_space += !known;
        }
        use(s, x, &w);
    }
}

static void pass_on(sched *s, const value *v)
{
    user u = user_of(s, v);
    if (v->op == OP_read) {
        use_read(s, v, u);
    } else if (v->op == OP_join) {
        use_join(s, v, u);
    } else if (OP_HAS(v->op, T_BINDS | T_NORM)) {
        use_bound(s, v, u);
    } else {
        for (uint32_t i = 0; i < v->n_args; i++)
            use(s, v->args[i], &u);
        if (v->where)
            use(s, v->where, &u);
    }
}

void plan_uses(sched *s)
{
    for (size_t i = 0; i < s->g->results.n; i++) {
        const out *o = &s->outs[i];
        user u = {.context = new_context(s), .same = true};
        u.n_space = s->g->results.v[i].n_axes - (o->step_axis >= 0);
        /* what the beginning knows is not computed again for each call */
        if (s->step_scan && s->home[o->v->id] == 0)
            u.same = false;
        use(s, o->v, &u);
    }
    for (size_t i = s->live.n; i-- > 0;) {
        const value *v = s->live.v[i];
        plan *p = &s->plan[v->id];
        if (is_leaf(v) || v->op == OP_history || v->op == OP_result || v->op == OP_scan)
            continue;
        if (v->op == OP_append && p->done && !p->buf && !s->plan[v->args[0]->id].buf)
            continue; /* a history that no step reads */
        if (v->op == OP_append) {
            user u = {.v = v, .context = new_context(s), .same = true};
            u.n_space = n_free(s, v->args[1]);
            use(s, v->args[1], &u);
            continue;
        }
        if (v->op == OP_part)
            continue;
        if (v->op == OP_online) {
            use_online(s, v);
            continue;
        }
        if (OP_HAS(v->op, T_BINDS))
            choose_form(s, v);
        limit(s, v, &p->need);
        limit(s, v, &p->asked);
        p->stored = p->stored || must_store(s, v);
        if (!p->stored)
            p->row_form = false;
        if (OP_HAS(v->op, T_ELEM))
            count_map(s, v);
        p->guarded = p->stored && fails_itself(s, v) && !is_among(&p->asked, &p->need);
        if (OP_HAS(v->op, T_NORM))
            p->need = p->asked = (conjuncts){0};
        pass_on(s, v);
    }
}
