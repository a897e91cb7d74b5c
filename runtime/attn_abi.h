/*
 * attn_abi.h - what a compiled model and its host agree on: status codes, element types, the
 * work-sharing interface, the reflection record and the shapes of the entry points.
 *
 * This is the one header shared by the compiler, the runtime libraries and every generated header.
 * It holds no function that does work, needs only <stddef.h> and <stdint.h>, and compiles as C11
 * and as C++11. Numbers in it are part of the binary interface: append, never renumber, and raise
 * ATTN_ABI_VERSION when a layout changes.
 */
#ifndef ATTN_ABI_H
#define ATTN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ATTN_STATIC_ASSERT(cond, text) static_assert(cond, text)
extern "C" {
#else
#define ATTN_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define ATTN_ABI_VERSION 2u

/* Workspace, prepared and state blocks begin on this boundary; tensors only on their element's. */
#define ATTN_BLOCK_ALIGN 64

/* ---- Status -------------------------------------------------------------------------------- */

#define ATTN_STATUS_LIST(X)                                                                        \
    X(ATTN_OK, 0, "done")                                                                          \
    X(ATTN_DIM, 1, "a dimension is negative, too large, or contradicts another one")               \
    X(ATTN_NULL, 2, "a required pointer is NULL")                                                  \
    X(ATTN_INDEX, 3, "an index computed from data is outside its axis")                            \
    X(ATTN_INT, 4, "integer division by zero, integer overflow, or a non-finite real made an int") \
    X(ATTN_CAPACITY, 5, "more steps than the capacity the state was made for")                     \
    X(ATTN_NOMEM, 6, "out of memory")                                                              \
    X(ATTN_ALIGN, 7, "a pointer is not aligned as its type requires")                              \
    X(ATTN_ALIAS, 8, "an output overlaps an input or another output")                              \
    X(ATTN_TARGET, 9, "this processor lacks an instruction set the code was built for")            \
    X(ATTN_ABI, 10, "the object was built for another version of the binary interface")

typedef enum attn_status {
#define ATTN_X(id, value, text) id = value,
    ATTN_STATUS_LIST(ATTN_X)
#undef ATTN_X
} attn_status;

/* A fixed English sentence for a status (no final stop); never NULL, also for unknown values. */
static inline const char *attn_status_text(attn_status status)
{
    switch (status) {
#define ATTN_X(id, value, text)                                                                    \
    case id:                                                                                       \
        return text;
        ATTN_STATUS_LIST(ATTN_X)
#undef ATTN_X
    }
    return "unknown status";
}

/* ---- Element types ------------------------------------------------------------------------- */

/* id, value, name as written in programs, bytes per element. BOOL is one byte that is 0 or 1. */
#define ATTN_DTYPE_LIST(X)                                                                         \
    X(ATTN_F32, 0, "f32", 4)                                                                       \
    X(ATTN_F64, 1, "f64", 8)                                                                       \
    X(ATTN_F16, 2, "f16", 2)                                                                       \
    X(ATTN_BF16, 3, "bf16", 2)                                                                     \
    X(ATTN_I64, 4, "i64", 8)                                                                       \
    X(ATTN_I32, 5, "i32", 4)                                                                       \
    X(ATTN_U8, 6, "u8", 1)                                                                         \
    X(ATTN_BOOL, 7, "bool", 1)

typedef enum attn_dtype {
#define ATTN_X(id, value, name, size) id = value,
    ATTN_DTYPE_LIST(ATTN_X)
#undef ATTN_X
} attn_dtype;

/* Name of an element type as programs spell it; "?" for a value outside the list. */
static inline const char *attn_dtype_name(attn_dtype type)
{
    switch (type) {
#define ATTN_X(id, value, name, size)                                                              \
    case id:                                                                                       \
        return name;
        ATTN_DTYPE_LIST(ATTN_X)
#undef ATTN_X
    }
    return "?";
}

/* Bytes per element; 0 for a value outside the list. */
static inline size_t attn_dtype_size(attn_dtype type)
{
    switch (type) {
#define ATTN_X(id, value, name, size)                                                              \
    case id:                                                                                       \
        return size;
        ATTN_DTYPE_LIST(ATTN_X)
#undef ATTN_X
    }
    return 0;
}

/* ---- Work sharing -------------------------------------------------------------------------- */

/*
 * One unit of work. `worker` is in [0, threads); two bodies that run at the same time never share
 * a worker number, so it selects per-thread scratch. Results must not depend on it.
 */
typedef void attn_body(void *arg, int64_t i, int64_t worker);

/*
 * Threads a host lends to one call. A NULL `const attn_exec *` means: this thread only.
 *
 * parallel_for runs body(arg, i, worker) once for every 0 <= i < n, in any order, and returns when
 * all are done; their writes are then visible to the caller. A body must not call parallel_for.
 *
 * barrier may be NULL. If it is not, a parallel_for with n == threads runs all its bodies at the
 * same time, body i on worker i, and barrier(ctx), called by every one of them, returns when all
 * have called it. It serves recurrences, whose steps are too short for a parallel_for each.
 */
typedef struct attn_exec {
    int threads; /* >= 1 */
    void (*parallel_for)(void *ctx, int64_t n, attn_body *body, void *arg);
    void (*barrier)(void *ctx);
    void *ctx;
} attn_exec;

/* ---- Reflection ---------------------------------------------------------------------------- */

/*
 * The size of an axis as a function of the dims: a stack program in `code`, of `n` words. CONST
 * and DIM are followed by one operand word; the binary ones pop b, then a, and push `a op b`. An
 * undefined result (overflow, division by zero, EXACT with a remainder) means that the dims are
 * refused; a negative size is refused by whoever needs a size.
 */
typedef enum attn_op {
    ATTN_OP_CONST = 0, /* push the next word */
    ATTN_OP_DIM = 1,   /* push dims[next word] */
    ATTN_OP_ADD = 2,
    ATTN_OP_SUB = 3,
    ATTN_OP_MUL = 4,
    ATTN_OP_DIV = 5,   /* floor(a / b) */
    ATTN_OP_EXACT = 6, /* a / b, which must have no remainder */
    ATTN_OP_MOD = 7,   /* a - b * floor(a / b) */
    ATTN_OP_MAX = 8,
    ATTN_OP_MIN = 9
} attn_op;

/* No program needs a deeper stack than this; the compiler refuses types that would. */
#define ATTN_EXTENT_STACK 64

typedef struct attn_extent {
    int64_t n; /* words in code, not instructions */
    const int64_t *code;
    const char *text; /* as the program writes it: "E + H" */
} attn_extent;

typedef enum attn_role { ATTN_INPUT = 0, ATTN_PARAM = 1, ATTN_OUTPUT = 2 } attn_role;

enum {
    ATTN_OPTIONAL = 1, /* the pointer may be NULL: the program gives a default */
    ATTN_BEGIN = 2,    /* recurrences: belongs to _begin */
    ATTN_STEP = 4      /* recurrences: belongs to _step, one row per step */
};

/*
 * One pointer of a model's interface. `slot` is its place in the params, inputs or outputs struct
 * of the role; in the structs of _begin and _step the tensors that carry the flag stand in the
 * same order without gaps. A rank-0 tensor is a pointer to one element.
 */
typedef struct attn_tensor_info {
    const char *name;
    attn_role role;
    attn_dtype dtype;
    int32_t flags;
    int32_t step_axis; /* the axis that has one row for each step; -1: none */
    int64_t rank;
    const attn_extent *shape; /* rank of them, outermost first; NULL if rank is 0 */
    const char *source;       /* its name in the weights or inputs file; NULL: same as name */
    int64_t slot;
} attn_tensor_info;

typedef enum attn_relation { ATTN_EQ = 0, ATTN_LE = 1 } attn_relation;

/* A condition on the dims that every entry point checks; broken, it answers ATTN_DIM. */
typedef struct attn_check_info {
    attn_extent lhs;
    attn_extent rhs;
    attn_relation relation;
    int32_t reserved;    /* 0 */
    const char *message; /* what it is for, naming both places in the source */
} attn_check_info;

/* Constant data, exported by every object as `NAME_info`. */
typedef struct attn_model_info {
    uint32_t abi_version; /* ATTN_ABI_VERSION of the compiler that made it */
    uint32_t reserved;    /* 0 */
    const char *name;
    int64_t n_dims;
    const char *const *dim_names; /* in the order of the dims struct */
    int64_t n_tensors;
    const attn_tensor_info *tensors;
    int64_t n_checks;
    const attn_check_info *checks;
    const attn_extent *capacity; /* NULL: there are no _state, _begin, _step; else the most steps */
} attn_model_info;

/* ---- Entry points -------------------------------------------------------------------------- */

/*
 * The types a generic host calls through. Generated headers declare the same functions with typed
 * structs in which every member is an int64_t (dims) or a pointer (params, inputs, outputs), so
 * both views have one layout. Sizes are in bytes; SIZE_MAX means that the dims are refused.
 * On any status but ATTN_OK the contents of the outputs are unspecified.
 */
typedef size_t attn_workspace_fn(const int64_t *dims, int threads); /* NAME_workspace */
typedef size_t attn_prepared_fn(const int64_t *dims);               /* NAME_prepared */
typedef attn_status attn_prepare_fn(const int64_t *dims, const void *const *params,
                                    void *prepared); /* NAME_prepare */
typedef attn_status attn_run_fn(const int64_t *dims, const void *const *params,
                                const void *prepared, const void *const *inputs,
                                void *const *outputs, void *workspace,
                                const attn_exec *exec); /* NAME */

/*
 * Recurrences only: NAME_state, NAME_begin, NAME_step. One state is one sequence (or batch of them)
 * on its way. NAME_state gives the bytes of its block, whose dims say how many steps there can be
 * at most: the dim of the step axis is the capacity. NAME_begin fills the block. NAME_step goes
 * `rows` steps on: in the tensors that have a step_axis that axis has `rows` elements, the first of
 * which follows on what was done before; the outputs without one hold what they are after the last
 * of them. Any cut into calls gives the same results.
 *
 * The block copies the dims and what later steps need of the inputs; it points to the parameters
 * (each tensor, not the struct) and to `prepared`, which must stay where they are. It may be copied
 * and moved. A step beyond the capacity is refused with ATTN_CAPACITY. Whatever is refused before
 * the work begins (any status but ATTN_INDEX and ATTN_INT) leaves the state as it was; after those
 * two it has to begin anew. 0 rows do nothing.
 */
typedef size_t attn_state_fn(const int64_t *dims);
typedef attn_status attn_begin_fn(const int64_t *dims, const void *const *params,
                                  const void *prepared, const void *const *inputs, void *state,
                                  void *workspace, const attn_exec *exec);
typedef attn_status attn_step_fn(void *state, int64_t rows, const void *const *inputs,
                                 void *const *outputs, void *workspace, const attn_exec *exec);

/* ---- Layout, which generated data and code rely on ------------------------------------------ */

ATTN_STATIC_ASSERT(sizeof(void *) == 8 && sizeof(size_t) == 8, "64-bit hosts only");
ATTN_STATIC_ASSERT(sizeof(attn_status) == 4 && sizeof(attn_dtype) == 4, "enums are 32 bits");
ATTN_STATIC_ASSERT(offsetof(attn_exec, parallel_for) == 8, "attn_exec");
ATTN_STATIC_ASSERT(offsetof(attn_exec, barrier) == 16, "attn_exec");
ATTN_STATIC_ASSERT(offsetof(attn_exec, ctx) == 24 && sizeof(attn_exec) == 32, "attn_exec");
ATTN_STATIC_ASSERT(offsetof(attn_extent, code) == 8, "attn_extent");
ATTN_STATIC_ASSERT(offsetof(attn_extent, text) == 16 && sizeof(attn_extent) == 24, "attn_extent");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, role) == 8, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, dtype) == 12, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, flags) == 16, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, step_axis) == 20, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, rank) == 24, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, shape) == 32, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, source) == 40, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_tensor_info, slot) == 48, "attn_tensor_info");
ATTN_STATIC_ASSERT(sizeof(attn_tensor_info) == 56, "attn_tensor_info");
ATTN_STATIC_ASSERT(offsetof(attn_check_info, rhs) == 24, "attn_check_info");
ATTN_STATIC_ASSERT(offsetof(attn_check_info, relation) == 48, "attn_check_info");
ATTN_STATIC_ASSERT(offsetof(attn_check_info, message) == 56, "attn_check_info");
ATTN_STATIC_ASSERT(sizeof(attn_check_info) == 64, "attn_check_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, name) == 8, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, n_dims) == 16, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, dim_names) == 24, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, n_tensors) == 32, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, tensors) == 40, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, n_checks) == 48, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, checks) == 56, "attn_model_info");
ATTN_STATIC_ASSERT(offsetof(attn_model_info, capacity) == 64, "attn_model_info");
ATTN_STATIC_ASSERT(sizeof(attn_model_info) == 72, "attn_model_info");

#ifdef __cplusplus
}
#endif

#endif
