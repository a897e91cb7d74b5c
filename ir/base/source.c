/* source.c: source texts and the way from a byte offset to line and column. */
#include "ir/base/source.h"

#include <string.h>

void source_set_init(source_set *s, arena *a)
{
    *s = (source_set){.a = a};
    vec_push(a, &s->files, NULL);
}

uint32_t source_add(source_set *s, const char *name, const char *text, size_t size)
{
    source *src = ARENA_NEW(s->a, source);
    src->name = arena_strndup(s->a, name, strlen(name));
    src->text = arena_strndup(s->a, text, size);
    src->size = (uint32_t)size;

    size_t n_lines = 1;
    for (size_t i = 0; i < size; i++)
        n_lines += text[i] == '\n';
    src->line = ARENA_ARRAY(s->a, uint32_t, n_lines);
    src->n_lines = (uint32_t)n_lines;
    for (size_t i = 0, at = 1; i < size; i++) {
        if (text[i] == '\n')
            src->line[at++] = (uint32_t)i + 1;
    }
    vec_push(s->a, &s->files, src);
    return (uint32_t)(s->files.n - 1);
}

place source_place(const source_set *s, span sp)
{
    place p = {0};
    if (sp.file == 0 || sp.file >= s->files.n)
        return p;
    const source *src = s->files.v[sp.file];
    uint32_t at = sp.lo < src->size ? sp.lo : src->size;
    uint32_t lo = 0, hi = src->n_lines; /* line[lo] <= at < line[hi] */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (src->line[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    p.src = src;
    p.line = lo + 1;
    p.column = 1;
    uint32_t begin = src->line[lo];
    if (begin == 0 && src->size >= 3 && memcmp(src->text, "\xEF\xBB\xBF", 3) == 0)
        begin = 3; /* a byte order mark is no column */
    for (uint32_t i = begin; i < at; i++)
        p.column += ((unsigned char)src->text[i] & 0xC0) != 0x80;
    return p;
}

span span_join(span a, span b)
{
    if (a.file == 0)
        return b;
    if (b.file != a.file)
        return a;
    return (span){a.file, a.lo, b.hi > a.hi ? b.hi : a.hi};
}
