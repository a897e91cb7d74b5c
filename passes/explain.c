/* explain.c: gathers the facts from a graph and its kernel. */
#include "passes/explain.h"
#include "passes/scatter.h"

typedef struct explainer {
    graph *g;
    arena *a;
    const int64_t *symbols;
    const explain_origin *origin;
    value_list live;
    const uint32_t *home; /* by value id, as graph_homes */
    explanation *out;
} explainer;

static double number(const explainer *x, const dim *d)
{
    int64_t n;
    return x->symbols && d && dim_eval(d, x->symbols, &n) ? (double)n : 0;
}

static bool among(const ix *const *list, uint32_t n, const ix *i)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == i)
            return true;
    }
    return false;
}

/* --- normalisers --- */

static const ix *bound_in(const value *v, const value *p)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (value_has_ix(p, v->bound[k]))
            return v->bound[k];
    }
    return NULL;
}

/* Numbers of each key that a score is made of: of q . k the size of k. `depth` bounds the walk. */
static double key_width(const explainer *x, const value *v, const ix *j, unsigned depth)
{
    if (!value_has_ix(v, j) || depth == 0)
        return 0;
    if (v->op == OP_contract || v->op == OP_reduce) {
        const dim *d = cost_extent(x->g, v->bound, v->n_bound);
        return number(x, d);
    }
    double sum = 0;
    for (uint32_t k = 0; k < v->n_args; k++)
        sum += key_width(x, v->args[k], j, depth - 1);
    return OP_HAS(v->op, T_ELEM) ? sum : 1;
}

static bool uses(const value *v, const value *w)
{
    for (uint32_t k = 0; k < v->n_args; k++) {
        if (v->args[k] == w)
            return true;
    }
    return false;
}

/* The normaliser's sums have other indices than its own; each is a number of every value. */
static double value_width(const explainer *x, const value *w)
{
    double sum = 0;
    const value_list *live = &x->origin->live;
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        if (!uses(v, w))
            continue;
        double width = 1;
        for (uint32_t k = 0; k < v->n_ix; k++) {
            if (!value_has_ix(w, v->ix[k]))
                width *= number(x, v->ix[k]->extent);
        }
        sum += width;
    }
    return sum > 0 ? sum : 1;
}

/* i is an index of w, and something that w is multiplied with for each of its bound indices does
 * not have it. `of_w`: by value id, the products that w is in. */
static bool is_row(const explainer *x, const value *w, const ix *i, const bool *of_w)
{
    const value_list *live = &x->origin->live;
    for (size_t n = 0; n < live->n; n++) {
        const value *v = live->v[n];
        bool product = v->op == OP_contract || v->op == OP_weigh || v->op == OP_mul;
        for (uint32_t k = 0; k < 2 && product; k++) {
            const value *other = v->args[1 - k];
            if (of_w[v->args[k]->id] && bound_in(w, other) && !value_has_ix(other, i))
                return true;
        }
    }
    return false;
}

static void find_rows(explainer *x, explain_norm *out)
{
    const value *w = out->note->v;
    const value_list *live = &x->origin->live;
    bool *of_w = ARENA_ARRAY(x->a, bool, x->g->values.n);
    of_w[w->id] = true;
    for (size_t n = 0; n < live->n; n++) {
        const value *v = live->v[n];
        bool product = v->op == OP_weigh || v->op == OP_mul || v->op == OP_div;
        for (uint32_t k = 0; k < v->n_args && product; k++)
            of_w[v->id] = of_w[v->id] || of_w[v->args[k]->id];
    }
    for (uint32_t k = 0; k < w->n_ix; k++) {
        const ix *i = w->ix[k];
        if (!among(w->bound, w->n_bound, i) && is_row(x, w, i, of_w))
            vec_push(x->a, &out->rows, i);
    }
}

/* Written by hand it is an exponential; another function that is summed may just be what it is. */
static bool is_softmax(const fuse_note *n)
{
    return n->fused || OP_HAS(n->v->op, T_NORM) || n->v->op == OP_exp || n->v->op == OP_exp2;
}

