/* std_table.h: the texts of the standard library (frontend/std), built into the compiler. */
#ifndef ATTNC_FRONTEND_STD_TABLE_H
#define ATTNC_FRONTEND_STD_TABLE_H

#include <stddef.h>

struct std_file {
    const char *name; /* "rnn.attn"; imported as "std/rnn.attn" */
    const char *text; /* NUL-terminated */
    size_t size;      /* bytes before the NUL */
};

extern const struct std_file std_files[];
extern const size_t n_std_files;

#endif
