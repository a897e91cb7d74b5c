/* schedule.c: graph to kernel: the plain schedule. Every stored value becomes one loop nest, in the
 * order of the graph; a recurrence becomes a loop over its steps around the nests of its region;
 * what is not stored is computed where it is used. Tiles, vectors and threads are no subject here.
 *
 * require: a verified graph.  keep: its meaning, sums in index order.  give: a kernel that
 * kernel_verify accepts. */
#include "ir/graph/scratch.h"
#include "passes/schedule_internal.h"

enum { MAX_NESTED_SCANS = 64 };

static void emit_region(sched *s, uint32_t home);

static frame frame_here(sched *s)
{
    return new_frame(s, s->steps);
}

static void emit_scan(sched *s, const value *v)
{
    if (++s->nesting > MAX_NESTED_SCANS) {
        diag_error(s->ds, v->at, "recurrences nest deeper than %d levels", MAX_NESTED_SCANS);
        s->failed = true;
        return;
    }
    const ix *step = v->bound[0];
    kvar *t = kernel_var(s->k, step->name, DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, t, kx_int(s->k, 0), kx_dim(s->k, step->extent), KL_SEQ);
    loop->down = v->kind == 1;
    loop->note = note_of(s, v);
    const binding *outer = s->steps;
    frame f = frame_here(s);
    bind(s, &f, step, kx_var(s->k, t));
    s->steps = f.env;
    scope o = scope_open(s, &loop->body);
    emit_region(s, v->scan + 1);
    scope_close(s, o);
    s->steps = outer;
    s->nesting--;
}

static void put_value(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    store_at(s, f, v, sx_compute(s, f, v));
}

void emit_value(sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    frame f = frame_here(s);
    scope o = scope_open(s, s->at);
    if (OP_HAS(v->op, T_NORM)) {
        emit_norm(s, &f, v);
    } else if (p->row_form) {
        emit_row_form(s, &f, v);
    } else {
        nest n = {.ix = p->axes, .n = p->buf->rank, .where = {p->need}, .body_of = v};
        n.body = put_value;
        n.ctx = (void *)v;
        n.note = note_of(s, v);
        run_nest(s, &f, &n);
    }
    scope_close(s, o);
}

/* A copy: v at each place of a buffer whose axes stand for those indices. */
typedef struct copy {
    const value *v;
    const kbuf *buf;
    const ix *const *axes;
} copy;

static void put_copy(sched *s, frame *f, void *ctx)
{
    const copy *c = ctx;
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, c->buf->rank);
    for (uint32_t i = 0; i < c->buf->rank; i++)
        index[i] = bound_value(f, c->axes[i]);
    ks_store(s->k, s->at, c->buf, index, sx(s, f, c->v));
}

static void emit_copy(sched *s, copy c, const char *note)
{
    frame f = frame_here(s);
    scope o = scope_open(s, s->at);
    nest n = {.ix = c.axes, .n = c.buf->rank, .body = put_copy, .ctx = &c, .note = note};
    n.body_of = s->plan[history_of(c.v)->id].stored ? NULL : c.v;
    run_nest(s, &f, &n);
    scope_close(s, o);
}

static void emit_append(sched *s, const value *v)
{
    const value *h = v->args[0];
    const plan *p = &s->plan[h->id];
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, p->buf->rank);
    for (uint32_t i = 0; i < p->buf->rank; i++)
        axes[i] = p->axes[i] == h->bound[0] ? v->bound[0] : p->axes[i];
    emit_copy(s, (copy){.v = v->args[1], .buf = p->buf, .axes = axes}, note_of(s, v));
}

static void emit_region(sched *s, uint32_t home)
{
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        if (s->home[v->id] != home || is_leaf(v))
            continue;
        if (v->op == OP_scan)
            emit_scan(s, v);
        else if (v->op == OP_append && !s->plan[v->id].done)
            emit_append(s, v);
        else if (!OP_HAS(v->op, T_REGION) && s->plan[v->id].stored)
            emit_value(s, v);
    }
}

static void schedule_in(void *ctx, arena *scratch)
{
    sched *s = ctx;
    s->scratch = scratch;
    graph_live(s->g, scratch, &s->live);
    s->home = graph_homes(s->g, scratch, &s->live);
    s->range = range_new(scratch, s->g, &s->live);
    s->plan = ARENA_ARRAY(scratch, plan, s->g->values.n);
    s->memos = ARENA_ARRAY(scratch, memo *, s->g->values.n);
    s->scan_of = ARENA_ARRAY(scratch, const value *, s->g->n_scans);
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_scan)
            s->scan_of[s->live.v[i]->scan] = s->live.v[i];
    }
    s->at = &s->k->body;
    plan_values(s);
    emit_region(s, 0);
    for (size_t i = 0; i < s->g->results.n; i++) {
        const graph_result *r = &s->g->results.v[i];
        if (!s->output_done[i])
            emit_copy(s, (copy){.v = r->v, .buf = output_buf(s, i), .axes = r->axes}, NULL);
    }
}

kernel *schedule(arena *a, const graph *g, diags *ds)
{
    sched s = {.g = g, .ds = ds, .k = kernel_from_signature(a, g), .copies = 1};
    with_scratch(arena_mem(a), schedule_in, &s);
    return s.failed ? NULL : s.k;
}
