/* call.c: calls: built-in operators, reducers, normalisers, and functions of the user's. */
#include "frontend/builtin.h"
#include "frontend/sema.h"

#include <string.h>

const builtin builtin_table[] = {
#define BUILTIN(name, form, op, arity) {name, BUILTIN_##form, op, arity},
#include "frontend/builtins.def"
#undef BUILTIN
};
const size_t builtin_count = sizeof builtin_table / sizeof builtin_table[0];

const builtin *builtin_find(const char *name)
{
    for (size_t i = 0; i < builtin_count; i++)
        if (!strcmp(builtin_table[i].name, name))
            return &builtin_table[i];
    return NULL;
}

static tv unknown(env *e, span at)
{
    return e->in->s->trial ? (tv){.kind = TV_UNKNOWN, .at = at} : tv_poison(at);
}

/* --- reducers --- */

static value *any_over(sema *s, value *where, const ix *const *bound, uint32_t n)
{
    return graph_reduce(s->g, RED_any, graph_bool(s->g, true), bound, n, where);
}

static tv elab_reduce(env *e, const ast_expr *x, const builtin *b, const ast_index *items)
{
    sema *s = e->in->s;
    if (x->n != 1 || x->args[0].name.s) {
        diag *d = diag_error(s->ds, x->at, "%s[...] takes one expression", b->name);
        diag_help(d, "write `%s[j](...)`", b->name);
        return tv_poison(x->at);
    }
    const ast_expr *body = x->args[0].e;
    const ix **bound;
    const dim **los;
    uint32_t n;
    value *cond;
    env in = *e;
    if (!bind_items(&in, items, &body, 1, &bound, &n, &los, &cond))
        return unknown(e, x->at);
    if (n == 0) {
        diag *d = diag_error(s->ds, items->at, "%s needs an index of its own", b->name);
        diag_help(d, "bind one: `%s[j in S](...)`", b->name);
        return tv_poison(x->at);
    }
    tv v = elab(&in, body);
    if (tv_bad(&v))
        return v;
    if (v.kind == TV_FUNC) {
        diag *d = diag_error(s->ds, v.at, "%s needs values, this is a function", b->name);
        diag_help(d, "call it: a function is not a value");
        return tv_poison(x->at);
    }
    bool mean = b->op == RED_COUNT,
         logical = b->op == RED_any || b->op == RED_all || b->op == RED_count;
    if (logical != (v.v->dt == DT_BOOL)) {
        diag *d = diag_error(s->ds, body->at,
                             logical ? "%s needs conditions, these are numbers"
                                     : "%s needs numbers, these are truth values",
                             b->name);
        diag_help(d, logical ? "compare something" : "`count` counts the true ones");
        return tv_poison(x->at);
    }
    if ((b->op == RED_argmax || b->op == RED_argmin) && n != 1) {
        diag *d = diag_error(s->ds, items->at, "%s gives one index: bind one", b->name);
        diag_help(d, "for several, take the %s of each in turn", b->name + 3);
        return tv_poison(x->at);
    }
    if (b->op == RED_logsumexp || mean)
        v = to_real(e, v);
    value *where = b_and(s, cond, v.support);
    tv r = v;
    r.at = x->at;
    r.weight = r.literal = false;
    r.support = NULL;
    if (mean) {
        value *sum = graph_reduce(s->g, RED_sum, v.v, bound, n, where), *count;
        if (where) {
            count = graph_reduce(s->g, RED_count, graph_bool(s->g, true), bound, n, where);
        } else {
            const dim *d = dim_const(s->g->dims, 1);
            for (uint32_t i = 0; i < n; i++)
                d = dim_mul(s->g->dims, d, bound[i]->extent);
            count = b_dim(s, d);
        }
        if (!sum->at.file)
            sum->at = x->at;
        r.v = b_elem(s, OP_div, sum, b_real(s, count), NULL);
    } else {
        r.v = graph_reduce(s->g, (reduce_kind)b->op, v.v, bound, n, where);
        if ((b->op == RED_argmax || b->op == RED_argmin) && los[0])
            r.v = b_elem(s, OP_add, r.v, b_dim(s, los[0]), NULL);
    }
    bool absent =
        mean || b->op == RED_max || b->op == RED_min || b->op == RED_argmax || b->op == RED_argmin;
    if (absent && where)
        r.support = any_over(s, where, bound, n);
    for (uint32_t i = 0; absent && !where && i < n; i++) /* over an empty axis */
        r.support =
            b_and(s, r.support, b_cmp(s, OP_lt, graph_int(s->g, 0), b_dim(s, bound[i]->extent)));
    return r;
}

