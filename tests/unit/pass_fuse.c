/* pass_fuse.c: every graph of tests/passes/fuse-softmax-sum means the same after the pass; and what
 * is said of normalisers. The rewrites themselves are shown in that folder. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph_support.h"
#include "passes/fuse.h"
#include "passes/passes.h"

enum { MAX_FILES = 32, N_TURNS = 20 };

static fixture s;
static const char *folder;
static char *texts[MAX_FILES];
static size_t n_texts;
static uint32_t seed;

static void setup(void)
{
    open_fixture(&s);
}

static void teardown(void)
{
    close_fixture(&s);
}

static char *read_file(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || fread(text, 1, (1 << 16) - 1, f) == 0)
        exit(1);
    fclose(f);
    return text;
}

static void read_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && n_texts < MAX_FILES;) {
        if (strstr(e->d_name, ".ir"))
            texts[n_texts++] = read_file(e->d_name);
    }
    if (d)
        closedir(d);
}

static double number(const value *v, bool special)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0};
    seed = seed * 1664525u + 1013904223u;
    if (v->dt == DT_I64)
        return seed >> 28;
    if (special && seed >> 28 < 2)
        return odd[seed >> 20 & 3];
    return (double)(seed >> 16 & 1023) / 256 - 2;
}

static double *numbers(const graph *g, const int64_t *symbols, bool special)
{
    double *x = ARENA_ARRAY(s.a, double, 4096);
    size_t n = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const value *v = g->inputs.v[i];
        int64_t size = 1, extent = 0;
        for (uint32_t k = 0; k < v->n_ix; k++) {
            ck_assert(dim_eval(v->ix[k]->extent, symbols, &extent));
            size *= extent;
        }
        for (int64_t k = 0; k < size; k++)
            x[n++] = number(v, special);
    }
    return x;
}

static void fuse_one(graph *g)
{
    pass_options o = {.only = "fuse-softmax-sum", .limit = -1, .verify = true};
    ck_assert(passes_run(g, &s.ds, &o));
}

static void compare(const graph *g, const interp_tensor *got, const interp_tensor *want)
{
    for (size_t k = 0; k < g->results.n; k++) {
        size_t n = 1;
        for (uint32_t i = 0; i < want[k].rank; i++)
            n *= (size_t)want[k].shape[i];
        for (size_t i = 0; i < n; i++) {
            double a = got[k].f[i], b = want[k].f[i];
            bool same = isnan(b) ? isnan(a) : a == b || fabs(a - b) <= 1e-9 * (1 + fabs(b));
            ck_assert_msg(same, "@%s: %s[%zu] is %g, not %g", g->name, g->results.v[k].name, i, a,
                          b);
        }
    }
}

START_TEST(same_meaning)
{
    bool special = strstr(texts[_i], "With inf and NaN") != NULL;
    for (int turn = 0; turn < N_TURNS; turn++) {
        graph *g = read_one(&s, texts[_i]), *h = read_one(&s, texts[_i]);
        int64_t *symbols = ARENA_ARRAY(s.a, int64_t, g->symbols.n + 1);
        for (size_t i = 0; i < g->symbols.n; i++)
            symbols[i] = turn == 0 ? 0 : turn == 1 ? 1 : 2 + (int64_t)((i + (size_t)turn) % 3);
        const double *x = numbers(g, symbols, special && turn % 2);
        run want = run_graph(&s, g, symbols, x, NULL);
        fuse_one(h);
        run got = run_graph(&s, h, symbols, x, NULL);
        ck_assert_int_eq(want.status, INTERP_OK);
        ck_assert_int_eq(got.status, INTERP_OK);
        compare(g, got.out, want.out);
    }
}
END_TEST

/* A second run finds nothing more. */
START_TEST(once)
{
    graph *g = read_one(&s, texts[_i]);
    fuse_one(g);
    const char *before = print_one(&s, g);
    fuse_one(g);
    ck_assert_str_eq(before, print_one(&s, g));
}
END_TEST

static const char *notes_of(const char *name)
{
    char *text = read_file(name);
    graph *g = read_one(&s, arena_printf(s.a, "%s", text));
    free(text);
    fuse_notes notes = {0};
    strbuf b = {.a = s.a};
    fuse_report(g, s.a, &notes);
    for (size_t i = 0; i < notes.n; i++) {
        const fuse_note *n = &notes.v[i];
        sb_printf(&b, "%s: ", n->v->hint ? n->v->hint : op_table[n->v->op].text);
        if (n->fused)
            sb_printf(&b, "%u%s\n", n->n_sums, n->weights ? " and weights" : "");
        else
            sb_printf(&b, "%s\n", n->why);
    }
    return sb_text(&b);
}

START_TEST(reasons)
{
    ck_assert_str_eq(notes_of("attention.ir"), "a: 2 and weights\n");
    ck_assert_str_eq(notes_of("later.ir"), "w: 2\n");
    ck_assert_str_eq(notes_of("sink.ir"), "a: 1\nb: 1\n");
    ck_assert_str_eq(notes_of("both_ways.ir"), "a: 1\nb: 1\nc: 1\n");
    ck_assert_str_eq(notes_of("kernels.ir"), "w: 1\nk: 2\n");
    ck_assert_str_eq(
        notes_of("left_alone.ir"),
        "hard: hardmax picks one element: it is no sum that parts of could be merged\n"
        "shift: its weights are read at other indices\n"
        "pairs: its weights sum to 1 over i, j, but are summed over j\n"
        "alone: nothing is summed with its weights\n"
        "own: what its weights multiply is computed from them\n"
        "exp: its weights are also used for themselves\n"
        "other: its maximum is taken over other elements than its sum\n"
        "exp: nothing is summed with its weights\n"
        "fixed: its weights are the same in all steps of a recurrence whose values they weigh\n");
}
END_TEST

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    folder = argv[1];
    read_folder();
    Suite *suite = suite_create("pass_fuse");
    TCase *c = tcase_create("pass_fuse");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, same_meaning, 0, (int)n_texts);
    tcase_add_loop_test(c, once, 0, (int)n_texts);
    tcase_add_test(c, reasons);
    suite_add_tcase(suite, c);
    int failed = run_suite(suite);
    for (size_t i = 0; i < n_texts; i++)
        free(texts[i]);
    return failed;
}
