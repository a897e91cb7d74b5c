/* lower_body.c: NAME.body: the statements of a kernel.
 *
 * Its arguments are the dims, the three pointer tables, and the pointers of all single buffers: as
 * arguments they can be said not to overlap. It is called once the entry has checked everything. */
#include "backend/lower.h"

#include <string.h>

/* ---- Statements
 * ---------------------------------------------------------------------------------- */

static void define(low *c, const kstmt *s, bool in_memory)
{
    lb *l = c->l;
    LLVMValueRef v = low_expr(c, s->e);
    low_var *slot = &c->var[s->var->id];
    if (!in_memory) {
        *slot = (low_var){v, false, NULL};
        return;
    }
    /* A variable in a loop keeps its one place. */
    LLVMTypeRef ty = l_type(l, s->var->dt);
    if (!slot->v || LLVMGetAllocatedType(slot->v) != ty)
        *slot = (low_var){l_alloca(l, ty, s->var->name), true, NULL};
    LLVMBuildStore(l->b, v, slot->v);
}

/* A copy of the body for each iteration. */
static void lower_unrolled(low *c, const kstmt *s)
{
    for (int64_t i = s->lo->i; i < s->hi->i; i += s->step) {
        c->var[s->var->id] = (low_var){l_i64(c->l, i), false, NULL};
        low_block(c, &s->body);
    }
}

static void lower_for(low *c, const kstmt *s)
{
    lb *l = c->l;
    if (s->step < 1)
        ice("kernel @%s: a loop with step %lld", c->k->name, (long long)s->step);
    if (s->loop == KL_UNROLL) {
        lower_unrolled(c, s);
        return;
    }
    LLVMValueRef lo = low_expr(c, s->lo), hi = low_expr(c, s->hi);
    low_new_statement(c);
    if (s->loop == KL_PARALLEL && c->exec && c->lanes.n == 1) {
        low_parallel(c, s, lo, hi);
        return;
    }
    bool vector = s->loop == KL_VECTOR && c->lanes.n == 1;
    if (vector && low_vector(c, s, lo, hi))
        return;
    const kstmt *outer = c->ahead.loop;
    if (s->ahead && c->lanes.n == 1)
        c->ahead.loop = s;
    l_loop loop = l_for(l, lo, hi, s->step, s->down, s->var->name);
    c->var[s->var->id] = (low_var){loop.i, false, NULL};
    low_block(c, &s->body);
    c->ahead.loop = outer;
    l_end_for(l, &loop, vector);
}

/* One flag per status, raised without a branch: a loop of checks stays a vector loop, and the
 * outcome does not depend on the order of iterations. */
static void lower_check(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef flag = c->flag[s->status];
    LLVMValueRef ok = low_expr(c, s->e);
    LLVMValueRef before = LLVMBuildLoad2(l->b, l->i32, flag, "");
    LLVMBuildStore(l->b, l_select(l, ok, before, l_i32(l, 1)), flag);
}

static void lower_store(low *c, const kstmt *s)
{
    LLVMValueRef *index = ARENA_ARRAY(c->a, LLVMValueRef, s->n_index + 1);
    for (uint32_t i = 0; i < s->n_index; i++)
        index[i] = low_expr(c, s->index[i]);
    low_store(c, s->buf, index, low_update(c, s), s->e->dt);
}

static void lower_set(low *c, const kstmt *s)
{
    LLVMBuildStore(c->l->b, low_update(c, s), c->var[s->var->id].v);
}

static void lower_define(low *c, const kstmt *s)
{
    define(c, s, s->kind == KS_VAR);
}

static void low_statement(low *c, const kstmt *s)
{
    typedef void build(low *, const kstmt *);
    static build *const table[][2] = {
        [KS_FOR] = {lower_for, lower_for},           [KS_LET] = {lower_define, low_lanes_define},
        [KS_VAR] = {lower_define, low_lanes_define}, [KS_SET] = {lower_set, low_lanes_set},
        [KS_STORE] = {lower_store, low_lanes_store}, [KS_IF] = {low_if, low_lanes_if},
        [KS_CHECK] = {lower_check, low_lanes_check},
    };
    if ((size_t)s->kind >= sizeof table / sizeof table[0])
        ice("kernel @%s: a statement of kind %d", c->k->name, (int)s->kind);
    table[s->kind][c->lanes.n > 1](c, s);
}

