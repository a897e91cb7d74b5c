/* name_text.c: names as IR text, shared by dims, graphs and kernels. */
#include <string.h>

#include "ir/graph/dim.h"

/* Words that an expression would read as something else. */
static const char *const reserved[] = {"and", "false", "inf", "nan", "not", "or", "true"};

static bool name_byte(unsigned char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
    return letter || (!first && c >= '0' && c <= '9');
}

/* The length of the plain name at s: letters, digits, _ and dots between them. */
static size_t plain_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        if (name_byte(c, i == 0))
            i++;
        else if (c == '.' && i > 0 && i + 1 < n && name_byte((unsigned char)s[i + 1], false))
            i += 2;
        else
            break;
    }
    return i;
}

static bool is_reserved(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strlen(reserved[i]) == n && memcmp(reserved[i], s, n) == 0)
            return true;
    }
    return false;
}

void name_print(strbuf *out, const char *name)
{
    size_t n = strlen(name);
    if (n > 0 && plain_length(name, n) == n && !is_reserved(name, n)) {
        sb_putn(out, name, n);
        return;
    }
    sb_puts(out, "'");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c == '\'' || c == '\\')
            sb_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            sb_printf(out, "\\x%02x", c);
        else
            sb_putn(out, &name[i], 1);
    }
    sb_puts(out, "'");
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t quoted_scan(strtab *names, arena *scratch, const char *s, size_t n, const char **name)
{
    strbuf text = {.a = scratch};
    for (size_t i = 1; i < n && s[i] != '\n'; i++) {
        if (s[i] == '\'') {
            *name = intern_n(names, text.s ? text.s : "", text.n);
            return i + 1;
        }
        if (s[i] != '\\') {
            sb_putn(&text, &s[i], 1);
        } else if (i + 3 < n && s[i + 1] == 'x' && hex(s[i + 2]) >= 0 && hex(s[i + 3]) >= 0) {
            char c = (char)(hex(s[i + 2]) * 16 + hex(s[i + 3]));
            if (c == '\0')
                return 0;
            sb_putn(&text, &c, 1);
            i += 3;
        } else if (i + 1 < n && (s[i + 1] == '\'' || s[i + 1] == '\\')) {
            sb_putn(&text, &s[++i], 1);
        } else {
            return 0;
        }
    }
    return 0;
}

size_t name_scan(strtab *names, arena *scratch, const char *s, size_t n, const char **name)
{
    if (n > 0 && s[0] == '\'')
        return quoted_scan(names, scratch, s, n, name);
    size_t len = plain_length(s, n);
    if (len > 0)
        *name = intern_n(names, s, len);
    return len;
}
