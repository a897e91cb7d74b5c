/* module.c: files, declarations and entries: the frontend's one public function. */
#include "frontend/sema.h"
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

/* --- files
 * -------------------------------------------------------------------------------------------------------------
 */

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

static void import(sema *s, const ast_decl *d, const source *from, name_list *loaded)
{
    const char *path = d->name.s;
    size_t size = 0;
    const char *text = find_std(path, &size), *name = path;
    if (text)
        name = arena_printf(s->a, "<%s>", path);
    else if (s->o->load)
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
    for (size_t i = 0; i < loaded->n; i++)
        if (!strcmp(loaded->v[i], name))
            return;
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

/* --- entries
 * -------------------------------------------------------------------------------------------------------------
 */

static void reset(sema *s, module *scratch, const char *name)
{
    s->g = graph_new(scratch, name, s->o->real);
    s->tensors.n = s->insts.n = s->sites.n = s->binds.n = s->pending.n = 0;
    s->rigid.n = s->pool.n = s->params.n = s->owners.n = 0;
    s->trial = 0;
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

static graph *compile_entry(sema *s, module *m, module *scratch, const ast_decl *model,
                            bool check_only)
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
            diag_error(s->ds, model->e->at, "%s is an operator, a model needs a function",
                       r->builtin);
            return NULL;
        }
        *f = *r;
        f->pattern = "{}";
        f->path = "";
        d = f->decl;
    }
    f->decl = d;
    inst *in = inst_entry(s, d, f, model);
    if (!in)
        return NULL;
    inst_check(in);
    for (size_t i = 0; i < s->insts.n; i++) /* grows while it runs */
        inst_check(s->insts.v[i]);
    dims_settle(s, true);
    if (s->ds->n_errors > errors || check_only)
        return NULL;
    graph *g = to_ir(s, m, in, model);
    if (!g && s->ds->n_errors == errors)
        ice("no graph for %s and no message", model->name.s);
    return g;
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
    vec_push(a, &loaded, sources->files.v[file]->name);
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
        compile_entry(s, m, scratch, d, false);
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
    /* functions no model reaches are checked on their own */
    for (size_t i = 0; i < main->n && !o->entry; i++) {
        const ast_decl *d = main->decls[i];
        if (d->kind != DECL_FUNC || !strcmp(d->word.s, "model") || needs_functions(d))
            continue;
        bool used = false;
        for (size_t k = 0; k < s->reached.n; k++)
            used = used || s->reached.v[k] == d;
        if (!used)
            compile_entry(s, m, scratch, d, true);
    }
    for (size_t i = 0; i < o->n_defines && ds->n_errors == errors; i++)
        if (!s->used_define[i] && m->graphs.n) {
            diag *d = diag_error(ds, (span){0}, "-D %s: nothing in %s has that name",
                                 o->defines[i].name, sources->files.v[file]->name);
            diag_help(d, "-D sets a dimension or a `const` of the entry");
        }
    return ds->n_errors > errors ? NULL : m;
}
