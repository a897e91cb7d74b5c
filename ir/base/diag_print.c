/* diag_print.c: how reports look.
 *
 *     models/x.attn:3:9: error: unexpected ')', expected an expression
 *         3 |   h[t] = )
 *           |          ^
 *
 * Columns follow the width of the characters on a terminal; long lines are cut around the span;
 * nothing that a source text or a message holds reaches the terminal as a control sequence. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "ir/base/diag.h"

#define SHOWN    100  /* columns of a source line that are shown */
#define LEAD     60   /* characters kept before the span where a line is cut */
#define MAX_TEXT 4000 /* bytes of a message that are shown */

typedef struct cell {
    char text[12]; /* one character as shown */
    int width;
    uint32_t size; /* bytes it takes in the source */
} cell;

/* The next character of s, made safe: controls, formatting characters and invalid bytes by their
 * number. */
static cell next_cell(const char *s, size_t n)
{
    cell c = {0};
    utf8proc_int32_t u;
    utf8proc_ssize_t got =
        utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)(n < 4 ? n : 4), &u);
    if (got <= 0) {
        snprintf(c.text, sizeof c.text, "\\x%02x", (unsigned)(unsigned char)s[0]);
        c.width = 4;
        c.size = 1;
        return c;
    }
    c.size = (uint32_t)got;
    if (u == '\t') {
        c.text[0] = '\t';
        c.width = 1;
        return c;
    }
    switch (utf8proc_category(u)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        c.width = snprintf(c.text, sizeof c.text, u < 0x100 ? "\\x%02x" : "<U+%04X>", (unsigned)u);
        return c;
    default:
        memcpy(c.text, s, (size_t)got);
        c.width = utf8proc_charwidth(u);
        return c;
    }
}

static void put_safe(FILE *to, const char *s)
{
    size_t n = strlen(s), shown = n > MAX_TEXT ? MAX_TEXT : n;
    for (size_t i = 0; i < shown;) {
        if (s[i] == '\n') {
            fputs("\n  ", to);
            i++;
            continue;
        }
        cell c = next_cell(s + i, n - i);
        fputs(c.text, to);
        i += c.size;
    }
    if (shown < n)
        fputs("…", to);
}

typedef struct look {
    const char *bold, *off, *label[4]; /* by diag_kind */
} look;

static const look plain = {"", "", {"", "", "", ""}};
static const look coloured = {
    "\033[1m", "\033[0m", {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;32m"}};

static const char *const label[] = {"error", "warning", "note", "help"};

/* The cut line and, under it, the carets. */
static void print_line(FILE *to, const look *l, diag_kind kind, place p, span at)
{
    const char *text = p.src->text;
    uint32_t begin = p.src->line[p.line - 1];
    uint32_t end = p.line < p.src->n_lines ? p.src->line[p.line] - 1 : p.src->size;
    if (end > begin && text[end - 1] == '\r')
        end--;
    if (begin == 0 && p.src->size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        begin = 3; /* a byte order mark */
    uint32_t lo = at.lo < begin ? begin : at.lo > end ? end : at.lo;
    uint32_t hi = at.hi > end ? end : at.hi;
    uint32_t start = lo;
    for (int i = 0; i < LEAD && start > begin; i++) {
        start--;
        while (start > begin && lo - start < 4 * LEAD &&
               ((unsigned char)text[start] & 0xC0) == 0x80)
            start--;
    }

    fprintf(to, "%5u | %s", p.line, start > begin ? "…" : "");
    int columns = 0;
    uint32_t i = start;
    while (i < end && columns < SHOWN) {
        cell c = next_cell(text + i, end - i);
        fputs(c.text, to);
        columns += c.width;
        i += c.size;
    }
    uint32_t stop = i;
    fputs(stop < end ? "…\n" : "\n", to);

    fprintf(to, "      | %s", start > begin ? " " : "");
    for (i = start; i < lo;) {
        cell c = next_cell(text + i, end - i);
        if (c.text[0] == '\t')
            fputc('\t', to);
        else
            fprintf(to, "%*s", c.width, "");
        i += c.size;
    }
    fputs(l->label[kind], to);
    int carets = 0;
    for (i = lo; i < hi && i < stop;) {
        cell c = next_cell(text + i, end - i);
        i += c.size;
        if (c.text[0] == '\t' && i < hi) {
            fputc('\t', to);
            continue;
        }
        for (int k = 0; k < c.width; k++)
            fputc('^', to);
        carets += c.width;
    }
    fprintf(to, "%s%s\n", carets ? "" : "^", l->off);
}

static void print_one(const diags *ds, FILE *to, const look *l, const diag *d)
{
    place p = ds->sources ? source_place(ds->sources, d->at) : (place){0};
    if (p.src) {
        fputs(l->bold, to);
        put_safe(to, p.src->name);
        fprintf(to, ":%u:%u: %s", p.line, p.column, l->off);
    }
    fprintf(to, "%s%s:%s ", l->label[d->kind], label[d->kind], l->off);
    put_safe(to, d->text);
    fputc('\n', to);
    if (p.src)
        print_line(to, l, d->kind, p, d->at);
}

typedef struct ranked {
    const diag *d;
    size_t order; /* qsort is not stable */
} ranked;

static int by_place(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->d->at.file != b->d->at.file)
        return a->d->at.file < b->d->at.file ? -1 : 1;
    if (a->d->at.lo != b->d->at.lo)
        return a->d->at.lo < b->d->at.lo ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_report(const diag *a, const diag *b)
{
    return a->kind == b->kind && a->at.file == b->at.file && a->at.lo == b->at.lo &&
           a->at.hi == b->at.hi && strcmp(a->text, b->text) == 0;
}

void diags_print(const diags *ds, FILE *to, bool colour)
{
    const look *l = colour ? &coloured : &plain;
    size_t n = 0, kept_errors = 0;
    for (const diag *d = ds->first; d; d = d->next) {
        n++;
        kept_errors += d->kind == DIAG_ERROR;
    }
    ranked *all = ARENA_ARRAY(ds->a, ranked, n);
    size_t k = 0;
    for (const diag *d = ds->first; d; d = d->next, k++)
        all[k] = (ranked){d, k};
    qsort(all, n, sizeof *all, by_place);

    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t j = i; j > 0 && !seen && all[j - 1].d->at.file == all[i].d->at.file &&
                           all[j - 1].d->at.lo == all[i].d->at.lo;
             j--)
            seen = same_report(all[j - 1].d, all[i].d);
        if (seen)
            continue;
        print_one(ds, to, l, all[i].d);
        for (const diag *s = all[i].d->sub; s; s = s->next)
            print_one(ds, to, l, s);
    }
    size_t dropped = ds->n_errors - ds->n_repeats - kept_errors;
    if (dropped)
        fprintf(to, "too many errors, %zu more not shown\n", dropped);
}
