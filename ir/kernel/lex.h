/* lex.h: the words of the kernel text form. Private to ir/kernel. */
#ifndef ATTNC_IR_KERNEL_LEX_H
#define ATTNC_IR_KERNEL_LEX_H

#include "ir/base/diag.h"
#include "ir/base/str.h"

typedef enum token_kind {
    TK_END,
    TK_NAME,
    TK_INT,
    TK_REAL,
    TK_STRING,
    TK_PUNCT,
    TK_BAD
} token_kind;

typedef struct token {
    token_kind kind;
    uint32_t lo, hi;
    const char *name;  /* TK_NAME: interned; TK_STRING: its text */
    char punct;        /* TK_PUNCT: the character; '.' stands for `..` */
    const char *error; /* TK_BAD: what is wrong */
    const char *note;  /* the comment in front of it on the line of the word before, or NULL */
} token;

typedef struct lexer {
    arena *a;
    strtab *names;
    const char *text;
    uint32_t size;
    uint32_t at;
} lexer;

token lex_next(lexer *l);

#endif
