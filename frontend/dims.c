/* dims.c: sizes of axes: names to symbols, unification, and what types say.
 *
 * Every name of a dimension is a symbol of its instance. Two sizes that must agree are unified: a
 * symbol that stands alone is bound; an equation with one unknown is divided out exactly; anything
 * else waits (dims_settle), and a sum of unknowns that nothing else decides is split in equal
 * parts. */
#include "frontend/sema.h"

#include <stdlib.h>
#include <string.h>

struct dimscope {
    inst *in;
    VEC(struct dimname {
        const char *name;
        const dim *d;
    })
    names;
};

/* --- bindings --- */

static const dim *bound_to(const sema *s, const char *sym)
{
    for (size_t i = 0; i < s->binds.n; i++)
        if (s->binds.v[i].sym == sym)
            return s->binds.v[i].d;
    return NULL;
}

const dim *dims_resolve(sema *s, const dim *d)
{
    int64_t c;
    if (!d || s->binds.n == 0 || dim_is_const(d, &c))
        return d;
    const char *only;
    if (dim_is_sym(d, &only)) {
        const dim *to = bound_to(s, only);
        return to ? to : d;
    }
    uint32_t n = dims_n_symbols(s->g->dims);
    const dim **by = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = dims_symbol(s->g->dims, i);
        const dim *to = dim_mentions(d, name) ? bound_to(s, name) : NULL;
        if (to) {
            if (!by)
                by = ARENA_ARRAY(s->a, const dim *, n);
            by[i] = to;
        }
    }
    return by ? dim_subst(s->g->dims, d, by) : d;
}

static bool is_rigid(const sema *s, const char *sym)
{
    if (s->merge > 0) /* a function given as an argument may make two sizes of the entry one */
        return false;
    for (size_t i = 0; i < s->rigid.n; i++)
        if (s->rigid.v[i] == sym)
            return true;
    return false;
}

static void bind_symbol(sema *s, const char *sym, const dim *d)
{
    struct bind b = {sym, d, {0}};
    vec_push(s->a, &s->binds, b);
    for (size_t i = 0; i + 1 < s->binds.n; i++) /* bindings stay resolved */
        if (dim_mentions(s->binds.v[i].d, sym))
            s->binds.v[i].d = dims_resolve(s, s->binds.v[i].d);
}

bool dims_is_unknown(const sema *s, const char *sym)
{
    return !is_rigid(s, sym) && !dims_fixed(s, sym);
}

/* Whether sym may become `to`: a fixed one only what is the same number. */
static bool may_bind(sema *s, const char *sym, const dim *to)
{
    const dim *c = dims_fixed(s, sym);
    return !is_rigid(s, sym) && !dim_mentions(to, sym) && (!c || dims_value(s, to) == c);
}

bool dims_choosable(sema *s, const dim *a, const dim *b)
{
    const char *sa, *sb;
    a = dims_resolve(s, a);
    b = dims_resolve(s, b);
    return dims_same(s, a, b) || (dims_equal(s, a, b) && dim_is_sym(a, &sa) && dim_is_sym(b, &sb) &&
                                  (may_bind(s, sa, b) || may_bind(s, sb, a)));
}

/* Symbols of d that may still be bound; returns how many, up to 2 named. */
static uint32_t unknowns(sema *s, const dim *d, const char *out[2])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < dims_n_symbols(s->g->dims); i++) {
        const char *name = dims_symbol(s->g->dims, i);
        if (dims_is_unknown(s, name) && dim_mentions(d, name)) {
            if (n < 2)
                out[n] = name;
            n++;
        }
    }
    return n;
}

