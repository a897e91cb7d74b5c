/* instance.c: a call makes an instance: its arguments meet the formals, its names are declared. */
#include "frontend/builtin.h"
#include "frontend/sema.h"

#include <stdlib.h>
#include <string.h>

/* --- names --- */

/* Names are interned: their address tells them apart. */
static uint32_t hash_name(const char *name)
{
    return (uint32_t)(((uint64_t)(uintptr_t)name * 0x9E3779B97F4A7C15u) >> 32);
}

entity *inst_find(inst *in, const char *name)
{
    enum { FEW = 16 };
    if (in->names.n <= FEW) {
        for (size_t i = 0; i < in->names.n; i++)
            if (in->names.v[i].name == name)
                return &in->names.v[i];
        return NULL;
    }
    if (2 * in->names.n > in->n_slots) {
        in->n_slots = 64;
        while (in->n_slots < 4 * in->names.n)
            in->n_slots *= 2;
        in->name_slots = ARENA_ARRAY(in->s->a, uint32_t, in->n_slots);
        in->n_hashed = 0;
    }
    uint32_t mask = in->n_slots - 1, h;
    for (; in->n_hashed < in->names.n; in->n_hashed++) { /* the first of one name counts */
        const char *n = in->names.v[in->n_hashed].name;
        for (h = hash_name(n) & mask; in->name_slots[h]; h = (h + 1) & mask)
            if (in->names.v[in->name_slots[h] - 1].name == n)
                break;
        if (!in->name_slots[h])
            in->name_slots[h] = (uint32_t)in->n_hashed + 1;
    }
    for (h = hash_name(name) & mask; in->name_slots[h]; h = (h + 1) & mask)
        if (in->names.v[in->name_slots[h] - 1].name == name)
            return &in->names.v[in->name_slots[h] - 1];
    return NULL;
}

/* SIZE_MAX: none of that name. */
static size_t decl_place(sema *s, const char *name)
{
    if (2 * s->decls.n >= s->n_decl_slots) {
        s->n_decl_slots = 64;
        while (s->n_decl_slots < 4 * s->decls.n)
            s->n_decl_slots *= 2;
        s->decl_slots = ARENA_ARRAY(s->a, uint32_t, s->n_decl_slots);
        s->n_hashed = 0;
    }
    uint32_t mask = s->n_decl_slots - 1, h;
    for (; s->n_hashed < s->decls.n; s->n_hashed++) {
        for (h = hash_name(s->decls.v[s->n_hashed]->name.s) & mask; s->decl_slots[h];)
            h = (h + 1) & mask;
        s->decl_slots[h] = (uint32_t)s->n_hashed + 1;
    }
    for (h = hash_name(name) & mask; s->decl_slots[h]; h = (h + 1) & mask)
        if (s->decls.v[s->decl_slots[h] - 1]->name.s == name)
            return s->decl_slots[h] - 1;
    return SIZE_MAX;
}

const ast_decl *decl_find(sema *s, const char *name)
{
    size_t at = decl_place(s, name);
    return at < s->decls.n ? s->decls.v[at] : NULL;
}

static funcref *direct(inst *in, const ast_decl *d, const char *builtin, span at)
{
    sema *s = in->s;
    funcref *f = ARENA_NEW(s->a, funcref);
    f->decl = d;
    f->builtin = builtin;
    f->scope = in;
    f->pattern = in->f ? in->f->pattern : "{}";
    f->path = in->f ? in->f->path : "";
    f->n_family = in->f ? in->f->n_family : 0;
    f->family = in->f ? in->f->family : NULL;
    f->extents = in->f ? in->f->extents : NULL;
    f->at = at;
    return f;
}

