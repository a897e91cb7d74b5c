/* schedule_internal.h: what the files of the scheduler share.
 *
 *   schedule.c         the driver: regions, recurrences, outputs
 *   schedule_step.c    step kernels: the two bodies, what is kept from step to step
 *   schedule_plan.c    which values get a buffer, and which
 *   schedule_place.c   values made in outputs and histories
 *   schedule_need.c    conditions of readers, said of what they read
 *   schedule_use.c     who uses a value, from where: what the plan is made from
 *   schedule_expr.c    values as scalar expressions at given indices
 *   schedule_read.c    reads and joins
 *   schedule_loop.c    loop nests, predicates as bounds
 *   schedule_reduce.c  reductions and contractions
 *   schedule_scatter.c reductions whose elements go where data says
 *   schedule_norm.c    normalisers
 *   schedule_online.c  online ops, one row at a time
 *   schedule_online_*  online ops by tiles (schedule_online_tile.h); few rows, many keys
 *                      (schedule_online_split.h)
 *   schedule_sums.c    sums by tiles: which stored values are made so, and their loops
 *   schedule_tile.c    one tile of a sum (schedule_tile.h)
 *   schedule_panel.c   operands of tiles in memory by blocks of columns */
#ifndef ATTNC_PASSES_SCHEDULE_INTERNAL_H
#define ATTNC_PASSES_SCHEDULE_INTERNAL_H

#include "passes/passes.h"
#include "passes/range.h"
#include "passes/scatter.h"

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
    const scatter *scatter;      /* reduce, contract: elements go where data says; NULL: not so */
    const struct tiling *tiling; /* stored: its sums are made by tiles; NULL: not so */
    const kbuf *buf;             /* leaves, stored values and histories */
    const ix *const *axes;       /* the index that buf's axis stands for; buf->rank of them */
    const uint32_t *fold;        /* part: so many of `axes` are one of buf; NULL: one each */
    uint32_t ring;               /* a history of steps: buf holds the last `ring` rows; 0: all */
    uint32_t ring_axis;

    const value *weights; /* online: its part of that name, where that is asked for; else NULL */

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
    bool in_score;    /* of the size of an online op's weights: not to be stored for it */
    bool may_fail;    /* what it is computed from in place has checks or reads that may fail */
    conjuncts need;   /* its users look at elements only where these hold */
    conjuncts asked;  /* ... and these, which readers at other indices say: need is among them */
    conjuncts held;   /* hold already in all code that would compute it in place */
    bool guarded;     /* stored, it is computed where asked holds and is 0 elsewhere */
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

/* What is made before a recurrence stands there: one for each recurrence around the code at hand.
 */
typedef struct before {
    kblock *block;
    const binding *steps; /* of the recurrences around that place */
    uint32_t home;        /* the region it lies in (graph_homes) */
} before;

typedef struct sched {
    kernel *k;
    graph *g;
    machine_shape shape;
    unsigned without; /* choices left out */
    double *seconds;  /* by choice_id; NULL: nobody asks */
    arena *scratch;
    diags *ds;
    range *range;
    value_list live;
    value_list conditions; /* made for the plan, operands first: not live */
    size_t n_values;       /* those that the tables have */
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
    const binding *steps;             /* the steps of the recurrences around */
    unsigned nesting;                 /* of recurrences */
    VEC(before) before;               /* outermost first */
    bool *weights;                    /* by value id: it could be computed in `prepare` */
    const bool *weight_dims;          /* by symbol: params have it in their shape */
    VEC(const struct panel *) panels; /* those made early, to be used again */
    VEC(const kbuf *) tiles;          /* registers and tiles, to be used again */
    uint32_t *hits;                   /* by rule_id: how often it was applied; NULL: nobody asks */
    bool failed;
} sched;

static inline void form(const sched *s, rule_id r)
{
    if (s->hits)
        s->hits[r]++;
}

static inline uint32_t plan_n_axes(const plan *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; p->fold && i < p->buf->rank; i++)
        n += p->fold[i];
    return p->fold ? n : p->buf->rank;
}

static inline bool decides(const sched *s, choice_id x)
{
    return !(s->without >> x & 1);
}

/* The time of a choice: from begin to end, summed up. */
double choice_begin(const sched *s);
void choice_end(const sched *s, choice_id x, double begun);

static inline bool has_tiles(const sched *s) /* not of MACHINE_SHAPE_PLAIN */
{
    return s->shape.vector_bytes != 0 && decides(s, CHOICE_tiles);
}

/* --- plan, use --- */
void plan_values(sched *s);
/* All that x is computed from is there in `prepare`. */
bool in_prepare(const sched *s, const value *x, unsigned *budget);
void plan_outputs(sched *s);             /* ... which values are made in outputs */
void plan_row(sched *s, const value *v); /* ... an append's: in the history */
void plan_uses(sched *s); /* part of plan_values: context, many, same_space, need, asked; decides
                             what is stored */
void make_conditions(sched *s);  /* all that condition_on_source may give, before tables are made */
void place_conditions(sched *s); /* completes `home` */
/* c, which the elements that `read` looks at fulfil, over the source's indices; NULL: it cannot be
 * said so. */
const value *condition_on_source(sched *s, const value *read, const value *c);
const kbuf *output_buf(const sched *s, size_t result);
bool is_step_of(const sched *s, const value *v,
                const ix *i); /* a step of a region that v lies in */
bool in_region_around(const sched *s, const value *v,
                      uint32_t home);         /* v's own, or one around it */
