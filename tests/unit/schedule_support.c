/* schedule_support.c: see schedule_support.h. */
#include "tests/unit/schedule_support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interp.h"
#include "passes/passes.h"
#include "tests/unit/kernel_eval.h"

typedef struct test {
    arena *a;
    strtab *names;
    source_set sources;
    diags ds;
    graph *g;
    kernel *k;
    const char *text;
    const int64_t *dims;    /* by g->symbols */
    const int64_t *symbols; /* by the dims table */
    uint64_t seed;
    unsigned flags;
    long ints;
} test;

static _Noreturn void give_up(test *t, const char *what)
{
    strbuf b = {.a = t->a};
    fprintf(stderr, "%s\n", what);
    diags_print(&t->ds, stderr, false);
    if (t->k) {
        kernel_print(t->k, &b);
        fprintf(stderr, "%s\n", sb_text(&b));
    }
    fprintf(stderr, "of\n%s\n", t->text);
    ck_abort_msg("%s", what);
    abort();
}

static void begin(test *t, mem *m, const char *text)
{
    t->a = arena_new(m);
    t->names = strtab_new(t->a);
    t->text = text;
    source_set_init(&t->sources, t->a);
    diags_init(&t->ds, t->a, &t->sources);
    uint32_t file = source_add(&t->sources, "test.ir", text, strlen(text));
    module *mod = module_parse(t->a, t->names, &t->ds, file);
    if (!mod || mod->graphs.n != 1)
        give_up(t, "the graph is not read");
    t->g = mod->graphs.v[0];
    if (!graph_verify(t->g, &t->ds, "as given"))
        give_up(t, "the graph is not right");
    machine_shape shape = MACHINE_SHAPE_DEFAULT;
    if (t->flags & CASE_WIDE) {
        shape.vector_bytes = 64;
        shape.vector_regs = 32;
    }
    if (t->flags & CASE_PLAIN)
        shape = MACHINE_SHAPE_PLAIN;
    t->k = schedule(t->a, t->g, &(schedule_options){.shape = shape}, &t->ds);
    if (!t->k)
        give_up(t, "no schedule");
    pass_options all = {.limit = -1, .verify = true};
    if (!(t->flags & CASE_PLAIN) && !kernel_passes_run(t->k, &t->ds, &all))
        give_up(t, "a kernel pass");
    if (!kernel_verify(t->k, &t->ds, "after schedule"))
        give_up(t, "the kernel is not right");
}

/* What is printed reads back to the same text. */
static void check_round_trip(test *t)
{
    strbuf one = {.a = t->a}, two = {.a = t->a};
    kernel_print(t->k, &one);
    uint32_t file = source_add(&t->sources, "kernel.ir", sb_text(&one), one.n);
    kernel *again = kernel_parse(t->a, t->names, &t->ds, file);
    if (!again)
        give_up(t, "the kernel does not read back");
    kernel_print(again, &two);
    if (strcmp(sb_text(&one), sb_text(&two)) != 0) {
        fprintf(stderr, "read back:\n%s\n", sb_text(&two));
        give_up(t, "the kernel reads back as another one");
    }
    if (!kernel_verify(again, &t->ds, "read back"))
        give_up(t, "the kernel read back is not right");
}

static void set_dims(test *t, const char *sizes)
{
    int64_t *own = ARENA_ARRAY(t->a, int64_t, t->g->symbols.n + 1);
    int64_t *all = ARENA_ARRAY(t->a, int64_t, dims_n_symbols(t->g->dims) + 1);
    for (size_t i = 0; i < t->g->symbols.n; i++) {
        const char *at = sizes;
        size_t n = strlen(t->g->symbols.v[i]);
        while (at && (strncmp(at, t->g->symbols.v[i], n) != 0 || at[n] != '='))
            at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
        if (!at)
            give_up(t, "a dim has no value");
        own[i] = strtol(at + n + 1, NULL, 10);
        for (uint32_t k = 0; k < dims_n_symbols(t->g->dims); k++) {
            if (dims_symbol(t->g->dims, k) == t->g->symbols.v[i])
                all[k] = own[i];
        }
    }
    t->dims = own;
    t->symbols = all;
}

