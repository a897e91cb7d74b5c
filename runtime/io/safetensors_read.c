/*
 * safetensors_read.c - the .safetensors reader. The header is JSON of a known, shallow form:
 * {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *  "__metadata__": {"key": "text"}}. What it may cost is limited before jansson sees it.
 */
#include "../checked.h"
#include "internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_MAX = 64 << 20, /* bytes */
    DEPTH_MAX = 3,         /* header, tensor, its arrays */
    OBJECTS_MAX = 200000
};

typedef struct entry {
    const char *name;
    int64_t begin;
    int64_t end;
    const json_t *shape;
    io_raw raw;
    bool wanted;
} entry;

/*
 * Walks the header as bytes and refuses what no safetensors file holds but would be costly to
 * parse: deep nesting, very many objects, long arrays.
 */
static attn_io_status limit_header(io_ctx *c, const char *s, size_t n)
{
    int depth = 0;
    size_t objects = 0;
    size_t items = 0;
    bool in_array = false;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        char ch = s[i];
        if (in_string) {
            if (ch == '\\')
                i++;
            else if (ch == '"')
                in_string = false;
            continue;
        }
        if (ch == '"') {
            in_string = true;
        } else if (ch == '{' || ch == '[') {
            if (++depth > DEPTH_MAX)
                return io_fail(c, ATTN_IO_FORMAT, NULL,
                               "the header nests deeper than %d at byte %zu", DEPTH_MAX, i + 8);
            objects += ch == '{';
            in_array = ch == '[';
            items = 0;
        } else if (ch == '}' || ch == ']') {
            depth--;
            in_array = false;
        } else if (ch == ',' && in_array && ++items >= ATTN_IO_MAX_RANK) {
            return io_fail(c, ATTN_IO_FORMAT, NULL,
                           "an array in the header has more than %d entries", ATTN_IO_MAX_RANK);
        }
        if (objects > OBJECTS_MAX)
            return io_fail(c, ATTN_IO_FORMAT, NULL, "the header has more than %d tensors",
                           OBJECTS_MAX);
    }
    return ATTN_IO_OK;
}

static attn_io_status parse_shape(io_ctx *c, const entry *e, int64_t *rank, int64_t *shape)
{
    if (!json_is_array(e->shape))
        return io_fail(c, ATTN_IO_FORMAT, e->name, "\"shape\" is missing or not an array");
    *rank = (int64_t)json_array_size(e->shape);
    if (*rank > ATTN_IO_MAX_RANK)
        return io_fail(c, ATTN_IO_FORMAT, e->name, "has more than %d axes", ATTN_IO_MAX_RANK);
    for (int64_t i = 0; i < *rank; i++) {
        const json_t *axis = json_array_get(e->shape, (size_t)i);
        if (!json_is_integer(axis) || json_integer_value(axis) < 0)
            return io_fail(c, ATTN_IO_FORMAT, e->name,
                           "axis %lld of \"shape\" is not an integer of at least 0", (long long)i);
        shape[i] = json_integer_value(axis);
    }
    return ATTN_IO_OK;
}

static attn_io_status parse_offsets(io_ctx *c, entry *e, const json_t *offsets, uint64_t data_size)
{
    const json_t *begin = json_array_get(offsets, 0);
    const json_t *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return io_fail(c, ATTN_IO_FORMAT, e->name,
                       "\"data_offsets\" is missing or not a pair of integers");
    e->begin = json_integer_value(begin);
    e->end = json_integer_value(end);
    if (e->begin < 0 || e->end < e->begin)
        return io_fail(c, ATTN_IO_FORMAT, e->name, "\"data_offsets\" [%lld, %lld] is no range",
                       (long long)e->begin, (long long)e->end);
    if ((uint64_t)e->end > data_size)
        return io_fail(c, ATTN_IO_FORMAT, e->name,
                       "data ends at byte %lld, but the file holds %llu bytes of data",
                       (long long)e->end, (unsigned long long)data_size);
    return ATTN_IO_OK;
}

/* Every number of one tensor agrees with every other, before anything is allocated for it. */
static attn_io_status parse_entry(io_ctx *c, entry *e, const char *name, const json_t *value,
                                  uint64_t data_size)
{
    e->name = name;
    attn_io_status status = io_check_name(c, name);
    if (status != ATTN_IO_OK)
        return status;
    if (!json_is_object(value))
        return io_fail(c, ATTN_IO_FORMAT, name, "its header entry is not an object");
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    if (!dtype)
        return io_fail(c, ATTN_IO_FORMAT, name, "\"dtype\" is missing or not a string");
    int64_t rank;
    int64_t shape[ATTN_IO_MAX_RANK];
    e->shape = json_object_get(value, "shape");
    status = parse_shape(c, e, &rank, shape);
    if (status == ATTN_IO_OK)
        status = parse_offsets(c, e, json_object_get(value, "data_offsets"), data_size);
    if (status != ATTN_IO_OK)
        return status;
    e->wanted = io_wanted(c, name);
    e->raw = io_raw_of_safetensors(dtype);
    if (e->raw == IO_RAW_NONE)
        return e->wanted ? io_fail(c, ATTN_IO_UNSUPPORTED, name,
                                   "element type %.40s is not supported", dtype)
                         : ATTN_IO_OK;
    int64_t elements;
    size_t bytes;
    if (!attn_shape_bytes(rank, shape, io_raw_width(e->raw), &elements, &bytes))
        return io_fail(c, ATTN_IO_FORMAT, name, "the shape exceeds 2^63 bytes");
    if (bytes != (size_t)(e->end - e->begin))
        return io_fail(c, ATTN_IO_FORMAT, name,
                       "its shape needs %zu bytes of %s, but \"data_offsets\" spans %lld", bytes,
                       dtype, (long long)(e->end - e->begin));
    return ATTN_IO_OK;
}

