/* inst_call.c: arguments meet formals: sizes unified, extra axes mapped, defaults filled in. */
#include "frontend/absence.h"

#include <string.h>

enum {
    CALL_DEPTH = 200, /* nesting of calls; deeper is an error */
    CALLS = 4000,     /* of one entry, all in all */
};

/* --- one call site, one set of dims --- */

static struct site *site_of(sema *s, const void *node, inst *parent)
{
    struct site st = {.node = node, .parent = parent};
    for (size_t i = 0; i < s->sites.n; i++) {
        struct site *x = &s->sites.v[i];
        if (x->node == node && x->parent == parent)
            return x;
        if (x->node == node && x->parent->dropped && absence_same_place(x->parent, parent))
            st.dims = x->dims;
    }
    vec_push(s->a, &s->sites, st);
    return &vec_last(&s->sites);
}

/* --- arguments --- */

typedef struct actual {
    bool have;
    tv v;
    span at;
} actual;

/* How a function is called: `f(x, h)`. */
static const char *call_text(sema *s, const ast_decl *d)
{
    strbuf b = {.a = s->a};
    sb_printf(&b, "%s(", d->name.s);
    for (size_t i = 0; i < d->n_formals; i++)
        sb_printf(&b, "%s%s", i ? ", " : "", d->formals[i].name.s);
    sb_puts(&b, ")");
    return sb_text(&b);
}

/* Whether x is written as a value, where a function is wanted. */
static bool names_value(env *e, const ast_expr *x)
{
    entity n;
    if (x->kind == AST_INDEX)
        x = x->a;
    else if (x->kind != AST_NAME)
        return x->kind != AST_CALL && x->kind != AST_ERROR;
    for (const scope *sc = e->indices; sc; sc = sc->up)
        if (x->kind == AST_NAME && sc->name == x->name)
            return true;
    return x->kind == AST_NAME && lookup(e, x->name, &n) &&
           (n.kind == N_TENSOR || n.kind == N_CONST || n.kind == N_DIM);
}

/* A score is no mask, nor the reverse; every function is a `fn`. */
static bool kinds_meet(const ast_formal *f, const funcref *r)
{
    static const char *const strict[] = {"score", "mask"};
    for (int i = 0; r->decl && i < 2; i++)
        if (!strcmp(f->type.function.s, strict[i]) && !strcmp(r->decl->word.s, strict[!i]))
            return false;
    return true;
}

static tv arg_value(env *e, const ast_formal *f, const ast_expr *x)
{
    sema *s = e->in->s;
    if (!f->type.is_function)
        return elab(e, x);
    if (names_value(e, x)) {
        diag *d = diag_error(s->ds, x->at, "argument %s is a function, this is a value", f->name.s);
        diag_note(d, f->at, "%s is declared here", f->name.s);
        diag_help(d, "name a function, with what is bound beforehand: `%s = f` or `%s = f(n = 2)`",
                  f->name.s, f->name.s);
        return tv_poison(x->at);
    }
    funcref *r = funcref_of(e, x);
    if (r && !kinds_meet(f, r)) {
        diag *d = diag_error(s->ds, x->at, "argument %s is a %s, but %s is a %s", f->name.s,
                             f->type.function.s, funcref_name(r), r->decl->word.s);
        diag_note(d, f->at, "%s is declared here", f->name.s);
        diag_note(d, r->decl->word.at, "%s is defined here", funcref_name(r));
        diag_help(d, "a score gives a real, a mask a bool; declare %s as `fn` to take any function",
                  f->name.s);
        return tv_poison(x->at);
    }
    return r ? (tv){.kind = TV_FUNC, .f = r, .at = x->at} : tv_poison(x->at);
}

