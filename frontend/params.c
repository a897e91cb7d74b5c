/* params.c: params and inputs: the graph's leaves, seen with the axes their types give them. */
#include "frontend/sema.h"

#include <string.h>

/* --- which names a function uses as dims --- */

static bool expr_names(const ast_expr *x, const char *name)
{
    if (!x)
        return false;
    if (x->kind == AST_NAME && x->name == name)
        return true;
    if (expr_names(x->a, name) || expr_names(x->b, name))
        return true;
    for (size_t i = 0; x->args && i < x->n; i++)
        if (expr_names(x->args[i].e, name))
            return true;
    return false;
}

static bool axis_names(const ast_axis *a, const char *name)
{
    if (a->e && expr_names(a->e, name))
        return true;
    for (size_t i = 0; i < a->n; i++)
        if (axis_names(&a->parts[i], name))
            return true;
    return false;
}

static bool type_names(const ast_type *t, const char *name)
{
    for (size_t i = 0; t && i < t->n_axes; i++)
        if (axis_names(&t->axes[i], name))
            return true;
    return false;
}

static bool index_ranges(const ast_index *ix, const char *name);

static bool ranges_name(const ast_expr *x, const char *name)
{
    if (!x)
        return false;
    if (ranges_name(x->a, name) || ranges_name(x->b, name) || index_ranges(x->index, name))
        return true;
    for (size_t i = 0; x->items && i < x->n; i++)
        if (ranges_name(x->items[i], name))
            return true;
    for (size_t i = 0; x->args && i < x->n; i++)
        if (ranges_name(x->args[i].e, name))
            return true;
    return false;
}

static bool index_ranges(const ast_index *ix, const char *name)
{
    for (size_t i = 0; ix && i < ix->n; i++) {
        const ast_item *it = &ix->items[i];
        if (it->kind == AST_ITEM_IN && (expr_names(it->e, name) || expr_names(it->hi, name)))
            return true;
        if (ranges_name(it->e, name) || ranges_name(it->hi, name))
            return true;
    }
    return ix && ranges_name(ix->where, name);
}

static span place_in_expr(const ast_expr *x, const char *name)
{
    span at = {0};
    if (!x)
        return at;
    if (x->kind == AST_NAME && x->name == name)
        return x->at;
    at = place_in_expr(x->a, name);
    if (!at.file)
        at = place_in_expr(x->b, name);
    for (size_t i = 0; !at.file && x->args && i < x->n; i++)
        at = place_in_expr(x->args[i].e, name);
    return at;
}

static span place_in_axis(const ast_axis *a, const char *name)
{
    span at = place_in_expr(a->e, name);
    for (size_t i = 0; !at.file && i < a->n; i++)
        at = place_in_axis(&a->parts[i], name);
    return at;
}

static span place_in_type(const ast_type *t, const char *name)
{
    span at = {0};
    for (size_t i = 0; t && !at.file && i < t->n_axes; i++)
        at = place_in_axis(&t->axes[i], name);
    return at;
}

span dim_place(const inst *in, const char *name)
{
    const ast_decl *d = in->decl;
    span at = {0};
    for (size_t i = 0; d && !at.file && i < d->n_body; i++)
        if (d->body[i]->kind == STMT_CONST && d->body[i]->is_dim && d->body[i]->names[0].s == name)
            at = d->body[i]->names[0].at;
    for (size_t i = 0; d && !at.file && i < d->n_formals; i++)
        at = place_in_type(&d->formals[i].type, name);
    for (size_t i = 0; d && !at.file && i < d->n_results; i++)
        at = place_in_type(&d->results[i].type, name);
    for (size_t i = 0; d && !at.file && i < d->n_body; i++)
        at = place_in_type(d->body[i]->type, name);
    return at;
}

bool mentions_dim(const ast_decl *d, const char *name)
{
    for (size_t i = 0; i < d->n_formals; i++)
        if (type_names(&d->formals[i].type, name) || index_ranges(d->formals[i].index, name))
            return true;
    for (size_t i = 0; i < d->n_results; i++)
        if (type_names(&d->results[i].type, name) || index_ranges(d->results[i].index, name))
            return true;
    for (size_t i = 0; i < d->n_body; i++) {
        const ast_stmt *st = d->body[i];
        if (type_names(st->type, name) || ranges_name(st->e, name))
            return true;
        if (st->is_dim && st->names[0].s == name)
            return true;
        for (size_t k = 0; st->indices && k < st->n_names; k++)
            if (index_ranges(st->indices[k], name))
                return true;
        for (size_t k = 0; k < st->n_targets; k++)
            if (index_ranges(st->targets[k].index, name))
                return true;
        for (size_t k = 0; k < st->n_exprs; k++)
            if (ranges_name(st->exprs[k], name))
                return true;
    }
    return false;
}

