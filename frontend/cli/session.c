/* session.c: from argv to exit code, with the recovery point for memory that runs out. */
#include "frontend/cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double session_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

long opt_number(const session *s, option_id id, long otherwise)
{
    return s->o.o[id].set ? s->o.o[id].number : otherwise;
}

void phase_begin(session *s, const char *name)
{
    s->phase = name;
    s->phase_start = session_clock();
    progress_begin(&s->progress, name);
}

void phase_note(session *s, phase_time t)
{
    if (s->n_times < MAX_PHASES)
        s->times[s->n_times++] = t;
}

void phase_end(session *s)
{
    if (!s->phase)
        return;
    progress_end(&s->progress);
    phase_note(s, (phase_time){s->phase, session_clock() - s->phase_start, false});
    s->phase = NULL;
}

int session_report(session *s)
{
    phase_end(s);
    if (s->ds.first || s->ds.n_errors) /* printing asks for memory: not after all went well */
        diags_print(&s->ds, stderr, s->colour_err);
    int code = s->ds.n_errors ? 1 : 0;
    diags_init(&s->ds, s->a, &s->sources);
    return code;
}

bool session_print(session *s, const strbuf *text)
{
    phase_end(s);
    if (text->n)
        fwrite(text->s, 1, text->n, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (errno != EPIPE)
        fprintf(stderr, "error: cannot write to standard output: %s\n", strerror(errno));
    return false;
}

_Noreturn void session_no_memory(session *s)
{
    mem_fail(&s->m);
}

static void *session_realloc(void *ctx, void *p, size_t old, size_t new_size)
{
    session *s = ctx;
    void *q = mem_try_realloc(&s->m, p, new_size);
    /* Tensor data dominates what the readers ask for, so this is how far they are. */
    if (q && new_size > old)
        atomic_fetch_add(&s->progress.done, new_size - old);
    return q;
}

static int (*const command_run[CMD_COUNT])(session *) = {
#define COMMAND(id, operands, least, most, summary, text) [CMD_##id] = cmd_##id,
#include "frontend/cli/commands.def"
#undef COMMAND
};

/* --fail-alloc counts from here: what came before is the same few blocks for every command line. */
static void plan_failure(session *s)
{
    option_id id = opt_set(s, OPT_fail_from) ? OPT_fail_from : OPT_fail_at;
    s->m.count = 0;
    s->m.fail_at = (size_t)opt_number(s, id, 0);
    s->m.from_then_on = id == OPT_fail_from;
}

static bool choose_colour(session *s)
{
    const char *when = opt_text(s, OPT_color);
    bool always = when && strcmp(when, "always") == 0;
    if (when && !always && strcmp(when, "auto") != 0 && strcmp(when, "never") != 0) {
        usage_error(s->o.command, "--color takes auto, always or never, not '%s'", when);
        return false;
    }
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    bool possible = (!when || strcmp(when, "auto") == 0) && !(no && *no) &&
                    !(term && strcmp(term, "dumb") == 0);
    s->colour_out = always || (possible && isatty(STDOUT_FILENO));
    s->colour_err = always || (possible && isatty(STDERR_FILENO));
    return true;
}

static void print_times(const session *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_times; i++) {
        const phase_time *t = &s->times[i];
        fprintf(stderr, "%10.3f ms  %s%s\n", 1e3 * t->seconds, t->part ? "  " : "", t->name);
        sum += t->part ? 0 : t->seconds;
    }
    fprintf(stderr, "%10.3f ms  in all\n", 1e3 * sum);
}

static void print_rules(const session *s)
{
    for (int r = 0; r < RULE_COUNT; r++) {
        const rule_info *x = &rule_table[r];
        fprintf(stderr, "%10u  %s.%s: %s\n", (unsigned)s->rule_hits[r], x->pass, x->name,
                x->meaning);
    }
}

static int run_command(session *s, int argc, char **argv)
{
    s->a = arena_new(&s->m);
    switch (options_parse(&s->o, s->a, argc, argv)) {
    case PARSE_DONE:
        return session_print(s, &(strbuf){0}) ? 0 : 1;
    case PARSE_USAGE:
        return 2;
    case PARSE_RUN:
        break;
    }
    if (!choose_colour(s))
        return 2;
    progress_init(&s->progress, isatty(STDERR_FILENO));
    plan_failure(s);
    s->names = strtab_new(s->a);
    source_set_init(&s->sources, s->a);
    diags_init(&s->ds, s->a, &s->sources);
    int code = command_run[s->o.command](s);
    phase_end(s);
    if (opt_set(s, OPT_time))
        print_times(s);
    if (opt_set(s, OPT_rules))
        print_rules(s);
    return code;
}

static void give_back(session *s)
{
    for (size_t i = 0; i < sizeof s->temps / sizeof s->temps[0]; i++) {
        if (s->temps[i])
            unlink(s->temps[i]);
    }
    mem_free(&s->m, s->held);
    attn_text_free(&s->text);
    attn_problems_free(&s->problems);
    attn_tensor_set_free(&s->results);
    attn_tensor_set_free(&s->weights);
    attn_tensor_set_free(&s->inputs);
    attn_pool_destroy(s->pool);
    backend_free(s->code);
    arena_free(s->a);
}

int session_run(session *s, int argc, char **argv)
{
    *s = (session){.m = {.on_oom = &s->recover}};
    s->alloc = (attn_allocator){session_realloc, s};
    attn_tensor_set_init(&s->inputs, &s->alloc);
    attn_tensor_set_init(&s->weights, &s->alloc);
    attn_tensor_set_init(&s->results, &s->alloc);
    attn_problems_init(&s->problems, &s->alloc);
    attn_text_init(&s->text, &s->alloc);
    int code;
    if (setjmp(s->recover) == 0) {
        code = run_command(s, argc, argv);
    } else {
        progress_end(&s->progress);
        fputs("error: out of memory\n", stderr);
        code = 3;
    }
    give_back(s);
    return code;
}
