/* absence_solve.c: supports that are given in terms of each other, as conditions of their own.
 *
 * Each unknown support is an expression over the companions of all of them. One that is the same
 * along the recursion, such as `t < n` in every layer, is found by putting the last guess for the
 * companions until nothing changes, beginning with "everywhere". In a guess every side of a choice
 * counts: what the first step has and what every later one adds. The guess is then proved; where
 * there is no proof the companion stays. */
#include "frontend/absence.h"

enum {
    MAX_ROUNDS = 16,
    MAX_TERMS = 32,   /* of one guess */
    MAX_PROOF = 20000 /* steps */
};

typedef struct solver {
    sema *s;
    tensor *const *m;
    size_t n;
    bool *known;   /* a guess is put for its companion */
    value **guess; /* NULL: everywhere */
    value **memo;  /* by value id */
    size_t n_memo;
} solver;

/* --- companions replaced by guesses --- */

static value *put(solver *f, value *v);

static size_t unknown_of(const solver *f, const value *v)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->known[i] && f->m[i]->absent.companion->ph == v)
            return i;
    return SIZE_MAX;
}

static value *truth(sema *s, value *v)
{
    return v ? v : graph_bool(s->g, true);
}

/* Whether there is any of what the reduction v runs over, where `where` holds: what does not depend
 * on its indices stands outside. */
static value *any_of(sema *s, value *v, value *where)
{
    value *out = NULL, *in = NULL;
    for (uint32_t i = 0; i < v->n_bound; i++)
        out = b_and(s, out, b_cmp(s, OP_lt, graph_int(s->g, 0), b_dim(s, v->bound[i]->extent)));
    VEC(value *) todo = {0};
    if (where)
        vec_push(s->a, &todo, where);
    while (todo.n > 0) {
        value *p = todo.v[--todo.n];
        bool own = false;
        for (uint32_t i = 0; i < v->n_bound; i++)
            own = own || value_has_ix(p, v->bound[i]);
        if (p->op == OP_and) {
            vec_push(s->a, &todo, p->args[1]);
            vec_push(s->a, &todo, p->args[0]);
        } else if (own) {
            in = b_and(s, in, p);
        } else {
            out = b_and(s, out, p);
        }
    }
    value *all = graph_bool(s->g, true);
    return in ? b_and(s, out, graph_with_args(s->g, v, &all, in)) : out;
}

/* v of other operands. */
static value *folded(sema *s, value *v, value **args, value *where)
{
    switch (v->op) {
    case OP_and:
        return truth(s, b_and(s, args[0], args[1]));
    case OP_or:
        return truth(s, b_or(s, args[0], args[1]));
    case OP_not:
        return b_not(s, args[0]);
    case OP_select:
        return b_select(s, args[0], args[1], args[2]);
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        return args[0] == args[1] ? graph_elem(s->g, v->op, args, NULL)
                                  : b_cmp(s, v->op, args[0], args[1]);
    case OP_reduce:
        if (v->kind == RED_any && args[0]->op == OP_const && args[0]->i)
            return truth(s, any_of(s, v, where));
        return graph_with_args(s->g, v, args, where);
    default:
        return graph_with_args(s->g, v, args, where);
    }
}

/* v at other positions, as a condition that can be compared: what is computed element by element is
 * computed of what it reads there. */
static value *moved(sema *s, value *v, const ix *const *from, value *const *to, uint32_t n,
                    value *where)
{
    bool touched = false;
    for (uint32_t i = 0; i < n; i++) {
        bool same = to[i]->op == OP_index && to[i]->ix[0] == from[i];
        if (v->op == OP_index && v->ix[0] == from[i])
            return to[i];
        touched = touched || (!same && value_has_ix(v, from[i]));
    }
    if (!touched)
        return v;
    if (v->where || v->n_args == 0 || !OP_HAS(v->op, T_ELEM))
        return b_read(s, v, from, to, n, where);
    value **args = ARENA_ARRAY(s->a, value *, v->n_args);
    for (uint32_t i = 0; i < v->n_args; i++)
        args[i] = moved(s, v->args[i], from, to, n, where);
    return folded(s, v, args, NULL);
}

/* A truth that is read under a condition is false elsewhere. */
static value *put_read(solver *f, value *v)
{
    sema *s = f->s;
    const value *from = v->args[0];
    value **index = ARENA_ARRAY(s->a, value *, v->n_args);
    for (uint32_t i = 1; i < v->n_args; i++)
        index[i - 1] = put(f, v->args[i]);
    value *where = v->where ? put(f, v->where) : NULL;
    where = where && where->op == OP_const && where->i ? NULL : where;
    value *x = put(f, v->args[0]);
    if (v->dt != DT_BOOL)
        return b_read(s, x, from->ix, index, from->n_ix, where);
    if (x->op == OP_const)
        return x->i ? truth(s, where) : x;
    return truth(s, b_and(s, where, moved(s, x, from->ix, index, from->n_ix, where)));
}

