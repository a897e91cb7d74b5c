/* kernel.h: the kernel IR: explicit loops over buffers, close to the C a person would write by
 * hand.
 *
 * No tensor is left: a kernel is statements over scalars and buffer elements. Scalar operations are
 * the elementwise rows of ir/graph/ops.def. The backend only spells this in LLVM. Text form:
 * ir/IR.md. */
#ifndef ATTNC_IR_KERNEL_KERNEL_H
#define ATTNC_IR_KERNEL_KERNEL_H

#include "ir/graph/graph.h"

typedef struct kexpr kexpr;
typedef struct kstmt kstmt;

/* What a KS_CHECK reports: X(text, number). The numbers are attn_status's (runtime/attn_abi.h,
 * which this folder may not include; the backend asserts that they agree). */
#define KERNEL_STATUSES(X)                                                                         \
    X(INDEX, 3)                                                                                    \
    X(INT, 4)
enum {
#define X(text, number) KERNEL_##text = number,
    KERNEL_STATUSES(X)
#undef X
};

/* X(id, text), in the order in which the buffers of a kernel stand. */
#define KBUF_ROLES(X)                                                                              \
    X(INPUT, "input")                                                                              \
    X(PARAM, "param")                                                                              \
    X(OUTPUT, "output")                                                                            \
    X(STATE, "state")       /* of step kernels: lives from the beginning through all steps */      \
    X(PREPARED, "prepared") /* made of params alone, by the `prepare` body, once */                \
    X(TEMP, "temp")                                                                                \
    X(LOCAL, "local") /* one for each thread; means nothing behind an iteration of `parallel` */   \
    X(REG, "reg")     /* few elements, constant shape: registers of the code at hand */
typedef enum kbuf_role {
#define X(id, text) KB_##id,
    KBUF_ROLES(X)
#undef X
        KB_ROLE_COUNT
} kbuf_role;
extern const char *const kbuf_role_text[KB_ROLE_COUNT];

/* Contiguous, row-major. With n_family > 0 the first axes choose one of several pointers. */
typedef struct kbuf {
    uint32_t id;
    const char *name; /* unique in the kernel */
    kbuf_role role;
    store_type store;
    uint32_t rank;
    const dim *const *shape;
    uint32_t n_family;
    bool optional;      /* input: may be NULL; loads stand under `given` */
    const char *label;  /* input, param, output: the user's name */
    const char *source; /* param: name in the checkpoint */
} kbuf;

/* Memory of the kernel's own, with no owner outside. */
static inline bool kbuf_is_own(const kbuf *b)
{
    return b->role >= KB_STATE;
}

typedef struct kvar {
    uint32_t id;
    const char *name; /* unique in the kernel */
    dtype dt;
    bool mutable; /* `var`, else `let` or a loop index */
} kvar;

typedef enum kexpr_kind {
    KX_CONST, /* i or f, by dt */
    KX_DIM,   /* dim */
    KX_VAR,   /* var */
    KX_LOAD,  /* buf, args = one index per axis; converts from the buffer's store type */
    KX_GIVEN, /* buf: an optional input is there */
    KX_OP, /* op, args; plain arithmetic: add, sub, mul of ints wrap, idiv and imod need a divisor
              that is not 0 (and not MIN / -1), floor, ceil and round a result that fits: the
              schedule guards operands and emits KS_CHECKs */
    KX_OVERFLOW, /* op (neg, add, sub, mul, abs) on i64 args would wrap: bool. Text:
                    overflows.add(a, b) */
} kexpr_kind;

struct kexpr {
    kexpr_kind kind;
    dtype dt;
    op_id op;
    uint32_t n_args;
    const kexpr *const *args;
    int64_t i;
    double f;
    const dim *dim;
    const kvar *var;
    const kbuf *buf;
};

typedef enum kstmt_kind {
    KS_FOR,   /* for var in lo .. hi [step s] [ahead n] [down] { body }      hi excluded */
    KS_LET,   /* let var = e */
    KS_VAR,   /* var var = e          a mutable scalar */
    KS_SET,   /* var = e */
    KS_STORE, /* buf[index] = e       converts to the store type */
    KS_IF,    /* if e { body } else { other } */
    KS_CHECK, /* check e else STATUS  a false e sets the status once; execution goes on */
} kstmt_kind;

/* X(id, text): how a loop may be run. parallel: iterations are independent and may run on several
 * threads. vector: iterations are independent but for reductions (IR.md), several at a time in
 * vector lanes. unroll: constant bounds; the body is copied for each iteration. */
#define KLOOPS(X)                                                                                  \
    X(SEQ, NULL)                                                                                   \
    X(PARALLEL, "parallel")                                                                        \
    X(VECTOR, "vector")                                                                            \
    X(UNROLL, "unroll")
typedef enum kloop {
#define X(id, text) KL_##id,
    KLOOPS(X)
#undef X
        KL_COUNT
} kloop;
extern const char *const kloop_text[KL_COUNT];

