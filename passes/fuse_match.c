/* fuse_match.c: finds the sums in which weights take part. A sum is `reduce sum` or `contract`; its
 * product is searched for weights along mul, weigh, div and select: a normaliser (softmax,
 * normalize), then exponentials of a score less its maximum, then a kernel that is also summed
 * alone. */
#include <string.h>

#include "passes/fuse_internal.h"
#include "passes/scatter.h"

/* --- predicates and index sets --- */

void fuse_conjuncts(arena *a, value *where, fuse_list *out)
{
    fuse_list todo = {0}, met = {0}; /* parts may be shared over and over */
    if (where)
        vec_push(a, &todo, where);
    while (todo.n) {
        value *c = todo.v[--todo.n];
        if (c->op == OP_and && !fuse_has(&met, c)) {
            vec_push(a, &met, c);
            vec_push(a, &todo, c->args[1]);
            vec_push(a, &todo, c->args[0]);
        } else if (c->op != OP_and && !fuse_has(out, c)) {
            vec_push(a, out, c);
        }
    }
}

bool fuse_has(const fuse_list *l, const value *v)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i] == v)
            return true;
    }
    return false;
}

bool fuse_same_where(arena *a, value *p, value *q)
{
    fuse_list x = {0}, y = {0};
    if (p == q)
        return true;
    fuse_conjuncts(a, p, &x);
    fuse_conjuncts(a, q, &y);
    for (size_t i = 0; i < x.n && x.n == y.n; i++) {
        if (!fuse_has(&y, x.v[i]))
            return false;
    }
    return x.n == y.n;
}

value *fuse_and(graph *g, const fuse_list *l)
{
    value *all = NULL;
    for (size_t i = 0; i < l->n; i++)
        all = all ? fuse_elem(g, OP_and, all, l->v[i]) : l->v[i];
    return all;
}

static bool among(const ix *const *list, uint32_t n, const ix *i)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == i)
            return true;
    }
    return false;
}

bool fuse_depends(const value *v, const ix *const *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (value_has_ix(v, list[k]))
            return true;
    }
    return false;
}

bool fuse_same_set(const ix *const *a, uint32_t n, const ix *const *b, uint32_t m)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!among(b, m, a[k]))
            return false;
    }
    return n == m;
}

/* --- products --- */

typedef bool is_weights(const fuse *f, const value *sum, const value *x);

/* The way from a product down to weights; false where there are none. The steps come out from the
 * weights outwards. */
static bool find_way(const fuse *f, fuse_sum *s, value *x, is_weights *test, unsigned depth)
{
    if (test(f, s->v, x)) {
        s->w = x;
        return true;
    }
    if (depth == 0 || x->where || x->n_args < 2)
        return false;
    uint32_t sides = x->op == OP_mul ? 2 : x->op == OP_weigh || x->op == OP_div ? 1 : 0;
    const value *other = x->args[x->n_args - 1];
    if (x->op == OP_select && other->op == OP_const && other->f == 0 && x->dt != DT_I64 &&
        find_way(f, s, x->args[1], test, depth - 1)) {
        s->steps[s->n_steps++] = (fuse_step){OP_select, x->args[0]};
        return true;
    }
    for (uint32_t k = 0; k < sides; k++) {
        if (find_way(f, s, x->args[k], test, depth - 1)) {
            s->steps[s->n_steps++] = (fuse_step){x->op, x->args[1 - k]};
            return true;
        }
    }
    return false;
}

static bool find_weights(const fuse *f, fuse_sum *s, is_weights *test)
{
    value *v = s->v;
    for (uint32_t k = 0; k < v->n_args; k++) {
        s->n_steps = 0;
        if (find_way(f, s, v->args[k], test, FUSE_STEPS - 1)) {
            if (v->op == OP_contract)
                s->steps[s->n_steps++] = (fuse_step){OP_mul, v->args[1 - k]};
            return true;
        }
    }
    return false;
}

bool fuse_in_stream(const fuse_sum *s, const fuse_step *t)
{
    return t->op != OP_select && fuse_depends(t->other, s->group->bound, s->group->n_bound);
}

bool fuse_is_total(const fuse_sum *s)
{
    for (uint32_t k = 0; k < s->n_steps; k++) {
        if (s->steps[k].op != OP_select)
            return false;
    }
    return s->only.n == 0 && s->rows.n == 0 && s->n_more == 0;
}

/* --- what weights are --- */

static bool is_normaliser(const fuse *f, const value *sum, const value *x)
{
    (void)f;
    (void)sum;
    return OP_HAS(x->op, T_NORM);
}

/* Of `shift`: itself, or an operand of the maxima that it is: the maximum of s over those indices.
 */