size_t low_next(low *c, const kblock *b, size_t i)
{
    size_t n = c->lanes.n > 1 ? low_lanes_transposed(c, b, i) : low_tile(c, b, i);
    if (n == 0) {
        low_statement(c, b->s.v[i]);
        n = 1;
    }
    low_new_statement(c);
    return i + n;
}

void low_block(low *c, const kblock *b)
{
    for (size_t i = 0; i < b->s.n;)
        i = low_next(c, b, i);
}

/* ---- Statuses
 * ------------------------------------------------------------------------------------ */

void low_make_flags(low *c, const kblock *b)
{
    lb *l = c->l;
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (s->kind == KS_CHECK) {
            if (s->status <= 0 || s->status >= LOW_MAX_STATUS)
                ice("kernel @%s: a check with status %d", c->k->name, s->status);
            if (!c->flag[s->status]) {
                c->flag[s->status] = l_alloca(l, l->i32, "failed");
                LLVMBuildStore(l->b, l_i32(l, 0), c->flag[s->status]);
            }
        }
        low_make_flags(c, &s->body);
        low_make_flags(c, &s->other);
    }
}

/* The lowest status that was set. */
static LLVMValueRef outcome(low *c)
{
    lb *l = c->l;
    LLVMValueRef r = l_i32(l, ATTN_OK);
    for (int s = LOW_MAX_STATUS - 1; s > 0; s--) {
        if (!c->flag[s])
            continue;
        LLVMValueRef set = LLVMBuildLoad2(l->b, l->i32, c->flag[s], "");
        r = l_select(l, l_icmp(l, LLVMIntNE, set, l_i32(l, 0)), l_i32(l, s), r);
    }
    return r;
}

/* ---- The function
 * -------------------------------------------------------------------------------- */

enum { ARG_DIMS, ARG_TABLES, ARG_EXEC = ARG_TABLES + 3, ARG_LOCALS, ARG_BUFFERS };

/* Whether a pointer to b is an argument. Those of families stand in a table. */
static bool is_argument(const low *c, const kbuf *b)
{
    if (b->n_family > 0 || b->role == KB_REG || !iface_has(c->k, c->f->part, b))
        return false;
    return c->block != &c->k->prepare || b->role == KB_PARAM || b->role == KB_PREPARED ||
           c->scratch[b->id];
}

/* For each axis but the last how many elements one step is; products of the extents behind it. */
void low_make_strides(low *c, const kbuf *b)
{
    uint32_t n = b->rank - b->n_family;
    c->stride[b->id] = ARENA_ARRAY(c->a, LLVMValueRef, n + 1);
    LLVMValueRef stride = NULL;
    for (uint32_t i = n; i-- > 0;) {
        c->stride[b->id][i] = stride;
        LLVMValueRef d = low_dim(c, b->shape[b->n_family + i]);
        stride = stride ? l_mul(c->l, stride, d) : d;
    }
}

static LLVMMetadataRef self_scope(const lb *l, LLVMMetadataRef domain)
{
    LLVMMetadataRef self = LLVMTemporaryMDNode(l->cx, NULL, 0);
    LLVMMetadataRef ops[] = {self, domain};
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->cx, ops, domain ? 2 : 1);
    LLVMMetadataReplaceAllUsesWith(self, node); /* frees the temporary */
    return node;
}

/* One for the module, so that equal functions are equal. */
static LLVMMetadataRef read_only_scope(lb *l)
{
    if (!l->ro_scope)
        l->ro_scope = self_scope(l, self_scope(l, NULL));
    return l->ro_scope;
}

/* The table of a family begins at its first slot. */
static void place_families(low *c)
{
    lb *l = c->l;
    for (size_t i = 0; i < c->f->n_bufs; i++) {
        const iface_buf *f = &c->f->bufs[i];
        if (f->buf->n_family == 0)
            continue;
        LLVMValueRef tab = LLVMGetParam(c->body, (unsigned)(ARG_TABLES + f->role));
        c->buf[f->buf->id] = l_gep(l, l->ptr, tab, l_i64(l, f->slot));
    }
}

