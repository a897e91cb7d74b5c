/* lower_info.c: the reflection record as constant data of the module. Field order follows
 * attn_abi.h, whose static assertions fix the layout that the literal structs here have. */
#include "backend/lower.h"

static LLVMValueRef structure(const lb *l, LLVMValueRef *fields, unsigned n)
{
    return LLVMConstStructInContext(l->cx, fields, n, 0);
}

static LLVMValueRef text_or_null(const lb *l, const char *s)
{
    return s ? l_string(l, s) : LLVMConstNull(l->ptr);
}

/* A private array; NULL where it is empty. */
static LLVMValueRef array(const lb *l, LLVMValueRef *v, size_t n)
{
    if (n == 0)
        return LLVMConstNull(l->ptr);
    return l_constant(l, LLVMConstArray2(LLVMTypeOf(v[0]), v, n), "data");
}

static LLVMValueRef extent(low *c, const attn_extent *e)
{
    lb *l = c->l;
    size_t n = (size_t)e->n;
    LLVMValueRef *code = ARENA_ARRAY(c->a, LLVMValueRef, n + 1);
    for (size_t i = 0; i < n; i++)
        code[i] = l_i64(l, e->code[i]);
    LLVMValueRef f[] = {l_i64(l, e->n), array(l, code, n), l_string(l, e->text)};
    return structure(l, f, 3);
}

/* The tensors of a family share one shape. */
typedef struct shape {
    const attn_extent *of;
    LLVMValueRef v;
} shape;

static LLVMValueRef shape_of(low *c, shape *last, const attn_tensor_info *t)
{
    if (last->v && last->of == t->shape)
        return last->v;
    LLVMValueRef *axes = ARENA_ARRAY(c->a, LLVMValueRef, (size_t)t->rank + 1);
    for (int64_t i = 0; i < t->rank; i++)
        axes[i] = extent(c, &t->shape[i]);
    *last = (shape){t->shape, array(c->l, axes, (size_t)t->rank)};
    return last->v;
}

static LLVMValueRef tensors(low *c, const attn_model_info *m)
{
    lb *l = c->l;
    size_t n = (size_t)m->n_tensors;
    LLVMValueRef *v = ARENA_ARRAY(c->a, LLVMValueRef, n + 1);
    shape last = {NULL, NULL};
    for (size_t i = 0; i < n; i++) {
        const attn_tensor_info *t = &m->tensors[i];
        LLVMValueRef f[] = {l_string(l, t->name),  l_i32(l, t->role),          l_i32(l, t->dtype),
                            l_i32(l, t->flags),    l_i32(l, t->step_axis),     l_i64(l, t->rank),
                            shape_of(c, &last, t), text_or_null(l, t->source), l_i64(l, t->slot)};
        v[i] = structure(l, f, sizeof f / sizeof f[0]);
    }
    return array(l, v, n);
}

static LLVMValueRef checks(low *c, const attn_model_info *m)
{
    lb *l = c->l;
    size_t n = (size_t)m->n_checks;
    LLVMValueRef *v = ARENA_ARRAY(c->a, LLVMValueRef, n + 1);
    for (size_t i = 0; i < n; i++) {
        const attn_check_info *k = &m->checks[i];
        LLVMValueRef f[] = {extent(c, &k->lhs), extent(c, &k->rhs), l_i32(l, k->relation),
                            l_i32(l, k->reserved), l_string(l, k->message)};
        v[i] = structure(l, f, sizeof f / sizeof f[0]);
    }
    return array(l, v, n);
}

void lower_info(low *c)
{
    lb *l = c->l;
    const attn_model_info *m = backend_info(c->a, c->k);
    LLVMValueRef *names = ARENA_ARRAY(c->a, LLVMValueRef, (size_t)m->n_dims + 1);
    for (int64_t i = 0; i < m->n_dims; i++)
        names[i] = l_string(l, m->dim_names[i]);
    LLVMValueRef f[] = {l_i32(l, m->abi_version),
                        l_i32(l, m->reserved),
                        l_string(l, m->name),
                        l_i64(l, m->n_dims),
                        array(l, names, (size_t)m->n_dims),
                        l_i64(l, m->n_tensors),
                        tensors(c, m),
                        l_i64(l, m->n_checks),
                        checks(c, m),
                        LLVMConstNull(l->ptr)};
    if (m->capacity) {
        LLVMValueRef capacity = extent(c, m->capacity);
        f[sizeof f / sizeof f[0] - 1] = array(l, &capacity, 1);
    }
    LLVMValueRef init = structure(l, f, sizeof f / sizeof f[0]);
    LLVMValueRef g =
        LLVMAddGlobal(l->mod, LLVMTypeOf(init), arena_printf(c->a, "%s_info", c->f->symbol));
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
}
