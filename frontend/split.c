/* split.c: for step graphs: tensors along more rows than there are steps, or fewer.
 *
 * k over M + T, where T are the steps, is two tensors: the M rows before the first step, computed
 * once, and the T rows of the steps. Each read of k chooses between them by its index; where the
 * range of the index decides, nothing is left of the choice. d over T - 1 is one over T, whose
 * first row nobody reads. */
#include "frontend/builder.h"

#include <string.h>

typedef struct half {
    uint32_t axis;  /* of the tensor */
    const dim *n;   /* rows before the steps; negative: so many steps have none */
    tensor *before; /* NULL: there are none */
    tensor *along;
} half;

typedef struct splitter {
    sema *s;
    const order *o;
    half **of; /* by tensor id; NULL: whole */
    size_t n_of;
    const ix *from; /* stands for `to`; NULL: every index for itself */
    value *to;
    value *guard; /* what reads at other rows keep to; NULL: nothing */
    size_t n_memo;
    value **memo, **plain; /* by value id: with and without `from` */
} splitter;

static value *put(splitter *p, value *v);

/* v as base + number, where what it adds and takes away leaves no more. */
static value *settle(splitter *p, value *v)
{
    sema *s = p->s;
    value *leaf[8];
    bool minus[8];
    uint32_t n = 0, n_todo = 1;
    const dim *c = dim_const(s->g->dims, 0);
    struct {
        value *v;
        bool minus;
    } todo[16] = {{v, false}};
    while (n_todo > 0) {
        value *x = todo[--n_todo].v;
        bool neg = todo[n_todo].minus;
        if (x->op == OP_const || x->op == OP_dim) {
            const dim *d = x->op == OP_dim ? dims_resolve(s, x->dim) : dim_const(s->g->dims, x->i);
            c = neg ? dim_sub(s->g->dims, c, d) : dim_add(s->g->dims, c, d);
            continue;
        }
        if ((x->op == OP_add || x->op == OP_sub) && !x->where && n_todo + 2 <= 16) {
            todo[n_todo].v = x->args[0];
            todo[n_todo++].minus = neg;
            todo[n_todo].v = x->args[1];
            todo[n_todo++].minus = neg != (x->op == OP_sub);
            continue;
        }
        uint32_t k = 0;
        while (k < n && (leaf[k] != x || minus[k] == neg))
            k++;
        if (k < n) {
            n--;
            leaf[k] = leaf[n];
            minus[k] = minus[n];
        } else if (n == 8) {
            return v;
        } else {
            leaf[n] = x;
            minus[n++] = neg;
        }
    }
    int64_t k;
    if (n == 0)
        return b_dim(s, c);
    if (n > 1 || minus[0] || !dim_is_const(c, &k))
        return v;
    return b_elem(s, OP_add, leaf[0], graph_int(s->g, k), NULL);
}

/* A condition that the ranges decide is a constant. */
static value *decide(sema *s, value *p)
{
    value *no = p && p->op != OP_const ? b_not(s, p) : NULL;
    return no && no->op == OP_const && no->i ? graph_bool(s->g, false) : p;
}

static bool is_false(const value *p)
{
    return p && p->op == OP_const && !p->i;
}

static value *read_half(splitter *p, const half *h, value **index, value *where)
{
    sema *s = p->s;
    value *at = index[h->axis], *n = b_dim(s, h->n);
    if (!h->before) {
        index[h->axis] = settle(p, b_elem(s, OP_sub, at, n, NULL));
        return graph_read(s->g, h->along->ph, index, where);
    }
    value *early = decide(s, b_cmp(s, OP_lt, at, n)), *late = decide(s, b_cmp(s, OP_le, n, at));
    value *a = NULL, *b = NULL;
    if (!is_false(early))
        a = graph_read(s->g, h->before->ph, index, b_and(s, where, early));
    index[h->axis] = settle(p, b_elem(s, OP_sub, at, n, NULL));
    if (!is_false(late))
        b = graph_read(s->g, h->along->ph, index, b_and(s, where, late));
    return !a ? b : !b ? a : b_select(s, early, a, b);
}

