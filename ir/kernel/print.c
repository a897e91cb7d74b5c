/* print.c: a kernel as text (ir/IR.md, section 5). read.c reads back exactly what is printed here.
 */
#include <string.h>

#include "ir/graph/scratch.h"
#include "ir/kernel/kernel.h"

typedef struct printer {
    strbuf *out;
    const dim_order *order;
} printer;

static void put_dim(const printer *p, const dim *d)
{
    dim_print_in(p->order, d, p->out);
}

static void put_string(const printer *p, const char *s)
{
    sb_puts(p->out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sb_printf(p->out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            sb_printf(p->out, "\\x%02x", c);
        else
            sb_putn(p->out, s, 1);
    }
    sb_puts(p->out, "\"");
}

static void put_real(const printer *p, double f)
{
    size_t from = p->out->n;
    sb_put_double(p->out, f);
    if (!strpbrk(sb_text(p->out) + from, ".en")) /* "inf" and "nan" hold an n */
        sb_puts(p->out, ".0");
}

static void put_expr(const printer *p, const kexpr *e);

static void put_args(const printer *p, const kexpr *const *args, uint32_t n, const char *open,
                     const char *close)
{
    sb_puts(p->out, open);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            sb_puts(p->out, ", ");
        put_expr(p, args[i]);
    }
    sb_puts(p->out, close);
}

static void put_expr(const printer *p, const kexpr *e)
{
    const char *name;
    switch (e->kind) {
    case KX_CONST:
        if (e->dt == DT_BOOL)
            sb_puts(p->out, e->i ? "true" : "false");
        else if (e->dt == DT_I64)
            sb_printf(p->out, "%lld", (long long)e->i);
        else
            put_real(p, e->f);
        break;
    case KX_DIM:
        if (dim_is_sym(e->dim, &name)) {
            name_print(p->out, name);
        } else {
            sb_puts(p->out, "{");
            put_dim(p, e->dim);
            sb_puts(p->out, "}");
        }
        break;
    case KX_VAR:
        sb_puts(p->out, e->var->name);
        break;
    case KX_LOAD:
        sb_puts(p->out, e->buf->name);
        put_args(p, e->args, e->n_args, "[", "]");
        break;
    case KX_GIVEN:
        sb_printf(p->out, "given(%s)", e->buf->name);
        break;
    case KX_OVERFLOW:
        sb_puts(p->out, "overflows.");
        /* fall through */
    case KX_OP:
        sb_puts(p->out, op_table[e->op].text);
        put_args(p, e->args, e->n_args, "(", ")");
        break;
    }
}

static void put_indent(const printer *p, int depth)
{
    for (int i = 0; i < depth; i++)
        sb_puts(p->out, "  ");
}

static void put_note(const printer *p, const kstmt *s)
{
    if (s->note)
        sb_printf(p->out, " ; %s", s->note);
    sb_puts(p->out, "\n");
}

static void put_block(const printer *p, const kblock *b, int depth);

static void put_for(const printer *p, const kstmt *s, int depth)
{
    if (kloop_text[s->loop])
        sb_printf(p->out, "%s ", kloop_text[s->loop]);
    sb_printf(p->out, "for %s in ", s->var->name);
    put_expr(p, s->lo);
    sb_puts(p->out, " .. ");
    put_expr(p, s->hi);
    if (s->step != 1)
        sb_printf(p->out, " step %lld", (long long)s->step);
    if (s->ahead)
        sb_printf(p->out, " ahead %lld", (long long)s->ahead);
    sb_puts(p->out, s->down ? " down {" : " {");
    put_note(p, s);
    put_block(p, &s->body, depth + 1);
    put_indent(p, depth);
    sb_puts(p->out, "}\n");
}

