/* session.h: what one call of attnc holds: memory, sources, reports, phases. Every command gets
 * one.
 *
 * Out of memory jumps to session_run's recovery point. Whatever is not arena memory and alive while
 * memory is asked for must therefore hang on the session, so that it is given back there. */
#ifndef ATTNC_FRONTEND_CLI_SESSION_H
#define ATTNC_FRONTEND_CLI_SESSION_H

#include "runtime/io/io.h"
#include "runtime/pool.h"
#include "runtime/solve.h"

#include "backend/backend.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "frontend/frontend.h"
#include "passes/passes.h"

typedef struct phase_time {
    const char *name;
    double seconds;
    bool part; /* of the phase that stands behind it: not in the sum */
} phase_time;

enum { MAX_PHASES = 64 };

typedef struct session {
    mem m;
    jmp_buf recover;
    arena *a;
    options o;
    strtab *names;
    source_set sources;
    diags ds;
    bool colour_out, colour_err;

    progress progress;
    const char *phase; /* the one that runs, or NULL */
    double phase_start;
    phase_time times[MAX_PHASES]; /* later ones are not kept; no memory is asked for */
    size_t n_times;
    uint32_t rule_hits[RULE_COUNT]; /* for --rules */
    const char *scheduled_for;      /* options that repeat the schedule at hand */

    /* What is given back at the end or at the recovery point. */
    backend_module *code;
    attn_pool *pool;
    attn_tensor_set inputs, weights, results;
    attn_problems problems;
    attn_text text;       /* a library's message */
    void *held;           /* one block of plain memory, or NULL */
    const char *temps[8]; /* temporary files; NULL entries are free */

    attn_allocator alloc; /* this session's memory, for the runtime's libraries */
} session;

/* Runs one command line and returns the exit code. */
int session_run(session *s, int argc, char **argv);

static inline bool opt_set(const session *s, option_id id)
{
    return s->o.o[id].set;
}
static inline const char *opt_text(const session *s, option_id id)
{
    return s->o.o[id].text; /* NULL where it was not given */
}
long opt_number(const session *s, option_id id, long otherwise);

/* A phase is what the progress line and --time name. Phases do not nest. */
void phase_begin(session *s, const char *name);
void phase_end(session *s);
void phase_note(session *s, phase_time t);
double session_clock(void); /* seconds, from an arbitrary start */

/* Prints what was reported so far (once) and gives the exit code: 1 where there was an error. */
int session_report(session *s);

/* Standard output, checked: false after saying that it failed. A reader who went away is no
 * message. */
bool session_print(session *s, const strbuf *text);

/* Tensors' and libraries' memory: status NOMEM of a library ends up here. */
_Noreturn void session_no_memory(session *s);

#define COMMAND(id, operands, least, most, summary, text) int cmd_##id(session *s);
#include "frontend/cli/commands.def"
#undef COMMAND

#endif
