/* hoist_project.c: projections of growing histories become histories.
 *
 * In a recurrence, a value that depends on row j of histories alone, for all j at once (W @ h[j]),
 * would be computed anew for all rows in every step, though only one row is new. It becomes a
 * history of its own: every step appends the value of its own row, and the value is that history.
 * So the work of a step no longer holds a product over old rows.
 *
 * Where the rows are read from the histories with this step's row written, so are the new ones;
 * else they are read as the step found them. A row that is not written yet is not written there
 * either. Every row is computed now, also one that every predicate excludes: so nothing that may be
 * out of range or overflow goes into a projection. */
#include "passes/hoist_internal.h"

/* What a value is to one scan. */
typedef enum role {
    ROLE_OTHER, /* anything else */
    ROLE_FREE,  /* outside the region, the same at every step */
    ROLE_BASE,  /* a history of the scan, before or after this step's append */
    ROLE_ROW,   /* depends on the scan through row j of its histories alone */
} role;

typedef struct facts {
    role role;
    const ix *j;  /* ROW */
    bool old;     /* ROW: some history is read as it was before this step's append */
    bool costly;  /* ROW: something is computed that is worth storing */
    uint32_t n;   /* ROW: the most indices of what is costly in it */
    bool needed;  /* some user must have the value itself */
    bool project; /* becomes a history */
} facts;

typedef struct project {
    graph *g;
    arena *scratch;
    places places;
    range *range;
    const bool *risky; /* by id: may end the run with an error status */
    const value *scan; /* the scan at hand */
    facts *of;         /* by id, for that scan */
    size_t n;

    /* Of all scans, for the rebuilding: */
    const facts **chosen; /* by id, NULL: stays; what the value is to its scan */
    facts **facts_of;     /* by scan */
    const value **scans;  /* by scan */
    value_list *added;    /* by scan: histories, by slot from the last one that was there */
    value_list *rows;     /* ... and what they project */
    value **now;          /* by id */
} project;

/* --- what is projected --- */

static const ix *row_ix(const value *base)
{
    return base->op == OP_append ? base->args[0]->bound[0] : base->bound[0];
}

/* The index that this operand gives row j: a base used as it is is read at its own row index. */
static bool join_role(facts *f, const facts *x, const value *v, const ix *step)
{
    const ix *j = x->role == ROLE_BASE ? row_ix(v) : x->j;
    if (x->role == ROLE_FREE)
        return true; /* op_role looks at it once j is known */
    if (x->role == ROLE_OTHER || j == step || (f->role == ROLE_ROW && f->j != j))
        return false;
    f->role = ROLE_ROW;
    f->j = j;
    f->old = f->old || (x->role == ROLE_BASE ? v->op == OP_history : x->old);
    f->costly = f->costly || x->costly;
    f->n = x->n > f->n ? x->n : f->n;
    return true;
}

/* The innermost scan in whose region v lies. */
static uint32_t scan_of(const project *p, const value *v)
{
    return p->places.home[v->id] - 1;
}

/* The row that the scan appends to a base. */
static const value *row_of(const project *p, const value *base)
{
    const value *h = base->op == OP_append ? base->args[0] : base;
    return p->scan->args[h->kind]->args[1];
}

/* A read of a base at row j or of a value of role ROW at another j. */
static bool read_role(const project *p, facts *f, const value *v)
{
    const value *x = v->args[0];
    const facts *base = &p->of[x->id];
    if (base->role != ROLE_BASE && base->role != ROLE_ROW)
        return false;
    const ix *row = base->role == ROLE_BASE ? row_ix(x) : base->j;
    if (base->role == ROLE_BASE && row_of(p, x)->n_ix != x->n_ix)
        return false; /* the row repeats along an axis, where the read may be out of range */
    for (uint32_t k = 0; k < x->n_ix; k++) {
        const value *at = v->args[k + 1];
        if (x->ix[k] != row) {
            if (p->of[at->id].role != ROLE_FREE)
                return false;
            continue;
        }
        if (at->op != OP_index || at->ix[0]->extent != row->extent)
            return false;
        f->j = at->ix[0];
    }
    if (!f->j || f->j == p->scan->bound[0] || may_fail(p->range, v))
        return false;
    f->role = ROLE_ROW;
    f->old = base->role == ROLE_BASE ? x->op == OP_history : base->old;
    f->costly = base->costly;
    f->n = base->n;
    return !v->where || p->of[v->where->id].role == ROLE_FREE;
}

