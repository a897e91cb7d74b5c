/*
 * extent.c - the stack machine of axis sizes, over numbers and over linear forms of one dim.
 * Damaged programs are refused, never trusted.
 */
#include "extent.h"

#include "checked.h"

const char *attn_eval_text(attn_eval eval)
{
    switch (eval) {
    case ATTN_EVAL_OK:
        return "is defined";
    case ATTN_EVAL_OVERFLOW:
        return "overflows 64 bits";
    case ATTN_EVAL_ZERO:
        return "divides by zero";
    case ATTN_EVAL_REMAINDER:
        return "does not divide exactly";
    case ATTN_EVAL_MALFORMED:
        return "is damaged in the model's record";
    }
    return "?";
}

/* One instruction; false at the end or if the operand is missing (then *bad is set). */
static bool fetch(const attn_extent *extent, int64_t *at, int64_t *op, int64_t *operand, bool *bad)
{
    *bad = false;
    if (*at >= extent->n)
        return false;
    *op = extent->code[(*at)++];
    *operand = 0;
    if (*op == ATTN_OP_CONST || *op == ATTN_OP_DIM) {
        if (*at >= extent->n) {
            *bad = true;
            return false;
        }
        *operand = extent->code[(*at)++];
    }
    return true;
}

static attn_eval apply(int64_t op, int64_t a, int64_t b, int64_t *r)
{
    int64_t quotient;
    int64_t remainder;
    switch (op) {
    case ATTN_OP_ADD:
        return attn_add64(a, b, r) ? ATTN_EVAL_OK : ATTN_EVAL_OVERFLOW;
    case ATTN_OP_SUB:
        return attn_sub64(a, b, r) ? ATTN_EVAL_OK : ATTN_EVAL_OVERFLOW;
    case ATTN_OP_MUL:
        return attn_mul64(a, b, r) ? ATTN_EVAL_OK : ATTN_EVAL_OVERFLOW;
    case ATTN_OP_DIV:
    case ATTN_OP_EXACT:
    case ATTN_OP_MOD:
        if (b == 0)
            return ATTN_EVAL_ZERO;
        if (op == ATTN_OP_MOD && b == -1) {
            *r = 0;
            return ATTN_EVAL_OK;
        }
        if (!attn_div64(a, b, &quotient, &remainder))
            return ATTN_EVAL_OVERFLOW;
        if (op == ATTN_OP_EXACT && remainder != 0)
            return ATTN_EVAL_REMAINDER;
        *r = op == ATTN_OP_MOD ? remainder : quotient;
        return ATTN_EVAL_OK;
    case ATTN_OP_MAX:
        *r = a > b ? a : b;
        return ATTN_EVAL_OK;
    case ATTN_OP_MIN:
        *r = a < b ? a : b;
        return ATTN_EVAL_OK;
    default:
        return ATTN_EVAL_MALFORMED;
    }
}

attn_eval attn_extent_eval(const attn_extent *extent, const int64_t *dims, int64_t n_dims,
                           int64_t *result)
{
    int64_t stack[ATTN_EXTENT_STACK];
    int depth = 0;
    int64_t at = 0;
    int64_t op;
    int64_t operand;
    bool bad;
    while (fetch(extent, &at, &op, &operand, &bad)) {
        if (op == ATTN_OP_CONST || op == ATTN_OP_DIM) {
            if (depth == ATTN_EXTENT_STACK)
                return ATTN_EVAL_MALFORMED;
            if (op == ATTN_OP_DIM && (operand < 0 || operand >= n_dims))
                return ATTN_EVAL_MALFORMED;
            stack[depth++] = op == ATTN_OP_CONST ? operand : dims[operand];
            continue;
        }
        if (depth < 2)
            return ATTN_EVAL_MALFORMED;
        depth--;
        attn_eval eval = apply(op, stack[depth - 1], stack[depth], &stack[depth - 1]);
        if (eval != ATTN_EVAL_OK)
            return eval;
    }
    if (bad || depth != 1)
        return ATTN_EVAL_MALFORMED;
    *result = stack[0];
    return ATTN_EVAL_OK;
}

bool attn_extent_uses(const attn_extent *extent, int64_t dim)
{
    int64_t at = 0;
    int64_t op;
    int64_t operand;
    bool bad;
    while (fetch(extent, &at, &op, &operand, &bad))
        if (op == ATTN_OP_DIM && operand == dim)
            return true;
    return false;
}

