/*
 * alloc.h - how a caller gives memory to the runtime libraries. Not an allocator itself: hosts wrap
 * their own, and attn_allocator_libc wraps realloc and free.
 */
#ifndef ATTN_ALLOC_H
#define ATTN_ALLOC_H

#include <stddef.h>

/*
 * realloc(ctx, NULL, 0, n) allocates, realloc(ctx, p, old, n) resizes, realloc(ctx, p, old, 0)
 * frees and returns NULL. Blocks are aligned as malloc's are. On failure it returns NULL and
 * leaves p as it was. `old` is exactly the size last asked for.
 */
typedef struct attn_allocator {
    void *(*realloc)(void *ctx, void *p, size_t old, size_t new_size);
    void *ctx;
} attn_allocator;

/* The C library's heap. */
attn_allocator attn_allocator_libc(void);

/* Shorthands; free accepts NULL. */
void *attn_alloc(const attn_allocator *alloc, size_t size);
void attn_free(const attn_allocator *alloc, void *p, size_t size);

/*
 * Makes room for one more element in an array of *cap elements of `size` bytes that holds n.
 * Returns the array, moved perhaps, with *cap raised; NULL (nothing changed) if memory ran out.
 */
void *attn_grow(const attn_allocator *alloc, void *array, size_t n, size_t *cap, size_t size);

#endif
