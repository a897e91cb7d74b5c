/* schedule_need.c: conditions of readers as conditions on what they read. Where all that looks at x
 * leaves out the same elements (`y[t] = x[t] where t < n`, by whatever letters), x need not be
 * computed there; and where it could fail (an id out of range) it must not be.
 *
 * A condition over a reader's indices becomes one over the source's, which is a new value of the
 * graph. All that may come up are made before anything is planned, so that every value has its
 * place in the tables; schedule_use.c then finds out which of them hold for all users.
 *
 * What this is not: a proof. Conditions over indices that the read computes with, or made of what
 * is stored for the reader's indices alone, are given up. */
#include "passes/schedule_internal.h"

enum { MAX_DEPTH = 8 };

typedef struct carrying {
    graph *g;
    arena *a;
    conjuncts *of; /* by value id: conditions of any of its users */
    bool *known;   /* by value id: live, or in `made` */
    value_list *made;
} carrying;

/* The source's index that has the value of the reader's index i; NULL: none. */
static const ix *source_index(const value *read, const ix *i)
{
    const value *x = read->args[0];
    for (uint32_t k = 0; k < x->n_ix; k++) {
        const value *at = read->args[k + 1];
        if (at->op == OP_index && at->ix[0] == i && x->ix[k]->extent == i->extent)
            return x->ix[k];
    }
    return NULL;
}

static value *rename_in(graph *g, const value *read, value *c, int depth);

static value *rename_read(graph *g, const value *read, const value *c, int depth)
{
    value *x = c->args[0], *index[8];
    if (c->where || x->op != OP_input || x->optional || x->n_ix > 8)
        return NULL;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        index[k] = rename_in(g, read, c->args[k + 1], depth + 1);
        if (!index[k])
            return NULL;
    }
    return graph_read(g, x, index, NULL);
}

static value *rename_input(graph *g, const value *read, value *x)
{
    value *index[8];
    if (x->optional || x->n_ix > 8)
        return NULL;
    for (uint32_t k = 0; k < x->n_ix; k++)
        index[k] = graph_index(g, source_index(read, x->ix[k]));
    return graph_read(g, x, index, NULL);
}

/* c, which has none but ints and bools in it, over the source's indices; NULL: it cannot be said
 * so. */
static value *rename_in(graph *g, const value *read, value *c, int depth)
{
    bool same = true;
    if (depth == MAX_DEPTH)
        return NULL;
    for (uint32_t k = 0; k < c->n_ix; k++) {
        const ix *to = source_index(read, c->ix[k]);
        if (!to)
            return NULL;
        same = same && to == c->ix[k];
    }
    if (same)
        return c;
    if (c->op == OP_index)
        return graph_index(g, source_index(read, c->ix[0]));
    if (c->op == OP_read)
        return rename_read(g, read, c, depth);
    if (c->op == OP_input)
        return rename_input(g, read, c);
    if (!OP_HAS(c->op, T_ELEM) || c->where)
        return NULL;
    value *args[3];
    for (uint32_t k = 0; k < c->n_args; k++) {
        args[k] = rename_in(g, read, c->args[k], depth + 1);
        if (!args[k])
            return NULL;
    }
    return graph_elem(g, c->op, args, NULL);
}

const value *condition_on_source(sched *s, const value *read, const value *c)
{
    const value *r = rename_in(s->g, read, s->g->values.v[c->id], 0);
    return r && r->id < s->n_values && s->plan[r->id].size ? r : NULL;
}

/* A condition lies in the innermost region of what it is made of. */
void place_conditions(sched *s)
{
    for (size_t i = 0; i < s->conditions.n; i++) {
        const value *c = s->conditions.v[i];
        for (uint32_t k = 0; k < c->n_args; k++) {
            const value *x = c->args[k];
            if (s->home[x->id] && in_region_around(s, x, s->home[c->id]))
                s->home[c->id] = s->home[x->id];
        }
    }
}

/* --- all that may come up --- */

static void add(carrying *c, const value *x, const value *cond)
{
    conjuncts *of = &c->of[x->id];
    const value **room = (const value **)of->v;
    if (of->n == MAX_CONJUNCTS || is_leaf(x))
        return;
    for (uint32_t i = 0; i < of->n; i++) {
        if (of->v[i] == cond)
            return;
    }
    if (!room)
        of->v = room = ARENA_ARRAY(c->a, const value *, MAX_CONJUNCTS);
    room[of->n++] = cond;
}

/* Operands first. */
static void note_made(carrying *c, value *v)
{
    if (c->known[v->id])
        return;
    c->known[v->id] = true;
    for (uint32_t k = 0; k < v->n_args; k++)
        note_made(c, v->args[k]);
    vec_push(c->a, c->made, v);
}

static void pass_on(carrying *c, const value *v, const conjuncts *of)
{
    for (uint32_t i = 0; i < of->n; i++) {
        for (uint32_t k = 0; k < v->n_args; k++) {
            bool own = v->op == OP_join && value_has_ix(of->v[i], v->bound[0]);
            const value *cond = of->v[i];
            if (v->op == OP_read)
                cond = k ? NULL : rename_in(c->g, v, c->g->values.v[cond->id], 0);
            if (cond && !own)
                add(c, v->args[k], cond);
        }
    }
}

void make_conditions(sched *s)
{
    size_t n = s->g->values.n;
    carrying c = {.g = s->g, .a = s->scratch, .made = &s->conditions};
    c.of = ARENA_ARRAY(s->scratch, conjuncts, n);
    for (size_t i = s->live.n; i-- > 0;) {
        const value *v = s->live.v[i];
        if (OP_HAS(v->op, T_REGION) || v->op == OP_part || is_leaf(v))
            continue;
        if (!OP_HAS(v->op, T_NORM) && v->op != OP_online)
            pass_on(&c, v, &c.of[v->id]);
        if (!v->where || OP_HAS(v->op, T_ELEM))
            continue;
        conjuncts own;
        split_conjuncts(s->scratch, v->where, &own);
        pass_on(&c, v, &own);
    }
    s->n_values = s->g->values.n;
    c.known = ARENA_ARRAY(s->scratch, bool, s->n_values);
    for (size_t i = 0; i < s->live.n; i++)
        c.known[s->live.v[i]->id] = true;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < c.of[i].n; k++)
            note_made(&c, s->g->values.v[c.of[i].v[k]->id]);
    }
}
