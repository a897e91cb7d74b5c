/* lower_tile.c: sums by tiles as calls.
 *
 * A projection of any kind is the same loop (passes/schedule_tile.h):
 *
 *     unroll r { vector c { acc[r, c] = 0 } }
 *     for k { unroll r { let x = a[.., k, ..]; vector c { acc[r, c] += panel[.., k, c] * x } } }
 *     unroll r { vector c { to[.., r, c] = acc[r, c] } }
 *
 * and differs from others by addresses alone. So it is built once for a number of rows and columns,
 * as a function of these addresses, and called wherever these three statements stand: a model of
 * many layers has no more of it than one of few. What is added in which order stays the same.
 * Statements of any other form are none of this file's business. */
#include <string.h>

#include "backend/lower.h"

enum { STATEMENTS = 3, DEPTH = 2, MAX_ROWS = 16, MAX_VECTORS = 4 };

typedef struct tile {
    const kbuf *acc;
    const kstmt *loop[DEPTH]; /* over k, innermost first */
    unsigned depth, n_rows, n_vectors;
    const kvar *r, *c;
    const kexpr *panel, *a;
    const kstmt *put;
    const kvar *put_r, *put_c;
} tile;

/* ---- The statements
 * ------------------------------------------------------------------------------- */

static const kstmt *only(const kblock *b)
{
    return b->s.n == 1 ? b->s.v[0] : NULL;
}

static bool is_int(const kexpr *e, int64_t n)
{
    return e->kind == KX_CONST && e->dt == DT_I64 && e->i == n;
}

static bool is_var(const kexpr *e, const kvar *v)
{
    return e->kind == KX_VAR && e->var == v;
}

/* A loop 0 .. n of a kind; n comes back. */
static bool is_loop(const kstmt *s, kloop loop, int64_t *n)
{
    if (!s || s->kind != KS_FOR || s->loop != loop || s->step != 1 || s->down ||
        !is_int(s->lo, 0) || s->hi->kind != KX_CONST)
        return false;
    *n = s->hi->i;
    return true;
}

/* Held as it is computed with. */
static bool is_plain(const low *c, const kbuf *b)
{
    return b->store == (c->k->real == DT_F64 ? ST_F64 : ST_F32);
}

static bool is_element(const kexpr *const *index, uint32_t n, const kvar *r, const kvar *c)
{
    return n == 2 && is_var(index[0], r) && is_var(index[1], c);
}

static bool loads(const kexpr *e, const kbuf *b, const kvar *r, const kvar *c)
{
    return e->kind == KX_LOAD && e->buf == b && is_element(e->args, e->n_args, r, c);
}

/* for r { for c { store } } over all of acc. */
static const kstmt *rows_and_columns(const kstmt *s, int64_t *n_rows, int64_t *n_cols)
{
    if (!is_loop(s, KL_UNROLL, n_rows))
        return NULL;
    const kstmt *in = only(&s->body);
    if (!is_loop(in, KL_VECTOR, n_cols))
        return NULL;
    const kstmt *store = only(&in->body);
    return store && store->kind == KS_STORE ? store : NULL;
}

static bool is_clear(const low *c, tile *t, const kstmt *s)
{
    int64_t rows, cols;
    const kstmt *store = rows_and_columns(s, &rows, &cols);
    int64_t lanes = (int64_t)c->l->target->shape.vector_bytes / (c->k->real == DT_F64 ? 8 : 4);
    if (!store || store->e->kind != KX_CONST || store->e->f != 0 || store->e->dt != c->k->real ||
        store->buf->role != KB_REG ||
        !is_element(store->index, store->n_index, s->var, s->body.s.v[0]->var))
        return false;
    t->acc = store->buf;
    t->n_rows = (unsigned)rows;
    t->n_vectors = (unsigned)(cols / lanes);
    return is_plain(c, t->acc) && rows >= 1 && rows <= MAX_ROWS && cols >= lanes &&
           cols % lanes == 0 && cols / lanes <= MAX_VECTORS;
}

