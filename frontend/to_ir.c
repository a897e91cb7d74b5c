/* to_ir.c: the final graph, built anew from what the results reach.
 *
 * A tensor that depends on itself becomes part of a scan: inside, its earlier steps are read from a
 * history and the present one is a value of the region; outside, it is the scan's result. Values
 * that reach no tensor of a scan are built outside it. Nested scans arise where tensors still
 * depend on each other within a step. */
#include "frontend/order.h"

#include <ctype.h>
#include <string.h>

typedef struct builder {
    order o;
    sema *s;
    graph *to;
    const ix **ix_map; /* by scratch ix id: final ones */
    const ix *const *merged; /* by scratch ix id, of those there were at the start */
    size_t n_merged;
    frame base;        /* what lies outside every scan */
    VEC(tensor *) live;
    bool bad;
} builder;

static value *lower(builder *b, frame *f, value *v);
static value *define(builder *b, frame *f, tensor *t);

/* --- names
 * ------------------------------------------------------------------------------------------------------------
 */

static bool is_dim_name(const graph *g, const char *name)
{
    for (size_t i = 0; i < g->symbols.n; i++)
        if (!strcmp(g->symbols.v[i], name))
            return true;
    return false;
}

static const ix *map_ix(builder *b, const ix *i)
{
    if (i->id < b->n_merged && b->merged[i->id] != i)
        return map_ix(b, b->merged[i->id]);
    if (b->ix_map[i->id])
        return b->ix_map[i->id];
    sema *s = b->s;
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
    return b->ix_map[i->id] = graph_ix(b->to, intern(s->names, name), d);
}

static const ix **map_ixs(builder *b, const ix *const *list, uint32_t n)
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
    if (f->dep[v->id])
        return f->dep[v->id] > 0;
    tensor *t = placeholder_of(&b->o, v);
    bool yes = t && f->in[t->id];
    for (uint32_t i = 0; i < v->n_args && !yes; i++)
        yes = depends(b, f, v->args[i]);
    yes = yes || depends(b, f, v->where);
    f->dep[v->id] = yes ? 1 : -1;
    return yes;
}

/* --- reads of tensors
 * ------------------------------------------------------------------------------------------------------
 */

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
        rel = order_relation(&b->o, f, r->e, f->step[r->e->from->id], p, f->backward);
        s->g = b->to;
    }
    ICE_UNLESS(f->history[t->id]);
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
    value *past = from_history(b, r, f, f->history[t->id], to, b_and(s, where, before));
    value *cur = read_level(b, r, level + 1, here, where);
    return cur ? b_select(s, now, cur, past) : NULL;
}

