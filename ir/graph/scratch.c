/* scratch.c: see scratch.h. A failed allocation leaves by longjmp, so the arena is freed at a
 * recovery point of its own, which then passes the failure on. */
#include "ir/graph/scratch.h"

void with_scratch(mem *m, scratch_fn *f, void *ctx)
{
    struct {
        arena *a;
        jmp_buf *outer;
        jmp_buf here;
    } s;
    s.a = arena_new(m);
    s.outer = m->on_oom;
    m->on_oom = &s.here;
    if (setjmp(s.here)) {
        m->on_oom = s.outer;
        arena_free(s.a);
        mem_fail(m);
    }
    f(ctx, s.a);
    m->on_oom = s.outer;
    arena_free(s.a);
}