/* Position, name, or bound beforehand. False after a message. */
static bool collect(env *e, funcref *f, const ast_arg *args, size_t n, tv *vals, span at,
                    actual *out)
{
    sema *s = e->in->s;
    const ast_decl *d = f->decl;
    bool ok = true;
    size_t next = 0;
    value *demand = e->demand;
    for (uint32_t b = 0; b < f->n_bound; b++) {
        for (size_t k = 0; k < d->n_formals; k++)
            if (d->formals[k].name.s == f->bound[b].name) {
                env be = {.in = f->bound[b].env, .demand = f->bound[b].env->demand};
                out[k].have = true;
                out[k].v = arg_value(&be, &d->formals[k], f->bound[b].e);
                out[k].at = f->bound[b].e->at;
                ok = ok && out[k].v.kind != TV_POISON;
            }
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = d->n_formals;
        if (args && args[i].name.s) {
            for (k = 0; k < d->n_formals && d->formals[k].name.s != args[i].name.s; k++)
                ;
            if (k == d->n_formals)
                continue; /* a dim or constant by name: bind_names */
        } else {
            while (next < d->n_formals && out[next].have)
                next++;
            k = next++;
            if (k >= d->n_formals) {
                diag *g =
                    diag_error(s->ds, args ? args[i].e->at : at,
                               "%s takes %zu argument%s, here %s %zu", d->name.s, d->n_formals,
                               d->n_formals == 1 ? "" : "s", n == 1 ? "is" : "are", n);
                diag_note(g, d->name.at, "%s is defined here", d->name.s);
                diag_help(g, "call it as `%s`", call_text(s, d));
                return false;
            }
        }
        if (out[k].have && args && args[i].name.s) {
            diag *g =
                diag_error(s->ds, args[i].name.at, "argument %s is given twice", args[i].name.s);
            diag_note(g, out[k].at, "the first is here");
            diag_help(g, "give each argument once, by its place or by its name");
            ok = false;
            continue;
        }
        env in = *e;
        in.demand = demand;
        out[k].have = true;
        out[k].at = args ? args[i].e->at : at;
        out[k].v = vals ? vals[i] : arg_value(&in, &d->formals[k], args[i].e);
        if (out[k].v.kind == TV_POISON)
            ok = false;
        if (out[k].v.kind == TV_VALUE)
            demand = b_and(s, demand, out[k].v.support);
    }
    return ok;
}

/* Named arguments that are no formals: dims and constants of the function. */
static bool bind_names(env *e, inst *in, funcref *f, const ast_arg *args, size_t n)
{
    sema *s = in->s;
    bool ok = true;
    for (size_t i = 0; i < f->n_bound + (args ? n : 0); i++) {
        bool early = i < f->n_bound;
        const char *name = early ? f->bound[i].name : args[i - f->n_bound].name.s;
        const ast_expr *x = early ? f->bound[i].e : args[i - f->n_bound].e;
        env be = early ? (env){.in = f->bound[i].env, .demand = f->bound[i].env->demand} : *e;
        bool formal = name == NULL;
        for (size_t k = 0; k < f->decl->n_formals && !formal; k++)
            formal = f->decl->formals[k].name.s == name;
        if (formal)
            continue;
        bool constant = false, known = mentions_dim(f->decl, name);
        for (size_t k = 0; k < f->decl->n_body; k++)
            if (f->decl->body[k]->kind == STMT_CONST && f->decl->body[k]->names[0].s == name)
                constant = !f->decl->body[k]->is_dim, known = true;
        for (size_t k = 0; k < s->decls.n; k++)
            if (s->decls.v[k]->kind == DECL_CONST && s->decls.v[k]->name.s == name)
                constant = !s->decls.v[k]->is_dim, known = true;
        if (!known) {
            VEC(const char *) names = {0};
            for (size_t k = 0; k < f->decl->n_formals; k++)
                vec_push(s->a, &names, f->decl->formals[k].name.s);
            const char *near = str_nearest(s->a, name, names.v, names.n);
            diag *g =
                diag_error(s->ds, early ? x->at : args[i - f->n_bound].name.at,
                           "%s has no argument, dimension or constant %s", f->decl->name.s, name);
            diag_note(g, f->decl->name.at, "%s is defined here", f->decl->name.s);
            if (near)
                diag_help(g, "did you mean %s?", near);
            else
                diag_help(g, "call it as `%s`", call_text(s, f->decl));
            ok = false;
            continue;
        }
        tv v = elab(&be, x);
        if (tv_bad(&v)) {
            ok = false;
            continue;
        }
        const dim *d;
        if (constant && v.kind == TV_VALUE) {
            entity c = {.kind = N_CONST, .name = name, .val = v};
            vec_push(s->a, &in->names, c);
        } else if (v.kind == TV_VALUE && value_as_dim(s, v.v, &d)) {
            const dim *old = dims_find(in, name);
            if (!dims_fix(in, name, d)) {
                diag_error(s->ds, x->at, "dimension %s is %s already, this is %s", name,
                           dims_show(s, dims_value(s, old)), dims_show(s, dims_value(s, d)));
                ok = false;
            }
        } else {
            diag *g = diag_error(s->ds, x->at, "dimension %s needs a size known at entry", name);
            diag_help(g, "a size is made of dimensions and whole numbers");
            ok = false;
        }
    }
    return ok;
}

