/* lower_parallel.c: parallel loops: the body becomes a function of its own, which the host's
 * threads run (attn_exec in runtime/attn_abi.h).
 *
 * NAME.parallel(dims, buffers..., values..., i) does one iteration and returns a bit for each
 * status that a check raised. As arguments the buffers can be said not to overlap. NAME.share,
 * which the host calls, takes all that from a frame on the stack of the loop, moves the `local`
 * buffers to those of its thread, and adds the bits to the frame's. With no threads to share with,
 * the loop is run here, in order. Who does what has no influence on what is computed: an iteration
 * begins with nothing in `local` and `reg` buffers, and bits are only added. */
#include "backend/lower.h"

/* What the body uses of its surroundings. */
typedef struct surroundings {
    low *c;
    ptr_map seen;
    VEC(const kbuf *) bufs;
    VEC(const kvar *) vars;
} surroundings;

typedef struct loop {
    const kstmt *s;
    surroundings u;
    LLVMValueRef *v; /* the values, as of the arguments before i */
    unsigned n;
    LLVMTypeRef *types;
    LLVMTypeRef frame; /* the values and the bits */
    LLVMValueRef body, share;
} loop;

/* ---- What is used
 * -------------------------------------------------------------------------------- */

static bool is_new(surroundings *u, const void *key)
{
    ptr_entry *e = ptr_map_at(&u->seen, key);
    bool is = e->value == NULL;
    e->value = u;
    return is;
}

static void use_buf(surroundings *u, const kbuf *b)
{
    if (b->role != KB_REG && is_new(u, b))
        vec_push(u->c->a, &u->bufs, b);
}

static void use_expr(surroundings *u, const kexpr *e)
{
    if (!e || !is_new(u, e))
        return;
    if (e->kind == KX_VAR && is_new(u, e->var))
        vec_push(u->c->a, &u->vars, e->var);
    if (e->kind == KX_LOAD || e->kind == KX_GIVEN)
        use_buf(u, e->buf);
    for (uint32_t i = 0; i < e->n_args; i++)
        use_expr(u, e->args[i]);
}

static void use_block(surroundings *u, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        /* What is defined in here is no part of the surroundings. */
        if (s->var && s->kind != KS_SET)
            is_new(u, s->var);
        use_expr(u, s->e);
        use_expr(u, s->lo);
        use_expr(u, s->hi);
        for (uint32_t j = 0; j < s->n_index; j++)
            use_expr(u, s->index[j]);
        if (s->kind == KS_STORE)
            use_buf(u, s->buf);
        use_block(u, &s->body);
        use_block(u, &s->other);
    }
}

/* The arguments are: the dims, the buffers, the variables, the loop's first index. */
static void gather(loop *p, low *c, LLVMValueRef lo)
{
    p->u = (surroundings){.c = c, .seen = {.a = c->a}};
    is_new(&p->u, p->s->var);
    use_block(&p->u, &p->s->body);
    p->v = ARENA_ARRAY(c->a, LLVMValueRef, p->u.bufs.n + p->u.vars.n + 2);
    p->v[p->n++] = c->dim_struct;
    for (size_t i = 0; i < p->u.bufs.n; i++)
        p->v[p->n++] = c->buf[p->u.bufs.v[i]->id];
    for (size_t i = 0; i < p->u.vars.n; i++)
        p->v[p->n++] = low_var_value(c, p->u.vars.v[i]);
    p->v[p->n++] = lo;
    p->types = ARENA_ARRAY(c->a, LLVMTypeRef, p->n + 2);
    for (unsigned i = 0; i < p->n; i++)
        p->types[i] = LLVMTypeOf(p->v[i]);
}

/* ---- The functions
 * ------------------------------------------------------------------------------- */

/* A bit for each status that was raised. */
static LLVMValueRef raised(const low *c)
{
    const lb *l = c->l;
    LLVMValueRef bits = l_i32(l, 0);
    for (int s = 1; s < LOW_MAX_STATUS; s++) {
        if (!c->flag[s])
            continue;
        LLVMValueRef set =
            l_icmp(l, LLVMIntNE, LLVMBuildLoad2(l->b, l->i32, c->flag[s], ""), l_i32(l, 0));
        bits = l_bin(l, LLVMOr, bits, l_select(l, set, l_i32(l, INT64_C(1) << s), l_i32(l, 0)));
    }
    return bits;
}

