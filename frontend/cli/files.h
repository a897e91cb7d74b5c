/* files.h: source texts in, result texts out. Tensor files are the runtime's. */
#ifndef ATTNC_FRONTEND_CLI_FILES_H
#define ATTNC_FRONTEND_CLI_FILES_H

#include "frontend/cli/session.h"

#define SOURCE_LIMIT ((size_t)16 << 20) /* bytes of a source file */

/* Reads `path` ("-": standard input) and adds it to the session's sources. 0 after reporting to
 * s->ds. */
uint32_t file_add_source(session *s, const char *path);

/* The loader of imports that frontend_compile asks; ctx is the session. */
const char *file_load_import(void *ctx, arena *a, const char *from, const char *path, size_t *size);

/* A file that is there whole or not at all. Begin writes a temporary one beside `path`, commit puts
 * it in place, drop removes it (as the recovery point does). Faults go to s->ds. */
typedef struct file_out {
    const char *path; /* where it goes, with symbolic links followed */
    char *temp;       /* NULL: nothing to do, or written straight to a device or a pipe */
} file_out;
bool file_begin(session *s, const char *path, const char *text, size_t n, file_out *out);
bool file_commit(session *s, file_out *out);
void file_drop(session *s, file_out *out);

bool file_write(session *s, const char *path, const char *text, size_t n);

/* "models/gru.attn" -> "gru"; the name of what is made from a file. */
const char *file_stem(arena *a, const char *path);
const char *file_dir(arena *a, const char *path); /* "models", or "." */
bool file_is_ir(const char *path);

#endif
