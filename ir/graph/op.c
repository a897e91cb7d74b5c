/* op.c: the tables that ops.def and the lists in the headers expand to. */
#include "ir/graph/op.h"

#include "ir/graph/graph_internal.h"

const op_info op_table[OP_COUNT] = {
#define OP(id, text, n, sig, traits, meaning) [OP_##id] = {text, n, SIG_##sig, traits, meaning},
#include "ir/graph/ops.def"
#undef OP
};

const reduce_info reduce_table[RED_COUNT] = {
#define RED(id, text, result) [RED_##id] = {text, SIG_##result},
    REDUCE_KINDS(RED)
#undef RED
};

const store_info store_table[ST_COUNT] = {
#define X(id, text, bytes, value) [ST_##id] = {text, bytes, value},
    STORE_TYPES(X)
#undef X
};

const char *const online_text[ON_COUNT] = {
#define X(id, text) [ON_##id] = text,
    ONLINE_KINDS(X)
#undef X
};

const part_info *part_of_kind(int kind)
{
    static const part_info table[] = {
#define X(id, text, kinds) [PART_##id - PART_first] = {text, kinds},
        PART_KINDS(X)
#undef X
    };
    return kind > PART_first && kind < 0 ? &table[kind - PART_first] : NULL;
}

const char *const dtype_text[] = {
    [DT_NONE] = "none", [DT_F32] = "f32", [DT_F64] = "f64", [DT_I64] = "i64", [DT_BOOL] = "bool",
};

const infix infix_table[OP_COUNT] = {
    [OP_or] = {"or", 1, true},          [OP_and] = {"and", 2, true},
    [OP_not] = {"not", PREC_NOT, true}, [OP_eq] = {"==", 4, false},
    [OP_ne] = {"!=", 4, false},         [OP_lt] = {"<", 4, false},
    [OP_le] = {"<=", 4, false},         [OP_add] = {"+", 5, true},
    [OP_sub] = {"-", 5, true},          [OP_mul] = {"*", 6, true},
    [OP_idiv] = {"//", 6, true},        [OP_imod] = {"%", 6, true},
    [OP_neg] = {"-", PREC_NEG, true},
};
