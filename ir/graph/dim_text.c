/* dim_text.c: dims as text and back.
 *
 *     dim  = term {("+" | "-") term}
 *     term = unary {("*" | "/" | "//" | "%") unary}
 *     unary = "-" unary | number | name | ("max" | "min") "(" dim "," dim ")" | "(" dim ")" */
#include <inttypes.h>
#include <string.h>

#include "ir/graph/dim_internal.h"

/* --- printing --- */

struct dim_order {
    dims *table; /* NULL: the order is the table's own */
    const dim **by;
};

const dim_order *dim_order_new(arena *a, strtab *names, const dims *t, const char *const *symbols,
                               size_t n)
{
    dim_order *o = ARENA_NEW(a, dim_order);
    uint32_t all = dims_n_symbols(t);
    bool same = true;
    for (uint32_t i = 0; i < n && i < all; i++)
        same = same && strcmp(symbols[i], dims_symbol(t, i)) == 0;
    if (same)
        return o;
    o->table = dims_new(a, names);
    for (size_t i = 0; i < n; i++)
        dim_sym(o->table, symbols[i]);
    o->by = ARENA_ARRAY(a, const dim *, all);
    for (uint32_t i = 0; i < all; i++)
        o->by[i] = dim_sym(o->table, dims_symbol(t, i));
    return o;
}

void dim_print_in(const dim_order *o, const dim *d, strbuf *out)
{
    const dim *other = o->table ? dim_subst(o->table, d, o->by) : NULL;
    dim_print(other ? other : d, out);
}

/* Operands of a division: bare where text binds them as meant. */
static void print_operand(const dim *d, bool left, strbuf *out)
{
    bool bare = d->n == 0;
    if (d->n == 1) {
        const dim_term *x = &d->terms[0];
        bare = x->coef > 0 && (left || x->n == 0 || (x->n == 1 && x->coef == 1));
    }
    sb_puts(out, bare ? "" : "(");
    dim_print(d, out);
    sb_puts(out, bare ? "" : ")");
}

static void print_atom(const dim_atom *x, strbuf *out)
{
    static const char *const infix[] = {
        [ATOM_DIV] = " // ", [ATOM_EXACT] = " / ", [ATOM_MOD] = " % "};
    switch (x->kind) {
    case ATOM_SYM:
        name_print(out, x->name);
        break;
    case ATOM_MAX:
    case ATOM_MIN:
        sb_puts(out, x->kind == ATOM_MAX ? "max(" : "min(");
        dim_print(x->a, out);
        sb_puts(out, ", ");
        dim_print(x->b, out);
        sb_puts(out, ")");
        break;
    default:
        sb_puts(out, "(");
        print_operand(x->a, true, out);
        sb_puts(out, infix[x->kind]);
        print_operand(x->b, false, out);
        sb_puts(out, ")");
    }
}

void dim_print(const dim *d, strbuf *out)
{
    if (d->n == 0)
        sb_puts(out, "0");
    for (uint32_t i = 0; i < d->n; i++) {
        const dim_term *x = &d->terms[i];
        bool negative = x->coef < 0;
        uint64_t size = negative ? 0 - (uint64_t)x->coef : (uint64_t)x->coef;
        if (i > 0)
            sb_puts(out, negative ? " - " : " + ");
        else if (negative)
            sb_puts(out, "-");
        if (size != 1 || x->n == 0)
            sb_printf(out, "%" PRIu64 "%s", size, x->n ? "*" : "");
        for (uint32_t k = 0; k < x->n; k++) {
            sb_puts(out, k ? "*" : "");
            print_atom(x->atoms[k], out);
        }
    }
}

const char *dim_text(arena *a, const dim *d)
{
    strbuf b = {.a = a};
    dim_print(d, &b);
    return sb_text(&b);
}

/* --- reading --- */

typedef struct reader {
    dims *t;
    arena *scratch;
    const char *s;
    size_t n, at;
    unsigned depth;
    const char *error; /* the first one, or NULL */
} reader;

static const dim *read_sum(reader *r);

static const dim *fail(reader *r, const char *text)
{
    if (!r->error)
        r->error = text;
    return NULL;
}

static void skip_blanks(reader *r)
{
    while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\t'))
        r->at++;
}

