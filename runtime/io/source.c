/*
 * source.c - bytes in order, from a regular file or from memory. Zip members are in npz_read.c.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

attn_io_status io_source_read(io_source *src, io_ctx *c, void *to, size_t n)
{
    if (n > src->left)
        return io_fail(c, ATTN_IO_FORMAT, NULL,
                       "the file ends early: %zu bytes expected, %llu left", n,
                       (unsigned long long)src->left);
    if (n == 0)
        return ATTN_IO_OK;
    attn_io_status status = src->read(src, c, to, n);
    if (status == ATTN_IO_OK)
        src->left -= n;
    return status;
}

attn_io_status io_source_skip(io_source *src, io_ctx *c, uint64_t n)
{
    if (src->skip && n <= src->left) {
        attn_io_status status = src->skip(src, c, n);
        if (status == ATTN_IO_OK)
            src->left -= n;
        return status;
    }
    char pit[4096];
    while (n > 0) {
        size_t step = n < sizeof pit ? (size_t)n : sizeof pit;
        attn_io_status status = io_source_read(src, c, pit, step);
        if (status != ATTN_IO_OK)
            return status;
        n -= step;
    }
    return ATTN_IO_OK;
}

static attn_io_status memory_read(io_source *src, io_ctx *c, void *to, size_t n)
{
    (void)c;
    memcpy(to, src->memory, n);
    src->memory += n;
    return ATTN_IO_OK;
}

static attn_io_status memory_skip(io_source *src, io_ctx *c, uint64_t n)
{
    (void)c;
    src->memory += n;
    return ATTN_IO_OK;
}

void io_source_memory(io_source *src, const void *data, size_t size)
{
    *src = (io_source){memory_read, memory_skip, size, NULL, data};
}

static attn_io_status file_read(io_source *src, io_ctx *c, void *to, size_t n)
{
    FILE *f = src->handle;
    errno = 0;
    if (fread(to, 1, n, f) == n)
        return ATTN_IO_OK;
    if (ferror(f))
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be read: %s", strerror(errno));
    return io_fail(c, ATTN_IO_FORMAT, NULL, "the file became shorter while it was read");
}

static attn_io_status file_skip(io_source *src, io_ctx *c, uint64_t n)
{
    if (fseeko(src->handle, (off_t)n, SEEK_CUR) == 0)
        return ATTN_IO_OK;
    return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be read: %s", strerror(errno));
}

attn_io_status io_source_open(io_source *src, io_ctx *c, const char *path)
{
    struct stat st;
    *src = (io_source){file_read, file_skip, 0, NULL, NULL};
    /* Looked at before opening: opening a pipe would wait for its writer. */
    if (stat(path, &st) != 0)
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be opened: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "is not a regular file");
    FILE *f = fopen(path, "rbe");
    if (!f)
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be opened: %s", strerror(errno));
    if (fstat(fileno(f), &st) != 0) {
        int reason = errno;
        fclose(f);
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be opened: %s", strerror(reason));
    }
    src->handle = f;
    src->left = (uint64_t)st.st_size;
    return ATTN_IO_OK;
}

void io_source_close(io_source *src)
{
    if (src->handle)
        fclose(src->handle);
    src->handle = NULL;
}
