/* lower.h: kernels to LLVM IR: what the lower_*.c files share.
 *
 * For a kernel NAME the module gets
 *   NAME.sizes(dims, out) -> status    all sizes, checked; the one place that computes them
 *   NAME.body(...) -> status           the loops; pointers to buffers are its arguments
 *   NAME, NAME_workspace, NAME_prepared, NAME_prepare, NAME_info    the C interface
 * and for its step kernel
 *   NAME.steps.sizes, NAME.begin.body, NAME.step.body
 *   NAME_state, NAME_begin, NAME_step
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
} low_var;

/* A value that an expression node has in the current block and its successors; see lower_expr.c. */
typedef struct low_memo {
    const kexpr *e;
    LLVMValueRef before;
} low_memo;

typedef struct low {
    lb *l;
    arena *a;
    const kernel *k;
    const iface *f;
    size_t n_temps;
    VEC(const dim *) dims; /* all that the kernel mentions */

    const struct low *steps; /* of a kernel that has a step kernel: what is known of that */
    LLVMValueRef totals;     /* of a step kernel: the function NAME.steps.totals */
    LLVMValueRef sizes;      /* the function */
    LLVMValueRef body;       /* the function */

    /* While a function of the kernel is being built: */
    LLVMValueRef *symbol;  /* values of the dims struct */
    ptr_map dim_value;     /* dim -> LLVMValueRef */
    LLVMValueRef *bad;     /* sizes: i1, something overflowed; NULL: unchecked arithmetic */
    LLVMValueRef *buf;     /* body: by kbuf id: the pointer, or the table of a family */
    LLVMValueRef **stride; /* body: by kbuf id, one per axis behind the family's, the last NULL */
    low_var *var;          /* body: by kvar id */
    LLVMValueRef *flag;    /* body: by attn_status: i32 in memory, or NULL where no check sets it */
    ptr_map memo;          /* body: kexpr -> LLVMValueRef */
    VEC(low_memo) undo;
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

/* lower_sizes.c: out gets, by kbuf id, the bytes of each tensor and the offset of each temp (in the
 * workspace) and state (behind the state's head); then the bytes of the workspace and of the
 * states. */
enum { LOW_WORKSPACE, LOW_STATES, LOW_TOTALS };
void lower_sizes(low *c);

/* lower_body.c */
void lower_body(low *c);
typedef struct low_call {
    LLVMValueRef dims, tables[3], sizes, workspace;
    LLVMValueRef states, pos; /* step kernels: behind the head; of NAME.step.body */
} low_call;
LLVMValueRef low_call_body(low *c, const low_call *call);
void low_block(low *c, const kblock *b);
void low_statement(low *c, const kstmt *s);

/* lower_if.c */
void low_if(low *c, const kstmt *s);

/* lower_expr.c */
LLVMValueRef low_expr(low *c, const kexpr *e);
void low_new_statement(low *c); /* forgets which nodes have values */
/* The value of a `set` of v; a running sum gets the flags of l_sum_flags. */
LLVMValueRef low_update(low *c, const kvar *v, const kexpr *e);
/* A term of a running sum: a product may be fused with the addition. */
LLVMValueRef low_sum_term(low *c, const kexpr *e);
LLVMValueRef low_var_value(low *c, const kvar *v);

/* lower_ops.c: the elementwise rows of ops.def on scalars. */
LLVMValueRef low_op(low *c, op_id op, LLVMValueRef *x, const kexpr *e);
LLVMValueRef low_overflows(low *c, op_id op, LLVMValueRef *x);

/* lower_mem.c: buffer elements. */
LLVMValueRef low_load(low *c, const kbuf *b, LLVMValueRef *index, dtype as);
void low_store(low *c, const kbuf *b, LLVMValueRef *index, LLVMValueRef v, dtype from);

/* lower_convert.c: store types, in terms of values. */
LLVMTypeRef l_store_type(const lb *l, store_type st);
LLVMValueRef l_from_store(const lb *l, store_type st, LLVMValueRef v, dtype to);
LLVMValueRef l_to_store(const lb *l, store_type st, LLVMValueRef v, dtype from);

/* lower_entry.c, lower_steps.c, lower_check.c, lower_info.c */
void lower_entry(low *c);
low *lower_steps(lb *l, const kernel *k); /* the step kernel k */
LLVMValueRef low_entry(low *c, const char *suffix, LLVMTypeRef ret, const LLVMTypeRef *args,
                       unsigned n);
void low_return_if(const lb *l, LLVMValueRef cond, LLVMValueRef result);
void low_return_status(const lb *l, LLVMValueRef status); /* where it is not OK */
LLVMValueRef low_sizes_block(low *c); /* stack for what the sizes function gives */
LLVMValueRef low_call_sizes(low *c, LLVMValueRef dim_struct, LLVMValueRef block);
LLVMValueRef low_total(low *c, LLVMValueRef block, int which);
/* Returns where a block that is not aligned, or is NULL, is needed: `used`, an i1. */
void low_check_block(const lb *l, LLVMValueRef block, LLVMValueRef used);
void lower_info(low *c);
/* i32 status of all pointers of the three tables; `records` is what lower_check_records made. */
LLVMValueRef lower_check_records(low *c);
LLVMValueRef low_check_pointers(low *c, LLVMValueRef *tables, LLVMValueRef sizes,
                                LLVMValueRef records, bool overlap);

#endif
