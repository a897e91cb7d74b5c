/* lower_steps.c: a step kernel: NAME_state, NAME_begin, NAME_step.
 *
 * A state is a head, then the kernel's states, each on a boundary of ATTN_BLOCK_ALIGN:
 *
 *   i64 pos          steps done
 *   ptr prepared     as the beginning was given it
 *   i64 dims[n]      the dims struct
 *   i64 rows         of the call at hand; with the dims before it all that NAME.steps.sizes asks
 * for ptr params[m]    the params struct */
#include "backend/lower.h"

#include <string.h>

enum { HEAD_POS, HEAD_PREPARED, HEAD_DIMS }; /* words of 8 bytes */

static int64_t head_params(const low *c)
{
    return HEAD_DIMS + (int64_t)low_n_symbols(c->k);
}

static int64_t head_bytes(const low *c)
{
    int64_t n = 8 * (head_params(c) + c->f->n_slots[ATTN_PARAM]);
    return (n + ATTN_BLOCK_ALIGN - 1) / ATTN_BLOCK_ALIGN * ATTN_BLOCK_ALIGN;
}

static LLVMValueRef word(const lb *l, LLVMValueRef block, int64_t i)
{
    return l_gep(l, l->i64, block, l_i64(l, i));
}

static LLVMValueRef is_null(const lb *l, LLVMValueRef p)
{
    return LLVMBuildIsNull(l->b, p, "");
}

/* The dims struct with no rows behind it. */
static void copy_dims(const low *c, LLVMValueRef from, LLVMValueRef to)
{
    const lb *l = c->l;
    int64_t n = (int64_t)c->k->symbols.n;
    for (int64_t i = 0; i < n; i++)
        l_store(l, l_load(l, l->i64, word(l, from, i), 8), word(l, to, i), 8);
    l_store(l, l_i64(l, 0), word(l, to, n), 8);
}

LLVMValueRef low_copy_dims(const low *c, LLVMValueRef dim_struct)
{
    LLVMValueRef copy = l_alloca(c->l, LLVMArrayType2(c->l->i64, low_n_symbols(c->k)), "dims");
    copy_dims(c, dim_struct, copy);
    return copy;
}

/* i32 NAME.steps.totals(dims, out): the totals of the sizes function, the head counted in. */
static void build_totals(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr, l->ptr};
    c->totals = l_function(l, arena_printf(c->a, "%s.steps.totals", c->f->symbol), l->i32, args, 2,
                           LLVMInternalLinkage);
    l_attr(l, c->totals, LLVMAttributeFunctionIndex, "noinline");
    LLVMValueRef dims = low_copy_dims(c, LLVMGetParam(c->totals, 0)), block = low_sizes_block(c);
    LLVMValueRef out = LLVMGetParam(c->totals, 1);
    LLVMValueRef status = low_call_sizes(c, dims, block);
    for (int i = 0; i < LOW_TOTALS; i++) {
        LLVMValueRef n = low_total(c, block, i);
        if (i == LOW_STATES) /* below 2^62 before */
            n = l_add(l, n, l_i64(l, head_bytes(c)));
        l_store(l, n, word(l, out, i), 8);
    }
    LLVMBuildRet(l->b, status);
}

/* size_t NAME_state(dims) */
static void build_state(low *c)
{
    lb *l = c->l;
    LLVMTypeRef args[] = {l->ptr};
    LLVMValueRef fn = low_entry(c, "_state", l->i64, args, 1), refused = l_i64(l, -1);
    LLVMValueRef dims = LLVMGetParam(fn, 0);
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dims), refused);
    LLVMValueRef totals = l_alloca(l, LLVMArrayType2(l->i64, LOW_TOTALS), "totals");
    LLVMValueRef call[] = {dims, totals};
    LLVMValueRef status = l_call(l, c->totals, call, 2);
    low_return_if(l, l_icmp(l, LLVMIntNE, status, l_i32(l, ATTN_OK)), refused);
    LLVMBuildRet(l->b, l_load(l, l->i64, word(l, totals, LOW_STATES), 8));
}

static void check_tables(const low *c, const LLVMValueRef *tables)
{
    const lb *l = c->l;
    for (int r = 0; r < 3; r++) {
        if (c->f->n_slots[r] > 0)
            low_return_if(l, is_null(l, tables[r]), l_i32(l, ATTN_NULL));
    }
}

/* Of the step kernel's part at hand. */
static void check_pointers(low *c, LLVMValueRef *tables, LLVMValueRef sizes)
{
    lb *l = c->l;
    if (c->f->n_bufs == 0)
        return;
    low_records records = lower_check_records(c, false);
    low_return_status(l, low_check_pointers(c, tables, sizes, &records, false));
    if (c->f->n_slots[ATTN_OUTPUT] > 0)
        low_return_status(l, low_check_pointers(c, tables, sizes, &records, true));
}