/* The formal's axes against the value's last ones: sizes unified, packing fitted. */
static bool meet_formal(env *e, inst *in, const ast_formal *f, tv *v, uint32_t *n_extra,
                        const char *fname)
{
    sema *s = in->s;
    uint32_t n;
    axis *ax;
    if (!axes_of_type(in, &f->type, &n, &ax))
        return false;
    while (v->n_axes < n) { /* a packed axis is several */
        uint32_t p = v->n_axes;
        while (p > 0 && v->axes[p - 1].n == 1)
            p--;
        if (p == 0 || v->n_axes - 1 + v->axes[p - 1].n > n)
            break;
        const axis *packed = &v->axes[p - 1];
        axis *flat = ARENA_ARRAY(s->a, axis, v->n_axes - 1 + packed->n);
        uint32_t w = 0;
        for (uint32_t i = 0; i < v->n_axes; i++) {
            if (i != p - 1) {
                flat[w++] = v->axes[i];
                continue;
            }
            for (uint32_t k = 0; k < packed->n; k++)
                flat[w++] =
                    (axis){.at = packed->at, .n = 1, .ix = packed->ix + k, .d = packed->d + k};
        }
        v->axes = flat;
        v->n_axes = w;
    }
    if (v->n_axes < n) {
        diag *d = diag_error(s->ds, v->at, "argument %s of %s needs %u ax%s, this has %u",
                             f->name.s, fname, n, n == 1 ? "is" : "es", v->n_axes);
        diag_note(d, f->at, "it is declared %s", axes_show(s, ax, n));
        diag_note(d, v->at, "this is %s", axes_show(s, v->axes, v->n_axes));
        diag_help(d, "leave out an index: what is not indexed stays an axis");
        return false;
    }
    *n_extra = v->n_axes - n;
    axis *want = ARENA_ARRAY(s->a, axis, v->n_axes);
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    tv_ixs(v, &avoid, s->a);
    bool repack = false;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        want[i] = v->axes[i];
        if (i < *n_extra)
            continue;
        axis *a = &v->axes[i], *w = &ax[i - *n_extra];
        bool ok = true;
        if (a->n == w->n) {
            for (uint32_t k = 0; k < a->n; k++)
                ok = dims_unify(s, w->d[k], a->d[k]) && ok;
        } else {
            ok = dims_unify(s, axis_size(s, w), axis_size(s, a));
            repack = true;
        }
        if (!ok) {
            diag *d = diag_error(
                s->ds, v->at, "argument %s of %s: axis %u is %s here, the function wants %s",
                f->name.s, fname, i - *n_extra + 1, axes_show(s, a, 1), axes_show(s, w, 1));
            diag_note(d, f->at, "it is declared here");
            diag_help(d, "sizes of one name must agree in all arguments and params");
            return false;
        }
        if (a->n != w->n) {
            const ix **ixs = ARENA_ARRAY(s->a, const ix *, w->n);
            for (uint32_t k = 0; k < w->n; k++) {
                ixs[k] = pool_ix(s, w->d[k], avoid.v, avoid.n, f->name.s);
                vec_push(s->a, &avoid, ixs[k]);
            }
            want[i] = *w;
            want[i].ix = ixs;
        } else if (w->n_join) {
            want[i].n_join = w->n_join;
            want[i].join = w->join;
        }
    }
    if (repack && !fit_axes(e, v, want, v->n_axes, v->at, f->at, f->name.s))
        return false;
    v->axes = want;
    return true;
}

