/* json.c: the writer. */
#include "frontend/cli/json.h"

#include <inttypes.h>
#include <math.h>

static void put_string(strbuf *out, const char *s)
{
    sb_puts(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sb_printf(out, "\\%c", c);
        else if (c < 0x20)
            sb_printf(out, "\\u%04x", c);
        else
            sb_putn(out, s, 1);
    }
    sb_puts(out, "\"");
}

static void new_line(json *j)
{
    sb_puts(j->out, "\n");
    for (unsigned i = 0; i < j->depth; i++)
        sb_puts(j->out, "  ");
}

static void begin(json *j, const char *key)
{
    if (j->depth) {
        if (!j->empty)
            sb_puts(j->out, ",");
        new_line(j);
    }
    if (key) {
        put_string(j->out, key);
        sb_puts(j->out, ": ");
    }
    j->empty = false;
}

void json_open(json *j, const char *key, char bracket)
{
    begin(j, key);
    sb_putn(j->out, &bracket, 1);
    j->depth++;
    j->empty = true;
}

void json_close(json *j, char bracket)
{
    j->depth--;
    if (!j->empty)
        new_line(j);
    sb_putn(j->out, &bracket, 1);
    j->empty = false;
    if (j->depth == 0)
        sb_puts(j->out, "\n");
}

void json_text(json *j, const char *key, const char *text)
{
    begin(j, key);
    if (text)
        put_string(j->out, text);
    else
        sb_puts(j->out, "null");
}

void json_int(json *j, const char *key, int64_t n)
{
    begin(j, key);
    sb_printf(j->out, "%" PRId64, n);
}

void json_real(json *j, const char *key, double d)
{
    begin(j, key);
    if (isfinite(d))
        sb_put_double(j->out, d);
    else
        sb_puts(j->out, "null");
}

void json_bool(json *j, const char *key, bool b)
{
    begin(j, key);
    sb_puts(j->out, b ? "true" : "false");
}
