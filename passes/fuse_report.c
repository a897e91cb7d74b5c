/* fuse_report.c: what fuse-softmax-sum does to each normaliser of a graph, and why not. */
#include "ir/graph/scratch.h"
#include "passes/fuse_internal.h"

typedef struct reporting {
    graph *g;
    arena *a;
    fuse_notes *out;
} reporting;

static const char *reason(const fuse *f, const value *w)
{
    if (w->op == OP_hardmax)
        return "hardmax picks one element: it is no sum that parts of could be merged";
    if (f->why[w->id])
        return f->why[w->id];
    for (size_t i = 0; i < f->live.n; i++) {
        const value *v = f->live.v[i];
        if (v->op == OP_read && v->args[0] == w)
            return "its weights are read at other indices";
    }
    return "nothing is summed with its weights";
}

static void count_uses(fuse *f)
{
    f->uses = ARENA_ARRAY(f->scratch, uint32_t, f->g->values.n);
    for (size_t i = 0; i < f->live.n; i++) {
        for (uint32_t k = 0; k < f->live.v[i]->n_args; k++)
            f->uses[f->live.v[i]->args[k]->id]++;
    }
}

static void report(void *ctx, arena *scratch)
{
    reporting *r = ctx;
    fuse f;
    fuse_analyse(&f, r->g, scratch);
    count_uses(&f);
    const unsigned char *split = fuse_splits(r->g, scratch, &f.live, f.home);
    for (size_t i = 0; i < f.live.n; i++) {
        const value *w = f.live.v[i];
        fuse_note n = {.v = w};
        bool any = OP_HAS(w->op, T_NORM);
        for (size_t k = 0; k < f.groups.n; k++) {
            const fuse_group *g = f.groups.v[k];
            if (g->w != w || g->why)
                any = any || g->w == w;
            else {
                n.fused = any = true;
                n.n_sums += (uint32_t)g->sums.n;
                n.weights = n.weights || g->weights;
            }
        }
        if (!any && !f.why[w->id])
            continue;
        if (split[w->id]) {
            n.fused = true;
            n.n_sums = f.uses[w->id];
        }
        if (!n.fused)
            n.why = arena_printf(r->a, "%s", reason(&f, w));
        vec_push(r->a, r->out, n);
    }
}

void fuse_report(graph *g, arena *a, fuse_notes *out)
{
    reporting r = {.g = g, .a = a, .out = out};
    with_scratch(arena_mem(g->a), report, &r);
}