static bool const_value(inst *in, const char *name, const ast_expr *x, bool is_dim, tv *out,
                        span at)
{
    sema *s = in->s;
    const frontend_define *def = find_define(s, name);
    if (def) {
        double d;
        char *end;
        if (!str_to_double(s->a, def->value, strlen(def->value), &d)) {
            diag *g = diag_error(s->ds, at, "-D %s=%s is not a number", name, def->value);
            diag_help(g, "write -D %s=8 or -D %s=0.5", name, name);
            return false;
        }
        bool whole = !strpbrk(def->value, ".eEnN") && d >= -9e18 && d <= 9e18;
        if (is_dim && (!whole || d < 0 || d > (double)DIM_LIMIT)) {
            diag_error(s->ds, at, "-D %s=%s: a dimension is a whole number from 0 to 2^40", name,
                       def->value);
            return false;
        }
        long long i = whole ? strtoll(def->value, &end, 10) : 0;
        *out = tv_value(whole ? graph_int(s->g, i) : graph_real(s->g, d), at);
        out->literal = whole;
        return true;
    }
    env e = {.in = in};
    *out = elab(&e, x);
    return out->kind == TV_VALUE;
}

bool lookup(env *e, const char *name, entity *out)
{
    inst *in = e->in;
    sema *s = in->s;
    entity *n = inst_find(in, name);
    if (n) {
        *out = *n;
        return true;
    }
    *out = (entity){.name = name};
    if (name[0] == '(') { /* the compiler's own use of a built-in, whatever the user calls so */
        char *inner = arena_strndup(s->a, name + 1, strlen(name) - 2);
        const builtin *own = builtin_find(inner);
        if (own) {
            out->kind = N_FUNC;
            out->f = direct(in, NULL, own->name, (span){0});
            return true;
        }
    }
    const dim *d = dims_find(in, name);
    if (d) {
        out->kind = N_DIM;
        out->d = d;
        return true;
    }
    const ast_decl *decl = decl_find(s, name);
    if (decl && (decl->kind == DECL_FUNC || decl->kind == DECL_ALIAS)) {
        out->kind = N_FUNC;
        out->at = decl->name.at;
        out->f = direct(in, decl, NULL, decl->name.at);
        return true;
    }
    if (decl && decl->kind == DECL_CONST) {
        size_t place = decl_place(s, name);
        while (s->globals.n <= place)
            vec_push(s->a, &s->globals, (struct global){0});
        if (s->globals.v[place].state == P_DONE) {
            *out = *s->globals.v[place].known;
            return true;
        }
        out->kind = N_CONST;
        out->at = decl->name.at;
        if (s->globals.v[place].state == P_BUSY) {
            diag_error(s->ds, decl->name.at, "%s is defined by itself", name);
            out->val = tv_poison(decl->name.at);
            return true;
        }
        s->globals.v[place].state = P_BUSY;
        /* its expression sees the top level only */
        inst top = {.s = s, .demand = NULL, .dims = NULL};
        if (!const_value(&top, name, decl->e, decl->is_dim, &out->val, decl->name.at))
            out->val = tv_poison(decl->name.at);
        const dim *as = NULL;
        int64_t c;
        if (decl->is_dim && out->val.kind == TV_VALUE && value_as_dim(s, out->val.v, &as)) {
            out->kind = N_DIM;
            out->d = dim_is_const(as, &c) ? dims_of_top(in, name, as) : as;
        } else if (decl->is_dim && out->val.kind == TV_VALUE) {
            diag_help(diag_error(s->ds, decl->e->at, "a dimension is a whole number"),
                      "write `const %s = ...` for another number", name);
            out->val = tv_poison(decl->name.at);
        }
        struct global *known = &s->globals.v[place];
        known->state = P_NEW;
        if (!decl->is_dim && out->val.kind == TV_VALUE) {
            known->state = P_DONE;
            known->known = arena_copy(s->a, out, sizeof *out);
        }
        return true;
    }
    static const struct {
        const char *name;
        double v;
    } consts[] = {
        {"inf", __builtin_inf()}, {"nan", __builtin_nan("")}, {"pi", 3.14159265358979323846}};
    for (size_t i = 0; i < sizeof consts / sizeof consts[0]; i++)
        if (!strcmp(name, consts[i].name)) {
            out->kind = N_CONST;
            out->val = tv_value(graph_real(s->g, consts[i].v), (span){0});
            return true;
        }
    if (!strcmp(name, "true") || !strcmp(name, "false")) {
        out->kind = N_CONST;
        out->val = tv_value(graph_bool(s->g, name[0] == 't'), (span){0});
        return true;
    }
    const builtin *b = builtin_find(name);
    if (b) {
        out->kind = N_FUNC;
        out->f = direct(in, NULL, b->name, (span){0});
        return true;
    }
    return false;
}

