/* scans_match.c: which sums separate into what depends on t and what depends on i <= t. */
#include "passes/scans_internal.h"

enum { MAX_DEPTH = 8 };

static bool is_index(const value *v, const ix *i)
{
    return v->op == OP_index && v->ix[0] == i;
}

/* --- the predicate --- */

/* i <= t or i < t of a bound i and a free t of the same extent. */
static bool as_order(const value *c, separated *p)
{
    const value *v = p->v;
    if ((c->op != OP_le && c->op != OP_lt) || c->args[0]->op != OP_index ||
        c->args[1]->op != OP_index)
        return false;
    const ix *i = c->args[0]->ix[0], *t = c->args[1]->ix[0];
    bool bound = false;
    for (uint32_t k = 0; k < v->n_bound; k++)
        bound = bound || v->bound[k] == i;
    if (!bound || !value_has_ix(v, t) || i->extent != t->extent)
        return false;
    p->i = i;
    p->t = t;
    p->strict = c->op == OP_lt;
    return true;
}

static bool split_where(separated *p, value *c, int depth)
{
    if (c->op == OP_and && depth > 0)
        return split_where(p, c->args[0], depth - 1) && split_where(p, c->args[1], depth - 1);
    if (!p->t && as_order(c, p))
        return true;
    if (p->n_where == MAX_FACTORS)
        return false;
    p->where[p->n_where++] = c;
    return true;
}

/* --- the factors --- */

/* t - i or i - t */
static bool is_power(const separated *p, const value *n)
{
    if (n->op != OP_sub || n->where)
        return false;
    return (is_index(n->args[0], p->t) && is_index(n->args[1], p->i)) ||
           (is_index(n->args[0], p->i) && is_index(n->args[1], p->t));
}

bool is_free_of_steps(const separated *p, const value *x)
{
    return !value_has_ix(x, p->i) && !value_has_ix(x, p->t);
}

/* The int n of which x is a multiple; NULL: of none. */
static value *linear(const separated *p, const value *x, int depth)
{
    if (x->where || depth == 0)
        return NULL;
    if (x->op == OP_real)
        return is_power(p, x->args[0]) ? x->args[0] : NULL;
    if (x->op == OP_neg)
        return linear(p, x->args[0], depth - 1);
    if (x->op == OP_div)
        return is_free_of_steps(p, x->args[1]) ? linear(p, x->args[0], depth - 1) : NULL;
    if (x->op != OP_mul)
        return NULL;
    uint32_t k = is_free_of_steps(p, x->args[0]) ? 1 : 0;
    return is_free_of_steps(p, x->args[1 - k]) ? linear(p, x->args[k], depth - 1) : NULL;
}

static value *decay_power(const separated *p, const value *x)
{
    if (x->op == OP_exp || x->op == OP_exp2)
        return linear(p, x->args[0], MAX_DEPTH);
    if (x->op != OP_pow || !is_free_of_steps(p, x->args[0]) || x->args[1]->op != OP_real)
        return NULL;
    /* c^(i - t) is 1/c to t - i, which is infinite for a c of 0. */
    value *n = x->args[1]->args[0];
    return is_power(p, n) && is_index(n->args[0], p->t) ? n : NULL;
}

static bool push(factor *list, uint32_t *n, factor f)
{
    if (*n == MAX_FACTORS)
        return false;
    list[(*n)++] = f;
    return true;
}

static bool take_factors(const scans *s, separated *p, value *x, bool inner, int depth)
{
    factor f = {.v = x, .inner = inner};
    if (!value_has_ix(x, p->t) && value_has_ix(x, p->i))
        return push(p->row, &p->n_rows, f);
    if (!value_has_ix(x, p->i))
        return push(p->front, &p->n_fronts, f);
    if (x->where || depth == 0)
        return false;
    f.power = decay_power(p, x);
    if (f.power)
        return push(p->decay, &p->n_decays, f);
    switch (x->op) {
    case OP_mul:
        return take_factors(s, p, x->args[0], inner, depth - 1) &&
               take_factors(s, p, x->args[1], inner, depth - 1);
    case OP_neg:
        f.v = graph_real(s->g, -1);
        return push(p->front, &p->n_fronts, f) && take_factors(s, p, x->args[0], inner, depth - 1);
    case OP_div:
        f.v = x->args[1];
        f.inverse = true;
        return !value_has_ix(x->args[1], p->i) && push(p->front, &p->n_fronts, f) &&
               take_factors(s, p, x->args[0], inner, depth - 1);
    case OP_contract:
        if (inner || p->n_inner)
            return false;
        p->inner_from = x->bound;
        p->n_inner = x->n_bound;
        return take_factors(s, p, x->args[0], true, depth - 1) &&
               take_factors(s, p, x->args[1], true, depth - 1);
    default:
        return false;
    }
}

/* --- the indices --- */

void factor_ix(const scans *s, const separated *p, const factor *f, ix_set *out)
{
    for (uint32_t k = 0; k < f->v->n_ix; k++) {
        const ix *i = f->v->ix[k];
        for (uint32_t q = 0; f->inner && q < p->n_inner; q++)
            i = f->v->ix[k] == p->inner_from[q] ? p->inner_to[q] : i;
        if (!ix_set_has(out, i))
            vec_push(s->scratch, out, i);
    }
}

