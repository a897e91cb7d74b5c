/* lanes.c: innermost loops of a kernel whose iterations are independent become vector loops,
 * outermost ones that hold loops parallel ones.
 *
 * Independence is proved from the code alone: what is stored lies at another place in each
 * iteration and nothing of it is loaded by another one. Loops that the schedule marked itself are
 * left as they are.
 *
 * require: a verified kernel.  keep: what it computes but for the order of sums in a loop, which
 * the target fixes.  give: loops that are `vector` or `parallel`; two nested ones made one. */
#include "passes/pass.h"

typedef struct look { /* one loop, while it is judged */
    const kstmt *loop;
    VEC(const kstmt *) stores;
    VEC(const kexpr *) loads;
    VEC(const kvar *) own;  /* defined in the body */
    VEC(const kvar *) sums; /* defined outside and set as reductions */
    bool loops;             /* there are loops in the body */
    bool bad;
} look;

static bool same_expr(const kexpr *a, const kexpr *b, int depth)
{
    if (a == b)
        return true;
    if (depth == 0 || a->kind != b->kind || a->dt != b->dt || a->n_args != b->n_args ||
        a->op != b->op || a->i != b->i || a->f != b->f || a->dim != b->dim || a->var != b->var ||
        a->buf != b->buf)
        return false;
    for (uint32_t i = 0; i < a->n_args; i++) {
        if (!same_expr(a->args[i], b->args[i], depth - 1))
            return false;
    }
    return true;
}

static bool is_in(const kvar *v, const kvar *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == v)
            return true;
    }
    return false;
}

/* --- what the body does --- */

static void look_expr(arena *a, look *l, const kexpr *e)
{
    if (!e)
        return;
    if (e->kind == KX_LOAD)
        vec_push(a, &l->loads, e);
    for (uint32_t i = 0; i < e->n_args; i++)
        look_expr(a, l, e->args[i]);
}

static uint32_t mentions(const kexpr *e, const kvar *v)
{
    uint32_t n = e->kind == KX_VAR && e->var == v;
    for (uint32_t i = 0; i < e->n_args; i++)
        n += mentions(e->args[i], v);
    return n;
}

/* `v = op(v, e)`, the order of op's operands free, and e does not look at v. */
static bool is_reduction(const kstmt *st)
{
    const kexpr *e = st->e;
    static const op_id ops[] = {OP_add, OP_mul, OP_max, OP_min, OP_and, OP_or};
    bool free_order = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        free_order = free_order || (e->kind == KX_OP && e->op == ops[i]);
    return free_order && e->args[0]->kind == KX_VAR && e->args[0]->var == st->var &&
           mentions(e, st->var) == 1;
}

static void look_block(arena *a, look *l, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *st = b->s.v[i];
        look_expr(a, l, st->e);
        look_expr(a, l, st->lo);
        look_expr(a, l, st->hi);
        for (uint32_t k = 0; k < st->n_index; k++)
            look_expr(a, l, st->index[k]);
        if (st->kind == KS_FOR || st->kind == KS_LET || st->kind == KS_VAR)
            vec_push(a, &l->own, st->var);
        l->loops = l->loops || st->kind == KS_FOR;
        if (st->kind == KS_STORE)
            vec_push(a, &l->stores, st);
        if (st->kind == KS_SET && !is_in(st->var, l->own.v, l->own.n)) {
            l->bad = l->bad || !is_reduction(st) || is_in(st->var, l->sums.v, l->sums.n);
            vec_push(a, &l->sums, st->var);
        }
        look_block(a, l, &st->body);
        look_block(a, l, &st->other);
    }
}

/* Nothing but its own update looks at a sum. */
static bool sum_is_used(const kblock *b, const kvar *v)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *st = b->s.v[i];
        uint32_t n = 0;
        const kexpr *const some[] = {st->e, st->lo, st->hi};
        for (int k = 0; k < 3; k++)
            n += some[k] ? mentions(some[k], v) : 0;
        for (uint32_t k = 0; k < st->n_index; k++)
            n += mentions(st->index[k], v);
        if (n > (st->kind == KS_SET && st->var == v) || sum_is_used(&st->body, v) ||
            sum_is_used(&st->other, v))
            return true;
    }
    return false;
}

/* --- independence --- */

/* No iteration changes e. */
static bool is_fixed(const look *l, const kexpr *e)
{
    if (e->kind == KX_VAR)
        return e->var != l->loop->var && !e->var->mutable && !is_in(e->var, l->own.v, l->own.n);
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!is_fixed(l, e->args[i]))
            return false;
    }
    return e->kind == KX_CONST || e->kind == KX_DIM || e->kind == KX_OP;
}

/* e is i, or i plus or minus what no iteration changes. */
static bool moves_with(const look *l, const kexpr *e)
{
    if (e->kind == KX_VAR)
        return e->var == l->loop->var;
    if (e->kind != KX_OP || (e->op != OP_add && e->op != OP_sub))
        return false;
    for (int k = 0; k < (e->op == OP_add ? 2 : 1); k++) {
        if (is_fixed(l, e->args[1 - k]) && moves_with(l, e->args[k]))
            return true;
    }
    return false;
}

