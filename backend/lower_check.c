/* lower_check.c: whether the caller's pointers are there, aligned and apart.
 *
 * One table of constants describes a model's pointers; two functions, shared by the models of a
 * module, walk it. So the code does not grow with the number of parameters. */
#include "backend/lower.h"

/* The words of a record. */
enum { REC_ROLE, REC_SLOT, REC_N, REC_SIZE, REC_MASK, REC_OPTIONAL, REC_WORDS };

low_records lower_check_records(low *c, bool params_only)
{
    lb *l = c->l;
    const iface *f = c->f;
    LLVMValueRef *words = ARENA_ARRAY(c->a, LLVMValueRef, REC_WORDS * f->n_bufs + 1);
    size_t n = 0;
    for (size_t i = 0; i < f->n_bufs; i++) {
        const iface_buf *b = &f->bufs[i];
        if (params_only && b->role != ATTN_PARAM)
            continue;
        const int64_t v[REC_WORDS] = {[REC_ROLE] = b->role,
                                      [REC_SLOT] = b->slot,
                                      [REC_N] = b->n,
                                      [REC_SIZE] = b->buf->id,
                                      [REC_MASK] = store_table[b->buf->store].bytes - 1,
                                      [REC_OPTIONAL] = b->buf->optional};
        for (int j = 0; j < REC_WORDS; j++)
            words[n++] = l_i64(l, v[j]);
    }
    return (low_records){l_constant(l, LLVMConstArray2(l->i64, words, n), "pointers"),
                         n / REC_WORDS};
}

enum { ARG_SIZES = 3, ARG_RECORDS, ARG_COUNT, N_ARGS };

typedef struct walk {
    lb *l;
    LLVMValueRef fn, status;
} walk;

static walk begin(lb *l, const char *name)
{
    LLVMTypeRef args[N_ARGS];
    for (int i = 0; i < ARG_COUNT; i++)
        args[i] = l->ptr;
    args[ARG_COUNT] = l->i64;
    walk w = {.l = l};
    w.fn = l_function(l, name, l->i32, args, N_ARGS, LLVMInternalLinkage);
    l_attr(l, w.fn, LLVMAttributeFunctionIndex, "noinline");
    w.status = l_alloca(l, l->i32, "status");
    LLVMBuildStore(l->b, l_i32(l, ATTN_OK), w.status);
    return w;
}

static void fail(const walk *w, LLVMValueRef cond, attn_status s)
{
    lb *l = w->l;
    LLVMValueRef old = LLVMBuildLoad2(l->b, l->i32, w->status, "");
    LLVMValueRef first = l_icmp(l, LLVMIntEQ, old, l_i32(l, ATTN_OK));
    LLVMBuildStore(l->b, l_select(l, l_bin(l, LLVMAnd, cond, first), l_i32(l, s), old), w->status);
}

static LLVMValueRef field(const walk *w, LLVMValueRef record, int i)
{
    lb *l = w->l;
    LLVMValueRef at = l_add(l, l_mul(l, record, l_i64(l, REC_WORDS)), l_i64(l, i));
    return l_load(l, l->i64, l_gep(l, l->i64, LLVMGetParam(w->fn, ARG_RECORDS), at), 8);
}

/* Pointer j of a record, as an integer, and the bytes behind it. */
typedef struct block {
    LLVMValueRef at, size;
} block;

static block block_of(const walk *w, LLVMValueRef record, LLVMValueRef j)
{
    lb *l = w->l;
    LLVMValueRef role = field(w, record, REC_ROLE);
    LLVMValueRef table = LLVMGetParam(w->fn, ATTN_OUTPUT);
    for (int r = ATTN_INPUT; r < ATTN_OUTPUT; r++)
        table = l_select(l, l_icmp(l, LLVMIntEQ, role, l_i64(l, r)),
                         LLVMGetParam(w->fn, (unsigned)r), table);
    LLVMValueRef slot = l_add(l, field(w, record, REC_SLOT), j);
    LLVMValueRef p = l_load(l, l->ptr, l_gep(l, l->ptr, table, slot), 8);
    LLVMValueRef size =
        l_gep(l, l->i64, LLVMGetParam(w->fn, ARG_SIZES), field(w, record, REC_SIZE));
    return (block){l_cast(l, LLVMPtrToInt, p, l->i64), l_load(l, l->i64, size, 8)};
}

