/* order.c: dependence between tensors. A cycle of reads needs a step: an axis along which every
 * read in the cycle goes to the past (or stays at the step). Finds the axis and the direction, or
 * says which read forbids it. */
#include "frontend/order.h"

#include <string.h>

tensor *placeholder_of(const order *o, const value *v)
{
    if (v->id < o->n_by_value && o->by_value[v->id])
        return o->by_value[v->id];
    return v->op == OP_history && v->scan < o->n_scan ? o->by_scan[v->scan] : NULL;
}

bool is_own_value(const tensor *t, const value *v)
{
    return v == t->body && v == t->ph && v->op != OP_history;
}

/* --- edges --- */

/* Paths are asked for of steps, and of ints that may be read before they are written. */
static bool wants_paths(order *o)
{
    for (uint32_t i = 0; !o->by_value && !o->ints_known && i < o->n_scan; i++) {
        const tensor *t = o->by_scan[i];
        o->ints = o->ints || (t && (t->dt == DT_I64 || t->dt == DT_BOOL));
    }
    o->ints_known = true;
    return o->by_value || o->ints;
}

static void scan_body(order *o, tensor *t, value *v, unsigned char *seen)
{
    if (!v || seen[v->id] || (v->op == OP_given && o->by_value))
        return;
    seen[v->id] = 1;
    tensor *y;
    if ((y = placeholder_of(o, v)) && !is_own_value(t, v)) {
        edge e = {.from = t, .to = y, .node = v};
        if (wants_paths(o))
            e.paths = o->path[v->id];
        value **ix = ARENA_ARRAY(o->s->a, value *, y->n_ix);
        for (uint32_t i = 0; i < y->n_ix; i++)
            ix[i] = graph_index(o->s->g, y->ph->ix[i]);
        e.index = ix;
        vec_push(o->s->a, &o->edges[t->id], e);
        return;
    }
    if (v->op == OP_read && (y = placeholder_of(o, v->args[0]))) {
        edge e = {.from = t, .to = y, .node = v, .index = v->args + 1, .where = v->where};
        if (wants_paths(o))
            e.paths = o->path[v->id];
        vec_push(o->s->a, &o->edges[t->id], e);
        for (uint32_t i = 1; i < v->n_args; i++)
            scan_body(o, t, v->args[i], seen);
        scan_body(o, t, v->where, seen);
        return;
    }
    for (uint32_t i = 0; i < v->n_args; i++)
        scan_body(o, t, v->args[i], seen);
    scan_body(o, t, v->where, seen);
}

void order_edges(order *o, tensor *t)
{
    if (o->edges_done[t->id])
        return;
    o->edges_done[t->id] = true;
    if (t->is_input)
        return;
    /* new index values may be made while scanning: the array is sized for them */
    if (wants_paths(o))
        paths_find(o, t);
    unsigned char *seen = ARENA_ARRAY(o->s->a, unsigned char, o->from->values.n + 4096);
    scan_body(o, t, t->body, seen);
}

/* --- relations --- */

/* The predicate under which a read counts: what was in force when it was elaborated. */
static bool implied(order *o, const edge *e, value *a, value *b, int64_t slack)
{
    sema *s = o->s;
    if (pred_implies_le(s, e->where, a, b, slack) ||
        pred_prover(s, e->from->in->demand, a, b, slack) ||
        (o->by_value && paths_prove(o, e, a, b, slack, false)))
        return true;
    bool any = false;
    for (size_t i = 0; i < e->from->reads.n; i++) {
        const access *r = &e->from->reads.v[i];
        bool same = r->of == e->to;
        for (uint32_t k = 0; same && k < r->n; k++)
            same = r->index[k] == e->index[k];
        if (!same)
            continue;
        if (!pred_implies_le(s, r->demand, a, b, slack))
            return false;
        any = true;
    }
    return any;
}

