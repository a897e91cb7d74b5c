/* cmd_check.c: `attnc check`: reports, nothing else. */
#include <string.h>

#include "frontend/cli/program.h"

/* Functions written in the file, aliases counted as the models they are. */
static void count(session *s, uint32_t file, size_t *functions, size_t *models)
{
    diags quiet;
    diags_init(&quiet, s->a, &s->sources);
    quiet.muted = 1;
    const ast_file *f = ast_parse(s->a, s->names, &quiet, file);
    for (size_t i = 0; i < f->n; i++) {
        const ast_decl *d = f->decls[i];
        if (d->kind != DECL_FUNC && d->kind != DECL_ALIAS)
            continue;
        if (strcmp(d->word.s, "model") == 0)
            ++*models;
        else
            ++*functions;
    }
}

static int check_one(session *s, const char *path, const compile_options *c, bool several)
{
    strbuf out = {.a = s->a};
    program p;
    bool ok = program_load(s, path, c, &p);
    int code = session_report(s);
    if (!ok || code)
        return 1;
    size_t functions = 0, models = 0;
    if (p.from_ir)
        models = p.graphs.n + p.kernels.n;
    else
        count(s, p.file, &functions, &models);
    if (several)
        sb_printf(&out, "%s: ", path);
    sb_printf(&out, "ok: %zu function%s, %zu model%s\n", functions, functions == 1 ? "" : "s",
              models, models == 1 ? "" : "s");
    return session_print(s, &out) ? 0 : 1;
}

int cmd_check(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    int code = 0;
    for (size_t i = 0; i < s->o.n_operands; i++) {
        if (check_one(s, s->o.operands[i], &c, s->o.n_operands > 1))
            code = 1;
    }
    return code;
}
