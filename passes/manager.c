/* manager.c: runs the passes of passes.def. What they do is their own business; which of them run,
 * in which order, timing and verification are decided here and nowhere else. */
#include <string.h>
#include <time.h>

#include "ir/graph/scratch.h"
#include "passes/pass.h"

const pass_info pass_table[] = {
#define PASS(id, name, letter, summary, flags) {name, letter, summary, flags, pass_##id, NULL},
#define KERNEL_PASS(id, name, letter, summary, flags)                                              \
    {name, letter, summary, flags, NULL, pass_##id},
#include "passes/passes.def"
#undef PASS
#undef KERNEL_PASS
};
const rule_info rule_table[RULE_COUNT] = {
#define RULE(pass, id, meaning) [RULE_##pass##_##id] = {#pass, #id, meaning},
#include "passes/rules.def"
#undef RULE
};
const size_t pass_count = sizeof pass_table / sizeof pass_table[0];

typedef struct pipeline {
    graph *g;
    kernel *k; /* one of the two */
    arena *a;  /* its own */
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

static double now(void)
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

/* Whether a test wants this pass to fail in that way. */
static bool sabotaged(const pass_run *r, const char *way)
{
    const char *s = r->p->o->sabotage;
    size_t n = strlen(way);
    return s && strncmp(s, way, n) == 0 && strcmp(s + n, r->p->current->name) == 0;
}

static void run_and_verify(void *ctx)
{
    pass_run *r = ctx;
    pipeline *p = r->p;
    double start = now();
    p->ok = p->current->run(&r->pc);
    r->seconds = now() - start;
    if (sabotaged(r, "ice:"))
        ice("pass %s fails, as the test wants it", p->current->name);
    if (!p->ok || !p->o->verify)
        return;
    if (sabotaged(r, "verify:") && p->g->results.n) /* two of one name */
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

typedef struct kernel_run {
    pipeline *p;
    arena *scratch;
    strbuf before; /* a pass changes the kernel in place: its text is taken first */
    bool changed;
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
    double start = now();
    r->changed = p->current->run_kernel(p->k, r->scratch);
    r->seconds = now() - start;
    if (!p->o->verify)
        return;
    p->ok = kernel_verify(p->k, p->ds, arena_printf(r->scratch, "after %s", p->current->name));
    if (!p->ok)
        say_kernel_before(r);
}

static void run_one_on_kernel(void *ctx, arena *scratch)
{
    pipeline *p = ctx;
    kernel_run r = {.p = p, .scratch = scratch, .before = {.a = scratch}};
    if (p->o->failed_kernel)
        kernel_print(p->k, &r.before);
    with_last_words(arena_mem(p->a), run_and_verify_kernel, say_kernel_before, &r);
    if (p->ok && p->o->after_kernel)
        p->o->after_kernel(p->o->ctx, p->current, p->k, r.changed, r.seconds);
}

static bool fits(const pipeline *p, const pass_info *x)
{
    return (x->run != NULL) == (p->g != NULL);
}

static void check_form(pipeline *p, const pass_info *x)
{
    if (fits(p, x))
        return;
    diag *d = diag_error(p->ds, (span){0}, "the pass %s works on %s, and this is a %s", x->name,
                         x->run ? "graphs" : "kernels", p->g ? "graph" : "kernel");
    if (p->g)
        diag_help(d, "`attnc dump --stage=kernel` makes a kernel of a graph");
    p->ok = false;
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
    for (size_t i = 0; o->one_form && i < todo.n; i++)
        check_form(p, todo.v[i]);
    for (size_t i = 0; !o->only && i < pass_count; i++)
        vec_push(scratch, &todo, &pass_table[i]);
    bool started = first == NULL;
    for (size_t i = 0; p->ok && i < todo.n; i++) {
        const pass_info *x = todo.v[i];
        started = started || x == first;
        bool runs = started && !among(&disabled, x);
        if (runs && (x->flags & PASS_OPTIONAL))
            runs = o->limit < 0 || p->optional_run++ < o->limit;
        if (runs && fits(p, x)) {
            p->current = x;
            with_scratch(arena_mem(p->a), p->g ? run_one : run_one_on_kernel, p);
        }
        if (started && x == last)
            return;
    }
}

static bool run_pipeline(pipeline p)
{
    p.ok = true;
    with_scratch(arena_mem(p.a), run_all, &p);
    return p.ok;
}

bool passes_run(graph *g, diags *ds, const pass_options *o)
{
    return run_pipeline((pipeline){.g = g, .a = g->a, .ds = ds, .o = o});
}

bool kernel_passes_run(kernel *k, diags *ds, const pass_options *o)
{
    return run_pipeline((pipeline){.k = k, .a = k->a, .ds = ds, .o = o});
}
