/* causal.c: a `recurrence` is causal along its step axis, proved on the finished graph.
 *
 * The step axis is the first axis of the first result; an input with an axis of the same name has
 * its steps there. A result at step t may read inputs at steps <= t only.
 *
 * The walk goes from each result to the leaves. For every free index of a value it carries an upper
 * bound relative to the step of the result: `index <= t + up`. Predicates on the way (of selects,
 * reductions, normalisers and reads) make bounds smaller, reads translate them to the indices of
 * what is read, histories to those of the row. At an input the bound of its step must be <= 0. It
 * says nothing about whether equations can be ordered: that is order.c's. */
#include "frontend/causal.h"
#include "frontend/causal_bounds.h"

#include <string.h>

enum {
    MAX_STATES = 12, /* of one value; then bounds are made coarse, so that the walk ends */
    MAX_FACTS = 4,   /* of these states with facts; the others go without */
};

typedef struct seen {
    bound *b;
    const dim *least;
    const fact *facts;
    struct seen *next;
} seen;

typedef struct causal {
    sema *s;
    graph *g;
    inst *in;
    const char *step; /* the name of the step axis' dim */
    seen **states;    /* by value id */
    uint32_t *n_states;
    value **append; /* by scan and slot: [scan] -> list through n_appends */
    size_t n_appends;
    const char *result;
    bool unknown; /* the first fault is a bound that could not be found */
    VEC(const value *) blamed;
    VEC(const value *) inputs;
    VEC(const char *) results;
} causal;

static bool is_covered(causal *c, const value *v, const known *k)
{
    for (seen *s = c->states[v->id]; s; s = s->next) {
        bool all =
            dim_proved_le(c->g->dims, s->least, k->least) && (!s->facts || s->facts == k->facts);
        for (uint32_t i = 0; i < k->n && all; i++)
            all = !s->b[i].up || (k->b[i].up && dim_proved_le(c->g->dims, k->b[i].up, s->b[i].up));
        if (all)
            return true;
    }
    return false;
}

static void blame(causal *c, const value *input, const bound *b)
{
    const value *from = b->from ? b->from : input;
    for (size_t i = 0; i < c->blamed.n; i++)
        if (c->blamed.v[i] == from ||
            (c->blamed.v[i]->at.file == from->at.file && c->blamed.v[i]->at.lo == from->at.lo))
            return;
    c->unknown = c->blamed.n ? c->unknown : !b->up;
    vec_push(c->s->a, &c->blamed, from);
    vec_push(c->s->a, &c->inputs, input);
    vec_push(c->s->a, &c->results, c->result);
}

/* Position of the step among an input's indices; UINT32_MAX: it has none. */
static uint32_t step_of_input(const causal *c, const value *v)
{
    const ast_decl *d = c->in->decl;
    for (size_t i = 0; i < d->n_formals; i++) {
        if (d->formals[i].name.s != v->name)
            continue;
        const ast_type *t = &d->formals[i].type;
        for (size_t a = 0; a < t->n_axes; a++)
            if (t->axes[a].kind == AXIS_DIM && t->axes[a].e->kind == AST_NAME &&
                t->axes[a].e->name == c->step)
                return v->n_family + c->in->n_ctx + (uint32_t)a;
    }
    return UINT32_MAX;
}

static void walk(causal *c, value *v, known k);

static void walk_row(causal *c, const value *v, const known *k, const ix *row, uint32_t scan,
                     int slot)
{
    for (size_t i = 0; i < c->n_appends; i++) {
        const value *a = c->append[i];
        if (a->args[0]->scan != scan || a->args[0]->kind != slot)
            continue;
        /* the row's free indices: the history's, its row index is the step */
        value *x = a->args[1];
        known r = operand_known(c->s, k, v, x);
        r.facts = NULL; /* of another step */
        const bound *b = bound_of(k, row);
        for (uint32_t j = 0; j < r.n; j++)
            if (x->ix[j] == a->bound[0] && b)
                r.b[j] = *b;
        walk(c, x, r);
    }
}

