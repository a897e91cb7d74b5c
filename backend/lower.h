/* lower.h: kernels to LLVM IR: what the lower_*.c files share.
 *
 * For a kernel NAME the module gets
 *   NAME.sizes(dims, out) -> status    all sizes, checked; the one place that computes them
 *   NAME.body(...) -> status           the loops; pointers to buffers are its arguments
 *   NAME.prepare.body(...) -> status   the same of what is made of the params once
 *   NAME.parallel(...) -> statuses     one iteration of a parallel loop, and NAME.share, its
 *                                      attn_body
 *   NAME, NAME_workspace, NAME_prepared, NAME_prepare, NAME_info    the C interface
 * and for its step kernel NAME.steps.sizes, NAME.begin.body, NAME.step.body, NAME_state,
 * NAME_begin, NAME_step. All kernels of a module share
 *   attn.parallel                      by threads or in order
 *   attn.tile.TYPE.ROWSxVECTORS        a sum by tiles
 *   attn.floordiv, attn.floormod, attn.check_pointers, attn.check_overlap
 * Only the C interface is visible outside. */
#ifndef ATTNC_BACKEND_LOWER_H
#define ATTNC_BACKEND_LOWER_H

#include "backend/iface.h"
#include "backend/l_build.h"
#include "backend/ptr_map.h"

#define LOWER_MAX_BYTES ((int64_t)1 << 62) /* no tensor or workspace reaches this */

typedef struct low_var {
    LLVMValueRef v; /* the value, or where it is kept */
    bool in_memory;
    LLVMValueRef step; /* not NULL: v is lane 0's, and this the difference between lanes */
} low_var;

/* A number in each lane: lane i has base + i step; step NULL: all have base. */
typedef struct low_affine {
    LLVMValueRef base, step;
} low_affine;

/* The lanes that code at hand is for; see lower_vector.c. */
typedef struct low_lanes {
    unsigned n;                   /* 1: scalar code, and nothing below means anything */
    const struct lane_plan *plan; /* of the vector loop around */
    struct lane_sums *sums;       /* its reductions */
    LLVMValueRef mask;            /* which lanes are on; NULL: all */
    LLVMValueRef tail;            /* which lanes are iterations of the loop; NULL: all */
    bool maybe_none;              /* the mask may be empty */
} low_lanes;

/* A value that an expression node has in the current block and its successors; see lower_expr.c. */
typedef struct low_memo {
    const kexpr *e;
    bool affine; /* in low.affine, else in low.memo */
} low_memo;

typedef struct low {
    lb *l;
    arena *a;
    const kernel *k;
    const iface *f;
    size_t n_own[KB_ROLE_COUNT]; /* buffers of each role */
    bool *scratch;               /* by kbuf id: a temp or local of the prepare body as well */
    VEC(const dim *) dims;       /* all that the kernel mentions */

    struct low *steps;    /* of a kernel that has a step kernel: what is known of that */
    LLVMValueRef totals;  /* of a step kernel: the function NAME.steps.totals */
    LLVMValueRef sizes;   /* the function */
    LLVMValueRef prepare; /* the function NAME.prepare.body, or NULL */
    LLVMValueRef body;    /* the function */
    bool shares;          /* a step kernel: its prepared block is that of the kernel itself */

    /* While a function of the kernel is being built: */
    const kblock *block;     /* body: its statements */
    LLVMValueRef dim_struct; /* body */
    LLVMValueRef exec;       /* body: the threads; NULL: `parallel` loops are run in order here */
    LLVMValueRef locals;     /* body: bytes of one thread's `local` buffers */
    LLVMValueRef *symbol;    /* values of the dims struct */
    ptr_map dim_value;       /* dim -> LLVMValueRef */
    LLVMValueRef *bad;       /* sizes: i1, something overflowed; NULL: unchecked arithmetic */
    LLVMValueRef *buf;       /* body: by kbuf id: the pointer, or the table of a family */
    LLVMValueRef **stride;   /* body: by kbuf id, one per axis behind the family's, the last NULL */
    low_var *var;            /* body: by kvar id */
    LLVMValueRef *flag; /* body: by attn_status: i32 in memory, or NULL where no check sets it */
    ptr_map memo;       /* body: kexpr -> LLVMValueRef */
    ptr_map affine;     /* body: kexpr -> low_affine, in lanes */
    VEC(low_memo) undo;
    low_lanes lanes;
    struct { /* the loop around that says `ahead`; see lower_ahead.c */
        const kstmt *loop;
        VEC(const kexpr *) seen; /* loads of the chunk at hand */
        bool far;                /* addresses may lie outside of the buffer */
    } ahead;
    ptr_map guarded; /* kexpr -> whether it must not be computed in vain */
    LLVMMetadataRef
        ro_scope; /* alias scope of what no kernel writes; families cannot be arguments */
} low;

