/* verify.c: every rule of IR.md, on what the results reach. One diagnostic per fault. */
#include <string.h>

#include "ir/graph/graph_internal.h"
#include "ir/graph/scratch.h"

typedef struct verifier {
    const graph *g;
    diags *ds;
    const char *where;
    arena *scratch;
    value_list live;
    bool ok;
    const value **scan;        /* by number: the live scan, or NULL */
    const int *step_axis;      /* step graphs: by value id */
    VEC(const char *) foreign; /* symbols that expressions may have and the graph does not list */
} verifier;

static diag *fault(verifier *f, const value *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static diag *fault(verifier *f, const value *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(f->scratch, fmt, ap);
    va_end(ap);
    f->ok = false;
    const char *of = !v ? ""
                        : arena_printf(f->scratch, " %s%s", v->hint ? "%" : "",
                                       v->hint ? v->hint : op_table[v->op].text);
    span none = {0};
    return diag_error(f->ds, v ? v->at : none, "graph @%s%s%s:%s: %s", f->g->name,
                      f->where ? " " : "", f->where ? f->where : "", of, text);
}

/* --- names and dims --- */

static bool is_symbol(const graph *g, const char *name)
{
    for (size_t i = 0; i < g->symbols.n; i++) {
        if (strcmp(g->symbols.v[i], name) == 0)
            return true;
    }
    return false;
}

static void find_foreign(verifier *f)
{
    for (uint32_t s = 0; s < dims_n_symbols(f->g->dims); s++) {
        const char *name = dims_symbol(f->g->dims, s);
        if (!is_symbol(f->g, name))
            vec_push(f->scratch, &f->foreign, name);
    }
}

static void check_dim(verifier *f, const value *v, const dim *d)
{
    for (size_t s = 0; s < f->foreign.n; s++) {
        if (dim_mentions(d, f->foreign.v[s]))
            fault(f, v, "the dim %s is not one of the graph's dims", f->foreign.v[s]);
    }
}

static void check_names(verifier *f)
{
    const graph *g = f->g;
    for (size_t i = 0; i < g->symbols.n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(g->symbols.v[i], g->symbols.v[k]) == 0)
                fault(f, NULL, "the dim %s is listed twice", g->symbols.v[i]);
        }
    }
    for (size_t i = 0; i < g->ixs.n; i++) {
        if (is_symbol(g, g->ixs.v[i]->name))
            fault(f, NULL, "%s is both an index and a dim", g->ixs.v[i]->name);
    }
    for (size_t i = 0; i < g->checks.n; i++) {
        check_dim(f, NULL, g->checks.v[i].a);
        check_dim(f, NULL, g->checks.v[i].b);
    }
}

static void check_interface(verifier *f, value *const *list, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (list[i]->name == list[k]->name)
                fault(f, list[i], "two %s are named \"%s\"", what, list[i]->name);
        }
        for (uint32_t k = 0; k < list[i]->n_ix; k++)
            check_dim(f, list[i], list[i]->ix[k]->extent);
    }
}

static void check_outputs(verifier *f, const uint32_t *home)
{
    const graph *g = f->g;
    for (size_t i = 0; i < g->results.n; i++) {
        const graph_result *r = &g->results.v[i];
        if (r->v->dt == DT_NONE || home[r->v->id] != 0) {
            fault(f, r->v, "the output \"%s\" is %s", r->name,
                  r->v->op == OP_scan   ? "a scan"
                  : r->v->dt == DT_NONE ? "an online op, of which parts are read"
                                        : "a value of a recurrence's region");
            continue;
        }
        dtype dt = store_table[r->store].value;
        if ((dt == DT_I64 || dt == DT_BOOL ? dt : g->real) != r->v->dt)
            fault(f, r->v, "the output \"%s\" stores %s, but its value is %s", r->name,
                  store_table[r->store].text, type_text(f->scratch, r->v));
        for (uint32_t k = 0; k < r->v->n_ix; k++) {
            if (!ix_in(r->axes, r->n_axes, r->v->ix[k]))
                fault(f, r->v, "the output \"%s\" leaves out the index %s", r->name,
                      r->v->ix[k]->name);
        }
        for (uint32_t k = 0; k < r->n_axes; k++) {
            if (ix_in(r->axes, k, r->axes[k]))
                fault(f, r->v, "the output \"%s\" has %s twice", r->name, r->axes[k]->name);
            check_dim(f, r->v, r->axes[k]->extent);
        }
        if (r->n_family > r->n_axes)
            fault(f, r->v, "the output \"%s\" is a family of more axes than it has", r->name);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(g->results.v[k].name, r->name) == 0)
                fault(f, r->v, "two outputs are named \"%s\"", r->name);
        }
    }
}

/* --- values --- */