/* Extra leading axes become indices of the call; equal ones of several arguments are one. */
static void map_extra(env *e, tv *v, uint32_t n_extra, axis **mapped, uint32_t *n_mapped)
{
    sema *s = e->in->s;
    if (n_extra == 0)
        return;
    axis *all = ARENA_ARRAY(s->a, axis, *n_mapped + n_extra);
    if (*n_mapped)
        memcpy(all, *mapped, *n_mapped * sizeof *all);
    bool *used = ARENA_ARRAY(s->a, bool, *n_mapped + n_extra);
    uint32_t before = *n_mapped;
    axis *want = ARENA_ARRAY(s->a, axis, v->n_axes);
    memcpy(want, v->axes, v->n_axes * sizeof *want);
    for (uint32_t i = 0; i < n_extra; i++) {
        uint32_t hit = before;
        for (uint32_t turn = 0; turn < 2 * before && hit == before; turn++) {
            const uint32_t k = turn % before; /* by name, then by number */
            bool same = !used[k] && all[k].n == v->axes[i].n;
            for (uint32_t p = 0; same && p < all[k].n; p++)
                same = turn < before
                           ? dims_resolve(s, all[k].d[p]) == dims_resolve(s, v->axes[i].d[p])
                           : dims_same(s, all[k].d[p], v->axes[i].d[p]);
            if (same)
                hit = k;
        }
        if (hit < before) {
            used[hit] = true;
            want[i] = all[hit];
        } else {
            all[(*n_mapped)++] = v->axes[i];
        }
    }
    *mapped = all;
    bool moved = false;
    for (uint32_t i = 0; i < n_extra; i++)
        for (uint32_t p = 0; p < want[i].n; p++)
            moved = moved || want[i].ix[p] != v->axes[i].ix[p];
    if (moved) {
        /* own axes must not stand on an index that another argument maps */
        ix_list avoid = {0};
        env_ixs(e, &avoid, s->a);
        for (uint32_t i = 0; i < n_extra; i++)
            for (uint32_t p = 0; p < want[i].n; p++)
                vec_push(s->a, &avoid, want[i].ix[p]);
        tv own = *v;
        own.axes += n_extra;
        own.n_axes -= n_extra;
        own = rename_axes(e, own, avoid.v, avoid.n);
        v->v = own.v;
        v->support = own.support;
        axis *ax = ARENA_ARRAY(s->a, axis, v->n_axes);
        memcpy(ax, v->axes, n_extra * sizeof *ax);
        for (uint32_t i = n_extra; i < v->n_axes; i++)
            ax[i] = want[i] = own.axes[i - n_extra];
        v->axes = ax;
        fit_axes(e, v, want, v->n_axes, v->at, (span){0}, "an argument");
    }
    v->axes += n_extra;
    v->n_axes -= n_extra;
}

static bool same_call(const inst *in, const actual *a, size_t n, const funcref *f,
                      const value *demand)
{
    if (in->n_args != n || in->demand != demand || in->f->n_family != f->n_family)
        return false;
    for (uint32_t i = 0; i < f->n_family; i++)
        if (in->f->family[i].v != f->family[i].v)
            return false;
    for (size_t i = 0; i < n; i++) {
        const tv *x = &in->args[i], *y = &a[i].v;
        if (x->kind != y->kind || x->v != y->v || x->support != y->support ||
            x->n_axes != y->n_axes ||
            (x->kind == TV_FUNC && x->f != y->f &&
             (x->f->decl != y->f->decl || x->f->builtin != y->f->builtin ||
              x->f->pattern != y->f->pattern || x->f->n_bound || y->f->n_bound)))
            return false;
        for (uint32_t k = 0; k < x->n_axes; k++)
            for (uint32_t p = 0; p < x->axes[k].n; p++)
                if (x->axes[k].n != y->axes[k].n || x->axes[k].ix[p] != y->axes[k].ix[p])
                    return false;
    }
    return true;
}

