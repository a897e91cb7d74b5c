/*
 * internal.h - what the format readers and writers share. Not for users of libattn_io.
 */
#ifndef ATTN_IO_INTERNAL_H
#define ATTN_IO_INTERNAL_H

#include "io.h"

#include <stdio.h>

/* One read or write in progress. */
typedef struct io_ctx {
    const char *file; /* as the user wrote it; for messages */
    const attn_io_options *options;
    attn_tensor_set *set; /* reading: where tensors go */
    attn_text *error;
} io_ctx;

/* Appends "file: tensor 'x': ..." to the error (tensor may be NULL) and returns `status`. */
__attribute__((format(printf, 4, 5))) attn_io_status
io_fail(io_ctx *c, attn_io_status status, const char *tensor, const char *format, ...);
attn_io_status io_fail_nomem(io_ctx *c, const char *tensor);

bool io_wanted(const io_ctx *c, const char *name);

/* A name must be valid UTF-8, without control characters, and not empty. */
attn_io_status io_check_name(io_ctx *c, const char *name);

/* Two tensors of the set with one name are an error. */
attn_io_status io_check_distinct(io_ctx *c, const attn_tensor_set *set);

/* Adds a tensor, with its data unless it is not wanted; *out is NULL on failure. */
attn_io_status io_add(io_ctx *c, const char *name, attn_dtype dtype, int64_t rank,
                      const int64_t *shape, bool wanted, attn_tensor **out);

/* ---- source.c: bytes in order, from a file, memory or a zip member ----------------------------
 */

typedef struct io_source {
    /* Reads exactly n bytes or fails with a message. */
    attn_io_status (*read)(struct io_source *src, io_ctx *c, void *to, size_t n);
    /* Passes over n bytes; NULL: by reading. */
    attn_io_status (*skip)(struct io_source *src, io_ctx *c, uint64_t n);
    uint64_t left; /* bytes not read yet; readers check against it before they allocate */
    void *handle;
    const unsigned char *memory;
} io_source;

attn_io_status io_source_read(io_source *src, io_ctx *c, void *to, size_t n);
attn_io_status io_source_skip(io_source *src, io_ctx *c, uint64_t n);
void io_source_memory(io_source *src, const void *data, size_t size);

/* Opens a regular file; errors carry the system's reason. Close even after a failed read. */
attn_io_status io_source_open(io_source *src, io_ctx *c, const char *path);
void io_source_close(io_source *src);

/* ---- raw.c: element types as files store them -------------------------------------------------
 */

/* id, safetensors name, numpy code, bytes, type in memory. */
#define IO_RAW_LIST(X)                                                                             \
    X(F32, "F32", "f4", 4, ATTN_F32)                                                               \
    X(F64, "F64", "f8", 8, ATTN_F64)                                                               \
    X(F16, "F16", "f2", 2, ATTN_F16)                                                               \
    X(BF16, "BF16", "V2", 2, ATTN_BF16)                                                            \
    X(I64, "I64", "i8", 8, ATTN_I64)                                                               \
    X(I32, "I32", "i4", 4, ATTN_I32)                                                               \
    X(U8, "U8", "u1", 1, ATTN_U8)                                                                  \
    X(BOOL, "BOOL", "b1", 1, ATTN_BOOL)                                                            \
    X(I8, "I8", "i1", 1, ATTN_I32)                                                                 \
    X(I16, "I16", "i2", 2, ATTN_I32)                                                               \
    X(U16, "U16", "u2", 2, ATTN_I32)                                                               \
    X(U32, "U32", "u4", 4, ATTN_I64)                                                               \
    X(U64, "U64", "u8", 8, ATTN_I64)

typedef enum io_raw {
#define X(id, st, np, width, dtype) IO_RAW_##id,
    IO_RAW_LIST(X)
#undef X
        IO_RAW_NONE
} io_raw;

io_raw io_raw_of_safetensors(const char *name);
io_raw io_raw_of_numpy(const char *code); /* without the byte order character */
const char *io_raw_safetensors_name(attn_dtype dtype);
const char *io_raw_numpy_code(attn_dtype dtype);
size_t io_raw_width(io_raw raw);
attn_dtype io_raw_dtype(io_raw raw);

/*
 * Reads all elements of a tensor from `src`, where they stand as `raw`, into t->data. The caller
 * has checked that the bytes are there.
 */
attn_io_status io_raw_read(io_ctx *c, io_source *src, io_raw raw, bool big_endian, attn_tensor *t);

/* ---- npy_header.c: the text before the data ---------------------------------------------------
 */

/* Longest header read; numpy writes at most a few hundred bytes for a plain array. */
#define IO_NPY_HEADER_MAX 65536

typedef struct io_npy_header {
    io_raw raw; /* IO_RAW_NONE: a type that is not read; descr names it */
    bool big_endian;
    bool fortran;
    int64_t rank;
    int64_t shape[ATTN_IO_MAX_RANK];
    char descr[48];
} io_npy_header;

attn_io_status io_npy_read_header(io_ctx *c, io_source *src, const char *name,
                                  io_npy_header *header);

/* Appends the magic, the version and the padded header for a tensor. */
void io_npy_format_header(attn_text *out, const attn_tensor *t);

/* ---- The formats ------------------------------------------------------------------------------
 */

attn_io_status io_read_safetensors(io_ctx *c, io_source *src);
attn_io_status io_read_npy(io_ctx *c, io_source *src, const char *name);
attn_io_status io_read_npz_file(io_ctx *c, const char *path);
attn_io_status io_read_npz_memory(io_ctx *c, const void *data, size_t size);
attn_io_status io_read_folder(io_ctx *c, const char *path);

attn_io_status io_write_safetensors(io_ctx *c, const char *path, const attn_tensor_set *set);
attn_io_status io_write_npy(io_ctx *c, const char *path, const attn_tensor *t);
attn_io_status io_write_npz(io_ctx *c, const char *path, const attn_tensor_set *set);
attn_io_status io_write_folder(io_ctx *c, const char *path, const attn_tensor_set *set);

/* ---- out.c: a file that appears whole or not at all -------------------------------------------
 */

typedef struct io_out {
    FILE *f;
    attn_allocator alloc;
    char *target; /* what the path resolves to */
    char *temp;   /* NULL: a device, written directly */
} io_out;

attn_io_status io_out_open(io_out *out, io_ctx *c, const char *path);
attn_io_status io_out_write(io_out *out, io_ctx *c, const void *data, size_t n);

/* Ends writing: everything has reached the temporary file, or this fails. */
attn_io_status io_out_finish(io_out *out, io_ctx *c);

/* Gives the finished file its name. */
attn_io_status io_out_commit(io_out *out, io_ctx *c);

/* Removes what was not committed and frees; always called. */
void io_out_discard(io_out *out);

/* a + b as one string from the allocator, NULL if memory ran out. */
char *io_join(const attn_allocator *alloc, const char *a, const char *b);
void io_string_free(const attn_allocator *alloc, char *s);

#endif
