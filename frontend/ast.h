/* ast.h: an .attn file as the parser found it.
 *
 * The tree says what was written and nothing more: names are not resolved, kinds of function are
 * words, `softmax[j](e)` is an index followed by a call. Every node has a span. All of it lives on
 * one arena. Lists are arrays with a count, in source order. */
#ifndef ATTNC_FRONTEND_AST_H
#define ATTNC_FRONTEND_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/diag.h"

typedef struct ast_expr ast_expr;
typedef struct ast_type ast_type;

typedef struct ast_name {
    const char *s; /* interned */
    span at;
} ast_name;

/* Expressions. The comment gives the text and the fields it fills. */
typedef enum ast_kind {
    AST_ERROR,  /* what a syntax error left; silences what follows */
    AST_NUMBER, /* 1e-5                      real; is_int false */
    AST_INT,    /* 12                        integer; text that overflows int64 is an error */
    AST_STRING, /* "h.{}"                    name (only where the grammar wants one) */
    AST_NAME,   /* x                         name */
    AST_UNARY,  /* -a, not a                 op, a */
    AST_BINARY, /* a + b, a @ b, a and b     op, a, b */
    AST_CHAIN,  /* a < b <= c                items = operands (n), ops = comparisons (n - 1) */
    AST_WHERE,  /* a where b                 a, b */
    AST_ELSE,   /* a else b                  a, b  (`a where c else b` is ELSE(WHERE(a, c), b)) */
    AST_INDEX,  /* a[i, j in S where c]      a, index */
    AST_CALL,   /* a(x, n = 3)               a, args */
    AST_FIELD,  /* a.name                    a, name */
    AST_JOIN,   /* [a; b]                    items */
    AST_TUPLE,  /* (a, b)                    items; two values or more (a branch with several
                   results) */
} ast_kind;

typedef enum ast_op { /* text in ast_op_text[] */
                      OP_NONE,
                      OP_NEG,
                      OP_NOT,
                      OP_ADD,
                      OP_SUB,
                      OP_MUL,
                      OP_DIV,
                      OP_FLOORDIV,
                      OP_MOD,
                      OP_MATMUL,
                      OP_POW,
                      OP_EQ,
                      OP_NE,
                      OP_LT,
                      OP_LE,
                      OP_GT,
                      OP_GE,
                      OP_AND,
                      OP_OR,
} ast_op;
extern const char *const ast_op_text[];

/* One item between brackets. A comparison (`j <= t`) is AST_ITEM_EXPR with a comparison as its
 * expression: whether it binds or only narrows is the checker's business. */
typedef enum ast_item_kind {
    AST_ITEM_EXPR,  /* e */
    AST_ITEM_ALL,   /* :                     the whole axis */
    AST_ITEM_IN,    /* j in S   j in a..b    name, range (e = S) or range (e..hi) */
    AST_ITEM_RANGE, /* a..b                  a slice of an axis: e..hi */
} ast_item_kind;

typedef struct ast_item {
    ast_item_kind kind;
    span at;
    ast_name name;    /* IN */
    ast_expr *e, *hi; /* hi: only with `..` */
} ast_item;

typedef struct ast_index {
    span at;
    size_t n;
    ast_item *items;
    ast_expr *where; /* NULL: none */
} ast_index;

typedef struct ast_arg {
    ast_name name; /* s NULL: by position */
    ast_expr *e;
} ast_arg;

/* The deepest expression tree that the parser builds (deeper: an error). Whoever walks a tree may
 * recurse; left-deep chains such as a + a + ... count as deep. */
#define AST_MAX_DEPTH 2000

struct ast_expr {
    ast_kind kind;
    ast_op op;
    span
        at; /* for AST_BINARY from a's first byte to b's last, parentheses around either included */
    uint32_t depth; /* 1 for a leaf */
    ast_expr *a, *b;
    const char *name;
    int64_t integer;
    double real;
    ast_index *index;
    size_t n; /* items, or args */
    ast_expr **items;
    ast_op *ops;
    ast_arg *args;
};

/* Types. */
typedef enum ast_scalar { /* the word before the brackets; SCALAR_REAL also where there is none */
                          SCALAR_REAL,
                          SCALAR_INT,
                          SCALAR_BOOL,
                          SCALAR_F64,
                          SCALAR_F32,
                          SCALAR_F16,
                          SCALAR_BF16,
                          SCALAR_I64,
                          SCALAR_I32,
                          SCALAR_U8,
} ast_scalar;
extern const char *const ast_scalar_text[];

