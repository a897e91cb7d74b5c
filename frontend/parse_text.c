/* parse_text.c: from bytes to names, numbers and strings; what is no text is reported here. */
#include <string.h>

#include <utf8proc.h>

#include "frontend/parse_ctx.h"

static span part_of(span at, size_t from, size_t to)
{
    return (span){at.file, at.lo + (uint32_t)from, at.lo + (uint32_t)to};
}

static size_t decode(const char *s, size_t n, utf8proc_int32_t *u)
{
    utf8proc_ssize_t got =
        utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)(n < 4 ? n : 4), u);
    return got > 0 ? (size_t)got : 0;
}

/* ---- the whole text ---- */

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* 0: fine. Otherwise how many bytes at s are no text, and why. */
static size_t bad_bytes(const char *s, size_t n, const char **why)
{
    unsigned char c = (unsigned char)s[0];
    if (c >= 0x80) {
        utf8proc_int32_t u;
        size_t got = decode(s, n, &u);
        if (got == 0) {
            *why = "this is not valid UTF-8";
            return 1;
        }
        bool turns = (u >= 0x202A && u <= 0x202E) || (u >= 0x2066 && u <= 0x2069);
        bool control = u < 0xA0 || u == 0x2028 || u == 0x2029;
        *why = turns ? "a character that changes the direction of text is not allowed"
                     : "a control character is not allowed";
        return turns || control ? got : 0;
    }
    *why = c == 0 ? "a NUL byte is not allowed" : "a control character is not allowed";
    if (c == '\r') {
        *why = "a carriage return without a line feed is not allowed";
        return n < 2 || s[1] != '\n';
    }
    return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
}

char *parse_clean_text(parse_ctx *pc)
{
    size_t n = pc->src->size;
    char *text = arena_alloc(pc->a, n + 2);
    if (n)
        memcpy(text, pc->src->text, n);
    if (n >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0 ||
                   (text[0] == 0 && text[1] != 0) || (text[0] != 0 && text[1] == 0))) {
        diag *d = diag_error(pc->ds, (span){pc->file, 0, 2}, "this file is not UTF-8 text");
        diag_help(d, "it looks like UTF-16: save it as UTF-8");
        pc->gave_up = true;
        return text;
    }
    bool carriage = false;
    size_t i = 0;
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        memset(text, ' ', 3);
        i = 3;
    }
    while (i < n) {
        const char *why, *again;
        size_t from = i, more = bad_bytes(text + i, n - i, &why);
        if (more == 0) {
            utf8proc_int32_t u;
            i += (unsigned char)text[i] < 0x80 ? 1 : decode(text + i, n - i, &u);
            continue;
        }
        while (more != 0) { /* one report for a run of them */
            i += more;
            more = i < n && text[i] != '\r' ? bad_bytes(text + i, n - i, &again) : 0;
        }
        if (text[from] == '\r') { /* the line ends of old systems: said once, then taken as such */
            if (!carriage)
                diag_error(pc->ds, (span){pc->file, (uint32_t)from, (uint32_t)from + 1}, "%s", why);
            carriage = true;
            text[from] = '\n';
            i = from + 1;
            continue;
        }
        diag_error(pc->ds, (span){pc->file, (uint32_t)from, (uint32_t)i}, "%s", why);
        /* Go on as if it were not there: inside a word a letter, elsewhere a blank. */
        bool inside = from > 0 && is_word_byte(text[from - 1]) && i < n && is_word_byte(text[i]);
        memset(text + from, inside ? '_' : ' ', i - from);
    }
    return text;
}

/* ---- names ---- */

