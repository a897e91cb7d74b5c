/* to_ir.c: the final graph of an entry, built anew from what its results reach: its interface, then
 * each result. */
#include "frontend/builder.h"

#include <string.h>

/* --- the entry --- */

void mark_live(builder *b, tensor *t, bool *seen)
{
    if (seen[t->id])
        return;
    seen[t->id] = true;
    order_edges(&b->o, t);
    vec_push(b->s->a, &b->live, t);
    for (size_t i = 0; i < b->o.edges[t->id].n; i++)
        mark_live(b, b->o.edges[t->id].v[i].to, seen);
}

void note_symbols(builder *b, const dim *d)
{
    d = dims_value(b->s, d);
    for (uint32_t k = 0; d && k < dims_n_symbols(b->o.from->dims); k++) {
        const char *name = dims_symbol(b->o.from->dims, k);
        bool have = false;
        for (size_t i = 0; i < b->to->symbols.n; i++)
            have = have || b->to->symbols.v[i] == name;
        if (!have && dim_mentions(d, name))
            vec_push(b->to->a, &b->to->symbols, name);
    }
}

static void reach(value *v, unsigned char *seen)
{
    if (!v || seen[v->id])
        return;
    seen[v->id] = 1;
    for (uint32_t i = 0; i < v->n_args; i++)
        reach(v->args[i], seen);
    reach(v->where, seen);
}

bool make_roots(sema *s, inst *entry, const ast_decl *model, roots *r)
{
    size_t errors = s->ds->n_errors;
    r->entry = entry;
    r->model = model;
    r->n = entry->n_results;
    r->t = ARENA_ARRAY(s->a, tensor *, r->n);
    r->step_pos = ARENA_ARRAY(s->a, uint32_t, r->n);
    for (uint32_t k = 0; k < r->n; k++) {
        tensor *t = entry->results[k];
        env e = {.in = entry, .demand = entry->demand};
        tensor *x = tensor_new(entry, t->name, t->at);
        x->is_root = true;
        e.reader = x;
        tv v = tensor_read(&e, t, NULL, t->at);
        if (v.kind != TV_VALUE)
            return false;
        v = inst_mask_result(&e, t, v);
        x->body = v.support ? b_select(s, v.support, v.v, b_zero(s, v.v->dt)) : v.v;
        x->def = P_DONE;
        x->dt = v.v->dt;
        /* one memory axis for each axis: packed ones are merged */
        VEC(const ix *) order = {0};
        const ast_index *fam = t->result_formal ? t->result_formal->index : NULL;
        uint32_t family = fam ? (uint32_t)fam->n : 0;
        for (uint32_t i = 0; i < family; i++)
            vec_push(s->a, &order, v.axes[i].ix[0]);
        for (uint32_t i = 0; i < entry->n_ctx; i++)
            vec_push(s->a, &order, entry->ctx[i]);
        r->step_pos[k] = (uint32_t)order.n;
        VEC(const ix *) parts = {0};
        VEC(value *) to = {0};
        ix_list avoid = {0};
        tv_ixs(&v, &avoid, s->a);
        for (uint32_t i = 0; i < entry->n_ctx; i++)
            vec_push(s->a, &avoid, entry->ctx[i]);
        for (uint32_t i = family; i < v.n_axes; i++) {
            if (v.axes[i].n == 1) {
                vec_push(s->a, &order, v.axes[i].ix[0]);
                continue;
            }
            const ix *flat = pool_ix(s, axis_size(s, &v.axes[i]), avoid.v, avoid.n, "m");
            vec_push(s->a, &avoid, flat);
            vec_push(s->a, &order, flat);
            value *i64 = graph_index(s->g, flat);
            for (uint32_t p = v.axes[i].n; p-- > 0;) {
                value *size = b_dim(s, v.axes[i].d[p]);
                vec_push(s->a, &parts, v.axes[i].ix[p]);
                vec_push(s->a, &to, p ? b_elem(s, OP_imod, i64, size, NULL) : i64);
                if (p)
                    i64 = b_elem(s, OP_idiv, i64, size, NULL);
            }
        }
        x->body = b_read(s, x->body, parts.v, to.v, (uint32_t)parts.n, NULL);
        x->ix = order.v;
        x->n_ix = (uint32_t)order.n;
        r->t[k] = x;
    }
    return s->ds->n_errors == errors;
}

/* Which tensor each placeholder stands for, and which tensors the roots reach. */
void builder_init(builder *b, sema *s, tensor *const *root, uint32_t n)
{
    graph *from = s->g;
    b->s = s;
    b->o.s = s;
    b->o.from = from;
    b->o.n_scan = from->n_scans;
    b->o.by_scan = ARENA_ARRAY(s->a, tensor *, from->n_scans + 1);
    for (size_t i = 0; i < s->tensors.n; i++)
        if (s->tensors.v[i]->ph && s->tensors.v[i]->ph->op == OP_history &&
            s->tensors.v[i]->ph->scan < from->n_scans)
            b->o.by_scan[s->tensors.v[i]->ph->scan] = s->tensors.v[i];
    b->o.edges = arena_array(s->a, s->tensors.n, sizeof *b->o.edges);
    b->o.edges_done = ARENA_ARRAY(s->a, bool, s->tensors.n);
    bool *seen = ARENA_ARRAY(s->a, bool, s->tensors.n);
    for (uint32_t k = 0; k < n; k++)
        mark_live(b, root[k], seen);
}

