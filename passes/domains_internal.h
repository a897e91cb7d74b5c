/* domains_internal.h: what the files of the analysis of predicates share.
 *
 *   domains.c           bounds of one index
 *   domains_test.c      truth over a box
 *   domains_interval.c  intervals of ints and reals over a box
 *   domains_expr.c      kernel expressions that fold
 *   domains_count.c     how well a predicate is solved: ways, shares */
#ifndef ATTNC_PASSES_DOMAINS_INTERNAL_H
#define ATTNC_PASSES_DOMAINS_INTERNAL_H

#include "passes/domains.h"
#include "passes/passes.h"

/* An int: e + off. e NULL: a constant. mag bounds |e|, so that most overflow is seen to be
 * impossible; the rest is asked for when the kernel runs (box.ok). */
typedef struct num {
    const kexpr *e;
    int64_t off;
    double mag;
} num;

typedef struct interval { /* ends included */
    num lo, hi;
} interval;

/* The box at hand. */
typedef struct box {
    const domain_host *h;
    const domain_span *tile;
    uint32_t n;
    const kexpr *ok; /* what must hold for the answer to be right; NULL: nothing */
    bool failed;     /* there is no answer */
    bool coarse;     /* a part of the predicate is not known */
    bool by_data;    /* a part is known by data */
    unsigned depth;
} box;

static inline void domain_hit(const box *b, rule_id r)
{
    if (b->h->hits)
        b->h->hits[r]++;
}

enum { DOMAIN_MAX_TERMS = 8, DOMAIN_MAX_DEPTH = 64 };

/* c + the sum of coef * atom. */
typedef struct sum {
    uint32_t n;
    struct {
        const value *atom;
        int64_t coef;
    } t[DOMAIN_MAX_TERMS];
    int64_t c;
} sum;

/* --- expressions --- */
const kexpr *dx(box *b, op_id op, const kexpr *x, const kexpr *y); /* folds */
const kexpr *dx_not(box *b, const kexpr *x);
const kexpr *dx_select(box *b, const kexpr *c, const kexpr *x, const kexpr *y);
const kexpr *dx_int(box *b, int64_t i);
const kexpr *dx_bool(box *b, bool x);
const kexpr *dx_hold(box *b, const kexpr *e, const char *name);
bool dx_same(const kexpr *x, const kexpr *y);
bool dx_is_bool(const kexpr *e, bool x);
void need(box *b, const kexpr *condition); /* joins box.ok */

/* --- ints --- */
num num_const(int64_t i);
num num_of(const kexpr *e, double mag);
const kexpr *num_expr(box *b, num x); /* as one expression */
num num_add(box *b, num x, num y);
num num_neg(box *b, num x);
num num_scale(box *b, num x, int64_t by);
num num_mul(box *b, num x, num y);
num num_floor(box *b, num x, num by); /* by > 0 */
num positive_num(box *b, num x);      /* x, which must be positive; made so where it is not */
num num_least(box *b, num x, num y);
num num_greatest(box *b, num x, num y);
double dim_size(const dim *d); /* bounds its value */
double index_size(const ix *i);

/* --- values --- */
bool has_tile_ix(const box *b, const value *v);
/* into += v * by. False: too large. */
bool sum_add(sum *into, const value *v, int64_t by, unsigned depth);
bool sum_compare(const value *le,
                 sum *out); /* a comparison of ints `x <= y` or `x < y`: out <= 0 */
/* Sets b->failed where nothing is known. */
interval interval_of(box *b, const value *v);
/* The sum of the terms with that sign, times it. */
interval interval_of_terms(box *b, const sum *s, int sign);
/* A real's ends; NaN where an element may be one. */
typedef struct real_interval {
    const kexpr *lo, *hi;
} real_interval;
real_interval real_interval_of(box *b, const value *v);
/* A value that is independent of the tile; sets b->failed where it is not known. */
const kexpr *box_point(box *b, const value *v);
bool box_data(box *b, const value *v, const kexpr **least, const kexpr **greatest);

/* Truth of p over b's tile. */
domain_truth truth_of(box *b, const value *p);
/* Bounds of j where p holds, or where it does not; b's tile is of the other indices. */
domain_range range_of(box *b, const value *p, const ix *j, bool opposite);

/* Expressions made for numbers: `hold` puts them into a list, `run` works it out. */
typedef struct scalar {
    int64_t i;
    double f;
} scalar;
typedef struct let_var {
    const kvar *v;
    const kexpr *e;
} let_var;
typedef struct numbers {
    kernel *k;
    arena *a;
    const int64_t *symbols;
    VEC(let_var) lets;
    scalar *of; /* by variable id */
    size_t n_of;
    bool failed; /* a division by 0, an overflow of a dim */
} numbers;
const kexpr *numbers_hold(numbers *n, const kexpr *e, const char *name);
void numbers_room(numbers *n);                        /* once all expressions are made */
void numbers_run(numbers *n, size_t from, size_t to); /* of lets */
scalar numbers_value(numbers *n, const kexpr *e);

#endif
