/* schedule.c: graph to kernel. Every stored value becomes one loop nest, in the order of the graph;
 * a recurrence becomes a loop over its steps around the nests of its region; what is not stored is
 * computed where it is used. Sums are made by tiles where that fits (schedule_sums.c), else the
 * plain way; vectors, threads and shared memory are found in the finished kernel.
 *
 * require: a verified graph.  keep: its meaning but for the order of sums, which sizes alone
 * decide.  give: a kernel that kernel_verify accepts. */
#include "ir/graph/scratch.h"
#include "passes/pass.h"
#include "passes/schedule_internal.h"

enum { MAX_NESTED_SCANS = 64 };

double choice_begin(const sched *s)
{
    return s->seconds ? pass_clock() : 0;
}

void choice_end(const sched *s, choice_id x, double begun)
{
    if (s->seconds)
        s->seconds[x] += pass_clock() - begun;
}

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
    form(s, RULE_schedule_scan);
    kvar *t = kernel_var(s->k, step->name, DT_I64, false);
    kblock aside = {0}; /* until it is known what stands before the loop */
    kstmt *loop = ks_for(s->k, &aside, t, kx_int(s->k, 0), kx_dim(s->k, step->extent), KL_SEQ);
    before b = {.block = s->at, .steps = s->steps, .home = s->home[v->id]};
    vec_push(s->scratch, &s->before, b);
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
    s->before.n--;
    s->nesting--;
    vec_push(s->k->a, &s->at->s, loop);
}

static void put_value(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    store_at(s, f, v, sx_compute(s, f, v));
}

static void put_zero(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    store_at(s, f, v, k_zero(s, v->dt));
}

/* What nobody asks for is 0 where computing it might fail: loops of users may run over it. */
static void zero_nest(sched *s, frame *f, nest n)
{
    form(s, RULE_schedule_asked);
    n.body_of = NULL;
    n.body = put_zero;
    run_nest(s, f, &n);
}

void emit_value(sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    bool prepared = p->buf->role == KB_PREPARED, in_step = s->in_step;
    frame f = prepared ? new_frame(s, NULL) : frame_here(s);
    scope o = scope_open(s, prepared ? &s->k->prepare : s->at);
    s->in_step = s->in_step && !prepared;
    form(s, OP_HAS(v->op, T_NORM) ? RULE_schedule_normaliser
            : p->scatter          ? RULE_schedule_scatter
            : p->tiling           ? RULE_schedule_tiles
            : p->row_form         ? RULE_schedule_row_form
                                  : RULE_schedule_nest);
    if (prepared)
        form(s, RULE_schedule_prepared);
    if (OP_HAS(v->op, T_NORM)) {
        emit_norm(s, &f, v);
    } else if (p->scatter) {
        emit_scatter(s, &f, v);
    } else if (p->tiling) {
        double begun = choice_begin(s);
        emit_tiling(s, &f, v);
        choice_end(s, CHOICE_tiles, begun);
    } else if (p->row_form) {
        emit_row_form(s, &f, v);
    } else {
        nest n = {.ix = p->axes, .n = p->buf->rank, .where = {p->need}, .body_of = v};
        n.body = put_value;
        n.ctx = (void *)v;
        n.note = note_of(s, v);
        if (p->guarded) {
            zero_nest(s, &f, n);
            n.where[0] = p->asked;
        }
        run_nest(s, &f, &n);
    }
    s->in_step = in_step;
    scope_close(s, o);
}

/* A copy: v at each place of a buffer whose axes stand for those indices. */
typedef struct copy {
    const value *v;
    plan to; /* buf, axes, ring */
} copy;

static void put_copy(sched *s, frame *f, void *ctx)
{
    const copy *c = ctx;
    const kbuf *buf = c->to.buf;
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, buf->rank);
    for (uint32_t i = 0; i < buf->rank; i++)
        index[i] = bound_value(f, c->to.axes[i]);
    fit_index(s, &c->to, index);
    ks_store(s->k, s->at, buf, index, sx(s, f, c->v));
}

