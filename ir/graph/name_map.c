/* name_map.c: open addressing over pointers, at most half full. */
#include "ir/graph/name_map.h"

#include "ir/base/str.h"

struct name_entry {
    const char *key; /* NULL: free */
    uintptr_t value;
};

static size_t slot_of(const name_map *m, const char *key)
{
    uintptr_t bits = (uintptr_t)key;
    size_t at = hash_bytes(0, &bits, sizeof bits) & (m->cap - 1);
    while (m->slots[at].key && m->slots[at].key != key)
        at = (at + 1) & (m->cap - 1);
    return at;
}

uintptr_t name_map_get(const name_map *m, const char *interned)
{
    return m->cap ? m->slots[slot_of(m, interned)].value : 0;
}

uintptr_t *name_map_at(name_map *m, const char *interned)
{
    if (m->n + 1 > m->cap / 2) {
        name_map bigger = {.a = m->a, .cap = m->cap ? m->cap * 2 : 64, .n = m->n};
        bigger.slots = ARENA_ARRAY(m->a, struct name_entry, bigger.cap);
        for (size_t i = 0; i < m->cap; i++) {
            if (m->slots[i].key)
                bigger.slots[slot_of(&bigger, m->slots[i].key)] = m->slots[i];
        }
        *m = bigger;
    }
    size_t at = slot_of(m, interned);
    if (!m->slots[at].key) {
        m->slots[at].key = interned;
        m->n++;
    }
    return &m->slots[at].value;
}
