/* step.c: the step graph of a recurrence.
 *
 * The same meaning as the ordinary graph, arranged so that a host can feed it step by step:
 * everything that depends on inputs with a step axis, or follows the steps anyway, lies in one
 * forward scan over the step. Inputs with steps are histories themselves. A result without step
 * axis is its value so far: T is read as t + 1. */
#include "frontend/builder.h"

#include <string.h>

typedef struct stepper {
    sema *s;
    builder b;
    const dim *steps; /* T */
    bool *depends;    /* by tensor id: on the steps of an input */
    bool *known;
    bool *stepped; /* by value id */
    const char **why;
} stepper;

/* --- inputs and other values as tensors --- */

static tensor *take(stepper *st, const inst *entry, const char *name, value *v)
{
    tensor *x = tensor_new((inst *)entry, name, v->at);
    x->ph = x->body = v;
    x->ix = (const ix **)v->ix;
    x->n_ix = v->n_ix;
    x->dt = v->dt;
    x->def = P_DONE;
    st->b.o.by_value[v->id] = x;
    return x;
}

static void room_for_values(stepper *st)
{
    order *o = &st->b.o;
    uint32_t n = (uint32_t)st->s->g->values.n;
    tensor **more = ARENA_ARRAY(st->s->a, tensor *, n + 1);
    if (o->n_by_value)
        memcpy(more, o->by_value, o->n_by_value * sizeof *more);
    o->by_value = more;
    o->n_by_value = n;
}

static void take_inputs(stepper *st, const inst *entry)
{
    sema *s = st->s;
    graph *from = s->g;
    for (size_t i = 0; i < from->inputs.n; i++) {
        value *leaf = from->inputs.v[i];
        uint32_t lead = leaf->n_family + entry->n_ctx, p = leaf->n_ix;
        for (uint32_t k = lead; k < leaf->n_ix && p == leaf->n_ix; k++)
            if (dims_resolve(s, leaf->ix[k]->extent) == st->steps)
                p = k;
        if (p < leaf->n_ix)
            take(st, entry, leaf->name, leaf)->is_input = true;
    }
}

/* What is computed and then read at other indices: `f(2 * x)` of an f that looks back. Its rows are
 * kept, as a tensor's are. */
static void take_reads(stepper *st, const inst *entry, value *v, bool *seen)
{
    order *o = &st->b.o;
    if (!v || v->id >= o->n_by_value || seen[v->id] || v->op == OP_given)
        return;
    seen[v->id] = true;
    bool moved = false;
    value *x = v->op == OP_read ? v->args[0] : NULL;
    for (uint32_t i = 0; x && i < x->n_ix; i++)
        moved = moved || v->args[i + 1]->op != OP_index || v->args[i + 1]->ix[0] != x->ix[i];
    for (uint32_t i = 0; i < v->n_args; i++)
        take_reads(st, entry, v->args[i], seen);
    take_reads(st, entry, v->where, seen);
    if (!moved || x->n_args == 0 || placeholder_of(o, x) || !st->stepped[x->id])
        return;
    take(st, entry, x->hint ? x->hint : op_word(x->op), x);
}

/* By value id: whether it reaches a tensor that depends on the steps. */
static void find_stepped(stepper *st)
{
    const graph *g = st->s->g;
    st->stepped = ARENA_ARRAY(st->s->a, bool, g->values.n + 1);
    for (size_t i = 0; i < g->values.n; i++) {
        const value *v = g->values.v[i];
        const tensor *t = placeholder_of(&st->b.o, v);
        bool yes = t && st->depends[t->id];
        for (uint32_t k = 0; k < v->n_args && !yes && v->op != OP_given; k++)
            yes = st->stepped[v->args[k]->id];
        st->stepped[i] = yes || (v->where && st->stepped[v->where->id]);
    }
}

static bool depends_on_steps(stepper *st, tensor *t)
{
    if (t->is_input)
        return true;
    if (st->known[t->id])
        return st->depends[t->id];
    st->known[t->id] = true; /* a cycle alone does not */
    order_edges(&st->b.o, t);
    for (size_t i = 0; i < st->b.o.edges[t->id].n; i++)
        if (depends_on_steps(st, st->b.o.edges[t->id].v[i].to))
            st->depends[t->id] = true;
    return st->depends[t->id];
}

