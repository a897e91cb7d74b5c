/* interp_internal.h: what the interp*.c files share; nobody else includes it.
 *
 * A value is either stored, as a dense tensor over its free indices, or virtual: computed again,
 * row by row, inside the plan of each stored value that uses it. Large elementwise values are
 * virtual, so that a sum of products never holds the products. A plan runs over a space of indices;
 * one of them is the row, along which nodes are computed up to ROW elements at a time.
 *
 * Traps are values: an element whose computation fails (index out of range, overflow) is `bad`,
 * with the number of a record that says why. Badness goes through elementwise ops and is dropped
 * where a predicate excludes the element, so the run fails only where a bad element reaches an
 * output. */
#ifndef ATTNC_IR_INTERP_INTERNAL_H
#define ATTNC_IR_INTERP_INTERNAL_H

#include "ir/interp.h"

enum { ROW = 1024 };

typedef struct tensor {
    const value *v;
    uint32_t n_axes;
    const ix **axes; /* v's free indices but for the steps that are fixed where it is computed */
    uint32_t *pos;   /* of each axis among v's free indices */
    int64_t *stride;
    size_t n;
    double *f;     /* reals */
    int64_t *i;    /* ints and bools */
    uint32_t *bad; /* 0, or 1 + a trap's number; NULL: all is well */
    bool absent;   /* an optional input that is not there */
    bool borrowed; /* data of the caller's */
    struct block *home;
    size_t last; /* the statement of `home` that uses it last */
} tensor;

typedef enum node_kind { NODE_CONST, NODE_INDEX, NODE_TENSOR, NODE_READ, NODE_ELEM } node_kind;

typedef struct node {
    node_kind kind;
    op_id op;
    const value *v;
    bool real;   /* the result; else ints */
    bool varies; /* along the row */
    uint32_t n_args;
    uint32_t *args; /* nodes above; READ: one for each index of the base */
    int where;      /* node, or -1 */
    tensor *base;   /* TENSOR, READ */
    const ix **at;  /* TENSOR: the index of the space for each axis of the base */
    double cf;      /* CONST */
    int64_t ci;
    uint32_t cbad;
    /* The row computed last: element r is f[r * step]. */
    const double *f;
    const int64_t *i;
    const uint32_t *bad; /* same step; NULL: none */
    int64_t step;
} node;

typedef struct plan {
    node *nodes;
    uint32_t n, cap;
    int root, where;  /* nodes; where: -1 for none */
    const ix **space; /* free indices, then bound ones */
    uint32_t n_space, n_free;
    int row; /* position in space, -1 where it is empty */
} plan;

typedef struct stmt {
    const value *v;
    tensor *out;
    plan *plans; /* one; join: one for each part */
    uint32_t n_plans;
    struct block *region; /* scan */
    VEC(tensor *) done;   /* not used any more behind this */
} stmt;

typedef struct block {
    const value *scan; /* NULL: the top */
    struct block *parent;
    size_t at; /* its scan's statement in the parent */
    VEC(stmt) s;
    bool *fixed;      /* by index: a step of a scan around */
    tensor **history; /* by slot */
} block;

typedef struct trap {
    interp_status status;
    const char *text;
} trap;

typedef struct owned owned; /* a block of tensor memory */

typedef struct machine {
    arena *a;       /* results and messages */
    arena *scratch; /* plans */
    const graph *g;
    const int64_t *symbols; /* by the dim table's numbers */
    int64_t *extent;        /* by index */
    int64_t *cur;           /* by index: the place in the running plan, the steps */
    value_list live;
    uint32_t *home;
    block **blocks;                    /* by home */
    tensor **of;                       /* by id */
    unsigned char *base, *is_virtual;  /* by id: read at other indices; not stored */
    uint32_t *node_of, *stamp, stamps; /* of the plan being made: by id */
    VEC(trap) traps;
    owned *owned;
    /* Buffers of the running plan, by node; only one plan runs at a time. */
    double **fbuf;
    int64_t **ibuf;
    uint32_t **badbuf;
    size_t n_buf;
    unsigned char trapped[ROW];
    struct acc *acc; /* ROW of them */
    const interp_tensor *inputs, *params;
} machine;

bool is_real(const value *v);
const char *value_label(const machine *m, const value *v);
uint32_t new_trap(machine *m, interp_status status, const char *text); /* what `bad` holds */

/* interp_store.c: tensor memory, given back when it is no longer used or memory runs out. */
void tensor_layout(machine *m, tensor *t, const bool *fixed);
void tensor_alloc(machine *m, tensor *t);
void tensor_need_bad(machine *m, tensor *t);
void tensor_free(machine *m, tensor *t);
void *own(machine *m, size_t n, size_t size);
void disown(machine *m, void *p);
void disown_all(machine *m);
size_t space_size(machine *m, const ix *const *list, uint32_t n, const bool *fixed);

/* interp_plan.c: first the shapes of all tensors, then (the inputs being known) the statements. */
void make_tensors(machine *m);
void make_blocks(machine *m);
void make_plan(machine *m, plan *p, const value *root, const value *where, const block *in,
               const ix *const *free, uint32_t n_free, const ix *const *bound, uint32_t n_bound);

/* The pieces of make_plan, for plans of another form. add_product: op over two values that is none
 * of its own. */
void open_plan(machine *m, plan *p, const block *in, const ix *const *free, uint32_t n_free,
               const ix *const *bound, uint32_t n_bound);
int add_node(machine *m, plan *p, const value *v);
int add_product(machine *m, plan *p, op_id op, const value *v, const value *a, const value *b);

/* interp_row.c: computes all nodes for n elements of the row from r0 on. */
void run_nodes(machine *m, plan *p, int64_t r0, size_t n);

/* interp_elem.c: the elementwise ops over rows. */
typedef struct lane {
    const double *f;
    const int64_t *i;
    int64_t step;
} lane;
typedef struct row_call {
    size_t n;
    lane a[3];
    double *f;
    int64_t *i;
    unsigned char *trap; /* set to 1 where the op fails */
    bool trapped;
} row_call;
void run_elem(op_id op, bool real_args, row_call *c);

/* interp_fold.c: runs a plan and folds its bound indices into `out`, whose element for the free
 * ones is at base + their values times their strides. FOLD_ASSIGN: no bound index. live (or NULL):
 * 1 where `where` holds, laid out as out. */
enum {
    FOLD_ASSIGN = RED_COUNT,
    FOLD_EXP_SUM, /* the sum of e^(x - max x), 0 over nothing: an online softmax's */
    FOLD_MASS,    /* the sum of what is not -inf: an online normalize's */
};
typedef struct fold {
    int kind;
    tensor *out;
    int64_t base;
    const int64_t *stride; /* by free index of the plan */
    unsigned char *live;
    bool clear_bad; /* rows written before are forgotten */
} fold;
void run_fold(machine *m, plan *p, const fold *f);
void run_norm(machine *m, const value *v, op_id op, tensor *t, const unsigned char *live);

/* interp_online.c: online ops by their definition: the tensor of one holds its weights, its parts
 * are sums with them. */
tensor *online_tensor(machine *m, const value *v);
void plan_online(machine *m, plan *p, const value *v, const block *in);
void plan_part(machine *m, plan *p, const value *v, const block *in);
void run_online(machine *m, const value *v, tensor *t, const unsigned char *live);
int part_fold(const value *v);

#endif