static value *put_new(solver *f, value *v)
{
    sema *s = f->s;
    size_t k = unknown_of(f, v);
    if (k != SIZE_MAX)
        return truth(s, f->guess[k]);
    if (v->n_args == 0)
        return v;
    if (v->op == OP_read)
        return put_read(f, v);
    value **args = ARENA_ARRAY(s->a, value *, v->n_args);
    bool same = true;
    for (uint32_t i = 0; i < v->n_args; i++) {
        args[i] = put(f, v->args[i]);
        same = same && args[i] == v->args[i];
    }
    value *where = v->where ? put(f, v->where) : NULL;
    if (same && where == v->where && v->op != OP_reduce)
        return v;
    return folded(s, v, args, where && where->op == OP_const && where->i ? NULL : where);
}

static value *put(solver *f, value *v)
{
    if (v->id < f->n_memo && f->memo[v->id])
        return f->memo[v->id];
    value *r = put_new(f, v);
    if (v->id < f->n_memo)
        f->memo[v->id] = r;
    return r;
}

/* Member i's support under the present guesses; NULL: everywhere. */
static value *support_now(solver *f, size_t i)
{
    value *v = put(f, f->m[i]->absent.companion->body);
    return v->op == OP_const && v->i ? NULL : v;
}

static void forget(solver *f)
{
    f->n_memo = f->s->g->values.n;
    f->memo = ARENA_ARRAY(f->s->a, value *, f->n_memo + 1);
}

/* --- proofs --- */

static bool has(const value *p, const value *q)
{
    return p == q || (p && p->op == OP_and && (has(p->args[0], q) || has(p->args[1], q)));
}

/* The first choice or alternative in the conjunction p, and what else p says. */
static value *choice_in(sema *s, value *p, value **rest)
{
    *rest = NULL;
    if (!p)
        return NULL;
    if (p->op == OP_select || p->op == OP_or)
        return p;
    if (p->op != OP_and)
        return NULL;
    value *c = choice_in(s, p->args[0], rest);
    if (c) {
        *rest = b_and(s, *rest, p->args[1]);
        return c;
    }
    c = choice_in(s, p->args[1], rest);
    *rest = c ? b_and(s, p->args[0], *rest) : NULL;
    return c;
}

static bool implies(sema *s, value *p, value *q, uint32_t *fuel)
{
    if (*fuel == 0)
        return false;
    --*fuel;
    if (!q || (q->op == OP_const && q->i) || (p && p->op == OP_const && !p->i) || has(p, q))
        return true;
    switch (q->op) {
    case OP_and:
        return implies(s, p, q->args[0], fuel) && implies(s, p, q->args[1], fuel);
    case OP_select:
        return implies(s, b_and(s, p, q->args[0]), q->args[1], fuel) &&
               implies(s, b_and(s, p, b_not(s, q->args[0])), q->args[2], fuel);
    case OP_le:
    case OP_lt:
        if (q->args[0]->dt == DT_I64 &&
            pred_implies_le(s, p, q->args[0], q->args[1], q->op == OP_lt))
            return true;
        break;
    case OP_or:
        if (implies(s, b_and(s, p, b_not(s, q->args[0])), q->args[1], fuel) ||
            implies(s, b_and(s, p, b_not(s, q->args[1])), q->args[0], fuel))
            return true;
        break;
    default:
        break;
    }
    value *rest, *c = choice_in(s, p, &rest);
    if (!c)
        return false;
    if (c->op == OP_or)
        return implies(s, b_and(s, rest, c->args[0]), q, fuel) &&
               implies(s, b_and(s, rest, c->args[1]), q, fuel);
    value *yes = b_and(s, b_and(s, rest, c->args[0]), c->args[1]);
    value *no = b_and(s, b_and(s, rest, b_not(s, c->args[0])), c->args[2]);
    return implies(s, yes, q, fuel) && implies(s, no, q, fuel);
}

/* v with its reads of truths opened: see put_read. */
static value *opened(sema *s, value *v)
{
    solver f = {.s = s};
    if (!v)
        return NULL;
    forget(&f);
    v = put(&f, v);
    return v->op == OP_const && v->i ? NULL : v;
}

bool absence_same(sema *s, value *p, value *q)
{
    uint32_t fuel = MAX_PROOF;
    if (p == q)
        return true;
    p = opened(s, p);
    q = opened(s, q);
    return p == q || (implies(s, p, q, &fuel) && implies(s, q, p, &fuel));
}

/* --- guesses --- */

typedef VEC(value *) value_terms;

static value *simpler(sema *s, value *v, value *known, uint32_t *fuel);

static void conjuncts(sema *s, value *v, value_terms *out)
{
    if (!v)
        return;
    if (v->op != OP_and) {
        vec_push(s->a, out, v);
        return;
    }
    conjuncts(s, v->args[0], out);
    conjuncts(s, v->args[1], out);
}