static void check_type(verifier *f, const value *v)
{
    for (uint32_t k = 0; k < v->n_args + 1; k++) {
        const value *x = k < v->n_args ? v->args[k] : v->where;
        if (x && (x->id >= v->id || f->g->values.v[x->id] != x)) {
            fault(f, v, "an operand is not defined above its use");
            return;
        }
    }
    value again = *v;
    const char *error = NULL;
    if (!graph_infer(f->g, &again, &error)) {
        fault(f, v, "%s", error);
        return;
    }
    bool same = again.dt == v->dt && again.n_ix == v->n_ix;
    for (uint32_t k = 0; same && k < v->n_ix; k++)
        same = again.ix[k] == v->ix[k];
    if (!same)
        fault(f, v, "its type is %s, but its operands give %s", type_text(f->scratch, v),
              type_text(f->scratch, &again));
    for (uint32_t k = 0; k < v->n_ix; k++)
        check_dim(f, v, v->ix[k]->extent);
    for (uint32_t k = 0; k < v->n_bound; k++)
        check_dim(f, v, v->bound[k]->extent);
    if (v->op == OP_dim)
        check_dim(f, v, v->dim);
    if (v->op == OP_const && v->dt == DT_BOOL && v->i != 0 && v->i != 1)
        fault(f, v, "a truth value of %lld", (long long)v->i);
}

/* Whether `where` has `given x` among the conditions that all hold. */
static bool implies_given(arena *scratch, const value *where, const value *x)
{
    VEC(const value *) todo = {0};
    if (where)
        vec_push(scratch, &todo, where);
    for (size_t i = 0; i < todo.n && i < 10000; i++) {
        const value *c = todo.v[i];
        if (c->op == OP_given && c->args[0] == x)
            return true;
        for (uint32_t k = 0; c->op == OP_and && k < c->n_args; k++)
            vec_push(scratch, &todo, c->args[k]);
    }
    return false;
}

static void check_optional(verifier *f, const value *v)
{
    for (uint32_t k = 0; k < v->n_args; k++) {
        const value *x = v->args[k];
        if (x->op != OP_input || !x->optional || v->op == OP_given)
            continue;
        bool guarded = v->op == OP_read && k == 0 && implies_given(f->scratch, v->where, x);
        if (!guarded)
            fault(f, v, "the optional input \"%s\" is used where it may be missing", x->name);
    }
}

/* --- recurrences --- */

static void find_scans(verifier *f)
{
    f->scan = ARENA_ARRAY(f->scratch, const value *, f->g->n_scans);
    for (size_t i = 0; i < f->live.n; i++) {
        const value *v = f->live.v[i];
        if (v->op != OP_scan && v->op != OP_history)
            continue;
        if (v->scan >= f->g->n_scans)
            fault(f, v, "there is no scan #%u", v->scan);
        else if (v->op == OP_scan && f->scan[v->scan])
            fault(f, v, "two scans are #%u", v->scan);
        else if (v->op == OP_scan)
            f->scan[v->scan] = v;
    }
}

static void check_histories(verifier *f)
{
    for (size_t i = 0; i < f->live.n; i++) {
        const value *v = f->live.v[i];
        const value *h = v->op == OP_append ? v->args[0] : v;
        if (v->op != OP_append && v->op != OP_history)
            continue;
        const value *s = f->scan[h->scan];
        if (!s)
            fault(f, v, "history \"%s\" belongs to scan #%u, which is not there", h->name, h->scan);
        else if (h->kind < 0 || (uint32_t)h->kind >= s->n_args)
            fault(f, v, "history \"%s\" has slot %d, but the scan yields %u", h->name, h->kind,
                  s->n_args);
        else if (v->op == OP_append && s->args[h->kind] != v)
            fault(f, v, "history \"%s\" has an append that the scan does not yield", h->name);
        else if (v->op == OP_history && s->args[h->kind]->args[0] != v)
            fault(f, v, "history \"%s\" is not the one that the scan yields in slot %d", h->name,
                  h->kind);
    }
}

/* Whether v has an input with steps as an operand. */
static bool uses_steps(const verifier *f, const value *v)
{
    for (uint32_t k = 0; f->step_axis && k < v->n_args; k++) {
        if (f->step_axis[v->args[k]->id] >= 0)
            return true;
    }
    return false;
}

/* In the region of a scan the step index is the current step: nothing there may ask for another
 * one. */
