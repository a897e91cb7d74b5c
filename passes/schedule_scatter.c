/* schedule_scatter.c: sums whose elements go where data says (scatter.h): the elements are set to
 * what a sum over nothing is, then each step of the bound indices adds to the one element that its
 * data names.
 *
 *     y[i, row] = 0                           for all i and row
 *     for j: i = data[j]; if 0 <= i < I and the rest of the predicate holds:
 *         y[i, row] += term                   for all row
 *
 * All other free indices have loops around this. Each element is added to in the order of the bound
 * indices, as by the plain loop. Data is looked at where those conditions hold that do not have i,
 * terms where all hold; data that names no element is no error.
 *
 * require: a value with a buffer that holds it exactly.  What can fail in data is stored before.
 * What this is not: the choice, which schedule_use.c makes. */
#include <math.h>

#include "passes/schedule_internal.h"

typedef struct scattering {
    const value *v;
    const scatter *t;
    const ix *row;                  /* NULL: none */
    conjuncts before, behind, need; /* of the predicate: without the indices given, with them */
} scattering;

static reduce_kind kind_of(const value *v)
{
    return v->op == OP_contract ? RED_sum : (reduce_kind)v->kind;
}

static const kexpr *nothing(sched *s, const value *v)
{
    switch (kind_of(v)) {
    case RED_prod:
        return v->dt == DT_I64 ? kx_int(s->k, 1) : kx_real(s->k, 1.0);
    case RED_all:
        return kx_bool(s->k, true);
    case RED_max:
        return kx_real(s->k, -(double)INFINITY);
    case RED_min:
        return kx_real(s->k, (double)INFINITY);
    default:
        return k_zero(s, v->dt);
    }
}

static void put_nothing(sched *s, frame *f, void *ctx)
{
    const scattering *x = ctx;
    store_at(s, f, x->v, nothing(s, x->v));
}

static void add_one(sched *s, frame *f, void *ctx)
{
    const scattering *x = ctx;
    const kexpr *term = sx_term(s, f, x->v), *old = sx(s, f, x->v);
    store_at(s, f, x->v, sx_joined(s, x->v, old, term));
}

/* The index that x gives has its value, and that is one of its axis. */
static const kexpr *give(sched *s, frame *f, const scatter_ix *x)
{
    const kexpr *e = sx(s, f, x->data);
    if (x->off)
        e = k2(s, x->minus ? OP_sub : OP_add, e, sx(s, f, x->off));
    e = hold(s, e, x->i->name);
    bind(s, f, x->i, e);
    return k2(s, OP_and, k2(s, OP_le, kx_int(s->k, 0), e),
              k2(s, OP_lt, e, kx_dim(s->k, x->i->extent)));
}

static void at_bound(sched *s, frame *f, void *ctx)
{
    scattering *x = ctx;
    const binding *env = f->env;
    const kexpr *inside = NULL;
    scope o;
    for (uint32_t k = 0; k < x->t->n; k++)
        inside = k_and(s, inside, give(s, f, &x->t->ix[k]));
    open_if(s, inside, &o);
    for (uint32_t k = 0; k < x->t->n; k++)
        hold_true(s, f, x->t->ix[k].conjunct);
    nest n = {.ix = &x->row, .n = x->row != NULL, .where = {x->behind, x->need}, .ctx = x};
    n.body_of = x->v;
    n.body = add_one;
    run_nest(s, f, &n);
    scope_close(s, o);
    f->env = env;
}

static void one_block(sched *s, frame *f, void *ctx)
{
    scattering *x = ctx;
    const value *v = x->v;
    const ix **own = ARENA_ARRAY(s->scratch, const ix *, SCATTER_MAX + 1);
    nest zero = {.ix = own, .where = {x->need}, .body = put_nothing, .ctx = x};
    for (uint32_t k = 0; k < s->plan[v->id].buf->rank; k++) {
        const ix *i = s->plan[v->id].axes[k];
        if (i == x->row || scatter_gives(x->t, i))
            own[zero.n++] = i;
    }
    zero.note = note_of(s, v);
    run_nest(s, f, &zero);
    nest add = {.ix = v->bound, .n = v->n_bound, .where = {x->before}, .body_of = v, .ctx = x};
    add.body = at_bound;
    run_nest(s, f, &add);
}

void emit_scatter(sched *s, frame *f, const value *v)
{
    const plan *p = &s->plan[v->id];
    scattering *x = ARENA_NEW(s->scratch, scattering);
    *x = (scattering){.v = v, .t = p->scatter, .need = p->need};
    x->row = p->row_form ? p->axes[p->buf->rank - 1] : NULL;
    conjuncts all;
    split_conjuncts(s->scratch, v->where, &all);
    const value **before = ARENA_ARRAY(s->scratch, const value *, all.n);
    const value **behind = ARENA_ARRAY(s->scratch, const value *, all.n);
    x->before.v = before;
    x->behind.v = behind;
    for (uint32_t k = 0; k < all.n; k++) {
        bool given = false;
        for (uint32_t i = 0; i < p->scatter->n; i++)
            given = given || p->scatter->ix[i].conjunct == all.v[k];
        if (!given && scatter_mentions(p->scatter, all.v[k]))
            behind[x->behind.n++] = all.v[k];
        else if (!given)
            before[x->before.n++] = all.v[k];
    }
    conjuncts outer = {.v = ARENA_ARRAY(s->scratch, const value *, p->need.n)};
    const value **keep = (const value **)outer.v;
    for (uint32_t k = 0; k < p->need.n; k++) {
        if (!scatter_mentions(p->scatter, p->need.v[k]) &&
            !(x->row && value_has_ix(p->need.v[k], x->row)))
            keep[outer.n++] = p->need.v[k];
    }
    const ix **around = ARENA_ARRAY(s->scratch, const ix *, p->buf->rank);
    nest n = {.ix = around, .where = {outer}, .body_of = v, .body = one_block, .ctx = x};
    for (uint32_t k = 0; k < p->buf->rank; k++) {
        if (p->axes[k] != x->row && !scatter_gives(p->scatter, p->axes[k]))
            around[n.n++] = p->axes[k];
    }
    n.note = note_of(s, v);
    run_nest(s, f, &n);
}
