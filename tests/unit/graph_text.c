/* graph_text.c: graph text: what is printed reads back and prints the same. */
#include "graph_support.h"

static fixture s;

static void setup(void)
{
    open_fixture(&s);
}

static void teardown(void)
{
    close_fixture(&s);
}

/* The text prints as itself. */
static void same(const char *text)
{
    ck_assert_str_eq(print_one(&s, read_one(&s, text)), text);
}

/* The text prints as `wanted`, and that as itself. */
static void becomes(const char *text, const char *wanted)
{
    ck_assert_str_eq(print_one(&s, read_one(&s, text)), wanted);
    same(wanted);
}

START_TEST(whole_interface)
{
    same("graph @'a b' real f64 recurrence {\n"
         "  dims T, E, L\n"
         "  check E == 2*T \"x and \\\"y\\\"\\x0a\"\n"
         "  check T <= E + 1 \"\"\n"
         "  %x = input \"x\" f16 : f64<t:T, e:E>\n"
         "  %past = input \"past\" bf16 optional family 1 from \"p{l}\" : f64<l:L, t:T>\n"
         "  %n = input \"n\" i32 optional : i64<>\n"
         "  %m = input \"m\" bool : bool<t:T>\n"
         "  %u = input \"u\" u8 : i64<t:T>\n"
         "  %W = param \"W\" f64 family 1 from \"enc.{l}.W\" : f64<l:L, e:E>\n"
         "  %unread = param \"unread\" f32 : f64<>\n"
         "  output \"y\" bf16 %x[e, t]\n"
         "  output \"z\" f64 %W[l, e] family 1 from \"z{l}\"\n"
         "  output \"again\" f64 %x[e, k:3, t]\n"
         "}\n");
}
END_TEST

START_TEST(every_form)
{
    same("graph @g real f32 {\n"
         "  dims T, S\n"
         "  %x = input \"x\" f32 : f32<t:T>\n"
         "  %n = input \"n\" i64 optional : i64<t:T>\n"
         "  %1 = given %n : bool<>\n"
         "  %2 = read %n[t] where %1 : i64<t:T>\n"
         "  %3 = idiv %2, 2 where 0 <= %2 : i64<t:T>\n"
         "  %4 = real %3 : f32<t:T>\n"
         "  %5 = add %x, %4 : f32<t:T>\n"
         "  %6 = select t < %2, %5, -inf : f32<t:T>\n"
         "  %7 = reduce argmax %6 over t where %2 <= 3 : i64<>\n"
         "  %8 = reduce sum 1.0 over j:S : f32<>\n"
         "  %9 = mul %6, %8 : f32<t:T>\n"
         "  %10 = softmax %9 over t where t <= T // 2 or %1 : f32<t:T>\n"
         "  %11 = join m of (a:2 0.5), (t %10) : f32<m:T + 2>\n"
         "  %12 = contract %11, %11 over m where not m < 1 : f32<>\n"
         "  output \"o\" f32 %12[]\n"
         "  output \"i\" i64 %7[]\n"
         "}\n");
}
END_TEST

START_TEST(infix)
{
    same("graph @g real f32 {\n"
         "  dims T\n"
         "  %a = input \"a\" i64 : i64<t:T>\n"
         "  %b = input \"b\" bool : bool<t:T>\n"
         "  %x = input \"x\" f32 : f32<t:T>\n"
         "  %1 = select (1 - %a) * 2 // (T % 3) == -t, %x, 0.0 : f32<t:T>\n"
         "  %2 = select not %b and (t < 1 or %b) or not %b, %1, 1e-5 : f32<t:T>\n"
         "  %3 = select (%x <= 0.5) != (%x == nan), %2, 1e30 : f32<t:T>\n"
         "  %4 = select -(1) + -(-1) - -9223372036854775808 < {2*T - 1}, %3, -0.0 : f32<t:T>\n"
         "  %5 = select t - 1 - 2 - (3 - 4) <= 0, %4, 0.1 : f32<t:T>\n"
         "  %6 = select not not %b and (%b and %b) == true, %5, inf : f32<t:T>\n"
         "  output \"o\" f32 %6[t]\n"
         "}\n");
}
END_TEST