/* Iterations touch different elements of buf: some axis of every access goes with the loop in the
 * same way. */
static bool apart(const look *l, const kbuf *buf)
{
    for (uint32_t axis = 0; axis < buf->rank; axis++) {
        const kexpr *first = NULL;
        bool all = true;
        for (size_t i = 0; i < l->stores.n && all; i++) {
            const kstmt *st = l->stores.v[i];
            if (st->buf != buf)
                continue;
            first = first ? first : st->index[axis];
            all = moves_with(l, st->index[axis]) && same_expr(first, st->index[axis], 8);
        }
        for (size_t i = 0; i < l->loads.n && all; i++) {
            const kexpr *e = l->loads.v[i];
            all = e->buf != buf || same_expr(first, e->args[axis], 8);
        }
        if (all)
            return true;
    }
    return false;
}

static bool independent(arena *scratch, look *l, bool lanes)
{
    look_block(scratch, l, &l->loop->body);
    if (l->bad || l->loop->down || (!lanes && l->sums.n))
        return false;
    for (size_t i = 0; i < l->sums.n; i++) {
        if (l->sums.v[i]->dt == DT_NONE || sum_is_used(&l->loop->body, l->sums.v[i]))
            return false;
    }
    for (size_t i = 0; i < l->stores.n; i++) {
        const kbuf *b = l->stores.v[i]->buf;
        /* Whether what a thread has of its own is carried on from one iteration to the next is for
         * those to know who made it. */
        if ((!lanes && (b->role == KB_LOCAL || b->role == KB_REG)) || !apart(l, b))
            return false;
    }
    return true;
}

/* --- marks --- */

static bool has_loop(const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *st = b->s.v[i];
        if (st->kind == KS_FOR || has_loop(&st->body) || has_loop(&st->other))
            return true;
    }
    return false;
}

static bool is_tiny(const kstmt *loop)
{
    return loop->lo->kind == KX_CONST && loop->hi->kind == KX_CONST &&
           loop->hi->i - loop->lo->i < 2;
}

/* `for i in 0 .. n { for k in 0 .. m { body } }` becomes one loop over both, so that threads have
 * their work where n is small, too. */
static bool can_join(arena *scratch, const kstmt *outer)
{
    if (outer->body.s.n != 1)
        return false;
    const kstmt *inner = outer->body.s.v[0];
    look l = {.loop = inner};
    bool whole = inner->kind == KS_FOR && inner->loop == KL_SEQ && inner->step == 1 &&
                 (inner->hi->kind == KX_CONST || inner->hi->kind == KX_DIM) &&
                 (outer->hi->kind == KX_CONST || outer->hi->kind == KX_DIM);
    return whole && inner->lo->kind == KX_CONST && inner->lo->i == 0 &&
           outer->lo->kind == KX_CONST && outer->lo->i == 0 && has_loop(&inner->body) &&
           independent(scratch, &l, false);
}

static void join_loops(kernel *k, kstmt *outer)
{
    kstmt *inner = outer->body.s.v[0];
    const kexpr *m = inner->hi;
    kvar *both = kernel_var(k, "both", DT_I64, false);
    const kexpr *at[] = {kx_var(k, both), m};
    kblock body = {0};
    ks_let(k, &body, outer->var, kx_op(k, OP_idiv, at));
    ks_let(k, &body, inner->var, kx_op(k, OP_imod, at));
    for (size_t i = 0; i < inner->body.s.n; i++)
        vec_push(k->a, &body.s, inner->body.s.v[i]);
    outer->var = both;
    outer->hi = kx_op(k, OP_mul, (const kexpr *const[]){outer->hi, m});
    outer->body = body;
}

static void mark(kernel_pass_ctx *pc, kblock *b, bool outermost)
{
    for (size_t i = 0; i < b->s.n; i++) {
        kstmt *st = b->s.v[i];
        bool below = outermost && st->kind != KS_FOR;
        if (st->kind == KS_FOR && st->loop == KL_SEQ && st->step == 1 && !is_tiny(st)) {
            look l = {.loop = st};
            bool inner = !has_loop(&st->body);
            if (inner && independent(pc->scratch, &l, true)) {
                st->loop = KL_VECTOR;
                kernel_rule_hit(pc, l.sums.n ? RULE_lanes_sum : RULE_lanes_vector);
            } else if (!inner && outermost && independent(pc->scratch, &l, false)) {
                st->loop = KL_PARALLEL;
                kernel_rule_hit(pc, RULE_lanes_parallel);
            }
            if (st->loop == KL_PARALLEL && can_join(pc->scratch, st)) {
                join_loops(pc->k, st);
                kernel_rule_hit(pc, RULE_lanes_joined);
            }
            pc->changed = pc->changed || st->loop != KL_SEQ;
        }
        mark(pc, &st->body, below);
        mark(pc, &st->other, below);
    }
}

bool pass_lanes(kernel_pass_ctx *pc)
{
    mark(pc, &pc->k->prepare, true);
    mark(pc, &pc->k->body, true);
    mark(pc, &pc->k->step, false);
    return true;
}