/* What a conjunction says of indices alone. */
static void learn_plain(sema *s, known *k, const value *p)
{
    if (p->op == OP_and) {
        learn_plain(s, k, p->args[0]);
        learn_plain(s, k, p->args[1]);
    } else if (!value_is_data(p)) {
        learn(s, k, p, true);
    }
}

static void walk(causal *c, value *v, known k)
{
    if (k.facts && c->n_states[v->id] >= MAX_FACTS)
        k.facts = NULL;
    if (is_covered(c, v, &k))
        return;
    if (++c->n_states[v->id] > MAX_STATES)
        for (uint32_t i = 0; i < k.n; i++)
            k.b[i].up = at_most_step(c->s, k.b[i].up) ? dim_const(c->g->dims, 0) : NULL;
    seen *st = ARENA_NEW(c->s->a, seen);
    *st = (seen){k.b, k.least, k.facts, c->states[v->id]};
    c->states[v->id] = st;
    uint32_t p;
    switch (v->op) {
    case OP_given: /* whether there is an input, not what it holds */
        return;
    case OP_input:
        p = step_of_input(c, v);
        if (p < k.n && !at_most_step(c->s, k.b[p].up))
            blame(c, v, &k.b[p]);
        return;
    case OP_history:
        walk_row(c, v, &k, v->bound[0], v->scan, v->kind);
        return;
    case OP_append:
        walk_row(c, v, &k, v->args[0]->bound[0], v->args[0]->scan, v->args[0]->kind);
        return;
    case OP_result: {
        const value *a = v->args[0]->args[v->kind];
        walk_row(c, v, &k, a->args[0]->bound[0], a->args[0]->scan, a->args[0]->kind);
        return;
    }
    case OP_read: {
        known here = copy_known(c->s, &k);
        learn(c->s, &here, v->where, true);
        learn_fact(c->s, &here, v->where);
        for (uint32_t i = 1; i < v->n_args; i++)
            walk(c, v->args[i], operand_known(c->s, &here, v, v->args[i]));
        if (v->where)
            walk(c, v->where, operand_known(c->s, &k, v, v->where));
        walk(c, v->args[0], read_known(c->s, &here, v));
        return;
    }
    case OP_select: {
        walk(c, v->args[0], operand_known(c->s, &k, v, v->args[0]));
        for (int side = 1; side <= 2; side++) {
            known here = copy_known(c->s, &k);
            learn(c->s, &here, v->args[0], side == 1);
            if (side == 1)
                learn_fact(c->s, &here, v->args[0]);
            walk(c, v->args[side], operand_known(c->s, &here, v, v->args[side]));
        }
        return;
    }
    case OP_and: /* false whatever the other side is */
        for (uint32_t i = 0; i < 2; i++) {
            known here = copy_known(c->s, &k);
            learn_plain(c->s, &here, v->args[1 - i]);
            walk(c, v->args[i], operand_known(c->s, &here, v, v->args[i]));
        }
        return;
    case OP_join:
        for (uint32_t i = 0; i < v->n_args; i++) { /* a part's index is not beyond the joined one */
            known r = operand_known(c->s, &k, v, v->args[i]);
            r.facts = NULL;
            const bound *m = bound_of(&k, v->bound[0]);
            for (uint32_t j = 0; j < r.n; j++)
                if (r.ix[j] == v->bound[1 + i] && m)
                    r.b[j] = *m;
            walk(c, v->args[i], r);
        }
        return;
    default: {
        known here = v->n_bound ? scope_known(c->s, &k, v) : copy_known(c->s, &k);
        if (v->where)
            walk(c, v->where, operand_known(c->s, &here, &(value){0}, v->where));
        if (v->n_bound)
            here.facts = NULL; /* a bound index may have the name of one outside */
        learn(c->s, &here, v->where, true);
        learn_fact(c->s, &here, v->where);
        for (uint32_t i = 0; i < v->n_args; i++)
            walk(c, v->args[i], operand_known(c->s, &here, &(value){0}, v->args[i]));
    }
    }
}

/* --- the rule --- */

