/* mem.h: the one place where the compiler gets memory.
 *
 * Every allocation of our own goes through a `mem`, so that a test can make the n-th one fail. A
 * failed allocation does not return: it jumps to the recovery point of the session, which gives
 * back what the session held and reports "out of memory". Code between may therefore ignore the
 * case, and must hold nothing but memory of the same session's arenas (close files and foreign
 * objects at the recovery point). Only mem_try_realloc returns NULL; it is for hooks handed to
 * libraries. */
#ifndef ATTNC_IR_BASE_MEM_H
#define ATTNC_IR_BASE_MEM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mem {
    jmp_buf *on_oom;   /* where a failed allocation goes; NULL: print and exit(3) */
    size_t count;      /* allocations asked for so far */
    size_t fail_at;    /* the allocation with this number (from 1) fails; 0: none */
    bool from_then_on; /* ... and every later one too */
} mem;

void *mem_alloc(mem *m, size_t size);
void *mem_realloc(mem *m, void *p, size_t size);
void *mem_try_realloc(mem *m, void *p, size_t size); /* NULL on failure; size 0 frees */
void mem_free(mem *m, void *p);
_Noreturn void mem_fail(mem *m); /* what a failed allocation does; also for sizes that overflow */

#endif
