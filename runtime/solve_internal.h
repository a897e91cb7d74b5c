/*
 * solve_internal.h - the state shared by solve.c (finds dims) and solve_text.c (says what is
 * wrong). Not for users.
 */
#ifndef ATTN_SOLVE_INTERNAL_H
#define ATTN_SOLVE_INTERNAL_H

#include "extent.h"
#include "solve.h"

/* lhs = rhs, or lhs = size where rhs is NULL. From an axis of a tensor or from an entry check. */
typedef struct equation {
    int64_t tensor;
    int64_t axis;
    int64_t check;
    const attn_extent *lhs;
    const attn_extent *rhs;
    int64_t size;
    bool done;
} equation;

/* How a dim is known: not, by the user, or by the equation of that number. */
enum { ORIGIN_NONE = -1, ORIGIN_GIVEN = -2 };

typedef struct solver {
    const attn_model_info *info;
    int64_t *dims;
    attn_problems *problems;
    equation *equations;
    int64_t n_equations;
    int64_t *origin;
    bool *tainted; /* an earlier problem explains why this dim is unknown */
    bool *assumed; /* unknown, but reported or following from one that is */
    bool no_memory;
} solver;

void solve_say_missing(solver *s, int64_t tensor);
void solve_say_rank(solver *s, int64_t tensor, const attn_fact *fact);
void solve_say_contradiction(solver *s, const equation *eq);
void solve_say_no_value(solver *s, const equation *eq, int64_t dim);
void solve_say_unsolved(solver *s, int64_t dim);
void solve_say_negative(solver *s, int64_t dim);
void solve_say_check(solver *s, int64_t check, int64_t lhs, int64_t rhs);
void solve_say_check_undefined(solver *s, int64_t check, attn_eval eval);
void solve_say_axis(solver *s, int64_t tensor, int64_t axis, attn_eval eval, int64_t size);
void solve_say_too_large(solver *s, int64_t tensor, const int64_t *shape);

#endif
