/* dim.c: the table of dims: interning, sums, products, substitution and evaluation. Division is in
 * dim_div.c, what can be proved of dims in dim_prove.c, their text in dim_text.c. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph/dim_internal.h"

dims *dims_new(arena *a, strtab *names)
{
    dims *t = ARENA_NEW(a, dims);
    t->a = a;
    t->names = names;
    t->atom_cap = t->cap = 64;
    t->atom_slots = ARENA_ARRAY(a, const dim_atom *, t->atom_cap);
    t->slots = ARENA_ARRAY(a, const dim *, t->cap);
    return t;
}

uint32_t dims_n_symbols(const dims *t)
{
    return (uint32_t)t->syms.n;
}

const char *dims_symbol(const dims *t, uint32_t sym)
{
    return t->syms.v[sym]->name;
}

/* --- order: independent of when a compound was made, so that text reads back in the same order ---
 */

int atom_cmp(const dim_atom *x, const dim_atom *y)
{
    if (x == y)
        return 0;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind == ATOM_SYM)
        return x->sym < y->sym ? -1 : 1;
    int c = dim_cmp(x->a, y->a);
    return c ? c : dim_cmp(x->b, y->b);
}

/* Higher degree first, then by atoms: an order that products respect, as division needs. */
static int product_cmp(const dim_term *x, const dim_term *y)
{
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    for (uint32_t i = 0; i < x->n; i++) {
        int c = atom_cmp(x->atoms[i], y->atoms[i]);
        if (c)
            return c;
    }
    return 0;
}

int dim_cmp(const dim *x, const dim *y)
{
    if (x == y)
        return 0;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int c = product_cmp(&x->terms[i], &y->terms[i]);
        if (c)
            return c;
        if (x->terms[i].coef != y->terms[i].coef)
            return x->terms[i].coef < y->terms[i].coef ? -1 : 1;
    }
    return x->n < y->n ? -1 : 1;
}

static int term_order(const void *x, const void *y)
{
    return product_cmp(x, y);
}

static int atom_order(const void *x, const void *y)
{
    return atom_cmp(*(const dim_atom *const *)x, *(const dim_atom *const *)y);
}

/* --- interning --- */

static uint64_t terms_hash(const dim_term *terms, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = hash_bytes(h, &terms[i].coef, sizeof terms[i].coef);
        for (uint32_t k = 0; k < terms[i].n; k++)
            h = hash_bytes(h, &terms[i].atoms[k]->id, sizeof terms[i].atoms[k]->id);
    }
    return h;
}

static bool same_terms(const dim *d, const dim_term *terms, size_t n)
{
    if (d->n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (d->terms[i].coef != terms[i].coef || product_cmp(&d->terms[i], &terms[i]) != 0)
            return false;
    }
    return true;
}

static void grow_dims(dims *t)
{
    const dim **old = t->slots;
    size_t old_cap = t->cap;
    t->cap *= 2;
    t->slots = ARENA_ARRAY(t->a, const dim *, t->cap);
    for (size_t i = 0; i < old_cap; i++) {
        if (!old[i])
            continue;
        size_t at = terms_hash(old[i]->terms, old[i]->n) & (t->cap - 1);
        while (t->slots[at])
            at = (at + 1) & (t->cap - 1);
        t->slots[at] = old[i];
    }
}

const dim *dim_of_terms(dims *t, dim_term *terms, size_t n)
{
    if (n > 1)
        qsort(terms, n, sizeof *terms, term_order);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && product_cmp(&terms[kept - 1], &terms[i]) == 0) {
            if (__builtin_add_overflow(terms[kept - 1].coef, terms[i].coef, &terms[kept - 1].coef))
                return NULL;
        } else {
            if (kept > 0 && terms[kept - 1].coef == 0)
                kept--;
            terms[kept++] = terms[i];
        }
    }
    if (kept > 0 && terms[kept - 1].coef == 0)
        kept--;
    if (kept > DIM_MAX_TERMS)
        return NULL;

    size_t at = terms_hash(terms, kept) & (t->cap - 1);
    for (; t->slots[at]; at = (at + 1) & (t->cap - 1)) {
        if (same_terms(t->slots[at], terms, kept))
            return t->slots[at];
    }
    dim *d = ARENA_NEW(t->a, dim);
    d->id = t->n++;
    d->n = (uint32_t)kept;
    d->terms = arena_copy(t->a, terms, kept * sizeof *terms);
    t->slots[at] = d;
    if (t->n > t->cap / 2)
        grow_dims(t);
    return d;
}

