/* cmd_explain.c: `attnc explain`: what the compiler made of each model of a file. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/explain.h"
#include "frontend/cli/files.h"

static const span nowhere = {0};

/* The names of the passes from one on to another (excluded). */
static const char *pass_names(session *s, size_t from, size_t to)
{
    strbuf list = {.a = s->a};
    for (size_t i = from; i < to; i++)
        sb_printf(&list, "%s%s", list.n ? "," : "", pass_table[i].name);
    return sb_text(&list);
}

/* Which of the passes that are asked about ran. */
typedef struct asked {
    session *s;
    bool scans, fuse;
} asked;

static void note_pass(void *ctx, const pass_info *p, const graph *g, bool changed, double seconds)
{
    (void)g;
    (void)changed;
    (void)seconds;
    asked *d = ctx;
    d->scans = d->scans || strcmp(p->name, EXPLAIN_SCANS) == 0;
    d->fuse = d->fuse || strcmp(p->name, EXPLAIN_FUSE) == 0;
}

static void keep_graph(void *ctx, const pass_info *p, const graph *before)
{
    const asked *d = ctx;
    program_keep_graph(d->s, p, before);
}

static size_t pass_at(const char *name)
{
    size_t i = 0;
    while (i < pass_count && strcmp(pass_table[i].name, name) != 0)
        i++;
    return i;
}

static bool run_from_to(session *s, pass_options *o, graph *g, size_t from, size_t to)
{
    o->only = pass_names(s, from, to);
    return passes_run(g, &s->ds, o);
}

static void did_not_run(scans_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        notes->v[i] =
            (scans_note){.v = notes->v[i].v, .why = "the pass " EXPLAIN_SCANS " did not run"};
}

/* The passes, with a look at the graph in between. */
static bool optimise(session *s, const compile_options *c, graph *g, explain_origin *origin)
{
    size_t scans = pass_at(EXPLAIN_SCANS), fuse = pass_at(EXPLAIN_FUSE);
    asked ran = {.s = s};
    pass_options o = c->passes;
    o.after = note_pass;
    o.failed = keep_graph;
    o.ctx = &ran;
    *origin = (explain_origin){.no_domains = pass_list_has(o.disabled, "domains")};
    if (!run_from_to(s, &o, g, 0, scans) ||
        (g->step_graph && !run_from_to(s, &o, g->step_graph, 0, scans)))
        return false;
    explain_before_scans(g, s->a, origin);
    if (!run_from_to(s, &o, g, scans, scans + 1))
        return false;
    explain_after_scans(g, origin);
    if (!run_from_to(s, &o, g, scans + 1, fuse))
        return false;
    explain_before_fuse(g, s->a, origin);
    if (!run_from_to(s, &o, g, fuse, pass_count))
        return false;
    for (size_t i = 0; i < origin->notes.n && !ran.fuse; i++) {
        fuse_note *n = &origin->notes.v[i];
        if (n->fused)
            *n = (fuse_note){.v = n->v, .why = "the pass " EXPLAIN_FUSE " did not run"};
    }
    if (!ran.scans) {
        did_not_run(&origin->sums);
        did_not_run(&origin->by_steps);
    }
    return true;
}

/* -D of IR text, whose dims the frontend has not put in; of equations there is nothing left to
 * find. */
static bool find_sizes(session *s, const graph *g, int64_t **symbols)
{
    const option_value *v = &s->o.o[OPT_define];
    const char **names = ARENA_ARRAY(s->a, const char *, v->n);
    int64_t *sizes = ARENA_ARRAY(s->a, int64_t, v->n);
    const char *missing;
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        size_t len = strcspn(v->items[i], "=");
        char *end;
        long long size = strtoll(v->items[i] + len + 1, &end, 10);
        if (*end || size < 0 || size > DIM_LIMIT)
            continue; /* a constant, which the frontend has taken */
        names[n] = arena_strndup(s->a, v->items[i], len);
        sizes[n++] = size;
    }
    return cost_symbols(g, s->a, names, sizes, n, symbols, &missing);
}

static bool explain_model(session *s, const compile_options *c, graph *g, explained *out)
{
    explain_origin origin;
    if (!optimise(s, c, g, &origin))
        return false;
    program one = {0};
    vec_push(s->a, &one.graphs, g);
    if (!program_schedule(s, c, &one))
        return false;
    int64_t *symbols = NULL;
    if (!find_sizes(s, g, &symbols))
        symbols = NULL;
    *out = (explained){.g = g};
    explain(g, one.kernels.v[0], &origin, s->a, symbols, &out->x);
    return true;
}

static bool explain_file(session *s, const compile_options *c, explained_list *all)
{
    program p;
    if (!program_load(s, s->o.operands[0], c, &p))
        return false;
    if (p.graphs.n == 0) {
        diag *d = diag_error(&s->ds, nowhere,
                             p.kernels.n ? "the file holds a kernel: there is no "
                                           "graph to explain"
                                         : "the file has no model to explain");
        if (!p.kernels.n)
            diag_help(d, "`model run[B] = f` exports the function f");
        return false;
    }
    for (size_t i = 0; i < p.graphs.n; i++) {
        explained x;
        if (!explain_model(s, c, p.graphs.v[i], &x))
            return false;
        vec_push(s->a, all, x);
    }
    return true;
}

int cmd_explain(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    explained_list all = {0};
    bool ok = explain_file(s, &c, &all);
    if (session_report(s) || !ok)
        return 1;
    strbuf out = {.a = s->a};
    (opt_set(s, OPT_json) ? explain_json : explain_text)(s, &all, &out);
    return session_print(s, &out) ? 0 : 1;
}
