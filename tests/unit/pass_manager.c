/* pass_manager.c: which passes run, in which order, and what is reported. */
#include <stdlib.h>

#include "graph_support.h"
#include "passes/passes.h"

static fixture s;
static graph *g;
static strbuf log_text;

static void setup(void)
{
    open_fixture(&s);
    g = read_one(&s, "graph @g real f32 {\n  %x = input \"x\" f32 : f32<i:2>\n"
                     "  %y = mul %x, 1.0 : f32<i:2>\n  output \"y\" f32 %y[i]\n}\n");
    log_text = (strbuf){.a = s.a};
}

static void teardown(void)
{
    close_fixture(&s);
}

static void note(void *ctx, const pass_info *p, const graph *of, bool changed, double seconds)
{
    ck_assert_ptr_eq(of, g);
    ck_assert(seconds >= 0);
    sb_printf(ctx, "%s%s ", p->name, changed ? "!" : "");
}

static const char *run_with(pass_options o)
{
    log_text.n = 0;
    sb_puts(&log_text, "");
    o.after = note;
    o.ctx = &log_text;
    o.verify = true;
    bool ok = passes_run(g, &s.ds, &o);
    ck_assert(ok == (s.ds.n_errors == 0));
    return sb_text(&log_text);
}

START_TEST(table)
{
    ck_assert_uint_ge(pass_count, 1);
    for (size_t i = 0; i < pass_count; i++) {
        ck_assert((pass_table[i].run != NULL) == (pass_table[i].kind == PASS_GRAPH));
        ck_assert((pass_table[i].run_kernel != NULL) == (pass_table[i].kind == PASS_KERNEL));
        ck_assert(pass_table[i].summary[0] != '\0');
        if (i > 0)
            ck_assert_msg(pass_table[i - 1].kind <= pass_table[i].kind, "in the order of forms");
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(pass_table[i].name, pass_table[k].name);
            ck_assert_int_ne(pass_table[i].letter, pass_table[k].letter);
        }
    }
}
END_TEST

START_TEST(selection)
{
    ck_assert_str_eq(run_with((pass_options){.only = "simplify, simplify", .limit = -1}),
                     "simplify! simplify ");
    ck_assert_str_eq(run_with((pass_options){.only = "", .limit = -1}), "");
    ck_assert_str_eq(
        run_with((pass_options){.only = "simplify", .disabled = "simplify", .limit = -1}), "");
    ck_assert_str_eq(run_with((pass_options){.only = "simplify,simplify", .limit = 1}),
                     "simplify ");
    ck_assert_str_eq(run_with((pass_options){.limit = 0}), "");
    const char *all = run_with((pass_options){.limit = -1});
    const char *last = NULL;
    for (size_t i = 0; i < pass_count; i++) {
        ck_assert((strstr(all, pass_table[i].name) != NULL) == (pass_table[i].run != NULL));
        if (pass_table[i].run)
            last = pass_table[i].name;
    }
    ck_assert_str_eq(run_with((pass_options){.start_from = last, .stop_after = last, .limit = -1}),
                     arena_printf(s.a, "%s ", last));
}
END_TEST

static void note_kernel(void *ctx, const pass_info *p, const kernel *k, bool changed,
                        double seconds)
{
    ck_assert(k && seconds >= 0);
    sb_printf(ctx, "%s%s ", p->name, changed ? "!" : "");
}

static const char *run_on_kernel(pass_options o)
{
    static const char text[] = "kernel @k real f32 {\n dims T\n buffer x : input f32[T] \"x\"\n"
                               " buffer y : output f32[T] \"y\"\n buffer a : temp f32[T]\n"
                               " buffer b : temp f32[T]\n"
                               " for i in 0 .. T { a[i] = exp(x[i]) }\n"
                               " for j in 0 .. T { y[j] = a[j] }\n"
                               " for l in 0 .. T { b[l] = x[l] }\n"
                               " for m in 0 .. T { y[m] = b[m] }\n}\n";
    log_text.n = 0;
    sb_puts(&log_text, "");
    o.after_kernel = note_kernel;
    o.ctx = &log_text;
    o.verify = true;
    kernel *k =
        kernel_parse(s.a, s.names, &s.ds, source_add(&s.sources, "k.ir", text, sizeof text - 1));
    ck_assert_ptr_nonnull(k);
    ck_assert(kernel_passes_run(k, &s.ds, &o));
    return sb_text(&log_text);
}