static bool starts_name(utf8proc_int32_t u)
{
    utf8proc_category_t c = utf8proc_category(u);
    return u == '_' || (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
           c == UTF8PROC_CATEGORY_NL;
}

static bool continues_name(utf8proc_int32_t u)
{
    switch (utf8proc_category(u)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
        return true;
    default:
        return starts_name(u) || (u >= 0x2080 && u <= 0x2089); /* subscript digits */
    }
}

/* What the author of a symbol may have meant. */
static const char *symbol_help(utf8proc_int32_t u)
{
    switch (u) {
    case 0xD7:
    case 0x22C5:
    case 0xB7:
        return "a product is written `a * b`, of matrices `A @ x`";
    case 0xF7:
        return "a quotient is written `a / b`";
    case 0x2212:
    case 0x2013:
    case 0x2014:
        return "a minus is written `-`";
    case 0x2264:
        return "write `<=`";
    case 0x2265:
        return "write `>=`";
    case 0x2260:
        return "write `!=`";
    case 0x2227:
        return "write `and`";
    case 0x2228:
        return "write `or`";
    case 0xAC:
        return "write `not`";
    case 0x2208:
        return "write `in`";
    case 0x2192:
        return "write `->`";
    case 0x221E:
        return "write `inf`";
    case 0x2211:
        return "a sum is written `sum[i](...)`";
    case 0x221A:
        return "a root is written `sqrt(x)`";
    case 0x2026:
        return "a range is written `a..b`";
    case 0xB2:
    case 0xB3:
        return "a power is written `x ^ 2`";
    case 0x201C:
    case 0x201D:
    case 0x2018:
    case 0x2019:
        return "strings stand between plain double quotes";
    case 0xA0:
    case 0x3000:
        return "this is a special blank: write a plain one";
    case 0xFEFF:
        return "a byte order mark may only begin a file";
    default:
        return NULL;
    }
}

static void report_symbol(parse_ctx *pc, utf8proc_int32_t u, const char *s, size_t n, span at)
{
    utf8proc_category_t c = utf8proc_category(u);
    bool visible = c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_SO;
    diag *d = visible ? diag_error(pc->ds, at, "unexpected character '%.*s' (U+%04X)", (int)n, s,
                                   (unsigned)u)
                      : diag_error(pc->ds, at, "unexpected character U+%04X", (unsigned)u);
    const char *help = symbol_help(u);
    if (help)
        diag_help(d, "%s", help);
}

/* The NFC form of a name, interned; so two spellings of one letter are one name. */
static const char *normal_form(parse_ctx *pc, const char *s, size_t n)
{
    const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    const utf8proc_uint8_t *from = (const utf8proc_uint8_t *)s;
    utf8proc_ssize_t m = utf8proc_decompose(from, (utf8proc_ssize_t)n, NULL, 0, how);
    if (m < 0)
        return intern_n(pc->names, s, n);
    utf8proc_int32_t *buffer = ARENA_ARRAY(pc->a, utf8proc_int32_t, (size_t)m + 1);
    m = utf8proc_decompose(from, (utf8proc_ssize_t)n, buffer, m, how);
    m = m < 0 ? m : utf8proc_reencode(buffer, m, how);
    return m < 0 ? intern_n(pc->names, s, n) : intern_n(pc->names, (char *)buffer, (size_t)m);
}

size_t parse_name(parse_ctx *pc, const char *s, size_t n, span at, ast_name *name, size_t *used)
{
    bool ascii = true;
    size_t i = 0;
    while (i < n) {
        utf8proc_int32_t u = (unsigned char)s[i];
        size_t got = 1;
        if (u >= 0x80) {
            ascii = false;
            got = decode(s + i, n - i, &u);
            if (!(i ? continues_name(u) : starts_name(u))) {
                if (i > 0)
                    break; /* the name ends here; the next token begins with this character */
                report_symbol(pc, u, s, got, part_of(at, 0, got));
                *used = got;
                return 0;
            }
        }
        i += got;
    }
    *used = i;
    if (i > MAX_NAME) {
        diag_error(pc->ds, part_of(at, 0, i), "a name of %zu bytes: the limit is %d", i, MAX_NAME);
        *name = (ast_name){.s = intern(pc->names, "_"), .at = part_of(at, 0, i)};
        return i;
    }
    *name = (ast_name){.s = ascii ? intern_n(pc->names, s, i) : normal_form(pc, s, i),
                       .at = part_of(at, 0, i)};
    return i;
}

/* ---- numbers and strings ---- */

static bool too_long(parse_ctx *pc, size_t n, span at)
{
    if (n > MAX_NUMBER)
        diag_error(pc->ds, at, "a number of %zu characters: the limit is %d", n, MAX_NUMBER);
    return n > MAX_NUMBER;
}

int64_t parse_int(parse_ctx *pc, const char *s, size_t n, span at)
{
    int64_t v = 0;
    if (too_long(pc, n, at))
        return 0;
    for (size_t i = 0; i < n; i++) {
        int digit = s[i] - '0';
        if (v > (INT64_MAX - digit) / 10) {
            diag *d = diag_error(pc->ds, at, "this integer does not fit 64 bits");
            if (n < 40)
                diag_help(d, "write a real: `%.*s.0`", (int)n, s);
            else
                diag_help(d, "write a real, such as 1e%zu", n - 1);
            return 0;
        }
        v = v * 10 + digit;
    }
    return v;
}

double parse_number(parse_ctx *pc, const char *s, size_t n, span at)
{
    double value = 0;
    if (too_long(pc, n, at))
        return 0;
    const char *digits = s;
    char padded[MAX_NUMBER + 2] = "0";
    if (s[0] == '.') {
        memcpy(padded + 1, s, n);
        digits = padded;
        n++;
    }
    if (!str_to_double(pc->a, digits, n, &value))
        ice("the scanner took '%.*s' for a number", (int)n, digits);
    if (value - value != 0) {
        diag *d = diag_error(pc->ds, at, "this number is larger than any double");
        diag_help(d, "write `inf` if infinity is meant");
    }
    return value;
}

ast_name parse_string(parse_ctx *pc, const char *s, size_t n, span at)
{
    if (n > MAX_STRING) {
        diag_error(pc->ds, at, "a string of %zu bytes: the limit is %d", n, MAX_STRING);
        return (ast_name){.s = intern(pc->names, ""), .at = at};
    }
    char *text = arena_alloc(pc->a, n);
    size_t used = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        if (s[i] == '\\') {
            i++;
            if (s[i] != '"' && s[i] != '\\') {
                diag *d =
                    diag_error(pc->ds, part_of(at, i - 1, i + 1), "unknown escape in a string");
                diag_help(d, "only `\\\"` and `\\\\` are escapes");
            }
        }
        text[used++] = s[i];
    }
    return (ast_name){.s = intern_n(pc->names, text, used), .at = at};
}
