/* vecmath_exp.c: exp, exp2, expm1, tanh, sigmoid in f32.
 *
 * All reduce to e^x = 2^n e^r (or 2^n 2^r) with n whole and r small. Polynomials are minimax in the
 * sense of the result's relative error. Results below the smallest normal number are 0: denormals
 * would make everything that touches them a hundred times slower. */
#include <math.h>

#include "backend/vecmath.h"

#define LOG2_E 1.44269504088896340736
/* ln 2 in two parts; the first has 9 bits, so its product with n is exact. */
#define LN2_HI 0.693359375
#define LN2_LO -2.12194440e-4

#define EXP_OVERFLOW  0x1.62e42ep+6  /* above, e^x is larger than any f32 */
#define EXP_UNDERFLOW -0x1.5d589ep+6 /* below, e^x is less than 2^-126 */

/* (e^r - 1 - r) / r^2, |r| <= ln 2 / 2 */
static const double exp_poly[] = {0x1.fffffep-2, 0x1.5554aep-3, 0x1.555676p-5, 0x1.1228e6p-7,
                                  0x1.6bebdp-10};
/* (2^r - 1) / r, |r| <= 1/2 */
static const double exp2_poly[] = {0x1.62e43p-1,  0x1.ebfbep-3,   0x1.c6aeccp-5,
                                   0x1.3b29a8p-7, 0x1.5f497cp-10, 0x1.449152p-13};

/* e^x = 2^n (1 + q) */
typedef struct reduced {
    LLVMValueRef n, q;
} reduced;

static reduced reduce(lb *l, LLVMValueRef x)
{
    vm_nearest n = vm_round(l, x, LOG2_E);
    LLVMValueRef r = vm_fma(l, n.real, vm_const(x, -LN2_HI), x);
    r = vm_fma(l, n.real, vm_const(x, -LN2_LO), r);
    LLVMValueRef p = vm_poly(l, r, exp_poly, sizeof exp_poly / sizeof exp_poly[0]);
    return (reduced){n.i, vm_fma(l, l_bin(l, LLVMFMul, r, r), p, r)};
}

/* y * 2^n by adding to the exponent; both must be normal. */
static LLVMValueRef scale(lb *l, LLVMValueRef y, LLVMValueRef n)
{
    LLVMValueRef up = l_bin(l, LLVMShl, n, l_i32(l, 23));
    return vm_unbits(l, l_bin(l, LLVMAdd, vm_bits(l, y), up));
}

/* 0 below lo, inf above hi, NaN stays. */
static LLVMValueRef ends(lb *l, LLVMValueRef y, LLVMValueRef x, double lo, double hi)
{
    y = l_select(l, vm_cmp(l, LLVMRealOGT, x, hi), vm_const(x, INFINITY), y);
    y = l_select(l, vm_cmp(l, LLVMRealOLT, x, lo), vm_const(x, 0), y);
    return l_select(l, l_fcmp(l, LLVMRealUNO, x, x), x, y);
}

LLVMValueRef vm_exp(lb *l, LLVMValueRef *x)
{
    reduced e = reduce(l, x[0]);
    LLVMValueRef y = l_bin(l, LLVMFAdd, e.q, vm_const(e.q, 1));
    return ends(l, scale(l, y, e.n), x[0], EXP_UNDERFLOW, EXP_OVERFLOW);
}

LLVMValueRef vm_exp2(lb *l, LLVMValueRef *x)
{
    vm_nearest n = vm_round(l, x[0], 1);
    LLVMValueRef r = l_bin(l, LLVMFSub, x[0], n.real);
    LLVMValueRef p = vm_poly(l, r, exp2_poly, sizeof exp2_poly / sizeof exp2_poly[0]);
    LLVMValueRef y = vm_fma(l, r, p, vm_const(r, 1));
    return ends(l, scale(l, y, n.i), x[0], -126, 0x1.fffffep+6);
}

static LLVMValueRef power_of_two(lb *l, LLVMValueRef n, int bias)
{
    LLVMValueRef biased = l_bin(l, LLVMAdd, n, l_i32(l, bias));
    return vm_unbits(l, l_bin(l, LLVMShl, biased, l_i32(l, 23)));
}

LLVMValueRef vm_expm1(lb *l, LLVMValueRef *x)
{
    /* 2^n (1 + q) - 1 = 2 (2^(n-1) q + (2^(n-1) - 1/2)), which does not overflow at n = 128. For n
     * = 0 it is q, also where half of q could not be represented. */
    reduced e = reduce(l, x[0]);
    LLVMValueRef s = power_of_two(l, e.n, 126);
    LLVMValueRef y = vm_fma(l, s, e.q, l_bin(l, LLVMFSub, s, vm_const(s, 0.5)));
    y = l_bin(l, LLVMFAdd, y, y);
    y = l_select(l, l_icmp(l, LLVMIntEQ, e.n, l_i32(l, 0)), e.q, y);
    y = l_select(l, vm_cmp(l, LLVMRealOGT, x[0], EXP_OVERFLOW), vm_const(y, INFINITY), y);
    y = l_select(l, vm_cmp(l, LLVMRealOLT, x[0], -18), vm_const(y, -1), y);
    y = l_select(l, l_fcmp(l, LLVMRealUNO, x[0], x[0]), x[0], y);
    return vm_copysign(l, y, x[0]);
}

LLVMValueRef vm_tanh(lb *l, LLVMValueRef *x)
{
    /* With e = e^(2|x|) - 1 it is e / (e + 2): exact where e is tiny, and 1 where e + 2 rounds to
     * e. */
    LLVMValueRef a = vm_abs(l, x[0]);
    a = l_select(l, vm_cmp(l, LLVMRealOGT, a, 10), vm_const(a, 10), a);
    reduced e = reduce(l, l_bin(l, LLVMFAdd, a, a));
    LLVMValueRef s = power_of_two(l, e.n, 127);
    LLVMValueRef m = vm_fma(l, s, e.q, l_bin(l, LLVMFSub, s, vm_const(s, 1)));
    LLVMValueRef y = l_bin(l, LLVMFDiv, m, l_bin(l, LLVMFAdd, m, vm_const(m, 2)));
    return vm_copysign(l, y, x[0]);
}

LLVMValueRef vm_sigmoid(lb *l, LLVMValueRef *x)
{
    LLVMValueRef minus = l_neg(l, x[0]), one = vm_const(x[0], 1);
    LLVMValueRef y = l_bin(l, LLVMFDiv, one, l_bin(l, LLVMFAdd, one, vm_exp(l, &minus)));
    return l_select(l, vm_cmp(l, LLVMRealOLT, x[0], EXP_UNDERFLOW), vm_const(y, 0), y);
}
