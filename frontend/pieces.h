/* pieces.h: the left sides of equations: shared by pieces.c and tensor.c. */
#ifndef ATTNC_FRONTEND_PIECES_H
#define ATTNC_FRONTEND_PIECES_H

#include "frontend/sema.h"

/* One index of a left side. */
typedef enum left_kind {
    LEFT_BAD,
    LEFT_FREE,
    LEFT_CONST,
    LEFT_UNIT, /* pieces.c: a constant that is the only position of its axis */
} left_kind;

typedef struct left {
    left_kind kind;
    span at;
    const char *name;   /* FREE: the index */
    const dim *offset;  /* FREE: position = index + offset; NULL: 0 */
    const ast_item *in; /* FREE with a range of its own */
    const dim *at_dim;  /* CONST: the position */
} left;

/* The items of a target's index. *n is UINT32_MAX after a message. */
left *left_items(inst *in, const ast_target *t, uint32_t *n);
const ast_expr *rhs_of(const equation *q);
/* Extent and first value of a free index of an equation. declared: the axis part it stands for, or
 * NULL. */
bool free_range(tensor *t, const equation *q, const left *l, const dim *declared,
                const dim *declared_lo, bool tiles, const dim **extent, const dim **lo,
                bool report);
/* The axes of a declared tensor; those of a family of results come first. */
bool declared_axes(tensor *t, uint32_t *n, axis **axes);

#endif
