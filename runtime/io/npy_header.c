/*
 * npy_header.c - the header of an .npy: magic, version, and the text of a Python dict such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. A strict reader of exactly that
 * form; nothing is evaluated.
 */
#include "internal.h"

#include "../checked.h"

#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

typedef struct cursor {
    io_ctx *c;
    const char *name;
    const char *s;
    const char *at;
    const char *end;
} cursor;

static attn_io_status bad(const cursor *k, const char *expected)
{
    return io_fail(k->c, ATTN_IO_FORMAT, k->name, "the npy header has no %s at character %lld",
                   expected, (long long)(k->at - k->s));
}

static void blanks(cursor *k)
{
    while (k->at < k->end && (*k->at == ' ' || *k->at == '\t' || *k->at == '\n' || *k->at == '\r'))
        k->at++;
}

/* Steps over blanks and one character if it is next. */
static bool accept(cursor *k, char ch)
{
    blanks(k);
    if (k->at == k->end || *k->at != ch)
        return false;
    k->at++;
    return true;
}

static bool accept_word(cursor *k, const char *word)
{
    size_t n = strlen(word);
    blanks(k);
    if ((size_t)(k->end - k->at) < n || memcmp(k->at, word, n) != 0)
        return false;
    k->at += n;
    return true;
}

/* A string without escapes, between either kind of quotes, shorter than `room`. */
static bool parse_string(cursor *k, char *out, size_t room)
{
    blanks(k);
    if (k->at == k->end || (*k->at != '\'' && *k->at != '"'))
        return false;
    char quote = *k->at;
    const char *p = k->at + 1;
    size_t n = 0;
    for (; p < k->end && *p != quote; p++) {
        if (*p == '\\' || *p == '\0' || n + 1 >= room)
            return false;
        out[n++] = *p;
    }
    if (p == k->end)
        return false;
    out[n] = '\0';
    k->at = p + 1;
    return true;
}

static attn_io_status parse_axis(cursor *k, int64_t *axis)
{
    blanks(k);
    const char *first = k->at;
    int64_t v = 0;
    for (; k->at < k->end && *k->at >= '0' && *k->at <= '9'; k->at++)
        if (!attn_mul64(v, 10, &v) || !attn_add64(v, *k->at - '0', &v))
            return io_fail(k->c, ATTN_IO_FORMAT, k->name, "an axis exceeds 64 bits");
    if (k->at == first)
        return bad(k, "axis size (an integer of at least 0)");
    if (k->at < k->end && *k->at == 'L')
        k->at++; /* as Python 2 wrote them */
    *axis = v;
    return ATTN_IO_OK;
}

static attn_io_status parse_shape(cursor *k, io_npy_header *h)
{
    if (!accept(k, '('))
        return bad(k, "tuple for 'shape'");
    h->rank = 0;
    bool comma = true;
    while (!accept(k, ')')) {
        if (!comma)
            return bad(k, "',' or ')'");
        if (h->rank == ATTN_IO_MAX_RANK)
            return io_fail(k->c, ATTN_IO_FORMAT, k->name, "has more than %d axes",
                           ATTN_IO_MAX_RANK);
        attn_io_status status = parse_axis(k, &h->shape[h->rank]);
        if (status != ATTN_IO_OK)
            return status;
        h->rank++;
        comma = accept(k, ',');
    }
    if (h->rank == 1 && !comma)
        return bad(k, "',' in a tuple of one");
    return ATTN_IO_OK;
}

/* The byte order character, then the code of the raw table. */
static attn_io_status parse_descr(cursor *k, io_npy_header *h)
{
    blanks(k);
    if (k->at < k->end && *k->at == '[') {
        return io_fail(k->c, ATTN_IO_UNSUPPORTED, k->name,
                       "has a structured element type, a plain one is expected");
    }
    if (!parse_string(k, h->descr, sizeof h->descr))
        return bad(k, "string for 'descr'");
    const char *code = h->descr;
    char order = *code;
    bool ordered = order == '<' || order == '>' || order == '=' || order == '|';
    if (ordered)
        code++;
    h->raw = io_raw_of_numpy(code);
    if (strcmp(code, "?") == 0)
        h->raw = IO_RAW_BOOL;
    if (h->raw != IO_RAW_NONE && io_raw_width(h->raw) > 1 && h->raw != IO_RAW_BF16 &&
        (!ordered || order == '|'))
        return io_fail(k->c, ATTN_IO_FORMAT, k->name, "element type %s does not say its byte order",
                       h->descr);
    h->big_endian = order == '>';
    return ATTN_IO_OK;
}