const char *nearest_name(env *e, const char *name)
{
    sema *s = e->in->s;
    VEC(const char *) all = {0};
    if (s->ds->n_errors > 100) /* nobody reads so far */
        return NULL;
    for (const scope *sc = e->indices; sc; sc = sc->up)
        vec_push(s->a, &all, sc->name);
    for (size_t i = 0; i < e->in->names.n; i++)
        vec_push(s->a, &all, e->in->names.v[i].name);
    for (size_t i = 0; i < s->decls.n; i++)
        if (s->decls.v[i]->name.s)
            vec_push(s->a, &all, s->decls.v[i]->name.s);
    for (size_t i = 0; i < builtin_count; i++)
        vec_push(s->a, &all, builtin_table[i].name);
    return str_nearest(s->a, name, all.v, all.n);
}

/* --- functions by syntax --- */

static const char *subst_pattern(sema *s, const char *pattern, const char *inner)
{
    const char *hole = strstr(pattern, "{}");
    if (!hole)
        return pattern;
    return intern_printf(s->names, "%.*s%s%s", (int)(hole - pattern), pattern, inner, hole + 2);
}

static void bind_args(sema *s, inst *in, funcref *f, const ast_arg *args, size_t n)
{
    VEC(arg_binding) b = {0};
    for (uint32_t i = 0; i < f->n_bound; i++)
        vec_push(s->a, &b, f->bound[i]);
    for (size_t i = 0; i < n; i++) {
        if (!args[i].name.s) {
            diag *d =
                diag_error(s->ds, args[i].e->at, "an argument bound beforehand needs its name");
            diag_help(d, "write `f(name = value)`");
            continue;
        }
        arg_binding a = {.name = args[i].name.s, .e = args[i].e, .env = in};
        vec_push(s->a, &b, a);
    }
    f->bound = b.v;
    f->n_bound = (uint32_t)b.n;
}

/* The function a part stands for, before a part array's index. */
static funcref *part_ref(part *p)
{
    sema *s = p->in->s;
    if (p->state == P_DONE)
        return p->f;
    if (p->state == P_BAD)
        return NULL;
    if (p->state == P_BUSY) {
        diag *d = diag_error(s->ds, p->stmt->e->at, "part %s is made of itself", p->name);
        diag_help(d, "name the function it is a copy of: `part %s = f`", p->name);
        return NULL;
    }
    p->state = P_BUSY;
    env e = {.in = p->in};
    funcref *of = funcref_of(&e, p->stmt->e);
    if (!of || of->builtin) {
        if (of)
            diag_help(diag_error(s->ds, p->stmt->e->at, "%s has no params to copy", of->builtin),
                      "a part is a copy of a function with params; call %s directly", of->builtin);
        p->state = s->ds->muted ? P_NEW : P_BAD; /* in a trial nobody has heard of it */
        return NULL;
    }
    funcref *f = ARENA_NEW(s->a, funcref);
    *f = *of;
    const char *own = p->stmt->from.s ? p->stmt->from.s : "{}";
    f->pattern = subst_pattern(s, p->in->f ? p->in->f->pattern : "{}", own);
    f->path = intern_printf(s->names, "%s%s_", p->in->f ? p->in->f->path : "", p->name);
    if (p->index && !strstr(own, arena_printf(s->a, "{%s}", p->index))) {
        diag *d = diag_error(s->ds, p->stmt->from.s ? p->stmt->from.at : p->stmt->at,
                             "the params of each %s need names of their own", p->name);
        diag_help(d, "say where they are found: `from \"%s.{%s}.{}\"`", p->name, p->index);
    }
    int64_t first;
    if (p->index && p->lo && dims_const(s, p->lo, &first) && first != 0) {
        /* numbers in names begin there: {l} becomes {l+2} */
        const char *hole = strstr(f->pattern, arena_printf(s->a, "{%s}", p->index));
        size_t len = strlen(p->index);
        if (hole)
            f->pattern = intern_printf(s->names, "%.*s{%s+%lld}%s", (int)(hole - f->pattern),
                                       f->pattern, p->index, (long long)first, hole + len + 2);
    }
    f->is_part = true;
    p->f = f;
    p->state = P_DONE;
    return f;
}

