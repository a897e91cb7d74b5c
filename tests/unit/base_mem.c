/* base_mem.c: planned failures, arenas and vectors. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/vec.h"

START_TEST(fails_when_told)
{
    jmp_buf back;
    mem m = {.on_oom = &back, .fail_at = 3};
    void *volatile first = mem_alloc(&m, 10);
    ck_assert_ptr_nonnull(first);
    mem_free(&m, first);
    first = mem_alloc(&m, 0); /* still an object of its own */
    ck_assert_ptr_nonnull(first);
    if (setjmp(back) == 0) {
        mem_alloc(&m, 10);
        ck_abort_msg("the third allocation did not fail");
    }
    ck_assert_uint_eq(m.count, 3);
    first = mem_realloc(&m, first, 20); /* one failure only */
    m.fail_at = 5;
    m.from_then_on = true;
    ck_assert_ptr_null(mem_try_realloc(&m, first, 30));
    ck_assert_ptr_null(mem_try_realloc(&m, first, 30));
    ck_assert_ptr_null(mem_try_realloc(&m, first, 0)); /* frees */
}
END_TEST

START_TEST(sizes_that_overflow)
{
    jmp_buf back;
    mem m = {.on_oom = &back};
    arena *a = arena_new(&m);
    volatile int failed = 0;
    for (volatile int i = 0; i < 5; i++) {
        if (setjmp(back)) {
            failed++;
            continue;
        }
        switch (i) {
        case 0:
            mem_alloc(&m, SIZE_MAX);
            break;
        case 1:
            arena_alloc(a, SIZE_MAX);
            break;
        case 2:
            arena_array(a, SIZE_MAX / 4, 8);
            break;
        case 3:
            arena_array(a, (size_t)1 << 32, (size_t)1 << 32);
            break;
        default:
            arena_strndup(a, "", SIZE_MAX);
        }
    }
    ck_assert_int_eq(failed, 5);
    arena_free(a);
    arena_free(NULL);
}
END_TEST

START_TEST(blocks)
{
    mem m = {0};
    arena *a = arena_new(&m);
    ck_assert_ptr_eq(arena_mem(a), &m);
    char *last = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        char *p = arena_alloc(a, size);
        ck_assert_ptr_nonnull(p);
        ck_assert_ptr_ne(p, last);
        ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_int_eq(p[i], 0);
        memset(p, 0xAA, size);
        last = p;
    }
    char *big = arena_alloc(a, (size_t)5 << 20);
    memset(big, 1, (size_t)5 << 20);
    ck_assert_str_eq(arena_strndup(a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    ck_assert_int_eq(memcmp(arena_copy(a, "a\0b", 3), "a\0b", 3), 0);
    arena_free(a);
}
END_TEST

START_TEST(vectors)
{
    mem m = {0};
    arena *a = arena_new(&m);
    VEC(size_t) v = {0};
    VEC(struct { char bytes[100]; }) large = {0};
    for (size_t i = 0; i < 100000; i++)
        vec_push(a, &v, i * i);
    for (size_t i = 0; i < v.n; i++)
        ck_assert_uint_eq(v.v[i], i * i);
    ck_assert_uint_eq(vec_last(&v), 99999ul * 99999ul);
    large.v = vec_grow_(a, large.v, &large.cap, 0, sizeof *large.v);
    ck_assert_uint_eq(large.cap, 1);
    arena_free(a);
}
END_TEST

/* Whatever allocation fails, what the arena holds can be given back. */
START_TEST(every_failure)
{
    for (volatile size_t k = 1; k < 12; k++) {
        jmp_buf back;
        mem m = {.on_oom = &back, .fail_at = k, .from_then_on = true};
        arena *volatile a = NULL;
        if (setjmp(back) == 0) {
            a = arena_new(&m);
            for (int i = 0; i < 1000; i++)
                arena_alloc(a, 1000);
        }
        arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base_mem");
    TCase *c = tcase_create("mem");
    tcase_add_test(c, fails_when_told);
    tcase_add_test(c, sizes_that_overflow);
    tcase_add_test(c, blocks);
    tcase_add_test(c, vectors);
    tcase_add_test(c, every_failure);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