/* --- normalisers --- */

static const scope *scope_of_name(const env *e, const char *name)
{
    for (const scope *sc = e->indices; sc; sc = sc->up)
        if (sc->name == name)
            return sc;
    return NULL;
}

/* The first name of a condition that is an index in scope. */
static const scope *first_index(const env *e, const ast_expr *x)
{
    const scope *sc = NULL;
    if (!x)
        return NULL;
    if (x->kind == AST_NAME)
        return scope_of_name(e, x->name);
    sc = first_index(e, x->a);
    for (size_t i = 0; !sc && x->items && i < x->n; i++)
        sc = first_index(e, x->items[i]);
    for (size_t i = 0; !sc && x->args && i < x->n; i++)
        sc = first_index(e, x->args[i].e);
    return sc ? sc : first_index(e, x->b);
}

/* What of the demand still holds for every value of the normalised index. */
static value *without(sema *s, value *demand, const ix *const *bound, uint32_t n)
{
    if (!demand)
        return NULL;
    if (demand->op == OP_and)
        return b_and(s, without(s, demand->args[0], bound, n),
                     without(s, demand->args[1], bound, n));
    for (uint32_t i = 0; i < n; i++)
        if (value_has_ix(demand, bound[i]))
            return NULL;
    return demand;
}

/* rank[j](e): how many of the domain come before j: larger ones, and equal ones of a smaller index.
 */
static tv rank_of(env *e, tv v, const ix *const *bound, uint32_t n, value *domain, span at)
{
    sema *s = e->in->s;
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    tv_ixs(&v, &avoid, s->a);
    const ix **other = ARENA_ARRAY(s->a, const ix *, n);
    value **to = ARENA_ARRAY(s->a, value *, n);
    for (uint32_t i = 0; i < n; i++) {
        other[i] = pool_ix(s, bound[i]->extent, avoid.v, avoid.n, "j");
        vec_push(s->a, &avoid, other[i]);
        to[i] = graph_index(s->g, other[i]);
    }
    value *theirs = b_read(s, v.v, bound, to, n, NULL);
    value *earlier = NULL, *tie = graph_bool(s->g, true); /* lexicographic order of the indices */
    for (uint32_t i = 0; i < n; i++) {
        value *mine = graph_index(s->g, bound[i]);
        value *here = b_and(s, tie, b_cmp(s, OP_lt, to[i], mine));
        earlier = earlier ? b_or(s, earlier, here) : here;
        tie = b_and(s, tie, b_cmp(s, OP_eq, to[i], mine));
    }
    value *before =
        b_or(s, b_cmp(s, OP_lt, v.v, theirs), b_and(s, b_cmp(s, OP_eq, v.v, theirs), earlier));
    value *where = domain ? b_read(s, domain, bound, to, n, NULL) : NULL;
    tv r = v;
    r.v = graph_reduce(s->g, RED_count, before, other, n, where);
    r.support = domain;
    r.weight = r.literal = false;
    r.at = at;
    return r;
}

