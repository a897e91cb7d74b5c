/* options.c: reads argv by the tables. Mistakes are reported here, with the nearest right spelling.
 */
#include "frontend/cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/attn_abi.h"

#include "backend/backend.h"
#include "frontend/cli/options_table.h"
#include "ir/base/str.h"

typedef struct parser {
    options *o;
    arena *a;
    int argc;
    char **argv;
    int at; /* the next argument */
} parser;

static void say_where_help_is(command_id c)
{
    if (c == CMD_COUNT)
        fputs("help: `attnc --help` lists the commands\n", stderr);
    else
        fprintf(stderr, "help: `attnc %s --help` lists the options\n", command_name[c]);
}

int usage_error(command_id c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("error: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    say_where_help_is(c);
    return 2;
}

static bool belongs(option_id id, command_id c)
{
    return option_table[id].commands & (1u << c);
}

/* By name (of n bytes), or by letter where name is NULL. OPT_COUNT: not an option of this command.
 */
static option_id find(command_id c, const char *name, size_t n, char letter)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        const option_info *o = &option_table[i];
        if (!belongs((option_id)i, c))
            continue;
        if (name ? strlen(o->name) == n && memcmp(o->name, name, n) == 0 : o->letter == letter)
            return (option_id)i;
    }
    return OPT_COUNT;
}

/* An option nobody knows, or one of other commands. `text` is the option as written, without its
 * value. */
static void report_unknown(parser *p, const char *text, const char *name, char letter)
{
    command_id c = p->o->command;
    fprintf(stderr, "error: `attnc %s` has no option %s\n", command_name[c], text);
    strbuf others = {.a = p->a};
    for (int k = 0; k < CMD_COUNT; k++) {
        option_id id = find((command_id)k, name, name ? strlen(name) : 0, letter);
        if (id != OPT_COUNT && option_table[id].help)
            sb_printf(&others, "%s%s", others.n ? ", " : "", command_name[k]);
    }
    const char *names[OPT_COUNT];
    size_t n = 0;
    for (int i = 0; i < OPT_COUNT; i++) {
        if (belongs((option_id)i, c) && option_table[i].help)
            names[n++] = option_table[i].name;
    }
    const char *near = name ? str_nearest(p->a, name, names, n) : NULL;
    if (near)
        fprintf(stderr, "help: did you mean --%s?\n", near);
    else if (others.n)
        fprintf(stderr, "note: it is an option of: %s\n", sb_text(&others));
    say_where_help_is(c);
}

static bool take_value(parser *p, option_id id, const char *shown, const char *text)
{
    const option_info *info = &option_table[id];
    option_value *v = &p->o->o[id];
    v->set = true;
    v->text = text;
    if (info->kind == KIND_LIST) {
        if (!v->items)
            v->items = ARENA_ARRAY(p->a, const char *, (size_t)p->argc);
        v->items[v->n++] = text;
    }
    if (info->kind == KIND_NUMBER || info->kind == KIND_COUNT) {
        long least = info->kind == KIND_COUNT ? 1 : 0;
        char *end;
        errno = 0;
        v->number = strtol(text, &end, 10);
        if (end == text || *end || errno || v->number < least || text[0] == ' ' || text[0] == '+') {
            usage_error(p->o->command, "%s takes a whole number from %ld, not '%s'", shown, least,
                        text);
            return false;
        }
    }
    return true;
}

/* The option `id`, written as `shown`; `given` is what stands behind its `=` or letter, or NULL. */
static bool take_option(parser *p, option_id id, const char *shown, const char *given)
{
    const option_info *info = &option_table[id];
    if (info->kind == KIND_FLAG) {
        if (given) {
            usage_error(p->o->command, "%s takes no value", shown);
            return false;
        }
        p->o->o[id].set = true;
        return true;
    }
    if (!given && info->kind == KIND_OPTIONAL) {
        p->o->o[id].set = true;
        return true;
    }
    if (!given) {
        if (p->at == p->argc) {
            usage_error(p->o->command, "%s needs a value: %s %s", shown, shown, info->argument);
            return false;
        }
        given = p->argv[p->at++];
    }
    return take_value(p, id, shown, given);
}

