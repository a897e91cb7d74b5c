/* words.c: how messages call operations and types. */
#include "frontend/sema.h"

/* An operation as the user writes it. */
const char *op_word(op_id op)
{
    static const char *const words[OP_COUNT] = {
        [OP_add] = "`+`",         [OP_sub] = "`-`",         [OP_neg] = "`-`",
        [OP_mul] = "`*`",         [OP_div] = "`/`",         [OP_idiv] = "`//`",
        [OP_imod] = "`%`",        [OP_pow] = "`^`",         [OP_and] = "`and`",
        [OP_or] = "`or`",         [OP_not] = "`not`",       [OP_eq] = "a comparison",
        [OP_ne] = "a comparison", [OP_lt] = "a comparison", [OP_le] = "a comparison",
    };
    return words[op] ? words[op] : op_table[op].text;
}

const char *dtype_word(dtype d)
{
    return d == DT_BOOL ? "a bool" : d == DT_I64 ? "an int" : "real";
}
