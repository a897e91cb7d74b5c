/*
 * runtime_abi.c - the tables of attn_abi.h, and axis sizes: their arithmetic at the edges of 64
 * bits, and programs that are damaged.
 */
#include "runtime/attn_abi.h"
#include "runtime/checked.h"
#include "runtime/extent.h"
#include "runtime/text.h"
#include "runtime_support.h"

START_TEST(tables)
{
    ck_assert_str_eq(attn_status_text(ATTN_OK), "done");
    ck_assert_str_eq(attn_status_text((attn_status)999), "unknown status");
    ck_assert_str_eq(attn_dtype_name(ATTN_BF16), "bf16");
    ck_assert_str_eq(attn_dtype_name((attn_dtype)99), "?");
    ck_assert_uint_eq(attn_dtype_size(ATTN_F64), 8);
    ck_assert_uint_eq(attn_dtype_size(ATTN_BOOL), 1);
    ck_assert_uint_eq(attn_dtype_size((attn_dtype)99), 0);
}
END_TEST

static attn_eval binary(int64_t a, int64_t op, int64_t b, int64_t *r)
{
    const int64_t code[] = {ATTN_OP_CONST, a, ATTN_OP_CONST, b, op};
    const attn_extent e = {5, code, ""};
    return attn_extent_eval(&e, NULL, 0, r);
}

START_TEST(arithmetic)
{
    static const struct {
        int64_t a, op, b, r;
    } good[] = {
        {2, ATTN_OP_ADD, 3, 5},   {2, ATTN_OP_SUB, 3, -1},  {2, ATTN_OP_MUL, 3, 6},
        {7, ATTN_OP_DIV, 2, 3},   {-7, ATTN_OP_DIV, 2, -4}, {7, ATTN_OP_DIV, -2, -4},
        {-7, ATTN_OP_DIV, -2, 3}, {7, ATTN_OP_MOD, 3, 1},   {-7, ATTN_OP_MOD, 3, 2},
        {7, ATTN_OP_MOD, -3, -2}, {6, ATTN_OP_EXACT, 3, 2}, {-6, ATTN_OP_EXACT, 3, -2},
        {2, ATTN_OP_MAX, 3, 3},   {2, ATTN_OP_MIN, 3, 2},   {INT64_MIN, ATTN_OP_MOD, -1, 0},
    };
    int64_t r;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(binary(good[i].a, good[i].op, good[i].b, &r), ATTN_EVAL_OK);
        ck_assert_int_eq(r, good[i].r);
    }
    ck_assert_int_eq(binary(INT64_MAX, ATTN_OP_ADD, 1, &r), ATTN_EVAL_OVERFLOW);
    ck_assert_int_eq(binary(INT64_MIN, ATTN_OP_SUB, 1, &r), ATTN_EVAL_OVERFLOW);
    ck_assert_int_eq(binary(INT64_MAX, ATTN_OP_MUL, 2, &r), ATTN_EVAL_OVERFLOW);
    ck_assert_int_eq(binary(INT64_MIN, ATTN_OP_DIV, -1, &r), ATTN_EVAL_OVERFLOW);
    ck_assert_int_eq(binary(1, ATTN_OP_DIV, 0, &r), ATTN_EVAL_ZERO);
    ck_assert_int_eq(binary(1, ATTN_OP_MOD, 0, &r), ATTN_EVAL_ZERO);
    ck_assert_int_eq(binary(7, ATTN_OP_EXACT, 2, &r), ATTN_EVAL_REMAINDER);
    ck_assert_int_eq(binary(7, 99, 2, &r), ATTN_EVAL_MALFORMED);
}
END_TEST

START_TEST(damaged_programs)
{
    static const int64_t programs[][5] = {
        {ATTN_OP_CONST},
        {ATTN_OP_ADD},
        {ATTN_OP_DIM, 1},
        {ATTN_OP_DIM, -1},
        {ATTN_OP_CONST, 1, ATTN_OP_CONST, 1},
    };
    static const int64_t lengths[] = {1, 1, 2, 2, 4};
    const int64_t dims[] = {3};
    int64_t r, a, b;
    for (size_t i = 0; i < 5; i++) {
        attn_extent e = {lengths[i], programs[i], ""};
        ck_assert_int_eq(attn_extent_eval(&e, dims, 1, &r), ATTN_EVAL_MALFORMED);
        ck_assert(!attn_extent_affine(&e, dims, 1, 0, &a, &b, &r));
    }
    int64_t deep[2 * (ATTN_EXTENT_STACK + 1)] = {0};
    attn_extent e = {2 * (ATTN_EXTENT_STACK + 1), deep, ""};
    ck_assert_int_eq(attn_extent_eval(&e, dims, 1, &r), ATTN_EVAL_MALFORMED);
    e.n = 0;
    ck_assert_int_eq(attn_extent_eval(&e, dims, 1, &r), ATTN_EVAL_MALFORMED);
}
END_TEST

START_TEST(shapes)
{
    int64_t n;
    size_t bytes;
    ck_assert(attn_shape_bytes(2, (int64_t[]){46341, 46341}, 4, &n, &bytes));
    ck_assert_uint_eq(bytes, 8589953124u);
    ck_assert(attn_shape_bytes(3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, 4, &n, &bytes));
    ck_assert_uint_eq(bytes, 0);
    ck_assert(!attn_shape_bytes(4, (int64_t[]){INT64_MAX, 2, 1, 1}, 1, &n, &bytes));
    ck_assert(!attn_shape_bytes(1, (int64_t[]){(int64_t)1 << 62}, 4, &n, &bytes));
    ck_assert(!attn_shape_bytes(2, (int64_t[]){0, -1}, 4, &n, &bytes));
    ck_assert(attn_shape_bytes(0, NULL, 8, &n, &bytes));
    ck_assert_int_eq(n, 1);
}
END_TEST

START_TEST(names)
{
    attn_allocator libc = attn_allocator_libc();
    attn_text text;
    attn_text_init(&text, &libc);
    ck_assert_str_eq(attn_text_cstr(&text), "");
    attn_text_add_name(&text, "a\x1b\xff\xc3\xa9");
    ck_assert_str_eq(attn_text_cstr(&text), "'a\\x1b\\xff\xc3\xa9'");
    attn_text_free(&text);
    char name[300];
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    attn_text_add_name(&text, name);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&text), "... (299 bytes)'"));
    attn_text_free(&text);
    static const char *const bad[] = {"\x80",         "\xc0\x80",         "\xe0\x80\x80",
                                      "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                                      "\xf5",         "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_uint_eq(attn_utf8_step(bad[i], strlen(bad[i])), 0);
}
END_TEST

RUN_TESTS("runtime_abi", tables, arithmetic, damaged_programs, shapes, names)
