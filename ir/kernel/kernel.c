/* kernel.c: making kernels: buffers, variables, expressions, statements. Every constructor checks
 * what it is given and stops with an internal error where it does not fit; nothing is folded or
 * rewritten here. */
#include <string.h>

#include "ir/kernel/names.h"

const char *const kbuf_role_text[KB_ROLE_COUNT] = {
#define X(id, text) [KB_##id] = text,
    KBUF_ROLES(X)
#undef X
};

const char *const kloop_text[KL_COUNT] = {
#define X(id, text) [KL_##id] = text,
    KLOOPS(X)
#undef X
};

kernel *kernel_new(arena *a, strtab *names, dims *d, const char *name, dtype real)
{
    kernel *k = ARENA_NEW(a, kernel);
    k->a = a;
    k->names = names;
    k->dims = d;
    k->name = name;
    k->real = real;
    k->taken = kernel_names_new(a, names);
    return k;
}

void kernel_symbol(kernel *k, const char *name)
{
    name = intern(k->names, name);
    vec_push(k->a, &k->symbols, name);
    kernel_names_take(k->taken, name);
}

void kernel_steps(kernel *k, const char *rows, const dim *capacity)
{
    k->rows = kernel_names_unique(k->taken, rows);
    dim_sym(k->dims, k->rows);
    k->capacity = capacity;
}

int kernel_step_axis(const kernel *k, const kbuf *b)
{
    const char *name;
    for (uint32_t i = 0; k->rows && i < b->rank; i++) {
        if (dim_is_sym(b->shape[i], &name) && name == k->rows)
            return (int)i;
    }
    return -1;
}

bool kernel_in_begin(const kernel *k, const kbuf *b)
{
    return b->role != KB_OUTPUT && (b->role != KB_INPUT || kernel_step_axis(k, b) < 0);
}

bool kernel_in_step(const kernel *k, const kbuf *b)
{
    return b->role != KB_INPUT || kernel_step_axis(k, b) >= 0;
}

bool kernel_taken(const kernel *k, const char *name)
{
    return kernel_names_has(k->taken, name);
}

kbuf *kernel_buf(kernel *k, kbuf_role role, const char *name, store_type st,
                 const dim *const *shape, uint32_t rank)
{
    kbuf *b = ARENA_NEW(k->a, kbuf);
    const dim **own = ARENA_ARRAY(k->a, const dim *, rank);
    if (rank)
        memcpy(own, shape, rank * sizeof *own);
    b->id = (uint32_t)k->bufs.n;
    b->name = kernel_names_unique(k->taken, name);
    b->role = role;
    b->store = st;
    b->rank = rank;
    b->shape = own;
    vec_push(k->a, &k->bufs, b);
    return b;
}

kvar *kernel_var(kernel *k, const char *name, dtype dt, bool is_mutable)
{
    kvar *v = ARENA_NEW(k->a, kvar);
    v->id = (uint32_t)k->vars.n;
    v->name = kernel_names_unique(k->taken, name);
    v->dt = dt;
    v->mutable = is_mutable;
    vec_push(k->a, &k->vars, v);
    return v;
}

/* --- expressions --- */

static kexpr *new_expr(kernel *k, kexpr_kind kind, dtype dt)
{
    kexpr *e = ARENA_NEW(k->a, kexpr);
    e->kind = kind;
    e->dt = dt;
    return e;
}

static const kexpr *const *copy_args(kernel *k, const kexpr *const *args, uint32_t n)
{
    const kexpr **own = ARENA_ARRAY(k->a, const kexpr *, n);
    for (uint32_t i = 0; i < n; i++)
        own[i] = args[i];
    return own;
}

static dtype stored_type(const kernel *k, const kbuf *b)
{
    dtype dt = store_table[b->store].value;
    return dt == DT_F32 || dt == DT_F64 ? k->real : dt;
}

const kexpr *kx_real(kernel *k, double f)
{
    kexpr *e = new_expr(k, KX_CONST, k->real);
    e->f = f;
    return e;
}

const kexpr *kx_int(kernel *k, int64_t i)
{
    kexpr *e = new_expr(k, KX_CONST, DT_I64);
    e->i = i;
    return e;
}

const kexpr *kx_bool(kernel *k, bool b)
{
    kexpr *e = new_expr(k, KX_CONST, DT_BOOL);
    e->i = b;
    return e;
}

const kexpr *kx_dim(kernel *k, const dim *d)
{
    int64_t c;
    if (dim_is_const(d, &c))
        return kx_int(k, c);
    kexpr *e = new_expr(k, KX_DIM, DT_I64);
    e->dim = d;
    return e;
}

const kexpr *kx_var(kernel *k, const kvar *v)
{
    kexpr *e = new_expr(k, KX_VAR, v->dt);
    e->var = v;
    return e;
}

const kexpr *kx_load(kernel *k, const kbuf *b, const kexpr *const *index)
{
    for (uint32_t i = 0; i < b->rank; i++) {
        if (index[i]->dt != DT_I64)
            ice("index %u of buffer %s is no int", i, b->name);
    }
    kexpr *e = new_expr(k, KX_LOAD, stored_type(k, b));
    e->buf = b;
    e->n_args = b->rank;
    e->args = copy_args(k, index, b->rank);
    return e;
}

const kexpr *kx_given(kernel *k, const kbuf *b)
{
    ICE_UNLESS(b->optional);
    kexpr *e = new_expr(k, KX_GIVEN, DT_BOOL);
    e->buf = b;
    return e;
}