bool type_names_dim(const ast_type *t, const char *name)
{
    return type_names(t, name);
}

bool formal_names_dim(const ast_formal *f, const char *name)
{
    return type_names(&f->type, name) || index_ranges(f->index, name) || f->name.s == name;
}

/* --- leaves --- */

/* Memory indices for a leaf: one for each of the first `n_lead` sizes, then one for each axis. */
static const ix **memory_ix(sema *s, const ix *const *lead, uint32_t n_lead,
                            const dim *const *family, uint32_t n_family, const axis *ax, uint32_t n,
                            uint32_t *total)
{
    ix_list avoid = {0};
    *total = n_lead + n_family + n;
    const ix **out = ARENA_ARRAY(s->a, const ix *, *total ? *total : 1);
    uint32_t k = 0;
    for (uint32_t i = 0; i < n_lead; i++)
        vec_push(s->a, &avoid, lead[i]);
    for (uint32_t i = 0; i < n_family; i++) {
        out[k] = pool_ix(s, family[i], avoid.v, avoid.n, "l");
        vec_push(s->a, &avoid, out[k]);
        k++;
    }
    for (uint32_t i = 0; i < n_lead; i++)
        out[k++] = lead[i];
    for (uint32_t i = 0; i < n; i++) {
        out[k] = pool_ix(s, axis_size(s, &ax[i]), avoid.v, avoid.n, NULL);
        vec_push(s->a, &avoid, out[k]);
        k++;
    }
    return out;
}