static attn_io_status check_metadata(io_ctx *c, const json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return io_fail(c, ATTN_IO_FORMAT, NULL, "\"__metadata__\" is not an object");
    /* json_object_foreach only reads, but jansson's signature has no const. */
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!json_is_string(value))
            return io_fail(c, ATTN_IO_FORMAT, NULL,
                           "\"__metadata__\" holds something not a string");
    }
    return ATTN_IO_OK;
}

static int by_offset(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorted by offset, the tensors must fill the data from first byte to last. */
static attn_io_status check_layout(io_ctx *c, const entry *e, size_t n, uint64_t data_size)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].begin != at)
            return io_fail(c, ATTN_IO_FORMAT, e[i].name,
                           "data begins at byte %lld, %s the data before it, which ends at %lld",
                           (long long)e[i].begin,
                           e[i].begin < at ? "overlapping" : "leaving a gap after", (long long)at);
        at = e[i].end;
    }
    if ((uint64_t)at != data_size)
        return io_fail(c, ATTN_IO_FORMAT, NULL, "%llu bytes follow the last tensor, none may",
                       (unsigned long long)(data_size - (uint64_t)at));
    return ATTN_IO_OK;
}

static attn_io_status load(io_ctx *c, io_source *src, const entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attn_tensor *t;
        attn_dtype dtype = e[i].raw == IO_RAW_NONE ? ATTN_U8 : io_raw_dtype(e[i].raw);
        int64_t rank;
        int64_t shape[ATTN_IO_MAX_RANK];
        attn_io_status status = parse_shape(c, &e[i], &rank, shape);
        if (status == ATTN_IO_OK)
            status = io_add(c, e[i].name, dtype, rank, shape, e[i].wanted, &t);
        if (status == ATTN_IO_OK)
            status = e[i].wanted ? io_raw_read(c, src, e[i].raw, false, t)
                                 : io_source_skip(src, c, (uint64_t)(e[i].end - e[i].begin));
        if (status != ATTN_IO_OK)
            return status;
    }
    return ATTN_IO_OK;
}

static attn_io_status read_entries(io_ctx *c, io_source *src, const json_t *root)
{
    if (!json_is_object(root))
        return io_fail(c, ATTN_IO_FORMAT, NULL, "the header is not a JSON object");
    uint64_t data_size = src->left;
    size_t room = json_object_size(root) + 1;
    size_t n = 0;
    const attn_allocator *alloc = &c->set->alloc;
    entry *entries = attn_alloc(alloc, room * sizeof *entries);
    if (!entries)
        return io_fail_nomem(c, NULL);
    attn_io_status status = ATTN_IO_OK;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        if (strcmp(key, "__metadata__") == 0)
            status = check_metadata(c, value);
        else
            status = parse_entry(c, &entries[n++], key, value, data_size);
        if (status != ATTN_IO_OK)
            break;
    }
    if (status == ATTN_IO_OK) {
        qsort(entries, n, sizeof *entries, by_offset);
        status = check_layout(c, entries, n, data_size);
    }
    if (status == ATTN_IO_OK)
        status = load(c, src, entries, n);
    attn_free(alloc, entries, room * sizeof *entries);
    return status;
}

static attn_io_status parse_header(io_ctx *c, io_source *src, const char *text, size_t n)
{
    attn_io_status status = limit_header(c, text, n);
    if (status != ATTN_IO_OK)
        return status;
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        if (json_error_code(&error) == json_error_out_of_memory)
            return io_fail_nomem(c, NULL);
        return io_fail(c, ATTN_IO_FORMAT, NULL, "the header is not valid JSON at byte %d: %s",
                       error.position + 8, error.text);
    }
    status = read_entries(c, src, root);
    json_decref(root);
    return status;
}

attn_io_status io_read_safetensors(io_ctx *c, io_source *src)
{
    unsigned char prefix[8];
    if (src->left < sizeof prefix)
        return io_fail(c, ATTN_IO_FORMAT, NULL,
                       "is no safetensors file: %llu bytes, too short for the header length",
                       (unsigned long long)src->left);
    attn_io_status status = io_source_read(src, c, prefix, sizeof prefix);
    if (status != ATTN_IO_OK)
        return status;
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | prefix[i];
    if (n > src->left)
        return io_fail(c, ATTN_IO_FORMAT, NULL,
                       "the header length is %llu, but only %llu bytes follow it",
                       (unsigned long long)n, (unsigned long long)src->left);
    if (n > HEADER_MAX)
        return io_fail(c, ATTN_IO_FORMAT, NULL, "the header length is %llu, the limit is %d",
                       (unsigned long long)n, HEADER_MAX);
    const attn_allocator *alloc = &c->set->alloc;
    char *text = attn_alloc(alloc, (size_t)n + 1);
    if (!text)
        return io_fail_nomem(c, NULL);
    status = io_source_read(src, c, text, (size_t)n);
    if (status == ATTN_IO_OK && (n == 0 || text[0] != '{'))
        status = io_fail(c, ATTN_IO_FORMAT, NULL, "the header does not begin with '{'");
    if (status == ATTN_IO_OK)
        status = parse_header(c, src, text, (size_t)n);
    attn_free(alloc, text, (size_t)n + 1);
    return status;
}
