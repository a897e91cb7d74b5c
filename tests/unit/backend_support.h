/* backend_support.h: kernels as text to running code, for the backend's tests. */
#ifndef ATTNC_TESTS_BACKEND_SUPPORT_H
#define ATTNC_TESTS_BACKEND_SUPPORT_H

#include "backend/backend.h"

typedef struct bench {
    mem m;
    arena *a;
    strtab *names;
    source_set sources;
    diags ds;
    VEC(kernel *) kernels;
    backend_module *module;
} bench;

void bench_init(bench *b);
void bench_done(bench *b);
/* Reads, verifies and keeps one kernel; ends the test where it is wrong. */
kernel *bench_kernel(bench *b, const char *text);
/* Compiles all kernels read so far; NULL options: native, level 2, every LLVM pass verified. */
void bench_compile(bench *b, const backend_options *o);
backend_entry bench_entry(bench *b, const char *name);
/* All three for one kernel of that name. */
backend_entry bench_run(bench *b, const char *name, const char *text);
/* The text with each `word` in it replaced. */
const char *text_replaced(arena *a, const char *text, const char *word, const char *by);
/* The texts of the errors reported so far, each on a line. */
const char *bench_errors(bench *b);

#endif
