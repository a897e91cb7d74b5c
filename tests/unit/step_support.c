/* step_support.c: see step_support.h. Not of Check: threads use this, too. */
#include "tests/unit/step_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/kernel_eval.h"

static _Noreturn void give_up(const step_test *t, const char *what)
{
    strbuf b = {.a = t->a};
    fprintf(stderr, "%s\n", what);
    diags_print(&t->ds, stderr, false);
    if (t->g) {
        graph_print(t->g, &b);
        fprintf(stderr, "%s\n", sb_text(&b));
    }
    if (t->k && t->k->stepper) {
        b.n = 0;
        kernel_print(t->k->stepper, &b);
        fprintf(stderr, "%s\n", sb_text(&b));
    }
    exit(1); /* fails a Check test, which runs in a child */
}

/* --- reading and compiling --- */

static uint32_t add_text(step_test *t, const char *text)
{
    return source_add(&t->sources, "test.ir", text, strlen(text));
}

static void check_graph_text(step_test *t)
{
    strbuf one = {.a = t->a}, two = {.a = t->a};
    graph_print(t->g, &one);
    module *again = module_parse(t->a, t->names, &t->ds, add_text(t, sb_text(&one)));
    if (!again)
        give_up(t, "the graph does not read back");
    graph_print(again->graphs.v[0], &two);
    if (strcmp(sb_text(&one), sb_text(&two)) != 0)
        give_up(t, "the graph reads back as another one");
}

static void check_kernel_text(step_test *t, const kernel *k)
{
    strbuf one = {.a = t->a}, two = {.a = t->a};
    kernel_print(k, &one);
    kernel *again = kernel_parse(t->a, t->names, &t->ds, add_text(t, sb_text(&one)));
    if (!again || !kernel_verify(again, &t->ds, "read back"))
        give_up(t, "the kernel does not read back");
    kernel_print(again, &two);
    if (strcmp(sb_text(&one), sb_text(&two)) != 0)
        give_up(t, "the kernel reads back as another one");
}

static void set_dims(step_test *t, const char *sizes)
{
    for (size_t i = 0; i < t->g->symbols.n; i++) {
        const char *name = t->g->symbols.v[i], *at = sizes;
        size_t n = strlen(name);
        while (at && (strncmp(at, name, n) != 0 || at[n] != '='))
            at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
        if (!at)
            give_up(t, "a dim has no value");
        t->dims[i] = strtol(at + n + 1, NULL, 10);
        for (uint32_t k = 0; k < dims_n_symbols(t->g->dims); k++) {
            if (dims_symbol(t->g->dims, k) == name)
                t->symbols[k] = t->dims[i];
        }
    }
    if (!dim_eval(t->g->step->extent, t->symbols, &t->steps))
        give_up(t, "the capacity has no value");
}

static void compile(step_test *t)
{
    const backend_options o = {.level = 2, .verify_each = true};
    schedule_options so = {.shape = MACHINE_SHAPE_DEFAULT};
    t->k = schedule(t->a, t->g, &so, &t->ds);
    if (!t->k || !kernel_verify(t->k, &t->ds, "after schedule"))
        give_up(t, "no schedule");
    so.steps = true;
    t->k->stepper = schedule(t->a, t->g, &so, &t->ds);
    if (!t->k->stepper || !kernel_verify(t->k->stepper, &t->ds, "of steps after schedule"))
        give_up(t, "no schedule of steps");
    const pass_options all = {.limit = -1, .verify = true};
    if (!kernel_passes_run(t->k, &t->ds, &all) || !kernel_passes_run(t->k->stepper, &t->ds, &all))
        give_up(t, "a kernel pass");
    check_kernel_text(t, t->k->stepper);
    t->module = backend_compile(&t->k, 1, &o, &t->ds);
    if (!t->module || !backend_jit(t->module, t->g->name, &t->e, &t->ds))
        give_up(t, "no code");
}

