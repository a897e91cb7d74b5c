/* options.h: the command line, parsed. The tables are commands.def and options.def; here is no
 * meaning, only which options were given. */
#ifndef ATTNC_FRONTEND_CLI_OPTIONS_H
#define ATTNC_FRONTEND_CLI_OPTIONS_H

#include "ir/base/arena.h"

typedef enum command_id {
#define COMMAND(id, operands, least, most, summary, text) CMD_##id,
#include "frontend/cli/commands.def"
#undef COMMAND
    CMD_COUNT
} command_id;

typedef enum option_id {
#define OPT(id, name, letter, argument, kind, commands, help) OPT_##id,
#include "frontend/cli/options.def"
#undef OPT
    OPT_COUNT
} option_id;

typedef struct option_value {
    bool set;
    const char *text;   /* the last one given */
    long number;        /* NUMBER, COUNT */
    size_t n;           /* LIST: how many ... */
    const char **items; /* ... in the order given */
} option_value;

typedef struct options {
    command_id command;
    option_value o[OPT_COUNT];
    size_t n_operands;
    const char **operands;
} options;

/* What main does next. */
typedef enum parse_result {
    PARSE_RUN,  /* the command */
    PARSE_DONE, /* help or version was printed: exit with 0 */
    PARSE_USAGE /* a mistake was reported: exit with 2 */
} parse_result;

parse_result options_parse(options *o, arena *a, int argc, char **argv);

extern const char *const command_name[CMD_COUNT];

/* A mistake in how attnc was called, found later than options_parse: prints it and where help is.
 * Returns the exit code 2. */
int usage_error(command_id c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The help texts, from the tables. */
void help_all(void);
void help_command(command_id c);

#endif