START_TEST(operands_that_need_a_name)
{
    same("graph @g real f32 {\n"
         "  dims T\n"
         "  %1 = add t, 1 : i64<t:T>\n"
         "  %2 = read %1[T - 1 - t] : i64<t:T>\n"
         "  %c = const 0.5 : f32<>\n"
         "  %d = dim {T + 1} : i64<>\n"
         "  %i = index j : i64<j:T>\n"
         "  %yes = const true : bool<>\n"
         "  output \"a\" i64 %2[t]\n"
         "  output \"b\" f32 %c[]\n"
         "  output \"c\" i64 %d[]\n"
         "  output \"d\" i64 %i[j]\n"
         "  output \"e\" bool %yes[]\n"
         "}\n");
}
END_TEST

START_TEST(reading_is_free)
{
    becomes("; a comment\n"
            "graph @g real f32 { ; more\n"
            "dims T ;\n"
            "  %n  =  input \"n\"  i64 : i64< t : T >\n"
            "\n"
            "  %same = input \"n\" i64 : i64<t:T>\r\n"
            "  %p = le t, ((%n)) : bool<t:T>\n"
            "  %q = not %p : bool<t:T>\n"
            "  %12 = select %q, t + 0 * T, %same : i64<t:T>\n"
            "  output \"o\" i32 %12[t]\n"
            "}\n",
            "graph @g real f32 {\n"
            "  dims T\n"
            "  %n = input \"n\" i64 : i64<t:T>\n"
            "  %1 = select not t <= %n, t + 0 * T, %n : i64<t:T>\n"
            "  output \"o\" i32 %1[t]\n"
            "}\n");
}
END_TEST

START_TEST(nested_scans)
{
    same("graph @g real f32 {\n"
         "  dims T, S\n"
         "  %x = input \"x\" f32 : f32<t:T, s:S>\n"
         "  %1 = exp %x : f32<t:T, s:S>\n"
         "  %2 = scan #0 t {\n"
         "    %h.0 = history #0 0 \"h\" rows i : f32<i:T>\n"
         "    %3 = read %h.0[t - 1] where 1 <= t : f32<t:T>\n"
         "    %4 = tanh %3 : f32<t:T>\n"
         "    %inner = scan #1 s backward {\n"
         "      %g.0 = history #1 0 \"g\" rows j : f32<t:T, j:S>\n"
         "      %5 = read %g.0[t, s + 1] where s < S - 1 : f32<t:T, s:S>\n"
         "      %6 = add %5, %1 : f32<t:T, s:S>\n"
         "      %7 = mul %6, %4 : f32<t:T, s:S>\n"
         "      %g.1 = append %g.0, %7 at s : f32<t:T, j:S>\n"
         "      yield %g.1\n"
         "    }\n"
         "    %8 = result %inner 0 : f32<t:T, j:S>\n"
         "    %9 = reduce sum %8 over j : f32<t:T>\n"
         "    %h.1 = append %h.0, %9 at t : f32<i:T>\n"
         "    yield %h.1\n"
         "  }\n"
         "  %10 = result %2 0 : f32<i:T>\n"
         "  output \"h\" f32 %10[i]\n"
         "}\n");
}
END_TEST

