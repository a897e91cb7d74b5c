/* align.h: moving the axes of values: shared by align.c and joins.c. */
#ifndef ATTNC_FRONTEND_ALIGN_H
#define ATTNC_FRONTEND_ALIGN_H

#include "frontend/sema.h"

/* Index values put for indices, collected before they are applied at once. */
typedef struct mover {
    VEC(const ix *) from;
    VEC(value *) to;
} mover;

void move_axis(sema *s, mover *m, const axis *a, const axis *want);
void apply_moves(sema *s, tv *v, const mover *m);
axis fresh_axis(sema *s, const axis *like, ix_list *avoid);
bool all_values(const tv *v, uint32_t n, tv *bad, span at);
bool promote(env *e, tv *v, uint32_t n, span at, const char *what);
bool mentions_any(const value *v, const ix *const *ixs, uint32_t n);

#endif