enum { LOW_MAX_STATUS = 16 };

/* One kernel into the module of l. */
void lower_kernel(lb *l, const kernel *k);

/* lower_dim.c */
void low_collect_dims(low *c);
size_t low_n_symbols(const kernel *k); /* a step kernel's rows stand behind the others */
void low_load_symbols(low *c, LLVMValueRef dim_struct);
LLVMValueRef low_dim(low *c, const dim *d);

/* lower_sizes.c: out gets, by kbuf id, the bytes of each tensor and the offset of each of the
 * kernel's own buffers among those of its role (of a state: behind the state's head); then the
 * bytes of all of a role; then, by kbuf id again, the offsets of the prepare body's scratch in the
 * prepared block. A workspace is the temps, a prepared block, the locals of each thread. */
enum { LOW_TEMPS, LOW_LOCALS, LOW_PREPARED, LOW_STATES, LOW_TOTALS };
void lower_sizes(low *c);
int low_total_of(kbuf_role role); /* of one of the kernel's own; -1: it takes no such space */

/* lower_body.c */
void lower_prepare(low *c); /* makes c->prepare */
void lower_body(low *c);
typedef struct low_call {
    LLVMValueRef dims, tables[3], sizes, workspace;
    LLVMValueRef prepared;    /* filled */
    LLVMValueRef exec;        /* NULL: none */
    LLVMValueRef states, pos; /* step kernels: behind the head; of NAME.step.body */
} low_call;
LLVMValueRef low_call_body(low *c, const low_call *call);
LLVMValueRef low_call_prepare(low *c, const low_call *call);
/* The state of a function at its beginning, dims and `reg` buffers included; buffers are still to
 * be placed, then strides made. */
void low_enter(low *c, const kblock *block, LLVMValueRef dim_struct);
void low_make_strides(low *c, const kbuf *b);
void low_make_flags(low *c, const kblock *b); /* for the checks in b */
void low_block(low *c, const kblock *b);
size_t low_next(low *c, const kblock *b, size_t i); /* one or more statements; what comes next */

/* lower_parallel.c: a parallel loop of a function that has threads (c->exec). */
void low_parallel(low *c, const kstmt *s, LLVMValueRef lo, LLVMValueRef hi);

/* lower_tile.c: a sum by tiles that begins with statement i of b: how many statements it was. 0:
 * none begins there, and nothing was built. */
unsigned low_tile(low *c, const kblock *b, size_t i);

/* lower_if.c */
void low_if(low *c, const kstmt *s);

/* lower_plan.c: whether a vector loop can be built in lanes, and what is the same in all of them.
 * NULL: it cannot. */
typedef struct lane_plan lane_plan;
const lane_plan *low_plan(low *c, const kstmt *loop);
bool low_varies(const low *c, const kexpr *e); /* from lane to lane */
bool low_same_expr(const kexpr *x, const kexpr *y);
/* The x of `v = op(v, x)` or of `b[i] = op(b[i], x)`; NULL: s is neither. */
const kexpr *low_reduced(const kstmt *s);
bool low_plan_reduces(const lane_plan *p);
bool low_plan_indexes_regs(const lane_plan *p); /* by the loop's variable */

/* lower_vector.c: a vector loop; false: nothing was built, it must be a plain loop. */
bool low_vector(low *c, const kstmt *s, LLVMValueRef lo, LLVMValueRef hi);

/* lower_lanes.c: statements and expressions in lanes (c->lanes.n > 1). */
bool low_affine_of(low *c, const kexpr *e, low_affine *out);
LLVMValueRef low_lanes_of(low *c, const low_affine *f); /* as a vector */
void low_lanes_define(low *c, const kstmt *s);
void low_lanes_set(low *c, const kstmt *s);
void low_lanes_store(low *c, const kstmt *s);
void low_lanes_if(low *c, const kstmt *s);
void low_lanes_check(low *c, const kstmt *s);
LLVMValueRef low_lanes_load(low *c, const kexpr *e);
/* Lane 0's element and how many there are between lanes; false: the lanes do not lie so. */
bool low_lanes_place(low *c, const kbuf *b, const kexpr *const *index, LLVMValueRef *p,
                     LLVMValueRef *step);