bool is_cheap(const value *v, const plan *p); /* rather computed again than stored */
void split_conjuncts(arena *a, const value *where, conjuncts *out);
bool is_leaf(const value *v);                /* no code of its own: constants, indices, inputs */
bool checks(const sched *s, const value *v); /* it needs statements that may set a status */
store_type temp_store(const sched *s, dtype dt);
/* How v's memory goes with i: 0 not at all, 1 from one element to the next, 2 otherwise. */
int stride_of(const sched *s, const value *v, const ix *i);
/* How v's history is found: the history value itself, of append and result too. */
const value *history_of(const value *v);

/* --- histories --- */
void plan_rings(sched *s); /* how many rows of each are kept */
/* Index values of the step become places in buf: rows of the call, of a ring. */
void fit_index(sched *s, const plan *p, const kexpr **index);

/* --- step kernels --- */
void emit_steps(sched *s);
/* The input or `given` v is about to be used: in the steps, what the beginning was given is read
 * from a copy. */
void step_leaf(sched *s, const value *v);

/* --- expressions --- */
frame new_frame(sched *s, const binding *env);
/* One in which the same is bound and known as in f; to be forgotten by setting s->active and
 * s->splits back. */
frame new_frame_like(sched *s, const frame *f);
void memorise(sched *s, const frame *f, const value *v, const kexpr *e); /* v is e in this scope */
void bind(sched *s, frame *f, const ix *i, const kexpr *e);
const kexpr *bound_value(const frame *f, const ix *i);       /* NULL: not bound */
const kexpr *sx(sched *s, frame *f, const value *v);         /* the value at the bound indices */
const kexpr *sx_compute(sched *s, frame *f, const value *v); /* the same, not from its own buffer */
const kexpr *sx_read(sched *s, frame *f, const value *v);
const kexpr *sx_join(sched *s, frame *f, const value *v);
const kexpr *sx_reduce(sched *s, frame *f, const value *v);
/* Of the reduction v: what it takes in at the bound indices at hand, and a result so far that has
 * taken in x, with the check that ints need. */
const kexpr *sx_term(sched *s, frame *f, const value *v);
const kexpr *sx_joined(sched *s, const value *v, const kexpr *acc, const kexpr *x);
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
    conjuncts where[2];           /* the body runs only where all hold */
    const value *body_of;         /* joins that it computes in place split loops; NULL: none */
    const struct tile_sum *known; /* ... but for those in its panels; NULL: none */
    const kexpr *lo, *hi;         /* of the first loop, where it is one over a part; NULL: all */
    int64_t ahead;                /* of the first loop (kernel.h) */
    nest_body *body;
    void *ctx;
    const char *note;
} nest;
void run_nest(sched *s, frame *f, const nest *n);
bool is_active(const sched *s, const frame *f, const value *conjunct);
void hold_true(sched *s, const frame *f, const value *conjunct); /* up to the end of the scope */
/* Whether conjunct c can be bounds of a loop over i, and the bounds that those of c make (each NULL
 * where they say nothing). */
bool is_bound_of(const sched *s, const value *c, const ix *i);
void nest_bounds(sched *s, frame *f, const ix *i, const conjuncts *c, const kexpr **lo,
                 const kexpr **hi);

/* --- loop nests of stored values --- */
void emit_region(sched *s, uint32_t home);
void emit_output(sched *s, size_t result); /* its copy, where it is not computed in place */
void emit_value(sched *s, const value *v);
void emit_row_form(sched *s, frame *f, const value *v);
void emit_scatter(sched *s, frame *f, const value *v);
void emit_norm(sched *s, frame *f, const value *v);

/* One row of a normaliser: weights of the operand of v (its first) over the bound indices of v,
 * into v's buffer. zeros: excluded elements are set, too. from: see schedule_norm.c; may be NULL.
 */
typedef struct norm_row {
    const kvar *max; /* softmax: of the operand */
    const kvar *sum; /* what was divided by, before 0 was replaced */
} norm_row;
norm_row sx_norm(sched *s, frame *f, const value *v, op_id op, const value *from, bool zeros);

/* --- online ops --- */
enum { ONLINE_AHEAD = 16 };                  /* keys: some 4 kB of rows of 64 */
void emit_online(sched *s, const value *v);  /* all its parts */
void place_online(sched *s, const value *v); /* its row of weights; parts have their buffers */
/* The same for few rows and many keys, cut into parts; where code for other sizes goes, NULL where
 * there are none. few: 0 where it is sure not to be used, so that it needs no memory, else 1. */
kblock *emit_online_split(sched *s, const value *v, const value *const *parts, size_t n,
                          const dim *few);
/* One parallel loop over all of those indices, outside recurrences; false: there is none. */
bool open_rows(sched *s, frame *f, const ix *const *ixs, uint32_t n, const char *note, scope *o);
/* The same by tiles, for sizes of some tiles at least. False: not at all; else *otherwise is where
 * code for smaller sizes goes, or NULL where there are none. *few: 0 where there are enough rows,
 * else 1. */
bool emit_online_tiles(sched *s, const value *v, const value *const *parts, size_t n,
                       kblock **otherwise, const dim **few);

/* --- sums by tiles --- */
/* Whether tiles may fit the sum v: asked before it is known what is stored. */
bool may_tile(const sched *s, const value *v);
/* Decides plan.tiling of a stored value: all its sums by tiles, or none. */
void choose_tiling(sched *s, const value *v);
const ix *tiling_column(const struct tiling *t);
void emit_tiling(sched *s, frame *f, const value *v);

#endif
