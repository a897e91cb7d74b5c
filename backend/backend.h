/* backend.h: kernels to native code. No LLVM type appears here; nobody but this folder includes
 * llvm-c. */
#ifndef ATTNC_BACKEND_BACKEND_H
#define ATTNC_BACKEND_BACKEND_H

#include "runtime/attn_abi.h"

#include "ir/kernel/kernel.h"
#include "ir/kernel/shape.h"

typedef struct backend_options {
    const char *triple; /* NULL: the host's */
    const char *cpu;    /* NULL or "native": the host's features, read from the machine; else a name
                           such as    "x86-64-v3" */
    int level;          /* 0 .. 3 */
    bool verify_each;   /* LLVM's verifier after every LLVM pass (tests) */
} backend_options;

/* The machine that code made with these options is for; false after reporting to ds. */
bool backend_shape(const backend_options *o, machine_shape *shape, diags *ds);

/* The kernels of one module, and their step kernels, as one LLVM module, optimised. NULL after
 * reporting to ds. */
typedef struct backend_module backend_module;
backend_module *backend_compile(kernel *const *kernels, size_t n, const backend_options *o,
                                diags *ds);
void backend_free(backend_module *m); /* NULL is fine; also gives back the JIT's code */

/* What to emit. Text goes to `out`; files appear whole or not at all. */
bool backend_print_llvm(backend_module *m, strbuf *out, diags *ds);
bool backend_print_asm(backend_module *m, strbuf *out, diags *ds);
bool backend_write_object(backend_module *m, const char *path, diags *ds);
bool backend_write_shared(backend_module *m, const char *path,
                          diags *ds); /* links; host linker ld.lld or ld */

/* Whether the kernels can have a C interface: no two names clash, families have known sizes. False
 * after reporting to ds. backend_compile asks this first; the header and the record need it too. */
bool backend_check(kernel *const *kernels, size_t n, diags *ds);

/* The C header for the kernels; `basename` gives the include guard. */
void backend_print_header(kernel *const *kernels, size_t n, const char *basename, strbuf *out);

/* JIT: the entry points of kernel `name`, alive until backend_free. */
typedef struct backend_entry {
    const attn_model_info *info;
    attn_workspace_fn *workspace;
    attn_prepared_fn *prepared;
    attn_prepare_fn *prepare;
    attn_run_fn *run;
    attn_state_fn *state; /* with a step kernel, else these are NULL */
    attn_begin_fn *begin;
    attn_step_fn *step;
} backend_entry;
bool backend_jit(backend_module *m, const char *name, backend_entry *e, diags *ds);

/* The reflection record of a kernel without compiling it: what the interpreter's host uses. */
const attn_model_info *backend_info(arena *a, const kernel *k);

const char *backend_version(void); /* "LLVM 19.1.7" */

#endif
