/*
 * safetensors_write.c - the .safetensors writer. Widest elements first and a header padded to 8
 * bytes, so that every tensor is aligned in the file.
 */
#include "internal.h"

#include <string.h>

static void add_json_string(attn_text *out, const char *s)
{
    attn_text_add_bytes(out, "\"", 1);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            attn_text_add_bytes(out, "\\", 1);
        attn_text_add_bytes(out, s, 1);
    }
    attn_text_add_bytes(out, "\"", 1);
}

/* Names hold no control characters (checked), so quotes and backslashes are all there is. */
static void add_entry(attn_text *out, const attn_tensor *t, uint64_t begin)
{
    add_json_string(out, t->name);
    attn_text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", io_raw_safetensors_name(t->dtype));
    for (int64_t i = 0; i < t->rank; i++)
        attn_text_add(out, i ? ",%lld" : "%lld", (long long)t->shape[i]);
    attn_text_add(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                  (unsigned long long)(begin + t->bytes));
}

static void format_header(attn_text *out, const attn_tensor_set *set)
{
    uint64_t at = 0;
    attn_text_add_bytes(out, "\0\0\0\0\0\0\0\0{", 9);
    for (size_t width = 8; width > 0; width /= 2)
        for (size_t i = 0; i < set->n; i++) {
            const attn_tensor *t = &set->item[i];
            if (attn_dtype_size(t->dtype) != width)
                continue;
            if (out->len > 9)
                attn_text_add_bytes(out, ",", 1);
            add_entry(out, t, at);
            at += t->bytes;
        }
    attn_text_add_bytes(out, "}", 1);
    while (!out->failed && out->len % 8 != 0)
        attn_text_add_bytes(out, " ", 1);
    if (out->failed)
        return;
    uint64_t n = out->len - 8;
    for (size_t i = 0; i < 8; i++)
        out->s[i] = (char)(n >> 8 * i & 0xff);
}

static attn_io_status write_data(io_ctx *c, io_out *out, const attn_tensor_set *set)
{
    for (size_t width = 8; width > 0; width /= 2)
        for (size_t i = 0; i < set->n; i++) {
            const attn_tensor *t = &set->item[i];
            if (attn_dtype_size(t->dtype) != width)
                continue;
            attn_io_status status = io_out_write(out, c, t->data, t->bytes);
            if (status != ATTN_IO_OK)
                return status;
        }
    return ATTN_IO_OK;
}

attn_io_status io_write_safetensors(io_ctx *c, const char *path, const attn_tensor_set *set)
{
    io_out out;
    attn_text header;
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->item[i].name, "__metadata__") == 0)
            return io_fail(c, ATTN_IO_ARGUMENT, "__metadata__", "the format reserves this name");
    attn_text_init(&header, &c->error->alloc);
    format_header(&header, set);
    attn_io_status status = header.failed ? io_fail_nomem(c, NULL) : io_out_open(&out, c, path);
    if (status == ATTN_IO_OK) {
        status = io_out_write(&out, c, header.s, header.len);
        if (status == ATTN_IO_OK)
            status = write_data(c, &out, set);
        if (status == ATTN_IO_OK)
            status = io_out_finish(&out, c);
        if (status == ATTN_IO_OK)
            status = io_out_commit(&out, c);
        io_out_discard(&out);
    }
    attn_text_free(&header);
    return status;
}
