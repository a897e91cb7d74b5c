/* absence.c: where a tensor has elements that is defined by itself.
 *
 * An equation knows its support when it has been elaborated, but a recurrence reads itself before
 * that. So supports are assumed, and the equations elaborated again until what was assumed is what
 * came out:
 *
 *   1. everything is present. Most recurrences end here.
 *   2. nothing is known: a support is read through a placeholder of its own, the companion. From
 *      what comes out absence_solve.c finds the supports that need none, such as a length that is
 *      the same at every step.
 *   3. those that were found, and companions for the rest. A companion is a tensor of truth values
 *      like any other: it becomes a history beside its tensor's.
 *
 * There is only one right answer, since a step depends on steps before it: whatever agrees with
 * itself is it. Tensors that need each other are settled together: they are the strongly connected
 * components of the reads (Tarjan's algorithm, along with the elaboration itself). */
#include "frontend/absence.h"

#include <string.h>

void absence_begin(tensor *t)
{
    sema *s = t->in->s;
    absence *a = &t->absent;
    a->up = s->defining;
    s->defining = t;
    a->place = (uint32_t)s->begun.n;
    a->low = a->place;
    a->open = true;
    a->n_checks = s->g->checks.n;
    a->n_insts = s->insts.n;
    a->n_calls = s->n_calls;
    vec_push(s->a, &s->begun, t);
    if (a->early && a->up) /* one with those that read it */
        a->low = a->up->absent.low;
    t->support = a->assumed;
    t->weight = a->weight == WEIGHT_YES;
}

void absence_note(sema *s, tensor *t)
{
    tensor *by = s->defining;
    if (s->trial || !by || !t->absent.open)
        return;
    if (t->absent.low < by->absent.low)
        by->absent.low = t->absent.low;
}

/* What of p says where the indices of to[] lie: an order of steps, such as `i < t`. */
static value *order_part(sema *s, value *p, value *const *to, size_t n)
{
    if (!p)
        return NULL;
    if (p->op == OP_and)
        return b_and(s, order_part(s, p->args[0], to, n), order_part(s, p->args[1], to, n));
    bool says = false;
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < to[k]->n_ix; i++)
            says = says || value_has_ix(p, to[k]->ix[i]);
    return says && !value_is_data(p) ? p : NULL;
}

value *absence_support(env *e, tensor *t, const ix *const *from, value *const *to, size_t n,
                       value **where)
{
    sema *s = e->in->s;
    absence *a = &t->absent;
    *where = NULL;
    if (s->trial || (t->def == P_DONE && !a->open))
        return t->support;
    if (t->def != P_DONE) {
        a->asked = true;
        a->early = a->early || t->def == P_NEW; /* a tile whose turn has not come */
    }
    value *support = t->def == P_DONE ? t->support : a->assumed;
    for (size_t k = 0; support && k < n; k++)
        a->moved = a->moved || (value_has_ix(support, from[k]) &&
                                !(to[k]->op == OP_index && to[k]->ix[0] == from[k]));
    if (support) /* steps to come are not read, not even for nothing */
        *where = order_part(s, e->demand, to, n);
    return support;
}

/* --- companions --- */

/* The indices of t that its support depends on, as far as is known. */
static void support_ixs(const tensor *t, bool *over)
{
    const absence *a = &t->absent;
    const value *v = a->came;
    for (uint32_t i = 0; i < t->n_ix; i++) {
        over[i] = v && value_has_ix(v, t->ix[i]);
        for (uint32_t k = 0; a->companion && k < a->companion->n_ix; k++)
            over[i] = over[i] || a->companion->ix[k] == t->ix[i];
    }
}

/* A companion over no more indices than need be: of a vector that is absent as one it says so once.
 */