/* The leaf with an index for each part of each axis; `mem` are the memory indices of the axes. */
static tv unpack(sema *s, value *leaf, const ix *const *mem, axis *ax, uint32_t n,
                 const ix *const *avoid0, uint32_t n_avoid0, span at)
{
    VEC(const ix *) from = {0};
    VEC(value *) to = {0};
    ix_list avoid = {0};
    for (uint32_t i = 0; i < n_avoid0; i++)
        vec_push(s->a, &avoid, avoid0[i]);
    for (uint32_t i = 0; i < n; i++)
        if (ax[i].n == 1)
            vec_push(s->a, &avoid, mem[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (ax[i].n == 1) {
            ax[i].ix[0] = mem[i];
            continue;
        }
        value *flat = NULL;
        for (uint32_t k = 0; k < ax[i].n; k++) {
            ax[i].ix[k] = pool_ix(s, ax[i].d[k], avoid.v, avoid.n, NULL);
            vec_push(s->a, &avoid, ax[i].ix[k]);
            value *me = graph_index(s->g, ax[i].ix[k]);
            flat = flat ? b_elem(s, OP_add, b_elem(s, OP_mul, flat, b_dim(s, ax[i].d[k]), NULL), me,
                                 NULL)
                        : me;
        }
        vec_push(s->a, &from, mem[i]);
        vec_push(s->a, &to, flat);
    }
    tv v = tv_value(b_read(s, leaf, from.v, to.v, (uint32_t)from.n, NULL), at);
    v.axes = ax;
    v.n_axes = n;
    return v;
}

static const char *fill(sema *s, const char *pattern, const char *inner)
{
    const char *hole = strstr(pattern, "{}");
    return hole ? intern_printf(s->names, "%.*s%s%s", (int)(hole - pattern), pattern, inner,
                                hole + 2)
                : pattern;
}

tensor *param_tensor(inst *in, const ast_stmt *st, uint32_t which)
{
    sema *s = in->s;
    ast_name name = st->names[which];
    const ast_index *fam = st->indices ? st->indices[which] : NULL;
    uint32_t n;
    axis *ax;
    if (st->type->is_function) {
        diag_error(s->ds, st->type->at, "a param is a tensor, not a function");
        return NULL;
    }
    if (!axes_of_type(in, st->type, &n, &ax))
        return NULL;
    /* families: those of the enclosing part arrays, then the param's own */
    uint32_t outer = in->f ? in->f->n_family : 0, own = fam ? (uint32_t)fam->n : 0;
    const dim **ext = ARENA_ARRAY(s->a, const dim *, outer + own + 1);
    for (uint32_t i = 0; i < outer; i++)
        ext[i] = in->f->extents[i];
    for (uint32_t i = 0; i < own; i++) {
        if (fam->items[i].kind != AST_ITEM_IN || fam->items[i].hi) {
            diag *d = diag_error(s->ds, fam->items[i].at,
                                 "a family of params needs an index and its range");
            diag_help(d, "write `param %s[l in L]: ...`", name.s);
            return NULL;
        }
        ext[outer + i] = dims_eval(in, fam->items[i].e);
        if (!ext[outer + i])
            return NULL;
    }
    const char *inner = st->from.s ? fill(s, st->from.s, name.s) : name.s;
    const char *source = in->f ? fill(s, in->f->pattern, inner) : inner;
    const char *cname = intern_printf(s->names, "%s%s", in->f ? in->f->path : "", name.s);
    if (own && !strstr(source, arena_printf(s->a, "{%s}", fam->items[0].name.s))) {
        diag *d = diag_error(s->ds, st->at, "each tensor of the family %s needs a name of its own",
                             name.s);
        diag_help(d, "say where they are found: `from \"%s{%s}\"`", name.s, fam->items[0].name.s);
        return NULL;
    }
    /* one tensor of the file is one param, however often it is declared */
    struct param_owner *old = NULL;
    for (size_t i = 0; i < s->owners.n; i++)
        if (!strcmp(s->owners.v[i].v->source, source))
            old = &s->owners.v[i];
    uint32_t total;
    const ix **mem = memory_ix(s, NULL, 0, ext, outer + own, ax, n, &total);
    value *leaf;
    if (old) {
        bool fits = old->v->n_ix == total;
        for (uint32_t i = 0; fits && i < total; i++)
            fits = dims_unify(s, mem[i]->extent, old->v->ix[i]->extent);
        if (!fits) {
            diag *d = diag_error(s->ds, name.at, "param %s has two shapes: %s here", source,
                                 axes_show(s, ax, n));
            diag_note(d, old->t->at, "%s there", axes_show(s, old->t->axes, old->t->n_axes));
            if (in->parent)
                diag_note(d, in->call, "%s is called here", in->decl->name.s);
            if (old->t->in->parent)
                diag_note(d, old->t->in->call, "the first call of %s is here",
                          old->t->in->decl->name.s);
            diag_help(d, "copies of a function have params of their own as parts: "
                         "`part p = f from \"p_{}\"`");
            return NULL;
        }
        leaf = old->v;
        for (uint32_t i = 0; i < total; i++)
            mem[i] = old->v->ix[i];
    } else {
        for (size_t i = 0; i < s->owners.n; i++)
            if (!strcmp(s->owners.v[i].v->name, cname)) {
                cname = intern_printf(s->names, "%s_%zu", cname, s->owners.n);
                break;
            }
        leaf = graph_param(s->g, cname, store_of(s, st->type->scalar), mem, total, outer + own,
                           source);
        leaf->at = name.at;
    }
    value *all = leaf;
    if (outer) {
        const ix **from = ARENA_ARRAY(s->a, const ix *, outer);
        value **to = ARENA_ARRAY(s->a, value *, outer);
        for (uint32_t i = 0; i < outer; i++) {
            from[i] = mem[i];
            to[i] = in->f->family[i].v;
        }
        all = b_read(s, leaf, from, to, outer, NULL);
    }
    /* own family axes come first */
    axis *full = ARENA_ARRAY(s->a, axis, own + n);
    for (uint32_t i = 0; i < own; i++) {
        full[i] = (axis){.at = fam->at, .n = 1};
        full[i].ix = ARENA_ARRAY(s->a, const ix *, 1);
        full[i].d = ARENA_ARRAY(s->a, const dim *, 1);
        full[i].d[0] = ext[outer + i];
    }
    memcpy(full + own, ax, n * sizeof *ax);
    tensor *t = tensor_new(in, name.s, name.at);
    t->given = true;
    /* memory indices may coincide with ones in scope: move them apart */
    tv v = unpack(s, all, mem + outer, full, own + n, in->ctx, in->n_ctx, name.at);
    env e = {.in = in};
    t->val = rename_axes(&e, v, in->ctx, in->n_ctx);
    t->sig = t->def = P_DONE;
    t->dt = leaf->dt;
    t->axes = t->val.axes;
    t->n_axes = t->val.n_axes;
    t->declared = st->type;
    t->declared_at = st->type->at;
    if (!old) {
        struct param_owner o = {leaf, in->decl, t};
        vec_push(s->a, &s->owners, o);
        vec_push(s->a, &s->params, leaf);
    }
    return t;
}

/* --- inputs --- */

bool input_formal(inst *in, const ast_formal *f)
{
    sema *s = in->s;
    if (f->type.is_function) {
        if (!f->dflt) {
            diag *d =
                diag_error(s->ds, in->call, "this model must say which function %s is", f->name.s);
            diag_note(d, f->at, "%s is an argument of %s", f->name.s, in->decl->name.s);
            diag_help(d, "bind it: `model run[B] = %s(%s = ...)`", in->decl->name.s, f->name.s);
            return false;
        }
        tv v = default_value(in, f);
        if (tv_bad(&v))
            return false;
        bind_formal(in, f, v);
        return true;
    }
    uint32_t n, total, own = f->index ? (uint32_t)f->index->n : 0;
    axis *ax;
    if (!axes_of_type(in, &f->type, &n, &ax))
        return false;
    if (n == 0 && dtype_of(s, f->type.scalar) == DT_I64 && mentions_dim(in->decl, f->name.s)) {
        /* a length no tensor carries */
        const dim *d = dims_of_name(in, f->name.s, f->name.at);
        tv v = tv_value(b_dim(s, d), f->name.at);
        bind_formal(in, f, v);
        return true;
    }
    const dim **ext = ARENA_ARRAY(s->a, const dim *, own + 1);
    for (uint32_t i = 0; i < own; i++) {
        if (f->index->items[i].kind != AST_ITEM_IN || f->index->items[i].hi ||
            !(ext[i] = dims_eval(in, f->index->items[i].e))) {
            diag *d =
                diag_error(s->ds, f->index->at, "a family of inputs needs an index and its range");
            diag_help(d, "write `%s[l in L]: ... from \"%s{l}\"`", f->name.s, f->name.s);
            return false;
        }
        int64_t c;
        if (!dims_const(s, ext[i], &c)) {
            diag *d =
                diag_error(s->ds, f->index->at,
                           "the number of tensors of %s must be known when compiling", f->name.s);
            diag_help(d, "fix it: -D %s=...", dims_show(s, ext[i]));
            return false;
        }
    }
    const ix **mem = memory_ix(s, in->ctx, in->n_ctx, ext, own, ax, n, &total);
    value *leaf =
        graph_input(s->g, f->name.s, store_of(s, f->type.scalar), mem, total, f->dflt != NULL, own,
                    f->from.s ? f->from.s
                    : own     ? intern_printf(s->names, "%s{}", f->name.s)
                              : NULL);
    leaf->at = f->name.at;
    axis *full = ARENA_ARRAY(s->a, axis, own + n);
    for (uint32_t i = 0; i < own; i++) {
        full[i] = (axis){.at = f->index->at, .n = 1};
        full[i].ix = ARENA_ARRAY(s->a, const ix *, 1);
        full[i].d = ARENA_ARRAY(s->a, const dim *, 1);
        full[i].d[0] = ext[i];
    }
    if (n)
        memcpy(full + own, ax, n * sizeof *ax);
    const ix **axes_mem = ARENA_ARRAY(s->a, const ix *, own + n + 1);
    for (uint32_t i = 0; i < own; i++)
        axes_mem[i] = mem[i];
    for (uint32_t i = 0; i < n; i++)
        axes_mem[own + i] = mem[own + in->n_ctx + i];
    value *v = leaf;
    if (f->dflt) {
        value *given = graph_given(s->g, leaf);
        value **index = ARENA_ARRAY(s->a, value *, leaf->n_ix ? leaf->n_ix : 1);
        for (uint32_t i = 0; i < leaf->n_ix; i++)
            index[i] = graph_index(s->g, leaf->ix[i]);
        value *there = graph_read(s->g, leaf, index, given);
        tv d = default_value(in, f);
        if (d.kind != TV_VALUE)
            return false;
        /* the default on the leaf's indices */
        VEC(const ix *) from = {0};
        VEC(value *) to = {0};
        for (uint32_t i = 0; i < d.n_axes; i++) {
            value *flat = graph_index(s->g, axes_mem[own + i]);
            for (uint32_t k = d.axes[i].n; k-- > 0;) {
                value *size = b_dim(s, d.axes[i].d[k]);
                vec_push(s->a, &from, d.axes[i].ix[k]);
                vec_push(s->a, &to, k ? b_elem(s, OP_imod, flat, size, NULL) : flat);
                if (k)
                    flat = b_elem(s, OP_idiv, flat, size, NULL);
            }
        }
        value *dv = b_read(s, d.v, from.v, to.v, (uint32_t)from.n, NULL);
        v = b_select(s, given, there, dv);
    }
    tv x = unpack(s, v, axes_mem, full, own + n, in->ctx, in->n_ctx, f->name.at);
    bind_formal(in, f, x);
    return true;
}
