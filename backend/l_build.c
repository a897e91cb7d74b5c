/* l_build.c: short names for building LLVM IR. */
#include "backend/l_build.h"

#include <string.h>

void lb_init(lb *l, arena *a, LLVMContextRef cx, LLVMModuleRef mod, LLVMBuilderRef b,
             const target *t)
{
    *l = (lb){
        .a = a,
        .cx = cx,
        .mod = mod,
        .b = b,
        .target = t,
        .none = LLVMVoidTypeInContext(cx),
        .i1 = LLVMInt1TypeInContext(cx),
        .i8 = LLVMInt8TypeInContext(cx),
        .i16 = LLVMInt16TypeInContext(cx),
        .i32 = LLVMInt32TypeInContext(cx),
        .i64 = LLVMInt64TypeInContext(cx),
        .f32 = LLVMFloatTypeInContext(cx),
        .f64 = LLVMDoubleTypeInContext(cx),
        .ptr = LLVMPointerTypeInContext(cx, 0),
    };
}

LLVMTypeRef l_type(const lb *l, dtype dt)
{
    switch (dt) {
    case DT_F32:
        return l->f32;
    case DT_F64:
        return l->f64;
    case DT_I64:
        return l->i64;
    case DT_BOOL:
        return l->i1;
    case DT_NONE:
        break;
    }
    ice("a value without a type");
}

/* ---- Constants
 * ----------------------------------------------------------------------------------- */

LLVMValueRef l_i64(const lb *l, int64_t v)
{
    return LLVMConstInt(l->i64, (uint64_t)v, 1);
}

LLVMValueRef l_i32(const lb *l, int64_t v)
{
    return LLVMConstInt(l->i32, (uint64_t)v & UINT32_MAX, 0);
}

LLVMValueRef l_i1(const lb *l, bool v)
{
    return LLVMConstInt(l->i1, v, 0);
}

LLVMValueRef l_real(LLVMTypeRef ty, double v)
{
    return LLVMConstReal(ty, v);
}

LLVMValueRef l_int_like(const lb *l, LLVMValueRef v, int64_t c)
{
    LLVMTypeRef ty = l_scalar_type(v);
    unsigned bits = LLVMGetIntTypeWidth(ty);
    uint64_t u = (uint64_t)c;
    LLVMValueRef one = LLVMConstInt(ty, bits < 64 ? u & ((UINT64_C(1) << bits) - 1) : u, 0);
    return l_spread(l, one, l_lanes(v));
}

/* ---- Instructions
 * -------------------------------------------------------------------------------- */

LLVMValueRef l_bin(const lb *l, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    return LLVMBuildBinOp(l->b, op, x, y, "");
}

LLVMValueRef l_cast(const lb *l, LLVMOpcode op, LLVMValueRef x, LLVMTypeRef to)
{
    return LLVMBuildCast(l->b, op, x, l_wide(to, l_lanes(x)), "");
}

LLVMValueRef l_icmp(const lb *l, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    return LLVMBuildICmp(l->b, p, x, y, "");
}

LLVMValueRef l_fcmp(const lb *l, LLVMRealPredicate p, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    return LLVMBuildFCmp(l->b, p, x, y, "");
}

LLVMValueRef l_select(const lb *l, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    if (l_lanes(c) > l_lanes(x)) {
        x = l_spread(l, x, l_lanes(c));
        y = l_spread(l, y, l_lanes(c));
    }
    return LLVMBuildSelect(l->b, c, x, y, "");
}

LLVMValueRef l_neg(const lb *l, LLVMValueRef x)
{
    return LLVMGetTypeKind(l_scalar_type(x)) == LLVMIntegerTypeKind ? LLVMBuildNeg(l->b, x, "")
                                                                    : LLVMBuildFNeg(l->b, x, "");
}

LLVMValueRef l_not(const lb *l, LLVMValueRef x)
{
    return LLVMBuildNot(l->b, x, "");
}

LLVMValueRef l_add(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    return LLVMBuildNSWAdd(l->b, x, y, "");
}

LLVMValueRef l_mul(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    return LLVMBuildNSWMul(l->b, x, y, "");
}

