/* absence.h: where a tensor has elements while it is still being defined by itself: absence.c finds
 * it for tensor.c and read.c. */
#ifndef ATTNC_FRONTEND_ABSENCE_H
#define ATTNC_FRONTEND_ABSENCE_H

#include "frontend/sema.h"

/* Around every definition of t. After the equations of t were elaborated, absence_settled says
 * whether what was assumed of supports came true; if not, t is to be elaborated once more, under
 * other assumptions. */
void absence_begin(tensor *t);
bool absence_settled(tensor *t);
/* t is read while something is being defined. */
void absence_note(sema *s, tensor *t);
/* The support that a read of the piece t takes, which reads at to[k] what stands at from[k];
 * *where, if not NULL, is a condition under which it must be read. */
value *absence_support(env *e, tensor *t, const ix *const *from, value *const *to, size_t n,
                       value **where);
/* The body of the piece t was elaborated. */
void absence_defined(tensor *t, value *support);
/* The companions that `support` reads, as reads of the same place. */
void absence_reads(env *e, value *support, span at);
/* Among the instances whose equations are checked: new, or made before and taken off. */
void absence_list(inst *in);
/* Two instances of one place, one made anew for the other: their calls have the same sizes. */
bool absence_same_place(const inst *a, const inst *b);

/* absence_solve.c: the companions of m[0..n) as expressions without their own companions, where
 * such are found: m's `assumed`; the others keep their companions. */
void absence_solve(sema *s, tensor *const *m, size_t n);
/* p and q are proved to be the same truth; NULL stands for true. */
bool absence_same(sema *s, value *p, value *q);

#endif
