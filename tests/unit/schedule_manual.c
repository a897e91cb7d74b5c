/* schedule_manual.c: the kernels shown in ir/IR.md are those that the graphs shown there give, and
 * read back. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/schedule_support.h"

/* The name of the file comes from the command line, by way of the environment: tests take no
 * arguments. */
enum { MAX_FILE = 1 << 20 };

static char *read_file(arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f, "%s cannot be opened", path);
    char *text = arena_alloc(a, MAX_FILE);
    size_t n = fread(text, 1, MAX_FILE - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* The first block of lines that begins with `head`, without its indentation of four. */
static const char *block(arena *a, const char *text, const char *head)
{
    strbuf b = {.a = a};
    const char *at = strstr(text, head);
    ck_assert_msg(at, "no %s", head);
    for (at++; strncmp(at, "    ", 4) == 0;) {
        const char *end = strchr(at, '\n');
        sb_putn(&b, at + 4, (size_t)(end + 1 - at - 4));
        at = end + 1;
    }
    return sb_text(&b);
}

START_TEST(example)
{
    mem m = {0};
    arena *a = arena_new(&m);
    const char *text = read_file(a, getenv("IR_MANUAL"));
    const char *got = schedule_plain_text(a, block(a, text, "\n    graph @run"), false);
    ck_assert_str_eq(got, block(a, text, "\n    kernel @run"));
    got = schedule_plain_text(a, block(a, text, "\n    graph @rnn"), true);
    ck_assert_str_eq(got, block(a, text, "\n    kernel @rnn"));
    arena_free(a);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    setenv("IR_MANUAL", argv[1], 1);
    Suite *s = suite_create("schedule_manual");
    TCase *c = tcase_create("schedule_manual");
    tcase_add_test(c, example);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
