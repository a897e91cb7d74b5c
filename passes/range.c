/* range.c: bounds of ints. Two views of each value, made once in id order: a linear form over its
 * indices with dims as coefficients, for proofs against extents; and an interval of 64-bit numbers,
 * for overflow. */
#include "passes/range.h"

#include <string.h>

enum { MAX_TERMS = 8, MAX_FACTS = 12, MAX_STEPS = 2 };

#define COUNT_LIMIT                                                                                \
    ((int64_t)1 << 62) /* elements of an axis; so the size of any index or extent                  \
                        */

typedef struct term {
    const value *atom; /* an index, or an int that is no linear form */
    const dim *coef;
} term;

/* c + the sum of the terms. */
typedef struct linear {
    uint32_t n;
    term t[MAX_TERMS];
    const dim *c;
} linear;

typedef struct interval {
    int64_t lo, hi;
} interval;

struct range {
    const graph *g;
    arena *a;
    dims *d;
    const linear **form; /* by value id; NULL: not an int */
    interval *num;       /* by value id */
    bool *fits;          /* by value id */
    const dim **extents; /* every extent of the graph, once */
    size_t n_extents;
};

static const interval everything = {INT64_MIN, INT64_MAX};

/* --- linear forms --- */

/* into += x * by; false where it grows too large. */
static bool add_scaled(range *r, linear *into, const linear *x, const dim *by)
{
    into->c = dim_add(r->d, into->c, dim_mul(r->d, x->c, by));
    if (!into->c)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t k = 0;
        while (k < into->n && into->t[k].atom != x->t[i].atom)
            k++;
        if (k == MAX_TERMS)
            return false;
        if (k == into->n)
            into->t[into->n++] = (term){x->t[i].atom, dim_const(r->d, 0)};
        into->t[k].coef = dim_add(r->d, into->t[k].coef, dim_mul(r->d, x->t[i].coef, by));
        if (!into->t[k].coef)
            return false;
        int64_t zero;
        if (dim_is_const(into->t[k].coef, &zero) && zero == 0)
            into->t[k] = into->t[--into->n];
    }
    return true;
}

static linear constant(const dim *c)
{
    return (linear){.c = c};
}

static bool linear_op(range *r, const value *v, linear *out)
{
    const linear *a = v->n_args > 0 ? r->form[v->args[0]->id] : NULL;
    const linear *b = v->n_args > 1 ? r->form[v->args[1]->id] : NULL;
    const dim *one = dim_const(r->d, 1), *minus = dim_const(r->d, -1);
    switch (v->op) {
    case OP_const:
        out->c = dim_const(r->d, v->i);
        return true;
    case OP_dim:
        out->c = v->dim;
        return true;
    case OP_neg:
        return !v->where && add_scaled(r, out, a, minus);
    case OP_add:
        return !v->where && add_scaled(r, out, a, one) && add_scaled(r, out, b, one);
    case OP_sub:
        return !v->where && add_scaled(r, out, a, one) && add_scaled(r, out, b, minus);
    case OP_mul:
        if (v->where || (a->n && b->n))
            return false;
        return a->n ? add_scaled(r, out, a, b->c) : add_scaled(r, out, b, a->c);
    default:
        return false;
    }
}

static const linear *linear_of(range *r, const value *v)
{
    linear x = constant(dim_const(r->d, 0));
    if (!linear_op(r, v, &x)) {
        x = constant(dim_const(r->d, 0));
        x.n = 1;
        x.t[0] = (term){v, dim_const(r->d, 1)};
    }
    return arena_copy(r->a, &x, sizeof x);
}

/* --- proofs --- */

typedef struct proof {
    range *r;
    const value *at;
    linear fact[MAX_FACTS]; /* each >= 0 */
    uint32_t n;
} proof;

static bool occurs_as_factor(const dim *extent, const dim_atom *atom)
{
    if (extent->n != 1 || extent->terms[0].coef < 0)
        return false;
    for (uint32_t i = 0; i < extent->terms[0].n; i++) {
        if (extent->terms[0].atoms[i] == atom)
            return true;
    }
    return false;
}