static void explain_note(explainer *x, const fuse_note *n)
{
    dims *t = x->g->dims;
    const value *w = n->v;
    int bytes = x->g->real == DT_F64 ? 8 : 4;
    const dim *points = cost_extent(x->g, w->ix, w->n_ix);
    explain_norm out = {.note = n, .stored = dim_mul(t, points, dim_const(t, bytes)), .share = 1};
    find_rows(x, &out);
    bool ignored = true;
    if (x->symbols && w->where)
        out.share = cost_share(x->g, x->a, w->where, bound_in(w, w->where), x->symbols, &ignored);
    const ix *j = w->n_bound ? w->bound[0] : NULL;
    if (x->symbols && j && w->n_args) {
        double pairs = out.share * number(x, points);
        double sums = n->n_sums ? n->n_sums : 1;
        /* Scores written, read and written by the exponential, read by each sum. */
        out.plain_bytes = bytes * pairs * (3 + sums);
        /* Keys and values once for each block of queries, and weights that are asked for. */
        double width = key_width(x, w->args[0], j, 16) + value_width(x, w);
        out.fused_bytes = bytes * pairs * (width / EXPLAIN_ROWS + (n->weights ? 1 : 0));
    }
    vec_push(x->a, &x->out->norms, out);
}

/* --- recurrences --- */

/* Of the pass over sums. */
static bool is_made_scan(const explainer *x, uint32_t scan)
{
    return x->origin->first_scan <= scan && scan < x->origin->end_scan;
}

static bool is_rows(const value *v)
{
    return v->op == OP_history || v->op == OP_append;
}

/* Of a kind that takes time: no index arithmetic, and nothing that is there already. */
static bool is_work(const value *v)
{
    return (v->dt == DT_F32 || v->dt == DT_F64) && v->op != OP_input && v->op != OP_param;
}

static void add_once(explainer *x, value_list *list, value *v)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->v[i] == v)
            return;
    }
    vec_push(x->a, list, v);
}

static void explain_region(explainer *x, const value *scan)
{
    const uint32_t *home = x->home;
    explain_scan out = {.v = scan, .step = scan->bound[0]};
    uint32_t mine = 1 + scan->scan;
    for (size_t i = 0; i < x->live.n; i++) {
        value *v = x->live.v[i];
        if (home[v->id] != mine)
            continue;
        if (v->hint && !is_rows(v))
            vec_push(x->a, &out.sequential, v);
        for (uint32_t k = 0; k < v->n_args && !is_rows(v) && v->op != OP_scan; k++) {
            value *arg = v->args[k];
            if (is_rows(arg))
                add_once(x, &out.reads, v);
            else if (home[arg->id] != mine && value_has_ix(arg, out.step) && is_work(arg))
                add_once(x, &out.ahead, arg);
        }
    }
    vec_push(x->a, &x->out->scans, out);
}

static void explain_scans(explainer *x)
{
    for (size_t i = 0; i < x->live.n; i++) {
        if (x->live.v[i]->op == OP_scan && !is_made_scan(x, x->live.v[i]->scan))
            explain_region(x, x->live.v[i]);
    }
}

/* --- masks --- */

static const char *way_of(const explainer *x, const explain_mask *m, const value *p,
                          const scatter *to)
{
    for (uint32_t k = 0; k < to->n; k++) {
        if (to->ix[k].conjunct == p)
            return arena_printf(x->a, "no test: each %s goes to the %s that it names", m->j->name,
                                to->ix[k].i->name);
    }
    if (x->origin->no_domains)
        return domain_way_text[DOMAIN_ELEMENTS];
    return domain_way_text[domain_way_of(x->a, p, m->j, &m->row, m->row ? 1 : 0)];
}

static void add_conjuncts(explainer *x, explain_mask *m, const value *p, const scatter *to)
{
    if (p->op == OP_and && !p->where) {
        add_conjuncts(x, m, p->args[0], to);
        add_conjuncts(x, m, p->args[1], to);
        return;
    }
    explain_conjunct c = {p, way_of(x, m, p, to)};
    vec_push(x->a, &m->parts, c);
}

/* The index of the tile's rows: free in the user, not the same at all elements of p, and of these
 * the one for which p is solved best. */
static const ix *row_of(const explainer *x, const value *user, const value *p, const ix *j)
{
    const ix *best = NULL;
    domain_way best_way = DOMAIN_WAY_COUNT;
    for (uint32_t k = p->n_ix; k-- > 0;) {
        if (p->ix[k] == j || !value_has_ix(user, p->ix[k]) ||
            among(user->bound, user->n_bound, p->ix[k]))
            continue;
        domain_way way = domain_way_of(x->a, p, j, &p->ix[k], 1);
        if (way < best_way) {
            best = p->ix[k];
            best_way = way;
        }
    }
    return best;
}