relation order_relation(order *o, const edge *e, uint32_t from_pos, uint32_t to_pos, bool backward)
{
    sema *s = o->s;
    value *step = graph_index(s->g, e->from->ix[from_pos]), *at = e->index[to_pos];
    if (!dims_same(s, e->from->ix[from_pos]->extent, e->to->ix[to_pos]->extent))
        return REL_NONE;
    if (at == step)
        return REL_SAME;
    value *lo = backward ? step : at, *hi = backward ? at : step;
    if (implied(o, e, lo, hi, 1))
        return REL_PAST;
    if (implied(o, e, lo, hi, 0))
        return REL_UPTO;
    return REL_NONE;
}

bool order_needs_guard(order *o, const edge *e, uint32_t from_pos, uint32_t to_pos, bool backward,
                       relation r)
{
    sema *s = o->s;
    if (r != REL_PAST && r != REL_UPTO)
        return false;
    value *step = graph_index(s->g, e->from->ix[from_pos]), *at = e->index[to_pos];
    value *lo = backward ? step : at, *hi = backward ? at : step;
    /* rows that are not written yet are NaN and do no harm where they are dropped; ints are no NaN
     */
    bool real = e->to->dt != DT_I64 && e->to->dt != DT_BOOL;
    if (real && !o->by_value)
        return false;
    return !paths_prove(o, e, lo, hi, r == REL_PAST, true);
}

bool order_cuts(order *o, const frame *f, const edge *e)
{
    /* by the history of any scan that holds both */
    for (; f->up; f = f->up)
        if (f->in[e->from->id] && f->in[e->to->id] &&
            order_relation(o, e, f->step[e->from->id], f->step[e->to->id], f->backward) == REL_PAST)
            return true;
    return false;
}

/* --- components (Tarjan) --- */

typedef struct tarjan {
    order *o;
    frame *f;
    const bool *member;
    int *index, *low, *comp;
    bool *on;
    VEC(tensor *) stack;
    int next, n_comp;
} tarjan;

static void visit(tarjan *t, tensor *x)
{
    order_edges(t->o, x);
    t->index[x->id] = t->low[x->id] = ++t->next;
    vec_push(t->o->s->a, &t->stack, x);
    t->on[x->id] = true;
    for (size_t i = 0; i < t->o->edges[x->id].n; i++) {
        edge *e = &t->o->edges[x->id].v[i];
        if (!t->member[e->to->id] || (t->f && order_cuts(t->o, t->f, e)))
            continue;
        if (!t->index[e->to->id]) {
            visit(t, e->to);
            if (t->low[e->to->id] < t->low[x->id])
                t->low[x->id] = t->low[e->to->id];
        } else if (t->on[e->to->id] && t->index[e->to->id] < t->low[x->id]) {
            t->low[x->id] = t->index[e->to->id];
        }
    }
    if (t->low[x->id] == t->index[x->id]) {
        tensor *y;
        t->n_comp++;
        do {
            y = t->stack.v[--t->stack.n];
            t->on[y->id] = false;
            t->comp[y->id] = t->n_comp;
        } while (y != x);
    }
}

void order_components(order *o, frame *f, tensor *const *members, size_t n)
{
    sema *s = o->s;
    size_t nt = s->tensors.n;
    tarjan t = {.o = o, .f = f->up ? f : NULL};
    t.index = ARENA_ARRAY(s->a, int, nt);
    t.low = ARENA_ARRAY(s->a, int, nt);
    t.comp = ARENA_ARRAY(s->a, int, nt);
    t.on = ARENA_ARRAY(s->a, bool, nt);
    bool *m = ARENA_ARRAY(s->a, bool, nt);
    for (size_t i = 0; i < n; i++)
        m[members[i]->id] = true;
    t.member = m;
    for (size_t i = 0; i < n; i++)
        if (!t.index[members[i]->id])
            visit(&t, members[i]);
    f->comp = t.comp;
}

/* --- steps --- */

