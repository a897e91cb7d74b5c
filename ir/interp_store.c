/* interp_store.c: memory of the interpreter's tensors. It does not come from an arena, as it is
 * given back while the run goes on; every block is on a list, for the case that memory runs out. */
#include <stdint.h>
#include <string.h>

#include "ir/interp_internal.h"

struct owned {
    owned *prev, *next;
    _Alignas(max_align_t) char data[];
};

void *own(machine *m, size_t n, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > (size_t)PTRDIFF_MAX - sizeof(owned))
        mem_fail(arena_mem(m->a));
    owned *o = mem_alloc(arena_mem(m->a), sizeof *o + bytes);
    memset(o->data, 0, bytes);
    o->prev = NULL;
    o->next = m->owned;
    if (o->next)
        o->next->prev = o;
    m->owned = o;
    return o->data;
}

void disown(machine *m, void *p)
{
    if (!p)
        return;
    owned *o = (owned *)((char *)p - offsetof(owned, data));
    if (o->prev)
        o->prev->next = o->next;
    else
        m->owned = o->next;
    if (o->next)
        o->next->prev = o->prev;
    mem_free(arena_mem(m->a), o);
}

void disown_all(machine *m)
{
    while (m->owned)
        disown(m, m->owned->data);
}

size_t space_size(machine *m, const ix *const *list, uint32_t n, const bool *fixed)
{
    size_t size = 1;
    bool empty = false, large = false;
    for (uint32_t k = 0; k < n; k++) {
        if (fixed && fixed[list[k]->id])
            continue;
        empty = empty || m->extent[list[k]->id] == 0;
        large = __builtin_mul_overflow(size, (size_t)m->extent[list[k]->id], &size) || large;
    }
    if (empty)
        return 0;
    if (large || size > PTRDIFF_MAX / 64)
        mem_fail(arena_mem(m->a));
    return size;
}

void tensor_layout(machine *m, tensor *t, const bool *fixed)
{
    const value *v = t->v;
    t->axes = ARENA_ARRAY(m->scratch, const ix *, v->n_ix);
    t->pos = ARENA_ARRAY(m->scratch, uint32_t, v->n_ix);
    t->stride = ARENA_ARRAY(m->scratch, int64_t, v->n_ix);
    for (uint32_t k = 0; k < v->n_ix; k++) {
        if (fixed && fixed[v->ix[k]->id])
            continue;
        t->pos[t->n_axes] = k;
        t->axes[t->n_axes++] = v->ix[k];
    }
    t->n = space_size(m, t->axes, t->n_axes, NULL);
    int64_t stride = 1;
    for (uint32_t k = t->n_axes; k-- > 0 && t->n > 0;) {
        t->stride[k] = stride;
        stride *= m->extent[t->axes[k]->id];
    }
}

void tensor_alloc(machine *m, tensor *t)
{
    if (is_real(t->v))
        t->f = own(m, t->n, sizeof *t->f);
    else
        t->i = own(m, t->n, sizeof *t->i);
}

void tensor_need_bad(machine *m, tensor *t)
{
    if (!t->bad)
        t->bad = own(m, t->n, sizeof *t->bad);
}

void tensor_free(machine *m, tensor *t)
{
    if (t->borrowed)
        return;
    disown(m, t->f);
    disown(m, t->i);
    disown(m, t->bad);
    t->f = NULL;
    t->i = NULL;
    t->bad = NULL;
}