LLVMValueRef l_gep(const lb *l, LLVMTypeRef elem, LLVMValueRef p, LLVMValueRef index)
{
    return LLVMBuildInBoundsGEP2(l->b, elem, p, &index, 1, "");
}

LLVMValueRef l_load(const lb *l, LLVMTypeRef ty, LLVMValueRef p, unsigned align)
{
    if (l_lanes(p) > 1)
        return l_gather(l, l_wide(ty, l_lanes(p)), p, NULL, align);
    LLVMValueRef v = LLVMBuildLoad2(l->b, ty, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

LLVMValueRef l_store(const lb *l, LLVMValueRef v, LLVMValueRef p, unsigned align)
{
    LLVMValueRef s = LLVMBuildStore(l->b, v, p);
    LLVMSetAlignment(s, align);
    return s;
}

LLVMValueRef l_call(const lb *l, LLVMValueRef fn, LLVMValueRef *args, unsigned n)
{
    return LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

LLVMValueRef l_intrinsic(const lb *l, const char *name, LLVMTypeRef ty, LLVMValueRef *args,
                         unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (id == 0)
        ice("LLVM has no intrinsic %s", name);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(l->mod, id, &ty, 1);
    return LLVMBuildCall2(l->b, LLVMIntrinsicGetType(l->cx, id, &ty, 1), fn, args, n, "");
}

LLVMValueRef l_intrinsic1(const lb *l, const char *name, LLVMValueRef x)
{
    return l_intrinsic(l, name, LLVMTypeOf(x), &x, 1);
}

LLVMValueRef l_intrinsic2(const lb *l, const char *name, LLVMValueRef x, LLVMValueRef y)
{
    l_match(l, &x, &y);
    LLVMValueRef args[] = {x, y};
    return l_intrinsic(l, name, LLVMTypeOf(x), args, 2);
}

LLVMValueRef l_checked(const lb *l, const char *name, LLVMValueRef x, LLVMValueRef y,
                       LLVMValueRef *bad)
{
    LLVMValueRef r = l_intrinsic2(l, name, x, y);
    *bad = l_bin(l, LLVMOr, *bad, LLVMBuildExtractValue(l->b, r, 1, ""));
    return LLVMBuildExtractValue(l->b, r, 0, "");
}

/* The constant a power of two, for which the hardware's shifts and masks round down already. */
static bool power_of_two(LLVMValueRef y, int64_t *c, unsigned *log)
{
    if (!LLVMIsAConstantInt(y))
        return false;
    *c = LLVMConstIntGetSExtValue(y);
    if (*c <= 0 || (*c & (*c - 1)) != 0)
        return false;
    *log = 0;
    while (*c >> *log != 1)
        ++*log;
    return true;
}

/* Whether the truncated quotient must go down by one: there is a remainder and its sign is not y's.
 */
static LLVMValueRef rounded_up(const lb *l, LLVMValueRef rem, LLVMValueRef y)
{
    LLVMValueRef zero = l_i64(l, 0);
    return l_bin(l, LLVMAnd, l_icmp(l, LLVMIntNE, rem, zero),
                 l_icmp(l, LLVMIntSLT, l_bin(l, LLVMXor, rem, y), zero));
}

static LLVMValueRef floordiv_here(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef q = l_bin(l, LLVMSDiv, x, y);
    LLVMValueRef up = rounded_up(l, l_bin(l, LLVMSRem, x, y), y);
    return l_bin(l, LLVMSub, q, l_cast(l, LLVMZExt, up, l->i64));
}

static LLVMValueRef floormod_here(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef r = l_bin(l, LLVMSRem, x, y);
    return l_select(l, rounded_up(l, r, y), l_bin(l, LLVMAdd, r, y), r);
}

/* Division by a variable is a call of a function that is defined for every divisor. A bare division
 * may not be hoisted (the divisor could be 0), so that LLVM sinks it behind a condition; LLVM 19's
 * loop vectoriser then takes the quotient of lane 0 for all lanes, also where lane 0 is masked off.
 */
static LLVMValueRef divide(const lb *l, const char *name, LLVMValueRef x, LLVMValueRef y,
                           LLVMValueRef here(const lb *, LLVMValueRef, LLVMValueRef))
{
    LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name);
    if (!fn) {
        LLVMBasicBlockRef back = l_here(l);
        LLVMTypeRef args[] = {l->i64, l->i64};
        fn = l_function(l, name, l->i64, args, 2, LLVMInternalLinkage);
        static const char *const is[] = {"noinline", "nosync", "nofree", "speculatable", "memory"};
        for (size_t i = 0; i < sizeof is / sizeof is[0]; i++)
            l_attr(l, fn, LLVMAttributeFunctionIndex, is[i]);
        LLVMValueRef px = LLVMGetParam(fn, 0), py = LLVMGetParam(fn, 1);
        /* 0 and -1 apart: x / 0 is 0 here, x / -1 is -x */
        LLVMValueRef zero = l_i64(l, 0), one = l_i64(l, 1);
        LLVMValueRef minus = l_icmp(l, LLVMIntEQ, py, l_i64(l, -1));
        LLVMValueRef odd = l_bin(l, LLVMOr, minus, l_icmp(l, LLVMIntEQ, py, zero));
        LLVMValueRef r = here(l, px, l_select(l, odd, one, py));
        LLVMValueRef neg = l_bin(l, LLVMSub, zero, px);
        bool quotient = here == floordiv_here;
        LLVMValueRef special = quotient ? l_select(l, minus, neg, zero) : zero;
        LLVMBuildRet(l->b, l_select(l, odd, special, r));
        l_at(l, back);
    }
    LLVMValueRef args[] = {x, y};
    return l_call(l, fn, args, 2);
}

/* In lanes nothing is hoisted or sunk: divisors that would trap are replaced where they stand. */
static LLVMValueRef divide_lanes(const lb *l, LLVMValueRef x, LLVMValueRef y, bool quotient)
{
    l_match(l, &x, &y);
    LLVMValueRef minus = l_icmp(l, LLVMIntEQ, y, l_i64(l, -1));
    LLVMValueRef odd = l_bin(l, LLVMOr, minus, l_icmp(l, LLVMIntEQ, y, l_i64(l, 0)));
    LLVMValueRef fit = l_select(l, odd, l_i64(l, 1), y);
    LLVMValueRef r = quotient ? floordiv_here(l, x, fit) : floormod_here(l, x, fit);
    LLVMValueRef special = l_i64(l, 0);
    if (quotient)
        special = l_select(l, minus, l_neg(l, x), special);
    return l_select(l, odd, special, r);
}

static bool safe_divisor(LLVMValueRef y)
{
    return LLVMIsAConstantInt(y) && LLVMConstIntGetSExtValue(y) > 0;
}

LLVMValueRef l_floordiv(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    int64_t c;
    unsigned log;
    if (power_of_two(y, &c, &log))
        return l_bin(l, LLVMAShr, x, l_i64(l, log));
    if (safe_divisor(y))
        return floordiv_here(l, x, y);
    if (l_lanes(x) > 1 || l_lanes(y) > 1)
        return divide_lanes(l, x, y, true);
    return divide(l, "attn.floordiv", x, y, floordiv_here);
}

LLVMValueRef l_floormod(const lb *l, LLVMValueRef x, LLVMValueRef y)
{
    int64_t c;
    unsigned log;
    if (power_of_two(y, &c, &log))
        return l_bin(l, LLVMAnd, x, l_i64(l, c - 1));
    if (safe_divisor(y))
        return floormod_here(l, x, y);
    if (l_lanes(x) > 1 || l_lanes(y) > 1)
        return divide_lanes(l, x, y, false);
    return divide(l, "attn.floormod", x, y, floormod_here);
}

static LLVMValueRef with_flags(LLVMValueRef v, LLVMFastMathFlags flags)
{
    if (LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, flags);
    return v;
}

LLVMValueRef l_fuse_flags(LLVMValueRef v)
{
    return with_flags(v, LLVMFastMathAllowContract | LLVMFastMathNoSignedZeros);
}

LLVMValueRef l_sum_flags(LLVMValueRef v)
{
    if (l_lanes(v) > 1)
        return l_fuse_flags(v);
    return with_flags(v, LLVMFastMathAllowReassoc | LLVMFastMathAllowContract |
                             LLVMFastMathNoSignedZeros | LLVMFastMathAllowReciprocal);
}

LLVMValueRef l_minmax_flags(LLVMValueRef v)
{
    return with_flags(v, LLVMFastMathNoSignedZeros);
}

/* ---- Functions and blocks
 * ------------------------------------------------------------------------ */

static void string_attr(const lb *l, LLVMValueRef fn, const char *key, const char *text)
{
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(l->cx, key, (unsigned)strlen(key), text, (unsigned)strlen(text)));
}

void l_attr(const lb *l, LLVMValueRef fn, unsigned where, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    if (kind == 0)
        ice("LLVM has no attribute %s", name);
    LLVMAddAttributeAtIndex(fn, where, LLVMCreateEnumAttribute(l->cx, kind, 0));
}

void l_noalias(const lb *l, LLVMValueRef fn, unsigned arg, bool read_only, bool captured)
{
    l_attr(l, fn, arg + 1, "noalias");
    if (!captured)
        LLVMAddAttributeAtIndex(fn, arg + 1, compat_nocapture(l->cx));
    if (read_only)
        l_attr(l, fn, arg + 1, "readonly");
}

/* Every function names the processor it is for, so that code of different targets can be linked.
 * Without no-builtins LLVM turns loops into calls of memset and memcpy, and the object would need a
 * C library. */
LLVMValueRef l_function(const lb *l, const char *name, LLVMTypeRef ret, const LLVMTypeRef *args,
                        unsigned n, LLVMLinkage linkage)
{
    LLVMTypeRef *copy = ARENA_ARRAY(l->a, LLVMTypeRef, n + 1);
    if (n > 0)
        memcpy(copy, args, n * sizeof *copy);
    LLVMValueRef fn = LLVMAddFunction(l->mod, name, LLVMFunctionType(ret, copy, n, 0));
    LLVMSetLinkage(fn, linkage);
    if (linkage == LLVMInternalLinkage)
        LLVMSetUnnamedAddress(fn, LLVMGlobalUnnamedAddr);
    l_attr(l, fn, LLVMAttributeFunctionIndex, "nounwind");
    l_attr(l, fn, LLVMAttributeFunctionIndex, "willreturn");
    l_attr(l, fn, LLVMAttributeFunctionIndex, "mustprogress");
    string_attr(l, fn, "target-cpu", l->target->cpu);
    if (l->target->features[0])
        string_attr(l, fn, "target-features", l->target->features);
    if (l->target->vector_width)
        string_attr(l, fn, "prefer-vector-width", l->target->vector_width);
    string_attr(l, fn, "no-builtins", "");
    LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->cx, fn, "entry"));
    return fn;
}