/* lower_ahead.c: asks for what the load e of a vector loop reads some iterations on. */
void low_fetch(low *c, const kexpr *e);

/* lower_transpose.c: stores from statement `first` on that are done as one; how many, or 0. */
size_t low_lanes_transposed(low *c, const kblock *b, size_t first);

/* lower_sums.c: the reductions of a vector loop. */
typedef struct lane_sums lane_sums;
lane_sums *low_sums_new(low *c, LLVMBasicBlockRef before); /* `before`: still open */
void low_sums_turn(lane_sums *s, unsigned turn); /* which of several partial sums comes next */
void low_sums_add(low *c, const kstmt *s);       /* a statement that reduces */
void low_sums_finish(low *c, lane_sums *s);

/* lower_expr.c */
LLVMValueRef low_expr(low *c, const kexpr *e);
void low_new_statement(low *c); /* forgets which nodes have values */
/* The value of a `set` or a `store`; a running sum gets the flags of l_sum_flags. */
LLVMValueRef low_update(low *c, const kstmt *s);
void low_forget_to(low *c, size_t mark); /* values known since c->undo.n was `mark` */
/* A term of a running sum: a product may be fused with the addition. */
LLVMValueRef low_sum_term(low *c, const kexpr *e);
LLVMValueRef low_var_value(low *c, const kvar *v);

/* lower_ops.c: the elementwise rows of ops.def on scalars. */
LLVMValueRef low_op(low *c, op_id op, LLVMValueRef *x, const kexpr *e);
LLVMValueRef low_overflows(low *c, op_id op, LLVMValueRef *x);

/* lower_mem.c: buffer elements. */
LLVMValueRef low_base(low *c, const kbuf *b, LLVMValueRef *family); /* index of the family's axes */
LLVMValueRef low_tag(low *c, const kbuf *b, LLVMValueRef access, bool store); /* alias scopes */
LLVMValueRef low_element(low *c, const kbuf *b, LLVMValueRef *index);         /* its address */
LLVMValueRef low_load(low *c, const kbuf *b, LLVMValueRef *index, dtype as);
void low_store(low *c, const kbuf *b, LLVMValueRef *index, LLVMValueRef v, dtype from);

/* lower_convert.c: store types, in terms of values. */
LLVMTypeRef l_store_type(const lb *l, store_type st);
LLVMValueRef l_from_store(const lb *l, store_type st, LLVMValueRef v, dtype to);
LLVMValueRef l_to_store(const lb *l, store_type st, LLVMValueRef v, dtype from);

/* lower_entry.c, lower_steps.c, lower_check.c, lower_info.c */
void lower_entry(low *c);
low *lower_steps(lb *l, const kernel *k, const low *of); /* the step kernel k of a kernel */
/* On the stack, with no rows behind them. */
LLVMValueRef low_copy_dims(const low *c, LLVMValueRef dim_struct);
low low_new(lb *l, const kernel *k);
LLVMValueRef low_entry(low *c, const char *suffix, LLVMTypeRef ret, const LLVMTypeRef *args,
                       unsigned n);
void low_return_if(const lb *l, LLVMValueRef cond, LLVMValueRef result);
void low_return_status(const lb *l, LLVMValueRef status); /* where it is not OK */
LLVMValueRef low_sizes_block(low *c); /* stack for what the sizes function gives */
LLVMValueRef low_call_sizes(low *c, LLVMValueRef dim_struct, LLVMValueRef block);
LLVMValueRef low_total(low *c, LLVMValueRef block, int which);
/* The bytes of a workspace with the totals at `totals`; -1 where that is too much. threads: i32. */
LLVMValueRef low_workspace(low *c, LLVMValueRef totals, LLVMValueRef threads);
/* Checks workspace and prepared block; without a block it fills one in the workspace. */
void low_take_blocks(low *c, low_call *call, LLVMValueRef prepared);
/* Returns where a block that is not aligned, or is NULL, is needed: `used`, an i1. */
void low_check_block(const lb *l, LLVMValueRef block, LLVMValueRef used);
void lower_info(low *c);
/* i32 status of all pointers of the three tables. */
typedef struct low_records {
    LLVMValueRef table;
    size_t n;
} low_records;
low_records lower_check_records(low *c, bool params_only);
LLVMValueRef low_check_pointers(low *c, LLVMValueRef *tables, LLVMValueRef sizes,
                                const low_records *records, bool overlap);

#endif
