/* signature.c: the interface of a graph as an empty kernel: what the schedule begins with, and all
 * that the reflection record and the C header need. */
#include "ir/kernel/kernel.h"

static kbuf *leaf_buf(kernel *k, kbuf_role role, const value *v)
{
    const dim **shape = ARENA_ARRAY(k->a, const dim *, v->n_ix);
    for (uint32_t i = 0; i < v->n_ix; i++)
        shape[i] = v->ix[i]->extent;
    kbuf *b = kernel_buf(k, role, v->name, (store_type)v->kind, shape, v->n_ix);
    b->n_family = v->n_family;
    b->optional = v->optional;
    b->label = v->name;
    b->source = v->source;
    return b;
}

kernel *kernel_from_signature(arena *a, const graph *g)
{
    kernel *k = kernel_new(a, g->names, g->dims, g->name, g->real);
    k->recurrence = g->recurrence;
    for (size_t i = 0; i < g->symbols.n; i++)
        kernel_symbol(k, g->symbols.v[i]);
    for (size_t i = 0; i < g->checks.n; i++)
        vec_push(a, &k->checks, g->checks.v[i]);
    for (size_t i = 0; i < g->inputs.n; i++)
        leaf_buf(k, KB_INPUT, g->inputs.v[i]);
    for (size_t i = 0; i < g->params.n; i++)
        leaf_buf(k, KB_PARAM, g->params.v[i]);
    for (size_t i = 0; i < g->results.n; i++) {
        const graph_result *r = &g->results.v[i];
        const dim **shape = ARENA_ARRAY(a, const dim *, r->n_axes);
        for (uint32_t j = 0; j < r->n_axes; j++)
            shape[j] = r->axes[j]->extent;
        kbuf *b = kernel_buf(k, KB_OUTPUT, r->name, r->store, shape, r->n_axes);
        b->n_family = r->n_family;
        b->label = r->name;
        b->source = r->source;
    }
    return k;
}