/* The graph's interface, in order: inputs as declared, live params as declared. */
bool builder_interface(builder *b, graph *g, const roots *r, bool check_only)
{
    sema *s = b->s;
    graph *from = b->o.from;
    b->to = g;
    g->dims = from->dims;
    g->recurrence = !strcmp(r->entry->decl->word.s, "recurrence");
    b->n_ix_map = from->ixs.n + 64;
    b->ix_map = ARENA_ARRAY(s->a, const ix *, b->n_ix_map);
    b->merged = merge_ixs(s, from, b->live.v, b->live.n);
    b->n_merged = from->ixs.n;
    frame_arrays(b, &b->base);
    order_components(&b->o, &b->base, b->live.v, b->live.n);

    unsigned char *used = ARENA_ARRAY(s->a, unsigned char, from->values.n + 1);
    for (size_t i = 0; i < b->live.n; i++)
        reach(b->live.v[i]->body, used);
    for (size_t i = 0; i < from->inputs.n; i++)
        for (uint32_t k = 0; k < from->inputs.v[i]->n_ix; k++)
            note_symbols(b, from->inputs.v[i]->ix[k]->extent);
    for (size_t i = 0; i < s->params.n; i++)
        if (used[s->params.v[i]->id])
            for (uint32_t k = 0; k < s->params.v[i]->n_ix; k++)
                note_symbols(b, s->params.v[i]->ix[k]->extent);
    for (uint32_t k = 0; k < r->n; k++)
        for (uint32_t i = 0; i < r->t[k]->n_ix; i++)
            note_symbols(b, r->t[k]->ix[i]->extent);
    for (size_t i = 0; i < b->live.n; i++) /* sizes only locals know */
        for (uint32_t k = 0; k < b->live.v[i]->n_ix; k++)
            note_symbols(b, b->live.v[i]->ix[k]->extent);

    for (size_t i = 0; i < s->params.n; i++) {
        const value *p = s->params.v[i];
        for (uint32_t k = 0; used[p->id] && !check_only && k < p->n_family; k++) {
            const dim *count = p->ix[k]->extent;
            int64_t c;
            if (dims_const(s, count, &c))
                continue;
            diag *d = diag_error(
                s->ds, p->at, "the number of tensors of %s must be known when compiling, %s is not",
                p->source, dims_show(s, count));
            for (size_t q = 0; q < s->owners.n; q++)
                for (const inst *in = s->owners.v[q].v == p ? s->owners.v[q].t->in : NULL;
                     in && in->parent; in = in->parent)
                    diag_note(d, in->call, "%s is called here", in->decl->name.s);
            diag_help(d, "fix it: `dim %s = ...` or -D %s=...", dims_show(s, count),
                      dims_show(s, count));
            return false;
        }
    }
    s->g = g;
    for (size_t i = 0; i < from->inputs.n; i++)
        lower_leaf(b, from->inputs.v[i]);
    for (size_t i = 0; i < s->params.n; i++)
        if (used[s->params.v[i]->id])
            lower_leaf(b, s->params.v[i]);
    s->g = from;
    return true;
}

void builder_output(builder *b, const roots *r, uint32_t k, value *v)
{
    sema *s = b->s;
    const tensor *t = r->t[k];
    const ast_formal *f = r->entry->results[k]->result_formal;
    graph_result out = {.name = t->name, .v = v, .n_axes = t->n_ix};
    out.axes = map_ixs(b, t->ix, t->n_ix);
    out.store = f                  ? store_of(s, f->type.scalar)
                : v->dt == DT_I64  ? ST_I64
                : v->dt == DT_BOOL ? ST_BOOL
                                   : store_of(s, SCALAR_REAL);
    out.n_family = f && f->index ? (uint32_t)f->index->n : 0;
    out.source = f && f->from.s ? f->from.s
                 : out.n_family ? intern_printf(s->names, "%s{}", out.name)
                                : NULL;
    vec_push(b->to->a, &b->to->results, out);
}

void builder_checks(builder *b)
{
    sema *s = b->s;
    for (size_t i = 0; i < b->o.from->checks.n; i++) {
        graph_check c = b->o.from->checks.v[i];
        c.a = dims_final(s, c.a, c.at);
        c.b = dims_final(s, c.b, c.at);
        if (!c.le || !dims_le(s, c.a, c.b))
            vec_push(b->to->a, &b->to->checks, c);
    }
}

graph *to_ir(sema *s, module *m, const roots *r, bool check_only)
{
    builder b = {0};
    builder_init(&b, s, r->t, r->n);
    graph *g = graph_new(m, r->model->name.s, s->o->real);
    if (!builder_interface(&b, g, r, check_only))
        return NULL;
    graph *from = s->g;
    s->g = g;
    bool ok = true;
    for (uint32_t k = 0; k < r->n; k++) { /* all of them, for their messages */
        value *v = define(&b, &b.base, r->t[k]);
        ok = ok && v;
        if (v)
            builder_output(&b, r, k, v);
    }
    builder_checks(&b);
    s->g = from;
    return ok ? g : NULL;
}
