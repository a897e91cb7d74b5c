/* domains.c: bounds of one index within a predicate, for a tile of the others: comparisons are
 * solved for it, from the outside in, as far as they are monotone in it. The hull is the widest
 * that some element of the tile allows, the full range what all of them allow. */
#include "passes/domains_internal.h"

typedef struct limit { /* of a value: the hull's and the full range's */
    num hull, full;
} limit;

typedef struct solve {
    box *b;
    const ix *j;
    const kexpr *extent;
} solve;

static domain_range solve_sum(solve *s, const sum *x, bool le, limit to);

/* --- ranges --- */

static domain_range any_range(solve *s) /* nothing is known */
{
    const kexpr *zero = dx_int(s->b, 0);
    return (domain_range){zero, s->extent, zero, zero};
}

static domain_range intersect(solve *s, domain_range x, domain_range y)
{
    return (domain_range){dx(s->b, OP_max, x.lo, y.lo), dx(s->b, OP_min, x.hi, y.hi),
                          dx(s->b, OP_max, x.full_lo, y.full_lo),
                          dx(s->b, OP_min, x.full_hi, y.full_hi)};
}

static bool has_no_full(const domain_range *x)
{
    return x->full_hi->kind == KX_CONST && x->full_hi->i == 0;
}

/* Full ranges that meet become one; else the longer stands for both. */
static domain_range unite(solve *s, domain_range x, domain_range y)
{
    box *b = s->b;
    domain_range all = {dx(b, OP_min, x.lo, y.lo), dx(b, OP_max, x.hi, y.hi), x.full_lo, x.full_hi};
    if (has_no_full(&y))
        return all;
    if (has_no_full(&x)) {
        all.full_lo = y.full_lo;
        all.full_hi = y.full_hi;
        return all;
    }
    const kexpr *xl = dx_hold(b, x.full_lo, "lo"), *xh = dx_hold(b, x.full_hi, "hi");
    const kexpr *yl = dx_hold(b, y.full_lo, "lo"), *yh = dx_hold(b, y.full_hi, "hi");
    const kexpr *some = dx(b, OP_and, dx(b, OP_lt, xl, xh), dx(b, OP_lt, yl, yh));
    const kexpr *meet = dx(b, OP_and, dx(b, OP_le, xl, yh), dx(b, OP_le, yl, xh));
    meet = dx_hold(b, dx(b, OP_and, some, meet), "meet");
    const kexpr *first =
        dx_hold(b, dx(b, OP_le, dx(b, OP_sub, yh, yl), dx(b, OP_sub, xh, xl)), "first");
    all.full_lo = dx_select(b, meet, dx(b, OP_min, xl, yl), dx_select(b, first, xl, yl));
    all.full_hi = dx_select(b, meet, dx(b, OP_max, xh, yh), dx_select(b, first, xh, yh));
    return all;
}

/* x within 0 .. extent, whatever x is: it is brought there before anything is added to it. */
static const kexpr *clamp(solve *s, num x)
{
    box *b = s->b;
    const kexpr *zero = dx_int(b, 0), *e;
    double off = x.off < 0 ? -(double)x.off : (double)x.off;
    if (!x.e || x.mag + off < 9e18) {
        e = dx(b, OP_min, num_expr(b, x), s->extent);
        return dx(b, OP_max, e, zero);
    }
    const kexpr *c = dx_int(b, x.off), *minus = dx_int(b, -x.off);
    e = dx(b, OP_min, x.e, dx(b, OP_sub, s->extent, c));
    return dx(b, OP_add, dx(b, OP_max, e, minus), c);
}

/* --- one comparison --- */

static limit each(box *b, num (*op)(box *, num, num), limit x, num hull, num full)
{
    return (limit){op(b, x.hull, hull), op(b, x.full, full)};
}

/* The largest (le) or least int x with x * by on this side of `to`. */
static limit divide(box *b, limit to, num by, bool le)
{
    if (!by.e && by.off == 1)
        return to;
    if (!le) {
        num up = num_add(b, by, num_const(-1));
        to = each(b, num_add, to, up, up);
    }
    return each(b, num_floor, to, by, by);
}

/* A number that does not change within the tile, and is positive. */
static num positive(solve *s, const value *v)
{
    box *b = s->b;
    if (value_has_ix(v, s->j)) {
        b->failed = true;
        return num_const(1);
    }
    interval d = interval_of(b, v);
    if (b->failed)
        return num_const(1);
    if (d.lo.e != d.hi.e || d.lo.off != d.hi.off || (!d.lo.e && d.lo.off <= 0)) {
        b->failed = true;
        return num_const(1);
    }
    return positive_num(b, d.lo);
}

