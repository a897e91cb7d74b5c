/* vecmath_pow.c: pow in f32: 2^(y log2 |x|), computed in f64, where log2 is known to 40 bits; then
 * the cases of the C standard's annex F. */
#include <math.h>

#include "backend/vecmath.h"

#define SQRT_HALF_BITS INT64_C(0x3fe6a09e667f3bcd)

/* log2((1 + s) / (1 - s)) / s in s^2, |s| <= 0.1717 */
static const double log2_poly[] = {2.885390081777927,  0.9617966939242883,  0.5770780172629278,
                                   0.4121983996979248, 0.32061654273525403, 0.2614395038756647,
                                   0.24297104801443287};
/* (2^r - 1) / r, |r| <= 1/2 */
static const double exp2_poly[] = {
    0.6931471805459297,    0.24022650695548414,    0.055504109415963655,   0.009618129220809124,
    0.0013333450045619154, 0.00015403414526350475, 1.5310239793432758e-05, 1.3263695131479353e-06};

static LLVMValueRef log2_wide(lb *l, LLVMValueRef x)
{
    LLVMValueRef half = l_i64(l, SQRT_HALF_BITS), one = l_real(l->f64, 1);
    LLVMValueRef w = l_bin(l, LLVMSub, vm_bits(l, x), half);
    LLVMValueRef k = l_bin(l, LLVMAShr, w, l_i64(l, 52));
    LLVMValueRef low = l_bin(l, LLVMAnd, w, l_i64(l, (INT64_C(1) << 52) - 1));
    LLVMValueRef m = vm_unbits(l, l_bin(l, LLVMAdd, low, half));
    LLVMValueRef s = l_bin(l, LLVMFDiv, l_bin(l, LLVMFSub, m, one), l_bin(l, LLVMFAdd, m, one));
    LLVMValueRef p =
        vm_poly(l, l_bin(l, LLVMFMul, s, s), log2_poly, sizeof log2_poly / sizeof log2_poly[0]);
    /* The exponent fits 32 bits, whose conversion every vector unit has. */
    LLVMValueRef whole = l_cast(l, LLVMSIToFP, l_cast(l, LLVMTrunc, k, l->i32), l->f64);
    return vm_fma(l, s, p, whole);
}

static LLVMValueRef exp2_wide(lb *l, LLVMValueRef t)
{
    /* Beyond +-200 the result is inf or 0 as an f32. */
    t = l_select(l, vm_cmp(l, LLVMRealOGT, t, 200), vm_const(t, 200), t);
    t = l_select(l, vm_cmp(l, LLVMRealOLT, t, -200), vm_const(t, -200), t);
    vm_nearest n = vm_round(l, t, 1);
    LLVMValueRef r = l_bin(l, LLVMFSub, t, n.real);
    LLVMValueRef p = vm_poly(l, r, exp2_poly, sizeof exp2_poly / sizeof exp2_poly[0]);
    LLVMValueRef y = vm_fma(l, r, p, vm_const(r, 1));
    LLVMValueRef up = l_bin(l, LLVMShl, n.i, l_i64(l, 52));
    return vm_unbits(l, l_bin(l, LLVMAdd, vm_bits(l, y), up));
}

LLVMValueRef vm_pow(lb *l, LLVMValueRef *x)
{
    LLVMValueRef a = vm_abs(l, x[0]), y = x[1], zero = vm_const(y, 0), one = vm_const(y, 1);
    LLVMValueRef inf = vm_const(y, INFINITY), nan = vm_const(y, NAN);
    LLVMValueRef t = l_bin(l, LLVMFMul, log2_wide(l, l_cast(l, LLVMFPExt, a, l->f64)),
                           l_cast(l, LLVMFPExt, y, l->f64));
    LLVMValueRef r = l_cast(l, LLVMFPTrunc, exp2_wide(l, t), l->f32);

    LLVMValueRef down = vm_cmp(l, LLVMRealOLT, y, 0);
    r = l_select(l, vm_cmp(l, LLVMRealOEQ, a, 0), l_select(l, down, inf, zero), r);
    LLVMValueRef infinite = vm_cmp(l, LLVMRealOEQ, a, INFINITY);
    r = l_select(l, infinite, l_select(l, down, zero, inf), r);
    r = l_select(l, vm_cmp(l, LLVMRealOEQ, a, 1), one, r); /* also where y is infinite */

    /* Whether y is whole, and odd. From 2^24 on every f32 is whole and even. */
    LLVMValueRef size = vm_abs(l, y);
    size = l_select(l, vm_cmp(l, LLVMRealOLT, size, 0x1p24), size, vm_const(y, 0x1p24));
    LLVMValueRef i = l_cast(l, LLVMFPToSI, size, l->i32);
    LLVMValueRef whole = l_fcmp(l, LLVMRealOEQ, l_cast(l, LLVMSIToFP, i, l->f32), size);
    LLVMValueRef odd = l_bin(l, LLVMAnd, whole, l_cast(l, LLVMTrunc, i, l->i1));
    LLVMValueRef sign = l_bin(l, LLVMAnd, vm_bits(l, x[0]), l_i32(l, INT64_C(1) << 31));
    sign = l_select(l, odd, sign, l_i32(l, 0));
    r = vm_unbits(l, l_bin(l, LLVMOr, vm_bits(l, r), sign));

    LLVMValueRef negative = l_bin(l, LLVMAnd, vm_cmp(l, LLVMRealOLT, x[0], 0), l_not(l, infinite));
    r = l_select(l, l_bin(l, LLVMAnd, negative, l_not(l, whole)), nan, r);
    r = l_select(l, l_fcmp(l, LLVMRealUNO, x[0], y), nan, r);
    LLVMValueRef unit =
        l_bin(l, LLVMOr, vm_cmp(l, LLVMRealOEQ, x[0], 1), vm_cmp(l, LLVMRealOEQ, y, 0));
    return l_select(l, unit, one, r);
}