LLVMBasicBlockRef l_here(const lb *l)
{
    return LLVMGetInsertBlock(l->b);
}

LLVMBasicBlockRef l_block(const lb *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->cx, LLVMGetBasicBlockParent(l_here(l)), name);
}

void l_at(const lb *l, LLVMBasicBlockRef bb)
{
    LLVMPositionBuilderAtEnd(l->b, bb);
}

void l_br(const lb *l, LLVMBasicBlockRef to)
{
    LLVMBuildBr(l->b, to);
}

void l_cond(const lb *l, LLVMValueRef c, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(l->b, c, yes, no);
}

/* An alloca elsewhere would take stack again in every iteration. */
LLVMValueRef l_alloca(const lb *l, LLVMTypeRef ty, const char *name)
{
    LLVMBasicBlockRef here = l_here(l);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
    LLVMValueRef first = LLVMGetFirstInstruction(entry);
    if (first)
        LLVMPositionBuilderBefore(l->b, first);
    else
        l_at(l, entry);
    LLVMValueRef p = LLVMBuildAlloca(l->b, ty, name);
    l_at(l, here);
    return p;
}

/* ---- Control flow
 * -------------------------------------------------------------------------------- */

LLVMValueRef l_count(const lb *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step)
{
    LLVMValueRef d = l_bin(l, LLVMSub, hi, lo);
    LLVMValueRef length = l_select(l, l_icmp(l, LLVMIntSLT, lo, hi), d, l_i64(l, 0));
    if (step == 1)
        return length;
    LLVMValueRef more = l_bin(l, LLVMAdd, length, l_i64(l, step - 1));
    return l_floordiv(l, more, l_i64(l, step));
}

