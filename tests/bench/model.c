/* model.c: compiles the program of a case in this process and gives it the case's tensors. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "passes/passes.h"
#include "runtime/extent.h"
#include "runtime/solve.h"
#include "tests/bench/worker.h"

static const char *load_workload(void *ctx, arena *a, const char *from, const char *path,
                                 size_t *size)
{
    (void)ctx;
    (void)a;
    (void)from;
    const struct workload *w = find_workload(path);
    *size = w->size;
    return w->text;
}

static const char *first_error(const bench_case *c, const diags *ds)
{
    return ds->first ? arena_printf(c->a, "%s", ds->first->text) : "the program does not compile";
}

static const char *compile(bench_model *m, const bench_case *c, const choice *of)
{
    arena *a = c->a;
    source_set sources;
    diags ds;
    strtab *names = strtab_new(a);
    source_set_init(&sources, a);
    diags_init(&ds, a, &sources);
    frontend_define *defines = ARENA_ARRAY(a, frontend_define, of->defines.n);
    for (size_t i = 0; i < of->defines.n; i++)
        defines[i] = (frontend_define){of->defines.v[i].key, of->defines.v[i].value};
    frontend_options fo = {.real = DT_F32,
                           .n_defines = of->defines.n,
                           .defines = defines,
                           .entry = of->entry,
                           .load = load_workload};
    uint32_t file = source_add(&sources, of->file, of->text, of->size);
    module *program = frontend_compile(a, names, &sources, &ds, file, &fo);
    graph *g = NULL;
    for (size_t i = 0; program && i < program->graphs.n; i++) {
        if (strcmp(program->graphs.v[i]->name, of->entry) == 0)
            g = program->graphs.v[i];
    }
    pass_options po = {.limit = -1, .verify = true};
    backend_options bo = {.level = 2};
    schedule_options so = {0};
    if (!g || !passes_run(g, &ds, &po) || !backend_shape(&bo, &so.shape, &ds))
        return first_error(c, &ds);
    kernel *k = schedule_run(a, g, so, &ds, &po);
    if (!k || !kernel_passes_run(k, &ds, &po))
        return first_error(c, &ds);
    m->code = backend_compile(&k, 1, &bo, &ds);
    if (!m->code || !backend_jit(m->code, k->name, &m->entry, &ds))
        return first_error(c, &ds);
    return NULL;
}

/* The weights of library cells, which have torch's names: W_ih is the case's w_ih, and W_ih_r its
 * second part. */
static const case_tensor *tensor_for(const bench_case *c, const char *name, int64_t *part)
{
    const case_tensor *t = case_find(c, name);
    size_t n = strlen(name);
    *part = 0;
    if (t)
        return t;
    if (n > 2 && strcmp(name + n - 2, "_r") == 0) {
        *part = 1;
        n -= 2;
    }
    char *low = arena_strndup(c->a, name, n);
    if (low[0] == 'W')
        low[0] = 'w';
    return case_find(c, low);
}

typedef struct binding {
    attn_fact *facts;
    const void **data;
} binding;

static const char *find_tensors(const bench_case *c, const choice *of, const attn_model_info *info,
                                binding *b)
{
    for (int64_t i = 0; i < info->n_tensors; i++) {
        const attn_tensor_info *row = &info->tensors[i];
        if (row->role == ATTN_OUTPUT)
            continue;
        int64_t part;
        const char *name = row->source ? row->source : row->name;
        const case_tensor *t = tensor_for(c, name, &part);
        if (!t)
            return arena_printf(c->a, "the case has no tensor for %s", name);
        /* Weights of recurrences have a leading axis of parts. */
        bool parted = t->rank == row->rank + 1 && t->shape[0] == of->parts;
        b->facts[i] = (attn_fact){true, t->rank - parted, t->shape + parted};
        b->data[i] = t->data + (parted ? part * (t->n / of->parts) : 0);
    }
    return NULL;
}

