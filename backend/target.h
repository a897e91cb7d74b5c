/* target.h: what machine the code is for. */
#ifndef ATTNC_BACKEND_TARGET_H
#define ATTNC_BACKEND_TARGET_H

#include "backend/backend.h"
#include "backend/llvm_compat.h"

typedef struct target {
    const char *triple, *cpu, *features; /* features: "" where the cpu's name says all */
    const char *vector_width; /* prefer-vector-width in bits, NULL: the target's own choice */
    bool native;              /* made for exactly this host */
    bool runs_here;           /* the host can run it */
    machine_shape shape;
    bool half;      /* converts f16 in hardware */
    bool posix_elf; /* shared objects can be linked */
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
} target;

/* False after reporting to ds. The target's LLVM objects are given back by target_done. */
bool target_init(target *t, arena *a, const backend_options *o, diags *ds);
void target_done(target *t);

#endif