/* d >= 1 wherever `at` has an element: where an extent is a product, none of its factors is 0. */
static bool positive(range *r, const dim *d, const value *at)
{
    if (dim_proved_le(r->d, dim_const(r->d, 1), d))
        return true;
    if (d->n != 1 || d->terms[0].coef < 1)
        return false;
    for (uint32_t i = 0; i < d->terms[0].n; i++) {
        const dim_atom *atom = d->terms[0].atoms[i];
        bool found = false;
        for (uint32_t k = 0; atom->kind == ATOM_SYM && k < at->n_ix; k++)
            found = found || occurs_as_factor(at->ix[k]->extent, atom);
        if (!found)
            return false;
    }
    return true;
}

/* The largest value of an atom as a dim, or NULL; *low is whether it is never negative. */
static const dim *atom_bounds(range *r, const value *atom, const value *at, bool *low)
{
    const dim *one = dim_const(r->d, 1);
    *low = r->num[atom->id].lo >= 0;
    if (atom->op == OP_index)
        return dim_sub(r->d, atom->ix[0]->extent, one);
    if (atom->op == OP_imod && !atom->where) {
        const linear *b = r->form[atom->args[1]->id];
        if (b->n == 0 && positive(r, b->c, at)) {
            *low = true;
            return dim_sub(r->d, b->c, one);
        }
    }
    int64_t hi = r->num[atom->id].hi;
    return hi <= COUNT_LIMIT && hi >= -COUNT_LIMIT ? dim_const(r->d, hi) : NULL;
}

/* The least (least = true) or largest value of x as a dim, from the bounds of its atoms; NULL:
 * unknown. */
static const dim *extreme(range *r, const linear *x, const value *at, bool least)
{
    const dim *c = x->c, *zero = dim_const(r->d, 0);
    for (uint32_t i = 0; c && i < x->n; i++) {
        bool low;
        const dim *high = atom_bounds(r, x->t[i].atom, at, &low);
        bool up = dim_proved_le(r->d, zero, x->t[i].coef);
        if (!up && !dim_proved_le(r->d, x->t[i].coef, zero))
            return NULL;
        if (up == least) {
            if (!low)
                return NULL;
        } else {
            c = high ? dim_add(r->d, c, dim_mul(r->d, x->t[i].coef, high)) : NULL;
        }
    }
    return c;
}

static bool prove(proof *p, const linear *goal, int steps);

/* goal with term i replaced by coef * x, and then >= 0? */
static bool prove_with(proof *p, const linear *goal, uint32_t i, const value *x, int steps)
{
    linear g = *goal;
    const dim *coef = g.t[i].coef;
    g.t[i] = g.t[--g.n];
    return add_scaled(p->r, &g, p->r->form[x->id], coef) && prove(p, &g, steps);
}

/* floor(a / b) <= rest  iff  a < (rest + 1) b;   floor(a / b) >= -rest  iff  a >= -rest b.    (b >
 * 0) */
static bool prove_quotient(proof *p, const linear *goal, uint32_t i, bool negative, int steps)
{
    range *r = p->r;
    const value *q = goal->t[i].atom;
    const linear *a = r->form[q->args[0]->id], *b = r->form[q->args[1]->id];
    if (q->where || b->n || !positive(r, b->c, p->at))
        return false;
    const dim *one = dim_const(r->d, 1);
    linear rest = *goal, g = constant(dim_const(r->d, 0));
    rest.t[i] = rest.t[--rest.n];
    if (negative)
        rest.c = dim_add(r->d, rest.c, one);
    if (!rest.c || !add_scaled(r, &g, &rest, b->c) ||
        !add_scaled(r, &g, a, negative ? dim_const(r->d, -1) : one))
        return false;
    if (negative)
        g.c = dim_sub(r->d, g.c, one);
    return g.c && prove(p, &g, steps);
}

