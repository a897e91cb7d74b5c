/* iface.c: a kernel as its C caller sees it. */
#include "backend/iface.h"

#include <string.h>

static const attn_role roles[] = {
    [KB_INPUT] = ATTN_INPUT, [KB_PARAM] = ATTN_PARAM, [KB_OUTPUT] = ATTN_OUTPUT};

const char *iface_struct(iface_part part, attn_role role)
{
    static const char *const names[PART_COUNT][3] = {
        [PART_RUN] = {[ATTN_INPUT] = "inputs", [ATTN_PARAM] = "params", [ATTN_OUTPUT] = "outputs"},
        [PART_BEGIN] = {[ATTN_INPUT] = "begin_inputs", [ATTN_PARAM] = "params"},
        [PART_STEP] =
            {[ATTN_INPUT] = "step_inputs", [ATTN_PARAM] = "params", [ATTN_OUTPUT] = "step_outputs"},
    };
    return names[part][role];
}

bool iface_has(const kernel *k, iface_part part, const kbuf *b)
{
    return part == PART_RUN || (part == PART_BEGIN ? kernel_in_begin : kernel_in_step)(k, b);
}

uint32_t iface_dim(const kernel *k, const dim_atom *atom)
{
    for (uint32_t i = 0; i < k->symbols.n; i++)
        if (k->symbols.v[i] == atom->name)
            return i;
    if (k->rows == atom->name)
        return (uint32_t)k->symbols.n;
    ice("kernel @%s: the dim %s is not in its list of dims", k->name, atom->name);
}

int64_t iface_family(const kbuf *b)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < b->n_family; i++) {
        int64_t c;
        if (!dim_is_const(b->shape[i], &c) || c < 0 || c > IFACE_MAX_POINTERS ||
            (n *= c) > IFACE_MAX_POINTERS)
            return -1;
    }
    return n;
}

iface *iface_new(arena *a, const kernel *k)
{
    return iface_of_part(a, k, PART_RUN);
}

iface *iface_of_part(arena *a, const kernel *k, iface_part part)
{
    iface *f = ARENA_NEW(a, iface);
    f->k = k;
    f->part = part;
    f->symbol = c_symbol(a, k->name);
    const char **members = ARENA_ARRAY(a, const char *, k->symbols.n + 1);
    for (size_t i = 0; i < k->symbols.n; i++)
        members[i] = c_member(a, k->symbols.v[i], arena_printf(a, "%s_dims", f->symbol));
    f->members = members;
    f->bufs = ARENA_ARRAY(a, iface_buf, k->bufs.n + 1);
    f->by_id = ARENA_ARRAY(a, const iface_buf *, k->bufs.n + 1);
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        if (b->id != i)
            ice("kernel @%s: buffer %s is number %u but says %u", k->name, b->name, (unsigned)i,
                b->id);
        if (kbuf_is_own(b) || !iface_has(k, part, b))
            continue;
        attn_role role = roles[b->role];
        int64_t n = iface_family(b);
        ICE_UNLESS(n >= 0);
        const char *in = arena_printf(a, "%s_%s", f->symbol, iface_struct(part, role));
        f->by_id[b->id] = &f->bufs[f->n_bufs];
        f->bufs[f->n_bufs++] = (iface_buf){b, role, f->n_slots[role], n,
                                           c_member(a, b->label ? b->label : b->name, in)};
        f->n_slots[role] += n;
    }
    return f;
}

/* ---- Extents
 * ------------------------------------------------------------------------------------- */

typedef struct rpn {
    arena *a;
    const kernel *k;
    VEC(int64_t) code;
    int64_t now, deepest;
} rpn;

static void push(rpn *r, attn_op op, int64_t word)
{
    vec_push(r->a, &r->code, op);
    vec_push(r->a, &r->code, word);
    if (++r->now > r->deepest)
        r->deepest = r->now;
}

static void binary(rpn *r, attn_op op)
{
    vec_push(r->a, &r->code, op);
    r->now--;
}

static void put_dim(rpn *r, const dim *d);

static void put_atom(rpn *r, const dim_atom *t)
{
    static const attn_op ops[] = {[ATOM_DIV] = ATTN_OP_DIV,
                                  [ATOM_EXACT] = ATTN_OP_EXACT,
                                  [ATOM_MOD] = ATTN_OP_MOD,
                                  [ATOM_MAX] = ATTN_OP_MAX,
                                  [ATOM_MIN] = ATTN_OP_MIN};
    if (t->kind == ATOM_SYM) {
        push(r, ATTN_OP_DIM, iface_dim(r->k, t));
        return;
    }
    put_dim(r, t->a);
    put_dim(r, t->b);
    binary(r, ops[t->kind]);
}

static void put_term(rpn *r, const dim_term *t)
{
    bool any = false;
    if (t->coef != 1 || t->n == 0) {
        push(r, ATTN_OP_CONST, t->coef);
        any = true;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        put_atom(r, t->atoms[i]);
        if (any)
            binary(r, ATTN_OP_MUL);
        any = true;
    }
}

static void put_dim(rpn *r, const dim *d)
{
    if (d->n == 0)
        push(r, ATTN_OP_CONST, 0);
    for (uint32_t i = 0; i < d->n; i++) {
        put_term(r, &d->terms[i]);
        if (i > 0)
            binary(r, ATTN_OP_ADD);
    }
}

attn_extent iface_extent(arena *a, const kernel *k, const dim *d, int64_t *depth)
{
    rpn r = {.a = a, .k = k};
    put_dim(&r, d);
    *depth = r.deepest;
    return (attn_extent){(int64_t)r.code.n, r.code.v, dim_text(a, d)};
}
