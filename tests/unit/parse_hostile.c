/* parse_hostile.c: inputs made to hurt: each is read, or refused with a report, within its time and
 * memory.
 *
 * Limits are set on the test's own process (Check runs each test in a child). Under a sanitizer,
 * which takes more of both, they are not. */
#include "parse_support.h"

#include <sys/resource.h>
#include <time.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef __OPTIMIZE__
#define SECONDS 1.0
#else
#define SECONDS 3.0
#endif

#define MILLION 1000000

typedef struct text {
    char *s;
    size_t n;
} text;

static void put(text *t, const char *s, size_t n, size_t times)
{
    t->s = realloc(t->s, t->n + n * times + 1);
    ck_assert_ptr_nonnull(t->s);
    for (size_t i = 0; i < times; i++, t->n += n)
        memcpy(t->s + t->n, s, n);
    t->s[t->n] = '\0';
}

static const struct hostile {
    const char *before, *repeated;
    size_t n; /* bytes of repeated; 0: its length */
    size_t times;
    const char *between, *closing, *after;
    const char *report; /* part of the first report; NULL: there is none */
} hostile[] = {
    {"fn f() { y = ", "(", 0, MILLION, "a", ")", " }", "brackets nested deeper than 1000"},
    {"fn f() { y = ", "(", 0, 990, "a", ")", " }", NULL},
    {"fn f() { y = ", "[a;", 0, 990, "a", "]", " }", NULL},
    {"fn f() { y = ", "[", 0, MILLION, "", "", " }", "brackets nested deeper than 1000"},
    {"fn f() { y = ", "1+2*f(", 0, 990, "a", ")", " }", "expression too deep: the limit is 2000"},
    {"fn f() { y = ", "f(a where 1+2*x[not 1==-", 0, 240, "a", "])", " }", NULL},
    {"fn f() { y: [", "(A, (B; ", 0, 400, "C", "))", "] }", NULL},
    {"", "{", 0, MILLION, "", "", "", "unexpected '{'"},
    {"", "}", 0, MILLION, "", "", "", "unexpected '}'"},
    {"fn f() ", "{", 0, MILLION, "", "", "", "unexpected '{'"},
    {"fn f() { y = a", "+a", 0, 200000, "", "", " }", "expression too deep: the limit is 2000"},
    {"fn f() { y = a", "+a", 0, 1900, "", "", " }", NULL},
    {"fn f() { y = a", "<a", 0, 200000, "", "", " }", NULL},
    {"fn f() { y = a", " else a", 0, 200000, "", "", " }", "expression too deep"},
    {"fn f() { y = ", "not ", 0, MILLION, "a", "", " }", "expression too deep"},
    {"fn f() { y = ", "-", 0, MILLION, "a", "", " }", "expression too deep"},
    {"fn f() { y = a", "^a", 0, MILLION / 2, "", "", " }", "expression too deep"},
    {"fn f() { y = a", "[i]", 0, MILLION / 4, "", "", " }", "expression too deep"},
    {"fn f() { y = a", "()", 0, MILLION / 2, "", "", " }", "expression too deep"},
    {"fn f() { y = a", ".b", 0, MILLION / 2, "", "", " }", "expression too deep"},
    {"fn f() { y = f(", "a,", 0, MILLION / 2, "a", "", ") }", NULL},
    {"fn f() { y = [", "a;", 0, MILLION / 2, "a", "", "] }", NULL},
    {"fn f() { y = ", "a", 0, MILLION, "", "", " }", "a name of 1000000 bytes: the limit is 255"},
    {"fn f() { y = ", "\xC3\xA9", 0, MILLION / 2, "", "", " }", "a name of 1000000 bytes"},
    {"fn f() { y = ", "1", 0, MILLION, "", "", " }", "a number of 1000000 characters"},
    {"fn f() { y = 0.", "1", 0, MILLION, "", "", " }", "a number of 1000002 characters"},
    {"fn f() { y = 1e", "1", 0, MILLION, "", "", " }", "a number of 1000002 characters"},
    {"import \"", "a", 0, MILLION, "", "", "\"", "a string of 1000002 bytes: the limit is 4096"},
    {"import \"", "a", 0, MILLION, "", "", "", "this string does not end"},
    {"#", "a", 0, MILLION, "", "", "", NULL},
    {"", "#\n", 0, MILLION / 2, "", "", "", NULL},
    {"", "\n", 0, MILLION, "", "", "", NULL},
    {"fn f() {", "y = 3\n", 0, MILLION / 6, "", "", " }", NULL},
    {"fn f() {", "y = 3;", 0, MILLION / 6, "", "", " }", NULL},
    {"fn f() {", "y = = \n", 0, MILLION / 8, "", "", " }", "unexpected '='"},
    {"fn f(", "a: [T, H],", 0, MILLION / 10, "", "", ") {}", NULL},
    {"fn f() { y = f(", ",", 0, MILLION, "", "", ") }", "unexpected ','"},
    {"", "fn f(\n", 0, MILLION / 6, "", "", "", "unexpected end of line"},
    {"", "fn f() {\n", 0, MILLION / 8, "", "", "", "a '}' is missing"},
    {"", "\0", 1, MILLION, "", "", "", "a NUL byte is not allowed"},
    {"", "\xFF", 0, MILLION, "", "", "", "this is not valid UTF-8"},
    {"", "? ", 0, MILLION / 2, "", "", "", "unexpected character '?'"},
    {"", "f\0n\0", 4, MILLION / 4, "", "", "", "this file is not UTF-8 text"},
    {"fn f(x: [", "N,", 0, 64, "", "", "]) {}", NULL},
    {"dim N = 9223372036854775808", "", 0, 0, "", "", "", "this integer does not fit 64 bits"},
};