l_loop l_for(const lb *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step, bool down,
             const char *name)
{
    l_loop r = {.down = down, .step = l_i64(l, down ? -step : step)};
    LLVMValueRef first = lo;
    if (down && step == 1) {
        first = l_bin(l, LLVMSub, hi, l_i64(l, 1));
    } else if (down) {
        LLVMValueRef last = l_bin(l, LLVMSub, l_bin(l, LLVMSub, hi, lo), l_i64(l, 1));
        LLVMValueRef n = l_floordiv(l, last, l_i64(l, step)); /* -1: no iteration */
        first = l_bin(l, LLVMAdd, lo, l_bin(l, LLVMMul, n, l_i64(l, step)));
    }
    LLVMBasicBlockRef before = l_here(l);
    r.head = l_block(l, name);
    LLVMBasicBlockRef body = l_block(l, "body");
    r.exit = l_block(l, "end");
    l_br(l, r.head);
    l_at(l, r.head);
    r.i = LLVMBuildPhi(l->b, l->i64, name);
    LLVMAddIncoming(r.i, &first, &before, 1);
    l_cond(l, l_icmp(l, down ? LLVMIntSGE : LLVMIntSLT, r.i, down ? lo : hi), body, r.exit);
    l_at(l, body);
    return r;
}

static LLVMMetadataRef md_string(const lb *l, const char *s)
{
    return LLVMMDStringInContext2(l->cx, s, strlen(s));
}

