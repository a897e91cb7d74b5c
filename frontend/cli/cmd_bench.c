/* cmd_bench.c: `attnc bench`: how fast a model runs, and how near that is to what the machine can.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "frontend/cli/json.h"
#include "frontend/cli/peak.h"
#include "frontend/cli/program.h"
#include "frontend/cli/quantity.h"
#include "passes/cost.h"

static const span nowhere = {0};

enum { MAX_CALLS = 100000 };

typedef struct measured {
    const graph *g; /* NULL: the file holds a kernel */
    binding b;
    cost work;
    double *times; /* sorted */
    size_t n_times;
    size_t workspace, prepared;
    int threads;
    double compile;          /* seconds from text to code */
    double flops, bandwidth; /* of the machine; 0: not known */
} measured;

static int compare_times(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool count_work(session *s, measured *m)
{
    const attn_model_info *info = m->b.info;
    int64_t *symbols;
    const char *missing = NULL;
    if (!m->g)
        return true;
    if (!cost_symbols(m->g, s->a, info->dim_names, m->b.dims, (size_t)info->n_dims, &symbols,
                      &missing))
        ice("the size %s, which the model does not list", missing);
    cost_of(m->g, s->a, symbols, &m->work);
    return true;
}

/* Calls until the time is up, three at least; the first is not counted. */
static bool measure_calls(session *s, const backend_entry *e, measured *m, const attn_exec *exec)
{
    const binding *b = &m->b;
    double limit = 1e-3 * (double)opt_number(s, OPT_least_time, 500);
    const void *const *params = (const void *const *)native_pointers(s, b, ATTN_PARAM);
    const void *const *inputs = (const void *const *)native_pointers(s, b, ATTN_INPUT);
    void *const *outputs = native_pointers(s, b, ATTN_OUTPUT);
    void *prepared = native_block(s, m->prepared), *workspace = native_block(s, m->workspace);
    m->times = ARENA_ARRAY(s->a, double, MAX_CALLS);
    attn_status status = e->prepare(b->dims, params, prepared);
    if (status == ATTN_OK)
        status = e->run(b->dims, params, prepared, inputs, outputs, workspace, exec);
    double start = session_clock();
    while (status == ATTN_OK && m->n_times < MAX_CALLS &&
           (m->n_times < 3 || session_clock() - start < limit)) {
        double before = session_clock();
        status = e->run(b->dims, params, prepared, inputs, outputs, workspace, exec);
        m->times[m->n_times++] = session_clock() - before;
    }
    if (status != ATTN_OK)
        return native_refused(s, b, status);
    qsort(m->times, m->n_times, sizeof *m->times, compare_times);
    return true;
}

static bool measure(session *s, const backend_entry *e, measured *m)
{
    attn_exec pool;
    const attn_exec *exec = native_threads(s, &pool, &m->threads);
    m->prepared = e->prepared(m->b.dims);
    m->workspace = e->workspace(m->b.dims, m->threads);
    if (m->prepared == SIZE_MAX || m->workspace == SIZE_MAX)
        return native_refused(s, &m->b, ATTN_DIM);
    bool f64 = m->g && m->g->real == DT_F64;
    phase_begin(s, "measuring");
    double before = peak_flops(exec, f64);
    bool ok = measure_calls(s, e, m, exec);
    double after = ok ? peak_flops(exec, f64) : 0;
    m->flops = before > after ? before : after;
    m->bandwidth = ok ? peak_bandwidth(s, exec) : 0;
    phase_end(s);
    return ok;
}

/* --- the report --- */

static double median(const measured *m)
{
    size_t n = m->n_times;
    return (m->times[(n - 1) / 2] + m->times[n / 2]) / 2;
}

/* What is known by name: the sizes that the code leaves open, and what -D has fixed in it. */
typedef struct setting {
    const char *name, *value;
} setting;
typedef VEC(setting) setting_list;

static setting_list settings(session *s, const measured *m)
{
    setting_list all = {0};
    for (int64_t i = 0; i < m->b.info->n_dims; i++) {
        setting x = {m->b.info->dim_names[i], arena_printf(s->a, "%" PRId64, m->b.dims[i])};
        vec_push(s->a, &all, x);
    }
    const option_value *v = &s->o.o[OPT_define];
    for (size_t i = 0; i < v->n; i++) {
        size_t n = strcspn(v->items[i], "="), k = 0;
        setting x = {arena_strndup(s->a, v->items[i], n), v->items[i] + n + 1};
        while (k < all.n && strcmp(all.v[k].name, x.name) != 0)
            k++;
        if (k == all.n)
            vec_push(s->a, &all, x);
    }
    return all;
}

/* ", 81 % of this machine's 172 GFLOP/s" */
static void put_share(strbuf *out, double have, double peak, const char *unit)
{
    if (peak <= 0)
        return;
    sb_printf(out, ", %.3g %% of this machine's ", 100 * have / peak);
    put_quantity(out, peak, unit);
}

static void put_text(session *s, const measured *m, strbuf *out)
{
    double t = median(m);
    sb_puts(out, m->b.info->name);
    setting_list all = settings(s, m);
    for (size_t i = 0; i < all.n; i++)
        sb_printf(out, "%s%s=%s", i ? ", " : "  ", all.v[i].name, all.v[i].value);
    sb_puts(out, "\ntime       ");
    put_quantity(out, t, "s");
    sb_printf(out, "   median of %zu call%s, ", m->n_times, m->n_times == 1 ? "" : "s");
    put_quantity(out, m->times[0], "s");
    sb_puts(out, " to ");
    put_quantity(out, m->times[m->n_times - 1], "s");
    sb_printf(out, "; %d thread%s\n", m->threads, m->threads == 1 ? "" : "s");
    if (m->g) {
        const char *most = m->work.exact ? "" : "at most ";
        sb_printf(out, "work       %s", most);
        put_quantity(out, m->work.n_flops, "FLOP");
        sb_puts(out, "   ");
        put_quantity(out, m->work.n_flops / t, "FLOP/s");
        put_share(out, m->work.n_flops / t, m->flops, "FLOP/s");
        sb_printf(out, "\nfunctions  %s", most);
        put_quantity(out, m->work.n_calls, "");
        sb_puts(out, " values of exp, tanh and their like\nmemory     ");
        put_quantity(out, m->work.n_bytes, "B");
        sb_puts(out, "   ");
        put_quantity(out, m->work.n_bytes / t, "B/s");
        put_share(out, m->work.n_bytes / t, m->bandwidth, "B/s");
        sb_puts(out, "\n");
    }
    sb_puts(out, "workspace  ");
    put_quantity(out, (double)m->workspace, "B");
    sb_puts(out, ", prepared weights ");
    put_quantity(out, (double)m->prepared, "B");
    sb_puts(out, "\ncompiled   in ");
    put_quantity(out, m->compile, "s");
    sb_puts(out, "\n");
}

static void put_json(session *s, const measured *m, strbuf *out)
{
    json j = {.out = out};
    double t = median(m);
    json_open(&j, NULL, '{');
    json_text(&j, "model", m->b.info->name);
    json_open(&j, "settings", '{');
    setting_list all = settings(s, m);
    for (size_t i = 0; i < all.n; i++)
        json_text(&j, all.v[i].name, all.v[i].value);
    json_close(&j, '}');
    json_int(&j, "threads", m->threads);
    json_int(&j, "calls", (int64_t)m->n_times);
    json_real(&j, "seconds", t);
    json_real(&j, "least_seconds", m->times[0]);
    json_real(&j, "most_seconds", m->times[m->n_times - 1]);
    json_real(&j, "compile_seconds", m->compile);
    json_int(&j, "workspace_bytes", (int64_t)m->workspace);
    json_int(&j, "prepared_bytes", (int64_t)m->prepared);
    if (m->g) {
        json_real(&j, "flops", m->work.n_flops);
        json_real(&j, "function_values", m->work.n_calls);
        json_real(&j, "bytes", m->work.n_bytes);
        json_bool(&j, "exact", m->work.exact);
        json_real(&j, "flops_per_second", m->work.n_flops / t);
        json_real(&j, "bytes_per_second", m->work.n_bytes / t);
    }
    json_real(&j, "machine_flops_per_second", m->flops > 0 ? m->flops : NAN);
    json_real(&j, "machine_bytes_per_second", m->bandwidth > 0 ? m->bandwidth : NAN);
    json_close(&j, '}');
}

static bool bench(session *s, const compile_options *c, strbuf *out)
{
    program p;
    measured m = {0};
    double start = session_clock();
    if (!program_load(s, s->o.operands[0], c, &p) || !program_one_model(s, &p) ||
        !program_optimise(s, c, &p) || !program_schedule(s, c, &p) || !program_codegen(s, c, &p))
        return false;
    if (p.kernels.v[0]->rows) {
        diag_error(&s->ds, nowhere, "the file holds a step kernel alone, which nothing can run");
        return false;
    }
    backend_entry e;
    phase_begin(s, "generating code");
    bool ok = backend_jit(s->code, p.kernels.v[0]->name, &e, &s->ds);
    phase_end(s);
    m.compile = session_clock() - start;
    m.g = p.graphs.n ? p.graphs.v[0] : NULL;
    if (!ok || !bind_tensors(s, e.info, &m.b) || !count_work(s, &m) || !measure(s, &e, &m))
        return false;
    if (opt_set(s, OPT_json))
        put_json(s, &m, out);
    else
        put_text(s, &m, out);
    return true;
}

int cmd_bench(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    s->o.o[OPT_seed].set = true; /* what no file gives is random; 0 unless chosen */
    strbuf out = {.a = s->a};
    bool ok = bench(s, &c, &out);
    if (session_report(s) || !ok)
        return 1;
    return session_print(s, &out) ? 0 : 1;
}
