/* fixed.c: sizes that are fixed when compiling: `-D T=2`, `dim N = 8`, an argument bound to 4.
 *
 * Axes meet by name, so a fixed size stays a symbol while equations are elaborated: two sizes that
 * happen to be 2 are still two names. Its number is put in where something is proved or a number is
 * asked for (dims_value and what builds on it), and when the final graph is built. */
#include "frontend/sema.h"

const dim *dims_fixed(const sema *s, const char *sym)
{
    for (size_t i = 0; i < s->fixed.n; i++)
        if (s->fixed.v[i].sym == sym)
            return s->fixed.v[i].value;
    return NULL;
}

/* A new symbol, known to be `value`. */
static const dim *fixed_symbol(inst *in, const char *name, const dim *value, bool top)
{
    struct fixed f = {.name = top ? name : NULL, .value = value};
    const dim *d = dims_new_symbol(in, name, &f.sym);
    vec_push(in->s->a, &in->s->fixed, f);
    return d;
}

const dim *dims_of_top(inst *in, const char *name, const dim *value)
{
    sema *s = in->s;
    for (size_t i = 0; i < s->fixed.n; i++)
        if (s->fixed.v[i].name == name)
            return dim_sym(s->g->dims, s->fixed.v[i].sym);
    return fixed_symbol(in, name, value, true);
}

bool dims_fix(inst *in, const char *name, const dim *value)
{
    sema *s = in->s;
    int64_t c;
    const char *sym;
    const dim *old = dims_find(in, name);
    bool number = dim_is_const(value, &c);
    if (!old) {
        dims_bind(in, name, number ? fixed_symbol(in, name, value, false) : value);
        return true;
    }
    if (!number || !dim_is_sym(old, &sym) || !dims_is_unknown(s, sym))
        return dims_unify(s, old, value);
    struct fixed f = {.sym = sym, .value = value};
    vec_push(s->a, &s->fixed, f);
    return true;
}

const dim *dims_value(sema *s, const dim *d)
{
    int64_t c;
    d = dims_resolve(s, d);
    if (!d || s->fixed.n == 0 || dim_is_const(d, &c))
        return d;
    uint32_t n = dims_n_symbols(s->g->dims);
    const dim **by = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = dims_symbol(s->g->dims, i);
        const dim *to = dims_fixed(s, name);
        if (!to || !dim_mentions(d, name))
            continue;
        if (!by)
            by = ARENA_ARRAY(s->a, const dim *, n);
        by[i] = to;
    }
    return by ? dim_subst(s->g->dims, d, by) : d;
}

const dim *dims_final(sema *s, const dim *d, span at)
{
    const dim *v = dims_value(s, d);
    if (v)
        return v;
    diag *g = diag_error(s->ds, at, "the size %s is no whole number from 0 to 2^40",
                         d ? dims_show(s, d) : "of an axis");
    diag_help(g, "fix its dimensions to other numbers");
    return dim_const(s->g->dims, 1);
}

bool dims_const(sema *s, const dim *d, int64_t *c)
{
    d = dims_value(s, d);
    return d && dim_is_const(d, c);
}

bool dims_equal(sema *s, const dim *a, const dim *b)
{
    a = dims_value(s, a);
    return a && a == dims_value(s, b);
}

bool dims_le(sema *s, const dim *a, const dim *b)
{
    a = dims_value(s, a);
    b = dims_value(s, b);
    return a && b && dim_proved_le(s->g->dims, a, b);
}

bool dims_lt(sema *s, const dim *a, const dim *b)
{
    a = dims_value(s, a);
    b = dims_value(s, b);
    return a && b && dim_proved_lt(s->g->dims, a, b);
}

bool dims_same(sema *s, const dim *a, const dim *b)
{
    const char *na, *nb;
    a = dims_resolve(s, a);
    b = dims_resolve(s, b);
    if (!a || !b || a == b)
        return a && b;
    return s->fixed.n && !(dim_is_sym(a, &na) && dim_is_sym(b, &nb)) && dims_equal(s, a, b);
}
