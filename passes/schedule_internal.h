/* schedule_internal.h: what the files of the scheduler share.
 *
 *   schedule.c         the driver: regions, recurrences, outputs
 *   schedule_step.c    step kernels: the two bodies, what is kept from step to step
 *   schedule_plan.c    which values get a buffer, and which
 *   schedule_use.c     who uses a value, from where: what the plan is made from
 *   schedule_expr.c    values as scalar expressions at given indices
 *   schedule_read.c    reads and joins
 *   schedule_loop.c    loop nests, predicates as bounds
 *   schedule_reduce.c  reductions and contractions
 *   schedule_norm.c    normalisers */
#ifndef ATTNC_PASSES_SCHEDULE_INTERNAL_H
#define ATTNC_PASSES_SCHEDULE_INTERNAL_H

#include "passes/passes.h"
#include "passes/range.h"

/* Conjuncts of a predicate. */
typedef struct conjuncts {
    const value *const *v;
    uint32_t n;
} conjuncts;

enum { MAX_CONJUNCTS = 32 };

/* What is decided about one value. */
typedef struct plan {
    bool stored; /* computed once into buf by a loop nest of its own; else computed where it is used
                  */
    bool done;   /* append: its row is written in place; result: its value is in the output */
    bool inexact; /* buf rounds: it must not be read back */
    bool
        row_form; /* reduce, contract: initialise a row, then add to it; the row is the last axis */
    const kbuf *buf;       /* leaves, stored values and histories */
    const ix *const *axes; /* the index that buf's axis stands for; buf->rank of them */
    uint32_t ring;         /* a history of steps: buf holds the last `ring` rows; 0: all */
    uint32_t ring_axis;

    uint32_t n_uses;
    bool index_only; /* ints and bools made of indices, dims and constants */
    bool costly;     /* not to be computed again for every element of a larger space */
    uint16_t cost;   /* loads and operations where it is computed in place, saturated */
    uint16_t size;   /* words of its expression, saturated */
    uint16_t depth;  /* of expressions in expressions */
    uint64_t unsafe; /* read: index values not proved in range (bit 63: that one and all behind) */

    uint32_t context; /* where it is used: a number per block of code; 0: not met yet */
    bool many;        /* ... or several of them */
    bool under_read;  /* a read looks at it in place */
    bool same_space;  /* its users compute no element twice */
    conjuncts need;   /* its users look at elements only where these hold */
} plan;

typedef struct binding { /* index -> its value in the code at hand */
    const ix *i;
    const kexpr *e;
    const struct binding *up;
} binding;

/* Code in which each graph value has one meaning: the same indices bound to the same expressions.
 */
typedef struct frame {
    uint32_t id;
    const binding *env;
} frame;

typedef struct memo { /* a value that stands in a variable already */
    uint32_t frame;
    const kexpr *e;
    struct memo *up;
} memo;

typedef struct split { /* a join in a loop over one of its parts */
    const value *join;
    uint32_t part;
    uint32_t frame;
    const kexpr *at; /* the part's own index */
    const struct split *up;
} split;

typedef struct active { /* a conjunct that holds in the code at hand */
    const value *c;
    uint32_t frame;
    const struct active *up;
} active;

typedef struct out { /* what an output holds, in terms of the indices bound where it is stored */
    const value *v;
    const ix *const *axes;
    int step_axis; /* step kernels: of the output; -1: none */
    bool done;     /* v is computed in the output's buffer */
} out;

typedef struct sched {
    kernel *k;
    const graph *g;
    machine_shape shape;
    arena *scratch;
    diags *ds;
    range *range;
    value_list live;
    uint32_t *home;        /* by value id: graph_homes */
    const value **scan_of; /* by scan number */
    plan *plan;            /* by value id */
    out *outs;             /* by result */

    /* step kernels */
    const value *step_scan; /* NULL: an ordinary kernel */
    const int *step_axis;   /* by value id: of inputs with steps, else -1 */
    bool in_step;           /* the code at hand belongs to the steps, not to the beginning */
    const kexpr *row;       /* the step at hand, counted from the first of the call */
    const kbuf **given;     /* by value id: whether an optional input was there at the beginning */
    bool *kept;             /* by value id: plan.buf is a copy made at the beginning */

    uint32_t n_contexts;

    kblock *at; /* where statements go */
    uint32_t n_frames;
    memo **memos; /* by value id */
    VEC(uint32_t) memo_log;
    const split *splits;
    unsigned copies; /* of the code at hand, made by splitting loops */
    const active *active;
    const binding *steps; /* the steps of the recurrences around */
    unsigned nesting;     /* of recurrences */
    bool failed;
} sched;