void bind_formal(inst *in, const ast_formal *f, tv v)
{
    sema *s = in->s;
    entity n = {.name = f->name.s, .at = f->name.at};
    if (f->type.is_function) {
        n.kind = N_FUNC;
        n.f = ARENA_NEW(s->a, funcref);
        *n.f = *v.f;
        n.f->by_argument = true;
        if (!n.f->is_part && in->f) { /* as if written here: its params are the instance's */
            n.f->pattern = in->f->pattern;
            n.f->path = in->f->path;
            n.f->n_family = in->f->n_family;
            n.f->family = in->f->family;
            n.f->extents = in->f->extents;
        }
        vec_push(s->a, &in->names, n);
        return;
    }
    tensor *t = tensor_new(in, f->name.s, f->name.at);
    t->given = true;
    t->val = v;
    t->sig = t->def = P_DONE;
    t->dt = v.kind == TV_VALUE ? v.v->dt : dtype_of(s, f->type.scalar);
    t->n_axes = v.n_axes;
    t->axes = v.axes;
    t->declared = &f->type;
    t->declared_at = f->type.at;
    const dim *d;
    if (v.kind == TV_VALUE && v.n_axes == 0 && t->dt == DT_I64 && value_as_dim(s, v.v, &d) &&
        mentions_dim(in->decl, f->name.s) && !dims_find(in, f->name.s))
        dims_fix(in, f->name.s, d);
    n.kind = N_TENSOR;
    n.t = t;
    vec_push(s->a, &in->names, n);
}

/* The value as the formal's type wants it; kind TV_POISON after a message. */
static tv typed(env *e, const ast_formal *f, tv v, const char *fname)
{
    sema *s = e->in->s;
    dtype want = dtype_of(s, f->type.scalar);
    if (v.kind != TV_VALUE)
        return v;
    if (want == s->o->real)
        v = v.v->dt == DT_I64 ? to_real(e, v) : v;
    if (v.v->dt != want) {
        diag *d = diag_error(s->ds, v.at, "argument %s of %s must be %s, this is %s", f->name.s,
                             fname, dtype_word(want), dtype_word(v.v->dt));
        diag_note(d, f->at, "it is declared here");
        if (want == DT_I64)
            diag_help(d, "floor, round and ceil make an int of a real");
        return tv_poison(v.at);
    }
    v.literal = false;
    return v;
}

/* What of a predicate speaks of these indices alone: a call knows no others. */
static value *within(sema *s, value *p, const ix *const *ixs, size_t n)
{
    if (!p)
        return NULL;
    if (p->op == OP_and)
        return b_and(s, within(s, p->args[0], ixs, n), within(s, p->args[1], ixs, n));
    for (uint32_t i = 0; i < p->n_ix; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known = known || ixs[k] == p->ix[i];
        if (!known)
            return NULL;
    }
    return p;
}

