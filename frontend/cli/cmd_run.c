/* cmd_run.c: `attnc run`: one model on tensors from files. */
#include <string.h>

#include "frontend/cli/bind.h"
#include "frontend/cli/program.h"

static const span nowhere = {0};

/* Row number `row` of the outputs belongs to which result, and what its axes are called. NULL
 * without a graph. */
static const char *const *axis_names(session *s, const graph *g, const binding *b, int64_t row)
{
    if (!g)
        return NULL;
    int64_t before = 0;
    for (int64_t i = 0; i < row; i++)
        before += b->info->tensors[i].role == ATTN_OUTPUT;
    for (size_t k = 0; k < g->results.n; k++) {
        const graph_result *r = &g->results.v[k];
        int64_t members = 1, each;
        for (uint32_t i = 0; i < r->n_family; i++)
            members *= dim_is_const(r->axes[i]->extent, &each) ? each : 1;
        if (before >= members) {
            before -= members;
            continue;
        }
        const char **names = ARENA_ARRAY(s->a, const char *, r->n_axes);
        for (uint32_t i = r->n_family; i < r->n_axes; i++)
            names[i - r->n_family] = r->axes[i]->name;
        return names;
    }
    return NULL;
}

/* A result that --heat names. */
static bool is_heat(const session *s, const char *name)
{
    const option_value *v = &s->o.o[OPT_heat];
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(v->items[i], name) == 0)
            return true;
    }
    return false;
}

static void check_heat(session *s, const attn_model_info *info)
{
    const option_value *v = &s->o.o[OPT_heat];
    const char **names = ARENA_ARRAY(s->a, const char *, (size_t)info->n_tensors);
    size_t n = 0;
    for (int64_t i = 0; i < info->n_tensors; i++) {
        if (info->tensors[i].role == ATTN_OUTPUT)
            names[n++] = info->tensors[i].name;
    }
    for (size_t i = 0; i < v->n; i++) {
        size_t k = 0;
        while (k < n && strcmp(names[k], v->items[i]) != 0)
            k++;
        if (k == n)
            report_unknown_name(s, "result", v->items[i], names, n);
    }
}

/* Before the work: can the results go where they are wanted? */
static void check_output(session *s, const attn_model_info *info)
{
    const char *path = opt_text(s, OPT_outputs);
    if (!path)
        return;
    attn_io_format f = attn_io_format_of(path);
    if (f == ATTN_IO_UNKNOWN) {
        diag *d =
            diag_error(&s->ds, nowhere, "-o %s: the name does not say which format to write", path);
        diag_help(d, "end it in .safetensors, .npz or .npy, or in / for a folder");
    }
    int64_t n = 0;
    for (int64_t i = 0; i < info->n_tensors; i++)
        n += info->tensors[i].role == ATTN_OUTPUT;
    if (f == ATTN_IO_NPY && n != 1) {
        diag *d = diag_error(&s->ds, nowhere,
                             "-o %s: an .npy holds one tensor, and the model has %lld results",
                             path, (long long)n);
        diag_help(d, "write .npz, .safetensors or a folder");
    }
}

static bool write_results(session *s)
{
    const char *path = opt_text(s, OPT_outputs);
    phase_begin(s, "writing results");
    attn_io_status status = attn_io_write(path, &s->results, &s->text);
    phase_end(s);
    if (status == ATTN_IO_NOMEM)
        session_no_memory(s);
    if (status != ATTN_IO_OK)
        diag_error(&s->ds, nowhere, "%s", attn_text_cstr(&s->text));
    return status == ATTN_IO_OK;
}

static void show_results(session *s, const graph *g, const binding *b, strbuf *out)
{
    bool file = opt_set(s, OPT_outputs);
    for (int64_t i = 0; i < b->info->n_tensors; i++) {
        const attn_tensor_info *t = &b->info->tensors[i];
        if (t->role != ATTN_OUTPUT || (file && !is_heat(s, t->name)))
            continue;
        if (out->n)
            sb_puts(out, "\n");
        const char *const *axes = axis_names(s, g, b, i);
        (is_heat(s, t->name) ? show_heat : show_result)(s, bind_tensor(b, i), axes, out);
    }
}

static bool run_compiled(session *s, const compile_options *c, program *p, const binding *b)
{
    if (!program_optimise(s, c, p) || !program_schedule(s, c, p) || !program_codegen(s, c, p))
        return false;
    phase_begin(s, "generating code");
    backend_entry e;
    bool ok = backend_jit(s->code, p->kernels.v[0]->name, &e, &s->ds);
    phase_end(s);
    if (!ok)
        return false;
    return opt_set(s, OPT_steps) ? run_steps(s, &e, b, opt_text(s, OPT_steps))
                                 : run_native(s, &e, b);
}

/* Everything; `out` gets what is to be shown, before a file is written: after that no memory is
 * asked for. */
static bool run_model(session *s, const compile_options *c, strbuf *out)
{
    program p;
    if (!program_load(s, s->o.operands[0], c, &p) || !program_one_model(s, &p))
        return false;
    const graph *g = p.graphs.n ? p.graphs.v[0] : NULL;
    kernel *k = g ? kernel_from_signature(s->a, g) : p.kernels.v[0];
    if (k->rows) {
        diag_error(&s->ds, nowhere, "the file holds a step kernel alone, which nothing can run");
        return false;
    }
    const attn_model_info *info = backend_info(s->a, k);
    check_heat(s, info);
    check_output(s, info);
    binding b;
    if (s->ds.n_errors || !bind_tensors(s, info, &b))
        return false;
    if (opt_set(s, OPT_steps) && (!g || !g->step_graph)) {
        if (g)
            report_no_steps(s, g);
        else
            diag_error(&s->ds, nowhere, "--steps runs models and graphs, and this is a kernel");
        return false;
    }
    if (!opt_set(s, OPT_interp)) {
        if (!run_compiled(s, c, &p, &b))
            return false;
    } else if (g) {
        if (!run_interp(s, g, &b))
            return false;
    } else {
        diag_error(&s->ds, nowhere, "--interp runs graphs, and this is a kernel");
        return false;
    }
    show_results(s, g, &b, out);
    return !opt_set(s, OPT_outputs) || write_results(s);
}

int cmd_run(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    if (opt_set(s, OPT_interp) && c.choose_passes)
        return usage_error(CMD_run,
                           "--interp runs the unoptimised graph; leave the options for passes out");
    if (opt_set(s, OPT_interp) && opt_set(s, OPT_steps))
        return usage_error(CMD_run, "--interp runs the whole sequence at once; leave --steps out");
    if (!known_cuts(opt_text(s, OPT_steps)))
        return usage_error(CMD_run, "--steps takes numbers from 1 with commas, not '%s'",
                           opt_text(s, OPT_steps));
    strbuf out = {.a = s->a};
    bool ok = run_model(s, &c, &out);
    if (session_report(s) || !ok)
        return 1;
    return session_print(s, &out) ? 0 : 1;
}
