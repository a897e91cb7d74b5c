/* print.c: a kernel as text (ir/IR.md, section 5). read.c reads back exactly what is printed here.
 */
#include <string.h>

#include "ir/kernel/kernel.h"

static void put_string(strbuf *out, const char *s)
{
    sb_puts(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sb_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            sb_printf(out, "\\x%02x", c);
        else
            sb_putn(out, s, 1);
    }
    sb_puts(out, "\"");
}

static void put_real(strbuf *out, double f)
{
    size_t from = out->n;
    sb_put_double(out, f);
    if (!strpbrk(sb_text(out) + from, ".en")) /* "inf" and "nan" hold an n */
        sb_puts(out, ".0");
}

static void put_expr(strbuf *out, const kexpr *e);

static void put_args(strbuf *out, const kexpr *const *args, uint32_t n, const char *open,
                     const char *close)
{
    sb_puts(out, open);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            sb_puts(out, ", ");
        put_expr(out, args[i]);
    }
    sb_puts(out, close);
}

static void put_expr(strbuf *out, const kexpr *e)
{
    const char *name;
    switch (e->kind) {
    case KX_CONST:
        if (e->dt == DT_BOOL)
            sb_puts(out, e->i ? "true" : "false");
        else if (e->dt == DT_I64)
            sb_printf(out, "%lld", (long long)e->i);
        else
            put_real(out, e->f);
        break;
    case KX_DIM:
        if (dim_is_sym(e->dim, &name)) {
            name_print(out, name);
        } else {
            sb_puts(out, "{");
            dim_print(e->dim, out);
            sb_puts(out, "}");
        }
        break;
    case KX_VAR:
        sb_puts(out, e->var->name);
        break;
    case KX_LOAD:
        sb_puts(out, e->buf->name);
        put_args(out, e->args, e->n_args, "[", "]");
        break;
    case KX_GIVEN:
        sb_printf(out, "given(%s)", e->buf->name);
        break;
    case KX_OVERFLOW:
        sb_puts(out, "overflows.");
        /* fall through */
    case KX_OP:
        sb_puts(out, op_table[e->op].text);
        put_args(out, e->args, e->n_args, "(", ")");
        break;
    }
}

static void put_indent(strbuf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        sb_puts(out, "  ");
}

static void put_note(strbuf *out, const kstmt *s)
{
    if (s->note)
        sb_printf(out, " ; %s", s->note);
    sb_puts(out, "\n");
}

static void put_block(strbuf *out, const kblock *b, int depth);

static void put_for(strbuf *out, const kstmt *s, int depth)
{
    if (kloop_text[s->loop])
        sb_printf(out, "%s ", kloop_text[s->loop]);
    sb_printf(out, "for %s in ", s->var->name);
    put_expr(out, s->lo);
    sb_puts(out, " .. ");
    put_expr(out, s->hi);
    if (s->step != 1)
        sb_printf(out, " step %lld", (long long)s->step);
    sb_puts(out, s->down ? " down {" : " {");
    put_note(out, s);
    put_block(out, &s->body, depth + 1);
    put_indent(out, depth);
    sb_puts(out, "}\n");
}

static void put_if(strbuf *out, const kstmt *s, int depth)
{
    sb_puts(out, "if ");
    put_expr(out, s->e);
    sb_puts(out, " {");
    put_note(out, s);
    put_block(out, &s->body, depth + 1);
    put_indent(out, depth);
    if (s->other.s.n) {
        sb_puts(out, "} else {\n");
        put_block(out, &s->other, depth + 1);
        put_indent(out, depth);
    }
    sb_puts(out, "}\n");
}

static const char *status_text(int status)
{
    switch (status) {
#define X(text, number)                                                                            \
    case number:                                                                                   \
        return #text;
        KERNEL_STATUSES(X)
#undef X
    }
    ice("a check reports the unknown status %d", status);
}

static void put_stmt(strbuf *out, const kstmt *s, int depth)
{
    put_indent(out, depth);
    switch (s->kind) {
    case KS_FOR:
        put_for(out, s, depth);
        return;
    case KS_IF:
        put_if(out, s, depth);
        return;
    case KS_LET:
    case KS_VAR:
        sb_printf(out, "%s %s : %s = ", s->kind == KS_LET ? "let" : "var", s->var->name,
                  dtype_text[s->var->dt]);
        break;
    case KS_SET:
        sb_printf(out, "%s = ", s->var->name);
        break;
    case KS_STORE:
        sb_puts(out, s->buf->name);
        put_args(out, s->index, s->n_index, "[", "]");
        sb_puts(out, " = ");
        break;
    case KS_CHECK:
        sb_puts(out, "check ");
        put_expr(out, s->e);
        sb_printf(out, " else %s", status_text(s->status));
        put_note(out, s);
        return;
    }
    put_expr(out, s->e);
    put_note(out, s);
}

static void put_block(strbuf *out, const kblock *b, int depth)
{
    for (size_t i = 0; i < b->s.n; i++)
        put_stmt(out, b->s.v[i], depth);
}

static void put_buf(strbuf *out, const kbuf *b)
{
    sb_printf(out, "  buffer %s : %s %s[", b->name, kbuf_role_text[b->role],
              store_table[b->store].text);
    for (uint32_t i = 0; i < b->rank; i++) {
        if (i)
            sb_puts(out, ", ");
        dim_print(b->shape[i], out);
    }
    sb_puts(out, "]");
    if (b->label) {
        sb_puts(out, " ");
        put_string(out, b->label);
    }
    if (b->optional)
        sb_puts(out, " optional");
    if (b->n_family)
        sb_printf(out, " family %u", b->n_family);
    if (b->source) {
        sb_puts(out, " from ");
        put_string(out, b->source);
    }
    sb_puts(out, "\n");
}

void kernel_print(const kernel *k, strbuf *out)
{
    sb_puts(out, "kernel @");
    name_print(out, k->name);
    sb_printf(out, " real %s%s {\n  dims", dtype_text[k->real], k->recurrence ? " recurrence" : "");
    for (size_t i = 0; i < k->symbols.n; i++) {
        sb_puts(out, i ? ", " : " ");
        name_print(out, k->symbols.v[i]);
    }
    sb_puts(out, "\n");
    if (k->rows) {
        sb_printf(out, "  steps %s of ", k->rows);
        dim_print(k->capacity, out);
        sb_puts(out, "\n");
    }
    for (size_t i = 0; i < k->checks.n; i++) {
        const graph_check *c = &k->checks.v[i];
        sb_puts(out, "  check ");
        dim_print(c->a, out);
        sb_puts(out, c->le ? " <= " : " == ");
        dim_print(c->b, out);
        sb_puts(out, " ");
        put_string(out, c->text ? c->text : "");
        sb_puts(out, "\n");
    }
    for (size_t i = 0; i < k->bufs.n; i++)
        put_buf(out, k->bufs.v[i]);
    if (k->prepare.s.n) {
        sb_puts(out, "  prepare {\n");
        put_block(out, &k->prepare, 2);
        sb_puts(out, "  }\n");
    }
    if (k->rows) {
        sb_puts(out, "  begin {\n");
        put_block(out, &k->body, 2);
        sb_printf(out, "  }\n  step %s {\n", k->pos->name);
        put_block(out, &k->step, 2);
        sb_puts(out, "  }\n");
    } else {
        put_block(out, &k->body, 1);
    }
    sb_puts(out, "}\n");
}
