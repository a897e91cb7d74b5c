/*
 * npz_read.c - the .npz reader: every member is an .npy. Sizes that the archive claims are tested
 * before memory is asked for: a member must be as long as its own npy header says, deflate cannot
 * expand more than 1032 times, and the whole archive has a limit.
 */
#include "internal.h"

#include <string.h>
#include <zip.h>

#define DEFLATE_RATIO 1032u
#define LIMIT_FLOOR   ((uint64_t)256 << 20)
#define LIMIT_RATIO   100u

static attn_io_status member_read(io_source *src, io_ctx *c, void *to, size_t n)
{
    zip_file_t *f = src->handle;
    char *p = to;
    while (n > 0) {
        zip_int64_t got = zip_fread(f, p, n);
        if (got < 0)
            return io_fail(c, ATTN_IO_FORMAT, NULL, "a member cannot be unpacked: %s",
                           zip_error_strerror(zip_file_get_error(f)));
        if (got == 0)
            return io_fail(c, ATTN_IO_FORMAT, NULL,
                           "a member is shorter than the archive says: %zu bytes missing", n);
        p += got;
        n -= (size_t)got;
    }
    return ATTN_IO_OK;
}

/* At the end of a member libzip compares the checksum; a longer member shows here too. */
static attn_io_status member_end(io_ctx *c, zip_file_t *f, const char *name)
{
    char extra;
    zip_int64_t got = zip_fread(f, &extra, 1);
    if (got > 0)
        return io_fail(c, ATTN_IO_FORMAT, name, "the member is longer than the archive says");
    if (got < 0)
        return io_fail(c, ATTN_IO_FORMAT, name, "the member is damaged: %s",
                       zip_error_strerror(zip_file_get_error(f)));
    return ATTN_IO_OK;
}

static attn_io_status check_member(io_ctx *c, const zip_stat_t *st, uint64_t *budget)
{
    const zip_uint64_t need = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((st->valid & need) != need)
        return io_fail(c, ATTN_IO_FORMAT, st->name, "the archive does not tell its size");
    if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
        return io_fail(c, ATTN_IO_UNSUPPORTED, st->name, "the member is encrypted");
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        return io_fail(c, ATTN_IO_UNSUPPORTED, st->name,
                       "compression method %u is neither stored nor deflate", st->comp_method);
    uint64_t most = st->comp_method == ZIP_CM_STORE              ? st->comp_size
                    : st->comp_size > UINT64_MAX / DEFLATE_RATIO ? UINT64_MAX
                                                                 : st->comp_size * DEFLATE_RATIO;
    if (st->size > most)
        return io_fail(c, ATTN_IO_FORMAT, st->name,
                       "%llu bytes cannot come from %llu compressed ones",
                       (unsigned long long)st->size, (unsigned long long)st->comp_size);
    if (st->size > *budget)
        return io_fail(c, ATTN_IO_FORMAT, st->name,
                       "the archive expands too far: %llu bytes more than the limit allows",
                       (unsigned long long)(st->size - *budget));
    *budget -= st->size;
    return ATTN_IO_OK;
}

static attn_io_status read_member(io_ctx *c, zip_t *z, zip_uint64_t index, const char *name,
                                  uint64_t size)
{
    zip_file_t *f = zip_fopen_index(z, index, 0);
    if (!f)
        return io_fail(c, ATTN_IO_FORMAT, name, "the member cannot be opened: %s",
                       zip_error_strerror(zip_get_error(z)));
    io_source src = {member_read, NULL, size, f, NULL};
    attn_io_status status = io_read_npy(c, &src, name);
    if (status == ATTN_IO_OK && src.left == 0)
        status = member_end(c, f, name);
    zip_fclose(f);
    return status;
}

static attn_io_status read_archive(io_ctx *c, zip_t *z, uint64_t archive_size)
{
    uint64_t budget = c->options ? c->options->inflate_limit : 0;
    if (budget == 0)
        budget =
            archive_size > LIMIT_FLOOR / LIMIT_RATIO ? archive_size * LIMIT_RATIO : LIMIT_FLOOR;
    zip_int64_t n = zip_get_num_entries(z, 0);
    for (zip_int64_t i = 0; i < n; i++) {
        zip_stat_t st;
        if (zip_stat_index(z, (zip_uint64_t)i, 0, &st) != 0 || !(st.valid & ZIP_STAT_NAME))
            return io_fail(c, ATTN_IO_FORMAT, NULL, "member %lld has no entry: %s", (long long)i,
                           zip_error_strerror(zip_get_error(z)));
        size_t len = strlen(st.name);
        if (len < 5 || strcmp(st.name + len - 4, ".npy") != 0)
            return io_fail(c, ATTN_IO_FORMAT, st.name, "the member is no .npy");
        attn_io_status status = check_member(c, &st, &budget);
        if (status != ATTN_IO_OK)
            return status;
        const attn_allocator *alloc = &c->set->alloc;
        char *name = io_join(alloc, st.name, "");
        if (!name)
            return io_fail_nomem(c, NULL);
        name[len - 4] = '\0';
        status = read_member(c, z, (zip_uint64_t)i, name, st.size);
        name[len - 4] = '.';
        io_string_free(alloc, name);
        if (status != ATTN_IO_OK)
            return status;
    }
    return ATTN_IO_OK;
}

static attn_io_status open_and_read(io_ctx *c, zip_source_t *source, uint64_t size)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_t *z = zip_open_from_source(source, ZIP_RDONLY, &error);
    attn_io_status status;
    if (!z) {
        zip_source_free(source);
        status = zip_error_code_zip(&error) == ZIP_ER_MEMORY
                     ? io_fail_nomem(c, NULL)
                     : io_fail(c, ATTN_IO_FORMAT, NULL, "is no readable zip archive: %s",
                               zip_error_strerror(&error));
    } else {
        status = read_archive(c, z, size);
        zip_discard(z);
    }
    zip_error_fini(&error);
    return status;
}

attn_io_status io_read_npz_memory(io_ctx *c, const void *data, size_t size)
{
    /* libzip takes an empty buffer for an empty archive to be filled. */
    if (size == 0)
        return io_fail(c, ATTN_IO_FORMAT, NULL, "is no readable zip archive: it is empty");
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(data, size, 0, &error);
    zip_error_fini(&error);
    return source ? open_and_read(c, source, size) : io_fail_nomem(c, NULL);
}

attn_io_status io_read_npz_file(io_ctx *c, const char *path)
{
    io_source src;
    attn_io_status status = io_source_open(&src, c, path);
    uint64_t size = src.left;
    if (status != ATTN_IO_OK)
        return status;
    if (size == 0) {
        io_source_close(&src);
        return io_fail(c, ATTN_IO_FORMAT, NULL, "is no readable zip archive: it is empty");
    }
    zip_error_t error;
    zip_error_init(&error);
    /* The open file and not its path: what was tested is what is read. */
    zip_source_t *source = zip_source_filep_create(src.handle, 0, -1, &error);
    zip_error_fini(&error);
    if (!source) {
        io_source_close(&src);
        return io_fail_nomem(c, NULL);
    }
    return open_and_read(c, source, size); /* the source closes the file */
}
