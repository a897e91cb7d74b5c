/* schedule_random.c: random graphs against the interpreter. The graphs are typed, guard their
 * reads, and compare reals only where both sides compute them exactly alike, so that every
 * difference is a fault. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

enum { N_IX = 7, STEPS = 24, MAX_RANK = 4 };

typedef struct maker {
    arena *a;
    graph *g;
    uint64_t seed;
    const ix *ix[N_IX]; /* i T, j T, k S, l S, m T + S, n 2, t T (the step) */
    VEC(value *) reals;
    VEC(value *) bools; /* predicates */
    VEC(value *) exact; /* reals that are inputs, read or joined */
    int n_joins;
    uint32_t region_from; /* while in a recurrence: values from here on may lie in its region */
} maker;

static uint32_t pick(maker *m, size_t n)
{
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 7;
    m->seed ^= m->seed << 17;
    return (uint32_t)((m->seed >> 11) % n);
}

static value *any_real(maker *m)
{
    size_t n = m->reals.n;
    /* Late ones more often. */
    return m->reals.v[pick(m, 2) ? n - 1 - pick(m, n < 4 ? n : 4) : pick(m, n)];
}

static void keep(maker *m, value *v)
{
    if (v->n_ix <= MAX_RANK)
        vec_push(m->a, &m->reals, v);
}

static value *op2(maker *m, op_id op, value *a, value *b)
{
    return graph_elem(m->g, op, (value *const[]){a, b}, NULL);
}

static value *int_of(maker *m, const ix *i, int64_t plus)
{
    value *x = graph_index(m->g, i);
    return plus == 0  ? x
           : plus > 0 ? op2(m, OP_add, x, graph_int(m->g, plus))
                      : op2(m, OP_sub, x, graph_int(m->g, -plus));
}

static value *and_of(maker *m, value *a, value *b)
{
    return a && b ? op2(m, OP_and, a, b) : a ? a : b;
}

/* A predicate now and then: over indices of x or any. */
static value *maybe_where(maker *m)
{
    value *w = NULL;
    for (uint32_t n = pick(m, 3); n > 0; n--)
        w = and_of(m, w, m->bools.v[pick(m, m->bools.n)]);
    return w;
}

static void make_elem(maker *m)
{
    static const op_id binary[] = {OP_add, OP_sub, OP_mul, OP_max, OP_min, OP_weigh};
    value *a = any_real(m), *b = any_real(m);
    switch (pick(m, 4)) {
    case 0:
        keep(m, graph_elem(m->g, pick(m, 2) ? OP_tanh : OP_sigmoid, &a, NULL));
        break;
    case 1:
        keep(m, graph_elem(m->g, OP_select, (value *const[]){m->bools.v[pick(m, m->bools.n)], a, b},
                           NULL));
        break;
    default:
        keep(m,
             graph_elem(m->g, OP_tanh, (value *const[]){op2(m, binary[pick(m, 6)], a, b)}, NULL));
    }
}

/* The source's indices renamed, shifted, reversed, fixed or gathered, under what makes that safe.
 */
static value *make_read_of(maker *m, value *x)
{
    value *index[MAX_RANK], *where = NULL;
    dims *d = m->g->dims;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        const dim *extent = x->ix[k]->extent;
        const ix *to = m->ix[pick(m, N_IX - 1)];
        value *e;
        if (x->ix[k] == m->ix[6]) { /* the step */
            index[k] = graph_index(m->g, x->ix[k]);
            continue;
        }
        switch (pick(m, 5)) {
        case 0:
            e = int_of(m, to, (int64_t)pick(m, 3) - 1);
            break;
        case 1:
            e = op2(m, OP_sub, graph_dim(m->g, dim_sub(d, extent, dim_const(d, 1))),
                    int_of(m, to, 0));
            break;
        case 2:
            e = graph_int(m->g, (int64_t)pick(m, 2));
            break;
        default:
            e = int_of(m, to->extent == extent ? to : x->ix[k], 0);
        }
        index[k] = e;
        if (e->op == OP_index && e->ix[0]->extent == extent)
            continue;
        where = and_of(m, where, op2(m, OP_le, graph_int(m->g, 0), e));
        where = and_of(m, where, op2(m, OP_lt, e, graph_dim(m->g, extent)));
    }
    return graph_read(m->g, x, index, and_of(m, where, maybe_where(m)));
}

static void make_read(maker *m)
{
    value *x = any_real(m);
    value *r = make_read_of(m, x);
    keep(m, r);
    if (x->op == OP_input && r->n_ix <= MAX_RANK)
        vec_push(m->a, &m->exact, r);
}

