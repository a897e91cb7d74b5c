/* builtin.h: the table of built-in operators (builtins.def). */
#ifndef ATTNC_FRONTEND_BUILTIN_H
#define ATTNC_FRONTEND_BUILTIN_H

#include <stddef.h>

typedef enum builtin_form {
    BUILTIN_ELEM,
    BUILTIN_REDUCE,
    BUILTIN_NORM,
    BUILTIN_OTHER
} builtin_form;
typedef struct builtin {
    const char *name;
    builtin_form form;
    int op; /* op_id or reduce_kind, by form */
    int arity;
} builtin;
extern const builtin builtin_table[];
extern const size_t builtin_count;
const builtin *builtin_find(const char *name); /* NULL: none of that name */

#endif
