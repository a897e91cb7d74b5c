/* c_names.c: identifiers for C and C++ out of the names of a program. */
#include <string.h>

#include "backend/iface.h"

static const char *const words[] = {
#define WORD(text) text,
#define CALL(text)
#include "backend/c_names.def"
#undef WORD
#undef CALL
};

static const char *const calls[] = {
#define WORD(text)
#define CALL(text) text,
#include "backend/c_names.def"
#undef WORD
#undef CALL
};

static bool listed(const char *const *list, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], s) == 0)
            return true;
    return false;
}

static bool is_word(const char *s)
{
    return listed(words, sizeof words / sizeof words[0], s);
}

/* Family placeholders (`{l}`) go, with a separator before them; what no identifier can hold becomes
 * `_`. Letters beyond ASCII stay: C and C++ compilers take them as they stand in UTF-8. */
static char *identifier(arena *a, const char *name)
{
    strbuf b = {.a = a};
    for (const char *p = name; *p; p++) {
        unsigned char c = (unsigned char)*p;
        const char *close = c == '{' ? strchr(p, '}') : NULL;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
        bool digit = c >= '0' && c <= '9';
        if (close) {
            if (b.n > 0 && (b.s[b.n - 1] == '.' || b.s[b.n - 1] == '_'))
                b.s[--b.n] = 0;
            p = close;
        } else if (letter || (digit && b.n > 0)) {
            sb_putn(&b, p, 1);
        } else if (digit) {
            sb_puts(&b, "_");
            sb_putn(&b, p, 1);
        } else {
            sb_puts(&b, "_");
        }
    }
    if (b.n == 0)
        sb_puts(&b, "_");
    return b.s;
}

const char *c_member(arena *a, const char *name, const char *struct_name)
{
    const char *s = identifier(a, name);
    /* In C++ a member may not be named like its class. */
    return is_word(s) || strcmp(s, struct_name) == 0 ? arena_printf(a, "%s_", s) : s;
}

const char *c_symbol(arena *a, const char *name)
{
    const char *s = identifier(a, name);
    return is_word(s) || listed(calls, sizeof calls / sizeof calls[0], s)
               ? arena_printf(a, "%s_", s)
               : s;
}
