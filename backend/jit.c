/* jit.c: a module as code in this process.
 *
 * The object is generated as for a file and handed to LLJIT, so that a JIT and a built library run
 * the same instructions. LLJIT gets no access to the symbols of this process: the libm functions
 * that f64 code calls are given to it one by one. */
#include "backend/lower.h"
#include "backend/module.h"
#include "backend/vecmath.h"

static bool fail(backend_module *m, diags *ds, const char *what, LLVMErrorRef e)
{
    diag_error(ds, (span){0}, "%s: %s", what, l_error_text(m->a, e));
    return false;
}

static LLVMErrorRef define_libm(LLVMOrcLLJITRef jit)
{
    enum { MAX = 64 };
    LLVMOrcCSymbolMapPair pairs[MAX];
    size_t n = vecmath_n_externs;
    ICE_UNLESS(n <= MAX);
    for (size_t i = 0; i < n; i++) {
        const vecmath_extern *x = &vecmath_externs[i];
        uint64_t at = x->f1 ? (uint64_t)(uintptr_t)x->f1 : (uint64_t)(uintptr_t)x->f2;
        LLVMJITSymbolFlags flags = {
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
        /* The interned name's reference goes over to the definition. */
        pairs[i] = (LLVMOrcCSymbolMapPair){LLVMOrcLLJITMangleAndIntern(jit, x->name), {at, flags}};
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
    LLVMErrorRef e = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit);
    if (e)
        LLVMOrcDisposeMaterializationUnit(unit);
    return e;
}

static bool start(backend_module *m, diags *ds)
{
    if (!m->target.runs_here) {
        diag *d =
            diag_error(ds, (span){0}, "code for %s (%s) cannot be known to run on this machine",
                       m->target.cpu, m->target.triple);
        diag_help(d, "leave the target out, or use native, to run it here");
        return false;
    }
    LLVMMemoryBufferRef code = module_emit(m, LLVMObjectFile, ds);
    if (!code)
        return false;
    LLVMOrcLLJITRef jit = NULL;
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&jit, LLVMOrcCreateLLJITBuilder()); /* takes the builder */
    if (e) {
        LLVMDisposeMemoryBuffer(code);
        return fail(m, ds, "LLVM's JIT does not start", e);
    }
    m->jit = jit; /* backend_free gives it back from here on */
    e = define_libm(jit);
    if (e) {
        LLVMDisposeMemoryBuffer(code);
        return fail(m, ds, "LLVM's JIT refuses the symbols of libm", e);
    }
    e = LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), code); /* takes the code */
    if (e)
        return fail(m, ds, "LLVM's JIT refuses the code", e);
    return true;
}

/* The address of symbol + suffix; 0 after reporting. */
static uint64_t look_up(backend_module *m, const char *symbol, const char *suffix, diags *ds)
{
    LLVMOrcExecutorAddress at = 0;
    LLVMErrorRef e = LLVMOrcLLJITLookup(m->jit, &at, arena_printf(m->a, "%s%s", symbol, suffix));
    if (e) {
        fail(m, ds, "LLVM's JIT does not find an entry point", e);
        return 0;
    }
    return at;
}

bool backend_jit(backend_module *m, const char *name, backend_entry *e, diags *ds)
{
    const char *symbol = NULL;
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0)
            symbol = m->symbols[i];
    if (!symbol) {
        diag *d = diag_error(ds, (span){0}, "there is no model '%s'", name);
        const char *near = m->n ? str_nearest(m->a, name, m->names, m->n) : NULL;
        if (near)
            diag_help(d, "did you mean '%s'?", near);
        return false;
    }
    if (!m->jit && !start(m, ds))
        return false;
    uint64_t info = look_up(m, symbol, "_info", ds), run = info ? look_up(m, symbol, "", ds) : 0;
    if (!run)
        return false;
    uint64_t workspace = look_up(m, symbol, "_workspace", ds);
    uint64_t prepared = look_up(m, symbol, "_prepared", ds);
    uint64_t prepare = look_up(m, symbol, "_prepare", ds);
    *e = (backend_entry){
        .info = (const attn_model_info *)(uintptr_t)info,
        .workspace = (attn_workspace_fn *)(uintptr_t)workspace,
        .prepared = (attn_prepared_fn *)(uintptr_t)prepared,
        .prepare = (attn_prepare_fn *)(uintptr_t)prepare,
        .run = (attn_run_fn *)(uintptr_t)run,
    };
    if (!workspace || !prepared || !prepare)
        return false;
    if (!e->info->capacity)
        return true;
    uint64_t state = look_up(m, symbol, "_state", ds), begin = look_up(m, symbol, "_begin", ds);
    uint64_t step = look_up(m, symbol, "_step", ds);
    e->state = (attn_state_fn *)(uintptr_t)state;
    e->begin = (attn_begin_fn *)(uintptr_t)begin;
    e->step = (attn_step_fn *)(uintptr_t)step;
    return state && begin && step;
}
