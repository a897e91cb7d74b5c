/*
 * context.c - messages and the checks every format shares.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

attn_io_status io_fail(io_ctx *c, attn_io_status status, const char *tensor, const char *format,
                       ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    /* A sentence may quote the file; its control characters must not reach a terminal. */
    for (char *p = sentence; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    attn_text_add(c->error, "%s: ", c->file);
    if (tensor) {
        attn_text_add(c->error, "tensor ");
        attn_text_add_name(c->error, tensor);
        attn_text_add(c->error, ": ");
    }
    attn_text_add(c->error, "%s", sentence);
    return status;
}

attn_io_status io_fail_nomem(io_ctx *c, const char *tensor)
{
    return io_fail(c, ATTN_IO_NOMEM, tensor, "out of memory");
}

bool io_wanted(const io_ctx *c, const char *name)
{
    return !c->options || !c->options->want || c->options->want(c->options->want_ctx, name);
}

attn_io_status io_check_name(io_ctx *c, const char *name)
{
    size_t n = strlen(name);
    if (n == 0)
        return io_fail(c, ATTN_IO_FORMAT, NULL, "a tensor has an empty name");
    for (size_t i = 0; i < n;) {
        size_t step = attn_utf8_step(name + i, n - i);
        if (step == 0)
            return io_fail(c, ATTN_IO_FORMAT, name, "the name is not valid UTF-8 at byte %zu", i);
        unsigned char ch = (unsigned char)name[i];
        if (ch < 0x20 || ch == 0x7f)
            return io_fail(c, ATTN_IO_FORMAT, name, "the name has a control character at byte %zu",
                           i);
        i += step;
    }
    return ATTN_IO_OK;
}

static int by_name(const void *a, const void *b)
{
    const attn_tensor *const *x = a;
    const attn_tensor *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

attn_io_status io_check_distinct(io_ctx *c, const attn_tensor_set *set)
{
    if (set->n < 2)
        return ATTN_IO_OK;
    attn_allocator alloc = c->error->alloc;
    size_t bytes = set->n * sizeof(const attn_tensor *);
    const attn_tensor **order = attn_alloc(&alloc, bytes);
    if (!order)
        return io_fail_nomem(c, NULL);
    for (size_t i = 0; i < set->n; i++)
        order[i] = &set->item[i];
    qsort(order, set->n, sizeof *order, by_name);
    attn_io_status status = ATTN_IO_OK;
    for (size_t i = 1; i < set->n && status == ATTN_IO_OK; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            status = io_fail(c, ATTN_IO_ARGUMENT, order[i]->name, "the name occurs twice");
    attn_free(&alloc, order, bytes);
    return status;
}

attn_io_status io_add(io_ctx *c, const char *name, attn_dtype dtype, int64_t rank,
                      const int64_t *shape, bool wanted, attn_tensor **out)
{
    attn_io_status status;
    const int64_t none = 0;
    /* One that is not wanted is made empty first: its own shape may be far too large to hold. */
    attn_tensor *t = wanted ? attn_tensor_set_add(c->set, name, dtype, rank, shape, &status)
                            : attn_tensor_set_add(c->set, name, dtype, 1, &none, &status);
    *out = t;
    if (!t)
        return status == ATTN_IO_NOMEM
                   ? io_fail_nomem(c, name)
                   : io_fail(c, status, name, "the shape is negative or exceeds 2^63 bytes");
    if (wanted)
        return ATTN_IO_OK;
    const attn_allocator *alloc = &c->set->alloc;
    if (rank > 1) {
        int64_t *own = attn_alloc(alloc, (size_t)rank * sizeof *own);
        if (!own) {
            attn_tensor_set_truncate(c->set, c->set->n - 1);
            *out = NULL;
            return io_fail_nomem(c, name);
        }
        attn_free(alloc, t->shape, sizeof *t->shape);
        t->shape = own;
    }
    if (rank)
        memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    t->rank = rank;
    attn_free(alloc, t->data, 1);
    t->data = NULL;
    return ATTN_IO_OK;
}
