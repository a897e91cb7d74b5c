/* scans_chunk.c: a sum over i <= t of decay^(t - i) (f(t) . g(i)) v(i), CHUNK steps at a time.
 *
 * With t = c * CHUNK + l and i = b * CHUNK + m, what the chunks b < c bring is a state at the
 * beginning of chunk c, decayed by the l steps since; what chunk c brings is a sum over m <= l.
 * Both are products of matrices. No power is of a negative number of steps. */
#include "passes/scans_internal.h"
#include "passes/simplify_internal.h"

enum {
    CHUNK = 64,
    LEAST = 2 * CHUNK, /* shorter sums are left as they are */
    STATE = 128,       /* the largest sensible D E / (D + E) where the length is not known */
    /* The products of matrices that chunks are made of run some times as fast as a sum whose
     * weights are stored row by row. */
    FASTER = 4,
};

typedef struct chunks {
    scans *s;
    const separated *p;
    graph *g;
    const ix *c, *b, *l, *m;        /* b: all chunks but the last one */
    value *size;                    /* of a chunk: CHUNK, or all there is */
    value *row, *front;             /* c * CHUNK + m, c * CHUNK + l */
    value *row_there, *front_there; /* ... are below the length */
} chunks;

static value *both(graph *g, op_id op, value *a, value *b)
{
    return graph_elem(g, op, (value *[]){a, b}, NULL);
}

/* --- whether --- */

/* The product of the extents of those in `all` that are neither in `but` nor t or i; -1: unknown.
 */
static double size_of(const separated *p, const ix_set *all, const ix_set *but)
{
    double size = 1;
    for (size_t k = 0; k < all->n; k++) {
        const ix *i = all->v[k];
        int64_t n = 0;
        if (i == p->t || i == p->i || ix_set_has(but, i))
            continue;
        if (!dim_is_const(i->extent, &n))
            return -1;
        size *= (double)n;
    }
    return size;
}

static void rows_ix(const scans *s, const separated *p, bool kept, ix_set *out)
{
    for (uint32_t k = 0; k < p->n_rows; k++) {
        if (has_kept(s, p, &p->row[k]) == kept)
            factor_ix(s, p, &p->row[k], out);
    }
}

/* Indices that both the keys and the values have, such as a batch, count for neither. */
static void sizes(const scans *s, const separated *p, double *d, double *e)
{
    ix_set keys = {0}, values = {0};
    rows_ix(s, p, true, &keys);
    rows_ix(s, p, false, &values);
    *d = size_of(p, &keys, &values);
    *e = size_of(p, &values, &keys);
}

bool state_pays(const scans *s, const separated *p)
{
    double d, e;
    int64_t steps = 0;
    sizes(s, p, &d, &e);
    if (d < 0 || e < 0 || !dim_is_const(p->t->extent, &steps))
        return true;
    return (double)steps * (d + e) > 4 * d * e;
}

/* In a chunk there are CHUNK / 2 (D + E) besides. */
static bool chunks_pay(const scans *s, const separated *p)
{
    double d, e;
    int64_t steps = 0;
    sizes(s, p, &d, &e);
    bool known = dim_is_const(p->t->extent, &steps);
    if (known && steps <= LEAST)
        return false;
    if (d < 0 || e < 0)
        return true;
    return known ? (double)(steps - CHUNK) * (d + e) * FASTER > 4 * d * e
                 : d * e <= STATE * (d + e);
}

const char *why_no_chunks(const scans *s, const separated *p)
{
    bool keys = false, values = false, fronts = false;
    for (uint32_t k = 0; k < p->n_rows; k++)
        *(has_kept(s, p, &p->row[k]) ? &keys : &values) = true;
    for (uint32_t k = 0; k < p->n_fronts; k++)
        fronts = fronts || has_kept(s, p, &p->front[k]);
    for (uint32_t k = 0; k < p->n_decays; k++) {
        if (has_kept(s, p, &p->decay[k]))
            return "its decay differs along what its terms sum besides the steps";
    }
    if (!keys || !values || !fronts || p->rowed.n || p->n_where)
        return "its terms are not scores times values";
    return chunks_pay(s, p) ? NULL : "a state costs more than the sum at these sizes";
}

/* --- how --- */

/* x where i is `to`, and 0 where `there` does not hold. */
static value *at_place(graph *g, value *x, const ix *i, value *to, value *there)
{
    if (!value_has_ix(x, i))
        return x;
    value *base = x;
    value **index = ARENA_ARRAY(g->a, value *, x->n_args + x->n_ix);
    bool plain = x->op == OP_read && !x->where;
    for (uint32_t k = 1; plain && k < x->n_args; k++) {
        bool whole = x->args[k]->op == OP_index && x->args[k]->ix[0] == i;
        plain = whole ? x->args[0]->ix[k - 1]->extent == i->extent : !value_has_ix(x->args[k], i);
        index[k - 1] = whole ? to : x->args[k];
    }
    if (plain) {
        base = x->args[0];
    } else {
        for (uint32_t k = 0; k < x->n_ix; k++)
            index[k] = x->ix[k] == i ? to : graph_index(g, x->ix[k]);
    }
    return graph_read(g, base, index, there);
}

static value *rows_in(const chunks *q, bool kept)
{
    value *all = NULL;
    for (uint32_t k = 0; k < q->p->n_rows; k++) {
        const factor *f = &q->p->row[k];
        if (has_kept(q->s, q->p, f) == kept)
            all = times(q->g, all,
                        at_place(q->g, factor_now(q->s, q->p, f), q->p->i, q->row, q->row_there));
    }
    return all;
}