static bool op_role(const project *p, facts *f, const value *v)
{
    const ix *step = p->scan->bound[0];
    if (!OP_HAS(v->op, T_PURE) || v->dt == DT_NONE)
        return false;
    for (uint32_t k = 0; k < v->n_args + 1; k++) {
        const value *x = k < v->n_args ? v->args[k] : v->where;
        if (x && (x->dt == DT_NONE || !join_role(f, &p->of[x->id], x, step)))
            return false;
    }
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (v->bound[k] == f->j)
            return false;
    }
    for (uint32_t k = 0; k < v->n_args + 1; k++) {
        const value *x = k < v->n_args ? v->args[k] : v->where;
        if (x && p->of[x->id].role == ROLE_FREE && p->risky[x->id] && value_has_ix(x, f->j))
            return false;
    }
    if (may_fail(p->range, v))
        return false;
    if (OP_HAS(v->op, T_BINDS | T_NORM | T_COSTLY)) {
        f->costly = true;
        f->n = v->n_ix > f->n ? v->n_ix : f->n;
    }
    return f->role == ROLE_ROW && value_has_ix(v, f->j);
}

static void find_role(const project *p, const value *v, bool inside)
{
    facts f = {0};
    const value *h = v->op == OP_append ? v->args[0] : v;
    if (!inside)
        f.role = value_has_ix(v, p->scan->bound[0]) || v->dt == DT_NONE ? ROLE_OTHER : ROLE_FREE;
    else if (h->op == OP_history && h->scan == p->scan->scan)
        f.role = ROLE_BASE;
    else if (scan_of(p, v) != p->scan->scan || /* of an inner scan, which has steps of its own */
             !(v->op == OP_read ? read_role(p, &f, v) : op_role(p, &f, v)))
        f = (facts){0};
    p->of[v->id] = f;
}

/* An elementwise value over more indices than anything costly in it is made of what is worth
 * storing, but is not. */
static bool worth_storing(const facts *f, const value *v)
{
    return f->role == ROLE_ROW && f->costly && (!OP_HAS(v->op, T_ELEM) || v->n_ix <= f->n);
}

/* From users to operands: the largest values of that role. */
static void choose(project *p)
{
    const value_list *live = &p->places.live;
    facts *of = p->of;
    for (size_t i = 0; i < p->g->results.n; i++)
        of[p->g->results.v[i].v->id].needed = true;
    for (size_t i = live->n; i-- > 0;) {
        const value *v = live->v[i];
        facts *f = &of[v->id];
        if (!f->needed)
            continue;
        if (worth_storing(f, v)) {
            f->project = true;
            p->chosen[v->id] = f;
            continue;
        }
        for (uint32_t k = 0; k < v->n_args; k++)
            of[v->args[k]->id].needed = true;
        if (v->where)
            of[v->where->id].needed = true;
    }
}

/* Of a step graph's scan, what uses an input with steps lies inside as well. */
static bool *find_inside(const project *p)
{
    const places *at = &p->places;
    bool *inside = ARENA_ARRAY(p->scratch, bool, p->n);
    for (size_t i = 0; i < at->live.n; i++) {
        const value *v = at->live.v[i];
        if (v == p->scan)
            continue;
        bool in = v->op == OP_history && v->scan == p->scan->scan;
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            bool steps =
                x && at->step_axis && at->step_axis[x->id] >= 0 && p->scan->bound[0] == p->g->step;
            in = in || (x && (inside[x->id] || steps));
        }
        inside[v->id] = in;
    }
    return inside;
}

static bool find_all(project *p)
{
    bool any = false;
    const value_list *live = &p->places.live;
    for (size_t i = 0; i < live->n; i++) {
        if (live->v[i]->op != OP_scan)
            continue;
        p->scan = live->v[i];
        p->of = ARENA_ARRAY(p->scratch, facts, p->n);
        p->scans[p->scan->scan] = p->scan;
        p->facts_of[p->scan->scan] = p->of;
        const bool *inside = find_inside(p);
        for (size_t k = 0; k < live->n; k++)
            find_role(p, live->v[k], inside[live->v[k]->id]);
        choose(p);
    }
    for (size_t i = 0; i < live->n; i++)
        any = any || p->chosen[live->v[i]->id];
    return any;
}

/* --- rebuilding --- */

/* v, of role ROW or FREE, where j is the step of the scan at hand: all over new values. */
static value *at_step(const project *p, const value *v, const ix *j, value **memo);

static value *base_at_step(const project *p, const value *base)
{
    return p->now[row_of(p, base)->id];
}

/* A read whose base has become `x`: of the rows, the one of this step. */
static value *read_at_step(const project *p, const value *v, const ix *j, value **memo)
{
    graph *g = p->g;
    const value *old = v->args[0];
    const ix *step = p->scan->bound[0];
    bool base = p->of[old->id].role == ROLE_BASE;
    value *x = base ? base_at_step(p, old) : at_step(p, old, p->of[old->id].j, memo);
    value **index = ARENA_ARRAY(g->a, value *, x->n_ix);
    bool same = !v->where;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        index[k] = graph_index(g, x->ix[k]);
        for (uint32_t q = 0; x->ix[k] != step && q < old->n_ix; q++) {
            if (old->ix[q] == x->ix[k])
                index[k] = at_step(p, v->args[q + 1], j, memo);
        }
        same = same && index[k]->op == OP_index && index[k]->ix[0] == x->ix[k];
    }
    return same ? x : graph_read(g, x, index, v->where ? at_step(p, v->where, j, memo) : NULL);
}

