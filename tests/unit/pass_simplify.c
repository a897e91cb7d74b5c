/* pass_simplify.c: random graphs mean the same before and after simplify. The rewrites themselves
 * are shown in tests/passes/simplify. */
#include "graph_support.h"
#include "passes/passes.h"

enum { N = 3, MAX_VALUES = 40 };

static fixture s;
static uint64_t seed;

static void setup(void)
{
    open_fixture(&s);
}

static void teardown(void)
{
    close_fixture(&s);
}

static size_t pick(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(seed >> 33) % n;
}

typedef struct maker {
    graph *g;
    const ix *ix[3];
    VEC(value *) reals;
    VEC(value *) ints;
    VEC(value *) bools;
} maker;

static value *some(value **v, size_t n)
{
    return v[pick(3) ? n - 1 - pick(n < 6 ? n : 6) : pick(n)];
}

#define SOME(list) some((list).v, (list).n)

/* A predicate, or now and then none. */
static value *maybe(maker *m)
{
    return pick(3) ? SOME(m->bools) : NULL;
}

static void add(maker *m, value *v)
{
    if (v->dt == DT_I64)
        vec_push(s.a, &m->ints, v);
    else if (v->dt == DT_BOOL)
        vec_push(s.a, &m->bools, v);
    else
        vec_push(s.a, &m->reals, v);
}

static void add_real(maker *m)
{
    static const op_id unary[] = {OP_neg, OP_abs, OP_sign, OP_tanh};
    static const op_id binary[] = {OP_add, OP_sub, OP_mul, OP_max, OP_min, OP_weigh, OP_div};
    value *a[3] = {SOME(m->reals), SOME(m->reals), NULL};
    const ix *over[2] = {m->ix[pick(3)], m->ix[pick(3)]};
    switch (pick(7)) {
    case 0:
        add(m, graph_elem(m->g, unary[pick(4)], a, NULL));
        break;
    case 1:
    case 2:
        add(m, graph_elem(m->g, binary[pick(7)], a, NULL));
        break;
    case 3:
        a[2] = a[1];
        a[1] = a[0];
        a[0] = SOME(m->bools);
        add(m, graph_elem(m->g, OP_select, a, NULL));
        break;
    case 4:
        add(m,
            graph_reduce(m->g, pick(2) ? RED_sum : (reduce_kind)pick(4), a[0], over, 1, maybe(m)));
        break;
    case 5:
        add(m, graph_contract(m->g, a[0], a[1], over, over[0] == over[1] ? 1 : 2, maybe(m)));
        break;
    default:
        if (value_has_ix(a[0], over[0]))
            add(m, graph_norm(m->g, pick(2) ? OP_softmax : OP_normalize, a[0], over, 1, maybe(m)));
    }
}

static void add_int_or_bool(maker *m)
{
    static const op_id of_ints[] = {OP_add, OP_sub, OP_max, OP_min,  OP_lt,
                                    OP_le,  OP_eq,  OP_ne,  OP_imod, OP_bitand};
    value *i[2] = {SOME(m->ints), SOME(m->ints)}, *b[2] = {SOME(m->bools), SOME(m->bools)};
    switch (pick(4)) {
    case 0:
        add(m, graph_elem(m->g, pick(2) ? OP_and : OP_or, b, NULL));
        break;
    case 1:
        add(m, graph_elem(m->g, OP_not, b, NULL));
        break;
    default: {
        op_id op = of_ints[pick(10)];
        if (op == OP_imod)
            i[1] = graph_int(m->g, 1 + (int64_t)pick(3));
        add(m, graph_elem(m->g, op, i, NULL));
    }
    }
}

/* Index values that mostly stay inside; where not, the predicate says so. */
static void add_read(maker *m)
{
    value *x = pick(4) ? SOME(m->reals) : SOME(m->ints), *index[8], *inside = NULL;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        index[k] = graph_index(m->g, m->ix[pick(3)]);
        if (pick(3))
            continue;
        index[k] = SOME(m->ints);
        value *low[2] = {graph_int(m->g, 0), index[k]};
        value *high[2] = {index[k], graph_dim(m->g, x->ix[k]->extent)};
        value *both[2] = {graph_elem(m->g, OP_le, low, NULL), graph_elem(m->g, OP_lt, high, NULL)};
        value *here = graph_elem(m->g, OP_and, both, NULL);
        value *and[2] = {inside, here};
        inside = inside ? graph_elem(m->g, OP_and, and, NULL) : here;
    }
    add(m, graph_read(m->g, x, index, inside));
}

