/* str.h: interned names and a text builder.
 *
 * Equal names are the same pointer, so names compare with ==. A strbuf grows on an arena. */
#ifndef ATTNC_IR_BASE_STR_H
#define ATTNC_IR_BASE_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/arena.h"

typedef struct strtab strtab;
strtab *strtab_new(arena *a);
const char *intern(strtab *t, const char *s);
const char *intern_n(strtab *t, const char *s, size_t n);
const char *intern_printf(strtab *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The nearest of n candidate names by edit distance, or NULL when none is near enough to suggest.
 */
const char *str_nearest(arena *scratch, const char *name, const char *const *candidates, size_t n);

typedef struct strbuf {
    arena *a;
    char *s; /* NUL-terminated once anything was written; NULL before */
    size_t n, cap;
} strbuf;
void sb_putn(strbuf *b, const char *s, size_t n);
void sb_puts(strbuf *b, const char *s);
void sb_printf(strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The shortest decimal text that reads back as exactly d; "inf", "-inf", "nan". Locale-free. */
void sb_put_double(strbuf *b, double d);
const char *sb_text(strbuf *b); /* never NULL */

/* The double nearest to the n bytes `[sign] digits [. digits] [e [sign] digits]`, in any locale;
 * too large gives inf. False (and *out untouched) where the text has another form. */
bool str_to_double(arena *scratch, const char *s, size_t n, double *out);

uint64_t hash_bytes(uint64_t seed, const void *p, size_t n);

#endif
