/* dim_div.c: exact division, floor division and remainder of dims. What divides for all values of
 * the symbols is carried out; the rest becomes an atom. A divisor that is not a constant counts as
 * not 0. */
#include "ir/graph/dim_internal.h"

/* The polynomial q with q * b == a, or NULL. Every round takes away the leading term of what is
 * left, which no polynomial divisible by b can avoid. */
static const dim *divide(dims *t, const dim *a, const dim *b)
{
    const dim *q = dim_const(t, 0);
    for (size_t rounds = 0; a && a->n > 0; rounds++) {
        dim_term lead;
        if (rounds > 64 || !term_div(t, &a->terms[0], &b->terms[0], &lead))
            return NULL;
        const dim *step = dim_of_terms(t, &lead, 1);
        q = dim_add(t, q, step);
        a = dim_sub(t, a, dim_mul(t, step, b));
    }
    return a ? q : NULL;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Whether the product of term x contains the atom as often as `times`. */
static bool has_atom(const dim_term *x, const dim_atom *atom, uint32_t times)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        n += x->atoms[i] == atom;
    return n >= times;
}

/* Divides both by their common integer factor and the atoms that every term of both has. */
static void cancel_common(dims *t, const dim **a, const dim **b)
{
    const dim *both[2] = {*a, *b};
    uint64_t g = 0;
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < both[s]->n; i++)
            g = gcd(g, magnitude(both[s]->terms[i].coef));
    }
    const dim_term *first = &(*b)->terms[0];
    const dim_atom **atoms = ARENA_ARRAY(t->a, const dim_atom *, first->n);
    uint32_t kept = 0;
    for (uint32_t k = 0, times = 0; k < first->n; k++) {
        times = k > 0 && first->atoms[k] == first->atoms[k - 1] ? times + 1 : 1;
        bool common = true;
        for (int s = 0; s < 2; s++) {
            for (uint32_t i = 0; common && i < both[s]->n; i++)
                common = has_atom(&both[s]->terms[i], first->atoms[k], times);
        }
        if (common)
            atoms[kept++] = first->atoms[k];
    }
    if (g == 0 || g > INT64_MAX || (g == 1 && kept == 0))
        return;
    dim_term factor = {.coef = (int64_t)g, .n = kept, .atoms = atoms};
    const dim *f = dim_of_terms(t, &factor, 1), *qa = divide(t, *a, f), *qb = divide(t, *b, f);
    if (qa && qb) {
        *a = qa;
        *b = qb;
    }
}

/* a and b both constant: 1 with the quotient, floor; -1 where there is none; 0: not both constant.
 */
static int fold(const dim *a, const dim *b, int64_t *q, int64_t *r)
{
    int64_t x = 0, y = 0;
    if (dim_is_const(b, &y) && y == 0)
        return -1;
    if (!dim_is_const(a, &x) || !dim_is_const(b, &y))
        return 0;
    if (y == -1 && x == INT64_MIN)
        return -1;
    *q = floor_div(x, y);
    *r = floor_mod(x, y);
    return 1;
}

/* A common factor of -1: dividing by a negative leading coefficient turns both signs. */
static void normalise_sign(dims *t, const dim **a, const dim **b)
{
    if ((*b)->terms[0].coef < 0) {
        const dim *na = dim_scale(t, *a, -1), *nb = dim_scale(t, *b, -1);
        if (na && nb) {
            *a = na;
            *b = nb;
        }
    }
}

const dim *dim_exact(dims *t, const dim *a, const dim *b)
{
    if (!a || !b)
        return NULL;
    int64_t q = 0, r = 0;
    int folded = fold(a, b, &q, &r);
    if (folded < 0 || (folded > 0 && r != 0))
        return NULL;
    if (folded > 0)
        return dim_const(t, q);
    const dim *quotient = divide(t, a, b);
    if (quotient)
        return quotient;
    normalise_sign(t, &a, &b);
    cancel_common(t, &a, &b);
    return dim_compound(t, ATOM_EXACT, a, b);
}

/* Splits a into b * q + rest where b is one term: the terms that it divides, and the others. */
static const dim *take_multiples(dims *t, const dim *a, const dim *b, const dim **rest)
{
    const dim *q = dim_const(t, 0);
    *rest = a;
    if (b->n != 1)
        return q;
    *rest = dim_const(t, 0);
    for (uint32_t i = 0; i < a->n; i++) {
        dim_term part, same = a->terms[i];
        if (term_div(t, &a->terms[i], &b->terms[0], &part))
            q = dim_add(t, q, dim_of_terms(t, &part, 1));
        else
            *rest = dim_add(t, *rest, dim_of_terms(t, &same, 1));
    }
    return q;
}

static bool proved_below(dims *t, const dim *rest, const dim *b)
{
    return dim_proved_le(t, dim_const(t, 0), rest) && dim_proved_lt(t, rest, b);
}

const dim *dim_floordiv(dims *t, const dim *a, const dim *b)
{
    if (!a || !b)
        return NULL;
    int64_t c = 0, r = 0;
    int folded = fold(a, b, &c, &r);
    if (folded)
        return folded > 0 ? dim_const(t, c) : NULL;
    const dim *quotient = divide(t, a, b), *rest = NULL;
    if (quotient)
        return quotient;
    normalise_sign(t, &a, &b);
    const dim *q = take_multiples(t, a, b, &rest);
    if (!q || !rest)
        return NULL;
    if (rest->n == 0 || proved_below(t, rest, b))
        return q;
    cancel_common(t, &rest, &b);
    /* (x // m) // n is x // (m * n) for positive constants */
    int64_t inner = 0, outer = 0, both = 0;
    const dim_term *one = &rest->terms[0];
    if (rest->n == 1 && one->coef == 1 && one->n == 1 && one->atoms[0]->kind == ATOM_DIV &&
        dim_is_const(one->atoms[0]->b, &inner) && inner > 0 && dim_is_const(b, &outer) &&
        outer > 0 && !__builtin_mul_overflow(inner, outer, &both))
        return dim_add(t, q, dim_floordiv(t, one->atoms[0]->a, dim_const(t, both)));
    return dim_add(t, q, dim_compound(t, ATOM_DIV, rest, b));
}

const dim *dim_mod(dims *t, const dim *a, const dim *b)
{
    if (!a || !b)
        return NULL;
    int64_t q = 0, c = 0;
    int folded = fold(a, b, &q, &c);
    if (folded)
        return folded > 0 ? dim_const(t, c) : NULL;
    if (divide(t, a, b))
        return dim_const(t, 0);
    const dim *rest = NULL;
    if (!take_multiples(t, a, b, &rest) || !rest)
        return NULL;
    if (rest->n == 0 || proved_below(t, rest, b))
        return rest;
    return dim_compound(t, ATOM_MOD, rest, b);
}
