/* schedule_reduce.c: reductions and contractions. Usually a loop over the bound indices with an
 * accumulator; where the memory of the operands runs along a free index instead (row form), a row
 * of results is initialised and added to, so that the inner loop goes over contiguous elements.
 * Both add in index order. */
#include <math.h>

#include "passes/schedule_internal.h"

/* The accumulators of one reduction. */
typedef struct reduction {
    const value *v;
    kvar *acc;         /* the result so far */
    kvar *best;        /* argmax, argmin: the element found; logsumexp: the maximum */
    kvar *found;       /* an element was met */
    const kexpr *base; /* logsumexp: what is subtracted */
} reduction;

static void set(sched *s, const kvar *v, const kexpr *e)
{
    ks_set(s->k, s->at, v, e);
}

/* acc op x, where overflow of ints is an error. */
static const kexpr *accumulate(sched *s, op_id op, const kexpr *acc, const kexpr *x)
{
    if (x->dt == DT_I64) {
        x = hold(s, x, "x");
        const kexpr *bad = kx_overflow(s->k, op, (const kexpr *const[]){acc, x});
        ks_check(s->k, s->at, k1(s, OP_not, bad), KERNEL_INT);
    }
    return k2(s, op, acc, x);
}

const kexpr *sx_term(sched *s, frame *f, const value *v)
{
    const kexpr *a = sx(s, f, v->args[0]);
    return v->op == OP_contract ? k2(s, OP_mul, a, sx(s, f, v->args[1])) : a;
}

const kexpr *sx_joined(sched *s, const value *v, const kexpr *acc, const kexpr *x)
{
    switch (v->op == OP_contract ? RED_sum : (reduce_kind)v->kind) {
    case RED_prod:
        return accumulate(s, OP_mul, acc, x);
    case RED_max:
        return k2(s, OP_max, acc, x);
    case RED_min:
        return k2(s, OP_min, acc, x);
    case RED_any:
        return k2(s, OP_or, acc, x);
    case RED_all:
        return k2(s, OP_and, acc, x);
    case RED_count:
        return k2(s, OP_add, acc, k_select(s, x, kx_int(s->k, 1), kx_int(s->k, 0)));
    default:
        return accumulate(s, OP_add, acc, x);
    }
}

static void join_step(sched *s, frame *f, void *ctx)
{
    reduction *r = ctx;
    const kexpr *x = sx_term(s, f, r->v);
    set(s, r->acc, sx_joined(s, r->v, kx_var(s->k, r->acc), x));
}

/* The greatest and least int: there is no infinity to begin with, so the first one counts as it is.
 */
static void extreme_step(sched *s, frame *f, void *ctx)
{
    reduction *r = ctx;
    const kexpr *x = hold(s, sx_term(s, f, r->v), "x");
    const kexpr *joined = sx_joined(s, r->v, kx_var(s->k, r->acc), x);
    set(s, r->acc, k_select(s, kx_var(s->k, r->found), joined, x));
    set(s, r->found, kx_bool(s->k, true));
}

/* x takes the place of best: it is the first, or beats it, or is the first NaN. */
const kexpr *sx_beats(sched *s, const kvar *found, const kvar *best, const kexpr *x, bool least)
{
    const kexpr *b = kx_var(s->k, best);
    const kexpr *c = least ? k2(s, OP_lt, x, b) : k2(s, OP_lt, b, x);
    if (x->dt != DT_I64)
        c = k2(s, OP_or, c, k2(s, OP_and, k2(s, OP_ne, x, x), k2(s, OP_eq, b, b)));
    return found ? k2(s, OP_or, k1(s, OP_not, kx_var(s->k, found)), c) : c;
}

/* Several bound indices count as one, the last one fastest. */
static const kexpr *position(sched *s, const frame *f, const value *v)
{
    const kexpr *at = bound_value(f, v->bound[0]);
    for (uint32_t i = 1; i < v->n_bound; i++)
        at = k2(s, OP_add, k2(s, OP_mul, at, kx_dim(s->k, v->bound[i]->extent)),
                bound_value(f, v->bound[i]));
    return at;
}

static void arg_step(sched *s, frame *f, void *ctx)
{
    reduction *r = ctx;
    const kexpr *x = hold(s, sx_term(s, f, r->v), "x");
    scope o;
    open_if(s, sx_beats(s, r->found, r->best, x, r->v->kind == RED_argmin), &o);
    set(s, r->best, x);
    set(s, r->acc, position(s, f, r->v));
    set(s, r->found, kx_bool(s->k, true));
    scope_close(s, o);
}

static void max_step(sched *s, frame *f, void *ctx)
{
    reduction *r = ctx;
    set(s, r->best, k2(s, OP_max, kx_var(s->k, r->best), sx_term(s, f, r->v)));
}

