/* verify.c: the rules a kernel keeps (ir/IR.md, section 5): types, scopes, unique names, buffer
 * ranks. That loads of optional inputs stand under `given` and that indices are in range are the
 * schedule's duty; tests check them by running kernels. */
#include <string.h>

#include "ir/graph/scratch.h"
#include "ir/kernel/names.h"

typedef struct check {
    const kernel *k;
    diags *ds;
    const char *where;
    unsigned char *state; /* by variable: what is known */
    const char *body;     /* of a step kernel: the name of the one at hand, else NULL */
    bool begins;          /* it is the first one */
    bool prepares;        /* it is the one that sees params alone */
    bool ok;
    span at;
} check;

enum { UNDEFINED, VISIBLE, HIDDEN };

static void fault(check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fault(check *c, const char *fmt, ...)
{
    strbuf b = {.a = c->ds->a};
    va_list ap;
    va_start(ap, fmt);
    sb_puts(&b, arena_vprintf(c->ds->a, fmt, ap));
    va_end(ap);
    diag_error(c->ds, c->at, "kernel %s%s%s: %s", c->k->name, c->where ? " " : "",
               c->where ? c->where : "", sb_text(&b));
    c->ok = false;
}

static dtype value_type(const check *c, const kbuf *b)
{
    dtype dt = store_table[b->store].value;
    return dt == DT_F32 || dt == DT_F64 ? c->k->real : dt;
}

/* What is stored comes back as it was: needed where an output is read again. */
static bool keeps_values(const check *c, const kbuf *b)
{
    switch (b->store) {
    case ST_F64:
    case ST_I64:
    case ST_BOOL:
        return true;
    case ST_F32:
        return c->k->real == DT_F32;
    default:
        return false;
    }
}

static bool known_buf(check *c, const kbuf *b)
{
    if (!b || b->id >= c->k->bufs.n || c->k->bufs.v[b->id] != b) {
        fault(c, "a buffer is not of this kernel");
        return false;
    }
    if (c->prepares && b->role != KB_PARAM && b->role < KB_PREPARED) {
        fault(c, "%s does not belong to prepare", b->name);
        return false;
    }
    if (c->body && !(c->begins ? kernel_in_begin : kernel_in_step)(c->k, b)) {
        fault(c, "%s does not belong to %s", b->name, c->body);
        return false;
    }
    return true;
}

static bool known_var(check *c, const kvar *v)
{
    if (v && v->id < c->k->vars.n && c->k->vars.v[v->id] == v)
        return true;
    fault(c, "a variable is not of this kernel");
    return false;
}

static void verify_expr(check *c, const kexpr *e);

static void verify_index(check *c, const kbuf *b, const kexpr *const *index, uint32_t n)
{
    if (n != b->rank)
        fault(c, "buffer %s has %u axes and is indexed by %u", b->name, b->rank, n);
    for (uint32_t i = 0; i < n; i++) {
        verify_expr(c, index[i]);
        if (index[i]->dt != DT_I64)
            fault(c, "index %u of buffer %s is no int", i, b->name);
    }
}

static void verify_op(check *c, const kexpr *e)
{
    dtype types[3] = {DT_NONE};
    int n = op_table[e->op].n_args;
    if (!OP_HAS(e->op, T_ELEM) || n != (int)e->n_args || n > 3) {
        fault(c, "%s is no scalar operation of %u operands", op_table[e->op].text, e->n_args);
        return;
    }
    for (int i = 0; i < n; i++) {
        verify_expr(c, e->args[i]);
        types[i] = e->args[i]->dt;
    }
    dtype dt = kernel_op_type(c->k, e->op, types);
    if (e->kind == KX_OVERFLOW)
        dt = kernel_can_overflow(e->op) && dt == DT_I64 ? DT_BOOL : DT_NONE;
    if (dt == DT_NONE || dt != e->dt)
        fault(c, "%s does not fit the types of its operands", op_table[e->op].text);
}

static void verify_expr(check *c, const kexpr *e)
{
    switch (e->kind) {
    case KX_CONST:
        if (e->dt != c->k->real && e->dt != DT_I64 && e->dt != DT_BOOL)
            fault(c, "a constant has type %s", dtype_text[e->dt]);
        break;
    case KX_DIM:
        if (e->dt != DT_I64 || !e->dim)
            fault(c, "a dim is no int");
        else if (c->k->rows && (c->begins || c->prepares) && dim_mentions(e->dim, c->k->rows))
            fault(c, "%s is used before the steps", c->k->rows);
        break;
    case KX_VAR:
        if (!known_var(c, e->var))
            break;
        if (c->state[e->var->id] != VISIBLE)
            fault(c, "%s is used %s", e->var->name,
                  c->state[e->var->id] == HIDDEN ? "behind the block that defines it"
                                                 : "before it is defined");
        if (e->dt != e->var->dt)
            fault(c, "%s is used as another type", e->var->name);
        break;
    case KX_LOAD:
        if (!known_buf(c, e->buf))
            break;
        verify_index(c, e->buf, e->args, e->n_args);
        if (e->dt != value_type(c, e->buf))
            fault(c, "a load from %s has type %s", e->buf->name, dtype_text[e->dt]);
        if (e->buf->role == KB_OUTPUT && !keeps_values(c, e->buf))
            fault(c, "output %s is read back from %s", e->buf->name,
                  store_table[e->buf->store].text);
        break;
    case KX_GIVEN:
        if (known_buf(c, e->buf) && (!e->buf->optional || e->dt != DT_BOOL))
            fault(c, "given asks about %s, which is not optional", e->buf->name);
        break;
    case KX_OP:
    case KX_OVERFLOW:
        verify_op(c, e);
        break;
    }
}

static void define(check *c, const kvar *v, bool is_mutable)
{
    if (!known_var(c, v))
        return;
    if (c->state[v->id] != UNDEFINED)
        fault(c, "%s is defined twice", v->name);
    if (v->mutable != is_mutable)
        fault(c, "%s is defined by the wrong statement", v->name);
    c->state[v->id] = VISIBLE;
}

static void typed(check *c, const kexpr *e, dtype dt, const char *what)
{
    verify_expr(c, e);
    if (e->dt != dt)
        fault(c, "%s is %s, not %s", what, dtype_text[e->dt], dtype_text[dt]);
}

static void verify_block(check *c, const kblock *b);

static bool defined_in(const kblock *b, const kvar *v)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if ((s->kind != KS_SET && s->var == v) || defined_in(&s->body, v) ||
            defined_in(&s->other, v))
            return true;
    }
    return false;
}