/* Solves diff = 0 for the only unknown sym, if it stands in one term and in no atom of another. */
static const dim *solve_for(sema *s, const dim *diff, const char *sym)
{
    dims *t = s->g->dims;
    const dim *rest = dim_const(t, 0), *coef = NULL;
    for (uint32_t i = 0; i < diff->n; i++) {
        const dim_term *term = &diff->terms[i];
        const dim *prod = dim_const(t, term->coef);
        uint32_t hits = 0;
        for (uint32_t k = 0; k < term->n; k++) {
            const dim_atom *at = term->atoms[k];
            if (at->kind == ATOM_SYM && at->name == sym) {
                hits++;
                continue;
            }
            if (at->kind != ATOM_SYM && (dim_mentions(at->a, sym) || dim_mentions(at->b, sym)))
                return NULL;
            const dim *f = at->kind == ATOM_SYM ? dim_sym(t, at->name)
                                                : dim_of_kind(t, at->kind, at->a, at->b);
            prod = dim_mul(t, prod, f);
        }
        if (hits > 1)
            return NULL;
        if (hits == 1)
            coef = coef ? dim_add(t, coef, prod) : prod;
        else
            rest = dim_add(t, rest, prod);
    }
    if (!coef)
        return NULL;
    int64_t c;
    if (dim_is_const(coef, &c) && (c == 1 || c == -1))
        return dim_mul(t, rest, dim_const(t, -c));
    if (dim_is_const(coef, &c) && c < 0)
        return dim_exact(t, rest, dim_const(t, -c));
    if (coef->n == 1 && coef->terms[0].coef < 0)
        return dim_exact(t, rest, dim_mul(t, coef, dim_const(t, -1)));
    return dim_exact(t, dim_mul(t, rest, dim_const(t, -1)), coef);
}

/* 2*H = 7 has no solution: a constant that the common factor of all others does not divide. */
static bool never_equal(sema *s, const dim *diff)
{
    int64_t rest = 0, common = 0;
    diff = dims_value(s, diff);
    if (!diff)
        return true;
    for (uint32_t i = 0; i < diff->n; i++) {
        int64_t c = diff->terms[i].coef;
        if (diff->terms[i].n == 0) {
            rest = c;
            continue;
        }
        for (uint32_t k = 0; k < diff->terms[i].n; k++)
            if (diff->terms[i].atoms[k]->kind == ATOM_EXACT)
                return false; /* may be a fraction of anything */
        while (c) {
            int64_t r = common % c;
            common = c;
            c = r;
        }
    }
    return common != 0 && rest % common != 0;
}

/* True: solved or equal. *wait: nothing wrong, but too many unknowns yet. */
static bool unify_step(sema *s, const dim *a, const dim *b, bool *wait)
{
    const char *sa, *sb, *u[2];
    *wait = false;
    a = dims_resolve(s, a);
    b = dims_resolve(s, b);
    if (a == b)
        return true;
    if (dims_same(s, a, b))
        return true;
    bool na = dim_is_sym(a, &sa), nb = dim_is_sym(b, &sb);
    bool fa = na && may_bind(s, sa, b), fb = nb && may_bind(s, sb, a);
    if (fa && fb && b->terms[0].atoms[0]->sym > a->terms[0].atoms[0]->sym)
        fa = false; /* the younger name goes */
    if (fa) {
        bind_symbol(s, sa, b);
        return true;
    }
    if (fb) {
        bind_symbol(s, sb, a);
        return true;
    }
    const dim *diff = dim_sub(s->g->dims, a, b);
    if (!diff)
        return false;
    const dim *none = dim_const(s->g->dims, 0);
    if (dim_max(s->g->dims, none, a) == b || dim_max(s->g->dims, none, b) == a) {
        /* `1..E-1` has max(0, E - 1) rows: E - 1 where the entry sees to it that it is a size */
        graph_check c = {.a = none,
                         .b = dim_max(s->g->dims, none, a) == b ? a : b,
                         .le = true,
                         .text = "a size must not be negative"};
        if (s->trial == 0)
            vec_push(s->g->a, &s->g->checks, c);
        return true;
    }
    uint32_t n = unknowns(s, diff, u);
    if (n == 0)
        return false;
    if (n == 1) {
        const dim *d = solve_for(s, diff, u[0]);
        int64_t c;
        if (d && dims_const(s, d, &c) && c < 0)
            return false;
        if (!dims_value(s, d))
            d = NULL;
        if (d) {
            bind_symbol(s, u[0], d);
            return true;
        }
        if (never_equal(s, diff))
            return false;
    }
    if (n == 2 && diff->n == 2 && diff->terms[0].n == 1 && diff->terms[1].n == 1 &&
        diff->terms[0].coef == -diff->terms[1].coef) { /* c*H = c*H.2 */
        const dim_atom *x = diff->terms[0].atoms[0], *y = diff->terms[1].atoms[0];
        const dim_atom *old = x->sym < y->sym ? x : y, *young = old == x ? y : x;
        bind_symbol(s, young->name, dim_sym(s->g->dims, old->name));
        return true;
    }
    *wait = true;
    return false;
}

