/* lower_lanes.c: statements and buffer elements in lanes: several iterations of a vector loop at a
 * time.
 *
 * A value that is the same in all lanes stays a scalar (l_build.h spreads it where it meets a
 * vector). An int that grows by the same amount from lane to lane is kept as that: indices are
 * computed for lane 0, and the elements lie side by side, or a stride apart. */
#include "backend/lower.h"

/* ---- Ints that grow with the lane
 * ---------------------------------------------------------------- */

static LLVMValueRef step_sum(const lb *l, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y)
{
    if (!y)
        return x;
    return l_bin(l, op, x ? x : l_i64(l, 0), y);
}

static bool affine_op(low *c, const kexpr *e, low_affine *out)
{
    const lb *l = c->l;
    low_affine x, y;
    if (e->kind != KX_OP)
        return false;
    if (e->op != OP_add && e->op != OP_sub && e->op != OP_mul)
        return false;
    if (!low_affine_of(c, e->args[0], &x) || !low_affine_of(c, e->args[1], &y))
        return false;
    if (e->op != OP_mul) {
        LLVMOpcode op = e->op == OP_add ? LLVMAdd : LLVMSub;
        *out = (low_affine){l_bin(l, op, x.base, y.base), step_sum(l, op, x.step, y.step)};
        return true;
    }
    if (x.step && y.step)
        return false;
    LLVMValueRef step =
        x.step ? l_bin(l, LLVMMul, x.step, y.base) : l_bin(l, LLVMMul, y.step, x.base);
    *out = (low_affine){l_bin(l, LLVMMul, x.base, y.base), step};
    return true;
}

bool low_affine_of(low *c, const kexpr *e, low_affine *out)
{
    if (e->dt != DT_I64)
        return false;
    if (!low_varies(c, e)) {
        *out = (low_affine){low_expr(c, e), NULL};
        return true;
    }
    if (e->kind == KX_VAR) {
        const low_var *v = &c->var[e->var->id];
        *out = (low_affine){v->v, v->step};
        return v->step != NULL;
    }
    low_affine *known = ptr_map_at(&c->affine, e)->value;
    if (!known) {
        low_affine made = {NULL, NULL};
        bool is = affine_op(c, e, &made);
        known = ARENA_NEW(c->a, low_affine);
        *known = is ? made : (low_affine){NULL, NULL};
        ptr_map_at(&c->affine, e)->value = known;
        vec_push(c->a, &c->undo, ((low_memo){e, true}));
    }
    *out = *known;
    return known->base != NULL;
}

LLVMValueRef low_lanes_of(low *c, const low_affine *f)
{
    const lb *l = c->l;
    if (!f->step)
        return f->base;
    LLVMValueRef i = l_iota(l, l->i64, c->lanes.n);
    return l_bin(l, LLVMAdd, f->base, l_bin(l, LLVMMul, i, f->step));
}

/* ---- Elements
 * ------------------------------------------------------------------------------------ */

/* p: of lane 0, or of each lane. step: the elements between lanes, NULL where they share one. */
typedef struct lane_place {
    LLVMValueRef p, step;
} lane_place;

static LLVMValueRef scaled(const lb *l, LLVMValueRef x, LLVMValueRef stride)
{
    return stride ? l_bin(l, LLVMMul, x, stride) : x;
}

/* Where lanes are off the address means nothing, so it is not said to be inside of anything; nor is
 * one that is asked for ahead. */
static LLVMValueRef at(low *c, LLVMTypeRef ty, LLVMValueRef base, LLVMValueRef index)
{
    if (!c->lanes.mask && !c->ahead.far)
        return l_gep(c->l, ty, base, index);
    return LLVMBuildGEP2(c->l->b, ty, base, &index, 1, "");
}