/* The axis of e->to that stands for the step, given the reader's; UINT32_MAX: none. */
static uint32_t best_axis(order *o, const edge *e, uint32_t from_pos, bool backward, relation *r)
{
    uint32_t best = UINT32_MAX;
    *r = REL_NONE;
    for (uint32_t q = 0; q < e->to->n_ix; q++) {
        relation rq = order_relation(o, e, from_pos, q, backward);
        if (rq != REL_NONE && (best == UINT32_MAX || (*r == REL_UPTO && rq != REL_UPTO))) {
            best = q;
            *r = rq;
        }
    }
    return best;
}

static bool try_steps(order *o, frame *f, tensor *seed, uint32_t seed_pos, bool backward,
                      const edge **blame)
{
    sema *s = o->s;
    VEC(tensor *) todo = {0};
    bool *have = ARENA_ARRAY(s->a, bool, s->tensors.n);
    bool moves = false;
    f->backward = backward;
    f->step[seed->id] = seed_pos;
    have[seed->id] = true;
    vec_push(s->a, &todo, seed);
    for (size_t k = 0; k < todo.n; k++) {
        tensor *x = todo.v[k];
        for (size_t i = 0; i < o->edges[x->id].n; i++) {
            edge *e = &o->edges[x->id].v[i];
            if (!f->in[e->to->id])
                continue;
            if (order_cuts(o, f->up, e))
                continue; /* goes through an outer history */
            relation r = REL_NONE;
            if (have[e->to->id]) {
                r = order_relation(o, e, f->step[x->id], f->step[e->to->id], backward);
            } else {
                uint32_t best = best_axis(o, e, f->step[x->id], backward, &r);
                if (best != UINT32_MAX) {
                    f->step[e->to->id] = best;
                    have[e->to->id] = true;
                    vec_push(s->a, &todo, e->to);
                }
            }
            if (r == REL_NONE) {
                *blame = e;
                return false;
            }
            moves = moves || r == REL_PAST;
        }
    }
    return moves;
}

/* What the reads by e, of y along its axis `pos`, keep to; false where nothing new was learned. */
static bool note_reader(order *o, const edge *e, uint32_t pos)
{
    sema *s = o->s;
    const tensor *y = e->to;
    reach_of *r = &o->readers[y->id];
    bool first = !r->up, changed = first;
    if (first) {
        r->step = pos;
        r->up = ARENA_ARRAY(s->a, const dim *, y->n_ix);
    }
    for (uint32_t q = 0; q < y->n_ix; q++) {
        if (q == pos || (!first && !r->up[q]))
            continue;
        const dim *steps = dims_resolve(s, y->ix[pos]->extent);
        const dim *up = dim_sub(s->g->dims, dims_resolve(s, y->ix[q]->extent), steps);
        bool keeps = paths_bound(o, e, e->index[q], e->index[pos], up);
        changed = changed || (!first && !keeps);
        r->up[q] = keeps ? up : NULL;
    }
    return changed;
}

bool order_closure(order *o, frame *f, tensor *const *roots, size_t n, const bool *needs,
                   tensor_list *out, const edge **blame)
{
    sema *s = o->s;
    tensor_list todo = {0}; /* again where more is read of a tensor than was known */
    *blame = NULL;
    o->readers = ARENA_ARRAY(s->a, reach_of, s->tensors.n);
    for (size_t i = 0; i < n; i++) {
        tensor *x = roots[i];
        f->in[x->id] = true;
        o->readers[x->id] = (reach_of){f->step[x->id], ARENA_ARRAY(s->a, const dim *, x->n_ix)};
        vec_push(s->a, out, x);
        vec_push(s->a, &todo, x);
    }
    for (size_t k = 0; k < todo.n; k++) {
        tensor *x = todo.v[k];
        order_edges(o, x);
        for (size_t i = 0; i < o->edges[x->id].n; i++) {
            const edge *e = &o->edges[x->id].v[i];
            relation r;
            if (!needs[e->to->id])
                continue; /* not of the steps: computed before them */
            if (f->in[e->to->id]) {
                r = order_relation(o, e, f->step[x->id], f->step[e->to->id], false);
            } else {
                uint32_t best = best_axis(o, e, f->step[x->id], false, &r);
                if (best != UINT32_MAX) {
                    f->step[e->to->id] = best;
                    f->in[e->to->id] = true;
                    vec_push(s->a, out, e->to);
                }
            }
            if (r == REL_NONE) {
                *blame = e;
                return false;
            }
            if (note_reader(o, e, f->step[e->to->id]))
                vec_push(s->a, &todo, e->to);
        }
    }
    return true;
}

