/* module.c: files, declarations and entries: the frontend's one public function. */
#include "frontend/builder.h"
#include "frontend/causal.h"
#include "frontend/std_table.h"

#include <string.h>

static const char *const kind_words[] = {"score", "mask", "encoder", "recurrence", "model", "fn"};

static bool known_word(const char *w)
{
    for (size_t i = 0; i < sizeof kind_words / sizeof kind_words[0]; i++)
        if (!strcmp(w, kind_words[i]))
            return true;
    return false;
}

/* --- files --- */

typedef VEC(const char *) name_list;

/* "std/rnn.attn" is rnn.attn of the library built in. */
static const char *find_std(const char *path, size_t *size)
{
    if (strncmp(path, "std/", 4))
        return NULL;
    for (size_t i = 0; i < n_std_files; i++)
        if (!strcmp(std_files[i].name, path + 4)) {
            *size = std_files[i].size;
            return std_files[i].text;
        }
    return NULL;
}

static void load_file(sema *s, uint32_t file, name_list *loaded);

/* The name of an imported file: its path as seen from where the importing file is named from, with
 * `.` and `x/..` taken out, so that one file has one name however it is reached. */
static const char *import_name(sema *s, const char *from, const char *path)
{
    const char *slash = strrchr(from, '/');
    strbuf sb = {.a = s->a};
    if (path[0] != '/' && slash)
        sb_printf(&sb, "%.*s", (int)(slash + 1 - from), from);
    sb_puts(&sb, path);
    const char *full = sb_text(&sb);
    VEC(const char *) parts = {0};
    for (const char *p = full; *p;) {
        size_t n = strcspn(p, "/");
        const char *part = arena_strndup(s->a, p, n);
        const char *last = parts.n ? vec_last(&parts) : NULL;
        if (!strcmp(part, "..") && last && strcmp(last, ".."))
            parts.n--;
        else if (n && strcmp(part, "."))
            vec_push(s->a, &parts, part);
        p += n + (p[n] == '/');
    }
    strbuf clean = {.a = s->a};
    for (size_t i = 0; i < parts.n; i++)
        sb_printf(&clean, "%s%s", i || full[0] == '/' ? "/" : "", parts.v[i]);
    return sb_text(&clean);
}

static void import(sema *s, const ast_decl *d, const source *from, name_list *loaded)
{
    const char *path = d->name.s;
    size_t size = 0;
    const char *text = find_std(path, &size), *name;
    if (text)
        name = arena_printf(s->a, "<%s>", path);
    else
        name = import_name(s, from->name, path);
    for (size_t i = 0; i < loaded->n; i++)
        if (!strcmp(loaded->v[i], name))
            return;
    if (!text && s->o->load)
        text = s->o->load(s->o->ctx, s->a, from->name, path, &size);
    if (!text) {
        diag *g = diag_error(s->ds, d->name.at, "cannot read \"%s\"", path);
        VEC(const char *) names = {0};
        for (size_t i = 0; i < n_std_files; i++)
            vec_push(s->a, &names, arena_printf(s->a, "std/%s", std_files[i].name));
        const char *near = str_nearest(s->a, path, names.v, names.n);
        if (near)
            diag_help(g, "did you mean \"%s\"?", near);
        else
            diag_help(
                g, "a path is relative to the importing file; the library's files are \"std/...\"");
        return;
    }
    vec_push(s->a, loaded, name);
    load_file(s, source_add(s->sources, name, text, size), loaded);
}

static void add_decl(sema *s, const ast_decl *d)
{
    const ast_decl *old = decl_find(s, d->name.s);
    if (old) {
        diag *g = diag_error(s->ds, d->name.at, "%s is defined twice", d->name.s);
        diag_note(g, old->name.at, "the other definition is here");
        diag_help(g, "rename one of them");
        return;
    }
    if ((d->kind == DECL_FUNC || d->kind == DECL_ALIAS) && !known_word(d->word.s)) {
        diag *g = diag_error(s->ds, d->word.at, "%s is no kind of function", d->word.s);
        const char *near =
            str_nearest(s->a, d->word.s, kind_words, sizeof kind_words / sizeof kind_words[0]);
        if (near)
            diag_help(g, "did you mean %s?", near);
        else
            diag_help(g, "the kinds are score, mask, encoder, recurrence, model and fn");
    }
    for (size_t i = 0; i < d->n_formals; i++)
        for (size_t k = 0; k < i; k++)
            if (d->formals[i].name.s == d->formals[k].name.s) {
                diag *g = diag_error(s->ds, d->formals[i].name.at, "argument %s is declared twice",
                                     d->formals[i].name.s);
                diag_note(g, d->formals[k].name.at, "the other is here");
                diag_help(g, "choose another name for one of them");
            }
    vec_push(s->a, &s->decls, d);
}