START_TEST(names_are_made_unique)
{
    module *m = module_new(s.a, s.names);
    graph *g = graph_new(m, "g", DT_F32);
    const ix *i = graph_ix(g, "true", dim_const(g->dims, 2));
    value *v = graph_input(g, "x", ST_F32, &i, 1, false, 0, NULL);
    const char *const hint[] = {"x", "x.1", "x", "7", "a b", "not"};
    for (size_t k = 0; k < 6; k++) {
        v = graph_elem(g, OP_exp, &v, NULL);
        v->hint = hint[k];
    }
    graph_result r = {.name = "y", .v = v, .n_axes = 1, .axes = &i, .store = ST_F32};
    vec_push(g->a, &g->results, r);
    same(print_one(&s, g));
    ck_assert_str_eq(print_one(&s, g), "graph @g real f32 {\n"
                                       "  %x = input \"x\" f32 : f32<'true':2>\n"
                                       "  %x.1 = exp %x : f32<'true':2>\n"
                                       "  %x.1.1 = exp %x.1 : f32<'true':2>\n"
                                       "  %x.2 = exp %x.1.1 : f32<'true':2>\n"
                                       "  %1 = exp %x.2 : f32<'true':2>\n"
                                       "  %'a b' = exp %1 : f32<'true':2>\n"
                                       "  %'not' = exp %'a b' : f32<'true':2>\n"
                                       "  output \"y\" f32 %'not'['true']\n"
                                       "}\n");
}
END_TEST

/* Dims made in another order than the graph lists them print as a reader will make them. */
START_TEST(order_of_dims)
{
    module *m = module_new(s.a, s.names);
    graph *g = graph_new(m, "g", DT_F32);
    const dim *size = dim_add(g->dims, dim_sym(g->dims, "H"), dim_sym(g->dims, "E"));
    const ix *i = graph_ix(g, "i", size);
    vec_push(g->a, &g->symbols, intern(s.names, "E"));
    vec_push(g->a, &g->symbols, intern(s.names, "H"));
    value *v = graph_input(g, "x", ST_F32, &i, 1, false, 0, NULL);
    graph_result r = {.name = "y", .v = v, .n_axes = 1, .axes = &i, .store = ST_F32};
    vec_push(g->a, &g->results, r);
    ck_assert_ptr_nonnull(strstr(print_one(&s, g), "f32<i:E + H>"));
    same(print_one(&s, g));
}
END_TEST

/* x1 = x0 + x0, forty times: no work grows with the size of the tree. */
START_TEST(shared_values)
{
    strbuf b = {.a = s.a};
    sb_puts(&b, "graph @g real f32 {\n  %x0 = input \"x\" i64 : i64<>\n");
    for (int k = 1; k <= 40; k++)
        sb_printf(&b, "  %%x%d = add %%x%d, %%x%d : i64<>\n", k, k - 1, k - 1);
    sb_puts(&b, "  output \"y\" i64 %x40[]\n}\n");
    const char *printed = print_one(&s, read_one(&s, sb_text(&b)));
    ck_assert_uint_lt(strlen(printed), 4000);
    same(printed);
}
END_TEST

START_TEST(several_graphs)
{
    const char *text =
        "graph @a real f32 {\n  %x = input \"x\" f32 : f32<>\n  output \"y\" f32 %x[]\n}\n"
        "\n"
        "graph @b real f64 {\n  %x = input \"x\" f32 : f64<>\n  output \"y\" f64 %x[]\n}\n";
    strbuf b = {.a = s.a};
    module *m = read_text(&s, text);
    ck_assert_uint_eq(m->graphs.n, 2);
    module_print(m, &b);
    ck_assert_str_eq(sb_text(&b), text);
    strbuf dot = {.a = s.a};
    graph_print_dot(m->graphs.v[0], &dot);
    ck_assert_ptr_nonnull(strstr(sb_text(&dot), "digraph \"a\" {"));
    ck_assert_ptr_nonnull(strstr(sb_text(&dot), "v0 -> r0;"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph text");
    TCase *c = tcase_create("text");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, whole_interface);
    tcase_add_test(c, every_form);
    tcase_add_test(c, infix);
    tcase_add_test(c, operands_that_need_a_name);
    tcase_add_test(c, reading_is_free);
    tcase_add_test(c, nested_scans);
    tcase_add_test(c, names_are_made_unique);
    tcase_add_test(c, order_of_dims);
    tcase_add_test(c, shared_values);
    tcase_add_test(c, several_graphs);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