static bool is_sum(const low *c, tile *t, const kstmt *s, int64_t rows, int64_t cols)
{
    int64_t n;
    if (!is_loop(s, KL_UNROLL, &n) || n != rows || s->body.s.n != 2)
        return false;
    const kstmt *let = s->body.s.v[0], *in = s->body.s.v[1];
    if (let->kind != KS_LET || let->e->kind != KX_LOAD || !is_loop(in, KL_VECTOR, &n) || n != cols)
        return false;
    const kstmt *store = only(&in->body);
    t->r = s->var;
    t->c = in->var;
    t->a = let->e;
    if (!store || store->kind != KS_STORE || store->buf != t->acc ||
        !is_element(store->index, store->n_index, t->r, t->c))
        return false;
    const kexpr *e = store->e;
    if (e->kind != KX_OP || e->op != OP_add || !loads(e->args[0], t->acc, t->r, t->c))
        return false;
    const kexpr *product = e->args[1];
    if (product->kind != KX_OP || product->op != OP_mul)
        return false;
    bool swap = is_var(product->args[0], let->var);
    t->panel = product->args[swap];
    if (!is_var(product->args[!swap], let->var) || t->panel->kind != KX_LOAD)
        return false;
    const kbuf *p = t->panel->buf;
    int64_t width;
    return p != t->acc && t->a->buf != t->acc && is_plain(c, p) && is_plain(c, t->a->buf) &&
           p->rank - p->n_family >= 2 && dim_is_const(p->shape[p->rank - 1], &width) &&
           width == cols && is_var(t->panel->args[p->rank - 1], t->c);
}

static bool is_put(const low *c, tile *t, const kstmt *s, int64_t rows, int64_t cols)
{
    int64_t r, n;
    const kstmt *store = rows_and_columns(s, &r, &n);
    if (!store || r != rows || n != cols)
        return false;
    t->put = store;
    t->put_r = s->var;
    t->put_c = s->body.s.v[0]->var;
    const kbuf *b = store->buf;
    return b != t->acc && is_plain(c, b) && b->rank - b->n_family >= 2 &&
           loads(store->e, t->acc, t->put_r, t->put_c);
}

/* ---- Addresses
 * ------------------------------------------------------------------------------------ */

/* e is *by times v and something that is known in front of the loops. */
static bool linear(const kexpr *e, const kvar *v, int64_t *by)
{
    int64_t x, y;
    *by = 0;
    switch (e->kind) {
    case KX_VAR:
        *by = e->var == v;
        return true;
    case KX_CONST:
    case KX_DIM:
        return true;
    case KX_OP:
        break;
    case KX_LOAD: /* row numbers; of other memory we cannot say that it may be looked at early */
        if (e->buf->role != KB_REG)
            return false;
        break;
    default:
        return false;
    }
    bool sum = e->kind == KX_OP && (e->op == OP_add || e->op == OP_sub);
    if (sum && linear(e->args[0], v, &x) && linear(e->args[1], v, &y))
        return !(e->op == OP_add ? __builtin_add_overflow(x, y, by)
                                 : __builtin_sub_overflow(x, y, by));
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!linear(e->args[i], v, &x) || x != 0)
            return false;
    }
    return true;
}

/* v moves along axes of one tensor, by whole elements. */
static bool moves_along(const kbuf *b, const kexpr *const *index, uint32_t n, const kvar *v)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t by;
        if (!linear(index[i], v, &by) || (by && i < b->n_family))
            return false;
    }
    return true;
}

static bool stays(const kexpr *const *index, uint32_t n, const kvar *v)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t by;
        if (!linear(index[i], v, &by) || by)
            return false;
    }
    return true;
}

/* to[.., first + r, first + c] */
static bool is_block(const tile *t)
{
    const kstmt *p = t->put;
    int64_t by;
    uint32_t n = p->n_index;
    return stays(p->index, n - 2, t->put_r) && stays(p->index, n - 1, t->put_c) &&
           linear(p->index[n - 2], t->put_r, &by) && by == 1 &&
           linear(p->index[n - 1], t->put_c, &by) && by == 1 &&
           stays(&p->index[n - 1], 1, t->put_r);
}