/* --- plan, use --- */
void plan_values(sched *s);
void plan_uses(
    sched *s); /* part of plan_values: context, many, same_space, need; decides what is stored */
const kbuf *output_buf(const sched *s, size_t result);
bool is_step_of(const sched *s, const value *v,
                const ix *i); /* a step of a region that v lies in */
bool in_region_around(const sched *s, const value *v,
                      uint32_t home);         /* v's own, or one around it */
bool is_cheap(const value *v, const plan *p); /* rather computed again than stored */
void split_conjuncts(arena *a, const value *where, conjuncts *out);
bool is_leaf(const value *v); /* no code of its own: constants, indices, inputs */
/* How v's memory goes with i: 0 not at all, 1 from one element to the next, 2 otherwise. */
int stride_of(const sched *s, const value *v, const ix *i);
/* How v's history is found: the history value itself, of append and result too. */
const value *history_of(const value *v);

/* --- step kernels --- */
void plan_steps(sched *s); /* histories of the steps: how many rows are kept */
void emit_steps(sched *s);
/* The input or `given` v is about to be used: in the steps, what the beginning was given is read
 * from a copy. */
void step_leaf(sched *s, const value *v);
/* Index values of the step become places in buf: rows of the call, of a ring. */
void fit_index(sched *s, const plan *p, const kexpr **index);

/* --- expressions --- */
frame new_frame(sched *s, const binding *env);
void bind(sched *s, frame *f, const ix *i, const kexpr *e);
const kexpr *bound_value(const frame *f, const ix *i);       /* NULL: not bound */
const kexpr *sx(sched *s, frame *f, const value *v);         /* the value at the bound indices */
const kexpr *sx_compute(sched *s, frame *f, const value *v); /* the same, not from its own buffer */
const kexpr *sx_read(sched *s, frame *f, const value *v);
const kexpr *sx_join(sched *s, frame *f, const value *v);
const kexpr *sx_reduce(sched *s, frame *f, const value *v);
/* Whether x takes the place of the best element so far: the first one, a better one, or the first
 * NaN. found (whether there is one) may be NULL: best then begins with what nothing beats. */
const kexpr *sx_beats(sched *s, const kvar *found, const kvar *best, const kexpr *x, bool least);
const kexpr *sx_element(sched *s, const value *v, const kexpr *const *index); /* from v's buffer */
const kexpr *k1(sched *s, op_id op, const kexpr *a);
const kexpr *k2(sched *s, op_id op, const kexpr *a, const kexpr *b); /* folds trivial cases */
const kexpr *k_select(sched *s, const kexpr *c, const kexpr *a, const kexpr *b);
const kexpr *k_and(sched *s, const kexpr *a, const kexpr *b); /* a or b may be NULL: true */
const kexpr *k_zero(sched *s, dtype dt);
const kexpr *hold(sched *s, const kexpr *e,
                  const char *name); /* in a `let` unless it is one word */
kvar *new_acc(sched *s, const kexpr *init, const char *name);
void store_at(sched *s, frame *f, const value *v, const kexpr *e); /* into v's buffer */
const char *name_of(const value *v);
const char *note_of(sched *s, const value *v);

/* Blocks: what is memorised inside is forgotten behind. */
typedef struct scope {
    kblock *at;
    size_t memos;
    const active *active;
} scope;
scope scope_open(sched *s, kblock *inside);
void scope_close(sched *s, scope o);
kstmt *open_if(sched *s, const kexpr *cond, scope *o);

/* --- loops --- */
typedef void nest_body(sched *s, frame *f, void *ctx);
typedef struct nest {
    const ix *const *ix; /* outermost first; those bound already are skipped */
    uint32_t n;
    conjuncts where[2];   /* the body runs only where all hold */
    const value *body_of; /* joins that it computes in place split loops; NULL: none */
    nest_body *body;
    void *ctx;
    const char *note;
} nest;
void run_nest(sched *s, frame *f, const nest *n);
bool is_active(const sched *s, const frame *f, const value *conjunct);

/* --- loop nests of stored values --- */
void emit_region(sched *s, uint32_t home);
void emit_output(sched *s, size_t result); /* its copy, where it is not computed in place */
void emit_value(sched *s, const value *v);
void emit_row_form(sched *s, frame *f, const value *v);
void emit_norm(sched *s, frame *f, const value *v);

#endif
