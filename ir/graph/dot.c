/* dot.c: graphs as Graphviz text, to look at. Not read back. */
#include <string.h>

#include "ir/graph/graph_internal.h"
#include "ir/graph/scratch.h"

typedef struct drawing {
    const graph *g;
    strbuf *out;
} drawing;

static void put_label(strbuf *out, const char *s)
{
    for (; *s; s++)
        sb_printf(out, strchr("\"\\", *s) ? "\\%c" : "%c", *s);
}

static const char *label(arena *scratch, const value *v)
{
    strbuf b = {.a = scratch};
    if (v->hint)
        sb_printf(&b, "%s = ", v->hint);
    sb_puts(&b, op_table[v->op].text);
    if (v->op == OP_reduce)
        sb_printf(&b, " %s", reduce_table[v->kind].text);
    if (v->op == OP_online)
        sb_printf(&b, " %s", online_text[v->kind]);
    if (v->op == OP_part && v->kind < 0)
        sb_printf(&b, " %s", part_of_kind(v->kind)->text);
    else if (v->op == OP_part || v->op == OP_result)
        sb_printf(&b, " %d", v->kind);
    if (v->op == OP_index)
        sb_printf(&b, " %s", v->ix[0]->name);
    if (v->op == OP_dim)
        sb_printf(&b, " %s", dim_text(scratch, v->dim));
    if (v->op == OP_const && (v->dt == DT_I64 || v->dt == DT_BOOL))
        sb_printf(&b, " %lld", (long long)v->i);
    else if (v->op == OP_const) {
        sb_puts(&b, " ");
        sb_put_double(&b, v->f);
    }
    if (v->name)
        sb_printf(&b, " %s", v->name);
    for (uint32_t i = 0; i < v->n_bound; i++)
        sb_printf(&b, "%s%s", i ? ", " : " over ", v->bound[i]->name);
    return sb_text(&b);
}

static void draw(void *ctx, arena *scratch)
{
    drawing *d = ctx;
    const graph *g = d->g;
    value_list live = {0};
    graph_live(g, scratch, &live);
    uint32_t *home = graph_homes(g, scratch, &live);
    sb_puts(d->out, "digraph \"");
    put_label(d->out, g->name);
    sb_puts(d->out, "\" {\n  node [shape=box, fontname=monospace];\n");
    for (size_t i = 0; i < live.n; i++) {
        const value *v = live.v[i];
        sb_printf(d->out, "  v%u [label=\"", v->id);
        put_label(d->out, label(scratch, v));
        sb_puts(d->out, "\\n");
        put_label(d->out, v->dt == DT_NONE ? "" : type_text(scratch, v));
        sb_printf(d->out, "\"%s];\n", home[v->id] ? ", style=filled, fillcolor=lightgrey" : "");
        for (uint32_t k = 0; k < v->n_args; k++)
            sb_printf(d->out, "  v%u -> v%u;\n", v->args[k]->id, v->id);
        if (v->where)
            sb_printf(d->out, "  v%u -> v%u [style=dashed];\n", v->where->id, v->id);
    }
    for (size_t i = 0; i < g->results.n; i++) {
        sb_printf(d->out, "  r%zu [label=\"", i);
        put_label(d->out, g->results.v[i].name);
        sb_printf(d->out, "\", shape=ellipse];\n  v%u -> r%zu;\n", g->results.v[i].v->id, i);
    }
    sb_puts(d->out, "}\n");
}

void graph_print_dot(const graph *g, strbuf *out)
{
    drawing d = {.g = g, .out = out};
    with_scratch(arena_mem(g->a), draw, &d);
}
