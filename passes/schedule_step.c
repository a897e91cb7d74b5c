/* schedule_step.c: step kernels. The beginning computes what lies outside the scan of the steps; a
 * call then runs the scan's region for some steps more.
 *
 * What outlives a call is state: histories, as many of their rows as later steps look at
 * (schedule_ring.c), and what the region needs of the beginning, its inputs among it. */
#include "passes/schedule_internal.h"

/* --- what the beginning hands on --- */

typedef struct input_copy {
    const value *v;
    const kbuf *from, *to;
} input_copy;

static void put_input(sched *s, frame *f, void *ctx)
{
    const input_copy *c = ctx;
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, c->v->n_ix);
    for (uint32_t i = 0; i < c->v->n_ix; i++)
        index[i] = bound_value(f, c->v->ix[i]);
    ks_store(s->k, s->at, c->to, index, kx_load(s->k, c->from, index));
}

static void keep_input(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    input_copy c = {.v = v, .from = p->buf};
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, v->n_ix);
    for (uint32_t i = 0; i < v->n_ix; i++)
        shape[i] = v->ix[i]->extent;
    c.to = kernel_buf(s->k, KB_TEMP, v->name, (store_type)v->kind, shape, v->n_ix);
    scope body, given;
    frame f = new_frame(s, NULL);
    body = scope_open(s, &s->k->body);
    if (v->optional) {
        const char *name = arena_printf(s->scratch, "%s_given", v->name);
        s->given[v->id] = kernel_buf(s->k, KB_TEMP, name, ST_BOOL, NULL, 0);
        ks_store(s->k, s->at, s->given[v->id], NULL, kx_given(s->k, c.from));
        open_if(s, kx_given(s->k, c.from), &given);
    }
    nest n = {.ix = v->ix, .n = v->n_ix, .body = put_input, .ctx = &c};
    n.note = arena_printf(s->k->a, "keep %s", v->name);
    run_nest(s, &f, &n);
    if (v->optional)
        scope_close(s, given);
    scope_close(s, body);
    p->buf = c.to;
}

void step_leaf(sched *s, const value *v)
{
    if (!s->in_step || v->op != OP_input || s->step_axis[v->id] >= 0 || s->kept[v->id])
        return;
    s->kept[v->id] = true;
    keep_input(s, v);
}

/* --- the steps --- */

static bool any_so_far(const sched *s)
{
    for (size_t i = 0; i < s->g->results.n; i++) {
        if (s->outs[i].step_axis < 0)
            return true;
    }
    return false;
}

static void emit_loop(sched *s)
{
    const value *scan = s->step_scan;
    const ix *step = scan->bound[0];
    const kexpr *pos = kx_var(s->k, s->k->pos);
    const kexpr *end = k2(s, OP_add, pos, kx_dim(s->k, dim_sym(s->k->dims, s->k->rows)));
    end = hold(s, end, "end");
    kvar *t = kernel_var(s->k, step->name, DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, t, pos, end, KL_SEQ);
    loop->note = note_of(s, scan);
    frame f = new_frame(s, NULL);
    bind(s, &f, step, kx_var(s->k, t));
    s->steps = f.env;
    scope body = scope_open(s, &loop->body), last;
    s->row = hold(s, k2(s, OP_sub, kx_var(s->k, t), pos), "row");
    emit_region(s, scan->scan + 1);
    for (size_t i = 0; i < s->g->results.n; i++) {
        if (s->outs[i].step_axis >= 0)
            emit_output(s, i);
    }
    if (any_so_far(s)) {
        const kexpr *next = k2(s, OP_add, kx_var(s->k, t), kx_int(s->k, 1));
        open_if(s, k2(s, OP_eq, next, end), &last);
        for (size_t i = 0; i < s->g->results.n; i++) {
            if (s->outs[i].step_axis < 0)
                emit_output(s, i);
        }
        scope_close(s, last);
    }
    scope_close(s, body);
    s->steps = NULL;
}

/* --- roles --- */

typedef struct touched {
    bool *in[2]; /* by buffer: in the beginning, in the steps */
    bool *now;
} touched;

static void touch_expr(touched *t, const kexpr *e)
{
    if (!e)
        return;
    if (e->buf)
        t->now[e->buf->id] = true;
    for (uint32_t i = 0; i < e->n_args; i++)
        touch_expr(t, e->args[i]);
}

static void touch_block(touched *t, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *st = b->s.v[i];
        if (st->buf)
            t->now[st->buf->id] = true;
        touch_expr(t, st->e);
        touch_expr(t, st->lo);
        touch_expr(t, st->hi);
        for (uint32_t k = 0; k < st->n_index; k++)
            touch_expr(t, st->index[k]);
        touch_block(t, &st->body);
        touch_block(t, &st->other);
    }
}

/* Memory used by both bodies, or by one call for another, is state. */
static void set_roles(sched *s)
{
    kernel *k = s->k;
    touched t = {0};
    for (int i = 0; i < 2; i++) {
        t.now = t.in[i] = ARENA_ARRAY(s->scratch, bool, k->bufs.n);
        touch_block(&t, i == 0 ? &k->body : &k->step);
    }
    for (size_t i = 0; i < k->bufs.n; i++) {
        if (k->bufs.v[i]->role == KB_TEMP && t.in[0][i] && t.in[1][i])
            k->bufs.v[i]->role = KB_STATE;
    }
    for (uint32_t i = 0; i < s->step_scan->n_args; i++) {
        const plan *p = &s->plan[s->step_scan->args[i]->args[0]->id];
        if (p->buf && p->ring != 1)
            k->bufs.v[p->buf->id]->role = KB_STATE;
    }
    kbuf **old = arena_copy(s->scratch, k->bufs.v, k->bufs.n * sizeof *old);
    size_t n = 0;
    for (int role = 0; role < KB_ROLE_COUNT; role++) {
        for (size_t i = 0; i < k->bufs.n; i++) {
            if ((int)old[i]->role == role)
                k->bufs.v[n++] = old[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        k->bufs.v[i]->id = (uint32_t)i;
}

void emit_steps(sched *s)
{
    s->in_step = true;
    s->given = ARENA_ARRAY(s->scratch, const kbuf *, s->g->values.n);
    s->kept = ARENA_ARRAY(s->scratch, bool, s->g->values.n);
    s->at = &s->k->step;
    before b = {.block = &s->k->body};
    vec_push(s->scratch, &s->before, b);
    emit_loop(s);
    s->before.n--;
    if (!s->failed)
        set_roles(s);
}