typedef struct kblock {
    VEC(kstmt *) s;
} kblock;

struct kstmt {
    kstmt_kind kind;
    const kvar *var;
    const kexpr *e;       /* LET, VAR, SET, STORE: value; IF, CHECK: condition */
    const kexpr *lo, *hi; /* FOR */
    int64_t step;         /* FOR: 1 unless tiled */
    int64_t ahead;        /* FOR: so many steps before is asked for what an iteration reads */
    bool down;            /* FOR: from hi-1 down to lo */
    kloop loop;
    const kbuf *buf; /* STORE */
    uint32_t n_index;
    const kexpr *const *index;
    kblock body, other;
    int status; /* CHECK: KERNEL_INDEX or KERNEL_INT, numbered as attn_status */
    span at;
    const char *note; /* printed as a comment behind the statement; e.g. "%alpha" */
};

typedef struct kernel {
    arena *a;
    strtab *names;
    dims *dims;
    const char *name;
    dtype real;
    bool recurrence;
    VEC(const char *) symbols; /* as graph.symbols: the dims struct */
    VEC(kbuf *) bufs;          /* inputs, params, outputs in struct order, then states and temps */
    VEC(kvar *) vars;
    VEC(graph_check) checks;
    kblock prepare; /* fills the prepared buffers from params; runs before all else */
    kblock body;

    /* A step kernel has two bodies: `body` begins (it has the inputs without steps), `step` then
     * goes `rows` steps on from step `pos` (it has the inputs with steps and the outputs). */
    const char *rows;    /* a dim that only `step` knows; NULL: an ordinary kernel */
    const dim *capacity; /* pos + rows is at most this */
    const kvar *pos;
    kblock step;

    struct kernel *stepper;     /* an ordinary kernel's: the same model's step kernel, or NULL */
    struct kernel_names *taken; /* names in use: dims, buffers, variables, words of the text form */
} kernel;

kernel *kernel_new(arena *a, strtab *names, dims *d, const char *name, dtype real);
void kernel_symbol(kernel *k, const char *name);      /* one more dim of the interface */
bool kernel_taken(const kernel *k, const char *name); /* an interned name: is it in use? */
/* A kernel with g's interface (dims, checks, input, param and output buffers in struct order) and
 * no body. */
kernel *kernel_from_signature(arena *a, const graph *g);
/* The same for a step graph: the axis of steps of inputs and outputs has `rows` elements. */
kernel *kernel_from_step_signature(arena *a, const graph *g);
/* Makes it a step kernel, whose `pos` is still to be set; rows: a name, made unique. */
void kernel_steps(kernel *k, const char *rows, const dim *capacity);
int kernel_step_axis(const kernel *k, const kbuf *b); /* the axis of `rows` elements; -1: none */
/* Which body may look at b: inputs and outputs belong to one of them. */
bool kernel_in_begin(const kernel *k, const kbuf *b);
bool kernel_in_step(const kernel *k, const kbuf *b);
kbuf *kernel_buf(kernel *k, kbuf_role role, const char *name, store_type st,
                 const dim *const *shape, uint32_t rank);
kvar *kernel_var(kernel *k, const char *name, dtype dt,
                 bool is_mutable); /* makes the name unique */

/* The type of op over operands of those types; DT_NONE where it has none (or is no scalar op). */
dtype kernel_op_type(const kernel *k, op_id op, const dtype *args);

const kexpr *kx_real(kernel *k, double f);
const kexpr *kx_int(kernel *k, int64_t i);
const kexpr *kx_bool(kernel *k, bool b);
const kexpr *kx_dim(kernel *k, const dim *d); /* a constant dim is a KX_CONST */
const kexpr *kx_var(kernel *k, const kvar *v);
const kexpr *kx_load(kernel *k, const kbuf *b, const kexpr *const *index);
const kexpr *kx_given(kernel *k, const kbuf *b);
const kexpr *kx_op(kernel *k, op_id op, const kexpr *const *args); /* folds nothing */
const kexpr *kx_overflow(kernel *k, op_id op, const kexpr *const *args);

kstmt *ks_for(kernel *k, kblock *in, const kvar *v, const kexpr *lo, const kexpr *hi, kloop loop);
kstmt *ks_let(kernel *k, kblock *in, const kvar *v, const kexpr *e);
kstmt *ks_var(kernel *k, kblock *in, const kvar *v, const kexpr *e);
kstmt *ks_set(kernel *k, kblock *in, const kvar *v, const kexpr *e);
kstmt *ks_store(kernel *k, kblock *in, const kbuf *b, const kexpr *const *index, const kexpr *e);
kstmt *ks_if(kernel *k, kblock *in, const kexpr *cond);
kstmt *ks_check(kernel *k, kblock *in, const kexpr *cond, int status);

void kernel_print(const kernel *k, strbuf *out);
kernel *kernel_parse(arena *a, strtab *names, diags *ds, uint32_t file);
bool kernel_verify(const kernel *k, diags *ds, const char *where);

#endif
