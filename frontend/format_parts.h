/* format_parts.h: what the three files of the formatter share.
 *
 * The formatter works on tokens, not on the tree: so brackets, number spellings and comments stay
 * as they were written, and the result parses to the same tree because it has the same tokens.
 * format.c reads the tokens and cuts them into statements, format_layout.c sets spaces and breaks
 * long statements, format_text.c aligns neighbouring lines and writes them. */
#ifndef ATTNC_FRONTEND_FORMAT_PARTS_H
#define ATTNC_FRONTEND_FORMAT_PARTS_H

#include "frontend/parse_ctx.h"

#define FMT_WIDTH 100 /* columns of a line */
#define FMT_BODY  2   /* indent of a function's body */
#define FMT_MORE  4   /* further indent of a continued line without a bracket to stand under */

typedef struct fcomment {
    const char *text;
    uint32_t n;
    bool blank; /* an empty line stands before it */
} fcomment;

/* Where a token stands; decides how tight its operators are. */
typedef enum fplace { IN_NOTHING, IN_GROUP, IN_INDEX, IN_TYPE, IN_JOIN } fplace;

/* Small on purpose: a file may hold a million of them. */
typedef struct ftoken {
    const char *text;
    uint32_t n;
    int32_t width;
    uint32_t line;     /* in the source */
    uint32_t n_before; /* comments on lines of their own: comments[first ...] */
    uint32_t first;
    uint32_t after; /* the comment on the same line, as index + 1; 0: none */
    int16_t kind, depth;
    uint8_t place;  /* an fplace */
    bool blank : 1; /* an empty line stands before it (behind its comments) */
    bool ends : 1;  /* the last token of a statement */
    bool unary : 1; /* the rest is set by format_layout.c */
    bool tight : 1;
    bool space : 1; /* before it */
    bool type_colon : 1;
    bool own_line : 1; /* a new line must begin before it */
} ftoken;

/* What lines may be aligned with each other. */
typedef enum fclass { LINE_OTHER, LINE_EQ, LINE_PART, LINE_TYPE, LINE_CONST } fclass;

typedef struct fline {
    fclass class;
    int indent;
    const char *text; /* with line breaks where it was too long */
    int width;        /* of a text of one line; -1: it has several */
    size_t pad_at;    /* byte where blanks may be put in for alignment; 0: nowhere */
    int pad_column;
    bool blank; /* an empty line before it */
    bool is_comment;
    fcomment after;
} fline;

typedef VEC(fline) fline_list;

int fmt_width(const char *s, size_t n);
/* Spaces between the tokens of one statement. */
void fmt_spaces(ftoken *t, size_t n);
int fmt_flat_width(const ftoken *t, size_t n);
/* The line (or lines) of one statement. Its own comments before and behind are the caller's. */
void fmt_statement(arena *a, const fcomment *comments, ftoken *t, size_t n, int indent,
                   fline *line);
void fmt_write(fline_list *lines, strbuf *out);

#endif
