/* source.h: source files and spans.
 *
 * A span is a byte range of one file of a source_set; file 0 is "no place" (made by the compiler).
 */
#ifndef ATTNC_IR_BASE_SOURCE_H
#define ATTNC_IR_BASE_SOURCE_H

#include <stdint.h>

#include "ir/base/vec.h"

typedef struct span {
    uint32_t file;   /* index into source_set, 0: none */
    uint32_t lo, hi; /* bytes, hi excluded */
} span;

typedef struct source {
    const char *name; /* as the user gave it: "models/x.attn", or "<std>/rnn.attn" */
    const char *text; /* NUL-terminated copy */
    uint32_t size;    /* bytes before the NUL; text may hold NULs of its own */
    uint32_t *line;   /* offset of each line's first byte */
    uint32_t n_lines;
} source;

typedef struct source_set {
    arena *a;
    VEC(source *) files; /* [0] is NULL */
} source_set;

typedef struct place {
    const source *src;
    uint32_t line, column; /* from 1; column counts code points */
} place;

void source_set_init(source_set *s, arena *a);
/* Adds a text (size < 2^32 is the caller's duty) and returns its file number. */
uint32_t source_add(source_set *s, const char *name, const char *text, size_t size);
place source_place(const source_set *s, span sp); /* src NULL where sp.file is 0 */
span span_join(span a, span b);                   /* from a's start to b's end */

#endif
