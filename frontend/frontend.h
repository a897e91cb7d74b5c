/* frontend.h: text to equations, equations to graph: all the other folders see of the frontend. */
#ifndef ATTNC_FRONTEND_FRONTEND_H
#define ATTNC_FRONTEND_FRONTEND_H

#include "frontend/ast.h"
#include "ir/graph/graph.h"

typedef struct frontend_define {
    const char *name; /* -D NAME=VALUE */
    const char *value;
} frontend_define;

typedef struct frontend_options {
    dtype real; /* DT_F32 or DT_F64 */
    size_t n_defines;
    const frontend_define *defines;
    const char *entry; /* only this model; NULL: every model of the file */
    /* Reads an imported file into memory of `a`; NULL where there is none. `from` is the importing
     * file's name. std files are found before it is asked. */
    const char *(*load)(void *ctx, arena *a, const char *from, const char *path, size_t *size);
    void *ctx;
} frontend_options;

/* Parses, checks and lowers file number `file` of ds->sources. NULL when anything was reported as
 * an error. A file without a model is checked all the same; its module is empty. */
module *frontend_compile(arena *a, strtab *names, source_set *sources, diags *ds, uint32_t file,
                         const frontend_options *o);

#endif