/* Memory of the function that LLVM makes registers of where all indices are constants. */
static void place_regs(low *c)
{
    lb *l = c->l;
    for (size_t i = 0; i < c->k->bufs.n; i++) {
        const kbuf *b = c->k->bufs.v[i];
        if (b->role != KB_REG)
            continue;
        uint64_t n = 1;
        for (uint32_t j = 0; j < b->rank; j++) {
            int64_t d;
            ICE_UNLESS(dim_is_const(b->shape[j], &d) && d > 0);
            n *= (uint64_t)d;
        }
        c->buf[b->id] = l_alloca(l, LLVMArrayType2(l_store_type(l, b->store), n), b->name);
        LLVMSetAlignment(c->buf[b->id], ATTN_BLOCK_ALIGN);
        low_make_strides(c, b);
    }
}

void low_enter(low *c, const kblock *block, LLVMValueRef dim_struct)
{
    const kernel *k = c->k;
    c->block = block;
    c->dim_struct = dim_struct;
    c->buf = ARENA_ARRAY(c->a, LLVMValueRef, k->bufs.n + 1);
    c->stride = ARENA_ARRAY(c->a, LLVMValueRef *, k->bufs.n + 1);
    c->var = ARENA_ARRAY(c->a, low_var, k->vars.n + 1);
    c->flag = ARENA_ARRAY(c->a, LLVMValueRef, LOW_MAX_STATUS);
    c->memo = (ptr_map){.a = c->a};
    c->affine = (ptr_map){.a = c->a};
    memset(&c->undo, 0, sizeof c->undo);
    memset(&c->ahead, 0, sizeof c->ahead);
    c->lanes = (low_lanes){.n = 1};
    low_load_symbols(c, dim_struct);
    for (size_t i = 0; i < c->dims.n; i++)
        low_dim(c, c->dims.v[i]); /* here, in front of everything that may use them */
    place_regs(c);
    low_make_flags(c, block);
}

static bool has_parallel(const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if ((s->kind == KS_FOR && s->loop == KL_PARALLEL) || has_parallel(&s->body) ||
            has_parallel(&s->other))
            return true;
    }
    return false;
}

static bool is_read_only(const low *c, const kbuf *b)
{
    return b->role == KB_INPUT || b->role == KB_PARAM ||
           (b->role == KB_PREPARED && c->block != &c->k->prepare);
}

/* Pointers that a parallel loop hands on are captured, but overlap no less for that. */
static void begin_body(low *c, const char *name, const kblock *block)
{
    lb *l = c->l;
    const kernel *k = c->k;
    c->block = block;
    LLVMTypeRef *types = ARENA_ARRAY(c->a, LLVMTypeRef, ARG_BUFFERS + k->bufs.n + 1);
    unsigned n = 0;
    while (n < ARG_BUFFERS)
        types[n++] = l->ptr;
    types[ARG_LOCALS] = l->i64;
    for (size_t i = 0; i < k->bufs.n; i++)
        if (is_argument(c, k->bufs.v[i]))
            types[n++] = l->ptr;
    bool steps = c->f->part == PART_STEP && block != &k->prepare;
    if (steps)
        types[n++] = l->i64;
    c->body = l_function(l, arena_printf(c->a, name, c->f->symbol), l->i32, types, n,
                         LLVMInternalLinkage);
    /* Inlined, the arguments would lose what is said of them. */
    l_attr(l, c->body, LLVMAttributeFunctionIndex, "noinline");
    bool captured = has_parallel(block);
    for (unsigned i = 0; i < ARG_EXEC; i++)
        l_noalias(l, c->body, i, true, captured);
    low_enter(c, block, LLVMGetParam(c->body, ARG_DIMS));
    n = ARG_BUFFERS;
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        if (!is_argument(c, b))
            continue;
        l_noalias(l, c->body, n, is_read_only(c, b), captured);
        c->buf[b->id] = LLVMGetParam(c->body, n);
        LLVMSetValueName2(c->buf[b->id], b->name, strlen(b->name));
        n++;
    }
    if (steps)
        c->var[k->pos->id] = (low_var){LLVMGetParam(c->body, n), false, NULL};
    place_families(c);
    for (size_t i = 0; i < k->bufs.n; i++)
        low_make_strides(c, k->bufs.v[i]);
}

