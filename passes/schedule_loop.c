/* schedule_loop.c: loop nests. The predicate of a nest becomes tighter loop bounds where a conjunct
 * compares the loop's index with something independent of it, else an `if` as far out as its
 * indices allow. A loop over a joined axis becomes one loop for each part. */
#include "passes/schedule_tile.h"

enum { MAX_JOINS = 16, SEARCH_BUDGET = 256, MAX_COPIES = 64 };

typedef struct walk {
    const nest *n;
    const value *c[2 * MAX_CONJUNCTS]; /* all conjuncts */
    uint32_t n_c;
    const value *joins[MAX_JOINS];
    uint32_t n_joins;
    unsigned budget;
} walk;

static void level(sched *s, frame *f, walk *w, uint32_t at, uint64_t done);

/* Joins that the nest of `root` computes in place. */
static void find_joins(const sched *s, walk *w, const value *v, const value *root)
{
    if (w->budget == 0 || is_leaf(v) || (v != root && s->plan[history_of(v)->id].stored))
        return;
    for (uint32_t i = 0; w->n->known && i < w->n->known->n_panels; i++) {
        if (w->n->known->panels[i].v == v)
            return;
    }
    w->budget--;
    if (v->op != OP_join) {
        for (uint32_t i = 0; i < v->n_args && v->op != OP_read; i++)
            find_joins(s, w, v->args[i], root);
        return;
    }
    for (uint32_t i = 0; i < w->n_joins; i++) {
        if (w->joins[i] == v)
            return;
    }
    if (w->n_joins < MAX_JOINS)
        w->joins[w->n_joins++] = v;
}

static bool all_bound(const frame *f, const value *v)
{
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (!bound_value(f, v->ix[i]))
            return false;
    }
    return true;
}

bool is_active(const sched *s, const frame *f, const value *c)
{
    for (const active *a = s->active; a; a = a->up) {
        if (a->c == c && a->frame == f->id)
            return true;
    }
    return false;
}

void hold_true(sched *s, const frame *f, const value *c)
{
    active *a = ARENA_NEW(s->scratch, active);
    *a = (active){.c = c, .frame = f->id, .up = s->active};
    s->active = a;
}

/* --- bounds --- */

typedef struct bounds {
    const kexpr *lo, *hi; /* NULL: 0 and the extent */
} bounds;

static bool is_index(const value *v, const ix *i)
{
    return v->op == OP_index && v->ix[0] == i;
}

/* i <= e (or < e) */
static void tighten_high(sched *s, frame *f, const ix *i, const value *e, bool strict, bounds *b)
{
    const kexpr *x = sx(s, f, e);
    const kexpr *extent = kx_dim(s->k, i->extent);
    if (strict) {
        if (!range_below(s->range, e, dim_add(s->g->dims, i->extent, dim_const(s->g->dims, 1)), e,
                         NULL))
            x = k2(s, OP_min, x, extent);
    } else {
        /* The minimum comes first: e + 1 might overflow. */
        if (!range_below(s->range, e, i->extent, e, NULL))
            x = k2(s, OP_min, x, k2(s, OP_sub, extent, kx_int(s->k, 1)));
        x = k2(s, OP_add, x, kx_int(s->k, 1));
    }
    b->hi = b->hi ? k2(s, OP_min, b->hi, x) : x;
}

/* e <= i (or < i) */
static void tighten_low(sched *s, frame *f, const value *e, bool strict, bounds *b)
{
    const kexpr *x = sx(s, f, e);
    bool positive = range_not_negative(s->range, e, e, NULL);
    if (x->kind == KX_CONST && x->i <= 0 && !strict)
        return;
    if (!positive)
        x = k2(s, OP_max, x, kx_int(s->k, strict ? -1 : 0));
    if (strict)
        x = k2(s, OP_add, x, kx_int(s->k, 1));
    b->lo = b->lo ? k2(s, OP_max, b->lo, x) : x;
}

/* Whether conjunct c says something about loop index i that its bounds can say, and then it does.
 */
