/* domains_interval.c: bounds of ints and reals over a box. */
#include <math.h>

#include "passes/domains_internal.h"

#define INT_SIZE 9223372036854775808.0 /* 2^63 */

/* --- values of one element --- */

static const domain_span *span_of(const box *b, const ix *i)
{
    for (uint32_t k = 0; k < b->n; k++) {
        if (b->tile[k].i == i)
            return &b->tile[k];
    }
    return NULL;
}

bool has_tile_ix(const box *b, const value *v)
{
    for (uint32_t k = 0; k < b->n; k++) {
        if (value_has_ix(v, b->tile[k].i))
            return true;
    }
    return false;
}

const kexpr *box_point(box *b, const value *v)
{
    const kexpr *e = b->h->point(b->h->ctx, v);
    if (!e)
        b->failed = true;
    return e;
}

bool box_data(box *b, const value *v, const kexpr **least, const kexpr **greatest)
{
    const domain_span *along = NULL;
    for (uint32_t k = 0; k < b->n; k++) {
        if (!value_has_ix(v, b->tile[k].i))
            continue;
        if (along)
            return false;
        along = &b->tile[k];
    }
    return along && b->h->data && b->h->data(b->h->ctx, v, along, least, greatest);
}

/* --- sums --- */

static bool sum_atom(sum *into, const value *v, int64_t by)
{
    uint32_t i = 0;
    while (i < into->n && into->t[i].atom != v)
        i++;
    if (i == DOMAIN_MAX_TERMS)
        return false;
    if (i == into->n) {
        into->t[into->n++].atom = v;
        into->t[i].coef = 0;
    }
    if (__builtin_add_overflow(into->t[i].coef, by, &into->t[i].coef))
        return false;
    if (into->t[i].coef == 0)
        into->t[i] = into->t[--into->n];
    return true;
}

bool sum_add(sum *into, const value *v, int64_t by, unsigned depth)
{
    int64_t c;
    if (depth > DOMAIN_MAX_DEPTH)
        return false;
    if (v->op == OP_const)
        return !__builtin_mul_overflow(v->i, by, &c) &&
               !__builtin_add_overflow(into->c, c, &into->c);
    if (v->op == OP_dim && dim_is_const(v->dim, &c))
        return !__builtin_mul_overflow(c, by, &c) && !__builtin_add_overflow(into->c, c, &into->c);
    if (v->where || by == INT64_MIN)
        return sum_atom(into, v, by);
    switch (v->op) {
    case OP_neg:
        return sum_add(into, v->args[0], -by, depth + 1);
    case OP_add:
        return sum_add(into, v->args[0], by, depth + 1) && sum_add(into, v->args[1], by, depth + 1);
    case OP_sub:
        return sum_add(into, v->args[0], by, depth + 1) &&
               sum_add(into, v->args[1], -by, depth + 1);
    case OP_mul:
        for (int i = 0; i < 2; i++) {
            if (v->args[i]->op == OP_const)
                return !__builtin_mul_overflow(v->args[i]->i, by, &c) &&
                       sum_add(into, v->args[1 - i], c, depth + 1);
        }
        return sum_atom(into, v, by);
    default:
        return sum_atom(into, v, by);
    }
}

bool sum_compare(const value *le, sum *out)
{
    *out = (sum){.c = le->op == OP_lt};
    return sum_add(out, le->args[0], 1, 0) && sum_add(out, le->args[1], -1, 0);
}

interval interval_of_terms(box *b, const sum *s, int sign)
{
    interval all = {num_const(0), num_const(0)};
    for (uint32_t i = 0; i < s->n && !b->failed; i++) {
        if ((s->t[i].coef > 0) != (sign > 0) || s->t[i].coef == INT64_MIN)
            continue;
        interval x = interval_of(b, s->t[i].atom);
        if (b->failed)
            break;
        int64_t by = sign > 0 ? s->t[i].coef : -s->t[i].coef;
        all.lo = num_add(b, all.lo, num_scale(b, x.lo, by));
        all.hi = num_add(b, all.hi, num_scale(b, x.hi, by));
    }
    return all;
}

/* --- ints --- */

static interval fail(box *b)
{
    b->failed = true;
    return (interval){num_const(0), num_const(0)};
}

static bool is_point(interval x)
{
    return x.lo.off == x.hi.off && x.lo.e == x.hi.e;
}

static interval held(box *b, interval x)
{
    bool point = is_point(x);
    if (x.lo.e)
        x.lo.e = dx_hold(b, x.lo.e, "lo");
    if (point)
        return x;
    if (x.hi.e)
        x.hi.e = dx_hold(b, x.hi.e, "hi");
    return (interval){x.lo, x.hi};
}

static interval linear(box *b, const value *v)
{
    sum s = {0};
    if (!sum_add(&s, v, 1, 0))
        return fail(b);
    interval up = interval_of_terms(b, &s, 1);
    interval down = interval_of_terms(b, &s, -1);
    if (b->failed)
        return fail(b);
    interval x = {num_add(b, up.lo, num_neg(b, down.hi)), num_add(b, up.hi, num_neg(b, down.lo))};
    x.lo = num_add(b, x.lo, num_const(s.c));
    x.hi = num_add(b, x.hi, num_const(s.c));
    return x;
}

