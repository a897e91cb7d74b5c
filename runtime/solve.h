/*
 * solve.h - finds the dims of a model from the shapes of the tensors at hand and from dims given
 * by the user. Substitution only: an axis with one unknown dim that enters linearly gives that
 * dim; systems of several unknowns are left to the user.
 */
#ifndef ATTN_SOLVE_H
#define ATTN_SOLVE_H

#include "attn_abi.h"
#include "text.h"

#include <stdbool.h>

/* In the dims array: not known yet. */
#define ATTN_DIM_UNKNOWN INT64_MIN

/* What is known of one tensor. Absent ones (rank and shape ignored) are outputs or not given. */
typedef struct attn_fact {
    bool present;
    int64_t rank;
    const int64_t *shape;
} attn_fact;

typedef enum attn_problem_kind {
    ATTN_PROBLEM_MISSING,  /* tensor: a required input or param is absent */
    ATTN_PROBLEM_RANK,     /* tensor: it has another number of axes */
    ATTN_PROBLEM_SIZE,     /* tensor, axis; other, other_axis if one axis says otherwise */
    ATTN_PROBLEM_UNSOLVED, /* dim */
    ATTN_PROBLEM_CHECK,    /* check: an entry condition is broken */
    ATTN_PROBLEM_RANGE     /* dim negative, or tensor (and axis, if one) undefined or too large */
} attn_problem_kind;

/* One problem. Numbers that do not apply are -1. Axes count from 0. */
typedef struct attn_problem {
    attn_problem_kind kind;
    int64_t tensor;
    int64_t axis;
    int64_t other;
    int64_t other_axis;
    int64_t dim;
    int64_t check;
    size_t text_at; /* its line in the text, without the newline */
    size_t text_len;
} attn_problem;

typedef struct attn_problems {
    attn_allocator alloc;
    attn_problem *item;
    size_t n;
    size_t cap;
    attn_text text; /* one line per problem, in order */
} attn_problems;

void attn_problems_init(attn_problems *problems, const attn_allocator *alloc);
void attn_problems_free(attn_problems *problems);

/*
 * Finds every dim. `facts` has info->n_tensors entries in the order of info->tensors; `dims` has
 * info->n_dims, each a given value or ATTN_DIM_UNKNOWN, and receives what is found even when
 * something else is wrong. A shape [1] serves a tensor of rank 0, and rank 0 one of rank 1.
 *
 * ATTN_OK: all dims are known, every given shape and every entry condition agrees, and every
 * tensor of the model has a size below INT64_MAX bytes. ATTN_DIM: `problems` says what is wrong,
 * all independent ones at once. ATTN_NOMEM. ATTN_ABI: the record has another version.
 */
attn_status attn_solve(const attn_model_info *info, const attn_fact *facts, int64_t *dims,
                       attn_problems *problems);

#endif
