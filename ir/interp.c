/* interp.c: the entry of the reference interpreter: the caller's tensors, the checks, the
 * statements in order, the outputs. How it computes is told in interp_internal.h. */
#include "ir/interp.h"

#include <math.h>
#include <string.h>

#include "ir/graph/scratch.h"
#include "ir/interp_internal.h"

enum { MAX_TRAPS = 1000 }; /* records with a text of their own */

bool is_real(const value *v)
{
    return v->dt == DT_F32 || v->dt == DT_F64;
}

const char *value_label(const machine *m, const value *v)
{
    if (v->hint)
        return arena_printf(m->a, "%%%s", v->hint);
    return v->name ? arena_printf(m->a, "%s \"%s\"", op_table[v->op].text, v->name)
                   : op_table[v->op].text;
}

uint32_t new_trap(machine *m, interp_status status, const char *text)
{
    if (m->traps.n < MAX_TRAPS) {
        trap t = {.status = status, .text = text};
        vec_push(m->scratch, &m->traps, t);
        return (uint32_t)m->traps.n;
    }
    for (size_t i = m->traps.n; i-- > 0;) {
        if (m->traps.v[i].status == status)
            return (uint32_t)i + 1;
    }
    return (uint32_t)m->traps.n;
}

/* --- statements --- */

static int64_t axis_stride(const tensor *t, const ix *i)
{
    for (uint32_t k = 0; k < t->n_axes; k++) {
        if (t->axes[k] == i)
            return t->stride[k];
    }
    return 0;
}

static int64_t *strides_for(machine *m, const plan *p, const tensor *t)
{
    int64_t *stride = own(m, p->n_free, sizeof *stride);
    for (uint32_t k = 0; k < p->n_free; k++)
        stride[k] = axis_stride(t, p->space[k]);
    return stride;
}

static void run_plan(machine *m, const stmt *s, plan *p, fold f)
{
    int64_t *stride = strides_for(m, p, s->out);
    f.stride = stride;
    f.out = s->out;
    run_fold(m, p, &f);
    disown(m, stride);
}

static void run_join(machine *m, const stmt *s)
{
    const value *v = s->v;
    int64_t base = 0, along = axis_stride(s->out, v->bound[0]);
    for (uint32_t k = 0; k < v->n_args; k++) {
        plan *p = &s->plans[k];
        int64_t *stride = strides_for(m, p, s->out);
        for (uint32_t j = 0; j < p->n_free; j++) {
            if (p->space[j] == v->bound[k + 1])
                stride[j] = along;
        }
        fold f = {.kind = FOLD_ASSIGN, .out = s->out, .base = base * along, .stride = stride};
        run_fold(m, p, &f);
        disown(m, stride);
        base += m->extent[v->bound[k + 1]->id];
    }
}

static void run_stmt(machine *m, stmt *s)
{
    const value *v = s->v;
    if (v->op == OP_append) {
        const ix *row = v->args[0]->bound[0];
        fold f = {.kind = FOLD_ASSIGN, .clear_bad = true};
        f.base = m->cur[v->bound[0]->id] * axis_stride(s->out, row);
        run_plan(m, s, s->plans, f);
        return;
    }
    tensor_alloc(m, s->out);
    if (v->op == OP_join) {
        run_join(m, s);
    } else if (OP_HAS(v->op, T_NORM) || v->op == OP_online) {
        fold f = {.kind = FOLD_ASSIGN, .live = own(m, s->out->n, 1)};
        run_plan(m, s, s->plans, f);
        if (v->op == OP_online)
            run_online(m, v, s->out, f.live);
        else
            run_norm(m, v, v->op, s->out, f.live);
        disown(m, f.live);
    } else {
        int kind = v->op == OP_reduce     ? v->kind
                   : v->op == OP_contract ? (int)RED_sum
                   : v->op == OP_part     ? part_fold(v)
                                          : FOLD_ASSIGN;
        run_plan(m, s, s->plans, (fold){.kind = kind});
    }
}

/* Rows not written yet are NaN, or bad where there is no NaN. */
static void start_history(machine *m, tensor *t)
{
    tensor_alloc(m, t);
    for (size_t k = 0; t->f && k < t->n; k++)
        t->f[k] = NAN;
    if (t->f)
        return;
    tensor_need_bad(m, t);
    uint32_t bad = new_trap(m, INTERP_INDEX,
                            arena_printf(m->a, "internal error: %s is read before it is written",
                                         value_label(m, t->v)));
    for (size_t k = 0; k < t->n; k++)
        t->bad[k] = bad;
}

