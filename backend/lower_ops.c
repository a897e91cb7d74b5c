/* lower_ops.c: the elementwise rows of ops.def on LLVM scalars and vectors (l_build.h matches the
 * operands). A new row there is a function and a line of the table here. */
#include <math.h>

#include "backend/lower.h"
#include "backend/vecmath.h"

typedef LLVMValueRef lower_fn(low *c, LLVMValueRef *x, const kexpr *e);

static dtype operand_type(const kexpr *e)
{
    return e->args[0]->dt;
}

static bool is_real(dtype dt)
{
    return dt == DT_F32 || dt == DT_F64;
}

/* ---- Arithmetic; ints wrap
 * ----------------------------------------------------------------------- */

static LLVMValueRef lower_neg(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_neg(c->l, x[0]);
}

static LLVMValueRef lower_add(low *c, LLVMValueRef *x, const kexpr *e)
{
    return l_bin(c->l, is_real(e->dt) ? LLVMFAdd : LLVMAdd, x[0], x[1]);
}

static LLVMValueRef lower_sub(low *c, LLVMValueRef *x, const kexpr *e)
{
    return l_bin(c->l, is_real(e->dt) ? LLVMFSub : LLVMSub, x[0], x[1]);
}

static LLVMValueRef lower_mul(low *c, LLVMValueRef *x, const kexpr *e)
{
    return l_bin(c->l, is_real(e->dt) ? LLVMFMul : LLVMMul, x[0], x[1]);
}

static LLVMValueRef lower_div(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_bin(c->l, LLVMFDiv, x[0], x[1]);
}

static LLVMValueRef lower_abs(low *c, LLVMValueRef *x, const kexpr *e)
{
    lb *l = c->l;
    if (is_real(e->dt))
        return vm_abs(l, x[0]);
    return l_select(l, l_icmp(l, LLVMIntSLT, x[0], l_i64(l, 0)), l_neg(l, x[0]), x[0]);
}

static LLVMValueRef lower_sign(low *c, LLVMValueRef *x, const kexpr *e)
{
    lb *l = c->l;
    if (is_real(e->dt)) {
        LLVMValueRef up = vm_cmp(l, LLVMRealOGT, x[0], 0), down = vm_cmp(l, LLVMRealOLT, x[0], 0);
        return l_select(l, up, vm_const(x[0], 1), l_select(l, down, vm_const(x[0], -1), x[0]));
    }
    LLVMValueRef up = l_icmp(l, LLVMIntSGT, x[0], l_i64(l, 0));
    return l_bin(l, LLVMSub, l_cast(l, LLVMZExt, up, l->i64),
                 l_bin(l, LLVMLShr, x[0], l_i64(l, 63)));
}

static LLVMValueRef lower_max(low *c, LLVMValueRef *x, const kexpr *e)
{
    return is_real(e->dt) ? l_minmax_flags(l_intrinsic2(c->l, "llvm.maximum", x[0], x[1]))
                          : l_intrinsic2(c->l, "llvm.smax", x[0], x[1]);
}

static LLVMValueRef lower_min(low *c, LLVMValueRef *x, const kexpr *e)
{
    return is_real(e->dt) ? l_minmax_flags(l_intrinsic2(c->l, "llvm.minimum", x[0], x[1]))
                          : l_intrinsic2(c->l, "llvm.smin", x[0], x[1]);
}

static LLVMValueRef lower_sqrt(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_intrinsic1(c->l, "llvm.sqrt", x[0]);
}

static LLVMValueRef lower_weigh(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    LLVMValueRef none = vm_cmp(c->l, LLVMRealOEQ, x[0], 0);
    return l_select(c->l, none, vm_const(x[0], 0), l_bin(c->l, LLVMFMul, x[0], x[1]));
}

/* ---- Functions
 * ----------------------------------------------------------------------------------- */