bool dims_unify(sema *s, const dim *a, const dim *b)
{
    bool wait;
    if (!a || !b || unify_step(s, a, b, &wait))
        return true;
    if (!wait)
        return false;
    dims_defer(s, a, b, s->here, (span){0});
    return true;
}

void dims_defer(sema *s, const dim *a, const dim *b, span a_at, span b_at)
{
    for (size_t i = 0; i < s->pending.n; i++)
        if (s->pending.v[i].a == a && s->pending.v[i].b == b) {
            if (!s->pending.v[i].a_at.file)
                s->pending.v[i].a_at = a_at;
            return;
        }
    struct pending p = {a, b, a_at, b_at};
    vec_push(s->a, &s->pending, p);
}

/* A sum of unknowns, each with coefficient 1, equal to something without them: equal parts. */
static bool equal_parts(sema *s, const dim *diff)
{
    dims *t = s->g->dims;
    const dim *rest = dim_const(t, 0);
    VEC(const char *) parts = {0};
    int64_t sign = 0;
    for (int want = 1; want >= -1; want -= 2) {
        parts.n = 0;
        for (uint32_t i = 0; i < diff->n; i++) {
            const dim_term *m = &diff->terms[i];
            if (m->n == 1 && m->coef == want && m->atoms[0]->kind == ATOM_SYM &&
                dims_is_unknown(s, m->atoms[0]->name))
                vec_push(s->a, &parts, m->atoms[0]->name);
        }
        if (parts.n >= 2) {
            sign = want;
            break;
        }
    }
    if (sign == 0)
        return false;
    rest = diff;
    for (size_t i = 0; i < parts.n; i++)
        rest = dim_sub(t, rest, dim_mul(t, dim_const(t, sign), dim_sym(t, parts.v[i])));
    rest = dim_mul(t, rest, dim_const(t, -sign));
    for (size_t i = 0; i < parts.n; i++)
        if (dim_mentions(rest, parts.v[i]))
            return false;
    const dim *each = dim_exact(t, rest, dim_const(t, (int64_t)parts.n));
    if (!dims_value(s, each))
        return false;
    for (size_t i = 0; i < parts.n; i++)
        bind_symbol(s, parts.v[i], each);
    return true;
}

void dims_settle(sema *s, bool last)
{
    bool moved = true;
    while (moved) {
        moved = false;
        size_t kept = 0;
        for (size_t i = 0; i < s->pending.n; i++) {
            struct pending p = s->pending.v[i];
            bool wait;
            if (unify_step(s, p.a, p.b, &wait)) {
                moved = true;
                continue;
            }
            if (!wait) {
                diag *d = diag_error(s->ds, p.a_at, "the sizes %s and %s cannot be equal",
                                     dims_show(s, p.a), dims_show(s, p.b));
                if (p.b_at.file)
                    diag_note(d, p.b_at, "the other size is here");
                continue;
            }
            s->pending.v[kept++] = p;
        }
        s->pending.n = kept;
        if (last && !moved)
            for (size_t i = 0; i < s->pending.n && !moved; i++)
                moved = equal_parts(s, dim_sub(s->g->dims, dims_resolve(s, s->pending.v[i].a),
                                               dims_resolve(s, s->pending.v[i].b)));
    }
    if (!last)
        return;
    for (size_t i = 0; i < s->pending.n; i++) {
        struct pending p = s->pending.v[i];
        const char *u[2] = {0};
        const dim *diff = dim_sub(s->g->dims, dims_resolve(s, p.a), dims_resolve(s, p.b));
        if (unknowns(s, diff, u) == 0)
            continue;
        diag *d = diag_error(s->ds, p.a_at, "%s = %s does not determine its sizes",
                             dims_show(s, p.a), dims_show(s, p.b));
        diag_help(d, "fix one of them: `dim %s = ...`, or -D %s=...", u[0], u[0]);
    }
    s->pending.n = 0;
}

