/* lower_entry.c: the functions that a host calls: checks first, then NAME.body. Whatever is wrong
 * is answered before any tensor is touched. */
#include "backend/lower.h"

static LLVMValueRef is_null(const lb *l, LLVMValueRef p)
{
    return LLVMBuildIsNull(l->b, p, "");
}

void low_return_if(const lb *l, LLVMValueRef cond, LLVMValueRef result)
{
    LLVMBasicBlockRef end = l_if(l, cond);
    LLVMBuildRet(l->b, result);
    l_at(l, end);
}

void low_return_status(const lb *l, LLVMValueRef status)
{
    low_return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), status);
}

LLVMValueRef low_entry(low *c, const char *suffix, LLVMTypeRef ret, const LLVMTypeRef *args,
                       unsigned n)
{
    return l_function(c->l, arena_printf(c->a, "%s%s", c->f->symbol, suffix), ret, args, n,
                      LLVMExternalLinkage);
}

LLVMValueRef low_sizes_block(low *c)
{
    return l_alloca(c->l, LLVMArrayType2(c->l->i64, c->k->bufs.n + LOW_TOTALS), "sizes");
}

LLVMValueRef low_call_sizes(low *c, LLVMValueRef dim_struct, LLVMValueRef block)
{
    LLVMValueRef args[] = {dim_struct, block};
    return l_call(c->l, c->sizes, args, 2);
}

LLVMValueRef low_total(low *c, LLVMValueRef block, int which)
{
    lb *l = c->l;
    return l_load(l, l->i64, l_gep(l, l->i64, block, l_i64(l, (int64_t)c->k->bufs.n + which)), 8);
}

void low_check_block(const lb *l, LLVMValueRef block, LLVMValueRef used)
{
    low_return_if(l, l_bin(l, LLVMAnd, used, is_null(l, block)), l_i32(l, ATTN_NULL));
    LLVMValueRef low_bits =
        l_bin(l, LLVMAnd, l_cast(l, LLVMPtrToInt, block, l->i64), l_i64(l, ATTN_BLOCK_ALIGN - 1));
    LLVMValueRef crooked = l_icmp(l, LLVMIntNE, low_bits, l_i64(l, 0));
    low_return_if(l, l_bin(l, LLVMAnd, used, crooked), l_i32(l, ATTN_ALIGN));
}

/* What one call of any entry point needs: of the step kernel's two as well. */
static LLVMValueRef workspace_size(low *c, LLVMValueRef dim_struct, LLVMValueRef block)
{
    lb *l = c->l;
    LLVMValueRef size = low_total(c, block, LOW_WORKSPACE);
    if (!c->steps)
        return size;
    LLVMValueRef totals = l_alloca(l, LLVMArrayType2(l->i64, LOW_TOTALS), "totals");
    LLVMValueRef args[] = {dim_struct, totals};
    LLVMValueRef status = l_call(l, c->steps->totals, args, 2);
    low_return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), l_i64(l, -1));
    LLVMValueRef other = l_load(l, l->i64, totals, 8); /* LOW_WORKSPACE is the first */
    return l_intrinsic2(l, "llvm.smax", size, other);
}

/* size_t NAME_workspace(dims, threads), and without `threads` NAME_prepared(dims), which is 0 */
static void build_size(low *c, const char *suffix, bool workspace)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->i32};
    LLVMValueRef fn = low_entry(c, suffix, l->i64, args, workspace ? 2 : 1);
    LLVMValueRef dim_struct = LLVMGetParam(fn, 0), block = low_sizes_block(c),
                 refused = l_i64(l, -1);
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dim_struct), refused);
    LLVMValueRef status = low_call_sizes(c, dim_struct, block);
    low_return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), refused);
    LLVMBuildRet(l->b, workspace ? workspace_size(c, dim_struct, block) : l_i64(l, 0));
}

/* attn_status NAME_prepare(dims, params, prepared): nothing is packed yet, so only the dims can be
 * wrong. */
static void build_prepare(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->ptr, l->ptr};
    LLVMValueRef fn = low_entry(c, "_prepare", l->i32, args, 3);
    LLVMValueRef dim_struct = LLVMGetParam(fn, 0), block = low_sizes_block(c);
    LLVMValueRef null = l_i32(l, ATTN_NULL);
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dim_struct), null);
    if (c->f->n_slots[ATTN_PARAM] > 0)
        low_return_if(l, is_null(l, LLVMGetParam(fn, 1)), null);
    LLVMBuildRet(l->b, low_call_sizes(c, dim_struct, block));
}

/* attn_status NAME(dims, params, prepared, inputs, outputs, workspace, exec) */
static void build_run(low *c)
{
    lb *l = c->l;
    enum { DIMS, PARAMS, PREPARED, INPUTS, OUTPUTS, WORKSPACE, EXEC, N };
    LLVMTypeRef types[N];
    for (int i = 0; i < N; i++)
        types[i] = l->ptr;
    LLVMValueRef fn = low_entry(c, "", l->i32, types, N);
    LLVMValueRef dim_struct = LLVMGetParam(fn, DIMS), block = low_sizes_block(c),
                 null = l_i32(l, ATTN_NULL);
    LLVMValueRef tables[3] = {[ATTN_INPUT] = LLVMGetParam(fn, INPUTS),
                              [ATTN_PARAM] = LLVMGetParam(fn, PARAMS),
                              [ATTN_OUTPUT] = LLVMGetParam(fn, OUTPUTS)};
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dim_struct), null);
    for (int r = 0; r < 3; r++)
        if (c->f->n_slots[r] > 0)
            low_return_if(l, is_null(l, tables[r]), null);
    low_return_status(l, low_call_sizes(c, dim_struct, block));
    if (c->f->n_bufs > 0) {
        LLVMValueRef records = lower_check_records(c);
        low_return_status(l, low_check_pointers(c, tables, block, records, false));
        if (c->f->n_slots[ATTN_OUTPUT] > 0)
            low_return_status(l, low_check_pointers(c, tables, block, records, true));
    }
    LLVMValueRef workspace = LLVMGetParam(fn, WORKSPACE);
    if (c->n_temps > 0) {
        LLVMValueRef size = low_total(c, block, LOW_WORKSPACE);
        low_check_block(l, workspace, l_icmp(l, LLVMIntNE, size, l_i64(l, 0)));
    }
    low_call call = {.dims = dim_struct,
                     .tables = {tables[0], tables[1], tables[2]},
                     .sizes = block,
                     .workspace = workspace};
    LLVMBuildRet(l->b, low_call_body(c, &call));
}

void lower_entry(low *c)
{
    build_size(c, "_workspace", true);
    build_size(c, "_prepared", false);
    build_prepare(c);
    build_run(c);
}
