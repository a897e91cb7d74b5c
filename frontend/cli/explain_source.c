/* explain_source.c: values by the words of the source that they came from. */
#include <string.h>

#include "frontend/cli/explain.h"

enum { LONGEST = 56 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *source_text(session *s, span at)
{
    place p = source_place(&s->sources, at);
    if (!p.src)
        return "";
    strbuf out = {.a = s->a};
    bool blank = false;
    for (uint32_t i = at.lo; i < at.hi && out.n < LONGEST; i++) {
        char c = p.src->text[i];
        if (is_blank(c)) {
            blank = true;
            continue;
        }
        if (blank && out.n)
            sb_puts(&out, " ");
        blank = false;
        sb_putn(&out, &c, 1);
    }
    if (out.n == LONGEST) {
        while (out.n && ((unsigned char)out.s[out.n - 1] & 0xC0) == 0x80)
            out.n--; /* not within a character */
        sb_puts(&out, "...");
    }
    return sb_text(&out);
}

const char *source_line(session *s, span at)
{
    place p = source_place(&s->sources, at);
    return p.src ? arena_printf(s->a, "%s:%u", p.src->name, (unsigned)p.line) : "";
}

static const char *infix(op_id op)
{
    return op == OP_contract ? "@"
           : op == OP_add    ? "+"
           : op == OP_sub    ? "-"
           : op == OP_mul    ? "*"
           : op == OP_div    ? "/"
                             : NULL;
}

/* The words of v, or of what it is made of where a pass made it. */
static const char *words(session *s, const value *v, int depth)
{
    const char *text = source_text(s, v->at), *between = infix(v->op);
    if (v->hint && strcmp(v->hint, "result") != 0) /* of a function without a name for it */
        return v->hint;
    if (*text)
        return text;
    if (v->name)
        return v->name;
    if (depth == 0)
        return "...";
    if (v->op == OP_read)
        return words(s, v->args[0], depth - 1);
    if (between)
        return arena_printf(s->a, "%s %s %s", words(s, v->args[0], depth - 1), between,
                            words(s, v->args[1], depth - 1));
    return v->n_args == 0
               ? op_table[v->op].text
               : arena_printf(s->a, "%s(%s%s)", op_table[v->op].text,
                              words(s, v->args[0], depth - 1), v->n_args > 1 ? ", ..." : "");
}

const char *value_name(session *s, const value *v)
{
    return words(s, v, 4);
}

const char *mask_text(session *s, const value *v)
{
    const char *text = source_text(s, v->at);
    return *text ? text : value_name(s, v);
}
