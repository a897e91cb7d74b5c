/* module.c: from kernels to an optimised LLVM module, and its life.
 *
 * LLVM's objects live outside our arenas. A failed allocation of ours jumps away, so
 * backend_compile puts its own recovery point in front: it gives LLVM's objects back and jumps on.
 */
#include "backend/module.h"

#include <setjmp.h>

#include "backend/lower.h"
#include "backend/session.h"

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx)
{
    backend_module *m = ctx;
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        m->llvm_error = l_message_text(m->a, LLVMGetDiagInfoDescription(info));
}

static void build(backend_module *m, kernel *const *kernels)
{
    m->mod = LLVMModuleCreateWithNameInContext("attnc", m->cx);
    LLVMSetTarget(m->mod, m->target.triple);
    LLVMSetModuleDataLayout(m->mod, m->target.layout);
    LLVMMetadataRef pic = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(m->cx), 2, 0));
    LLVMAddModuleFlag(m->mod, LLVMModuleFlagBehaviorWarning, "PIC Level", 9, pic);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(m->cx);
    lb l;
    lb_init(&l, m->a, m->cx, m->mod, b, &m->target);
    for (size_t i = 0; i < m->n; i++)
        lower_kernel(&l, kernels[i]);
    LLVMDisposeBuilder(b);
}

static bool compile(backend_module *m, kernel *const *kernels, size_t n, const backend_options *o,
                    diags *ds)
{
    if (!backend_check(kernels, n, ds) || !target_init(&m->target, m->a, o, ds))
        return false;
    m->level = o->level < 0 ? 0 : o->level > 3 ? 3 : o->level;
    m->verify_each = o->verify_each;
    m->n = n;
    m->names = ARENA_ARRAY(m->a, const char *, n + 1);
    m->symbols = ARENA_ARRAY(m->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        m->names[i] = arena_printf(m->a, "%s", kernels[i]->name);
        m->symbols[i] = c_symbol(m->a, kernels[i]->name);
    }
    m->cx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(m->cx, on_diagnostic, m);
    build(m, kernels);
    module_verify(m, "lowering");
    if (!module_optimize(m, ds))
        return false;
    module_verify(m, "optimisation");
    return true;
}

backend_module *backend_compile(kernel *const *kernels, size_t n, const backend_options *o,
                                diags *ds)
{
    mem *mm = arena_mem(ds->a);
    arena *a = arena_new(mm);
    backend_module *volatile m = NULL; /* as it was left, when a jump comes */
    jmp_buf here, *outer = mm->on_oom;
    if (setjmp(here)) {
        mm->on_oom = outer;
        if (m)
            backend_free(m);
        else
            arena_free(a);
        mem_fail(mm);
    }
    mm->on_oom = &here;
    backend_module *made = ARENA_NEW(a, backend_module);
    made->a = a;
    m = made;
    bool ok = compile(made, kernels, n, o, ds);
    mm->on_oom = outer;
    if (ok)
        return made;
    backend_free(made);
    return NULL;
}

void backend_free(backend_module *m)
{
    if (!m)
        return;
    session_doing(NULL, NULL); /* its text may be on this arena */
    if (m->jit) {
        LLVMErrorRef e = LLVMOrcDisposeLLJIT(m->jit);
        if (e)
            LLVMConsumeError(e);
    }
    if (m->mod)
        LLVMDisposeModule(m->mod);
    if (m->cx)
        LLVMContextDispose(m->cx);
    target_done(&m->target);
    arena_free(m->a);
}

const char *backend_version(void)
{
    return "LLVM " LLVM_VERSION_STRING;
}
