/* scans_internal.h: what scans*.c share; nobody else includes it. */
#ifndef ATTNC_PASSES_SCANS_INTERNAL_H
#define ATTNC_PASSES_SCANS_INTERNAL_H

#include "passes/hoist_internal.h"
#include "passes/range.h"
#include "passes/scans.h"

enum { MAX_FACTORS = 16 };

/* A factor of what is summed, as it was before the pass. */
typedef struct factor {
    value *v;
    bool inner;   /* under the contraction between queries and keys: its indices are renamed */
    bool inverse; /* fronts: 1 / v */
    value *power; /* decays: the int n in v, t - i or i - t */
} factor;

/* The sum over i <= t (or i < t) of decay^(t - i) f(t) g(i), and over `kept` and `rowed` besides.
 */
typedef struct separated {
    value *v; /* the sum */
    const ix *t, *i;
    bool strict; /* i < t */
    factor row[MAX_FACTORS], front[MAX_FACTORS], decay[MAX_FACTORS];
    uint32_t n_rows, n_fronts, n_decays;
    value *where[MAX_FACTORS]; /* what i must satisfy besides */
    uint32_t n_where;
    /* Indices of the contraction in it and what they are called here, so that they differ from all
     * others. */
    const ix *const *inner_from;
    const ix **inner_to;
    uint32_t n_inner;
    ix_set kept;     /* summed behind the state: some front or decay has them */
    ix_set rowed;    /* summed in g(i) */
    bool running;    /* a row of the state is no larger than one of its factors */
    const char *why; /* it is not carried along */
} separated;

typedef struct scans {
    const pass_ctx *pc;
    graph *g;
    arena *scratch;
    places places;
    const bool *risky;      /* by id: may end the run with an error status */
    const bool *everywhere; /* by id: every element reaches an output */
    range *range;
    const value **scan_of; /* by number */
    value **now;           /* by id: what the value has become */
} scans;

/* Whether v is such a sum; p->why: it is a sum over earlier steps, but not of that form. */
bool separate(scans *s, value *v, separated *p);

/* Neither i nor t is in x. */
bool is_free_of_steps(const separated *p, const value *x);

/* The indices of a factor once the inner ones are renamed, i and t among them. */
void factor_ix(const scans *s, const separated *p, const factor *f, ix_set *out);
bool has_kept(const scans *s, const separated *p, const factor *f);

/* --- over new values (scans_build.c) --- */

/* x, which may be NULL, times factor f (of a front that is a divisor: by it). */
value *times(graph *g, value *x, value *f);
/* A factor as it is now, with the inner indices renamed. */
value *factor_now(const scans *s, const separated *p, const factor *f);
/* x times the fronts that have one of the kept indices, or of those that have none. */
value *times_fronts(const scans *s, const separated *p, value *x, bool kept);
/* decay^n for an int n; NULL: there is no decay. */
value *decay_at(const scans *s, const separated *p, value *n);
/* The sum of a * b over some indices; a may be NULL. */
value *sum_product(scans *s, value *a, value *b, const ix_set *over, value *where);
/* 1 <= i; i - 1; c ? x : 0 */
value *from_second(graph *g, const ix *i);
value *one_less(graph *g, const ix *i);
value *or_zero(graph *g, value *c, value *x);

/* In a recurrence: whether every g(i) is made of row i of its histories and of what is the same in
 * all steps, and can be computed at every step. */
bool rows_settled(const scans *s, const separated *p, const value *scan);
/* g(i) at i = t; in the region of `scan`, or (NULL) outside of all. */
value *row_now(scans *s, const separated *p, const value *scan);

/* A history of the state after each step. */
typedef struct state {
    value *history;
    value *before; /* the state that the step finds, decayed: where 1 <= t */
} state;
/* Its indices are known before the rows are: t first. */
state new_state(const scans *s, const separated *p, uint32_t scan, int slot);
/* The history with the state after this step, `row` being g(t); *after: that state. */
value *advance(const scans *s, const separated *p, const state *st, value *row, value **after);
/* The sum, of the state after this step (strict: of the one before it). */
value *sum_of_state(scans *s, const separated *p, const state *st, value *after);

/* The sum by a scan of its own. */
value *running_sum(scans *s, const separated *p);

/* --- the sum as it was written, where that is not finite (scans_guard.c) --- */

/* Whether a sum that is carried along may differ from the written one by more than rounding where
 * something is infinite: not where nothing is multiplied with it but finite numbers. */
bool may_differ(const separated *p);
/* In the region of a scan: the sum, or the written one. *appended: a history of that slot. */
value *guarded(scans *s, const separated *p, value *sum, uint32_t scan, int slot, value **appended);
/* The same for all steps at once, outside of all regions. */
value *guarded_steps(scans *s, const separated *p, value *sum);

/* Whether a state costs less than the sums, as far as the sizes are known: per step a sum costs
 * about T / 2 (D + E) and a state 2 D E. */
bool state_pays(const scans *s, const separated *p);

/* The same in chunks: quadratic within one, a state from one to the next (scans_chunk.c). */
const char *why_no_chunks(const scans *s, const separated *p); /* NULL: so it is computed */
value *chunked_sum(scans *s, const separated *p);

/* Of the graph as it is now. */
void analyse_scans(scans *s);

/* Lets what reads the rows of one scan's states join it (scans_sink.c); false: there is none left.
 */
bool sink_sums(pass_ctx *pc, scans *s);

#endif
