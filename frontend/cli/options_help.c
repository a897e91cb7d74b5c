/* options_help.c: the tables and the help made from them. */
#include <stdio.h>
#include <string.h>

#include "frontend/cli/options_table.h"
#include "passes/passes.h"

const option_info option_table[OPT_COUNT] = {
#define OPT(id, name, letter, argument, kind, commands, help)                                      \
    [OPT_##id] = {name, letter, argument, KIND_##kind, commands, help},
#include "frontend/cli/options.def"
#undef OPT
};

const command_info command_table[CMD_COUNT] = {
#define COMMAND(id, operands, least, most, summary, text)                                          \
    [CMD_##id] = {#id, operands, least, most, summary, text},
#include "frontend/cli/commands.def"
#undef COMMAND
};

const char *const command_name[CMD_COUNT] = {
#define COMMAND(id, operands, least, most, summary, text) [CMD_##id] = #id,
#include "frontend/cli/commands.def"
#undef COMMAND
};

void help_all(void)
{
    printf("attnc compiles attention models written as equations.\n\n"
           "usage: attnc COMMAND [OPTION...] FILE\n\n"
           "commands:\n");
    for (int c = 0; c < CMD_COUNT; c++)
        printf("  %-8s %s\n", command_table[c].name, command_table[c].summary);
    printf("\n"
           "  attnc COMMAND --help    the options of a command\n"
           "  attnc --version         the version of attnc and of LLVM\n\n"
           "FILE - is standard input. A FILE whose name ends in .ir holds graph text instead of "
           "equations.\n"
           "Exit codes: 0 done, 1 an error in the program or its data, 2 a wrong command line,\n"
           "3 out of memory or an internal error.\n");
}

#define HELP_COLUMN 27

void help_command(command_id c)
{
    const command_info *ci = &command_table[c];
    printf("usage: attnc %s [OPTION...] %s\n\n%s\noptions:\n", ci->name, ci->operands, ci->text);
    for (int i = 0; i < OPT_COUNT; i++) {
        const option_info *o = &option_table[i];
        if (!o->help || !(o->commands & (1u << c)))
            continue;
        char letter[] = {'-', o->letter, ',', '\0'};
        char left[64];
        int n = snprintf(left, sizeof left, "  %-3s --%s%s%s", o->letter ? letter : "", o->name,
                         !o->argument               ? ""
                         : o->kind == KIND_OPTIONAL ? "="
                                                    : " ",
                         o->argument ? o->argument : "");
        if (n < HELP_COLUMN - 1)
            printf("%-*s%s\n", HELP_COLUMN, left, o->help);
        else
            printf("%s\n%*s%s\n", left, HELP_COLUMN, "", o->help);
    }
    if (c != CMD_dump && c != CMD_opt)
        return;
    printf("\npasses, in order:\n");
    for (size_t i = 0; i < pass_count; i++)
        printf("  %-*s%s%s\n", HELP_COLUMN - 2, pass_table[i].name, pass_table[i].summary,
               pass_table[i].kind == PASS_CHOICE     ? " (by the schedule)"
               : pass_table[i].flags & PASS_OPTIONAL ? ""
                                                     : " (always runs)");
}