/* Choices and quotients in the goal. */
static bool prove_parts(proof *p, const linear *goal, int steps)
{
    for (uint32_t i = 0; i < goal->n; i++) {
        const value *v = goal->t[i].atom;
        int64_t sign;
        if (!dim_is_const(goal->t[i].coef, &sign))
            continue;
        if (v->op == OP_max || v->op == OP_min) {
            bool first = prove_with(p, goal, i, v->args[0], steps);
            bool either = (v->op == OP_max) == (sign > 0);
            if (either == first)
                return first;
            return prove_with(p, goal, i, v->args[1], steps);
        }
        if (v->op == OP_select)
            return prove_with(p, goal, i, v->args[1], steps) &&
                   prove_with(p, goal, i, v->args[2], steps);
        if (v->op == OP_idiv && (sign == 1 || sign == -1) &&
            prove_quotient(p, goal, i, sign < 0, steps))
            return true;
    }
    return false;
}

static bool prove(proof *p, const linear *goal, int steps)
{
    range *r = p->r;
    const dim *zero = dim_const(r->d, 0);
    const dim *least = extreme(r, goal, p->at, true);
    if (least && dim_proved_le(r->d, zero, least))
        return true;
    if (steps == 0)
        return false;
    if (prove_parts(p, goal, steps - 1))
        return true;
    for (uint32_t i = 0; i < p->n; i++) {
        linear g = *goal;
        if (add_scaled(r, &g, &p->fact[i], dim_const(r->d, -1)) && prove(p, &g, steps - 1))
            return true;
    }
    return false;
}

/* b - a - less >= 0 is known. */
static void add_fact(proof *p, const value *a, const value *b, int64_t less)
{
    range *r = p->r;
    if (p->n == MAX_FACTS || a->dt != DT_I64)
        return;
    linear f = constant(dim_const(r->d, -less));
    if (add_scaled(r, &f, r->form[b->id], dim_const(r->d, 1)) &&
        add_scaled(r, &f, r->form[a->id], dim_const(r->d, -1)))
        p->fact[p->n++] = f;
}

static void add_facts(proof *p, const value *where, int depth)
{
    if (where->op == OP_and && depth < 16) {
        add_facts(p, where->args[0], depth + 1);
        add_facts(p, where->args[1], depth + 1);
    } else if (where->op == OP_le || where->op == OP_lt) {
        add_fact(p, where->args[0], where->args[1], where->op == OP_lt);
    } else if (where->op == OP_ne && where->args[0]->dt == DT_I64) {
        for (int k = 0; k < 2; k++) { /* not 0 and never negative */
            const value *zero = where->args[k], *x = where->args[1 - k];
            if (zero->op == OP_const && zero->i == 0 && p->r->num[x->id].lo >= 0)
                add_fact(p, zero, x, 1);
        }
    } else if (where->op == OP_eq) {
        add_fact(p, where->args[0], where->args[1], 0);
        add_fact(p, where->args[1], where->args[0], 0);
    }
}

static proof *proof_new(range *r, const value *at, const value *where)
{
    proof *p = ARENA_NEW(r->a, proof);
    p->r = r;
    p->at = at;
    if (where)
        add_facts(p, where, 0);
    for (uint32_t i = 0; i < at->n_ix && p->n < MAX_FACTS; i++)
        p->fact[p->n++] = constant(dim_sub(r->d, at->ix[i]->extent, dim_const(r->d, 1)));
    return p;
}

bool range_not_negative(range *r, const value *e, const value *at, const value *where)
{
    return r->num[e->id].lo >= 0 || prove(proof_new(r, at, where), r->form[e->id], MAX_STEPS);
}

bool range_below(range *r, const value *e, const dim *extent, const value *at, const value *where)
{
    linear goal = constant(dim_sub(r->d, extent, dim_const(r->d, 1)));
    return goal.c && add_scaled(r, &goal, r->form[e->id], dim_const(r->d, -1)) &&
           prove(proof_new(r, at, where), &goal, MAX_STEPS);
}

