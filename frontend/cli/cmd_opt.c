/* cmd_opt.c: `attnc opt`: IR text in, IR text out. */
#include <string.h>

#include "frontend/cli/program.h"

/* A graph is not scheduled here, so a pass named for the other form is a mistake. */
static bool fits_form(session *s, const char *names, bool kernels)
{
    for (size_t i = 0; names && i < pass_count; i++) {
        const pass_info *p = &pass_table[i];
        const char *at = strstr(names, p->name);
        size_t n = strlen(p->name);
        bool named = at && (at == names || strchr(", ", at[-1])) && strchr(", ", at[n]);
        if (!named || (p->run == NULL) == kernels)
            continue;
        diag *d = diag_error(&s->ds, (span){0}, "the pass %s works on %s, and this is a %s",
                             p->name, kernels ? "graphs" : "kernels", kernels ? "kernel" : "graph");
        if (!kernels)
            diag_help(d, "`attnc dump --stage=kernel` makes a kernel of a graph");
        return false;
    }
    return true;
}

int cmd_opt(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    program p;
    bool ok = program_load(s, s->o.operands[0], &c, &p);
    if (ok && c.choose_passes) {
        ok = fits_form(s, c.passes.only, p.kernels.n > 0) && program_optimise(s, &c, &p);
        for (size_t i = 0; i < p.kernels.n && ok; i++)
            ok = program_kernel_passes(s, &c, p.kernels.v[i]);
    }
    if (session_report(s) || !ok)
        return 1;
    strbuf out = {.a = s->a};
    for (size_t i = 0; i < p.graphs.n; i++) {
        if (i)
            sb_puts(&out, "\n");
        graph_print(p.graphs.v[i], &out);
    }
    for (size_t i = 0; i < p.kernels.n; i++)
        kernel_print(p.kernels.v[i], &out);
    return session_print(s, &out) ? 0 : 1;
}
