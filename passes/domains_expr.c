/* domains_expr.c: kernel expressions that fold as they are made, and ints that know how large they
 * can be. */
#include <string.h>

#include "passes/domains_internal.h"
#include "passes/fold_ints.h"

#define OFFSET_LIMIT ((int64_t)1 << 61)
#define MAG_LIMIT    4611686018427387904.0 /* 2^62 */

/* --- folding --- */

bool dx_same(const kexpr *x, const kexpr *y)
{
    if (x == y)
        return true;
    if (x->kind != y->kind || x->dt != y->dt || x->n_args != y->n_args || x->op != y->op)
        return false;
    if (x->kind == KX_CONST)
        return x->i == y->i && memcmp(&x->f, &y->f, sizeof x->f) == 0;
    if (x->dim != y->dim || x->var != y->var || x->buf != y->buf || x->kind == KX_LOAD)
        return false;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!dx_same(x->args[i], y->args[i]))
            return false;
    }
    return true;
}

static bool is_const(const kexpr *e)
{
    return e->kind == KX_CONST && (e->dt == DT_I64 || e->dt == DT_BOOL);
}

static bool is_int(const kexpr *e, int64_t i)
{
    return e->kind == KX_CONST && e->dt == DT_I64 && e->i == i;
}

bool dx_is_bool(const kexpr *e, bool x)
{
    return e->kind == KX_CONST && e->dt == DT_BOOL && e->i == x;
}

const kexpr *dx_int(box *b, int64_t i)
{
    return kx_int(b->h->k, i);
}

const kexpr *dx_bool(box *b, bool x)
{
    return kx_bool(b->h->k, x);
}

/* What it gives is a truth value and no int. */
static bool is_truth(op_id op)
{
    return op_table[op].sig == SIG_CMP || op_table[op].sig == SIG_BOOL;
}

/* Both operands are constants; false where the result is none. Of divisions only those that
 * intervals are made of. */
static bool fold(op_id op, int64_t x, int64_t y, int64_t *out)
{
    return ((op != OP_idiv && op != OP_imod) || y > 0) && fold_ints(op, x, y, out);
}

static const kexpr *fold_logic(box *b, op_id op, const kexpr *x, const kexpr *y)
{
    bool absorbs = op == OP_or;
    if (dx_is_bool(x, absorbs) || dx_is_bool(y, absorbs))
        return dx_bool(b, absorbs);
    if (dx_is_bool(x, !absorbs) || dx_same(x, y))
        return y;
    return dx_is_bool(y, !absorbs) ? x : NULL;
}

static const kexpr *fold_same(box *b, op_id op, const kexpr *x, const kexpr *y)
{
    if (x->dt != DT_I64 || !dx_same(x, y))
        return NULL;
    switch (op) {
    case OP_max:
    case OP_min:
        return x;
    case OP_le:
    case OP_eq:
        return dx_bool(b, true);
    case OP_lt:
        return dx_bool(b, false);
    case OP_sub:
        return dx_int(b, 0);
    default:
        return NULL;
    }
}

const kexpr *dx(box *b, op_id op, const kexpr *x, const kexpr *y)
{
    const kexpr *e = NULL;
    int64_t i;
    if (is_const(x) && is_const(y) && fold(op, x->i, y->i, &i))
        return is_truth(op) ? dx_bool(b, i != 0) : dx_int(b, i);
    if (op == OP_and || op == OP_or)
        e = fold_logic(b, op, x, y);
    else if (x->dt == DT_I64)
        e = fold_same(b, op, x, y);
    if (e)
        return e;
    if (op == OP_add && is_int(x, 0))
        return y;
    if ((op == OP_add || op == OP_sub) && is_int(y, 0))
        return x;
    if ((op == OP_mul || op == OP_idiv) && is_int(y, 1))
        return x;
    if (op == OP_mul && is_int(x, 1))
        return y;
    return kx_op(b->h->k, op, (const kexpr *const[]){x, y});
}

const kexpr *dx_not(box *b, const kexpr *x)
{
    if (x->kind == KX_CONST)
        return dx_bool(b, x->i == 0);
    return kx_op(b->h->k, OP_not, &x);
}

const kexpr *dx_select(box *b, const kexpr *c, const kexpr *x, const kexpr *y)
{
    if (c->kind == KX_CONST)
        return c->i ? x : y;
    if (dx_same(x, y))
        return x;
    return kx_op(b->h->k, OP_select, (const kexpr *const[]){c, x, y});
}

const kexpr *dx_hold(box *b, const kexpr *e, const char *name)
{
    if (!b->h->hold || e->kind == KX_CONST || e->kind == KX_DIM || e->kind == KX_VAR)
        return e;
    return b->h->hold(b->h->ctx, e, name);
}

void need(box *b, const kexpr *condition)
{
    b->ok = b->ok ? dx(b, OP_and, b->ok, condition) : condition;
}

/* --- ints --- */

num num_const(int64_t i)
{
    return (num){.off = i};
}