/* A cycle along the steps goes by steps, even where no input has any: a generator. */
static void find_cycles(stepper *st)
{
    builder *b = &st->b;
    frame all = {0};
    order_components(&b->o, &all, b->live.v, b->live.n);
    for (size_t i = 0; i < b->live.n; i++) {
        const tensor *t = b->live.v[i];
        bool cyclic = false, steps = false;
        for (size_t k = 0; k < b->o.edges[t->id].n && !cyclic; k++)
            cyclic = all.comp[b->o.edges[t->id].v[k].to->id] == all.comp[t->id];
        for (uint32_t k = 0; k < t->n_ix; k++)
            steps = steps || dims_resolve(st->s, t->ix[k]->extent) == st->steps;
        if (cyclic && steps)
            st->depends[t->id] = true;
    }
}

/* Until nothing changes: members of a cycle may have been asked too early. */
static void find_dependence(stepper *st)
{
    find_cycles(st);
    bool changed = true;
    while (changed) {
        changed = false;
        memset(st->known, 0, st->s->tensors.n * sizeof *st->known);
        for (size_t i = 0; i < st->b.live.n; i++) {
            tensor *t = st->b.live.v[i];
            bool before = st->depends[t->id];
            if (t->is_input)
                st->depends[t->id] = true;
            else
                depends_on_steps(st, t);
            changed = changed || before != st->depends[t->id];
        }
    }
}

/* --- the value so far: T becomes t + 1 --- */

typedef struct so_far {
    stepper *st;
    const ix *step; /* t */
    value **memo;
    size_t n_memo;
    bool failed;
    const bool *final; /* by tensor id: no steps of its own; put in place */
    const value *own;
} so_far;

static value *rewrite(so_far *f, value *v);
static value *rewrite_new(so_far *f, value *v);

static value *put_in_place(so_far *f, const tensor *t)
{
    const value *before = f->own;
    if (t->body != t->ph)
        return rewrite(f, t->body);
    f->own = t->body;
    value *r = rewrite_new(f, t->body);
    f->own = before;
    return r;
}

static value *dim_so_far(so_far *f, const dim *d)
{
    sema *s = f->st->s;
    const char *sym;
    d = dims_resolve(s, d);
    value *now = b_elem(s, OP_add, graph_index(s->g, f->step), graph_int(s->g, 1), NULL);
    if (d == f->st->steps)
        return now;
    if (!dim_is_sym(f->st->steps, &sym) || !dim_mentions(d, sym))
        return b_dim(s, d);
    value *sum = NULL;
    for (uint32_t i = 0; i < d->n; i++) {
        value *prod = graph_int(s->g, d->terms[i].coef);
        for (uint32_t k = 0; k < d->terms[i].n; k++) {
            const dim_atom *a = d->terms[i].atoms[k];
            value *x, *y;
            if (a->kind == ATOM_SYM) {
                x = dim_so_far(f, dim_sym(s->g->dims, a->name));
            } else {
                x = dim_so_far(f, a->a);
                y = dim_so_far(f, a->b);
                op_id op = a->kind == ATOM_MOD   ? OP_imod
                           : a->kind == ATOM_MAX ? OP_max
                           : a->kind == ATOM_MIN ? OP_min
                                                 : OP_idiv;
                x = b_elem(s, op, x, y, NULL);
            }
            prod = b_elem(s, OP_mul, prod, x, NULL);
        }
        sum = sum ? b_elem(s, OP_add, sum, prod, NULL) : prod;
    }
    return sum ? sum : graph_int(s->g, 0);
}

/* i <= t for every index among them that runs over all steps. */
static value *until_now(so_far *f, const ix *const *ixs, uint32_t n)
{
    sema *s = f->st->s;
    value *p = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (dims_resolve(s, ixs[i]->extent) == f->st->steps && ixs[i] != f->step)
            p = b_and(s, p, b_cmp(s, OP_le, graph_index(s->g, ixs[i]), graph_index(s->g, f->step)));
    return p;
}

/* Operand i of a read, rewritten: where T is known, nothing says that a sooner end has such a row;
 * until there is one it is absent. */
