/* lower_if.c: conditions.
 *
 * LLVM makes a vector loop of `acc = add(acc, cond ? x : 0.0)` but not, for reals, of
 * `if cond { acc = add(acc, x) }`. The two are the same number, so the second is built as the
 * first: only x is computed under the condition, and the update stands behind it. So it is for max
 * and min. */
#include "backend/lower.h"

#include <math.h>

/* ---- Which updates can stand behind
 * ------------------------------------------------------------------ */

static bool reads(ptr_map *seen, const kexpr *e, const kvar *v)
{
    if (e == NULL)
        return false;
    if (e->kind == KX_VAR)
        return e->var == v;
    if (e->n_args == 0)
        return false;
    ptr_entry *known = ptr_map_at(seen, e);
    if (known->value)
        return false; /* looked at before, without finding it */
    known->value = seen;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (reads(seen, e->args[i], v))
            return true;
    return false;
}

/* Whether a statement other than `except` reads or sets v. */
static bool uses(ptr_map *seen, const kblock *b, const kvar *v, const kstmt *except)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (s == except)
            continue;
        if (s->var == v || reads(seen, s->e, v) || reads(seen, s->lo, v) || reads(seen, s->hi, v))
            return true;
        for (uint32_t j = 0; j < s->n_index; j++)
            if (reads(seen, s->index[j], v))
                return true;
        if (uses(seen, &s->body, v, except) || uses(seen, &s->other, v, except))
            return true;
    }
    return false;
}

/* The operand that changes nothing. */
static double neutral(op_id op)
{
    switch (op) {
    case OP_add: /* not -0.0: sums begin with 0.0, and of nothing they stay so */
    case OP_sub:
        return 0.0;
    case OP_max:
        return -INFINITY;
    case OP_min:
        return INFINITY;
    default:
        ice("%s is no update", op_table[op].text);
    }
}

/* The x of `v = op(v, x)`, or NULL where the statement is none that can stand behind the condition.
 */
static const kexpr *operand(low *c, const kblock *b, const kstmt *s)
{
    const kexpr *e = s->e;
    if (s->kind != KS_SET || e->kind != KX_OP || (e->dt != DT_F32 && e->dt != DT_F64))
        return NULL;
    if (e->op != OP_add && e->op != OP_sub && e->op != OP_max && e->op != OP_min)
        return NULL;
    const kexpr *x = NULL;
    if (e->args[0]->kind == KX_VAR && e->args[0]->var == s->var)
        x = e->args[1];
    else if (e->op != OP_sub && e->args[1]->kind == KX_VAR && e->args[1]->var == s->var)
        x = e->args[0];
    ptr_map seen = {.a = c->a};
    if (!x || reads(&seen, x, s->var) || uses(&seen, b, s->var, s))
        return NULL;
    return x;
}

/* ---- Building
 * ---------------------------------------------------------------------------------------- */

typedef struct update {
    const kstmt *s;
    LLVMValueRef x;
} update;

/* All phis of a block come first. */
static void choose(low *c, update *u, LLVMBasicBlockRef *from)
{
    LLVMTypeRef ty = LLVMTypeOf(u->x);
    LLVMValueRef values[] = {u->x, l_real(ty, neutral(u->s->e->op))};
    u->x = LLVMBuildPhi(c->l->b, ty, "");
    LLVMAddIncoming(u->x, values, from, 2);
}

static void apply(low *c, const update *u)
{
    op_id op = u->s->e->op;
    LLVMValueRef args[] = {low_var_value(c, u->s->var), u->x};
    LLVMValueRef r = low_op(c, op, args, u->s->e);
    if (op == OP_add || op == OP_sub)
        l_sum_flags(r);
    LLVMBuildStore(c->l->b, r, c->var[u->s->var->id].v);
}

void low_if(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef cond = low_expr(c, s->e);
    low_new_statement(c);
    bool other = s->other.s.n > 0;
    LLVMBasicBlockRef from[2] = {l_block(l, "then"), l_here(l)}, end = l_block(l, "endif");
    LLVMBasicBlockRef no = other ? l_block(l, "else") : end;
    l_cond(l, cond, from[0], no);
    l_at(l, from[0]);
    VEC(update) late = {0};
    for (size_t i = 0; i < s->body.s.n;) {
        const kstmt *t = s->body.s.v[i];
        const kexpr *x = other ? NULL : operand(c, &s->body, t);
        if (!x) {
            i = low_next(c, &s->body, i);
            continue;
        }
        bool sum = t->e->op == OP_add || t->e->op == OP_sub;
        vec_push(c->a, &late, ((update){t, sum ? low_sum_term(c, x) : low_expr(c, x)}));
        low_new_statement(c);
        i++;
    }
    from[0] = l_here(l);
    l_br(l, end);
    if (other) {
        l_at(l, no);
        low_block(c, &s->other);
        l_br(l, end);
    }
    l_at(l, end);
    for (size_t i = 0; i < late.n; i++)
        choose(c, &late.v[i], from);
    for (size_t i = 0; i < late.n; i++)
        apply(c, &late.v[i]);
}