const char *dims_show(sema *s, const dim *d)
{
    return dim_text(s->a, dims_resolve(s, d));
}

/* --- names --- */

const frontend_define *find_define(sema *s, const char *name)
{
    for (size_t i = 0; i < s->o->n_defines; i++)
        if (!strcmp(s->o->defines[i].name, name)) {
            s->used_define[i] = true;
            return &s->o->defines[i];
        }
    return NULL;
}

static struct dimscope *scope_of(inst *in)
{
    if (!in->dims) {
        in->dims = ARENA_NEW(in->s->a, struct dimscope);
        in->dims->in = in;
    }
    return in->dims;
}

const dim *dims_find(inst *in, const char *name)
{
    struct dimscope *sc = scope_of(in);
    for (size_t i = 0; i < sc->names.n; i++)
        if (sc->names.v[i].name == name)
            return dims_resolve(in->s, sc->names.v[i].d);
    return NULL;
}

void dims_bind(inst *in, const char *name, const dim *d)
{
    struct dimscope *sc = scope_of(in);
    for (size_t i = 0; i < sc->names.n; i++)
        if (sc->names.v[i].name == name)
            return;
    struct dimname n = {name, d};
    vec_push(in->s->a, &sc->names, n);
}

static bool symbol_taken(const sema *s, const char *sym)
{
    for (uint32_t i = 0; i < dims_n_symbols(s->g->dims); i++)
        if (dims_symbol(s->g->dims, i) == sym)
            return true;
    return false;
}

/* The entry's dims keep their names; a callee's that clashes is known by its part or function:
 * dec_H. */
const dim *dims_new_symbol(inst *in, const char *name, const char **made)
{
    sema *s = in->s;
    const char *sym = name;
    if (symbol_taken(s, sym) && in->decl) {
        bool in_part = in->f && in->f->path[0];
        sym = intern_printf(s->names, "%s%s%s", in_part ? in->f->path : in->decl->name.s,
                            in_part ? "" : "_", name);
    }
    const char *base = sym;
    for (uint32_t k = 2; symbol_taken(s, sym); k = k < 50 ? k + 1 : k + dims_n_symbols(s->g->dims))
        sym = intern_printf(s->names, "%s_%u", base, k);
    *made = sym;
    return dim_sym(s->g->dims, sym);
}

/* What -D says of a dimension. */
static bool defined(sema *s, const char *name, span at, const dim **value)
{
    const frontend_define *def = find_define(s, name);
    char *end;
    if (!def)
        return false;
    long long v = strtoll(def->value, &end, 10);
    if (*end || end == def->value || v < 0 || v > DIM_LIMIT) {
        diag_error(s->ds, at, "-D %s=%s: a dimension is a whole number from 0 to 2^40", name,
                   def->value);
        return false;
    }
    *value = dim_const(s->g->dims, v);
    return true;
}

const dim *dims_of_name(inst *in, const char *name, span at)
{
    sema *s = in->s;
    const dim *d = dims_find(in, name);
    if (d)
        return d;
    const ast_decl *global = decl_find(s, name);
    if (global && global->kind == DECL_CONST && global->is_dim) {
        env e = {.in = in};
        entity n;
        if (lookup(&e, name, &n) && n.kind == N_DIM) {
            dims_bind(in, name, n.d);
            return n.d;
        }
    }
    const inst *top = in;
    while (top->parent)
        top = top->parent;
    bool entry_has = false;
    if (in->parent) { /* a callee's, where the entry has no dim of that name */
        struct dimscope *sc = top->dims;
        for (size_t i = 0; sc && i < sc->names.n; i++)
            entry_has = entry_has || sc->names.v[i].name == name;
    }
    const dim *value;
    const char *sym;
    d = dims_new_symbol(in, name, &sym);
    if (!in->meeting && ((!entry_has && defined(s, name, at, &value)) ||
                         (sym != name && defined(s, sym, at, &value)))) {
        struct fixed f = {.sym = sym, .value = value};
        vec_push(s->a, &s->fixed, f);
    }
    dims_bind(in, name, d);
    return d;
}

