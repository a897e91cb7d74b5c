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
    const char **why;
} stepper;

/* --- inputs with steps as tensors --- */

static bool take_inputs(stepper *st, const inst *entry)
{
    sema *s = st->s;
    graph *from = s->g;
    st->b.o.by_input = ARENA_ARRAY(s->a, tensor *, from->values.n + 1);
    for (size_t i = 0; i < from->inputs.n; i++) {
        value *leaf = from->inputs.v[i];
        uint32_t lead = leaf->n_family + entry->n_ctx, p = leaf->n_ix;
        for (uint32_t k = lead; k < leaf->n_ix && p == leaf->n_ix; k++)
            if (dims_resolve(s, leaf->ix[k]->extent) == st->steps)
                p = k;
        if (p == leaf->n_ix)
            continue;
        if (leaf->optional) {
            *st->why = arena_printf(s->a, "its input %s has steps and may be left out", leaf->name);
            return false;
        }
        tensor *x = tensor_new((inst *)entry, leaf->name, leaf->at);
        x->is_input = true;
        x->ph = x->body = leaf;
        x->ix = (const ix **)leaf->ix;
        x->n_ix = leaf->n_ix;
        x->dt = leaf->dt;
        x->def = P_DONE;
        st->b.o.by_input[leaf->id] = x;
    }
    return true;
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
} so_far;

static value *rewrite(so_far *f, value *v);

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

static value *rewrite_new(so_far *f, value *v)
{
    sema *s = f->st->s;
    graph *g = s->g;
    bool read = v->op == OP_read;
    tensor *t = placeholder_of(&f->st->b.o, read ? v->args[0] : v);
    if (v->op == OP_dim)
        return dim_so_far(f, v->dim);
    if (!read && t) {
        if (f->final[t->id])
            return rewrite(f, t->body);
        value *now = until_now(f, v->ix, v->n_ix);
        if (!now)
            return v;
        value **same = ARENA_ARRAY(s->a, value *, v->n_ix);
        for (uint32_t i = 0; i < v->n_ix; i++)
            same[i] = graph_index(g, v->ix[i]);
        return graph_read(g, v, same, now);
    }
    if (v->n_args == 0)
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
        for (uint32_t i = 1; i < v->n_args; i++)
            now = b_and(s, now, until_now(f, args[i]->ix, args[i]->op == OP_index ? 1 : 0));
        if (t && f->final[t->id]) {
            value *body = rewrite(f, t->body);
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

static const char *blame_text(sema *s, const edge *e)
{
    place p = source_place(s->sources, order_edge_span(e));
    return p.src ? arena_printf(s->a, "%s:%u reads %s at steps that are not computed yet",
                                p.src->name, p.line, e->to->name)
                 : arena_printf(s->a, "%s reads %s at steps that are not computed yet",
                                e->from->name, e->to->name);
}

graph *to_step_ir(sema *s, module *m, const roots *r, const char **why)
{
    stepper st = {.s = s, .why = why};
    graph *from = s->g, *g = NULL;
    *why = NULL;
    if (r->n == 0 || r->step_pos[0] >= r->t[0]->n_ix) {
        *why = "its first result has no step axis";
        return NULL;
    }
    st.steps = dims_resolve(s, r->t[0]->ix[r->step_pos[0]]->extent);
    builder_init(&st.b, s, r->t, 0);
    if (!take_inputs(&st, r->entry))
        return NULL;
    /* the roots with steps, then all that they reach at the step or before */
    builder *b = &st.b;
    size_t room = s->tensors.n + 2 * r->n + 1;
    b->o.edges = arena_array(s->a, room, sizeof *b->o.edges);
    b->o.edges_done = ARENA_ARRAY(s->a, bool, room);
    st.depends = ARENA_ARRAY(s->a, bool, room);
    st.known = ARENA_ARRAY(s->a, bool, room);
    bool *seen = ARENA_ARRAY(s->a, bool, room);
    for (uint32_t k = 0; k < r->n; k++)
        mark_live(b, r->t[k], seen);
    find_dependence(&st);
    frame probe = {.up = &b->base};
    probe.in = ARENA_ARRAY(s->a, bool, room);
    probe.step = ARENA_ARRAY(s->a, uint32_t, room);
    tensor **seeds = ARENA_ARRAY(s->a, tensor *, r->n);
    bool *stepped = ARENA_ARRAY(s->a, bool, r->n);
    uint32_t n_seeds = 0;
    for (uint32_t k = 0; k < r->n; k++)
        for (uint32_t i = r->step_pos[k]; i < r->t[k]->n_ix && !stepped[k]; i++)
            if (dims_resolve(s, r->t[k]->ix[i]->extent) == st.steps) {
                stepped[k] = true;
                add_seed(&st, &probe, seeds, &n_seeds, r->t[k], i);
            }
    tensor_list first = {0};
    const edge *blame;
    if (!order_closure(&b->o, &probe, seeds, n_seeds, st.depends, &first, &blame)) {
        *why = blame_text(s, blame);
        return NULL;
    }
    bool *final = ARENA_ARRAY(s->a, bool, room);
    for (size_t i = 0; i < b->live.n; i++) {
        const tensor *t = b->live.v[i];
        final[t->id] = st.depends[t->id] && !probe.in[t->id] && !t->is_input;
    }
    tensor **root = ARENA_ARRAY(s->a, tensor *, r->n);
    for (uint32_t k = 0; k < r->n; k++) {
        root[k] = r->t[k];
        if (stepped[k] || !st.depends[r->t[k]->id])
            continue;
        root[k] = root_so_far(&st, r->t[k], final);
        if (!root[k]) {
            *why = arena_printf(s->a, "%s has no value so far", r->t[k]->name);
            return NULL;
        }
        probe.step[root[k]->id] = root[k]->n_ix - 1;
        seeds[n_seeds++] = root[k];
    }
    /* again from all of them: values so far may have made new index values */
    tensor **input_of = b->o.by_input;
    *b = (builder){0};
    builder_init(b, s, root, 0);
    b->o.by_input = input_of;
    bool *again = ARENA_ARRAY(s->a, bool, s->tensors.n + 1);
    for (uint32_t k = 0; k < r->n; k++)
        mark_live(b, root[k], again);
    frame_arrays(b, &b->base);
    memset(probe.in, 0, room * sizeof *probe.in);
    tensor_list members = {0};
    if (!order_closure(&b->o, &probe, seeds, n_seeds, st.depends, &members, &blame)) {
        *why = blame_text(s, blame);
        return NULL;
    }
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
            value *some = b_cmp(s, OP_le, graph_int(g, 1), b_dim(s, steps));
            v = b_read(s, v, &step, &last, 1, some);
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
