/* schedule_expr.c: values as scalar expressions. Statements that an expression needs first (checks,
 * guarded loads, inner loops, shared parts as `let`) are put at the place at hand. */
#include <math.h>

#include "passes/schedule_internal.h"

enum { SMALL = 3 }; /* words of an expression that is rather written twice than named */

/* --- frames and scopes --- */

frame new_frame(sched *s, const binding *env)
{
    return (frame){.id = ++s->n_frames, .env = env};
}

frame new_frame_like(sched *s, const frame *f)
{
    frame own = new_frame(s, f->env);
    for (const active *a = s->active; a; a = a->up) {
        if (a->frame != f->id)
            continue;
        active *copy = ARENA_NEW(s->scratch, active);
        *copy = (active){.c = a->c, .frame = own.id, .up = s->active};
        s->active = copy;
    }
    for (const split *x = s->splits; x; x = x->up) {
        if (x->frame != f->id)
            continue;
        split *copy = arena_copy(s->scratch, x, sizeof *x);
        copy->frame = own.id;
        copy->up = s->splits;
        s->splits = copy;
    }
    return own;
}

void bind(sched *s, frame *f, const ix *i, const kexpr *e)
{
    binding *b = ARENA_NEW(s->scratch, binding);
    *b = (binding){.i = i, .e = e, .up = f->env};
    f->env = b;
}

const kexpr *bound_value(const frame *f, const ix *i)
{
    for (const binding *b = f->env; b; b = b->up) {
        if (b->i == i)
            return b->e;
    }
    return NULL;
}

scope scope_open(sched *s, kblock *inside)
{
    scope o = {.at = s->at, .memos = s->memo_log.n, .active = s->active};
    s->at = inside;
    return o;
}

void scope_close(sched *s, scope o)
{
    while (s->memo_log.n > o.memos) {
        uint32_t id = s->memo_log.v[--s->memo_log.n];
        s->memos[id] = s->memos[id]->up;
    }
    s->at = o.at;
    s->active = o.active;
}

kstmt *open_if(sched *s, const kexpr *cond, scope *o)
{
    kstmt *st = ks_if(s->k, s->at, cond);
    *o = scope_open(s, &st->body);
    return st;
}

void memorise(sched *s, const frame *f, const value *v, const kexpr *e)
{
    memo *m = ARENA_NEW(s->scratch, memo);
    *m = (memo){.frame = f->id, .e = e, .up = s->memos[v->id]};
    s->memos[v->id] = m;
    vec_push(s->scratch, &s->memo_log, v->id);
}

/* --- small expressions --- */

static bool is_int(const kexpr *e, int64_t i)
{
    return e->kind == KX_CONST && e->dt == DT_I64 && e->i == i;
}

static bool is_bool(const kexpr *e, bool b)
{
    return e->kind == KX_CONST && e->dt == DT_BOOL && e->i == b;
}

const kexpr *k1(sched *s, op_id op, const kexpr *a)
{
    return kx_op(s->k, op, &a);
}

const kexpr *k2(sched *s, op_id op, const kexpr *a, const kexpr *b)
{
    if (op == OP_add && is_int(a, 0))
        return b;
    if ((op == OP_add || op == OP_sub) && is_int(b, 0))
        return a;
    if (op == OP_mul && is_int(a, 1))
        return b;
    if (op == OP_mul && is_int(b, 1))
        return a;
    if (op == OP_and && (is_bool(a, true) || is_bool(b, false)))
        return b;
    if (op == OP_and && (is_bool(b, true) || is_bool(a, false)))
        return a;
    return kx_op(s->k, op, (const kexpr *const[]){a, b});
}

const kexpr *k_select(sched *s, const kexpr *c, const kexpr *a, const kexpr *b)
{
    return kx_op(s->k, OP_select, (const kexpr *const[]){c, a, b});
}

const kexpr *k_and(sched *s, const kexpr *a, const kexpr *b)
{
    return !a ? b : !b ? a : k2(s, OP_and, a, b);
}

const kexpr *k_zero(sched *s, dtype dt)
{
    return dt == DT_I64    ? kx_int(s->k, 0)
           : dt == DT_BOOL ? kx_bool(s->k, false)
                           : kx_real(s->k, 0.0);
}

const char *name_of(const value *v)
{
    return v->hint ? v->hint : v->name ? v->name : op_table[v->op].text;
}