static tv elab_norm(env *e, const ast_expr *x, const builtin *b, const ast_index *items)
{
    sema *s = e->in->s;
    if (x->n != 1 || x->args[0].name.s) {
        diag *d = diag_error(s->ds, x->at, "%s[...] takes one expression", b->name);
        diag_help(d, "write `%s[j](...)`", b->name);
        return tv_poison(x->at);
    }
    const ix **bound = ARENA_ARRAY(s->a, const ix *, items->n ? items->n : 1);
    uint32_t n = 0;
    for (size_t i = 0; i < items->n; i++) {
        const ast_item *it = &items->items[i];
        const scope *sc = it->kind == AST_ITEM_IN     ? scope_of_name(e, it->name.s)
                          : it->kind == AST_ITEM_EXPR ? first_index(e, it->e)
                                                      : NULL;
        if (!sc) {
            const char *name = it->kind == AST_ITEM_IN                                ? it->name.s
                               : it->kind == AST_ITEM_EXPR && it->e->kind == AST_NAME ? it->e->name
                                                                                      : "this";
            diag *d = diag_error(s->ds, it->at, "%s normalises over an index in scope, %s is none",
                                 b->name, name);
            diag_help(
                d,
                "its value is the weight at that index: bind it on the left side or by a sum, "
                "`sum[%s](%s[%s](...) * ...)`",
                name, b->name, name);
            return tv_poison(x->at);
        }
        bool twice = false;
        for (uint32_t k = 0; k < n; k++)
            twice = twice || bound[k] == sc->ix;
        if (!twice)
            bound[n++] = sc->ix;
    }
    if (n == 0) {
        diag_error(s->ds, items->at, "%s needs an index", b->name);
        return tv_poison(x->at);
    }
    env in = *e;
    in.demand = without(s, e->demand, bound, n);
    in.else_at_hand = e->else_at_hand;
    value *cond = NULL, *outer = in.demand;
    for (size_t i = 0; i <= items->n; i++) {
        const ast_expr *c =
            i == items->n ? items->where
            : items->items[i].kind == AST_ITEM_EXPR && items->items[i].e->kind != AST_NAME
                ? items->items[i].e
                : NULL;
        if (i < items->n && items->items[i].kind == AST_ITEM_IN) {
            /* j in a..b narrows */
            const ast_item *it = &items->items[i];
            const scope *sc = scope_of_name(e, it->name.s);
            value *me = graph_index(s->g, sc->ix);
            if (sc->lo)
                me = b_elem(s, OP_add, me, b_dim(s, sc->lo), NULL);
            tv lo = it->hi ? elab(&in, it->e) : tv_value(graph_int(s->g, 0), it->at);
            tv hi = it->hi ? elab(&in, it->hi) : elab(&in, it->e);
            if (tv_bad(&lo) || tv_bad(&hi))
                return unknown(e, x->at);
            if (lo.kind != TV_VALUE || hi.kind != TV_VALUE || lo.v->dt != DT_I64 ||
                hi.v->dt != DT_I64) {
                diag_error(s->ds, it->at, "the ends of a range are whole numbers");
                return tv_poison(x->at);
            }
            cond = b_and(s, cond, b_cmp(s, OP_le, lo.v, me));
            cond = b_and(s, cond, b_cmp(s, it->hi ? OP_le : OP_lt, me, hi.v));
            in.demand = b_and(s, outer, cond);
        }
        if (!c)
            continue;
        value *p = elab_condition(&in, c);
        if (!p)
            return unknown(e, x->at);
        cond = b_and(s, cond, p);
        in.demand = b_and(s, outer, cond);
    }
    tv v = elab(&in, x->args[0].e);
    if (tv_bad(&v))
        return v;
    if (v.kind == TV_FUNC || v.v->dt == DT_BOOL) {
        diag_error(s->ds, x->args[0].e->at, "%s needs scores, which are numbers", b->name);
        return tv_poison(x->at);
    }
    v = to_real(e, v);
    for (uint32_t i = 0; i < n; i++)
        if (!value_has_ix(v.v, bound[i])) { /* one score for all: spread it */
            value *spread[] = {graph_index(s->g, bound[i]), graph_index(s->g, bound[i])};
            value *yes = graph_elem(s->g, OP_eq, spread, NULL);
            value *sel[] = {yes, v.v, v.v};
            v.v = graph_elem(s->g, OP_select, sel, NULL);
        }
    tv r = v;
    r.at = x->at;
    r.support = b_and(s, cond, v.support);
    if (b->op == OP_COUNT)
        return rank_of(e, v, bound, n, r.support, x->at);
    r.v = graph_norm(s->g, (op_id)b->op, v.v, bound, n, r.support);
    r.weight = true;
    r.literal = false;
    return r;
}

