/* program.h: from a file named on the command line to graphs and kernels. */
#ifndef ATTNC_FRONTEND_CLI_PROGRAM_H
#define ATTNC_FRONTEND_CLI_PROGRAM_H

#include "frontend/cli/session.h"
#include "passes/passes.h"

typedef VEC(kernel *) kernel_list;

typedef struct program {
    uint32_t file; /* in the session's sources */
    bool from_ir;
    bool steps;          /* recurrences get their step functions */
    VEC(graph *) graphs; /* empty where the file holds a kernel */
    kernel_list kernels; /* after program_lower, or read from the file */
} program;

/* What the options say about compiling; a wrong value is a usage error: false. */
typedef struct compile_options {
    frontend_options frontend;
    pass_options passes;
    bool choose_passes; /* an option that chooses passes was given */
    bool steps;         /* step functions are wanted */
    backend_options backend;
} compile_options;
bool compile_options_read(session *s, compile_options *c);

/* Equations or, by the name's ending, IR text. Honours --entry. False after reporting to s->ds. */
bool program_load(session *s, const char *path, const compile_options *c, program *p);

/* Whether it holds one model (--entry has chosen already); false after reporting. */
bool program_one_model(session *s, const program *p);

/* Leaves the step graphs alone, in the place of the graphs. False after reporting that there is
 * none. */
bool program_take_steps(session *s, program *p);
/* Why a graph has no step graph, as an error. */
void report_no_steps(session *s, const graph *g);

/* compile.c. The passes over graphs. */
bool program_optimise(session *s, const compile_options *c, program *p);
/* For pass_options.failed*, with the session as ctx. */
void program_keep_graph(void *ctx, const pass_info *p, const graph *before);
void program_keep_scheduled(void *ctx, const graph *before, const char *passes);
void program_keep_kernel(void *ctx, const pass_info *p, const strbuf *before);
/* The passes over a kernel that was read. */
bool program_kernel_passes(session *s, const compile_options *c, kernel *k);
/* Kernels of the graphs, the passes over kernels done. */
bool program_schedule(session *s, const compile_options *c, program *p);
/* The one that is shown: with --steps that of the steps. */
const kernel *program_shown(const session *s, const kernel *k);
/* Native code of all kernels, in s->code. */
bool program_codegen(session *s, const compile_options *c, const program *p);

/* "no X named Y" with the nearest of the candidates, or all of them where they are few. */
void report_unknown_name(session *s, const char *what, const char *name,
                         const char *const *candidates, size_t n);

#endif
