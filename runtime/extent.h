/*
 * extent.h - evaluates the axis sizes of a reflection record. Finding dims from sizes, the other
 * direction, is solve.h.
 */
#ifndef ATTN_EXTENT_H
#define ATTN_EXTENT_H

#include "attn_abi.h"

#include <stdbool.h>

typedef enum attn_eval {
    ATTN_EVAL_OK,
    ATTN_EVAL_OVERFLOW,  /* beyond 64 bits */
    ATTN_EVAL_ZERO,      /* division by zero */
    ATTN_EVAL_REMAINDER, /* an exact division has a remainder */
    ATTN_EVAL_MALFORMED  /* not a program: the record is damaged */
} attn_eval;

/* A short phrase for messages: "overflows 64 bits". */
const char *attn_eval_text(attn_eval eval);

/* Evaluates at the given dims. *result is written only on ATTN_EVAL_OK and may be negative. */
attn_eval attn_extent_eval(const attn_extent *extent, const int64_t *dims, int64_t n_dims,
                           int64_t *result);

/* Whether the program mentions dims[dim]. */
bool attn_extent_uses(const attn_extent *extent, int64_t dim);

/*
 * If the extent is one dim and nothing else, its number; -1 otherwise.
 */
int64_t attn_extent_single(const attn_extent *extent);

/*
 * With all dims known but `dim`, writes the extent as (a * dims[dim] + b) / r, r > 0. False if it
 * is not such a quotient or its numbers overflow; true does not promise that it is defined (an
 * exact division may leave a remainder), so check a solution with attn_extent_eval.
 */
bool attn_extent_affine(const attn_extent *extent, const int64_t *dims, int64_t n_dims, int64_t dim,
                        int64_t *a, int64_t *b, int64_t *r);

/*
 * The shape (tensor->rank numbers) and the bytes of a tensor at the given dims. ATTN_DIM if an
 * axis is undefined or negative or the product exceeds INT64_MAX bytes.
 */
attn_status attn_tensor_extent(const attn_tensor_info *tensor, const int64_t *dims, int64_t n_dims,
                               int64_t *shape, size_t *bytes);

#endif
