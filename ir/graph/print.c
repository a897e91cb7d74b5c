/* print.c: graphs as text, the form that read.c reads back. IR.md is the reference. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir/graph/graph_internal.h"
#include "ir/graph/name_map.h"
#include "ir/graph/scratch.h"

enum { INLINE_NODES = 12 };

typedef struct printer {
    const graph *g;
    strbuf *out;
    arena *scratch;
    value_list live;   /* what the results reach, and the whole interface */
    uint32_t *first;   /* by home: position in live of its first value, or UINT32_MAX */
    uint32_t *next;    /* by position: the next value of the same home */
    unsigned char *in; /* by id: printed inside its users */
    const char **name; /* by id, once printed */
    name_map taken;    /* names given: by name, 1 + the next suffix to try */
    uint32_t n_numbered;
    uint32_t *scan_no; /* by scan: 1 + its number in the text, 0: not yet */
    uint32_t n_scans;
    unsigned char *seen; /* by index: its extent has been said */
    const dim_order *order;
} printer;

/* --- preparation --- */

static void mark_live(printer *p)
{
    const graph *g = p->g;
    unsigned char *live = ARENA_ARRAY(p->scratch, unsigned char, g->values.n);
    value_list reached = {0};
    graph_live(g, p->scratch, &reached);
    for (size_t i = 0; i < reached.n; i++)
        live[reached.v[i]->id] = 1;
    for (size_t i = 0; i < g->inputs.n; i++)
        live[g->inputs.v[i]->id] = 1;
    for (size_t i = 0; i < g->params.n; i++)
        live[g->params.v[i]->id] = 1;
    for (size_t i = 0; i < g->values.n; i++) {
        if (live[i])
            vec_push(p->scratch, &p->live, g->values.v[i]);
    }
}

static void find_homes(printer *p)
{
    uint32_t *home = graph_homes(p->g, p->scratch, &p->live);
    p->first = ARENA_ARRAY(p->scratch, uint32_t, (size_t)p->g->n_scans + 1);
    p->next = ARENA_ARRAY(p->scratch, uint32_t, p->live.n);
    for (uint32_t i = 0; i <= p->g->n_scans; i++)
        p->first[i] = UINT32_MAX;
    for (size_t i = p->live.n; i-- > 0;) {
        uint32_t h = home[p->live.v[i]->id];
        p->next[i] = p->first[h];
        p->first[h] = (uint32_t)i;
    }
}

/* Operands that the text names: by position, as they have no place for an expression. */
static bool named_operand(const value *v, uint32_t k)
{
    return v->op == OP_given || v->op == OP_scan || v->op == OP_result || v->op == OP_part ||
           ((v->op == OP_read || v->op == OP_append) && k == 0);
}

static bool is_real_const(const value *v)
{
    return v->op == OP_const && v->dt != DT_I64 && v->dt != DT_BOOL;
}

static void find_inline(printer *p)
{
    size_t n = p->g->values.n;
    unsigned char *named = ARENA_ARRAY(p->scratch, unsigned char, n);
    unsigned *nodes = ARENA_ARRAY(p->scratch, unsigned, n);
    p->in = ARENA_ARRAY(p->scratch, unsigned char, n);
    for (size_t i = 0; i < p->live.n; i++) {
        const value *v = p->live.v[i];
        for (uint32_t k = 0; k < v->n_args; k++)
            named[v->args[k]->id] |= named_operand(v, k);
    }
    for (size_t i = 0; i < p->g->results.n; i++)
        named[p->g->results.v[i].v->id] = 1;
    for (size_t i = 0; i < p->live.n; i++) {
        const value *v = p->live.v[i];
        unsigned count = 1;
        for (uint32_t k = 0; k < v->n_args && count <= INLINE_NODES; k++)
            count += p->in[v->args[k]->id] ? nodes[v->args[k]->id] : 1;
        nodes[v->id] = count;
        bool fits = OP_HAS(v->op, T_INLINE) && (v->dt == DT_I64 || v->dt == DT_BOOL) && !v->where &&
                    count <= INLINE_NODES;
        p->in[v->id] = !named[v->id] && (fits || is_real_const(v));
    }
}

