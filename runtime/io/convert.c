/*
 * convert.c - element type conversion of one tensor. Lossy only from real to real; integers and
 * bools are range-checked.
 */
#include "half.h"
#include "tensor.h"

#include <inttypes.h>
#include <string.h>

typedef enum kind { REAL, INTEGER, BOOLEAN } kind;

static kind kind_of(attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32:
    case ATTN_F64:
    case ATTN_F16:
    case ATTN_BF16:
        return REAL;
    case ATTN_BOOL:
        return BOOLEAN;
    default:
        return INTEGER;
    }
}

static double load_real(attn_dtype dtype, const char *p)
{
    float f;
    double d;
    uint16_t h;
    switch (dtype) {
    case ATTN_F32:
        memcpy(&f, p, sizeof f);
        return (double)f;
    case ATTN_F64:
        memcpy(&d, p, sizeof d);
        return d;
    case ATTN_F16:
        memcpy(&h, p, sizeof h);
        return attn_f16_to_double(h);
    default:
        memcpy(&h, p, sizeof h);
        return attn_bf16_to_double(h);
    }
}

static void store_real(attn_dtype dtype, char *p, double value)
{
    float f;
    uint16_t h;
    switch (dtype) {
    case ATTN_F32:
        f = (float)value;
        memcpy(p, &f, sizeof f);
        break;
    case ATTN_F64:
        memcpy(p, &value, sizeof value);
        break;
    case ATTN_F16:
        h = attn_double_to_f16(value);
        memcpy(p, &h, sizeof h);
        break;
    default:
        h = attn_double_to_bf16(value);
        memcpy(p, &h, sizeof h);
        break;
    }
}

static int64_t load_int(attn_dtype dtype, const char *p)
{
    int64_t wide;
    int32_t narrow;
    switch (dtype) {
    case ATTN_I64:
        memcpy(&wide, p, sizeof wide);
        return wide;
    case ATTN_I32:
        memcpy(&narrow, p, sizeof narrow);
        return narrow;
    default: /* u8 and bool */
        return (unsigned char)*p;
    }
}

/* False if the value does not fit. */
static bool store_int(attn_dtype dtype, char *p, int64_t value)
{
    int32_t narrow;
    switch (dtype) {
    case ATTN_I64:
        memcpy(p, &value, sizeof value);
        return true;
    case ATTN_I32:
        if (value < INT32_MIN || value > INT32_MAX)
            return false;
        narrow = (int32_t)value;
        memcpy(p, &narrow, sizeof narrow);
        return true;
    default:
        if (value < 0 || value > (dtype == ATTN_BOOL ? 1 : 255))
            return false;
        *p = (char)value;
        return true;
    }
}

/* An integer straight to the narrow real, without a second rounding through double. */
static void store_int_as_real(attn_dtype dtype, char *p, int64_t value)
{
    float f;
    if (dtype == ATTN_F32) {
        f = (float)value;
        memcpy(p, &f, sizeof f);
    } else {
        store_real(dtype, p, (double)value);
    }
}

static bool allowed(attn_dtype from, attn_dtype to, unsigned flags)
{
    kind f = kind_of(from);
    kind t = kind_of(to);
    if (f == t)
        return true;
    if (f == INTEGER && t == REAL)
        return flags & ATTN_CONVERT_INT_TO_REAL;
    return (from == ATTN_BOOL && to == ATTN_U8) || (from == ATTN_U8 && to == ATTN_BOOL);
}

/* Returns the first element that does not fit, or the number of elements. */
static int64_t convert_all(const attn_tensor *t, attn_dtype to, char *out)
{
    size_t from_width = attn_dtype_size(t->dtype);
    size_t to_width = attn_dtype_size(to);
    int64_t n = attn_tensor_elements(t);
    const char *p = t->data;
    bool from_real = kind_of(t->dtype) == REAL;
    bool to_real = kind_of(to) == REAL;
    for (int64_t i = 0; i < n; i++, p += from_width, out += to_width) {
        if (from_real)
            store_real(to, out, load_real(t->dtype, p));
        else if (to_real)
            store_int_as_real(to, out, load_int(t->dtype, p));
        else if (!store_int(to, out, load_int(t->dtype, p)))
            return i;
    }
    return n;
}

attn_io_status attn_tensor_convert(attn_tensor *tensor, attn_dtype dtype, unsigned flags,
                                   const attn_allocator *alloc, attn_text *error)
{
    if (tensor->dtype == dtype)
        return ATTN_IO_OK;
    if (!tensor->data || !allowed(tensor->dtype, dtype, flags)) {
        attn_text_add(error, "tensor ");
        attn_text_add_name(error, tensor->name);
        attn_text_add(error, tensor->data ? ": %s is not converted to %s" : ": no data (%s, %s)",
                      attn_dtype_name(tensor->dtype), attn_dtype_name(dtype));
        return ATTN_IO_ARGUMENT;
    }
    int64_t n = attn_tensor_elements(tensor);
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)attn_dtype_size(dtype), &bytes))
        return ATTN_IO_NOMEM;
    char *out = attn_alloc(alloc, bytes ? (size_t)bytes : 1);
    if (!out) {
        attn_text_add(error, "tensor ");
        attn_text_add_name(error, tensor->name);
        attn_text_add(error, ": out of memory");
        return ATTN_IO_NOMEM;
    }
    *out = 0;
    int64_t bad = convert_all(tensor, dtype, out);
    if (bad < n) {
        const char *p = tensor->data;
        p += (size_t)bad * attn_dtype_size(tensor->dtype);
        attn_text_add(error, "tensor ");
        attn_text_add_name(error, tensor->name);
        attn_text_add(error, ": element %" PRId64 " is %" PRId64 ", outside the range of %s", bad,
                      load_int(tensor->dtype, p), attn_dtype_name(dtype));
        attn_free(alloc, out, bytes ? (size_t)bytes : 1);
        return ATTN_IO_ARGUMENT;
    }
    attn_free(alloc, tensor->data, tensor->bytes ? tensor->bytes : 1);
    tensor->data = out;
    tensor->dtype = dtype;
    tensor->bytes = (size_t)bytes;
    return ATTN_IO_OK;
}
