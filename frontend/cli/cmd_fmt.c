/* cmd_fmt.c: `attnc fmt`: the canonical layout. */
#include <string.h>

#include "frontend/cli/files.h"

static int format_one(session *s, const char *path)
{
    uint32_t file = file_add_source(s, path);
    const ast_file *f = file ? ast_parse(s->a, s->names, &s->ds, file) : NULL;
    if (session_report(s))
        return 1;
    const source *src = s->sources.files.v[file];
    strbuf out = {.a = s->a};
    ast_format(f, src, &out);
    bool same = out.n == src->size && memcmp(sb_text(&out), src->text, out.n) == 0;
    if (opt_set(s, OPT_differs)) {
        if (same)
            return 0;
        diag *d = diag_error(&s->ds, (span){0}, "%s is not in canonical layout", src->name);
        diag_help(d, "`attnc fmt --write %s` rewrites it", path);
        return session_report(s);
    }
    if (!opt_set(s, OPT_write))
        return session_print(s, &out) ? 0 : 1;
    if (!same)
        file_write(s, path, sb_text(&out), out.n);
    return session_report(s);
}

int cmd_fmt(session *s)
{
    if (opt_set(s, OPT_write) && opt_set(s, OPT_differs))
        return usage_error(CMD_fmt, "--write and --check contradict each other");
    int code = 0;
    for (size_t i = 0; i < s->o.n_operands; i++) {
        if (opt_set(s, OPT_write) && strcmp(s->o.operands[i], "-") == 0)
            return usage_error(CMD_fmt, "--write cannot rewrite standard input");
        if (format_one(s, s->o.operands[i]))
            code = 1;
    }
    return code;
}
