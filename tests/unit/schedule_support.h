/* schedule_support.h: one call that takes a graph text through the scheduler and compares what the
 * kernel computes (kernel_eval.h) with the reference interpreter. */
#ifndef ATTNC_TESTS_SCHEDULE_SUPPORT_H
#define ATTNC_TESTS_SCHEDULE_SUPPORT_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"

enum {
    CASE_SPECIAL = 1 << 0, /* some inputs are NaN, +inf and -inf */
    CASE_ABSENT = 1 << 1,  /* optional inputs are not given */
    CASE_MIXED = 1 << 2,   /* ... every other one */
    CASE_WIDE = 1 << 4,    /* a schedule for wide vectors and many registers */
    CASE_PLAIN = 1 << 5,   /* the plain schedule */
    CASE_TRAPS = 1 << 3,   /* ints are not kept in range: a run may end with a status */
};

/* Fails the test with both texts where anything differs. `sizes`: "T=3 S=4"; `ints`: the largest
 * int input, excluded. Int inputs are 0 .. ints-1. */
void check_case(const char *graph_text, const char *sizes, long ints, unsigned flags);
/* For several seeds and the flags CASE_SPECIAL on and off. */
void check_graph(const char *graph_text, const char *sizes, long ints);
/* Also that no real input is loaded where a NaN would not show in the first result: for graphs in
 * which only predicates can hide one. */
void check_excluded(const char *graph_text, const char *sizes, long ints);
/* The kernel's text; by the plain schedule, that or a step graph's step kernel's. */
const char *schedule_text(arena *a, const char *graph_text);
const char *schedule_plain_text(arena *a, const char *graph_text, bool steps);

#endif
