/* builder.h: what the files that build the final graph share (to_ir.c, lower.c, scans.c, step.c).
 */
#ifndef ATTNC_FRONTEND_BUILDER_H
#define ATTNC_FRONTEND_BUILDER_H

#include "frontend/order.h"

typedef struct builder {
    order o;
    sema *s;
    graph *to;
    const ix **ix_map; /* by scratch ix id: final ones */
    size_t n_ix_map;
    const ix *const *merged; /* by scratch ix id, of those there were at the start */
    size_t n_merged;
    frame base; /* what lies outside every scan */
    VEC(tensor *) live;
} builder;

/* An entry's results as tensors of what is stored. */
typedef struct roots {
    inst *entry;
    const ast_decl *model;
    uint32_t n;
    tensor **t;
    uint32_t *step_pos; /* position of the first axis behind family and batch */
} roots;

/* to_ir.c */
bool make_roots(sema *s, inst *entry, const ast_decl *model, roots *r);
void builder_init(builder *b, sema *s, tensor *const *root, uint32_t n);
bool builder_interface(builder *b, graph *g, const roots *r, bool check_only);
void builder_output(builder *b, const roots *r, uint32_t k, value *v);
void builder_checks(builder *b);
void mark_live(builder *b, tensor *t, bool *seen);
void note_symbols(builder *b, const dim *d);
graph *to_ir(sema *s, module *m, const roots *r, bool check_only);

/* step.c: the same entry with everything that depends on the steps of its inputs in one scan over
 * them; NULL, and *why, where it has none. */
graph *to_step_ir(sema *s, module *m, const roots *r, const char **why);

/* split.c: makes two tensors of one along more rows than `steps`, which e reads at rows of the
 * steps and before; false: it is none. What is live must then be found again. */
bool split_steps(builder *b, const edge *e, uint32_t from_pos, const dim *steps);

/* lower.c */
bool is_dim_name(const graph *g, const char *name);
const ix *map_ix(builder *b, const ix *i); /* a scratch index in the final graph */
const ix **map_ixs(builder *b, const ix *const *list, uint32_t n);
value *lower_leaf(builder *b, value *v); /* an input or param */
value *lower_row(builder *b, value *v);  /* an input, 0 where it is left out */
value *lower(builder *b, frame *f,
             value *v); /* a scratch value in the final graph; NULL after a message */

/* scans.c */
void frame_arrays(builder *b, frame *f);
void frame_room(builder *b, frame *f, uint32_t id); /* for the scratch value of that id */
frame *frame_new(builder *b, frame *outer, tensor *const *members, size_t n);
/* The scan of the frame's members, whose steps are known; their results become values of `outer`.
 */
bool build_scan(builder *b, frame *outer, frame *f, tensor *const *members, size_t n);
value *define(builder *b, frame *f, tensor *t); /* t in this step of f; NULL after a message */

#endif