static void make_join(maker *m)
{
    /* parts over i and k (own indices), joined along m = T + S */
    value *p[2] = {any_real(m), any_real(m)};
    const ix *own[2] = {m->ix[0], m->ix[2]};
    for (int k = 0; k < 2; k++) {
        if (value_has_ix(p[k], m->ix[4]) || value_has_ix(p[1 - k], own[k]))
            return;
    }
    keep(m, graph_join(m->g, m->ix[4], p, own, 2));
}

static uint32_t some_indices(maker *m, const value *x, const ix **over, bool any)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < N_IX - 1; k++) {
        if (value_has_ix(x, m->ix[k]) ? pick(m, 2) : any && pick(m, 9) == 0)
            over[n++] = m->ix[k];
    }
    return n;
}

static void make_reduce(maker *m)
{
    static const reduce_kind kinds[] = {RED_sum, RED_sum,  RED_max,
                                        RED_min, RED_prod, RED_logsumexp};
    const ix *over[N_IX];
    value *x = any_real(m);
    uint32_t n = some_indices(m, x, over, true);
    if (n == 0)
        return;
    value *r = graph_reduce(m->g, kinds[pick(m, 6)], x, over, n, maybe_where(m));
    keep(m, graph_elem(m->g, OP_tanh, &r, NULL));
    x = m->exact.v[pick(m, m->exact.n)];
    n = some_indices(m, x, over, true);
    if (n && pick(m, 2)) {
        r = graph_reduce(m->g, pick(m, 2) ? RED_argmax : RED_argmin, x, over, n, maybe_where(m));
        keep(m, graph_elem(m->g, OP_real, &r, NULL));
    }
}

static void make_contract(maker *m)
{
    const ix *over[N_IX];
    value *a = any_real(m), *b = any_real(m);
    uint32_t n = some_indices(m, a, over, false);
    if (n)
        keep(m, graph_contract(m->g, a, b, over, n, maybe_where(m)));
}

static void make_norm(maker *m)
{
    const ix *over[N_IX];
    bool hard = pick(m, 3) == 0;
    value *x = hard ? m->exact.v[pick(m, m->exact.n)] : any_real(m);
    uint32_t n = some_indices(m, x, over, false);
    if (n)
        keep(m, graph_norm(m->g, hard ? OP_hardmax : OP_softmax, x, over, n, maybe_where(m)));
}

static void make_one(maker *m)
{
    switch (pick(m, 8)) {
    case 0:
    case 1:
        make_read(m);
        break;
    case 2:
        make_join(m);
        break;
    case 3:
        make_reduce(m);
        break;
    case 4:
        make_contract(m);
        break;
    case 5:
        make_norm(m);
        break;
    default:
        make_elem(m);
    }
}

static value *input(maker *m, const char *name, store_type st, int a, int b)
{
    return graph_input(m->g, name, st, (const ix *const[]){m->ix[a], m->ix[b]}, 2, false, 0, NULL);
}

static void make_graph(maker *m, module *mod)
{
    static const char *const names = "ijklmnt";
    m->g = graph_new(mod, "run", DT_F64);
    dims *d = m->g->dims;
    const dim *T = dim_sym(d, intern(m->g->names, "T")), *S = dim_sym(d, intern(m->g->names, "S"));
    vec_push(m->g->a, &m->g->symbols, intern(m->g->names, "T"));
    vec_push(m->g->a, &m->g->symbols, intern(m->g->names, "S"));
    const dim *extent[N_IX] = {T, T, S, S, dim_add(d, T, S), dim_const(d, 2), T};
    for (int k = 0; k < N_IX; k++)
        m->ix[k] = graph_ix(m->g, intern_n(m->g->names, names + k, 1), extent[k]);
    keep(m, input(m, "x", ST_F64, 0, 2));
    keep(m, input(m, "y", ST_F64, 1, 3));
    keep(m, input(m, "z", ST_F64, 4, 5));
    for (size_t k = 0; k < m->reals.n; k++)
        vec_push(m->a, &m->exact, m->reals.v[k]);
    vec_push(m->a, &m->bools, input(m, "p", ST_BOOL, 0, 1));
    value *c = graph_input(m->g, "c", ST_I64, &m->ix[0], 1, false, 0, NULL);
    value *i[N_IX];
    for (int k = 0; k < N_IX; k++)
        i[k] = graph_index(m->g, m->ix[k]);
    vec_push(m->a, &m->bools, op2(m, OP_le, i[0], i[1]));
    vec_push(m->a, &m->bools, op2(m, OP_lt, i[2], i[3]));
    vec_push(m->a, &m->bools, op2(m, OP_lt, i[2], c));
    vec_push(m->a, &m->bools, op2(m, OP_le, int_of(m, m->ix[1], -1), i[4]));
    vec_push(m->a, &m->bools, op2(m, OP_lt, i[4], graph_dim(m->g, T)));
    vec_push(m->a, &m->bools, op2(m, OP_eq, i[0], i[3]));
    vec_push(m->a, &m->bools, op2(m, OP_lt, c, i[1]));
    /* Sums whose elements go where data says. */
    value *b = graph_input(m->g, "b", ST_I64, &m->ix[2], 1, false, 0, NULL);
    vec_push(m->a, &m->bools, op2(m, OP_eq, c, i[1]));
    vec_push(m->a, &m->bools, op2(m, OP_eq, int_of(m, m->ix[3], 1), op2(m, OP_add, b, i[2])));
    vec_push(m->a, &m->bools, op2(m, OP_eq, op2(m, OP_max, b, c), i[4]));
}

