/*
 * checked.h - integer arithmetic that tells when it overflows. Each returns false, and leaves *r
 * unspecified, if the true result does not fit. All sizes in the runtime go through these.
 */
#ifndef ATTN_CHECKED_H
#define ATTN_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool attn_add64(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_add_overflow(a, b, r);
}

static inline bool attn_sub64(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_sub_overflow(a, b, r);
}

static inline bool attn_mul64(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

/* Floor division and its remainder; false for b == 0 and INT64_MIN / -1. */
static inline bool attn_div64(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t q = a / b;
    int64_t r = a % b;
    if (r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    *quotient = q;
    *remainder = r;
    return true;
}

/*
 * Elements of a shape and their bytes at `width` each. False for a negative axis or if either
 * exceeds INT64_MAX. An axis of 0 makes both 0, whatever the others hold.
 */
static inline bool attn_shape_bytes(int64_t rank, const int64_t *shape, size_t width,
                                    int64_t *elements, size_t *bytes)
{
    bool empty = false;
    bool overflow = false;
    int64_t n = 1;
    for (int64_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        if (shape[i] == 0)
            empty = true;
        else if (!overflow && !attn_mul64(n, shape[i], &n))
            overflow = true;
    }
    int64_t total = 0;
    if (empty)
        n = 0;
    else if (overflow || !attn_mul64(n, (int64_t)width, &total))
        return false;
    *elements = n;
    *bytes = (size_t)total;
    return true;
}

#endif
