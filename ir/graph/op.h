/* op.h: the op table: names, signatures and traits of every operation. */
#ifndef ATTNC_IR_GRAPH_OP_H
#define ATTNC_IR_GRAPH_OP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum op_id {
#define OP(id, text, n, sig, traits, meaning) OP_##id,
#include "ir/graph/ops.def"
#undef OP
    OP_COUNT
} op_id;

/* How the element type of the result follows from the operands'. */
typedef enum op_sig {
    SIG_LEAF,   /* as stated */
    SIG_SAME,   /* all operands one numeric type; the same */
    SIG_REAL,   /* reals; the same */
    SIG_INT,    /* i64; i64 */
    SIG_BOOL,   /* bool (given: anything); bool */
    SIG_CMP,    /* both one type; bool */
    SIG_SELECT, /* bool, X, X; X */
    SIG_TOINT,  /* real; i64 */
    SIG_TOREAL, /* i64; the graph's real */
    SIG_READ,   /* X, i64...; X */
    SIG_JOIN,   /* X...; X */
    SIG_REDUCE, /* by the kind */
    SIG_APPEND, /* history of X, X; X */
    SIG_RESULT, /* scan; the element type of that history */
    SIG_ONLINE, /* reals; no element type */
    SIG_PART,   /* online; the graph's real */
    SIG_NONE,   /* no element type */
} op_sig;

enum {
    T_PURE = 1 << 0,   /* depends on its operands alone */
    T_ELEM = 1 << 1,   /* elementwise, pure; a kernel expression */
    T_INLINE = 1 << 2, /* int and bool results are printed inside their users */
    T_TRAP = 1 << 3, /* ints only (read: any): an error status where `where` holds, e.g. overflow */
    T_COMM = 1 << 4, /* operands commute */
    T_COSTLY = 1 << 5, /* dearer than a load: worth storing when used again */
    T_BINDS = 1 << 6,  /* its bound indices are not free in the result */
    T_NORM = 1 << 7,   /* normaliser: its bound indices stay free */
    T_REGION = 1 << 8, /* belongs to a recurrence */
};

typedef struct op_info {
    const char *text;
    int n_args; /* -1: any */
    op_sig sig;
    unsigned traits;
    const char *meaning;
} op_info;
extern const op_info op_table[OP_COUNT];

#define OP_HAS(op, t) ((op_table[(op)].traits & ((t) | ((t) == T_PURE ? T_ELEM : 0))) != 0)

/* Kinds of OP_reduce: RED(id, text, result, meaning). result: SAME, INT or BOOL. Over nothing: sum
 * 0, prod 1, any false, all true, count 0, logsumexp and real max -inf, real min inf; int max, min
 * and argmax 0 (the frontend makes those absent). count counts true operands; argmax and argmin
 * give the first. */
#define REDUCE_KINDS(RED)                                                                          \
    RED(sum, "sum", SAME)                                                                          \
    RED(prod, "prod", SAME)                                                                        \
    RED(max, "max", SAME)                                                                          \
    RED(min, "min", SAME)                                                                          \
    RED(any, "any", BOOL)                                                                          \
    RED(all, "all", BOOL)                                                                          \
    RED(count, "count", INT)                                                                       \
    RED(argmax, "argmax", INT)                                                                     \
    RED(argmin, "argmin", INT)                                                                     \
    RED(logsumexp, "logsumexp", SAME)
typedef enum reduce_kind {
#define RED(id, text, result) RED_##id,
    REDUCE_KINDS(RED)
#undef RED
        RED_COUNT
} reduce_kind;
typedef struct reduce_info {
    const char *text;
    op_sig result;
} reduce_info;
extern const reduce_info reduce_table[RED_COUNT];

/* Kinds of OP_online, what its weights are: X(id, text). softmax and normalize: as those ops.
 * plain: the scores themselves, nothing divided. */
#define ONLINE_KINDS(X)                                                                            \
    X(softmax, "softmax")                                                                          \
    X(normalize, "normalize")                                                                      \
    X(plain, "plain")
typedef enum online_kind {
#define X(id, text) ON_##id,
    ONLINE_KINDS(X)
#undef X
        ON_COUNT
} online_kind;
extern const char *const online_text[ON_COUNT];

/* What OP_part reads of an online op: a stream's sum by its number, 0 upwards, or one of
 * X(id, text, kinds): a number below 0, and for which kinds it is there.
 *   weights  the weights, the bound indices free again
 *   lse      log of the sum of e^score, as reduce logsumexp
 *   max      the largest score, as reduce max
 *   sum      softmax: the sum of e^(score - max), 0 over nothing; normalize: of the scores but
 *            those of -inf; plain: of the scores */
#define PART_KINDS(X)                                                                              \
    X(weights, "weights", 1 << ON_softmax | 1 << ON_normalize | 1 << ON_plain)                     \
    X(lse, "lse", 1 << ON_softmax)                                                                 \
    X(max, "max", 1 << ON_softmax)                                                                 \
    X(sum, "sum", 1 << ON_softmax | 1 << ON_normalize | 1 << ON_plain)
enum {
    PART_first = -5,
#define X(id, text, kinds) PART_##id,
    PART_KINDS(X)
#undef X
};
typedef struct part_info {
    const char *text;
    unsigned kinds;
} part_info;
const part_info *part_of_kind(int kind); /* NULL: a stream, or none */

#endif
