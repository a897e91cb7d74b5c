/* base_diag.c: places in sources, and reports as they are printed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/diag.h"

typedef struct fixture {
    mem m;
    arena *a;
    source_set sources;
    diags ds;
} fixture;

static uint32_t begin(fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    f->a = arena_new(&f->m);
    source_set_init(&f->sources, f->a);
    diags_init(&f->ds, f->a, &f->sources);
    return source_add(&f->sources, "m.attn", text, strlen(text));
}

static void prints(fixture *f, bool colour, const char *wanted)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    diags_print(&f->ds, to, colour);
    fclose(to);
    ck_assert_str_eq(text, wanted);
    free(text);
    arena_free(f->a);
}

START_TEST(places)
{
    fixture f;
    uint32_t file = begin(&f, "\xEF\xBB\xBF"
                              "ab\n\xC3\xA9x\n");
    static const struct {
        uint32_t at, line, column;
    } cases[] = {{0, 1, 1}, {3, 1, 1}, {4, 1, 2},  {5, 1, 3},  {6, 2, 1},
                 {8, 2, 2}, {9, 2, 3}, {10, 3, 1}, {999, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        place p = source_place(&f.sources, (span){file, cases[i].at, cases[i].at});
        ck_assert_uint_eq(p.line, cases[i].line);
        ck_assert_uint_eq(p.column, cases[i].column);
    }
    ck_assert_ptr_null(source_place(&f.sources, (span){0}).src);
    span both = span_join((span){file, 2, 3}, (span){file, 7, 9});
    ck_assert_uint_eq(both.lo, 2);
    ck_assert_uint_eq(both.hi, 9);
    arena_free(f.a);
}
END_TEST

START_TEST(plain_report)
{
    fixture f;
    uint32_t file = begin(&f, "one\r\n\th = \xE4\xBD\xA0\xE5\xA5\xBD + \x01 y\r\nthree");
    diag *d = diag_error(&f.ds, (span){file, 10, 16}, "no %s here", "such\033thing");
    diag_note(d, (span){file, 19, 20}, "it is there");
    diag_help(d, "do that");
    diag_warning(&f.ds, (span){file, 0, 3}, "first");
    diag_error(&f.ds, (span){0}, "no place");
    prints(&f, false,
           "error: no place\n"
           "m.attn:1:1: warning: first\n"
           "    1 | one\n"
           "      | ^^^\n"
           "m.attn:2:6: error: no such\\x1bthing here\n"
           "    2 | \th = \xE4\xBD\xA0\xE5\xA5\xBD + \\x01 y\n"
           "      | \t    ^^^^\n"
           "m.attn:2:11: note: it is there\n"
           "    2 | \th = \xE4\xBD\xA0\xE5\xA5\xBD + \\x01 y\n"
           "      | \t           ^^^^\n"
           "help: do that\n");
}
END_TEST

START_TEST(odd_spans)
{
    fixture f;
    uint32_t file = begin(&f, "abc\ndef\n");
    diag_error(&f.ds, (span){file, 1, 6}, "several lines");
    diag_error(&f.ds, (span){file, 3, 3}, "nothing, at the end of the line");
    diag_error(&f.ds, (span){file, 8, 8}, "the end of the file");
    prints(&f, false,
           "m.attn:1:2: error: several lines\n"
           "    1 | abc\n"
           "      |  ^^\n"
           "m.attn:1:4: error: nothing, at the end of the line\n"
           "    1 | abc\n"
           "      |    ^\n"
           "m.attn:3:1: error: the end of the file\n"
           "    3 | \n"
           "      | ^\n");
}
END_TEST

START_TEST(long_line)
{
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = '\0';
    memcpy(text + 500, "ab", 2);
    fixture f;
    uint32_t file = begin(&f, text);
    diag_error(&f.ds, (span){file, 500, 502}, "cut");
    char wanted[600];
    snprintf(wanted, sizeof wanted,
             "m.attn:1:501: error: cut\n"
             "    1 | \xE2\x80\xA6%.60sab%.38s\xE2\x80\xA6\n"
             "      |  %60s^^\n",
             text, text, "");
    prints(&f, false, wanted);
}
END_TEST

START_TEST(repeated_and_too_many)
{
    fixture f;
    uint32_t file = begin(&f, "abc\n");
    f.ds.limit = 3;
    for (int i = 0; i < 5; i++) { /* one fault that is met several times */
        diag *d = diag_error(&f.ds, (span){file, 0, 1}, "the same");
        diag_help(d, "help %d", i);
    }
    for (int i = 0; i < 4; i++)
        diag_error(&f.ds, (span){file, 1, 2}, "other %d", i);
    ck_assert_uint_eq(f.ds.n_errors, 9);
    prints(&f, false,
           "m.attn:1:1: error: the same\n"
           "    1 | abc\n"
           "      | ^\n"
           "help: help 0\n"
           "m.attn:1:2: error: other 0\n"
           "    1 | abc\n"
           "      |  ^\n"
           "m.attn:1:2: error: other 1\n"
           "    1 | abc\n"
           "      |  ^\n"
           "too many errors, 2 more not shown\n");
}
END_TEST

START_TEST(muted)
{
    fixture f;
    begin(&f, "");
    f.ds.muted++;
    diag *d = diag_error(&f.ds, (span){0}, "unheard");
    ck_assert_ptr_nonnull(d);
    diag_note(d, (span){0}, "unheard");
    diag_help(diag_warning(&f.ds, (span){0}, "unheard"), "unheard");
    f.ds.muted--;
    ck_assert_uint_eq(f.ds.n_muted, 1);
    ck_assert_uint_eq(f.ds.n_errors, 0);
    prints(&f, false, "");
}
END_TEST

START_TEST(coloured)
{
    fixture f;
    uint32_t file = begin(&f, "abc\n");
    diag_error(&f.ds, (span){file, 0, 1}, "x");
    prints(&f, true,
           "\033[1mm.attn:1:1: \033[0m\033[1;31merror:\033[0m x\n"
           "    1 | abc\n"
           "      | \033[1;31m^\033[0m\n");
}
END_TEST

START_TEST(internal_error)
{
    fclose(stderr);
    ice("%d", 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base_diag");
    TCase *c = tcase_create("diag");
    tcase_add_test(c, places);
    tcase_add_test(c, plain_report);
    tcase_add_test(c, odd_spans);
    tcase_add_test(c, long_line);
    tcase_add_test(c, repeated_and_too_many);
    tcase_add_test(c, muted);
    tcase_add_test(c, coloured);
    tcase_add_exit_test(c, internal_error, 3);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