/* --- elementwise and the rest --- */

static tv fold_args(env *e, op_id op, tv *args, size_t n, span at)
{
    tv r = args[0];
    for (size_t i = 1; i < n; i++) {
        tv two[2] = {r, args[i]};
        r = apply_elem(e, op, two, 2, at);
    }
    return r;
}

static tv apply_builtin(env *e, const builtin *b, tv *a, size_t n, span at)
{
    sema *s = e->in->s;
    bool several = b->form == BUILTIN_REDUCE &&
                   (b->op == RED_max || b->op == RED_min || b->op == RED_sum || b->op == RED_prod);
    if (b->form == BUILTIN_NORM || (b->form == BUILTIN_REDUCE && (!several || n < 2))) {
        diag *d = diag_error(s->ds, at, "%s needs an index", b->name);
        diag_help(d, "write `%s[j](...)`%s", b->name, several ? ", or give several arguments" : "");
        return tv_poison(at);
    }
    if (!several && (int)n != b->arity) {
        diag *d = diag_error(s->ds, at, "%s takes %d argument%s, here %s %zu", b->name, b->arity,
                             b->arity == 1 ? "" : "s", n == 1 ? "is" : "are", n);
        diag_help(d, "write `%s(%s)`", b->name,
                  b->arity == 3   ? "x, lowest, highest"
                  : b->arity == 2 ? "x, y"
                                  : "x");
        return tv_poison(at);
    }
    for (size_t i = 0; i < n; i++) {
        if (a[i].kind == TV_POISON)
            return a[i];
        if (a[i].kind == TV_FUNC) {
            diag *d = diag_error(s->ds, a[i].at, "%s needs values, this is a function", b->name);
            diag_help(d, "call it: a function is not a value");
            return tv_poison(at);
        }
    }
    if (b->form == BUILTIN_REDUCE)
        return fold_args(e,
                         b->op == RED_max   ? OP_max
                         : b->op == RED_min ? OP_min
                         : b->op == RED_sum ? OP_add
                                            : OP_mul,
                         a, n, at);
    if (b->form == BUILTIN_ELEM)
        return apply_elem(e, (op_id)b->op, a, (uint32_t)n, at);
    if (!strcmp(b->name, "relu")) {
        tv two[2] = {a[0], tv_value(graph_int(s->g, 0), at)};
        two[1].literal = true;
        return apply_elem(e, OP_max, two, 2, at);
    }
    if (!strcmp(b->name, "clamp")) {
        tv two[2] = {a[0], a[1]};
        tv r = apply_elem(e, OP_max, two, 2, at);
        tv more[2] = {r, a[2]};
        return tv_bad(&r) ? r : apply_elem(e, OP_min, more, 2, at);
    }
    if (!strcmp(b->name, "dot"))
        return apply_contract(e, a[0], a[1], at, true);
    if (!strcmp(b->name, "norm")) {
        tv sq = apply_contract(e, a[0], a[0], at, true);
        return tv_bad(&sq) ? sq : apply_elem(e, OP_sqrt, &sq, 1, at);
    }
    ice("built-in %s", b->name);
}

/* --- calls --- */

/* The result of an instance, outside it: masked by `until`, on indices free in the caller's scope.
 */