/* --- inputs --- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t elements(const step_test *t, const ix *const *axes, uint32_t n, int64_t *shape)
{
    size_t all = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!dim_eval(axes[i]->extent, t->symbols, &shape[i]))
            give_up(t, "an extent has no value");
        all *= (size_t)shape[i];
    }
    return all;
}

static bool is_real(store_type st)
{
    return store_table[st].value == DT_F32 || store_table[st].value == DT_F64;
}

static void put_element(store_type st, void *data, size_t i, double f, int64_t n)
{
    switch (st) {
    case ST_F32:
        ((float *)data)[i] = (float)f;
        break;
    case ST_F64:
        ((double *)data)[i] = f;
        break;
    case ST_I64:
        ((int64_t *)data)[i] = n;
        break;
    case ST_I32:
        ((int32_t *)data)[i] = (int32_t)n;
        break;
    case ST_BOOL:
    case ST_U8:
        ((uint8_t *)data)[i] = (uint8_t)n;
        break;
    default:
        abort();
    }
}

static double get_element(store_type st, const void *data, size_t i)
{
    switch (st) {
    case ST_F32:
        return (double)((const float *)data)[i];
    case ST_F64:
        return ((const double *)data)[i];
    case ST_I64:
        return (double)((const int64_t *)data)[i];
    case ST_I32:
        return ((const int32_t *)data)[i];
    case ST_BOOL:
    case ST_U8:
        return ((const uint8_t *)data)[i];
    default:
        abort();
    }
}

/* How a tensor of that shape is cut along its steps. */
static step_tensor cut(store_type st, const int64_t *shape, uint32_t rank, int axis)
{
    step_tensor x = {.outer = 1, .rows = 1, .bytes = (size_t)store_table[st].bytes};
    x.stepped = axis >= 0;
    for (uint32_t i = 0; i < rank; i++) {
        if ((int)i == axis)
            x.rows = (size_t)shape[i];
        else
            *((int)i < axis ? &x.outer : &x.bytes) *= (size_t)shape[i];
    }
    return x;
}

static int axis_of(const step_test *t, size_t buf)
{
    return kernel_step_axis(t->k->stepper, t->k->stepper->bufs.v[buf]);
}

static void fill(step_test *t, const value *v, uint64_t *seed, long ints, int axis,
                 interp_tensor *x, step_tensor *c)
{
    int64_t *shape = ARENA_ARRAY(t->a, int64_t, v->n_ix + 1);
    size_t n = elements(t, v->ix, v->n_ix, shape);
    store_type st = (store_type)v->kind;
    *x = (interp_tensor){.rank = v->n_ix, .shape = shape};
    *c = cut(st, shape, v->n_ix, axis);
    c->data = ARENA_ARRAY(t->a, double, n + 1);
    x->f = ARENA_ARRAY(t->a, double, n + 1);
    x->i = ARENA_ARRAY(t->a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        x->f[i] = (double)(float)((double)(int64_t)(next(seed) % 2001) / 1000.0 - 1.0);
        x->i[i] = st == ST_BOOL ? (int64_t)(next(seed) % 2)
                                : (int64_t)(next(seed) % (uint64_t)(ints ? ints : 1));
        put_element(st, c->data, i, x->f[i], x->i[i]);
    }
    if (is_real(st))
        x->i = NULL;
    else
        x->f = NULL;
}

static void take_away(step_test *t, size_t i)
{
    t->in[i].absent = true;
    t->inputs[i].data = NULL;
}

void step_inputs(step_test *t, uint64_t seed)
{
    const char *message = NULL;
    seed = (seed + 1) * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < t->g->inputs.n; i++) {
        fill(t, t->g->inputs.v[i], &seed, t->ints, axis_of(t, i), &t->in[i], &t->inputs[i]);
        if (t->g->inputs.v[i]->optional && (t->flags & STEP_ABSENT))
            take_away(t, i);
    }
    for (size_t i = 0; i < t->g->params.n; i++)
        fill(t, t->g->params.v[i], &seed, t->ints, -1, &t->par[i], &t->params[i]);
    if (interp_run(t->a, t->g, t->dims, t->in, t->par, t->want, &message) != INTERP_OK)
        give_up(t, message ? message : "the interpreter refuses");
}

void step_begin(step_test *t, const char *text, const char *sizes, long ints, unsigned flags)
{
    *t = (step_test){.ints = ints, .flags = flags};
    t->a = arena_new(&t->m);
    t->names = strtab_new(t->a);
    source_set_init(&t->sources, t->a);
    diags_init(&t->ds, t->a, &t->sources);
    module *mod = module_parse(t->a, t->names, &t->ds, add_text(t, text));
    if (!mod)
        give_up(t, "the graph is not read");
    t->g = mod->graphs.v[0];
    check_graph_text(t);
    const pass_options o = {.limit = -1, .verify = true};
    if ((flags & STEP_SIMPLIFIED) && !passes_run(t->g, &t->ds, &o))
        give_up(t, "the passes fail");
    compile(t);
    set_dims(t, sizes);
    step_inputs(t, 1);
}