static void finish_body(low *c)
{
    low_block(c, c->block);
    LLVMBuildRet(c->l->b, outcome(c));
}

void lower_prepare(low *c)
{
    c->ro_scope = read_only_scope(c->l);
    if (c->n_own[KB_PREPARED] == 0)
        return;
    begin_body(c, c->k->rows ? "%s.steps.prepare.body" : "%s.prepare.body", &c->k->prepare);
    l_attr(c->l, c->body, LLVMAttributeFunctionIndex, "optsize");
    c->exec = NULL; /* a host prepares once, on one thread */
    finish_body(c);
    c->prepare = c->body;
}

void lower_body(low *c)
{
    static const char *const names[PART_COUNT] = {
        [PART_RUN] = "%s.body", [PART_BEGIN] = "%s.begin.body", [PART_STEP] = "%s.step.body"};
    c->ro_scope = read_only_scope(c->l);
    begin_body(c, names[c->f->part], c->f->part == PART_STEP ? &c->k->step : &c->k->body);
    c->exec = LLVMGetParam(c->body, ARG_EXEC);
    c->locals = LLVMGetParam(c->body, ARG_LOCALS);
    finish_body(c);
    c->exec = NULL;
}

/* ---- Its call
 * ------------------------------------------------------------------------------------ */

/* Where the buffers of a role begin. */
static LLVMValueRef block_of(low *c, const low_call *call, kbuf_role role)
{
    lb *l = c->l;
    switch (role) {
    case KB_STATE:
        return call->states;
    case KB_PREPARED:
        return call->prepared;
    case KB_LOCAL: {
        LLVMValueRef before = l_bin(l, LLVMAdd, low_total(c, call->sizes, LOW_TEMPS),
                                    low_total(c, call->sizes, LOW_PREPARED));
        return l_gep(l, l->i8, call->workspace, before);
    }
    default:
        return call->workspace;
    }
}

static LLVMValueRef call_of(low *c, const low_call *call, LLVMValueRef fn, const kblock *block)
{
    lb *l = c->l;
    const kernel *k = c->k;
    c->block = block;
    LLVMValueRef *args = ARENA_ARRAY(c->a, LLVMValueRef, ARG_BUFFERS + k->bufs.n + 1);
    args[ARG_DIMS] = call->dims;
    for (unsigned i = 0; i < 3; i++)
        args[ARG_TABLES + i] = call->tables[i];
    args[ARG_EXEC] = call->exec ? call->exec : LLVMConstNull(l->ptr);
    args[ARG_LOCALS] = low_total(c, call->sizes, LOW_LOCALS);
    unsigned n = ARG_BUFFERS;
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        const iface_buf *f = c->f->by_id[b->id];
        if (!is_argument(c, b))
            continue;
        if (f) {
            LLVMValueRef slot = l_gep(l, l->ptr, call->tables[f->role], l_i64(l, f->slot));
            args[n++] = l_load(l, l->ptr, slot, 8);
        } else {
            bool scratch = block == &k->prepare && c->scratch[b->id];
            size_t word = scratch ? k->bufs.n + LOW_TOTALS + b->id : b->id;
            LLVMValueRef at = l_gep(l, l->i64, call->sizes, l_i64(l, (int64_t)word));
            LLVMValueRef in = block_of(c, call, scratch ? KB_PREPARED : b->role);
            args[n++] = l_gep(l, l->i8, in, l_load(l, l->i64, at, 8));
        }
    }
    if (c->f->part == PART_STEP && block != &k->prepare)
        args[n++] = call->pos;
    return l_call(l, fn, args, n);
}

LLVMValueRef low_call_body(low *c, const low_call *call)
{
    return call_of(c, call, c->body, c->f->part == PART_STEP ? &c->k->step : &c->k->body);
}

LLVMValueRef low_call_prepare(low *c, const low_call *call)
{
    return call_of(c, call, c->prepare, &c->k->prepare);
}
