/* l_lanes.c: vectors of LLVM IR: lanes, masks, memory under a mask. */
#include "backend/l_build.h"

unsigned l_lanes(LLVMValueRef v)
{
    LLVMTypeRef ty = LLVMTypeOf(v);
    return LLVMGetTypeKind(ty) == LLVMVectorTypeKind ? LLVMGetVectorSize(ty) : 1;
}

LLVMTypeRef l_wide(LLVMTypeRef scalar, unsigned lanes)
{
    return lanes > 1 ? LLVMVectorType(scalar, lanes) : scalar;
}

LLVMTypeRef l_scalar_type(LLVMValueRef v)
{
    LLVMTypeRef ty = LLVMTypeOf(v);
    return LLVMGetTypeKind(ty) == LLVMVectorTypeKind ? LLVMGetElementType(ty) : ty;
}

static LLVMValueRef int_vector(const lb *l, LLVMTypeRef ty, unsigned lanes, unsigned first,
                               unsigned step)
{
    LLVMValueRef *v = ARENA_ARRAY(l->a, LLVMValueRef, lanes);
    for (unsigned i = 0; i < lanes; i++)
        v[i] = LLVMConstInt(ty, first + step * i, 0);
    return LLVMConstVector(v, lanes);
}

LLVMValueRef l_iota(const lb *l, LLVMTypeRef ty, unsigned lanes)
{
    return int_vector(l, ty, lanes, 0, 1);
}

LLVMValueRef l_spread(const lb *l, LLVMValueRef v, unsigned lanes)
{
    if (lanes == 1 || l_lanes(v) == lanes)
        return v;
    ICE_UNLESS(l_lanes(v) == 1);
    if (LLVMIsConstant(v)) {
        LLVMValueRef *all = ARENA_ARRAY(l->a, LLVMValueRef, lanes);
        for (unsigned i = 0; i < lanes; i++)
            all[i] = v;
        return LLVMConstVector(all, lanes);
    }
    LLVMValueRef none = LLVMGetPoison(l_wide(LLVMTypeOf(v), lanes));
    LLVMValueRef one = LLVMBuildInsertElement(l->b, none, v, l_i32(l, 0), "");
    return LLVMBuildShuffleVector(l->b, one, none, int_vector(l, l->i32, lanes, 0, 0), "");
}

void l_match(const lb *l, LLVMValueRef *x, LLVMValueRef *y)
{
    unsigned nx = l_lanes(*x), ny = l_lanes(*y);
    if (nx < ny)
        *x = l_spread(l, *x, ny);
    else if (ny < nx)
        *y = l_spread(l, *y, nx);
}

LLVMValueRef l_lane(const lb *l, LLVMValueRef v, unsigned i)
{
    return l_lanes(v) == 1 ? v : LLVMBuildExtractElement(l->b, v, l_i32(l, i), "");
}

LLVMValueRef l_any(const lb *l, LLVMValueRef mask)
{
    unsigned n = l_lanes(mask);
    if (n == 1)
        return mask;
    LLVMTypeRef bits = LLVMIntTypeInContext(l->cx, n);
    LLVMValueRef all = LLVMBuildBitCast(l->b, mask, bits, "");
    return LLVMBuildICmp(l->b, LLVMIntNE, all, LLVMConstInt(bits, 0, 0), "");
}

LLVMValueRef l_mask_and(const lb *l, LLVMValueRef mask, LLVMValueRef on)
{
    return mask ? l_select(l, mask, on, l_i1(l, false)) : on;
}

LLVMValueRef l_half(const lb *l, LLVMValueRef v, bool upper)
{
    unsigned n = l_lanes(v) / 2;
    if (n == 1)
        return l_lane(l, v, upper);
    LLVMValueRef which = int_vector(l, l->i32, n, upper ? n : 0, 1);
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)), which, "");
}

/* ---- Memory under a mask
 * ------------------------------------------------------------------------- */

/* Calls an intrinsic overloaded on the vector and the pointer; args[at] is the pointer, behind
 * which LLVM up to 21 wants the alignment. */
static LLVMValueRef masked(const lb *l, const char *name, LLVMTypeRef wide, LLVMValueRef *args,
                           unsigned n, unsigned at, unsigned align)
{
    LLVMTypeRef types[] = {wide, LLVMTypeOf(args[at])};
    LLVMValueRef all[5];
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        all[count++] = args[i];
        if (i == at && COMPAT_MASKED_ALIGN_OPERAND)
            all[count++] = l_i32(l, align);
    }
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (id == 0)
        ice("LLVM has no intrinsic %s", name);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(l->mod, id, types, 2);
    LLVMTypeRef ty = LLVMIntrinsicGetType(l->cx, id, types, 2);
    LLVMValueRef call = LLVMBuildCall2(l->b, ty, fn, all, count, "");
    if (!COMPAT_MASKED_ALIGN_OPERAND)
        LLVMSetInstrParamAlignment(call, at + 1, align);
    return call;
}

LLVMValueRef l_masked_load(const lb *l, LLVMTypeRef wide, LLVMValueRef p, LLVMValueRef mask,
                           unsigned align)
{
    LLVMValueRef args[] = {p, mask, LLVMConstNull(wide)};
    return masked(l, "llvm.masked.load", wide, args, 3, 0, align);
}

LLVMValueRef l_masked_store(const lb *l, LLVMValueRef v, LLVMValueRef p, LLVMValueRef mask,
                            unsigned align)
{
    LLVMValueRef args[] = {v, p, mask};
    return masked(l, "llvm.masked.store", LLVMTypeOf(v), args, 3, 1, align);
}

static LLVMValueRef all_on(const lb *l, LLVMValueRef mask, unsigned lanes)
{
    return mask ? mask : l_spread(l, l_i1(l, true), lanes);
}

LLVMValueRef l_gather(const lb *l, LLVMTypeRef wide, LLVMValueRef p, LLVMValueRef mask,
                      unsigned align)
{
    LLVMValueRef args[] = {p, all_on(l, mask, LLVMGetVectorSize(wide)), LLVMConstNull(wide)};
    return masked(l, "llvm.masked.gather", wide, args, 3, 0, align);
}

LLVMValueRef l_scatter(const lb *l, LLVMValueRef v, LLVMValueRef p, LLVMValueRef mask,
                       unsigned align)
{
    LLVMValueRef args[] = {v, p, all_on(l, mask, l_lanes(v))};
    return masked(l, "llvm.masked.scatter", LLVMTypeOf(v), args, 3, 1, align);
}
