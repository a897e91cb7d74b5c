/* order.h: which tensors depend on which, step by step (order.c finds it, to_ir.c uses it). */
#ifndef ATTNC_FRONTEND_ORDER_H
#define ATTNC_FRONTEND_ORDER_H

#include "frontend/sema.h"

/* How tensor X at step s reads tensor Y. */
typedef enum relation {
    REL_NONE, /* no relation that could be proved */
    REL_SAME, /* at s */
    REL_PAST, /* at earlier steps only */
    REL_UPTO, /* at earlier steps and s */
} relation;

/* One read of a placeholder in a body. */
typedef struct edge {
    tensor *from, *to;
    value *const *index; /* for each of to->ix */
    value *node;         /* the placeholder or the read of it */
    value *where;        /* of the read; NULL: none */
} edge;

/* A recurrence being built: the tensors that depend on each other, and where each has its step. */
typedef struct frame frame;
struct frame {
    frame *up;
    bool *in;       /* by tensor id */
    uint32_t *step; /* by tensor id: position among its ix */
    bool backward;
    const ix *step_ix; /* scratch graph: of every body (renamed where it differed) */
    value **region;    /* by tensor id: its value in this step, in the final graph */
    progress *state;   /* by tensor id */
    value **history;   /* by tensor id: final graph; before and after this step's row */
    value **appended;
    bool *wanted; /* needs a history */
    int *slot;
    uint32_t scan;
    uint32_t n_values; /* room of the next two: the scratch graph grows meanwhile */
    value **memo;      /* by scratch value id */
    signed char *dep; /* by scratch value id: 0 unknown, 1 depends on the frame's tensors, -1 not */
    int *comp;        /* by tensor id: strongly connected component inside this frame */
    tensor *current;  /* whose body is being built */
};

typedef struct order {
    sema *s;
    graph *from;       /* the scratch graph */
    tensor **by_scan;  /* placeholder's scan number -> tensor */
    tensor **by_input; /* step.c: input leaf's id -> tensor; NULL: inputs are leaves */
    uint32_t n_scan;
    VEC(edge) * edges; /* by tensor id */
    bool *edges_done;
} order;

tensor *placeholder_of(const order *o, const value *v);
void order_edges(order *o, tensor *t);
relation order_relation(order *o, const edge *e, uint32_t from_pos, uint32_t to_pos, bool backward);
/* Finds step positions for the tensors of component c of frame `outer`; false after a message. */
bool order_steps(order *o, frame *f, tensor *const *members, size_t n);
/* Follows the reads from `roots`, whose steps f knows, and takes in every tensor that is read at
 * the step or before; *out lists them, roots first. False where a read goes ahead to a tensor of
 * which `needs` holds; *blame is it. */
typedef VEC(tensor *) tensor_list;
bool order_closure(order *o, frame *f, tensor *const *roots, size_t n, const bool *needs,
                   tensor_list *out, const edge **blame);
span order_edge_span(const edge *e);
/* The components of the tensors in `members` under reads at the same step of `f` (all reads if f is
 * NULL). */
void order_components(order *o, frame *f, tensor *const *members, size_t n);
/* For each index of the scratch graph (by id), the one that stands for it in the final graph. */
const ix *const *merge_ixs(sema *s, graph *from, tensor *const *live, size_t n_live);
/* Makes `step` the index at position pos of t, in its body and reads. */
bool rename_step(sema *s, order *o, tensor *t, uint32_t pos, const ix *step);
bool order_cuts(order *o, const frame *f, const edge *e); /* the read goes through a history */

#endif
