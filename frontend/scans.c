/* scans.c: tensors that depend on themselves become scans.
 *
 * Inside, a tensor's earlier steps are read from a history and the present one is a value of the
 * region; outside, it is the scan's result. Nested scans arise where tensors still depend on each
 * other within a step. */
#include "frontend/builder.h"

#include <string.h>

/* --- tensors --- */

void frame_arrays(builder *b, frame *f)
{
    arena *a = b->s->a;
    size_t nt = b->s->tensors.n, nv = b->o.from->values.n + 64;
    f->in = ARENA_ARRAY(a, bool, nt);
    f->step = ARENA_ARRAY(a, uint32_t, nt);
    f->region = ARENA_ARRAY(a, value *, nt);
    f->state = ARENA_ARRAY(a, progress, nt);
    f->history = ARENA_ARRAY(a, value *, nt);
    f->appended = ARENA_ARRAY(a, value *, nt);
    f->wanted = ARENA_ARRAY(a, bool, nt);
    f->slot = ARENA_ARRAY(a, int, nt);
    f->n_values = (uint32_t)nv;
    f->memo = ARENA_ARRAY(a, value *, nv);
    f->memo_of = ARENA_ARRAY(a, const tensor *, nv);
    f->dep = ARENA_ARRAY(a, signed char, nv);
}

void frame_room(builder *b, frame *f, uint32_t id)
{
    if (id < f->n_values)
        return;
    uint32_t n = id + id / 2 + 64;
    value **memo = ARENA_ARRAY(b->s->a, value *, n);
    signed char *dep = ARENA_ARRAY(b->s->a, signed char, n);
    const tensor **memo_of = ARENA_ARRAY(b->s->a, const tensor *, n);
    memcpy(memo, f->memo, f->n_values * sizeof *memo);
    memcpy(memo_of, f->memo_of, f->n_values * sizeof *memo_of);
    memcpy(dep, f->dep, f->n_values * sizeof *dep);
    f->memo = memo;
    f->memo_of = memo_of;
    f->dep = dep;
    f->n_values = n;
}

/* An index for the rows of t's history: none of those its values use. */
static const ix *row_ix(builder *b, tensor *t, const ix *step)
{
    sema *s = b->s;
    const dim *extent = dims_final(s, step->extent, t->at);
    for (size_t i = 0; i < b->to->ixs.n; i++) {
        const ix *r = b->to->ixs.v[i];
        bool taken = r->extent != extent || r == map_ix(b, step);
        for (uint32_t k = 0; k < t->n_ix && !taken; k++)
            taken = r == map_ix(b, t->ix[k]);
        if (!taken)
            return r;
    }
    const char *name = "row";
    for (int k = 2; graph_find_ix(b->to, intern(s->names, name)) || is_dim_name(b->to, name); k++)
        name = arena_printf(s->a, "row%d", k);
    return graph_ix(b->to, intern(s->names, name), extent);
}

/* t's value in this step is known: its history gets the row. */
static void finish(builder *b, frame *f, tensor *t)
{
    f->state[t->id] = P_DONE;
    if (f->up && f->wanted[t->id] && !f->appended[t->id])
        f->appended[t->id] =
            graph_append(b->to, f->history[t->id], f->region[t->id], map_ix(b, f->step_ix));
}

frame *frame_new(builder *b, frame *outer, tensor *const *members, size_t n)
{
    frame *f = ARENA_NEW(b->s->a, frame);
    frame_arrays(b, f);
    f->up = outer;
    for (size_t i = 0; i < n; i++)
        f->in[members[i]->id] = true;
    return f;
}

static bool form_scan(builder *b, frame *outer, tensor *const *members, size_t n)
{
    sema *s = b->s;
    frame *f = frame_new(b, outer, members, n);
    s->g = b->o.from;
    bool ok = order_steps(&b->o, f, members, n);
    s->g = b->to;
    return ok && build_scan(b, outer, f, members, n);
}

