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
    return l_alloca(c->l, LLVMArrayType2(c->l->i64, 2 * c->k->bufs.n + LOW_TOTALS), "sizes");
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

/* ---- Sizes
 * --------------------------------------------------------------------------------------- */

LLVMValueRef low_workspace(low *c, LLVMValueRef totals, LLVMValueRef threads)
{
    lb *l = c->l;
    LLVMValueRef part[LOW_TOTALS], over = l_i1(l, false);
    for (int i = 0; i < LOW_TOTALS; i++)
        part[i] = l_load(l, l->i64, l_gep(l, l->i64, totals, l_i64(l, i)), 8);
    threads = l_cast(l, LLVMSExt, l_intrinsic2(l, "llvm.smax", threads, l_i32(l, 1)), l->i64);
    LLVMValueRef all = l_checked(l, "llvm.smul.with.overflow", part[LOW_LOCALS], threads, &over);
    /* Each of the others is below 2^62. */
    over = l_bin(l, LLVMOr, over, l_icmp(l, LLVMIntUGE, all, l_i64(l, LOWER_MAX_BYTES)));
    LLVMValueRef rest = l_bin(l, LLVMAdd, part[LOW_TEMPS], part[LOW_PREPARED]);
    over = l_bin(l, LLVMOr, over, l_icmp(l, LLVMIntUGE, rest, l_i64(l, LOWER_MAX_BYTES)));
    LLVMValueRef size = l_bin(l, LLVMAdd, all, rest);
    over = l_bin(l, LLVMOr, over, l_icmp(l, LLVMIntUGE, size, l_i64(l, LOWER_MAX_BYTES)));
    return l_select(l, over, l_i64(l, -1), size);
}

static LLVMValueRef totals_of(const low *c, LLVMValueRef sizes)
{
    return l_gep(c->l, c->l->i64, sizes, l_i64(c->l, (int64_t)c->k->bufs.n));
}

/* The totals of the step kernel; returns `refused` from the function where there are none. */
static LLVMValueRef step_totals(low *c, LLVMValueRef dim_struct, LLVMValueRef refused)
{
    lb *l = c->l;
    LLVMValueRef totals = l_alloca(l, LLVMArrayType2(l->i64, LOW_TOTALS), "totals");
    LLVMValueRef args[] = {dim_struct, totals};
    LLVMValueRef status = l_call(l, c->steps->totals, args, 2);
    LLVMValueRef bad = l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK));
    low_return_if(l, bad, refused ? refused : status);
    return totals;
}

/* The bytes that the step kernel's part takes in front of a prepared block. */
static LLVMValueRef steps_prepared(low *c, LLVMValueRef dim_struct, LLVMValueRef refused)
{
    lb *l = c->l;
    if (!c->steps || !c->steps->prepare || c->steps->shares)
        return l_i64(l, 0);
    LLVMValueRef totals = step_totals(c, dim_struct, refused);
    return l_load(l, l->i64, l_gep(l, l->i64, totals, l_i64(l, LOW_PREPARED)), 8);
}

/* What one call of any entry point needs: of the step kernel's two as well. */
static LLVMValueRef workspace_size(low *c, LLVMValueRef dim_struct, LLVMValueRef sizes,
                                   LLVMValueRef threads)
{
    lb *l = c->l;
    LLVMValueRef refused = l_i64(l, -1), size = low_workspace(c, totals_of(c, sizes), threads);
    if (!c->steps)
        return size;
    LLVMValueRef totals = step_totals(c, dim_struct, refused);
    /* As an unsigned number "refused" is the larger one. */
    return l_intrinsic2(l, "llvm.umax", size, low_workspace(c, totals, threads));
}

static LLVMValueRef prepared_size(low *c, LLVMValueRef dim_struct, LLVMValueRef sizes)
{
    lb *l = c->l;
    LLVMValueRef refused = l_i64(l, -1);
    LLVMValueRef size = l_bin(l, LLVMAdd, low_total(c, sizes, LOW_PREPARED),
                              steps_prepared(c, dim_struct, refused));
    return l_select(l, l_icmp(l, LLVMIntUGE, size, l_i64(l, LOWER_MAX_BYTES)), refused, size);
}

/* size_t NAME_workspace(dims, threads), and without `threads` NAME_prepared(dims) */
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
    LLVMBuildRet(l->b, workspace ? workspace_size(c, dim_struct, block, LLVMGetParam(fn, 1))
                                 : prepared_size(c, dim_struct, block));
}

/* ---- Prepared blocks
 * ----------------------------------------------------------------------------- */

