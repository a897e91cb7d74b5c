/* ast.c: reading a file into a tree, and the tree as text. */
#include "frontend/ast.h"

#include "frontend/parse_ctx.h"
#define ATTN_STYPE parse_value
#include "parse.h"

const char *const ast_op_text[] = {
    [OP_NONE] = "", [OP_NEG] = "-", [OP_NOT] = "not",     [OP_ADD] = "+", [OP_SUB] = "-",
    [OP_MUL] = "*", [OP_DIV] = "/", [OP_FLOORDIV] = "//", [OP_MOD] = "%", [OP_MATMUL] = "@",
    [OP_POW] = "^", [OP_EQ] = "==", [OP_NE] = "!=",       [OP_LT] = "<",  [OP_LE] = "<=",
    [OP_GT] = ">",  [OP_GE] = ">=", [OP_AND] = "and",     [OP_OR] = "or",
};

const char *const ast_scalar_text[] = {
    [SCALAR_REAL] = "real", [SCALAR_INT] = "int", [SCALAR_BOOL] = "bool", [SCALAR_F64] = "f64",
    [SCALAR_F32] = "f32",   [SCALAR_F16] = "f16", [SCALAR_BF16] = "bf16", [SCALAR_I64] = "i64",
    [SCALAR_I32] = "i32",   [SCALAR_U8] = "u8",
};

ast_file *ast_parse(arena *a, strtab *names, diags *ds, uint32_t file)
{
    parse_ctx pc;
    parse_open(&pc, a, names, ds, file);
    attn_parse(&pc); /* its result says nothing: after recovery it is 0 as well */
    ast_file *f = ARENA_NEW(a, ast_file);
    *f = (ast_file){.file = file, .n = pc.decls.n, .decls = pc.decls.v};
    return f;
}

/* ---- the tree as text ---- */

static void dump_expr(strbuf *out, const ast_expr *e);

static void dump_exprs(strbuf *out, ast_expr *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sb_puts(out, " ");
        dump_expr(out, v[i]);
    }
}

static void dump_index(strbuf *out, const ast_index *x)
{
    sb_puts(out, "{");
    for (size_t i = 0; i < x->n; i++) {
        const ast_item *it = &x->items[i];
        sb_puts(out, i ? ", " : "");
        if (it->kind == AST_ITEM_ALL)
            sb_puts(out, ":");
        if (it->kind == AST_ITEM_IN)
            sb_printf(out, "%s in ", it->name.s);
        if (it->e)
            dump_expr(out, it->e);
        if (it->hi) {
            sb_puts(out, " .. ");
            dump_expr(out, it->hi);
        }
    }
    if (x->where) {
        sb_puts(out, " where ");
        dump_expr(out, x->where);
    }
    sb_puts(out, "}");
}

static void dump_expr(strbuf *out, const ast_expr *e)
{
    switch (e->kind) {
    case AST_ERROR:
        sb_puts(out, "(error)");
        return;
    case AST_NUMBER:
        sb_puts(out, "#");
        sb_put_double(out, e->real);
        return;
    case AST_INT:
        sb_printf(out, "%lld", (long long)e->integer);
        return;
    case AST_STRING:
        sb_printf(out, "\"%s\"", e->name);
        return;
    case AST_NAME:
        sb_puts(out, e->name);
        return;
    case AST_UNARY:
        sb_printf(out, "(%s ", e->op == OP_NEG ? "neg" : ast_op_text[e->op]);
        dump_expr(out, e->a);
        break;
    case AST_BINARY:
    case AST_WHERE:
    case AST_ELSE:
        sb_printf(out, "(%s ",
                  e->kind == AST_WHERE  ? "where"
                  : e->kind == AST_ELSE ? "else"
                                        : ast_op_text[e->op]);
        dump_expr(out, e->a);
        sb_puts(out, " ");
        dump_expr(out, e->b);
        break;
    case AST_CHAIN:
        sb_puts(out, "(chain ");
        dump_expr(out, e->items[0]);
        for (size_t i = 1; i < e->n; i++) {
            sb_printf(out, " %s ", ast_op_text[e->ops[i - 1]]);
            dump_expr(out, e->items[i]);
        }
        break;
    case AST_INDEX:
        sb_puts(out, "(at ");
        dump_expr(out, e->a);
        sb_puts(out, " ");
        dump_index(out, e->index);
        break;
    case AST_CALL:
        sb_puts(out, "(call ");
        dump_expr(out, e->a);
        for (size_t i = 0; i < e->n; i++) {
            sb_puts(out, " ");
            if (e->args[i].name.s)
                sb_printf(out, "%s=", e->args[i].name.s);
            dump_expr(out, e->args[i].e);
        }
        break;
    case AST_FIELD:
        sb_puts(out, "(. ");
        dump_expr(out, e->a);
        sb_printf(out, " %s", e->name);
        break;
    case AST_JOIN:
    case AST_TUPLE:
        sb_puts(out, e->kind == AST_JOIN ? "(join" : "(tuple");
        dump_exprs(out, e->items, e->n);
        break;
    }
    sb_puts(out, ")");
}