static void build_body(loop *p, low *c)
{
    lb *l = c->l;
    LLVMBasicBlockRef back = l_here(l);
    const low saved = *c;
    p->types[p->n] = l->i64;
    p->body = l_function(l, arena_printf(c->a, "%s.parallel", c->f->symbol), l->i32, p->types,
                         p->n + 1, LLVMInternalLinkage);
    l_attr(l, p->body, LLVMAttributeFunctionIndex, "noinline");
    low_enter(c, &p->s->body, LLVMGetParam(p->body, 0));
    c->exec = NULL; /* a loop inside is run in order */
    l_noalias(l, p->body, 0, true, false);
    unsigned n = 1;
    for (size_t i = 0; i < p->u.bufs.n; i++, n++) {
        const kbuf *b = p->u.bufs.v[i];
        c->buf[b->id] = LLVMGetParam(p->body, n);
        LLVMSetValueName2(c->buf[b->id], b->name, strlen(b->name));
        /* The table of a family's pointers may be looked at through several buffers; all only read.
         */
        l_noalias(l, p->body, n,
                  b->n_family > 0 || b->role == KB_INPUT || b->role == KB_PARAM ||
                      b->role == KB_PREPARED,
                  false);
        low_make_strides(c, b);
    }
    for (size_t i = 0; i < p->u.vars.n; i++)
        c->var[p->u.vars.v[i]->id] = (low_var){LLVMGetParam(p->body, n++), false, NULL};
    LLVMValueRef lo = LLVMGetParam(p->body, n++), i = LLVMGetParam(p->body, n);
    LLVMValueRef index = l_add(l, lo, l_mul(l, i, l_i64(l, p->s->step)));
    c->var[p->s->var->id] = (low_var){index, false, NULL};
    low_block(c, &p->s->body);
    LLVMBuildRet(l->b, raised(c));
    ptr_map guarded = c->guarded; /* holds what it has learned: its slots are shared with saved */
    *c = saved;
    c->guarded = guarded;
    l_at(l, back);
}

static LLVMValueRef field(const loop *p, const lb *l, LLVMValueRef frame, unsigned i)
{
    return LLVMBuildStructGEP2(l->b, p->frame, frame, i, "");
}

/* void NAME.share(frame, i, worker): attn_body. The frame: values, bytes of one thread's locals,
 * bits. */
static void build_share(loop *p, low *c)
{
    lb *l = c->l;
    LLVMBasicBlockRef back = l_here(l);
    LLVMTypeRef types[] = {l->ptr, l->i64, l->i64};
    p->share = l_function(l, arena_printf(c->a, "%s.share", c->f->symbol), l->none, types, 3,
                          LLVMInternalLinkage);
    LLVMValueRef frame = LLVMGetParam(p->share, 0);
    LLVMValueRef size = LLVMBuildLoad2(l->b, l->i64, field(p, l, frame, p->n), "");
    LLVMValueRef mine = l_mul(l, LLVMGetParam(p->share, 2), size);
    LLVMValueRef *args = ARENA_ARRAY(c->a, LLVMValueRef, p->n + 1);
    for (unsigned i = 0; i < p->n; i++) {
        args[i] = LLVMBuildLoad2(l->b, p->types[i], field(p, l, frame, i), "");
        if (i >= 1 && i <= p->u.bufs.n && p->u.bufs.v[i - 1]->role == KB_LOCAL)
            args[i] = l_gep(l, l->i8, args[i], mine);
    }
    args[p->n] = LLVMGetParam(p->share, 1);
    LLVMValueRef bits = l_call(l, p->body, args, p->n + 1);
    LLVMBasicBlockRef end = l_if(l, l_icmp(l, LLVMIntNE, bits, l_i32(l, 0)));
    LLVMBuildAtomicRMW(l->b, LLVMAtomicRMWBinOpOr, field(p, l, frame, p->n + 1), bits,
                       LLVMAtomicOrderingMonotonic, 0);
    l_end_if(l, end);
    LLVMBuildRetVoid(l->b);
    l_at(l, back);
}

/* ---- The loop
 * ------------------------------------------------------------------------------------ */

