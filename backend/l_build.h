/* l_build.h: short names for building LLVM IR.
 *
 * Each helper takes the type it works on, since pointers have none, and gives values no name: names
 * are for functions, blocks and variables. Nothing here knows kernels. */
#ifndef ATTNC_BACKEND_L_BUILD_H
#define ATTNC_BACKEND_L_BUILD_H

#include "backend/llvm_compat.h"
#include "backend/target.h"

typedef struct lb {
    arena *a;
    LLVMContextRef cx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    const target *target;
    LLVMTypeRef none, i1, i8, i16, i32, i64, f32, f64, ptr;
    LLVMValueRef check_pointers, check_overlap; /* lower_check.c */
    LLVMMetadataRef ro_scope;                   /* lower_body.c */
} lb;

void lb_init(lb *l, arena *a, LLVMContextRef cx, LLVMModuleRef mod, LLVMBuilderRef b,
             const target *t);
LLVMTypeRef l_type(const lb *l, dtype dt); /* of a value; bool is i1 */

/* Lanes (l_lanes.c). Where a helper below takes several operands, a scalar beside a vector is
 * spread over its lanes; a scalar type given to l_cast means a vector of x's lanes. So code written
 * for scalars serves vectors too. */
unsigned l_lanes(LLVMValueRef v); /* 1 of a scalar */
LLVMTypeRef l_wide(LLVMTypeRef scalar, unsigned lanes);
LLVMTypeRef l_scalar_type(LLVMValueRef v);                               /* of v or of one lane */
LLVMValueRef l_spread(const lb *l, LLVMValueRef scalar, unsigned lanes); /* a vector stays */
void l_match(const lb *l, LLVMValueRef *x, LLVMValueRef *y);
LLVMValueRef l_iota(const lb *l, LLVMTypeRef ty, unsigned lanes); /* 0, 1, 2, ... */
LLVMValueRef l_lane(const lb *l, LLVMValueRef v, unsigned i);
LLVMValueRef l_any(const lb *l, LLVMValueRef mask);
/* Where both are on. What `on` says in lanes that the mask has off may be poison; a NULL mask has
 * all on. */
LLVMValueRef l_mask_and(const lb *l, LLVMValueRef mask, LLVMValueRef on);
/* The upper half of the lanes beside the lower half: half as many lanes each. */
LLVMValueRef l_half(const lb *l, LLVMValueRef v, bool upper);
/* Under a mask; lanes that are off load 0 and touch no memory. The vector of pointers for the
 * second two. */
LLVMValueRef l_masked_load(const lb *l, LLVMTypeRef wide, LLVMValueRef p, LLVMValueRef mask,
                           unsigned align);
LLVMValueRef l_masked_store(const lb *l, LLVMValueRef v, LLVMValueRef p, LLVMValueRef mask,
                            unsigned align);
LLVMValueRef l_gather(const lb *l, LLVMTypeRef wide, LLVMValueRef p, LLVMValueRef mask,
                      unsigned align);
LLVMValueRef l_scatter(const lb *l, LLVMValueRef v, LLVMValueRef p, LLVMValueRef mask,
                       unsigned align);

/* Constants. */
LLVMValueRef l_i64(const lb *l, int64_t v);
LLVMValueRef l_i32(const lb *l, int64_t v);
LLVMValueRef l_i1(const lb *l, bool v);
LLVMValueRef l_real(LLVMTypeRef ty, double v);
LLVMValueRef l_int_like(const lb *l, LLVMValueRef v, int64_t c); /* of v's type */

