/* step.c: step graphs: which inputs have one row for each step, and what of the scan each output
 * is. The rules that make a graph a step graph are checked in verify.c. */
#include "ir/graph/graph_internal.h"

const value *graph_step_scan(const graph *g, const value_list *live)
{
    for (size_t i = 0; g->step && i < live->n; i++) {
        if (live->v[i]->op == OP_scan && live->v[i]->bound[0] == g->step)
            return live->v[i];
    }
    return NULL;
}

static bool is_step(const graph *g, const value *v)
{
    return v->op == OP_index && v->ix[0] == g->step;
}

/* As an operand of v. */
static int axis_read(const graph *g, const value *v, const value *x)
{
    for (uint32_t k = x->n_family; k < x->n_ix; k++) {
        if (v->op == OP_read && v->args[0] == x ? is_step(g, v->args[k + 1]) : x->ix[k] == g->step)
            return (int)k;
    }
    return -1;
}

static int axis_unread(const graph *g, const value *x)
{
    for (uint32_t k = x->n_family; k < x->n_ix; k++) {
        if (x->ix[k]->extent == g->step->extent)
            return (int)k;
    }
    return -1;
}

int *graph_step_axes(const graph *g, arena *a, const value_list *live)
{
    int *axis = ARENA_ARRAY(a, int, g->values.n);
    bool *met = ARENA_ARRAY(a, bool, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        axis[i] = -1;
    for (size_t i = 0; g->step && i < live->n; i++) {
        const value *v = live->v[i];
        for (uint32_t k = 0; k < v->n_args; k++) {
            const value *x = v->args[k];
            if (x->op != OP_input || v->op == OP_given)
                continue;
            met[x->id] = true;
            if (axis[x->id] < 0)
                axis[x->id] = axis_read(g, v, x);
        }
    }
    for (size_t i = 0; g->step && i < g->inputs.n; i++) {
        const value *x = g->inputs.v[i];
        if (!met[x->id])
            axis[x->id] = axis_unread(g, x);
    }
    return axis;
}

/* The int T - 1, where T is the number of steps. */
static bool is_last_step(const graph *g, const value *v)
{
    const dim *last = dim_sub(g->dims, g->step->extent, dim_const(g->dims, 1));
    int64_t n;
    if (v->op == OP_dim)
        return v->dim == last;
    if (v->op == OP_const)
        return dim_is_const(last, &n) && v->dt == DT_I64 && v->i == n;
    if (v->op != OP_sub || v->args[1]->op != OP_const || v->args[1]->i != 1)
        return false;
    const value *t = v->args[0];
    return (t->op == OP_dim && t->dim == g->step->extent) ||
           (t->op == OP_const && dim_is_const(g->step->extent, &n) && t->i == n);
}

/* Whether there is any step: 1 <= T. */
static bool is_some_step(const graph *g, const value *v)
{
    int64_t n;
    if (v->op == OP_const)
        return v->dt == DT_BOOL && v->i;
    if (v->op != OP_le || v->args[0]->op != OP_const || v->args[0]->i != 1)
        return false;
    const value *t = v->args[1];
    return (t->op == OP_dim && t->dim == g->step->extent) ||
           (t->op == OP_const && dim_is_const(g->step->extent, &n) && t->i == n);
}

/* Through reads that rename indices, down to what they read: at[k] is the output's axis that index
 * k of it follows, NULL the last step. Gives NULL where a read does more. */
static const value *follow(const graph *g, arena *a, const value *v, const ix ***at)
{
    const ix **now = ARENA_ARRAY(a, const ix *, v->n_ix);
    for (uint32_t k = 0; k < v->n_ix; k++)
        now[k] = v->ix[k];
    for (; v->op == OP_read; v = v->args[0]) {
        const value *x = v->args[0];
        const ix **next = ARENA_ARRAY(a, const ix *, x->n_ix);
        if (v->where && !is_some_step(g, v->where))
            return NULL;
        for (uint32_t k = 0; k < x->n_ix; k++) {
            const value *i = v->args[k + 1];
            if (is_last_step(g, i))
                continue;
            if (i->op != OP_index || i->ix[0]->extent != x->ix[k]->extent)
                return NULL;
            for (uint32_t p = 0; p < v->n_ix; p++)
                next[k] = v->ix[p] == i->ix[0] ? now[p] : next[k];
        }
        now = next;
    }
    *at = now;
    return v;
}

static bool depends_on(const graph *g, const value *v, const value *x, arena *a)
{
    unsigned char *yes = ARENA_ARRAY(a, unsigned char, g->values.n);
    yes[x->id] = 1;
    for (uint32_t i = x->id + 1; i <= v->id; i++) {
        const value *y = g->values.v[i];
        for (uint32_t k = 0; k < y->n_args; k++)
            yes[i] |= yes[y->args[k]->id];
        if (y->where)
            yes[i] |= yes[y->where->id];
    }
    return yes[v->id];
}

bool graph_step_output(const graph *g, arena *a, const value_list *live, const graph_result *r,
                       step_output *out)
{
    const value *scan = graph_step_scan(g, live);
    *out = (step_output){.v = r->v, .axes = r->axes, .step_axis = -1};
    if (!scan || !depends_on(g, r->v, scan, a))
        return true;
    const ix **at = NULL;
    const value *v = follow(g, a, r->v, &at);
    if (!v || v->op != OP_result || v->args[0] != scan)
        return false;
    const value *append = scan->args[v->kind];
    const ix *row = append->args[0]->bound[0];
    const ix **axes = arena_copy(a, r->axes, r->n_axes * sizeof *axes);
    for (uint32_t k = 0; k < v->n_ix; k++) {
        bool found = false;
        if (!at[k] && v->ix[k] != row)
            return false;
        for (uint32_t q = 0; at[k] && q < r->n_axes; q++) {
            if (r->axes[q] != at[k])
                continue;
            if (axes[q] != r->axes[q])
                return false; /* a diagonal */
            axes[q] = v->ix[k] == row ? g->step : v->ix[k];
            found = true;
            if (v->ix[k] == row)
                out->step_axis = (int)q;
        }
        if (at[k] && !found)
            return false;
    }
    out->v = append->args[1];
    out->axes = axes;
    return out->step_axis < 0 || (uint32_t)out->step_axis >= r->n_family;
}