static value *from_first(so_far *f, const value *v, uint32_t i, value *at)
{
    sema *s = f->st->s;
    const dim *lo, *hi, *zero = dim_const(s->g->dims, 0);
    bool step = dims_resolve(s, v->args[0]->ix[i - 1]->extent) == f->st->steps;
    if (!step || at == v->args[i] || (value_int_bounds(s, at, &lo, &hi) && dims_le(s, zero, lo)))
        return NULL;
    return b_cmp(s, OP_le, graph_int(s->g, 0), at);
}

static value *rewrite_new(so_far *f, value *v)
{
    sema *s = f->st->s;
    graph *g = s->g;
    bool read = v->op == OP_read;
    tensor *t = placeholder_of(&f->st->b.o, read ? v->args[0] : v);
    if (v->op == OP_dim)
        return dim_so_far(f, v->dim);
    if (v == f->own)
        t = NULL; /* a value that is a tensor, put in place */
    if (!read && t) {
        if (f->final[t->id])
            return put_in_place(f, t);
        value *now = until_now(f, v->ix, v->n_ix);
        if (!now)
            return v;
        value **same = ARENA_ARRAY(s->a, value *, v->n_ix);
        for (uint32_t i = 0; i < v->n_ix; i++)
            same[i] = graph_index(g, v->ix[i]);
        return graph_read(g, v, same, now);
    }
    if (v->n_args == 0 || v->op == OP_given)
        return v;
    value **args = ARENA_ARRAY(s->a, value *, v->n_args);
    for (uint32_t i = read ? 1 : 0; i < v->n_args; i++) {
        args[i] = rewrite(f, v->args[i]);
        if (!args[i])
            return NULL;
    }
    value *where = v->where ? rewrite(f, v->where) : NULL;
    if (v->where && !where)
        return NULL;
    if (read) {
        value *now = NULL;
        for (uint32_t i = 1; i < v->n_args; i++) {
            now = b_and(s, now, until_now(f, args[i]->ix, args[i]->op == OP_index ? 1 : 0));
            now = b_and(s, now, from_first(f, v, i, args[i]));
        }
        if (t && f->final[t->id]) {
            value *body = put_in_place(f, t);
            return body ? b_read(s, body, t->ix, args + 1, t->n_ix, where) : NULL;
        }
        if (t)
            return graph_read(g, v->args[0], args + 1, b_and(s, where, now));
        value *x = rewrite(f, v->args[0]);
        return x ? b_read(s, x, v->args[0]->ix, args + 1, v->args[0]->n_ix, where) : NULL;
    }
    if (v->n_bound)
        where = b_and(s, where, until_now(f, v->bound, v->n_bound));
    switch (v->op) {
    case OP_reduce:
        return graph_reduce(g, (reduce_kind)v->kind, args[0], v->bound, v->n_bound, where);
    case OP_contract:
        return graph_contract(g, args[0], args[1], v->bound, v->n_bound, where);
    case OP_join:
        return graph_join(g, v->bound[0], args, v->bound + 1, v->n_args);
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        return args[0] == args[1] ? graph_elem(g, v->op, args, NULL)
                                  : b_cmp(s, v->op, args[0], args[1]);
    case OP_and:
    case OP_or: {
        value *r = v->op == OP_and ? b_and(s, args[0], args[1]) : b_or(s, args[0], args[1]);
        return r ? r : graph_bool(g, true);
    }
    default:
        if (OP_HAS(v->op, T_NORM))
            return graph_norm(g, v->op, args[0], v->bound, v->n_bound, where);
        if (v->dt == DT_I64 && v->n_args == 2 && OP_HAS(v->op, T_ELEM))
            return b_elem(s, v->op, args[0], args[1], where);
        return graph_with_args(g, v, args, where);
    }
}

static value *rewrite(so_far *f, value *v)
{
    if (v->id < f->n_memo && f->memo[v->id])
        return f->memo[v->id];
    value *r = rewrite_new(f, v);
    if (v->id < f->n_memo)
        f->memo[v->id] = r;
    return r;
}