tv take_result(env *e, inst *in, uint32_t k, uint32_t n_mapped, axis *mapped, span at)
{
    sema *s = e->in->s;
    tensor *t = in->results[k];
    env inner = {.in = in, .demand = in->demand};
    tv v = tensor_read(&inner, t, NULL, at);
    if (v.kind != TV_VALUE)
        return v;
    v = inst_mask_result(&inner, t, v);
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    for (uint32_t i = 0; i < n_mapped; i++)
        for (uint32_t p = 0; p < mapped[i].n; p++)
            vec_push(s->a, &avoid, mapped[i].ix[p]);
    v = rename_axes(e, v, avoid.v, avoid.n);
    if (n_mapped) {
        axis *ax = ARENA_ARRAY(s->a, axis, n_mapped + v.n_axes);
        memcpy(ax, mapped, n_mapped * sizeof *ax);
        if (v.n_axes)
            memcpy(ax + n_mapped, v.axes, v.n_axes * sizeof *ax);
        v.axes = ax;
        v.n_axes += n_mapped;
    }
    v.at = at;
    v.literal = false;
    return v;
}

static tv call_function(env *e, funcref *f, const ast_expr *x, tv *vals, uint32_t component)
{
    sema *s = e->in->s;
    uint32_t n_mapped = 0;
    axis *mapped = NULL;
    inst *in = inst_call(e, f, x, x->args, x->n, vals, x->at, &n_mapped, &mapped);
    if (!in)
        return unknown(e, x->at);
    uint32_t k = component == UINT32_MAX ? 0 : component;
    if (component == UINT32_MAX && in->n_results > 1) {
        diag *d = diag_error(s->ds, x->at, "%s has %u results, one is wanted here", f->decl->name.s,
                             in->n_results);
        diag_note(d, f->decl->name.at, "it is defined here");
        diag_help(d, "take them all: `a, b = %s(...)`, `_` drops one", f->decl->name.s);
        return tv_poison(x->at);
    }
    if (component != UINT32_MAX && in->n_results != e->n_targets) {
        diag *d =
            diag_error(s->ds, x->at, "%s has %u result%s, the left side takes %u", f->decl->name.s,
                       in->n_results, in->n_results == 1 ? "" : "s", e->n_targets);
        diag_note(d, f->decl->name.at, "it is defined here");
        diag_help(d, "take all of them in order; `_` drops one");
        return tv_poison(x->at);
    }
    return take_result(e, in, k, n_mapped, mapped, x->at);
}

tv elab_call(env *e, const ast_expr *x, uint32_t component)
{
    sema *s = e->in->s;
    entity n = {0};
    const ast_expr *callee = x->a;
    /* op[j](body): a built-in operator unless the name means something else here */
    if (callee->kind == AST_INDEX && callee->a->kind == AST_NAME) {
        bool mine = lookup(e, callee->a->name, &n) && !(n.kind == N_FUNC && n.f->builtin);
        const builtin *b =
            builtin_find(n.kind == N_FUNC && n.f->builtin ? n.f->builtin : callee->a->name);
        if (!mine && b && b->form == BUILTIN_REDUCE)
            return elab_reduce(e, x, b, callee->index);
        if (!mine && b && b->form == BUILTIN_NORM)
            return elab_norm(e, x, b, callee->index);
        if (!mine && b) {
            diag *d = diag_error(s->ds, callee->at, "%s is not an operator over an index", b->name);
            diag_help(d, "write `%s(...)`; it acts on each element", b->name);
            return tv_poison(x->at);
        }
        if (mine && n.kind == N_FUNC)
            return elab_own_operator(e, x, n.f, callee->index);
    }
    funcref *f = funcref_of(e, callee);
    if (!f)
        return tv_poison(x->at);
    if (!f->builtin)
        return call_function(e, f, x, NULL, component);
    const builtin *b = builtin_find(f->builtin);
    tv *args = ARENA_ARRAY(s->a, tv, x->n ? x->n : 1);
    for (size_t i = 0; i < x->n; i++) {
        if (x->args[i].name.s) {
            diag_error(s->ds, x->args[i].name.at, "%s has no named arguments", b->name);
            return tv_poison(x->at);
        }
        env in = *e;
        if (i > 0 && args[i - 1].kind == TV_VALUE)
            in.demand = b_and(s, e->demand, args[i - 1].support);
        args[i] = elab(&in, x->args[i].e);
    }
    s->merge += f->by_argument;
    tv r = apply_builtin(e, b, args, x->n, x->at);
    s->merge -= f->by_argument;
    return r;
}
