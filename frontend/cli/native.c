/* native.c: one call of compiled code. */
#include <stdint.h>
#include <string.h>

#include "frontend/cli/bind.h"

static const span nowhere = {0};

/* The pointers of one role in the order of its struct. */
void **native_pointers(session *s, const binding *b, attn_role role)
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
void *native_block(session *s, size_t size)
{
    if (size > PTRDIFF_MAX - ATTN_BLOCK_ALIGN)
        session_no_memory(s);
    char *p = arena_alloc(s->a, size + ATTN_BLOCK_ALIGN);
    return p + (ATTN_BLOCK_ALIGN - (uintptr_t)p % ATTN_BLOCK_ALIGN) % ATTN_BLOCK_ALIGN;
}

bool native_refused(session *s, const binding *b, attn_status status)
{
    diag *d = diag_error(&s->ds, nowhere, "the run of '%s' stopped: %s", b->info->name,
                         attn_status_text(status));
    if (status == ATTN_INDEX || status == ATTN_INT)
        diag_help(d, "look at the int inputs; --interp runs the equations one by one");
    return false;
}

const attn_exec *native_threads(session *s, attn_exec *exec, int *threads)
{
    *threads = (int)opt_number(s, OPT_threads, 1);
    if (*threads <= 1)
        return NULL;
    s->pool = attn_pool_create(*threads, &s->alloc);
    if (!s->pool)
        session_no_memory(s);
    *exec = attn_pool_exec(s->pool);
    *threads = exec->threads;
    return *threads > 1 ? exec : NULL;
}

bool run_native(session *s, const backend_entry *e, const binding *b)
{
    int threads;
    attn_exec pool;
    const attn_exec *exec = native_threads(s, &pool, &threads);
    size_t prepared_size = e->prepared(b->dims), workspace_size = e->workspace(b->dims, threads);
    if (prepared_size == SIZE_MAX || workspace_size == SIZE_MAX)
        return native_refused(s, b, ATTN_DIM);
    phase_begin(s, "running");
    const void *const *params = (const void *const *)native_pointers(s, b, ATTN_PARAM);
    const void *const *inputs = (const void *const *)native_pointers(s, b, ATTN_INPUT);
    void *const *outputs = native_pointers(s, b, ATTN_OUTPUT);
    void *prepared = native_block(s, prepared_size), *workspace = native_block(s, workspace_size);
    attn_status status = e->prepare(b->dims, params, prepared);
    if (status == ATTN_OK)
        status = e->run(b->dims, params, prepared, inputs, outputs, workspace, exec);
    phase_end(s);
    return status == ATTN_OK || native_refused(s, b, status);
}