START_TEST(survives)
{
    const struct hostile *h = &hostile[_i];
    text t = {0};
    put(&t, h->before, strlen(h->before), 1);
    put(&t, h->repeated, h->n ? h->n : strlen(h->repeated), h->times);
    put(&t, h->between, strlen(h->between), 1);
    put(&t, h->closing, strlen(h->closing), h->times);
    put(&t, h->after, strlen(h->after), 1);

    if (!SANITIZED) {
        struct rlimit memory = {(rlim_t)256 << 20, (rlim_t)256 << 20};
        setrlimit(RLIMIT_AS, &memory);
    }
    clock_t begin = clock();
    parsed p;
    parse_bytes(&p, t.s, t.n);
    free(t.s);
    FILE *null = fopen("/dev/null", "w");
    diags_print(&p.ds, null, false);
    fclose(null);
    if (h->report) {
        ck_assert_ptr_nonnull(p.ds.first);
        ck_assert_msg(strstr(p.ds.first->text, h->report) != NULL, "'%s' instead of '%s'",
                      p.ds.first->text, h->report);
    } else {
        ck_assert_str_eq(parsed_reports(&p), "");
        ck_assert_ptr_nonnull(parsed_format(&p));
    }
    if (!SANITIZED)
        ck_assert_double_lt((double)(clock() - begin) / CLOCKS_PER_SEC, SECONDS);
    parsed_free(&p);
}
END_TEST

/* Every allocation fails once: the parser and the formatter are left by the jump and nothing is
 * lost. */
START_TEST(out_of_memory)
{
    static const char *const texts[] = {
        "fn f(x: [T], n: int = 3) -> [T] {\n  y[t] = [a; b] where x[t] < n else (1, 2)\n"
        "  # comment\n  param W: [(A, B), C] from \"w\"\n}\nfn g() { return 1 }\n",
        "fn f(x: [T] {\n  y[t] = [a; b\n  parm W: H\n",
    };
    const char *text = texts[_i];
    for (volatile size_t k = 1;; k++) {
        mem m = {.fail_at = k, .from_then_on = k % 2};
        jmp_buf back;
        arena *volatile a = NULL;
        m.on_oom = &back;
        if (setjmp(back) == 0) {
            source_set sources;
            diags ds;
            a = arena_new(&m);
            source_set_init(&sources, a);
            uint32_t file = source_add(&sources, "t.attn", text, strlen(text));
            diags_init(&ds, a, &sources);
            ast_file *f = ast_parse(a, strtab_new(a), &ds, file);
            ck_assert_int_eq(ds.n_errors != 0, _i);
            strbuf out = {.a = a};
            if (ds.n_errors == 0)
                ast_format(f, sources.files.v[file], &out);
            arena_free(a);
            break;
        }
        arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parse_hostile");
    TCase *c = tcase_create("hostile");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, survives, 0, (int)(sizeof hostile / sizeof hostile[0]));
    tcase_add_loop_test(c, out_of_memory, 0, 2);
    suite_add_tcase(s, c);
    return run_suite(s);
}