void step_end(step_test *t)
{
    backend_free(t->module);
    arena_free(t->a);
}

/* --- compiled --- */

enum { GUARD = 64, BYTE = 0xA5 };

static char *guarded(size_t n)
{
    size_t whole = (n + GUARD + ATTN_BLOCK_ALIGN - 1) / ATTN_BLOCK_ALIGN * ATTN_BLOCK_ALIGN;
    char *p = aligned_alloc(ATTN_BLOCK_ALIGN, whole);
    if (!p)
        abort();
    memset(p, 0xFF, n);
    memset(p + n, BYTE, GUARD);
    return p;
}

static void check_guard(const step_test *t, const char *p, size_t n, const char *what)
{
    for (size_t i = 0; i < GUARD; i++) {
        if ((unsigned char)p[n + i] != BYTE)
            give_up(t, what);
    }
}

static size_t first_output(const step_test *t)
{
    return t->g->inputs.n + t->g->params.n;
}

static step_tensor output_cut(const step_test *t, size_t i, int64_t *shape)
{
    const graph_result *r = &t->g->results.v[i];
    elements(t, r->axes, r->n_axes, shape);
    return cut(r->store, shape, r->n_axes, axis_of(t, first_output(t) + i));
}

/* The pointers of the params struct: a family has one for each of its tensors. */
static void param_pointers(const step_test *t, const void **out)
{
    for (size_t i = 0; i < t->g->params.n; i++) {
        const value *v = t->g->params.v[i];
        int64_t members = 1, n;
        for (uint32_t k = 0; k < v->n_family; k++)
            members *= dim_is_const(v->ix[k]->extent, &n) ? n : 1;
        size_t bytes = t->params[i].outer * t->params[i].bytes / (size_t)members;
        for (int64_t k = 0; k < members; k++)
            *out++ = (const char *)t->params[i].data + (size_t)k * bytes;
    }
}

void run_begin(step_run *r, const step_test *t)
{
    int64_t shape[16];
    const void *params[STEP_MAX_TENSORS] = {NULL}, *inputs[STEP_MAX_TENSORS] = {NULL};
    size_t n = 0;
    *r = (step_run){.t = t};
    r->state_bytes = t->e.state(t->dims);
    r->workspace_bytes = t->e.workspace(t->dims, 1);
    if (r->state_bytes == SIZE_MAX || r->workspace_bytes == SIZE_MAX)
        give_up(t, "the dims are refused");
    r->state = guarded(r->state_bytes);
    r->workspace = guarded(r->workspace_bytes);
    for (size_t i = 0; i < t->g->results.n; i++) {
        step_tensor c = output_cut(t, i, shape);
        r->out[i] = guarded(c.outer * c.rows * c.bytes);
    }
    param_pointers(t, params);
    for (size_t i = 0; i < t->g->inputs.n; i++) {
        if (!t->inputs[i].stepped)
            inputs[n++] = t->inputs[i].data;
    }
    attn_status s = t->e.begin(t->dims, params, NULL, inputs, r->state, r->workspace, NULL);
    if (s != ATTN_OK)
        give_up(t, attn_status_text(s));
    check_guard(t, r->state, r->state_bytes, "written behind the state");
    check_guard(t, r->workspace, r->workspace_bytes, "written behind the workspace");
}

static void copy_rows(const step_tensor *c, char *whole, char *part, size_t at, size_t rows,
                      bool into)
{
    for (size_t o = 0; o < c->outer; o++) {
        char *w = whole + (o * c->rows + at) * c->bytes, *p = part + o * rows * c->bytes;
        memcpy(into ? p : w, into ? w : p, rows * c->bytes);
    }
}

