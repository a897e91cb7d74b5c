/* reader.h: what the two halves of the kernel reader share. Private to ir/kernel. */
#ifndef ATTNC_IR_KERNEL_READER_H
#define ATTNC_IR_KERNEL_READER_H

#include "ir/kernel/kernel.h"
#include "ir/kernel/lex.h"

enum { READER_MAX_DEPTH = 1000 }; /* of nested expressions and blocks together */

/* What a name stands for; one of the two is set. */
typedef struct meaning {
    const char *name; /* NULL: a free slot */
    kbuf *buf;
    kvar *var;
    bool visible; /* of variables: until the end of their block */
} meaning;

typedef struct reader {
    lexer lex;
    token t; /* the word to look at */
    uint32_t file;
    uint32_t end; /* where the word before ended */
    diags *ds;
    bool failed; /* an error was reported: everything returns */
    unsigned depth;
    kernel *k;
    meaning *slots; /* open addressing, at most half full */
    size_t cap, n;
} reader;

span reader_span(const reader *r);                  /* of the word at hand */
diag *reader_error(reader *r, const char *fmt, ...) /* at that word; the reading ends */
    __attribute__((format(printf, 2, 3)));
void reader_next(reader *r);
bool reader_at(const reader *r, char punct);
bool reader_at_word(const reader *r, const char *word);
bool reader_take(reader *r, char punct);
bool reader_take_word(reader *r, const char *word);
void reader_expect(reader *r, char punct);
bool reader_enter(reader *r); /* one level deeper; false after reporting */
const dim *reader_dim(reader *r);
meaning *reader_find(reader *r, const char *name);

/* NULL after an error. */
const kexpr *reader_expr(reader *r);
const kexpr *reader_typed(reader *r, dtype dt, const char *what);
const kexpr **reader_index(reader *r, const kbuf *b); /* from `[` to `]` */

#endif