typedef enum ast_axis_kind {
    AXIS_DIM,    /* 2*H + 1                  e */
    AXIS_PACKED, /* (N, K)                   parts, first outermost */
    AXIS_JOINED, /* (A; B; C)                parts, one behind the other */
} ast_axis_kind;

typedef struct ast_axis {
    ast_axis_kind kind;
    span at;
    ast_expr *e;
    size_t n;
    struct ast_axis *parts;
} ast_axis;

struct ast_type {
    span at;
    ast_scalar scalar;
    bool written;      /* a scalar word was written (`real[T]`, not `[T]`) */
    bool is_function;  /* `align: score`, `allowed: mask`, `norm: fn` */
    ast_name function; /* ... its kind word */
    size_t n_axes;
    ast_axis *axes;
};

/* Statements. */
typedef enum ast_stmt_kind {
    STMT_ERROR,
    STMT_CONST, /* const eps = 1e-5 / dim N = 8      names[0], e, is_dim */
    STMT_DECL,  /* z: [(A, M), E]                    names[0], type */
    STMT_PARAM, /* param Wq, Wk: [H, E] from "..."   names, indices (families), type, from */
    STMT_PART, /* part block[l in L] = layer(N = 12) from "h.{l}.{}"   names[0], indices[0], e, from
                */
    STMT_RETURN, /* return e, e                       exprs */
    STMT_UNTIL,  /* until e                           e */
    STMT_EQ,     /* targets = e                       targets, tuple, e */
} ast_stmt_kind;

typedef enum ast_target_kind {
    TARGET_NAME, /* x    x[i, j]    _ */
    TARGET_JOIN, /* [i; f; g; o]            parts */
} ast_target_kind;

typedef struct ast_target {
    ast_target_kind kind;
    span at;
    ast_name name;    /* s "_": dropped */
    ast_index *index; /* NULL: none */
    size_t n;
    struct ast_target *parts;
} ast_target;

typedef struct ast_stmt {
    ast_stmt_kind kind;
    span at;
    bool is_dim;
    size_t n_names;
    ast_name *names;
    ast_index **indices; /* one for each name; NULL entries: none */
    ast_type *type;
    ast_expr *e;
    ast_name from; /* s NULL: none; the text between the quotes */
    size_t n_exprs;
    ast_expr **exprs;
    size_t n_targets; /* STMT_EQ: `(a, b) = e` and `a, b = e` have several */
    ast_target *targets;
} ast_stmt;

/* Declarations. */
typedef struct ast_formal {
    ast_name name;
    span at;
    ast_index *index; /* a family: `mem[l in L]: [M, D] from "mem{l}"`; NULL: none */
    ast_type type;
    ast_expr *dflt; /* NULL: none */
    ast_name from;  /* s NULL: none */
} ast_formal;

typedef enum ast_decl_kind {
    DECL_ERROR,
    DECL_IMPORT, /* import "std/rnn.attn"             name (the text), names none */
    DECL_CONST,  /* const / dim at top level          name, e, is_dim */
    DECL_FUNC,   /* kind name(formals) -> results { body } */
    DECL_ALIAS,  /* kind name[batch] = callee(args)   e */
} ast_decl_kind;

typedef struct ast_decl {
    ast_decl_kind kind;
    span at;
    ast_name word; /* score, mask, encoder, recurrence, model, fn */
    ast_name name;
    size_t n_batch; /* model run[B] */
    ast_name *batch;
    size_t n_formals;
    ast_formal *formals;
    size_t n_results; /* named results, or one with name.s NULL; 0: not given */
    ast_formal *results;
    bool results_named;
    size_t n_body;
    ast_stmt **body;
    ast_expr *e;
    bool is_dim;
} ast_decl;

typedef struct ast_file {
    uint32_t file; /* in the source_set */
    size_t n;
    ast_decl **decls;
} ast_file;

/* Parses file number `file` of ds->sources. Every syntax error goes to ds; the result is never NULL
 * and holds whatever could be read. Success is ds->n_errors unchanged. */
ast_file *ast_parse(arena *a, strtab *names, diags *ds, uint32_t file);

/* The tree as text, one s-expression for each declaration: for tests and --stop-after. */
void ast_dump(const ast_file *f, strbuf *out);

/* The canonical text of a file: what `attnc fmt` prints. Comments and blank lines of the source are
 * kept, and formatting twice changes nothing. Requires a file that parsed without an error. */
void ast_format(const ast_file *f, const source *src, strbuf *out);

#endif