const char *funcref_name(const funcref *f)
{
    return f->decl ? f->decl->name.s : f->builtin;
}

funcref *funcref_of(env *e, const ast_expr *x)
{
    sema *s = e->in->s;
    entity n;
    if (x->kind == AST_NAME) {
        if (!lookup(e, x->name, &n)) {
            diag *d = diag_error(s->ds, x->at, "function %s is not defined", x->name);
            const char *near = nearest_name(e, x->name);
            if (near)
                diag_help(d, "did you mean %s?", near);
            else
                diag_help(d,
                          "define it, or import the file that does: `import \"std/score.attn\"`");
            return NULL;
        }
        if (n.kind == N_FUNC && n.f->decl && !strcmp(n.f->decl->word.s, "model")) {
            diag *d = diag_error(s->ds, x->at, "%s is a model, which is called from outside only",
                                 x->name);
            diag_note(d, n.f->decl->name.at, "it is defined here");
            diag_help(d, "call the function that it exports");
            return NULL;
        }
        if (n.kind == N_FUNC && n.f->decl && n.f->decl->kind == DECL_ALIAS) {
            env top = {.in = e->in};
            return funcref_of(&top, n.f->decl->e);
        }
        if (n.kind == N_FUNC)
            return n.f;
        if (n.kind == N_PART) {
            if (n.p->index) {
                diag *d = diag_error(s->ds, x->at, "%s is an array of parts: say which", x->name);
                diag_note(d, n.at, "it is declared here");
                diag_help(d, "write `%s[l](...)`", x->name);
                return NULL;
            }
            return part_ref(n.p);
        }
        diag *d = diag_error(s->ds, x->at, "%s is not a function", x->name);
        if (n.at.file)
            diag_note(d, n.at, "it is defined here");
        if (n.kind == N_TENSOR)
            diag_help(d, "a tensor is read with brackets: `%s[...]`", x->name);
        return NULL;
    }
    if (x->kind == AST_INDEX && x->a->kind == AST_NAME && lookup(e, x->a->name, &n) &&
        n.kind == N_PART) {
        if (!n.p->index) {
            diag *d = diag_error(s->ds, x->at, "%s is one part, not an array of them", n.name);
            diag_note(d, n.at, "it is declared here");
            diag_help(d, "call it as `%s(...)`, or declare an array: `part %s[l in L] = ...`",
                      n.name, n.name);
            return NULL;
        }
        if (x->index->n != 1 || x->index->items[0].kind != AST_ITEM_EXPR || x->index->where) {
            diag *d = diag_error(s->ds, x->index->at, "a part is chosen by one index");
            diag_note(d, n.at, "%s is declared here", n.name);
            diag_help(d, "write `%s[l](...)`", n.name);
            return NULL;
        }
        tv which = elab(e, x->index->items[0].e);
        if (tv_bad(&which))
            return NULL;
        if (which.kind != TV_VALUE || which.v->dt != DT_I64 || which.n_axes) {
            diag *d = diag_error(s->ds, x->index->at, "a part is chosen by an int");
            diag_note(d, n.at, "%s is declared here", n.name);
            diag_help(d, "write `%s[l](...)` with an index or a number", n.name);
            return NULL;
        }
        funcref *base = part_ref(n.p);
        if (!base)
            return NULL;
        funcref *f = ARENA_NEW(s->a, funcref);
        *f = *base;
        f->n_family++;
        f->family = ARENA_ARRAY(s->a, tv, f->n_family);
        f->extents = ARENA_ARRAY(s->a, const dim *, f->n_family);
        for (uint32_t i = 0; i + 1 < f->n_family; i++) {
            f->family[i] = base->family[i];
            f->extents[i] = base->extents[i];
        }
        if (n.p->lo)
            which.v = b_elem(s, OP_sub, which.v, b_dim(s, n.p->lo), NULL);
        f->family[f->n_family - 1] = which;
        f->extents[f->n_family - 1] = n.p->extent;
        return f;
    }
    if (x->kind == AST_CALL) { /* f(name = value): bound beforehand */
        funcref *of = funcref_of(e, x->a);
        if (!of)
            return NULL;
        funcref *f = ARENA_NEW(s->a, funcref);
        *f = *of;
        bind_args(s, e->in, f, x->args, x->n);
        return f;
    }
    if (x->kind == AST_INDEX && x->a->kind == AST_NAME &&
        !(lookup(e, x->a->name, &n) && n.kind == N_FUNC))
        return funcref_of(e, x->a); /* says what the name is, or that it is none */
    bool plain = x->kind == AST_INDEX || x->kind == AST_FIELD;
    tv v = plain ? tv_poison(x->at) : elab(e, x);
    if (v.kind == TV_FUNC)
        return v.f;
    if (v.kind != TV_POISON || plain)
        diag_help(diag_error(s->ds, x->at, "this is not a function"),
                  "name a function, with what is bound beforehand: `f` or `f(n = 2)`");
    return NULL;
}

