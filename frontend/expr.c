/* expr.c: expressions to graph values: names, operators, absence. Calls are in call.c. */
#include "frontend/sema.h"

#include <math.h>
#include <string.h>

static tv elab_name(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    entity n;
    for (const scope *sc = e->indices; sc; sc = sc->up)
        if (sc->name == x->name) {
            value *v = graph_index(s->g, sc->ix);
            if (sc->lo)
                v = b_elem(s, OP_add, v, b_dim(s, sc->lo), NULL);
            return tv_value(v, x->at);
        }
    if (lookup(e, x->name, &n)) {
        switch (n.kind) {
        case N_TENSOR:
            return tensor_read(e, n.t, NULL, x->at);
        case N_DIM:
            return tv_value(b_dim(s, n.d), x->at);
        case N_CONST:
            n.val.at = x->at;
            return n.val;
        case N_FUNC: {
            tv v = {.kind = TV_FUNC, .f = n.f, .at = x->at};
            return v;
        }
        case N_PART: {
            tv v = {.kind = TV_FUNC, .f = funcref_of(e, x), .at = x->at};
            return v.f ? v : tv_poison(x->at);
        }
        case N_NONE:
            break;
        }
    }
    diag *d = diag_error(s->ds, x->at, "%s is not defined", x->name);
    const char *near = nearest_name(e, x->name);
    if (near)
        diag_help(d, "did you mean %s?", near);
    else
        diag_help(d, "define it by an equation, or declare it as an input, `param` or `const`");
    return tv_poison(x->at);
}

/* Both operands in turn, each under the other's presence: what one lacks the other need not read.
 */
static void elab_pair(env *e, const ast_expr *xa, const ast_expr *xb, tv *a, tv *b)
{
    sema *s = e->in->s;
    uint32_t loose = s->loose_reads;
    size_t reads = e->reader ? e->reader->reads.n : 0;
    *a = elab(e, xa);
    loose = s->loose_reads - loose;
    env in = *e;
    if (a->kind == TV_VALUE && a->support)
        in.demand = b_and(s, in.demand, a->support);
    *b = elab(&in, xb);
    if (loose && a->kind == TV_VALUE && b->kind == TV_VALUE && b->support &&
        b->support != a->support && !s->trial) {
        value *both = b_and(s, e->demand, b->support);
        if (both != e->demand) {
            if (e->reader)
                e->reader->reads.n = reads; /* the first try's reads do not count */
            in = *e;
            in.demand = both;
            *a = elab(&in, xa);
            in = *e;
            if (a->kind == TV_VALUE && a->support)
                in.demand = b_and(s, in.demand, a->support);
            *b = elab(&in, xb);
        }
    }
}

static tv elab_pow(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    tv a, b;
    elab_pair(e, x->a, x->b, &a, &b);
    tv two[2] = {a, b};
    if (tv_bad(&a))
        return a;
    if (tv_bad(&b))
        return b;
    if (a.kind == TV_VALUE && b.kind == TV_VALUE && b.v->op == OP_const && b.v->dt == DT_I64 &&
        b.v->i >= 1 && b.v->i <= 4) {
        tv r = a;
        r.weight = false;
        for (int64_t k = 1; k < b.v->i; k++) {
            tv f[2] = {r, a};
            r = apply_elem(e, OP_mul, f, 2, x->at);
            if (tv_bad(&r))
                return r;
        }
        r.support = a.support;
        return r;
    }
    if (a.kind == TV_VALUE && b.kind == TV_VALUE && a.v->op == OP_const && a.v->dt == DT_I64 &&
        b.v->op == OP_const && b.v->dt == DT_I64 && b.v->i >= 0 && b.v->i < 64) {
        int64_t r = 1;
        bool over = false;
        for (int64_t k = 0; k < b.v->i; k++)
            over = over || __builtin_mul_overflow(r, a.v->i, &r);
        if (!over) {
            tv v = tv_value(graph_int(s->g, r), x->at);
            v.literal = true;
            return v;
        }
    }
    return apply_elem(e, OP_pow, two, 2, x->at);
}

