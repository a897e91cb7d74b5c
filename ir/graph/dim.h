/* dim.h: sizes of axes as symbolic expressions.
 *
 * A dim is an interned polynomial over atoms with integer coefficients: equal sizes are the same
 * pointer. Atoms are named symbols (T, E, H) and what a polynomial cannot say: floor and exact
 * division, remainder, maximum and minimum. Every symbol stands for an integer 0 .. DIM_LIMIT. */
#ifndef ATTNC_IR_GRAPH_DIM_H
#define ATTNC_IR_GRAPH_DIM_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/str.h"

#define DIM_LIMIT ((int64_t)1 << 40) /* the largest value of a symbol; checked at every entry */

typedef enum atom_kind {
    ATOM_SYM,   /* name */
    ATOM_DIV,   /* a // b     floor */
    ATOM_EXACT, /* a / b      the entry checks that b divides a */
    ATOM_MOD,   /* a % b */
    ATOM_MAX,   /* max(a, b) */
    ATOM_MIN,   /* min(a, b) */
} atom_kind;

typedef struct dim dim;
typedef struct dim_atom {
    atom_kind kind;
    uint32_t id;
    const char *name; /* ATOM_SYM: unique in the table */
    uint32_t sym;     /* ATOM_SYM: position among the table's symbols */
    const dim *a, *b; /* the others */
} dim_atom;

typedef struct dim_term {
    int64_t coef; /* not 0 */
    uint32_t n;   /* atoms of the product, with repetition; 0: the constant. Symbols come first,
                     as created, then compounds by kind and operands */
    const dim_atom *const *atoms;
} dim_term;

struct dim {
    uint32_t id;
    uint32_t n; /* terms in canonical order (constant last); 0: the polynomial 0 */
    const dim_term *terms;
};

typedef struct dims dims; /* the table */
dims *dims_new(arena *a, strtab *names);
uint32_t dims_n_symbols(const dims *t);
const char *dims_symbol(const dims *t, uint32_t sym);

/* Constructors. A coefficient that leaves int64 gives NULL, and NULL operands give NULL; division
 * by a constant 0 gives NULL, and so does a dim beyond all use (4096 terms, degree 64, atoms 64
 * deep). */
const dim *dim_const(dims *t, int64_t c);
const dim *dim_sym(dims *t, const char *name);
const dim *dim_add(dims *t, const dim *a, const dim *b);
const dim *dim_sub(dims *t, const dim *a, const dim *b);
const dim *dim_mul(dims *t, const dim *a, const dim *b);
const dim *dim_floordiv(dims *t, const dim *a, const dim *b);
const dim *dim_exact(dims *t, const dim *a,
                     const dim *b); /* cancels where the polynomial divides */
const dim *dim_mod(dims *t, const dim *a, const dim *b);
const dim *dim_max(dims *t, const dim *a, const dim *b); /* folds where the order is proved */
const dim *dim_min(dims *t, const dim *a, const dim *b);
/* The one of these that makes atoms of that kind, which is not ATOM_SYM. */
const dim *dim_of_kind(dims *t, atom_kind kind, const dim *a, const dim *b);

bool dim_is_const(const dim *d, int64_t *value);
bool dim_is_sym(const dim *d, const char **name);
/* True only where a <= b (a < b) holds for all values of the symbols. */
bool dim_proved_le(dims *t, const dim *a, const dim *b);
bool dim_proved_lt(dims *t, const dim *a, const dim *b);
bool dim_mentions(const dim *d, const char *symbol);
/* Every symbol s with by[sym] != NULL replaced by by[sym]; `by` has dims_n_symbols entries. */
const dim *dim_subst(dims *t, const dim *d, const dim *const *by);
/* False on overflow, division by 0 or an inexact ATOM_EXACT. */
bool dim_eval(const dim *d, const int64_t *symbols, int64_t *value);

/* Text: `2*H + 1`, `(T // 2)`, `max(T, S)`; reads back to the same pointer. */
void dim_print(const dim *d, strbuf *out);
/* A reader makes the symbols in the order of a text's `dims` line; in a table that has another,
 * terms stand otherwise. Dims of t as they are printed where the symbols are listed in that order.
 */
typedef struct dim_order dim_order;
const dim_order *dim_order_new(arena *a, strtab *names, const dims *t, const char *const *symbols,
                               size_t n);
void dim_print_in(const dim_order *o, const dim *d, strbuf *out);
const char *dim_text(arena *a, const dim *d);
/* Reads the longest dim at the start of the n bytes at s; *used is what it took (on failure:
 * where). All its symbols must be in the table. NULL on failure, with *error a text for the user
 * (in `scratch`). */
const dim *dim_parse(dims *t, arena *scratch, const char *s, size_t n, size_t *used,
                     const char **error);

/* Names in IR text: letters, digits, _ and inner dots, not beginning with a digit and no reserved
 * word; any other name prints in single quotes with \-escapes. name_scan gives the length of the
 * name at s (0: none) and, through *name, what it means (interned in names). */
void name_print(strbuf *out, const char *name);
size_t name_scan(strtab *names, arena *scratch, const char *s, size_t n, const char **name);

#endif