/* --- declaring what a body names --- */

static void add_name(inst *in, entity n)
{
    entity *old = inst_find(in, n.name);
    if (old && !in->s->trial) {
        diag *d = diag_error(in->s->ds, n.at, "%s is defined twice", n.name);
        diag_note(d, old->at, "the other definition is here");
        diag_help(d, "choose another name for one of them");
        return;
    }
    vec_push(in->s->a, &in->names, n);
}

static tensor *target_tensor(inst *in, const ast_target *t)
{
    entity *n = inst_find(in, t->name.s);
    if (n && n->kind == N_TENSOR)
        return n->t;
    if (n) {
        diag *d =
            diag_error(in->s->ds, t->name.at, "%s cannot be defined by an equation", t->name.s);
        diag_note(d, n->at, "it is %s already",
                  n->kind == N_CONST  ? "a constant"
                  : n->kind == N_PART ? "a part"
                                      : "a function");
        return NULL;
    }
    if (dims_find(in, t->name.s)) {
        diag *d = diag_error(in->s->ds, t->name.at, "%s is a dimension", t->name.s);
        span first = dim_place(in, t->name.s);
        if (first.file)
            diag_note(d, first, "the dimension %s is named here", t->name.s);
        diag_help(d, "choose another name for the tensor");
        return NULL;
    }
    tensor *x = tensor_new(in, t->name.s, t->name.at);
    add_name(in, (entity){.kind = N_TENSOR, .name = t->name.s, .at = t->name.at, .t = x});
    vec_push(in->s->a, &in->locals, x);
    return x;
}

static void declare_target(inst *in, const ast_stmt *st, const ast_target *t, uint32_t component,
                           const struct join_step *path, uint32_t n_path)
{
    sema *s = in->s;
    if (t->kind == TARGET_JOIN) {
        struct join_step *p = ARENA_ARRAY(s->a, struct join_step, n_path + 1);
        for (size_t i = 0; i < t->n; i++) {
            if (n_path)
                memcpy(p, path, n_path * sizeof *p);
            p[n_path] = (struct join_step){(uint32_t)i, (uint32_t)t->n};
            struct join_step *copy = arena_copy(s->a, p, (n_path + 1) * sizeof *p);
            declare_target(in, st, &t->parts[i], component, copy, n_path + 1);
        }
        return;
    }
    if (!strcmp(t->name.s, "_"))
        return;
    tensor *x = target_tensor(in, t);
    if (!x)
        return;
    if (x->given && !t->index) {
        diag *d =
            diag_error(s->ds, t->at, "%s is given from outside, it cannot be defined", x->name);
        diag_note(d, x->at, "it is declared here");
        diag_help(d, "choose another name for what is computed here");
        return;
    }
    if (!t->index && x->eqs.n) {
        diag *d = diag_error(s->ds, t->at, "%s is defined twice", x->name);
        diag_note(d, x->eqs.v[0].target ? x->eqs.v[0].target->at : x->at,
                  "the other definition is here");
        diag_help(d, "choose another name for one of them");
        return;
    }
    equation q = {.in = in,
                  .stmt = st,
                  .target = t,
                  .component = component,
                  .n_path = n_path,
                  .path = (struct join_step *)path};
    vec_push(s->a, &x->eqs, q);
}

