/* str.c: interned names, the text builder and the hash they share. Numbers as text are in number.c,
 * the search for a near name in nearest.c. */
#include "ir/base/str.h"

#include <stdio.h>
#include <string.h>

/* FNV-1a over 8 bytes at a time, with a final mix so that the low bits can index a table. */
uint64_t hash_bytes(uint64_t seed, const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325) ^ (n * UINT64_C(0x9e3779b97f4a7c15));
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w = 0;
        for (int i = 0; i < 8; i++)
            w |= (uint64_t)s[i] << (8 * i); /* the same on every byte order */
        h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 32;
    }
    for (; n > 0; n--, s++)
        h = (h ^ *s) * UINT64_C(0x100000001b3);
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    return h;
}

typedef struct entry {
    const char *s; /* NULL: free */
    size_t n;
    uint64_t hash;
} entry;

struct strtab {
    arena *a;
    entry *slots; /* open addressing, at most half full */
    size_t cap, n;
};

strtab *strtab_new(arena *a)
{
    strtab *t = ARENA_NEW(a, strtab);
    t->a = a;
    t->cap = 256;
    t->slots = ARENA_ARRAY(a, entry, t->cap);
    return t;
}

static void strtab_grow(strtab *t)
{
    entry *old = t->slots;
    size_t old_cap = t->cap;
    entry *slots = ARENA_ARRAY(t->a, entry, old_cap * 2);
    for (size_t i = 0; i < old_cap; i++) {
        if (!old[i].s)
            continue;
        size_t at = old[i].hash & (old_cap * 2 - 1);
        while (slots[at].s)
            at = (at + 1) & (old_cap * 2 - 1);
        slots[at] = old[i];
    }
    t->slots = slots;
    t->cap = old_cap * 2;
}

const char *intern_n(strtab *t, const char *s, size_t n)
{
    uint64_t h = hash_bytes(0, s, n);
    size_t at = h & (t->cap - 1);
    for (; t->slots[at].s; at = (at + 1) & (t->cap - 1)) {
        const entry *e = &t->slots[at];
        if (e->hash == h && e->n == n && memcmp(e->s, s, n) == 0)
            return e->s;
    }
    const char *copy = arena_strndup(t->a, s, n);
    if (t->n + 1 > t->cap / 2) {
        strtab_grow(t);
        at = h & (t->cap - 1);
        while (t->slots[at].s)
            at = (at + 1) & (t->cap - 1);
    }
    t->slots[at] = (entry){.s = copy, .n = n, .hash = h};
    t->n++;
    return copy;
}

const char *intern(strtab *t, const char *s)
{
    return intern_n(t, s, strlen(s));
}

const char *intern_printf(strtab *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = arena_vprintf(t->a, fmt, ap);
    va_end(ap);
    return intern(t, s);
}

static void sb_reserve(strbuf *b, size_t more)
{
    if (more > (size_t)PTRDIFF_MAX - b->n - 1)
        mem_fail(arena_mem(b->a));
    size_t want = b->n + more + 1;
    if (want <= b->cap)
        return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < want)
        cap *= 2;
    char *s = arena_alloc(b->a, cap);
    if (b->n)
        memcpy(s, b->s, b->n);
    b->s = s;
    b->cap = cap;
}

void sb_putn(strbuf *b, const char *s, size_t n)
{
    sb_reserve(b, n);
    if (n)
        memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void sb_puts(strbuf *b, const char *s)
{
    sb_putn(b, s, strlen(s));
}

void sb_printf(strbuf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        va_end(again);
        mem_fail(arena_mem(b->a));
    }
    sb_reserve(b, (size_t)n);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
    va_end(again);
    b->n += (size_t)n;
}

const char *sb_text(strbuf *b)
{
    return b->s ? b->s : "";
}