static tv elab_binary(env *e, const ast_expr *x)
{
    tv a, b;
    switch (x->op) {
    case OP_POW:
        return elab_pow(e, x);
    case OP_MATMUL:
        elab_pair(e, x->a, x->b, &a, &b);
        return apply_contract(e, a, b, x->at, false);
    case OP_MUL:
        elab_pair(e, x->a, x->b, &a, &b);
        return apply_mul(e, a, b, x->at);
    default:
        break;
    }
    if (x->op == OP_AND || x->op == OP_OR) {
        /* an absent condition is false */
        value *p = elab_condition(e, x->a);
        env in = *e;
        if (p && x->op == OP_AND)
            in.demand = b_and(e->in->s, e->demand, p);
        value *q = elab_condition(&in, x->b);
        if (!p || !q)
            return e->in->s->trial ? (tv){.kind = TV_UNKNOWN, .at = x->at} : tv_poison(x->at);
        value *r = x->op == OP_AND ? b_and(e->in->s, p, q) : b_or(e->in->s, p, q);
        return tv_value(r ? r : graph_bool(e->in->s->g, true), x->at);
    }
    elab_pair(e, x->a, x->b, &a, &b);
    tv args[2] = {a, b};
    tv r;
    switch (x->op) {
    case OP_ADD:
        return apply_elem(e, OP_add, args, 2, x->at);
    case OP_SUB:
        return apply_elem(e, OP_sub, args, 2, x->at);
    case OP_DIV:
        r = apply_elem(e, OP_div, args, 2, x->at);
        if (r.kind == TV_VALUE && a.kind == TV_VALUE)
            r.weight = a.weight;
        return r;
    case OP_FLOORDIV:
        return apply_elem(e, OP_idiv, args, 2, x->at);
    case OP_MOD:
        return apply_elem(e, OP_imod, args, 2, x->at);
    default:
        ice("binary operator %d", (int)x->op);
    }
}

static tv compare(env *e, ast_op op, tv a, tv b, span at)
{
    tv fwd[2] = {a, b}, back[2] = {b, a};
    switch (op) {
    case OP_EQ:
        return apply_elem(e, OP_eq, fwd, 2, at);
    case OP_NE:
        return apply_elem(e, OP_ne, fwd, 2, at);
    case OP_LT:
        return apply_elem(e, OP_lt, fwd, 2, at);
    case OP_LE:
        return apply_elem(e, OP_le, fwd, 2, at);
    case OP_GT:
        return apply_elem(e, OP_lt, back, 2, at);
    default:
        return apply_elem(e, OP_le, back, 2, at);
    }
}

static tv elab_chain(env *e, const ast_expr *x)
{
    tv r = {0};
    tv left = elab(e, x->items[0]);
    for (size_t i = 1; i < x->n; i++) {
        tv right = elab(e, x->items[i]);
        tv c = compare(e, x->ops[i - 1], left, right, x->at);
        if (tv_bad(&c))
            return c;
        if (i == 1) {
            r = c;
        } else {
            tv two[2] = {r, c};
            r = apply_elem(e, OP_and, two, 2, x->at);
        }
        if (tv_bad(&r))
            return r;
        left = right;
    }
    return r;
}

static tv elab_where(env *e, const ast_expr *x, uint32_t component, bool single)
{
    sema *s = e->in->s;
    env in = *e;
    tv c = elab(&in, x->b);
    if (tv_bad(&c))
        return c;
    if (c.kind != TV_VALUE || c.v->dt != DT_BOOL) {
        diag *d = diag_error(s->ds, x->b->at, "`where` needs a condition, this is %s",
                             c.kind == TV_FUNC ? "a function" : dtype_word(c.v->dt));
        diag_help(d, "compare it with something: `... where t < n`");
        return tv_poison(x->at);
    }
    value *cond = b_and(s, c.support, c.v);
    in.demand = b_and(s, e->demand, c.n_axes ? NULL : cond);
    tv v = single ? elab(&in, x->a) : elab_component(&in, x->a, component);
    if (v.kind != TV_VALUE)
        return v;
    if (c.n_axes) {
        c.v = cond ? cond : c.v;
        c.support = NULL;
        if (!align(e, &v, &c, x->at, "`where`"))
            return tv_poison(x->at);
        cond = c.v;
    }
    v.support = b_and(s, v.support, cond);
    v.at = x->at;
    return v;
}

