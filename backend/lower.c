/* lower.c: one kernel into an LLVM module. The parts are in the other lower_*.c files. */
#include "backend/lower.h"

#include "backend/session.h"

void lower_kernel(lb *l, const kernel *k)
{
    low c = {.l = l, .a = l->a, .k = k};
    session_doing("lowering", k->name);
    c.f = iface_new(l->a, k);
    for (size_t i = 0; i < k->bufs.n; i++)
        c.n_temps += k->bufs.v[i]->role > KB_STATE;
    low_collect_dims(&c);
    lower_sizes(&c);
    lower_body(&c);
    if (k->stepper)
        c.steps = lower_steps(l, k->stepper);
    lower_entry(&c);
    lower_info(&c);
    session_doing(NULL, NULL);
}
