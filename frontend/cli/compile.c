/* compile.c: from graphs to code: passes, schedule, backend. What goes in is kept on disk where a
 * stage fails through a fault of ours. */
#include <string.h>

#include "frontend/cli/failure.h"
#include "frontend/cli/program.h"

static const span nowhere = {0};

static void note_time(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds)
{
    (void)g;
    (void)changed;
    phase_note(ctx, (phase_time){p->name, seconds, true});
}

void program_keep_graph(void *ctx, const pass_info *p, const graph *before)
{
    session *s = ctx;
    strbuf text = {.a = s->a};
    graph_print(before, &text);
    keep_failed(s, p->name, &text, "opt", arena_printf(s->a, "--passes=%s", p->name));
}

void program_keep_kernel(void *ctx, const pass_info *p, const strbuf *before)
{
    session *s = ctx;
    keep_failed(s, p->name, before, "opt", arena_printf(s->a, "--passes=%s", p->name));
}

static void note_kernel_time(void *ctx, const pass_info *p, const kernel *k, bool changed,
                             double seconds)
{
    (void)k;
    (void)changed;
    phase_note(ctx, (phase_time){p->name, seconds, true});
}

bool program_kernel_passes(session *s, const compile_options *c, kernel *k)
{
    pass_options o = c->passes;
    if (!o.after_kernel) {
        o.after_kernel = note_kernel_time;
        o.failed_kernel = program_keep_kernel;
        o.ctx = s;
    }
    return kernel_passes_run(k, &s->ds, &o);
}

bool program_optimise(session *s, const compile_options *c, program *p)
{
    pass_options o = c->passes;
    o.after = note_time;
    o.failed = program_keep_graph;
    o.ctx = s;
    phase_begin(s, "optimising");
    bool ok = true;
    for (size_t i = 0; i < p->graphs.n && ok; i++) {
        graph *g = p->graphs.v[i], *steps = p->steps ? g->step_graph : NULL;
        ok = passes_run(g, &s->ds, &o);
        if (ok && steps && steps != g)
            ok = graph_verify(steps, &s->ds, "of steps") && passes_run(steps, &s->ds, &o);
    }
    phase_end(s);
    return ok;
}

/* Whether a test wants this stage to fail. */
static void sabotage(const session *s, const char *stage)
{
    const char *wanted = opt_text(s, OPT_sabotage);
    if (wanted && strcmp(wanted, stage) == 0)
        ice("%s, as the test wants it", stage);
}

/* One kernel on its way out of a graph. */
typedef struct scheduling {
    session *s;
    const compile_options *c;
    const graph *g;
    const machine_shape *shape;
    bool steps; /* g is a step graph */
    kernel *k;  /* NULL: it failed */
} scheduling;

/* So that a command that repeats a failure compiles for the same machine. */
static const char *target_options(session *s, const backend_options *o)
{
    return arena_printf(s->a, "%s%s --target-cpu=%s", o->triple ? " --target=" : "",
                        o->triple ? o->triple : "", o->cpu ? o->cpu : "native");
}

static void keep_graph(void *ctx)
{
    const scheduling *x = ctx;
    strbuf text = {.a = x->s->a};
    graph_print(x->g, &text);
    keep_failed(x->s, "schedule", &text, "dump",
                arena_printf(x->s->a, "--stage=kernel --passes=%s%s", x->steps ? " --steps" : "",
                             target_options(x->s, &x->c->backend)));
}

static void schedule_and_verify(void *ctx)
{
    scheduling *x = ctx;
    session *s = x->s;
    kernel *k = x->steps ? schedule_step(s->a, x->g, x->shape, &s->ds, s->rule_hits)
                         : schedule(s->a, x->g, x->shape, &s->ds, s->rule_hits);
    sabotage(s, "ice:schedule");
    if (!k)
        return;
    if (kernel_verify(k, &s->ds, x->steps ? "of steps after schedule" : "after schedule"))
        x->k = k;
    else
        keep_graph(x);
}

static kernel *schedule_one(session *s, const compile_options *c, const machine_shape *shape,
                            const graph *g, bool steps)
{
    scheduling x = {.s = s, .c = c, .g = g, .shape = shape, .steps = steps};
    with_last_words(&s->m, schedule_and_verify, keep_graph, &x);
    return x.k && program_kernel_passes(s, c, x.k) ? x.k : NULL;
}

bool program_schedule(session *s, const compile_options *c, program *p)
{
    machine_shape shape;
    phase_begin(s, "scheduling");
    bool ok = backend_shape(&c->backend, &shape, &s->ds);
    for (size_t i = 0; i < p->graphs.n && ok; i++) {
        graph *g = p->graphs.v[i];
        kernel *k = schedule_one(s, c, &shape, g, false);
        ok = k != NULL;
        if (ok && p->steps && g->step_graph) {
            k->stepper = schedule_one(s, c, &shape, g->step_graph, true);
            ok = k->stepper != NULL;
        }
        if (ok)
            vec_push(s->a, &p->kernels, k);
    }
    phase_end(s);
    return ok;
}

/* Kernels on their way to code. */
typedef struct codegen {
    session *s;
    const compile_options *c;
    const program *p;
} codegen;

static void keep_kernels(void *ctx)
{
    const codegen *x = ctx;
    session *s = x->s;
    const char *options = arena_printf(s->a, "--stage=llvm -O%d%s", x->c->backend.level,
                                       target_options(s, &x->c->backend));
    for (size_t i = 0; i < x->p->kernels.n; i++) {
        strbuf text = {.a = s->a};
        kernel_print(x->p->kernels.v[i], &text);
        keep_failed(s, "compiling", &text, "dump", options);
    }
}

static void compile_kernels(void *ctx)
{
    const codegen *x = ctx;
    session *s = x->s;
    sabotage(s, "ice:compile");
    s->code = backend_compile(x->p->kernels.v, x->p->kernels.n, &x->c->backend, &s->ds);
}

bool program_codegen(session *s, const compile_options *c, const program *p)
{
    if (p->kernels.n == 0) {
        diag *d = diag_error(&s->ds, nowhere, "the file has no model");
        diag_help(d, "`model run[B] = f` exports the function f");
        return false;
    }
    codegen x = {s, c, p};
    phase_begin(s, "compiling");
    with_last_words(&s->m, compile_kernels, keep_kernels, &x);
    phase_end(s);
    return s->code != NULL;
}