static void declare_until(inst *in, const ast_stmt *st)
{
    sema *s = in->s;
    if (in->alive) {
        diag *d = diag_error(s->ds, st->at, "a function has one `until`");
        diag_note(d, in->alive->at, "the first is here");
        diag_help(d, "join the conditions by `or`");
        return;
    }
    in->alive = make_alive(in, st);
}

static void declare_stmt(inst *in, const ast_stmt *st)
{
    sema *s = in->s;
    switch (st->kind) {
    case STMT_CONST: {
        entity *old = inst_find(in, st->names[0].s);
        if (old && old->kind == N_CONST && old->at.file == 0)
            return; /* bound by the caller */
        entity n = {.kind = N_CONST, .name = st->names[0].s, .at = st->names[0].at};
        if (st->is_dim) {
            const dim *d = dims_find(in, st->names[0].s);
            tv v;
            if (const_value(in, st->names[0].s, st->e, true, &v, st->names[0].at) &&
                value_as_dim(s, v.v, &n.d)) {
                if (!dims_fix(in, n.name, n.d))
                    diag_error(s->ds, st->at, "dim %s is %s already", n.name, dims_show(s, d));
                return;
            }
            if (v.kind == TV_VALUE)
                diag_help(diag_error(s->ds, st->e->at, "a dimension is a whole number"),
                          "write `const %s = ...` for another number", n.name);
            if (!d)
                dims_bind(in, n.name,
                          dim_sym(s->g->dims, n.name)); /* some size, for what follows */
            return;
        }
        if (!const_value(in, st->names[0].s, st->e, false, &n.val, st->names[0].at))
            n.val = tv_poison(st->names[0].at);
        else if (value_is_data(n.val.v)) {
            diag *d = diag_error(s->ds, st->e->at, "a constant cannot depend on tensors");
            diag_help(d, "write an equation: `%s = ...`", n.name);
        }
        add_name(in, n);
        return;
    }
    case STMT_DECL: {
        entity *old = inst_find(in, st->names[0].s);
        tensor *t;
        if (old && old->kind == N_TENSOR && !old->t->given && !old->t->declared) {
            t = old->t;
        } else {
            t = tensor_new(in, st->names[0].s, st->names[0].at);
            add_name(in, (entity){.kind = N_TENSOR, .name = t->name, .at = t->at, .t = t});
            vec_push(s->a, &in->locals, t);
        }
        t->declared = st->type;
        t->declared_at = st->type->at;
        return;
    }
    case STMT_PARAM:
        for (size_t i = 0; i < st->n_names; i++) {
            tensor *t = param_tensor(in, st, (uint32_t)i);
            if (!t) { /* after a message: what reads it is silent */
                t = tensor_new(in, st->names[i].s, st->names[i].at);
                t->given = true;
                t->val = tv_poison(t->at);
                t->sig = t->def = P_BAD;
            }
            add_name(in, (entity){.kind = N_TENSOR, .name = t->name, .at = t->at, .t = t});
        }
        return;
    case STMT_PART: {
        part *p = ARENA_NEW(s->a, part);
        *p = (part){.name = st->names[0].s, .stmt = st, .in = in};
        if (st->indices && st->indices[0]) {
            const ast_index *ix = st->indices[0];
            if (ix->n != 1 || ix->items[0].kind != AST_ITEM_IN || ix->where) {
                diag *d =
                    diag_error(s->ds, ix->at, "an array of parts needs an index and its range");
                diag_help(d, "write `part %s[l in L] = ...`", p->name);
                return;
            }
            p->index = ix->items[0].name.s;
            p->extent = dims_eval(in, ix->items[0].e);
            if (p->extent && ix->items[0].hi) { /* a..b */
                const dim *hi = dims_eval(in, ix->items[0].hi);
                p->lo = p->extent;
                p->extent = hi ? dim_add(s->g->dims, dim_sub(s->g->dims, hi, p->lo),
                                         dim_const(s->g->dims, 1))
                               : NULL;
            }
            if (!p->extent)
                return;
        }
        add_name(in, (entity){.kind = N_PART, .name = p->name, .at = st->names[0].at, .p = p});
        return;
    }
    case STMT_UNTIL:
        declare_until(in, st);
        return;
    default:
        return;
    }
}

