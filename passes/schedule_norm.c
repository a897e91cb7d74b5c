/* schedule_norm.c: softmax, hardmax and normalize: several passes over the bound indices of each
 * row, with the row itself as the memory between them. Excluded elements are set to 0 first and
 * never read.
 *
 * A score of -inf counts as absent, too. softmax keeps its maximum as it is: a NaN makes the row
 * NaN, +inf too (inf - inf); only a maximum of -inf (nothing, or nothing but -inf) is replaced, so
 * that every weight becomes exactly 0. */
#include <math.h>

#include "passes/schedule_internal.h"

typedef struct row {
    const value *v;
    op_id op;
    const value *from; /* whose joins split the loop that computes the operand */
    kvar *max;         /* softmax */
    kvar *acc;         /* the maximum, then the sum */
    const kexpr *base; /* softmax: what is subtracted; at the end: the divisor */
    kvar *found;       /* hardmax: something is allowed, and where the maximum was */
    kvar **where;
} row;

static void excluded(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    store_at(s, f, r->v, kx_real(s->k, 0.0));
}

/* One pass over the row: over all of it or what is allowed; `reads`: it computes the operand. */
static void pass(sched *s, frame *f, row *r, nest_body *body, bool all, const value *reads)
{
    const plan *p = &s->plan[r->v->id];
    nest n = {.ix = p->axes, .n = p->buf->rank, .body_of = reads, .body = body, .ctx = r};
    if (reads && r->op == OP_hardmax) {
        /* the first maximum is the first in the order of the bound indices */
        n.ix = r->v->bound;
        n.n = r->v->n_bound;
    }
    if (!all && r->v->where)
        split_conjuncts(s->scratch, r->v->where, &n.where[0]);
    run_nest(s, f, &n);
}

static const kexpr *current(sched *s, frame *f, const row *r)
{
    return sx(s, f, r->v);
}

/* --- softmax --- */

static void score(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    const kexpr *x = hold(s, sx(s, f, r->v->args[0]), "score");
    store_at(s, f, r->v, x);
    ks_set(s->k, s->at, r->acc, k2(s, OP_max, kx_var(s->k, r->acc), x));
}

static void weight(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    const kexpr *e = hold(s, k1(s, OP_exp, k2(s, OP_sub, current(s, f, r), r->base)), "e");
    store_at(s, f, r->v, e);
    ks_set(s->k, s->at, r->acc, k2(s, OP_add, kx_var(s->k, r->acc), e));
}

static void scale(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    store_at(s, f, r->v, k2(s, OP_div, current(s, f, r), r->base));
}

static void softmax(sched *s, frame *f, row *r)
{
    const kexpr *minus_inf = kx_real(s->k, -(double)INFINITY), *zero = kx_real(s->k, 0.0);
    r->acc = new_acc(s, minus_inf, "max");
    pass(s, f, r, score, false, r->from);
    r->max = r->acc;
    const kexpr *m = kx_var(s->k, r->acc);
    r->base = hold(s, k_select(s, k2(s, OP_eq, m, minus_inf), zero, m), "base");
    r->acc = new_acc(s, zero, "sum");
    pass(s, f, r, weight, false, NULL);
    const kexpr *sum = kx_var(s->k, r->acc);
    r->base = hold(s, k_select(s, k2(s, OP_eq, sum, zero), kx_real(s->k, 1.0), sum), "sum");
    pass(s, f, r, scale, false, NULL);
}

/* --- normalize --- */

static void part(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    const kexpr *x = hold(s, sx(s, f, r->v->args[0]), "x");
    const kexpr *absent = k2(s, OP_eq, x, kx_real(s->k, -(double)INFINITY));
    x = hold(s, k_select(s, absent, kx_real(s->k, 0.0), x), "x");
    store_at(s, f, r->v, x);
    ks_set(s->k, s->at, r->acc, k2(s, OP_add, kx_var(s->k, r->acc), x));
}

static void share(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    const kexpr *sum = kx_var(s->k, r->acc), *zero = kx_real(s->k, 0.0);
    const kexpr *x = k2(s, OP_div, current(s, f, r), sum);
    store_at(s, f, r->v, k_select(s, k2(s, OP_eq, sum, zero), zero, x));
}

static void normalize(sched *s, frame *f, row *r)
{
    r->acc = new_acc(s, kx_real(s->k, 0.0), "sum");
    pass(s, f, r, part, false, r->from);
    pass(s, f, r, share, false, NULL);
}

/* --- hardmax --- */

static void find(sched *s, frame *f, void *ctx)
{
    row *r = ctx;
    const kexpr *x = hold(s, sx(s, f, r->v->args[0]), "x");
    scope o;
    store_at(s, f, r->v, kx_real(s->k, 0.0));
    open_if(s, sx_beats(s, NULL, r->acc, x, false), &o);
    ks_set(s->k, s->at, r->acc, x);
    ks_set(s->k, s->at, r->found, kx_bool(s->k, true));
    for (uint32_t i = 0; i < r->v->n_bound; i++)
        ks_set(s->k, s->at, r->where[i], bound_value(f, r->v->bound[i]));
    scope_close(s, o);
}

static void hardmax(sched *s, frame *f, row *r)
{
    const value *v = r->v;
    r->found = new_acc(s, kx_bool(s->k, false), "found");
    r->acc = new_acc(s, kx_real(s->k, -(double)INFINITY), "best"); /* which nothing absent beats */
    r->where = ARENA_ARRAY(s->scratch, kvar *, v->n_bound);
    for (uint32_t i = 0; i < v->n_bound; i++)
        r->where[i] = new_acc(s, kx_int(s->k, 0), "at");
    pass(s, f, r, find, false, r->from);
    scope o;
    open_if(s, kx_var(s->k, r->found), &o);
    for (uint32_t i = 0; i < v->n_bound; i++)
        bind(s, f, v->bound[i], kx_var(s->k, r->where[i]));
    store_at(s, f, v, kx_real(s->k, 1.0));
    scope_close(s, o);
}

norm_row sx_norm(sched *s, frame *f, const value *v, op_id op, const value *from, bool zeros)
{
    row r = {.v = v, .op = op, .from = from};
    const binding *env = f->env;
    if (v->where && zeros)
        pass(s, f, &r, excluded, true, NULL);
    if (op == OP_softmax)
        softmax(s, f, &r);
    else if (op == OP_hardmax)
        hardmax(s, f, &r);
    else
        normalize(s, f, &r);
    f->env = env;
    return (norm_row){.max = r.max, .sum = r.acc};
}

static void row_body(sched *s, frame *f, void *ctx)
{
    const value *v = ctx;
    sx_norm(s, f, v, v->op, v, true);
}

void emit_norm(sched *s, frame *f, const value *v)
{
    const plan *p = &s->plan[v->id];
    const ix **outer = ARENA_ARRAY(s->scratch, const ix *, p->buf->rank);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->buf->rank; i++) {
        bool is_bound = false;
        for (uint32_t k = 0; k < v->n_bound; k++)
            is_bound = is_bound || v->bound[k] == p->axes[i];
        if (!is_bound)
            outer[n++] = p->axes[i];
    }
    nest rows = {.ix = outer, .n = n, .body_of = v, .body = row_body, .ctx = (void *)v};
    rows.note = note_of(s, v);
    run_nest(s, f, &rows);
}
