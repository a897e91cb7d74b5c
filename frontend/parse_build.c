/* parse_build.c: tree nodes for the grammar's actions. */
#include <string.h>

#include "frontend/parse_ctx.h"

ast_expr *mk_expr(parse_ctx *pc, ast_kind kind, span at)
{
    ast_expr *e = ARENA_NEW(pc->a, ast_expr);
    e->kind = kind;
    e->at = at;
    e->depth = 1;
    return e;
}

/* Takes the children's depth into account. Too deep is said once: the error node that results
 * swallows every tree it becomes part of. */
static bool over(const ast_expr *child, uint32_t *depth)
{
    if (!child)
        return false;
    if (child->depth + 1 > *depth)
        *depth = child->depth + 1;
    return child->kind == AST_ERROR;
}

static bool index_over(const ast_index *index, uint32_t *depth)
{
    bool bad = over(index->where, depth);
    for (size_t i = 0; i < index->n; i++) {
        bad |= over(index->items[i].e, depth);
        bad |= over(index->items[i].hi, depth);
    }
    return bad;
}

static ast_expr *finish(parse_ctx *pc, ast_expr *e, span spot)
{
    uint32_t depth = 1;
    bool bad = over(e->a, &depth);
    bad |= over(e->b, &depth);
    if (e->index)
        bad |= index_over(e->index, &depth);
    for (size_t i = 0; i < e->n; i++)
        bad |= over(e->kind == AST_CALL ? e->args[i].e : e->items[i], &depth);
    if (!bad && depth > AST_MAX_DEPTH) {
        parse_too_deep(pc, spot);
        bad = true;
    }
    if (bad)
        return mk_expr(pc, AST_ERROR, e->at);
    e->depth = depth;
    return e;
}

ast_expr *mk_unary(parse_ctx *pc, ast_op op, ast_expr *a, span at)
{
    ast_expr *e = mk_expr(pc, AST_UNARY, at);
    e->op = op;
    e->a = a;
    return finish(pc, e, (span){at.file, at.lo, at.lo + 1});
}

ast_expr *mk_pair(parse_ctx *pc, ast_kind kind, ast_op op, ast_expr *a, ast_expr *b, span at,
                  span spot)
{
    ast_expr *e = mk_expr(pc, kind, at);
    e->op = op;
    e->a = a;
    e->b = b;
    return finish(pc, e, spot);
}

ast_expr *mk_index(parse_ctx *pc, ast_expr *a, ast_index *index, span at)
{
    ast_expr *e = mk_expr(pc, AST_INDEX, at);
    e->a = a;
    e->index = index;
    return finish(pc, e, index->at);
}

ast_expr *mk_call(parse_ctx *pc, ast_expr *a, arg_list *args, span at)
{
    ast_expr *e = mk_expr(pc, AST_CALL, at);
    e->a = a;
    e->n = args->n;
    e->args = args->v;
    return finish(pc, e, (span){at.file, at.hi - 1, at.hi});
}

ast_expr *mk_field(parse_ctx *pc, ast_expr *a, ast_name name, span at)
{
    ast_expr *e = mk_expr(pc, AST_FIELD, at);
    e->a = a;
    e->name = name.s;
    return finish(pc, e, name.at);
}

ast_expr *mk_list(parse_ctx *pc, ast_kind kind, expr_list *items, span at)
{
    ast_expr *e = mk_expr(pc, kind, at);
    e->n = items->n;
    e->items = items->v;
    return finish(pc, e, (span){at.file, at.lo, at.lo + 1});
}

ast_expr *mk_chain(parse_ctx *pc, chain_list *c, span at)
{
    ast_expr *e = mk_expr(pc, AST_CHAIN, at);
    e->n = c->items.n;
    e->items = c->items.v;
    e->ops = c->ops.v;
    return finish(pc, e, at);
}

ast_index *mk_index_list(parse_ctx *pc, item_list *items, ast_expr *where, span at)
{
    ast_index *x = ARENA_NEW(pc->a, ast_index);
    *x = (ast_index){.at = at, .n = items->n, .items = items->v, .where = where};
    return x;
}

static bool is_kind_word(const char *s)
{
    static const char *const words[] = {"score", "mask", "encoder", "recurrence", "model", "fn"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(s, words[i]) == 0)
            return true;
    }
    return false;
}

static void unknown_type(parse_ctx *pc, const ast_name *word, bool has_axes)
{
    const char *known[SCALAR_U8 + 7];
    size_t n = 0;
    for (int i = 0; i <= SCALAR_U8; i++)
        known[n++] = ast_scalar_text[i];
    if (!has_axes) {
        known[n++] = "score";
        known[n++] = "mask";
        known[n++] = "encoder";
        known[n++] = "recurrence";
        known[n++] = "model";
        known[n++] = "fn";
    }
    diag *d = diag_error(pc->ds, word->at, "'%s' is not a type", word->s);
    const char *near = str_nearest(pc->a, word->s, known, n);
    if (near)
        diag_help(d, "did you mean `%s`?", near);
    else if (has_axes)
        diag_help(d,
                  "before axes stands one of real, int, bool, f64, f32, f16, bf16, i64, i32, u8");
    else
        diag_help(d, "a tensor is written `[%s]`, a single value `real`, `int` or `bool`", word->s);
}

ast_type *mk_type(parse_ctx *pc, const ast_name *word, axis_list *axes, span at)
{
    ast_type *t = ARENA_NEW(pc->a, ast_type);
    *t = (ast_type){.at = at, .n_axes = axes ? axes->n : 0, .axes = axes ? axes->v : NULL};
    if (!word)
        return t;
    for (int i = 0; i <= SCALAR_U8; i++) {
        if (strcmp(word->s, ast_scalar_text[i]) == 0) {
            t->scalar = (ast_scalar)i;
            t->written = true;
            return t;
        }
    }
    if (!axes && is_kind_word(word->s)) {
        t->is_function = true;
        t->function = *word;
        return t;
    }
    unknown_type(pc, word, axes != NULL);
    return t;
}

ast_stmt *mk_stmt(parse_ctx *pc, ast_stmt_kind kind, span at)
{
    ast_stmt *s = ARENA_NEW(pc->a, ast_stmt);
    s->kind = kind;
    s->at = at;
    return s;
}

ast_decl *mk_decl(parse_ctx *pc, ast_decl_kind kind, span at)
{
    ast_decl *d = ARENA_NEW(pc->a, ast_decl);
    d->kind = kind;
    d->at = at;
    return d;
}
