/* lower_convert.c: between the types of memory and the types of values.
 *
 * Half precision is converted by bit manipulation where the machine cannot, never by the compiler's
 * support library: an object must not need one. All of it is free of branches, so loops stay
 * vectors. */
#include "backend/lower.h"

LLVMTypeRef l_store_type(const lb *l, store_type st)
{
    switch (st) {
    case ST_F32:
        return l->f32;
    case ST_F64:
        return l->f64;
    case ST_F16:
    case ST_BF16:
        return l->i16;
    case ST_I64:
        return l->i64;
    case ST_I32:
        return l->i32;
    case ST_U8:
    case ST_BOOL:
        return l->i8;
    case ST_COUNT:
        break;
    }
    ice("store type %d", (int)st);
}

static LLVMValueRef bits_of(const lb *l, LLVMValueRef f32)
{
    return l_cast(l, LLVMBitCast, f32, l->i32);
}

static LLVMValueRef from_bits(const lb *l, LLVMValueRef i32)
{
    return l_cast(l, LLVMBitCast, i32, l->f32);
}

static LLVMValueRef bin_const(const lb *l, LLVMOpcode op, LLVMValueRef x, int64_t c)
{
    return l_bin(l, op, x, l_int_like(l, x, c));
}

/* ---- Half and bfloat to f32
 * ---------------------------------------------------------------------- */

/* Exponent moved from bias 15 to 127; the special exponents apart. Denormals are made normal by
 * subtracting the value that their leading bit would have had. */
static LLVMValueRef half_to_f32(const lb *l, LLVMValueRef h)
{
    if (l->target->half)
        return l_cast(l, LLVMFPExt, l_cast(l, LLVMBitCast, h, LLVMHalfTypeInContext(l->cx)),
                      l->f32);
    LLVMValueRef w = l_cast(l, LLVMZExt, h, l->i32);
    LLVMValueRef sign = bin_const(l, LLVMShl, bin_const(l, LLVMAnd, w, 0x8000), 16);
    LLVMValueRef magnitude = bin_const(l, LLVMAnd, w, 0x7fff);
    LLVMValueRef moved = bin_const(l, LLVMShl, magnitude, 13);
    LLVMValueRef normal = bin_const(l, LLVMAdd, moved, (int64_t)112 << 23);
    LLVMValueRef special = bin_const(l, LLVMAdd, moved, (int64_t)224 << 23);
    LLVMValueRef one = from_bits(l, bin_const(l, LLVMAdd, moved, (int64_t)113 << 23));
    LLVMValueRef denormal = bits_of(l, l_bin(l, LLVMFSub, one, l_real(l->f32, 0x1p-14)));
    LLVMValueRef r =
        l_select(l, l_icmp(l, LLVMIntUGE, magnitude, l_i32(l, 0x7c00)), special, normal);
    r = l_select(l, l_icmp(l, LLVMIntULT, magnitude, l_i32(l, 0x0400)), denormal, r);
    return from_bits(l, l_bin(l, LLVMOr, r, sign));
}

static LLVMValueRef bfloat_to_f32(const lb *l, LLVMValueRef h)
{
    return from_bits(l, bin_const(l, LLVMShl, l_cast(l, LLVMZExt, h, l->i32), 16));
}

/* ---- f32 to half and bfloat, to nearest, ties to even
 * -------------------------------------------- */

static LLVMValueRef f32_to_half(const lb *l, LLVMValueRef x)
{
    if (l->target->half)
        return l_cast(l, LLVMBitCast, l_cast(l, LLVMFPTrunc, x, LLVMHalfTypeInContext(l->cx)),
                      l->i16);
    LLVMValueRef w = bits_of(l, x);
    LLVMValueRef sign = bin_const(l, LLVMAnd, w, (int64_t)1 << 31);
    LLVMValueRef m = l_bin(l, LLVMXor, w, sign);
    /* 2^16 and above (infinity), or NaN. */
    LLVMValueRef special = l_select(l, l_icmp(l, LLVMIntUGT, m, l_i32(l, 0x7f800000)),
                                    l_i32(l, 0x7e00), l_i32(l, 0x7c00));
    /* Below 2^-14: the addition rounds to the denormal's last bit. */
    LLVMValueRef magic = l_i32(l, (int64_t)126 << 23);
    LLVMValueRef sum = l_bin(l, LLVMFAdd, from_bits(l, m), from_bits(l, magic));
    LLVMValueRef denormal = l_bin(l, LLVMSub, bits_of(l, sum), magic);
    LLVMValueRef odd = bin_const(l, LLVMAnd, bin_const(l, LLVMLShr, m, 13), 1);
    LLVMValueRef normal = bin_const(l, LLVMAdd, m, 0xfff - ((int64_t)112 << 23));
    normal = bin_const(l, LLVMLShr, l_bin(l, LLVMAdd, normal, odd), 13);
    LLVMValueRef r =
        l_select(l, l_icmp(l, LLVMIntULT, m, l_i32(l, (int64_t)113 << 23)), denormal, normal);
    r = l_select(l, l_icmp(l, LLVMIntUGE, m, l_i32(l, (int64_t)143 << 23)), special, r);
    r = l_bin(l, LLVMOr, r, bin_const(l, LLVMLShr, sign, 16));
    return l_cast(l, LLVMTrunc, r, l->i16);
}

