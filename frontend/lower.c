/* lower.c: scratch values in the final graph.
 *
 * A value that reaches no tensor of a scan is built outside it. A read of a tensor of a scan is the
 * tensor's value in this step, or a read of its history. */
#include "frontend/builder.h"

#include <ctype.h>
#include <string.h>

/* --- names --- */

bool is_dim_name(const graph *g, const char *name)
{
    for (size_t i = 0; i < g->symbols.n; i++)
        if (!strcmp(g->symbols.v[i], name))
            return true;
    return false;
}

const ix *map_ix(builder *b, const ix *i)
{
    if (i->id < b->n_merged && b->merged[i->id] != i)
        return map_ix(b, b->merged[i->id]);
    sema *s = b->s;
    if (i->id >= b->n_ix_map) { /* the scratch graph grows meanwhile */
        size_t n = i->id + i->id / 2 + 64;
        const ix **more = ARENA_ARRAY(s->a, const ix *, n);
        memcpy(more, b->ix_map, b->n_ix_map * sizeof *more);
        b->ix_map = more;
        b->n_ix_map = n;
    }
    if (b->ix_map[i->id])
        return b->ix_map[i->id];
    const dim *d = dims_resolve(s, i->extent);
    const char *sym, *base;
    if (dim_is_sym(d, &sym)) {
        char *low = arena_strndup(s->a, sym, strlen(sym));
        for (char *p = low; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        base = low;
    } else {
        base = arena_strndup(s->a, i->name, strcspn(i->name, "'"));
    }
    const char *name = base;
    for (int k = 2; graph_find_ix(b->to, intern(s->names, name)) || is_dim_name(b->to, name); k++)
        name = arena_printf(s->a, "%s%d", base, k);
    d = dims_final(s, d, (span){0});
    return b->ix_map[i->id] = graph_ix(b->to, intern(s->names, name), d);
}

const ix **map_ixs(builder *b, const ix *const *list, uint32_t n)
{
    const ix **out = ARENA_ARRAY(b->s->a, const ix *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = map_ix(b, list[i]);
    return out;
}

/* --- dependence on a frame --- */

static bool depends(builder *b, frame *f, value *v)
{
    if (!v)
        return false;
    frame_room(b, f, v->id);
    if (f->dep[v->id])
        return f->dep[v->id] > 0;
    tensor *t = placeholder_of(&b->o, v);
    bool yes = t && f->in[t->id];
    for (uint32_t i = 0; i < v->n_args && !yes && v->op != OP_given; i++)
        yes = depends(b, f, v->args[i]);
    yes = yes || depends(b, f, v->where);
    f->dep[v->id] = yes ? 1 : -1;
    return yes;
}

/* --- reads of tensors --- */

/* x is over the final images of from[] (some may be gone); to[] are values of the final graph. */
static value *read_final(builder *b, value *x, const ix *const *from, value *const *to, uint32_t n,
                         value *where)
{
    const ix **mapped = map_ixs(b, from, n);
    return b_read(b->s, x, mapped, to, n, where);
}

/* A read of t from the histories of one frame; where the index may be this step itself, with its
 * row. */
typedef struct reading {
    const edge *e;
    tensor *t;
    frame **chain; /* the frames that hold t, outermost first */
    uint32_t n;
} reading;

static value *from_history(builder *b, const reading *r, const frame *f, value *h, value *const *to,
                           value *where)
{
    tensor *t = r->t;
    uint32_t p = f->step[t->id];
    value **index = ARENA_ARRAY(b->s->a, value *, h->n_ix);
    const ix *row = f->history[t->id]->bound[0];
    bool identity = !where;
    for (uint32_t i = 0; i < h->n_ix; i++) {
        index[i] = graph_index(b->to, h->ix[i]);
        for (uint32_t k = 0; k < t->n_ix; k++)
            if ((k == p && h->ix[i] == row) || (k != p && h->ix[i] == map_ix(b, t->ix[k])))
                index[i] = to[k];
        identity = identity && index[i]->op == OP_index && index[i]->ix[0] == h->ix[i];
    }
    return identity ? h : graph_read(b->to, h, index, where);
}

static value *read_level(builder *b, const reading *r, uint32_t level, value *const *to,
                         value *where)
{
    tensor *t = r->t;
    sema *s = b->s;
    if (level == r->n && r->n && t->is_input) { /* even this step's row, through the history */
        frame *last = r->chain[r->n - 1];
        return define(b, last, t) ? from_history(b, r, last, last->appended[t->id], to, where)
                                  : NULL;
    }
    if (level == r->n) {
        value *x = define(b, r->n ? r->chain[r->n - 1] : &b->base, t);
        return x ? read_final(b, x, t->ix, to, t->n_ix, where) : NULL;
    }
    frame *f = r->chain[level];
    uint32_t p = f->step[t->id];
    value *step = graph_index(b->to, map_ix(b, f->step_ix));
    if (to[p] == step)
        return read_level(b, r, level + 1, to, where);
    relation rel = REL_NONE;
    if (r->e->from && f->in[r->e->from->id]) {
        s->g = b->o.from;
        rel = order_relation(&b->o, r->e, f->step[r->e->from->id], p, f->backward);
        s->g = b->to;
    }
    ICE_UNLESS(f->history[t->id]);
    if (r->e->from && f->in[r->e->from->id]) {
        s->g = b->o.from;
        bool guard = order_needs_guard(&b->o, r->e, f->step[r->e->from->id], p, f->backward, rel);
        s->g = b->to;
        if (guard)
            where = b_and(s, where,
                          b_cmp(s, rel == REL_PAST ? OP_lt : OP_le, f->backward ? step : to[p],
                                f->backward ? to[p] : step));
    }
    if (rel == REL_PAST)
        return from_history(b, r, f, f->history[t->id], to, where);
    if (f->state[t->id] != P_BUSY) {
        if (!define(b, f, t))
            return NULL;
        return from_history(b, r, f, f->appended[t->id], to, where);
    }
    /* t's row is still being computed, further in: earlier rows from the history, this one as it is
     */
    value *now = b_cmp(s, OP_eq, to[p], step);
    value *before = f->backward ? b_cmp(s, OP_lt, step, to[p]) : b_cmp(s, OP_lt, to[p], step);
    value **here = ARENA_ARRAY(s->a, value *, t->n_ix);
    memcpy(here, to, t->n_ix * sizeof *here);
    here[p] = step;
    /* of steps: a real that is not written yet may be looked at, for the select drops it */
    if (!b->o.by_value || t->dt == DT_I64 || t->dt == DT_BOOL)
        before = b_and(s, where, before);
    else
        before = where;
    value *past = from_history(b, r, f, f->history[t->id], to, before);
    if (!past->at.file)
        past->at = r->e->node->at;
    value *cur = read_level(b, r, level + 1, here, where);
    return cur ? b_select(s, now, cur, past) : NULL;
}

static value *read_tensor(builder *b, frame *f, const edge *e)
{
    tensor *t = e->to;
    sema *s = b->s;
    value **to = ARENA_ARRAY(s->a, value *, t->n_ix);
    for (uint32_t i = 0; i < t->n_ix; i++)
        if (!(to[i] = lower(b, f, e->index[i])))
            return NULL;
    value *where = e->where ? lower(b, f, e->where) : NULL;
    if (e->where && !where)
        return NULL;
    if (where && where->op == OP_const && where->i)
        where = NULL;
    VEC(frame *) chain = {0};
    for (frame *k = f; k->up; k = k->up)
        if (k->in[t->id])
            vec_push(s->a, &chain, k);
    for (size_t i = 0; i < chain.n / 2; i++) {
        frame *k = chain.v[i];
        chain.v[i] = chain.v[chain.n - 1 - i];
        chain.v[chain.n - 1 - i] = k;
    }
    reading r = {e, t, chain.v, (uint32_t)chain.n};
    return read_level(b, &r, 0, to, where);
}

/* --- one value --- */

value *lower_leaf(builder *b, value *v)
{
    const ix **axes = map_ixs(b, v->ix, v->n_ix);
    value *r = v->op == OP_input ? graph_input(b->to, v->name, (store_type)v->kind, axes, v->n_ix,
                                               v->optional, v->n_family, v->source)
                                 : graph_param(b->to, v->name, (store_type)v->kind, axes, v->n_ix,
                                               v->n_family, v->source);
    if (!r->at.file)
        r->at = v->at;
    return r;
}

value *lower_row(builder *b, value *v)
{
    value *x = lower_leaf(b, v);
    if (!x->optional)
        return x;
    value **same = ARENA_ARRAY(b->s->a, value *, x->n_ix);
    for (uint32_t i = 0; i < x->n_ix; i++)
        same[i] = graph_index(b->to, x->ix[i]);
    return graph_read(b->to, x, same, graph_given(b->to, x));
}

/* The ways from the body at hand to a read in it. */
static path_list paths_to(const builder *b, const tensor *from, const value *node)
{
    for (size_t i = 0; from && i < b->o.edges[from->id].n; i++)
        if (b->o.edges[from->id].v[i].node == node)
            return b->o.edges[from->id].v[i].paths;
    return (path_list){0};
}

static value *lower_new(builder *b, frame *f, value *v)
{
    sema *s = b->s;
    graph *g = b->to;
    tensor *t = placeholder_of(&b->o, v);
    if (t && t == f->current && is_own_value(t, v))
        t = NULL; /* a value that is a tensor: its own definition */
    if (t || (v->op == OP_read && placeholder_of(&b->o, v->args[0]))) {
        edge e = {.node = v, .to = t ? t : placeholder_of(&b->o, v->args[0])};
        if (t) {
            value **ixs = ARENA_ARRAY(s->a, value *, t->n_ix);
            s->g = b->o.from;
            for (uint32_t i = 0; i < t->n_ix; i++)
                ixs[i] = graph_index(b->o.from, t->ph->ix[i]);
            s->g = g;
            e.index = ixs;
        } else {
            e.index = v->args + 1;
            e.where = v->where;
        }
        e.from = f->current;
        e.paths = paths_to(b, f->current, v);
        return read_tensor(b, f, &e);
    }
    value *where = NULL;
    if (v->where) {
        where = lower(b, f, v->where);
        if (!where)
            return NULL;
        if (where->op == OP_const && where->i)
            where = NULL;
    }
    if (v->op == OP_given)
        return graph_given(g, lower_leaf(b, v->args[0]));
    value **args = ARENA_ARRAY(s->a, value *, v->n_args ? v->n_args : 1);
    for (uint32_t i = 0; i < v->n_args; i++) {
        args[i] = lower(b, f, v->args[i]);
        if (!args[i])
            return NULL;
    }
    const ix **bound = map_ixs(b, v->bound, v->n_bound);
    switch (v->op) {
    case OP_const:
        return v->dt == DT_I64    ? graph_int(g, v->i)
               : v->dt == DT_BOOL ? graph_bool(g, v->i)
                                  : graph_real(g, v->f);
    case OP_dim:
        return b_dim(s, dims_final(s, v->dim, v->at));
    case OP_index:
        return graph_index(g, map_ix(b, v->ix[0]));
    case OP_input:
    case OP_param:
        return lower_leaf(b, v);
    case OP_read: {
        const ix **from = map_ixs(b, v->args[0]->ix, v->args[0]->n_ix);
        return b_read(s, args[0], from, args + 1, v->args[0]->n_ix, where);
    }
    case OP_join:
        return graph_join(g, bound[0], args, bound + 1, v->n_args);
    case OP_reduce:
        return graph_reduce(g, (reduce_kind)v->kind, args[0], bound, v->n_bound, where);
    case OP_contract:
        return graph_contract(g, args[0], args[1], bound, v->n_bound, where);
    case OP_softmax:
    case OP_hardmax:
    case OP_normalize:
        for (uint32_t i = 0; i < v->n_bound; i++)
            if (!value_has_ix(args[0], bound[i])) {
                value *spread[] = {graph_index(g, bound[i]), graph_index(g, bound[i])};
                value *sel[] = {graph_elem(g, OP_eq, spread, NULL), args[0], args[0]};
                args[0] = graph_elem(g, OP_select, sel, NULL);
            }
        return graph_norm(g, v->op, args[0], bound, v->n_bound, where);
    case OP_and: {
        value *r = b_and(s, args[0], args[1]);
        return r ? r : graph_bool(g, true);
    }
    case OP_or: {
        value *r = b_or(s, args[0], args[1]);
        return r ? r : graph_bool(g, true);
    }
    case OP_not:
        return b_not(s, args[0]);
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        if (args[0] == args[1] && v->args[0] == v->args[1])
            return graph_elem(g, v->op, args, NULL);
        return b_cmp(s, v->op, args[0], args[1]);
    case OP_select:
        if (args[0]->op == OP_const)
            return b_select(s, args[0], args[1], args[2]);
        return graph_elem(g, v->op, args, where);
    case OP_add:
    case OP_sub:
    case OP_mul:
        if (v->dt == DT_I64)
            return b_elem(s, v->op, args[0], args[1], where);
        return graph_elem(g, v->op, args, where);
    default:
        ICE_UNLESS(OP_HAS(v->op, T_ELEM));
        return graph_elem(g, v->op, args, where);
    }
}

value *lower(builder *b, frame *f, value *v)
{
    tensor *current = f->current;
    while (f->up && !depends(b, f, v))
        f = f->up;
    frame_room(b, f, v->id);
    if (f->memo[v->id] && (!f->up || f->memo_of[v->id] == current))
        return f->memo[v->id];
    if (!sema_enter(b->s, v->at))
        return NULL;
    tensor *before = f->current;
    f->current = current;
    value *r = lower_new(b, f, v);
    f->current = before;
    b->s->depth--;
    if (r && !r->at.file)
        r->at = v->at;
    if (r) {
        f->memo[v->id] = r;
        f->memo_of[v->id] = current;
    }
    return r;
}
