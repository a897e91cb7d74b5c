/*
 * half.c - 16-bit reals by bit manipulation, both formats through one pair of functions.
 */
#include "half.h"

#include <string.h>

static double widen(uint16_t bits, int man_bits)
{
    int exp_bits = 15 - man_bits;
    uint64_t sign = (uint64_t)(bits >> 15) << 63;
    int exponent = bits >> man_bits & ((1 << exp_bits) - 1);
    uint64_t man = bits & ((1u << man_bits) - 1);
    int bias = (1 << (exp_bits - 1)) - 1;
    uint64_t out;
    double d;
    if (exponent == (1 << exp_bits) - 1) {
        out = 0x7ffull << 52 | man << (52 - man_bits);
        if (man)
            out |= 1ull << 51; /* quiet, as arithmetic would make it */
    } else if (exponent == 0 && man == 0) {
        out = 0;
    } else {
        if (exponent == 0) {
            exponent = 1;
            while (!(man >> man_bits)) {
                man <<= 1;
                exponent--;
            }
            man &= (1ull << man_bits) - 1;
        }
        out = (uint64_t)(exponent - bias + 1023) << 52 | man << (52 - man_bits);
    }
    out |= sign;
    memcpy(&d, &out, sizeof d);
    return d;
}

static uint16_t narrow(double value, int man_bits)
{
    uint64_t in;
    memcpy(&in, &value, sizeof in);
    int exp_bits = 15 - man_bits;
    int bias = (1 << (exp_bits - 1)) - 1;
    uint64_t infinite = ((1ull << exp_bits) - 1) << man_bits;
    uint64_t sign = in >> 63 << 15;
    int exponent = (int)(in >> 52 & 0x7ff);
    uint64_t man = in & ((1ull << 52) - 1);
    if (exponent == 0x7ff) {
        uint64_t payload = man ? man >> (52 - man_bits) | 1ull << (man_bits - 1) : 0;
        return (uint16_t)(sign | infinite | payload);
    }
    /* Doubles below their own normal range are far below half of the smallest value here. */
    if (exponent == 0)
        return (uint16_t)sign;
    int e = exponent - 1023 + bias;
    int shift = 52 - man_bits + (e <= 0 ? 1 - e : 0);
    if (shift > 53)
        return (uint16_t)sign;
    man |= 1ull << 52;
    uint64_t q = man >> shift;
    uint64_t rest = man & ((1ull << shift) - 1);
    uint64_t half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (q & 1)))
        q++;
    /* The implicit bit and a carry of the rounding both land in the exponent, as they should. */
    if (e > 0)
        q += (uint64_t)(e - 1) << man_bits;
    return (uint16_t)(sign | (q < infinite ? q : infinite));
}

double attn_f16_to_double(uint16_t bits)
{
    return widen(bits, 10);
}

double attn_bf16_to_double(uint16_t bits)
{
    return widen(bits, 7);
}

uint16_t attn_double_to_f16(double value)
{
    return narrow(value, 10);
}

uint16_t attn_double_to_bf16(double value)
{
    return narrow(value, 7);
}