attn_status run_rows(step_run *r, int64_t rows)
{
    const step_test *t = r->t;
    const void *inputs[STEP_MAX_TENSORS] = {NULL};
    void *outputs[STEP_MAX_TENSORS] = {NULL}, *parts[2 * STEP_MAX_TENSORS] = {NULL};
    step_tensor cuts[STEP_MAX_TENSORS];
    int64_t shape[16];
    size_t n = 0, n_parts = 0, at = (size_t)r->at, many = (size_t)rows;
    bool fits = r->at + rows <= t->steps;
    for (size_t i = 0; i < t->g->inputs.n; i++) {
        const step_tensor *c = &t->inputs[i];
        if (!c->stepped)
            continue;
        parts[n_parts] = guarded(c->outer * many * c->bytes);
        if (fits)
            copy_rows(c, c->data, parts[n_parts], at, many, true);
        inputs[n++] = parts[n_parts++];
    }
    for (size_t i = 0; i < t->g->results.n; i++) {
        cuts[i] = output_cut(t, i, shape);
        size_t bytes = cuts[i].outer * (cuts[i].stepped ? many : 1) * cuts[i].bytes;
        outputs[i] = parts[n_parts++] = guarded(bytes);
    }
    memset(r->workspace, 0xFF, r->workspace_bytes); /* nothing is kept there */
    attn_status s = t->e.step(r->state, rows, inputs, outputs, r->workspace, NULL);
    for (size_t i = 0; i < t->g->results.n; i++) {
        size_t bytes = cuts[i].outer * (cuts[i].stepped ? many : 1) * cuts[i].bytes;
        check_guard(t, outputs[i], bytes, "written behind an output");
        if (s == ATTN_OK && rows > 0)
            copy_rows(&cuts[i], r->out[i], outputs[i], cuts[i].stepped ? at : 0,
                      cuts[i].stepped ? many : 1, false);
    }
    check_guard(t, r->state, r->state_bytes, "written behind the state");
    check_guard(t, r->workspace, r->workspace_bytes, "written behind the workspace");
    for (size_t i = 0; i < n_parts; i++)
        free(parts[i]);
    if (s == ATTN_OK)
        r->at += rows;
    return s;
}

static void compare(const step_test *t, const graph_result *r, size_t i, double got, double want)
{
    if ((isnan(got) && isnan(want)) || got == want)
        return;
    if (!(fabs(got - want) <= 2e-5 * (1 + fabs(want))))
        give_up(t, arena_printf(t->a, "%s[%zu]: %.9g, the interpreter says %.9g", r->name, i, got,
                                want));
}

static double wanted(const step_test *t, size_t output, size_t i)
{
    const interp_tensor *w = &t->want[output];
    return w->f ? w->f[i] : (double)w->i[i];
}

void run_check(const step_run *r)
{
    const step_test *t = r->t;
    int64_t shape[16];
    for (size_t i = 0; i < t->g->results.n; i++) {
        const graph_result *o = &t->g->results.v[i];
        step_tensor c = output_cut(t, i, shape);
        size_t size = (size_t)store_table[o->store].bytes, inner = c.bytes / size;
        if (!c.stepped && r->at < t->steps)
            continue; /* the interpreter knows the last step only */
        size_t rows = c.stepped ? (size_t)r->at : c.rows;
        for (size_t b = 0; b < c.outer; b++) {
            for (size_t k = b * c.rows * inner; k < (b * c.rows + rows) * inner; k++)
                compare(t, o, k, get_element(o->store, r->out[i], k), wanted(t, i, k));
        }
    }
}

void run_end(step_run *r)
{
    for (size_t i = 0; i < r->t->g->results.n; i++)
        free(r->out[i]);
    free(r->state);
    free(r->workspace);
}

/* The whole sequence at once, by the ordinary entry point. */
static void check_whole(const step_test *t)
{
    step_run r;
    const void *params[STEP_MAX_TENSORS] = {NULL}, *inputs[STEP_MAX_TENSORS] = {NULL};
    run_begin(&r, t);
    param_pointers(t, params);
    for (size_t i = 0; i < t->g->inputs.n; i++)
        inputs[i] = t->inputs[i].data;
    attn_status s =
        t->e.run(t->dims, params, NULL, inputs, (void *const *)r.out, r.workspace, NULL);
    if (s != ATTN_OK)
        give_up(t, attn_status_text(s));
    r.at = t->steps;
    run_check(&r);
    run_end(&r);
}

static void check_cut(const step_test *t, int64_t first, int64_t then)
{
    step_run r;
    run_begin(&r, t);
    for (int64_t n = first; r.at < t->steps; n = then) {
        int64_t left = t->steps - r.at;
        attn_status s = run_rows(&r, n < left ? n : left);
        if (s != ATTN_OK)
            give_up(t, attn_status_text(s));
        run_check(&r);
    }
    char *before = malloc(r.state_bytes + 1);
    memcpy(before, r.state, r.state_bytes);
    if (run_rows(&r, 0) != ATTN_OK || run_rows(&r, 1) != ATTN_CAPACITY ||
        t->e.step(r.state, INT64_MAX, NULL, NULL, NULL, NULL) != ATTN_CAPACITY)
        give_up(t, "a step beyond the capacity is not refused");
    if (memcmp(before, r.state, r.state_bytes) != 0)
        give_up(t, "a refused step changed the state");
    free(before);
    run_end(&r);
}

