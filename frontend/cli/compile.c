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

static void note_choice_time(void *ctx, const pass_info *p, double seconds)
{
    phase_note(ctx, (phase_time){p->name, seconds, true});
}

/* How what comes behind the graphs is watched, unless the command does that itself. */
static pass_options watched(session *s, const compile_options *c)
{
    pass_options o = c->passes;
    if (o.after_kernel)
        return o;
    o.after_choice = note_choice_time;
    o.after_kernel = note_kernel_time;
    o.failed_schedule = program_keep_scheduled;
    o.failed_kernel = program_keep_kernel;
    o.ctx = s;
    return o;
}

bool program_kernel_passes(session *s, const compile_options *c, kernel *k)
{
    const pass_options o = watched(s, c);
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

/* So that a command that repeats a failure compiles for the same machine. */
static const char *target_options(session *s, const backend_options *o)
{
    return arena_printf(s->a, "%s%s --target-cpu=%s", o->triple ? " --target=" : "",
                        o->triple ? o->triple : "", o->cpu ? o->cpu : "native");
}

void program_keep_scheduled(void *ctx, const graph *before, const char *passes)
{
    session *s = ctx;
    strbuf text = {.a = s->a};
    graph_print(before, &text);
    keep_failed(s, "schedule", &text, "opt",
                arena_printf(s->a, "--passes=%s%s", passes, s->scheduled_for));
}

/* A kernel with all that is done to it; steps: g is a step graph. */
static kernel *schedule_one(session *s, const compile_options *c, const machine_shape *shape,
                            graph *g, bool steps)
{
    const pass_options o = watched(s, c);
    s->scheduled_for =
        arena_printf(s->a, "%s%s", steps ? " --steps" : "", target_options(s, &c->backend));
    kernel *k =
        schedule_run(s->a, g, (schedule_options){.shape = *shape, .steps = steps}, &s->ds, &o);
    return k && program_kernel_passes(s, c, k) ? k : NULL;
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

const kernel *program_shown(const session *s, const kernel *k)
{
    return opt_set(s, OPT_step_graphs) && k->stepper ? k->stepper : k;
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
    const char *sabotage = opt_text(s, OPT_sabotage);
    if (sabotage && strcmp(sabotage, "ice:compile") == 0)
        ice("%s, as the test wants it", sabotage);
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