static bool tighten(sched *s, frame *f, const ix *i, const value *c, bounds *b)
{
    if (!decides(s, CHOICE_domains) || (c->op != OP_le && c->op != OP_lt && c->op != OP_eq) ||
        c->args[0]->dt != DT_I64)
        return false;
    bool strict = c->op == OP_lt;
    const value *x = c->args[0], *y = c->args[1];
    bool left = is_index(x, i) && !value_has_ix(y, i) && all_bound(f, y);
    bool right = is_index(y, i) && !value_has_ix(x, i) && all_bound(f, x);
    if (!left && !right)
        return false;
    if (left)
        tighten_high(s, f, i, y, strict, b);
    else
        tighten_low(s, f, x, strict, b);
    if (c->op == OP_eq && left)
        tighten_low(s, f, y, false, b);
    else if (c->op == OP_eq)
        tighten_high(s, f, i, x, false, b);
    return true;
}

bool is_bound_of(const sched *s, const value *c, const ix *i)
{
    if (!decides(s, CHOICE_domains) || (c->op != OP_le && c->op != OP_lt && c->op != OP_eq) ||
        c->args[0]->dt != DT_I64)
        return false;
    return (is_index(c->args[0], i) && !value_has_ix(c->args[1], i)) ||
           (is_index(c->args[1], i) && !value_has_ix(c->args[0], i));
}

void nest_bounds(sched *s, frame *f, const ix *i, const conjuncts *c, const kexpr **lo,
                 const kexpr **hi)
{
    bounds b = {0};
    for (uint32_t k = 0; k < c->n; k++) {
        if (is_bound_of(s, c->v[k], i) && !tighten(s, f, i, c->v[k], &b))
            ice("%s is bounded by what has no value here", i->name);
    }
    *lo = b.lo;
    *hi = b.hi;
}

/* --- loops --- */

static void one_loop(sched *s, frame *f, walk *w, uint32_t at, uint64_t done, bounds b)
{
    const ix *i = w->n->ix[at];
    kvar *v = kernel_var(s->k, i->name, DT_I64, false);
    const kexpr *lo = b.lo ? b.lo : kx_int(s->k, 0);
    const kexpr *hi = b.hi ? b.hi : kx_dim(s->k, i->extent);
    kstmt *loop = ks_for(s->k, s->at, v, lo, hi, KL_SEQ);
    loop->ahead = at == 0 ? w->n->ahead : 0;
    const binding *env = f->env;
    scope o = scope_open(s, &loop->body);
    bind(s, f, i, kx_var(s->k, v));
    level(s, f, w, at + 1, done);
    f->env = env;
    scope_close(s, o);
}

static bool same_parts(const value *a, const value *b)
{
    bool same = a->n_args == b->n_args && a->bound[0] == b->bound[0];
    for (uint32_t i = 1; same && i < a->n_bound; i++)
        same = a->bound[i]->extent == b->bound[i]->extent;
    return same;
}

static void part_loop(sched *s, frame *f, walk *w, uint32_t at, uint64_t done, bounds b,
                      const value *j, uint32_t part, const dim *from)
{
    const ix *own = j->bound[part + 1];
    kvar *v = kernel_var(s->k, own->name, DT_I64, false);
    const kexpr *zero = kx_int(s->k, 0), *off = kx_dim(s->k, from),
                *extent = kx_dim(s->k, own->extent);
    const kexpr *lo = b.lo ? k2(s, OP_max, k2(s, OP_sub, b.lo, off), zero) : zero;
    const kexpr *hi = b.hi ? k2(s, OP_min, k2(s, OP_sub, b.hi, off), extent) : extent;
    kstmt *loop = ks_for(s->k, s->at, v, lo, hi, KL_SEQ);
    loop->ahead = at == 0 ? w->n->ahead : 0;
    const binding *env = f->env;
    const split *splits = s->splits;
    scope o = scope_open(s, &loop->body);
    bind(s, f, j->bound[0], k2(s, OP_add, off, kx_var(s->k, v)));
    for (uint32_t i = 0; i < w->n_joins; i++) {
        if (!same_parts(w->joins[i], j))
            continue;
        split *x = ARENA_NEW(s->scratch, split);
        *x = (split){.join = w->joins[i], .part = part, .frame = f->id, .at = kx_var(s->k, v)};
        x->up = s->splits;
        s->splits = x;
    }
    level(s, f, w, at + 1, done);
    s->splits = splits;
    f->env = env;
    scope_close(s, o);
}

