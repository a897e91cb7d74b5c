/* module.h: a compiled module, as the files that emit it see it. */
#ifndef ATTNC_BACKEND_MODULE_H
#define ATTNC_BACKEND_MODULE_H

#include "backend/l_build.h"

struct backend_module {
    arena *a;
    target target;
    LLVMContextRef cx;
    LLVMModuleRef mod;
    LLVMOrcLLJITRef jit; /* made by the first backend_jit */
    int level;
    bool verify_each;
    size_t n;
    const char **names, **symbols; /* of the kernels */
    const char *llvm_error;        /* the last error that LLVM reported to the context */
};

/* optimize.c: the verifier (a failure is an internal error) and LLVM's pass pipeline. */
void module_verify(backend_module *m, const char *when);
bool module_optimize(backend_module *m, diags *ds);

/* emit.c: code in memory; NULL after reporting. The caller disposes of it. */
LLVMMemoryBufferRef module_emit(backend_module *m, LLVMCodeGenFileType type, diags *ds);

#endif