static LLVMValueRef f32_to_bfloat(const lb *l, LLVMValueRef x)
{
    LLVMValueRef w = bits_of(l, x);
    LLVMValueRef odd = bin_const(l, LLVMAnd, bin_const(l, LLVMLShr, w, 16), 1);
    LLVMValueRef rounded = l_bin(l, LLVMAdd, bin_const(l, LLVMAdd, w, 0x7fff), odd);
    LLVMValueRef quiet = bin_const(l, LLVMOr, w, 0x400000);
    LLVMValueRef r = l_select(l, l_fcmp(l, LLVMRealUNO, x, x), quiet, rounded);
    return l_cast(l, LLVMTrunc, bin_const(l, LLVMLShr, r, 16), l->i16);
}

/* f64 to f32 so that a second rounding to 16 bits gives what one rounding would: towards zero, and
 * the last bit set where anything was lost. */
static LLVMValueRef round_to_odd(const lb *l, LLVMValueRef x)
{
    LLVMValueRef t = l_cast(l, LLVMFPTrunc, x, l->f32);
    LLVMValueRef back = l_cast(l, LLVMFPExt, t, l->f64);
    LLVMValueRef larger =
        l_fcmp(l, LLVMRealOGT, l_intrinsic1(l, "llvm.fabs", back), l_intrinsic1(l, "llvm.fabs", x));
    LLVMValueRef w = bits_of(l, t);
    w = l_bin(l, LLVMSub, w, l_cast(l, LLVMZExt, larger, l->i32));
    LLVMValueRef inexact = l_fcmp(l, LLVMRealONE, back, x);
    return from_bits(l, l_bin(l, LLVMOr, w, l_cast(l, LLVMZExt, inexact, l->i32)));
}

/* ---- Any type
 * ------------------------------------------------------------------------------------ */

LLVMValueRef l_from_store(const lb *l, store_type st, LLVMValueRef v, dtype to)
{
    switch (st) {
    case ST_F32:
        return to == DT_F64 ? l_cast(l, LLVMFPExt, v, l->f64) : v;
    case ST_F64:
        return to == DT_F32 ? l_cast(l, LLVMFPTrunc, v, l->f32) : v;
    case ST_F16:
        v = half_to_f32(l, v);
        return to == DT_F64 ? l_cast(l, LLVMFPExt, v, l->f64) : v;
    case ST_BF16:
        v = bfloat_to_f32(l, v);
        return to == DT_F64 ? l_cast(l, LLVMFPExt, v, l->f64) : v;
    case ST_I64:
        return v;
    case ST_I32:
        return l_cast(l, LLVMSExt, v, l->i64);
    case ST_U8:
        return l_cast(l, LLVMZExt, v, l->i64);
    case ST_BOOL:
        return l_icmp(l, LLVMIntNE, v, l_int_like(l, v, 0));
    case ST_COUNT:
        break;
    }
    ice("store type %d", (int)st);
}

LLVMValueRef l_to_store(const lb *l, store_type st, LLVMValueRef v, dtype from)
{
    switch (st) {
    case ST_F32:
        return from == DT_F64 ? l_cast(l, LLVMFPTrunc, v, l->f32) : v;
    case ST_F64:
        return from == DT_F32 ? l_cast(l, LLVMFPExt, v, l->f64) : v;
    case ST_F16:
        return f32_to_half(l, from == DT_F64 ? round_to_odd(l, v) : v);
    case ST_BF16:
        return f32_to_bfloat(l, from == DT_F64 ? round_to_odd(l, v) : v);
    case ST_I64:
        return v;
    case ST_I32:
        return l_cast(l, LLVMTrunc, v, l->i32);
    case ST_U8:
        return l_cast(l, LLVMTrunc, v, l->i8);
    case ST_BOOL:
        return l_cast(l, LLVMZExt, v, l->i8);
    case ST_COUNT:
        break;
    }
    ice("store type %d", (int)st);
}