static void load_file(sema *s, uint32_t file, name_list *loaded)
{
    ast_file *f = ast_parse(s->a, s->names, s->ds, file);
    vec_push(s->a, &s->files, f);
    for (size_t i = 0; i < f->n; i++) {
        if (f->decls[i]->kind == DECL_IMPORT)
            import(s, f->decls[i], s->sources->files.v[file], loaded);
        else if (f->decls[i]->kind != DECL_ERROR)
            add_decl(s, f->decls[i]);
    }
}

/* --- entries --- */

static void reset(sema *s, module *scratch, const char *name)
{
    s->g = graph_new(scratch, name, s->o->real);
    s->tensors.n = s->insts.n = s->sites.n = s->binds.n = s->pending.n = 0;
    s->rigid.n = s->fixed.n = s->pool.n = s->params.n = s->owners.n = 0;
    s->globals.n = 0;
    s->trial = 0;
    s->depth = 0;
    s->n_calls = 0;
    s->defining = NULL;
    s->begun.n = s->companions.n = 0;
}

static void mark_rigid(inst *in)
{
    sema *s = in->s;
    const ast_decl *d = in->decl;
    for (uint32_t i = 0; i < dims_n_symbols(s->g->dims); i++) {
        const char *name = dims_symbol(s->g->dims, i);
        bool named = false;
        for (size_t k = 0; k < d->n_formals && !named; k++)
            named = formal_names_dim(&d->formals[k], name);
        for (size_t k = 0; k < d->n_body && !named; k++)
            if (d->body[k]->kind == STMT_PARAM)
                named = type_names_dim(d->body[k]->type, name);
        if (named && dims_find(in, name))
            vec_push(s->a, &s->rigid, name);
    }
}

inst *inst_entry(sema *s, const ast_decl *d, funcref *f, const ast_decl *model)
{
    inst *in = ARENA_NEW(s->a, inst);
    *in = (inst){.s = s, .decl = d, .f = f, .call = model->at};
    VEC(const ix *) ctx = {0};
    for (size_t i = 0; i < model->n_batch; i++) {
        const dim *b = dims_of_name(in, model->batch[i].s, model->batch[i].at);
        vec_push(s->a, &s->rigid, model->batch[i].s);
        const ix *bi = pool_ix(s, b, ctx.v, ctx.n, "b");
        vec_push(s->a, &ctx, bi);
    }
    in->ctx = ctx.v;
    in->n_ctx = (uint32_t)ctx.n;
    bool ok = true;
    /* constants and dims of the body come first: a default may use them, -D may set them */
    for (size_t i = 0; i < d->n_body; i++)
        if (d->body[i]->kind == STMT_CONST && d->body[i]->is_dim)
            inst_declare_const(in, d->body[i]);
    for (size_t pass = 0; pass < 2; pass++) /* those without default first: defaults may use them */
        for (size_t i = 0; i < d->n_formals; i++) {
            const ast_formal *fm = &d->formals[i];
            bool bound = false;
            for (uint32_t k = 0; f && k < f->n_bound; k++)
                bound = bound || f->bound[k].name == fm->name.s;
            if (pass == 0) {
                uint32_t n;
                axis *ax;
                if (!fm->type.is_function && !bound)
                    ok = axes_of_type(in, &fm->type, &n, &ax) && ok;
            } else if (bound) {
                ok = bind_entry_argument(in, f, fm) && ok;
            } else {
                ok = input_formal(in, fm) && ok;
            }
        }
    for (uint32_t k = 0; f && k < f->n_bound; k++) { /* dims and constants bound by name */
        bool formal = false;
        for (size_t i = 0; i < d->n_formals; i++)
            formal = formal || d->formals[i].name.s == f->bound[k].name;
        if (!formal)
            ok = bind_entry_name(in, &f->bound[k]) && ok;
    }
    if (!ok)
        return NULL;
    inst_declare(in);
    mark_rigid(in);
    vec_push(s->a, &s->insts, in);
    return in;
}