static LLVMValueRef exec_pointer(low *c, size_t offset)
{
    lb *l = c->l;
    return l_load(l, l->ptr, l_gep(l, l->i8, c->exec, l_i64(l, (int64_t)offset)), 8);
}

static void hand_out(loop *p, low *c, LLVMValueRef frame, LLVMValueRef count)
{
    lb *l = c->l;
    for (unsigned i = 0; i < p->n; i++)
        LLVMBuildStore(l->b, p->v[i], field(p, l, frame, i));
    LLVMBuildStore(l->b, c->locals, field(p, l, frame, p->n));
    LLVMBuildStore(l->b, l_i32(l, 0), field(p, l, frame, p->n + 1));
    LLVMTypeRef types[] = {l->ptr, l->i64, l->ptr, l->ptr};
    LLVMValueRef args[] = {exec_pointer(c, offsetof(attn_exec, ctx)), count, p->share, frame};
    LLVMValueRef fn = exec_pointer(c, offsetof(attn_exec, parallel_for));
    LLVMBuildCall2(l->b, LLVMFunctionType(l->none, types, 4, 0), fn, args, 4, "");
}

static void run_here(loop *p, low *c, LLVMValueRef frame, LLVMValueRef count)
{
    lb *l = c->l;
    LLVMValueRef bits = field(p, l, frame, p->n + 1);
    LLVMBuildStore(l->b, l_i32(l, 0), bits);
    LLVMValueRef *args = ARENA_ARRAY(c->a, LLVMValueRef, p->n + 1);
    for (unsigned i = 0; i < p->n; i++)
        args[i] = p->v[i];
    l_loop loop = l_for(l, l_i64(l, 0), count, 1, false, p->s->var->name);
    args[p->n] = loop.i;
    LLVMValueRef more = l_call(l, p->body, args, p->n + 1);
    LLVMBuildStore(l->b, l_bin(l, LLVMOr, LLVMBuildLoad2(l->b, l->i32, bits, ""), more), bits);
    l_end_for(l, &loop, false);
}

static void take_bits(const loop *p, low *c, LLVMValueRef frame)
{
    lb *l = c->l;
    LLVMValueRef bits = LLVMBuildLoad2(l->b, l->i32, field(p, l, frame, p->n + 1), "");
    for (int s = 1; s < LOW_MAX_STATUS; s++) {
        if (!c->flag[s])
            continue;
        LLVMValueRef set = l_bin(l, LLVMAnd, bits, l_i32(l, INT64_C(1) << s));
        LLVMValueRef old = LLVMBuildLoad2(l->b, l->i32, c->flag[s], "");
        LLVMBuildStore(l->b, l_bin(l, LLVMOr, old, set), c->flag[s]);
    }
}

void low_parallel(low *c, const kstmt *s, LLVMValueRef lo, LLVMValueRef hi)
{
    lb *l = c->l;
    loop p = {.s = s};
    gather(&p, c, lo);
    build_body(&p, c);
    p.types[p.n] = l->i64;
    p.types[p.n + 1] = l->i32;
    p.frame = LLVMStructTypeInContext(l->cx, p.types, p.n + 2, 0);
    build_share(&p, c);
    LLVMValueRef count = l_count(l, lo, hi, s->step), frame = l_alloca(l, p.frame, "frame");

    LLVMBasicBlockRef ask = l_block(l, "ask"), share = l_block(l, "share");
    LLVMBasicBlockRef here = l_block(l, "here"), end = l_block(l, "done");
    LLVMValueRef one = l_icmp(l, LLVMIntSLT, count, l_i64(l, 2));
    l_cond(l, l_bin(l, LLVMOr, LLVMBuildIsNull(l->b, c->exec, ""), one), here, ask);
    l_at(l, ask);
    LLVMValueRef threads = l_load(l, l->i32, c->exec, 4);
    l_cond(l, l_icmp(l, LLVMIntSGT, threads, l_i32(l, 1)), share, here);
    l_at(l, share);
    hand_out(&p, c, frame, count);
    l_br(l, end);
    l_at(l, here);
    run_here(&p, c, frame, count);
    l_br(l, end);
    l_at(l, end);
    take_bits(&p, c, frame);
}