static LLVMValueRef lower_function(low *c, LLVMValueRef *x, const kexpr *e)
{
    return vecmath(c->l, e->op, x);
}

static LLVMValueRef lower_pow(low *c, LLVMValueRef *x, const kexpr *e)
{
    const kexpr *y = e->args[1];
    if (y->kind == KX_CONST && is_real(y->dt))
        return vecmath_pow_const(c->l, x[0], y->f);
    if (y->kind == KX_OP && y->op == OP_real && y->args[0]->kind == KX_CONST)
        return vecmath_pow_const(c->l, x[0], (double)y->args[0]->i);
    return vecmath(c->l, OP_pow, x);
}

/* ---- Between ints and reals
 * ---------------------------------------------------------------------- */

/* x towards zero, and what that left over, exactly. The schedule promises that the result fits. */
static LLVMValueRef truncated(low *c, LLVMValueRef x, LLVMValueRef *rest)
{
    lb *l = c->l;
    LLVMValueRef i = l_cast(l, LLVMFPToSI, x, l->i64);
    *rest = l_bin(l, LLVMFSub, x, l_cast(l, LLVMSIToFP, i, l_scalar_type(x)));
    return i;
}

static LLVMValueRef lower_floor(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    lb *l = c->l;
    LLVMValueRef rest, i = truncated(c, x[0], &rest);
    LLVMValueRef below = vm_cmp(l, LLVMRealOLT, rest, 0);
    return l_bin(l, LLVMSub, i, l_cast(l, LLVMZExt, below, l->i64));
}

static LLVMValueRef lower_ceil(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    lb *l = c->l;
    LLVMValueRef rest, i = truncated(c, x[0], &rest);
    LLVMValueRef above = vm_cmp(l, LLVMRealOGT, rest, 0);
    return l_bin(l, LLVMAdd, i, l_cast(l, LLVMZExt, above, l->i64));
}

static LLVMValueRef lower_round(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    lb *l = c->l;
    LLVMValueRef rest, i = truncated(c, x[0], &rest);
    LLVMValueRef odd = l_cast(l, LLVMTrunc, i, l->i1);
    LLVMValueRef up = l_bin(l, LLVMOr, vm_cmp(l, LLVMRealOGT, rest, 0.5),
                            l_bin(l, LLVMAnd, vm_cmp(l, LLVMRealOEQ, rest, 0.5), odd));
    LLVMValueRef down = l_bin(l, LLVMOr, vm_cmp(l, LLVMRealOLT, rest, -0.5),
                              l_bin(l, LLVMAnd, vm_cmp(l, LLVMRealOEQ, rest, -0.5), odd));
    i = l_bin(l, LLVMAdd, i, l_cast(l, LLVMZExt, up, l->i64));
    return l_bin(l, LLVMSub, i, l_cast(l, LLVMZExt, down, l->i64));
}

static LLVMValueRef lower_real(low *c, LLVMValueRef *x, const kexpr *e)
{
    return l_cast(c->l, LLVMSIToFP, x[0], l_type(c->l, e->dt));
}

/* ---- Ints
 * ---------------------------------------------------------------------------------------- */

static LLVMValueRef lower_idiv(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_floordiv(c->l, x[0], x[1]);
}

static LLVMValueRef lower_imod(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_floormod(c->l, x[0], x[1]);
}

static LLVMValueRef lower_bitand(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_bin(c->l, LLVMAnd, x[0], x[1]);
}

/* ---- Comparisons and logic
 * ----------------------------------------------------------------------- */

static LLVMValueRef compare(low *c, LLVMValueRef *x, const kexpr *e, LLVMRealPredicate real,
                            LLVMIntPredicate whole)
{
    return is_real(operand_type(e)) ? l_fcmp(c->l, real, x[0], x[1])
                                    : l_icmp(c->l, whole, x[0], x[1]);
}

static LLVMValueRef lower_eq(low *c, LLVMValueRef *x, const kexpr *e)
{
    return compare(c, x, e, LLVMRealOEQ, LLVMIntEQ);
}