/* h[t] = tanh(something of h[t-1] and of values outside), read again afterwards. */
static void make_scan(maker *m)
{
    graph *g = m->g;
    bool down = pick(m, 2);
    uint32_t scan = graph_new_scan(g);
    const ix *axes[2] = {m->ix[0], m->ix[2]}, *step = m->ix[6];
    value *h = graph_history(g, scan, 0, "h", DT_F64, axes, 2, m->ix[0]);
    value *t = graph_index(g, step), *k = graph_index(g, m->ix[2]);
    value *before = op2(m, down ? OP_add : OP_sub, t, graph_int(g, 1));
    value *first = down ? op2(m, OP_lt, before, graph_dim(g, step->extent))
                        : op2(m, OP_le, graph_int(g, 0), before);
    value *past = graph_read(g, h, (value *const[]){before, k}, first);
    /* Inside, values over (t, k) and one more; the rest of the graph is outside. */
    size_t outside = m->reals.n;
    value *row = past;
    for (int n = 0; n < 4; n++) {
        value *x = any_real(m);
        if (x->n_ix > 3 || value_has_ix(x, step))
            continue;
        row = op2(m, pick(m, 2) ? OP_add : OP_mul, row, x);
        const ix *over[N_IX];
        uint32_t n_over = 0;
        for (int q = 0; q < N_IX - 1; q++) {
            if (q != 2 && value_has_ix(row, m->ix[q]))
                over[n_over++] = m->ix[q];
        }
        if (n_over && pick(m, 3) == 0)
            row = graph_norm(g, OP_softmax, row, over, n_over, NULL);
        if (n_over)
            row = graph_reduce(g, pick(m, 2) ? RED_sum : RED_max, row, over, n_over,
                               pick(m, 2) ? op2(m, OP_le, graph_index(g, over[0]), t) : NULL);
        row = graph_elem(g, OP_tanh, &row, NULL);
    }
    m->reals.n = outside;
    if (!value_has_ix(row, step) || row->n_ix != 2)
        return;
    value *done =
        graph_scan(g, scan, step, down, (value *const[]){graph_append(g, h, row, step)}, 1);
    keep(m, graph_result_of(g, done, 0));
}

static void add_output(maker *m, const char *name, value *v)
{
    graph_result r = {
        .name = intern(m->g->names, name), .v = v, .store = ST_F64, .n_axes = v->n_ix};
    const ix **axes = ARENA_ARRAY(m->g->a, const ix *, v->n_ix);
    for (uint32_t k = 0; k < v->n_ix; k++)
        axes[k] = v->ix[k];
    for (uint32_t k = v->n_ix; k > 1; k--) {
        uint32_t at = pick(m, k);
        const ix *x = axes[k - 1];
        axes[k - 1] = axes[at];
        axes[at] = x;
    }
    r.axes = axes;
    vec_push(m->g->a, &m->g->results, r);
}

static void run(uint64_t seed, const char *sizes)
{
    mem mm = {0};
    arena *a = arena_new(&mm);
    maker m = {.a = a, .seed = seed * 0x9E3779B97F4A7C15u + 1};
    make_graph(&m, module_new(a, strtab_new(a)));
    for (int n = 0; n < STEPS; n++) {
        make_one(&m);
        if (n % 10 == 7)
            make_scan(&m);
    }
    for (uint32_t k = 0; k < 4; k++)
        add_output(&m, arena_printf(a, "o%u", k), m.reals.v[m.reals.n - 1 - k * pick(&m, 3)]);
    strbuf b = {.a = a};
    graph_print(m.g, &b);
    check_case(sb_text(&b), sizes, 4, 0);
    arena_free(a);
}

START_TEST(random_graphs)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        run((uint64_t)_i * 20 + seed, _i % 5 == 0   ? "T=1 S=2"
                                      : _i % 7 == 0 ? "T=2 S=0"
                                                    : "T=3 S=2");
}
END_TEST

/* schedule_random SEED...: those graphs only. */
int main(int argc, char **argv)
{
    Suite *s = suite_create("schedule_random");
    TCase *c = tcase_create("schedule_random");
    int from = argc > 1 ? atoi(argv[1]) : 0, to = argc > 2 ? atoi(argv[2]) : from + 25;
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, random_graphs, from, to);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
