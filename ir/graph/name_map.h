/* name_map.h: a table from interned names to anything. Private to ir/graph. */
#ifndef ATTNC_IR_GRAPH_NAME_MAP_H
#define ATTNC_IR_GRAPH_NAME_MAP_H

#include <stdint.h>

#include "ir/base/arena.h"

typedef struct name_map {
    arena *a;
    struct name_entry *slots;
    size_t cap, n;
} name_map;

/* The place of the name's value, made (zero) if new. Valid until the next call. */
uintptr_t *name_map_at(name_map *m, const char *interned);
uintptr_t name_map_get(const name_map *m, const char *interned); /* 0: none */

#endif