const char *note_of(sched *s, const value *v)
{
    return v->hint ? arena_printf(s->k->a, "%%%s", v->hint) : op_table[v->op].text;
}

const kexpr *hold(sched *s, const kexpr *e, const char *name)
{
    if (e->kind == KX_VAR || e->kind == KX_CONST || e->kind == KX_DIM)
        return e;
    kvar *v = kernel_var(s->k, name, e->dt, false);
    ks_let(s->k, s->at, v, e);
    return kx_var(s->k, v);
}

kvar *new_acc(sched *s, const kexpr *init, const char *name)
{
    kvar *v = kernel_var(s->k, name, init->dt, true);
    ks_var(s->k, s->at, v, init);
    return v;
}

/* --- buffers --- */

static const kexpr *index_at(const frame *f, const value *v, const ix *i)
{
    const kexpr *e = bound_value(f, i);
    if (!e)
        ice("index %s of %s has no value here", i->name, name_of(v));
    return e;
}

/* Several indices that are one axis count it, the last one fastest. */
static const kexpr **index_of(sched *s, const frame *f, const value *v, const plan *p)
{
    const kexpr **index = ARENA_ARRAY(s->scratch, const kexpr *, p->buf->rank);
    const ix *const *axis = p->axes;
    for (uint32_t i = 0; i < p->buf->rank; i++) {
        uint32_t n = p->fold ? p->fold[i] : 1;
        const kexpr *e = n ? index_at(f, v, *axis++) : kx_int(s->k, 0);
        for (uint32_t k = 1; k < n; k++, axis++) {
            const kexpr *unit = kx_dim(s->k, (*axis)->extent);
            e = k2(s, OP_add, k2(s, OP_mul, e, unit), index_at(f, v, *axis));
        }
        index[i] = e;
    }
    fit_index(s, p, index);
    return index;
}

const kexpr *sx_element(sched *s, const value *v, const kexpr *const *index)
{
    const plan *p = &s->plan[history_of(v)->id];
    step_leaf(s, v);
    ICE_UNLESS(p->buf && !p->inexact);
    const kexpr **own = ARENA_ARRAY(s->scratch, const kexpr *, p->buf->rank);
    for (uint32_t i = 0; i < p->buf->rank; i++) {
        uint32_t k = 0;
        while (v->ix[k] != p->axes[i])
            k++;
        own[i] = index[k];
    }
    fit_index(s, p, own);
    return kx_load(s->k, p->buf, own);
}

void store_at(sched *s, frame *f, const value *v, const kexpr *e)
{
    const plan *p = &s->plan[v->id];
    ks_store(s->k, s->at, p->buf, index_of(s, f, v, p), e);
}

/* --- elementwise --- */

/* `ok` must hold where v counts, or the run ends with status INT. */
static void check_int(sched *s, const kexpr *where, const kexpr *ok)
{
    const kexpr *c = where ? k2(s, OP_or, k1(s, OP_not, where), ok) : ok;
    ks_check(s->k, s->at, c, KERNEL_INT);
}

/* The divisor, made 1 where the quotient would have no value. A remainder by -1 is 0, as by 1, of
 * any int. */
static const kexpr *guard_divisor(sched *s, op_id op, const kexpr *where, const kexpr *a,
                                  const kexpr *b)
{
    const kexpr *fits = k2(s, OP_ne, b, kx_int(s->k, -1));
    const kexpr *ok = k2(s, OP_ne, b, kx_int(s->k, 0));
    if (op == OP_idiv)
        fits = k2(s, OP_or, fits, k2(s, OP_ne, a, kx_int(s->k, INT64_MIN)));
    const kexpr *both = hold(s, k2(s, OP_and, ok, fits), "ok");
    check_int(s, where, op == OP_idiv ? both : ok);
    return k_select(s, both, b, kx_int(s->k, 1));
}

/* The real, made 0 where it is no int: NaN, infinite or too large. 2^63 is exact in f32 and f64. */
static const kexpr *guard_real(sched *s, const kexpr *where, const kexpr *a)
{
    const double limit = 9223372036854775808.0;
    const kexpr *ok = k2(s, OP_and, k2(s, OP_le, kx_real(s->k, -limit), a),
                         k2(s, OP_lt, a, kx_real(s->k, limit)));
    ok = hold(s, ok, "ok");
    check_int(s, where, ok);
    return k_select(s, ok, a, kx_real(s->k, 0.0));
}

