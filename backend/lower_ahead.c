/* lower_ahead.c: memory that is asked for early. Within a loop that says `ahead n` a load of whole
 * vectors asks for the line that the same load reads n steps later. Nothing is read, so the address
 * may lie outside of the buffer; what its index is computed from must not. */
#include "backend/lower.h"

/* How e goes with v: 0 not at all, 1 by sums and products, 2 otherwise. */
static int goes_with(const kexpr *e, const kvar *v)
{
    if (e->kind == KX_VAR)
        return e->var == v;
    bool plain = e->kind == KX_OP && (e->op == OP_add || e->op == OP_sub || e->op == OP_mul);
    int most = 0;
    for (uint32_t i = 0; i < e->n_args; i++) {
        int how = goes_with(e->args[i], v);
        most = how > most ? how : most;
    }
    return most && !plain ? 2 : most;
}

static bool is_new(low *c, const kexpr *e)
{
    for (size_t i = 0; i < c->ahead.seen.n; i++) {
        if (low_same_expr(c->ahead.seen.v[i], e))
            return false;
    }
    vec_push(c->a, &c->ahead.seen, e);
    return true;
}

void low_fetch(low *c, const kexpr *e)
{
    lb *l = c->l;
    const kstmt *loop = c->ahead.loop;
    int how = 0;
    if (!loop || c->lanes.mask || e->buf->role == KB_LOCAL || e->buf->role == KB_REG ||
        e->buf->n_family)
        return;
    for (uint32_t i = 0; i < e->n_args; i++) {
        int some = goes_with(e->args[i], loop->var);
        how = some > how ? some : how;
    }
    if (how != 1 || !is_new(c, e))
        return;
    low_var *v = &c->var[loop->var->id], now = *v;
    int64_t far = loop->ahead * loop->step;
    LLVMValueRef p, step;
    low_new_statement(c); /* nothing known here holds there, or the other way round */
    v->v = l_bin(l, LLVMAdd, now.v, l_i64(l, loop->down ? -far : far));
    c->ahead.far = true;
    low_lanes_place(c, e->buf, e->args, &p, &step);
    c->ahead.far = false;
    *v = now;
    low_new_statement(c);
    LLVMValueRef args[] = {p, l_i32(l, 0), l_i32(l, 3), l_i32(l, 1)}; /* to read, near, data */
    l_intrinsic(l, "llvm.prefetch", l->ptr, args, 4);
}
