/*
 * raw.c - element types as files store them, from the one table in internal.h, and how they become
 * the types of attn_dtype. Range and bool values are checked here, shapes elsewhere.
 */
#include "internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct raw_row {
    const char *safetensors;
    const char *numpy;
    size_t width;
    attn_dtype dtype;
} raw_row;

static const raw_row rows[] = {
#define X(id, st, np, width, dtype) {st, np, width, dtype},
    IO_RAW_LIST(X)
#undef X
};

io_raw io_raw_of_safetensors(const char *name)
{
    int i = 0;
    while (i < IO_RAW_NONE && strcmp(rows[i].safetensors, name) != 0)
        i++;
    return (io_raw)i;
}

io_raw io_raw_of_numpy(const char *code)
{
    int i = 0;
    while (i < IO_RAW_NONE && strcmp(rows[i].numpy, code) != 0)
        i++;
    return (io_raw)i;
}

/* The first rows stand in the order of attn_dtype. */
_Static_assert((int)IO_RAW_F32 == ATTN_F32 && (int)IO_RAW_F64 == ATTN_F64 &&
                   (int)IO_RAW_F16 == ATTN_F16 && (int)IO_RAW_BF16 == ATTN_BF16 &&
                   (int)IO_RAW_I64 == ATTN_I64 && (int)IO_RAW_I32 == ATTN_I32 &&
                   (int)IO_RAW_U8 == ATTN_U8 && (int)IO_RAW_BOOL == ATTN_BOOL,
               "IO_RAW_LIST begins with ATTN_DTYPE_LIST");

const char *io_raw_safetensors_name(attn_dtype dtype)
{
    return rows[dtype].safetensors;
}

const char *io_raw_numpy_code(attn_dtype dtype)
{
    return rows[dtype].numpy;
}

size_t io_raw_width(io_raw raw)
{
    return rows[raw].width;
}

attn_dtype io_raw_dtype(io_raw raw)
{
    return rows[raw].dtype;
}

static void swap_bytes(unsigned char *p, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++, p += width)
        for (size_t a = 0, b = width - 1; a < b; a++, b--) {
            unsigned char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

/* Elements to the in-memory type, where that is wider. */
static void widen(io_raw raw, const unsigned char *from, unsigned char *to, size_t count)
{
    size_t width = rows[raw].width;
    for (size_t i = 0; i < count; i++) {
        uint16_t u16;
        uint32_t u32;
        int16_t i16;
        int32_t narrow = 0;
        int64_t wide = 0;
        const unsigned char *p = from + i * width;
        switch (raw) {
        case IO_RAW_I8:
            narrow = (int8_t)*p;
            break;
        case IO_RAW_I16:
            memcpy(&i16, p, 2);
            narrow = i16;
            break;
        case IO_RAW_U16:
            memcpy(&u16, p, 2);
            narrow = u16;
            break;
        default:
            memcpy(&u32, p, 4);
            wide = u32;
            break;
        }
        if (rows[raw].dtype == ATTN_I32)
            memcpy(to + i * 4, &narrow, 4);
        else
            memcpy(to + i * 8, &wide, 8);
    }
}

/* The first element that the in-memory type cannot hold, or count. */
static size_t first_bad(io_raw raw, const unsigned char *data, size_t count)
{
    size_t i = 0;
    if (raw == IO_RAW_BOOL) {
        while (i < count && data[i] <= 1)
            i++;
    } else if (raw == IO_RAW_U64) {
        uint64_t v;
        for (; i < count; i++) {
            memcpy(&v, data + i * 8, 8);
            if (v > INT64_MAX)
                break;
        }
    } else {
        i = count;
    }
    return i;
}

static attn_io_status fail_bad(io_ctx *c, io_raw raw, const unsigned char *data, size_t i,
                               const char *name)
{
    if (raw == IO_RAW_BOOL)
        return io_fail(c, ATTN_IO_FORMAT, name, "element %zu is %u, but a bool is 0 or 1", i,
                       data[i]);
    uint64_t v;
    memcpy(&v, data + i * 8, 8);
    return io_fail(c, ATTN_IO_UNSUPPORTED, name,
                   "element %zu is %" PRIu64 ", too large for a signed 64-bit integer", i, v);
}

attn_io_status io_raw_read(io_ctx *c, io_source *src, io_raw raw, bool big_endian, attn_tensor *t)
{
    size_t width = rows[raw].width;
    size_t count = (size_t)attn_tensor_elements(t);
    unsigned char *data = t->data;
    if (width == attn_dtype_size(t->dtype)) {
        attn_io_status status = io_source_read(src, c, data, count * width);
        if (status != ATTN_IO_OK)
            return status;
        if (big_endian)
            swap_bytes(data, count, width);
        size_t bad = first_bad(raw, data, count);
        return bad < count ? fail_bad(c, raw, data, bad, t->name) : ATTN_IO_OK;
    }
    unsigned char chunk[4096];
    size_t step = sizeof chunk / width;
    for (size_t i = 0; i < count; i += step) {
        size_t n = count - i < step ? count - i : step;
        attn_io_status status = io_source_read(src, c, chunk, n * width);
        if (status != ATTN_IO_OK)
            return status;
        if (big_endian)
            swap_bytes(chunk, n, width);
        widen(raw, chunk, data + i * attn_dtype_size(t->dtype), n);
    }
    return ATTN_IO_OK;
}
