/* vecmath.c: which function is built how, and the parts they share. */
#include "backend/vecmath.h"

#include <math.h>
#include <string.h>

/* f32: how it is built (the bound on its error in units of the last place is in the comment). f64:
 * the libm function, NULL where it is made of another. */
typedef struct row {
    const char *name;
    unsigned n;
    vecmath_fn *f32;
    const char *libm;
} row;

static const row rows[OP_COUNT] = {
    [OP_exp] = {"exp", 1, vm_exp, "exp"},            /* 2; below 2^-126 it is 0 */
    [OP_exp2] = {"exp2", 1, vm_exp2, "exp2"},        /* 2; below 2^-126 it is 0 */
    [OP_log] = {"log", 1, vm_log, "log"},            /* 2 */
    [OP_log1p] = {"log1p", 1, vm_log1p, "log1p"},    /* 2 */
    [OP_expm1] = {"expm1", 1, vm_expm1, "expm1"},    /* 2 */
    [OP_tanh] = {"tanh", 1, vm_tanh, "tanh"},        /* 3 */
    [OP_sigmoid] = {"sigmoid", 1, vm_sigmoid, NULL}, /* 3; below 2^-126 it is 0 */
    [OP_erf] = {"erf", 1, vm_erf, "erf"},            /* 2 */
    [OP_sin] = {"sin", 1, vm_sin, "sin"},            /* 2 */
    [OP_cos] = {"cos", 1, vm_cos, "cos"},            /* 2 */
    [OP_pow] = {"pow", 2, vm_pow, "pow"},            /* 1 */
};

const vecmath_extern vecmath_externs[] = {
    {"exp", exp, NULL},     {"exp2", exp2, NULL}, {"log", log, NULL}, {"log1p", log1p, NULL},
    {"expm1", expm1, NULL}, {"tanh", tanh, NULL}, {"erf", erf, NULL}, {"sin", sin, NULL},
    {"cos", cos, NULL},     {"pow", NULL, pow},
};
const size_t vecmath_n_externs = sizeof vecmath_externs / sizeof vecmath_externs[0];

/* ---- Functions in the module
 * --------------------------------------------------------------------- */

static LLVMValueRef declare_libm(lb *l, const char *name, unsigned n)
{
    LLVMValueRef known = LLVMGetNamedFunction(l->mod, name);
    if (known)
        return known;
    LLVMTypeRef args[] = {l->f64, l->f64};
    LLVMValueRef fn = LLVMAddFunction(l->mod, name, LLVMFunctionType(l->f64, args, n, 0));
    l_attr(l, fn, LLVMAttributeFunctionIndex, "nounwind");
    l_attr(l, fn, LLVMAttributeFunctionIndex, "willreturn");
    l_attr(l, fn, LLVMAttributeFunctionIndex,
           "memory"); /* value 0: none; nobody here reads errno */
    return fn;
}

static LLVMValueRef f32_function(lb *l, const row *r, unsigned lanes)
{
    const char *name = arena_printf(l->a, "attn.%s.f32x%u", r->name, lanes);
    LLVMValueRef known = LLVMGetNamedFunction(l->mod, name);
    if (known)
        return known;
    LLVMBasicBlockRef here = l_here(l);
    LLVMTypeRef ty = l_wide(l->f32, lanes), args[] = {ty, ty};
    LLVMValueRef fn = l_function(l, name, ty, args, r->n, LLVMInternalLinkage);
    l_attr(l, fn, LLVMAttributeFunctionIndex, "alwaysinline");
    LLVMValueRef x[] = {LLVMGetParam(fn, 0), r->n > 1 ? LLVMGetParam(fn, 1) : NULL};
    LLVMBuildRet(l->b, r->f32(l, x));
    l_at(l, here);
    return fn;
}

/* Lane by lane: libm knows one number at a time. */
static LLVMValueRef call_libm(lb *l, const row *r, LLVMValueRef *x)
{
    LLVMValueRef fn = declare_libm(l, r->libm, r->n), args[2];
    unsigned lanes = l_lanes(x[0]);
    if (lanes == 1)
        return l_call(l, fn, x, r->n);
    LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(x[0]));
    for (unsigned i = 0; i < lanes; i++) {
        for (unsigned j = 0; j < r->n; j++)
            args[j] = l_lane(l, x[j], i);
        all = LLVMBuildInsertElement(l->b, all, l_call(l, fn, args, r->n), l_i32(l, i), "");
    }
    return all;
}

