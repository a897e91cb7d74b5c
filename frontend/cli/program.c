/* program.c: the way through the compiler that all commands share. */
#include "frontend/cli/program.h"

#include <string.h>

#include "frontend/cli/files.h"

static const span nowhere = {0};

void report_unknown_name(session *s, const char *what, const char *name,
                         const char *const *candidates, size_t n)
{
    diag *d = diag_error(&s->ds, nowhere, "there is no %s named '%s'", what, name);
    const char *near = str_nearest(s->a, name, candidates, n);
    if (near) {
        diag_help(d, "did you mean '%s'?", near);
    } else if (n && n <= 12) {
        strbuf all = {.a = s->a};
        for (size_t i = 0; i < n; i++)
            sb_printf(&all, "%s%s", i ? ", " : "", candidates[i]);
        diag_note(d, nowhere, "there %s %s", n == 1 ? "is only" : "are", sb_text(&all));
    }
}

/* -D NAME=VALUE, each. */
static bool read_defines(session *s, frontend_options *f)
{
    const option_value *v = &s->o.o[OPT_define];
    frontend_define *all = ARENA_ARRAY(s->a, frontend_define, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const char *equals = strchr(v->items[i], '=');
        if (!equals || equals == v->items[i] || !equals[1]) {
            usage_error(s->o.command, "-D takes NAME=VALUE, not '%s'", v->items[i]);
            return false;
        }
        all[i].name = arena_strndup(s->a, v->items[i], (size_t)(equals - v->items[i]));
        all[i].value = equals + 1;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(all[k].name, all[i].name) == 0) {
                usage_error(s->o.command, "-D %s is given twice", all[i].name);
                return false;
            }
        }
    }
    f->n_defines = v->n;
    f->defines = all;
    return true;
}

/* What `run` and `bench` compile is made for this processor; what is kept runs on others of its
 * kind too, and looks the same wherever it is made. */
static const char *portable_cpu(const char *triple)
{
#if defined __x86_64__
    bool x86 = !triple || strncmp(triple, "x86_64", 6) == 0;
    bool arm = triple && strncmp(triple, "aarch64", 7) == 0;
#else
    bool x86 = triple && strncmp(triple, "x86_64", 6) == 0;
    bool arm = !triple || strncmp(triple, "aarch64", 7) == 0;
#endif
    return x86 ? "x86-64-v2" : arm ? "generic" : NULL;
}

bool compile_options_read(session *s, compile_options *c)
{
    const char *real = opt_text(s, OPT_real);
    if (real && strcmp(real, "f32") != 0 && strcmp(real, "f64") != 0) {
        usage_error(s->o.command, "--real takes f32 or f64, not '%s'", real);
        return false;
    }
    long level = opt_number(s, OPT_level, 2);
    if (level > 3) {
        usage_error(s->o.command, "-O takes a level from 0 to 3, not %ld", level);
        return false;
    }
    *c = (compile_options){
        .frontend = {.real = real && strcmp(real, "f64") == 0 ? DT_F64 : DT_F32,
                     .entry = opt_text(s, OPT_entry),
                     .load = file_load_import,
                     .ctx = s},
        .passes = {.only = opt_text(s, OPT_passes),
                   .disabled = opt_text(s, OPT_disable),
                   .stop_after = opt_text(s, OPT_stop),
                   .start_from = opt_text(s, OPT_start),
                   .limit = opt_number(s, OPT_limit, -1),
                   .verify = true,
                   .hits = s->rule_hits,
                   .sabotage = opt_text(s, OPT_sabotage)},
        .choose_passes = opt_set(s, OPT_passes) || opt_set(s, OPT_disable) ||
                         opt_set(s, OPT_stop) || opt_set(s, OPT_start) || opt_set(s, OPT_limit),
        .backend = {.triple = opt_text(s, OPT_target),
                    .cpu = opt_text(s, OPT_cpu),
                    .level = (int)level},
    };
    c->steps = s->o.command == CMD_build || opt_set(s, OPT_steps) || opt_set(s, OPT_step_graphs);
    command_id command = s->o.command;
    bool here = command == CMD_run || command == CMD_bench || command == CMD_explain;
    if (!c->backend.cpu && !here)
        c->backend.cpu = portable_cpu(c->backend.triple);
    return read_defines(s, &c->frontend);
}

/* The first word of IR text, behind blanks and comments. */
static bool is_kernel_text(const source *src)
{
    const char *t = src->text, *end = t + src->size;
    while (t < end) {
        if (*t == ';') {
            while (t < end && *t != '\n')
                t++;
        } else if (*t == ' ' || *t == '\t' || *t == '\n' || *t == '\r') {
            t++;
        } else {
            break;
        }
    }
    return end - t > 6 && memcmp(t, "kernel", 6) == 0;
}

