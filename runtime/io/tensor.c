/*
 * tensor.c - the set of named tensors: ownership and nothing else.
 */
#include "tensor.h"

#include "../checked.h"

#include <string.h>

/* The data block has at least one byte, so that an empty tensor still has an address. */
static size_t block(size_t bytes)
{
    return bytes ? bytes : 1;
}

static size_t shape_bytes(int64_t rank)
{
    return (size_t)(rank ? rank : 1) * sizeof(int64_t);
}

static void tensor_free(const attn_allocator *alloc, attn_tensor *t)
{
    if (t->name)
        attn_free(alloc, t->name, strlen(t->name) + 1);
    attn_free(alloc, t->shape, shape_bytes(t->rank));
    attn_free(alloc, t->data, block(t->bytes));
}

void attn_tensor_set_init(attn_tensor_set *set, const attn_allocator *alloc)
{
    *set = (attn_tensor_set){.alloc = *alloc};
}

void attn_tensor_set_truncate(attn_tensor_set *set, size_t n)
{
    while (set->n > n)
        tensor_free(&set->alloc, &set->item[--set->n]);
}

void attn_tensor_set_free(attn_tensor_set *set)
{
    attn_tensor_set_truncate(set, 0);
    attn_free(&set->alloc, set->item, set->cap * sizeof *set->item);
    set->item = NULL;
    set->cap = 0;
}

attn_tensor *attn_tensor_set_find(const attn_tensor_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->item[i].name, name) == 0)
            return &set->item[i];
    return NULL;
}

attn_tensor *attn_tensor_set_add(attn_tensor_set *set, const char *name, attn_dtype dtype,
                                 int64_t rank, const int64_t *shape, attn_io_status *status)
{
    int64_t elements;
    attn_tensor t = {.dtype = dtype, .rank = rank};
    *status = ATTN_IO_ARGUMENT;
    if (rank < 0 || rank > ATTN_IO_MAX_RANK ||
        !attn_shape_bytes(rank, shape, attn_dtype_size(dtype), &elements, &t.bytes))
        return NULL;
    *status = ATTN_IO_NOMEM;
    void *grown = attn_grow(&set->alloc, set->item, set->n, &set->cap, sizeof *set->item);
    if (!grown)
        return NULL;
    set->item = grown;
    size_t len = strlen(name);
    t.name = attn_alloc(&set->alloc, len + 1);
    if (t.name)
        memcpy(t.name, name, len + 1);
    t.shape = attn_alloc(&set->alloc, shape_bytes(rank));
    t.data = attn_alloc(&set->alloc, block(t.bytes));
    if (!t.name || !t.shape || !t.data) {
        tensor_free(&set->alloc, &t);
        return NULL;
    }
    t.shape[0] = 0;
    if (rank)
        memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    memset(t.data, 0, block(t.bytes));
    set->item[set->n] = t;
    *status = ATTN_IO_OK;
    return &set->item[set->n++];
}

int64_t attn_tensor_elements(const attn_tensor *tensor)
{
    int64_t elements = 0;
    size_t bytes;
    attn_shape_bytes(tensor->rank, tensor->shape, attn_dtype_size(tensor->dtype), &elements,
                     &bytes);
    return elements;
}
