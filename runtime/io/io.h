/*
 * io.h - the public face of libattn_io: tensor files in and out. Formats: .safetensors, .npy,
 * .npz, and a folder of .npy files. Any file content is survived; an error message names the file,
 * the tensor, what was found and what was expected.
 *
 * Tensors, names and messages come from the caller's allocator. jansson and libzip use malloc for
 * what they need while a file is open, and give it all back.
 */
#ifndef ATTN_IO_H
#define ATTN_IO_H

#include "tensor.h"

typedef enum attn_io_format {
    ATTN_IO_SAFETENSORS,
    ATTN_IO_NPY,
    ATTN_IO_NPZ,
    ATTN_IO_FOLDER,
    ATTN_IO_UNKNOWN
} attn_io_format;

typedef struct attn_io_options {
    /*
     * Which tensors to load; NULL means all. The others are listed without data, and their content
     * and element type are not looked at.
     */
    bool (*want)(void *ctx, const char *name);
    void *want_ctx;
    /* Most bytes an .npz may expand to; 0: 256 MiB or 100 times its size, whichever is larger. */
    uint64_t inflate_limit;
} attn_io_options;

/* By what is at the path (a directory) or by how it ends: '/', .safetensors, .npy, .npz. */
attn_io_format attn_io_format_of(const char *path);

/*
 * Appends the tensors of a file to the set (initialised, perhaps filled already; a name that is
 * there already is an error). The name of a lone .npy is the file's name without the extension; in
 * a folder only *.npy is looked at, in order of name. `options` may be NULL. On failure the set is
 * as before and `error` has one line.
 *
 * Element types that attn_dtype lacks: i8, i16, u16 become i32; u32 becomes i64; u64 becomes i64
 * if every value fits. A bool must be 0 or 1. Big-endian and Fortran-ordered .npy are converted,
 * and the 2-byte void type that numpy shows for bfloat16 is read as bf16.
 */
attn_io_status attn_io_read(const char *path, const attn_io_options *options, attn_tensor_set *set,
                            attn_text *error);

/*
 * The same from memory; not for folders. `label` stands for the file in messages, and its stem
 * names the tensor of an .npy.
 */
attn_io_status attn_io_read_memory(attn_io_format format, const void *data, size_t size,
                                   const char *label, const attn_io_options *options,
                                   attn_tensor_set *set, attn_text *error);

/*
 * Writes all tensors of the set, which need data and distinct names. A file appears under its name
 * whole or not at all; what was there before stays on failure. (A target that is no regular file,
 * such as a device, is written directly.) A folder is made if need be; its files appear one after
 * another once all are written, and other files in it stay. An .npy takes exactly one tensor.
 * Folders refuse names that are no file names. Equal sets give equal bytes.
 */
attn_io_status attn_io_write(const char *path, const attn_tensor_set *set, attn_text *error);

#endif
