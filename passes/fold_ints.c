/* fold_ints.c: what int and bool operations give where all operands are known. */
#include "passes/fold_ints.h"

static int64_t floor_quotient(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

static int64_t floor_rest(int64_t x, int64_t y)
{
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

bool fold_ints(op_id op, int64_t x, int64_t y, int64_t *out)
{
    switch (op) {
    case OP_neg:
        return !__builtin_sub_overflow((int64_t)0, x, out);
    case OP_add:
        return !__builtin_add_overflow(x, y, out);
    case OP_sub:
        return !__builtin_sub_overflow(x, y, out);
    case OP_mul:
        return !__builtin_mul_overflow(x, y, out);
    case OP_idiv:
    case OP_imod:
        if (y == 0 || (y == -1 && x == INT64_MIN))
            return false;
        *out = op == OP_idiv ? floor_quotient(x, y) : floor_rest(x, y);
        return true;
    case OP_abs:
        *out = x;
        return x >= 0 || !__builtin_sub_overflow((int64_t)0, x, out);
    case OP_sign:
        *out = (x > 0) - (x < 0);
        return true;
    case OP_max:
        *out = x > y ? x : y;
        return true;
    case OP_min:
        *out = x < y ? x : y;
        return true;
    case OP_bitand:
    case OP_and:
        *out = x & y;
        return true;
    case OP_or:
        *out = x | y;
        return true;
    case OP_not:
        *out = !x;
        return true;
    case OP_eq:
        *out = x == y;
        return true;
    case OP_ne:
        *out = x != y;
        return true;
    case OP_lt:
        *out = x < y;
        return true;
    case OP_le:
        *out = x <= y;
        return true;
    default:
        return false;
    }
}
