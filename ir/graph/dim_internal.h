/* dim_internal.h: what the dim_*.c files share; nobody else includes it. */
#ifndef ATTNC_IR_GRAPH_DIM_INTERNAL_H
#define ATTNC_IR_GRAPH_DIM_INTERNAL_H

#include "ir/base/vec.h"
#include "ir/graph/dim.h"

enum { DIM_MAX_TERMS = 4096, DIM_MAX_DEGREE = 64, DIM_MAX_DEPTH = 64 };

struct dims {
    arena *a;
    strtab *names;
    VEC(const dim_atom *) syms;
    VEC(const dim_atom *) atoms; /* by id */
    VEC(unsigned) depth;         /* of atoms, by id: 0 for symbols */
    const dim_atom **atom_slots; /* open addressing, powers of two, at most half full */
    size_t atom_cap;
    const dim **slots;
    size_t cap;
    uint32_t n;
};

typedef VEC(dim_term) term_list;

int atom_cmp(const dim_atom *x, const dim_atom *y);
int dim_cmp(const dim *x, const dim *y);
/* The dim of these terms in any order, equal products merged; NULL on overflow or above the limits.
 */
const dim *dim_of_terms(dims *t, dim_term *terms, size_t n);
const dim *dim_of_atom(dims *t, const dim_atom *atom);
const dim *dim_compound(dims *t, atom_kind kind, const dim *a, const dim *b);
bool term_mul(dims *t, const dim_term *x, const dim_term *y, dim_term *out);
/* x / y where y's coefficient and atoms divide x's. */
bool term_div(dims *t, const dim_term *x, const dim_term *y, dim_term *out);
/* The term without its atom at position i. */
dim_term term_without(dims *t, const dim_term *x, uint32_t i);
const dim *dim_scale(dims *t, const dim *d, int64_t c);

int64_t floor_div(int64_t a, int64_t b); /* b != 0 and not MIN / -1 */
int64_t floor_mod(int64_t a, int64_t b);

#endif
