/* cmd_opt.c: `attnc opt`: IR text in, IR text out. */
#include "frontend/cli/program.h"

/* The passes; where they name the schedule, the graphs become kernels. */
static bool apply(session *s, compile_options *c, program *p)
{
    c->passes.strict = true;
    for (size_t i = 0; i < p->kernels.n; i++) {
        if (!program_kernel_passes(s, c, p->kernels.v[i]))
            return false;
    }
    if (p->graphs.n == 0)
        return true;
    if (!program_optimise(s, c, p))
        return false;
    if (!pass_list_has(c->passes.only, "schedule"))
        return true;
    c->passes.strict = false; /* it has been looked at */
    bool ok = program_schedule(s, c, p);
    p->graphs.n = 0;
    return ok;
}

int cmd_opt(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    program p;
    bool ok = program_load(s, s->o.operands[0], &c, &p);
    if (ok && opt_set(s, OPT_step_graphs))
        ok = program_take_steps(s, &p);
    if (ok && c.choose_passes)
        ok = apply(s, &c, &p);
    if (session_report(s) || !ok)
        return 1;
    strbuf out = {.a = s->a};
    for (size_t i = 0; i < p.graphs.n; i++) {
        if (i)
            sb_puts(&out, "\n");
        graph_print(p.graphs.v[i], &out);
    }
    for (size_t i = 0; i < p.kernels.n; i++) {
        if (i)
            sb_puts(&out, "\n");
        kernel_print(program_shown(s, p.kernels.v[i]), &out);
    }
    return session_print(s, &out) ? 0 : 1;
}