static value *read_tensor(builder *b, frame *f, const edge *e)
{
    tensor *t = e->to;
    sema *s = b->s;
    value **to = ARENA_ARRAY(s->a, value *, t->n_ix);
    for (uint32_t i = 0; i < t->n_ix; i++)
        to[i] = lower(b, f, e->index[i]);
    value *where = e->where ? lower(b, f, e->where) : NULL;
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

/* --- one value
 * ---------------------------------------------------------------------------------------------------------------
 */

static value *lower_new(builder *b, frame *f, value *v)
{
    sema *s = b->s;
    graph *g = b->to;
    tensor *t = placeholder_of(&b->o, v);
    if (t || (v->op == OP_read && placeholder_of(&b->o, v->args[0]))) {
        edge e = {.node = v, .to = t ? t : placeholder_of(&b->o, v->args[0])};
        frame *k = f;
        e.from = NULL;
        (void)k;
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
        return b_dim(s, v->dim);
    case OP_index:
        return graph_index(g, map_ix(b, v->ix[0]));
    case OP_input:
    case OP_param: {
        const ix **axes = map_ixs(b, v->ix, v->n_ix);
        value *r = v->op == OP_input ? graph_input(g, v->name, (store_type)v->kind, axes, v->n_ix,
                                                   v->optional, v->n_family, v->source)
                                     : graph_param(g, v->name, (store_type)v->kind, axes, v->n_ix,
                                                   v->n_family, v->source);
        return r;
    }
    case OP_given:
        return graph_given(g, args[0]);
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

static value *lower(builder *b, frame *f, value *v)
{
    while (f->up && !depends(b, f, v))
        f = f->up;
    if (f->memo[v->id])
        return f->memo[v->id];
    value *r = lower_new(b, f, v);
    if (r && !r->at.file)
        r->at = v->at;
    if (r)
        f->memo[v->id] = r;
    return r;
}

/* --- tensors
 * ------------------------------------------------------------------------------------------------------------------
 */

static void frame_arrays(builder *b, frame *f)
{
    arena *a = b->s->a;
    size_t nt = b->s->tensors.n, nv = b->o.from->values.n + 65536;
    f->in = ARENA_ARRAY(a, bool, nt);
    f->step = ARENA_ARRAY(a, uint32_t, nt);
    f->region = ARENA_ARRAY(a, value *, nt);
    f->state = ARENA_ARRAY(a, progress, nt);
    f->history = ARENA_ARRAY(a, value *, nt);
    f->appended = ARENA_ARRAY(a, value *, nt);
    f->wanted = ARENA_ARRAY(a, bool, nt);
    f->slot = ARENA_ARRAY(a, int, nt);
    f->memo = ARENA_ARRAY(a, value *, nv);
    f->dep = ARENA_ARRAY(a, signed char, nv);
}

/* An index for the rows of t's history: none of those its values use. */
static const ix *row_ix(builder *b, tensor *t, const ix *step)
{
    sema *s = b->s;
    const dim *extent = dims_resolve(s, step->extent);
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

static bool form_scan(builder *b, frame *outer, tensor *const *members, size_t n)
{
    sema *s = b->s;
    frame *f = ARENA_NEW(s->a, frame);
    frame_arrays(b, f);
    f->up = outer;
    for (size_t i = 0; i < n; i++)
        f->in[members[i]->id] = true;
    s->g = b->o.from;
    bool ok = order_steps(&b->o, outer, f, members, n);
    if (ok) {
        f->step_ix = members[0]->ix[f->step[members[0]->id]];
        for (size_t i = 0; i < n && ok; i++)
            ok = rename_step(s, &b->o, members[i], f->step[members[i]->id], f->step_ix);
        order_components(&b->o, f, members, n);
    }
    s->g = b->to;
    if (!ok) {
        b->bad = true;
        return false;
    }
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
            if (!f->in[x->id] || order_relation(&b->o, f, e, f->step[x->id], f->step[e->to->id],
                                                f->backward) != REL_SAME)
                f->wanted[e->to->id] = true;
            s->g = b->to;
        }
    }
    int slots = 0;
    for (size_t i = 0; i < n; i++) {
        tensor *t = members[i];
        if (t->is_root ||
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

static value *define(builder *b, frame *f, tensor *t)
{
    sema *s = b->s;
    if (f->state[t->id] == P_DONE)
        return f->region[t->id];
    if (f->state[t->id] == P_BAD || b->bad)
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
        if (!form_scan(b, f, comp.v, comp.n))
            return NULL;
    } else {
        tensor *before = f->current;
        f->current = t;
        f->region[t->id] = lower(b, f, t->body);
        f->current = before;
        if (!f->region[t->id])
            return NULL;
        if (!f->region[t->id]->hint && f->region[t->id]->op != OP_input &&
            f->region[t->id]->op != OP_param)
            f->region[t->id]->hint = t->name;
    }
    finish(b, f, t);
    return f->region[t->id];
}

/* --- the entry
 * ------------------------------------------------------------------------------------------------------------------
 */

static void mark_live(builder *b, tensor *t, bool *seen)
{
    if (seen[t->id])
        return;
    seen[t->id] = true;
    order_edges(&b->o, t);
    vec_push(b->s->a, &b->live, t);
    for (size_t i = 0; i < b->o.edges[t->id].n; i++)
        mark_live(b, b->o.edges[t->id].v[i].to, seen);
}

static void note_symbols(builder *b, const dim *d)
{
    d = dims_resolve(b->s, d);
    for (uint32_t k = 0; k < dims_n_symbols(b->o.from->dims); k++) {
        const char *name = dims_symbol(b->o.from->dims, k);
        bool have = false;
        for (size_t i = 0; i < b->to->symbols.n; i++)
            have = have || b->to->symbols.v[i] == name;
        if (!have && dim_mentions(d, name))
            vec_push(b->to->a, &b->to->symbols, name);
    }
}

static void reach(value *v, unsigned char *seen)
{
    if (!v || seen[v->id])
        return;
    seen[v->id] = 1;
    for (uint32_t i = 0; i < v->n_args; i++)
        reach(v->args[i], seen);
    reach(v->where, seen);
}

graph *to_ir(sema *s, module *m, inst *entry, const ast_decl *model)
{
    builder b = {.s = s};
    size_t errors = s->ds->n_errors;
    graph *from = s->g;
    /* results as one pseudo tensor each: what is stored, over batch and axes */
    uint32_t n = entry->n_results;
    tensor **root = ARENA_ARRAY(s->a, tensor *, n);
    uint32_t *n_axes = ARENA_ARRAY(s->a, uint32_t, n);
    const ix ***axes = ARENA_ARRAY(s->a, const ix **, n);
    for (uint32_t k = 0; k < n; k++) {
        tensor *t = entry->results[k];
        env e = {.in = entry, .demand = entry->demand};
        tensor *r = tensor_new(entry, t->name, t->at);
        r->is_root = true;
        e.reader = r;
        tv v = tensor_read(&e, t, NULL, t->at);
        if (v.kind != TV_VALUE)
            return NULL;
        v = inst_mask_result(&e, t, v);
        r->body = v.support ? b_select(s, v.support, v.v, b_zero(s, v.v->dt)) : v.v;
        r->def = P_DONE;
        r->dt = v.v->dt;
        /* one memory axis for each axis: packed ones are merged */
        VEC(const ix *) order = {0};
        uint32_t family =
            t->result_formal && t->result_formal->index ? (uint32_t)t->result_formal->index->n : 0;
        for (uint32_t i = 0; i < family; i++)
            vec_push(s->a, &order, v.axes[i].ix[0]);
        for (uint32_t i = 0; i < entry->n_ctx; i++)
            vec_push(s->a, &order, entry->ctx[i]);
        VEC(const ix *) parts = {0};
        VEC(value *) to = {0};
        ix_list avoid = {0};
        tv_ixs(&v, &avoid, s->a);
        for (uint32_t i = 0; i < entry->n_ctx; i++)
            vec_push(s->a, &avoid, entry->ctx[i]);
        for (uint32_t i = family; i < v.n_axes; i++) {
            if (v.axes[i].n == 1) {
                vec_push(s->a, &order, v.axes[i].ix[0]);
                continue;
            }
            const ix *flat = pool_ix(s, axis_size(s, &v.axes[i]), avoid.v, avoid.n, "m");
            vec_push(s->a, &avoid, flat);
            vec_push(s->a, &order, flat);
            value *x = graph_index(s->g, flat);
            for (uint32_t p = v.axes[i].n; p-- > 0;) {
                value *size = b_dim(s, v.axes[i].d[p]);
                vec_push(s->a, &parts, v.axes[i].ix[p]);
                vec_push(s->a, &to, p ? b_elem(s, OP_imod, x, size, NULL) : x);
                if (p)
                    x = b_elem(s, OP_idiv, x, size, NULL);
            }
        }
        r->body = b_read(s, r->body, parts.v, to.v, (uint32_t)parts.n, NULL);
        r->ix = order.v;
        r->n_ix = (uint32_t)order.n;
        axes[k] = order.v;
        n_axes[k] = (uint32_t)order.n;
        root[k] = r;
    }
    if (s->ds->n_errors > errors)
        return NULL;

    b.o.s = s;
    b.o.from = from;
    b.o.n_scan = from->n_scans;
    b.o.by_scan = ARENA_ARRAY(s->a, tensor *, from->n_scans + 1);
    for (size_t i = 0; i < s->tensors.n; i++)
        if (s->tensors.v[i]->ph && s->tensors.v[i]->ph->scan < from->n_scans)
            b.o.by_scan[s->tensors.v[i]->ph->scan] = s->tensors.v[i];
    b.o.edges = arena_array(s->a, s->tensors.n, sizeof *b.o.edges);
    b.o.edges_done = ARENA_ARRAY(s->a, bool, s->tensors.n);
    bool *seen = ARENA_ARRAY(s->a, bool, s->tensors.n);
    for (uint32_t k = 0; k < n; k++)
        mark_live(&b, root[k], seen);

    graph *g = graph_new(m, model->name.s, s->o->real);
    b.to = g;
    g->dims = from->dims;
    g->recurrence = !strcmp(entry->decl->word.s, "recurrence");
    b.ix_map = arena_array(s->a, from->ixs.n + 65536, sizeof *b.ix_map);
    b.merged = merge_ixs(s, from, b.live.v, b.live.n);
    b.n_merged = from->ixs.n;
    frame_arrays(&b, &b.base);
    order_components(&b.o, &b.base, b.live.v, b.live.n);

    /* the interface, in order: inputs as declared, live params as declared, results */
    unsigned char *used = ARENA_ARRAY(s->a, unsigned char, from->values.n + 1);
    for (size_t i = 0; i < b.live.n; i++)
        reach(b.live.v[i]->body, used);
    for (size_t i = 0; i < from->inputs.n; i++)
        for (uint32_t k = 0; k < from->inputs.v[i]->n_ix; k++)
            note_symbols(&b, from->inputs.v[i]->ix[k]->extent);
    for (size_t i = 0; i < s->params.n; i++)
        if (used[s->params.v[i]->id])
            for (uint32_t k = 0; k < s->params.v[i]->n_ix; k++)
                note_symbols(&b, s->params.v[i]->ix[k]->extent);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n_axes[k]; i++)
            note_symbols(&b, axes[k][i]->extent);
    for (size_t i = 0; i < b.live.n; i++) /* sizes only locals know */
        for (uint32_t k = 0; k < b.live.v[i]->n_ix; k++)
            note_symbols(&b, b.live.v[i]->ix[k]->extent);

    for (size_t i = 0; i < s->params.n; i++) {
        const value *p = s->params.v[i];
        for (uint32_t k = 0; used[p->id] && k < p->n_family; k++) {
            const dim *count = dims_resolve(s, p->ix[k]->extent);
            int64_t c;
            if (dim_is_const(count, &c))
                continue;
            diag *d = diag_error(
                s->ds, p->at, "the number of tensors of %s must be known when compiling, %s is not",
                p->source, dims_show(s, count));
            diag_help(d, "fix it: `dim %s = ...` or -D %s=...", dims_show(s, count),
                      dims_show(s, count));
            return NULL;
        }
    }

    s->g = g;
    for (size_t i = 0; i < from->inputs.n; i++)
        lower(&b, &b.base, from->inputs.v[i]);
    for (size_t i = 0; i < s->params.n; i++)
        if (used[s->params.v[i]->id])
            lower(&b, &b.base, s->params.v[i]);
    bool ok = true;
    for (uint32_t k = 0; k < n && ok; k++) {
        value *v = define(&b, &b.base, root[k]);
        ok = v != NULL;
        if (!ok)
            break;
        const ast_formal *f = entry->results[k]->result_formal;
        graph_result r = {.name = root[k]->name, .v = v, .n_axes = n_axes[k]};
        r.axes = map_ixs(&b, axes[k], n_axes[k]);
        r.store = f                  ? store_of(s, f->type.scalar)
                  : v->dt == DT_I64  ? ST_I64
                  : v->dt == DT_BOOL ? ST_BOOL
                                     : store_of(s, SCALAR_REAL);
        r.n_family = f && f->index ? (uint32_t)f->index->n : 0;
        r.source = f && f->from.s ? f->from.s
                   : r.n_family   ? intern_printf(s->names, "%s{}", r.name)
                                  : NULL;
        vec_push(g->a, &g->results, r);
    }
    for (size_t i = 0; i < from->checks.n && ok; i++) {
        graph_check c = from->checks.v[i];
        c.a = dims_resolve(s, c.a);
        c.b = dims_resolve(s, c.b);
        if (c.le && dim_proved_le(g->dims, c.a, c.b))
            continue;
        vec_push(g->a, &g->checks, c);
    }
    s->g = from;
    return ok ? g : NULL;
}
