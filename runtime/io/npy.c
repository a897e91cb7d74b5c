/*
 * npy.c - one array in an .npy stream, alone in a file, in a folder or as a member of an .npz.
 */
#include "internal.h"

#include "../checked.h"

#include <string.h>

/* Column-major to row-major: walks the target in order, stepping through the source by strides. */
static attn_io_status reorder(io_ctx *c, attn_tensor *t)
{
    const attn_allocator *alloc = &c->set->alloc;
    size_t width = attn_dtype_size(t->dtype);
    size_t stride[ATTN_IO_MAX_RANK];
    int64_t index[ATTN_IO_MAX_RANK] = {0};
    if (t->rank < 2 || t->bytes == 0)
        return ATTN_IO_OK;
    char *to = attn_alloc(alloc, t->bytes);
    if (!to)
        return io_fail_nomem(c, t->name);
    size_t step = width;
    for (int64_t i = 0; i < t->rank; i++) {
        stride[i] = step;
        step *= (size_t)t->shape[i];
    }
    const char *from = t->data;
    for (char *p = to; p < to + t->bytes; p += width) {
        memcpy(p, from, width);
        for (int64_t i = t->rank - 1; i >= 0; i--) {
            from += stride[i];
            if (++index[i] < t->shape[i])
                break;
            from -= stride[i] * (size_t)t->shape[i];
            index[i] = 0;
        }
    }
    attn_free(alloc, t->data, t->bytes);
    t->data = to;
    return ATTN_IO_OK;
}

attn_io_status io_read_npy(io_ctx *c, io_source *src, const char *name)
{
    io_npy_header h;
    attn_io_status status = io_check_name(c, name);
    if (status == ATTN_IO_OK)
        status = io_npy_read_header(c, src, name, &h);
    if (status != ATTN_IO_OK)
        return status;
    attn_tensor *t;
    if (!io_wanted(c, name)) {
        attn_dtype dtype = h.raw == IO_RAW_NONE ? ATTN_U8 : io_raw_dtype(h.raw);
        return io_add(c, name, dtype, h.rank, h.shape, false, &t);
    }
    if (h.raw == IO_RAW_NONE)
        return io_fail(c, ATTN_IO_UNSUPPORTED, name, "element type %s is not supported%s", h.descr,
                       strchr(h.descr, 'O') ? ": Python objects cannot be read" : "");
    int64_t elements;
    size_t bytes;
    if (!attn_shape_bytes(h.rank, h.shape, io_raw_width(h.raw), &elements, &bytes))
        return io_fail(c, ATTN_IO_FORMAT, name, "the shape exceeds 2^63 bytes");
    if (bytes != src->left)
        return io_fail(c, ATTN_IO_FORMAT, name,
                       "the shape needs %zu bytes of %s, but %llu follow the header", bytes,
                       h.descr, (unsigned long long)src->left);
    status = io_add(c, name, io_raw_dtype(h.raw), h.rank, h.shape, true, &t);
    if (status == ATTN_IO_OK)
        status = io_raw_read(c, src, h.raw, h.big_endian, t);
    if (status == ATTN_IO_OK && h.fortran)
        status = reorder(c, t);
    return status;
}

attn_io_status io_write_npy(io_ctx *c, const char *path, const attn_tensor *t)
{
    io_out out;
    attn_text header;
    attn_text_init(&header, &c->error->alloc);
    io_npy_format_header(&header, t);
    attn_io_status status = header.failed ? io_fail_nomem(c, t->name) : io_out_open(&out, c, path);
    if (status == ATTN_IO_OK) {
        status = io_out_write(&out, c, header.s, header.len);
        if (status == ATTN_IO_OK)
            status = io_out_write(&out, c, t->data, t->bytes);
        if (status == ATTN_IO_OK)
            status = io_out_finish(&out, c);
        if (status == ATTN_IO_OK)
            status = io_out_commit(&out, c);
        io_out_discard(&out);
    }
    attn_text_free(&header);
    return status;
}
