/* simplify_weights.c: a condition on weights that they have themselves. A normaliser is 0 where its
 * predicate does not hold, so `select p, softmax(...) where p, 0.0` is the softmax; so is what is
 * read of a history whose rows are such weights. Nothing else of their size need then be stored. */
#include "passes/simplify_internal.h"

enum { MOST_INDICES = 16 };

/* Indices of the value at hand, and what the condition calls them. */
typedef struct renaming {
    uint32_t n;
    const ix *from[MOST_INDICES], *to[MOST_INDICES];
} renaming;

typedef struct matching {
    const value *p; /* the condition */
    unsigned budget;
} matching;

static const ix *renamed(const renaming *r, const ix *i)
{
    for (uint32_t k = 0; k < r->n; k++) {
        if (r->from[k] == i)
            return r->to[k];
    }
    return NULL;
}

static bool add(renaming *r, const ix *from, const ix *to)
{
    if (!to || r->n == MOST_INDICES)
        return false;
    r->from[r->n] = from;
    r->to[r->n++] = to;
    return true;
}

/* p reads the rows of which a scan appends one after the other, and w is the row at its step. */
static bool is_row(const renaming *r, const value *w, const value *p)
{
    if (p->op != OP_read || p->where || p->args[0]->op != OP_result)
        return false;
    const value *result = p->args[0], *append = result->args[0]->args[result->kind];
    const ix *step = append->bound[0], *rows = append->args[0]->bound[0];
    for (uint32_t k = 0; k < result->n_ix; k++) {
        const ix *i = result->ix[k] == rows ? step : result->ix[k];
        const value *at = p->args[k + 1];
        if (at->op != OP_index || renamed(r, i) != at->ix[0])
            return false;
    }
    return append->args[1] == w;
}

/* w, its indices renamed, is p. */
static bool same(matching *m, const renaming *r, const value *w, const value *p)
{
    bool fixed = w == p;
    if (m->budget == 0)
        return false;
    m->budget--;
    for (uint32_t k = 0; k < w->n_ix && fixed; k++)
        fixed = renamed(r, w->ix[k]) == w->ix[k];
    if (fixed || is_row(r, w, p))
        return true;
    if (w->op != p->op)
        return false;
    if (w->op == OP_index)
        return renamed(r, w->ix[0]) == p->ix[0];
    bool read = w->op == OP_read && w->args[0] == p->args[0];
    if ((!read && !OP_HAS(w->op, T_ELEM)) || w->where || p->where)
        return false;
    for (uint32_t k = read; k < w->n_args; k++) {
        if (!same(m, r, w->args[k], p->args[k]))
            return false;
    }
    return true;
}

static bool has_conjunct(matching *m, const renaming *r, const value *w, const value *p)
{
    if (w->op == OP_and && !w->where && m->budget)
        return has_conjunct(m, r, w->args[0], p) || has_conjunct(m, r, w->args[1], p);
    return same(m, r, w, p);
}

/* Where w holds, its indices renamed, p does. */
static bool implies(matching *m, const renaming *r, const value *w, const value *p)
{
    if (p->op == OP_and && !p->where && m->budget) {
        m->budget--;
        return implies(m, r, w, p->args[0]) && implies(m, r, w, p->args[1]);
    }
    return has_conjunct(m, r, w, p);
}

static bool is_zero_elsewhere(matching *m, const renaming *r, const value *x);

/* `read` of the rows that a scan made: each is what was appended, at its step. */
static bool row_is_zero(matching *m, const renaming *r, const value *read)
{
    const value *result = read->args[0], *append = result->args[0]->args[result->kind];
    const value *row = append->args[1];
    const ix *step = append->bound[0], *rows = append->args[0]->bound[0];
    renaming own = {0};
    for (uint32_t k = 0; k < result->n_ix; k++) {
        const ix *i = result->ix[k] == rows ? step : result->ix[k];
        if (!add(&own, i, renamed(r, read->args[k + 1]->ix[0])))
            return false;
    }
    return is_zero_elsewhere(m, &own, row);
}

static bool read_is_zero(matching *m, const renaming *r, const value *read)
{
    const value *x = read->args[0];
    renaming own = {0};
    for (uint32_t k = 0; k < x->n_ix; k++) {
        if (read->args[k + 1]->op != OP_index)
            return false;
    }
    if (x->op == OP_result)
        return row_is_zero(m, r, read);
    for (uint32_t k = 0; k < x->n_ix; k++) {
        if (!add(&own, x->ix[k], renamed(r, read->args[k + 1]->ix[0])))
            return false;
    }
    return is_zero_elsewhere(m, &own, x);
}

/* x, its indices renamed, is 0 where the condition does not hold. */
static bool is_zero_elsewhere(matching *m, const renaming *r, const value *x)
{
    if (m->budget == 0)
        return false;
    m->budget--;
    if (OP_HAS(x->op, T_NORM))
        return x->where && implies(m, r, x->where, m->p);
    if (x->op == OP_part)
        return x->kind == PART_weights && x->args[0]->where &&
               implies(m, r, x->args[0]->where, m->p);
    if (x->op == OP_weigh)
        return is_zero_elsewhere(m, r, x->args[0]);
    return x->op == OP_read && read_is_zero(m, r, x);
}

value *fold_condition(graph *g, value *v)
{
    (void)g;
    if (v->op != OP_select || !is_real_dt(v->dt) || v->args[2]->op != OP_const ||
        v->args[2]->f != 0 || __builtin_signbit(v->args[2]->f))
        return v;
    value *x = v->args[1];
    matching m = {.p = v->args[0], .budget = 256};
    renaming r = {0};
    for (uint32_t k = 0; k < x->n_ix; k++) {
        if (!add(&r, x->ix[k], x->ix[k]))
            return v;
    }
    return is_zero_elsewhere(&m, &r, x) ? x : v;
}
