/* json.h: --json: one value written from front to back, indented. Nothing is read here. */
#ifndef ATTNC_FRONTEND_CLI_JSON_H
#define ATTNC_FRONTEND_CLI_JSON_H

#include "ir/base/str.h"

typedef struct json {
    strbuf *out;
    unsigned depth;
    bool empty; /* the innermost object or array has no member yet */
} json;

/* `key`: NULL in an array and for the outermost value. */
void json_open(json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket); /* '}' or ']'; the outermost ends the line */
void json_text(json *j, const char *key, const char *text); /* NULL: null */
void json_int(json *j, const char *key, int64_t n);
void json_real(json *j, const char *key, double d); /* null where it is not finite */
void json_bool(json *j, const char *key, bool b);

#endif