static tv elab_else(env *e, const ast_expr *x, uint32_t component, bool single)
{
    sema *s = e->in->s;
    env in = *e;
    in.else_at_hand = true;
    tv a = single ? elab(&in, x->a) : elab_component(&in, x->a, component);
    in = *e;
    if (a.kind == TV_VALUE)
        in.demand = b_and(s, e->demand, b_not(s, a.support));
    if (a.kind == TV_VALUE && !a.support)
        in.demand = e->demand;
    tv b = single ? elab(&in, x->b) : elab_component(&in, x->b, component);
    if (a.kind == TV_UNKNOWN && b.kind == TV_VALUE && b.n_axes)
        return b;
    if (tv_bad(&a))
        return a;
    if (b.kind == TV_UNKNOWN && a.kind == TV_VALUE)
        return a;
    if (tv_bad(&b))
        return b;
    tv both[2] = {a, b};
    if (a.kind == TV_FUNC || b.kind == TV_FUNC) {
        funcref *f = a.kind == TV_FUNC ? a.f : b.f;
        diag *d = diag_error(s->ds, a.kind == TV_FUNC ? a.at : b.at,
                             "%s is a function, not a value", funcref_name(f));
        diag_help(d, "call it: `%s(...)`", funcref_name(f));
        return tv_poison(x->at);
    }
    if (a.v->dt == DT_BOOL || b.v->dt == DT_BOOL) {
        if (a.v->dt != b.v->dt) {
            diag *d = diag_error(s->ds, x->b->at, "both sides of `else` must be one type");
            diag_note(d, x->a->at, "this is %s", a.v->dt == DT_BOOL ? "a bool" : "a number");
            return tv_poison(x->at);
        }
    } else if (a.v->dt != b.v->dt) {
        both[0] = to_real(e, a);
        both[1] = to_real(e, b);
    }
    if (!align(e, &both[0], &both[1], x->at, "`else`"))
        return tv_poison(x->at);
    tv r = both[0];
    r.at = x->at;
    r.literal = a.literal && b.literal;
    r.weight = a.weight && b.weight;
    r.v = b_select(s, both[0].support, both[0].v, both[1].v);
    r.support =
        both[0].support && both[1].support ? b_or(s, both[0].support, both[1].support) : NULL;
    return r;
}

value *elab_condition(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    tv c = elab(e, x);
    if (tv_bad(&c))
        return NULL;
    if (c.kind != TV_VALUE || c.v->dt != DT_BOOL || c.n_axes) {
        bool many = c.kind == TV_VALUE && c.v->dt == DT_BOOL;
        diag *d = many ? diag_error(s->ds, x->at,
                                    "a condition is one truth value, this is a vector of them")
                       : diag_error(s->ds, x->at, "a condition is expected here, this is %s",
                                    c.kind == TV_FUNC ? "a function" : dtype_word(c.v->dt));
        diag_help(d, many ? "reduce it: `all[i](...)` or `any[i](...)`"
                          : "compare it with something: `j <= t`");
        return NULL;
    }
    value *v = b_and(s, c.support, c.v);
    return v ? v : graph_bool(s->g, true);
}

static tv elab_index(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    entity n;
    if (x->a->kind == AST_NAME) {
        bool is_index = false;
        for (const scope *sc = e->indices; sc; sc = sc->up)
            is_index = is_index || sc->name == x->a->name;
        if (is_index) {
            diag *d = diag_error(s->ds, x->at, "%s is an index, it has no axes", x->a->name);
            diag_help(d, "read a tensor at it: `x[%s]`", x->a->name);
            return tv_poison(x->at);
        }
        if (lookup(e, x->a->name, &n)) {
            if (n.kind == N_TENSOR)
                return tensor_read(e, n.t, x->index, x->at);
            if (n.kind == N_PART) {
                tv v = {.kind = TV_FUNC, .f = funcref_of(e, x), .at = x->at};
                return v.f ? v : tv_poison(x->at);
            }
            if (n.kind == N_FUNC) {
                diag *d =
                    diag_error(s->ds, x->at, "%s is a function: it needs arguments", x->a->name);
                diag_help(d, "write `%s[...](...)`", x->a->name);
                return tv_poison(x->at);
            }
        }
    }
    tv v = elab(e, x->a);
    if (tv_bad(&v))
        return v;
    if (v.kind == TV_FUNC || v.n_axes == 0) {
        diag *d = diag_error(s->ds, x->at, "this has no axes to index");
        diag_note(d, x->a->at, "this is %s", v.kind == TV_FUNC ? "a function" : "a single number");
        diag_help(d, v.kind == TV_FUNC ? "call it first" : "remove the brackets");
        return tv_poison(x->at);
    }
    tensor t = {.name = "this value",
                .at = x->a->at,
                .in = e->in,
                .given = true,
                .val = v,
                .sig = P_DONE,
                .dt = v.v->dt,
                .n_axes = v.n_axes,
                .axes = v.axes,
                .def = P_DONE,
                .pieces_done = true};
    return tensor_read(e, &t, x->index, x->at);
}

static tv elab_field(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    funcref *f = funcref_of(e, x->a);
    if (!f)
        return tv_poison(x->at);
    uint32_t n_mapped;
    axis *mapped;
    inst *in = inst_call(e, f, x, NULL, SIZE_MAX, NULL, x->at, &n_mapped, &mapped);
    if (!in)
        return tv_poison(x->at);
    entity *n = inst_find(in, x->name);
    if (!n || n->kind != N_TENSOR || !n->t->given) {
        diag *d = diag_error(s->ds, x->at, "%s has no param %s", f->decl ? f->decl->name.s : "this",
                             x->name);
        if (f->decl)
            diag_note(d, f->decl->name.at, "it is defined here");
        VEC(const char *) params = {0};
        for (size_t i = 0; i < in->names.n; i++)
            if (in->names.v[i].kind == N_TENSOR && in->names.v[i].t->given)
                vec_push(s->a, &params, in->names.v[i].name);
        const char *near = str_nearest(s->a, x->name, params.v, params.n);
        if (near)
            diag_help(d, "did you mean %s?", near);
        else
            diag_help(d, "only params can be read from outside a function");
        return tv_poison(x->at);
    }
    return tensor_read(e, n->t, NULL, x->at);
}

