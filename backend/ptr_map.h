/* ptr_map.h: from pointers to values, for facts about the nodes of an expression graph. */
#ifndef ATTNC_BACKEND_PTR_MAP_H
#define ATTNC_BACKEND_PTR_MAP_H

#include "ir/base/arena.h"

typedef struct ptr_entry {
    const void *key; /* NULL: free */
    void *value;
} ptr_entry;

typedef struct ptr_map {
    arena *a;
    ptr_entry *slots; /* open addressing, at most half full */
    size_t cap, n;
} ptr_map;

/* The entry of that key, made with value NULL if new. Valid until the next call. */
ptr_entry *ptr_map_at(ptr_map *m, const void *key);

#endif
