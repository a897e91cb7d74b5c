/* emit.c: a module as machine code, assembler or LLVM text in memory. */
#include "backend/module.h"
#include "backend/session.h"

/* The code generator changes the module it works on, so it gets a copy. */
LLVMMemoryBufferRef module_emit(backend_module *m, LLVMCodeGenFileType type, diags *ds)
{
    LLVMModuleRef copy = LLVMCloneModule(m->mod);
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    m->llvm_error = NULL;
    session_doing("generating code of", m->n > 0 ? m->names[0] : "");
    LLVMBool failed =
        LLVMTargetMachineEmitToMemoryBuffer(m->target.machine, copy, type, &message, &buffer);
    session_doing(NULL, NULL);
    LLVMDisposeModule(copy);
    if (failed) {
        diag_error(ds, (span){0}, "LLVM could not generate code: %s",
                   l_message_text(m->a, message));
        return NULL;
    }
    if (m->llvm_error) {
        LLVMDisposeMemoryBuffer(buffer);
        diag_error(ds, (span){0}, "LLVM could not generate code: %s", m->llvm_error);
        return NULL;
    }
    return buffer;
}

bool backend_print_llvm(backend_module *m, strbuf *out, diags *ds)
{
    (void)ds;
    char *text = LLVMPrintModuleToString(m->mod);
    const char *copy = l_message_text(m->a, text);
    sb_puts(out, copy);
    return true;
}

bool backend_print_asm(backend_module *m, strbuf *out, diags *ds)
{
    LLVMMemoryBufferRef b = module_emit(m, LLVMAssemblyFile, ds);
    if (!b)
        return false;
    const char *copy = arena_copy(m->a, LLVMGetBufferStart(b), LLVMGetBufferSize(b));
    size_t n = LLVMGetBufferSize(b);
    LLVMDisposeMemoryBuffer(b);
    sb_putn(out, copy, n);
    return true;
}