/* The root over its own indices and a step. */
static tensor *root_so_far(stepper *st, const tensor *root, const bool *final)
{
    sema *s = st->s;
    ix_list avoid = {0};
    for (size_t i = 0; i < s->g->ixs.n; i++) /* none that any body binds */
        if (dims_resolve(s, s->g->ixs.v[i]->extent) == st->steps)
            vec_push(s->a, &avoid, s->g->ixs.v[i]);
    so_far f = {.st = st, .step = pool_ix(s, st->steps, avoid.v, avoid.n, "t"), .final = final};
    f.n_memo = s->g->values.n;
    f.memo = ARENA_ARRAY(s->a, value *, f.n_memo + 1);
    tensor *t = tensor_new(root->in, root->name, root->at);
    t->is_root = true;
    t->def = P_DONE;
    t->dt = root->dt;
    t->body = rewrite(&f, root->body);
    t->n_ix = root->n_ix + 1;
    t->ix = ARENA_ARRAY(s->a, const ix *, t->n_ix);
    if (root->n_ix)
        memcpy(t->ix, root->ix, root->n_ix * sizeof *t->ix);
    t->ix[root->n_ix] = f.step;
    return t->body ? t : NULL;
}

/* --- the graph --- */

/* A root with steps begins the walk. One that is just another tensor is that tensor: one history
 * serves both. */
static void add_seed(stepper *st, frame *probe, tensor **seeds, uint32_t *n, tensor *root,
                     uint32_t pos)
{
    tensor *t = placeholder_of(&st->b.o, root->body);
    for (uint32_t p = 0; t && p < t->n_ix; p++)
        if (t->ph->ix[p] == root->ix[pos]) {
            root = t;
            pos = p;
            break;
        }
    for (uint32_t i = 0; i < *n; i++)
        if (seeds[i] == root)
            return;
    probe->step[root->id] = pos;
    seeds[(*n)++] = root;
}

static const char *blame_text(const stepper *st, const edge *e)
{
    sema *s = st->s;
    place p = source_place(s->sources, order_edge_span(e));
    const char *who = p.src ? arena_printf(s->a, "%s:%u", p.src->name, p.line) : e->from->name;
    bool has_step = false;
    for (uint32_t i = 0; i < e->to->n_ix; i++)
        has_step = has_step || dims_resolve(s, e->to->ix[i]->extent) == st->steps;
    return arena_printf(s->a,
                        has_step ? "%s reads %s at steps that may not be computed yet"
                                 : "%s reads %s, which has no row for each step",
                        who, e->to->name);
}

/* Its first axis of the steps, behind family and batch; n_ix: it has none. */
static uint32_t step_of_root(const stepper *st, const roots *r, uint32_t k)
{
    uint32_t i = r->step_pos[k];
    while (i < r->t[k]->n_ix && dims_resolve(st->s, r->t[k]->ix[i]->extent) != st->steps)
        i++;
    return i;
}

/* What the roots reach and what of it depends on the steps; values that are read elsewhere become
 * tensors. */
static void begin(stepper *st, const inst *entry, tensor *const *root, uint32_t n)
{
    sema *s = st->s;
    builder *b = &st->b;
    for (int turn = 0; turn < 2; turn++) {
        order had = b->o;
        *b = (builder){0};
        builder_init(b, s, root, 0);
        b->o.by_value = had.by_value;
        b->o.n_by_value = had.n_by_value;
        if (turn == 0) {
            room_for_values(st);
            if (!had.by_value)
                take_inputs(st, entry);
        }
        size_t room = s->tensors.n + n + 1; /* values so far come later */
        b->o.edges = arena_array(s->a, room, sizeof *b->o.edges);
        b->o.edges_done = ARENA_ARRAY(s->a, bool, room);
        st->depends = ARENA_ARRAY(s->a, bool, room);
        st->known = ARENA_ARRAY(s->a, bool, room);
        bool *seen = ARENA_ARRAY(s->a, bool, room);
        for (uint32_t k = 0; k < n; k++)
            mark_live(b, root[k], seen);
        frame_arrays(b, &b->base);
        find_dependence(st);
        if (turn > 0)
            break;
        find_stepped(st);
        seen = ARENA_ARRAY(s->a, bool, b->o.n_by_value + 1);
        for (size_t i = 0; i < b->live.n; i++)
            if (st->depends[b->live.v[i]->id])
                take_reads(st, entry, b->live.v[i]->body, seen);
    }
}

