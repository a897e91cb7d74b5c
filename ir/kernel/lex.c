/* lex.c: kernel text to words. A `;` begins a comment that ends with its line. */
#include "ir/kernel/lex.h"

#include <string.h>

#include "ir/graph/dim.h"

static bool is_digit(const lexer *l, uint32_t at)
{
    return at < l->size && l->text[at] >= '0' && l->text[at] <= '9';
}

static bool is_char(const lexer *l, uint32_t at, char c)
{
    return at < l->size && l->text[at] == c;
}

/* Blanks, line ends and comments; gives the comment that stands on the line where the skipping
 * began. */
static const char *skip(lexer *l)
{
    const char *note = NULL;
    bool same_line = l->at > 0;
    while (l->at < l->size) {
        char c = l->text[l->at];
        if (c == '\n') {
            same_line = false;
            l->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            l->at++;
        } else if (c == ';') {
            uint32_t lo = ++l->at;
            while (l->at < l->size && l->text[l->at] != '\n')
                l->at++;
            uint32_t hi = l->at;
            while (lo < hi && l->text[lo] == ' ')
                lo++;
            while (lo < hi && (l->text[hi - 1] == ' ' || l->text[hi - 1] == '\r'))
                hi--;
            if (same_line && lo < hi && !memchr(l->text + lo, '\0', hi - lo))
                note = intern_n(l->names, l->text + lo, hi - lo);
        } else {
            break;
        }
    }
    return note;
}

static void number(lexer *l, token *t)
{
    t->kind = TK_INT;
    while (is_digit(l, l->at))
        l->at++;
    if (is_char(l, l->at, '.') && is_digit(l, l->at + 1)) {
        t->kind = TK_REAL;
        l->at++;
        while (is_digit(l, l->at))
            l->at++;
    }
    if (is_char(l, l->at, 'e')) {
        uint32_t at = l->at + 1;
        if (is_char(l, at, '-') || is_char(l, at, '+'))
            at++;
        if (is_digit(l, at)) {
            t->kind = TK_REAL;
            while (is_digit(l, at))
                at++;
            l->at = at;
        }
    }
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void string(lexer *l, token *t)
{
    strbuf b = {.a = l->a};
    *t = (token){.kind = TK_BAD, .lo = l->at, .note = t->note, .error = "this string does not end"};
    for (l->at++; l->at < l->size && l->text[l->at] != '\n'; l->at++) {
        char c = l->text[l->at];
        if (c == '"') {
            l->at++;
            t->kind = TK_STRING;
            t->name = intern(l->names, sb_text(&b));
            return;
        }
        if (c == '\\') {
            uint32_t at = ++l->at;
            if (is_char(l, at, 'x') && at + 2 < l->size && hex(l->text[at + 1]) >= 0 &&
                hex(l->text[at + 2]) >= 0) {
                c = (char)(hex(l->text[at + 1]) * 16 + hex(l->text[at + 2]));
                l->at += 2;
            } else if (is_char(l, at, '"') || is_char(l, at, '\\')) {
                c = l->text[at];
            } else {
                t->error = "after `\\` comes `\"`, `\\` or x and two hexadecimal digits";
                return;
            }
        }
        if (c == '\0') {
            t->error = "a string cannot hold a NUL";
            return;
        }
        sb_putn(&b, &c, 1);
    }
}

token lex_next(lexer *l)
{
    token t = {.kind = TK_END};
    t.note = skip(l);
    t.lo = l->at;
    if (l->at < l->size) {
        char c = l->text[l->at];
        size_t n;
        if (is_digit(l, l->at)) {
            number(l, &t);
        } else if (c == '"') {
            string(l, &t);
        } else if (c == '.' && is_char(l, l->at + 1, '.')) {
            t.kind = TK_PUNCT;
            t.punct = '.';
            l->at += 2;
        } else if (c != '\0' && strchr("@{}[](),:=<-", c)) {
            t.kind = TK_PUNCT;
            t.punct = c;
            l->at++;
        } else if ((n = name_scan(l->names, l->a, l->text + l->at, l->size - l->at, &t.name)) > 0) {
            t.kind = TK_NAME;
            l->at += (uint32_t)n;
        } else {
            t.kind = TK_BAD;
            t.error = "this character has no meaning here";
            l->at++;
        }
    }
    t.hi = l->at;
    return t;
}