int64_t attn_extent_single(const attn_extent *extent)
{
    return extent->n == 2 && extent->code[0] == ATTN_OP_DIM ? extent->code[1] : -1;
}

/* (a * x + b) / r with r > 0. */
typedef struct form {
    int64_t a;
    int64_t b;
    int64_t r;
} form;

/* A form without x whose value is an integer gets r = 1, so that the integer rules apply to it. */
static bool whole(form *f)
{
    if (f->a != 0 || f->b % f->r != 0)
        return false;
    f->b /= f->r;
    f->r = 1;
    return true;
}

static bool form_scale(form *f, int64_t by)
{
    return attn_mul64(f->a, by, &f->a) && attn_mul64(f->b, by, &f->b);
}

static bool form_divide(form *f, int64_t by)
{
    if (by == 0 || by == INT64_MIN)
        return false;
    if (by < 0) {
        if (!form_scale(f, -1))
            return false;
        by = -by;
    }
    return attn_mul64(f->r, by, &f->r);
}

static bool form_add(form *x, form y, int64_t sign)
{
    int64_t r;
    if (!form_scale(&y, sign))
        return false;
    if (x->r != y.r) {
        int64_t xr = x->r;
        if (!attn_mul64(x->r, y.r, &r) || !form_scale(x, y.r) || !form_scale(&y, xr))
            return false;
        x->r = r;
    }
    return attn_add64(x->a, y.a, &x->a) && attn_add64(x->b, y.b, &x->b);
}

static bool form_apply(int64_t op, form *x, form y)
{
    bool x_whole = whole(x);
    bool y_whole = whole(&y);
    if (x_whole && y_whole)
        return apply(op, x->b, y.b, &x->b) == ATTN_EVAL_OK;
    switch (op) {
    case ATTN_OP_ADD:
        return form_add(x, y, 1);
    case ATTN_OP_SUB:
        return form_add(x, y, -1);
    case ATTN_OP_MUL:
        if (x_whole) {
            form t = *x;
            *x = y;
            y = t;
        } else if (!y_whole) {
            return false;
        }
        return form_scale(x, y.b);
    case ATTN_OP_EXACT:
        return y_whole && form_divide(x, y.b);
    default:
        return false;
    }
}

bool attn_extent_affine(const attn_extent *extent, const int64_t *dims, int64_t n_dims, int64_t dim,
                        int64_t *a, int64_t *b, int64_t *r)
{
    form stack[ATTN_EXTENT_STACK];
    int depth = 0;
    int64_t at = 0;
    int64_t op;
    int64_t operand;
    bool bad;
    while (fetch(extent, &at, &op, &operand, &bad)) {
        if (op == ATTN_OP_CONST || op == ATTN_OP_DIM) {
            if (depth == ATTN_EXTENT_STACK)
                return false;
            if (op == ATTN_OP_DIM && (operand < 0 || operand >= n_dims))
                return false;
            if (op == ATTN_OP_DIM && operand == dim)
                stack[depth++] = (form){1, 0, 1};
            else
                stack[depth++] = (form){0, op == ATTN_OP_CONST ? operand : dims[operand], 1};
            continue;
        }
        if (depth < 2)
            return false;
        depth--;
        if (!form_apply(op, &stack[depth - 1], stack[depth]))
            return false;
    }
    if (bad || depth != 1)
        return false;
    *a = stack[0].a;
    *b = stack[0].b;
    *r = stack[0].r;
    return true;
}

attn_status attn_tensor_extent(const attn_tensor_info *tensor, const int64_t *dims, int64_t n_dims,
                               int64_t *shape, size_t *bytes)
{
    for (int64_t i = 0; i < tensor->rank; i++) {
        if (attn_extent_eval(&tensor->shape[i], dims, n_dims, &shape[i]) != ATTN_EVAL_OK)
            return ATTN_DIM;
        if (shape[i] < 0)
            return ATTN_DIM;
    }
    int64_t elements;
    if (!attn_shape_bytes(tensor->rank, shape, attn_dtype_size(tensor->dtype), &elements, bytes))
        return ATTN_DIM;
    return ATTN_OK;
}
