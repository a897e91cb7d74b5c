/* cmd_opt.c: `attnc opt`: IR text in, IR text out. */
#include "frontend/cli/program.h"

int cmd_opt(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    program p;
    bool ok = program_load(s, s->o.operands[0], &c, &p);
    if (ok && c.choose_passes) {
        c.passes.one_form = true; /* nothing is scheduled here */
        ok = program_optimise(s, &c, &p);
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
