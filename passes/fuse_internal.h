/* fuse_internal.h: what the files of the pass fuse-softmax-sum share.
 *
 *   fuse_softmax_sum.c   the pass
 *   fuse_split.c         normalisers made fit first: sinks, sums over another index
 *   fuse_match.c         sums whose products hold weights
 *   fuse_group.c         which of them one online op computes, and which must stay
 *   fuse_build.c         the graph again, with online ops
 *   fuse_report.c        what was fused and what not, and why */
#ifndef ATTNC_PASSES_FUSE_INTERNAL_H
#define ATTNC_PASSES_FUSE_INTERNAL_H

#include "passes/fuse.h"
#include "passes/passes.h"

enum { FUSE_STEPS = 16 };

/* One factor of a product beside the weights: mul, weigh (the weights' side times other), div (by
 * other), or select (other is a condition, 0 elsewhere). */
typedef struct fuse_step {
    op_id op;
    value *other;
} fuse_step;

typedef VEC(value *) fuse_list;

typedef struct fuse_group fuse_group;

/* A sum over weights times something. */
typedef struct fuse_sum {
    value *v; /* the sum */
    value *w; /* the weights: a normaliser, or exponentials written by hand, or a kernel */
    fuse_step steps[FUSE_STEPS]; /* what they are multiplied with, from the weights outwards */
    uint32_t n_steps;
    fuse_list only;  /* conditions on the bound indices that the weights do not have */
    fuse_list rows;  /* conditions that no bound index has */
    const ix **more; /* indices that the sum runs over besides */
    uint32_t n_more;
    fuse_group *group;
    value *stream; /* new; NULL: the weights alone */
    int part;
} fuse_sum;

/* What one online op will compute. */
struct fuse_group {
    online_kind kind;
    value *w, *score;
    const ix *const *bound;
    uint32_t n_bound;
    value *where;
    value *shift; /* exponentials by hand: what is subtracted; NULL: a normaliser or a kernel */
    value *max;   /* ... the maximum in it: shift itself, or an operand of its maxima */
    VEC(fuse_sum *) sums;
    VEC(value *) statistics; /* reductions of the score that are parts */
    const char *why;         /* it stays, and why; NULL: it is fused */
    bool by_data;  /* a sum of its weights adds each at the place that data says, beside the op */
    bool weights;  /* they are asked for */
    value *online; /* new */
};

typedef struct fuse {
    pass_ctx *pc; /* NULL: nothing is built */
    graph *g;
    arena *scratch;
    value_list live;
    uint32_t *home;
    VEC(fuse_sum *) sums;
    VEC(fuse_group *) groups;
    value **total_of;        /* by value id: the first sum of it alone */
    value **next_total;      /* ... by that sum's: the next one */
    fuse_sum **sum_of;       /* by value id */
    fuse_group **weights_of; /* by value id: the group whose part `weights` it is */
    fuse_group **stat_of;    /* by value id: the group whose statistic it is */
    const char **why;        /* by value id: of a normaliser, why no sum took it so far */
    unsigned char *needed;   /* by value id: part of the graph that is to be built */
    uint32_t *uses;          /* for the report */
    bool asking;             /* ... is being found out */
} fuse;

bool fuse_split(pass_ctx *pc); /* true: it changed the graph */
/* By value id: 1 for the normalisers that fuse_split rewrites; of the graph's size now. */
unsigned char *fuse_splits(graph *g, arena *scratch, const value_list *live, const uint32_t *home);
void fuse_analyse(fuse *f, graph *g, arena *scratch); /* match and groups */
void fuse_match(fuse *f);
void fuse_groups(fuse *f);
bool fuse_build(fuse *f); /* false: nothing to be done */

/* --- predicates and index sets (fuse_match.c) --- */
void fuse_conjuncts(arena *a, value *where, fuse_list *out);
bool fuse_has(const fuse_list *l, const value *v);
bool fuse_same_where(arena *a, value *p, value *q);
bool fuse_depends(const value *v, const ix *const *list, uint32_t n); /* on one of these indices */
bool fuse_same_set(const ix *const *a, uint32_t n, const ix *const *b, uint32_t m);
value *fuse_and(graph *g, const fuse_list *l); /* NULL: true */
/* Calls visit for whatever v is computed from in the new graph. */
typedef void fuse_visit(void *ctx, value *v);
void fuse_needs(fuse *f, const value *v, fuse_visit *visit, void *ctx);
/* The group's total of weights: a sum of theirs with nothing beside them. */
bool fuse_is_total(const fuse_sum *s);
/* The step is a factor of the stream, not of the sum. */
bool fuse_in_stream(const fuse_sum *s, const fuse_step *t);

static inline value *fuse_elem(graph *g, op_id op, value *a, value *b)
{
    return graph_elem(g, op, (value *const[]){a, b}, NULL);
}

static inline value *fuse_select(graph *g, value *c, value *a, value *b)
{
    return graph_elem(g, OP_select, (value *const[]){c, a, b}, NULL);
}

#endif