span order_edge_span(const edge *e)
{
    for (size_t i = 0; i < e->from->reads.n; i++) {
        const access *r = &e->from->reads.v[i];
        bool same = r->of == e->to;
        for (uint32_t k = 0; same && k < r->n; k++)
            same = r->index[k] == e->index[k];
        if (same)
            return r->at;
    }
    return e->from->at;
}

/* Its equation; an argument or a result is also declared elsewhere. */
static span tensor_place(const tensor *t)
{
    return t->eqs.n && t->eqs.v[0].target ? t->eqs.v[0].target->at : t->at;
}

static const char *base_name(sema *s, const tensor *t)
{
    const char *b = strchr(t->name, '[');
    return b ? arena_strndup(s->a, t->name, (size_t)(b - t->name)) : t->name;
}

bool order_steps(order *o, frame *f, tensor *const *members, size_t n)
{
    sema *s = o->s;
    const edge *blame = NULL, *first = NULL, *back = NULL;
    for (int backward = 0; backward < 2; backward++)
        for (uint32_t k = 0; k < members[0]->n_ix; k++) {
            /* own axes first, then those of the context */
            uint32_t own = members[0]->n_ix - members[0]->n_ctx;
            uint32_t pos = k < own ? members[0]->n_ctx + k : k - own;
            blame = NULL;
            if (pos < members[0]->n_ix && try_steps(o, f, members[0], pos, backward, &blame))
                return true;
            if (!first && blame)
                first = blame;
            if (!back && backward)
                back = blame;
        }
    /* which reads close the circle */
    const tensor *t = members[0];
    strbuf names = {.a = s->a};
    for (size_t i = 0; i < n && i < 6; i++)
        sb_printf(&names, "%s%s",
                  i == 0       ? ""
                  : i + 1 == n ? " and "
                               : ", ",
                  base_name(s, members[i]));
    if (first) {
        diag *d = diag_error(s->ds, order_edge_span(first),
                             "%s needs %s at steps that are not computed yet",
                             base_name(s, first->from), base_name(s, first->to));
        span ahead = order_edge_span(first);
        if (back && order_edge_span(back).lo != ahead.lo)
            diag_note(d, order_edge_span(back),
                      "%s is read the other way here, so neither order "
                      "of the steps is possible",
                      base_name(s, back->to));
        diag_note(d, tensor_place(first->from), "%s is defined here", base_name(s, first->from));
        if (n > 1 && first->to != first->from)
            diag_note(d, tensor_place(first->to), "%s is defined here; %s depend on each other",
                      base_name(s, first->to), sb_text(&names));
        diag_help(d, "a recurrence reads earlier steps: `%s[t-1]`, or `%s[i]` under `i <= t`",
                  base_name(s, first->to), base_name(s, first->to));
        return false;
    }
    diag *d = diag_error(s->ds, tensor_place(t),
                         n > 1 ? "%s depend on each other in the same step"
                               : "%s depends on itself in the same step",
                         sb_text(&names));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < o->edges[members[i]->id].n; k++) {
            const edge *e = &o->edges[members[i]->id].v[k];
            if (f->in[e->to->id]) {
                diag_note(d, order_edge_span(e), "%s reads %s here", base_name(s, members[i]),
                          base_name(s, e->to));
                break;
            }
        }
    diag_help(d, "read an earlier step of one of them, such as `%s[t-1]`", base_name(s, t));
    return false;
}
