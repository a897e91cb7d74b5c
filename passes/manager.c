/* manager.c: runs the passes of passes.def and the schedule between them. What they do is their own
 * business; which of them run, in which order, timing and verification are decided here and nowhere
 * else. */
#include <string.h>
#include <time.h>

#include "ir/graph/scratch.h"
#include "passes/pass.h"

const pass_info pass_table[] = {
#define PASS(id, name, letter, summary, flags)                                                     \
    {name, letter, summary, flags, PASS_GRAPH, .run = pass_##id},
#define SCHEDULE_CHOICE(id, name, letter, summary, flags)                                          \
    {name, letter, summary, flags, PASS_CHOICE, .choice = CHOICE_##id},
#define SCHEDULE(name, letter, summary) {name, letter, summary, 0, .kind = PASS_SCHEDULE},
#define KERNEL_PASS(id, name, letter, summary, flags)                                              \
    {name, letter, summary, flags, PASS_KERNEL, .run_kernel = pass_##id},
#include "passes/passes.def"
};
const rule_info rule_table[RULE_COUNT] = {
#define RULE(pass, id, meaning) [RULE_##pass##_##id] = {#pass, #id, meaning},
#include "passes/rules.def"
#undef RULE
};
const size_t pass_count = sizeof pass_table / sizeof pass_table[0];

/* One part of the way from graph to kernel; `kind` says which: passes over graphs, the schedule or
 * passes over kernels. */
typedef struct pipeline {
    pass_kind kind;
    graph *g;
    graph *from;         /* of the schedule, which adds what nothing uses: it prints as before */
    schedule_options so; /* ... and how it goes */
    kernel *k;           /* what it makes, or what passes change */
    arena *a;            /* of the form that is changed or made */
    diags *ds;
    const pass_options *o;
    long optional_run;
    bool ok;
    const pass_info *current;
} pipeline;

static const pass_info *find_pass(pipeline *p, arena *scratch, const char *name, const char *option)
{
    const char **known = ARENA_ARRAY(scratch, const char *, pass_count);
    for (size_t i = 0; i < pass_count; i++) {
        known[i] = pass_table[i].name;
        if (strcmp(known[i], name) == 0)
            return &pass_table[i];
    }
    const char *near = str_nearest(scratch, name, known, pass_count);
    diag *d = diag_error(p->ds, (span){0}, "there is no pass %s to %s", name, option);
    if (near) {
        diag_help(d, "is it `%s`?", near);
    } else {
        strbuf list = {.a = scratch};
        for (size_t i = 0; i < pass_count; i++)
            sb_printf(&list, "%s%s", i ? ", " : "", known[i]);
        diag_help(d, "the passes are %s", sb_text(&list));
    }
    p->ok = false;
    return NULL;
}

typedef VEC(const pass_info *) pass_list;

/* The passes of a comma-separated list; blanks and empty names are skipped. */
static void split(pipeline *p, arena *scratch, const char *list, const char *option, pass_list *out)
{
    for (const char *s = list; s && *s;) {
        size_t n = strcspn(s, ", ");
        const char *name = arena_strndup(scratch, s, n);
        const pass_info *found = n ? find_pass(p, scratch, name, option) : NULL;
        if (found)
            vec_push(scratch, out, found);
        s += n + (s[n] != '\0');
    }
}

static bool among(const pass_list *list, const pass_info *x)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->v[i] == x)
            return true;
    }
    return false;
}

