/* lower_sums.c: the reductions of a vector loop.
 *
 * Each has partial results: one per lane, and several vectors of them where the loop takes several
 * chunks at a time, so that one addition need not wait for the one before. They begin with the
 * operand that changes nothing, and are put together behind the loop in an order that depends on
 * the target alone. */
#include <math.h>

#include "backend/lower.h"

typedef struct lane_sum {
    const kstmt *s;  /* one of the statements that reduce it */
    LLVMValueRef at; /* of an element: its place in the buffer */
    unsigned turn;
    LLVMValueRef partial; /* memory for a vector */
} lane_sum;

struct lane_sums {
    LLVMBasicBlockRef before;
    unsigned turn;
    VEC(lane_sum) v;
};

lane_sums *low_sums_new(low *c, LLVMBasicBlockRef before)
{
    lane_sums *s = ARENA_NEW(c->a, lane_sums);
    *s = (lane_sums){.before = before};
    return s;
}

void low_sums_turn(lane_sums *s, unsigned turn)
{
    s->turn = turn;
}

/* The operand that changes nothing. */
static LLVMValueRef neutral(const lb *l, op_id op, dtype dt)
{
    bool real = dt == DT_F32 || dt == DT_F64;
    LLVMTypeRef ty = l_type(l, dt);
    switch (op) {
    case OP_add: /* not -0.0: a sum of nothing is 0.0 */
        return real ? l_real(ty, 0) : l_i64(l, 0);
    case OP_mul:
        return real ? l_real(ty, 1) : l_i64(l, 1);
    case OP_max:
        return real ? l_real(ty, -INFINITY) : l_i64(l, INT64_MIN);
    case OP_min:
        return real ? l_real(ty, INFINITY) : l_i64(l, INT64_MAX);
    case OP_and:
        return l_i1(l, true);
    case OP_or:
        return l_i1(l, false);
    default:
        ice("%s is no reduction", op_table[op].text);
    }
}

/* The place of a reduction's element in its buffer, computed in front of the loop. */
static LLVMValueRef element(low *c, const kstmt *s, LLVMBasicBlockRef before)
{
    lb *l = c->l;
    LLVMBasicBlockRef here = l_here(l);
    low_lanes saved = c->lanes;
    c->lanes = (low_lanes){.n = 1};
    low_new_statement(c); /* nothing known here holds there, or the other way round */
    l_at(l, before);
    LLVMValueRef at = l_i64(l, 0);
    for (uint32_t i = 0; i < s->n_index; i++) {
        LLVMValueRef stride = c->stride[s->buf->id][i], x = low_expr(c, s->index[i]);
        at = l_bin(l, LLVMAdd, at, stride ? l_bin(l, LLVMMul, x, stride) : x);
    }
    low_new_statement(c);
    l_at(l, here);
    c->lanes = saved;
    return at;
}

static bool is_same(const lane_sum *x, const kstmt *s, LLVMValueRef at)
{
    if (x->s->kind != s->kind)
        return false;
    if (s->kind == KS_SET)
        return x->s->var == s->var;
    /* Constants are unique; of places that move there is one (lower_plan.c). */
    return x->s->buf == s->buf && (x->at == at || !LLVMIsConstant(at));
}

static lane_sum *find(low *c, const kstmt *s)
{
    lb *l = c->l;
    lane_sums *all = c->lanes.sums;
    LLVMValueRef at = s->kind == KS_STORE ? element(c, s, all->before) : NULL;
    LLVMTypeRef ty = l_wide(l_type(l, s->e->dt), c->lanes.n);
    for (size_t i = 0; i < all->v.n; i++) {
        lane_sum *x = &all->v.v[i];
        if (is_same(x, s, at) && x->turn == all->turn && LLVMGetAllocatedType(x->partial) == ty)
            return x;
    }
    LLVMValueRef partial = l_alloca(l, ty, "partial");
    LLVMBasicBlockRef here = l_here(l);
    l_at(l, all->before);
    LLVMBuildStore(l->b, l_spread(l, neutral(l, s->e->op, s->e->dt), c->lanes.n), partial);
    l_at(l, here);
    vec_push(c->a, &all->v, ((lane_sum){s, at, all->turn, partial}));
    return &all->v.v[all->v.n - 1];
}