/* `v = op(v, e)` or `v = op(e, v)`, the operation one whose order is free. */
static bool is_reduction(const kstmt *s)
{
    const kexpr *e = s->e;
    if (e->kind != KX_OP || e->n_args != 2 || !OP_HAS(e->op, T_COMM))
        return false;
    for (int i = 0; i < 2; i++) {
        if (e->args[i]->kind == KX_VAR && e->args[i]->var == s->var)
            return true;
    }
    return false;
}

/* What is set in a loop of independent iterations is their own, or a reduction in a vector loop. */
static void verify_independent(check *c, const kstmt *loop, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (s->kind == KS_SET && !defined_in(&loop->body, s->var) &&
            !(loop->loop == KL_VECTOR && is_reduction(s)))
            fault(c, "a %s loop sets %s, which its iterations share", kloop_text[loop->loop],
                  s->var->name);
        verify_independent(c, loop, &s->body);
        verify_independent(c, loop, &s->other);
    }
}

enum { MAX_UNROLL = 64 };

static void verify_loop_kind(check *c, const kstmt *s)
{
    if (s->loop == KL_PARALLEL || s->loop == KL_VECTOR)
        verify_independent(c, s, &s->body);
    if (s->loop == KL_UNROLL && (s->lo->kind != KX_CONST || s->hi->kind != KX_CONST || s->down ||
                                 s->hi->i < s->lo->i || s->hi->i - s->lo->i > MAX_UNROLL * s->step))
        fault(c, "an unrolled loop needs constant bounds and at most %d iterations", MAX_UNROLL);
}

static void verify_stmt(check *c, const kstmt *s)
{
    c->at = s->at;
    switch (s->kind) {
    case KS_FOR:
        typed(c, s->lo, DT_I64, "a loop bound");
        typed(c, s->hi, DT_I64, "a loop bound");
        if (s->step < 1)
            fault(c, "a loop has the step %lld", (long long)s->step);
        verify_loop_kind(c, s);
        define(c, s->var, false);
        verify_block(c, &s->body);
        if (c->state[s->var->id] == VISIBLE)
            c->state[s->var->id] = HIDDEN;
        break;
    case KS_LET:
    case KS_VAR:
        typed(c, s->e, s->var->dt, "the value of a variable");
        define(c, s->var, s->kind == KS_VAR);
        break;
    case KS_SET:
        typed(c, s->e, s->var->dt, "the value of a variable");
        if (known_var(c, s->var) && (!s->var->mutable || c->state[s->var->id] != VISIBLE))
            fault(c, "%s cannot be set here", s->var->name);
        break;
    case KS_STORE:
        if (!known_buf(c, s->buf))
            break;
        verify_index(c, s->buf, s->index, s->n_index);
        typed(c, s->e, value_type(c, s->buf), "a stored value");
        if (s->buf->role == KB_INPUT || s->buf->role == KB_PARAM)
            fault(c, "%s is stored to", s->buf->name);
        if (s->buf->role == KB_PREPARED && !c->prepares)
            fault(c, "%s is stored to outside of prepare", s->buf->name);
        break;
    case KS_IF:
        typed(c, s->e, DT_BOOL, "a condition");
        verify_block(c, &s->body);
        verify_block(c, &s->other);
        break;
    case KS_CHECK:
        typed(c, s->e, DT_BOOL, "a condition");
        if (s->status != KERNEL_INDEX && s->status != KERNEL_INT)
            fault(c, "a check reports the unknown status %d", s->status);
        break;
    }
}

