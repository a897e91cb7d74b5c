/* dim_prove.c: inequalities between dims that hold for all values of the symbols, and the maximum
 * and minimum that fold by them.
 *
 * To prove a <= b is to prove that b - a is not negative. That is plain where no coefficient is
 * negative and no atom can be. Otherwise a compound atom is replaced by a bound on the side that
 * counts: q = x // c has x - (c - 1) <= c*q <= x, a remainder is below its divisor, a maximum at
 * least either operand. The search is bounded, so a true inequality may stay unproved; a false one
 * is never proved. */
#include "ir/graph/dim_internal.h"

typedef struct proof {
    dims *t;
    int steps; /* left */
} proof;

static bool nonneg(proof *p, const dim *d);

static bool atom_nonneg(proof *p, const dim_atom *x)
{
    switch (x->kind) {
    case ATOM_SYM:
        return true;
    case ATOM_DIV:
    case ATOM_EXACT:
        return nonneg(p, x->a) && nonneg(p, x->b);
    case ATOM_MOD:
        return nonneg(p, x->b);
    case ATOM_MAX:
        return nonneg(p, x->a) || nonneg(p, x->b);
    case ATOM_MIN:
        return nonneg(p, x->a) && nonneg(p, x->b);
    }
    return false;
}

static bool product_nonneg(proof *p, const dim_term *term, const dim_atom *but)
{
    for (uint32_t i = 0; i < term->n; i++) {
        if (term->atoms[i] != but && !atom_nonneg(p, term->atoms[i]))
            return false;
    }
    return true;
}

/* How the atom occurs in d. */
typedef struct occurrence {
    bool linear;     /* at most once in each product */
    bool pos, neg;   /* signs of the coefficients of its terms */
    bool factors_ok; /* the other factors of its terms are not negative */
} occurrence;

static occurrence occurs(proof *p, const dim *d, const dim_atom *x)
{
    occurrence o = {.linear = true, .factors_ok = true};
    for (uint32_t i = 0; i < d->n; i++) {
        const dim_term *term = &d->terms[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < term->n; k++)
            n += term->atoms[k] == x;
        if (n == 0)
            continue;
        o.linear = o.linear && n == 1;
        o.pos = o.pos || term->coef > 0;
        o.neg = o.neg || term->coef < 0;
        o.factors_ok = o.factors_ok && product_nonneg(p, term, x);
    }
    return o;
}

/* d with `by` / scale for the atom, all times scale. NULL on overflow. */
static const dim *replace(dims *t, const dim *d, const dim_atom *x, const dim *by, int64_t scale)
{
    const dim *sum = dim_const(t, 0);
    for (uint32_t i = 0; i < d->n; i++) {
        dim_term rest = d->terms[i];
        const dim *factor = dim_const(t, 1);
        bool found = false;
        for (uint32_t k = 0; k < rest.n;) {
            if (rest.atoms[k] != x) {
                k++;
                continue;
            }
            rest = term_without(t, &rest, k);
            factor = dim_mul(t, factor, by);
            found = true;
        }
        const dim *product = dim_mul(t, dim_of_terms(t, &rest, 1), factor);
        sum = dim_add(t, sum, found ? product : dim_scale(t, product, scale));
    }
    return sum;
}

/* Terms k * m * b * (a // b) with k < 0 are at least k * m * a. NULL where there is none. */
static const dim *replace_multiple(dims *t, const dim *d, const dim_atom *x)
{
    if (x->b->n != 1)
        return NULL;
    const dim *sum = dim_const(t, 0);
    bool found = false;
    for (uint32_t i = 0; i < d->n; i++) {
        dim_term same = d->terms[i], q;
        const dim *part = NULL;
        for (uint32_t k = 0; k < same.n && !part && same.coef < 0; k++) {
            dim_term rest = term_without(t, &same, k);
            if (same.atoms[k] == x && term_div(t, &rest, &x->b->terms[0], &q))
                part = dim_mul(t, dim_of_terms(t, &q, 1), x->a);
        }
        found = found || part;
        sum = dim_add(t, sum, part ? part : dim_of_terms(t, &same, 1));
    }
    return found ? sum : NULL;
}