/* Products of the ends: the least and the greatest of them. */
static interval product(box *b, interval x, interval y)
{
    num a = num_mul(b, x.lo, y.lo), c = num_mul(b, x.hi, y.lo);
    interval all = {num_least(b, a, c), num_greatest(b, a, c)};
    if (!is_point(y)) {
        a = num_mul(b, x.lo, y.hi);
        c = num_mul(b, x.hi, y.hi);
        all.lo = num_least(b, all.lo, num_least(b, a, c));
        all.hi = num_greatest(b, all.hi, num_greatest(b, a, c));
    }
    return all;
}

/* The divisor: one number, which must be positive. */
static num divisor(box *b, const value *v)
{
    interval d = interval_of(b, v);
    if (b->failed || !is_point(d) || (!d.lo.e && d.lo.off <= 0))
        return fail(b).lo;
    return positive_num(b, d.lo);
}

static interval quotient(box *b, const value *v)
{
    num d = divisor(b, v->args[1]);
    interval x = interval_of(b, v->args[0]);
    if (b->failed)
        return x;
    return (interval){num_floor(b, x.lo, d), num_floor(b, x.hi, d)};
}

/* Where both ends have the same quotient, the remainders lie between theirs. */
static interval remainder_of(box *b, const value *v)
{
    num d = divisor(b, v->args[1]);
    interval x = held(b, interval_of(b, v->args[0]));
    if (b->failed)
        return x;
    domain_hit(b, RULE_domains_remainder);
    num q = num_floor(b, x.lo, d), r = num_floor(b, x.hi, d);
    const kexpr *same = dx_hold(b, dx(b, OP_eq, num_expr(b, q), num_expr(b, r)), "same");
    const kexpr *by = num_expr(b, d);
    const kexpr *lo = dx(b, OP_imod, num_expr(b, x.lo), by);
    const kexpr *hi = dx(b, OP_imod, num_expr(b, x.hi), by);
    const kexpr *last = dx(b, OP_sub, by, dx_int(b, 1));
    double mag = d.e ? d.mag : (double)d.off;
    return (interval){num_of(dx_select(b, same, lo, dx_int(b, 0)), mag),
                      num_of(dx_select(b, same, hi, last), mag)};
}

static interval absolute(box *b, const value *v)
{
    interval x = held(b, interval_of(b, v->args[0]));
    if (b->failed)
        return x;
    num minus_hi = num_neg(b, x.hi), minus_lo = num_neg(b, x.lo);
    num near = num_greatest(b, num_greatest(b, x.lo, minus_hi), num_const(0));
    return (interval){near, num_greatest(b, x.hi, minus_lo)};
}

static interval data_interval(box *b, const value *v)
{
    const kexpr *lo, *hi;
    if (!box_data(b, v, &lo, &hi) || lo->dt != DT_I64)
        return fail(b);
    b->by_data = true;
    domain_hit(b, RULE_domains_data_ints);
    return (interval){num_of(lo, INT_SIZE), num_of(hi, INT_SIZE)};
}

static interval both(box *b, const value *x, const value *y, bool least, bool greatest)
{
    interval p = interval_of(b, x), q = interval_of(b, y);
    if (b->failed)
        return p;
    return (interval){least ? num_least(b, p.lo, q.lo) : num_greatest(b, p.lo, q.lo),
                      greatest ? num_greatest(b, p.hi, q.hi) : num_least(b, p.hi, q.hi)};
}

static interval of_op(box *b, const value *v)
{
    switch (v->op) {
    case OP_add:
    case OP_sub:
    case OP_neg:
        return linear(b, v);
    case OP_mul: {
        interval x = interval_of(b, v->args[0]), y = interval_of(b, v->args[1]);
        return b->failed ? x : is_point(x) ? product(b, y, x) : product(b, x, y);
    }
    case OP_idiv:
        return quotient(b, v);
    case OP_imod:
        return remainder_of(b, v);
    case OP_abs:
        return absolute(b, v);
    case OP_max:
        return both(b, v->args[0], v->args[1], false, true);
    case OP_min:
        return both(b, v->args[0], v->args[1], true, false);
    case OP_select:
        return both(b, v->args[1], v->args[2], true, true);
    default:
        return fail(b);
    }
}

