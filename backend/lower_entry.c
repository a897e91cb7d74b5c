/* lower_entry.c: the functions that a host calls: checks first, then NAME.body. Whatever is wrong
 * is answered before any tensor is touched. */
#include "backend/lower.h"

static LLVMValueRef is_null(const lb *l, LLVMValueRef p)
{
    return LLVMBuildIsNull(l->b, p, "");
}

static void return_if(const lb *l, LLVMValueRef cond, LLVMValueRef result)
{
    LLVMBasicBlockRef end = l_if(l, cond);
    LLVMBuildRet(l->b, result);
    l_at(l, end);
}

static void return_status(const lb *l, LLVMValueRef status)
{
    return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), status);
}

static LLVMValueRef entry(low *c, const char *suffix, LLVMTypeRef ret, const LLVMTypeRef *args,
                          unsigned n)
{
    return l_function(c->l, arena_printf(c->a, "%s%s", c->f->symbol, suffix), ret, args, n,
                      LLVMExternalLinkage);
}

/* Stack for what NAME.sizes gives. */
static LLVMValueRef sizes_block(low *c)
{
    return l_alloca(c->l, LLVMArrayType2(c->l->i64, c->k->bufs.n + 1), "sizes");
}

static LLVMValueRef call_sizes(low *c, LLVMValueRef dim_struct, LLVMValueRef block)
{
    LLVMValueRef args[] = {dim_struct, block};
    return l_call(c->l, c->sizes, args, 2);
}

static LLVMValueRef workspace_size(low *c, LLVMValueRef block)
{
    lb *l = c->l;
    return l_load(l, l->i64, l_gep(l, l->i64, block, l_i64(l, (int64_t)c->k->bufs.n)), 8);
}

/* size_t NAME_workspace(dims, threads), and without `threads` NAME_prepared(dims), which is 0 */
static void build_size(low *c, const char *suffix, bool workspace)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->i32};
    LLVMValueRef fn = entry(c, suffix, l->i64, args, workspace ? 2 : 1);
    LLVMValueRef dim_struct = LLVMGetParam(fn, 0), block = sizes_block(c), refused = l_i64(l, -1);
    if (c->k->symbols.n > 0)
        return_if(l, is_null(l, dim_struct), refused);
    LLVMValueRef status = call_sizes(c, dim_struct, block);
    return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), refused);
    LLVMBuildRet(l->b, workspace ? workspace_size(c, block) : l_i64(l, 0));
}

/* attn_status NAME_prepare(dims, params, prepared): nothing is packed yet, so only the dims can be
 * wrong. */
static void build_prepare(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->ptr, l->ptr};
    LLVMValueRef fn = entry(c, "_prepare", l->i32, args, 3);
    LLVMValueRef dim_struct = LLVMGetParam(fn, 0), block = sizes_block(c);
    LLVMValueRef null = l_i32(l, ATTN_NULL);
    if (c->k->symbols.n > 0)
        return_if(l, is_null(l, dim_struct), null);
    if (c->f->n_slots[ATTN_PARAM] > 0)
        return_if(l, is_null(l, LLVMGetParam(fn, 1)), null);
    LLVMBuildRet(l->b, call_sizes(c, dim_struct, block));
}

/* attn_status NAME(dims, params, prepared, inputs, outputs, workspace, exec) */
static void build_run(low *c)
{
    lb *l = c->l;
    enum { DIMS, PARAMS, PREPARED, INPUTS, OUTPUTS, WORKSPACE, EXEC, N };
    LLVMTypeRef types[N];
    for (int i = 0; i < N; i++)
        types[i] = l->ptr;
    LLVMValueRef fn = entry(c, "", l->i32, types, N);
    LLVMValueRef dim_struct = LLVMGetParam(fn, DIMS), block = sizes_block(c),
                 null = l_i32(l, ATTN_NULL);
    LLVMValueRef tables[3] = {[ATTN_INPUT] = LLVMGetParam(fn, INPUTS),
                              [ATTN_PARAM] = LLVMGetParam(fn, PARAMS),
                              [ATTN_OUTPUT] = LLVMGetParam(fn, OUTPUTS)};
    if (c->k->symbols.n > 0)
        return_if(l, is_null(l, dim_struct), null);
    for (int r = 0; r < 3; r++)
        if (c->f->n_slots[r] > 0)
            return_if(l, is_null(l, tables[r]), null);
    return_status(l, call_sizes(c, dim_struct, block));
    if (c->f->n_bufs > 0) {
        LLVMValueRef records = lower_check_records(c);
        return_status(l, low_check_pointers(c, tables, block, records, false));
        if (c->f->n_slots[ATTN_OUTPUT] > 0)
            return_status(l, low_check_pointers(c, tables, block, records, true));
    }
    LLVMValueRef workspace = LLVMGetParam(fn, WORKSPACE);
    if (c->n_temps > 0) {
        LLVMValueRef used = l_icmp(l, LLVMIntNE, workspace_size(c, block), l_i64(l, 0));
        return_if(l, l_bin(l, LLVMAnd, used, is_null(l, workspace)), null);
        LLVMValueRef low_bits = l_bin(l, LLVMAnd, l_cast(l, LLVMPtrToInt, workspace, l->i64),
                                      l_i64(l, ATTN_BLOCK_ALIGN - 1));
        LLVMValueRef crooked = l_icmp(l, LLVMIntNE, low_bits, l_i64(l, 0));
        return_if(l, l_bin(l, LLVMAnd, used, crooked), l_i32(l, ATTN_ALIGN));
    }
    LLVMBuildRet(l->b, low_call_body(c, dim_struct, tables, block, workspace));
}

void lower_entry(low *c)
{
    build_size(c, "_workspace", true);
    build_size(c, "_prepared", false);
    build_prepare(c);
    build_run(c);
}
