/* lower_transpose.c: stores of neighbours in lanes.
 *
 * Where each lane stores as many elements side by side as there are lanes (a block of a matrix read
 * along its rows and stored along its columns), the vectors are transposed in registers and stored
 * whole, instead of being scattered element by element. */
#include "backend/lower.h"

/* e is *rest + the number that is given back. */
static int64_t offset(const kexpr *e, const kexpr **rest)
{
    bool sum = e->kind == KX_OP && e->op == OP_add && e->args[1]->kind == KX_CONST;
    *rest = e->kind == KX_CONST ? NULL : sum ? e->args[0] : e;
    return e->kind == KX_CONST ? e->i : sum ? e->args[1]->i : 0;
}

static bool is_next(const kexpr *first, const kexpr *e, int64_t by)
{
    const kexpr *x, *y;
    if (offset(e, &y) != offset(first, &x) + by || !x != !y)
        return false;
    return !x || low_same_expr(x, y);
}

/* y stores `by` elements behind x, in every lane. */
static bool is_neighbour(low *c, const kstmt *x, const kstmt *y, int64_t by)
{
    uint32_t last = x->n_index - 1;
    if (y->kind != KS_STORE || y->buf != x->buf || low_varies(c, x->index[last]) ||
        !is_next(x->index[last], y->index[last], by))
        return false;
    for (uint32_t i = 0; i < last; i++) {
        if (!low_same_expr(x->index[i], y->index[i]))
            return false;
    }
    return true;
}

static bool mentions(const kexpr *e, const kbuf *b)
{
    if (e->kind == KX_LOAD && e->buf == b)
        return true;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (mentions(e->args[i], b))
            return true;
    }
    return false;
}

/* In each step two vectors `far` apart swap the halves of each run of 2 * far elements. */
static void transpose(const lb *l, LLVMValueRef *v, unsigned n)
{
    LLVMValueRef *pick = ARENA_ARRAY(l->a, LLVMValueRef, 2 * (size_t)n);
    for (unsigned far = 1; far < n; far *= 2) {
        for (unsigned i = 0; i < n; i++) {
            bool upper = i & far;
            pick[i] = l_i32(l, upper ? n + i - far : i);
            pick[n + i] = l_i32(l, upper ? n + i : i + far);
        }
        for (unsigned i = 0; i < n; i++) {
            if (i & far)
                continue;
            LLVMValueRef x = v[i], y = v[i + far];
            v[i] = LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(pick, n), "");
            v[i + far] = LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(pick + n, n), "");
        }
    }
}

size_t low_lanes_transposed(low *c, const kblock *b, size_t first)
{
    lb *l = c->l;
    const unsigned n = c->lanes.n;
    const kstmt *s = b->s.v[first];
    if (c->lanes.mask || s->kind != KS_STORE || s->n_index == 0 || s->buf->role == KB_REG ||
        (n & (n - 1)) != 0 || b->s.n - first < n)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        const kstmt *x = b->s.v[first + i];
        if ((i && !is_neighbour(c, s, x, i)) || mentions(x->e, s->buf))
            return 0;
    }
    LLVMValueRef p, step;
    if (!low_lanes_place(c, s->buf, s->index, &p, &step))
        return 0;
    LLVMValueRef *v = ARENA_ARRAY(c->a, LLVMValueRef, n);
    for (unsigned i = 0; i < n; i++) {
        const kstmt *x = b->s.v[first + i];
        v[i] = l_to_store(l, s->buf->store, l_spread(l, low_expr(c, x->e), n), x->e->dt);
    }
    transpose(l, v, n);
    LLVMTypeRef ty = l_store_type(l, s->buf->store);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef at = l_gep(l, ty, p, l_bin(l, LLVMMul, step, l_i64(l, i)));
        LLVMValueRef access = l_store(l, v[i], at, (unsigned)store_table[s->buf->store].bytes);
        low_tag(c, s->buf, access, true);
    }
    return n;
}