inst *inst_call(env *e, funcref *f, const ast_expr *x, const ast_arg *args, size_t n_args, tv *vals,
                span at, uint32_t *n_mapped, axis **mapped)
{
    sema *s = e->in->s;
    const ast_decl *d = f->decl;
    bool declare_only = n_args == SIZE_MAX;
    *n_mapped = 0;
    *mapped = NULL;
    if (d->kind == DECL_ALIAS) {
        diag_error(s->ds, at, "model %s cannot be called", d->name.s);
        return NULL;
    }
    if (s->exhausted)
        return NULL;
    if (s->n_calls >= CALLS) {
        s->exhausted = true;
        unsigned muted = s->ds->muted;
        s->ds->muted = 0;
        diag *g =
            diag_error(s->ds, at, "more than %d calls: each is a copy of its function", CALLS);
        diag_help(g, "call a function once over an index, or make an array of parts of it");
        s->ds->muted = muted;
        return NULL;
    }
    uint32_t depth = 0;
    for (const inst *p = e->in; p; p = p->parent, depth++)
        if (p->decl == d && depth < CALL_DEPTH) {
            diag *g = diag_error(s->ds, at, "%s calls itself", d->name.s);
            diag_note(g, d->name.at, "it is defined here");
            for (const inst *q = e->in; q != p; q = q->parent)
                diag_note(g, q->call, "%s is called here", q->decl->name.s);
            diag_help(g, "a recurrence is an equation that reads an earlier index of itself");
            return NULL;
        }
    if (depth >= CALL_DEPTH) {
        s->exhausted = s->trial == 0; /* every caller would meet it again */
        diag *g = diag_error(s->ds, at, "calls are nested more than %d deep", CALL_DEPTH);
        diag_note(g, d->name.at, "%s is defined here", d->name.s);
        diag_help(g, "merge some of the functions that only call the next one");
        return NULL;
    }
    actual *a = ARENA_ARRAY(s->a, actual, d->n_formals ? d->n_formals : 1);
    if (!declare_only && !collect(e, f, args, n_args, vals, at, a))
        return NULL;
    /* the instance, provisionally: formals' types are evaluated in its dims */
    struct site *site = site_of(s, x, e->in);
    inst *in = ARENA_NEW(s->a, inst);
    *in = (inst){.s = s,
                 .decl = d,
                 .parent = e->in,
                 .call = at,
                 .site = x,
                 .f = f,
                 .depth = depth + 1,
                 .demand = e->demand,
                 .dims = site->dims,
                 .n_args = (uint32_t)d->n_formals};
    if (!bind_names(e, in, f, declare_only ? NULL : args, declare_only ? 0 : n_args))
        return NULL;
    bool ok = true, unknown = false;
    in->meeting = true;
    for (size_t k = 0; k < d->n_formals; k++) { /* tensors first: they decide the sizes */
        const ast_formal *fm = &d->formals[k];
        if (!a[k].have || fm->type.is_function || a[k].v.kind != TV_VALUE) {
            unknown = unknown || (a[k].have && a[k].v.kind == TV_UNKNOWN);
            if (a[k].have && !fm->type.is_function && a[k].v.kind == TV_FUNC) {
                diag *g =
                    diag_error(s->ds, a[k].at, "argument %s of %s is a value, this is a function",
                               fm->name.s, d->name.s);
                diag_note(g, fm->at, "it is declared here");
                diag_help(g, "call it: `%s(...)`", funcref_name(a[k].v.f));
                ok = false;
            }
            continue;
        }
        uint32_t extra = 0;
        a[k].v.at = a[k].at;
        s->merge += f->by_argument;
        bool met = meet_formal(e, in, fm, &a[k].v, &extra, d->name.s);
        s->merge -= f->by_argument;
        if (!met) {
            ok = false;
            continue;
        }
        a[k].v = typed(e, fm, a[k].v, d->name.s);
        ok = ok && a[k].v.kind == TV_VALUE;
        if (ok)
            map_extra(e, &a[k].v, extra, mapped, n_mapped);
    }
    in->meeting = false;
    site->dims = in->dims ? in->dims : site->dims;
    if (!ok)
        return NULL;
    /* what is in scope: the indices the arguments depend on */
    ix_list ctx = {0};
    for (size_t k = 0; k < d->n_formals; k++) {
        if (a[k].v.kind != TV_VALUE)
            continue;
        for (uint32_t i = 0; i < a[k].v.v->n_ix + (a[k].v.support ? a[k].v.support->n_ix : 0);
             i++) {
            const ix *p =
                i < a[k].v.v->n_ix ? a[k].v.v->ix[i] : a[k].v.support->ix[i - a[k].v.v->n_ix];
            bool skip = false;
            for (uint32_t j = 0; j < a[k].v.n_axes; j++)
                for (uint32_t q = 0; q < a[k].v.axes[j].n; q++)
                    skip = skip || a[k].v.axes[j].ix[q] == p;
            for (size_t j = 0; j < ctx.n; j++)
                skip = skip || ctx.v[j] == p;
            if (!skip)
                vec_push(s->a, &ctx, p);
        }
    }
    for (uint32_t i = 0; i < f->n_family; i++) {
        value *v = f->family[i].v;
        for (uint32_t j = 0; v && j < v->n_ix; j++) {
            bool skip = false;
            for (size_t q = 0; q < ctx.n; q++)
                skip = skip || ctx.v[q] == v->ix[j];
            if (!skip)
                vec_push(s->a, &ctx, v->ix[j]);
        }
    }
    for (uint32_t i = 0; i < *n_mapped; i++)
        for (uint32_t p = 0; p < (*mapped)[i].n; p++) {
            bool skip = false;
            for (size_t q = 0; q < ctx.n; q++)
                skip = skip || ctx.v[q] == (*mapped)[i].ix[p];
            if (!skip)
                vec_push(s->a, &ctx, (*mapped)[i].ix[p]);
        }
    in->ctx = ctx.v;
    in->n_ctx = (uint32_t)ctx.n;
    in->demand = within(s, in->demand, ctx.v, ctx.n);
    for (inst *old = site->first; old; old = old->next)
        if (same_call(old, a, d->n_formals, f, in->demand)) {
            absence_list(old);
            return old;
        }
    s->n_calls += unknown || declare_only; /* others when they are listed */
    in->args = ARENA_ARRAY(s->a, tv, d->n_formals);
    for (size_t k = 0; k < d->n_formals; k++)
        in->args[k] = a[k].v;
    /* formals, then defaults, which may use them */
    for (size_t k = 0; k < d->n_formals; k++)
        if (a[k].have)
            bind_formal(in, &d->formals[k], a[k].v);
    for (size_t k = 0; k < d->n_formals && ok && !declare_only; k++) {
        const ast_formal *fm = &d->formals[k];
        if (a[k].have)
            continue;
        if (!fm->dflt) {
            diag *g = diag_error(s->ds, at, "call of %s lacks argument %s", d->name.s, fm->name.s);
            diag_note(g, fm->at, "it is declared here, without a default");
            diag_help(g, "call it as `%s`", call_text(s, d));
            ok = false;
            continue;
        }
        tv v = default_value(in, fm);
        if (tv_bad(&v)) {
            ok = false;
            continue;
        }
        bind_formal(in, fm, v);
    }
    if (!ok)
        return NULL;
    in->next = site->first;
    if (!unknown && !declare_only)
        site->first = in;
    vec_push(s->a, &s->reached, d);
    inst_declare(in);
    site = site_of(s, x, e->in);
    site->dims = in->dims;
    if (!unknown && !declare_only)
        absence_list(in);
    return in;
}