static void verify_block(check *c, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++)
        verify_stmt(c, b->s.v[i]);
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (s->kind == KS_LET || s->kind == KS_VAR)
            c->state[s->var->id] = HIDDEN;
    }
}

static void verify_names(check *c, arena *scratch)
{
    struct kernel_names *seen = kernel_names_new(scratch, c->k->names);
    if (c->k->rows)
        kernel_names_take(seen, c->k->rows);
    for (size_t i = 0; i < c->k->symbols.n + c->k->bufs.n + c->k->vars.n; i++) {
        size_t b = i - c->k->symbols.n, v = b - c->k->bufs.n;
        const char *name = i < c->k->symbols.n ? c->k->symbols.v[i]
                           : b < c->k->bufs.n  ? c->k->bufs.v[b]->name
                                               : c->k->vars.v[v]->name;
        if (kernel_names_has(seen, name) && i >= c->k->symbols.n)
            fault(c, "the name %s is used twice", name);
        kernel_names_take(seen, name);
    }
}

enum { MAX_REG_BYTES = 8192 };

static bool is_small(const kbuf *b)
{
    int64_t n = store_table[b->store].bytes, d;
    for (uint32_t i = 0; i < b->rank; i++) {
        if (!dim_is_const(b->shape[i], &d) || d < 1 || d > MAX_REG_BYTES)
            return false;
        n *= d;
        if (n > MAX_REG_BYTES)
            return false;
    }
    return true;
}

static void verify_buf(check *c, const kbuf *b)
{
    if (b->store >= ST_COUNT)
        fault(c, "buffer %s has no storage type", b->name);
    if (b->optional && b->role != KB_INPUT)
        fault(c, "buffer %s is optional and no input", b->name);
    if (b->n_family > b->rank)
        fault(c, "buffer %s has %u axes, %u of them for a family", b->name, b->rank, b->n_family);
    bool own = kbuf_is_own(b);
    if (own && b->n_family)
        fault(c, "buffer %s is a %s and a family", b->name, kbuf_role_text[b->role]);
    if (!own && !b->label)
        fault(c, "buffer %s has no name for the user", b->name);
    if (b->role == KB_STATE && !c->k->rows)
        fault(c, "buffer %s is a state and the kernel has no steps", b->name);
    for (uint32_t i = 0; c->k->rows && i < b->rank; i++) {
        if ((int)i != kernel_step_axis(c->k, b) && dim_mentions(b->shape[i], c->k->rows))
            fault(c, "the size of buffer %s depends on the steps of a call", b->name);
    }
    if (own && kernel_step_axis(c->k, b) >= 0)
        fault(c, "the size of buffer %s depends on the steps of a call", b->name);
    if (b->role == KB_REG && !is_small(b))
        fault(c, "buffer %s is in registers and its shape is not constant and small", b->name);
    if (b->id && c->k->bufs.v[b->id - 1]->role > b->role && !own)
        fault(c, "buffer %s stands behind a buffer of a later role", b->name);
}

static void verify_all(void *ctx, arena *scratch)
{
    check *c = ctx;
    c->state = ARENA_ARRAY(scratch, unsigned char, c->k->vars.n);
    verify_names(c, scratch);
    for (size_t i = 0; i < c->k->bufs.n; i++)
        verify_buf(c, c->k->bufs.v[i]);
    c->prepares = true;
    verify_block(c, &c->k->prepare);
    c->prepares = false;
    c->body = c->k->rows ? "begin" : NULL;
    c->begins = c->k->rows != NULL;
    verify_block(c, &c->k->body);
    if (!c->k->rows)
        return;
    if (!c->k->pos || !known_var(c, c->k->pos) || !c->k->capacity) {
        fault(c, "the steps have no position or no capacity");
        return;
    }
    c->body = "step";
    c->begins = false;
    define(c, c->k->pos, false);
    verify_block(c, &c->k->step);
}

bool kernel_verify(const kernel *k, diags *ds, const char *where)
{
    check c = {.k = k, .ds = ds, .where = where, .ok = true};
    with_scratch(arena_mem(k->a), verify_all, &c);
    return c.ok;
}