static value *maximum_in(value *shift, const value *s, const value *sum, unsigned depth)
{
    if (shift->op == OP_reduce && shift->kind == RED_max && shift->args[0] == s &&
        fuse_same_set(shift->bound, shift->n_bound, sum->bound, sum->n_bound))
        return shift;
    for (uint32_t k = 0; k < 2 && shift->op == OP_max && depth > 0; k++) {
        value *found = maximum_in(shift->args[k], s, sum, depth - 1);
        if (found)
            return found;
    }
    return NULL;
}

static value *stable_maximum(const value *sum, const value *x)
{
    if (x->op != OP_exp || x->args[0]->op != OP_sub)
        return NULL;
    return maximum_in(x->args[0]->args[1], x->args[0]->args[0], sum, 4);
}

static bool is_stable_exp(const fuse *f, const value *sum, const value *x)
{
    (void)f;
    return stable_maximum(sum, x) != NULL;
}

static bool is_costly(const value *x, unsigned depth)
{
    if (OP_HAS(x->op, T_COSTLY))
        return true;
    for (uint32_t k = 0; k < x->n_args && depth > 0 && OP_HAS(x->op, T_ELEM); k++) {
        if (is_costly(x->args[k], depth - 1))
            return true;
    }
    return false;
}

/* A value of some cost over bound and other indices that is also summed alone, by an equal sum. */
static bool is_kernel(const fuse *f, const value *sum, const value *x)
{
    if (!OP_HAS(x->op, T_ELEM) || x->dt != f->g->real || x->where || !is_costly(x, 4))
        return false;
    bool other = false;
    for (uint32_t k = 0; k < sum->n_bound; k++) {
        if (!value_has_ix(x, sum->bound[k]))
            return false;
    }
    for (uint32_t k = 0; k < x->n_ix; k++)
        other = other || !among(sum->bound, sum->n_bound, x->ix[k]);
    for (const value *t = f->total_of[x->id]; t && other; t = f->next_total[t->id]) {
        if (fuse_same_set(t->bound, t->n_bound, sum->bound, sum->n_bound) &&
            fuse_same_where(f->scratch, t->where, sum->where))
            return true;
    }
    return false;
}

/* --- sums --- */

static const char *names(arena *a, const ix *const *list, uint32_t n)
{
    strbuf b = {.a = a};
    for (uint32_t k = 0; k < n; k++)
        sb_printf(&b, "%s%s", k ? ", " : "", list[k]->name);
    return sb_text(&b);
}

/* Conditions of the sum that the weights do not have themselves. */
static void add_conditions(fuse *f, fuse_sum *s, value *own)
{
    fuse_list all = {0}, known = {0};
    fuse_conjuncts(f->scratch, s->v->where, &all);
    fuse_conjuncts(f->scratch, own, &known);
    for (uint32_t k = 0; k < s->n_steps; k++) {
        if (s->steps[k].op == OP_select)
            fuse_conjuncts(f->scratch, s->steps[k].other, &all);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (fuse_has(&known, all.v[i]))
            continue;
        bool bound = fuse_depends(all.v[i], s->group->bound, s->group->n_bound);
        vec_push(f->scratch, bound ? &s->only : &s->rows, all.v[i]);
    }
}

static bool same_group(arena *a, const fuse_group *x, const fuse_group *y)
{
    return x->kind == y->kind && x->score == y->score && x->shift == y->shift &&
           fuse_same_set(x->bound, x->n_bound, y->bound, y->n_bound) &&
           fuse_same_where(a, x->where, y->where);
}

/* Puts the sum into the group like that. */
static void join_group(fuse *f, fuse_sum *s, const fuse_group *like)
{
    s->group = NULL;
    for (size_t i = 0; i < f->groups.n && !s->group; i++) {
        if (same_group(f->scratch, f->groups.v[i], like))
            s->group = f->groups.v[i];
    }
    if (!s->group) {
        s->group = ARENA_NEW(f->scratch, fuse_group);
        *s->group = *like;
        vec_push(f->scratch, &f->groups, s->group);
    }
}

static void keep(fuse *f, const fuse_sum *s)
{
    fuse_sum *own = ARENA_NEW(f->scratch, fuse_sum);
    *own = *s;
    vec_push(f->scratch, &own->group->sums, own);
    vec_push(f->scratch, &f->sums, own);
    f->sum_of[s->v->id] = own;
}

/* Why a sum over weights of normaliser w cannot be part of it; NULL: it can. */
static const char *misfit(fuse *f, const value *sum, const value *w)
{
    for (uint32_t k = 0; k < w->n_bound; k++) {
        if (!among(sum->bound, sum->n_bound, w->bound[k]))
            return arena_printf(f->scratch, "its weights sum to 1 over %s, but are summed over %s",
                                names(f->scratch, w->bound, w->n_bound),
                                names(f->scratch, sum->bound, sum->n_bound));
    }
    if (f->home[sum->id] != f->home[w->id])
        return "its weights are the same in all steps of a recurrence whose values they weigh";
    return NULL;
}