double pass_clock(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As it is now. Values never change, so this is cheap, and whatever a pass does to the graph, it
 * can be printed afterwards. */
static graph state_of(const graph *g, arena *a)
{
    graph s = *g;
    s.inputs.v = arena_copy(a, g->inputs.v, g->inputs.n * sizeof *g->inputs.v);
    s.params.v = arena_copy(a, g->params.v, g->params.n * sizeof *g->params.v);
    s.results.v = arena_copy(a, g->results.v, g->results.n * sizeof *g->results.v);
    s.checks.v = arena_copy(a, g->checks.v, g->checks.n * sizeof *g->checks.v);
    return s;
}

typedef struct pass_run {
    pipeline *p;
    pass_ctx pc;
    graph before;
    double seconds;
} pass_run;

/* Whether a test wants the pass at hand to fail in that way. */
static bool sabotaged(const pipeline *p, const char *way)
{
    const char *s = p->o->sabotage;
    size_t n = strlen(way);
    return s && strncmp(s, way, n) == 0 && strcmp(s + n, p->current->name) == 0;
}

static void sabotage_all(const pipeline *p)
{
    if (sabotaged(p, "ice:"))
        ice("pass %s fails, as the test wants it", p->current->name);
}

static void run_and_verify(void *ctx)
{
    pass_run *r = ctx;
    pipeline *p = r->p;
    double start = pass_clock();
    p->ok = p->current->run(&r->pc);
    r->seconds = pass_clock() - start;
    sabotage_all(p);
    if (!p->ok || !p->o->verify)
        return;
    if (sabotaged(p, "verify:") && p->g->results.n) /* two of one name */
        vec_push(p->g->a, &p->g->results, p->g->results.v[0]);
    p->ok = graph_verify(p->g, p->ds, arena_printf(r->pc.scratch, "after %s", p->current->name));
    if (!p->ok && p->o->failed)
        p->o->failed(p->o->ctx, p->current, &r->before);
}

static void say_before(void *ctx)
{
    const pass_run *r = ctx;
    if (r->p->o->failed)
        r->p->o->failed(r->p->o->ctx, r->p->current, &r->before);
}

static void run_one(void *ctx, arena *scratch)
{
    pipeline *p = ctx;
    pass_run r = {.p = p,
                  .pc = {.g = p->g, .diag = p->ds, .scratch = scratch, .hits = p->o->hits},
                  .before = state_of(p->g, scratch)};
    with_last_words(arena_mem(p->a), run_and_verify, say_before, &r);
    if (p->ok && p->o->after)
        p->o->after(p->o->ctx, p->current, p->g, r.pc.changed, r.seconds);
}

static void verify_kernel(pipeline *p, const char *what)
{
    if (sabotaged(p, "verify:") && p->k->bufs.n) /* one twice */
        vec_push(p->k->a, &p->k->bufs, p->k->bufs.v[0]);
    p->ok = kernel_verify(p->k, p->ds, what);
}

typedef struct kernel_run {
    pipeline *p;
    kernel_pass_ctx pc;
    strbuf before; /* a pass changes the kernel in place: its text is taken first */
    double seconds;
} kernel_run;

static void say_kernel_before(void *ctx)
{
    const kernel_run *r = ctx;
    if (r->p->o->failed_kernel)
        r->p->o->failed_kernel(r->p->o->ctx, r->p->current, &r->before);
}

static void run_and_verify_kernel(void *ctx)
{
    kernel_run *r = ctx;
    pipeline *p = r->p;
    double start = pass_clock();
    p->ok = p->current->run_kernel(&r->pc);
    r->seconds = pass_clock() - start;
    sabotage_all(p);
    if (!p->ok || !p->o->verify)
        return;
    verify_kernel(p, arena_printf(r->pc.scratch, "after %s", p->current->name));
    if (!p->ok)
        say_kernel_before(r);
}

static void run_one_on_kernel(void *ctx, arena *scratch)
{
    pipeline *p = ctx;
    kernel_run r = {.p = p,
                    .pc = {.k = p->k, .scratch = scratch, .hits = p->o->hits},
                    .before = {.a = scratch}};
    if (p->o->failed_kernel)
        kernel_print(p->k, &r.before);
    with_last_words(arena_mem(p->a), run_and_verify_kernel, say_kernel_before, &r);
    if (p->ok && p->o->after_kernel)
        p->o->after_kernel(p->o->ctx, p->current, p->k, r.pc.changed, r.seconds);
}

/* --- the schedule --- */

static bool has_choice(const pipeline *p, const pass_info *x)
{
    return x->kind == PASS_CHOICE && !(p->so.without >> x->choice & 1);
}

static void say_scheduled(void *ctx)
{
    const pipeline *p = ctx;
    strbuf names = {.a = p->a};
    if (!p->o->failed_schedule)
        return;
    for (size_t i = 0; i < pass_count; i++) {
        if (has_choice(p, &pass_table[i]))
            sb_printf(&names, "%s,", pass_table[i].name);
    }
    sb_puts(&names, p->current->name);
    p->o->failed_schedule(p->o->ctx, p->from, sb_text(&names));
}

static void schedule_and_verify(void *ctx)
{
    pipeline *p = ctx;
    p->k = schedule(p->a, p->from, &p->so, p->ds);
    sabotage_all(p);
    p->ok = p->k != NULL;
    if (!p->ok || !p->o->verify)
        return;
    verify_kernel(p, p->so.steps ? "of steps after schedule" : "after schedule");
    if (!p->ok)
        say_scheduled(p);
}

static void run_schedule(pipeline *p)
{
    double seconds[CHOICE_COUNT] = {0}, start = pass_clock();
    p->so.seconds = seconds;
    p->so.hits = p->o->hits;
    with_last_words(arena_mem(p->a), schedule_and_verify, say_scheduled, p);
    double all = pass_clock() - start;
    for (size_t i = 0; p->ok && p->o->after_choice && i < pass_count; i++) {
        if (has_choice(p, &pass_table[i]))
            p->o->after_choice(p->o->ctx, &pass_table[i], seconds[pass_table[i].choice]);
    }
    if (p->ok && p->o->after_kernel)
        p->o->after_kernel(p->o->ctx, p->current, p->k, true, all);
}

/* --- which run --- */

/* In a strict list each name stands where its form is at hand: `schedule`, behind its choices,
 * makes a kernel of the graph. */
static void check_forms(pipeline *p, const pass_list *list)
{
    bool is_graph = p->kind != PASS_KERNEL;
    const pass_info *choice = NULL;
    for (size_t i = 0; i < list->n; i++) {
        const pass_info *x = list->v[i];
        choice = x->kind == PASS_CHOICE ? x : x->kind == PASS_SCHEDULE ? NULL : choice;
        if ((x->kind != PASS_KERNEL) == is_graph) {
            is_graph = x->kind != PASS_SCHEDULE && is_graph;
            continue;
        }
        diag *d = diag_error(p->ds, (span){0}, "the pass %s works on %s, and this is a %s", x->name,
                             is_graph ? "kernels" : "graphs", is_graph ? "graph" : "kernel");
        if (is_graph)
            diag_help(d, "`schedule` in front of it makes a kernel of the graph");
        p->ok = false;
        return;
    }
    if (choice) {
        diag *d = diag_error(p->ds, (span){0}, "%s decides for the schedule, which is not to run",
                             choice->name);
        diag_help(d, "name `schedule` behind it");
        p->ok = false;
    }
}

static void run_row(pipeline *p, const pass_info *x)
{
    p->current = x;
    if (p->kind == PASS_SCHEDULE)
        p->so.without &= x->kind == PASS_CHOICE ? ~(1u << x->choice) : ~0u;
    else if (p->kind == x->kind)
        with_scratch(arena_mem(p->a), p->g ? run_one : run_one_on_kernel, p);
}

static void run_all(void *ctx, arena *scratch)
{
    pipeline *p = ctx;
    const pass_options *o = p->o;
    pass_list todo = {0}, disabled = {0};
    split(p, scratch, o->only, "run", &todo);
    split(p, scratch, o->disabled, "leave out", &disabled);
    const pass_info *first =
        o->start_from ? find_pass(p, scratch, o->start_from, "start from") : NULL;
    const pass_info *last =
        o->stop_after ? find_pass(p, scratch, o->stop_after, "stop after") : NULL;
    for (size_t i = 0; i < disabled.n; i++) {
        if (disabled.v[i]->flags & PASS_OPTIONAL)
            continue;
        diag_error(p->ds, (span){0}, "the pass %s cannot be left out", disabled.v[i]->name);
        p->ok = false;
    }
    if (o->strict && p->ok)
        check_forms(p, &todo);
    for (size_t i = 0; !o->only && i < pass_count; i++)
        vec_push(scratch, &todo, &pass_table[i]);
    bool started = first == NULL;
    for (size_t i = 0; p->ok && i < todo.n; i++) {
        const pass_info *x = todo.v[i];
        started = started || x == first;
        bool runs = started && !among(&disabled, x);
        if (runs && (x->flags & PASS_OPTIONAL))
            runs = o->limit < 0 || p->optional_run++ < o->limit;
        if (runs)
            run_row(p, x);
        if (started && x == last)
            return;
    }
}

static bool run_pipeline(pipeline *p)
{
    p->ok = true;
    with_scratch(arena_mem(p->a), run_all, p);
    return p->ok;
}

bool passes_run(graph *g, diags *ds, const pass_options *o)
{
    pipeline p = {.kind = PASS_GRAPH, .g = g, .a = g->a, .ds = ds, .o = o};
    return run_pipeline(&p);
}

kernel *schedule_run(arena *a, graph *g, schedule_options so, diags *ds, const pass_options *o)
{
    pipeline p = {.kind = PASS_SCHEDULE, .from = g, .so = so, .a = a, .ds = ds, .o = o};
    p.so.without = (1u << CHOICE_COUNT) - 1;
    if (!run_pipeline(&p))
        return NULL;
    p.current = pass_table;
    while (p.current->kind != PASS_SCHEDULE)
        p.current++;
    run_schedule(&p);
    return p.ok ? p.k : NULL;
}

bool kernel_passes_run(kernel *k, diags *ds, const pass_options *o)
{
    pipeline p = {.kind = PASS_KERNEL, .k = k, .a = k->a, .ds = ds, .o = o};
    return run_pipeline(&p);
}

bool pass_list_has(const char *list, const char *name)
{
    for (const char *s = list; s && *s;) {
        size_t n = strcspn(s, ", ");
        if (n == strlen(name) && strncmp(s, name, n) == 0)
            return true;
        s += n + (s[n] != '\0');
    }
    return false;
}