static bool take_long(parser *p, const char *arg)
{
    const char *name = arg + 2, *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const char *shown = arena_strndup(p->a, arg, n + 2);
    option_id id = find(p->o->command, name, n, 0);
    if (id == OPT_COUNT) {
        report_unknown(p, shown, shown + 2, 0);
        return false;
    }
    return take_option(p, id, shown, equals ? equals + 1 : NULL);
}

/* `-o FILE`, `-oFILE`, and flags: `-i`, one to an argument. */
static bool take_short(parser *p, const char *arg)
{
    const char shown[] = {'-', arg[1], '\0'};
    option_id id = find(p->o->command, NULL, 0, arg[1]);
    if (id == OPT_COUNT) {
        /* A whole word behind one dash is a long option with a dash missing. */
        if (arg[2] && find(p->o->command, arg + 1, strcspn(arg + 1, "="), 0) != OPT_COUNT) {
            usage_error(p->o->command, "unknown option %s; did you mean -%s?", arg, arg);
            return false;
        }
        report_unknown(p, (unsigned char)arg[1] < 0x80 ? shown : arg, NULL, arg[1]);
        return false;
    }
    if (option_table[id].kind == KIND_FLAG && arg[2]) {
        usage_error(p->o->command, "unknown option %s; -%c takes no value", arg, arg[1]);
        return false;
    }
    return take_option(p, id, shown, arg[2] ? arg + 2 : NULL);
}

static bool find_command(parser *p, const char *word)
{
    for (int c = 0; c < CMD_COUNT; c++) {
        if (strcmp(word, command_name[c]) == 0) {
            p->o->command = (command_id)c;
            return true;
        }
    }
    fprintf(stderr,
            word[0] == '-' ? "error: unknown option %s before the command\n"
                           : "error: attnc has no command '%s'\n",
            word);
    const char *near = str_nearest(p->a, word, command_name, CMD_COUNT);
    if (near)
        fprintf(stderr, "help: did you mean `attnc %s`?\n", near);
    say_where_help_is(CMD_COUNT);
    return false;
}

static bool check_operands(const options *o)
{
    const command_info *ci = &command_table[o->command];
    if (o->n_operands < ci->least) {
        usage_error(o->command, "`attnc %s` needs a file: attnc %s %s", ci->name, ci->name,
                    ci->operands);
        return false;
    }
    if (o->n_operands > ci->most) {
        usage_error(o->command, "`attnc %s` takes one file, and '%s' is one too many", ci->name,
                    o->operands[ci->most]);
        return false;
    }
    return true;
}

parse_result options_parse(options *o, arena *a, int argc, char **argv)
{
    *o = (options){.command = CMD_COUNT};
    parser p = {o, a, argc, argv, 1};
    if (argc < 2) {
        usage_error(CMD_COUNT, "which command?");
        return PARSE_USAGE;
    }
    const char *first = argv[p.at++];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        help_all();
        return PARSE_DONE;
    }
    if (strcmp(first, "--version") == 0) {
        printf("attnc %s (%s)\n", ATTNC_VERSION, backend_version());
        return PARSE_DONE;
    }
    if (!find_command(&p, first))
        return PARSE_USAGE;

    o->operands = ARENA_ARRAY(a, const char *, (size_t)argc);
    bool only_operands = false;
    while (p.at < argc) {
        const char *arg = argv[p.at++];
        if (only_operands || arg[0] != '-' || arg[1] == '\0') {
            o->operands[o->n_operands++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (!(arg[1] == '-' ? take_long(&p, arg) : take_short(&p, arg))) {
            return PARSE_USAGE;
        }
    }
    if (o->o[OPT_help].set) {
        help_command(o->command);
        return PARSE_DONE;
    }
    return check_operands(o) ? PARSE_RUN : PARSE_USAGE;
}