/* The sum goes where data says, element by element: as a stream it would have as many elements for
 * each weight as there are places. It takes the
 * weights themselves. Places that the weights' own predicate names are no matter of the sum. */
static bool goes_by_data(fuse *f, const value *sum, const value *w)
{
    scatter t;
    fuse_list own = {0};
    if (!scatter_find(&f->live, f->home, sum, &t))
        return false;
    fuse_conjuncts(f->scratch, w->where, &own);
    for (uint32_t k = 0; k < t.n; k++) {
        if (!fuse_has(&own, t.ix[k].conjunct))
            return true;
    }
    return false;
}

static bool match_normaliser(fuse *f, fuse_sum *s)
{
    if (!find_weights(f, s, is_normaliser))
        return false;
    value *w = s->w;
    if (w->op == OP_hardmax)
        return false;
    const char *why = misfit(f, s->v, w);
    if (why) {
        f->why[w->id] = why;
        return false;
    }
    fuse_group like = {.kind = w->op == OP_softmax ? ON_softmax : ON_normalize,
                       .w = w,
                       .score = w->args[0],
                       .bound = w->bound,
                       .n_bound = w->n_bound,
                       .where = w->where};
    join_group(f, s, &like);
    if (goes_by_data(f, s->v, w)) {
        s->group->by_data = true;
        return false;
    }
    s->more = ARENA_ARRAY(f->scratch, const ix *, s->v->n_bound);
    for (uint32_t k = 0; k < s->v->n_bound; k++) {
        if (!among(w->bound, w->n_bound, s->v->bound[k]))
            s->more[s->n_more++] = s->v->bound[k];
    }
    add_conditions(f, s, w->where);
    return true;
}

/* The sum's own predicate and the selects on the way, which here are all conditions of the weights.
 */
static value *all_conditions(fuse *f, const fuse_sum *s)
{
    fuse_list all = {0};
    bool any = false;
    for (uint32_t k = 0; k < s->n_steps; k++)
        any = any || s->steps[k].op == OP_select;
    if (!any)
        return s->v->where;
    fuse_conjuncts(f->scratch, s->v->where, &all);
    for (uint32_t k = 0; k < s->n_steps; k++) {
        if (s->steps[k].op == OP_select)
            fuse_conjuncts(f->scratch, s->steps[k].other, &all);
    }
    return fuse_and(f->g, &all);
}

/* The maximum is that of the elements summed: equal predicates but for what no bound index has. */
static bool same_elements(fuse *f, const value *max, const fuse_group *like)
{
    fuse_list p = {0}, q = {0};
    fuse_conjuncts(f->scratch, max->where, &p);
    fuse_conjuncts(f->scratch, like->where, &q);
    for (size_t i = 0; i < p.n; i++) {
        if (!fuse_has(&q, p.v[i]))
            return false;
    }
    for (size_t i = 0; i < q.n; i++) {
        if (!fuse_has(&p, q.v[i]) && fuse_depends(q.v[i], like->bound, like->n_bound))
            return false;
    }
    return true;
}

static bool match_by_hand(fuse *f, fuse_sum *s)
{
    bool kernel = false;
    if (!find_weights(f, s, is_stable_exp)) {
        kernel = find_weights(f, s, is_kernel);
        if (!kernel)
            return false;
    }
    value *w = s->w;
    fuse_group like = {.kind = kernel ? ON_plain : ON_softmax,
                       .w = w,
                       .score = kernel ? w : w->args[0]->args[0],
                       .bound = s->v->bound,
                       .n_bound = s->v->n_bound,
                       .where = all_conditions(f, s),
                       .shift = kernel ? NULL : w->args[0]->args[1],
                       .max = kernel ? NULL : stable_maximum(s->v, w)};
    if (f->home[s->v->id] != f->home[w->id]) {
        f->why[w->id] =
            "its weights are the same in all steps of a recurrence whose values they weigh";
        return false;
    }
    if (!kernel && !same_elements(f, like.max, &like)) {
        f->why[w->id] = "its maximum is taken over other elements than its sum";
        return false;
    }
    join_group(f, s, &like);
    return true;
}

static bool is_sum(const fuse *f, const value *v)
{
    return v->dt == f->g->real &&
           (v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum));
}

void fuse_match(fuse *f)
{
    for (size_t i = f->live.n; i-- > 0;) {
        value *v = f->live.v[i];
        if (v->op == OP_reduce && is_sum(f, v)) {
            f->next_total[v->id] = f->total_of[v->args[0]->id];
            f->total_of[v->args[0]->id] = v;
        }
    }
    for (size_t i = 0; i < f->live.n; i++) {
        value *v = f->live.v[i];
        if (!is_sum(f, v))
            continue;
        fuse_sum s = {.v = v};
        if (match_normaliser(f, &s)) {
            keep(f, &s);
            continue;
        }
        s = (fuse_sum){.v = v};
        if (match_by_hand(f, &s))
            keep(f, &s);
    }
}