static void emit_copy(sched *s, copy c, const char *note)
{
    frame f = frame_here(s);
    scope o = scope_open(s, s->at);
    nest n = {.ix = c.to.axes, .n = c.to.buf->rank, .body = put_copy, .ctx = &c, .note = note};
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
    copy c = {.v = v->args[1], .to = *p};
    c.to.axes = axes;
    emit_copy(s, c, note_of(s, v));
}

void emit_output(sched *s, size_t result)
{
    const out *o = &s->outs[result];
    if (!o->done)
        emit_copy(s, (copy){.v = o->v, .to = {.buf = output_buf(s, result), .axes = o->axes}},
                  NULL);
}

void emit_region(sched *s, uint32_t home)
{
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        if (s->home[v->id] != home || is_leaf(v))
            continue;
        if (v == s->step_scan)
            continue;
        if (v->op == OP_scan)
            emit_scan(s, v);
        else if (v->op == OP_append && !s->plan[v->id].done)
            emit_append(s, v);
        else if (v->op == OP_online)
            emit_online(s, v);
        else if (!OP_HAS(v->op, T_REGION) && v->op != OP_part && s->plan[v->id].stored)
            emit_value(s, v);
    }
}

/* What the outputs hold. In a step kernel what stands behind the scan of the steps is done with. */
static void find_outs(sched *s)
{
    s->outs = ARENA_ARRAY(s->scratch, out, s->g->results.n);
    for (size_t i = 0; i < s->g->results.n; i++) {
        const graph_result *r = &s->g->results.v[i];
        step_output o = {.v = r->v, .axes = r->axes, .step_axis = -1};
        if (s->step_scan && !graph_step_output(s->g, s->scratch, &s->live, r, &o))
            ice("the output %s of a step graph", r->name);
        s->outs[i] = (out){.v = o.v, .axes = o.axes, .step_axis = o.step_axis};
    }
    if (!s->step_scan)
        return;
    bool *behind = ARENA_ARRAY(s->scratch, bool, s->g->values.n);
    size_t n = 0;
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        for (uint32_t k = 0; k < v->n_args; k++)
            behind[v->id] = behind[v->id] || behind[v->args[k]->id] || v->args[k] == s->step_scan;
        if (!behind[v->id])
            s->live.v[n++] = s->live.v[i];
    }
    s->live.n = n;
}

static void schedule_in(void *ctx, arena *scratch)
{
    sched *s = ctx;
    s->scratch = scratch;
    graph_live(s->g, scratch, &s->live);
    make_conditions(s);
    s->home = graph_homes(s->g, scratch, &s->live);
    s->step_scan = graph_step_scan(s->g, &s->live);
    if (!s->k->rows)
        s->step_scan = NULL; /* a step graph as an ordinary one */
    if (s->step_scan)
        s->step_axis = graph_step_axes(s->g, scratch, &s->live);
    find_outs(s);
    value_list all = {0};
    for (size_t i = 0; i < s->live.n + s->conditions.n; i++)
        vec_push(scratch, &all, i < s->live.n ? s->live.v[i] : s->conditions.v[i - s->live.n]);
    s->range = range_new(scratch, s->g, &all);
    s->plan = ARENA_ARRAY(scratch, plan, s->g->values.n);
    s->memos = ARENA_ARRAY(scratch, memo *, s->g->values.n);
    s->scan_of = ARENA_ARRAY(scratch, const value *, s->g->n_scans);
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_scan)
            s->scan_of[s->live.v[i]->scan] = s->live.v[i];
    }
    place_conditions(s);
    s->at = &s->k->body;
    plan_values(s);
    emit_region(s, 0);
    if (s->step_scan) {
        form(s, RULE_schedule_steps);
        emit_steps(s);
    } else {
        for (size_t i = 0; i < s->g->results.n; i++)
            emit_output(s, i);
    }
}

kernel *schedule(arena *a, graph *g, const schedule_options *so, diags *ds)
{
    kernel *k = so->steps ? kernel_from_step_signature(a, g) : kernel_from_signature(a, g);
    sched s = {.g = g, .ds = ds, .k = k, .shape = so->shape, .copies = 1, .hits = so->hits};
    s.without = so->without;
    s.seconds = so->seconds;
    with_scratch(arena_mem(a), schedule_in, &s);
    return s.failed ? NULL : k;
}
