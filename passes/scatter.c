/* scatter.c: finds sums whose elements go where data says: a conjunct `data == i` of the predicate,
 * with i free in the sum and data an int that has bound indices but not i. What is added stays in
 * the order of the bound indices for each element, so this is a matter of loops alone. */
#include "passes/scatter.h"

/* So few elements known when compiling are summed as fast one by one, in the lanes of vectors. */
enum { FEW_ELEMENTS = 16, MAX_CONDITIONS = 64 };

static bool is_step(const value_list *live, const uint32_t *home, const value *v, const ix *i)
{
    for (uint32_t r = home[v->id]; r;) {
        const value *scan = NULL;
        for (size_t k = 0; k < live->n && !scan; k++) {
            if (live->v[k]->op == OP_scan && live->v[k]->scan == r - 1)
                scan = live->v[k];
        }
        if (!scan || scan->bound[0] == i)
            return true;
        r = home[scan->id];
    }
    return false;
}

/* Kinds whose elements meet one accumulator, whatever it holds. The greatest of no int has no
 * number to begin with. */
static bool is_kind(const value *v)
{
    if (v->op == OP_contract)
        return true;
    if (v->op != OP_reduce)
        return false;
    switch ((reduce_kind)v->kind) {
    case RED_sum:
    case RED_prod:
    case RED_any:
    case RED_all:
    case RED_count:
        return true;
    case RED_max:
    case RED_min:
        return v->dt != DT_I64;
    default:
        return false;
    }
}

static bool is_shift(const value *v)
{
    const int64_t most = (int64_t)1 << 40;
    return v->op == OP_dim ||
           (v->op == OP_const && v->dt == DT_I64 && -most <= v->i && v->i <= most);
}

/* x is an index, or one plus or minus what no sum of which can overflow. */
static bool solve(const value *x, scatter_ix *out)
{
    *out = (scatter_ix){0};
    if (x->where)
        return false;
    if ((x->op == OP_add || x->op == OP_sub) && x->dt == DT_I64) {
        bool first = x->args[0]->op == OP_index;
        if (!first && x->op == OP_sub)
            return false;
        out->off = x->args[first];
        out->minus = x->op == OP_add;
        x = x->args[!first];
        if (!is_shift(out->off))
            return false;
    }
    if (x->op == OP_index)
        out->i = x->ix[0];
    return out->i != NULL;
}

static bool has_bound(const value *v, const value *x)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (value_has_ix(x, v->bound[k]))
            return true;
    }
    return false;
}

bool scatter_gives(const scatter *t, const ix *i)
{
    for (uint32_t k = 0; k < t->n; k++) {
        if (t->ix[k].i == i)
            return true;
    }
    return false;
}

bool scatter_mentions(const scatter *t, const value *v)
{
    for (uint32_t k = 0; k < t->n; k++) {
        if (value_has_ix(v, t->ix[k].i))
            return true;
    }
    return false;
}

static void add_conjunct(const value_list *live, const uint32_t *home, const value *v,
                         const value *c, scatter *t)
{
    if (c->op != OP_eq || c->where || c->args[0]->dt != DT_I64)
        return;
    for (int side = 0; side < 2 && t->n < SCATTER_MAX; side++) {
        scatter_ix x;
        if (!solve(c->args[side], &x))
            continue;
        x.conjunct = c;
        x.data = c->args[1 - side];
        if (x.data->op == OP_index)
            continue; /* a bound of the loop over that index */
        bool clear = !scatter_mentions(t, x.data) && !scatter_gives(t, x.i);
        for (uint32_t k = 0; k < t->n; k++)
            clear = clear && !value_has_ix(t->ix[k].data, x.i);
        if (clear && value_has_ix(v, x.i) && !value_has_ix(x.data, x.i) && has_bound(v, x.data) &&
            !is_step(live, home, v, x.i)) {
            t->ix[t->n++] = x;
            return;
        }
    }
}

static bool pays(const scatter *t)
{
    int64_t all = 1;
    for (uint32_t k = 0; k < t->n; k++) {
        int64_t n;
        if (!dim_is_const(t->ix[k].i->extent, &n) || n > FEW_ELEMENTS)
            return true;
        all *= n;
    }
    return all > FEW_ELEMENTS;
}

bool scatter_find(const value_list *live, const uint32_t *home, const value *v, scatter *out)
{
    scatter own;
    scatter *t = out ? out : &own;
    t->n = 0;
    if (!v->where || !is_kind(v))
        return false;
    const value *todo[MAX_CONDITIONS];
    uint32_t n = 0;
    todo[n++] = v->where;
    while (n) {
        const value *c = todo[--n];
        if (c->op == OP_and && !c->where && n + 2 <= MAX_CONDITIONS) {
            todo[n++] = c->args[1];
            todo[n++] = c->args[0];
        } else {
            add_conjunct(live, home, v, c, t);
        }
    }
    if (!t->n || !pays(t))
        t->n = 0;
    return t->n > 0;
}
