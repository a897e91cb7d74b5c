/* explain_formula.c: the formulas of an explanation, short enough to read: quotients, maxima and
 * minima that stand in them more than once get a name, which `where` lines explain.
 *
 * What this is not: algebra. The formulas say what they said. */
#include "frontend/cli/explain.h"

enum { OFTEN = 3 }; /* so many times, and a part is worth a name */

typedef struct part {
    const dim_atom *atom;
    uint32_t uses;
    const dim *name; /* NULL: none */
} part;

struct formulas {
    session *s;
    dims *of;
    dims *table;     /* of what is printed: symbols and names */
    VEC(part) parts; /* inner ones first */
};

static part *part_of(formulas *f, const dim_atom *x)
{
    for (size_t i = 0; i < f->parts.n; i++) {
        if (f->parts.v[i].atom == x)
            return &f->parts.v[i];
    }
    return NULL;
}

static void count_parts(formulas *f, const dim *d)
{
    for (uint32_t i = 0; d && i < d->n; i++) {
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            const dim_atom *x = d->terms[i].atoms[k];
            part *p = x->kind == ATOM_SYM ? NULL : part_of(f, x);
            if (p)
                p->uses++;
            if (p || x->kind == ATOM_SYM)
                continue;
            count_parts(f, x->a); /* once for each part, whoever has that part */
            count_parts(f, x->b);
            vec_push(f->s->a, &f->parts, ((part){.atom = x, .uses = 1}));
        }
    }
}

/* A name is a symbol, and no symbol is negative. */
static bool may_have_name(formulas *f, const dim_atom *x)
{
    const dim *d = dim_of_kind(f->of, x->kind, x->a, x->b);
    return d && dim_proved_le(f->of, dim_const(f->of, 0), d);
}

static const dim *shortened(formulas *f, const dim *d);

/* The atom itself, of shortened operands. */
static const dim *spelled(formulas *f, const dim_atom *x)
{
    return dim_of_kind(f->table, x->kind, shortened(f, x->a), shortened(f, x->b));
}

static const dim *shortened(formulas *f, const dim *d)
{
    const dim *sum = dim_const(f->table, 0);
    for (uint32_t i = 0; d && i < d->n; i++) {
        const dim *product = dim_const(f->table, d->terms[i].coef);
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            const dim_atom *x = d->terms[i].atoms[k];
            const part *p = x->kind == ATOM_SYM ? NULL : part_of(f, x);
            const dim *factor = x->kind == ATOM_SYM ? dim_sym(f->table, x->name)
                                : p && p->name      ? p->name
                                                    : spelled(f, x);
            product = dim_mul(f->table, product, factor);
        }
        sum = dim_add(f->table, sum, product);
    }
    return d ? sum : NULL;
}

/* n1, n2, ...: one that no dim has. */
static const dim *new_name(formulas *f, unsigned *last)
{
    for (;;) {
        const char *name = intern_printf(f->s->names, "n%u", ++*last);
        bool taken = false;
        for (uint32_t i = 0; i < dims_n_symbols(f->of); i++)
            taken = taken || dims_symbol(f->of, i) == name;
        if (!taken)
            return dim_sym(f->table, name);
    }
}

formulas *formulas_new(session *s, const graph *g, const dim *const *all, size_t n)
{
    formulas *f = ARENA_NEW(s->a, formulas);
    unsigned last = 0;
    *f = (formulas){.s = s, .of = g->dims, .table = dims_new(s->a, s->names)};
    for (uint32_t i = 0; i < dims_n_symbols(f->of); i++)
        dim_sym(f->table, dims_symbol(f->of, i));
    for (size_t i = 0; i < n; i++)
        count_parts(f, all[i]);
    for (size_t i = 0; i < f->parts.n; i++) {
        if (f->parts.v[i].uses >= OFTEN && may_have_name(f, f->parts.v[i].atom))
            f->parts.v[i].name = new_name(f, &last);
    }
    return f;
}

const char *formula_text(formulas *f, const dim *d)
{
    const dim *brief = shortened(f, d);
    return brief ? dim_text(f->s->a, brief) : d ? dim_text(f->s->a, d) : "too large to say";
}

void formulas_put_names(formulas *f, const char *lead, strbuf *out)
{
    for (size_t i = 0; i < f->parts.n; i++) {
        const part *p = &f->parts.v[i];
        const dim *means = p->name ? spelled(f, p->atom) : NULL;
        if (!means)
            continue;
        sb_printf(out, "%s%s = %s\n", lead, dim_text(f->s->a, p->name), dim_text(f->s->a, means));
    }
}
