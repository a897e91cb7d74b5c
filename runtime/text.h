/*
 * text.h - a growable string for messages. Running out of memory never stops the caller: the text
 * is cut and says so. Not meant for bulk data.
 */
#ifndef ATTN_TEXT_H
#define ATTN_TEXT_H

#include "alloc.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct attn_text {
    attn_allocator alloc;
    char *s; /* NULL while empty; terminated by NUL */
    size_t len;
    size_t cap;
    bool failed; /* memory ran out; what was added after that is lost */
} attn_text;

void attn_text_init(attn_text *text, const attn_allocator *alloc);

/* Gives the memory back and leaves an empty text that can be used again. */
void attn_text_free(attn_text *text);

/* Appends as printf does. */
__attribute__((format(printf, 2, 3))) void attn_text_add(attn_text *text, const char *format, ...);

/* Appends n bytes as they are. */
void attn_text_add_bytes(attn_text *text, const char *bytes, size_t n);

/*
 * Appends a name from a file between single quotes, fit for a terminal: control bytes and invalid
 * UTF-8 as \xNN, cut after about 100 bytes.
 */
void attn_text_add_name(attn_text *text, const char *name);

/* Appends a shape as [2, 3]. */
void attn_text_add_shape(attn_text *text, int64_t rank, const int64_t *shape);

/* The text so far; never NULL. "out of memory" if nothing could be kept. */
const char *attn_text_cstr(const attn_text *text);

/* Length of the UTF-8 sequence at s (up to n bytes), 1 to 4; 0 if it is not valid UTF-8. */
size_t attn_utf8_step(const char *s, size_t n);

#endif
