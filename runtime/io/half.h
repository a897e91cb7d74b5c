/*
 * half.h - 16-bit reals as bit patterns, to and from double. Exact upwards; downwards to nearest,
 * ties to even, in one rounding. NaN stays NaN.
 */
#ifndef ATTN_IO_HALF_H
#define ATTN_IO_HALF_H

#include <stdint.h>

double attn_f16_to_double(uint16_t bits);
double attn_bf16_to_double(uint16_t bits);
uint16_t attn_double_to_f16(double value);
uint16_t attn_double_to_bf16(double value);

#endif
