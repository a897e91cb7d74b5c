/* until.c: `until e` as equations of its own.
 *
 *     stop[t]  = e                      stop[-1]  = false
 *     alive[t] = alive[t-1] and not stop[t-1]     alive[-1] = true
 *
 * Results along the step are absent where not alive; an int result `steps` counts the rows that
 * are. */
#include "frontend/sema.h"

#include <string.h>

static ast_expr *node(sema *s, ast_kind kind, span at)
{
    ast_expr *x = ARENA_NEW(s->a, ast_expr);
    x->kind = kind;
    x->at = at;
    return x;
}

static ast_expr *name_of(sema *s, const char *name, span at)
{
    ast_expr *x = node(s, AST_NAME, at);
    x->name = name;
    return x;
}

static ast_expr *integer(sema *s, int64_t i, span at)
{
    ast_expr *x = node(s, AST_INT, at);
    x->integer = i;
    return x;
}

static ast_expr *binary(sema *s, ast_op op, ast_expr *a, ast_expr *b, span at)
{
    ast_expr *x = node(s, AST_BINARY, at);
    x->op = op;
    x->a = a;
    x->b = b;
    return x;
}

static ast_index *index_of(sema *s, ast_expr *e, span at)
{
    ast_index *ix = ARENA_NEW(s->a, ast_index);
    ix->at = at;
    ix->n = 1;
    ix->items = ARENA_NEW(s->a, ast_item);
    ix->items[0] = (ast_item){.kind = AST_ITEM_EXPR, .at = at, .e = e};
    return ix;
}

static ast_expr *read_of(sema *s, const char *name, ast_expr *at_index, span at)
{
    ast_expr *x = node(s, AST_INDEX, at);
    x->a = name_of(s, name, at);
    x->index = index_of(s, at_index, at);
    return x;
}

static void equate(inst *in, tensor *t, ast_expr *index, ast_expr *e, span at)
{
    sema *s = in->s;
    ast_stmt *st = ARENA_NEW(s->a, ast_stmt);
    ast_target *target = ARENA_NEW(s->a, ast_target);
    *target = (ast_target){
        .kind = TARGET_NAME, .at = at, .name = {t->name, at}, .index = index_of(s, index, at)};
    *st = (ast_stmt){.kind = STMT_EQ, .at = at, .e = e, .n_targets = 1, .targets = target};
    equation q = {.in = in, .stmt = st, .target = target, .component = UINT32_MAX};
    vec_push(s->a, &t->eqs, q);
}

/* The step index of `until`: the first bare index in it. */
static const ast_expr *step_index(inst *in, const ast_expr *x)
{
    if (!x)
        return NULL;
    if (x->kind == AST_INDEX)
        for (size_t i = 0; i < x->index->n; i++) {
            const ast_expr *e = x->index->items[i].e;
            if (x->index->items[i].kind == AST_ITEM_EXPR && e->kind == AST_NAME &&
                !inst_find(in, e->name) && !dims_find(in, e->name))
                return e;
        }
    const ast_expr *r = step_index(in, x->a);
    if (!r)
        r = step_index(in, x->b);
    for (size_t i = 0; !r && x->items && i < x->n; i++)
        r = step_index(in, x->items[i]);
    for (size_t i = 0; !r && x->args && i < x->n; i++)
        r = step_index(in, x->args[i].e);
    return r;
}

static tensor *hidden(inst *in, const char *name, span at, const ast_type *type)
{
    sema *s = in->s;
    tensor *t = tensor_new(in, intern(s->names, name), at);
    t->declared = type;
    t->declared_at = at;
    entity n = {.kind = N_TENSOR, .name = t->name, .at = at, .t = t};
    vec_push(s->a, &in->names, n);
    vec_push(s->a, &in->locals, t);
    return t;
}