static void exp_step(sched *s, frame *f, void *ctx)
{
    reduction *r = ctx;
    const kexpr *e = k1(s, OP_exp, k2(s, OP_sub, sx_term(s, f, r->v), r->base));
    set(s, r->acc, k2(s, OP_add, kx_var(s->k, r->acc), e));
}

static void over_bound(sched *s, frame *f, reduction *r, nest_body *body)
{
    const value *v = r->v;
    for (uint32_t i = 0; i < v->n_bound; i++) {
        if (bound_value(f, v->bound[i]))
            ice("%s binds %s, which has a value already", name_of(v), v->bound[i]->name);
    }
    nest n = {.ix = v->bound, .n = v->n_bound, .body_of = v, .body = body, .ctx = r};
    if (v->where)
        split_conjuncts(s->scratch, v->where, &n.where[0]);
    run_nest(s, f, &n);
}

/* log of the sum of exponentials: the maximum first, so that no exponential overflows. An infinite
 * maximum is not subtracted: inf - inf has no value. */
static const kexpr *logsumexp(sched *s, frame *f, reduction *r)
{
    r->best = new_acc(s, kx_real(s->k, -(double)INFINITY), "m");
    over_bound(s, f, r, max_step);
    const kexpr *m = kx_var(s->k, r->best);
    const kexpr *infinite = k2(s, OP_eq, k1(s, OP_abs, m), kx_real(s->k, (double)INFINITY));
    r->base = hold(s, k_select(s, infinite, kx_real(s->k, 0.0), m), "base");
    r->acc = new_acc(s, kx_real(s->k, 0.0), "acc");
    over_bound(s, f, r, exp_step);
    return k2(s, OP_add, r->base, k1(s, OP_log, kx_var(s->k, r->acc)));
}

const kexpr *sx_reduce(sched *s, frame *f, const value *v)
{
    reduction r = {.v = v};
    const double inf = (double)INFINITY;
    bool is_int = v->args[0]->dt == DT_I64;
    nest_body *body = join_step;
    const kexpr *init = k_zero(s, v->dt);
    switch (v->op == OP_contract ? RED_sum : (reduce_kind)v->kind) {
    case RED_sum:
        break;
    case RED_prod:
        init = is_int ? kx_int(s->k, 1) : kx_real(s->k, 1.0);
        break;
    case RED_max:
    case RED_min:
        if (!is_int) {
            init = kx_real(s->k, v->kind == RED_max ? -inf : inf);
            break;
        }
        body = extreme_step;
        r.found = new_acc(s, kx_bool(s->k, false), "found");
        break;
    case RED_any:
    case RED_all:
    case RED_count:
        if (v->kind == RED_all)
            init = kx_bool(s->k, true);
        break;
    case RED_argmax:
    case RED_argmin:
        body = arg_step;
        r.found = new_acc(s, kx_bool(s->k, false), "found");
        r.best = new_acc(s, k_zero(s, v->args[0]->dt), "best");
        break;
    case RED_logsumexp:
        return logsumexp(s, f, &r);
    case RED_COUNT:
        ice("a reduction without a kind");
    }
    r.acc = new_acc(s, init, "acc");
    over_bound(s, f, &r, body);
    return kx_var(s->k, r.acc);
}

/* --- row form --- */

static void row_zero(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    store_at(s, f, v, k_zero(s, v->dt));
}

static void row_add(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    const kexpr *x = sx_term(s, f, v);
    store_at(s, f, v, k2(s, OP_add, sx(s, f, v), x));
}

static void row_body(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    const plan *p = &s->plan[v->id];
    const ix *row = p->axes[p->buf->rank - 1];
    nest zero = {.ix = &row, .n = 1, .body = row_zero, .ctx = ctx, .where = {p->need}};
    run_nest(s, f, &zero);
    const ix **order = ARENA_ARRAY(s->scratch, const ix *, v->n_bound + 1);
    for (uint32_t i = 0; i < v->n_bound; i++)
        order[i] = v->bound[i];
    order[v->n_bound] = row;
    nest add = {.ix = order, .n = v->n_bound + 1, .body_of = v, .body = row_add, .ctx = ctx};
    if (v->where)
        split_conjuncts(s->scratch, v->where, &add.where[0]);
    add.where[1] = p->need;
    run_nest(s, f, &add);
}

void emit_row_form(sched *s, frame *f, const value *v)
{
    const plan *p = &s->plan[v->id];
    conjuncts outer = {.v = ARENA_ARRAY(s->scratch, const value *, p->need.n)};
    const value **keep = (const value **)outer.v;
    for (uint32_t i = 0; i < p->need.n; i++) {
        if (!value_has_ix(p->need.v[i], p->axes[p->buf->rank - 1]))
            keep[outer.n++] = p->need.v[i];
    }
    nest n = {.ix = p->axes, .n = p->buf->rank - 1, .where = {outer}, .body_of = v};
    n.body = row_body;
    n.ctx = (void *)v;
    n.note = note_of(s, v);
    run_nest(s, f, &n);
}