static void run_block(machine *m, block *b);

static void run_scan(machine *m, const stmt *s)
{
    const value *v = s->v;
    int64_t steps = m->extent[v->bound[0]->id], *t = &m->cur[v->bound[0]->id];
    for (uint32_t k = 0; k < v->n_args; k++)
        start_history(m, s->region->history[k]);
    for (int64_t k = 0; k < steps; k++) {
        *t = v->kind ? steps - 1 - k : k;
        run_block(m, s->region);
    }
}

static void run_block(machine *m, block *b)
{
    for (size_t k = 0; k < b->s.n; k++) {
        stmt *s = &b->s.v[k];
        if (s->region)
            run_scan(m, s);
        else
            run_stmt(m, s);
        for (size_t i = 0; i < s->done.n; i++)
            tensor_free(m, s->done.v[i]);
    }
}

/* --- the entry --- */

typedef struct call {
    machine *m;
    const int64_t *given; /* the caller's symbols */
    interp_tensor *outputs;
    interp_status status;
    const char *message;
} call;

static bool fail(call *c, interp_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(call *c, interp_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    c->message = arena_vprintf(c->m->a, fmt, ap);
    va_end(ap);
    c->status = status;
    return false;
}

static bool set_symbols(call *c)
{
    machine *m = c->m;
    const graph *g = m->g;
    uint32_t n = dims_n_symbols(g->dims);
    int64_t *symbols = ARENA_ARRAY(m->scratch, int64_t, n);
    for (size_t i = 0; i < g->symbols.n; i++) {
        int64_t x = c->given[i];
        if (x < 0 || x > DIM_LIMIT)
            return fail(c, INTERP_DIM, "the dim %s is %lld", g->symbols.v[i], (long long)x);
        for (uint32_t s = 0; s < n; s++) {
            if (strcmp(dims_symbol(g->dims, s), g->symbols.v[i]) == 0)
                symbols[s] = x;
        }
    }
    m->symbols = symbols;
    for (size_t i = 0; i < g->checks.n; i++) {
        const graph_check *k = &g->checks.v[i];
        int64_t a = 0, b = 0;
        if (!dim_eval(k->a, symbols, &a) || !dim_eval(k->b, symbols, &b))
            return fail(c, INTERP_DIM, "%s: %s and %s have no value here", k->text,
                        dim_text(m->scratch, k->a), dim_text(m->scratch, k->b));
        if (k->le ? a > b : a != b)
            return fail(c, INTERP_DIM, "%s: %s is %lld, %s is %lld", k->text,
                        dim_text(m->scratch, k->a), (long long)a, dim_text(m->scratch, k->b),
                        (long long)b);
    }
    return true;
}

static bool set_extent(call *c, const ix *i)
{
    int64_t *x = &c->m->extent[i->id];
    if (*x >= 0)
        return true;
    if (!dim_eval(i->extent, c->m->symbols, x))
        return fail(c, INTERP_DIM, "the dim %s has no value here",
                    dim_text(c->m->scratch, i->extent));
    if (*x < 0)
        return fail(c, INTERP_DIM, "the dim %s is %lld", dim_text(c->m->scratch, i->extent),
                    (long long)*x);
    return true;
}

static bool set_extents(call *c, const ix *const *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!set_extent(c, list[k]))
            return false;
    }
    return true;
}

static bool set_all_extents(call *c)
{
    machine *m = c->m;
    const graph *g = m->g;
    m->extent = ARENA_ARRAY(m->scratch, int64_t, g->ixs.n);
    m->cur = ARENA_ARRAY(m->scratch, int64_t, g->ixs.n);
    for (size_t i = 0; i < g->ixs.n; i++)
        m->extent[i] = -1;
    bool ok = true;
    for (size_t i = 0; ok && i < m->live.n; i++) {
        const value *v = m->live.v[i];
        ok = set_extents(c, v->ix, v->n_ix) && set_extents(c, v->bound, v->n_bound);
    }
    for (size_t i = 0; ok && i < g->results.n; i++)
        ok = set_extents(c, g->results.v[i].axes, g->results.v[i].n_axes);
    return ok;
}