/* v <= to (or v >= to), where j is not in it. */
static domain_range solve_other(solve *s, const value *v, bool le, limit to)
{
    box *b = s->b;
    interval x = interval_of(b, v);
    if (b->failed)
        return any_range(s);
    num near = le ? x.lo : x.hi, far = le ? x.hi : x.lo;
    const kexpr *zero = dx_int(b, 0), *hull = num_expr(b, to.hull), *full = num_expr(b, to.full);
    const kexpr *can =
        le ? dx(b, OP_le, num_expr(b, near), hull) : dx(b, OP_le, hull, num_expr(b, near));
    const kexpr *must =
        le ? dx(b, OP_le, num_expr(b, far), full) : dx(b, OP_le, full, num_expr(b, far));
    return (domain_range){zero, dx_select(b, can, s->extent, zero), zero,
                          dx_select(b, must, s->extent, zero)};
}

static domain_range solve_value(solve *s, const value *v, bool le, limit to)
{
    sum x = {0};
    if (!value_has_ix(v, s->j))
        return solve_other(s, v, le, to);
    if (!sum_add(&x, v, 1, 0)) {
        s->b->failed = true;
        return any_range(s);
    }
    return solve_sum(s, &x, le, to);
}

static domain_range solve_pair(solve *s, const value *v, bool le, limit to)
{
    domain_range x = solve_value(s, v->args[0], le, to);
    domain_range y = solve_value(s, v->args[1], le, to);
    return (v->op == OP_max) == le ? intersect(s, x, y) : unite(s, x, y);
}

static domain_range solve_atom(solve *s, const value *v, bool le, limit to)
{
    box *b = s->b;
    const kexpr *zero = dx_int(b, 0);
    num one = num_const(1), by;
    if (b->failed || v->where || b->depth >= DOMAIN_MAX_DEPTH) {
        b->failed = true;
        return any_range(s);
    }
    b->depth++;
    domain_range r = any_range(s);
    switch (v->op) {
    case OP_index:
        domain_hit(b, RULE_domains_index);
        if (le)
            to = each(b, num_add, to, one, one);
        r = le ? (domain_range){zero, clamp(s, to.hull), zero, clamp(s, to.full)}
               : (domain_range){clamp(s, to.hull), s->extent, clamp(s, to.full), s->extent};
        break;
    case OP_idiv: /* v // by <= x: v < (x + 1) * by */
        domain_hit(b, RULE_domains_quotient);
        by = positive(s, v->args[1]);
        if (le)
            to = each(b, num_add, to, one, one);
        to = each(b, num_mul, to, by, by);
        if (le)
            to = each(b, num_add, to, num_const(-1), num_const(-1));
        r = b->failed ? r : solve_value(s, v->args[0], le, to);
        break;
    case OP_mul: {
        int moving = value_has_ix(v->args[0], s->j) ? 0 : 1;
        domain_hit(b, RULE_domains_product);
        by = positive(s, v->args[1 - moving]);
        r = b->failed ? r : solve_value(s, v->args[moving], le, divide(b, to, by, le));
        break;
    }
    case OP_max:
    case OP_min:
        domain_hit(b, RULE_domains_extreme);
        r = solve_pair(s, v, le, to);
        break;
    case OP_abs: { /* |v| <= x: v <= x and v >= -x */
        limit minus = {num_neg(b, to.hull), num_neg(b, to.full)};
        domain_hit(b, RULE_domains_absolute);
        domain_range up = solve_value(s, v->args[0], le, to);
        domain_range down = solve_value(s, v->args[0], !le, minus);
        r = le ? intersect(s, up, down) : unite(s, up, down);
        break;
    }
    default:
        b->failed = true;
        break;
    }
    b->depth--;
    return r;
}

/* x <= to (or x >= to): the one term with j is brought to one side. */
static domain_range solve_sum(solve *s, const sum *x, bool le, limit to)
{
    box *b = s->b;
    sum rest = {.c = x->c};
    const value *atom = NULL;
    int64_t coef = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (!value_has_ix(x->t[i].atom, s->j)) {
            rest.t[rest.n++] = x->t[i];
            continue;
        }
        b->failed = b->failed || atom || x->t[i].coef == INT64_MIN;
        atom = x->t[i].atom;
        coef = x->t[i].coef;
    }
    if (b->failed || !atom || x->c == INT64_MIN) {
        b->failed = true;
        return any_range(s);
    }
    interval up = interval_of_terms(b, &rest, 1), down = interval_of_terms(b, &rest, -1);
    if (b->failed)
        return any_range(s);
    /* coef * atom <= to - up + down - c */
    limit y;
    if (coef > 0) {
        y = each(b, num_add, to, le ? down.hi : down.lo, le ? down.lo : down.hi);
        num c = num_const(-x->c);
        y = each(b, num_add, y, c, c);
        num less = num_neg(b, le ? up.lo : up.hi), more = num_neg(b, le ? up.hi : up.lo);
        y = each(b, num_add, y, less, more);
    } else { /* -coef * atom >= up - down + c - to */
        y = (limit){num_neg(b, to.hull), num_neg(b, to.full)};
        y = each(b, num_add, y, le ? up.lo : up.hi, le ? up.hi : up.lo);
        num c = num_const(x->c);
        y = each(b, num_add, y, c, c);
        num less = num_neg(b, le ? down.hi : down.lo), more = num_neg(b, le ? down.lo : down.hi);
        y = each(b, num_add, y, less, more);
        le = !le;
        coef = -coef;
    }
    return solve_atom(s, atom, le, divide(b, y, num_const(coef), le));
}

