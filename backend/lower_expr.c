/* lower_expr.c: kernel expressions.
 *
 * An expression is a graph: a node used twice is computed once. What only one side of a select
 * needs and must not be computed in vain (a load, a division by what may be 0) stands behind a
 * branch; all else is computed and chosen from, which loops can do in vectors. */
#include "backend/lower.h"

enum { MAX_SPINE = 16 }; /* how deep a running sum may stand in its own update */

static LLVMValueRef compute(low *c, const kexpr *e);

/* ---- What has a value here
 * ----------------------------------------------------------------------- */

void low_forget_to(low *c, size_t mark)
{
    while (c->undo.n > mark) {
        low_memo m = c->undo.v[--c->undo.n];
        ptr_map_at(m.affine ? &c->affine : &c->memo, m.e)->value = NULL;
    }
}

void low_new_statement(low *c)
{
    low_forget_to(c, 0);
}

LLVMValueRef low_var_value(low *c, const kvar *v)
{
    low_var *s = &c->var[v->id];
    if (!s->v)
        ice("kernel @%s: %s is used before it has a value", c->k->name, v->name);
    if (s->in_memory)
        return LLVMBuildLoad2(c->l->b, LLVMGetAllocatedType(s->v), s->v, "");
    return s->step ? low_lanes_of(c, &(low_affine){s->v, s->step}) : s->v;
}

static LLVMValueRef constant(low *c, const kexpr *e)
{
    switch (e->dt) {
    case DT_F32:
    case DT_F64:
        return l_real(l_type(c->l, e->dt), e->f);
    case DT_I64:
        return l_i64(c->l, e->i);
    case DT_BOOL:
        return l_i1(c->l, e->i != 0);
    case DT_NONE:
        break;
    }
    ice("kernel @%s: a constant without a type", c->k->name);
}

LLVMValueRef low_expr(low *c, const kexpr *e)
{
    if (e->kind == KX_CONST)
        return constant(c, e);
    if (e->kind == KX_DIM)
        return low_dim(c, e->dim);
    LLVMValueRef known = ptr_map_at(&c->memo, e)->value;
    if (known)
        return known;
    LLVMValueRef v = compute(c, e);
    ptr_map_at(&c->memo, e)->value = v;
    vec_push(c->a, &c->undo, ((low_memo){e, false}));
    return v;
}

/* ---- Branches
 * ------------------------------------------------------------------------------------ */

static bool may_trap(const kexpr *e)
{
    if (e->kind == KX_LOAD)
        return true;
    if (e->kind != KX_OP || (e->op != OP_idiv && e->op != OP_imod))
        return false;
    const kexpr *by = e->args[1];
    return by->kind != KX_CONST || by->i == 0 || by->i == -1;
}

static bool guarded(low *c, const kexpr *e)
{
    void *const yes = (void *)(uintptr_t)1, *const no = (void *)(uintptr_t)2;
    ptr_entry *known = ptr_map_at(&c->guarded, e);
    if (known->value)
        return known->value == yes;
    bool r = may_trap(e);
    for (uint32_t i = 0; i < e->n_args && !r; i++)
        r = guarded(c, e->args[i]);
    ptr_map_at(&c->guarded, e)->value = r ? yes : no;
    return r;
}

/* One side of a branch, and the block it ends in. */
static LLVMValueRef side(low *c, LLVMBasicBlockRef *block, const kexpr *e, LLVMValueRef otherwise,
                         LLVMBasicBlockRef end, unsigned lanes)
{
    l_at(c->l, *block);
    size_t mark = c->undo.n;
    LLVMValueRef v = l_spread(c->l, e ? low_expr(c, e) : otherwise, lanes);
    low_forget_to(c, mark);
    *block = l_here(c->l);
    l_br(c->l, end);
    return v;
}

/* cond ? yes : no, where cond is the same in all lanes; a NULL side is the constant `otherwise`. */
static LLVMValueRef branch(low *c, LLVMValueRef cond, const kexpr *yes, const kexpr *no,
                           LLVMValueRef otherwise)
{
    lb *l = c->l;
    bool wide = (yes && low_varies(c, yes)) || (no && low_varies(c, no));
    unsigned lanes = wide ? c->lanes.n : 1;
    LLVMBasicBlockRef blocks[] = {l_block(l, "yes"), l_block(l, "no")}, end = l_block(l, "chosen");
    l_cond(l, cond, blocks[0], blocks[1]);
    LLVMValueRef v[] = {side(c, &blocks[0], yes, otherwise, end, lanes), NULL};
    v[1] = side(c, &blocks[1], no, otherwise, end, lanes);
    l_at(l, end);
    LLVMValueRef phi = LLVMBuildPhi(l->b, LLVMTypeOf(v[0]), "");
    LLVMAddIncoming(phi, v, blocks, 2);
    return phi;
}

/* e in the lanes where `on`: what must not be computed in vain is not, in the others. */
static LLVMValueRef masked_side(low *c, LLVMValueRef on, const kexpr *e, LLVMValueRef otherwise)
{
    if (!e)
        return otherwise;
    low_lanes saved = c->lanes;
    size_t mark = c->undo.n;
    c->lanes.mask = l_mask_and(c->l, saved.mask, on);
    c->lanes.maybe_none = true;
    LLVMValueRef v = low_expr(c, e);
    low_forget_to(c, mark);
    c->lanes = saved;
    return v;
}

