/* arena.h: memory that is given back all at once.
 *
 * One arena per compilation, one scratch arena per pass; nothing is freed singly. Blocks are zeroed
 * and aligned for any object. With ATTNC_TORTURE every block is its own malloc, so that ASan sees
 * overruns. */
#ifndef ATTNC_IR_BASE_ARENA_H
#define ATTNC_IR_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "ir/base/mem.h"

typedef struct arena arena;

arena *arena_new(mem *m);
void arena_free(arena *a); /* NULL is fine */
mem *arena_mem(arena *a);

void *arena_alloc(arena *a, size_t size);           /* zeroed */
void *arena_array(arena *a, size_t n, size_t elem); /* zeroed; n * elem is checked */
void *arena_copy(arena *a, const void *p, size_t size);
char *arena_strndup(arena *a, const char *s, size_t n); /* NUL-terminated copy */
char *arena_printf(arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#define ARENA_NEW(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_array((a), (n), sizeof(T)))

#endif