/* The graph of one entry, and its instance; NULL after messages. */
static graph *compile_entry(sema *s, module *m, module *scratch, const ast_decl *model,
                            bool check_only, inst **entry)
{
    size_t errors = s->ds->n_errors;
    reset(s, scratch, model->name.s);
    const ast_decl *d = model;
    funcref *f = ARENA_NEW(s->a, funcref);
    *f = (funcref){.decl = d, .pattern = "{}", .path = "", .at = model->at};
    inst *top = ARENA_NEW(s->a, inst);
    *top = (inst){.s = s, .decl = model, .f = NULL, .ready = true};
    if (model->kind == DECL_ALIAS) {
        env e = {.in = top};
        funcref *r = funcref_of(&e, model->e);
        if (!r)
            return NULL;
        if (!r->decl) {
            diag *g = diag_error(s->ds, model->e->at, "%s is an operator, a model needs a function",
                                 r->builtin);
            diag_help(g, "write a function with typed arguments that calls it");
            return NULL;
        }
        *f = *r;
        f->pattern = "{}";
        f->path = "";
        d = f->decl;
    }
    f->decl = d;
    vec_push(s->a, &s->reached, d);
    inst *in = inst_entry(s, d, f, model);
    if (!in)
        return NULL;
    inst_check(in);
    for (size_t i = 0; i < s->insts.n && !s->exhausted; i++) /* grows while it runs */
        inst_check(s->insts.v[i]);
    dims_settle(s, true);
    if (s->ds->n_errors > errors)
        return NULL;
    roots r = {0};
    graph *g =
        make_roots(s, in, model, &r) ? to_ir(s, check_only ? scratch : m, &r, check_only) : NULL;
    if (g && g->recurrence && !check_only) {
        s->ds->muted++;
        g->step_graph = to_step_ir(s, scratch, &r, &g->why_no_steps);
        if (g->step_graph && !graph_verify(g->step_graph, s->ds, "of steps")) {
            g->step_graph = NULL;
            g->why_no_steps = "a step needs rows of other steps that no history holds";
        }
        s->ds->muted--;
    }
    if (!g && s->ds->n_errors == 0)
        ice("no graph for %s and no message", model->name.s);
    *entry = in;
    return g;
}

/* Every size of a model comes from its inputs, its params or an int argument. */
static void check_sizes(sema *s, const graph *g, inst *in)
{
    for (size_t i = 0; i < g->symbols.n; i++) {
        const char *name = g->symbols.v[i];
        bool given = false;
        for (uint32_t k = 0; k < in->n_ctx; k++)
            given = given || dim_mentions(in->ctx[k]->extent, name);
        for (size_t k = 0; k < in->decl->n_formals; k++)
            given = given || in->decl->formals[k].name.s == name;
        for (int params = 0; params < 2; params++)
            for (size_t k = 0; k < (params ? g->params.n : g->inputs.n) && !given; k++) {
                const value *v = params ? g->params.v[k] : g->inputs.v[k];
                for (uint32_t x = 0; x < v->n_ix; x++)
                    given = given || dim_mentions(v->ix[x]->extent, name);
            }
        if (given)
            continue;
        span at = dim_place(in, name);
        diag *d = diag_error(
            s->ds, at.file ? at : in->call,
            "the dimension %s must be known when compiling: nothing gives it a size", name);
        diag_note(d, in->call, "no input and no param of this model has it");
        diag_help(d, "fix it by `dim %s = 8` or -D %s=8, or take it as an argument `%s: int`", name,
                  name, name);
    }
}

static void check_entry(sema *s, module *m, module *scratch, const ast_decl *model, bool check_only)
{
    inst *in;
    graph *g = compile_entry(s, m, scratch, model, check_only, &in);
    if (g)
        check_causal(s, g, in);
    if (g && !check_only)
        check_sizes(s, g, in);
}

/* Constants of the file that nothing uses are checked as well. */
static void check_constants(sema *s, module *scratch, const ast_file *f)
{
    reset(s, scratch, "constants");
    inst top = {.s = s};
    env e = {.in = &top};
    for (size_t i = 0; i < f->n; i++) {
        entity n;
        if (f->decls[i]->kind == DECL_CONST)
            lookup(&e, f->decls[i]->name.s, &n);
    }
}

