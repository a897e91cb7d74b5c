/* diag.h: what the compiler says to its user, collected, never printed on the way.
 *
 *     diag *d = diag_error(ds, sp, "index k has two ranges: S here and T there");
 *     diag_note(d, other, "k ranges over axis 2 of v, which is T");
 *     diag_help(d, "give the range: `sum[k in S](...)`");
 *
 * Style: the primary message is short and factual, a note states a fact (with its place), help is
 * advice. The user's mistakes are diag_error; our own are ice(), which ends the process with exit
 * code 3. */
#ifndef ATTNC_IR_BASE_DIAG_H
#define ATTNC_IR_BASE_DIAG_H

#include <stdio.h>

#include "ir/base/source.h"
#include "ir/base/str.h"

typedef enum diag_kind { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE, DIAG_HELP } diag_kind;

typedef struct diag {
    diag_kind kind;
    span at; /* file 0: no place */
    const char *text;
    struct diag *sub; /* notes and helps, in order */
    struct diag *next;
    struct diags *owner;
} diag;

typedef struct diags {
    arena *a;
    const source_set *sources;
    diag *first, *last;
    size_t n_errors;
    size_t n_repeats; /* of these: same place and text as another, not kept */
    size_t limit;     /* errors kept; later ones are only counted (0: 20) */
    unsigned muted;   /* > 0: nothing is recorded (trial elaboration), errors go to n_muted */
    size_t n_muted;
    diag dropped; /* what callers get for a report that is not kept */
} diags;

void diags_init(diags *ds, arena *a, const source_set *sources);
diag *diag_error(diags *ds, span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
diag *diag_warning(diags *ds, span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Both take what diag_error returned (never NULL, also when muted or over the limit). */
void diag_note(diag *d, span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_help(diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* file:line:column: error: text, the source line, carets under the span, then notes and help.
 * Duplicate reports (same place and text) are printed once; order is by file and place. */
void diags_print(const diags *ds, FILE *to, bool colour);

/* Runs f(ctx). Should an internal error end the process meanwhile, last_words(ctx) is called
 * before; of nested ones the innermost. Out of memory in f passes through. */
void with_last_words(mem *m, void (*f)(void *ctx), void (*last_words)(void *ctx), void *ctx);

/* An internal error: prints "internal error: ..." with file and line of the compiler, exit 3. */
_Noreturn void ice_(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define ice(...) ice_(__FILE__, __LINE__, __VA_ARGS__)
#define ICE_UNLESS(cond)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ice("%s does not hold", #cond);                                                        \
    } while (0)

#endif
