/* read.h: the reader of graph text, in three files: read.c (lines and blocks), read_value.c (the
 * ops) and read_expr.c (words and infix expressions). Private to ir/graph. */
#ifndef ATTNC_IR_GRAPH_READ_H
#define ATTNC_IR_GRAPH_READ_H

#include "ir/graph/graph_internal.h"
#include "ir/graph/name_map.h"

enum { READ_MAX_DEPTH = 100, READ_MAX_DIMS = 1000 };

/* A `{` that is open: the graph's own is not among them. */
typedef struct open_scan {
    bool poisoned; /* its first line was wrong: its values are not used */
    const char *name;
    uint32_t scan;
    const ix *step;
    bool backward, yielded;
    value *made;
    size_t at;
} open_scan;

typedef struct reader {
    module *m;
    graph *g;
    diags *ds;
    arena *scratch;
    uint32_t file;
    const char *s;
    size_t n, at;
    unsigned depth;  /* of the expression */
    name_map values; /* by name: value * + 1, or 1 for one whose line was wrong */
    VEC(const char *) value_names;
    VEC(open_scan) open;
    VEC(uint32_t) scan_text; /* by scan of g: its number in the text */
    const char *step;        /* name of a step graph's index, or NULL */
} reader;

/* --- words (read_expr.c). Every function that fails has reported. --- */
diag *read_error(reader *r, size_t lo, size_t hi, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void read_blanks(reader *r);                    /* within the line */
bool read_end(reader *r);                       /* at the end of the line, comment skipped */
bool read_take(reader *r, const char *text);    /* punctuation, if it is next */
bool read_word_is(reader *r, const char *word); /* takes the word if it is next */
bool read_expect(reader *r, const char *text);
const char *read_name(reader *r, const char *what);
bool read_string(reader *r, const char **out);
bool read_int(reader *r, int64_t *out, const char *what);
const dim *read_dim(reader *r);
const ix *read_index(reader *r); /* known by now, with or without its extent */
/* Finds every `name:extent` of the rest of the line. */
bool read_declare_indices(reader *r);
value *read_ref(reader *r); /* %name */
value *read_expr(reader *r, int prec);

/* --- values (read_value.c) --- */
/* The rest of a value's line behind `=`, but for scans; NULL after reporting. */
value *read_value_body(reader *r, op_id op, size_t start);
bool read_scan_number(reader *r, uint32_t *text);
uint32_t read_find_scan(const reader *r, uint32_t text); /* UINT32_MAX: none */
bool read_store(reader *r, store_type *st);
bool read_family(reader *r, uint32_t *n_family, const char **from);

#endif
