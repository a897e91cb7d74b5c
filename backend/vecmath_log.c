/* vecmath_log.c: log, log1p, erf in f32. */
#include <math.h>

#include "backend/vecmath.h"

#define LN2_HI         0.693359375
#define LN2_LO         -2.12194440e-4
#define SQRT_HALF_BITS 0x3f3504f3

/* (log(1 + f) - f + f^2 / 2) / f^3, sqrt(1/2) <= 1 + f < sqrt(2) */
static const double log_poly[] = {0x1.555554p-2, -0x1.000228p-2, 0x1.99a012p-3, -0x1.5471f6p-3,
                                  0x1.22d8fep-3, -0x1.0d8748p-3, 0x1.0564ep-3,  -0x1.38c2aep-4};

/* x = 2^k m with m from sqrt(1/2) to sqrt(2); x positive and normal. */
typedef struct parts {
    LLVMValueRef k, m;
} parts;

static parts split(lb *l, LLVMValueRef x)
{
    LLVMValueRef half = l_i32(l, SQRT_HALF_BITS);
    LLVMValueRef w = l_bin(l, LLVMSub, vm_bits(l, x), half);
    LLVMValueRef low = l_bin(l, LLVMAnd, w, l_i32(l, 0x7fffff));
    return (parts){l_bin(l, LLVMAShr, w, l_i32(l, 23)), vm_unbits(l, l_bin(l, LLVMAdd, low, half))};
}

/* k ln 2 + log(1 + f) + c, smallest terms first. */
static LLVMValueRef assemble(lb *l, LLVMValueRef k, LLVMValueRef f, LLVMValueRef c)
{
    LLVMValueRef z = l_bin(l, LLVMFMul, f, f);
    LLVMValueRef p = vm_poly(l, f, log_poly, sizeof log_poly / sizeof log_poly[0]);
    LLVMValueRef y = l_bin(l, LLVMFMul, l_bin(l, LLVMFMul, p, f), z);
    if (c)
        y = l_bin(l, LLVMFAdd, y, c);
    y = vm_fma(l, k, vm_const(f, LN2_LO), y);
    y = vm_fma(l, z, vm_const(f, -0.5), y);
    return vm_fma(l, k, vm_const(f, LN2_HI), l_bin(l, LLVMFAdd, f, y));
}

/* -inf at `pole`, NaN below; inf and NaN stay. */
static LLVMValueRef ends(lb *l, LLVMValueRef y, LLVMValueRef x, double pole)
{
    y = l_select(l, vm_cmp(l, LLVMRealOLT, x, INFINITY), y, x);
    LLVMValueRef end =
        l_select(l, vm_cmp(l, LLVMRealOEQ, x, pole), vm_const(x, -INFINITY), vm_const(x, NAN));
    return l_select(l, vm_cmp(l, LLVMRealOLE, x, pole), end, y);
}

LLVMValueRef vm_log(lb *l, LLVMValueRef *x)
{
    LLVMValueRef denormal = vm_cmp(l, LLVMRealOLT, x[0], 0x1p-126);
    LLVMValueRef up = l_bin(l, LLVMFMul, x[0], vm_const(x[0], 0x1p23));
    parts p = split(l, l_select(l, denormal, up, x[0]));
    LLVMValueRef k = l_cast(l, LLVMSIToFP, p.k, l->f32);
    k = l_bin(l, LLVMFSub, k, l_select(l, denormal, vm_const(k, 23), vm_const(k, 0)));
    LLVMValueRef f = l_bin(l, LLVMFSub, p.m, vm_const(p.m, 1));
    return ends(l, assemble(l, k, f, NULL), x[0], 0);
}

LLVMValueRef vm_log1p(lb *l, LLVMValueRef *x)
{
    /* log(u) with u = 1 + x rounded, plus what rounding lost, divided by u. Near 0 f is x itself.
     */
    LLVMValueRef one = vm_const(x[0], 1), zero = vm_const(x[0], 0);
    LLVMValueRef u = l_bin(l, LLVMFAdd, x[0], one);
    parts p = split(l, u);
    LLVMValueRef near = l_icmp(l, LLVMIntEQ, p.k, l_i32(l, 0));
    LLVMValueRef large = l_icmp(l, LLVMIntSGE, p.k, l_i32(l, 2));
    LLVMValueRef lost = l_select(l, large, l_bin(l, LLVMFSub, one, l_bin(l, LLVMFSub, u, x[0])),
                                 l_bin(l, LLVMFSub, x[0], l_bin(l, LLVMFSub, u, one)));
    LLVMValueRef c = l_select(l, near, zero, l_bin(l, LLVMFDiv, lost, u));
    LLVMValueRef f = l_select(l, near, x[0], l_bin(l, LLVMFSub, p.m, one));
    LLVMValueRef y = assemble(l, l_cast(l, LLVMSIToFP, p.k, l->f32), f, c);
    y = l_select(l, vm_cmp(l, LLVMRealOEQ, x[0], 0), x[0], y); /* the sign of 0 */
    return ends(l, y, x[0], -1);
}

/* ---- erf
 * ----------------------------------------------------------------------------------------- */

/* erf(x) / x - 1 in x^2, |x| <= 0.93 */
static const double erf_small[] = {0x1.06eba6p-3,  -0x1.8126dcp-2, 0x1.ce18fp-4,
                                   -0x1.b67604p-6, 0x1.46beaap-8,  -0x1.3819fap-11};
/* -log(1 - erf(x)) / x - 1, 0.9 <= x <= 3.95 */
static const double erf_large[] = {0x1.0772ep-3,  0x1.4538aep-1,   0x1.b2d3d2p-4, -0x1.84362ap-6,
                                   0x1.d936c6p-9, -0x1.4a26aap-12, 0x1.5e125cp-17};

LLVMValueRef vm_erf(lb *l, LLVMValueRef *x)
{
    LLVMValueRef a = vm_abs(l, x[0]);
    a = l_select(l, vm_cmp(l, LLVMRealOGT, a, 4), vm_const(a, 4), a); /* erf(4) rounds to 1 */
    LLVMValueRef z = l_bin(l, LLVMFMul, a, a);
    LLVMValueRef small = vm_poly(l, z, erf_small, sizeof erf_small / sizeof erf_small[0]);
    small = vm_fma(l, small, a, a);
    LLVMValueRef t = vm_poly(l, a, erf_large, sizeof erf_large / sizeof erf_large[0]);
    t = l_neg(l, vm_fma(l, t, a, a));
    LLVMValueRef large = l_bin(l, LLVMFSub, vm_const(a, 1), vm_exp(l, &t));
    LLVMValueRef y = l_select(l, vm_cmp(l, LLVMRealOGT, a, 0.921875), large, small);
    return vm_copysign(l, y, x[0]);
}
