/*
 * alloc.c - the C library's heap as an attn_allocator, and array growth. Keeps no state.
 */
#include "alloc.h"

#include <stdint.h>
#include <stdlib.h>

static void *libc_realloc(void *ctx, void *p, size_t old, size_t new_size)
{
    (void)ctx;
    (void)old;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

attn_allocator attn_allocator_libc(void)
{
    return (attn_allocator){libc_realloc, NULL};
}

void *attn_alloc(const attn_allocator *alloc, size_t size)
{
    return alloc->realloc(alloc->ctx, NULL, 0, size);
}

void attn_free(const attn_allocator *alloc, void *p, size_t size)
{
    if (p)
        alloc->realloc(alloc->ctx, p, size, 0);
}

void *attn_grow(const attn_allocator *alloc, void *array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return array;
    if (*cap > SIZE_MAX / 2 / size)
        return NULL;
    size_t want = *cap ? *cap * 2 : 8;
    if (want > SIZE_MAX / size)
        return NULL;
    void *grown = alloc->realloc(alloc->ctx, array, *cap * size, want * size);
    if (grown)
        *cap = want;
    return grown;
}