static bool take(reader *r, const char *token)
{
    skip_blanks(r);
    size_t len = strlen(token);
    if (r->n - r->at < len || memcmp(r->s + r->at, token, len) != 0)
        return false;
    r->at += len;
    return true;
}

static const dim *read_number(reader *r)
{
    int64_t x = 0;
    while (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') {
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, r->s[r->at] - '0', &x))
            return fail(r, "the number is too large");
        r->at++;
    }
    return dim_const(r->t, x);
}

static const dim *read_choice(reader *r, bool max)
{
    const dim *a = read_sum(r);
    if (a && !take(r, ","))
        return fail(r, "expected `,`");
    const dim *b = a ? read_sum(r) : NULL;
    if (b && !take(r, ")"))
        return fail(r, "expected `)`");
    return max ? dim_max(r->t, a, b) : dim_min(r->t, a, b);
}

static const dim *read_name(reader *r)
{
    const char *name = NULL;
    size_t len = name_scan(r->t->names, r->scratch, r->s + r->at, r->n - r->at, &name);
    if (len == 0)
        return fail(r, "expected a dim: a name, a number or `(`");
    size_t start = r->at;
    r->at += len;
    if ((strcmp(name, "max") == 0 || strcmp(name, "min") == 0) && r->at < r->n &&
        r->s[r->at] == '(') {
        r->at++;
        return read_choice(r, name[1] == 'a');
    }
    const char **known = ARENA_ARRAY(r->scratch, const char *, r->t->syms.n);
    for (size_t i = 0; i < r->t->syms.n; i++) {
        known[i] = r->t->syms.v[i]->name;
        if (known[i] == name)
            return dim_of_atom(r->t, r->t->syms.v[i]);
    }
    r->at = start;
    const char *near = str_nearest(r->scratch, name, known, r->t->syms.n);
    return fail(r, near ? arena_printf(r->scratch, "unknown dim %s; is it %s?", name, near)
                        : arena_printf(r->scratch, "unknown dim %s", name));
}

static const dim *read_unary(reader *r)
{
    if (r->depth >= DIM_MAX_DEPTH)
        return fail(r, "the dim nests too deep");
    r->depth++;
    const dim *d = NULL;
    if (take(r, "-")) {
        d = dim_scale(r->t, read_unary(r), -1);
    } else if (take(r, "(")) {
        d = read_sum(r);
        if (d && !take(r, ")"))
            d = fail(r, "expected `)`");
    } else if (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') {
        d = read_number(r);
    } else {
        d = read_name(r);
    }
    r->depth--;
    return d;
}

/* `%x` behind a dim, as in `(i:1 %x)` of a join, is a value and no remainder. */
static bool at_value(const reader *r)
{
    size_t at = r->at;
    while (at < r->n && (r->s[at] == ' ' || r->s[at] == '\t'))
        at++;
    return at > 0 && strchr(" \t", r->s[at - 1]) && at + 1 < r->n && r->s[at] == '%' &&
           !strchr(" \t(", r->s[at + 1]);
}

static const dim *read_product(reader *r)
{
    const dim *d = read_unary(r);
    while (d) {
        if (take(r, "*"))
            d = dim_mul(r->t, d, read_unary(r));
        else if (take(r, "//"))
            d = dim_floordiv(r->t, d, read_unary(r));
        else if (take(r, "/"))
            d = dim_exact(r->t, d, read_unary(r));
        else if (!at_value(r) && take(r, "%"))
            d = dim_mod(r->t, d, read_unary(r));
        else
            break;
    }
    return d;
}

static const dim *read_sum(reader *r)
{
    const dim *d = read_product(r);
    while (d) {
        if (take(r, "+"))
            d = dim_add(r->t, d, read_product(r));
        else if (take(r, "-"))
            d = dim_sub(r->t, d, read_product(r));
        else
            break;
    }
    return d;
}

const dim *dim_parse(dims *t, arena *scratch, const char *s, size_t n, size_t *used,
                     const char **error)
{
    reader r = {.t = t, .scratch = scratch, .s = s, .n = n};
    const dim *d = read_sum(&r);
    if (d) { /* blanks behind it belong to whoever reads on */
        while (r.at > 0 && (s[r.at - 1] == ' ' || s[r.at - 1] == '\t'))
            r.at--;
    } else {
        *error = r.error ? r.error : "the dim has no value: too large, or a division by 0";
    }
    *used = r.at;
    return d;
}