static uint64_t atom_hash(atom_kind kind, const char *name, const dim *a, const dim *b)
{
    if (kind == ATOM_SYM)
        return hash_bytes(0, name, strlen(name));
    uint32_t key[3] = {(uint32_t)kind, a->id, b->id};
    return hash_bytes(1, key, sizeof key);
}

static void grow_atoms(dims *t)
{
    t->atom_cap *= 2;
    t->atom_slots = ARENA_ARRAY(t->a, const dim_atom *, t->atom_cap);
    for (size_t i = 0; i < t->atoms.n; i++) {
        const dim_atom *x = t->atoms.v[i];
        size_t at = atom_hash(x->kind, x->name, x->a, x->b) & (t->atom_cap - 1);
        while (t->atom_slots[at])
            at = (at + 1) & (t->atom_cap - 1);
        t->atom_slots[at] = x;
    }
}

static unsigned dim_depth(const dims *t, const dim *d)
{
    unsigned depth = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            unsigned x = t->depth.v[d->terms[i].atoms[k]->id];
            depth = x > depth ? x : depth;
        }
    }
    return depth;
}

/* The atom of that kind, made if new; NULL where it nests too deep. */
static const dim_atom *atom_get(dims *t, atom_kind kind, const char *name, const dim *a,
                                const dim *b)
{
    size_t at = atom_hash(kind, name, a, b) & (t->atom_cap - 1);
    for (; t->atom_slots[at]; at = (at + 1) & (t->atom_cap - 1)) {
        const dim_atom *x = t->atom_slots[at];
        if (x->kind == kind && x->name == name && x->a == a && x->b == b)
            return x;
    }
    unsigned depth = 0;
    if (kind != ATOM_SYM) {
        unsigned da = dim_depth(t, a), db = dim_depth(t, b);
        depth = 1 + (da > db ? da : db);
        if (depth > DIM_MAX_DEPTH)
            return NULL;
    }
    dim_atom *x = ARENA_NEW(t->a, dim_atom);
    *x = (dim_atom){.kind = kind, .id = (uint32_t)t->atoms.n, .name = name, .a = a, .b = b};
    if (kind == ATOM_SYM) {
        x->sym = (uint32_t)t->syms.n;
        vec_push(t->a, &t->syms, x);
    }
    vec_push(t->a, &t->atoms, x);
    vec_push(t->a, &t->depth, depth);
    t->atom_slots[at] = x;
    if (t->atoms.n > t->atom_cap / 2)
        grow_atoms(t);
    return x;
}

const dim *dim_of_atom(dims *t, const dim_atom *atom)
{
    const dim_atom **one = ARENA_ARRAY(t->a, const dim_atom *, 1);
    one[0] = atom;
    dim_term term = {.coef = 1, .n = 1, .atoms = one};
    return dim_of_terms(t, &term, 1);
}

const dim *dim_compound(dims *t, atom_kind kind, const dim *a, const dim *b)
{
    const dim_atom *x = atom_get(t, kind, NULL, a, b);
    return x ? dim_of_atom(t, x) : NULL;
}

const dim *dim_const(dims *t, int64_t c)
{
    dim_term term = {.coef = c};
    return dim_of_terms(t, &term, 1);
}

const dim *dim_sym(dims *t, const char *name)
{
    return dim_of_atom(t, atom_get(t, ATOM_SYM, intern(t->names, name), NULL, NULL));
}

/* --- arithmetic --- */

