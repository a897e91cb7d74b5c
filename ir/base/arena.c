/* arena.c: bump allocation out of chained chunks.
 *
 * Chunks grow from 16 KiB to 1 MiB; a block too big for the current chunk's rest and more than a
 * quarter of a new one gets a chunk of its own, so that little is wasted. ATTNC_TORTURE gives every
 * block its own chunk of exactly its size. */
#include "ir/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/vec.h"

#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20)

typedef struct chunk {
    struct chunk *next;
    _Alignas(max_align_t) char data[];
} chunk;

struct arena {
    mem *m;
    chunk *chunks;
    char *at, *end; /* the free part of the chunk in use */
    size_t next_size;
};

arena *arena_new(mem *m)
{
    arena *a = mem_alloc(m, sizeof *a);
    *a = (arena){.m = m, .next_size = CHUNK_MIN};
    return a;
}

void arena_free(arena *a)
{
    if (!a)
        return;
    mem *m = a->m;
    for (chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(m, c);
    }
    mem_free(m, a);
}

mem *arena_mem(arena *a)
{
    return a->m;
}

static chunk *add_chunk(arena *a, size_t size)
{
    if (size > (size_t)PTRDIFF_MAX - sizeof(chunk))
        mem_fail(a->m);
    chunk *c = mem_alloc(a->m, sizeof *c + size);
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

void *arena_alloc(arena *a, size_t size)
{
#ifdef ATTNC_TORTURE
    void *block = add_chunk(a, size)->data;
#else
    if (size > CHUNK_MAX / 4)
        return memset(add_chunk(a, size)->data, 0, size);
    size_t align = _Alignof(max_align_t);
    size_t rounded = size ? (size + align - 1) / align * align : align;
    if ((size_t)(a->end - a->at) < rounded) {
        while (rounded > a->next_size / 4 && a->next_size < CHUNK_MAX)
            a->next_size *= 2;
        a->at = add_chunk(a, a->next_size)->data;
        a->end = a->at + a->next_size;
        if (a->next_size < CHUNK_MAX)
            a->next_size *= 2;
    }
    void *block = a->at;
    a->at += rounded;
#endif
    return memset(block, 0, size);
}

void *arena_array(arena *a, size_t n, size_t elem)
{
    if (elem != 0 && n > (size_t)PTRDIFF_MAX / elem)
        mem_fail(a->m);
    return arena_alloc(a, n * elem);
}

void *arena_copy(arena *a, const void *p, size_t size)
{
    void *q = arena_alloc(a, size);
    if (size)
        memcpy(q, p, size);
    return q;
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    if (n > (size_t)PTRDIFF_MAX - 1)
        mem_fail(a->m);
    char *q = arena_alloc(a, n + 1);
    if (n)
        memcpy(q, s, n);
    return q;
}

char *arena_vprintf(arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0) { /* beyond INT_MAX bytes */
        va_end(again);
        mem_fail(a->m);
    }
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

char *arena_printf(arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

void *vec_grow_(arena *a, void *v, size_t *cap, size_t n, size_t elem)
{
    /* Most lists are short: begin with 64 bytes, or with one element where that is larger. */
    size_t new_cap = *cap ? *cap * 2 : elem < 64 ? 64 / elem : 1;
    if (new_cap < *cap)
        mem_fail(a->m);
    void *w = arena_array(a, new_cap, elem);
    if (n)
        memcpy(w, v, n * elem);
    *cap = new_cap;
    return w;
}
