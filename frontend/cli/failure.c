/* failure.c: see failure.h. Called while an internal error ends the process, so nothing here makes
 * one. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "frontend/cli/failure.h"

#include <stdlib.h>
#include <string.h>

void keep_failed(session *s, const char *stage, const strbuf *text, const char *command,
                 const char *options)
{
    progress_end(&s->progress);
    const char *temp = getenv("TMPDIR");
    char *folder = arena_printf(s->a, "%s/attnc-XXXXXX", temp && *temp ? temp : "/tmp");
    FILE *f = NULL;
    const char *path = NULL;
    if (mkdtemp(folder)) {
        path = arena_printf(s->a, "%s/before-%s.ir", folder, stage);
        f = fopen(path, "w");
    }
    bool ok = f && fwrite(text->s, 1, text->n, f) == text->n;
    ok = (!f || fclose(f) == 0) && ok;
    if (ok)
        fprintf(stderr, "note: what went into %s is in %s\nhelp: this repeats it: attnc %s %s %s\n",
                stage, path, command, options, path);
    else
        fprintf(stderr, "note: what went into %s could not be written to %s\n", stage, folder);
}
