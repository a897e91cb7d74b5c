/* names.c: unique names in constant time: a hash set that also remembers, for each name, the number
 * to try next when it is asked for again. */
#include "ir/kernel/names.h"

#include <string.h>

typedef struct slot {
    const char *name; /* NULL: free */
    uint64_t next;    /* the number behind it that was not yet given out */
} slot;

struct kernel_names {
    arena *a;
    strtab *names;
    slot *slots; /* open addressing, at most half full */
    size_t cap, n;
};

/* Words that begin statements or stand for values; the scalar operations and types are words too.
 */
static const char *const reserved[] = {
    "for",     "let",   "var",  "if",    "else", "check",     "parallel", "vector", "unroll",
    "prepare", "given", "true", "false", "inf",  "nan",       "buffer",   "in",     "step",
    "down",    "dims",  "and",  "or",    "not",  "overflows", "ahead"};

static slot *find(const struct kernel_names *t, const char *name)
{
    size_t at =
        hash_bytes(1, &name, sizeof name) & (t->cap - 1); /* interned: the pointer is the name */
    while (t->slots[at].name && t->slots[at].name != name)
        at = (at + 1) & (t->cap - 1);
    return &t->slots[at];
}

static void grow(struct kernel_names *t)
{
    slot *old = t->slots;
    size_t n = t->cap;
    t->cap *= 2;
    t->slots = ARENA_ARRAY(t->a, slot, t->cap);
    for (size_t i = 0; i < n; i++) {
        if (old[i].name)
            *find(t, old[i].name) = old[i];
    }
}

struct kernel_names *kernel_names_new(arena *a, strtab *names)
{
    struct kernel_names *t = ARENA_NEW(a, struct kernel_names);
    t->a = a;
    t->names = names;
    t->cap = 256;
    t->slots = ARENA_ARRAY(a, slot, t->cap);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        kernel_names_take(t, intern(names, reserved[i]));
    for (op_id op = 0; op < OP_COUNT; op++) {
        if (OP_HAS(op, T_ELEM))
            kernel_names_take(t, intern(names, op_table[op].text));
    }
    for (store_type st = 0; st < ST_COUNT; st++)
        kernel_names_take(t, intern(names, store_table[st].text));
    return t;
}

void kernel_names_take(struct kernel_names *t, const char *interned)
{
    if (2 * (t->n + 1) > t->cap)
        grow(t);
    slot *s = find(t, interned);
    if (s->name)
        return;
    *s = (slot){.name = interned, .next = 1};
    t->n++;
}

bool kernel_names_has(const struct kernel_names *t, const char *interned)
{
    return find(t, interned)->name != NULL;
}

bool kernel_name_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

bool kernel_name_byte(unsigned char c)
{
    return kernel_name_start(c) || (c >= '0' && c <= '9');
}

const char *kernel_names_unique(struct kernel_names *t, const char *name)
{
    size_t n = strlen(name);
    char *clean = arena_alloc(t->a, n + 2);
    size_t used = 0;
    if (n == 0 || !kernel_name_start((unsigned char)name[0]))
        clean[used++] = '_';
    for (size_t i = 0; i < n; i++)
        clean[used++] = kernel_name_byte((unsigned char)name[i]) ? name[i] : '_';
    const char *own = intern_n(t->names, clean, used);
    if (kernel_names_has(t, own)) {
        slot *base = find(t, own);
        const char *numbered;
        do
            numbered =
                intern_printf(t->names, "%s%llu", base->name, (unsigned long long)base->next++);
        while (kernel_names_has(t, numbered));
        own = numbered;
    }
    kernel_names_take(t, own);
    return own;
}
