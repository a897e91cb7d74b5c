/*
 * runtime_support.h - a test allocator that fails on demand and checks that every block is freed
 * with the size it was asked for. For tests of runtime/ only.
 */
#ifndef ATTN_TEST_RUNTIME_SUPPORT_H
#define ATTN_TEST_RUNTIME_SUPPORT_H

#include "runtime/alloc.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct torture {
    size_t live;   /* bytes handed out */
    long calls;    /* allocations and growths asked for */
    long fail_at;  /* this one fails, counted from 1; 0: none */
    bool for_good; /* and all after it */
} torture;

static inline void *torture_realloc(void *ctx, void *p, size_t old, size_t new_size)
{
    torture *t = ctx;
    char *base = p ? (char *)p - 16 : NULL;
    size_t size = 0;
    if (base)
        memcpy(&size, base, sizeof size);
    ck_assert_uint_eq(size, old);
    if (new_size == 0) {
        t->live -= old;
        free(base);
        return NULL;
    }
    t->calls++;
    if (t->fail_at && (t->calls == t->fail_at || (t->for_good && t->calls > t->fail_at)))
        return NULL;
    char *fresh = malloc(new_size + 16);
    ck_assert_ptr_nonnull(fresh);
    memcpy(fresh, &new_size, sizeof new_size);
    memset(fresh + 16, 0xa5, new_size);
    if (base)
        memcpy(fresh + 16, p, old < new_size ? old : new_size);
    free(base);
    t->live += new_size - old;
    return fresh + 16;
}

static inline attn_allocator torture_allocator(torture *t)
{
    return (attn_allocator){torture_realloc, t};
}

/* Runs the tests of one case in this process, so that leak checkers see all of it. */
static inline int run_tests(const char *name, const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#define RUN_TESTS(name, ...)                                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return run_tests(name, tests, sizeof tests / sizeof tests[0]);                             \
    }

#endif