void inst_declare_const(inst *in, const ast_stmt *st)
{
    declare_stmt(in, st);
}

static void declare_results(inst *in)
{
    sema *s = in->s;
    const ast_decl *d = in->decl;
    const ast_stmt *ret = NULL;
    for (size_t i = 0; i < d->n_body; i++)
        if (d->body[i]->kind == STMT_RETURN) {
            if (ret) {
                diag *g = diag_error(s->ds, d->body[i]->at, "%s returns twice", d->name.s);
                diag_note(g, ret->at, "the first return is here");
                diag_help(g, "return several results at once: `return a, b`");
            } else {
                ret = d->body[i];
            }
        }
    size_t n = d->n_results ? d->n_results : ret ? ret->n_exprs : 0;
    if (d->results_named && ret) {
        diag *g = diag_error(s->ds, ret->at, "%s names its results: `return` has nothing to add",
                             d->name.s);
        diag_note(g, d->results[0].at, "they are named here");
        diag_help(g, "write an equation for each: `%s%s = ...`", d->results[0].name.s,
                  d->results[0].type.n_axes ? "[...]" : "");
    } else if (!d->results_named && !ret) {
        diag *g = diag_error(s->ds, d->name.at, "%s returns nothing", d->name.s);
        diag_help(g, "end it with `return e`, or name its results: `-> (y: [T, H])`");
    } else if (ret && d->n_results && ret->n_exprs != d->n_results) {
        diag *g = diag_error(s->ds, ret->at, "%s has %zu result%s, %zu %s returned", d->name.s,
                             d->n_results, d->n_results == 1 ? "" : "s", ret->n_exprs,
                             ret->n_exprs == 1 ? "is" : "are");
        diag_note(g, d->results[0].at, "%s declared here",
                  d->n_results == 1 ? "it is" : "they are");
        diag_help(g, "several results are declared by name: `-> (y: [T, H], a: [T, S])`");
    }
    in->n_results = (uint32_t)n;
    in->results = ARENA_ARRAY(s->a, tensor *, n);
    for (size_t i = 0; i < n; i++) {
        const ast_formal *f = i < d->n_results ? &d->results[i] : NULL;
        const char *name = f && f->name.s ? f->name.s
                           : n == 1       ? intern(s->names, "result")
                                          : intern_printf(s->names, "result%zu", i + 1);
        if (f && f->name.s) {
            entity *old = inst_find(in, name);
            if (old) {
                diag *g =
                    diag_error(s->ds, f->name.at, "result %s has the name of something else", name);
                diag_note(g, old->at, "%s is defined here", name);
                diag_help(g, "choose another name for the result");
                in->results[i] = tensor_new(in, name, f->name.at);
                in->results[i]->sig = in->results[i]->def = P_BAD;
                continue;
            }
        }
        tensor *t = tensor_new(in, name, f ? f->at : ret->at);
        if (f) {
            t->at = f->name.s ? f->name.at : f->at;
            t->declared = &f->type;
            t->declared_at = f->type.at;
            t->result_formal = f;
        }
        in->results[i] = t;
        vec_push(s->a, &in->locals, t);
        if (f && f->name.s)
            add_name(in, (entity){.kind = N_TENSOR, .name = name, .at = t->at, .t = t});
        if (!(f && f->name.s) && ret && i < ret->n_exprs) {
            equation q = {.in = in, .stmt = ret, .ret = ret->exprs[i], .component = UINT32_MAX};
            vec_push(s->a, &t->eqs, q);
        } else if (!(f && f->name.s)) {
            t->sig = t->def = P_BAD;
        }
    }
}