static bool has_addresses(const tile *t)
{
    const kbuf *p = t->panel->buf;
    if (!stays(t->a->args, t->a->n_args, t->c) || !stays(t->panel->args, p->rank - 1, t->c) ||
        !stays(t->panel->args, p->rank, t->r) || !is_block(t))
        return false;
    for (unsigned i = 0; i < t->depth; i++) {
        const kvar *k = t->loop[i]->var;
        if (!moves_along(t->a->buf, t->a->args, t->a->n_args, k) ||
            !moves_along(p, t->panel->args, p->rank, k))
            return false;
    }
    /* The innermost loop goes from row to row of the panel. */
    const kvar *k = t->loop[0]->var;
    int64_t by;
    return linear(t->panel->args[p->rank - 2], k, &by) && by == 1 &&
           stays(t->panel->args, p->rank - 2, k);
}

/* Whether statements i .. i + 2 of b are a tile. */
static bool find(const low *c, const kblock *b, size_t i, tile *t)
{
    if (b->s.n - i < STATEMENTS || !is_clear(c, t, b->s.v[i]))
        return false;
    int64_t rows = t->n_rows, cols = b->s.v[i]->body.s.v[0]->hi->i;
    const kstmt *s = b->s.v[i + 1];
    for (t->depth = 0; s && s->kind == KS_FOR && s->loop == KL_SEQ; s = only(&s->body)) {
        if (t->depth == DEPTH || s->step != 1 || s->down || s->ahead)
            return false;
        memmove(&t->loop[1], t->loop, t->depth++ * sizeof *t->loop);
        t->loop[0] = s;
    }
    if (!t->depth || !is_sum(c, t, s, rows, cols) || !is_put(c, t, b->s.v[i + 2], rows, cols))
        return false;
    const kexpr *ends[] = {t->loop[0]->lo, t->loop[0]->hi};
    return stays(ends, 2, t->loop[t->depth - 1]->var) && has_addresses(t);
}

/* ---- The function
 * --------------------------------------------------------------------------------- */

enum { COUNT, A_STEP, PANEL_STEP, ARGS_OF_LOOP };
enum { ARG_TO, ARG_TO_STEP, ARG_PANEL, ARG_LOOPS, ARG_ROWS = ARG_LOOPS + DEPTH * ARGS_OF_LOOP };

/* void(to, elements from row to row of it, panel, COUNT and steps of each loop, a of each row).
 * The innermost loop's panel step is a row of the panel; with `unit` its step of a is 1. */
typedef struct form {
    const tile *t;
    LLVMTypeRef real, wide;
    unsigned lanes, align;
    bool unit;
    LLVMValueRef fn, *acc;
} form;

static LLVMValueRef of_loop(const form *f, unsigned loop, unsigned which)
{
    return LLVMGetParam(f->fn, ARG_LOOPS + ARGS_OF_LOOP * loop + which);
}

static LLVMValueRef vector_at(const lb *l, const form *f, LLVMValueRef p, unsigned v)
{
    return l_gep(l, f->real, p, l_i64(l, (int64_t)v * f->lanes));
}

static void add_products(const lb *l, const form *f, LLVMValueRef panel, LLVMValueRef at)
{
    const tile *t = f->t;
    LLVMValueRef p[MAX_VECTORS];
    for (unsigned v = 0; v < t->n_vectors; v++)
        p[v] = l_load(l, f->wide, vector_at(l, f, panel, v), f->align);
    for (unsigned r = 0; r < t->n_rows; r++) {
        LLVMValueRef a = l_gep(l, f->real, LLVMGetParam(f->fn, ARG_ROWS + r), at);
        LLVMValueRef x = l_spread(l, l_load(l, f->real, a, f->align), f->lanes);
        for (unsigned v = 0; v < t->n_vectors; v++) {
            LLVMValueRef acc = f->acc[r * t->n_vectors + v];
            LLVMValueRef old = LLVMBuildLoad2(l->b, f->wide, acc, "");
            LLVMValueRef product = l_fuse_flags(l_bin(l, LLVMFMul, p[v], x));
            LLVMBuildStore(l->b, l_fuse_flags(l_bin(l, LLVMFAdd, old, product)), acc);
        }
    }
}

