/*
 * tensor.h - tensors held in memory with their names, as read from and written to files. Dense,
 * row-major, native byte order; no views, no strides, no arithmetic.
 */
#ifndef ATTN_IO_TENSOR_H
#define ATTN_IO_TENSOR_H

#include "../alloc.h"
#include "../attn_abi.h"
#include "../text.h"

#include <stdbool.h>

/* No file with more axes is read or written. */
#define ATTN_IO_MAX_RANK 64

typedef enum attn_io_status {
    ATTN_IO_OK = 0,
    ATTN_IO_NOMEM,
    ATTN_IO_SYSTEM,      /* the operating system refused: missing file, disk full, ... */
    ATTN_IO_FORMAT,      /* the content is not what its format demands */
    ATTN_IO_UNSUPPORTED, /* well-formed, but an element type or feature that is not read */
    ATTN_IO_ARGUMENT     /* the request itself: duplicate name, unknown extension, ... */
} attn_io_status;

typedef struct attn_tensor {
    char *name; /* UTF-8 */
    attn_dtype dtype;
    int64_t rank;
    int64_t *shape; /* never NULL, also at rank 0 */
    void *data;     /* not NULL for a tensor of 0 bytes; NULL: in the file but not asked for */
    size_t bytes;
} attn_tensor;

typedef struct attn_tensor_set {
    attn_allocator alloc;
    attn_tensor *item;
    size_t n;
    size_t cap;
} attn_tensor_set;

void attn_tensor_set_init(attn_tensor_set *set, const attn_allocator *alloc);
void attn_tensor_set_free(attn_tensor_set *set);

/* Drops all tensors from number n on. */
void attn_tensor_set_truncate(attn_tensor_set *set, size_t n);

/* The tensor of that name, or NULL. Linear. */
attn_tensor *attn_tensor_set_find(const attn_tensor_set *set, const char *name);

/*
 * Appends a tensor with zeroed data and copies name and shape. NULL with *status set:
 * ATTN_IO_NOMEM, or ATTN_IO_ARGUMENT if the rank exceeds ATTN_IO_MAX_RANK, an axis is negative or
 * the bytes exceed INT64_MAX. The pointer holds until the next add. Names are not compared.
 */
attn_tensor *attn_tensor_set_add(attn_tensor_set *set, const char *name, attn_dtype dtype,
                                 int64_t rank, const int64_t *shape, attn_io_status *status);

/* Elements of a tensor. */
int64_t attn_tensor_elements(const attn_tensor *tensor);

enum {
    ATTN_CONVERT_INT_TO_REAL = 1 /* allow an integer file where a real is wanted */
};

/*
 * Changes the element type in place (the data block is replaced). Real to real rounds to nearest
 * even, too large becomes infinite; i64, i32 and u8 convert among each other if every value fits;
 * bool and u8 if every value is 0 or 1. Integers become reals only with the flag; a real never
 * becomes an integer. On failure the tensor is as before and `error` has a sentence without the
 * file: ATTN_IO_ARGUMENT (types do not convert, value out of range), ATTN_IO_NOMEM.
 */
attn_io_status attn_tensor_convert(attn_tensor *tensor, attn_dtype dtype, unsigned flags,
                                   const attn_allocator *alloc, attn_text *error);

#endif