/* --- by the walker --- */

static eval_buf rows_of(const step_test *t, const interp_tensor *x, const step_tensor *c,
                        size_t size, size_t at, size_t rows)
{
    eval_buf b = {.absent = x->absent};
    if (x->absent)
        return b;
    size_t inner = c->bytes / size;
    b.n = c->outer * rows * inner;
    b.f = x->f ? ARENA_ARRAY(t->a, double, b.n + 1) : NULL;
    b.i = x->i ? ARENA_ARRAY(t->a, int64_t, b.n + 1) : NULL;
    for (size_t o = 0; o < c->outer; o++) {
        for (size_t k = 0; k < rows * inner; k++) {
            size_t from = (o * c->rows + at) * inner + k, to = o * rows * inner + k;
            if (x->f)
                b.f[to] = x->f[from];
            else
                b.i[to] = x->i[from];
        }
    }
    return b;
}

static void check_walk(const step_test *t, const eval_buf *bufs, size_t at, size_t rows)
{
    for (size_t i = 0; i < t->g->results.n; i++) {
        const graph_result *o = &t->g->results.v[i];
        const eval_buf *b = &bufs[first_output(t) + i];
        int64_t shape[16];
        step_tensor c = output_cut(t, i, shape);
        size_t inner = c.bytes / (size_t)store_table[o->store].bytes;
        if (!c.stepped && at + rows < (size_t)t->steps)
            continue;
        size_t n = c.stepped ? rows : 1, from = c.stepped ? at : 0;
        for (size_t b0 = 0; b0 < c.outer; b0++) {
            for (size_t k = 0; k < n * inner; k++) {
                size_t have = b0 * n * inner + k, want = (b0 * c.rows + from) * inner + k;
                compare(t, o, want, b->f ? b->f[have] : (double)b->i[have], wanted(t, i, want));
            }
        }
    }
}

/* A kernel that looks at what was not written, or beyond a buffer, shows here. */
static void check_walked(step_test *t, size_t many)
{
    const kernel *k = t->k->stepper;
    eval_buf *bufs = ARENA_ARRAY(t->a, eval_buf, k->bufs.n);
    uint32_t rows_at = 0;
    while (dims_symbol(t->g->dims, rows_at) != k->rows)
        rows_at++;
    for (size_t i = 0; i < t->g->inputs.n + t->g->params.n; i++) {
        bool par = i >= t->g->inputs.n;
        const value *v = par ? t->g->params.v[i - t->g->inputs.n] : t->g->inputs.v[i];
        const interp_tensor *x = par ? &t->par[i - t->g->inputs.n] : &t->in[i];
        const step_tensor *c = par ? &t->params[i - t->g->inputs.n] : &t->inputs[i];
        if (!c->stepped)
            bufs[i] = rows_of(t, x, c, (size_t)store_table[v->kind].bytes, 0, 1);
    }
    t->symbols[rows_at] = 0;
    eval_result e = kernel_eval_begin(t->a, k, t->symbols, bufs);
    for (size_t at = 0; at < (size_t)t->steps && !e.fault && !e.status; at += many) {
        size_t rows = many < (size_t)t->steps - at ? many : (size_t)t->steps - at;
        for (size_t i = 0; i < t->g->inputs.n; i++) {
            size_t size = (size_t)store_table[t->g->inputs.v[i]->kind].bytes;
            if (t->inputs[i].stepped)
                bufs[i] = rows_of(t, &t->in[i], &t->inputs[i], size, at, rows);
        }
        t->symbols[rows_at] = (int64_t)rows;
        e = kernel_eval_step(t->a, k, t->symbols, bufs, (int64_t)at);
        if (!e.fault && !e.status)
            check_walk(t, bufs, at, rows);
    }
    if (e.fault || e.status)
        give_up(t, e.fault ? e.fault : "a check of the step kernel fails");
}

void check_steps(const char *text, const char *sizes, long ints)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        step_test t;
        step_begin(&t, text, sizes, ints, flags);
        for (uint64_t seed = 1; seed <= 2; seed++) {
            step_inputs(&t, seed);
            check_walked(&t, 1);
            check_walked(&t, 3);
            check_whole(&t);
            check_cut(&t, 1, 1);
            check_cut(&t, 3, 3);
            check_cut(&t, 4, 1);
            check_cut(&t, 2, 3);
        }
        step_end(&t);
    }
}