static void build_loops(const lb *l, const form *f, unsigned depth, LLVMValueRef panel,
                        LLVMValueRef at)
{
    bool inner = depth == 0;
    l_loop loop = l_for(l, l_i64(l, 0), of_loop(f, depth, COUNT), 1, false, "k");
    LLVMValueRef row = l_i64(l, (int64_t)f->t->n_vectors * f->lanes), on = loop.i;
    if (!inner)
        row = of_loop(f, depth, PANEL_STEP);
    if (!inner || !f->unit)
        on = l_mul(l, on, of_loop(f, depth, A_STEP));
    panel = l_gep(l, f->real, panel, l_mul(l, loop.i, row));
    at = l_add(l, at, on);
    if (inner)
        add_products(l, f, panel, at);
    else
        build_loops(l, f, depth - 1, panel, at);
    l_end_for(l, &loop, false);
}

static void build(low *c, form *f, const char *name, const LLVMTypeRef *types, unsigned n_args)
{
    lb *l = c->l;
    const tile *t = f->t;
    LLVMBasicBlockRef back = l_here(l);
    f->fn = l_function(l, name, l->none, types, n_args, LLVMInternalLinkage);
    l_attr(l, f->fn, LLVMAttributeFunctionIndex, "noinline");
    f->acc = ARENA_ARRAY(c->a, LLVMValueRef, t->n_rows * t->n_vectors);
    for (unsigned i = 0; i < t->n_rows * t->n_vectors; i++) {
        f->acc[i] = l_alloca(l, f->wide, "acc");
        LLVMBuildStore(l->b, LLVMConstNull(f->wide), f->acc[i]);
    }
    build_loops(l, f, DEPTH - 1, LLVMGetParam(f->fn, ARG_PANEL), l_i64(l, 0));
    LLVMValueRef to = LLVMGetParam(f->fn, ARG_TO), step = LLVMGetParam(f->fn, ARG_TO_STEP);
    for (unsigned r = 0; r < t->n_rows; r++) {
        LLVMValueRef row = l_gep(l, f->real, to, l_mul(l, step, l_i64(l, r)));
        for (unsigned v = 0; v < t->n_vectors; v++) {
            LLVMValueRef acc = LLVMBuildLoad2(l->b, f->wide, f->acc[r * t->n_vectors + v], "");
            l_store(l, acc, vector_at(l, f, row, v), f->align);
        }
    }
    LLVMBuildRetVoid(l->b);
    l_at(l, back);
}

/* ---- Its call
 * ------------------------------------------------------------------------------------ */

static LLVMValueRef address(low *c, const kbuf *b, const kexpr *const *index)
{
    LLVMValueRef *at = ARENA_ARRAY(c->a, LLVMValueRef, b->rank);
    for (uint32_t i = 0; i < b->rank; i++)
        at[i] = low_expr(c, index[i]);
    LLVMValueRef p = low_element(c, b, at);
    low_new_statement(c);
    return p;
}

/* Elements from one number of v to the next. */
static LLVMValueRef step_of(low *c, const kbuf *b, const kexpr *const *index, const kvar *v)
{
    lb *l = c->l;
    LLVMValueRef sum = l_i64(l, 0);
    for (uint32_t i = b->n_family; i < b->rank; i++) {
        int64_t by;
        LLVMValueRef stride = c->stride[b->id][i - b->n_family];
        if (linear(index[i], v, &by) && by)
            sum = l_add(l, sum, l_mul(l, l_i64(l, by), stride ? stride : l_i64(l, 1)));
    }
    return sum;
}

