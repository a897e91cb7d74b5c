/* link.h: an object into a shared object, with the host's linker. */
#ifndef ATTNC_BACKEND_LINK_H
#define ATTNC_BACKEND_LINK_H

#include "backend/target.h"

typedef struct link_job {
    const char *object, *out; /* paths; out is written */
    const char *soname;
    bool libm; /* calls functions of libm */
    const char *triple;
} link_job;

/* False after reporting to ds. */
bool link_shared(arena *a, const link_job *job, diags *ds);

#endif