tv default_value(inst *in, const ast_formal *fm)
{
    sema *s = in->s;
    env e = {.in = in, .demand = in->demand};
    if (fm->type.is_function) {
        funcref *r = funcref_of(&e, fm->dflt);
        return r ? (tv){.kind = TV_FUNC, .f = r, .at = fm->dflt->at} : tv_poison(fm->dflt->at);
    }
    tv v = elab(&e, fm->dflt);
    v = typed(&e, fm, v, in->decl->name.s);
    if (v.kind != TV_VALUE)
        return v;
    uint32_t n;
    axis *ax;
    if (!axes_of_type(in, &fm->type, &n, &ax))
        return tv_poison(fm->at);
    ix_list avoid = {0};
    env_ixs(&e, &avoid, s->a);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < ax[i].n; k++) {
            ax[i].ix[k] = pool_ix(s, ax[i].d[k], avoid.v, avoid.n, fm->name.s);
            vec_push(s->a, &avoid, ax[i].ix[k]);
        }
    if (!fit_axes(&e, &v, ax, n, fm->dflt->at, fm->at, fm->name.s))
        return tv_poison(fm->at);
    return v;
}

/* --- an entry's bound arguments --- */

static tv bound_value(inst *in, funcref *f, const ast_formal *fm)
{
    for (uint32_t k = 0; k < f->n_bound; k++)
        if (f->bound[k].name == fm->name.s) {
            env e = {.in = f->bound[k].env};
            return arg_value(&e, fm, f->bound[k].e);
        }
    ice("argument %s of %s is not bound", fm->name.s, in->decl->name.s);
}

bool bind_entry_argument(inst *in, funcref *f, const ast_formal *fm)
{
    tv v = bound_value(in, f, fm);
    env e = {.in = in};
    if (tv_bad(&v))
        return false;
    if (v.kind == TV_VALUE) {
        uint32_t extra = 0;
        if (!meet_formal(&e, in, fm, &v, &extra, in->decl->name.s))
            return false;
        v = typed(&e, fm, v, in->decl->name.s);
        if (v.kind != TV_VALUE)
            return false;
    }
    bind_formal(in, fm, v);
    return true;
}

bool bind_entry_name(inst *in, const arg_binding *b)
{
    ast_arg a = {.name = {b->name, b->e->at}, .e = (ast_expr *)b->e};
    funcref f = {.decl = in->decl};
    env e = {.in = b->env};
    return bind_names(&e, in, &f, &a, 1);
}

/* --- own operators over an index: fn f(x: [S]) -> [S] as a normaliser, -> real as a reducer --- */