static LLVMValueRef lower_ne(low *c, LLVMValueRef *x, const kexpr *e)
{
    return compare(c, x, e, LLVMRealUNE, LLVMIntNE);
}

/* Of bools false is the smaller; as i1 it is so unsigned. */
static LLVMValueRef lower_lt(low *c, LLVMValueRef *x, const kexpr *e)
{
    return compare(c, x, e, LLVMRealOLT, operand_type(e) == DT_BOOL ? LLVMIntULT : LLVMIntSLT);
}

static LLVMValueRef lower_le(low *c, LLVMValueRef *x, const kexpr *e)
{
    return compare(c, x, e, LLVMRealOLE, operand_type(e) == DT_BOOL ? LLVMIntULE : LLVMIntSLE);
}

static LLVMValueRef lower_and(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_bin(c->l, LLVMAnd, x[0], x[1]);
}

static LLVMValueRef lower_or(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_bin(c->l, LLVMOr, x[0], x[1]);
}

static LLVMValueRef lower_not(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_not(c->l, x[0]);
}

static LLVMValueRef lower_select(low *c, LLVMValueRef *x, const kexpr *e)
{
    (void)e;
    return l_select(c->l, x[0], x[1], x[2]);
}

/* ---- The table
 * ----------------------------------------------------------------------------------- */

static lower_fn *const lower_table[OP_COUNT] = {
    [OP_neg] = lower_neg,        [OP_add] = lower_add,       [OP_sub] = lower_sub,
    [OP_mul] = lower_mul,        [OP_abs] = lower_abs,       [OP_sign] = lower_sign,
    [OP_max] = lower_max,        [OP_min] = lower_min,       [OP_div] = lower_div,
    [OP_pow] = lower_pow,        [OP_sqrt] = lower_sqrt,     [OP_exp] = lower_function,
    [OP_exp2] = lower_function,  [OP_log] = lower_function,  [OP_log1p] = lower_function,
    [OP_expm1] = lower_function, [OP_tanh] = lower_function, [OP_sigmoid] = lower_function,
    [OP_erf] = lower_function,   [OP_sin] = lower_function,  [OP_cos] = lower_function,
    [OP_floor] = lower_floor,    [OP_ceil] = lower_ceil,     [OP_round] = lower_round,
    [OP_real] = lower_real,      [OP_idiv] = lower_idiv,     [OP_imod] = lower_imod,
    [OP_bitand] = lower_bitand,  [OP_eq] = lower_eq,         [OP_ne] = lower_ne,
    [OP_lt] = lower_lt,          [OP_le] = lower_le,         [OP_and] = lower_and,
    [OP_or] = lower_or,          [OP_not] = lower_not,       [OP_select] = lower_select,
    [OP_weigh] = lower_weigh,
};

LLVMValueRef low_op(low *c, op_id op, LLVMValueRef *x, const kexpr *e)
{
    if (!lower_table[op])
        ice("kernel @%s: %s is no scalar operation", c->k->name, op_table[op].text);
    return lower_table[op](c, x, e);
}

LLVMValueRef low_overflows(low *c, op_id op, LLVMValueRef *x)
{
    static const char *const checked[OP_COUNT] = {[OP_add] = "llvm.sadd.with.overflow",
                                                  [OP_sub] = "llvm.ssub.with.overflow",
                                                  [OP_mul] = "llvm.smul.with.overflow"};
    lb *l = c->l;
    if (op == OP_neg || op == OP_abs)
        return l_icmp(l, LLVMIntEQ, x[0], l_i64(l, INT64_MIN));
    if (!checked[op])
        ice("kernel @%s: %s cannot overflow", c->k->name, op_table[op].text);
    LLVMValueRef bad = l_i1(l, false);
    l_checked(l, checked[op], x[0], x[1], &bad);
    return bad;
}