/* The caller's tensors as the values of inputs or params that are read at all. */
static bool bind(call *c, value *const *values, size_t n, const interp_tensor *from)
{
    machine *m = c->m;
    for (size_t i = 0; i < n; i++) {
        tensor *t = m->of[values[i]->id];
        if (!t)
            continue;
        t->borrowed = true;
        t->absent = from[i].absent;
        if (t->absent)
            continue;
        bool fits = from[i].rank == t->n_axes;
        for (uint32_t k = 0; fits && k < t->n_axes; k++)
            fits = from[i].shape[k] == m->extent[t->axes[k]->id];
        if (!fits)
            return fail(c, INTERP_DIM, "%s \"%s\" does not have the shape that it is declared with",
                        op_table[values[i]->op].text, values[i]->name);
        t->f = from[i].f;
        t->i = from[i].i;
    }
    return true;
}

static bool put_output(call *c, size_t which)
{
    machine *m = c->m;
    const graph_result *r = &m->g->results.v[which];
    value shape = {
        .op = r->v->op, .dt = r->v->dt, .hint = r->v->hint, .n_ix = r->n_axes, .ix = r->axes};
    tensor t = {.v = &shape};
    tensor_layout(m, &t, NULL);
    plan p = {0};
    make_plan(m, &p, r->v, NULL, m->blocks[0], r->axes, r->n_axes, NULL, 0);
    interp_tensor *to = &c->outputs[which];
    int64_t *lengths = ARENA_ARRAY(m->a, int64_t, r->n_axes);
    for (uint32_t k = 0; k < r->n_axes; k++)
        lengths[k] = m->extent[r->axes[k]->id];
    *to = (interp_tensor){.rank = r->n_axes, .shape = lengths};
    if (is_real(r->v))
        to->f = t.f = ARENA_ARRAY(m->a, double, t.n);
    else
        to->i = t.i = ARENA_ARRAY(m->a, int64_t, t.n);
    fold f = {.kind = FOLD_ASSIGN, .out = &t, .stride = t.stride};
    run_fold(m, &p, &f);
    for (size_t k = 0; t.bad && k < t.n; k++) {
        if (t.bad[k]) {
            const trap *why = &m->traps.v[t.bad[k] - 1];
            return fail(c, why->status, "%s", why->text);
        }
    }
    disown(m, t.bad);
    return true;
}

static void run_all(call *c)
{
    machine *m = c->m;
    const graph *g = m->g;
    graph_live(g, m->scratch, &m->live);
    if (!set_symbols(c) || !set_all_extents(c))
        return;
    m->home = graph_homes(g, m->scratch, &m->live);
    m->node_of = ARENA_ARRAY(m->scratch, uint32_t, g->values.n);
    m->stamp = ARENA_ARRAY(m->scratch, uint32_t, g->values.n);
    make_tensors(m);
    if (!bind(c, g->inputs.v, g->inputs.n, m->inputs) ||
        !bind(c, g->params.v, g->params.n, m->params))
        return;
    make_blocks(m);
    run_block(m, m->blocks[0]);
    for (size_t i = 0; i < g->results.n; i++) {
        if (!put_output(c, i))
            return;
    }
}

/* As with_scratch, for the tensors. */
static void run_guarded(void *ctx, arena *scratch)
{
    call *c = ctx;
    mem *memory = arena_mem(c->m->a);
    struct {
        jmp_buf *outer;
        jmp_buf here;
    } s;
    c->m->scratch = scratch;
    s.outer = memory->on_oom;
    memory->on_oom = &s.here;
    if (setjmp(s.here)) {
        memory->on_oom = s.outer;
        disown_all(c->m);
        mem_fail(memory);
    }
    run_all(c);
    memory->on_oom = s.outer;
    disown_all(c->m);
}

interp_status interp_run(arena *a, const graph *g, const int64_t *symbols,
                         const interp_tensor *inputs, const interp_tensor *params,
                         interp_tensor *outputs, const char **message)
{
    machine m = {.a = a, .g = g, .inputs = inputs, .params = params};
    call c = {.m = &m, .given = symbols, .outputs = outputs};
    with_scratch(arena_mem(a), run_guarded, &c);
    *message = c.message;
    return c.status;
}