static void put_if(const printer *p, const kstmt *s, int depth)
{
    sb_puts(p->out, "if ");
    put_expr(p, s->e);
    sb_puts(p->out, " {");
    put_note(p, s);
    put_block(p, &s->body, depth + 1);
    put_indent(p, depth);
    if (s->other.s.n) {
        sb_puts(p->out, "} else {\n");
        put_block(p, &s->other, depth + 1);
        put_indent(p, depth);
    }
    sb_puts(p->out, "}\n");
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

static void put_stmt(const printer *p, const kstmt *s, int depth)
{
    put_indent(p, depth);
    switch (s->kind) {
    case KS_FOR:
        put_for(p, s, depth);
        return;
    case KS_IF:
        put_if(p, s, depth);
        return;
    case KS_LET:
    case KS_VAR:
        sb_printf(p->out, "%s %s : %s = ", s->kind == KS_LET ? "let" : "var", s->var->name,
                  dtype_text[s->var->dt]);
        break;
    case KS_SET:
        sb_printf(p->out, "%s = ", s->var->name);
        break;
    case KS_STORE:
        sb_puts(p->out, s->buf->name);
        put_args(p, s->index, s->n_index, "[", "]");
        sb_puts(p->out, " = ");
        break;
    case KS_CHECK:
        sb_puts(p->out, "check ");
        put_expr(p, s->e);
        sb_printf(p->out, " else %s", status_text(s->status));
        put_note(p, s);
        return;
    }
    put_expr(p, s->e);
    put_note(p, s);
}

static void put_block(const printer *p, const kblock *b, int depth)
{
    for (size_t i = 0; i < b->s.n; i++)
        put_stmt(p, b->s.v[i], depth);
}

static void put_buf(const printer *p, const kbuf *b)
{
    sb_printf(p->out, "  buffer %s : %s %s[", b->name, kbuf_role_text[b->role],
              store_table[b->store].text);
    for (uint32_t i = 0; i < b->rank; i++) {
        if (i)
            sb_puts(p->out, ", ");
        put_dim(p, b->shape[i]);
    }
    sb_puts(p->out, "]");
    if (b->label) {
        sb_puts(p->out, " ");
        put_string(p, b->label);
    }
    if (b->optional)
        sb_puts(p->out, " optional");
    if (b->n_family)
        sb_printf(p->out, " family %u", b->n_family);
    if (b->source) {
        sb_puts(p->out, " from ");
        put_string(p, b->source);
    }
    sb_puts(p->out, "\n");
}

static void print_kernel(const kernel *k, const printer *p)
{
    sb_puts(p->out, "kernel @");
    name_print(p->out, k->name);
    sb_printf(p->out, " real %s%s {\n  dims", dtype_text[k->real],
              k->recurrence ? " recurrence" : "");
    for (size_t i = 0; i < k->symbols.n; i++) {
        sb_puts(p->out, i ? ", " : " ");
        name_print(p->out, k->symbols.v[i]);
    }
    sb_puts(p->out, "\n");
    if (k->rows) {
        sb_printf(p->out, "  steps %s of ", k->rows);
        put_dim(p, k->capacity);
        sb_puts(p->out, "\n");
    }
    for (size_t i = 0; i < k->checks.n; i++) {
        const graph_check *c = &k->checks.v[i];
        sb_puts(p->out, "  check ");
        put_dim(p, c->a);
        sb_puts(p->out, c->le ? " <= " : " == ");
        put_dim(p, c->b);
        sb_puts(p->out, " ");
        put_string(p, c->text ? c->text : "");
        sb_puts(p->out, "\n");
    }
    for (size_t i = 0; i < k->bufs.n; i++)
        put_buf(p, k->bufs.v[i]);
    if (k->prepare.s.n) {
        sb_puts(p->out, "  prepare {\n");
        put_block(p, &k->prepare, 2);
        sb_puts(p->out, "  }\n");
    }
    if (k->rows) {
        sb_puts(p->out, "  begin {\n");
        put_block(p, &k->body, 2);
        sb_printf(p->out, "  }\n  step %s {\n", k->pos->name);
        put_block(p, &k->step, 2);
        sb_puts(p->out, "  }\n");
    } else {
        put_block(p, &k->body, 1);
    }
    sb_puts(p->out, "}\n");
}

typedef struct printing {
    const kernel *k;
    strbuf *out;
} printing;

static void print_ordered(void *ctx, arena *scratch)
{
    const printing *x = ctx;
    printer p = {.out = x->out};
    p.order = dim_order_new(scratch, x->k->names, x->k->dims, x->k->symbols.v, x->k->symbols.n);
    print_kernel(x->k, &p);
}

void kernel_print(const kernel *k, strbuf *out)
{
    printing x = {k, out};
    with_scratch(arena_mem(k->a), print_ordered, &x);
}