static uint64_t rnd(test *t)
{
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    t->seed ^= t->seed << 17;
    return t->seed;
}

static double random_real(test *t)
{
    if ((t->flags & CASE_SPECIAL) && rnd(t) % 9 == 0) {
        const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, 1.0};
        return odd[rnd(t) % 5];
    }
    return (double)(int64_t)(rnd(t) % 4001) / 1000.0 - 2.0;
}

static int64_t random_int(test *t)
{
    if ((t->flags & CASE_TRAPS) && rnd(t) % 3 == 0) {
        const int64_t odd[] = {-1, 0, INT64_MAX, INT64_MIN, 7, 1000000, -3};
        return odd[rnd(t) % 7];
    }
    return t->ints > 0 ? (int64_t)(rnd(t) % (uint64_t)t->ints) : 0;
}

static void fill(test *t, const value *v, size_t nth, interp_tensor *x, eval_buf *b)
{
    int64_t *shape = ARENA_ARRAY(t->a, int64_t, v->n_ix + 1);
    size_t n = 1;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (!dim_eval(v->ix[i]->extent, t->symbols, &shape[i]))
            give_up(t, "an extent has no value");
        n *= (size_t)shape[i];
    }
    *x = (interp_tensor){.rank = v->n_ix, .shape = shape};
    *b = (eval_buf){.n = n};
    bool real = v->dt == DT_F32 || v->dt == DT_F64;
    if (v->optional && ((t->flags & CASE_ABSENT) || ((t->flags & CASE_MIXED) && nth % 2))) {
        x->absent = b->absent = true;
        return;
    }
    if (real)
        x->f = b->f = ARENA_ARRAY(t->a, double, n + 1);
    else
        x->i = b->i = ARENA_ARRAY(t->a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (real)
            x->f[i] = eval_round((store_type)v->kind, random_real(t));
        else
            x->i[i] = v->dt == DT_BOOL ? (int64_t)(rnd(t) % 2) : random_int(t);
    }
}

static void compare(test *t, const graph_result *r, const interp_tensor *want, const eval_buf *got)
{
    bool real = r->v->dt == DT_F32 || r->v->dt == DT_F64;
    bool narrow = r->store == ST_F16 || r->store == ST_BF16;
    double tolerance = narrow ? 2e-2 : t->g->real == DT_F64 && r->store == ST_F64 ? 1e-9 : 2e-4;
    for (size_t i = 0; real && i < got->n; i++) {
        if (isnan(want->f[i]) != isnan(got->f[i]))
            give_up(t, arena_printf(t->a, "%s[%zu]: %g, the interpreter says %g", r->name, i,
                                    got->f[i], want->f[i]));
    }
    for (size_t i = 0; i < got->n; i++) {
        if (!real && want->i[i] != got->i[i])
            give_up(t, arena_printf(t->a, "%s[%zu]: %lld, the interpreter says %lld", r->name, i,
                                    (long long)got->i[i], (long long)want->i[i]));
        if (!real || isnan(want->f[i]) || want->f[i] == got->f[i])
            continue;
        if (!(fabs(want->f[i] - got->f[i]) <= tolerance * (1 + fabs(want->f[i]))))
            give_up(t, arena_printf(t->a, "%s[%zu]: %.17g, the interpreter says %.17g", r->name, i,
                                    got->f[i], want->f[i]));
    }
}

typedef struct data {
    interp_tensor *in, *par, *out;
    eval_buf *bufs;
} data;

static data make_data(test *t)
{
    size_t n_in = t->g->inputs.n, n_par = t->g->params.n;
    data d = {.in = ARENA_ARRAY(t->a, interp_tensor, n_in + 1),
              .par = ARENA_ARRAY(t->a, interp_tensor, n_par + 1),
              .out = ARENA_ARRAY(t->a, interp_tensor, t->g->results.n + 1),
              .bufs = ARENA_ARRAY(t->a, eval_buf, t->k->bufs.n + 1)};
    for (size_t i = 0; i < n_in; i++)
        fill(t, t->g->inputs.v[i], i, &d.in[i], &d.bufs[i]);
    for (size_t i = 0; i < n_par; i++)
        fill(t, t->g->params.v[i], i, &d.par[i], &d.bufs[n_in + i]);
    return d;
}