interval interval_of(box *b, const value *v)
{
    if (b->failed || v->dt != DT_I64 || b->depth >= DOMAIN_MAX_DEPTH)
        return fail(b);
    if (!has_tile_ix(b, v)) {
        int64_t c;
        if (v->op == OP_const || (v->op == OP_dim && dim_is_const(v->dim, &c))) {
            c = v->op == OP_const ? v->i : c;
            num x = num_of(dx_int(b, c), c < 0 ? -(double)c : (double)c);
            return (interval){x, x};
        }
        const kexpr *e = box_point(b, v);
        if (!e)
            return fail(b);
        double mag = v->op == OP_dim     ? dim_size(v->dim)
                     : v->op == OP_index ? index_size(v->ix[0])
                                         : INT_SIZE;
        num x = num_of(dx_hold(b, e, "x"), mag);
        return (interval){x, x};
    }
    const domain_span *s = v->op == OP_index ? span_of(b, v->ix[0]) : NULL;
    if (s) {
        double mag = index_size(s->i);
        return (interval){num_of(s->lo, mag), num_of(s->hi, mag)};
    }
    b->depth++;
    interval x = v->where ? fail(b) : of_op(b, v);
    b->depth--;
    if (b->failed && v->op != OP_index) { /* data knows more than arithmetic */
        b->failed = false;
        x = data_interval(b, v);
    }
    return held(b, x);
}

/* --- reals --- */

static real_interval real_fail(box *b)
{
    b->failed = true;
    return (real_interval){NULL, NULL};
}

/* No element is NaN if the ends are finite. Rounding is monotone, so ends of one operation are ends
 * of its results; an operation inside another might be fused with it, and round otherwise. */
static real_interval real_sum(box *b, const value *v)
{
    for (int i = 0; i < 2; i++) {
        op_id op = v->args[i]->op;
        if (op == OP_add || op == OP_sub || op == OP_mul || op == OP_div)
            return real_fail(b);
    }
    real_interval x = real_interval_of(b, v->args[0]);
    real_interval y = b->failed ? x : real_interval_of(b, v->args[1]);
    if (b->failed)
        return x;
    kernel *k = b->h->k;
    bool minus = v->op == OP_sub;
    const kexpr *inf = kx_real(k, (double)INFINITY),
                *ends[2] = {dx_hold(b, dx(b, v->op, x.lo, minus ? y.hi : y.lo), "lo"),
                            dx_hold(b, dx(b, v->op, x.hi, minus ? y.lo : y.hi), "hi")};
    for (int i = 0; i < 2; i++)
        need(b, dx(b, OP_lt, kx_op(k, OP_abs, &ends[i]), inf));
    return (real_interval){ends[0], ends[1]};
}

static real_interval real_absolute(box *b, const value *v)
{
    real_interval x = real_interval_of(b, v->args[0]);
    if (b->failed)
        return x;
    kernel *k = b->h->k;
    const kexpr *zero = kx_real(k, 0.0), *far[2];
    for (int i = 0; i < 2; i++)
        far[i] = kx_op(k, OP_abs, i ? &x.hi : &x.lo);
    const kexpr *apart = dx(b, OP_or, dx(b, OP_le, zero, x.lo), dx(b, OP_le, x.hi, zero));
    return (real_interval){dx_select(b, apart, dx(b, OP_min, far[0], far[1]), zero),
                           dx(b, OP_max, far[0], far[1])};
}

static real_interval real_of_int(box *b, const value *v)
{
    interval x = interval_of(b, v->args[0]);
    if (b->failed)
        return real_fail(b);
    const kexpr *lo = num_expr(b, x.lo), *hi = num_expr(b, x.hi);
    return (real_interval){kx_op(b->h->k, OP_real, &lo), kx_op(b->h->k, OP_real, &hi)};
}

static real_interval real_op(box *b, const value *v)
{
    real_interval x, y;
    switch (v->op) {
    case OP_real:
        return real_of_int(b, v);
    case OP_add:
    case OP_sub:
        return real_sum(b, v);
    case OP_abs:
        return real_absolute(b, v);
    case OP_neg:
        x = real_interval_of(b, v->args[0]);
        if (b->failed)
            return x;
        return (real_interval){kx_op(b->h->k, OP_neg, &x.hi), kx_op(b->h->k, OP_neg, &x.lo)};
    case OP_max:
    case OP_min:
        x = real_interval_of(b, v->args[0]);
        y = b->failed ? x : real_interval_of(b, v->args[1]);
        if (b->failed)
            return x;
        return (real_interval){dx(b, v->op, x.lo, y.lo), dx(b, v->op, x.hi, y.hi)};
    default:
        return real_fail(b);
    }
}

real_interval real_interval_of(box *b, const value *v)
{
    if (b->failed || (v->dt != DT_F32 && v->dt != DT_F64) || b->depth >= DOMAIN_MAX_DEPTH)
        return real_fail(b);
    if (!has_tile_ix(b, v)) {
        const kexpr *e = box_point(b, v);
        if (!e)
            return real_fail(b);
        e = dx_hold(b, e, "x");
        return (real_interval){e, e};
    }
    b->depth++;
    real_interval x = v->where ? real_fail(b) : real_op(b, v);
    b->depth--;
    if (!b->failed)
        return (real_interval){dx_hold(b, x.lo, "lo"), dx_hold(b, x.hi, "hi")};
    b->failed = false;
    const kexpr *lo, *hi;
    if (!box_data(b, v, &lo, &hi) || (lo->dt != DT_F32 && lo->dt != DT_F64))
        return real_fail(b);
    b->by_data = true;
    domain_hit(b, RULE_domains_data_reals);
    return (real_interval){lo, hi};
}