static tv elab_kind(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    tv v;
    switch (x->kind) {
    case AST_ERROR:
        return tv_poison(x->at);
    case AST_NUMBER:
        return tv_value(graph_real(s->g, x->real), x->at);
    case AST_INT:
        v = tv_value(graph_int(s->g, x->integer), x->at);
        v.literal = true;
        return v;
    case AST_STRING:
        diag_error(s->ds, x->at, "a text is not a value");
        return tv_poison(x->at);
    case AST_NAME:
        return elab_name(e, x);
    case AST_UNARY:
        v = elab(e, x->a);
        return apply_elem(e, x->op == OP_NEG ? OP_neg : OP_not, &v, 1, x->at);
    case AST_BINARY:
        if (x->op >= OP_EQ && x->op <= OP_GE) {
            tv a, b;
            elab_pair(e, x->a, x->b, &a, &b);
            return compare(e, x->op, a, b, x->at);
        }
        return elab_binary(e, x);
    case AST_CHAIN:
        return elab_chain(e, x);
    case AST_WHERE:
        return elab_where(e, x, 0, true);
    case AST_ELSE:
        return elab_else(e, x, 0, true);
    case AST_INDEX:
        return elab_index(e, x);
    case AST_CALL:
        return elab_call(e, x, UINT32_MAX);
    case AST_FIELD:
        return elab_field(e, x);
    case AST_JOIN: {
        tv *parts = ARENA_ARRAY(s->a, tv, x->n);
        for (size_t i = 0; i < x->n; i++)
            parts[i] = elab(e, x->items[i]);
        return join_values(e, parts, (uint32_t)x->n, x->at);
    }
    case AST_TUPLE: {
        diag *d = diag_error(s->ds, x->at, "several values stand where one is needed");
        diag_help(d, "a join is written `[a; b]`");
        return tv_poison(x->at);
    }
    }
    ice("expression kind %d", (int)x->kind);
}

static tv elab_here(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    span outer = s->here;
    s->here = x->at;
    tv v = elab_kind(e, x);
    s->here = outer;
    if (v.kind == TV_VALUE && !v.v->at.file)
        v.v->at = x->at;
    return v;
}

enum { DEEPEST = 20000 }; /* the command line gives its thread a stack for so many */

bool sema_enter(sema *s, span at)
{
    if (s->depth < DEEPEST) {
        s->depth++;
        return true;
    }
    if (!s->exhausted) {
        s->exhausted = true;
        unsigned muted = s->ds->muted;
        s->ds->muted = 0;
        diag *d = diag_error(s->ds, at, "too many definitions depend on one another in a chain");
        diag_help(d, "cut the chain: an equation over an index, or an array of parts, takes the "
                     "place of many equations");
        s->ds->muted = muted;
    }
    return false;
}

tv elab(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    if (s->exhausted || !sema_enter(s, x->at))
        return tv_poison(x->at);
    tv v = elab_here(e, x);
    s->depth--;
    return v;
}

tv elab_component(env *e, const ast_expr *x, uint32_t k)
{
    sema *s = e->in->s;
    switch (x->kind) {
    case AST_WHERE:
        return elab_where(e, x, k, false);
    case AST_ELSE:
        return elab_else(e, x, k, false);
    case AST_TUPLE:
        if (k == UINT32_MAX)
            return elab(e, x);
        if (x->n == e->n_targets)
            return elab(e, x->items[k]);
        diag_help(diag_error(s->ds, x->at, "here are %zu values, the left side takes %u", x->n,
                             e->n_targets),
                  "give one value for each name; `_` drops one");
        return tv_poison(x->at);
    case AST_CALL: {
        tv v = elab_call(e, x, k);
        if (v.kind == TV_VALUE && !v.v->at.file)
            v.v->at = x->at;
        return v;
    }
    default:
        if (k == UINT32_MAX || k == 0)
            return elab(e, x);
        diag_help(
            diag_error(s->ds, x->at, "here is one value, the left side takes %u", e->n_targets),
            "give one value for each name: `(a, b)`; to take a vector apart write `[a; b] = ...`");
        return tv_poison(x->at);
    }
}
