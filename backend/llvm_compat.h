/* llvm_compat.h: the one door to LLVM's C API, and the one place where its versions differ.
 *
 * Built with 19 and 22. Everything else in this folder is written for both; a difference that is
 * met later becomes a wrapper here, never an #if in a function body. */
#ifndef ATTNC_BACKEND_LLVM_COMPAT_H
#define ATTNC_BACKEND_LLVM_COMPAT_H

#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

_Static_assert(LLVM_VERSION_MAJOR >= 19, "attnc needs LLVM 19 or later");

/* "The callee keeps no copy of this pointer": an attribute of its own up to 20, captures(none)
 * since. */
static inline LLVMAttributeRef compat_nocapture(LLVMContextRef cx)
{
#if LLVM_VERSION_MAJOR >= 21
    const char *name = "captures";
#else
    const char *name = "nocapture";
#endif
    return LLVMCreateEnumAttribute(cx, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

/* Masked loads and stores: the alignment is an operand behind the pointer up to 21, an attribute of
 * the pointer since. */
enum { COMPAT_MASKED_ALIGN_OPERAND = LLVM_VERSION_MAJOR < 22 };

#endif
