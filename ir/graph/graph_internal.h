/* graph_internal.h: what the files of ir/graph share; nobody else includes it. */
#ifndef ATTNC_IR_GRAPH_GRAPH_INTERNAL_H
#define ATTNC_IR_GRAPH_GRAPH_INTERNAL_H

#include "ir/graph/graph.h"

/* Computes dt, n_ix and ix of a value from its op, operands and attributes; leaves have theirs
 * stated. False, with a text for the user in g->a, where they do not fit. */
bool graph_infer(const graph *g, value *v, const char **error);
/* The value equal to `proto`, made if new. NULL with *error set where its parts do not fit. */
value *graph_make(graph *g, const value *proto, const char **error);

bool op_takes_where(op_id op);
bool ix_in(const ix *const *list, uint32_t n, const ix *i);
/* `f32<b:B, t:T>`. */
void type_print(strbuf *out, dtype dt, const ix *const *list, uint32_t n);
const char *type_text(arena *a, const value *v);

/* The words of the text form that are no op names, looked up by reader and suggestions alike. */
bool find_op(const char *text, op_id *op);
bool find_reduce(const char *text, int *kind);
bool find_store(const char *text, store_type *st);
bool find_dtype(const char *text, dtype *dt);
bool find_online(const char *text, int *kind);
bool find_part(const char *text, int *kind);

/* How ops are written in infix; text NULL where they are not. */
typedef struct infix {
    const char *text;
    int prec;    /* 1 binds least */
    bool chains; /* a - b - c is (a - b) - c; comparisons do not chain */
} infix;
enum { PREC_NOT = 3, PREC_CMP = 4, PREC_NEG = 7 };
extern const infix infix_table[OP_COUNT];

#endif
