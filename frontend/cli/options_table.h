/* options_table.h: the two tables as data, for the parser and the help; not for the commands. */
#ifndef ATTNC_FRONTEND_CLI_OPTIONS_TABLE_H
#define ATTNC_FRONTEND_CLI_OPTIONS_TABLE_H

#include "frontend/cli/options.h"

typedef enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NUMBER,
    KIND_COUNT,
    KIND_LIST,
    KIND_OPTIONAL
} option_kind;

enum {
#define COMMAND(id, operands, least, most, summary, text) C_##id = 1 << CMD_##id,
#include "frontend/cli/commands.def"
#undef COMMAND
    C_ALL = (1 << CMD_COUNT) - 1
};

typedef struct option_info {
    const char *name;
    char letter;
    const char *argument;
    option_kind kind;
    unsigned commands;
    const char *help;
} option_info;
extern const option_info option_table[OPT_COUNT];

typedef struct command_info {
    const char *name, *operands;
    size_t least, most;
    const char *summary, *text;
} command_info;
extern const command_info command_table[CMD_COUNT];

#endif
