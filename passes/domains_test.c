/* domains_test.c: whether a predicate can hold in a box, and whether it must. A NaN among the ends
 * of reals makes no comparison certain: `can` asks for the opposite not to be, `must` for itself.
 */
#include "passes/domains_internal.h"

static domain_truth unknown(box *b)
{
    b->coarse = true;
    return (domain_truth){dx_bool(b, true), dx_bool(b, false)};
}

/* b->failed is set: nobody looks at it. */
static domain_truth nothing(void)
{
    return (domain_truth){NULL, NULL};
}

/* s <= 0. The terms stand on the side where they are positive, so that no difference is made that
 * might overflow; the constant on the smaller side. */
static domain_truth sum_truth(box *b, const sum *s)
{
    interval left = interval_of_terms(b, s, 1), right = interval_of_terms(b, s, -1);
    if (b->failed)
        return nothing();
    bool to_left = left.lo.mag + left.hi.mag <= right.lo.mag + right.hi.mag;
    num c = num_const(to_left ? s->c : -s->c);
    interval *side = to_left ? &left : &right;
    side->lo = num_add(b, side->lo, c);
    side->hi = num_add(b, side->hi, c);
    if (b->failed)
        return nothing();
    return (domain_truth){dx(b, OP_le, num_expr(b, left.lo), num_expr(b, right.hi)),
                          dx(b, OP_le, num_expr(b, left.hi), num_expr(b, right.lo))};
}

static bool opposite(sum *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->t[i].coef == INT64_MIN)
            return false;
        s->t[i].coef = -s->t[i].coef;
    }
    if (s->c == INT64_MIN)
        return false;
    s->c = -s->c;
    return true;
}

/* eq: c there and back is 0. */
static domain_truth int_truth(box *b, const value *p)
{
    sum s;
    if (!sum_compare(p, &s) || s.c == INT64_MIN) { /* the opposite of c is an int */
        b->failed = true;
        return nothing();
    }
    domain_truth t = sum_truth(b, &s);
    if (b->failed || (p->op != OP_eq && p->op != OP_ne))
        return t;
    b->failed = !opposite(&s);
    domain_truth back = sum_truth(b, &s);
    if (b->failed)
        return nothing();
    t = (domain_truth){dx(b, OP_and, t.can, back.can), dx(b, OP_and, t.must, back.must)};
    if (p->op == OP_ne)
        t = (domain_truth){dx_not(b, t.must), dx_not(b, t.can)};
    return t;
}

static domain_truth real_truth(box *b, const value *p)
{
    real_interval x = real_interval_of(b, p->args[0]);
    real_interval y = b->failed ? x : real_interval_of(b, p->args[1]);
    if (b->failed)
        return nothing();
    op_id less = p->op, not_less = p->op == OP_le ? OP_lt : OP_le;
    if (p->op == OP_le || p->op == OP_lt)
        return (domain_truth){dx_not(b, dx(b, not_less, y.hi, x.lo)), dx(b, less, x.hi, y.lo)};
    const kexpr *apart = dx(b, OP_or, dx(b, OP_lt, x.hi, y.lo), dx(b, OP_lt, y.hi, x.lo));
    const kexpr *same = dx(b, OP_and, dx(b, OP_le, x.hi, y.lo), dx(b, OP_le, y.hi, x.lo));
    if (p->op == OP_eq)
        return (domain_truth){dx_not(b, apart), same};
    return (domain_truth){dx_not(b, same), apart};
}

/* Bools by their numbers. */
static domain_truth data_truth(box *b, const value *p)
{
    const kexpr *lo, *hi;
    if (!box_data(b, p, &lo, &hi) || lo->dt != DT_I64)
        return unknown(b);
    b->by_data = true;
    domain_hit(b, RULE_domains_data_bools);
    return (domain_truth){dx(b, OP_lt, dx_int(b, 0), hi), dx(b, OP_lt, dx_int(b, 0), lo)};
}

/* The comparison's own conditions belong to it alone: another conjunct may still empty the tile. */
static domain_truth leaf_truth(box *b, const value *p)
{
    bool compares = op_table[p->op].sig == SIG_CMP;
    const kexpr *outer = b->ok;
    domain_truth t = {NULL, NULL};
    b->ok = NULL;
    if (compares && p->args[0]->dt == DT_I64)
        t = int_truth(b, p);
    else if (compares && p->args[0]->dt != DT_BOOL)
        t = real_truth(b, p);
    else
        b->failed = true;
    if (b->failed) {
        b->failed = false;
        b->ok = NULL;
        t = data_truth(b, p);
    } else {
        domain_hit(b, p->args[0]->dt == DT_I64 ? RULE_domains_ints : RULE_domains_reals);
    }
    if (b->ok) {
        const kexpr *ok = dx_hold(b, b->ok, "ok");
        t.can = dx(b, OP_or, dx_not(b, ok), t.can);
        t.must = dx(b, OP_and, ok, t.must);
    }
    b->ok = outer;
    b->failed = false;
    return t;
}

domain_truth truth_of(box *b, const value *p)
{
    domain_truth x, y;
    if (p->op == OP_const)
        return (domain_truth){dx_bool(b, p->i != 0), dx_bool(b, p->i != 0)};
    if (p->where || b->depth >= DOMAIN_MAX_DEPTH)
        return unknown(b);
    if (!has_tile_ix(b, p)) {
        const kexpr *e = b->h->point(b->h->ctx, p);
        e = e ? dx_hold(b, e, "p") : NULL;
        return e ? (domain_truth){e, e} : unknown(b);
    }
    b->depth++;
    switch (p->op) {
    case OP_not:
        x = truth_of(b, p->args[0]);
        x = (domain_truth){dx_not(b, x.must), dx_not(b, x.can)};
        break;
    case OP_and:
    case OP_or:
        x = truth_of(b, p->args[0]);
        y = truth_of(b, p->args[1]);
        x = (domain_truth){dx(b, p->op, x.can, y.can), dx(b, p->op, x.must, y.must)};
        break;
    default:
        x = leaf_truth(b, p);
        break;
    }
    b->depth--;
    return x;
}

domain_truth domain_test(const domain_host *h, const value *p, const domain_span *tile, uint32_t n)
{
    box b = {.h = h, .tile = tile, .n = n};
    return truth_of(&b, p);
}
