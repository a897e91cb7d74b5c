/* pass.h: the prototypes of the passes; private to passes/. */
#ifndef ATTNC_PASSES_PASS_H
#define ATTNC_PASSES_PASS_H

#include "passes/passes.h"

#define PASS(id, name, letter, summary, flags)        bool pass_##id(pass_ctx *pc);
#define KERNEL_PASS(id, name, letter, summary, flags) bool pass_##id(kernel *k, arena *scratch);
#include "passes/passes.def"
#undef PASS
#undef KERNEL_PASS

#endif
