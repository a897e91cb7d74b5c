/* cmd_dump.c: `attnc dump`: the intermediate forms as text. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/cli/files.h"
#include "frontend/cli/program.h"

typedef enum stage { STAGE_GRAPH, STAGE_KERNEL, STAGE_LLVM, STAGE_ASM, STAGE_COUNT } stage;
static const char *const stage_text[STAGE_COUNT] = {"graph", "kernel", "llvm", "asm"};

typedef struct dumper {
    session *s;
    compile_options c;
    program p;
    strbuf out;
    const char *dir; /* --dump-dir */
    bool each;       /* ... and not dir, which has them all */
    int number;      /* of the next file in dir */
    size_t graph;    /* the one the pass manager works on */
    bool failed;     /* a file could not be written */
} dumper;

static void put_graph(dumper *d, const graph *g, strbuf *out)
{
    if (opt_set(d->s, OPT_dot))
        graph_print_dot(g, out);
    else
        graph_print(g, out);
}

/* A file of --dump-dir: NN-ENTRY-STAGE.EXTENSION; the entry is left out where it is not needed. */
static void put_file(dumper *d, const char *entry, const char *what, const char *extension,
                     strbuf *text)
{
    session *s = d->s;
    const char *path = arena_printf(s->a, "%s/%02d%s%s-%s.%s", d->dir, d->number++,
                                    entry ? "-" : "", entry ? entry : "", what, extension);
    if (!d->failed && !file_write(s, path, sb_text(text), text->n))
        d->failed = true;
}

static const char *entry_label(const dumper *d)
{
    return d->p.graphs.n > 1 ? d->p.graphs.v[d->graph]->name : NULL;
}

/* After a pass (NULL: before the first). */
static void put_stage(dumper *d, const graph *g, const pass_info *pass, bool changed)
{
    const char *name = pass ? pass->name : "graph";
    const char *comment = opt_set(d->s, OPT_dot) ? "//" : ";";
    if (d->dir) {
        strbuf text = {.a = d->s->a};
        put_graph(d, g, &text);
        put_file(d, entry_label(d), name, opt_set(d->s, OPT_dot) ? "dot" : "ir", &text);
    }
    if (!d->each)
        return;
    sb_printf(&d->out, "%s %s%s%s\n", comment,
              pass ? "after " : "before the passes: ", pass ? name : g->name,
              changed ? "" : " (unchanged)");
    if (changed) {
        put_graph(d, g, &d->out);
        sb_puts(&d->out, "\n");
    }
}

static void after_pass(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds)
{
    dumper *d = ctx;
    phase_note(d->s, (phase_time){p->name, seconds, true});
    put_stage(d, g, p, changed);
}

static void keep_graph(void *ctx, const pass_info *p, const graph *before)
{
    const dumper *d = ctx;
    program_keep_graph(d->s, p, before);
}

static void after_kernel_pass(void *ctx, const pass_info *p, const kernel *k, bool changed,
                              double seconds)
{
    dumper *d = ctx;
    phase_note(d->s, (phase_time){p->name, seconds, true});
    if (d->each) {
        sb_printf(&d->out, "; after %s%s\n", p->name, changed ? "" : " (unchanged)");
        if (changed) {
            kernel_print(k, &d->out);
            sb_puts(&d->out, "\n");
        }
    }
    if (!d->dir)
        return;
    strbuf text = {.a = d->s->a};
    if (changed)
        kernel_print(k, &text);
    else
        sb_printf(&text, "; %s changes nothing\n", p->name);
    put_file(d, d->p.graphs.n > 1 ? k->name : NULL, p->name, "ir", &text);
}

static void after_choice(void *ctx, const pass_info *p, double seconds)
{
    const dumper *d = ctx;
    phase_note(d->s, (phase_time){p->name, seconds, true});
}

static void keep_scheduled(void *ctx, const graph *before, const char *passes)
{
    const dumper *d = ctx;
    program_keep_scheduled(d->s, before, passes);
}

static void keep_kernel(void *ctx, const pass_info *p, const strbuf *before)
{
    const dumper *d = ctx;
    program_keep_kernel(d->s, p, before);
}

static bool optimise(dumper *d)
{
    d->c.passes.after = after_pass;
    d->c.passes.failed = keep_graph;
    d->c.passes.after_choice = after_choice;
    d->c.passes.failed_schedule = keep_scheduled;
    d->c.passes.after_kernel = after_kernel_pass;
    d->c.passes.failed_kernel = keep_kernel;
    d->c.passes.ctx = d;
    phase_begin(d->s, "optimising");
    bool ok = true;
    for (d->graph = 0; ok && d->graph < d->p.graphs.n; d->graph++) {
        graph *g = d->p.graphs.v[d->graph];
        put_stage(d, g, NULL, true);
        ok = passes_run(g, &d->s->ds, &d->c.passes);
    }
    phase_end(d->s);
    return ok && !d->failed;
}