/* Evaluates a type for the dims it names. */
static void touch_type(inst *in, const ast_type *t)
{
    uint32_t n;
    axis *ax;
    if (!t->is_function)
        axes_of_type(in, t, &n, &ax);
}

static bool returns(const ast_decl *d)
{
    for (size_t i = 0; i < d->n_body; i++)
        if (d->body[i]->kind == STMT_RETURN)
            return true;
    return false;
}

void inst_declare(inst *in)
{
    sema *s = in->s;
    const ast_decl *d = in->decl;
    if (in->ready)
        return;
    in->ready = true;
    for (size_t i = 0; i < d->n_body; i++) /* dim N = 8 first: types use it */
        if (d->body[i]->kind == STMT_CONST)
            declare_stmt(in, d->body[i]);
    for (size_t i = 0; i < d->n_results; i++)
        touch_type(in, &d->results[i].type);
    declare_results(in);
    for (size_t i = 0; i < d->n_body; i++)
        if (d->body[i]->kind == STMT_DECL || d->body[i]->kind == STMT_PARAM)
            touch_type(in, d->body[i]->type);
    for (size_t i = 0; i < d->n_body; i++)
        if (d->body[i]->kind != STMT_CONST && d->body[i]->kind != STMT_EQ)
            declare_stmt(in, d->body[i]);
    for (size_t i = 0; i < d->n_body; i++) {
        const ast_stmt *st = d->body[i];
        if (st->kind != STMT_EQ)
            continue;
        for (size_t k = 0; k < st->n_targets; k++)
            declare_target(in, st, &st->targets[k], st->n_targets == 1 ? UINT32_MAX : (uint32_t)k,
                           NULL, 0);
    }
    if (in->alive)
        finish_until(in);
    for (size_t i = 0; i < in->locals.n; i++) {
        tensor *t = in->locals.v[i];
        if (t->eqs.n == 0 && t->sig != P_BAD && !t->given && t->result_formal && returns(d)) {
            t->sig = t->def = P_BAD; /* the return in place of its equation was reported */
        } else if (t->eqs.n == 0 && t->sig != P_BAD && !t->given) {
            diag *g = diag_error(s->ds, t->at, "%s has no equation", t->name);
            if (t->declared && t->declared_at.file)
                diag_help(g, "define it: `%s%s = ...`", t->name,
                          t->declared->n_axes ? "[...]" : "");
            t->sig = t->def = P_BAD;
        }
    }
}

/* A score gives one number, a mask one truth value. */
static void check_kind(inst *in)
{
    sema *s = in->s;
    const ast_decl *d = in->decl;
    bool score = !strcmp(d->word.s, "score"), mask = !strcmp(d->word.s, "mask");
    if ((!score && !mask) || !in->n_results)
        return;
    const char *gives = score ? "a score gives one real" : "a mask gives one bool";
    tensor *t = in->results[0];
    span at = t->eqs.n && t->eqs.v[0].ret      ? t->eqs.v[0].ret->at
              : t->eqs.n && t->eqs.v[0].target ? t->eqs.v[0].target->at
                                               : t->at;
    diag *g = NULL;
    if (in->n_results > 1)
        g = diag_error(s->ds, d->name.at, "%s, %s has %u results", gives, d->name.s, in->n_results);
    else if (t->sig != P_DONE || t->def == P_BAD)
        return;
    else if (t->n_axes)
        g = diag_error(s->ds, at, "%s, this is %s", gives, axes_show(s, t->axes, t->n_axes));
    else if ((t->dt == DT_BOOL) != mask)
        g = diag_error(s->ds, at, "%s, this is %s", gives, dtype_word(t->dt));
    if (!g)
        return;
    diag_note(g, d->word.at, "%s is declared a %s here", d->name.s, d->word.s);
    diag_help(g, "declare it as `fn %s` where it is to give something else", d->name.s);
}

void inst_check(inst *in)
{
    if (in->checked)
        return;
    in->checked = true;
    for (size_t i = 0; i < in->locals.n; i++) {
        tensor *t = in->locals.v[i];
        tensor_define(t);
        for (size_t k = 0; k < t->boundaries.n; k++)
            tensor_define(t->boundaries.v[k].t);
    }
    check_kind(in);
}