static void run_both(test *t, data *d)
{
    const char *message = NULL;
    interp_status want = interp_run(t->a, t->g, t->dims, d->in, d->par, d->out, &message);
    eval_result got = kernel_eval(t->a, t->k, t->symbols, d->bufs);
    if (got.fault)
        give_up(t, got.fault);
    if ((want != INTERP_OK) != (got.status != 0))
        give_up(t, arena_printf(t->a, "status %d, the interpreter says %d (%s)", got.status, want,
                                message ? message : ""));
    if (want != INTERP_OK)
        return;
    for (size_t i = 0; i < t->g->results.n; i++)
        compare(t, &t->g->results.v[i], &d->out[i], &d->bufs[t->g->inputs.n + t->g->params.n + i]);
}

/* Whether the first result is the same with a NaN in that place. */
static bool has_no_effect(test *t, data *d, size_t input, size_t at, const double *want, size_t n)
{
    double was = d->in[input].f[at];
    const char *message = NULL;
    d->in[input].f[at] = (double)NAN;
    interp_run(t->a, t->g, t->dims, d->in, d->par, d->out, &message);
    d->in[input].f[at] = was;
    return n == 0 || memcmp(d->out[0].f, want, n * sizeof *want) == 0;
}

void check_excluded(const char *graph_text, const char *sizes, long ints)
{
    mem m = {0};
    test t = {.ints = ints, .seed = 0x9E3779B97F4A7C15u};
    const char *message = NULL;
    begin(&t, &m, graph_text);
    set_dims(&t, sizes);
    data d = make_data(&t);
    interp_run(t.a, t.g, t.dims, d.in, d.par, d.out, &message);
    const double *want = d.out[0].f;
    size_t n = 1;
    for (uint32_t i = 0; i < d.out[0].rank; i++)
        n *= (size_t)d.out[0].shape[i];
    for (size_t i = 0; i < t.g->inputs.n; i++) {
        eval_buf *b = &d.bufs[i];
        b->poison = ARENA_ARRAY(t.a, bool, b->n + 1);
        for (size_t at = 0; b->f && at < b->n; at++)
            b->poison[at] = has_no_effect(&t, &d, i, at, want, n);
    }
    run_both(&t, &d);
    arena_free(t.a);
}

void check_case(const char *graph_text, const char *sizes, long ints, unsigned flags)
{
    mem m = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        test t = {.flags = flags, .ints = ints, .seed = seed * 0x9E3779B97F4A7C15u};
        begin(&t, &m, graph_text);
        if (seed == 1)
            check_round_trip(&t);
        set_dims(&t, sizes);
        data d = make_data(&t);
        run_both(&t, &d);
        arena_free(t.a);
    }
}

void check_graph(const char *graph_text, const char *sizes, long ints)
{
    check_case(graph_text, sizes, ints, 0);
    check_case(graph_text, sizes, ints, CASE_SPECIAL);
}

static const char *text_of(arena *a, const char *graph_text, unsigned flags, bool steps)
{
    test t = {.flags = flags};
    strbuf b = {.a = a};
    begin(&t, arena_mem(a), graph_text);
    if (steps) {
        const schedule_options so = {.shape = MACHINE_SHAPE_PLAIN, .steps = true};
        t.k = schedule(t.a, t.g, &so, &t.ds);
        if (!t.k || !kernel_verify(t.k, &t.ds, "of steps after schedule"))
            give_up(&t, "the step kernel is not right");
    }
    check_round_trip(&t);
    kernel_print(t.k, &b);
    const char *text = sb_text(&b);
    arena_free(t.a);
    return text;
}

const char *schedule_text(arena *a, const char *graph_text)
{
    return text_of(a, graph_text, 0, false);
}

const char *schedule_plain_text(arena *a, const char *graph_text, bool steps)
{
    return text_of(a, graph_text, CASE_PLAIN, steps);
}
