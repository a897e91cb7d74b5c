/* graph_build.c: constructors, hash-consing, types, regions, rewriting. */
#include "graph_support.h"

static fixture s;
static graph *g;
static const ix *b, *t, *e;

static void setup(void)
{
    open_fixture(&s);
    g = graph_new(module_new(s.a, s.names), "g", DT_F32);
    const char *const symbol[] = {"B", "T", "E"};
    for (int i = 0; i < 3; i++) {
        dim_sym(g->dims, symbol[i]);
        vec_push(g->a, &g->symbols, intern(s.names, symbol[i]));
    }
    b = graph_ix(g, "b", dim_sym(g->dims, "B"));
    t = graph_ix(g, "t", dim_sym(g->dims, "T"));
    e = graph_ix(g, "e", dim_sym(g->dims, "E"));
}

static void teardown(void)
{
    close_fixture(&s);
}

static value *input(const char *name, const ix *i, const ix *j)
{
    const ix *axes[2] = {i, j};
    return graph_input(g, name, ST_F32, axes, j ? 2 : 1, false, 0, NULL);
}

static value *elem2(op_id op, value *x, value *y)
{
    value *args[2] = {x, y};
    return graph_elem(g, op, args, NULL);
}

static void want_type(const value *v, const char *names)
{
    strbuf text = {.a = s.a};
    for (uint32_t k = 0; k < v->n_ix; k++)
        sb_puts(&text, v->ix[k]->name);
    ck_assert_str_eq(sb_text(&text), names);
}

static void output(const char *name, value *v)
{
    graph_result r = {.name = name, .v = v, .n_axes = v->n_ix, .axes = v->ix, .store = ST_F32};
    vec_push(g->a, &g->results, r);
}

START_TEST(equal_terms_are_one_value)
{
    value *x = input("x", b, t), *y = input("y", t, e);
    ck_assert_ptr_eq(elem2(OP_add, x, y), elem2(OP_add, x, y));
    ck_assert_ptr_ne(elem2(OP_add, x, y), elem2(OP_add, y, x));
    ck_assert_ptr_eq(graph_real(g, NAN), graph_real(g, -NAN));
    ck_assert_ptr_ne(graph_real(g, 0.0), graph_real(g, -0.0));
    ck_assert_ptr_ne(graph_int(g, 1), graph_bool(g, true));
    ck_assert_ptr_eq(graph_index(g, t), graph_index(g, t));
    ck_assert_ptr_ne(graph_index(g, t), graph_index(g, e));
    ck_assert_ptr_eq(input("x", b, t), x);
    ck_assert_uint_eq(g->inputs.n, 2);
    ck_assert_ptr_null(graph_ix(g, "t", dim_sym(g->dims, "E")));
    for (int k = 0; k < 2000; k++)
        ck_assert_ptr_eq(graph_int(g, k), graph_int(g, k));
}
END_TEST

START_TEST(types)
{
    value *x = input("x", b, t), *y = input("y", t, e);
    want_type(elem2(OP_mul, x, y), "bte");
    want_type(elem2(OP_mul, y, x), "teb");
    want_type(graph_contract(g, x, y, &t, 1, NULL), "be");
    value *causal = elem2(OP_le, graph_index(g, e), graph_index(g, t));
    want_type(graph_reduce(g, RED_sum, y, &e, 1, causal), "t");
    want_type(graph_norm(g, OP_softmax, x, &t, 1, causal), "bte");
    value *at[2] = {graph_index(g, e), graph_index(g, b)};
    want_type(graph_read(g, x, at, NULL), "eb");
    const ix *joined = graph_ix(g, "j", dim_add(g->dims, b->extent, t->extent));
    value *parts[2] = {input("p", b, e), input("q", t, NULL)};
    const ix *own[2] = {b, t};
    value *join = graph_join(g, joined, parts, own, 2);
    want_type(join, "je");
    ck_assert_int_eq(graph_reduce(g, RED_argmax, x, &t, 1, NULL)->dt, DT_I64);
    ck_assert_int_eq(graph_reduce(g, RED_count, causal, &t, 1, NULL)->dt, DT_I64);
    ck_assert_int_eq(causal->dt, DT_BOOL);
}
END_TEST

/* h[t] = tanh(x[t] + h[t-1]), with a value that stays outside the region. */
static value *recurrence(value **outside, value **inside)
{
    const ix *i = graph_ix(g, "i", t->extent);
    const ix *axes[2] = {b, i};
    value *x = input("x", b, t);
    uint32_t scan = graph_new_scan(g);
    value *h = graph_history(g, scan, 0, "h", DT_F32, axes, 2, i);
    value *at[2] = {graph_index(g, b), elem2(OP_sub, graph_index(g, t), graph_int(g, 1))};
    value *before = graph_read(g, h, at, elem2(OP_le, graph_int(g, 1), graph_index(g, t)));
    *outside = elem2(OP_mul, x, x);
    *inside = elem2(OP_add, *outside, before);
    value *row = graph_elem(g, OP_tanh, inside, NULL);
    value *appended = graph_append(g, h, row, t);
    value *sc = graph_scan(g, scan, t, false, &appended, 1);
    return graph_result_of(g, sc, 0);
}