static void loop_over(sched *s, frame *f, walk *w, uint32_t at, uint64_t done)
{
    const ix *i = w->n->ix[at];
    const value *j = NULL;
    bounds b = {0};
    if (at == 0 && w->n->hi)
        b = (bounds){.lo = w->n->lo, .hi = w->n->hi};
    for (uint32_t k = 0; k < w->n_c; k++) {
        if (!(done >> k & 1) && tighten(s, f, i, w->c[k], &b)) {
            done |= (uint64_t)1 << k;
            hold_true(s, f, w->c[k]);
        }
    }
    for (uint32_t k = 0; k < w->n_joins && !j; k++) {
        const value *x = w->joins[k];
        bool alone = x == w->n->body_of; /* nothing else stands in the loops */
        if (x->bound[0] == i && (alone || s->copies * x->n_args <= MAX_COPIES))
            j = x;
    }
    if (!j) {
        one_loop(s, f, w, at, done, b);
        return;
    }
    if (b.lo)
        b.lo = hold(s, b.lo, "lo");
    if (b.hi)
        b.hi = hold(s, k2(s, OP_max, b.hi, kx_int(s->k, 0)), "hi");
    const dim *from = dim_const(s->g->dims, 0);
    unsigned copies = s->copies;
    if (j != w->n->body_of)
        s->copies *= j->n_args;
    for (uint32_t part = 0; part < j->n_args; part++) {
        part_loop(s, f, w, at, done, b, j, part, from);
        from = dim_add(s->g->dims, from, j->bound[part + 1]->extent);
    }
    s->copies = copies;
}

static void level(sched *s, frame *f, walk *w, uint32_t at, uint64_t done)
{
    const nest *n = w->n;
    const active *outer = s->active;
    const kexpr *cond = NULL;
    while (at < n->n && bound_value(f, n->ix[at]))
        at++;
    for (uint32_t k = 0; k < w->n_c; k++) {
        if (!(done >> k & 1) && all_bound(f, w->c[k])) {
            done |= (uint64_t)1 << k;
            if (!is_active(s, f, w->c[k]))
                cond = k_and(s, cond, sx(s, f, w->c[k]));
        }
    }
    scope o;
    if (cond) {
        open_if(s, cond, &o);
        for (uint32_t k = 0; k < w->n_c; k++) {
            if (done >> k & 1)
                hold_true(s, f, w->c[k]);
        }
    }
    if (at == n->n)
        n->body(s, f, n->ctx);
    else
        loop_over(s, f, w, at, done);
    if (cond)
        scope_close(s, o);
    s->active = outer;
}

void run_nest(sched *s, frame *f, const nest *n)
{
    walk *w = ARENA_NEW(s->scratch, walk);
    w->n = n;
    w->budget = SEARCH_BUDGET;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n->where[k].n; i++)
            w->c[w->n_c++] = n->where[k].v[i];
    }
    if (n->body_of)
        find_joins(s, w, n->body_of, n->body_of);
    size_t before = s->at->s.n;
    level(s, f, w, 0, 0);
    /* The note stands on the loops themselves, not on what their bounds needed first. */
    bool noted = false;
    for (size_t i = before; n->note && i < s->at->s.n; i++) {
        kstmt *st = s->at->s.v[i];
        if (st->kind != KS_FOR && st->kind != KS_IF && i + 1 < s->at->s.n)
            continue;
        if (st->kind == KS_FOR || !noted)
            st->note = n->note;
        noted = true;
    }
}