/* The names that -D can set. */
static const char *nearest_define(sema *s, const module *m, const char *name)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < m->graphs.n; i++)
        for (size_t k = 0; k < m->graphs.v[i]->symbols.n; k++)
            vec_push(s->a, &names, m->graphs.v[i]->symbols.v[k]);
    for (size_t i = 0; i < s->decls.n; i++) {
        const ast_decl *d = s->decls.v[i];
        if (d->kind == DECL_CONST)
            vec_push(s->a, &names, d->name.s);
        for (size_t k = 0; k < d->n_body; k++)
            if (d->body[k]->kind == STMT_CONST)
                vec_push(s->a, &names, d->body[k]->names[0].s);
    }
    return str_nearest(s->a, name, names.v, names.n);
}

/* A recurrence that is called but no entry itself must be causal as well; everything else about it
 * was said where it is called. */
static void check_called_recurrence(sema *s, module *scratch, const ast_decl *d)
{
    diags before = *s->ds;
    inst *in;
    graph *g = compile_entry(s, scratch, scratch, d, true, &in);
    *s->ds = before;
    if (before.last)
        before.last->next = NULL;
    if (g)
        check_causal(s, g, in);
}

/* `model run = f`: checked as a model already. */
static bool is_entry(const ast_file *f, const ast_decl *d)
{
    for (size_t i = 0; i < f->n; i++) {
        const ast_expr *e = f->decls[i]->kind == DECL_ALIAS ? f->decls[i]->e : NULL;
        if (e && e->kind == AST_CALL)
            e = e->a;
        if (e && e->kind == AST_NAME && e->name == d->name.s)
            return true;
    }
    return false;
}

static bool needs_functions(const ast_decl *d)
{
    for (size_t i = 0; i < d->n_formals; i++)
        if (d->formals[i].type.is_function && !d->formals[i].dflt)
            return true;
    return false;
}

module *frontend_compile(arena *a, strtab *names, source_set *sources, diags *ds, uint32_t file,
                         const frontend_options *o)
{
    size_t errors = ds->n_errors;
    sema *s = ARENA_NEW(a, sema);
    s->a = a;
    s->names = names;
    s->sources = sources;
    s->ds = ds;
    s->o = o;
    s->used_define = ARENA_ARRAY(a, bool, o->n_defines ? o->n_defines : 1);
    name_list loaded = {0};
    vec_push(a, &loaded, import_name(s, "", sources->files.v[file]->name));
    load_file(s, file, &loaded);
    if (ds->n_errors > errors)
        return NULL;
    module *m = module_new(a, names), *scratch = module_new(a, names);
    bool found = false;
    ast_file *main = s->files.v[0];
    VEC(const char *) models = {0};
    for (size_t i = 0; i < main->n; i++) {
        const ast_decl *d = main->decls[i];
        if ((d->kind != DECL_FUNC && d->kind != DECL_ALIAS) || strcmp(d->word.s, "model"))
            continue;
        vec_push(a, &models, d->name.s);
        if (o->entry && strcmp(o->entry, d->name.s))
            continue;
        found = true;
        check_entry(s, m, scratch, d, false);
    }
    if (o->entry && !found) {
        diag *d =
            diag_error(ds, (span){0}, "%s has no model %s", sources->files.v[file]->name, o->entry);
        const char *near = str_nearest(a, o->entry, models.v, models.n);
        if (near)
            diag_help(d, "did you mean %s?", near);
        else
            diag_help(d, models.n ? "attnc check lists the models"
                                  : "export a function: `model run[B] = f`");
    }
    check_constants(s, scratch, main);
    /* functions no model reaches are checked on their own */
    for (size_t i = 0; i < main->n && !o->entry && !s->exhausted; i++) {
        const ast_decl *d = main->decls[i];
        if (d->kind != DECL_FUNC || !strcmp(d->word.s, "model") || needs_functions(d))
            continue;
        bool used = false;
        for (size_t k = 0; k < s->reached.n; k++)
            used = used || s->reached.v[k] == d;
        if (!used)
            check_entry(s, m, scratch, d, true);
        else if (!strcmp(d->word.s, "recurrence") && ds->n_errors == errors && !is_entry(main, d))
            check_called_recurrence(s, scratch, d);
    }
    for (size_t i = 0; i < o->n_defines && ds->n_errors == errors; i++)
        if (!s->used_define[i] && m->graphs.n) {
            diag *d = diag_error(ds, (span){0}, "-D %s: nothing in %s has that name",
                                 o->defines[i].name, sources->files.v[file]->name);
            const char *near = nearest_define(s, m, o->defines[i].name);
            if (near)
                diag_help(d, "did you mean %s?", near);
            else
                diag_help(d, "-D sets a dimension or a `const`; inputs come from -i FILE");
        }
    return ds->n_errors > errors ? NULL : m;
}
