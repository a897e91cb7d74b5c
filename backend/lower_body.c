/* lower_body.c: NAME.body: the statements of a kernel.
 *
 * Its arguments are the dims, the three pointer tables, and the pointers of all single buffers: as
 * arguments they can be said not to overlap. It is called once the entry has checked everything. */
#include "backend/lower.h"

#include <string.h>

void low_block(low *c, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        low_statement(c, b->s.v[i]);
        low_new_statement(c);
    }
}

/* ---- Statements
 * ---------------------------------------------------------------------------------- */

static void define(low *c, const kstmt *s, bool in_memory)
{
    lb *l = c->l;
    LLVMValueRef v = low_expr(c, s->e);
    low_var *slot = &c->var[s->var->id];
    if (!in_memory) {
        *slot = (low_var){v, false};
        return;
    }
    /* A variable in a loop keeps its one place. */
    if (!slot->v)
        *slot = (low_var){l_alloca(l, l_type(l, s->var->dt), s->var->name), true};
    LLVMBuildStore(l->b, v, slot->v);
}

static void lower_for(low *c, const kstmt *s)
{
    lb *l = c->l;
    LLVMValueRef lo = low_expr(c, s->lo), hi = low_expr(c, s->hi);
    low_new_statement(c);
    if (s->step < 1)
        ice("kernel @%s: a loop with step %lld", c->k->name, (long long)s->step);
    l_loop loop = l_for(l, lo, hi, s->step, s->down, s->var->name);
    c->var[s->var->id] = (low_var){loop.i, false};
    low_block(c, &s->body);
    l_end_for(l, &loop, s->loop == KL_VECTOR);
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

void low_statement(low *c, const kstmt *s)
{
    switch (s->kind) {
    case KS_FOR:
        lower_for(c, s);
        return;
    case KS_LET:
        define(c, s, false);
        return;
    case KS_VAR:
        define(c, s, true);
        return;
    case KS_SET:
        LLVMBuildStore(c->l->b, low_update(c, s->var, s->e), c->var[s->var->id].v);
        return;
    case KS_STORE: {
        LLVMValueRef *index = ARENA_ARRAY(c->a, LLVMValueRef, s->n_index + 1);
        for (uint32_t i = 0; i < s->n_index; i++)
            index[i] = low_expr(c, s->index[i]);
        low_store(c, s->buf, index, low_expr(c, s->e), s->e->dt);
        return;
    }
    case KS_IF:
        low_if(c, s);
        return;
    case KS_CHECK:
        lower_check(c, s);
        return;
    }
    ice("kernel @%s: a statement of kind %d", c->k->name, (int)s->kind);
}

/* ---- Statuses
 * ------------------------------------------------------------------------------------ */

static void make_flags(low *c, const kblock *b)
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
        make_flags(c, &s->body);
        make_flags(c, &s->other);
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

enum { ARG_DIMS, ARG_TABLES, ARG_BUFFERS = ARG_TABLES + 3 };

/* Pointers of families stand in a table. */
static bool is_argument(const low *c, const kbuf *b)
{
    return b->n_family == 0 && iface_has(c->k, c->f->part, b);
}

/* For each axis but the last how many elements one step is; products of the extents behind it. */
static void make_strides(low *c, const kbuf *b)
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

static void begin_body(low *c)
{
    lb *l = c->l;
    const kernel *k = c->k;
    static const char *const names[PART_COUNT] = {
        [PART_RUN] = "%s.body", [PART_BEGIN] = "%s.begin.body", [PART_STEP] = "%s.step.body"};
    LLVMTypeRef *types = ARENA_ARRAY(c->a, LLVMTypeRef, ARG_BUFFERS + k->bufs.n + 1);
    unsigned n = 0;
    while (n < ARG_BUFFERS)
        types[n++] = l->ptr;
    for (size_t i = 0; i < k->bufs.n; i++)
        if (is_argument(c, k->bufs.v[i]))
            types[n++] = l->ptr;
    if (c->f->part == PART_STEP)
        types[n++] = l->i64;
    c->body = l_function(l, arena_printf(c->a, names[c->f->part], c->f->symbol), l->i32, types, n,
                         LLVMInternalLinkage);
    /* Inlined, the arguments would lose what is said of them. */
    l_attr(l, c->body, LLVMAttributeFunctionIndex, "noinline");
    for (unsigned i = 0; i < ARG_BUFFERS; i++)
        l_noalias(l, c->body, i, true);
    n = ARG_BUFFERS;
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        if (!is_argument(c, b))
            continue;
        l_noalias(l, c->body, n, b->role == KB_INPUT || b->role == KB_PARAM);
        c->buf[b->id] = LLVMGetParam(c->body, n);
        LLVMSetValueName2(c->buf[b->id], b->name, strlen(b->name));
        n++;
    }
    if (c->f->part == PART_STEP)
        c->var[k->pos->id] = (low_var){LLVMGetParam(c->body, n), false};
}

void lower_body(low *c)
{
    lb *l = c->l;
    const kernel *k = c->k;
    c->buf = ARENA_ARRAY(c->a, LLVMValueRef, k->bufs.n + 1);
    c->stride = ARENA_ARRAY(c->a, LLVMValueRef *, k->bufs.n + 1);
    c->var = ARENA_ARRAY(c->a, low_var, k->vars.n + 1);
    c->flag = ARENA_ARRAY(c->a, LLVMValueRef, LOW_MAX_STATUS);
    c->memo = (ptr_map){.a = c->a};
    c->guarded = (ptr_map){.a = c->a};
    c->ro_scope = self_scope(l, self_scope(l, NULL));
    begin_body(c);
    low_load_symbols(c, LLVMGetParam(c->body, ARG_DIMS));
    for (size_t i = 0; i < c->dims.n; i++)
        low_dim(c, c->dims.v[i]); /* here, in front of everything that may use them */
    place_families(c);
    for (size_t i = 0; i < k->bufs.n; i++)
        make_strides(c, k->bufs.v[i]);
    const kblock *block = c->f->part == PART_STEP ? &k->step : &k->body;
    make_flags(c, &k->prepare);
    make_flags(c, block);
    low_block(c, &k->prepare);
    low_block(c, block);
    LLVMBuildRet(l->b, outcome(c));
}

LLVMValueRef low_call_body(low *c, const low_call *call)
{
    lb *l = c->l;
    const kernel *k = c->k;
    LLVMValueRef *args = ARENA_ARRAY(c->a, LLVMValueRef, ARG_BUFFERS + k->bufs.n + 1);
    args[ARG_DIMS] = call->dims;
    for (unsigned i = 0; i < 3; i++)
        args[ARG_TABLES + i] = call->tables[i];
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
            LLVMValueRef base = b->role == KB_STATE ? call->states : call->workspace;
            LLVMValueRef at = l_gep(l, l->i64, call->sizes, l_i64(l, (int64_t)b->id));
            args[n++] = l_gep(l, l->i8, base, l_load(l, l->i64, at, 8));
        }
    }
    if (c->f->part == PART_STEP)
        args[n++] = call->pos;
    return l_call(l, c->body, args, n);
}