static bool eliminate_quotient(proof *p, const dim *d, const dim_atom *x, occurrence o)
{
    int64_t c = 0;
    if (!o.linear)
        return false;
    if (dim_is_const(x->b, &c) && c > 0) {
        if (x->kind == ATOM_EXACT)
            return nonneg(p, replace(p->t, d, x, x->a, c));
        if (!o.factors_ok || (o.pos && o.neg))
            return false;
        const dim *low = dim_sub(p->t, x->a, dim_const(p->t, c - 1));
        return nonneg(p, replace(p->t, d, x, o.pos ? low : x->a, c)) ||
               (o.pos && nonneg(p, x->a) && nonneg(p, replace(p->t, d, x, dim_const(p->t, 0), 1)));
    }
    if (!o.factors_ok || (o.pos && o.neg) || !nonneg(p, x->a) || !nonneg(p, x->b))
        return false;
    if (o.pos)
        return nonneg(p, replace(p->t, d, x, dim_const(p->t, 0), 1));
    return nonneg(p, replace_multiple(p->t, d, x)) || nonneg(p, replace(p->t, d, x, x->a, 1));
}

static bool eliminate_mod(proof *p, const dim *d, const dim_atom *x, occurrence o)
{
    if (!o.linear || !o.factors_ok || (o.pos && o.neg) || !nonneg(p, x->b))
        return false;
    if (o.pos)
        return nonneg(p, replace(p->t, d, x, dim_const(p->t, 0), 1));
    const dim *largest = dim_sub(p->t, x->b, dim_const(p->t, 1));
    return nonneg(p, replace(p->t, d, x, largest, 1)) ||
           (nonneg(p, x->a) && nonneg(p, replace(p->t, d, x, x->a, 1)));
}

/* A maximum is one of its operands: both cases must hold. Where it only adds, one of them is
 * enough, since it is at least either; the minimum the other way round. */
static bool eliminate_choice(proof *p, const dim *d, const dim_atom *x, occurrence o)
{
    bool one_sided = o.linear && o.factors_ok && !(o.pos && o.neg);
    bool either = one_sided && o.pos == (x->kind == ATOM_MAX);
    bool first = nonneg(p, replace(p->t, d, x, x->a, 1));
    if (first == either)
        return first;
    return nonneg(p, replace(p->t, d, x, x->b, 1));
}

static bool nonneg(proof *p, const dim *d)
{
    if (!d || p->steps-- <= 0)
        return false;
    bool plain = true;
    const dim_atom *compound = NULL;
    for (uint32_t i = 0; i < d->n; i++) {
        plain = plain && d->terms[i].coef > 0;
        for (uint32_t k = 0; k < d->terms[i].n && !compound; k++) {
            if (d->terms[i].atoms[k]->kind != ATOM_SYM)
                compound = d->terms[i].atoms[k];
        }
    }
    for (uint32_t i = 0; plain && compound && i < d->n; i++)
        plain = product_nonneg(p, &d->terms[i], NULL);
    if (plain || !compound)
        return plain;
    occurrence o = occurs(p, d, compound);
    switch (compound->kind) {
    case ATOM_SYM:
        break;
    case ATOM_DIV:
    case ATOM_EXACT:
        return eliminate_quotient(p, d, compound, o);
    case ATOM_MOD:
        return eliminate_mod(p, d, compound, o);
    case ATOM_MAX:
    case ATOM_MIN:
        return eliminate_choice(p, d, compound, o);
    }
    return false;
}

bool dim_proved_le(dims *t, const dim *a, const dim *b)
{
    proof p = {.t = t, .steps = 100};
    return nonneg(&p, dim_sub(t, b, a));
}

bool dim_proved_lt(dims *t, const dim *a, const dim *b)
{
    return dim_proved_le(t, dim_add(t, a, dim_const(t, 1)), b);
}

static const dim *choose(dims *t, atom_kind kind, const dim *a, const dim *b)
{
    if (!a || !b)
        return NULL;
    if (dim_proved_le(t, a, b))
        return kind == ATOM_MAX ? b : a;
    if (dim_proved_le(t, b, a))
        return kind == ATOM_MAX ? a : b;
    return dim_cmp(a, b) < 0 ? dim_compound(t, kind, a, b) : dim_compound(t, kind, b, a);
}

const dim *dim_max(dims *t, const dim *a, const dim *b)
{
    return choose(t, ATOM_MAX, a, b);
}

const dim *dim_min(dims *t, const dim *a, const dim *b)
{
    return choose(t, ATOM_MIN, a, b);
}