num num_of(const kexpr *e, double mag)
{
    if (e->kind == KX_CONST && e->i > -OFFSET_LIMIT && e->i < OFFSET_LIMIT)
        return num_const(e->i);
    return (num){.e = e, .mag = mag};
}

static double size_of(num x)
{
    return x.mag + (x.off < 0 ? -(double)x.off : (double)x.off);
}

/* What x op y must not do when the kernel runs. */
static void need_fit(box *b, op_id op, const kexpr *x, const kexpr *y, double mag)
{
    if (mag < 2 * MAG_LIMIT)
        return;
    const kexpr *wraps = kx_overflow(b->h->k, op, (const kexpr *const[]){x, y});
    need(b, dx_not(b, wraps));
}

const kexpr *num_expr(box *b, num x)
{
    if (!x.e)
        return dx_int(b, x.off);
    if (x.off == 0)
        return x.e;
    op_id op = x.off < 0 ? OP_sub : OP_add;
    const kexpr *off = dx_int(b, x.off < 0 ? -x.off : x.off);
    need_fit(b, op, x.e, off, size_of(x));
    return dx(b, op, x.e, off);
}

static num with_offset(box *b, num x, int64_t by)
{
    if (__builtin_add_overflow(x.off, by, &x.off) || x.off <= -OFFSET_LIMIT ||
        x.off >= OFFSET_LIMIT)
        b->failed = true;
    return x;
}

static num combine(box *b, op_id op, num x, num y)
{
    double mag = x.mag + y.mag;
    need_fit(b, op, x.e, y.e, mag);
    if (mag > 2 * MAG_LIMIT) /* ... and then it is an int */
        mag = 2 * MAG_LIMIT;
    return num_of(dx(b, op, x.e, y.e), mag);
}

num num_add(box *b, num x, num y)
{
    if (!x.e)
        return with_offset(b, y, x.off);
    if (!y.e)
        return with_offset(b, x, y.off);
    return with_offset(b, with_offset(b, combine(b, OP_add, x, y), x.off), y.off);
}

num num_neg(box *b, num x)
{
    int64_t off = -x.off;
    if (!x.e)
        return num_const(off);
    if (x.e->kind == KX_OP && x.e->op == OP_sub) { /* a - b: b - a */
        num y = {.e = dx(b, OP_sub, x.e->args[1], x.e->args[0]), .mag = x.mag};
        need_fit(b, OP_sub, x.e->args[1], x.e->args[0], x.mag);
        return with_offset(b, y, off);
    }
    num zero = {.e = dx_int(b, 0)};
    return with_offset(b, combine(b, OP_sub, zero, x), off);
}

num num_scale(box *b, num x, int64_t by)
{
    if (by == 1)
        return x;
    if (by == -1)
        return num_neg(b, x);
    return num_mul(b, x, num_const(by));
}

num num_mul(box *b, num x, num y)
{
    int64_t c;
    if (!x.e && !y.e) {
        if (__builtin_mul_overflow(x.off, y.off, &c))
            b->failed = true;
        return b->failed ? x : with_offset(b, num_const(0), c);
    }
    double mag = size_of(x) * size_of(y);
    const kexpr *p = num_expr(b, x), *q = num_expr(b, y);
    need_fit(b, OP_mul, p, q, mag);
    return num_of(dx(b, OP_mul, p, q), mag < 2 * MAG_LIMIT ? mag : 2 * MAG_LIMIT);
}

num positive_num(box *b, num x)
{
    if (!x.e)
        return x;
    const kexpr *e = num_expr(b, x);
    need(b, dx(b, OP_lt, dx_int(b, 0), e));
    return num_of(dx_hold(b, dx(b, OP_max, e, dx_int(b, 1)), "by"), size_of(x));
}

num num_floor(box *b, num x, num by)
{
    double mag = size_of(x);
    return num_of(dx(b, OP_idiv, num_expr(b, x), num_expr(b, by)), mag);
}

static num choose(box *b, op_id op, num x, num y)
{
    if (!x.e && !y.e)
        return (x.off < y.off) == (op == OP_min) ? x : y;
    double mag = size_of(x) > size_of(y) ? size_of(x) : size_of(y);
    return num_of(dx(b, op, num_expr(b, x), num_expr(b, y)), mag);
}

num num_least(box *b, num x, num y)
{
    return choose(b, OP_min, x, y);
}

num num_greatest(box *b, num x, num y)
{
    return choose(b, OP_max, x, y);
}

/* Symbols are at most 2^40. */
double dim_size(const dim *d)
{
    double all = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        double one = (double)d->terms[i].coef;
        one = one < 0 ? -one : one;
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            bool sym = d->terms[i].atoms[k]->kind == ATOM_SYM;
            one *= sym ? (double)DIM_LIMIT : 2 * MAG_LIMIT;
        }
        all += one;
    }
    return all < 2 * MAG_LIMIT ? all : 2 * MAG_LIMIT; /* it is an int */
}

/* No axis has more than 2^62 elements. */
double index_size(const ix *i)
{
    double all = dim_size(i->extent);
    return all < MAG_LIMIT ? all : MAG_LIMIT;
}