tensor *make_alive(inst *in, const ast_stmt *until)
{
    sema *s = in->s;
    span at = until->at;
    const ast_decl *d = in->decl;
    const ast_expr *t = step_index(in, until->e);
    if (!t) {
        diag *g = diag_error(s->ds, at, "`until` names no step");
        diag_help(g, "write it for one step: `until ids[t] == EOS`");
        return NULL;
    }
    const ast_type *step = NULL;
    for (size_t i = 0; i < d->n_results && !step; i++)
        if (d->results[i].type.n_axes)
            step = &d->results[i].type;
    if (!step) {
        diag *g = diag_error(s->ds, at, "`until` needs a result with a step axis");
        diag_note(g, d->name.at, "%s has none", d->name.s);
        diag_help(g, "name the results with their axes: `-> (ids: int[T])`");
        return NULL;
    }
    ast_type *flags = ARENA_NEW(s->a, ast_type);
    *flags = *step;
    flags->scalar = SCALAR_BOOL;
    flags->n_axes = 1;
    tensor *stop = hidden(in, "(stop)", at, flags);
    tensor *alive = hidden(in, "(alive)", at, flags);
    ast_expr *step_name = name_of(s, t->name, t->at);
    ast_expr *before = binary(s, OP_SUB, name_of(s, t->name, t->at), integer(s, 1, at), at);
    ast_expr *first = node(s, AST_UNARY, at);
    first->op = OP_NEG;
    first->a = integer(s, 1, at);
    equate(in, stop, step_name, until->e, at);
    equate(in, stop, first, name_of(s, intern(s->names, "false"), at), at);
    ast_expr *no = node(s, AST_UNARY, at);
    no->op = OP_NOT;
    no->a = read_of(s, stop->name, before, at);
    equate(in, alive, step_name, binary(s, OP_AND, read_of(s, alive->name, before, at), no, at),
           at);
    equate(in, alive, first, name_of(s, intern(s->names, "true"), at), at);
    return alive;
}

void finish_until(inst *in)
{
    sema *s = in->s;
    entity *n = inst_find(in, intern(s->names, "steps"));
    if (!n || n->kind != N_TENSOR || n->t->given || n->t->eqs.n)
        return;
    /* steps = count[t](alive[t]) */
    span at = n->at;
    const char *t = intern(s->names, "(t)");
    ast_expr *call = node(s, AST_CALL, at);
    call->a = node(s, AST_INDEX, at);
    call->a->a = name_of(s, intern(s->names, "(count)"), at);
    call->a->index = index_of(s, name_of(s, t, at), at);
    call->n = 1;
    call->args = ARENA_NEW(s->a, ast_arg);
    call->args[0].e = read_of(s, in->alive->name, name_of(s, t, at), at);
    ast_stmt *st = ARENA_NEW(s->a, ast_stmt);
    ast_target *target = ARENA_NEW(s->a, ast_target);
    *target = (ast_target){.kind = TARGET_NAME, .at = at, .name = {n->name, at}};
    *st = (ast_stmt){.kind = STMT_EQ, .at = at, .e = call, .n_targets = 1, .targets = target};
    equation q = {.in = in, .stmt = st, .target = target, .component = UINT32_MAX};
    vec_push(s->a, &n->t->eqs, q);
}

tv inst_mask_result(env *e, tensor *t, tv v)
{
    sema *s = e->in->s;
    tensor *alive = e->in->alive;
    if (!alive || v.kind != TV_VALUE || v.n_axes == 0 || t->n_axes == 0)
        return v;
    if (!tensor_sig(alive) || !dims_same(s, alive->axes[0].d[0], t->axes[0].d[0]) ||
        t->axes[0].n != 1)
        return v;
    tv live = tensor_read(e, alive, NULL, t->at);
    if (live.kind != TV_VALUE)
        return v;
    const ix *from = live.axes[0].ix[0];
    value *to = graph_index(s->g, v.axes[0].ix[0]);
    value *c = b_read(s, live.v, &from, &to, 1, NULL);
    v.support = b_and(s, v.support, c);
    return v;
}
