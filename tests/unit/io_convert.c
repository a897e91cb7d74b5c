/*
 * io_convert.c - element type conversion: every 16-bit pattern, rounding at ties, ranges.
 */
#include "runtime/io/half.h"
#include "runtime/io/tensor.h"
#include "runtime_support.h"

#include <math.h>

START_TEST(halves_round_trip)
{
    for (uint32_t i = 0; i < 65536; i++) {
        double f16 = attn_f16_to_double((uint16_t)i);
        double bf16 = attn_bf16_to_double((uint16_t)i);
        if (isnan(f16))
            ck_assert(isnan(attn_f16_to_double(attn_double_to_f16(f16))));
        else
            ck_assert_uint_eq(attn_double_to_f16(f16), i);
        if (isnan(bf16))
            ck_assert(isnan(attn_bf16_to_double(attn_double_to_bf16(bf16))));
        else
            ck_assert_uint_eq(attn_double_to_bf16(bf16), i);
        /* bf16 is the upper half of an f32. */
        uint32_t bits = i << 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        ck_assert(isnan(bf16) ? isnan(f) : bf16 == (double)f);
    }
}
END_TEST

START_TEST(halves_between)
{
    /* Halfway between neighbours goes to the even one; just beside it to the nearer. */
    for (uint16_t i = 0; i < 0x7bff; i++) {
        double low = attn_f16_to_double(i);
        double high = attn_f16_to_double((uint16_t)(i + 1));
        double mid = (low + high) / 2;
        uint16_t even = (uint16_t)(i + (i & 1));
        ck_assert_uint_eq(attn_double_to_f16(mid), even);
        ck_assert_uint_eq(attn_double_to_f16(-mid), even | 0x8000);
        ck_assert_uint_eq(attn_double_to_f16(nextafter(mid, 0)), i);
        ck_assert_uint_eq(attn_double_to_f16(nextafter(mid, 1e9)), i + 1);
    }
    ck_assert_uint_eq(attn_double_to_f16(65519.99), 0x7bff);
    ck_assert_uint_eq(attn_double_to_f16(65520), 0x7c00);
    ck_assert_uint_eq(attn_double_to_f16(1e300), 0x7c00);
    ck_assert_uint_eq(attn_double_to_f16(-5e-324), 0x8000);
    ck_assert_uint_eq(attn_double_to_bf16(3.4e38), 0x7f80);
    ck_assert_uint_eq(attn_double_to_bf16(3.39e38), 0x7f7f);
}
END_TEST

/* Converts `n` elements at `data`; the result goes back there. */
static attn_io_status convert(void *data, int64_t n, attn_dtype from, attn_dtype to, unsigned flags,
                              const char *message)
{
    torture plan = {0};
    attn_allocator alloc = torture_allocator(&plan);
    attn_tensor_set set;
    attn_text error;
    attn_io_status status;
    attn_tensor_set_init(&set, &alloc);
    attn_text_init(&error, &alloc);
    attn_tensor *t = attn_tensor_set_add(&set, "t", from, 1, &n, &status);
    memcpy(t->data, data, t->bytes);
    plan.fail_at = plan.calls + 1;
    ck_assert_int_ne(attn_tensor_convert(t, to, flags, &alloc, &error), ATTN_IO_OK);
    ck_assert_int_eq(t->dtype, from);
    attn_text_free(&error);
    plan.fail_at = 0;
    status = attn_tensor_convert(t, to, flags, &alloc, &error);
    ck_assert_str_eq(attn_text_cstr(&error), message);
    ck_assert_int_eq(t->dtype, status == ATTN_IO_OK ? to : from);
    if (status == ATTN_IO_OK)
        memcpy(data, t->data, t->bytes);
    attn_text_free(&error);
    attn_tensor_set_free(&set);
    ck_assert_uint_eq(plan.live, 0);
    return status;
}

START_TEST(integers)
{
    int64_t wide[2] = {-5, 2147483648};
    ck_assert_int_eq(convert(wide, 2, ATTN_I64, ATTN_I32, 0,
                             "tensor 't': element 1 is 2147483648, outside the range of i32"),
                     ATTN_IO_ARGUMENT);
    wide[1] = INT32_MAX;
    ck_assert_int_eq(convert(wide, 2, ATTN_I64, ATTN_I32, 0, ""), ATTN_IO_OK);
    int32_t narrow;
    memcpy(&narrow, wide, sizeof narrow);
    ck_assert_int_eq(narrow, -5);
    ck_assert_int_eq(convert((int32_t[2]){1, -1}, 2, ATTN_I32, ATTN_U8, 0,
                             "tensor 't': element 1 is -1, outside the range of u8"),
                     ATTN_IO_ARGUMENT);
    int64_t bytes[2];
    memcpy(bytes, "\1\xff", 2);
    ck_assert_int_eq(convert(bytes, 2, ATTN_U8, ATTN_I64, 0, ""), ATTN_IO_OK);
    ck_assert_int_eq(bytes[1], 255);
    ck_assert_int_eq(convert("\1\2", 2, ATTN_U8, ATTN_BOOL, 0,
                             "tensor 't': element 1 is 2, outside the range of bool"),
                     ATTN_IO_ARGUMENT);
    unsigned char flags[2] = {1, 0};
    ck_assert_int_eq(convert(flags, 2, ATTN_BOOL, ATTN_U8, 0, ""), ATTN_IO_OK);
    ck_assert_int_eq(
        convert(flags, 2, ATTN_BOOL, ATTN_I64, 0, "tensor 't': bool is not converted to i64"),
        ATTN_IO_ARGUMENT);
}
END_TEST

START_TEST(reals)
{
    double d[3] = {0.1, 1e300, -0.0};
    ck_assert_int_eq(convert(d, 3, ATTN_F64, ATTN_F32, 0, ""), ATTN_IO_OK);
    float f[3];
    memcpy(f, d, sizeof f);
    ck_assert_float_eq(f[0], 0.1f);
    ck_assert(isinf(f[1]) && signbit(f[2]));
    ck_assert_int_eq(
        convert(d, 1, ATTN_F32, ATTN_I64, 0, "tensor 't': f32 is not converted to i64"),
        ATTN_IO_ARGUMENT);
    int64_t i = 16777217;
    ck_assert_int_eq(
        convert(&i, 1, ATTN_I64, ATTN_F32, 0, "tensor 't': i64 is not converted to f32"),
        ATTN_IO_ARGUMENT);
    ck_assert_int_eq(convert(&i, 1, ATTN_I64, ATTN_F32, ATTN_CONVERT_INT_TO_REAL, ""), ATTN_IO_OK);
    float rounded;
    memcpy(&rounded, &i, sizeof rounded);
    ck_assert_float_eq(rounded, 16777216.0f);
    double h[2];
    uint16_t half[2] = {0x3c00, 0x0001};
    memcpy(h, half, sizeof half);
    ck_assert_int_eq(convert(h, 2, ATTN_F16, ATTN_F64, 0, ""), ATTN_IO_OK);
    ck_assert_double_eq(h[0], 1.0);
    ck_assert_double_eq(h[1], 0x1p-24);
}
END_TEST

RUN_TESTS("io_convert", halves_round_trip, halves_between, integers, reals)
