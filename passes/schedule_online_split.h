/* schedule_online_split.h: online ops with few rows and many keys: what its files share.
 *
 *   schedule_online_split.c  which online ops are computed so, memory, the loops over parts
 *   schedule_online_part.c   one part of the keys: scores, weights, sums
 *   schedule_online_merge.c  what the parts come to, in order
 *
 * The keys are cut into parts of fixed length, so that every thread has some. Rows that share keys
 * or streams (queries of one step, query heads of one group) go over them together, a few at a
 * time. Nothing is packed: keys and streams are met where they lie, once. */
#ifndef ATTNC_PASSES_SCHEDULE_ONLINE_SPLIT_H
#define ATTNC_PASSES_SCHEDULE_ONLINE_SPLIT_H

#include "passes/schedule_internal.h"

enum { SPLIT_KEYS = 512, SPLIT_MAX_ROWS = 4, SPLIT_MAX_STREAMS = 8, SPLIT_MAX_SUMS = 8 };

typedef struct stream_part {
    const value *part, *x;
    const ix **own; /* indices besides those of the rows */
    uint32_t n_own;
    const kbuf *acc; /* [outer, parts, rows, own...] */
} stream_part;

typedef struct split_online {
    const value *v;
    const ix *key;
    const ix **outer, **shared; /* the indices of v: those of keys or streams, and the others */
    uint32_t n_outer, n_shared;
    const value *const *parts;
    size_t n_parts;
    stream_part streams[SPLIT_MAX_STREAMS];
    uint32_t n_streams;
    const value *sums[SPLIT_MAX_SUMS]; /* in the score, over keys that rows share */
    uint32_t n_sums;
    const dim *n_outers, *n_rows, *n_cuts; /* n_rows: of each outer */
    int64_t tile;                          /* rows at a time */
    int64_t limit;                         /* fewer outer ones than that */
    bool one_tile;                         /* there are no more */
    const kbuf *w;                         /* local [rows, keys of a part]: scores, then weights */
    const kbuf *most, *total;              /* [outer, rows, parts] */

    /* the code at hand */
    const kexpr *at_outer, *cut;
    const kexpr *first, *end;         /* keys of the part */
    const kexpr *lo, *hi;             /* keys of some of its rows */
    const kexpr *row[SPLIT_MAX_ROWS]; /* these rows, behind the last one it once more ... */
    const kexpr *to[SPLIT_MAX_ROWS];  /* ... and where their results go */
} split_online;

/* --- schedule_online_split.c --- */
/* f with the indices of row number x. */
frame split_row(sched *s, const frame *f, const split_online *t, const kexpr *x);
const kexpr *split_loop(sched *s, const char *name, const kexpr *hi, kloop kind, scope *o);

/* --- schedule_online_part.c --- */
void split_part(sched *s, frame *f, split_online *t);

/* --- schedule_online_merge.c --- */
void split_merge(sched *s, frame *f, split_online *t); /* of row[0] */

#endif