static attn_io_status parse_value(cursor *k, const char *key, io_npy_header *h, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned i = 0;
    while (i < 3 && strcmp(key, keys[i]) != 0)
        i++;
    if (i == 3)
        return io_fail(k->c, ATTN_IO_FORMAT, k->name, "the npy header has an unknown key %s", key);
    if (*seen & 1u << i)
        return io_fail(k->c, ATTN_IO_FORMAT, k->name, "the npy header has '%s' twice", key);
    *seen |= 1u << i;
    if (i == 0)
        return parse_descr(k, h);
    if (i == 2)
        return parse_shape(k, h);
    h->fortran = accept_word(k, "True");
    if (!h->fortran && !accept_word(k, "False"))
        return bad(k, "True or False for 'fortran_order'");
    return ATTN_IO_OK;
}

static attn_io_status parse_dict(cursor *k, io_npy_header *h)
{
    unsigned seen = 0;
    bool comma = true;
    if (!accept(k, '{'))
        return bad(k, "'{'");
    while (!accept(k, '}')) {
        char key[24];
        if (!comma)
            return bad(k, "',' or '}'");
        if (!parse_string(k, key, sizeof key))
            return bad(k, "key");
        if (!accept(k, ':'))
            return bad(k, "':'");
        attn_io_status status = parse_value(k, key, h, &seen);
        if (status != ATTN_IO_OK)
            return status;
        comma = accept(k, ',');
    }
    if (seen != 7)
        return io_fail(k->c, ATTN_IO_FORMAT, k->name,
                       "the npy header lacks 'descr', 'fortran_order' or 'shape'");
    blanks(k);
    if (k->at != k->end)
        return bad(k, "end");
    return ATTN_IO_OK;
}

attn_io_status io_npy_read_header(io_ctx *c, io_source *src, const char *name,
                                  io_npy_header *header)
{
    unsigned char p[12];
    if (src->left < 10)
        return io_fail(c, ATTN_IO_FORMAT, name, "%llu bytes are too short for an npy header",
                       (unsigned long long)src->left);
    attn_io_status status = io_source_read(src, c, p, 8);
    if (status != ATTN_IO_OK)
        return status;
    if (memcmp(p, magic, sizeof magic) != 0)
        return io_fail(c, ATTN_IO_FORMAT, name,
                       "is no npy file: it does not begin with \\x93NUMPY");
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return io_fail(c, ATTN_IO_UNSUPPORTED, name, "npy version %u.%u is not 1.0, 2.0 or 3.0",
                       p[6], p[7]);
    size_t width = p[6] == 1 ? 2 : 4;
    status = io_source_read(src, c, p, width);
    if (status != ATTN_IO_OK)
        return status;
    uint32_t n = 0;
    for (size_t i = width; i-- > 0;)
        n = n << 8 | p[i];
    if (n > src->left)
        return io_fail(c, ATTN_IO_FORMAT, name,
                       "the npy header length is %u, but only %llu bytes follow it", n,
                       (unsigned long long)src->left);
    if (n > IO_NPY_HEADER_MAX)
        return io_fail(c, ATTN_IO_FORMAT, name, "the npy header length is %u, the limit is %d", n,
                       IO_NPY_HEADER_MAX);
    const attn_allocator *alloc = &c->set->alloc;
    char *text = attn_alloc(alloc, (size_t)n + 1);
    if (!text)
        return io_fail_nomem(c, name);
    status = io_source_read(src, c, text, n);
    if (status == ATTN_IO_OK) {
        cursor k = {c, name, text, text, text + n};
        memset(header, 0, sizeof *header);
        status = parse_dict(&k, header);
    }
    attn_free(alloc, text, (size_t)n + 1);
    return status;
}

void io_npy_format_header(attn_text *out, const attn_tensor *t)
{
    size_t start = out->len;
    char order = attn_dtype_size(t->dtype) == 1 ? '|' : '<';
    /* Magic, version 1.0 and room for the length, filled in below. */
    attn_text_add_bytes(out, magic, sizeof magic);
    attn_text_add_bytes(out, "\1\0\0\0", 4);
    attn_text_add(out, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                  io_raw_numpy_code(t->dtype));
    for (int64_t i = 0; i < t->rank; i++)
        attn_text_add(out, i + 1 < t->rank ? "%lld, " : "%lld", (long long)t->shape[i]);
    attn_text_add(out, t->rank == 1 ? ",), }" : "), }");
    /* Spaces and a newline, so that the data is aligned in the file. */
    while (!out->failed && (out->len - start + 1) % 64 != 0)
        attn_text_add_bytes(out, " ", 1);
    attn_text_add_bytes(out, "\n", 1);
    if (out->failed)
        return;
    size_t n = out->len - start - 10;
    out->s[start + 8] = (char)(n & 0xff);
    out->s[start + 9] = (char)(n >> 8);
}