LLVMValueRef vecmath(lb *l, op_id op, LLVMValueRef *x)
{
    const row *r = &rows[op];
    if (!r->name)
        ice("%s is no function of vecmath", op_table[op].text);
    if (r->n > 1)
        l_match(l, &x[0], &x[1]);
    bool wide = l_scalar_type(x[0]) == l->f64;
    if (op == OP_sigmoid && wide) { /* 1 / (1 + e^-x); e^-x = inf gives 0 */
        LLVMValueRef m = l_neg(l, x[0]), one = l_real(l->f64, 1);
        return l_bin(l, LLVMFDiv, one, l_bin(l, LLVMFAdd, one, vecmath(l, OP_exp, &m)));
    }
    return wide ? call_libm(l, r, x) : l_call(l, f32_function(l, r, l_lanes(x[0])), x, r->n);
}

/* Small whole powers are products, so that x^2 is exactly x * x; x^0.5 is a square root. */
LLVMValueRef vecmath_pow_const(lb *l, LLVMValueRef x, double y)
{
    LLVMTypeRef ty = LLVMTypeOf(x);
    LLVMValueRef args[] = {x, l_real(ty, y)};
    if (y == 0.5) { /* pow is +0 at -0 and inf at -inf, where sqrt is not */
        LLVMValueRef root = l_intrinsic1(l, "llvm.sqrt", l_bin(l, LLVMFAdd, x, l_real(ty, 0)));
        return l_select(l, vm_cmp(l, LLVMRealOEQ, x, -INFINITY), l_real(ty, INFINITY), root);
    }
    if (y == -1)
        return l_bin(l, LLVMFDiv, l_real(ty, 1), x);
    if (!(y >= 0 && y <= 8 && y == floor(y)))
        return vecmath(l, OP_pow, args);
    LLVMValueRef r = NULL, square = x;
    for (unsigned n = (unsigned)y; n > 0; n >>= 1) {
        if (n & 1)
            r = r ? l_bin(l, LLVMFMul, r, square) : square;
        if (n > 1)
            square = l_bin(l, LLVMFMul, square, square);
    }
    return r ? r : l_real(ty, 1);
}

/* ---- Parts
 * --------------------------------------------------------------------------------------- */

LLVMValueRef vm_fma(const lb *l, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    l_match(l, &x, &y);
    l_match(l, &x, &z);
    l_match(l, &x, &y);
    LLVMValueRef args[] = {x, y, z};
    return l_intrinsic(l, "llvm.fmuladd", LLVMTypeOf(x), args, 3);
}

LLVMValueRef vm_const(LLVMValueRef like, double v)
{
    return LLVMConstReal(LLVMTypeOf(like), v);
}

LLVMValueRef vm_poly(const lb *l, LLVMValueRef x, const double *c, unsigned n)
{
    LLVMValueRef r = vm_const(x, c[n - 1]);
    for (unsigned i = n - 1; i-- > 0;)
        r = vm_fma(l, r, x, vm_const(x, c[i]));
    return r;
}

LLVMValueRef vm_bits(const lb *l, LLVMValueRef x)
{
    return l_cast(l, LLVMBitCast, x, l_scalar_type(x) == l->f64 ? l->i64 : l->i32);
}

LLVMValueRef vm_unbits(const lb *l, LLVMValueRef x)
{
    return l_cast(l, LLVMBitCast, x, l_scalar_type(x) == l->i64 ? l->f64 : l->f32);
}

LLVMValueRef vm_abs(const lb *l, LLVMValueRef x)
{
    return l_intrinsic1(l, "llvm.fabs", x);
}

LLVMValueRef vm_copysign(const lb *l, LLVMValueRef magnitude, LLVMValueRef sign)
{
    return l_intrinsic2(l, "llvm.copysign", magnitude, sign);
}

LLVMValueRef vm_cmp(const lb *l, LLVMRealPredicate p, LLVMValueRef x, double c)
{
    return l_fcmp(l, p, x, vm_const(x, c));
}

/* Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum. It needs no instruction
 * that old machines lack, and rounds to nearest in the only rounding mode that code is called in.
 */
vm_nearest vm_round(const lb *l, LLVMValueRef x, double scale)
{
    LLVMValueRef magic = vm_const(x, l_scalar_type(x) == l->f64 ? 0x1.8p52 : 0x1.8p23);
    LLVMValueRef sum =
        scale == 1 ? l_bin(l, LLVMFAdd, x, magic) : vm_fma(l, x, vm_const(x, scale), magic);
    return (vm_nearest){l_bin(l, LLVMFSub, sum, magic),
                        l_bin(l, LLVMSub, vm_bits(l, sum), vm_bits(l, magic))};
}