static void give_companion(sema *s, tensor *t)
{
    absence *a = &t->absent;
    bool *over = ARENA_ARRAY(s->a, bool, t->n_ix);
    support_ixs(t, over);
    a->with_companion = true;
    tensor *c = tensor_new(t->in, intern_printf(s->names, "%s.present", t->name), t->at);
    c->sig = c->def = P_DONE;
    c->dt = DT_BOOL;
    c->ix = ARENA_ARRAY(s->a, const ix *, t->n_ix);
    for (uint32_t i = 0; i < t->n_ix; i++)
        if (over[i]) {
            c->n_ctx += i < t->n_ctx;
            c->ix[c->n_ix++] = t->ix[i];
        }
    value *first = c->n_ix ? NULL : graph_int(s->g, 0);
    if (first) /* a placeholder has a row */
        c->ix[c->n_ix++] = pool_ix(s, dim_const(s->g->dims, 1), NULL, 0, "one");
    c->ph =
        graph_history(s->g, graph_new_scan(s->g), 0, c->name, DT_BOOL, c->ix, c->n_ix, c->ix[0]);
    c->ph->at = t->at;
    a->companion = c;
    a->assumed = first ? graph_read(s->g, c->ph, &first, NULL) : c->ph;
    vec_push(s->a, &s->companions, c);
}

void absence_defined(tensor *t, value *support)
{
    sema *s = t->in->s;
    absence *a = &t->absent;
    a->came = support;
    t->support = a->asked || a->with_companion ? a->assumed : support;
    if (!a->with_companion)
        return;
    tensor *c = a->companion;
    c->body = support ? support : graph_bool(s->g, true);
    c->reads.n = 0;
    for (size_t i = 0; i < t->reads.n; i++)
        vec_push(s->a, &c->reads, t->reads.v[i]);
}

typedef struct search {
    env *e;
    span at;
    VEC(const value *) seen;
} search;

static void find_reads(search *f, value *v)
{
    sema *s = f->e->in->s;
    if (!v || v->n_ix == 0 || (v->n_args == 0 && v->op != OP_history))
        return;
    for (size_t i = 0; i < f->seen.n; i++)
        if (f->seen.v[i] == v)
            return;
    vec_push(s->a, &f->seen, v);
    const value *ph = v->op == OP_read ? v->args[0] : v;
    for (size_t k = 0; k < s->companions.n && ph->op == OP_history; k++) {
        tensor *c = s->companions.v[k];
        if (c->ph != ph)
            continue;
        access r = {.of = c, .n = c->n_ix, .demand = f->e->demand, .at = f->at};
        r.index = ARENA_ARRAY(s->a, value *, c->n_ix);
        for (uint32_t i = 0; i < c->n_ix; i++)
            r.index[i] = v->op == OP_read ? v->args[1 + i] : graph_index(s->g, c->ph->ix[i]);
        vec_push(s->a, &f->e->reader->reads, r);
    }
    for (uint32_t i = 0; i < v->n_args; i++)
        find_reads(f, v->args[i]);
    find_reads(f, v->where);
}

void absence_reads(env *e, value *support, span at)
{
    sema *s = e->in->s;
    search f = {.e = e, .at = at};
    if (e->reader && !s->trial && s->companions.n)
        find_reads(&f, support);
}

/* --- instances --- */

void absence_list(inst *in)
{
    sema *s = in->s;
    if (in->listed)
        return;
    in->listed = true;
    s->n_calls++;
    vec_push(s->a, &s->insts, in);
}

bool absence_same_place(const inst *a, const inst *b)
{
    while (a && b && a != b && a->site == b->site && a->decl == b->decl) {
        a = a->parent;
        b = b->parent;
    }
    return a == b;
}

/* --- components --- */

/* Everything that was defined since t was begun is defined again: its messages about sizes and the
 * calls it made are taken back. */
static void again(tensor *t)
{
    sema *s = t->in->s;
    absence *a = &t->absent;
    for (size_t i = a->place; i < s->begun.n; i++) {
        tensor *x = s->begun.v[i];
        x->absent.open = false;
        x->reads.n = 0;
        if (x != t)
            x->def = P_NEW;
    }
    s->begun.n = a->place;
    s->g->checks.n = a->n_checks;
    for (size_t i = a->n_insts; i < s->insts.n; i++) {
        s->insts.v[i]->listed = false;
        s->insts.v[i]->dropped = true;
    }
    s->insts.n = a->n_insts;
    s->n_calls = a->n_calls;
    s->defining = a->up;
    absence_begin(t);
}