bool build_scan(builder *b, frame *outer, frame *f, tensor *const *members, size_t n)
{
    sema *s = b->s;
    bool ok = true;
    s->g = b->o.from;
    f->step_ix = members[0]->ix[f->step[members[0]->id]];
    for (size_t i = 0; i < n && ok; i++)
        ok = rename_step(s, &b->o, members[i], f->step[members[i]->id], f->step_ix);
    order_components(&b->o, f, members, n);
    s->g = b->to;
    if (!ok)
        return false;
    f->scan = graph_new_scan(b->to);
    const ix *step = map_ix(b, f->step_ix);
    /* who needs a history: read at other steps, or from outside */
    for (size_t i = 0; i < b->live.n; i++) {
        tensor *x = b->live.v[i];
        for (size_t k = 0; k < b->o.edges[x->id].n; k++) {
            const edge *e = &b->o.edges[x->id].v[k];
            if (!f->in[e->to->id])
                continue;
            s->g = b->o.from;
            if (!f->in[x->id] || order_relation(&b->o, e, f->step[x->id], f->step[e->to->id],
                                                f->backward) != REL_SAME)
                f->wanted[e->to->id] = true;
            s->g = b->to;
        }
    }
    int slots = 0;
    for (size_t i = 0; i < n; i++) {
        tensor *t = members[i];
        if (t->is_root || t->is_input ||
            outer->wanted[t->id]) /* the outer history is fed from this scan's result */
            f->wanted[t->id] = true;
        if (!f->wanted[t->id])
            continue;
        uint32_t p = f->step[t->id];
        const ix **axes = map_ixs(b, t->ix, t->n_ix);
        axes[p] = row_ix(b, t, f->step_ix);
        f->slot[t->id] = slots;
        f->history[t->id] = graph_history(b->to, f->scan, slots++, intern(s->names, t->name), t->dt,
                                          axes, t->n_ix, axes[p]);
        f->history[t->id]->at = t->at;
        f->history[t->id]->hint = intern_printf(s->names, "%s.0", t->name);
    }
    value **done = ARENA_ARRAY(s->a, value *, slots ? slots : 1);
    for (size_t i = 0; i < n; i++) {
        tensor *t = members[i];
        if (!f->wanted[t->id])
            continue;
        if (!define(b, f, t))
            return false;
        done[f->slot[t->id]] = f->appended[t->id];
    }
    value *scan = graph_scan(b->to, f->scan, step, f->backward, done, (uint32_t)slots);
    scan->at = members[0]->at;
    for (size_t i = 0; i < n; i++) {
        tensor *t = members[i];
        if (!f->wanted[t->id])
            continue;
        value *r = graph_result_of(b->to, scan, f->slot[t->id]);
        /* on t's own indices again */
        const ix *row = f->history[t->id]->bound[0];
        value *at = graph_index(b->to, map_ix(b, t->ix[f->step[t->id]]));
        outer->region[t->id] = b_read(s, r, &row, &at, 1, NULL);
        finish(b, outer, t);
    }
    return true;
}

value *define(builder *b, frame *f, tensor *t)
{
    sema *s = b->s;
    if (f->state[t->id] == P_DONE)
        return f->region[t->id];
    if (f->state[t->id] == P_BAD)
        return NULL;
    /* the component it is computed with, inside this frame */
    VEC(tensor *) comp = {0};
    for (size_t i = 0; i < b->live.n; i++)
        if ((!f->up || f->in[b->live.v[i]->id]) && f->comp[b->live.v[i]->id] == f->comp[t->id])
            vec_push(s->a, &comp, b->live.v[i]);
    bool cyclic = comp.n > 1;
    for (size_t i = 0; i < b->o.edges[t->id].n && !cyclic; i++) {
        const edge *e = &b->o.edges[t->id].v[i];
        s->g = b->o.from;
        cyclic = e->to == t && (!f->up || !order_cuts(&b->o, f, e));
        s->g = b->to;
    }
    f->state[t->id] = P_BUSY;
    if (cyclic) {
        for (size_t i = 0; i < comp.n; i++) /* they are computed together */
            f->state[comp.v[i]->id] = P_BUSY;
        bool ok = form_scan(b, f, comp.v, comp.n);
        for (size_t i = 0; i < comp.n; i++)
            if (!ok || f->state[comp.v[i]->id] == P_BUSY)
                f->state[comp.v[i]->id] = ok ? P_NEW : P_BAD;
        if (!ok)
            return NULL;
    } else {
        tensor *before = f->current;
        f->current = t;
        f->region[t->id] = t->is_input ? lower_row(b, t->body) : lower(b, f, t->body);
        f->current = before;
        if (!f->region[t->id]) {
            f->state[t->id] = P_BAD;
            return NULL;
        }
        if (!f->region[t->id]->hint && f->region[t->id]->op != OP_input &&
            f->region[t->id]->op != OP_param)
            f->region[t->id]->hint = t->name;
    }
    finish(b, f, t);
    return f->region[t->id];
}