/* Loop hints hang on a node whose first operand is the node itself. */
static void loop_hints(const lb *l, LLVMValueRef branch)
{
    LLVMMetadataRef one[] = {md_string(l, "llvm.loop.vectorize.enable"),
                             LLVMValueAsMetadata(l_i1(l, true))};
    LLVMMetadataRef self = LLVMTemporaryMDNode(l->cx, NULL, 0);
    LLVMMetadataRef ops[] = {self, LLVMMDNodeInContext2(l->cx, one, 2)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->cx, ops, 2);
    LLVMMetadataReplaceAllUsesWith(self, node); /* frees the temporary */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(l->cx, "llvm.loop", 9),
                    LLVMMetadataAsValue(l->cx, node));
}

void l_end_for(const lb *l, const l_loop *loop, bool vectorise)
{
    LLVMValueRef next = l_add(l, loop->i, loop->step);
    LLVMBasicBlockRef latch = l_here(l);
    LLVMValueRef branch = LLVMBuildBr(l->b, loop->head);
    if (vectorise)
        loop_hints(l, branch);
    LLVMAddIncoming(loop->i, &next, &latch, 1);
    l_at(l, loop->exit);
}

LLVMBasicBlockRef l_if(const lb *l, LLVMValueRef c)
{
    LLVMBasicBlockRef then = l_block(l, "then"), end = l_block(l, "endif");
    l_cond(l, c, then, end);
    l_at(l, then);
    return end;
}

void l_end_if(const lb *l, LLVMBasicBlockRef end)
{
    l_br(l, end);
    l_at(l, end);
}

/* ---- Constant data
 * ------------------------------------------------------------------------------- */

LLVMValueRef l_constant(const lb *l, LLVMValueRef init, const char *name)
{
    LLVMValueRef g = LLVMAddGlobal(l->mod, LLVMTypeOf(init), name);
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    return g;
}

LLVMValueRef l_string(const lb *l, const char *s)
{
    return l_constant(l, LLVMConstStringInContext2(l->cx, s, strlen(s), 0), "text");
}

/* ---- Errors
 * -------------------------------------------------------------------------------------- */

const char *l_error_text(arena *a, LLVMErrorRef e)
{
    char *text = LLVMGetErrorMessage(e); /* consumes e */
    const char *copy = arena_printf(a, "%s", text);
    LLVMDisposeErrorMessage(text);
    return copy;
}

const char *l_message_text(arena *a, char *message)
{
    const char *copy = arena_printf(a, "%s", message ? message : "no reason given");
    LLVMDisposeMessage(message);
    return copy;
}
