/* merge_ix.c: the indices of the final graph: as few as can be.
 *
 * While sizes were still being solved, one size may have been given several indices (a callee's H
 * and the caller's). Two indices of one size may be one in the final graph if no tensor's
 * definition uses both. Fewer indices make equal terms one value, and the dump readable. */
#include "frontend/order.h"

#include <string.h>

typedef struct merger {
    sema *s;
    graph *from;
    size_t n;
    unsigned char *clash; /* n * n */
    unsigned char *seen;  /* by value id */
    ix_list used;         /* in the tensor at hand */
} merger;

static void use(merger *m, const ix *i)
{
    for (size_t k = 0; k < m->used.n; k++)
        if (m->used.v[k] == i)
            return;
    vec_push(m->s->a, &m->used, i);
}

static void walk(merger *m, const value *v)
{
    if (!v || m->seen[v->id])
        return;
    m->seen[v->id] = 1;
    for (uint32_t i = 0; i < v->n_ix; i++)
        use(m, v->ix[i]);
    for (uint32_t i = 0; i < v->n_bound && v->op != OP_history; i++)
        use(m, v->bound[i]);
    for (uint32_t i = 0; i < v->n_args; i++)
        walk(m, v->args[i]);
    walk(m, v->where);
}

static void all_clash(merger *m)
{
    for (size_t i = 0; i < m->used.n; i++)
        for (size_t k = 0; k < m->used.n; k++)
            m->clash[m->used.v[i]->id * m->n + m->used.v[k]->id] = 1;
}

const ix *const *merge_ixs(sema *s, graph *from, tensor *const *live, size_t n_live)
{
    merger m = {.s = s, .from = from, .n = from->ixs.n};
    m.clash = arena_array(s->a, m.n, m.n ? m.n : 1);
    for (size_t t = 0; t < n_live; t++) {
        m.used.n = 0;
        m.seen = ARENA_ARRAY(s->a, unsigned char, from->values.n + 1);
        for (uint32_t i = 0; i < live[t]->n_ix; i++)
            use(&m, live[t]->ix[i]);
        walk(&m, live[t]->body);
        all_clash(&m);
    }
    for (size_t k = 0; k < from->inputs.n; k++) { /* those that nobody reads are inputs too */
        m.used.n = 0;
        for (uint32_t i = 0; i < from->inputs.v[k]->n_ix; i++)
            use(&m, from->inputs.v[k]->ix[i]);
        all_clash(&m);
    }
    const ix **to = ARENA_ARRAY(s->a, const ix *, m.n ? m.n : 1);
    for (size_t i = 0; i < m.n; i++) {
        const ix *x = from->ixs.v[i];
        to[x->id] = x;
        for (size_t k = 0; k < i; k++) {
            const ix *y = from->ixs.v[k];
            if (to[y->id] != y || !dims_same(s, y->extent, x->extent))
                continue;
            bool free = true; /* of everything merged into y so far */
            for (size_t j = 0; j < i && free; j++)
                free = to[from->ixs.v[j]->id] != y || !m.clash[from->ixs.v[j]->id * m.n + x->id];
            if (free) {
                to[x->id] = y;
                break;
            }
        }
    }
    return to;
}
