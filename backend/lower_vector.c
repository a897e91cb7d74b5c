/* lower_vector.c: vector loops, built as vector code here and not left to LLVM's vectoriser.
 *
 * With n iterations and W lanes: a small constant n is built straight, chunk by chunk, the rest in
 * ever narrower ones, so that `reg` buffers are indexed by constants. Any other n is a loop over
 * chunks and one more chunk under a mask. Which chunks there are depends on n and the target alone:
 * results are the same wherever the data lie. */
#include "backend/lower.h"

enum {
    MAX_STRAIGHT = 16,      /* chunks built straight where registers are indexed */
    MAX_STRAIGHT_PLAIN = 4, /* and where not */
    TURNS = 4               /* chunks at a time, of a loop that reduces */
};

typedef struct chunks {
    low *c;
    const kstmt *s;
    LLVMValueRef lo;    /* of the loop */
    LLVMValueRef count; /* of iterations, at least 0 */
} chunks;

/* Iterations t .. t + lanes. */
static void chunk(const chunks *h, LLVMValueRef t, unsigned lanes, LLVMValueRef mask, unsigned turn)
{
    low *c = h->c;
    lb *l = c->l;
    LLVMValueRef step = l_i64(l, h->s->step);
    LLVMValueRef first = l_bin(l, LLVMAdd, h->lo, l_bin(l, LLVMMul, t, step));
    low_lanes outer = c->lanes;
    c->lanes.n = lanes;
    c->lanes.mask = c->lanes.tail = mask;
    c->lanes.maybe_none = false;
    c->ahead.seen.n = 0;
    low_sums_turn(c->lanes.sums, turn);
    c->var[h->s->var->id] = (low_var){first, false, lanes > 1 ? step : NULL};
    low_block(c, &h->s->body);
    c->lanes = outer;
}

/* n iterations: whole chunks, then halves, quarters, ... and in the end one by one. */
static void straight(const chunks *h, int64_t n, unsigned lanes)
{
    lb *l = h->c->l;
    unsigned turn = 0;
    for (int64_t t = 0; t < n;) {
        while (lanes > n - t)
            lanes /= 2;
        chunk(h, l_i64(l, t), lanes, NULL, turn++ % TURNS);
        t += lanes;
    }
}

/* Whole chunks from t on, `turns` at a time; where they end. */
static LLVMValueRef loop(const chunks *h, LLVMValueRef t, unsigned lanes, unsigned turns)
{
    lb *l = h->c->l;
    int64_t width = (int64_t)lanes * turns;
    LLVMValueRef end = l_bin(l, LLVMAnd, h->count, l_i64(l, -width));
    l_loop loop = l_for(l, t, end, width, false, h->s->var->name);
    for (unsigned i = 0; i < turns; i++)
        chunk(h, i ? l_add(l, loop.i, l_i64(l, (int64_t)lanes * i)) : loop.i, lanes, NULL, i);
    l_end_for(l, &loop, false);
    return end;
}

static void general(const chunks *h, unsigned lanes, bool reduces)
{
    lb *l = h->c->l;
    LLVMValueRef t = l_i64(l, 0);
    if (reduces)
        t = loop(h, t, lanes, TURNS);
    t = loop(h, t, lanes, 1);
    LLVMValueRef rest = l_bin(l, LLVMSub, h->count, t);
    LLVMBasicBlockRef end = l_if(l, l_icmp(l, LLVMIntSGT, rest, l_i64(l, 0)));
    LLVMValueRef on =
        l_icmp(l, LLVMIntULT, l_iota(l, l->i32, lanes), l_cast(l, LLVMTrunc, rest, l->i32));
    chunk(h, t, lanes, on, 0);
    l_end_if(l, end);
}

bool low_vector(low *c, const kstmt *s, LLVMValueRef lo, LLVMValueRef hi)
{
    lb *l = c->l;
    unsigned lanes = (unsigned)l->target->shape.vector_bytes / (c->k->real == DT_F64 ? 8 : 4);
    chunks h = {c, s, lo, l_count(l, lo, hi, s->step)};
    bool fixed = LLVMIsAConstantInt(h.count);
    int64_t n = fixed ? LLVMConstIntGetSExtValue(h.count) : 0;
    while (fixed && lanes > n && lanes > 1)
        lanes /= 2;
    const lane_plan *plan = lanes > 1 ? low_plan(c, s) : NULL;
    if (!plan)
        return false;
    LLVMBasicBlockRef before = l_here(l), first = l_block(l, s->var->name);
    low_lanes outer = c->lanes;
    c->lanes = (low_lanes){.n = 1, .plan = plan, .sums = low_sums_new(c, before)};
    l_at(l, first);
    int64_t most = low_plan_indexes_regs(plan) ? MAX_STRAIGHT : MAX_STRAIGHT_PLAIN;
    if (fixed && n / lanes <= most)
        straight(&h, n, lanes);
    else
        general(&h, lanes, low_plan_reduces(plan));
    lane_sums *sums = c->lanes.sums;
    c->lanes = outer;
    LLVMBasicBlockRef end = l_here(l);
    l_at(l, before);
    l_br(l, first);
    l_at(l, end);
    low_sums_finish(c, sums);
    return true;
}
