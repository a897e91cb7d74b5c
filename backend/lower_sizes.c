/* lower_sizes.c: NAME.sizes: whether the dims are accepted, the bytes of every tensor, and where
 * each of the kernel's own buffers lies: in the workspace, the prepared block, a state. NAME and
 * NAME_workspace both call it, so they cannot disagree. */
#include "backend/lower.h"

/* Offsets in the workspace; at least a cache line, and no vector is longer. */
enum { TEMP_ALIGN = ATTN_BLOCK_ALIGN };

static void refuse(low *c, LLVMValueRef condition)
{
    *c->bad = l_bin(c->l, LLVMOr, *c->bad, condition);
}

/* The bytes of one tensor. An axis of 0 makes it 0, however large the others are. */
static LLVMValueRef bytes_of(low *c, const kbuf *b)
{
    lb *l = c->l;
    LLVMValueRef zero = l_i64(l, 0), empty = l_i1(l, false), over = l_i1(l, false);
    LLVMValueRef n = l_i64(l, store_table[b->store].bytes);
    for (uint32_t i = 0; i < b->rank; i++) {
        LLVMValueRef d = low_dim(c, b->shape[i]);
        refuse(c, l_icmp(l, LLVMIntSLT, d, zero));
        if (i < b->n_family)
            continue;
        empty = l_bin(l, LLVMOr, empty, l_icmp(l, LLVMIntEQ, d, zero));
        n = l_checked(l, "llvm.smul.with.overflow", n, d, &over);
    }
    over = l_bin(l, LLVMOr, over, l_icmp(l, LLVMIntSGE, n, l_i64(l, LOWER_MAX_BYTES)));
    refuse(c, l_bin(l, LLVMAnd, over, l_not(l, empty)));
    return l_select(l, empty, zero, n);
}

static void put(low *c, LLVMValueRef out, size_t i, LLVMValueRef v)
{
    lb *l = c->l;
    l_store(l, v, l_gep(l, l->i64, out, l_i64(l, (int64_t)i)), 8);
}

/* The next so many bytes of a block: where they begin. */
static LLVMValueRef take(low *c, LLVMValueRef *total, LLVMValueRef bytes)
{
    lb *l = c->l;
    /* Below 2^62 each and before the sum: the rounding and one addition cannot overflow. */
    LLVMValueRef rounded = l_bin(l, LLVMAnd, l_bin(l, LLVMAdd, bytes, l_i64(l, TEMP_ALIGN - 1)),
                                 l_i64(l, -TEMP_ALIGN));
    LLVMValueRef at = *total, sum = l_bin(l, LLVMAdd, at, rounded);
    LLVMValueRef over = l_icmp(l, LLVMIntUGE, sum, l_i64(l, LOWER_MAX_BYTES));
    refuse(c, over);
    *total = l_select(l, over, l_i64(l, 0), sum);
    return at;
}

int low_total_of(kbuf_role role)
{
    switch (role) {
    case KB_TEMP:
        return LOW_TEMPS;
    case KB_LOCAL:
        return LOW_LOCALS;
    case KB_PREPARED:
        return LOW_PREPARED;
    case KB_STATE:
        return LOW_STATES;
    default:
        return -1;
    }
}

/* Refused dims give numbers without meaning, which nobody uses; nothing traps on the way. */
static void compute(low *c, LLVMValueRef out)
{
    lb *l = c->l;
    const kernel *k = c->k;
    for (size_t i = 0; i < low_n_symbols(k); i++)
        refuse(c, l_icmp(l, LLVMIntUGT, c->symbol[i], l_i64(l, DIM_LIMIT)));
    for (size_t i = 0; i < c->dims.n; i++)
        low_dim(c, c->dims.v[i]);
    for (size_t i = 0; i < k->checks.n; i++)
        refuse(c, l_icmp(l, k->checks.v[i].le ? LLVMIntSGT : LLVMIntNE,
                         low_dim(c, k->checks.v[i].a), low_dim(c, k->checks.v[i].b)));
    LLVMValueRef totals[LOW_TOTALS];
    for (int i = 0; i < LOW_TOTALS; i++)
        totals[i] = l_i64(l, 0);
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        LLVMValueRef bytes = bytes_of(c, b);
        int which = low_total_of(b->role);
        if (which < 0)
            put(c, out, b->id, bytes);
        else
            put(c, out, b->id, take(c, &totals[which], bytes));
    }
    for (size_t i = 0; i < k->bufs.n; i++) {
        if (c->scratch[i])
            put(c, out, k->bufs.n + LOW_TOTALS + i,
                take(c, &totals[LOW_PREPARED], bytes_of(c, k->bufs.v[i])));
    }
    for (int i = 0; i < LOW_TOTALS; i++)
        put(c, out, k->bufs.n + (size_t)i, totals[i]);
}

void lower_sizes(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->ptr};
    c->sizes =
        l_function(l, arena_printf(c->a, c->k->rows ? "%s.steps.sizes" : "%s.sizes", c->f->symbol),
                   l->i32, args, 2, LLVMInternalLinkage);
    l_attr(l, c->sizes, LLVMAttributeFunctionIndex, "noinline");
    l_attr(l, c->sizes, LLVMAttributeFunctionIndex, "optsize");
    l_noalias(l, c->sizes, 0, true, false);
    l_noalias(l, c->sizes, 1, false, false);
    LLVMValueRef bad = l_i1(l, false);
    c->bad = &bad;
    low_load_symbols(c, LLVMGetParam(c->sizes, 0));
    compute(c, LLVMGetParam(c->sizes, 1));
    c->bad = NULL;
    LLVMBuildRet(l->b, l_select(l, bad, l_i32(l, ATTN_DIM), l_i32(l, ATTN_OK)));
}
