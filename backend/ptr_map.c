/* ptr_map.c: from pointers to values. */
#include "backend/ptr_map.h"

#include <stdint.h>

static ptr_entry *find(ptr_entry *slots, size_t cap, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(h >> 20) & (cap - 1);
    while (slots[i].key && slots[i].key != key)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

ptr_entry *ptr_map_at(ptr_map *m, const void *key)
{
    if (2 * m->n >= m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 64;
        ptr_entry *slots = ARENA_ARRAY(m->a, ptr_entry, cap);
        for (size_t i = 0; i < m->cap; i++)
            if (m->slots[i].key)
                *find(slots, cap, m->slots[i].key) = m->slots[i];
        m->slots = slots;
        m->cap = cap;
    }
    ptr_entry *e = find(m->slots, m->cap, key);
    if (!e->key) {
        e->key = key;
        m->n++;
    }
    return e;
}