static domain_range solve_compare(solve *s, const value *p, bool opposite)
{
    box *b = s->b;
    sum x;
    bool equal = p->op == OP_eq || p->op == OP_ne;
    if (op_table[p->op].sig != SIG_CMP || p->args[0]->dt != DT_I64 || !sum_compare(p, &x)) {
        b->failed = true;
        return any_range(s);
    }
    limit zero = {num_const(0), num_const(0)}, one = {num_const(1), num_const(1)};
    limit minus = {num_const(-1), num_const(-1)};
    if (!equal)
        return opposite ? solve_sum(s, &x, false, one) : solve_sum(s, &x, true, zero);
    domain_hit(b, RULE_domains_equal);
    if ((p->op == OP_eq) != opposite) {
        domain_range r = solve_sum(s, &x, true, zero);
        return intersect(s, r, solve_sum(s, &x, false, zero));
    }
    domain_range r = solve_sum(s, &x, true, minus);
    return unite(s, r, solve_sum(s, &x, false, one));
}

/* --- predicates --- */

static domain_range leaf_range(solve *s, const value *p, bool opposite)
{
    box *b = s->b;
    const kexpr *outer = b->ok, *zero = dx_int(b, 0);
    b->ok = NULL;
    domain_range r = solve_compare(s, p, opposite);
    if (b->failed) {
        b->coarse = true;
        r = any_range(s);
    } else if (b->ok) {
        const kexpr *ok = dx_hold(b, b->ok, "ok");
        r = (domain_range){dx_select(b, ok, r.lo, zero), dx_select(b, ok, r.hi, s->extent),
                           dx_select(b, ok, r.full_lo, zero), dx_select(b, ok, r.full_hi, zero)};
    }
    b->ok = outer;
    b->failed = false;
    return r;
}

static domain_range predicate(solve *s, const value *p, bool opposite)
{
    box *b = s->b;
    const kexpr *zero = dx_int(b, 0);
    if (!value_has_ix(p, s->j)) {
        domain_truth t = truth_of(b, p);
        if (opposite)
            t = (domain_truth){dx_not(b, t.must), dx_not(b, t.can)};
        return (domain_range){zero, dx_select(b, t.can, s->extent, zero), zero,
                              dx_select(b, t.must, s->extent, zero)};
    }
    if (p->where || b->depth >= DOMAIN_MAX_DEPTH) {
        b->coarse = true;
        return any_range(s);
    }
    if (p->op != OP_not && p->op != OP_and && p->op != OP_or)
        return leaf_range(s, p, opposite);
    b->depth++;
    domain_hit(b, p->op == OP_not   ? RULE_domains_opposite
                  : p->op == OP_and ? RULE_domains_both
                                    : RULE_domains_either);
    domain_range r = predicate(s, p->args[0], opposite != (p->op == OP_not));
    if (p->op != OP_not) {
        domain_range y = predicate(s, p->args[1], opposite);
        r = (p->op == OP_and) != opposite ? intersect(s, r, y) : unite(s, r, y);
    }
    b->depth--;
    return r;
}

domain_range range_of(box *b, const value *p, const ix *j, bool opposite)
{
    solve s = {.b = b, .j = j, .extent = kx_dim(b->h->k, j->extent)};
    domain_range r = predicate(&s, p, opposite);
    return (domain_range){dx_hold(b, r.lo, "lo"), dx_hold(b, r.hi, "hi"),
                          dx_hold(b, r.full_lo, "full_lo"), dx_hold(b, r.full_hi, "full_hi")};
}

domain_range domain_bounds(const domain_host *h, const value *p, const ix *j,
                           const domain_span *tile, uint32_t n)
{
    box b = {.h = h, .tile = tile, .n = n};
    return range_of(&b, p, j, false);
}
