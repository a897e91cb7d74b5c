/* lower_parallel.c: parallel loops: the body becomes a function of its own, which the host's
 * threads run (attn_exec in runtime/attn_abi.h).
 *
 * NAME.parallel(dims, buffers..., values..., i) does one iteration and returns a bit for each
 * status that a check raised. As arguments the buffers can be said not to overlap. NAME.share,
 * which the host calls, takes all that from a frame on the stack of the loop, moves the `local`
 * buffers to those of its thread, and adds the bits to the frame's. With no threads to share with,
 * attn.parallel, one for all loops of a module, calls it here, in order. Who does what has no
 * influence on what is computed: an iteration begins with nothing in `local` and `reg` buffers, and
 * bits are only added. */
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

static LLVMValueRef of_exec(const lb *l, LLVMValueRef exec, LLVMTypeRef ty, size_t offset)
{
    unsigned align = ty == l->ptr ? 8 : 4;
    return l_load(l, ty, l_gep(l, l->i8, exec, l_i64(l, (int64_t)offset)), align);
}

static LLVMTypeRef body_type(const lb *l)
{
    LLVMTypeRef types[] = {l->ptr, l->i64, l->i64};
    return LLVMFunctionType(l->none, types, 3, 0);
}

/* attn.parallel(exec, n, share, frame): by the host's threads if there are several, else here. */
static void build_spread(const lb *l, LLVMValueRef fn)
{
    LLVMValueRef exec = LLVMGetParam(fn, 0), n = LLVMGetParam(fn, 1);
    LLVMValueRef share = LLVMGetParam(fn, 2), frame = LLVMGetParam(fn, 3);
    LLVMBasicBlockRef ask = l_block(l, "ask"), give = l_block(l, "give"), here = l_block(l, "here");
    LLVMValueRef one = l_icmp(l, LLVMIntSLT, n, l_i64(l, 2));
    l_cond(l, l_bin(l, LLVMOr, LLVMBuildIsNull(l->b, exec, ""), one), here, ask);
    l_at(l, ask);
    LLVMValueRef threads = of_exec(l, exec, l->i32, offsetof(attn_exec, threads));
    l_cond(l, l_icmp(l, LLVMIntSGT, threads, l_i32(l, 1)), give, here);
    l_at(l, give);
    LLVMTypeRef types[] = {l->ptr, l->i64, l->ptr, l->ptr};
    LLVMValueRef args[] = {of_exec(l, exec, l->ptr, offsetof(attn_exec, ctx)), n, share, frame};
    LLVMValueRef fork = of_exec(l, exec, l->ptr, offsetof(attn_exec, parallel_for));
    LLVMBuildCall2(l->b, LLVMFunctionType(l->none, types, 4, 0), fork, args, 4, "");
    LLVMBuildRetVoid(l->b);
    l_at(l, here);
    l_loop loop = l_for(l, l_i64(l, 0), n, 1, false, "i");
    LLVMValueRef of_body[] = {frame, loop.i, l_i64(l, 0)};
    LLVMBuildCall2(l->b, body_type(l), share, of_body, 3, "");
    l_end_for(l, &loop, false);
    LLVMBuildRetVoid(l->b);
}

static LLVMValueRef spread(const lb *l)
{
    static const char name[] = "attn.parallel";
    LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name);
    if (fn)
        return fn;
    LLVMBasicBlockRef back = l_here(l);
    LLVMTypeRef types[] = {l->ptr, l->i64, l->ptr, l->ptr};
    fn = l_function(l, name, l->none, types, 4, LLVMInternalLinkage);
    l_attr(l, fn, LLVMAttributeFunctionIndex, "noinline");
    build_spread(l, fn);
    l_at(l, back);
    return fn;
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
    LLVMValueRef frame = l_alloca(l, p.frame, "frame");
    for (unsigned i = 0; i < p.n; i++)
        LLVMBuildStore(l->b, p.v[i], field(&p, l, frame, i));
    LLVMBuildStore(l->b, c->locals, field(&p, l, frame, p.n));
    LLVMBuildStore(l->b, l_i32(l, 0), field(&p, l, frame, p.n + 1));
    LLVMValueRef args[] = {c->exec, l_count(l, lo, hi, s->step), p.share, frame};
    l_call(l, spread(l), args, 4);
    take_bits(&p, c, frame);
}
