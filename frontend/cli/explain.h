/* explain.h: how `attnc explain` reads, as text and as JSON. */
#ifndef ATTNC_FRONTEND_CLI_EXPLAIN_H
#define ATTNC_FRONTEND_CLI_EXPLAIN_H

#include "frontend/cli/program.h"
#include "passes/explain.h"

typedef struct explained {
    const graph *g;
    explanation x;
} explained;
typedef VEC(explained) explained_list;

void explain_text(session *s, const explained_list *all, strbuf *out);
void explain_json(session *s, const explained_list *all, strbuf *out);

/* What both use: the source of a span, on one line and shortened, and "file:line", "" where the
 * compiler made it; the name of an equation, or its source; the source of a predicate. */
const char *source_text(session *s, span at);
const char *source_line(session *s, span at);
const char *value_name(session *s, const value *v);
const char *mask_text(session *s, const value *v);

/* Formulas of one model that are shown together (explain_formula.c): what stands in them often has
 * a name. d NULL: too large a number. */
typedef struct formulas formulas;
formulas *formulas_new(session *s, const graph *g, const dim *const *all, size_t n);
const char *formula_text(formulas *f, const dim *d);
/* A line `lead NAME = what it means` for each name. */
void formulas_put_names(formulas *f, const char *lead, strbuf *out);

#endif