static void dump_axis(strbuf *out, const ast_axis *x)
{
    if (x->kind == AXIS_DIM) {
        dump_expr(out, x->e);
        return;
    }
    sb_puts(out, x->kind == AXIS_PACKED ? "(pack" : "(parts");
    for (size_t i = 0; i < x->n; i++) {
        sb_puts(out, " ");
        dump_axis(out, &x->parts[i]);
    }
    sb_puts(out, ")");
}

static void dump_type(strbuf *out, const ast_type *t)
{
    if (t->is_function) {
        sb_printf(out, "<%s>", t->function.s);
        return;
    }
    sb_printf(out, "%s", ast_scalar_text[t->scalar]);
    for (size_t i = 0; i < t->n_axes; i++) {
        sb_puts(out, i ? ", " : "[");
        dump_axis(out, &t->axes[i]);
    }
    sb_puts(out, t->n_axes ? "]" : "");
}

static void dump_name(strbuf *out, const ast_name *name, const ast_index *index)
{
    sb_puts(out, name->s);
    if (index)
        dump_index(out, index);
}

static void dump_from(strbuf *out, const ast_name *from)
{
    if (from->s)
        sb_printf(out, " from \"%s\"", from->s);
}

static void dump_target(strbuf *out, const ast_target *t)
{
    if (t->kind == TARGET_NAME) {
        dump_name(out, &t->name, t->index);
        return;
    }
    sb_puts(out, "(join");
    for (size_t i = 0; i < t->n; i++) {
        sb_puts(out, " ");
        dump_target(out, &t->parts[i]);
    }
    sb_puts(out, ")");
}

static void dump_stmt(strbuf *out, const ast_stmt *s)
{
    static const char *const word[] = {"error", "const",  "decl",  "param",
                                       "part",  "return", "until", "eq"};
    sb_printf(out, "\n  (%s", s->kind == STMT_CONST && s->is_dim ? "dim" : word[s->kind]);
    for (size_t i = 0; i < s->n_names; i++) {
        sb_puts(out, " ");
        dump_name(out, &s->names[i], s->indices ? s->indices[i] : NULL);
    }
    for (size_t i = 0; i < s->n_targets; i++) {
        sb_puts(out, " ");
        dump_target(out, &s->targets[i]);
    }
    if (s->type) {
        sb_puts(out, " : ");
        dump_type(out, s->type);
    }
    if (s->e) {
        sb_puts(out, s->kind == STMT_UNTIL ? " " : " = ");
        dump_expr(out, s->e);
    }
    dump_exprs(out, s->exprs, s->n_exprs);
    dump_from(out, &s->from);
    sb_puts(out, ")");
}

static void dump_formals(strbuf *out, const char *word, const ast_formal *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sb_printf(out, "\n  (%s ", word);
        if (v[i].name.s) {
            dump_name(out, &v[i].name, v[i].index);
            sb_puts(out, " : ");
        }
        dump_type(out, &v[i].type);
        if (v[i].dflt) {
            sb_puts(out, " = ");
            dump_expr(out, v[i].dflt);
        }
        dump_from(out, &v[i].from);
        sb_puts(out, ")");
    }
}

static void dump_decl(strbuf *out, const ast_decl *d)
{
    switch (d->kind) {
    case DECL_ERROR:
        sb_puts(out, "(error");
        break;
    case DECL_IMPORT:
        sb_printf(out, "(import \"%s\"", d->name.s);
        break;
    case DECL_CONST:
        sb_printf(out, "(%s %s = ", d->is_dim ? "dim" : "const", d->name.s);
        dump_expr(out, d->e);
        break;
    case DECL_FUNC:
    case DECL_ALIAS:
        sb_printf(out, "(%s %s", d->word.s, d->name.s);
        for (size_t i = 0; i < d->n_batch; i++)
            sb_printf(out, "%s%s%s", i ? ", " : "[", d->batch[i].s, i + 1 < d->n_batch ? "" : "]");
        if (d->kind == DECL_ALIAS) {
            sb_puts(out, " = ");
            dump_expr(out, d->e);
        }
        dump_formals(out, "in", d->formals, d->n_formals);
        dump_formals(out, "out", d->results, d->n_results);
        for (size_t i = 0; i < d->n_body; i++)
            dump_stmt(out, d->body[i]);
        break;
    }
    sb_puts(out, ")\n");
}

void ast_dump(const ast_file *f, strbuf *out)
{
    for (size_t i = 0; i < f->n; i++)
        dump_decl(out, f->decls[i]);
}