static LLVMValueRef is_zero(const lb *l, LLVMValueRef x)
{
    return l_icmp(l, LLVMIntEQ, x, l_i64(l, 0));
}

/* A tensor without elements may be NULL, an optional one too. */
static LLVMValueRef build_pointers(lb *l)
{
    LLVMBasicBlockRef here = l_here(l);
    walk w = begin(l, "attn.check_pointers");
    l_loop rec = l_for(l, l_i64(l, 0), LLVMGetParam(w.fn, ARG_COUNT), 1, false, "record");
    l_loop j = l_for(l, l_i64(l, 0), field(&w, rec.i, REC_N), 1, false, "pointer");
    block b = block_of(&w, rec.i, j.i);
    LLVMValueRef needed =
        l_bin(l, LLVMAnd, l_not(l, is_zero(l, b.size)), is_zero(l, field(&w, rec.i, REC_OPTIONAL)));
    fail(&w, l_bin(l, LLVMAnd, is_zero(l, b.at), needed), ATTN_NULL);
    LLVMValueRef low_bits = l_bin(l, LLVMAnd, b.at, field(&w, rec.i, REC_MASK));
    fail(&w, l_not(l, is_zero(l, low_bits)), ATTN_ALIGN);
    l_end_for(l, &j, false);
    l_end_for(l, &rec, false);
    LLVMBuildRet(l->b, LLVMBuildLoad2(l->b, l->i32, w.status, ""));
    l_at(l, here);
    return w.fn;
}

/* Whether any output shares a byte with another tensor. */
static LLVMValueRef build_overlap(lb *l)
{
    LLVMBasicBlockRef here = l_here(l);
    walk w = begin(l, "attn.check_overlap");
    LLVMValueRef n = LLVMGetParam(w.fn, ARG_COUNT), zero = l_i64(l, 0);
    l_loop r = l_for(l, zero, n, 1, false, "output");
    LLVMValueRef is_output = l_icmp(l, LLVMIntEQ, field(&w, r.i, REC_ROLE), l_i64(l, ATTN_OUTPUT));
    LLVMValueRef count = l_select(l, is_output, field(&w, r.i, REC_N), zero);
    l_loop j = l_for(l, zero, count, 1, false, "pointer");
    block x = block_of(&w, r.i, j.i);
    l_loop r2 = l_for(l, zero, n, 1, false, "other");
    l_loop j2 = l_for(l, zero, field(&w, r2.i, REC_N), 1, false, "pointer");
    block y = block_of(&w, r2.i, j2.i);
    LLVMValueRef same =
        l_bin(l, LLVMAnd, l_icmp(l, LLVMIntEQ, r.i, r2.i), l_icmp(l, LLVMIntEQ, j.i, j2.i));
    LLVMValueRef nothing = l_bin(l, LLVMOr, is_zero(l, x.size), is_zero(l, y.size));
    nothing = l_bin(l, LLVMOr, nothing, l_bin(l, LLVMOr, is_zero(l, x.at), is_zero(l, y.at)));
    /* Distances instead of ends, which could wrap. */
    LLVMValueRef meets =
        l_bin(l, LLVMOr, l_icmp(l, LLVMIntULT, l_bin(l, LLVMSub, y.at, x.at), x.size),
              l_icmp(l, LLVMIntULT, l_bin(l, LLVMSub, x.at, y.at), y.size));
    fail(&w, l_bin(l, LLVMAnd, meets, l_not(l, l_bin(l, LLVMOr, same, nothing))), ATTN_ALIAS);
    l_end_for(l, &j2, false);
    l_end_for(l, &r2, false);
    l_end_for(l, &j, false);
    l_end_for(l, &r, false);
    LLVMBuildRet(l->b, LLVMBuildLoad2(l->b, l->i32, w.status, ""));
    l_at(l, here);
    return w.fn;
}

LLVMValueRef low_check_pointers(low *c, LLVMValueRef *tables, LLVMValueRef sizes,
                                const low_records *records, bool overlap)
{
    lb *l = c->l;
    LLVMValueRef *fn = overlap ? &l->check_overlap : &l->check_pointers;
    if (!*fn)
        *fn = overlap ? build_overlap(l) : build_pointers(l);
    LLVMValueRef args[N_ARGS] = {tables[0], tables[1],      tables[2],
                                 sizes,     records->table, l_i64(l, (int64_t)records->n)};
    return l_call(l, *fn, args, N_ARGS);
}
