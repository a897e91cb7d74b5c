/* fill.c: random tensors for --seed. */
#include <math.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "runtime/io/half.h"

/* SplitMix64: one state word, passes the usual tests, the same on every machine. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In [-1, 1). */
static double uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-52 - 1.0;
}

void fill_random(attn_tensor *t, uint64_t seed, attn_role role, int64_t int_limit)
{
    uint64_t state = hash_bytes(seed, t->name, strlen(t->name));
    int64_t n = attn_tensor_elements(t);
    /* Sums over the last axis, which a product contracts, stay near 1. */
    double fan_in = t->rank > 0 ? (double)t->shape[t->rank - 1] : 1.0;
    double scale = role == ATTN_PARAM && fan_in > 1 ? 1.0 / sqrt(fan_in) : 1.0;
    for (int64_t i = 0; i < n; i++) {
        switch (t->dtype) {
        case ATTN_F32:
            ((float *)t->data)[i] = (float)(scale * uniform(&state));
            break;
        case ATTN_F64:
            ((double *)t->data)[i] = scale * uniform(&state);
            break;
        case ATTN_F16:
            ((uint16_t *)t->data)[i] = attn_double_to_f16(scale * uniform(&state));
            break;
        case ATTN_BF16:
            ((uint16_t *)t->data)[i] = attn_double_to_bf16(scale * uniform(&state));
            break;
        case ATTN_I64:
            ((int64_t *)t->data)[i] = (int64_t)(next(&state) % (uint64_t)int_limit);
            break;
        case ATTN_I32:
            ((int32_t *)t->data)[i] = (int32_t)(next(&state) % (uint64_t)int_limit);
            break;
        case ATTN_U8:
            ((uint8_t *)t->data)[i] = (uint8_t)(next(&state) % (uint64_t)int_limit);
            break;
        case ATTN_BOOL:
            ((uint8_t *)t->data)[i] = (uint8_t)(next(&state) >> 63);
            break;
        }
    }
}

double tensor_number(const attn_tensor *t, int64_t n)
{
    switch (t->dtype) {
    case ATTN_F32:
        return ((const float *)t->data)[n];
    case ATTN_F64:
        return ((const double *)t->data)[n];
    case ATTN_F16:
        return attn_f16_to_double(((const uint16_t *)t->data)[n]);
    case ATTN_BF16:
        return attn_bf16_to_double(((const uint16_t *)t->data)[n]);
    case ATTN_I64:
        return (double)((const int64_t *)t->data)[n];
    case ATTN_I32:
        return ((const int32_t *)t->data)[n];
    case ATTN_U8:
    case ATTN_BOOL:
        return ((const uint8_t *)t->data)[n];
    }
    return NAN;
}
