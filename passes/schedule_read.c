/* schedule_read.c: reads (the value of one element at other indices) and joins. */
#include "passes/schedule_internal.h"

/* Inside a recurrence a value of the region exists for the step at hand only; graph_verify sees to
 * it. */
static void check_step(const sched *s, const value *v)
{
    const value *x = v->args[0];
    for (uint32_t i = 0; s->home[x->id] && i < x->n_ix; i++) {
        const value *at = v->args[i + 1];
        if (is_step_of(s, x, x->ix[i]) && !(at->op == OP_index && at->ix[0] == x->ix[i]))
            ice("%s is read at another step than the one being computed", name_of(x));
    }
}

/* The source at those index values. */
static const kexpr *source_at(sched *s, const value *x, const kexpr **index)
{
    const value *h = history_of(x);
    if (s->plan[h->id].stored || x->op == OP_input || x->op == OP_param)
        return sx_element(s, x, index);
    frame f = new_frame(s, NULL);
    for (uint32_t i = 0; i < x->n_ix; i++)
        bind(s, &f, x->ix[i], hold(s, index[i], x->ix[i]->name));
    return sx(s, &f, x);
}

/* The conjuncts of v's predicate that are not known to hold already; NULL: none. */
static const kexpr *open_condition(sched *s, frame *f, const value *v)
{
    const kexpr *cond = NULL;
    conjuncts c = {0};
    if (v->where)
        split_conjuncts(s->scratch, v->where, &c);
    for (uint32_t i = 0; i < c.n; i++) {
        if (!is_active(s, f, c.v[i]))
            cond = k_and(s, cond, sx(s, f, c.v[i]));
    }
    return cond;
}

/* Inside the branch that open_condition's result opened. */
static void assume(sched *s, const frame *f, const value *where)
{
    conjuncts c = {0};
    split_conjuncts(s->scratch, where, &c);
    for (uint32_t i = 0; i < c.n; i++)
        hold_true(s, f, c.v[i]);
}

static bool is_unsafe(const plan *p, uint32_t i)
{
    return p->unsafe >> (i < 63 ? i : 63) & 1;
}

const kexpr *sx_read(sched *s, frame *f, const value *v)
{
    const value *x = v->args[0];
    const plan *p = &s->plan[v->id];
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, x->n_ix);
    check_step(s, v);
    const kexpr *cond = open_condition(s, f, v);
    kvar *r = cond || p->unsafe ? new_acc(s, k_zero(s, v->dt), name_of(v)) : NULL;
    scope outer, inner;
    if (cond) {
        open_if(s, cond, &outer);
        assume(s, f, v->where);
    }
    for (uint32_t i = 0; i < x->n_ix; i++) /* an index may be bad where the read does not count */
        index[i] = sx(s, f, v->args[i + 1]);
    if (!r)
        return source_at(s, x, index);
    const kexpr *ok = NULL;
    for (uint32_t i = 0; i < x->n_ix; i++) {
        if (!is_unsafe(p, i))
            continue;
        index[i] = hold(s, index[i], x->ix[i]->name);
        if (index[i]->kind != KX_CONST || index[i]->i < 0)
            ok = k_and(s, ok, k2(s, OP_le, kx_int(s->k, 0), index[i]));
        ok = k_and(s, ok, k2(s, OP_lt, index[i], kx_dim(s->k, x->ix[i]->extent)));
    }
    if (ok) {
        ok = hold(s, ok, "ok");
        ks_check(s->k, s->at, ok, KERNEL_INDEX);
        open_if(s, ok, &inner);
    }
    ks_set(s->k, s->at, r, source_at(s, x, index));
    if (ok)
        scope_close(s, inner);
    if (cond)
        scope_close(s, outer);
    return kx_var(s->k, r);
}

/* A part knows the join's indices but for the joined one, and its own. */
static const kexpr *part_at(sched *s, const frame *f, const value *v, uint32_t part,
                            const kexpr *at)
{
    const value *x = v->args[part];
    frame own = new_frame(s, NULL);
    for (uint32_t i = 0; i < x->n_ix; i++)
        bind(s, &own, x->ix[i], x->ix[i] == v->bound[part + 1] ? at : bound_value(f, x->ix[i]));
    return sx(s, &own, x);
}

const kexpr *sx_join(sched *s, frame *f, const value *v)
{
    for (const split *x = s->splits; x; x = x->up) {
        if (x->join == v && x->frame == f->id)
            return part_at(s, f, v, x->part, x->at);
    }
    const kexpr *at = hold(s, bound_value(f, v->bound[0]), v->bound[0]->name);
    kvar *r = new_acc(s, k_zero(s, v->dt), name_of(v));
    const dim *from = dim_const(s->g->dims, 0);
    for (uint32_t i = 0; i < v->n_args; i++) {
        const dim *to = dim_add(s->g->dims, from, v->bound[i + 1]->extent);
        const kexpr *first = i ? k2(s, OP_le, kx_dim(s->k, from), at) : NULL;
        const kexpr *last = i + 1 < v->n_args ? k2(s, OP_lt, at, kx_dim(s->k, to)) : NULL;
        const kexpr *cond = k_and(s, first, last);
        scope o;
        if (cond)
            open_if(s, cond, &o);
        const kexpr *own = hold(s, k2(s, OP_sub, at, kx_dim(s->k, from)), v->bound[i + 1]->name);
        ks_set(s->k, s->at, r, part_at(s, f, v, i, own));
        if (cond)
            scope_close(s, o);
        from = to;
    }
    return kx_var(s->k, r);
}