START_TEST(kernels)
{
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = -1}), "place! lanes! ");
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = -1, .disabled = "place"}), "lanes! ");
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = -1, .only = "lanes, lanes, simplify"}),
                     "lanes! lanes ");
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = -1, .stop_after = "simplify"}), "");
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = -1, .start_from = "lanes"}), "lanes! ");
    ck_assert_str_eq(run_on_kernel((pass_options){.limit = 0}), "");
}
END_TEST

static void note_choice(void *ctx, const pass_info *p, double seconds)
{
    ck_assert_int_eq(p->kind, PASS_CHOICE);
    ck_assert(seconds >= 0);
    sb_printf(ctx, "(%s) ", p->name);
}

/* Which choices the schedule has, and that it runs. */
static const char *scheduled(pass_options o)
{
    log_text.n = 0;
    sb_puts(&log_text, "");
    o.after_choice = note_choice;
    o.after_kernel = note_kernel;
    o.ctx = &log_text;
    o.verify = true;
    const schedule_options so = {.shape = MACHINE_SHAPE_DEFAULT};
    ck_assert_ptr_nonnull(schedule_run(s.a, g, so, &s.ds, &o));
    return sb_text(&log_text);
}

START_TEST(choices)
{
    const char *all = "(domains) (fuse-maps) (tiles) schedule! ";
    const char *no_domains = "(fuse-maps) (tiles) schedule! ", *domains = "(domains) schedule! ";
    ck_assert_str_eq(scheduled((pass_options){.limit = -1}), all);
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .disabled = "domains"}), no_domains);
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .only = "fuse-maps,tiles,schedule"}),
                     no_domains);
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .only = "lanes"}), "schedule! ");
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .stop_after = "domains"}), domains);
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .start_from = "fuse-maps"}), no_domains);
    ck_assert_str_eq(scheduled((pass_options){.limit = -1, .stop_after = "simplify"}),
                     "schedule! ");
    /* one more than there are optional passes over graphs */
    long over_graphs = 0;
    for (size_t i = 0; i < pass_count; i++)
        over_graphs += pass_table[i].kind == PASS_GRAPH && (pass_table[i].flags & PASS_OPTIONAL);
    ck_assert_str_eq(scheduled((pass_options){.limit = over_graphs + 1}), domains);
    ck_assert_str_eq(scheduled((pass_options){.limit = 0}), "schedule! ");
    ck_assert(pass_list_has("domains, schedule", "schedule"));
    ck_assert(!pass_list_has("schedules,domains", "schedule"));
    ck_assert(!pass_list_has(NULL, "schedule"));
}
END_TEST

static const char *first_report(pass_options o)
{
    diags_init(&s.ds, s.a, &s.sources);
    ck_assert(!passes_run(g, &s.ds, &o));
    const diag *d = s.ds.first;
    return arena_printf(s.a, "%s; %s", d->text, d->sub->text);
}

START_TEST(unknown_names)
{
    ck_assert_str_eq(first_report((pass_options){.only = "simplfy", .limit = -1}),
                     "there is no pass simplfy to run; is it `simplify`?");
    ck_assert_str_eq(first_report((pass_options){.stop_after = "Simplify", .limit = -1}),
                     "there is no pass Simplify to stop after; is it `simplify`?");
    ck_assert_ptr_nonnull(strstr(first_report((pass_options){.disabled = "q", .limit = -1}),
                                 "there is no pass q to leave out; the passes are simplify"));
}
END_TEST