const dim *dim_scale(dims *t, const dim *d, int64_t c)
{
    if (!d)
        return NULL;
    dim_term *terms = arena_copy(t->a, d->terms, d->n * sizeof *d->terms);
    for (uint32_t i = 0; i < d->n; i++) {
        if (__builtin_mul_overflow(terms[i].coef, c, &terms[i].coef))
            return NULL;
    }
    return dim_of_terms(t, terms, d->n);
}

const dim *dim_add(dims *t, const dim *a, const dim *b)
{
    if (!a || !b)
        return NULL;
    dim_term *terms = ARENA_ARRAY(t->a, dim_term, (size_t)a->n + b->n);
    for (uint32_t i = 0; i < a->n; i++)
        terms[i] = a->terms[i];
    for (uint32_t i = 0; i < b->n; i++)
        terms[a->n + i] = b->terms[i];
    return dim_of_terms(t, terms, (size_t)a->n + b->n);
}

const dim *dim_sub(dims *t, const dim *a, const dim *b)
{
    return dim_add(t, a, dim_scale(t, b, -1));
}

bool term_mul(dims *t, const dim_term *x, const dim_term *y, dim_term *out)
{
    int64_t coef = 0;
    if (__builtin_mul_overflow(x->coef, y->coef, &coef) || x->n + y->n > DIM_MAX_DEGREE)
        return false;
    const dim_atom **atoms = ARENA_ARRAY(t->a, const dim_atom *, (size_t)x->n + y->n);
    for (uint32_t i = 0; i < x->n; i++)
        atoms[i] = x->atoms[i];
    for (uint32_t i = 0; i < y->n; i++)
        atoms[x->n + i] = y->atoms[i];
    if (x->n + y->n > 1)
        qsort(atoms, (size_t)x->n + y->n, sizeof *atoms, atom_order);
    *out = (dim_term){.coef = coef, .n = x->n + y->n, .atoms = atoms};
    return true;
}

bool term_div(dims *t, const dim_term *x, const dim_term *y, dim_term *out)
{
    if (y->coef == 0 || y->n > x->n || (y->coef == -1 && x->coef == INT64_MIN) ||
        x->coef % y->coef != 0)
        return false;
    const dim_atom **atoms = ARENA_ARRAY(t->a, const dim_atom *, x->n);
    uint32_t kept = 0, k = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (k < y->n && x->atoms[i] == y->atoms[k])
            k++;
        else
            atoms[kept++] = x->atoms[i];
    }
    *out = (dim_term){.coef = x->coef / y->coef, .n = kept, .atoms = atoms};
    return k == y->n;
}

dim_term term_without(dims *t, const dim_term *x, uint32_t i)
{
    const dim_atom **atoms = ARENA_ARRAY(t->a, const dim_atom *, x->n);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < x->n; k++) {
        if (k != i)
            atoms[kept++] = x->atoms[k];
    }
    return (dim_term){.coef = x->coef, .n = kept, .atoms = atoms};
}

/* n * (m / n) is m: the entry checks that exact quotients are exact. NULL where nothing cancels. */
static const dim *cancel_exact(dims *t, const dim_term *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        const dim_atom *e = x->atoms[i];
        if (e->kind != ATOM_EXACT || e->b->n != 1)
            continue;
        dim_term rest = term_without(t, x, i), q;
        if (term_div(t, &rest, &e->b->terms[0], &q))
            return dim_mul(t, dim_of_terms(t, &q, 1), e->a);
    }
    return NULL;
}

static const dim_atom *single_atom(const dim *d)
{
    return d->n == 1 && d->terms[0].coef == 1 && d->terms[0].n == 1 ? d->terms[0].atoms[0] : NULL;
}

const dim *dim_mul(dims *t, const dim *a, const dim *b)
{
    if (!a || !b || (size_t)a->n * b->n > DIM_MAX_TERMS)
        return NULL;
    const dim_atom *x = single_atom(a), *y = single_atom(b);
    if (x && x->kind == ATOM_EXACT && x->b == b)
        return x->a;
    if (y && y->kind == ATOM_EXACT && y->b == a)
        return y->a;
    term_list out = {0};
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t k = 0; k < b->n; k++) {
            dim_term p;
            if (!term_mul(t, &a->terms[i], &b->terms[k], &p))
                return NULL;
            const dim *cancelled = cancel_exact(t, &p);
            for (uint32_t j = 0; cancelled && j < cancelled->n; j++)
                vec_push(t->a, &out, cancelled->terms[j]);
            if (!cancelled)
                vec_push(t->a, &out, p);
        }
    }
    return dim_of_terms(t, out.v, out.n);
}