/* In a recurrence the rows come one by one. */
static bool is_step(const explainer *x, const value *user, const ix *row)
{
    for (size_t i = 0; i < x->out->scans.n; i++) {
        const explain_scan *c = &x->out->scans.v[i];
        if (c->step == row && x->home[user->id] != 0)
            return true;
    }
    return false;
}

/* Of the pass over sums: within its chunks, or of a sum that is there in case. */
static bool is_made_mask(const explainer *x, const value *v, const ix *j)
{
    uint32_t home = x->home[v->id];
    return (x->origin->first_ix <= j->id && j->id < x->origin->end_ix) ||
           (home && is_made_scan(x, home - 1)) || cost_is_rare(v->where);
}

static void explain_predicate(explainer *x, const value *v)
{
    const ix *j = v->where ? bound_in(v, v->where) : NULL;
    if (!j || !(OP_HAS(v->op, T_NORM) || OP_HAS(v->op, T_BINDS)) || is_made_mask(x, v, j))
        return;
    for (size_t i = 0; i < x->out->masks.n; i++) {
        if (x->out->masks.v[i].p == v->where && x->out->masks.v[i].j == j)
            return;
    }
    explain_mask m = {.p = v->where, .user = v, .j = j};
    scatter to = {0};
    bool tiles = !scatter_find(&x->live, x->home, v, &to);
    if (tiles)
        m.row = row_of(x, v, v->where, j);
    add_conjuncts(x, &m, m.p, &to);
    if (x->symbols && tiles && !x->origin->no_domains)
        m.counted = domain_count(x->a, x->g, m.p, m.row, j, is_step(x, v, m.row) ? 1 : EXPLAIN_ROWS,
                                 EXPLAIN_KEYS, x->symbols, &m.share);
    vec_push(x->a, &x->out->masks, m);
}

/* --- memory --- */

/* The workspace has room for what is prepared as well: it goes there where the host prepares
 * nothing. */
static void add_memory(explainer *x, const kernel *k)
{
    dims *t = x->g->dims;
    explanation *out = x->out;
    out->workspace = out->prepared = dim_const(t, 0);
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        if (b->role != KB_PREPARED && b->role != KB_TEMP && b->role != KB_LOCAL)
            continue;
        const dim *d = dim_const(t, store_table[b->store].bytes);
        for (uint32_t r = 0; r < b->rank; r++)
            d = dim_mul(t, d, b->shape[r]);
        double rounded = 64 * (double)(((int64_t)number(x, d) + 63) / 64);
        out->workspace = dim_add(t, out->workspace, d);
        out->n_workspace += rounded;
        if (b->role == KB_PREPARED) {
            out->prepared = dim_add(t, out->prepared, d);
            out->n_prepared += rounded;
        }
    }
}

void explain_before_scans(graph *g, arena *a, explain_origin *out)
{
    scans_report(g, a, &out->sums);
    if (g->step_graph)
        scans_report(g->step_graph, a, &out->by_steps);
    out->first_scan = g->n_scans;
    out->first_ix = g->ixs.n;
}

void explain_after_scans(const graph *g, explain_origin *out)
{
    out->end_scan = g->n_scans;
    out->end_ix = g->ixs.n;
}

void explain_before_fuse(graph *g, arena *a, explain_origin *out)
{
    graph_live(g, a, &out->live);
    fuse_report(g, a, &out->notes);
}

void explain(graph *g, const kernel *k, const explain_origin *origin, arena *a,
             const int64_t *symbols, explanation *out)
{
    *out = (explanation){.sums = origin->sums, .by_steps = origin->by_steps};
    explainer x = {.g = g, .a = a, .symbols = symbols, .origin = origin, .out = out};
    graph_live(g, a, &x.live);
    x.home = graph_homes(g, a, &x.live);
    for (size_t i = 0; i < origin->notes.n; i++) {
        if (is_softmax(&origin->notes.v[i]))
            explain_note(&x, &origin->notes.v[i]);
    }
    explain_scans(&x);
    for (size_t i = 0; i < x.live.n; i++)
        explain_predicate(&x, x.live.v[i]);
    cost_of(g, a, symbols, &out->work);
    add_memory(&x, k);
}
