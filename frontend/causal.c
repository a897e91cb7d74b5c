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

#include <string.h>

enum {
    MAX_LEAVES = 24, /* of one sum of indices; longer: no bound */
    MAX_STATES = 12, /* of one value; then bounds are made coarse, so that the walk ends */
};

typedef struct bound {
    const dim *up;     /* NULL: none known */
    const value *from; /* where it became more than 0; NULL: it did not */
} bound;

/* What is known of the free indices of the value at hand, in the order of its ix. */
typedef struct known {
    uint32_t n;
    const ix *const *ix;
    bound *b;
    const dim *least; /* the step is at least this */
} known;

typedef struct seen {
    bound *b;
    const dim *least;
    struct seen *next;
} seen;

typedef struct causal {
    sema *s;
    graph *g;
    inst *in;
    const char *step; /* the name of the step axis' dim */
    seen **states;    /* by value id */
    uint32_t *n_states;
    value **append;   /* by scan and slot: [scan] -> list through n_appends */
    size_t n_appends;
    const char *result;
    VEC(const value *) blamed;
    VEC(const value *) inputs;
    VEC(const char *) results;
} causal;

static bool at_most_step(causal *c, const dim *up)
{
    return up && dim_proved_le(c->g->dims, up, dim_const(c->g->dims, 0));
}

/* --- bounds of index arithmetic ------------------------------------------------------------------ */

typedef struct leaf {
    const value *v; /* NULL: a constant 0 */
    bool minus;
} leaf;

typedef struct sum {
    uint32_t n;
    leaf leaf[MAX_LEAVES];
    bool too_long;
} sum;

static void add_leaves(sum *s, const value *v, bool minus)
{
    if (v->dt == DT_I64 && (v->op == OP_add || v->op == OP_sub)) {
        add_leaves(s, v->args[0], minus);
        add_leaves(s, v->args[1], minus != (v->op == OP_sub));
    } else if (v->dt == DT_I64 && v->op == OP_neg) {
        add_leaves(s, v->args[0], !minus);
    } else if (s->n == MAX_LEAVES) {
        s->too_long = true;
    } else {
        s->leaf[s->n++] = (leaf){v, minus};
    }
}

static const bound *bound_of(const known *k, const ix *i)
{
    for (uint32_t j = 0; j < k->n; j++)
        if (k->ix[j] == i)
            return &k->b[j];
    return NULL;
}

/* The upper end of the leaves but `skip`; NULL: none. */
static const dim *highest(causal *c, const sum *s, uint32_t skip)
{
    dims *t = c->g->dims;
    const dim *total = dim_const(t, 0), *lo, *hi;
    for (uint32_t i = 0; i < s->n; i++) {
        if (i == skip)
            continue;
        if (!value_int_bounds(c->s, s->leaf[i].v, &lo, &hi))
            return NULL;
        total = s->leaf[i].minus ? dim_sub(t, total, lo) : dim_add(t, total, hi);
    }
    return total;
}

static bound smaller(causal *c, bound a, bound b)
{
    if (!a.up || !b.up)
        return a.up ? a : b;
    if (dim_proved_le(c->g->dims, a.up, b.up))
        return a;
    if (dim_proved_le(c->g->dims, b.up, a.up))
        return b;
    return at_most_step(c, b.up) ? b : a;
}

static bound larger(causal *c, bound a, bound b)
{
    if (!a.up || !b.up)
        return a.up ? b : a;
    return smaller(c, a, b).up == a.up ? b : a;
}

static bound upper(causal *c, const known *k, const value *v);

static bound upper_of_leaf(causal *c, const known *k, const value *v)
{
    dims *t = c->g->dims;
    const dim *lo, *hi;
    bound r = {0};
    switch (v->op) {
    case OP_index: {
        const bound *b = bound_of(k, v->ix[0]);
        return b ? *b : r;
    }
    case OP_min:
        return smaller(c, upper(c, k, v->args[0]), upper(c, k, v->args[1]));
    case OP_max:
        return larger(c, upper(c, k, v->args[0]), upper(c, k, v->args[1]));
    case OP_select:
        return larger(c, upper(c, k, v->args[1]), upper(c, k, v->args[2]));
    case OP_idiv: /* i // n <= i and i % n <= i for what is not negative */
    case OP_imod:
        if (value_int_bounds(c->s, v->args[0], &lo, &hi) &&
            dim_proved_le(t, dim_const(t, 0), lo) &&
            value_int_bounds(c->s, v->args[1], &lo, &hi) && dim_proved_le(t, dim_const(t, 0), lo))
            return upper(c, k, v->args[0]);
        return r;
    default:
        return r;
    }
}

