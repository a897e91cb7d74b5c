/* format.c: attnc fmt: from the source to tokens with their comments, and from these to statements.
 */
#include <string.h>

#include "frontend/format_parts.h"
#define ATTN_STYPE parse_value
#include "parse.h"

/* ---- tokens ---- */

typedef struct reader {
    arena *a;
    VEC(fcomment) comments;
    ftoken *tokens;
    size_t n;
    uint32_t line;
} reader;

/* Looks for comments and empty lines in what lies between two tokens. */
static void read_gap(reader *r, const char *s, size_t n, ftoken *last, ftoken *next)
{
    size_t newlines = last ? 0 : 1;
    bool blank = false;
    next->first = (uint32_t)r->comments.n;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n') {
            newlines++;
            r->line++;
            blank |= newlines > 1;
        } else if (s[i] == '#') {
            const char *end = memchr(s + i, '\n', n - i);
            size_t m = end ? (size_t)(end - (s + i)) : n - i;
            size_t used = m;
            while (used > 1 && strchr(" \t\r", s[i + used - 1]))
                used--;
            fcomment c = {s + i, (uint32_t)used, blank};
            vec_push(r->a, &r->comments, c);
            if (newlines == 0) {
                last->after = (uint32_t)r->comments.n;
                next->first++;
            }
            i += m - 1;
            newlines = 0;
            blank = false;
        }
    }
    next->n_before = (uint32_t)r->comments.n - next->first;
    next->blank = blank;
    next->line = r->line;
}

/* Walks over the tokens of the file; counts them where r->tokens is NULL, else keeps them. */
static void read_tokens(reader *r, const source *src)
{
    arena *scratch = r->a;
    source_set sources;
    diags ds;
    parse_ctx pc;
    source_set_init(&sources, scratch);
    vec_push(scratch, &sources.files, (source *)src);
    diags_init(&ds, scratch, &sources);
    ds.muted = 1;
    parse_open(&pc, scratch, strtab_new(scratch), &ds, 1);

    uint32_t end = 0;
    ftoken *last = NULL;
    r->n = 0;
    for (int kind = 1; kind != 0;) {
        parse_value v;
        span at;
        kind = attn_lex(&v, &at, &pc);
        if (kind == TOK_SEP) {
            if (last)
                last->ends = true;
            continue;
        }
        if (r->tokens) {
            ftoken *t = &r->tokens[r->n];
            *t = (ftoken){.kind = (int16_t)kind, .text = src->text + at.lo, .n = at.hi - at.lo};
            t->width = fmt_width(t->text, t->n);
            read_gap(r, src->text + end, at.lo - end, last, t);
            last = t;
        }
        r->n++;
        end = at.hi;
    }
}

/* ---- statements ---- */

typedef struct writer {
    arena *a;
    const fcomment *comments;
    fline_list lines;
    int indent;
    bool opened; /* the last line opened a body, or there is none yet */
} writer;

static void add_comments(writer *w, const ftoken *t)
{
    for (size_t i = 0; i < t->n_before; i++) {
        const fcomment *c = &w->comments[t->first + i];
        fline line = {.indent = w->indent,
                      .text = arena_strndup(w->a, c->text, c->n),
                      .width = fmt_width(c->text, c->n),
                      .blank = c->blank && !w->opened,
                      .is_comment = true};
        vec_push(w->a, &w->lines, line);
        w->opened = false;
    }
}

static fclass class_of(const ftoken *t, size_t n)
{
    switch (t[0].kind) {
    case TOK_KIND:
    case TOK_IMPORT:
    case TOK_RETURN:
    case TOK_UNTIL:
    case TOK_RBRACE:
        return LINE_OTHER;
    case TOK_CONST:
    case TOK_DIM:
        return LINE_CONST;
    case TOK_PART:
        return LINE_PART;
    case TOK_PARAM:
        return LINE_TYPE;
    default:
        return n > 1 && t[1].kind == TOK_COLON ? LINE_TYPE : LINE_EQ;
    }
}

static void add_statement(writer *w, ftoken *t, size_t n)
{
    add_comments(w, &t[0]);
    fline line = {.class = class_of(t, n), .indent = w->indent};
    if (t[n - 1].after)
        line.after = w->comments[t[n - 1].after - 1];
    line.blank = t[0].blank && !w->opened && t[0].kind != TOK_RBRACE;
    /* What stands before and behind was dealt with; the layout minds what is between. */
    t[0].n_before = 0;
    t[n - 1].after = 0;
    fmt_statement(w->a, w->comments, t, n, w->indent, &line);
    vec_push(w->a, &w->lines, line);
    w->opened = t[n - 1].kind == TOK_LBRACE;
}

static bool has_comments(const ftoken *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((i > 0 && t[i].n_before) || (i + 1 < n && t[i].after))
            return true;
    }
    return false;
}

/* The length of a function that may stay on one line: no statement or one, on one line already. 0:
 * none. */
static size_t one_line_function(ftoken *t, size_t n, size_t brace)
{
    size_t i = brace + 1, statements = 0;
    while (i < n && t[i].kind != TOK_RBRACE && t[i].kind != TOK_LBRACE)
        statements += t[i++].ends;
    if (i >= n || t[i].kind != TOK_RBRACE || statements > 1 || has_comments(t, i + 1))
        return 0;
    if (statements == 1 && t[i].line != t[brace].line)
        return 0;
    fmt_spaces(t, i + 1);
    return fmt_flat_width(t, i + 1) <= FMT_WIDTH ? i + 1 : 0;
}

void ast_format(const ast_file *f, const source *src, strbuf *out)
{
    (void)f; /* the tokens say all */
    reader r = {.a = out->a, .line = 1};
    read_tokens(&r, src);
    r.tokens = ARENA_ARRAY(out->a, ftoken, r.n);
    read_tokens(&r, src);
    writer w = {.a = out->a, .comments = r.comments.v, .opened = true};
    size_t end = r.n - 1; /* the token of the file's end */
    for (size_t i = 0; i < end;) {
        ftoken *t = &r.tokens[i];
        size_t n = 1;
        if (t->kind == TOK_RBRACE) {
            add_comments(&w, t);
            t->n_before = 0;
            w.indent = 0;
        } else {
            while (i + n < end && !t[n - 1].ends && t[n - 1].kind != TOK_LBRACE)
                n++;
            if (t[n - 1].kind == TOK_LBRACE) {
                size_t whole = one_line_function(t, end - i, n - 1);
                n = whole ? whole : n;
            }
        }
        add_statement(&w, t, n);
        if (t[n - 1].kind == TOK_LBRACE)
            w.indent = FMT_BODY;
        i += n;
    }
    add_comments(&w, &r.tokens[end]);
    fmt_write(&w.lines, out);
}
