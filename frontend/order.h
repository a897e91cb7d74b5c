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

/* A way from a body to a value in it: the value counts where these hold. NULL: always. */
typedef struct path {
    value *all;
    value *drops; /* without the conditions of selects: an element outside is never looked at */
} path;
typedef VEC(path) path_list;

/* One read of a placeholder in a body. */
typedef struct edge {
    tensor *from, *to;
    value *const *index; /* for each of to->ix */
    value *node;         /* the placeholder or the read of it */
    value *where;        /* of the read; NULL: none */
    path_list paths;     /* steps: the ways there */
} edge;

/* How far all the readers of a tensor go: index q is at most index `step` + up[q]. */
typedef struct reach_of {
    uint32_t step;
    const dim **up; /* NULL: no reader was met; an element: no such bound */
} reach_of;

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
    uint32_t n_values;      /* room of the next two: the scratch graph grows meanwhile */
    value **memo;           /* by scratch value id */
    const tensor **memo_of; /* ... and for which body: another may read at other steps */
    signed char *dep; /* by scratch value id: 0 unknown, 1 depends on the frame's tensors, -1 not */
    int *comp;        /* by tensor id: strongly connected component inside this frame */
    tensor *current;  /* whose body is being built */
};

typedef struct order {
    sema *s;
    graph *from;       /* the scratch graph */
    tensor **by_scan;  /* placeholder's scan number -> tensor */
    tensor **by_value; /* step.c: an input leaf's or other value's id -> tensor; NULL: none is */
    uint32_t n_by_value;
    uint32_t n_scan;
    VEC(edge) * edges; /* by tensor id */
    bool *edges_done;
    bool ints_known, ints; /* some tensor is of ints or bools */
    /* conditions of reads (paths.c): of steps, and where there are ints */
    bool *reach; /* by value id: some tensor */
    path_list *path;
    uint32_t *met; /* by value id: in which walk */
    uint32_t n_walks;
    size_t n_reach;
    reach_of *readers; /* by tensor id */
} order;

tensor *placeholder_of(const order *o, const value *v);
/* Steps: v is t's definition and at the same time what others read it by. */
bool is_own_value(const tensor *t, const value *v);
void order_edges(order *o, tensor *t);
relation order_relation(order *o, const edge *e, uint32_t from_pos, uint32_t to_pos, bool backward);
/* Where that is known by a select only, or by the other side of an `and`: the read must say so
 * itself, as all of a select and of an `and` counts. */
bool order_needs_guard(order *o, const edge *e, uint32_t from_pos, uint32_t to_pos, bool backward,
                       relation r);
/* Finds step positions for the tensors of component c of frame `outer`; false after a message. */
bool order_steps(order *o, frame *f, tensor *const *members, size_t n);
/* Follows the reads from `roots`, whose steps f knows, and takes in every tensor that is read at
 * the step or before; *out lists them, roots first. False where a read goes ahead to a tensor of
 * which `needs` holds; *blame is it. */
typedef VEC(tensor *) tensor_list;
bool order_closure(order *o, frame *f, tensor *const *roots, size_t n, const bool *needs,
                   tensor_list *out, const edge **blame);
span order_edge_span(const edge *e);

/* paths.c, for steps. The paths to every value of t's body, in o->path until the next call. */
void paths_find(order *o, const tensor *t);
/* a <= b - slack wherever e counts; drops: by what drops the element alone, and an int before it is
 * read. */
bool paths_prove(const order *o, const edge *e, const value *a, const value *b, int64_t slack,
                 bool drops);
/* a <= b + up */
bool paths_bound(const order *o, const edge *e, const value *a, const value *b, const dim *up);
/* The components of the tensors in `members` under reads at the same step of `f` (all reads if f is
 * NULL). */
void order_components(order *o, frame *f, tensor *const *members, size_t n);
/* For each index of the scratch graph (by id), the one that stands for it in the final graph. */
const ix *const *merge_ixs(sema *s, graph *from, tensor *const *live, size_t n_live);
/* Makes `step` the index at position pos of t, in its body and reads. */
bool rename_step(sema *s, order *o, tensor *t, uint32_t pos, const ix *step);
bool order_cuts(order *o, const frame *f, const edge *e); /* the read goes through a history */

#endif