static graph *random_graph(void)
{
    static const double constant[] = {0, -0.0, 1, -1, 0.5, NAN, INFINITY, -INFINITY};
    maker m = {.g = graph_new(module_new(s.a, s.names), "g", DT_F64)};
    const dim *size = dim_sym(m.g->dims, "N");
    vec_push(s.a, &m.g->symbols, intern(s.names, "N"));
    for (int k = 0; k < 3; k++) {
        m.ix[k] = graph_ix(m.g, k == 0 ? "i" : k == 1 ? "j" : "k", size);
        add(&m, graph_index(m.g, m.ix[k]));
        add(&m, graph_int(m.g, k));
    }
    const ix *axes[2] = {m.ix[1], m.ix[0]};
    add(&m, graph_dim(m.g, size));
    add(&m, graph_bool(m.g, false));
    add(&m, graph_bool(m.g, true));
    add(&m, graph_input(m.g, "b", ST_BOOL, m.ix, 1, false, 0, NULL));
    for (size_t k = 0; k < sizeof constant / sizeof constant[0]; k++)
        add(&m, graph_real(m.g, constant[k]));
    add(&m, graph_input(m.g, "x", ST_F64, m.ix, 2, false, 0, NULL));
    add(&m, graph_input(m.g, "y", ST_F64, axes, 1 + (uint32_t)pick(2), false, 0, NULL));
    for (int k = 0; k < MAX_VALUES; k++) {
        size_t what = pick(5);
        if (what == 0)
            add_read(&m);
        else if (what < 3)
            add_int_or_bool(&m);
        else
            add_real(&m);
    }
    static const char *const name[] = {"a", "b", "c", "d"};
    for (size_t k = 0; k < 4; k++) {
        value *v = k < 2   ? m.reals.v[m.reals.n - 1 - k]
                   : k < 3 ? m.ints.v[m.ints.n - 1]
                           : m.bools.v[m.bools.n - 1];
        graph_result r = {.name = name[k], .v = v, .n_axes = v->n_ix, .axes = v->ix};
        r.store = v->dt == DT_I64 ? ST_I64 : v->dt == DT_BOOL ? ST_BOOL : ST_F64;
        vec_push(s.a, &m.g->results, r);
    }
    return m.g;
}

static void compare(const run *x, const run *y, const char *before, const char *after)
{
    ck_assert_msg(x->status == y->status, "status %d, then %d\n%s%s", x->status, y->status, before,
                  after);
    for (int k = 0; k < 4 && x->status == INTERP_OK; k++) {
        size_t n = 1;
        for (uint32_t d = 0; d < x->out[k].rank; d++)
            n *= (size_t)x->out[k].shape[d];
        for (size_t i = 0; i < n; i++) {
            bool same = x->out[k].i ? x->out[k].i[i] == y->out[k].i[i] : true;
            if (x->out[k].f) {
                double a = x->out[k].f[i], b = y->out[k].f[i];
                same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * (1 + fabs(a));
            }
            ck_assert_msg(same, "output %d, element %zu\n%s%s", k, i, before, after);
        }
    }
}

START_TEST(same_meaning)
{
    static const double numbers[] = {1, 0, 1, 0.5, -1,   2, NAN, 0,  -0.0, 3, -2,
                                     1, 1, 2, -3,  0.25, 7, 1,   -1, 0,    5, 2};
    for (int round = 0; round < 300; round++) {
        seed = (uint64_t)(_i * 300 + round);
        graph *g = random_graph();
        ck_assert(graph_verify(g, &s.ds, NULL));
        const char *before = print_one(&s, g);
        graph *again = read_one(&s, before);
        ck_assert_str_eq(print_one(&s, again), before);
        bool ok =
            passes_run(g, &s.ds, &(pass_options){.only = "simplify", .limit = -1, .verify = true});
        ck_assert_msg(ok, "%s", before);
        const char *after = print_one(&s, g);
        for (int64_t n = 0; n <= N; n += 1 + n / 2) { /* 0, 1, 2 */
            run x = run_graph(&s, again, &n, numbers, NULL),
                y = run_graph(&s, g, &n, numbers, NULL);
            compare(&x, &y, before, after);
        }
        close_fixture(&s);
        open_fixture(&s);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pass simplify");
    TCase *c = tcase_create("simplify");
    tcase_set_timeout(c, 100);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, same_meaning, 0, 4);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