/* A tensor or another leaf, at index values. */
static value *put_leaf(splitter *p, value *v)
{
    sema *s = p->s;
    value *x = v->op == OP_read ? v->args[0] : v;
    const tensor *t = placeholder_of(p->o, x);
    value **index = ARENA_ARRAY(s->a, value *, x->n_ix + 1);
    bool same = true;
    for (uint32_t i = 0; i < x->n_ix; i++) {
        value *old = v->op == OP_read ? v->args[i + 1] : graph_index(s->g, x->ix[i]);
        index[i] = put(p, old);
        same = same && index[i] == old;
    }
    value *where = v->op == OP_read ? decide(s, put(p, v->where)) : NULL;
    if (!same)
        where = b_and(s, where, p->guard);
    if (t && t->id < p->n_of && p->of[t->id])
        return read_half(p, p->of[t->id], index, where);
    return same && (v->op != OP_read || where == v->where) ? v : graph_read(s->g, x, index, where);
}

static value *put_plain(splitter *p, value *v)
{
    splitter q = *p;
    q.from = NULL;
    q.guard = NULL;
    q.memo = p->plain;
    return put(&q, v);
}

/* What a read reads: along the index that stays as it is, the rows that are wanted alone. */
static value *put_base(splitter *p, const value *v)
{
    value *x = v->args[0];
    for (uint32_t i = 0; i < x->n_ix && p->from; i++) {
        if (v->args[i + 1]->op != OP_index || v->args[i + 1]->ix[0] != p->from)
            continue;
        splitter q = *p;
        if (x->ix[i] != p->from) {
            q.from = x->ix[i];
            q.memo = ARENA_ARRAY(p->s->a, value *, q.n_memo + 1);
        }
        return put(&q, x);
    }
    return put_plain(p, x);
}

static value *put_new(splitter *p, value *v)
{
    sema *s = p->s;
    if (v->op == OP_index)
        return v->ix[0] == p->from ? p->to : v;
    if (v->op == OP_given)
        return v;
    if (v->n_args == 0 || (v->op == OP_read && v->args[0]->n_args == 0))
        return put_leaf(p, v);
    bool bound = false;
    for (uint32_t i = 0; i < v->n_bound; i++)
        bound = bound || v->bound[i] == p->from;
    if (bound) /* its own elements along that index are all of them */
        return b_read(s, put_plain(p, v), &p->from, &p->to, 1, NULL);
    value **args = ARENA_ARRAY(s->a, value *, v->n_args);
    bool read = v->op == OP_read, same = true;
    for (uint32_t i = 0; i < v->n_args; i++) {
        args[i] = read && i == 0 ? put_base(p, v) : put(p, v->args[i]);
        same = same && args[i] == v->args[i];
    }
    value *where = decide(s, put(p, v->where));
    if (same && where == v->where)
        return v;
    switch (v->op) {
    case OP_read:
        return b_read(s, args[0], v->args[0]->ix, args + 1, v->args[0]->n_ix, where);
    case OP_select:
        return b_select(s, args[0], args[1], args[2]);
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        return decide(s, b_cmp(s, v->op, args[0], args[1]));
    case OP_not:
        return b_not(s, args[0]);
    case OP_and:
    case OP_or: {
        value *r = v->op == OP_and ? b_and(s, args[0], args[1]) : b_or(s, args[0], args[1]);
        return r ? r : graph_bool(s->g, true);
    }
    default:
        if (v->dt == DT_I64 && v->n_args == 2 && OP_HAS(v->op, T_ELEM))
            return settle(p, b_elem(s, v->op, args[0], args[1], where));
        return graph_with_args(s->g, v, args, where);
    }
}