static bool load_ir(session *s, uint32_t file, program *p)
{
    p->from_ir = true;
    if (is_kernel_text(s->sources.files.v[file])) {
        kernel *k = kernel_parse(s->a, s->names, &s->ds, file);
        if (!k || !kernel_verify(k, &s->ds, "as read"))
            return false;
        vec_push(s->a, &p->kernels, k);
        return true;
    }
    module *m = module_parse(s->a, s->names, &s->ds, file);
    if (!m)
        return false;
    bool ok = true;
    for (size_t i = 0; i < m->graphs.n; i++) {
        ok = graph_verify(m->graphs.v[i], &s->ds, "as read") && ok;
        if (m->graphs.v[i]->step) /* it is an ordinary graph, too */
            m->graphs.v[i]->step_graph = m->graphs.v[i];
        vec_push(s->a, &p->graphs, m->graphs.v[i]);
    }
    return ok;
}

/* Leaves only the entry asked for. */
static bool choose_entry(session *s, const char *entry, program *p)
{
    const char **names = ARENA_ARRAY(s->a, const char *, p->graphs.n + p->kernels.n);
    size_t n = 0;
    for (size_t i = 0; i < p->graphs.n; i++) {
        names[n++] = p->graphs.v[i]->name;
        if (strcmp(p->graphs.v[i]->name, entry) == 0) {
            p->graphs.v[0] = p->graphs.v[i];
            p->graphs.n = 1;
            return true;
        }
    }
    for (size_t i = 0; i < p->kernels.n; i++) {
        names[n++] = p->kernels.v[i]->name;
        if (strcmp(p->kernels.v[i]->name, entry) == 0) {
            p->kernels.v[0] = p->kernels.v[i];
            p->kernels.n = 1;
            return true;
        }
    }
    report_unknown_name(s, "model", entry, names, n);
    return false;
}

bool program_load(session *s, const char *path, const compile_options *c, program *p)
{
    phase_begin(s, "reading the program");
    uint32_t file = file_add_source(s, path);
    phase_end(s);
    *p = (program){.file = file, .steps = c->steps};
    if (!file)
        return false;
    phase_begin(s, "parsing");
    bool ok;
    if (file_is_ir(path) || s->o.command == CMD_opt) {
        ok = load_ir(s, file, p);
    } else {
        module *m = frontend_compile(s->a, s->names, &s->sources, &s->ds, file, &c->frontend);
        ok = m != NULL;
        for (size_t i = 0; m && i < m->graphs.n; i++)
            vec_push(s->a, &p->graphs, m->graphs.v[i]);
    }
    phase_end(s);
    if (ok && c->frontend.entry)
        ok = choose_entry(s, c->frontend.entry, p);
    return ok && s->ds.n_errors == 0;
}

bool program_one_model(session *s, const program *p)
{
    size_t n = p->graphs.n + p->kernels.n;
    if (n == 1)
        return true;
    if (n == 0) {
        diag *d = diag_error(&s->ds, nowhere, "the file has no model to run");
        diag_help(d, "`model run[B] = f` exports the function f");
        return false;
    }
    strbuf names = {.a = s->a};
    for (size_t i = 0; i < p->graphs.n; i++)
        sb_printf(&names, "%s%s", i ? ", " : "", p->graphs.v[i]->name);
    diag *d = diag_error(&s->ds, nowhere, "the file has %zu models: %s", n, sb_text(&names));
    diag_help(d, "choose one with --entry NAME");
    return false;
}

void report_no_steps(session *s, const graph *g)
{
    if (!g->recurrence) {
        diag *d = diag_error(&s->ds, nowhere, "the model %s has no steps", g->name);
        diag_help(d, "`recurrence f(x: [T, E]) -> ...` declares a function with steps along T");
        return;
    }
    diag *d = diag_error(&s->ds, nowhere, "the model %s cannot be run step by step", g->name);
    if (g->why_no_steps)
        diag_note(d, nowhere, "%s", g->why_no_steps);
}

bool program_take_steps(session *s, program *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->graphs.n; i++) {
        graph *g = p->graphs.v[i]->step_graph;
        if (g) {
            g->step_graph = g;
            p->graphs.v[n++] = g;
        } else if (p->graphs.v[i]->recurrence || p->graphs.n == 1) {
            report_no_steps(s, p->graphs.v[i]);
        }
    }
    p->graphs.n = n;
    return s->ds.n_errors == 0;
}
