/* vecmath_trig.c: sin and cos in f32, for every argument.
 *
 * x = q pi/2 + r with |r| <= pi/4. Up to 2^23 this is done in f64 with pi/2 in two parts. Beyond, x
 * is a 24-bit integer times 2^e; the fraction of 2^e (2/pi)/4 is looked up to 96 bits, and the
 * product with the integer is taken modulo 1 in fixed point. Both are computed and one is chosen: a
 * loop has no branches. */
#include <math.h>

#include "backend/vecmath.h"

#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define PIO2_HI     0x1.921fb54p+0 /* 29 bits: products with q are exact */
#define PIO2_LO     0x1.10b4611a62633p-30
#define PIO2_FIXED  0x1.921fb54442d18p-62 /* pi/2 of the unit 2^-62 */
#define SMALL       0x1p23                /* from here on every f32 is an integer */

/* (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2 */
static const double sin_poly[] = {-0x1.555546p-3, 0x1.11073ap-7, -0x1.994370p-13};
static const double cos_poly[] = {0x1.55554ap-5, -0x1.6c0c32p-10, 0x1.99eb34p-16};

/* The first 256 bits of 2/pi. */
static const uint64_t two_over_pi[] = {0xA2F9836E4E441529u, 0xFC2757D1F534DDC0u,
                                       0xDB6295993C439041u, 0xFE5163ABDEBBC561u};
enum { MAX_E = 104 }; /* f32's largest numbers are 24-bit integers times 2^104 */

/* 32 bits of 2/pi from bit i on; bits before the first are 0. */
static uint64_t bits_at(int i)
{
    uint64_t r = 0;
    for (int j = i; j < i + 32; j++)
        r = r << 1 | (j < 0 ? 0 : two_over_pi[j / 64] >> (63 - j % 64) & 1);
    return r;
}

/* For e = 0 .. MAX_E the fraction of 2^e (2/pi)/4 in 96 bits: 64 and 32. */
static LLVMValueRef table(lb *l)
{
    static const char name[] = "attn.two_over_pi";
    LLVMValueRef known = LLVMGetNamedGlobal(l->mod, name);
    if (known)
        return known;
    LLVMValueRef words[2 * (MAX_E + 1)];
    for (int e = 0; e <= MAX_E; e++) {
        words[2 * e] = l_i64(l, (int64_t)(bits_at(e - 2) << 32 | bits_at(e + 30)));
        words[2 * e + 1] = l_i64(l, (int64_t)bits_at(e + 62));
    }
    return l_constant(l, LLVMConstArray2(l->i64, words, 2 * (MAX_E + 1)), name);
}

typedef struct angle {
    LLVMValueRef q, r; /* i64 (its last two bits count), f64 */
} angle;

static angle reduce_small(lb *l, LLVMValueRef x)
{
    vm_nearest n = vm_round(l, x, TWO_OVER_PI);
    LLVMValueRef r = vm_fma(l, n.real, vm_const(x, -PIO2_HI), x);
    return (angle){n.i, vm_fma(l, n.real, vm_const(x, -PIO2_LO), r)};
}

static angle reduce_large(lb *l, LLVMValueRef a)
{
    LLVMValueRef w = vm_bits(l, a);
    LLVMValueRef e = l_bin(l, LLVMSub, l_bin(l, LLVMLShr, w, l_i32(l, 23)), l_i32(l, 150));
    e = l_intrinsic2(l, "llvm.smax", e, l_i32(l, 0));
    e = l_intrinsic2(l, "llvm.smin", e, l_i32(l, MAX_E));
    LLVMValueRef m = l_bin(l, LLVMOr, l_bin(l, LLVMAnd, w, l_i32(l, 0x7fffff)), l_i32(l, 0x800000));
    m = l_cast(l, LLVMZExt, m, l->i64);
    LLVMValueRef at = l_bin(l, LLVMMul, l_cast(l, LLVMZExt, e, l->i64), l_i64(l, 2)), t = table(l);
    LLVMValueRef hi = l_load(l, l->i64, l_gep(l, l->i64, t, at), 8);
    LLVMValueRef lo = l_load(l, l->i64, l_gep(l, l->i64, t, l_add(l, at, l_i64(l, 1))), 8);
    lo = l_bin(l, LLVMLShr, l_bin(l, LLVMMul, m, lo), l_i64(l, 32));
    LLVMValueRef f = l_bin(l, LLVMAdd, l_bin(l, LLVMMul, m, hi), lo); /* turns, in 2^-64 */
    LLVMValueRef q =
        l_bin(l, LLVMLShr, l_bin(l, LLVMAdd, f, l_i64(l, (int64_t)1 << 61)), l_i64(l, 62));
    f = l_bin(l, LLVMSub, f, l_bin(l, LLVMShl, q, l_i64(l, 62)));
    LLVMValueRef r = l_cast(l, LLVMSIToFP, f, l->f64);
    return (angle){q, l_bin(l, LLVMFMul, r, l_real(l->f64, PIO2_FIXED))};
}

/* sin(|x| + turn pi/2) */
static LLVMValueRef circle(lb *l, LLVMValueRef a, int turn)
{
    angle s = reduce_small(l, l_cast(l, LLVMFPExt, a, l->f64));
    angle b = reduce_large(l, a);
    LLVMValueRef small = vm_cmp(l, LLVMRealOLE, a, SMALL);
    LLVMValueRef r = l_cast(l, LLVMFPTrunc, l_select(l, small, s.r, b.r), l->f32);
    LLVMValueRef q = l_cast(l, LLVMTrunc, l_select(l, small, s.q, b.q), l->i32);
    q = l_bin(l, LLVMAdd, q, l_i32(l, turn));

    LLVMValueRef z = l_bin(l, LLVMFMul, r, r);
    LLVMValueRef sine = l_bin(l, LLVMFMul, vm_poly(l, z, sin_poly, 3), z);
    sine = vm_fma(l, sine, r, r);
    LLVMValueRef cosine = l_bin(l, LLVMFMul, vm_poly(l, z, cos_poly, 3), z);
    cosine = vm_fma(l, l_bin(l, LLVMFAdd, cosine, vm_const(z, -0.5)), z, vm_const(z, 1));

    LLVMValueRef odd = l_bin(l, LLVMAnd, q, l_i32(l, 1));
    LLVMValueRef y = l_select(l, l_icmp(l, LLVMIntNE, odd, l_i32(l, 0)), cosine, sine);
    LLVMValueRef sign = l_bin(l, LLVMShl, l_bin(l, LLVMAnd, q, l_i32(l, 2)), l_i32(l, 30));
    y = vm_unbits(l, l_bin(l, LLVMXor, vm_bits(l, y), sign));
    return l_select(l, vm_cmp(l, LLVMRealOLT, a, INFINITY), y, vm_const(a, NAN));
}

LLVMValueRef vm_sin(lb *l, LLVMValueRef *x)
{
    LLVMValueRef y = circle(l, vm_abs(l, x[0]), 0);
    LLVMValueRef sign = l_bin(l, LLVMAnd, vm_bits(l, x[0]), l_i32(l, INT64_C(1) << 31));
    return vm_unbits(l, l_bin(l, LLVMXor, vm_bits(l, y), sign));
}

LLVMValueRef vm_cos(lb *l, LLVMValueRef *x)
{
    return circle(l, vm_abs(l, x[0]), 1);
}
