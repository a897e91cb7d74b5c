/* native.c: one call of compiled code. */
#include <stdint.h>
#include <string.h>

#include "frontend/cli/bind.h"

static const span nowhere = {0};

/* The pointers of one role in the order of its struct. */
static void **pointers(session *s, const binding *b, attn_role role)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b->info->n_tensors; i++) {
        const attn_tensor_info *t = &b->info->tensors[i];
        if (t->role == role && t->slot >= n)
            n = t->slot + 1;
    }
    void **p = ARENA_ARRAY(s->a, void *, (size_t)n);
    for (int64_t i = 0; i < b->info->n_tensors; i++) {
        attn_tensor *t = bind_tensor(b, i);
        if (b->info->tensors[i].role == role && t)
            p[b->info->tensors[i].slot] = t->data;
    }
    return p;
}

/* A block on the boundary that workspace and prepared weights need. */
static void *block(session *s, size_t size)
{
    if (size > PTRDIFF_MAX - ATTN_BLOCK_ALIGN)
        session_no_memory(s);
    char *p = arena_alloc(s->a, size + ATTN_BLOCK_ALIGN);
    return p + (ATTN_BLOCK_ALIGN - (uintptr_t)p % ATTN_BLOCK_ALIGN) % ATTN_BLOCK_ALIGN;
}

static bool refused(session *s, const binding *b, attn_status status)
{
    diag *d = diag_error(&s->ds, nowhere, "the run of '%s' stopped: %s", b->info->name,
                         attn_status_text(status));
    if (status == ATTN_INDEX || status == ATTN_INT)
        diag_help(d, "look at the int inputs; --interp runs the equations one by one");
    return false;
}

bool run_native(session *s, const backend_entry *e, const binding *b)
{
    int threads = (int)opt_number(s, OPT_threads, 1);
    attn_exec exec;
    if (threads > 1) {
        s->pool = attn_pool_create(threads, &s->alloc);
        if (!s->pool)
            session_no_memory(s);
        exec = attn_pool_exec(s->pool);
        threads = exec.threads;
    }
    size_t prepared_size = e->prepared(b->dims), workspace_size = e->workspace(b->dims, threads);
    if (prepared_size == SIZE_MAX || workspace_size == SIZE_MAX)
        return refused(s, b, ATTN_DIM);
    phase_begin(s, "running");
    const void *const *params = (const void *const *)pointers(s, b, ATTN_PARAM);
    const void *const *inputs = (const void *const *)pointers(s, b, ATTN_INPUT);
    void *const *outputs = pointers(s, b, ATTN_OUTPUT);
    void *prepared = block(s, prepared_size), *workspace = block(s, workspace_size);
    attn_status status = e->prepare(b->dims, params, prepared);
    if (status == ATTN_OK)
        status = e->run(b->dims, params, prepared, inputs, outputs, workspace,
                        threads > 1 ? &exec : NULL);
    phase_end(s);
    return status == ATTN_OK || refused(s, b, status);
}