static value *at_step(const project *p, const value *v, const ix *j, value **memo)
{
    graph *g = p->g;
    const facts *f = &p->of[v->id];
    if (f->role == ROLE_FREE)
        return value_at(g, p->now[v->id], j, graph_index(g, p->scan->bound[0]));
    if (f->role == ROLE_BASE)
        return base_at_step(p, v);
    if (memo[v->id])
        return memo[v->id];
    value *made = NULL;
    if (v->op == OP_read) {
        made = read_at_step(p, v, j, memo);
    } else {
        value **args = ARENA_ARRAY(g->a, value *, v->n_args);
        for (uint32_t k = 0; k < v->n_args; k++)
            args[k] = at_step(p, v->args[k], j, memo);
        made = graph_with_args(g, v, args, v->where ? at_step(p, v->where, j, memo) : NULL);
    }
    memo[v->id] = made;
    return made;
}

static void enter_scan(project *p, uint32_t scan)
{
    p->scan = p->scans[scan];
    p->of = p->facts_of[scan];
}

/* The new history with this step's row. */
static value *append_row(project *p, value *history, const value *v)
{
    value **memo = ARENA_ARRAY(p->scratch, value *, p->n);
    value *row = at_step(p, v, p->of[v->id].j, memo);
    return graph_append(p->g, history, row, p->scan->bound[0]);
}

/* The history that v becomes; the appended one of those that this step's row is seen in. */
static value *project_value(project *p, value *v)
{
    graph *g = p->g;
    uint32_t scan = scan_of(p, v);
    enter_scan(p, scan);
    const facts *f = p->chosen[v->id];
    int slot = (int)(p->scan->n_args + p->added[scan].n);
    const char *name = arena_printf(g->a, "%s of %s", v->hint ? v->hint : op_table[v->op].text,
                                    p->scan->args[0]->args[0]->name);
    value *h = graph_history(g, scan, slot, name, v->dt, v->ix, v->n_ix, f->j);
    value *appended = f->old ? NULL : append_row(p, h, v);
    vec_push(p->scratch, &p->added[scan], appended ? appended : h);
    vec_push(p->scratch, &p->rows[scan], v);
    return appended ? appended : h;
}

static value *rebuild_scan(project *p, const value *v, value *const *args)
{
    graph *g = p->g;
    enter_scan(p, v->scan);
    const value_list *added = &p->added[v->scan];
    value **all = ARENA_ARRAY(g->a, value *, v->n_args + added->n);
    for (uint32_t k = 0; k < v->n_args; k++)
        all[k] = args[k];
    for (size_t k = 0; k < added->n; k++) {
        value *x = added->v[k];
        all[v->n_args + k] = x->op == OP_append ? x : append_row(p, x, p->rows[v->scan].v[k]);
    }
    return graph_scan(g, v->scan, v->bound[0], v->kind, all, v->n_args + (uint32_t)added->n);
}

static value *rebuild(project *p, value *v)
{
    bool changed = v->where && p->now[v->where->id] != v->where;
    value **args = ARENA_ARRAY(p->scratch, value *, v->n_args);
    if (p->chosen[v->id])
        return project_value(p, v);
    for (uint32_t k = 0; k < v->n_args; k++) {
        args[k] = p->now[v->args[k]->id];
        changed = changed || args[k] != v->args[k];
    }
    if (v->op == OP_scan && p->added[v->scan].n)
        return rebuild_scan(p, v, args);
    return changed ? graph_with_args(p->g, v, args, v->where ? p->now[v->where->id] : NULL) : v;
}

bool project_histories(graph *g, arena *scratch)
{
    project p = {.g = g, .scratch = scratch, .n = g->values.n};
    if (g->n_scans == 0)
        return false;
    places_find(&p.places, g, scratch);
    p.chosen = ARENA_ARRAY(scratch, const facts *, p.n);
    p.facts_of = ARENA_ARRAY(scratch, facts *, g->n_scans);
    p.scans = ARENA_ARRAY(scratch, const value *, g->n_scans);
    p.added = ARENA_ARRAY(scratch, value_list, g->n_scans);
    p.rows = ARENA_ARRAY(scratch, value_list, g->n_scans);
    p.now = ARENA_ARRAY(scratch, value *, p.n);
    p.range = range_new(scratch, g, &p.places.live);
    p.risky = find_risky(&p.places, p.range, scratch);
    if (!find_all(&p))
        return false;
    for (size_t i = 0; i < p.places.live.n; i++) {
        value *v = p.places.live.v[i];
        value *made = rebuild(&p, v);
        if (made != v && !made->hint)
            made->hint = v->hint;
        if (made->at.file == 0)
            made->at = v->at;
        p.now[v->id] = made;
    }
    for (size_t i = 0; i < g->results.n; i++)
        g->results.v[i].v = p.now[g->results.v[i].v->id];
    return true;
}
