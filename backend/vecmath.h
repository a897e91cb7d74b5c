/* vecmath.h: the functions of mathematics inside generated code.
 *
 * For f32 each is a function in LLVM IR without branches and calls: it is inlined where it is used,
 * and the loop around it becomes a loop over vectors. Bounds on the error are in the table of
 * vecmath.c and asserted by tests/unit/backend_math.c. For f64 they are calls of the C library's
 * libm. */
#ifndef ATTNC_BACKEND_VECMATH_H
#define ATTNC_BACKEND_VECMATH_H

#include "backend/l_build.h"

/* op(x[0], ...) of f32 or f64 values. */
LLVMValueRef vecmath(lb *l, op_id op, LLVMValueRef *x);
/* x to the power of a constant. */
LLVMValueRef vecmath_pow_const(lb *l, LLVMValueRef x, double y);

/* For the JIT: the libm functions that f64 code calls. */
typedef double vecmath_libm1(double);
typedef double vecmath_libm2(double, double);
typedef struct vecmath_extern {
    const char *name;
    vecmath_libm1 *f1; /* one of the two */
    vecmath_libm2 *f2;
} vecmath_extern;
extern const vecmath_extern vecmath_externs[];
extern const size_t vecmath_n_externs;

/* The f32 functions; each builds its value at the current place. */
typedef LLVMValueRef vecmath_fn(lb *l, LLVMValueRef *x);
vecmath_fn vm_exp, vm_exp2, vm_expm1, vm_tanh, vm_sigmoid; /* vecmath_exp.c */
vecmath_fn vm_log, vm_log1p, vm_erf;                       /* vecmath_log.c */
vecmath_fn vm_sin, vm_cos;                                 /* vecmath_trig.c */
vecmath_fn vm_pow;                                         /* vecmath_pow.c */

/* What they are made of. vm_fma is fused where the machine can and two roundings where it cannot:
 * nothing may depend on which. */
LLVMValueRef vm_fma(const lb *l, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
LLVMValueRef vm_poly(const lb *l, LLVMValueRef x, const double *c,
                     unsigned n); /* c[0] + c[1] x + ... */
LLVMValueRef vm_const(LLVMValueRef like, double v);
LLVMValueRef vm_bits(const lb *l, LLVMValueRef x);   /* f32 -> i32, f64 -> i64 */
LLVMValueRef vm_unbits(const lb *l, LLVMValueRef x); /* back */
LLVMValueRef vm_abs(const lb *l, LLVMValueRef x);
LLVMValueRef vm_copysign(const lb *l, LLVMValueRef magnitude, LLVMValueRef sign);
LLVMValueRef vm_cmp(const lb *l, LLVMRealPredicate p, LLVMValueRef x, double c);
/* x's nearest integer, as a real and as an int of x's width; |x| must be below 2^22 (f64: 2^51). */
typedef struct vm_nearest {
    LLVMValueRef real, i;
} vm_nearest;
vm_nearest vm_round(const lb *l, LLVMValueRef x, double scale); /* of x * scale */

#endif