tv elab_own_operator(env *e, const ast_expr *x, funcref *f, const ast_index *items)
{
    sema *s = e->in->s;
    const ast_decl *d = f->decl;
    if (x->n != 1) {
        diag_error(s->ds, x->at, "an operator over an index takes one expression");
        return tv_poison(x->at);
    }
    bool result_has_axis = d && d->n_results == 1 && d->results[0].type.n_axes == 1;
    if (!d || d->n_formals < 1 || d->formals[0].type.n_axes != 1) {
        diag *g = diag_error(s->ds, x->a->at, "%s cannot stand over an index",
                             d ? d->name.s : f->builtin);
        if (d)
            diag_note(g, d->name.at, "it is defined here");
        diag_help(g,
                  "an operator over an index is `fn f(x: [S]) -> [S]`, or `-> real` for a reducer");
        return tv_poison(x->at);
    }
    env in = *e;
    const ast_expr *body = x->args[0].e;
    const ix *over;
    value *cond = NULL;
    if (result_has_axis) { /* the index is in scope */
        const scope *sc = NULL;
        for (size_t i = 0; i < items->n && !sc; i++)
            if (items->items[i].kind == AST_ITEM_EXPR && items->items[i].e->kind == AST_NAME)
                for (const scope *k = e->indices; k && !sc; k = k->up)
                    sc = k->name == items->items[i].e->name ? k : NULL;
        if (!sc || items->n != 1) {
            diag_error(s->ds, items->at, "%s normalises over one index in scope", d->name.s);
            return tv_poison(x->at);
        }
        over = sc->ix;
        in.demand = NULL;
        if (items->where) {
            cond = elab_condition(&in, items->where);
            if (!cond)
                return s->trial ? (tv){.kind = TV_UNKNOWN, .at = x->at} : tv_poison(x->at);
        }
        in.demand = cond;
    } else {
        const ix **bound;
        const dim **los;
        uint32_t n;
        if (!bind_items(&in, items, &body, 1, &bound, &n, &los, &cond))
            return s->trial ? (tv){.kind = TV_UNKNOWN, .at = x->at} : tv_poison(x->at);
        if (n != 1) {
            diag_error(s->ds, items->at, "%s reduces over one index", d->name.s);
            return tv_poison(x->at);
        }
        over = bound[0];
    }
    tv v = elab(&in, body);
    if (v.kind != TV_VALUE)
        return v;
    v.support = b_and(s, v.support, cond);
    axis *ax = ARENA_ARRAY(s->a, axis, v.n_axes + 1);
    if (v.n_axes)
        memcpy(ax, v.axes, v.n_axes * sizeof *ax);
    ax[v.n_axes] = (axis){.at = x->at, .n = 1};
    ax[v.n_axes].ix = arena_copy(s->a, &over, sizeof over);
    ax[v.n_axes].d = arena_copy(s->a, &over->extent, sizeof over->extent);
    v.axes = ax;
    v.n_axes++;
    /* as a vector it must not stand on an index in scope */
    ix_list avoid = {0};
    vec_push(s->a, &avoid, over);
    env_ixs(e, &avoid, s->a);
    tv vec = rename_axes(e, v, avoid.v, avoid.n);
    vec.at = body->at;
    uint32_t n_mapped;
    axis *mapped;
    inst *call = inst_call(e, f, x, NULL, 1, &vec, x->at, &n_mapped, &mapped);
    if (!call)
        return s->trial ? (tv){.kind = TV_UNKNOWN, .at = x->at} : tv_poison(x->at);
    tv r = take_result(e, call, 0, n_mapped, mapped, x->at);
    if (r.kind != TV_VALUE || !result_has_axis)
        return r;
    /* the value at the index */
    axis *want = ARENA_ARRAY(s->a, axis, r.n_axes);
    memcpy(want, r.axes, r.n_axes * sizeof *want);
    want[r.n_axes - 1] = ax[v.n_axes - 1];
    if (!fit_axes(e, &r, want, r.n_axes, x->at, (span){0}, d->name.s))
        return tv_poison(x->at);
    r.n_axes--;
    r.weight = true;
    r.support = b_and(s, r.support, v.support);
    return r;
}