static LLVMValueRef combine(low *c, const kstmt *s, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef args[] = {x, y};
    LLVMValueRef r = low_op(c, s->e->op, args, s->e);
    bool real = s->e->dt == DT_F32 || s->e->dt == DT_F64;
    return real && (s->e->op == OP_add || s->e->op == OP_mul) ? l_fuse_flags(r) : r;
}

void low_sums_add(low *c, const kstmt *s)
{
    lb *l = c->l;
    const kexpr *x = low_reduced(s);
    LLVMValueRef partial = find(c, s)->partial;
    LLVMTypeRef ty = LLVMGetAllocatedType(partial);
    bool sum = (s->e->dt == DT_F32 || s->e->dt == DT_F64) && s->e->op == OP_add;
    LLVMValueRef term = sum ? low_sum_term(c, x) : low_expr(c, x);
    LLVMValueRef old = LLVMBuildLoad2(l->b, ty, partial, "");
    LLVMValueRef r = combine(c, s, old, term);
    if (c->lanes.mask)
        r = l_select(l, c->lanes.mask, r, old);
    LLVMBuildStore(l->b, r, partial);
}

/* All lanes of v in one. */
static LLVMValueRef across(low *c, const kstmt *s, LLVMValueRef v)
{
    while (l_lanes(v) > 1)
        v = combine(c, s, l_half(c->l, v, false), l_half(c->l, v, true));
    return v;
}

/* The partial results of one target, from number `first` on, which are taken out. */
static LLVMValueRef total(low *c, lane_sums *all, size_t first, bool *done)
{
    lb *l = c->l;
    const lane_sum *x = &all->v.v[first];
    VEC(LLVMValueRef) v = {0};
    LLVMValueRef r = NULL;
    for (size_t i = first; i < all->v.n; i++) {
        const lane_sum *y = &all->v.v[i];
        if (done[i] || !is_same(y, x->s, x->at))
            continue;
        done[i] = true;
        LLVMValueRef p = LLVMBuildLoad2(l->b, LLVMGetAllocatedType(y->partial), y->partial, "");
        /* Narrower ones, of a rest, come last. */
        if (v.n > 0 && l_lanes(p) != l_lanes(v.v[0])) {
            p = across(c, x->s, p);
            r = r ? combine(c, x->s, r, p) : p;
        } else {
            vec_push(c->a, &v, p);
        }
    }
    for (; v.n > 1; v.n = (v.n + 1) / 2)
        for (size_t i = 0; i < v.n / 2; i++)
            v.v[i] = combine(c, x->s, v.v[i], v.v[v.n - 1 - i]);
    LLVMValueRef most = across(c, x->s, v.v[0]);
    return r ? combine(c, x->s, most, r) : most;
}

void low_sums_finish(low *c, lane_sums *all)
{
    lb *l = c->l;
    bool *done = ARENA_ARRAY(c->a, bool, all->v.n + 1);
    for (size_t i = 0; i < all->v.n; i++) {
        if (done[i])
            continue;
        const lane_sum x = all->v.v[i];
        const kstmt *s = x.s;
        LLVMValueRef r = total(c, all, i, done);
        if (s->kind == KS_SET) {
            LLVMBuildStore(l->b, combine(c, s, low_var_value(c, s->var), r), c->var[s->var->id].v);
            continue;
        }
        const kbuf *b = s->buf;
        LLVMTypeRef ty = l_store_type(l, b->store);
        unsigned align = (unsigned)store_table[b->store].bytes;
        LLVMValueRef p = l_gep(l, ty, c->buf[b->id], x.at);
        LLVMValueRef old = l_from_store(l, b->store, l_load(l, ty, p, align), s->e->dt);
        r = l_to_store(l, b->store, combine(c, s, old, r), s->e->dt);
        low_tag(c, b, l_store(l, r, p, align), true);
    }
}