static const pass_info *known_pass(session *s, const char *name)
{
    const char **names = ARENA_ARRAY(s->a, const char *, pass_count);
    for (size_t i = 0; i < pass_count; i++) {
        names[i] = pass_table[i].name;
        if (strcmp(names[i], name) == 0)
            return &pass_table[i];
    }
    report_unknown_name(s, "pass", name, names, pass_count);
    return NULL;
}

static void print_kernels(dumper *d)
{
    for (size_t i = 0; i < d->p.kernels.n; i++) {
        if (i)
            sb_puts(&d->out, "\n");
        kernel_print(program_shown(d->s, d->p.kernels.v[i]), &d->out);
    }
    if (d->dir)
        put_file(d, NULL, "kernel", "ir", &d->out);
}

static bool print_code(dumper *d, stage st)
{
    session *s = d->s;
    if (!s->code && !program_codegen(s, &d->c, &d->p))
        return false;
    if (!(st == STAGE_ASM ? backend_print_asm : backend_print_llvm)(s->code, &d->out, &s->ds))
        return false;
    if (d->dir)
        put_file(d, NULL, stage_text[st], st == STAGE_ASM ? "s" : "ll", &d->out);
    return true;
}

/* Everything up to `last`, the files of --dump-dir on the way. Leaves in d->out what is printed. */
static bool walk(dumper *d, stage last)
{
    session *s = d->s;
    bool passes = last > STAGE_GRAPH || d->c.choose_passes || d->each || d->dir;
    if (passes && d->p.graphs.n && !optimise(d))
        return false;
    if (last == STAGE_GRAPH) {
        if (d->p.kernels.n) {
            diag *g =
                diag_error(&s->ds, (span){0}, "the file holds a kernel: there is no graph to dump");
            diag_help(g, "the stages behind it are kernel, llvm and asm");
            return false;
        }
        for (size_t i = 0; !d->each && i < d->p.graphs.n; i++) {
            if (i)
                sb_puts(&d->out, "\n");
            put_graph(d, d->p.graphs.v[i], &d->out);
        }
        return true;
    }
    if (!program_schedule(s, &d->c, &d->p))
        return false;
    for (int st = STAGE_KERNEL; st <= (int)last; st++) {
        if (st != (int)last && !d->dir)
            continue;
        if (!d->each)
            d->out.n = 0; /* of an earlier stage: only the last one is printed */
        if (st == STAGE_KERNEL && d->each && d->p.graphs.n)
            continue; /* the last of those that were shown */
        if (st == STAGE_KERNEL)
            print_kernels(d);
        else if (!print_code(d, (stage)st))
            return false;
    }
    return true;
}

int cmd_dump(session *s)
{
    dumper d = {.s = s, .out = {.a = s->a}, .dir = opt_text(s, OPT_dump_dir)};
    d.each = opt_set(s, OPT_each) && !d.dir;
    if (!compile_options_read(s, &d.c))
        return 2;
    stage last = d.dir ? STAGE_ASM : STAGE_GRAPH;
    const char *wanted = opt_text(s, OPT_stage);
    if (wanted) {
        for (last = STAGE_GRAPH; last < STAGE_COUNT && strcmp(stage_text[last], wanted) != 0;)
            last = (stage)(last + 1);
        if (last == STAGE_COUNT)
            return usage_error(CMD_dump, "--stage takes graph, kernel, llvm or asm, not '%s'",
                               wanted);
    }
    if (opt_set(s, OPT_dot) && last != STAGE_GRAPH)
        return usage_error(CMD_dump, "--dot draws graphs; give --stage=graph with it");
    if (d.each && last > STAGE_KERNEL)
        return usage_error(CMD_dump,
                           "--each shows graphs and kernels; give --stage=graph or kernel with it");
    const char *after = opt_text(s, OPT_after);
    if (after && (opt_set(s, OPT_stop) || d.each || last != STAGE_GRAPH))
        return usage_error(CMD_dump,
                           "--after prints one form; leave --stop-after, --each and --stage out");
    if (after) {
        d.c.passes.stop_after = after;
        d.c.choose_passes = true;
    }

    const pass_info *pass = after ? known_pass(s, after) : NULL;
    bool ok = !after || pass;
    if (pass && pass->kind != PASS_GRAPH)
        last = STAGE_KERNEL;
    if (ok && d.dir && mkdir(d.dir, 0777) != 0 && errno != EEXIST) {
        diag_error(&s->ds, (span){0}, "cannot make the folder %s: %s", d.dir, strerror(errno));
        ok = false;
    }
    ok = ok && program_load(s, s->o.operands[0], &d.c, &d.p);
    if (ok && opt_set(s, OPT_step_graphs))
        ok = program_take_steps(s, &d.p);
    ok = ok && walk(&d, last);
    if (session_report(s) || !ok)
        return 1;
    if (d.dir) {
        d.out.n = 0;
        sb_printf(&d.out, "%d files in %s\n", d.number, d.dir);
    }
    return session_print(s, &d.out) ? 0 : 1;
}
