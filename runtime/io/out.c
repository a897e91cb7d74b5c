/*
 * out.c - a file that appears whole or not at all: written beside its target under a temporary
 * name, then renamed. Links are followed, so the target and not the link is replaced. Nothing is
 * synchronised to the disk; a power cut may still lose the file.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *io_join(const attn_allocator *alloc, const char *a, const char *b)
{
    size_t n = strlen(a);
    size_t m = strlen(b);
    char *s = attn_alloc(alloc, n + m + 1);
    if (s) {
        memcpy(s, a, n);
        memcpy(s + n, b, m + 1);
    }
    return s;
}

void io_string_free(const attn_allocator *alloc, char *s)
{
    if (s)
        attn_free(alloc, s, strlen(s) + 1);
}

static attn_io_status fail_write(io_ctx *c, int reason)
{
    return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be written: %s", strerror(reason));
}

/* The path with links resolved; the last part need not exist. */
static attn_io_status resolve(io_out *out, io_ctx *c, const char *path)
{
    char *real = realpath(path, NULL);
    if (!real && errno != ENOENT && errno != ENOMEM)
        return fail_write(c, errno);
    out->target = io_join(&out->alloc, real ? real : path, "");
    free(real);
    return out->target ? ATTN_IO_OK : io_fail_nomem(c, NULL);
}

/* Opens ".attn-PID-N.tmp" in the folder of the target, for the first N that is free. */
static attn_io_status open_temp(io_out *out, io_ctx *c)
{
    const char *slash = strrchr(out->target, '/');
    size_t dir = slash ? (size_t)(slash - out->target) + 1 : 0;
    char own[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(own, sizeof own, ".attn-%ld-%d.tmp", (long)getpid(), i);
        size_t n = strlen(own);
        out->temp = attn_alloc(&out->alloc, dir + n + 1);
        if (!out->temp)
            return io_fail_nomem(c, NULL);
        memcpy(out->temp, out->target, dir);
        memcpy(out->temp + dir, own, n + 1);
        int fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int reason = errno;
        if (fd >= 0) {
            out->f = fdopen(fd, "wb");
            if (out->f)
                return ATTN_IO_OK;
            reason = errno;
            close(fd);
            unlink(out->temp);
        }
        io_string_free(&out->alloc, out->temp);
        out->temp = NULL;
        if (fd >= 0 || reason != EEXIST)
            return fail_write(c, reason);
    }
    return fail_write(c, EEXIST);
}

attn_io_status io_out_open(io_out *out, io_ctx *c, const char *path)
{
    struct stat st;
    *out = (io_out){.alloc = c->error->alloc};
    attn_io_status status = resolve(out, c, path);
    if (status == ATTN_IO_OK && stat(out->target, &st) == 0 && !S_ISREG(st.st_mode)) {
        out->f = fopen(out->target, "wbe");
        if (!out->f)
            status = fail_write(c, errno);
    } else if (status == ATTN_IO_OK) {
        status = open_temp(out, c);
    }
    if (status != ATTN_IO_OK)
        io_out_discard(out);
    return status;
}

attn_io_status io_out_write(io_out *out, io_ctx *c, const void *data, size_t n)
{
    errno = 0;
    if (n == 0 || fwrite(data, 1, n, out->f) == n)
        return ATTN_IO_OK;
    return fail_write(c, errno ? errno : EIO);
}

attn_io_status io_out_finish(io_out *out, io_ctx *c)
{
    FILE *f = out->f;
    out->f = NULL;
    errno = 0;
    bool broken = ferror(f);
    if (fclose(f) != 0 || broken)
        return fail_write(c, errno ? errno : EIO);
    return ATTN_IO_OK;
}

attn_io_status io_out_commit(io_out *out, io_ctx *c)
{
    if (!out->temp)
        return ATTN_IO_OK;
    if (rename(out->temp, out->target) != 0)
        return fail_write(c, errno);
    io_string_free(&out->alloc, out->temp);
    out->temp = NULL;
    return ATTN_IO_OK;
}

void io_out_discard(io_out *out)
{
    if (out->f)
        fclose(out->f);
    if (out->temp)
        unlink(out->temp);
    io_string_free(&out->alloc, out->temp);
    io_string_free(&out->alloc, out->target);
    out->f = NULL;
    out->temp = out->target = NULL;
}
