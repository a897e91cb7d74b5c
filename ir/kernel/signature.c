/* signature.c: the interface of a graph as an empty kernel: what the schedule begins with, and all
 * that the reflection record and the C header need. */
#include "ir/graph/scratch.h"
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

/* The axis gets `rows` elements. */
static void set_rows(kernel *k, kbuf *b, int axis)
{
    if (axis < 0)
        return;
    const dim **shape = arena_copy(k->a, b->shape, b->rank * sizeof *shape);
    shape[axis] = dim_sym(k->dims, k->rows);
    b->shape = shape;
}

typedef struct step_axes {
    const graph *g;
    kernel *k;
} step_axes;

static void find_step_axes(void *ctx, arena *scratch)
{
    step_axes *x = ctx;
    const graph *g = x->g;
    value_list live = {0};
    graph_live(g, scratch, &live);
    const int *axis = graph_step_axes(g, scratch, &live);
    for (size_t i = 0; i < g->inputs.n; i++)
        set_rows(x->k, x->k->bufs.v[i], axis[g->inputs.v[i]->id]);
    for (size_t i = 0; i < g->results.n; i++) {
        step_output o;
        if (graph_step_output(g, scratch, &live, &g->results.v[i], &o))
            set_rows(x->k, x->k->bufs.v[g->inputs.n + g->params.n + i], o.step_axis);
    }
}

kernel *kernel_from_step_signature(arena *a, const graph *g)
{
    step_axes x = {.g = g, .k = kernel_from_signature(a, g)};
    ICE_UNLESS(g->step);
    kernel_steps(x.k, "rows", g->step->extent);
    x.k->pos = kernel_var(x.k, "pos", DT_I64, false);
    with_scratch(arena_mem(a), find_step_axes, &x);
    return x.k;
}