/* --- expressions of dims --- */

static const dim *eval_call(inst *in, const ast_expr *e)
{
    dims *t = in->s->g->dims;
    bool max = e->a->kind == AST_NAME && !strcmp(e->a->name, "max");
    if (!max && !(e->a->kind == AST_NAME && !strcmp(e->a->name, "min")))
        return NULL;
    const dim *r = NULL;
    for (size_t i = 0; i < e->n; i++) {
        const dim *d = dims_eval(in, e->args[i].e);
        if (!d)
            return NULL;
        r = !r ? d : max ? dim_max(t, r, d) : dim_min(t, r, d);
    }
    return r;
}

static const dim *eval_name(inst *in, const ast_expr *e)
{
    sema *s = in->s;
    const dim *d;
    entity *n = inst_find(in, e->name);
    if (n && n->kind == N_CONST && n->val.kind == TV_VALUE && value_as_dim(s, n->val.v, &d))
        return d;
    if (n && n->kind == N_TENSOR && !dims_find(in, e->name)) {
        if (n->t->given && n->t->val.kind == TV_VALUE && n->t->dt == DT_I64 && n->t->n_axes == 0 &&
            value_as_dim(s, n->t->val.v, &d))
            return d;
        diag *g = diag_error(s->ds, e->at, "%s is a tensor, not a dimension", e->name);
        diag_note(g, n->at, "%s is defined here", e->name);
        return NULL;
    }
    return dims_of_name(in, e->name, e->at);
}

const dim *dims_eval(inst *in, const ast_expr *e)
{
    sema *s = in->s;
    dims *t = s->g->dims;
    const dim *a, *b, *r = NULL;
    switch (e->kind) {
    case AST_INT:
        return dim_const(t, e->integer);
    case AST_NAME:
        return eval_name(in, e);
    case AST_CALL:
        r = eval_call(in, e);
        break;
    case AST_UNARY:
        if (e->op == OP_NEG && (a = dims_eval(in, e->a)))
            r = dim_sub(t, dim_const(t, 0), a);
        break;
    case AST_BINARY:
        a = dims_eval(in, e->a);
        b = a ? dims_eval(in, e->b) : NULL;
        if (!b)
            return NULL;
        r = e->op == OP_ADD        ? dim_add(t, a, b)
            : e->op == OP_SUB      ? dim_sub(t, a, b)
            : e->op == OP_MUL      ? dim_mul(t, a, b)
            : e->op == OP_FLOORDIV ? dim_floordiv(t, a, b)
            : e->op == OP_DIV      ? dim_exact(t, a, b)
            : e->op == OP_MOD      ? dim_mod(t, a, b)
                                   : NULL;
        if (!dims_value(s, r))
            r = NULL;
        break;
    case AST_ERROR:
        return NULL;
    default:
        break;
    }
    if (!r) {
        diag *d = diag_error(s->ds, e->at, "this is not a size");
        diag_help(d, "a dimension is a name, a whole number, or +, -, *, // and min, max of those");
    }
    return r;
}

/* --- types --- */

enum { MAX_AXES = 100, MAX_PARTS = 1000 };