static void set_var(low *c, const kvar *v, LLVMValueRef x)
{
    c->var[v->id] = (low_var){x, false, NULL};
}

static void call_args(low *c, const tile *t, LLVMValueRef *args)
{
    lb *l = c->l;
    const kexpr *const *of_a = t->a->args, *const *of_panel = t->panel->args;
    for (unsigned i = DEPTH; i-- > 0;) {
        LLVMValueRef *of = &args[ARG_LOOPS + ARGS_OF_LOOP * i];
        const kstmt *s = i < t->depth ? t->loop[i] : NULL;
        if (!s) { /* once around */
            of[COUNT] = l_i64(l, 1);
            of[A_STEP] = of[PANEL_STEP] = l_i64(l, 0);
            continue;
        }
        LLVMValueRef lo = low_expr(c, s->lo);
        of[COUNT] = l_bin(l, LLVMSub, low_expr(c, s->hi), lo);
        low_new_statement(c);
        of[A_STEP] = step_of(c, t->a->buf, of_a, s->var);
        of[PANEL_STEP] = step_of(c, t->panel->buf, of_panel, s->var);
        set_var(c, s->var, lo);
    }
    for (unsigned r = 0; r < t->n_rows; r++) {
        set_var(c, t->r, l_i64(l, r));
        args[ARG_ROWS + r] = address(c, t->a->buf, of_a);
    }
    set_var(c, t->c, l_i64(l, 0));
    args[ARG_PANEL] = address(c, t->panel->buf, of_panel);
    set_var(c, t->put_r, l_i64(l, 0));
    set_var(c, t->put_c, l_i64(l, 0));
    args[ARG_TO] = address(c, t->put->buf, t->put->index);
    args[ARG_TO_STEP] = step_of(c, t->put->buf, t->put->index, t->put_r);
}

/* What the accumulators hold then. Where nobody looks at them, as it should be, LLVM drops it. */
static void keep(low *c, const form *f, const LLVMValueRef *args)
{
    lb *l = c->l;
    const tile *t = f->t;
    for (unsigned r = 0; r < t->n_rows; r++) {
        LLVMValueRef row =
            l_gep(l, f->real, args[ARG_TO], l_mul(l, args[ARG_TO_STEP], l_i64(l, r)));
        for (unsigned v = 0; v < t->n_vectors; v++) {
            LLVMValueRef x = l_load(l, f->wide, vector_at(l, f, row, v), f->align);
            l_store(l, x, vector_at(l, f, c->buf[t->acc->id], r * t->n_vectors + v), f->align);
        }
    }
}

unsigned low_tile(low *c, const kblock *b, size_t i)
{
    lb *l = c->l;
    tile t;
    if (c->lanes.n > 1 || !find(c, b, i, &t))
        return 0;
    unsigned n = ARG_ROWS + t.n_rows, bytes = c->k->real == DT_F64 ? 8 : 4;
    LLVMValueRef *args = ARENA_ARRAY(c->a, LLVMValueRef, n);
    LLVMTypeRef *types = ARENA_ARRAY(c->a, LLVMTypeRef, n);
    call_args(c, &t, args);
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    form f = {.t = &t, .align = bytes, .lanes = (unsigned)l->target->shape.vector_bytes / bytes};
    f.real = l_type(l, c->k->real);
    f.wide = l_wide(f.real, f.lanes);
    LLVMValueRef step = args[ARG_LOOPS + A_STEP];
    f.unit = LLVMIsAConstantInt(step) && LLVMConstIntGetSExtValue(step) == 1;
    const char *name = arena_printf(c->a, "attn.tile.%s.%ux%u%s", dtype_text[c->k->real], t.n_rows,
                                    t.n_vectors, f.unit ? ".unit" : "");
    f.fn = LLVMGetNamedFunction(l->mod, name);
    if (!f.fn)
        build(c, &f, name, types, n);
    l_call(l, f.fn, args, n);
    keep(c, &f, args);
    return STATEMENTS;
}