/* --- pieces --- */

static void put(printer *p, const char *s)
{
    sb_puts(p->out, s);
}

static void put_dim(printer *p, const dim *d)
{
    dim_print_in(p->order, d, p->out);
}

static void put_string(printer *p, const char *s)
{
    put(p, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sb_printf(p->out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            sb_printf(p->out, "\\x%02x", c);
        else
            sb_putn(p->out, s, 1);
    }
    put(p, "\"");
}

static void put_real(printer *p, double f)
{
    strbuf b = {.a = p->scratch};
    sb_put_double(&b, f);
    put(p, sb_text(&b));
    if (!strpbrk(sb_text(&b), ".en"))
        put(p, ".0");
}

static bool all_digits(const char *s)
{
    return s[strspn(s, "0123456789")] == '\0';
}

static const char *unique_name(printer *p, const char *hint)
{
    const char *name = intern(p->g->names, hint);
    uintptr_t n = name_map_get(&p->taken, name);
    if (n == 0) {
        *name_map_at(&p->taken, name) = 1;
        return name;
    }
    for (;; n++) {
        const char *other = intern_printf(p->g->names, "%s.%" PRIuPTR, name, n);
        if (name_map_get(&p->taken, other) == 0) {
            *name_map_at(&p->taken, other) = 1;
            *name_map_at(&p->taken, name) = n + 1;
            return other;
        }
    }
}

/* Gives the value its name; called where its line begins. */
static void name_value(printer *p, const value *v)
{
    const char *hint = v->hint;
    if (!hint && (v->op == OP_input || v->op == OP_param))
        hint = v->name;
    if (!hint || all_digits(hint))
        p->name[v->id] = arena_printf(p->scratch, "%u", ++p->n_numbered);
    else
        p->name[v->id] = unique_name(p, hint);
}

static void put_ref(printer *p, const value *v)
{
    const char *name = p->name[v->id];
    ICE_UNLESS(name);
    put(p, "%");
    if (all_digits(name))
        put(p, name);
    else
        name_print(p->out, name);
}

static void put_scan_no(printer *p, uint32_t scan)
{
    if (p->scan_no[scan] == 0)
        p->scan_no[scan] = ++p->n_scans;
    sb_printf(p->out, "#%u", p->scan_no[scan] - 1);
}

/* An index where it is bound: with its extent if no type has said it yet. */
static void put_binder(printer *p, const ix *i)
{
    name_print(p->out, i->name);
    if (!p->seen[i->id]) {
        put(p, ":");
        put_dim(p, i->extent);
        p->seen[i->id] = 1;
    }
}

static void put_type(printer *p, const value *v)
{
    put(p, v->dt == DT_NONE ? "<" : dtype_text[v->dt]);
    put(p, v->dt == DT_NONE ? "" : "<");
    for (uint32_t i = 0; i < v->n_ix; i++) {
        put(p, i ? ", " : "");
        name_print(p->out, v->ix[i]->name);
        put(p, ":");
        put_dim(p, v->ix[i]->extent);
    }
    put(p, ">");
}

/* --- expressions --- */

static void put_leaf(printer *p, const value *v)
{
    const char *name = NULL;
    if (v->op == OP_index) {
        name_print(p->out, v->ix[0]->name);
    } else if (v->op == OP_dim && dim_is_sym(v->dim, &name)) {
        name_print(p->out, name);
    } else if (v->op == OP_dim) {
        put(p, "{");
        put_dim(p, v->dim);
        put(p, "}");
    } else if (v->dt == DT_BOOL) {
        put(p, v->i ? "true" : "false");
    } else if (v->dt == DT_I64) {
        sb_printf(p->out, "%" PRId64, v->i);
    } else {
        put_real(p, v->f);
    }
}

/* In parentheses where v binds less than `prec`. At most INLINE_NODES deep. */
static void put_expr(printer *p, const value *v, int prec)
{
    const infix *x = &infix_table[v->op];
    if (!p->in[v->id]) {
        put_ref(p, v);
        return;
    }
    if (!x->text) {
        put_leaf(p, v);
        return;
    }
    put(p, x->prec < prec ? "(" : "");
    if (v->n_args == 1) {
        const value *a = v->args[0];
        bool number = v->op == OP_neg && a->op == OP_const && p->in[a->id];
        put(p, x->text);
        put(p, v->op == OP_not ? " " : number ? "(" : "");
        put_expr(p, a, x->prec);
        put(p, number ? ")" : "");
    } else {
        put_expr(p, v->args[0], x->chains ? x->prec : x->prec + 1);
        sb_printf(p->out, " %s ", x->text);
        put_expr(p, v->args[1], x->prec + 1);
    }
    put(p, x->prec < prec ? ")" : "");
}

static void put_operands_to(printer *p, const value *v, uint32_t from, uint32_t to,
                            const char *before)
{
    for (uint32_t k = from; k < to; k++) {
        put(p, k > from ? ", " : before);
        put_expr(p, v->args[k], 0);
    }
}

static void put_operands(printer *p, const value *v, uint32_t from, const char *before)
{
    put_operands_to(p, v, from, v->n_args, before);
}

/* --- ops --- */

static void put_interface(printer *p, const value *v)
{
    put(p, " ");
    put_string(p, v->name);
    sb_printf(p->out, " %s", store_table[v->kind].text);
    if (v->optional)
        put(p, " optional");
    if (v->n_family)
        sb_printf(p->out, " family %u", v->n_family);
    if (v->source) {
        put(p, " from ");
        put_string(p, v->source);
    }
}

static void put_join(printer *p, const value *v)
{
    put(p, " ");
    put_binder(p, v->bound[0]);
    put(p, " of ");
    for (uint32_t k = 0; k < v->n_args; k++) {
        put(p, k ? ", (" : "(");
        put_binder(p, v->bound[k + 1]);
        put(p, " ");
        put_expr(p, v->args[k], 0);
        put(p, ")");
    }
}

static void put_history(printer *p, const value *v)
{
    put(p, " ");
    put_scan_no(p, v->scan);
    sb_printf(p->out, " %d ", v->kind);
    put_string(p, v->name);
    put(p, " rows ");
    put_binder(p, v->bound[0]);
}

static void put_body(printer *p, const value *v)
{
    put(p, op_table[v->op].text);
    switch (v->op) {
    case OP_const:
    case OP_dim:
    case OP_index:
        put(p, " ");
        put_leaf(p, v);
        return;
    case OP_input:
    case OP_param:
        put_interface(p, v);
        return;
    case OP_read:
        put(p, " ");
        put_ref(p, v->args[0]);
        put(p, "[");
        put_operands(p, v, 1, "");
        put(p, "]");
        break;
    case OP_join:
        put_join(p, v);
        return;
    case OP_history:
        put_history(p, v);
        return;
    case OP_append:
        put_operands(p, v, 0, " ");
        put(p, " at ");
        put_binder(p, v->bound[0]);
        return;
    case OP_result:
        put(p, " ");
        put_ref(p, v->args[0]);
        sb_printf(p->out, " %d", v->kind);
        return;
    case OP_part:
        put(p, " ");
        put_ref(p, v->args[0]);
        if (v->kind < 0)
            sb_printf(p->out, " %s", part_of_kind(v->kind)->text);
        else
            sb_printf(p->out, " %d", v->kind);
        return;
    case OP_online:
        sb_printf(p->out, " %s", online_text[v->kind]);
        put_operands_to(p, v, 0, 1, " ");
        break;
    case OP_reduce:
        sb_printf(p->out, " %s", reduce_table[v->kind].text);
        put_operands(p, v, 0, " ");
        break;
    default:
        put_operands(p, v, 0, " ");
    }
    for (uint32_t k = 0; k < v->n_bound; k++) {
        put(p, k ? ", " : " over ");
        put_binder(p, v->bound[k]);
    }
    if (v->where) {
        put(p, " where ");
        put_expr(p, v->where, 0);
    }
    if (v->op == OP_online)
        put_operands(p, v, 1, " sum ");
}

static void put_block(printer *p, uint32_t home, unsigned indent);

static void put_indent(printer *p, unsigned indent)
{
    for (unsigned i = 0; i < indent; i++)
        put(p, "  ");
}

static void put_scan(printer *p, const value *v, unsigned indent)
{
    put(p, "scan ");
    put_scan_no(p, v->scan);
    put(p, " ");
    put_binder(p, v->bound[0]);
    put(p, v->kind ? " backward {\n" : " {\n");
    put_block(p, v->scan + 1, indent + 1);
    put_indent(p, indent + 1);
    put(p, "yield");
    for (uint32_t k = 0; k < v->n_args; k++) {
        put(p, k ? ", " : " ");
        put_ref(p, v->args[k]);
    }
    put(p, "\n");
    put_indent(p, indent);
    put(p, "}\n");
}

static void put_value(printer *p, const value *v, unsigned indent)
{
    name_value(p, v);
    put_indent(p, indent);
    put_ref(p, v);
    put(p, " = ");
    if (v->op == OP_scan) {
        put_scan(p, v, indent);
        return;
    }
    for (uint32_t i = 0; i < v->n_ix; i++)
        p->seen[v->ix[i]->id] = 1;
    put_body(p, v);
    put(p, " : ");
    put_type(p, v);
    put(p, "\n");
}

static void put_block(printer *p, uint32_t home, unsigned indent)
{
    for (uint32_t i = p->first[home]; i != UINT32_MAX; i = p->next[i]) {
        if (!p->in[p->live.v[i]->id])
            put_value(p, p->live.v[i], indent);
    }
}

/* --- graphs --- */

static void put_header(printer *p)
{
    const graph *g = p->g;
    put(p, "graph @");
    name_print(p->out, g->name);
    sb_printf(p->out, " real %s%s", dtype_text[g->real], g->recurrence ? " recurrence" : "");
    if (g->step) {
        put(p, " step ");
        name_print(p->out, g->step->name);
    }
    put(p, " {\n");
    for (size_t i = 0; i < g->symbols.n; i++) {
        put(p, i ? ", " : "  dims ");
        name_print(p->out, g->symbols.v[i]);
    }
    put(p, g->symbols.n ? "\n" : "");
    for (size_t i = 0; i < g->checks.n; i++) {
        const graph_check *c = &g->checks.v[i];
        put(p, "  check ");
        put_dim(p, c->a);
        put(p, c->le ? " <= " : " == ");
        put_dim(p, c->b);
        put(p, " ");
        put_string(p, c->text ? c->text : "");
        put(p, "\n");
    }
}

static void put_output(printer *p, const graph_result *r)
{
    put(p, "  output ");
    put_string(p, r->name);
    sb_printf(p->out, " %s ", store_table[r->store].text);
    put_ref(p, r->v);
    put(p, "[");
    for (uint32_t k = 0; k < r->n_axes; k++) {
        put(p, k ? ", " : "");
        put_binder(p, r->axes[k]);
    }
    put(p, "]");
    if (r->n_family)
        sb_printf(p->out, " family %u", r->n_family);
    if (r->source) {
        put(p, " from ");
        put_string(p, r->source);
    }
    put(p, "\n");
}

static void print_graph(void *ctx, arena *scratch)
{
    printer *p = ctx;
    const graph *g = p->g;
    p->scratch = p->taken.a = scratch;
    mark_live(p);
    find_homes(p);
    find_inline(p);
    p->order = dim_order_new(p->scratch, p->g->names, p->g->dims, p->g->symbols.v, p->g->symbols.n);
    p->name = ARENA_ARRAY(scratch, const char *, g->values.n);
    p->scan_no = ARENA_ARRAY(scratch, uint32_t, g->n_scans);
    p->seen = ARENA_ARRAY(scratch, unsigned char, g->ixs.n);
    put_header(p);
    put_block(p, 0, 1);
    for (size_t i = 0; i < g->results.n; i++)
        put_output(p, &g->results.v[i]);
    put(p, "}\n");
}

void graph_print(const graph *g, strbuf *out)
{
    printer p = {.g = g, .out = out};
    with_scratch(arena_mem(g->a), print_graph, &p);
}

void module_print(const module *m, strbuf *out)
{
    for (size_t i = 0; i < m->graphs.n; i++) {
        sb_puts(out, i ? "\n" : "");
        graph_print(m->graphs.v[i], out);
    }
}
