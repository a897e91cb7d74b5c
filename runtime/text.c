/*
 * text.c - the growable message string.
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SHOWN = 100 };

void attn_text_init(attn_text *text, const attn_allocator *alloc)
{
    *text = (attn_text){.alloc = *alloc};
}

void attn_text_free(attn_text *text)
{
    attn_allocator alloc = text->alloc;
    attn_free(&alloc, text->s, text->cap);
    attn_text_init(text, &alloc);
}

/* Room for n more bytes and the NUL. */
static bool reserve(attn_text *text, size_t n)
{
    if (text->failed)
        return false;
    size_t cap = text->cap ? text->cap : 64;
    while (cap - text->len <= n) {
        if (cap > SIZE_MAX / 2) {
            text->failed = true;
            return false;
        }
        cap *= 2;
    }
    if (cap == text->cap)
        return true;
    char *s = text->alloc.realloc(text->alloc.ctx, text->s, text->cap, cap);
    if (!s) {
        text->failed = true;
        return false;
    }
    text->s = s;
    text->cap = cap;
    return true;
}

void attn_text_add_bytes(attn_text *text, const char *bytes, size_t n)
{
    if (!reserve(text, n))
        return;
    if (n)
        memcpy(text->s + text->len, bytes, n);
    text->len += n;
    text->s[text->len] = '\0';
}

void attn_text_add(attn_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && reserve(text, (size_t)n)) {
        vsnprintf(text->s + text->len, (size_t)n + 1, format, again);
        text->len += (size_t)n;
    }
    va_end(again);
}

size_t attn_utf8_step(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (n == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t len = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4 || n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and what lies past U+10FFFF show in the second byte. */
    bool bad = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
               (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f);
    return bad ? 0 : len;
}

void attn_text_add_name(attn_text *text, const char *name)
{
    size_t n = strlen(name);
    attn_text_add_bytes(text, "'", 1);
    for (size_t i = 0; i < n;) {
        if (i >= NAME_SHOWN) {
            attn_text_add(text, "... (%zu bytes)", n);
            break;
        }
        size_t step = attn_utf8_step(name + i, n - i);
        unsigned char c = (unsigned char)name[i];
        if (step == 0 || c < 0x20 || c == 0x7f) {
            attn_text_add(text, "\\x%02x", c);
            i++;
        } else {
            attn_text_add_bytes(text, name + i, step);
            i += step;
        }
    }
    attn_text_add_bytes(text, "'", 1);
}

void attn_text_add_shape(attn_text *text, int64_t rank, const int64_t *shape)
{
    attn_text_add_bytes(text, "[", 1);
    for (int64_t i = 0; i < rank; i++)
        attn_text_add(text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    attn_text_add_bytes(text, "]", 1);
}

const char *attn_text_cstr(const attn_text *text)
{
    if (text->len)
        return text->s;
    return text->failed ? "out of memory" : "";
}