static value *put(splitter *p, value *v)
{
    if (!v)
        return NULL;
    if (v->id < p->n_memo && p->memo[v->id])
        return p->memo[v->id];
    value *r = put_new(p, v);
    if (v->id < p->n_memo)
        p->memo[v->id] = r;
    return r;
}

/* --- the halves --- */

static tensor *half_of(sema *s, const tensor *t, uint32_t axis, const dim *n, const char *name)
{
    tensor *h = tensor_new(t->in, name, t->at);
    h->dt = t->dt;
    h->n_ctx = t->n_ctx;
    h->n_ix = t->n_ix;
    h->ix = arena_copy(s->a, t->ix, t->n_ix * sizeof *t->ix);
    h->ix[axis] = pool_ix(s, n, s->g->ixs.v, s->g->ixs.n, t->ix[axis]->name);
    h->def = P_DONE;
    h->ph = graph_history(s->g, graph_new_scan(s->g), 0, h->name, h->dt, h->ix, h->n_ix, h->ix[0]);
    h->ph->at = t->at;
    return h;
}

/* The axis along which e reads rows of the steps and before only. */
static half *split(sema *s, const order *o, const edge *e, uint32_t from_pos, const dim *steps)
{
    const tensor *t = e->to;
    value *step = graph_index(s->g, e->from->ix[from_pos]);
    for (uint32_t i = 0; i < t->n_ix; i++) {
        const dim *n = dim_sub(s->g->dims, dims_resolve(s, t->ix[i]->extent), steps);
        const dim *zero = dim_const(s->g->dims, 0);
        bool more = dims_le(s, zero, n), fewer = dims_le(s, n, zero);
        if (more == fewer || !paths_bound(o, e, e->index[i], step, n))
            continue;
        half *h = ARENA_NEW(s->a, half);
        h->axis = i;
        h->n = n;
        if (more)
            h->before = half_of(s, t, i, n, arena_printf(s->a, "%s.before", t->name));
        h->along = half_of(s, t, i, steps, t->name);
        return h;
    }
    return NULL;
}

static value *part_of(splitter *p, const tensor *t, const ix *to_ix, const dim *n)
{
    sema *s = p->s;
    splitter q = *p;
    q.n_memo = s->g->values.n;
    q.memo = ARENA_ARRAY(s->a, value *, q.n_memo + 1);
    q.plain = ARENA_ARRAY(s->a, value *, q.n_memo + 1);
    q.from = t->ix[p->of[t->id]->axis];
    q.to = graph_index(s->g, to_ix);
    if (n) {
        q.to = b_elem(s, OP_add, q.to, b_dim(s, n), NULL);
        q.guard = decide(s, b_cmp(s, OP_le, graph_int(s->g, 0), q.to));
        if (q.guard->op == OP_const)
            q.guard = NULL;
    }
    return put(&q, t->body);
}

bool split_steps(builder *b, const edge *e, uint32_t from_pos, const dim *steps)
{
    sema *s = b->s;
    tensor *t = e->to;
    splitter p = {.s = s, .o = &b->o, .n_of = s->tensors.n};
    if (t->is_root || t->ph->op != OP_history)
        return false;
    half *h = split(s, &b->o, e, from_pos, steps);
    if (!h)
        return false;
    p.of = ARENA_ARRAY(s->a, half *, p.n_of);
    p.of[t->id] = h;
    p.n_memo = s->g->values.n;
    p.memo = p.plain = ARENA_ARRAY(s->a, value *, p.n_memo + 1);
    if (h->before)
        h->before->body = part_of(&p, t, h->before->ix[h->axis], NULL);
    h->along->body = part_of(&p, t, h->along->ix[h->axis], h->n);
    for (size_t i = 0; i < b->live.n; i++) {
        tensor *x = b->live.v[i];
        if (x != t && x->ph != x->body)
            x->body = put(&p, x->body);
    }
    return true;
}