/* The bound of a sum: of one of its leaves by what is known, of the others by their ranges; or of
 * all by their ranges. */
static bound upper_of_sum(causal *c, const known *k, const sum *s)
{
    dims *t = c->g->dims;
    bound best = {0};
    if (s->too_long)
        return best;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->leaf[i].minus)
            continue;
        bound b = upper_of_leaf(c, k, s->leaf[i].v);
        const dim *rest = b.up ? highest(c, s, i) : NULL;
        b.up = rest ? dim_add(t, b.up, rest) : NULL;
        best = smaller(c, best, b);
    }
    const dim *all = highest(c, s, UINT32_MAX);
    bound fixed = {all ? dim_sub(t, all, k->least) : NULL, NULL};
    return smaller(c, best, fixed);
}

static bound upper(causal *c, const known *k, const value *v)
{
    sum s = {0};
    add_leaves(&s, v, false);
    return upper_of_sum(c, k, &s);
}

/* --- what a predicate adds ------------------------------------------------------------------------ */

static known copy_known(causal *c, const known *k)
{
    known r = *k;
    r.b = ARENA_ARRAY(c->s->a, bound, k->n ? k->n : 1);
    if (k->n)
        memcpy(r.b, k->b, k->n * sizeof *r.b);
    return r;
}

/* a <= b - slack, for every index among the leaves of a - b. */
static void learn_le(causal *c, known *k, const value *a, const value *b, int64_t slack)
{
    dims *t = c->g->dims;
    sum s = {0};
    add_leaves(&s, b, false);
    add_leaves(&s, a, true);
    if (s.too_long)
        return;
    for (uint32_t i = 0; i < s.n; i++) {
        if (s.leaf[i].v->op != OP_index)
            continue;
        sum rest = s;
        rest.leaf[i] = rest.leaf[--rest.n];
        if (s.leaf[i].minus) { /* index <= rest - slack */
            for (uint32_t j = 0; j < k->n; j++) {
                if (k->ix[j] != s.leaf[i].v->ix[0])
                    continue;
                bound u = upper_of_sum(c, k, &rest);
                if (u.up)
                    u.up = dim_sub(t, u.up, dim_const(t, slack));
                k->b[j] = smaller(c, k->b[j], u);
            }
        } else { /* slack - rest <= index <= step + up: the step is late enough */
            const bound *u = bound_of(k, s.leaf[i].v->ix[0]);
            const dim *hi = u && u->up ? highest(c, &rest, UINT32_MAX) : NULL;
            const dim *least =
                hi ? dim_sub(t, dim_sub(t, dim_const(t, slack), hi), u->up) : NULL;
            if (least && dim_proved_le(t, k->least, least))
                k->least = least;
        }
    }
}

static known read_known(causal *c, const known *k, const value *v);

static void learn(causal *c, known *k, const value *p, bool holds)
{
    if (!p)
        return;
    if (p->op == OP_not) {
        learn(c, k, p->args[0], !holds);
    } else if (p->op == (holds ? OP_and : OP_or)) {
        learn(c, k, p->args[0], holds);
        learn(c, k, p->args[1], holds);
    } else if (p->op == (holds ? OP_or : OP_and)) {
        known a = copy_known(c, k), b = copy_known(c, k);
        learn(c, &a, p->args[0], holds);
        learn(c, &b, p->args[1], holds);
        for (uint32_t i = 0; i < k->n; i++)
            k->b[i] = larger(c, a.b[i], b.b[i]);
    } else if (p->op == OP_read && p->args[0]->dt == DT_BOOL) {
        known in = read_known(c, k, p);
        learn(c, &in, p->args[0], holds);
        for (uint32_t i = 0; i < in.n; i++) { /* where the index value is an index and a constant */
            sum s = {0};
            add_leaves(&s, p->args[1 + i], false);
            for (uint32_t j = 0; j < k->n && !s.too_long; j++)
                for (uint32_t l = 0; l < s.n; l++) {
                    if (s.leaf[l].minus || s.leaf[l].v->op != OP_index ||
                        s.leaf[l].v->ix[0] != k->ix[j] || !in.b[i].up)
                        continue;
                    sum rest = {0}; /* index = value - rest */
                    for (uint32_t q = 0; q < s.n; q++)
                        if (q != l)
                            rest.leaf[rest.n++] = (leaf){s.leaf[q].v, !s.leaf[q].minus};
                    const dim *hi = highest(c, &rest, UINT32_MAX);
                    bound u = {hi ? dim_add(c->g->dims, in.b[i].up, hi) : NULL, in.b[i].from};
                    k->b[j] = smaller(c, k->b[j], u);
                }
        }
    } else if (p->n_args == 2 && p->args[0]->dt == DT_I64) {
        const value *a = p->args[0], *b = p->args[1];
        if (p->op == OP_le)
            holds ? learn_le(c, k, a, b, 0) : learn_le(c, k, b, a, 1);
        else if (p->op == OP_lt)
            holds ? learn_le(c, k, a, b, 1) : learn_le(c, k, b, a, 0);
        else if (p->op == (holds ? OP_eq : OP_ne)) {
            learn_le(c, k, a, b, 0);
            learn_le(c, k, b, a, 0);
        }
    }
}