static lane_place place_of(low *c, const kbuf *b, const kexpr *const *index)
{
    lb *l = c->l;
    LLVMTypeRef ty = l_store_type(l, b->store);
    LLVMValueRef *family = ARENA_ARRAY(c->a, LLVMValueRef, b->n_family + 1);
    for (uint32_t i = 0; i < b->n_family; i++)
        family[i] = low_expr(c, index[i]);
    LLVMValueRef base = low_base(c, b, family), first = NULL, step = NULL, other = NULL;
    for (uint32_t i = b->n_family; i < b->rank; i++) {
        LLVMValueRef stride = c->stride[b->id][i - b->n_family];
        low_affine f;
        if (low_affine_of(c, index[i], &f)) {
            LLVMValueRef part = scaled(l, f.base, stride);
            first = first ? l_bin(l, LLVMAdd, first, part) : part;
            if (f.step)
                step = step_sum(l, LLVMAdd, step, scaled(l, f.step, stride));
        } else {
            LLVMValueRef part = scaled(l, low_expr(c, index[i]), stride);
            other = other ? l_bin(l, LLVMAdd, other, part) : part;
        }
    }
    if (step && LLVMIsNull(step))
        step = NULL;
    if (!other)
        return (lane_place){first ? at(c, ty, base, first) : base, step};
    if (first)
        other = l_bin(l, LLVMAdd, other, low_lanes_of(c, &(low_affine){first, step}));
    return (lane_place){at(c, ty, base, other), NULL};
}

static bool is_int(LLVMValueRef step, int64_t n)
{
    return step && LLVMIsAConstantInt(step) && LLVMConstIntGetSExtValue(step) == n;
}

/* The pointers of all lanes. */
static LLVMValueRef pointers(low *c, LLVMTypeRef ty, const lane_place *w)
{
    if (l_lanes(w->p) > 1)
        return w->p;
    const lb *l = c->l;
    LLVMValueRef i = l_bin(l, LLVMMul, l_iota(l, l->i64, c->lanes.n), w->step);
    return at(c, ty, w->p, i);
}

/* One element for all lanes, only read where a lane is on. */
static LLVMValueRef load_one(low *c, const kbuf *b, LLVMTypeRef ty, LLVMValueRef p, unsigned align)
{
    lb *l = c->l;
    if (!c->lanes.maybe_none)
        return low_tag(c, b, l_load(l, ty, p, align), false);
    LLVMBasicBlockRef from[2] = {l_here(l), NULL};
    LLVMBasicBlockRef end = l_if(l, l_any(l, c->lanes.mask));
    LLVMValueRef v[] = {LLVMConstNull(ty), low_tag(c, b, l_load(l, ty, p, align), false)};
    from[1] = l_here(l);
    l_end_if(l, end);
    LLVMValueRef phi = LLVMBuildPhi(l->b, ty, "");
    LLVMAddIncoming(phi, v, from, 2);
    return phi;
}

static LLVMValueRef reversed(const lb *l, LLVMValueRef v)
{
    unsigned n = l_lanes(v);
    LLVMValueRef *order = ARENA_ARRAY(l->a, LLVMValueRef, n);
    for (unsigned i = 0; i < n; i++)
        order[i] = l_i32(l, n - 1 - i);
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(order, n),
                                  "");
}

LLVMValueRef low_lanes_load(low *c, const kexpr *e)
{
    lb *l = c->l;
    const kbuf *b = e->buf;
    unsigned n = c->lanes.n, align = (unsigned)store_table[b->store].bytes;
    LLVMTypeRef ty = l_store_type(l, b->store), wide = l_wide(ty, n);
    lane_place w = place_of(c, b, e->args);
    LLVMValueRef mask = c->lanes.mask, v;
    if (!w.step && l_lanes(w.p) == 1) {
        v = load_one(c, b, ty, w.p, align);
    } else if (is_int(w.step, 1)) {
        low_fetch(c, e);
        v = mask ? l_masked_load(l, wide, w.p, mask, align) : l_load(l, wide, w.p, align);
        low_tag(c, b, v, false);
    } else if (is_int(w.step, -1) && !mask) {
        LLVMValueRef last = l_gep(l, ty, w.p, l_i64(l, 1 - (int64_t)n));
        v = reversed(l, low_tag(c, b, l_load(l, wide, last, align), false));
    } else {
        v = low_tag(c, b, l_gather(l, wide, pointers(c, ty, &w), mask, align), false);
    }
    return l_from_store(l, b->store, v, e->dt);
}

/* ---- Statements
 * ---------------------------------------------------------------------------------- */