static const char *axis_name(const ast_type *t, size_t axis)
{
    return axis < t->n_axes && t->axes[axis].kind == AXIS_DIM && t->axes[axis].e->kind == AST_NAME
               ? t->axes[axis].e->name
               : NULL;
}

static const ast_formal *formal_of(const ast_decl *d, const char *name)
{
    for (size_t i = 0; i < d->n_formals; i++)
        if (d->formals[i].name.s == name)
            return &d->formals[i];
    return NULL;
}

static void report(causal *c)
{
    sema *s = c->s;
    const ast_decl *d = c->in->decl;
    if (c->blamed.n == 0)
        return;
    const value *input = c->inputs.v[0];
    const ast_formal *f = formal_of(d, input->name);
    /* in a library it is the caller who is told, and where the read is */
    bool here = c->blamed.v[0]->at.file == d->name.at.file;
    span at = here ? c->blamed.v[0]->at : d->name.at;
    diag *g =
        c->unknown
            ? diag_error(s->ds, at,
                         "%s is a recurrence, but nothing says that %s at one step of %s reads %s "
                         "up to that step only",
                         d->name.s, c->results.v[0], c->step, input->name)
            : diag_error(s->ds, at,
                         "%s is a recurrence: %s at one step of %s must not read %s at later ones",
                         d->name.s, c->results.v[0], c->step, input->name);
    if (!here)
        diag_note(g, c->blamed.v[0]->at, "this read goes to later steps");
    for (size_t i = 1; i < c->blamed.n && i < 4; i++)
        diag_note(g, c->blamed.v[i]->at, "this read of %s goes to later steps too",
                  c->inputs.v[i]->name);
    if (f)
        diag_note(g, f->at, "%s has its steps along %s", input->name, c->step);
    diag_note(g, d->word.at, "%s is declared a recurrence here", d->name.s);
    diag_help(g,
              c->unknown
                  ? "say it by a condition, such as `%s[p] where p <= t`, or declare %s an encoder"
                  : "read up to the present step only, such as `%s[i]` under `i <= t`, or declare "
                    "%s an encoder",
              input->name, d->name.s);
}

void check_causal(sema *s, graph *g, inst *entry)
{
    const ast_decl *d = entry->decl;
    if (d->n_results == 0 || strcmp(d->word.s, "recurrence"))
        return;
    causal c = {.s = s, .g = g, .in = entry, .step = axis_name(&d->results[0].type, 0)};
    if (!c.step) {
        diag *e =
            diag_error(s->ds, d->results[0].type.at,
                       "%s is a recurrence, but its first result has no step axis", d->name.s);
        diag_help(e, "the steps are the first axis of the first result, a name: `-> (h: [T, H])`");
        return;
    }
    graph *before = s->g;
    s->g = g;
    c.states = ARENA_ARRAY(s->a, seen *, g->values.n);
    c.n_states = ARENA_ARRAY(s->a, uint32_t, g->values.n);
    c.append = ARENA_ARRAY(s->a, value *, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.v[i]->op == OP_append)
            c.append[c.n_appends++] = g->values.v[i];
    for (size_t i = 0; i < g->results.n; i++) {
        const graph_result *r = &g->results.v[i];
        uint32_t pos = UINT32_MAX;
        const ast_type *type = &d->results[i].type;
        for (size_t a = 0; a < type->n_axes && pos == UINT32_MAX; a++)
            if (axis_name(type, a) == c.step)
                pos = r->n_family + entry->n_ctx + (uint32_t)a;
        if (pos >= r->n_axes)
            continue; /* its value so far */
        c.result = r->name;
        value none = {0};
        known k = operand_known(s, &(known){.least = dim_const(g->dims, 0)}, &none, r->v);
        for (uint32_t j = 0; j < k.n; j++) {
            k.b[j].from = NULL;
            if (k.ix[j] == r->axes[pos])
                k.b[j] = (bound){dim_const(g->dims, 0), NULL, false};
        }
        walk(&c, r->v, k);
    }
    s->g = before;
    report(&c);
}
