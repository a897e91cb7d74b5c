/*
 * npz_write.c - the .npz writer: members stored without compression, with a fixed date, so that
 * equal sets give equal bytes. libzip writes to a temporary file beside the target and renames it.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

/* 1980-01-01, the first day a zip can name. */
#define DOS_DATE 0x21

static attn_io_status fail_zip(io_ctx *c, const char *tensor, zip_error_t *error)
{
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return io_fail_nomem(c, tensor);
    return io_fail(c, ATTN_IO_SYSTEM, tensor, "cannot be written: %s", zip_error_strerror(error));
}

static attn_io_status add_member(io_ctx *c, zip_t *z, const attn_tensor *t, const attn_text *header)
{
    /* libzip keeps the addresses until zip_close; it only reads through them. */
    zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)header->s, header->len},
                                      {(zip_uint8_t *)t->data, t->bytes}};
    zip_source_t *source = zip_source_buffer_fragment(z, parts, t->bytes ? 2 : 1, 0);
    char *name = io_join(&c->error->alloc, t->name, ".npy");
    if (!source || !name) {
        zip_source_free(source);
        io_string_free(&c->error->alloc, name);
        return io_fail_nomem(c, t->name);
    }
    zip_int64_t index = zip_file_add(z, name, source, ZIP_FL_ENC_UTF_8);
    io_string_free(&c->error->alloc, name);
    if (index < 0) {
        zip_source_free(source);
        return fail_zip(c, t->name, zip_get_error(z));
    }
    if (zip_set_file_compression(z, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(z, (zip_uint64_t)index, 0, DOS_DATE, 0) != 0)
        return fail_zip(c, t->name, zip_get_error(z));
    return ATTN_IO_OK;
}

static attn_io_status write_archive(io_ctx *c, const char *target, const attn_tensor_set *set,
                                    attn_text *headers)
{
    int code = 0;
    zip_t *z = zip_open(target, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!z) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        attn_io_status status = fail_zip(c, NULL, &error);
        zip_error_fini(&error);
        return status;
    }
    attn_io_status status = ATTN_IO_OK;
    for (size_t i = 0; i < set->n && status == ATTN_IO_OK; i++) {
        io_npy_format_header(&headers[i], &set->item[i]);
        status = headers[i].failed ? io_fail_nomem(c, set->item[i].name)
                                   : add_member(c, z, &set->item[i], &headers[i]);
    }
    if (status == ATTN_IO_OK && zip_close(z) == 0)
        return ATTN_IO_OK;
    if (status == ATTN_IO_OK)
        status = fail_zip(c, NULL, zip_get_error(z));
    zip_discard(z);
    return status;
}

/* What libzip does not do: it writes no file for an archive without members. */
static attn_io_status write_empty(io_ctx *c, const char *path)
{
    static const char end[22] = {'P', 'K', 5, 6};
    io_out out;
    attn_io_status status = io_out_open(&out, c, path);
    if (status != ATTN_IO_OK)
        return status;
    status = io_out_write(&out, c, end, sizeof end);
    if (status == ATTN_IO_OK)
        status = io_out_finish(&out, c);
    if (status == ATTN_IO_OK)
        status = io_out_commit(&out, c);
    io_out_discard(&out);
    return status;
}

attn_io_status io_write_npz(io_ctx *c, const char *path, const attn_tensor_set *set)
{
    struct stat st;
    if (set->n == 0)
        return write_empty(c, path);
    const attn_allocator *alloc = &c->error->alloc;
    size_t bytes = set->n * sizeof(attn_text);
    attn_text *headers = attn_alloc(alloc, bytes);
    if (!headers)
        return io_fail_nomem(c, NULL);
    for (size_t i = 0; i < set->n; i++)
        attn_text_init(&headers[i], alloc);
    char *real = realpath(path, NULL);
    attn_io_status status;
    if (real && stat(real, &st) == 0 && !S_ISREG(st.st_mode))
        status = io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be written: is not a regular file");
    else
        status = write_archive(c, real ? real : path, set, headers);
    free(real);
    for (size_t i = 0; i < set->n; i++)
        attn_text_free(&headers[i]);
    attn_free(alloc, headers, bytes);
    return status;
}
