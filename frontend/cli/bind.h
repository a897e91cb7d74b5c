/* bind.h: which tensor of which file is which pointer of the model, and what the dims are. */
#ifndef ATTNC_FRONTEND_CLI_BIND_H
#define ATTNC_FRONTEND_CLI_BIND_H

#include "frontend/cli/session.h"

/* One row of the reflection record and the tensor for it. */
typedef struct slot {
    attn_tensor_set
        *set;  /* inputs, weights or results of the session; NULL: an optional input not given */
    size_t at; /* in the set; pointers into a set move while it grows */
} slot;

typedef struct binding {
    const attn_model_info *info;
    int64_t *dims; /* info->n_dims */
    slot *slots;   /* info->n_tensors */
} binding;

/* Reads -i and -w, converts, solves the dims, fills what --seed is for, makes room for the results.
 * Every fault goes to s->ds; false if there was one. */
bool bind_tensors(session *s, const attn_model_info *info, binding *b);

attn_tensor *bind_tensor(const binding *b, int64_t row); /* NULL: not given */
const char *bind_name(const attn_tensor_info *t);        /* in files */

/* fill.c: random elements, the same for the same seed, name and shape whatever else the model has.
 */
void fill_random(attn_tensor *t, uint64_t seed, attn_role role, int64_t int_limit);

/* native.c, by_interp.c: fill the results. False after reporting to s->ds. */
bool run_native(session *s, const backend_entry *e, const binding *b);
/* steps.c: the same by _begin and _step, over the tensors of the whole sequence. `cuts`: rows of
 * the calls, the last number for all that follow: "100,1"; NULL: 1. */
bool run_steps(session *s, const backend_entry *e, const binding *b, const char *cuts);
bool known_cuts(const char *cuts); /* whether that can be read */

/* native.c: memory of a call, on the session. */
void **native_pointers(session *s, const binding *b, attn_role role);
void *native_block(session *s, size_t size); /* on the boundary of workspaces and states */
bool native_refused(session *s, const binding *b, attn_status status); /* reports it: false */
/* The host's threads: NULL where there is one, else `exec`; *threads how many. */
const attn_exec *native_threads(session *s, attn_exec *exec, int *threads);
bool run_interp(session *s, const graph *g, const binding *b);

/* show.c, heat.c: results for people. `axes`: names of the axes, or NULL. */
void show_result(session *s, const attn_tensor *t, const char *const *axes, strbuf *out);
void show_heat(session *s, const attn_tensor *t, const char *const *axes, strbuf *out);
void show_type(const attn_tensor *t, const char *const *axes, strbuf *out); /* f32[t: 3, h: 4] */
int terminal_width(void);

/* Element n of a tensor as a double (ints beyond 2^53 are rounded). */
double tensor_number(const attn_tensor *t, int64_t n);

#endif