bool range_inside(range *r, const value *e, const dim *extent, const value *at, const value *where)
{
    if (e->op == OP_index && e->ix[0]->extent == extent)
        return true;
    return range_not_negative(r, e, at, where) && range_below(r, e, extent, at, where);
}

/* --- numbers --- */

static interval join(interval a, interval b)
{
    return (interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* The largest value of a dim whose symbols are 0 .. DIM_LIMIT, at most COUNT_LIMIT. */
static int64_t dim_high(const dim *d)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        int64_t x = d->terms[i].coef;
        if (x < 0 && d->terms[i].n)
            continue;
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            if (d->terms[i].atoms[k]->kind != ATOM_SYM || __builtin_mul_overflow(x, DIM_LIMIT, &x))
                return COUNT_LIMIT;
        }
        if (__builtin_add_overflow(sum, x, &sum))
            return COUNT_LIMIT;
    }
    return sum < COUNT_LIMIT ? sum : COUNT_LIMIT;
}

static bool int_op(op_id op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case OP_add:
        return !__builtin_add_overflow(a, b, out);
    case OP_sub:
        return !__builtin_sub_overflow(a, b, out);
    default:
        return !__builtin_mul_overflow(a, b, out);
    }
}

/* The interval of an op that may overflow; false where it does. */
static bool arithmetic(op_id op, interval a, interval b, interval *out)
{
    if (op == OP_neg || op == OP_abs) {
        if (a.lo == INT64_MIN)
            return false;
        interval n = {-a.hi, -a.lo};
        *out = op == OP_neg || a.hi <= 0 ? n
               : a.lo >= 0               ? a
                                         : (interval){0, a.hi > n.hi ? a.hi : n.hi};
        return true;
    }
    const int64_t x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi};
    for (int i = 0; i < 4; i++) {
        int64_t z;
        if (!int_op(op, x[i / 2], y[i % 2], &z))
            return false;
        *out = i == 0 ? (interval){z, z} : join(*out, (interval){z, z});
    }
    return true;
}

/* A linear form over indices that lies between minus an extent and an extent cannot be too large.
 */
static bool within_an_extent(range *r, const value *v)
{
    linear x = constant(dim_const(r->d, 0));
    if (v->where || !linear_op(r, v, &x))
        return false;
    const dim *low = extreme(r, &x, v, true), *high = extreme(r, &x, v, false);
    bool low_fits = low && dim_proved_le(r->d, dim_const(r->d, -COUNT_LIMIT), low);
    bool high_fits = high && dim_proved_le(r->d, high, dim_const(r->d, COUNT_LIMIT));
    for (size_t i = 0; low && high && i < r->n_extents && !(low_fits && high_fits); i++) {
        const dim *e = r->extents[i];
        high_fits = high_fits || dim_proved_le(r->d, high, e);
        low_fits = low_fits || dim_proved_le(r->d, dim_sub(r->d, dim_const(r->d, 0), e), low);
    }
    return low_fits && high_fits;
}

static interval divided(const range *r, const value *v, interval a, interval b)
{
    if (v->op == OP_imod && b.lo >= 0)
        return (interval){0, b.hi > 0 ? b.hi - 1 : 0};
    if (v->op == OP_idiv && range_divides(r, v) && b.lo >= 0)
        return (interval){a.lo < 0 ? a.lo : 0, a.hi > 0 ? a.hi : 0};
    return everything;
}

static interval masked(interval a, interval b)
{
    if (a.lo >= 0 && b.lo >= 0)
        return (interval){0, a.hi < b.hi ? a.hi : b.hi};
    if (a.lo >= 0 || b.lo >= 0)
        return (interval){0, a.lo >= 0 ? a.hi : b.hi};
    return everything;
}

static interval stored(int kind)
{
    switch (kind) {
    case ST_I32:
        return (interval){INT32_MIN, INT32_MAX};
    case ST_U8:
        return (interval){0, UINT8_MAX};
    default:
        return everything;
    }
}