/* A strict list says how one form follows from the other. */
START_TEST(order_of_forms)
{
    ck_assert_str_eq(first_report((pass_options){.only = "place", .strict = true, .limit = -1}),
                     "the pass place works on kernels, and this is a graph; `schedule` in front of "
                     "it makes a kernel of the graph");
    ck_assert_str_eq(first_report((pass_options){.only = "domains", .strict = true, .limit = -1}),
                     "domains decides for the schedule, which is not to run; name `schedule` "
                     "behind it");
    diags_init(&s.ds, s.a, &s.sources);
    pass_options o = {.only = "simplify,fuse-maps,schedule,lanes", .strict = true, .limit = -1};
    ck_assert(passes_run(g, &s.ds, &o));
    o.only = "schedule,simplify";
    ck_assert(!passes_run(g, &s.ds, &o));
    ck_assert_str_eq(s.ds.first->text, "the pass simplify works on graphs, and this is a kernel");
    diags_init(&s.ds, s.a, &s.sources);
    ck_assert(!passes_run(g, &s.ds, &(pass_options){.disabled = "schedule", .limit = -1}));
    ck_assert_str_eq(s.ds.first->text, "the pass schedule cannot be left out");
}
END_TEST

/* A failed allocation inside a pass comes out at the session's recovery point and loses nothing. */
static bool try_failing(size_t n)
{
    struct {
        fixture f;
        jmp_buf here;
    } c;
    memset(&c, 0, sizeof c);
    open_fixture(&c.f);
    graph *h = read_one(&c.f, print_one(&s, g));
    c.f.m.count = 0;
    c.f.m.fail_at = n;
    c.f.m.on_oom = &c.here;
    if (setjmp(c.here) == 0)
        passes_run(h, &c.f.ds, &(pass_options){.limit = -1, .verify = true});
    close_fixture(&c.f);
    return c.f.m.count < n;
}

START_TEST(out_of_memory)
{
    size_t n = 1;
    while (n < 1000 && !try_failing(n))
        n++;
    ck_assert_uint_lt(n, 1000);
}
END_TEST

static void keep(void *ctx, const pass_info *p, const graph *before)
{
    graph_print(before, ctx);
    sb_puts(ctx, p->name);
}

/* What breaks a rule is the pass's fault, and the graph before it can still be printed. */
START_TEST(failure)
{
    strbuf kept = {.a = s.a};
    const char *wanted = arena_printf(s.a, "%ssimplify", print_one(&s, g));
    pass_options o = {.only = "simplify",
                      .limit = -1,
                      .verify = true,
                      .failed = keep,
                      .ctx = &kept,
                      .sabotage = "verify:simplify"};
    ck_assert(!passes_run(g, &s.ds, &o));
    ck_assert_str_eq(sb_text(&kept), wanted);
    ck_assert_ptr_nonnull(strstr(s.ds.first->text, "after simplify"));
}
END_TEST

START_TEST(rules)
{
    uint32_t hits[RULE_COUNT] = {0}, all = 0;
    pass_options o = {.only = "simplify", .limit = -1, .hits = hits};
    ck_assert(passes_run(g, &s.ds, &o));
    for (int r = 0; r < RULE_COUNT; r++)
        all += hits[r];
    ck_assert_uint_eq(hits[RULE_simplify_product], 1);
    ck_assert_uint_eq(all, 1);
    ck_assert(passes_run(g, &s.ds, &o)); /* nothing left to do */
    ck_assert_uint_eq(hits[RULE_simplify_product], 1);
    ck_assert_str_eq(rule_table[RULE_simplify_product].name, "product");
}
END_TEST

/* Last words are said in the process that ends; here a child of the test. */
static void say(void *ctx)
{
    fputs(ctx, stderr);
    fflush(stderr);
    exit(7);
}

static void fall(void *ctx)
{
    ice("%s", (const char *)ctx);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

START_TEST(last_words)
{
    with_last_words(&s.m, nothing, say, NULL);
    with_last_words(&s.m, fall, say, "gone");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pass manager");
    TCase *c = tcase_create("manager");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, table);
    tcase_add_test(c, selection);
    tcase_add_test(c, kernels);
    tcase_add_test(c, choices);
    tcase_add_test(c, unknown_names);
    tcase_add_test(c, order_of_forms);
    tcase_add_test(c, out_of_memory);
    tcase_add_test(c, failure);
    tcase_add_test(c, rules);
    tcase_add_exit_test(c, last_words, 7);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
