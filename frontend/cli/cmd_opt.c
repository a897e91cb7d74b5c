/* cmd_opt.c: `attnc opt`: IR text in, IR text out. */
#include "frontend/cli/program.h"

int cmd_opt(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    program p;
    bool ok = program_load(s, s->o.operands[0], &c, &p);
    if (ok && c.choose_passes && p.kernels.n) {
        diag *d = diag_error(&s->ds, (span){0}, "passes work on graphs, and this is a kernel");
        diag_help(d, "without --passes the kernel is read, verified and printed");
    } else if (ok && c.choose_passes) {
        ok = program_optimise(s, &c, &p);
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