/* The same where cond may differ between lanes. */
static LLVMValueRef choose(low *c, const kexpr *cond, const kexpr *yes, const kexpr *no,
                           LLVMValueRef otherwise)
{
    LLVMValueRef on = low_expr(c, cond);
    if (l_lanes(on) == 1)
        return branch(c, on, yes, no, otherwise);
    LLVMValueRef x = masked_side(c, on, yes, otherwise);
    LLVMValueRef y = masked_side(c, l_not(c->l, on), no, otherwise);
    return l_select(c->l, on, x, y);
}

/* The ops that need not look at all their operands, where that matters; NULL elsewhere. */
static LLVMValueRef lazily(low *c, const kexpr *e)
{
    const kexpr *const *x = e->args;
    switch (e->op) {
    case OP_select:
        return guarded(c, x[1]) || guarded(c, x[2]) ? choose(c, x[0], x[1], x[2], NULL) : NULL;
    case OP_and:
        return guarded(c, x[1]) ? choose(c, x[0], x[1], NULL, l_i1(c->l, false)) : NULL;
    case OP_or:
        return guarded(c, x[1]) ? choose(c, x[0], NULL, x[1], l_i1(c->l, true)) : NULL;
    default:
        return NULL;
    }
}

/* ---- Nodes
 * --------------------------------------------------------------------------------------- */

static LLVMValueRef compute(low *c, const kexpr *e)
{
    if (e->kind == KX_VAR)
        return low_var_value(c, e->var);
    if (e->kind == KX_GIVEN)
        return LLVMBuildIsNotNull(c->l->b, c->buf[e->buf->id], "");
    if (e->kind == KX_OP) {
        LLVMValueRef v = lazily(c, e);
        if (v)
            return v;
    }
    if (e->kind == KX_LOAD && c->lanes.n > 1)
        return low_lanes_load(c, e);
    LLVMValueRef *x = ARENA_ARRAY(c->a, LLVMValueRef, e->n_args + 1);
    for (uint32_t i = 0; i < e->n_args; i++)
        x[i] = low_expr(c, e->args[i]);
    switch (e->kind) {
    case KX_LOAD:
        return low_load(c, e->buf, x, e->dt);
    case KX_OP:
        return low_op(c, e->op, x, e);
    case KX_OVERFLOW:
        return low_overflows(c, e->op, x);
    default:
        ice("kernel @%s: an expression of kind %d", c->k->name, (int)e->kind);
    }
}

/* ---- Running sums
 * -------------------------------------------------------------------------------- */

/* Whether e is the old value of what s sets or stores to. */
static bool is_old(const kstmt *s, const kexpr *e)
{
    if (s->kind == KS_SET)
        return e->kind == KX_VAR && e->var == s->var;
    if (e->kind != KX_LOAD || e->buf != s->buf)
        return false;
    for (uint32_t i = 0; i < s->n_index; i++)
        if (!low_same_expr(e->args[i], s->index[i]))
            return false;
    return true;
}

/* Whether e is the old value plus and minus terms, perhaps scaled on the way. */
static bool on_spine(const kexpr *e, const kstmt *s, int depth)
{
    if (is_old(s, e))
        return true;
    if (e->kind != KX_OP || depth == 0)
        return false;
    if (e->op == OP_sub)
        return on_spine(e->args[0], s, depth - 1);
    return (e->op == OP_add || e->op == OP_mul) &&
           (on_spine(e->args[0], s, depth - 1) || on_spine(e->args[1], s, depth - 1));
}

static LLVMValueRef sum(low *c, const kstmt *s, const kexpr *e, int depth);

LLVMValueRef low_sum_term(low *c, const kexpr *e)
{
    if (e->kind != KX_OP || e->op != OP_mul)
        return low_expr(c, e);
    LLVMValueRef x = low_expr(c, e->args[0]), y = low_expr(c, e->args[1]);
    return l_sum_flags(l_bin(c->l, LLVMFMul, x, y));
}

static LLVMValueRef sum_part(low *c, const kstmt *s, const kexpr *e, int depth)
{
    return on_spine(e, s, depth) ? sum(c, s, e, depth) : low_sum_term(c, e);
}

/* A variable's sum may have several partial sums; what is stored in memory is only fused. */
static LLVMValueRef sum(low *c, const kstmt *s, const kexpr *e, int depth)
{
    if (is_old(s, e))
        return low_expr(c, e);
    LLVMOpcode op = e->op == OP_mul ? LLVMFMul : e->op == OP_add ? LLVMFAdd : LLVMFSub;
    LLVMValueRef x = sum_part(c, s, e->args[0], depth - 1);
    LLVMValueRef y = sum_part(c, s, e->args[1], depth - 1);
    LLVMValueRef r = l_bin(c->l, op, x, y);
    return s->kind == KS_SET ? l_sum_flags(r) : l_fuse_flags(r);
}

LLVMValueRef low_update(low *c, const kstmt *s)
{
    const kexpr *e = s->e;
    bool running = (e->dt == DT_F32 || e->dt == DT_F64) && e->kind == KX_OP &&
                   (e->op == OP_add || e->op == OP_sub) && on_spine(e, s, MAX_SPINE);
    return running ? sum(c, s, e, MAX_SPINE) : low_expr(c, e);
}