/* --- from a value to its operands ----------------------------------------------------------------- */

/* What is known for an operand: its own free indices, those bound by v without a bound but their
 * range. */
static known operand_known(causal *c, const known *k, const value *v, const value *arg)
{
    known r = {.n = arg->n_ix, .ix = arg->ix, .least = k->least};
    r.b = ARENA_ARRAY(c->s->a, bound, r.n ? r.n : 1);
    for (uint32_t i = 0; i < r.n; i++) {
        bool bound_here = false;
        for (uint32_t j = 0; j < v->n_bound; j++)
            bound_here = bound_here || v->bound[j] == arg->ix[i];
        const bound *b = bound_here ? NULL : bound_of(k, arg->ix[i]);
        if (b) {
            r.b[i] = *b;
            continue;
        }
        dims *t = c->g->dims;
        const dim *last = dim_sub(t, arg->ix[i]->extent, dim_const(t, 1));
        r.b[i] = (bound){dim_sub(t, last, k->least), v};
        if (at_most_step(c, r.b[i].up))
            r.b[i].from = NULL;
    }
    return r;
}

/* The union of what is known of v's indices and of those it binds. */
static known scope_known(causal *c, const known *k, const value *v)
{
    uint32_t n = k->n;
    const ix **ixs = ARENA_ARRAY(c->s->a, const ix *, n + v->n_bound);
    known r = {.ix = ixs, .least = k->least};
    r.b = ARENA_ARRAY(c->s->a, bound, n + v->n_bound);
    for (uint32_t i = 0; i < n; i++) {
        bool bound_here = false;
        for (uint32_t j = 0; j < v->n_bound; j++)
            bound_here = bound_here || v->bound[j] == k->ix[i];
        if (bound_here)
            continue;
        ixs[r.n] = k->ix[i];
        r.b[r.n++] = k->b[i];
    }
    dims *t = c->g->dims;
    for (uint32_t j = 0; j < v->n_bound; j++) {
        ixs[r.n] = v->bound[j];
        const dim *last = dim_sub(t, v->bound[j]->extent, dim_const(t, 1));
        r.b[r.n] = (bound){dim_sub(t, last, k->least), v};
        if (at_most_step(c, r.b[r.n].up))
            r.b[r.n].from = NULL;
        r.n++;
    }
    return r;
}

/* The bounds of the indices of what v reads. The first read that goes too far is the one to name. */
static known read_known(causal *c, const known *k, const value *v)
{
    const value *x = v->args[0];
    known r = {.n = x->n_ix, .ix = x->ix, .least = k->least};
    r.b = ARENA_ARRAY(c->s->a, bound, r.n ? r.n : 1);
    for (uint32_t i = 0; i < r.n; i++) {
        r.b[i] = upper(c, k, v->args[1 + i]);
        if (at_most_step(c, r.b[i].up))
            r.b[i].from = NULL;
        else if (!r.b[i].from || (r.b[i].from->op != OP_read && v->at.file))
            r.b[i].from = v;
    }
    return r;
}

