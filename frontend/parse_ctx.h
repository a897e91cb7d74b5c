/* parse_ctx.h: what scanner, line filter, grammar actions and error texts share. Private to the
 * parser (and to the formatter, which reads the same tokens). */
#ifndef ATTNC_FRONTEND_PARSE_CTX_H
#define ATTNC_FRONTEND_PARSE_CTX_H

#include "frontend/ast.h"

#define MAX_NESTING 1000 /* open brackets */
#define MAX_NAME    255  /* bytes of a name */
#define MAX_NUMBER  1000 /* characters of a number */
#define MAX_STRING  4096 /* bytes of a string */

typedef VEC(ast_expr *) expr_list;
typedef VEC(ast_item) item_list;
typedef VEC(ast_arg) arg_list;
typedef VEC(ast_name) name_list;
typedef VEC(ast_axis) axis_list;
typedef VEC(ast_target) target_list;
typedef VEC(ast_formal) formal_list;
typedef VEC(ast_stmt *) stmt_list;
typedef struct chain_list {
    expr_list items;
    VEC(ast_op) ops;
} chain_list;
typedef struct family_list { /* names with an optional index each */
    name_list names;
    VEC(ast_index *) indices;
} family_list;

typedef union parse_value {
    ast_name name; /* NAME, KIND; STRING: the text between the quotes */
    int64_t integer;
    double real;
    const char *text; /* SEP: what ended the statement, for messages */
    ast_op op;
    ast_expr *expr;
    ast_item item;
    ast_index *index;
    ast_arg arg;
    ast_type *type;
    ast_axis axis;
    ast_target target;
    ast_formal formal;
    ast_stmt *stmt;
    ast_decl *decl;
    expr_list *exprs;
    item_list *items;
    arg_list *args;
    name_list *names;
    axis_list *axes;
    target_list *targets;
    formal_list *formals;
    stmt_list *stmts;
    chain_list *chain;
    family_list *families;
} parse_value;

typedef struct token {
    int kind;
    span at;
    bool newline; /* stands before it */
    parse_value v;
} token;

typedef struct parse_ctx {
    arena *a;
    strtab *names;
    diags *ds;
    uint32_t file;
    const source *src;

    /* scan.l */
    void *scanner;
    uint32_t at;
    bool newline;

    /* parse_lex.c */
    token ahead[3];
    int n_ahead;
    token last, before; /* the last two tokens given to the grammar; kind 0: none yet */
    bool in_header;     /* between a declaration's first word and its body */
    bool gave_up;       /* a limit was met: the rest of the file is not read */
    VEC(span) brackets; /* the open ( and [ */
    size_t n_lost;      /* brackets given up as never closed by the last SEP; v still holds them */
    VEC(span) braces;

    /* parse.y */
    VEC(ast_decl *) decls;
} parse_ctx;

/* scan.l: raw tokens, without separators and without contextual keywords. The text is a writable
 * copy that ends in two NULs. */
void scan_open(parse_ctx *pc, char *text, size_t size);
int scan_token(parse_value *v, span *at, void *scanner);

/* parse_text.c: what the scanner hands on as "some text". */
char *parse_clean_text(parse_ctx *pc); /* reports and replaces what is no text at all */
/* How many of the n bytes make a name; fills *name. 0: an error was reported at the first
 * character, and *used is what to skip. */
size_t parse_name(parse_ctx *pc, const char *s, size_t n, span at, ast_name *name, size_t *used);
/* After an error these give a value all the same: what stands there may be read as a number or
 * string. */
int64_t parse_int(parse_ctx *pc, const char *s, size_t n, span at);
double parse_number(parse_ctx *pc, const char *s, size_t n, span at);
ast_name parse_string(parse_ctx *pc, const char *s, size_t n, span at);

/* parse_lex.c: what the grammar reads. */
void parse_open(parse_ctx *pc, arena *a, strtab *names, diags *ds, uint32_t file);
int attn_lex(parse_value *v, span *at, parse_ctx *pc);

/* parse_report.c. `found` and `expected` are token aliases of parse.y. */
void parse_report(parse_ctx *pc, const char *found, span at, const char *const *expected, size_t n);
void parse_too_deep(parse_ctx *pc, span at);

/* parse_build.c: nodes. Children that are AST_ERROR make an AST_ERROR. */
ast_expr *mk_expr(parse_ctx *pc, ast_kind kind, span at);
ast_expr *mk_unary(parse_ctx *pc, ast_op op, ast_expr *a, span at);
ast_expr *mk_pair(parse_ctx *pc, ast_kind kind, ast_op op, ast_expr *a, ast_expr *b, span at,
                  span spot);
ast_expr *mk_index(parse_ctx *pc, ast_expr *a, ast_index *index, span at);
ast_expr *mk_call(parse_ctx *pc, ast_expr *a, arg_list *args, span at);
ast_expr *mk_field(parse_ctx *pc, ast_expr *a, ast_name name, span at);
ast_expr *mk_list(parse_ctx *pc, ast_kind kind, expr_list *items, span at);
ast_expr *mk_chain(parse_ctx *pc, chain_list *c, span at);
ast_index *mk_index_list(parse_ctx *pc, item_list *items, ast_expr *where, span at);
ast_type *mk_type(parse_ctx *pc, const ast_name *word, axis_list *axes, span at);
ast_stmt *mk_stmt(parse_ctx *pc, ast_stmt_kind kind, span at);
ast_decl *mk_decl(parse_ctx *pc, ast_decl_kind kind, span at);

#endif
