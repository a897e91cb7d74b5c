/* pass.h: the prototypes of the passes; private to passes/. */
#ifndef ATTNC_PASSES_PASS_H
#define ATTNC_PASSES_PASS_H

#include "passes/passes.h"

#define PASS(id, name, letter, summary, flags)        bool pass_##id(pass_ctx *pc);
#define KERNEL_PASS(id, name, letter, summary, flags) bool pass_##id(kernel_pass_ctx *pc);
#include "passes/passes.def"

double pass_clock(void); /* seconds, from an arbitrary start */

#endif
