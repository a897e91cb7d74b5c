/*
 * io.c - the public functions: which format a path means, and what all formats share before and
 * after their own work.
 */
#include "internal.h"

#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s);
    size_t m = strlen(tail);
    return n >= m && strcmp(s + n - m, tail) == 0;
}

attn_io_format attn_io_format_of(const char *path)
{
    struct stat st;
    if (ends_with(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return ATTN_IO_FOLDER;
    if (ends_with(path, ".safetensors"))
        return ATTN_IO_SAFETENSORS;
    if (ends_with(path, ".npy"))
        return ATTN_IO_NPY;
    if (ends_with(path, ".npz"))
        return ATTN_IO_NPZ;
    return ATTN_IO_UNKNOWN;
}

static attn_io_status fail_format(io_ctx *c)
{
    return io_fail(c, ATTN_IO_ARGUMENT, NULL,
                   "the format is unknown: .safetensors, .npz, .npy or a folder is expected");
}

/* The tensor name of a lone .npy: the last part of the path without the extension. */
static attn_io_status read_lone_npy(io_ctx *c, io_source *src, const char *path)
{
    const char *slash = strrchr(path, '/');
    const attn_allocator *alloc = &c->set->alloc;
    char *name = io_join(alloc, slash ? slash + 1 : path, "");
    if (!name)
        return io_fail_nomem(c, NULL);
    size_t n = strlen(name);
    bool cut = n > 4 && ends_with(name, ".npy");
    if (cut)
        name[n - 4] = '\0';
    attn_io_status status = io_read_npy(c, src, name);
    if (cut)
        name[n - 4] = '.';
    io_string_free(alloc, name);
    return status;
}

static attn_io_status read_source(io_ctx *c, attn_io_format format, io_source *src,
                                  const char *path)
{
    return format == ATTN_IO_NPY ? read_lone_npy(c, src, path) : io_read_safetensors(c, src);
}

static attn_io_status finish_read(io_ctx *c, attn_io_status status, size_t before)
{
    if (status == ATTN_IO_OK)
        status = io_check_distinct(c, c->set);
    if (status != ATTN_IO_OK)
        attn_tensor_set_truncate(c->set, before);
    return status;
}

attn_io_status attn_io_read(const char *path, const attn_io_options *options, attn_tensor_set *set,
                            attn_text *error)
{
    io_ctx c = {path, options, set, error};
    size_t before = set->n;
    attn_io_status status;
    attn_io_format format = attn_io_format_of(path);
    switch (format) {
    case ATTN_IO_FOLDER:
        status = io_read_folder(&c, path);
        break;
    case ATTN_IO_NPZ:
        status = io_read_npz_file(&c, path);
        break;
    case ATTN_IO_NPY:
    case ATTN_IO_SAFETENSORS: {
        io_source src;
        status = io_source_open(&src, &c, path);
        if (status == ATTN_IO_OK) {
            status = read_source(&c, format, &src, path);
            io_source_close(&src);
        }
        break;
    }
    default:
        status = fail_format(&c);
    }
    return finish_read(&c, status, before);
}

attn_io_status attn_io_read_memory(attn_io_format format, const void *data, size_t size,
                                   const char *label, const attn_io_options *options,
                                   attn_tensor_set *set, attn_text *error)
{
    io_ctx c = {label, options, set, error};
    size_t before = set->n;
    attn_io_status status;
    if (format == ATTN_IO_NPZ) {
        status = io_read_npz_memory(&c, data, size);
    } else if (format == ATTN_IO_NPY || format == ATTN_IO_SAFETENSORS) {
        io_source src;
        io_source_memory(&src, data, size);
        status = read_source(&c, format, &src, label);
    } else {
        status = fail_format(&c);
    }
    return finish_read(&c, status, before);
}

attn_io_status attn_io_write(const char *path, const attn_tensor_set *set, attn_text *error)
{
    io_ctx c = {path, NULL, NULL, error};
    attn_io_format format = attn_io_format_of(path);
    if (format == ATTN_IO_UNKNOWN)
        return fail_format(&c);
    attn_io_status status = io_check_distinct(&c, set);
    for (size_t i = 0; i < set->n && status == ATTN_IO_OK; i++) {
        status = io_check_name(&c, set->item[i].name);
        if (status == ATTN_IO_OK && !set->item[i].data)
            status = io_fail(&c, ATTN_IO_ARGUMENT, set->item[i].name, "has no data to write");
    }
    if (status != ATTN_IO_OK)
        return status;
    switch (format) {
    case ATTN_IO_FOLDER:
        return io_write_folder(&c, path, set);
    case ATTN_IO_NPZ:
        return io_write_npz(&c, path, set);
    case ATTN_IO_SAFETENSORS:
        return io_write_safetensors(&c, path, set);
    default:
        if (set->n != 1)
            return io_fail(&c, ATTN_IO_ARGUMENT, NULL,
                           "an .npy holds one tensor, %zu were given; use .npz or .safetensors",
                           set->n);
        return io_write_npy(&c, path, &set->item[0]);
    }
}