static bool is_covered(causal *c, const value *v, const known *k)
{
    for (seen *s = c->states[v->id]; s; s = s->next) {
        bool all = dim_proved_le(c->g->dims, s->least, k->least);
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
        if (c->blamed.v[i] == from || (c->blamed.v[i]->at.file == from->at.file &&
                                       c->blamed.v[i]->at.lo == from->at.lo))
            return;
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
        known r = operand_known(c, k, v, x);
        const bound *b = bound_of(k, row);
        for (uint32_t j = 0; j < r.n; j++)
            if (x->ix[j] == a->bound[0] && b)
                r.b[j] = *b;
        walk(c, x, r);
    }
}

static void walk(causal *c, value *v, known k)
{
    if (is_covered(c, v, &k))
        return;
    if (++c->n_states[v->id] > MAX_STATES)
        for (uint32_t i = 0; i < k.n; i++)
            k.b[i].up = at_most_step(c, k.b[i].up) ? dim_const(c->g->dims, 0) : NULL;
    seen *st = ARENA_NEW(c->s->a, seen);
    *st = (seen){k.b, k.least, c->states[v->id]};
    c->states[v->id] = st;
    uint32_t p;
    switch (v->op) {
    case OP_input:
        p = step_of_input(c, v);
        if (p < k.n && !at_most_step(c, k.b[p].up))
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
        known here = copy_known(c, &k);
        learn(c, &here, v->where, true);
        for (uint32_t i = 1; i < v->n_args; i++)
            walk(c, v->args[i], operand_known(c, &here, v, v->args[i]));
        if (v->where)
            walk(c, v->where, operand_known(c, &k, v, v->where));
        walk(c, v->args[0], read_known(c, &here, v));
        return;
    }
    case OP_select: {
        walk(c, v->args[0], operand_known(c, &k, v, v->args[0]));
        for (int side = 1; side <= 2; side++) {
            known here = copy_known(c, &k);
            learn(c, &here, v->args[0], side == 1);
            walk(c, v->args[side], operand_known(c, &here, v, v->args[side]));
        }
        return;
    }
    case OP_join:
        for (uint32_t i = 0; i < v->n_args; i++) { /* a part's index is not beyond the joined one */
            known r = operand_known(c, &k, v, v->args[i]);
            const bound *m = bound_of(&k, v->bound[0]);
            for (uint32_t j = 0; j < r.n; j++)
                if (r.ix[j] == v->bound[1 + i] && m)
                    r.b[j] = *m;
            walk(c, v->args[i], r);
        }
        return;
    default: {
        known here = v->n_bound ? scope_known(c, &k, v) : copy_known(c, &k);
        if (v->where)
            walk(c, v->where, operand_known(c, &here, &(value){0}, v->where));
        learn(c, &here, v->where, true);
        for (uint32_t i = 0; i < v->n_args; i++)
            walk(c, v->args[i], operand_known(c, &here, &(value){0}, v->args[i]));
    }
    }
}

/* --- the rule ------------------------------------------------------------------------------------- */

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
    diag *g = diag_error(s->ds, c->blamed.v[0]->at,
                         "%s is a recurrence: %s at one step of %s must not read %s at later ones",
                         d->name.s, c->results.v[0], c->step, input->name);
    for (size_t i = 1; i < c->blamed.n && i < 4; i++)
        diag_note(g, c->blamed.v[i]->at, "this read of %s goes to later steps too",
                  c->inputs.v[i]->name);
    if (f)
        diag_note(g, f->at, "%s has its steps along %s", input->name, c->step);
    diag_note(g, d->word.at, "%s is declared a recurrence here", d->name.s);
    diag_help(g,
              "read up to the present step only, such as `%s[i]` under `i <= t`, or declare %s an "
              "encoder",
              input->name, d->name.s);
}

void check_causal(sema *s, graph *g, inst *entry)
{
    const ast_decl *d = entry->decl;
    if (d->n_results == 0 || strcmp(d->word.s, "recurrence"))
        return;
    causal c = {.s = s, .g = g, .in = entry, .step = axis_name(&d->results[0].type, 0)};
    if (!c.step) {
        diag *e = diag_error(s->ds, d->results[0].type.at,
                             "%s is a recurrence, but its first result has no step axis",
                             d->name.s);
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
        known k = operand_known(&c, &(known){.least = dim_const(g->dims, 0)}, &none, r->v);
        for (uint32_t j = 0; j < k.n; j++) {
            k.b[j].from = NULL;
            if (k.ix[j] == r->axes[pos])
                k.b[j].up = dim_const(g->dims, 0);
        }
        walk(&c, r->v, k);
    }
    s->g = before;
    report(&c);
}