/* Instructions. */
LLVMValueRef l_bin(const lb *l, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef l_cast(const lb *l, LLVMOpcode op, LLVMValueRef x, LLVMTypeRef to);
LLVMValueRef l_icmp(const lb *l, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef l_fcmp(const lb *l, LLVMRealPredicate p, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef l_select(const lb *l, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef l_neg(const lb *l, LLVMValueRef x);
LLVMValueRef l_not(const lb *l, LLVMValueRef x);
LLVMValueRef l_add(const lb *l, LLVMValueRef x, LLVMValueRef y); /* i64 that cannot overflow */
LLVMValueRef l_mul(const lb *l, LLVMValueRef x, LLVMValueRef y); /* i64 that cannot overflow */
LLVMValueRef l_gep(const lb *l, LLVMTypeRef elem, LLVMValueRef p, LLVMValueRef index);
LLVMValueRef l_load(const lb *l, LLVMTypeRef ty, LLVMValueRef p, unsigned align);
LLVMValueRef l_store(const lb *l, LLVMValueRef v, LLVMValueRef p, unsigned align);
LLVMValueRef l_call(const lb *l, LLVMValueRef fn, LLVMValueRef *args, unsigned n);
/* An intrinsic overloaded on ty. */
LLVMValueRef l_intrinsic(const lb *l, const char *name, LLVMTypeRef ty, LLVMValueRef *args,
                         unsigned n);
LLVMValueRef l_intrinsic1(const lb *l, const char *name, LLVMValueRef x);
LLVMValueRef l_intrinsic2(const lb *l, const char *name, LLVMValueRef x, LLVMValueRef y);
/* A checked i64 operation (llvm.sadd.with.overflow.i64, ...): the result, and *bad |= whether it
 * wrapped. */
LLVMValueRef l_checked(const lb *l, const char *name, LLVMValueRef x, LLVMValueRef y,
                       LLVMValueRef *bad);
/* Floor division and its remainder; y must not be 0. */
LLVMValueRef l_floordiv(const lb *l, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef l_floormod(const lb *l, LLVMValueRef x, LLVMValueRef y);

/* The one place that relaxes floating point. For the updates of a running sum only: they may be
 * reordered and fused, so that a loop can keep one partial sum per lane. Never nnan, ninf or afn:
 * masks and running maxima are infinities. Never elsewhere: a score feeds both the row's maximum
 * and the exponent, and both must see the same rounded number. */
LLVMValueRef l_sum_flags(LLVMValueRef v);
/* The same for sums whose order the code at hand fixes: fused, not reordered. Sums in lanes have
 * their partial sums already, so l_sum_flags of a vector is this. */
LLVMValueRef l_fuse_flags(LLVMValueRef v);
/* As above for a max or min: only the sign of a zero is free. */
LLVMValueRef l_minmax_flags(LLVMValueRef v);

/* Functions and blocks. */
LLVMValueRef l_function(const lb *l, const char *name, LLVMTypeRef ret, const LLVMTypeRef *args,
                        unsigned n, LLVMLinkage linkage);
void l_attr(const lb *l, LLVMValueRef fn, unsigned where, const char *name);
void l_noalias(const lb *l, LLVMValueRef fn, unsigned arg, bool read_only, bool captured);
LLVMBasicBlockRef l_block(const lb *l, const char *name); /* new, in the current function */
LLVMBasicBlockRef l_here(const lb *l);
void l_at(const lb *l, LLVMBasicBlockRef bb);
void l_br(const lb *l, LLVMBasicBlockRef to);
void l_cond(const lb *l, LLVMValueRef c, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
LLVMValueRef l_alloca(const lb *l, LLVMTypeRef ty, const char *name); /* in the entry block */

/* The iterations of a loop: ceil((hi - lo) / step), at least 0. */
LLVMValueRef l_count(const lb *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step);

/* A counted loop: between the two calls the builder stands in the body. step > 0; `down` runs
 * through the same numbers backwards. */
typedef struct l_loop {
    LLVMBasicBlockRef head, exit;
    LLVMValueRef i, step;
    bool down;
} l_loop;
l_loop l_for(const lb *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step, bool down,
             const char *name);
void l_end_for(const lb *l, const l_loop *loop, bool vectorise);

/* `if (c) {` ... `}`: the builder stands in the conditional part between the calls. */
LLVMBasicBlockRef l_if(const lb *l, LLVMValueRef c);
void l_end_if(const lb *l, LLVMBasicBlockRef end);

/* Constant data. */
LLVMValueRef l_constant(const lb *l, LLVMValueRef init, const char *name); /* a private global */
LLVMValueRef l_string(const lb *l, const char *s);

/* What LLVM reports, as text on the arena; the LLVM object is disposed of. */
const char *l_error_text(arena *a, LLVMErrorRef e);
const char *l_message_text(arena *a, char *message);

#endif