START_TEST(regions)
{
    value *outside = NULL, *inside = NULL;
    value *r = recurrence(&outside, &inside);
    want_type(r, "bi");
    output("h", r);
    ck_assert(graph_verify(g, &s.ds, NULL));
    unsigned char *memo = ARENA_ARRAY(s.a, unsigned char, g->values.n);
    ck_assert(graph_in_region(g, inside, 0, memo));
    ck_assert(!graph_in_region(g, outside, 0, memo));
    ck_assert(!graph_in_region(g, r, 0, memo));
    value_list live = {0};
    graph_live(g, s.a, &live);
    uint32_t *home = graph_homes(g, s.a, &live);
    ck_assert_uint_eq(home[inside->id], 1);
    ck_assert_uint_eq(home[outside->id], 0);
    ck_assert_uint_eq(home[r->id], 0);
}
END_TEST

static value *tanh_to_sin(void *ctx, graph *to, value *v)
{
    (void)ctx;
    return v->op == OP_tanh ? graph_elem(to, OP_sin, v->args, NULL) : v;
}

START_TEST(rewriting_a_region)
{
    value *outside = NULL, *inside = NULL;
    output("h", recurrence(&outside, &inside));
    graph_rewrite(g, tanh_to_sin, NULL);
    ck_assert(graph_verify(g, &s.ds, "after the test"));
    ck_assert_ptr_null(strstr(print_one(&s, g), "tanh"));
    ck_assert_ptr_nonnull(strstr(print_one(&s, g), "= sin"));
}
END_TEST

static value *drop_exp(void *ctx, graph *to, value *v)
{
    (void)to;
    return v->op == OP_exp ? *(value **)ctx : v;
}

/* An operand that loses an index or has them in another order is made to fit. */
START_TEST(operands_are_fitted)
{
    value *x = input("x", b, t), *y = input("y", t, b), *z = input("z", t, NULL);
    value *ex = graph_elem(g, OP_exp, &x, NULL);
    value *at[2] = {graph_int(g, 0), graph_index(g, e)};
    output("r", graph_read(g, ex, at, NULL));
    output("s", graph_norm(g, OP_softmax, ex, &b, 1, NULL));
    value **ctx = &y;
    graph_rewrite(g, drop_exp, ctx);
    ck_assert(graph_verify(g, &s.ds, NULL));
    const value *r = g->results.v[0].v;
    ck_assert_ptr_eq(r->args[0], y);
    ck_assert_ptr_eq(r->args[1], at[1]);
    ck_assert_ptr_eq(r->args[2], at[0]);
    g->results.n = 0;
    output("r", graph_read(g, ex, at, NULL));
    output("s", graph_norm(g, OP_softmax, ex, &b, 1, NULL));
    ctx = &z;
    graph_rewrite(g, drop_exp, ctx);
    ck_assert(graph_verify(g, &s.ds, NULL));
    ck_assert_ptr_nonnull(strstr(print_one(&s, g), "select 0 <= b, %z, %z : f32<b:B, t:T>"));
}
END_TEST

START_TEST(verifier_finds_broken_graphs)
{
    value *outside = NULL, *inside = NULL;
    value *r = recurrence(&outside, &inside);
    output("leak", inside);
    ck_assert(!graph_verify(g, &s.ds, "after a bad pass"));
    ck_assert_ptr_nonnull(strstr(s.ds.first->text, "after a bad pass"));
    ck_assert_ptr_nonnull(strstr(s.ds.first->text, "which is not there"));
    g->results.n = 0;
    output("h", r);
    ck_assert(graph_verify(g, &s.ds, NULL));
    value *broken = outside;
    broken->dt = DT_BOOL;
    ck_assert(!graph_verify(g, &s.ds, NULL));
    broken->dt = DT_F32;
    broken->ix = (const ix *[]){t, b};
    ck_assert(!graph_verify(g, &s.ds, NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph build");
    TCase *c = tcase_create("build");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, equal_terms_are_one_value);
    tcase_add_test(c, types);
    tcase_add_test(c, regions);
    tcase_add_test(c, rewriting_a_region);
    tcase_add_test(c, operands_are_fitted);
    tcase_add_test(c, verifier_finds_broken_graphs);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
