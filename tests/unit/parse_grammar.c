/* parse_grammar.c: files of tests/parse against the trees beside them, and small texts that test
 * one rule. */
#include "parse_support.h"

#ifndef PARSE_FOLDER
#define PARSE_FOLDER "tests/parse"
#endif

static void same_as_file(const char *name, const char *ending, const char *text)
{
    char path[512];
    size_t n;
    snprintf(path, sizeof path, "%s/%s%s", PARSE_FOLDER, name, ending);
    char *wanted = read_whole(path, &n);
    ck_assert_str_eq(text, wanted);
    free(wanted);
}

static const char *const files[] = {"programs", "constructs"};

START_TEST(trees_of_files)
{
    char path[512];
    size_t n;
    snprintf(path, sizeof path, "%s/%s.attn", PARSE_FOLDER, files[_i]);
    char *text = read_whole(path, &n);
    parsed p;
    parse_bytes(&p, text, n);
    ck_assert_str_eq(parsed_reports(&p), "");
    same_as_file(files[_i], ".tree", parsed_tree(&p));
    same_as_file(files[_i], ".fmt", parsed_format(&p));
    parsed_free(&p);
    free(text);
}
END_TEST

/* The body of a function without inputs, and its tree without the function around it. */
static const struct {
    const char *body, *tree;
} bodies[] = {
    {"y = 0..H", NULL},
    {"y = x[0..H]", "(eq y = (at x {0 .. H}))"},
    {"y = x[1.5..H]", "(eq y = (at x {#1.5 .. H}))"},
    {"y = 1e-5 + 1E5 + 0.5e+2", "(eq y = (+ (+ #1e-5 #100000) #50))"},
    {"y = 9223372036854775807", "(eq y = 9223372036854775807)"},
    {"y = a - -b", "(eq y = (- a (neg b)))"},
    {"y = -a * b", "(eq y = (* (neg a) b))"},
    {"y = -a ^ 2", "(eq y = (neg (^ a 2)))"},
    {"y = a ^ b ^ c", "(eq y = (^ a (^ b c)))"},
    {"y = a - b - c", "(eq y = (- (- a b) c))"},
    {"y = not not a or b", "(eq y = (or (not (not a)) b))"},
    {"y = a where b", "(eq y = (where a b))"},
    {"y = (a where b) where c", "(eq y = (where (where a b) c))"},
    {"y = a where b else c else d", "(eq y = (else (where a b) (else c d)))"},
    {"y = f(a where b else c, d else e)", "(eq y = (call f (else (where a b) c) (else d e)))"},
    {"y = f(n = 3)(4)", "(eq y = (call (call f n=3) 4))"},
    {"y = (a, b, c)", "(eq y = (tuple a b c))"},
    {"y = ((a))", "(eq y = a)"},
    {"(y) = 3", "(eq y = 3)"},
    {"y = 1;; z = 2;", "(eq y = 1)\n  (eq z = 2)"},
    {"y = a\n\n\n  + b", "(eq y = (+ a b))"},
    {"y = a +\n  b", "(eq y = (+ a b))"},
    {"y = f(a,\n\n b)\n[i; f] = y", "(eq y = (call f a b))\n  (eq (join i f) = y)"},
    {"y = f\n(a, b) = y", "(eq y = f)\n  (eq a b = y)"},
    {"y # c = 4\n = 3 # d", "(eq y = 3)"},
    {"dim = 3\nparam = 4\nconst[i] = 5", "(eq dim = 3)\n  (eq param = 4)\n  (eq const{i} = 5)"},
    {"param mask: [T]\npart score = fn", "(param mask : real[T])\n  (part score = fn)"},
    {"y = param +\n dim * from", "(eq y = (+ param (* dim from)))"},
    {"e\xCC\x81 = \xC3\xA9", "(eq \xC3\xA9 = \xC3\xA9)"}, /* two spellings of one letter */
    {"y = 1\r\nz = 2\r\n", "(eq y = 1)\n  (eq z = 2)"},
    {"return a, b", "(return a b)"},
    {"until not a", "(until (not a))"},
    {"y: real", "(decl y : real)"},
    {"y = x[i, :, a..b, j in S, k in 0..n-1 where i < j]",
     "(eq y = (at x {i, :, a .. b, j in S, k in 0 .. (- n 1) where (chain i < j)}))"},
};

START_TEST(trees_of_bodies)
{
    parsed p;
    char text[512], wanted[1024];
    snprintf(text, sizeof text, "fn f() {\n%s\n}", bodies[_i].body);
    parse_bytes(&p, text, strlen(text));
    if (bodies[_i].tree) {
        snprintf(wanted, sizeof wanted, "(fn f\n  %s)\n", bodies[_i].tree);
        ck_assert_str_eq(parsed_reports(&p), "");
        ck_assert_str_eq(parsed_tree(&p), wanted);
    } else {
        ck_assert_uint_gt(p.ds.n_errors, 0);
    }
    parsed_free(&p);
}
END_TEST

START_TEST(spans)
{
    static const char text[] = "fn f() { y = (a + b) * cc[i] }";
    parsed p;
    parse_bytes(&p, text, strlen(text));
    const ast_stmt *s = p.file->decls[0]->body[0];
    ck_assert_uint_eq(s->at.lo, 9);
    ck_assert_uint_eq(s->at.hi, 28);
    ck_assert_uint_eq(s->e->at.lo, 13);
    ck_assert_uint_eq(s->e->at.hi, 28);
    ck_assert_uint_eq(s->e->b->index->at.lo, 26);
    ck_assert_uint_eq(s->targets[0].name.at.hi, 10);
    ck_assert_uint_eq(s->e->depth, 3);
    parsed_free(&p);
}
END_TEST

START_TEST(odd_files)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "# only a comment",
                                        "\357\273\277const x = 3",
                                        ";;",
                                        "fn f() { }",
                                        "fn f()\n{\n}\n;\n\nfn g() {} fn h() {}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parsed p;
        parse_bytes(&p, texts[i], strlen(texts[i]));
        ck_assert_str_eq(parsed_reports(&p), "");
        parsed_free(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parse_grammar");
    TCase *c = tcase_create("trees");
    tcase_add_loop_test(c, trees_of_files, 0, (int)(sizeof files / sizeof files[0]));
    tcase_add_loop_test(c, trees_of_bodies, 0, (int)(sizeof bodies / sizeof bodies[0]));
    tcase_add_test(c, spans);
    tcase_add_test(c, odd_files);
    suite_add_tcase(s, c);
    return run_suite(s);
}
