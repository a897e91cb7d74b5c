/* mem.c: counted allocation with planned failures. Not an allocator: the memory is malloc's. */
#include "ir/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void mem_fail(mem *m)
{
    if (m->on_oom)
        longjmp(*m->on_oom, 1);
    fputs("error: out of memory\n", stderr);
    exit(3);
}

/* Counts one request and says whether it is one that a test wants to fail. */
static bool planned_failure(mem *m)
{
    m->count++;
    if (m->fail_at == 0)
        return false;
    return m->count == m->fail_at || (m->from_then_on && m->count > m->fail_at);
}

void *mem_try_realloc(mem *m, void *p, size_t size)
{
    if (size == 0) {
        free(p);
        return NULL;
    }
    /* Sizes beyond PTRDIFF_MAX are refused here: sanitizers end the process on them. */
    if (planned_failure(m) || size > (size_t)PTRDIFF_MAX)
        return NULL;
    return realloc(p, size);
}

void *mem_realloc(mem *m, void *p, size_t size)
{
    void *q = mem_try_realloc(m, p, size ? size : 1);
    if (!q)
        mem_fail(m);
    return q;
}

void *mem_alloc(mem *m, size_t size)
{
    return mem_realloc(m, NULL, size);
}

void mem_free(mem *m, void *p)
{
    (void)m;
    free(p);
}