/* attn_status NAME_begin(dims, params, prepared, inputs, state, workspace, exec) */
static void build_begin(low *c)
{
    lb *l = c->l;
    enum { DIMS, PARAMS, PREPARED, INPUTS, STATE, WORKSPACE, EXEC, N };
    LLVMTypeRef types[N];
    for (int i = 0; i < N; i++)
        types[i] = l->ptr;
    LLVMValueRef fn = low_entry(c, "_begin", l->i32, types, N);
    LLVMValueRef dims = LLVMGetParam(fn, DIMS), state = LLVMGetParam(fn, STATE);
    low_call call = {.tables = {[ATTN_INPUT] = LLVMGetParam(fn, INPUTS),
                                [ATTN_PARAM] = LLVMGetParam(fn, PARAMS),
                                [ATTN_OUTPUT] = LLVMConstNull(l->ptr)},
                     .sizes = low_sizes_block(c),
                     .workspace = LLVMGetParam(fn, WORKSPACE),
                     .exec = LLVMGetParam(fn, EXEC)};
    if (c->k->symbols.n > 0)
        low_return_if(l, is_null(l, dims), l_i32(l, ATTN_NULL));
    check_tables(c, call.tables);
    call.dims = low_copy_dims(c, dims);
    low_return_status(l, low_call_sizes(c, call.dims, call.sizes));
    check_pointers(c, call.tables, call.sizes);
    low_check_block(l, state, l_i1(l, true));
    low_take_blocks(c, &call, LLVMGetParam(fn, PREPARED));

    l_store(l, l_i64(l, 0), word(l, state, HEAD_POS), 8);
    l_store(l, LLVMGetParam(fn, PREPARED), word(l, state, HEAD_PREPARED), 8);
    copy_dims(c, dims, word(l, state, HEAD_DIMS));
    l_loop loop = l_for(l, l_i64(l, 0), l_i64(l, c->f->n_slots[ATTN_PARAM]), 1, false, "param");
    LLVMValueRef p = l_load(l, l->ptr, l_gep(l, l->ptr, call.tables[ATTN_PARAM], loop.i), 8);
    l_store(l, p, l_gep(l, l->ptr, word(l, state, head_params(c)), loop.i), 8);
    l_end_for(l, &loop, false);
    call.states = l_gep(l, l->i8, state, l_i64(l, head_bytes(c)));
    LLVMBuildRet(l->b, low_call_body(c, &call));
}

/* attn_status NAME_step(state, rows, inputs, outputs, workspace, exec) */
static void build_step(low *c)
{
    lb *l = c->l;
    enum { STATE, ROWS, INPUTS, OUTPUTS, WORKSPACE, EXEC, N };
    LLVMTypeRef types[N];
    for (int i = 0; i < N; i++)
        types[i] = i == ROWS ? l->i64 : l->ptr;
    LLVMValueRef fn = low_entry(c, "_step", l->i32, types, N);
    LLVMValueRef state = LLVMGetParam(fn, STATE), rows = LLVMGetParam(fn, ROWS);
    low_call call = {.dims = word(l, state, HEAD_DIMS),
                     .tables = {[ATTN_INPUT] = LLVMGetParam(fn, INPUTS),
                                [ATTN_PARAM] = word(l, state, head_params(c)),
                                [ATTN_OUTPUT] = LLVMGetParam(fn, OUTPUTS)},
                     .sizes = low_sizes_block(c),
                     .workspace = LLVMGetParam(fn, WORKSPACE),
                     .exec = LLVMGetParam(fn, EXEC)};
    low_check_block(l, state, l_i1(l, true));
    low_return_if(l, l_icmp(l, LLVMIntSLT, rows, l_i64(l, 0)), l_i32(l, ATTN_DIM));
    low_return_if(l, l_icmp(l, LLVMIntEQ, rows, l_i64(l, 0)), l_i32(l, ATTN_OK));
    LLVMValueRef done = word(l, state, HEAD_POS);
    call.pos = l_load(l, l->i64, done, 8);
    low_load_symbols(c, call.dims);
    LLVMValueRef left = l_bin(l, LLVMSub, low_dim(c, c->k->capacity), call.pos);
    low_return_if(l, l_icmp(l, LLVMIntSGT, rows, left), l_i32(l, ATTN_CAPACITY));
    check_tables(c, call.tables);
    l_store(l, rows, word(l, call.dims, (int64_t)c->k->symbols.n), 8);
    low_return_status(l, low_call_sizes(c, call.dims, call.sizes));
    check_pointers(c, call.tables, call.sizes);
    low_take_blocks(c, &call, l_load(l, l->ptr, word(l, state, HEAD_PREPARED), 8));

    call.states = l_gep(l, l->i8, state, l_i64(l, head_bytes(c)));
    LLVMValueRef status = low_call_body(c, &call);
    low_return_status(l, status);
    l_store(l, l_add(l, call.pos, rows), done, 8);
    LLVMBuildRet(l->b, status);
}

/* What a kernel prepares, as text. */
static const char *prepared_text(const low *c)
{
    arena *a = c->a;
    const kernel *k = c->k;
    kernel part = *k;
    memset(&part.body, 0, sizeof part.body);
    memset(&part.step, 0, sizeof part.step);
    memset(&part.bufs, 0, sizeof part.bufs);
    memset(&part.checks, 0, sizeof part.checks);
    part.name = "";
    part.rows = NULL;
    for (size_t i = 0; i < k->bufs.n; i++) {
        kbuf *b = k->bufs.v[i];
        if (b->role == KB_PARAM || b->role == KB_PREPARED || c->scratch[b->id])
            vec_push(a, &part.bufs, b);
    }
    strbuf out = {.a = a};
    kernel_print(&part, &out);
    return sb_text(&out);
}

/* Mostly both prepare the same, and one block serves both. */
static bool prepares_as(const low *x, const low *y)
{
    return strcmp(prepared_text(x), prepared_text(y)) == 0;
}

low *lower_steps(lb *l, const kernel *k, const low *of)
{
    low *c = ARENA_NEW(l->a, low);
    *c = low_new(l, k);
    c->f = iface_of_part(l->a, k, PART_BEGIN);
    lower_sizes(c);
    build_totals(c);
    build_state(c);
    lower_prepare(c);
    c->shares = c->prepare && prepares_as(c, of);
    lower_body(c);
    build_begin(c);
    c->f = iface_of_part(l->a, k, PART_STEP);
    lower_body(c);
    build_step(c);
    return c;
}
