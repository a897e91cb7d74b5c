/* parse_format.c: the canonical layout: spaces, breaks, alignment, comments; formatting twice
 * changes nothing, and the result parses to the same tree. */
#include "parse_support.h"

static const struct {
    const char *from, *to;
} cases[] = {
    {"fn   f( x:[T] )->[T]{\n return   x+1\n}", "fn f(x: [T]) -> [T] {\n  return x + 1\n}\n"},
    {"fn f(){return 1}", "fn f() { return 1 }\n"},
    {"fn f(){}", "fn f() {}\n"},
    {"fn f(){\n}", "fn f() {}\n"},
    {"fn f(){ y=1;z=2 }", "fn f() {\n  y = 1\n  z = 2\n}\n"},
    {"\n\n# a\n\n\n# b\nconst x=1\n\n\n\nconst yy=2#c\n#end",
     "# a\n\n# b\nconst x = 1\n\nconst yy = 2  #c\n#end\n"},
    {"fn f() {\n\n  # first\n  y = 1   # one\n  longer[i] = 22 # two\n\n  # last\n\n}",
     "fn f() {\n  # first\n  y         = 1   # one\n  longer[i] = 22  # two\n\n  # last\n}\n"},
    {"fn f() { y = f(a, # first\nb) # second\n}",
     "fn f() {\n  y = f(a,  # first\n        b)  # second\n}\n"},
    {"fn f(\n  # before\n  a: [T], # a\n  b: [T],\n) { y = 1 }",
     "fn f(\n    # before\n    a: [T],  # a\n    b: [T],\n) {\n  y = 1\n}\n"},
    {"fn f() { y = x [ t - 1 , : ] + W[d+1] - a[t+d] }",
     "fn f() { y = x[t-1, :] + W[d+1] - a[t + d] }\n"},
    {"fn f(x: [2 * H, E+H,(N,K)]) { y = - a - - b ^ - 2; z = not(a) }",
     "fn f(x: [2*H, E + H, (N, K)]) {\n  y = -a - -b^-2\n  z = not (a)\n}\n"},
    {"fn f() { y = sum [d in - 1 .. 1] (x [d] else 0) . z }",
     "fn f() { y = sum[d in -1..1](x[d] else 0).z }\n"},
    {"param_ = 3", NULL},
    {"model run [ B ]=f( n=3 )", "model run[B] = f(n = 3)\n"},
};

START_TEST(layout)
{
    parsed p, q;
    parse_bytes(&p, cases[_i].from, strlen(cases[_i].from));
    if (!cases[_i].to) {
        ck_assert_uint_gt(p.ds.n_errors, 0);
        parsed_free(&p);
        return;
    }
    ck_assert_str_eq(parsed_reports(&p), "");
    const char *once = parsed_format(&p);
    ck_assert_str_eq(once, cases[_i].to);
    parse_bytes(&q, once, strlen(once));
    ck_assert_str_eq(parsed_reports(&q), "");
    ck_assert_str_eq(parsed_format(&q), once);
    ck_assert_str_eq(parsed_tree(&q), parsed_tree(&p));
    parsed_free(&p);
    parsed_free(&q);
}
END_TEST

/* Lines of every length: nothing that can be broken is wider than the page. */
START_TEST(long_lines)
{
    parsed p, q;
    char text[4096] = "fn f() {\n  y[t] = ";
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sg(name_%d[t-%d], %*s) %s x%d",
                 i ? " + " : "", i, i, i % 7, "b", i % 3 ? "*" : "where q else", i);
    strcat(text, "\n}\n");
    parse_bytes(&p, text, strlen(text));
    ck_assert_str_eq(parsed_reports(&p), "");
    const char *once = parsed_format(&p);
    for (const char *line = once, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        ck_assert_int_le(end - line, 100);
    }
    parse_bytes(&q, once, strlen(once));
    ck_assert_str_eq(parsed_format(&q), once);
    ck_assert_str_eq(parsed_tree(&q), parsed_tree(&p));
    parsed_free(&p);
    parsed_free(&q);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parse_format");
    TCase *c = tcase_create("layout");
    tcase_add_loop_test(c, layout, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(c, long_lines);
    suite_add_tcase(s, c);
    return run_suite(s);
}