static void check_step(verifier *f, const value *scan)
{
    const ix *t = scan->bound[0];
    unsigned char *memo = ARENA_ARRAY(f->scratch, unsigned char, f->g->values.n);
    for (size_t i = 0; t == f->g->step && i < f->live.n; i++)
        memo[f->live.v[i]->id] = uses_steps(f, f->live.v[i]) ? 2 : 0;
    for (size_t i = 0; i < f->live.n; i++) {
        const value *v = f->live.v[i];
        if (v->op == OP_scan && v->scan == scan->scan)
            continue;
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            if (!x || !graph_in_region(f->g, x, scan->scan, memo))
                continue;
            bool has = value_has_ix(x, t);
            bool asks = has && v->op != OP_append && v->op != OP_scan && v->op != OP_history &&
                        ix_in(v->bound, v->n_bound, t);
            if (v->op == OP_read && k == 0) {
                for (uint32_t j = 0; j < x->n_ix; j++) {
                    const value *at = v->args[j + 1];
                    if (x->ix[j] == t && !(at->op == OP_index && at->ix[0] == t))
                        asks = true;
                }
            }
            if (asks)
                fault(f, v, "%s of scan #%u is the current step inside its region", t->name,
                      scan->scan);
        }
    }
}

/* --- step graphs --- */

/* x, an operand of v, is an input with steps: v looks at the row of the step at hand. */
static void check_row(verifier *f, const value *v, const value *x)
{
    const ix *t = f->g->step;
    uint32_t k = (uint32_t)f->step_axis[x->id];
    const value *at = v->op == OP_read && v->args[0] == x ? v->args[k + 1] : NULL;
    if (at ? at->op != OP_index || at->ix[0] != t : x->ix[k] != t)
        fault(f, v, "the input \"%s\" is read at another step than %s", x->name, t->name);
}

static void check_step_graph(verifier *f, const uint32_t *home)
{
    const graph *g = f->g;
    const value *scan = graph_step_scan(g, &f->live);
    unsigned char *behind = ARENA_ARRAY(f->scratch, unsigned char, g->values.n);
    if (!scan) {
        fault(f, NULL, "there is no scan over the steps %s", g->step->name);
        return;
    }
    if (home[scan->id] != 0 || scan->kind != 0)
        fault(f, scan, "the scan over the steps %s",
              home[scan->id] ? "lies in another" : "runs backward");
    for (size_t i = 0; i < f->live.n; i++) {
        const value *v = f->live.v[i];
        if (v->op == OP_scan && v != scan && v->bound[0] == g->step)
            fault(f, v, "there are two scans over the steps %s", g->step->name);
        behind[v->id] = v == scan;
        for (uint32_t k = 0; k < v->n_args; k++) {
            const value *x = v->args[k];
            behind[v->id] |= behind[x->id];
            if (f->step_axis[x->id] >= 0 && v->op != OP_given)
                check_row(f, v, x);
        }
        if (behind[v->id] && uses_steps(f, v))
            fault(f, v, "what uses an input with steps is computed behind the scan over them");
    }
    if (!f->ok)
        return;
    for (size_t i = 0; i < g->results.n; i++) {
        step_output o;
        const graph_result *r = &g->results.v[i];
        if (f->step_axis[r->v->id] >= 0 || (!behind[r->v->id] && home[r->v->id] != 0))
            fault(f, r->v, "the output \"%s\" is no result of the scan over the steps", r->name);
        else if (!graph_step_output(g, f->scratch, &f->live, r, &o))
            fault(f, r->v, "the output \"%s\" is neither a history of the steps nor its last row",
                  r->name);
    }
}

static void verify_all(void *ctx, arena *scratch)
{
    verifier *f = ctx;
    const graph *g = f->g;
    f->scratch = scratch;
    find_foreign(f);
    check_names(f);
    check_interface(f, g->inputs.v, g->inputs.n, "inputs");
    check_interface(f, g->params.v, g->params.n, "params");
    graph_live(g, scratch, &f->live);
    for (size_t i = 0; i < f->live.n; i++) {
        check_type(f, f->live.v[i]);
        check_optional(f, f->live.v[i]);
    }
    for (size_t i = 0; i < g->results.n; i++) {
        if (g->results.v[i].v->op == OP_input && g->results.v[i].v->optional)
            fault(f, g->results.v[i].v, "an optional input is an output");
    }
    find_scans(f);
    if (f->ok)
        check_histories(f);
    if (f->ok) {
        const uint32_t *home = graph_homes(g, scratch, &f->live);
        if (g->step) {
            f->step_axis = graph_step_axes(g, scratch, &f->live);
            check_step_graph(f, home);
        }
        if (f->ok)
            check_outputs(f, home);
        for (uint32_t s = 0; s < g->n_scans; s++) {
            if (f->scan[s])
                check_step(f, f->scan[s]);
        }
    }
}

bool graph_verify(const graph *g, diags *ds, const char *where)
{
    verifier f = {.g = g, .ds = ds, .where = where, .ok = true};
    with_scratch(arena_mem(g->a), verify_all, &f);
    return f.ok;
}