static interval number_of(range *r, const value *v)
{
    interval a = v->n_args > 0 ? r->num[v->args[0]->id] : everything;
    interval b = v->n_args > 1 ? r->num[v->args[1]->id] : everything;
    interval x = everything;
    switch (v->op) {
    case OP_const:
        return (interval){v->i, v->i};
    case OP_dim:
        x.lo = dim_proved_le(r->d, dim_const(r->d, 0), v->dim) ? 0 : -COUNT_LIMIT;
        x.hi = dim_high(v->dim);
        return x.lo <= x.hi ? x : (interval){-COUNT_LIMIT, COUNT_LIMIT};
    case OP_index:
        x.hi = dim_high(v->ix[0]->extent);
        return (interval){0, x.hi > 0 ? x.hi - 1 : 0};
    case OP_input:
    case OP_param:
        return stored(v->kind);
    case OP_neg:
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_abs:
        r->fits[v->id] = arithmetic(v->op, a, b, &x);
        if (!r->fits[v->id] && within_an_extent(r, v)) {
            r->fits[v->id] = true;
            return (interval){-COUNT_LIMIT, COUNT_LIMIT};
        }
        return r->fits[v->id] ? x : everything;
    case OP_sign:
        return (interval){-1, 1};
    case OP_max:
        return (interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case OP_min:
        return (interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case OP_select:
        return join(b, r->num[v->args[2]->id]);
    case OP_idiv:
    case OP_imod:
        return divided(r, v, a, b);
    case OP_bitand:
        return masked(a, b);
    case OP_read:
        return a;
    case OP_join:
        for (uint32_t i = 0; i < v->n_args; i++)
            a = join(a, r->num[v->args[i]->id]);
        return a;
    case OP_reduce:
        if (v->kind == RED_count || v->kind == RED_argmax || v->kind == RED_argmin)
            return (interval){0, COUNT_LIMIT};
        return v->kind == RED_max || v->kind == RED_min ? join(a, (interval){0, 0}) : everything;
    default:
        return everything;
    }
}

range *range_new(arena *scratch, const graph *g, const value_list *live)
{
    range *r = ARENA_NEW(scratch, range);
    *r = (range){.g = g, .a = scratch, .d = g->dims};
    r->form = ARENA_ARRAY(scratch, const linear *, g->values.n);
    r->num = ARENA_ARRAY(scratch, interval, g->values.n);
    r->fits = ARENA_ARRAY(scratch, bool, g->values.n);
    r->extents = ARENA_ARRAY(scratch, const dim *, g->ixs.n);
    for (size_t i = 0; i < g->ixs.n; i++) {
        size_t k = 0;
        while (k < r->n_extents && r->extents[k] != g->ixs.v[i]->extent)
            k++;
        if (k == r->n_extents && k < 256) /* proofs try them one by one */
            r->extents[r->n_extents++] = g->ixs.v[i]->extent;
    }
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        if (v->dt != DT_I64)
            continue;
        r->form[v->id] = linear_of(r, v);
        interval x = number_of(r, v);
        r->num[v->id] = v->where ? join(x, (interval){0, 0}) : x;
    }
    return r;
}

bool range_fits(const range *r, const value *v)
{
    return r->fits[v->id];
}

bool range_divides(const range *r, const value *v)
{
    interval a = r->num[v->args[0]->id], b = r->num[v->args[1]->id];
    if (b.lo > 0 || b.hi < -1)
        return true;
    if (b.hi == -1)
        return a.lo > INT64_MIN;
    const linear *d = r->form[v->args[1]->id];
    return d->n == 0 && positive((range *)r, d->c, v);
}

static bool depends(const value *v, const ix *i)
{
    return value_has_ix(v, i);
}

int range_slope(const range *r, const value *e, const ix *i)
{
    const linear *x = r->form[e->id];
    int slope = 0;
    if (!x)
        return depends(e, i) ? 2 : 0;
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t coef;
        if (!depends(x->t[k].atom, i))
            continue;
        bool one = x->t[k].atom->op == OP_index && dim_is_const(x->t[k].coef, &coef) && coef == 1;
        slope = one && slope == 0 ? 1 : 2;
    }
    return slope;
}
