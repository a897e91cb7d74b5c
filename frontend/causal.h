/* causal.h: whether a `recurrence` reads its inputs up to the present step only (causal.c). */
#ifndef ATTNC_FRONTEND_CAUSAL_H
#define ATTNC_FRONTEND_CAUSAL_H

#include "frontend/sema.h"

/* Reports the offending read of an entry that is declared a recurrence and is not causal. */
void check_causal(sema *s, graph *g, inst *entry);

#endif
