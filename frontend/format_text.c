/* format_text.c: alignment of neighbouring lines, and the text of the whole file. */
#include <utf8proc.h>

#include "frontend/format_parts.h"

/* Columns that alignment may add to a line. */
#define MAX_SPREAD      16
#define MAX_TYPE_SPREAD 4

int fmt_width(const char *s, size_t n)
{
    int64_t width = 0;
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t u;
        utf8proc_ssize_t got =
            utf8proc_iterate((const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(n - i), &u);
        if (got <= 0) {
            width++;
            i++;
            continue;
        }
        width += utf8proc_charwidth(u);
        i += (size_t)got;
    }
    return width > INT32_MAX ? INT32_MAX : (int)width;
}

static bool runs_on(const fline *a, const fline *b)
{
    return !b->blank && !b->is_comment && !a->is_comment && a->width >= 0 && b->width >= 0 &&
           a->indent == b->indent;
}

/* One column for the `=` (or the type) of lines that stand together and are of one kind. */
static void align_run(fline *v, size_t n, arena *a)
{
    int least = v[0].pad_column, most = least;
    for (size_t i = 1; i < n; i++) {
        least = v[i].pad_column < least ? v[i].pad_column : least;
        most = v[i].pad_column > most ? v[i].pad_column : most;
    }
    bool fits = most - least <= (v[0].class == LINE_TYPE ? MAX_TYPE_SPREAD : MAX_SPREAD);
    for (size_t i = 0; i < n && fits; i++)
        fits = v[i].width + most - v[i].pad_column <= FMT_WIDTH;
    for (size_t i = 0; i < n && fits; i++) {
        int more = most - v[i].pad_column;
        v[i].text = arena_printf(a, "%.*s%*s%s", (int)v[i].pad_at, v[i].text, more, "",
                                 v[i].text + v[i].pad_at);
        v[i].width += more;
    }
}

static void align(fline_list *lines, arena *a)
{
    for (size_t i = 0, j; i < lines->n; i = j) {
        fline *v = lines->v;
        j = i + 1;
        if (!v[i].pad_at)
            continue;
        while (j < lines->n && v[j].pad_at && v[j].class == v[i].class && runs_on(&v[j - 1], &v[j]))
            j++;
        if (j - i > 1)
            align_run(v + i, j - i, a);
    }
}

/* The column of the comments behind a run of lines; 0: each two blanks behind its line. */
static int comment_column(const fline *v, size_t n)
{
    int column = 0;
    for (size_t i = 0; i < n; i++)
        column = v[i].width + 2 > column ? v[i].width + 2 : column;
    for (size_t i = 0; i < n; i++) {
        if (column + fmt_width(v[i].after.text, v[i].after.n) > FMT_WIDTH)
            return 0;
    }
    return column;
}

static size_t comment_run(const fline_list *lines, size_t i)
{
    const fline *v = lines->v;
    size_t j = i;
    while (j < lines->n && v[j].after.text && v[j].class != LINE_OTHER &&
           (j == i || runs_on(&v[j - 1], &v[j])))
        j++;
    return j - i;
}

void fmt_write(fline_list *lines, strbuf *out)
{
    align(lines, out->a);
    size_t run_end = 0;
    int column = 0;
    for (size_t i = 0; i < lines->n; i++) {
        const fline *l = &lines->v[i];
        if (i >= run_end) {
            size_t run = comment_run(lines, i);
            run_end = i + (run ? run : 1);
            column = run > 1 ? comment_column(l, run) : 0;
        }
        sb_printf(out, "%s%*s", l->blank ? "\n" : "", l->indent, "");
        sb_puts(out, l->text);
        if (l->after.text) {
            int gap = column && l->width >= 0 && column - l->width > 2 ? column - l->width : 2;
            sb_printf(out, "%*s", gap, "");
            sb_putn(out, l->after.text, l->after.n);
        }
        sb_puts(out, "\n");
    }
}