/* The state at the beginning of each chunk but the first, made of what each chunk adds to it. */
static value *states(const chunks *q, value *added)
{
    graph *g = q->g;
    uint32_t scan = graph_new_scan(g);
    const ix **axes = ARENA_ARRAY(g->a, const ix *, added->n_ix);
    value **last = ARENA_ARRAY(g->a, value *, added->n_ix);
    ix_set own = {0};
    ix_set_add(q->s->scratch, &own, added, NULL, 0);
    const ix *row = unused_ix(g, &q->s->places, "row", q->b->extent, &own);
    value **last_of_c = ARENA_ARRAY(g->a, value *, added->n_ix);
    for (uint32_t k = 0; k < added->n_ix; k++) {
        bool step = added->ix[k] == q->b;
        axes[k] = step ? row : added->ix[k];
        last[k] = step ? one_less(g, q->b) : graph_index(g, added->ix[k]);
        last_of_c[k] = step ? one_less(g, q->c) : last[k];
    }
    value *second = from_second(g, q->b);
    const char *name = arena_printf(g->a, "chunks of %s", q->p->v->hint ? q->p->v->hint : "rows");
    value *h = graph_history(g, scan, 0, name, added->dt, axes, added->n_ix, row);
    value *found = times(g, graph_read(g, h, last, second), decay_at(q->s, q->p, q->size));
    value *appended = graph_append(g, h, both(g, OP_add, or_zero(g, second, found), added), q->b);
    value *all = graph_result_of(g, graph_scan(g, scan, q->b, false, &appended, 1), 0);
    return graph_read(g, all, last_of_c, from_second(g, q->c));
}

static value *size_value(graph *g, const dim *d)
{
    int64_t n;
    return dim_is_const(d, &n) ? graph_int(g, n) : graph_dim(g, d);
}

static void take_indices(chunks *q)
{
    const separated *p = q->p;
    graph *g = q->g;
    dims *d = g->dims;
    ix_set taken = {0};
    const dim *one = dim_const(d, 1), *steps = p->t->extent;
    const dim *size = dim_max(d, one, dim_min(d, steps, dim_const(d, CHUNK)));
    ix_set_add(q->s->scratch, &taken, p->v, NULL, 0);
    for (uint32_t k = 0; k < p->n_rows + p->n_fronts; k++)
        factor_ix(q->s, p, k < p->n_rows ? &p->row[k] : &p->front[k - p->n_rows], &taken);
    for (uint32_t k = 0; k < p->n_decays; k++)
        factor_ix(q->s, p, &p->decay[k], &taken);
    const dim *n = dim_floordiv(d, dim_sub(d, dim_add(d, steps, size), one), size);
    const dim *before = dim_max(d, dim_sub(d, n, one), dim_const(d, 0)); /* of no steps as well */
    const char *const names[] = {"c", "b", "l", "m"};
    const ix **to[] = {&q->c, &q->b, &q->l, &q->m};
    const dim *const extents[] = {n, before, size, size};
    for (int k = 0; k < 4; k++) {
        *to[k] = unused_ix(g, &q->s->places, names[k], extents[k], &taken);
        vec_push(q->s->scratch, &taken, *to[k]);
    }
    q->size = size_value(g, size);
    value *start = both(g, OP_mul, graph_index(g, q->c), q->size);
    q->row = both(g, OP_add, start, graph_index(g, q->m));
    q->front = both(g, OP_add, start, graph_index(g, q->l));
    q->row_there = both(g, OP_lt, q->row, size_value(g, steps));
    q->front_there = both(g, OP_lt, q->front, size_value(g, steps));
}

value *chunked_sum(scans *s, const separated *p)
{
    graph *g = s->g;
    chunks q = {.s = s, .p = p, .g = g};
    take_indices(&q);
    value *l = graph_index(g, q.l), *m = graph_index(g, q.m);
    value *fronts = at_place(g, times_fronts(s, p, NULL, true), p->t, q.front, q.front_there);
    value *keys = rows_in(&q, true), *values = rows_in(&q, false);
    ix_set over = {0};
    vec_push(s->scratch, &over, q.m);

    value *score = sum_product(s, fronts, keys, &p->kept, NULL);
    value *weight = times(g, score, decay_at(s, p, both(g, OP_sub, l, m)));
    value *inside = sum_product(s, weight, values, &over, both(g, p->strict ? OP_lt : OP_le, m, l));

    value *rest = fold_constants(g, both(g, OP_sub, q.size, graph_int(g, 1)));
    value *b = graph_index(g, q.b);
    value *left = times(g, value_at(g, keys, q.c, b), decay_at(s, p, both(g, OP_sub, rest, m)));
    value *added = sum_product(s, left, value_at(g, values, q.c, b), &over, NULL);
    value *second = from_second(g, q.c);
    value *since = decay_at(s, p, both(g, OP_add, l, graph_int(g, 1)));
    value *outside = times(g, sum_product(s, fronts, states(&q, added), &p->kept, second), since);

    value *all = both(g, OP_add, inside, or_zero(g, second, outside));
    value **index = ARENA_ARRAY(g->a, value *, all->n_ix);
    value *t = graph_index(g, p->t);
    for (uint32_t k = 0; k < all->n_ix; k++)
        index[k] = all->ix[k] == q.c   ? both(g, OP_idiv, t, q.size)
                   : all->ix[k] == q.l ? both(g, OP_imod, t, q.size)
                                       : graph_index(g, all->ix[k]);
    return times_fronts(s, p, graph_read(g, all, index, NULL), false);
}