/* v reads one of the members m[0..n), or its companion. */
static bool reads_any(sema *s, const value *v, tensor *const *m, size_t n, unsigned char *seen)
{
    if (!v || seen[v->id])
        return false;
    seen[v->id] = 1;
    for (size_t i = 0; v->op == OP_history && i < n; i++)
        if (v == m[i]->ph || (m[i]->absent.companion && v == m[i]->absent.companion->ph))
            return true;
    for (uint32_t i = 0; i < v->n_args; i++)
        if (reads_any(s, v->args[i], m, n, seen))
            return true;
    return reads_any(s, v->where, m, n, seen);
}

/* What was assumed of t, one of m[0..n), came true: its support, or what that depends on. A support
 * that itself goes by steps and is read at other steps needs a history of its own: a companion. */
static bool came_true(sema *s, const tensor *t, tensor *const *m, size_t n)
{
    const absence *a = &t->absent;
    if (a->with_companion) {
        for (uint32_t i = 0; a->came && i < a->came->n_ix; i++)
            if (!value_has_ix(a->companion->ph, a->came->ix[i]))
                return false;
        return true;
    }
    if (a->asked && a->assumed != a->came && !absence_same(s, a->assumed, a->came))
        return false;
    const value *v = t->support;
    return !v || !a->moved ||
           !reads_any(s, v, m, n, ARENA_ARRAY(s->a, unsigned char, s->g->values.n + 1));
}

/* Whether t is a weight was assumed wrongly: it is not at first, and then as it came out, once. */
static bool other_weight(tensor *t)
{
    absence *a = &t->absent;
    if (!a->asked || a->weight == WEIGHT_NO || t->weight == (a->weight == WEIGHT_YES))
        return false;
    a->weight = t->weight ? WEIGHT_YES : WEIGHT_NO;
    return true;
}

/* The next assumptions about the members of a component whose first tensor is t; false: there is
 * nothing to change. */
static bool assume_next(sema *s, tensor *t, tensor *const *m, size_t n)
{
    absence *a = &t->absent;
    bool *right = ARENA_ARRAY(s->a, bool, n);
    bool wrong = false, weights = false;
    for (size_t i = 0; i < n; i++) {
        right[i] = came_true(s, m[i], m, n);
        wrong = wrong || !right[i];
        weights = other_weight(m[i]) || weights;
    }
    if (!wrong && (weights || a->phase != PHASE_COMPANIONS))
        return weights;
    if (wrong) { /* in the last phase only those that were wrong change */
        bool last = a->phase == PHASE_SOLVED;
        for (size_t i = 0; i < n; i++)
            if (!right[i] || (m[i]->absent.asked && !last))
                give_companion(s, m[i]);
        a->phase = last ? PHASE_SOLVED : PHASE_COMPANIONS;
        return true;
    }
    a->phase = PHASE_SOLVED;
    tensor **unknown = ARENA_ARRAY(s->a, tensor *, n);
    size_t k = 0, solved = 0;
    for (size_t i = 0; i < n; i++)
        if (m[i]->absent.with_companion)
            unknown[k++] = m[i];
    absence_solve(s, unknown, k);
    for (size_t i = 0; i < k; i++)
        solved += !unknown[i]->absent.with_companion;
    return solved > 0;
}

static bool is_open(const tensor *t)
{
    return t->absent.open && t->tiles.n == 0;
}

bool absence_settled(tensor *t)
{
    sema *s = t->in->s;
    absence *a = &t->absent;
    if (a->low < a->place) { /* settled with a tensor that was begun before it */
        s->defining = a->up;
        absence_note(s, t);
        return true;
    }
    size_t n = 0;
    bool bad = false;
    for (size_t i = a->place; i < s->begun.n; i++) {
        bad = bad || s->begun.v[i]->def == P_BAD;
        n += is_open(s->begun.v[i]);
    }
    tensor **m = ARENA_ARRAY(s->a, tensor *, n); /* few of those that were begun since */
    n = 0;
    for (size_t i = a->place; i < s->begun.n; i++) {
        if (is_open(s->begun.v[i]))
            m[n++] = s->begun.v[i];
    }
    if (!bad && assume_next(s, t, m, n)) {
        again(t);
        return false;
    }
    for (size_t i = a->place; i < s->begun.n; i++)
        s->begun.v[i]->absent.open = false;
    s->defining = a->up;
    if (!a->up)
        s->begun.n = 0;
    return true;
}
