/* lower_mem.c: the elements of buffers.
 *
 * Single buffers are arguments of the body and say noalias there. The pointers of a family are
 * looked up in a table, often in a loop; that nothing the kernel writes overlaps them is said by an
 * alias scope. */
#include "backend/lower.h"

static void tag(low *c, LLVMValueRef instruction, const char *kind)
{
    LLVMMetadataRef list = LLVMMDNodeInContext2(c->l->cx, &c->ro_scope, 1);
    LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(c->l->cx, kind, (unsigned)strlen(kind)),
                    LLVMMetadataAsValue(c->l->cx, list));
}

/* Index of a pointer among those of a family, whose extents are constants. */
static LLVMValueRef family_index(low *c, const kbuf *b, LLVMValueRef *index)
{
    lb *l = c->l;
    LLVMValueRef at = index[0];
    for (uint32_t i = 1; i < b->n_family; i++)
        at = l_add(l, l_mul(l, at, low_dim(c, b->shape[i])), index[i]);
    return at;
}

LLVMValueRef low_base(low *c, const kbuf *b, LLVMValueRef *family)
{
    LLVMValueRef base = c->buf[b->id];
    if (b->n_family == 0)
        return base;
    LLVMValueRef slot = l_gep(c->l, c->l->ptr, base, family_index(c, b, family));
    return l_load(c->l, c->l->ptr, slot, 8);
}

LLVMValueRef low_tag(low *c, const kbuf *b, LLVMValueRef access, bool store)
{
    if (store)
        tag(c, access, "noalias");
    else if (b->n_family > 0 && b->role != KB_OUTPUT)
        tag(c, access, "alias.scope");
    return access;
}

/* All address arithmetic is in 64 bits; NAME.sizes made sure that it cannot overflow within the
 * buffer. */
LLVMValueRef low_element(low *c, const kbuf *b, LLVMValueRef *index)
{
    lb *l = c->l;
    LLVMValueRef base = low_base(c, b, index);
    LLVMValueRef at = NULL;
    for (uint32_t i = b->n_family; i < b->rank; i++) {
        LLVMValueRef stride = c->stride[b->id][i - b->n_family];
        LLVMValueRef part = stride ? l_mul(l, index[i], stride) : index[i];
        at = at ? l_add(l, at, part) : part;
    }
    return at ? l_gep(l, l_store_type(l, b->store), base, at) : base;
}

LLVMValueRef low_load(low *c, const kbuf *b, LLVMValueRef *index, dtype as)
{
    lb *l = c->l;
    LLVMValueRef p = low_element(c, b, index);
    LLVMValueRef v = l_load(l, l_store_type(l, b->store), p, (unsigned)store_table[b->store].bytes);
    return l_from_store(l, b->store, low_tag(c, b, v, false), as);
}

void low_store(low *c, const kbuf *b, LLVMValueRef *index, LLVMValueRef v, dtype from)
{
    lb *l = c->l;
    v = l_to_store(l, b->store, v, from);
    LLVMValueRef p = low_element(c, b, index);
    low_tag(c, b, l_store(l, v, p, (unsigned)store_table[b->store].bytes), true);
}
