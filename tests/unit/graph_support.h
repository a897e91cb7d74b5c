/* graph_support.h: what the tests of ir/ and passes/ share: a session, graphs from text, runs by
 * the interpreter. */
#ifndef ATTNC_TESTS_GRAPH_SUPPORT_H
#define ATTNC_TESTS_GRAPH_SUPPORT_H

#include <check.h>
#include <math.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "ir/interp.h"

typedef struct fixture {
    mem m;
    arena *a;
    strtab *names;
    source_set sources;
    diags ds;
} fixture;

void open_fixture(fixture *s);
void close_fixture(fixture *s);

/* The module that the text says; fails the test where it has errors. */
module *read_text(fixture *s, const char *text);
graph *read_one(fixture *s, const char *text);
/* All reports on a text that must be wrong, one a line: `line: text`, notes and helps after them.
 */
const char *reports(fixture *s, const char *text);
const char *print_one(fixture *s, const graph *g);

/* A run of the interpreter with numbers as they come: inputs and params in order, reals and ints
 * alike. An input named in `absent` (or NULL) is not given. */
typedef struct run {
    interp_status status;
    const char *message;
    interp_tensor out[16];
} run;
run run_graph(fixture *s, const graph *g, const int64_t *symbols, const double *numbers,
              const char *absent);
/* The same on text; the symbols' values in order. */
run run_text(fixture *s, const char *text, const int64_t *symbols, const double *numbers);

/* Compares an output with numbers; NAN wants a NaN. */
void want_reals(const interp_tensor *t, size_t n, const double *want, double tolerance);
void want_ints(const interp_tensor *t, size_t n, const int64_t *want);
#define WANT_REALS(t, ...)                                                                         \
    want_reals((t), sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__},     \
               1e-12)
#define WANT_INTS(t, ...)                                                                          \
    want_ints((t), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

int run_suite(Suite *s);

#endif