/* --- questions --- */

bool dim_is_const(const dim *d, int64_t *value)
{
    if (d->n > 1 || (d->n == 1 && d->terms[0].n > 0))
        return false;
    if (value)
        *value = d->n ? d->terms[0].coef : 0;
    return true;
}

bool dim_is_sym(const dim *d, const char **name)
{
    const dim_atom *x = single_atom(d);
    if (!x || x->kind != ATOM_SYM)
        return false;
    if (name)
        *name = x->name;
    return true;
}

bool dim_mentions(const dim *d, const char *symbol)
{
    for (uint32_t i = 0; i < d->n; i++) {
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            const dim_atom *x = d->terms[i].atoms[k];
            if (x->kind == ATOM_SYM ? strcmp(x->name, symbol) == 0
                                    : dim_mentions(x->a, symbol) || dim_mentions(x->b, symbol))
                return true;
        }
    }
    return false;
}

/* --- substitution: builds in `t`, which need not be the table of d when `by` replaces every symbol
 * --- */

const dim *dim_of_kind(dims *t, atom_kind kind, const dim *a, const dim *b)
{
    typedef const dim *binary_fn(dims *, const dim *, const dim *);
    static binary_fn *const by_kind[] = {
        [ATOM_DIV] = dim_floordiv, [ATOM_EXACT] = dim_exact, [ATOM_MOD] = dim_mod,
        [ATOM_MAX] = dim_max,      [ATOM_MIN] = dim_min,
    };
    return by_kind[kind](t, a, b);
}

static const dim *subst_atom(dims *t, const dim_atom *x, const dim *const *by)
{
    if (x->kind == ATOM_SYM)
        return by[x->sym] ? by[x->sym] : dim_of_atom(t, x);
    return dim_of_kind(t, x->kind, dim_subst(t, x->a, by), dim_subst(t, x->b, by));
}

const dim *dim_subst(dims *t, const dim *d, const dim *const *by)
{
    if (!d)
        return NULL;
    const dim *sum = dim_const(t, 0);
    for (uint32_t i = 0; i < d->n; i++) {
        const dim *p = dim_const(t, d->terms[i].coef);
        for (uint32_t k = 0; k < d->terms[i].n; k++)
            p = dim_mul(t, p, subst_atom(t, d->terms[i].atoms[k], by));
        sum = dim_add(t, sum, p);
    }
    return sum;
}

/* --- evaluation --- */

int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool eval_atom(const dim_atom *x, const int64_t *symbols, int64_t *value)
{
    if (x->kind == ATOM_SYM) {
        *value = symbols[x->sym];
        return true;
    }
    int64_t a = 0, b = 0;
    if (!dim_eval(x->a, symbols, &a) || !dim_eval(x->b, symbols, &b))
        return false;
    switch (x->kind) {
    case ATOM_MAX:
        *value = a > b ? a : b;
        return true;
    case ATOM_MIN:
        *value = a < b ? a : b;
        return true;
    default:
        break;
    }
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return false;
    *value = x->kind == ATOM_MOD ? floor_mod(a, b) : floor_div(a, b);
    return x->kind != ATOM_EXACT || a % b == 0;
}

bool dim_eval(const dim *d, const int64_t *symbols, int64_t *value)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        int64_t p = d->terms[i].coef;
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            int64_t x = 0;
            if (!eval_atom(d->terms[i].atoms[k], symbols, &x) || __builtin_mul_overflow(p, x, &p))
                return false;
        }
        if (__builtin_add_overflow(sum, p, &sum))
            return false;
    }
    *value = sum;
    return true;
}
