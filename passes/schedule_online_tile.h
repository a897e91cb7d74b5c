/* schedule_online_tile.h: online ops by tiles: what its files share.
 *
 *   schedule_online_tile.c   which online ops are computed so, and the loops over tiles
 *   schedule_online_block.c  one tile: scores and weights
 *   schedule_online_sums.c   the sums of one tile; the results of a block of rows
 *   schedule_online_code.c   words of code that these have in common
 *   schedule_online_mask.c   what the predicate makes of a tile (the choice `domains`)
 *
 * One free index is the row, the bound index the key. For each block of rows, keys are met block by
 * block: the sums in the score by tiles (schedule_tile.h) into a local buffer, the rest of the
 * score in vector loops, its maximum, the weights in its place, and the streams' sums by tiles
 * again. The maximum, the sum of weights and the streams' sums are carried from block to block and
 * rescaled where the maximum has moved. */
#ifndef ATTNC_PASSES_SCHEDULE_ONLINE_TILE_H
#define ATTNC_PASSES_SCHEDULE_ONLINE_TILE_H

#include "passes/domains.h"
#include "passes/schedule_tile.h"

enum { ONLINE_ROWS = 48, ONLINE_MAX_SUMS = 8, ONLINE_MAX_STREAMS = 8 };

typedef struct online_stream {
    const value *part, *x;
    const ix *col;   /* of the stream; NULL: it has none, and is summed with the weights */
    tile_sum sum;    /* of weight * x */
    int64_t n_rows;  /* of its tiles */
    const kbuf *acc; /* local: [blocks, rows, cols], or [rows] */
    const kbuf *odd; /* bool: a block of keys holds inf or NaN; NULL: without col */
    const ix *const *odd_axes;
    uint32_t n_odd_axes;
} online_stream;

/* Least and greatest value of each block, of what depends on one index of the tile. */
typedef struct online_data {
    const value *v;
    const ix *along;
    const ix *const *axes; /* of the buffers, blocks last */
    uint32_t n_axes;
    const kbuf *least, *greatest;
    const struct online_data *up;
} online_data;

typedef struct online_tiles {
    const value *v;
    const ix *row, *key;
    const ix **outer; /* those that keys or streams have come first */
    uint32_t n_outer, n_units;
    int64_t keys; /* of a block */
    tile_sum sums[ONLINE_MAX_SUMS];
    int64_t sum_rows[ONLINE_MAX_SUMS];
    const kbuf *sum_to[ONLINE_MAX_SUMS];
    uint32_t n_sums;
    online_stream streams[ONLINE_MAX_STREAMS];
    uint32_t n_streams;
    VEC(const value *) statistics; /* parts that are no streams, but for the weights */
    const value *weights;          /* that part, if asked for */
    bool guarded;                  /* the score of an excluded element must not be computed */
    bool padded; /* score and predicate look at no memory by key: keys behind the last do no harm */
    bool tests;  /* bounds alone do not say all of the predicate */
    const kbuf *w;                /* local: scores, then weights */
    const kbuf *max, *total;      /* local: by row */
    const kbuf *part, *base, *by; /* local, by row: of the block at hand */

    /* the code at hand */
    kblock *before; /* of all blocks of rows */
    const online_data *data;
    const kexpr *units, *each; /* how many of those, and blocks of rows of each */
    const kexpr *apart;        /* panels are made unit by unit, with the rows that use them */
    const kexpr *row_block, *row0, *rows; /* the block, its first row, how many there are */
    const kexpr *key_block, *key0, *n_keys;
} online_tiles;

/* --- schedule_online_tile.c --- */
bool online_is_harmless(const sched *s, const value *x); /* no status, no loop: computed anywhere */

/* --- schedule_online_code.c --- */
const kexpr *online_zero(sched *s);
const kexpr *online_minus_inf(sched *s);
const kexpr *online_count(sched *s, int64_t n);
const kexpr *online_loop(sched *s, const char *name, const kexpr *lo, const kexpr *hi, kloop kind,
                         scope *o);
/* Elements of buffers with one axis and with two. */
const kexpr *online_load1(sched *s, const kbuf *b, const kexpr *i);
void online_store1(sched *s, const kbuf *b, const kexpr *i, const kexpr *e);
const kexpr *online_load2(sched *s, const kbuf *b, const kexpr *i, const kexpr *j);
void online_store2(sched *s, const kbuf *b, const kexpr *i, const kexpr *j, const kexpr *e);

/* --- schedule_online_block.c --- */
void online_begin_rows(sched *s, frame *f, online_tiles *t);
void online_block(sched *s, frame *f, online_tiles *t, const kexpr *full); /* NULL: it is */

/* --- schedule_online_sums.c --- */
void online_sums(sched *s, frame *f, online_tiles *t); /* of the block of keys at hand */
void online_end_rows(sched *s, frame *f, online_tiles *t);
void online_make_odd(sched *s, const frame *f, online_tiles *t, online_stream *x);
void online_find_odd(sched *s, frame *f, online_tiles *t, online_stream *x); /* as f binds */

/* --- schedule_online_mask.c --- */
typedef struct online_bounds {
    const kexpr *lo, *hi; /* of keys */
    const kexpr *full_lo, *full_hi;
} online_bounds;
online_bounds online_bounds_of(sched *s, frame *f, online_tiles *t);
/* For the block of keys at hand. can: NULL where it is not known to be empty; full: NULL: for sure,
 * the constant false: nothing is known. */
typedef struct online_state {
    const kexpr *can, *full;
} online_state;
online_state online_state_of(sched *s, frame *f, online_tiles *t, const online_bounds *b);

#endif
