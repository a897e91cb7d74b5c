/* optimize.c: LLVM's verifier and optimiser over a module. */
#include "backend/module.h"
#include "backend/session.h"

void module_verify(backend_module *m, const char *when)
{
    char *message = NULL;
    if (LLVMVerifyModule(m->mod, LLVMReturnStatusAction, &message))
        ice("LLVM refuses the code after %s: %s", when, message);
    LLVMDisposeMessage(message);
}

/* Kernels come with their loops in vector lanes, unrolled and in the order in which they are to
 * run. What is left to do is scalar work: registers for `reg` buffers, addresses, dead code, and
 * lanes for the few loops that the schedule leaves plain. LLVM's own pipelines find no more than
 * this and take three times as long. */
static const char ours[] =
    "function<eager-inv>(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,adce),"
    "mergefunc,ipsccp<no-func-spec>,globalopt,deadargelim,"
    "cgscc(inline,function-attrs,function<eager-inv>("
    "simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop-vectorize,simplifycfg,gvn,"
    "instcombine<no-verify-fixpoint>,dse,loop-mssa(licm),adce,simplifycfg"
    ")),globaldce";

/* The target machine is what makes this worth while: without it, loops stay scalar. */
bool module_optimize(backend_module *m, diags *ds)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetVerifyEach(o, m->verify_each);
    LLVMPassBuilderOptionsSetLoopVectorization(o, m->level > 1);
    LLVMPassBuilderOptionsSetSLPVectorization(o, m->level > 1);
    LLVMPassBuilderOptionsSetLoopInterleaving(o, m->level > 1);
    /* Kernels say themselves what is unrolled; more costs a sixth of the time and wins nothing. */
    LLVMPassBuilderOptionsSetLoopUnrolling(o, false);
    static const char *const pipelines[] = {"default<O0>", ours, ours, "default<O3>"};
    session_doing("optimising", m->n > 0 ? m->names[0] : "");
    LLVMErrorRef e = LLVMRunPasses(m->mod, pipelines[m->level], m->target.machine, o);
    session_doing(NULL, NULL);
    LLVMDisposePassBuilderOptions(o);
    if (e) {
        diag_error(ds, (span){0}, "LLVM could not optimise the module: %s", l_error_text(m->a, e));
        return false;
    }
    return true;
}