static bool is_real(dtype dt)
{
    return dt == DT_F32 || dt == DT_F64;
}

dtype kernel_op_type(const kernel *k, op_id op, const dtype *t)
{
    if (op >= OP_COUNT || !OP_HAS(op, T_ELEM))
        return DT_NONE;
    int n = op_table[op].n_args;
    bool same = true;
    for (int i = 1; i < n; i++)
        same = same && t[i] == t[0];
    switch (op_table[op].sig) {
    case SIG_SAME:
        return same && (is_real(t[0]) || t[0] == DT_I64) ? t[0] : DT_NONE;
    case SIG_REAL:
        return same && is_real(t[0]) ? t[0] : DT_NONE;
    case SIG_INT:
        return same && t[0] == DT_I64 ? DT_I64 : DT_NONE;
    case SIG_BOOL:
        return same && t[0] == DT_BOOL ? DT_BOOL : DT_NONE;
    case SIG_CMP:
        return same && t[0] != DT_NONE ? DT_BOOL : DT_NONE;
    case SIG_SELECT:
        return t[0] == DT_BOOL && t[1] == t[2] ? t[1] : DT_NONE;
    case SIG_TOINT:
        return is_real(t[0]) ? DT_I64 : DT_NONE;
    case SIG_TOREAL:
        return t[0] == DT_I64 ? k->real : DT_NONE;
    default:
        return DT_NONE;
    }
}

const kexpr *kx_op(kernel *k, op_id op, const kexpr *const *args)
{
    dtype types[3] = {DT_NONE};
    int n = op_table[op].n_args;
    ICE_UNLESS(n >= 1 && n <= 3);
    for (int i = 0; i < n; i++)
        types[i] = args[i]->dt;
    dtype dt = kernel_op_type(k, op, types);
    if (dt == DT_NONE)
        ice("%s over operands of type %s", op_table[op].text, dtype_text[types[0]]);
    kexpr *e = new_expr(k, KX_OP, dt);
    e->op = op;
    e->n_args = (uint32_t)n;
    e->args = copy_args(k, args, (uint32_t)n);
    return e;
}

const kexpr *kx_overflow(kernel *k, op_id op, const kexpr *const *args)
{
    ICE_UNLESS(kernel_can_overflow(op));
    kexpr *e = new_expr(k, KX_OVERFLOW, DT_BOOL);
    e->op = op;
    e->n_args = (uint32_t)op_table[op].n_args;
    for (uint32_t i = 0; i < e->n_args; i++)
        ICE_UNLESS(args[i]->dt == DT_I64);
    e->args = copy_args(k, args, e->n_args);
    return e;
}

bool kernel_can_overflow(op_id op)
{
    return op == OP_neg || op == OP_add || op == OP_sub || op == OP_mul || op == OP_abs;
}

/* --- statements --- */

static kstmt *new_stmt(kernel *k, kblock *in, kstmt_kind kind)
{
    kstmt *s = ARENA_NEW(k->a, kstmt);
    s->kind = kind;
    s->step = 1;
    vec_push(k->a, &in->s, s);
    return s;
}

static kstmt *new_assign(kernel *k, kblock *in, kstmt_kind kind, const kvar *v, const kexpr *e)
{
    if (v->dt != e->dt)
        ice("%s has type %s, its value %s", v->name, dtype_text[v->dt], dtype_text[e->dt]);
    kstmt *s = new_stmt(k, in, kind);
    s->var = v;
    s->e = e;
    return s;
}

kstmt *ks_for(kernel *k, kblock *in, const kvar *v, const kexpr *lo, const kexpr *hi, kloop loop)
{
    ICE_UNLESS(v->dt == DT_I64 && !v->mutable && lo->dt == DT_I64 && hi->dt == DT_I64);
    kstmt *s = new_stmt(k, in, KS_FOR);
    s->var = v;
    s->lo = lo;
    s->hi = hi;
    s->loop = loop;
    return s;
}

kstmt *ks_let(kernel *k, kblock *in, const kvar *v, const kexpr *e)
{
    ICE_UNLESS(!v->mutable);
    return new_assign(k, in, KS_LET, v, e);
}

kstmt *ks_var(kernel *k, kblock *in, const kvar *v, const kexpr *e)
{
    ICE_UNLESS(v->mutable);
    return new_assign(k, in, KS_VAR, v, e);
}

kstmt *ks_set(kernel *k, kblock *in, const kvar *v, const kexpr *e)
{
    ICE_UNLESS(v->mutable);
    return new_assign(k, in, KS_SET, v, e);
}

kstmt *ks_store(kernel *k, kblock *in, const kbuf *b, const kexpr *const *index, const kexpr *e)
{
    if (e->dt != stored_type(k, b))
        ice("a %s is stored in buffer %s", dtype_text[e->dt], b->name);
    kstmt *s = new_stmt(k, in, KS_STORE);
    s->buf = b;
    s->n_index = b->rank;
    s->index = copy_args(k, index, b->rank);
    s->e = e;
    return s;
}

kstmt *ks_if(kernel *k, kblock *in, const kexpr *cond)
{
    ICE_UNLESS(cond->dt == DT_BOOL);
    kstmt *s = new_stmt(k, in, KS_IF);
    s->e = cond;
    return s;
}

kstmt *ks_check(kernel *k, kblock *in, const kexpr *cond, int status)
{
    ICE_UNLESS(cond->dt == DT_BOOL);
    kstmt *s = new_stmt(k, in, KS_CHECK);
    s->e = cond;
    s->status = status;
    return s;
}
