/* lower_dim.c: sizes of axes as LLVM values.
 *
 * NAME.sizes computes every dim of the kernel with checked arithmetic and refuses what is
 * undefined. The body, which runs only behind it, computes them again without checks: they cannot
 * overflow. */
#include <string.h>

#include "backend/lower.h"

/* ---- Which dims
 * ---------------------------------------------------------------------------------- */

static void want(low *c, ptr_map *seen, const dim *d)
{
    ptr_entry *e = ptr_map_at(seen, d);
    if (e->value)
        return;
    e->value = seen;
    vec_push(c->a, &c->dims, d);
}

static void want_expr(low *c, ptr_map *seen, const kexpr *e)
{
    if (e == NULL)
        return;
    ptr_entry *entry = ptr_map_at(seen, e);
    if (entry->value)
        return;
    entry->value = seen;
    if (e->kind == KX_DIM)
        want(c, seen, e->dim);
    for (uint32_t i = 0; i < e->n_args; i++)
        want_expr(c, seen, e->args[i]);
}

static void want_block(low *c, ptr_map *seen, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        want_expr(c, seen, s->e);
        want_expr(c, seen, s->lo);
        want_expr(c, seen, s->hi);
        for (uint32_t j = 0; j < s->n_index; j++)
            want_expr(c, seen, s->index[j]);
        want_block(c, seen, &s->body);
        want_block(c, seen, &s->other);
    }
}

void low_collect_dims(low *c)
{
    ptr_map seen = {.a = c->a};
    for (size_t i = 0; i < c->k->bufs.n; i++)
        for (uint32_t j = 0; j < c->k->bufs.v[i]->rank; j++)
            want(c, &seen, c->k->bufs.v[i]->shape[j]);
    for (size_t i = 0; i < c->k->checks.n; i++) {
        want(c, &seen, c->k->checks.v[i].a);
        want(c, &seen, c->k->checks.v[i].b);
    }
    if (c->k->rows)
        want(c, &seen, c->k->capacity);
    want_block(c, &seen, &c->k->prepare);
    want_block(c, &seen, &c->k->body);
    want_block(c, &seen, &c->k->step);
}

size_t low_n_symbols(const kernel *k)
{
    return k->symbols.n + (k->rows != NULL);
}

void low_load_symbols(low *c, LLVMValueRef dim_struct)
{
    lb *l = c->l;
    c->dim_value = (ptr_map){.a = c->a};
    c->symbol = ARENA_ARRAY(c->a, LLVMValueRef, c->k->symbols.n + 1);
    for (size_t i = 0; i < low_n_symbols(c->k); i++) {
        const char *name = i < c->k->symbols.n ? c->k->symbols.v[i] : c->k->rows;
        c->symbol[i] = l_load(l, l->i64, l_gep(l, l->i64, dim_struct, l_i64(l, (int64_t)i)), 8);
        LLVMSetValueName2(c->symbol[i], name, strlen(name));
    }
}

/* ---- Their values
 * -------------------------------------------------------------------------------- */

static LLVMValueRef plus(low *c, LLVMValueRef x, LLVMValueRef y)
{
    return c->bad ? l_checked(c->l, "llvm.sadd.with.overflow", x, y, c->bad) : l_add(c->l, x, y);
}

static LLVMValueRef times(low *c, LLVMValueRef x, LLVMValueRef y)
{
    return c->bad ? l_checked(c->l, "llvm.smul.with.overflow", x, y, c->bad) : l_mul(c->l, x, y);
}

/* A divisor fit to divide by; *bad where the true one is not. */
static LLVMValueRef divisor(low *c, LLVMValueRef x, LLVMValueRef y)
{
    lb *l = c->l;
    if (!c->bad)
        return y;
    LLVMValueRef zero = l_icmp(l, LLVMIntEQ, y, l_i64(l, 0));
    LLVMValueRef wraps = l_bin(l, LLVMAnd, l_icmp(l, LLVMIntEQ, x, l_i64(l, INT64_MIN)),
                               l_icmp(l, LLVMIntEQ, y, l_i64(l, -1)));
    LLVMValueRef unfit = l_bin(l, LLVMOr, zero, wraps);
    *c->bad = l_bin(l, LLVMOr, *c->bad, unfit);
    return l_select(l, unfit, l_i64(l, 1), y);
}

static LLVMValueRef atom(low *c, const dim_atom *t)
{
    lb *l = c->l;
    if (t->kind == ATOM_SYM)
        return c->symbol[iface_dim(c->k, t)];
    LLVMValueRef x = low_dim(c, t->a), y = low_dim(c, t->b);
    switch (t->kind) {
    case ATOM_DIV:
        return l_floordiv(l, x, divisor(c, x, y));
    case ATOM_EXACT:
        y = divisor(c, x, y);
        if (c->bad) {
            LLVMValueRef rem = l_bin(l, LLVMSRem, x, y);
            *c->bad = l_bin(l, LLVMOr, *c->bad, l_icmp(l, LLVMIntNE, rem, l_i64(l, 0)));
        }
        return l_bin(l, LLVMSDiv, x, y);
    case ATOM_MOD:
        return l_floormod(l, x, divisor(c, x, y));
    case ATOM_MAX:
        return l_intrinsic2(l, "llvm.smax", x, y);
    case ATOM_MIN:
        return l_intrinsic2(l, "llvm.smin", x, y);
    case ATOM_SYM:
        break;
    }
    ice("an atom of kind %d", (int)t->kind);
}

static LLVMValueRef term(low *c, const dim_term *t)
{
    LLVMValueRef v = t->coef != 1 || t->n == 0 ? l_i64(c->l, t->coef) : NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        LLVMValueRef x = atom(c, t->atoms[i]);
        v = v ? times(c, v, x) : x;
    }
    return v;
}

LLVMValueRef low_dim(low *c, const dim *d)
{
    ptr_entry *known = ptr_map_at(&c->dim_value, d);
    if (known->value)
        return known->value;
    LLVMValueRef v = d->n == 0 ? l_i64(c->l, 0) : NULL;
    for (uint32_t i = 0; i < d->n; i++) {
        LLVMValueRef t = term(c, &d->terms[i]);
        v = v ? plus(c, v, t) : t;
    }
    ptr_map_at(&c->dim_value, d)->value = v;
    return v;
}
