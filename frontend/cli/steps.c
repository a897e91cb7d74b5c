/* steps.c: `attnc run --steps`: the compiled recurrence step by step. The inputs are cut along
 * their steps, the results put together, so that what comes out is what one call would give. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "runtime/extent.h"

/* The next number of `cuts`; the last one stays. */
static int64_t next_cut(const char **cuts)
{
    char *end;
    if (!*cuts)
        return 1;
    int64_t n = strtoll(*cuts, &end, 10);
    if (*end == ',')
        *cuts = end + 1;
    return n;
}

bool known_cuts(const char *cuts)
{
    while (cuts && *cuts) {
        size_t n = strspn(cuts, "0123456789");
        if (n == 0 || n > 12 || strtoll(cuts, NULL, 10) == 0 || (cuts[n] && cuts[n] != ','))
            return false;
        if (!cuts[n])
            return true;
        cuts += n + 1;
    }
    return !cuts;
}

/* A tensor with steps: `outer` blocks of `n` rows of `bytes` bytes each. */
typedef struct sliced {
    attn_tensor *whole;
    char *part; /* of the call at hand */
    int64_t outer, n;
    size_t bytes;
} sliced;

static sliced slice(session *s, attn_tensor *t, int axis, int64_t most)
{
    sliced x = {.whole = t, .outer = 1, .n = t->shape[axis], .bytes = attn_dtype_size(t->dtype)};
    for (int64_t i = 0; i < t->rank; i++) {
        if (i < axis)
            x.outer *= t->shape[i];
        else if (i > axis)
            x.bytes *= (size_t)t->shape[i];
    }
    x.part = native_block(s, (size_t)x.outer * (size_t)most * x.bytes);
    return x;
}

static void copy_rows(const sliced *x, int64_t from, int64_t rows, bool into)
{
    size_t n = (size_t)rows * x->bytes;
    for (int64_t i = 0; i < x->outer && n; i++) {
        char *whole = (char *)x->whole->data + (size_t)(i * x->n + from) * x->bytes;
        char *part = x->part + (size_t)i * n;
        memcpy(into ? part : whole, into ? whole : part, n);
    }
}

/* The pointers of one struct of _begin or _step: those tensors of the role that carry the flag. */
typedef struct step_table {
    void **p;
    sliced *rows;
    int64_t n_rows;
} step_table;

static step_table table_of(session *s, const backend_entry *e, const binding *b, attn_role role,
                           int flag, int64_t most)
{
    size_t n = (size_t)e->info->n_tensors; /* what runs knows of steps; b->info need not */
    step_table t = {.p = ARENA_ARRAY(s->a, void *, n), .rows = ARENA_ARRAY(s->a, sliced, n)};
    int64_t slot = 0;
    for (size_t i = 0; i < n; i++) {
        const attn_tensor_info *info = &e->info->tensors[i];
        attn_tensor *x = bind_tensor(b, (int64_t)i);
        if (info->role != role || !(info->flags & flag))
            continue;
        if (x && info->step_axis >= 0) {
            t.rows[t.n_rows] = slice(s, x, info->step_axis, most);
            t.p[slot] = t.rows[t.n_rows++].part;
        } else if (x) {
            t.p[slot] = x->data;
        }
        slot++;
    }
    return t;
}

static int64_t largest_cut(const char *cuts, int64_t steps)
{
    int64_t most = 0, at = 0;
    while (at < steps) {
        int64_t n = next_cut(&cuts);
        n = n < steps - at ? n : steps - at;
        most = n > most ? n : most;
        at += n;
    }
    return most;
}

typedef struct stepping {
    const backend_entry *e;
    step_table in, out;
    void *state, *workspace;
    const attn_exec *exec;
} stepping;

static attn_status one_call(const stepping *c, int64_t at, int64_t rows)
{
    for (int64_t i = 0; i < c->in.n_rows; i++)
        copy_rows(&c->in.rows[i], at, rows, true);
    attn_status status =
        c->e->step(c->state, rows, (const void *const *)c->in.p, c->out.p, c->workspace, c->exec);
    for (int64_t i = 0; i < c->out.n_rows; i++)
        copy_rows(&c->out.rows[i], at, rows, false);
    return status;
}

bool run_steps(session *s, const backend_entry *e, const binding *b, const char *cuts)
{
    int threads;
    attn_exec pool;
    const attn_exec *exec = native_threads(s, &pool, &threads);
    int64_t steps = 0;
    if (attn_extent_eval(e->info->capacity, b->dims, b->info->n_dims, &steps) != ATTN_EVAL_OK)
        return native_refused(s, b, ATTN_DIM);
    size_t prepared_size = e->prepared(b->dims), workspace_size = e->workspace(b->dims, threads);
    size_t state_size = e->state(b->dims);
    if (prepared_size == SIZE_MAX || workspace_size == SIZE_MAX || state_size == SIZE_MAX)
        return native_refused(s, b, ATTN_DIM);
    phase_begin(s, "running");
    int64_t most = largest_cut(cuts, steps);
    const void *const *params = (const void *const *)native_pointers(s, b, ATTN_PARAM);
    step_table begin = table_of(s, e, b, ATTN_INPUT, ATTN_BEGIN, 0);
    stepping c = {.e = e,
                  .in = table_of(s, e, b, ATTN_INPUT, ATTN_STEP, most),
                  .out = table_of(s, e, b, ATTN_OUTPUT, ATTN_STEP, most),
                  .state = native_block(s, state_size),
                  .workspace = native_block(s, workspace_size),
                  .exec = exec};
    void *prepared = native_block(s, prepared_size);
    attn_status status = e->prepare(b->dims, params, prepared);
    if (status == ATTN_OK)
        status = e->begin(b->dims, params, prepared, (const void *const *)begin.p, c.state,
                          c.workspace, exec);
    for (int64_t at = 0, n; at < steps && status == ATTN_OK; at += n) {
        n = next_cut(&cuts);
        n = n < steps - at ? n : steps - at;
        status = one_call(&c, at, n);
    }
    phase_end(s);
    return status == ATTN_OK || native_refused(s, b, status);
}