bool low_lanes_place(low *c, const kbuf *b, const kexpr *const *index, LLVMValueRef *p,
                     LLVMValueRef *step)
{
    lane_place w = place_of(c, b, index);
    *p = w.p;
    *step = w.step;
    return w.step && l_lanes(w.p) == 1;
}

void low_lanes_store(low *c, const kstmt *s)
{
    lb *l = c->l;
    const kbuf *b = s->buf;
    unsigned align = (unsigned)store_table[b->store].bytes;
    lane_place w = place_of(c, b, s->index);
    if (!w.step && l_lanes(w.p) == 1) {
        low_sums_add(c, s);
        return;
    }
    LLVMValueRef v = l_spread(l, low_update(c, s), c->lanes.n), mask = c->lanes.mask;
    v = l_to_store(l, b->store, v, s->e->dt);
    LLVMValueRef access;
    if (is_int(w.step, 1))
        access = mask ? l_masked_store(l, v, w.p, mask, align) : l_store(l, v, w.p, align);
    else
        access = l_scatter(l, v, pointers(c, l_store_type(l, b->store), &w), mask, align);
    low_tag(c, b, access, true);
}

/* `let` and `var`. A variable has a value in each lane, since it may be set so later. */
void low_lanes_define(low *c, const kstmt *s)
{
    lb *l = c->l;
    low_var *slot = &c->var[s->var->id];
    if (s->kind == KS_VAR) {
        LLVMTypeRef ty = l_wide(l_type(l, s->var->dt), c->lanes.n);
        if (!slot->v || LLVMGetAllocatedType(slot->v) != ty)
            *slot = (low_var){l_alloca(l, ty, s->var->name), true, NULL};
        LLVMBuildStore(l->b, l_spread(l, low_expr(c, s->e), c->lanes.n), slot->v);
        return;
    }
    low_affine f;
    if (low_affine_of(c, s->e, &f))
        *slot = (low_var){f.base, false, f.step};
    else
        *slot = (low_var){low_expr(c, s->e), false, NULL};
}

void low_lanes_set(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef place = c->var[s->var->id].v;
    LLVMTypeRef ty = LLVMGetAllocatedType(place);
    if (LLVMGetTypeKind(ty) != LLVMVectorTypeKind) {
        low_sums_add(c, s);
        return;
    }
    LLVMValueRef v = l_spread(l, low_update(c, s), c->lanes.n);
    /* What a lane behind the end holds matters to nobody. */
    if (c->lanes.mask != c->lanes.tail)
        v = l_select(l, c->lanes.mask, v, LLVMBuildLoad2(l->b, ty, place, ""));
    LLVMBuildStore(l->b, v, place);
}

/* A block in the lanes where `on`; passed over where there is none. */
static void masked_block(low *c, LLVMValueRef on, const kblock *b)
{
    lb *l = c->l;
    if (b->s.n == 0)
        return;
    low_lanes saved = c->lanes;
    c->lanes.mask = l_mask_and(l, saved.mask, on);
    c->lanes.maybe_none = false;
    LLVMBasicBlockRef end = l_if(l, l_any(l, c->lanes.mask));
    low_block(c, b);
    l_end_if(l, end);
    c->lanes = saved;
}

void low_lanes_if(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef on = low_expr(c, s->e);
    low_new_statement(c);
    if (l_lanes(on) > 1) {
        masked_block(c, on, &s->body);
        masked_block(c, l_not(l, on), &s->other);
        return;
    }
    LLVMBasicBlockRef yes = l_block(l, "then"), no = l_block(l, "else"), end = l_block(l, "endif");
    l_cond(l, on, yes, no);
    l_at(l, yes);
    low_block(c, &s->body);
    l_br(l, end);
    l_at(l, no);
    low_block(c, &s->other);
    l_br(l, end);
    l_at(l, end);
}

void low_lanes_check(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef bad = l_spread(l, l_not(l, low_expr(c, s->e)), c->lanes.n);
    bad = l_mask_and(l, c->lanes.mask, bad);
    LLVMValueRef flag = c->flag[s->status];
    LLVMValueRef before = LLVMBuildLoad2(l->b, l->i32, flag, "");
    LLVMBuildStore(l->b, l_select(l, l_any(l, bad), l_i32(l, 1), before), flag);
}