/* Each in the light of the others. */
static value *simpler_all(sema *s, value_terms *t, value *known, uint32_t *fuel)
{
    for (size_t i = 0; i < t->n; i++) {
        value *rest = known;
        for (size_t k = 0; k < t->n; k++)
            rest = k == i ? rest : b_and(s, rest, t->v[k]);
        t->v[i] = simpler(s, t->v[i], rest, fuel);
    }
    value *r = NULL;
    for (size_t i = 0; i < t->n; i++)
        r = b_and(s, r, t->v[i]);
    return r;
}

/* v where `known` holds; NULL: true. */
static value *simpler(sema *s, value *v, value *known, uint32_t *fuel)
{
    if (!v || *fuel == 0 || implies(s, known, v, fuel))
        return v && *fuel == 0 ? v : NULL;
    if (implies(s, known, b_not(s, v), fuel))
        return graph_bool(s->g, false);
    if (v->op == OP_and) {
        value_terms t = {0};
        conjuncts(s, v, &t);
        return t.n > MAX_TERMS ? v : simpler_all(s, &t, known, fuel);
    }
    if (v->op == OP_or) {
        value *a = simpler(s, v->args[0], known, fuel);
        value *b = a ? simpler(s, v->args[1], b_and(s, known, b_not(s, a)), fuel) : NULL;
        return b_or(s, a, b);
    }
    if (v->op == OP_select) {
        value *c = v->args[0];
        value *a = simpler(s, v->args[1], b_and(s, known, c), fuel);
        value *b = simpler(s, v->args[2], b_and(s, known, b_not(s, c)), fuel);
        a = truth(s, a);
        b = truth(s, b);
        value *r = b_select(s, c, a, b);
        return r->op == OP_const && r->i ? NULL : r;
    }
    return v;
}

/* The terms of a guess: both sides of a choice. */
static void add_terms(sema *s, value *v, value_terms *out)
{
    if (!v || (v->op == OP_const && v->i) || out->n > MAX_TERMS)
        return;
    if (v->op == OP_and || v->op == OP_select) {
        add_terms(s, v->args[v->op == OP_and ? 0 : 1], out);
        add_terms(s, v->args[v->op == OP_and ? 1 : 2], out);
        return;
    }
    vec_push(s->a, out, v);
}

/* A support as a guess; *many: it has too many terms to be one. */
static value *guess_of(sema *s, value *support, bool *many)
{
    uint32_t fuel = MAX_PROOF;
    value_terms t = {0};
    add_terms(s, simpler(s, support, NULL, &fuel), &t);
    *many = t.n > MAX_TERMS || fuel == 0;
    return *many ? NULL : simpler_all(s, &t, NULL, &fuel);
}

/* Guesses until nothing changes; those that go on changing are given up. */
static void guess_all(solver *f)
{
    sema *s = f->s;
    value **next = ARENA_ARRAY(s->a, value *, f->n);
    bool *moved = ARENA_ARRAY(s->a, bool, f->n);
    for (size_t i = 0; i < f->n; i++)
        f->guess[i] = NULL;
    for (size_t round = 0;; round++) {
        bool any = false;
        forget(f);
        for (size_t i = 0; i < f->n; i++) {
            bool many = false;
            next[i] = f->known[i] ? guess_of(s, support_now(f, i), &many) : NULL;
            f->known[i] = f->known[i] && !many;
            moved[i] = f->known[i] && next[i] != f->guess[i];
            any = any || moved[i] || many;
        }
        if (!any)
            return;
        for (size_t i = 0; i < f->n; i++)
            f->guess[i] = next[i];
        if (round < MAX_ROUNDS)
            continue;
        for (size_t i = 0; i < f->n; i++)
            f->known[i] = f->known[i] && !moved[i];
        return;
    }
}

void absence_solve(sema *s, tensor *const *m, size_t n)
{
    solver f = {.s = s, .m = m, .n = n};
    f.known = ARENA_ARRAY(s->a, bool, n);
    f.guess = ARENA_ARRAY(s->a, value *, n);
    for (size_t i = 0; i < n; i++)
        f.known[i] = true;
    for (bool proved = false; !proved;) {
        size_t before = 0, after = 0;
        for (size_t i = 0; i < n; i++)
            before += f.known[i];
        guess_all(&f);
        forget(&f);
        bool *same = ARENA_ARRAY(s->a, bool, n);
        for (size_t i = 0; i < n; i++)
            same[i] = f.known[i] && absence_same(s, f.guess[i], support_now(&f, i));
        for (size_t i = 0; i < n; i++) {
            f.known[i] = same[i];
            after += same[i];
        }
        proved = before == after;
    }
    for (size_t i = 0; i < n; i++)
        if (f.known[i]) {
            m[i]->absent.with_companion = false;
            m[i]->absent.assumed = f.guess[i];
        }
}