static bool axis_of(inst *in, const ast_axis *x, axis *out)
{
    sema *s = in->s;
    *out = (axis){.at = x->at, .n = 1};
    out->ix = ARENA_ARRAY(s->a, const ix *, 1);
    out->d = ARENA_ARRAY(s->a, const dim *, 1);
    if (x->kind == AXIS_DIM)
        return (out->d[0] = dims_eval(in, x->e)) != NULL;
    if (x->n > MAX_PARTS) {
        diag *g =
            diag_error(s->ds, x->at, "an axis of %zu parts: the limit is %d", x->n, MAX_PARTS);
        diag_help(g, "give parts of one size an index of their own: `(N, K)`");
        return false;
    }
    axis *part = ARENA_ARRAY(s->a, axis, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (!axis_of(in, &x->parts[i], &part[i]))
            return false;
    if (x->kind == AXIS_JOINED) {
        out->d[0] = dim_const(s->g->dims, 0);
        for (size_t i = 0; i < x->n; i++)
            out->d[0] = dim_add(s->g->dims, out->d[0], axis_size(s, &part[i]));
        out->n_join = (uint32_t)x->n;
        out->join = part;
        return true;
    }
    out->n = 0; /* packed: parts of parts are parts; a joined part counts as one */
    for (size_t i = 0; i < x->n; i++)
        out->n += part[i].n;
    out->ix = ARENA_ARRAY(s->a, const ix *, out->n);
    out->d = ARENA_ARRAY(s->a, const dim *, out->n);
    for (size_t i = 0, k = 0; i < x->n; i++)
        for (uint32_t j = 0; j < part[i].n; j++)
            out->d[k++] = part[i].d[j];
    if (!dims_value(s, axis_size(s, out))) {
        diag *d = diag_error(s->ds, x->at, "this axis is larger than any memory");
        diag_help(d, "a size is at most 2^63 - 1");
        return false;
    }
    return true;
}

bool axes_of_type(inst *in, const ast_type *t, uint32_t *n, axis **axes)
{
    bool ok = true;
    if (t->n_axes > MAX_AXES) {
        diag *g = diag_error(in->s->ds, t->at, "a tensor of %zu axes: the limit is %d", t->n_axes,
                             MAX_AXES);
        diag_help(g, "several axes can be packed in one: `[(A, B, C), D]`");
        return false;
    }
    *n = (uint32_t)t->n_axes;
    *axes = ARENA_ARRAY(in->s->a, axis, t->n_axes);
    for (size_t i = 0; i < t->n_axes; i++)
        ok = axis_of(in, &t->axes[i], &(*axes)[i]) && ok;
    return ok;
}

const dim *axis_size(sema *s, const axis *a)
{
    const dim *d = dim_const(s->g->dims, 1);
    for (uint32_t i = 0; i < a->n; i++)
        d = dim_mul(s->g->dims, d, dims_resolve(s, a->d[i]));
    return d;
}

const dim *axis_lo(const axis *a, uint32_t part)
{
    return a->lo ? a->lo[part] : NULL;
}

void axis_set_lo(sema *s, axis *a, uint32_t part, const dim *lo)
{
    const dim **all = ARENA_ARRAY(s->a, const dim *, a->n); /* axes share their arrays */
    for (uint32_t k = 0; k < a->n; k++)
        all[k] = k == part ? lo : axis_lo(a, k);
    a->lo = all;
}

dtype dtype_of(sema *s, ast_scalar sc)
{
    switch (sc) {
    case SCALAR_INT:
    case SCALAR_I64:
    case SCALAR_I32:
    case SCALAR_U8:
        return DT_I64;
    case SCALAR_BOOL:
        return DT_BOOL;
    default:
        return s->o->real;
    }
}

store_type store_of(sema *s, ast_scalar sc)
{
    switch (sc) {
    case SCALAR_F64:
        return ST_F64;
    case SCALAR_F32:
        return ST_F32;
    case SCALAR_F16:
        return ST_F16;
    case SCALAR_BF16:
        return ST_BF16;
    case SCALAR_INT:
    case SCALAR_I64:
        return ST_I64;
    case SCALAR_I32:
        return ST_I32;
    case SCALAR_U8:
        return ST_U8;
    case SCALAR_BOOL:
        return ST_BOOL;
    case SCALAR_REAL:
        break;
    }
    return s->o->real == DT_F64 ? ST_F64 : ST_F32;
}

const char *axes_show(sema *s, const axis *axes, uint32_t n)
{
    strbuf b = {.a = s->a};
    if (n == 0)
        return "a single number";
    sb_puts(&b, "[");
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            sb_puts(&b, ", ");
        if (axes[i].n > 1)
            sb_puts(&b, "(");
        for (uint32_t k = 0; k < axes[i].n; k++)
            sb_printf(&b, "%s%s", k ? ", " : "", dims_show(s, axes[i].d[k]));
        if (axes[i].n > 1)
            sb_puts(&b, ")");
    }
    sb_puts(&b, "]");
    return sb_text(&b);
}