/* The tensors of the steps: the roots with steps (those so far are along their last index), then
 * all that these reach at the step or before. */
static bool find_members(stepper *st, const roots *r, tensor *const *root, frame *probe,
                         tensor_list *out)
{
    sema *s = st->s;
    builder *b = &st->b;
    tensor **seeds = ARENA_ARRAY(s->a, tensor *, r->n);
    for (;;) {
        begin(st, r->entry, root, r->n);
        size_t room = s->tensors.n + r->n + 1;
        *probe = (frame){.up = &b->base};
        probe->in = ARENA_ARRAY(s->a, bool, room);
        probe->step = ARENA_ARRAY(s->a, uint32_t, room);
        uint32_t n = 0;
        for (uint32_t k = 0; k < r->n; k++) {
            if (step_of_root(st, r, k) < r->t[k]->n_ix) {
                add_seed(st, probe, seeds, &n, root[k], step_of_root(st, r, k));
            } else if (root[k] != r->t[k]) {
                probe->step[root[k]->id] = root[k]->n_ix - 1;
                seeds[n++] = root[k];
            }
        }
        const edge *blame;
        *out = (tensor_list){0};
        if (order_closure(&b->o, probe, seeds, n, st->depends, out, &blame))
            return true;
        if (split_steps(b, blame, probe->step[blame->from->id], st->steps))
            continue;
        *st->why = blame_text(st, blame);
        return false;
    }
}

graph *to_step_ir(sema *s, module *m, const roots *r, const char **why)
{
    stepper st = {.s = s, .why = why};
    graph *from = s->g, *g = NULL;
    builder *b = &st.b;
    frame probe;
    tensor_list members;
    *why = NULL;
    if (r->n == 0 || r->step_pos[0] >= r->t[0]->n_ix) {
        *why = "its first result has no step axis";
        return NULL;
    }
    st.steps = dims_resolve(s, r->t[0]->ix[r->step_pos[0]]->extent);
    if (!find_members(&st, r, r->t, &probe, &members))
        return NULL;
    bool *final = ARENA_ARRAY(s->a, bool, s->tensors.n + r->n + 1), some = false;
    for (size_t i = 0; i < b->live.n; i++) {
        const tensor *t = b->live.v[i];
        final[t->id] = st.depends[t->id] && !probe.in[t->id] && !t->is_input;
    }
    tensor **root = ARENA_ARRAY(s->a, tensor *, r->n);
    for (uint32_t k = 0; k < r->n; k++) {
        root[k] = r->t[k];
        if (step_of_root(&st, r, k) < r->t[k]->n_ix || !st.depends[r->t[k]->id])
            continue;
        root[k] = root_so_far(&st, r->t[k], final);
        some = true;
        if (!root[k]) {
            *why = arena_printf(s->a, "%s has no value so far", r->t[k]->name);
            return NULL;
        }
    }
    if (some && !find_members(&st, r, root, &probe, &members))
        return NULL; /* values so far make new ones */
    g = graph_new(m, r->model->name.s, s->o->real);
    if (!builder_interface(b, g, r, false))
        return NULL;
    s->g = g;
    frame *f = frame_new(b, &b->base, members.v, members.n);
    memcpy(f->step, probe.step, s->tensors.n * sizeof *f->step);
    bool ok = build_scan(b, &b->base, f, members.v, members.n);
    for (uint32_t k = 0; k < r->n && ok; k++) {
        value *v = define(b, &b->base, root[k]);
        ok = v != NULL;
        if (ok && root[k] != r->t[k]) { /* the last step's row */
            const ix *step = map_ix(b, root[k]->ix[root[k]->n_ix - 1]);
            const dim *steps = dims_final(s, st.steps, root[k]->at);
            value *last = b_dim(s, dim_sub(g->dims, steps, dim_const(g->dims, 1)));
            value *any = b_cmp(s, OP_le, graph_int(g, 1), b_dim(s, steps));
            v = b_read(s, v, &step, &last, 1, any);
        }
        if (ok)
            builder_output(b, r, k, v);
    }
    builder_checks(b);
    if (ok)
        g->step = map_ix(b, f->step_ix);
    s->g = from;
    if (!ok)
        *why = "its equations depend on each other within a step";
    return ok ? g : NULL;
}