bool has_kept(const scans *s, const separated *p, const factor *f)
{
    ix_set own = {0};
    factor_ix(s, p, f, &own);
    for (size_t k = 0; k < own.n; k++) {
        if (ix_set_has(&p->kept, own.v[k]))
            return true;
    }
    return false;
}

static void take_list(const scans *s, const separated *p, const factor *f, uint32_t n, ix_set *out)
{
    for (uint32_t k = 0; k < n; k++)
        factor_ix(s, p, &f[k], out);
}

static void take_outside(const scans *s, const factor *f, uint32_t n, ix_set *out)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!f[k].inner)
            ix_set_add(s->scratch, out, f[k].v, NULL, 0);
    }
}

static void rename_inner(scans *s, separated *p)
{
    ix_set taken = {0};
    ix_set_add(s->scratch, &taken, p->v, NULL, 0);
    for (uint32_t k = 0; k < p->v->n_bound; k++) {
        if (!ix_set_has(&taken, p->v->bound[k]))
            vec_push(s->scratch, &taken, p->v->bound[k]);
    }
    take_outside(s, p->row, p->n_rows, &taken);
    take_outside(s, p->front, p->n_fronts, &taken);
    take_outside(s, p->decay, p->n_decays, &taken);
    p->inner_to = ARENA_ARRAY(s->scratch, const ix *, p->n_inner);
    for (uint32_t k = 0; k < p->n_inner; k++) {
        const ix *from = p->inner_from[k];
        const ix *to = ix_set_has(&taken, from)
                           ? unused_ix(s->g, &s->places, from->name, from->extent, &taken)
                           : from;
        p->inner_to[k] = to;
        vec_push(s->scratch, &taken, to);
    }
}

/* Which of the summed indices the state keeps. */
static void sort_bound(const scans *s, separated *p)
{
    ix_set late = {0};
    take_list(s, p, p->front, p->n_fronts, &late);
    take_list(s, p, p->decay, p->n_decays, &late);
    for (uint32_t k = 0; k < p->v->n_bound + p->n_inner; k++) {
        const ix *i = k < p->v->n_bound ? p->v->bound[k] : p->inner_to[k - p->v->n_bound];
        if (i != p->i)
            vec_push(s->scratch, ix_set_has(&late, i) ? &p->kept : &p->rowed, i);
    }
}

static bool state_within(const scans *s, const separated *p, const ix_set *of)
{
    ix_set all = {0};
    take_list(s, p, p->row, p->n_rows, &all);
    take_list(s, p, p->decay, p->n_decays, &all);
    for (size_t k = 0; k < all.n; k++) {
        const ix *i = all.v[k];
        if (i != p->i && i != p->t && !ix_set_has(&p->rowed, i) && !ix_set_has(of, i))
            return false;
    }
    return true;
}

static bool is_running(const scans *s, const separated *p)
{
    for (uint32_t k = 0; k < p->n_rows; k++) {
        ix_set own = {0};
        factor_ix(s, p, &p->row[k], &own);
        if (state_within(s, p, &own))
            return true;
    }
    ix_set sum = {0};
    ix_set_add(s->scratch, &sum, p->v, NULL, 0);
    return state_within(s, p, &sum);
}

/* A sum over nothing is 0 whatever stands in front of it: where i may be excluded, nothing may. */
static bool where_fits(const separated *p)
{
    if (p->n_where && (p->n_fronts || p->n_decays || p->rowed.n || p->n_inner))
        return false;
    for (uint32_t k = 0; k < p->n_where; k++) {
        const value *c = p->where[k];
        for (uint32_t q = 0; q < c->n_ix; q++) {
            if (c->ix[q] == p->t || (c->ix[q] != p->i && !value_has_ix(p->v, c->ix[q])))
                return false;
        }
    }
    return true;
}

/* A normaliser's weights are another pass's: they never separate. */
static bool has_weights(const value *v, int depth)
{
    if (v->op == OP_weigh || OP_HAS(v->op, T_NORM))
        return true;
    bool any = false;
    for (uint32_t k = 0; k < v->n_args && depth > 0 && OP_HAS(v->op, T_ELEM); k++)
        any = any || has_weights(v->args[k], depth - 1);
    return any;
}

bool separate(scans *s, value *v, separated *p)
{
    *p = (separated){.v = v};
    bool sum = v->op == OP_contract || (v->op == OP_reduce && v->kind == RED_sum);
    if (!sum || !v->where || v->dt != s->g->real || !split_where(p, v->where, MAX_DEPTH) || !p->t)
        return false;
    bool apart = true, weights = false;
    for (uint32_t k = 0; k < v->n_args; k++) {
        weights = weights || has_weights(v->args[k], MAX_DEPTH);
        apart = apart && take_factors(s, p, v->args[k], false, MAX_DEPTH);
    }
    if (weights)
        return false;
    if (!apart)
        p->why = "its terms are no products of what depends on the step and what depends on "
                 "the earlier one";
    else if (p->n_rows == 0)
        p->why = "it has no terms of earlier steps";
    if (p->why)
        return false;
    rename_inner(s, p);
    sort_bound(s, p);
    p->running = is_running(s, p);
    if (!where_fits(p))
        p->why = "a condition besides the order of steps leaves out some of its terms";
    return !p->why;
}