static const char *solve(bench_model *m, const bench_case *c, const attn_fact *facts)
{
    const attn_model_info *info = m->entry.info;
    attn_allocator heap = attn_allocator_libc();
    attn_problems problems;
    m->dims = ARENA_ARRAY(c->a, int64_t, (size_t)info->n_dims);
    for (int64_t i = 0; i < info->n_dims; i++)
        m->dims[i] = ATTN_DIM_UNKNOWN;
    attn_problems_init(&problems, &heap);
    attn_status status = attn_solve(info, facts, m->dims, &problems);
    const char *why = NULL;
    if (status != ATTN_OK) {
        const char *text = attn_text_cstr(&problems.text);
        why = arena_printf(c->a, "%.*s", (int)strcspn(text, "\n"), text);
    }
    attn_problems_free(&problems);
    return why;
}

/* Not of the arena: memory that the model does not touch must not count as used. */
static void *block(bench_model *m, const bench_case *c, size_t size)
{
    void *p = NULL;
    size_t whole = size + ATTN_BLOCK_ALIGN;
    if (whole < size || posix_memalign(&p, ATTN_BLOCK_ALIGN, whole) != 0)
        mem_fail(arena_mem(c->a));
    m->blocks[m->n_blocks++] = p;
    return p;
}

static const char *bind(bench_model *m, const bench_case *c, const choice *of)
{
    const attn_model_info *info = m->entry.info;
    size_t n = (size_t)info->n_tensors;
    binding b = {ARENA_ARRAY(c->a, attn_fact, n), ARENA_ARRAY(c->a, const void *, n)};
    const char *why = find_tensors(c, of, info, &b);
    if (!why)
        why = solve(m, c, b.facts);
    if (why)
        return why;
    m->params = ARENA_ARRAY(c->a, const void *, n);
    m->inputs = ARENA_ARRAY(c->a, const void *, n);
    m->outputs = ARENA_ARRAY(c->a, void *, n);
    for (int64_t i = 0; i < info->n_tensors; i++) {
        const attn_tensor_info *row = &info->tensors[i];
        if (row->role != ATTN_OUTPUT) {
            (row->role == ATTN_PARAM ? m->params : m->inputs)[row->slot] = b.data[i];
            continue;
        }
        int64_t *shape = ARENA_ARRAY(c->a, int64_t, (size_t)row->rank);
        size_t bytes;
        if (attn_tensor_extent(row, m->dims, info->n_dims, shape, &bytes) != ATTN_OK)
            return "the result has no size";
        if (m->n_blocks == BENCH_OUTPUTS)
            return "the model has too many results";
        m->outputs[row->slot] = block(m, c, bytes);
        m->out_elements = (int64_t)(bytes / sizeof(float));
    }
    return NULL;
}

const char *model_make(bench_model *m, const bench_case *c, const choice *of, const attn_exec *exec)
{
    *m = (bench_model){.exec = exec};
    const char *why = compile(m, c, of);
    if (!why)
        why = bind(m, c, of);
    if (why)
        return why;
    size_t prepared = m->entry.prepared(m->dims);
    size_t workspace = m->entry.workspace(m->dims, exec ? exec->threads : 1);
    if (prepared == SIZE_MAX || workspace == SIZE_MAX)
        return attn_status_text(ATTN_DIM);
    m->prepared = block(m, c, prepared);
    m->workspace = block(m, c, workspace);
    attn_status status = m->entry.prepare(m->dims, m->params, m->prepared);
    return status == ATTN_OK ? NULL : attn_status_text(status);
}

attn_status model_run(const bench_model *m)
{
    return m->entry.run(m->dims, m->params, m->prepared, m->inputs, m->outputs, m->workspace,
                        m->exec);
}

void model_free(bench_model *m)
{
    backend_free(m->code);
    for (size_t i = 0; i < m->n_blocks; i++)
        free(m->blocks[i]);
    *m = (bench_model){0};
}