void low_take_blocks(low *c, low_call *call, LLVMValueRef prepared)
{
    lb *l = c->l;
    LLVMValueRef zero = l_i64(l, 0);
    if (c->n_own[KB_TEMP] + c->n_own[KB_LOCAL] + c->n_own[KB_PREPARED] > 0) {
        LLVMValueRef size = zero;
        for (int i = 0; i < LOW_TOTALS; i++)
            if (i != LOW_STATES)
                size = l_bin(l, LLVMOr, size, low_total(c, call->sizes, i));
        low_check_block(l, call->workspace, l_icmp(l, LLVMIntNE, size, zero));
    }
    call->prepared = prepared;
    if (!c->prepare)
        return;
    LLVMValueRef given = LLVMBuildIsNotNull(l->b, prepared, "");
    low_check_block(l, prepared, given);
    LLVMValueRef own = l_gep(l, l->i8, call->workspace, low_total(c, call->sizes, LOW_TEMPS));
    call->prepared = l_select(l, given, prepared, own);
    LLVMBasicBlockRef end = l_if(l, l_not(l, given));
    low_return_status(l, low_call_prepare(c, call));
    l_end_if(l, end);
}

/* A prepared block and the place `bytes` further on, or NULL if there is none. */
static LLVMValueRef behind(const lb *l, LLVMValueRef block, LLVMValueRef bytes)
{
    LLVMValueRef at = l_gep(l, l->i8, block, bytes);
    return l_select(l, is_null(l, block), block, at);
}

/* The step kernel's part, of the same params. */
static void prepare_steps(low *c, LLVMValueRef dims, LLVMValueRef *tables, LLVMValueRef block)
{
    lb *l = c->l;
    low *steps = c->steps;
    if (!steps || !steps->prepare || steps->shares)
        return;
    LLVMValueRef sizes = low_sizes_block(steps), copy = low_copy_dims(steps, dims);
    low_return_status(l, low_call_sizes(steps, copy, sizes));
    low_call call = {.dims = copy,
                     .tables = {tables[0], tables[1], tables[2]},
                     .sizes = sizes,
                     .workspace = block,
                     .prepared = block};
    low_return_status(l, low_call_prepare(steps, &call));
}

/* attn_status NAME_prepare(dims, params, prepared) */
static void build_prepare(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->ptr, l->ptr};
    LLVMValueRef fn = low_entry(c, "_prepare", l->i32, args, 3);
    LLVMValueRef dim_struct = LLVMGetParam(fn, 0), block = low_sizes_block(c);
    LLVMValueRef null = l_i32(l, ATTN_NULL), prepared = LLVMGetParam(fn, 2);
    LLVMValueRef tables[3] = {[ATTN_INPUT] = LLVMConstNull(l->ptr),
                              [ATTN_PARAM] = LLVMGetParam(fn, 1),
                              [ATTN_OUTPUT] = LLVMConstNull(l->ptr)};
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dim_struct), null);
    if (c->f->n_slots[ATTN_PARAM] > 0)
        low_return_if(l, is_null(l, LLVMGetParam(fn, 1)), null);
    low_return_status(l, low_call_sizes(c, dim_struct, block));
    LLVMValueRef before = steps_prepared(c, dim_struct, NULL);
    if (c->prepare || (c->steps && c->steps->prepare)) {
        low_records records = lower_check_records(c, true);
        low_return_status(l, low_check_pointers(c, tables, block, &records, false));
        LLVMValueRef size = l_bin(l, LLVMOr, low_total(c, block, LOW_PREPARED), before);
        low_check_block(l, prepared, l_icmp(l, LLVMIntNE, size, l_i64(l, 0)));
        prepare_steps(c, dim_struct, tables, prepared);
    }
    if (c->prepare) {
        low_call call = {.dims = dim_struct,
                         .tables = {tables[0], tables[1], tables[2]},
                         .sizes = block,
                         .workspace = prepared,
                         .prepared = behind(l, prepared, before)};
        low_return_status(l, low_call_prepare(c, &call));
    }
    LLVMBuildRet(l->b, l_i32(l, ATTN_OK));
}

/* ---- Runs
 * ---------------------------------------------------------------------------------------- */

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
        low_records records = lower_check_records(c, false);
        low_return_status(l, low_check_pointers(c, tables, block, &records, false));
        if (c->f->n_slots[ATTN_OUTPUT] > 0)
            low_return_status(l, low_check_pointers(c, tables, block, &records, true));
    }
    low_call call = {.dims = dim_struct,
                     .tables = {tables[0], tables[1], tables[2]},
                     .sizes = block,
                     .workspace = LLVMGetParam(fn, WORKSPACE),
                     .exec = LLVMGetParam(fn, EXEC)};
    LLVMValueRef prepared = LLVMGetParam(fn, PREPARED);
    if (c->prepare)
        prepared = behind(l, prepared, steps_prepared(c, dim_struct, NULL));
    low_take_blocks(c, &call, prepared);
    LLVMBuildRet(l->b, low_call_body(c, &call));
}

void lower_entry(low *c)
{
    build_size(c, "_workspace", true);
    build_size(c, "_prepared", false);
    build_prepare(c);
    build_run(c);
}