/* Operands of an int operation that can go wrong, checked and made harmless. */
static void guard(sched *s, const value *v, const kexpr *where, const kexpr **args)
{
    if (op_table[v->op].sig == SIG_TOINT) {
        args[0] = guard_real(s, where, hold(s, args[0], "x"));
    } else if (v->op == OP_idiv || v->op == OP_imod) {
        if (range_divides(s->range, v))
            return;
        args[0] = hold(s, args[0], "a");
        args[1] = hold(s, args[1], "d");
        args[1] = guard_divisor(s, v->op, where, args[0], args[1]);
    } else if (v->dt == DT_I64 && OP_HAS(v->op, T_TRAP) && !range_fits(s->range, v)) {
        for (int i = 0; i < op_table[v->op].n_args; i++)
            args[i] = hold(s, args[i], "x");
        check_int(s, where, k1(s, OP_not, kx_overflow(s->k, v->op, args)));
    }
}

static bool is_zero(const value *v)
{
    return v->op == OP_const &&
           (v->dt == DT_I64 || v->dt == DT_BOOL ? v->i == 0 : v->f == 0 && !signbit(v->f));
}

static const kexpr *sx_elem(sched *s, frame *f, const value *v)
{
    /* A read gives 0 where its predicate is false: choosing 0 there once more says nothing. */
    if (v->op == OP_select && v->args[1]->op == OP_read && v->args[1]->where == v->args[0] &&
        is_zero(v->args[2]))
        return sx(s, f, v->args[1]);
    const kexpr *args[3];
    for (uint32_t i = 0; i < v->n_args; i++)
        args[i] = sx(s, f, v->args[i]);
    const kexpr *where = v->where ? hold(s, sx(s, f, v->where), "p") : NULL;
    guard(s, v, where, args);
    const kexpr *e = v->n_args == 2 ? k2(s, v->op, args[0], args[1]) : kx_op(s->k, v->op, args);
    return where ? k_select(s, where, e, k_zero(s, v->dt)) : e;
}

/* --- any value --- */

static const kexpr *sx_leaf(sched *s, frame *f, const value *v)
{
    switch (v->op) {
    case OP_const:
        return v->dt == DT_I64    ? kx_int(s->k, v->i)
               : v->dt == DT_BOOL ? kx_bool(s->k, v->i != 0)
                                  : kx_real(s->k, v->f);
    case OP_dim:
        return kx_dim(s->k, v->dim);
    case OP_index: {
        const kexpr *e = bound_value(f, v->ix[0]);
        if (!e)
            ice("index %s has no value here", v->ix[0]->name);
        return e;
    }
    case OP_given:
        step_leaf(s, v->args[0]);
        if (s->given && s->given[v->args[0]->id])
            return kx_load(s->k, s->given[v->args[0]->id], NULL);
        return kx_given(s->k, s->plan[v->args[0]->id].buf);
    default:
        step_leaf(s, v);
        return kx_load(s->k, s->plan[v->id].buf, index_of(s, f, v, &s->plan[v->id]));
    }
}

const kexpr *sx_compute(sched *s, frame *f, const value *v)
{
    if (is_leaf(v))
        return sx_leaf(s, f, v);
    switch (v->op) {
    case OP_read:
        return sx_read(s, f, v);
    case OP_join:
        return sx_join(s, f, v);
    case OP_reduce:
    case OP_contract:
        return sx_reduce(s, f, v);
    default:
        break;
    }
    if (!OP_HAS(v->op, T_ELEM))
        ice("%s has no scalar code", op_table[v->op].text);
    return sx_elem(s, f, v);
}

const kexpr *sx(sched *s, frame *f, const value *v)
{
    for (const memo *m = s->memos[v->id]; m; m = m->up) {
        if (m->frame == f->id)
            return m->e;
    }
    if (is_leaf(v))
        return sx_leaf(s, f, v);
    const value *h = history_of(v);
    const plan *p = &s->plan[h->id];
    if (p->stored) {
        ICE_UNLESS(p->buf && !p->inexact);
        return kx_load(s->k, p->buf, index_of(s, f, v, p));
    }
    const kexpr *e = sx_compute(s, f, v);
    if (s->plan[v->id].n_uses > 1 && s->plan[v->id].size > SMALL) {
        e = hold(s, e, name_of(v));
        memorise(s, f, v, e);
    }
    return e;
}
