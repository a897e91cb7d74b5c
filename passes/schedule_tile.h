/* schedule_tile.h: tiles: sums over bound indices for some rows and some columns at once.
 *
 * A tile is `rows` x `cols` accumulators that stay in registers while the loop over the bound
 * indices runs:
 *
 *     for k { unroll for r { vector for c { acc[r, c] = add(acc[r, c], <element>) } } }
 *
 * The element is any expression over rows, columns, k and what the frame binds. What depends on
 * the column lies in panels: buf[..., block, k..., c], the columns of a block of `cols` contiguous
 * and padded with zeros, so that the inner loops always run over whole blocks. Rows behind the last
 * are the last one once more: what they give is not stored. So neither needs code for remainders;
 * whoever wants to spare that work makes tiles of fewer rows.
 *
 * To use it (schedule_sums.c does, for stored values):
 *
 *   - tile_plan: whether this sum can be one, for these rows (there may be none) and this column;
 *   - tile_pack: where its panels are to be made. Those of weights go into `prepare`, those that
 *     no step of a recurrence changes in front of it, all else here;
 *   - loops over blocks of columns and over rows, and for each tile
 *       tile_rows: the row numbers into registers,
 *       tile_run: at.to[at.to_row + r, c] = the sum, or += it.
 *
 * Together with online ops by tiles (schedule_online_tile.h) this is the choice `tiles`.
 * require: sums of a graph whose stored values are planned.  keep: what is computed, but for the
 * order of sums, which shapes alone decide.  give: blocked loops, panels, registers. Without it
 * sums are loop nests, and online ops go row by row.
 *
 * Nothing here decides whether tiles pay, where loops run in parallel, or what is done with sums.
 */
#ifndef ATTNC_PASSES_SCHEDULE_TILE_H
#define ATTNC_PASSES_SCHEDULE_TILE_H

#include "passes/schedule_internal.h"

enum { TILE_MAX_ROW_AXES = 4, TILE_MAX_PANELS = 16, TILE_MAX_ROWS = 14 };

/* A value that depends on the column and on no row, in memory by blocks of columns. */
typedef struct panel {
    const value *v;
    bool in_place; /* it lies so that it is read where it is; nothing of what follows is there */
    bool here;     /* made by tile_pack where it stands */
    const kbuf *buf;
    const ix *const *axes; /* of buf in order; the column's place: see at_block */
    uint32_t n_axes;       /* buf->rank - 1: the columns of a block come last */
    uint32_t at_block;     /* the axis that counts blocks of columns */
} panel;

/* A further factor of the element, made by code alone: f binds rows, column and k; r is the row
 * within the tile, a constant once the loop over rows is unrolled. It must not look at the
 * column. */
typedef const kexpr *tile_factor(sched *s, frame *f, const kexpr *r, void *ctx);

typedef struct tile_sum {
    const value *v; /* the sum */
    const value *elem[2];
    uint32_t n_elem; /* the element is their product ... */
    bool weighs;     /* ... or elem[0] weighs elem[1] */
    const ix *const *bound;
    uint32_t n_bound;
    conjuncts where; /* none of them depends on rows or column */
    const ix *const *rows;
    uint32_t n_rows;
    const ix *col;
    int64_t n_cols; /* of a block */
    panel *panels;  /* by tile_plan; their memory by tile_pack */
    uint32_t n_panels;
    const value **scalars; /* parts of the element that depend on no column */
    uint32_t n_scalars;
    const value *body_of;
    tile_factor *factor; /* or NULL; to be set behind tile_plan */
    void *factor_ctx;
    const dim *times; /* 0 or 1: panels that only this sum uses need memory only then; NULL: 1 */
} tile_sum;

/* Where one tile is. */
typedef struct tile_at {
    int64_t n_rows;       /* accumulators: rows of the tile, a constant */
    const kexpr *block;   /* of columns: block * n_cols is the first */
    const kexpr *lo, *hi; /* of bound[0], with one bound index: a part of it; NULL: all */
    const kbuf *row[TILE_MAX_ROW_AXES]; /* reg i64[n_rows] for each row axis: by tile_rows */
    const kbuf *to;      /* of reals [rows, n_cols], or [blocks, rows, n_cols]; local or temp */
    const kexpr *to_row; /* the first row in it; NULL: 0 */
    const kexpr *to_col; /* the first column in it, which then has more; NULL: 0 */
    bool add;            /* what `to` holds is kept: to += sum */
} tile_at;

int64_t tile_lanes(const sched *s); /* reals in a vector register */
/* Columns of a block, for a column index of that extent, and the rows that the registers then hold;
 * rows: how many there are in all, if that is known (0: not). */
int64_t tile_best_cols(const sched *s, const dim *extent);
int64_t tile_best_rows(const sched *s, int64_t n_cols, int64_t rows);

/* v: a `reduce sum` of reals or `contract` that is not stored, as a sum over tiles. Its other free
 * indices are bound wherever it is used. False: this sum cannot be one (an operand depends on a row
 * and on the column, a predicate on either, ...). */
bool tile_plan(sched *s, tile_sum *t, const value *v, const ix *const *rows, uint32_t n_rows,
               const ix *col);
/* The same for a sum that is no value of the graph: of elem (NULL: of t's factor alone; with both:
 * their product) over bound, where those hold. */
bool tile_plan_sum(sched *s, tile_sum *t, const value *elem, const ix *const *bound,
                   uint32_t n_bound, conjuncts where, const ix *const *rows, uint32_t n_rows,
                   const ix *col);

/* Whether all panels are made early for a user in region `home` (graph_homes): of params alone, or
 * of what no step of that recurrence changes. Then they cost nothing where t is used. */
bool tile_packs_early(const sched *s, const tile_sum *t, uint32_t home);
const dim *tile_blocks(sched *s, const tile_sum *t); /* of columns */
/* A buffer of reals, rows x cols, role KB_REG or KB_LOCAL: number nth of that shape. */
const kbuf *tile_buf(sched *s, kbuf_role role, int64_t rows, int64_t cols, uint32_t nth);
/* Makes the panels. What f binds is no axis of theirs. role: of panels that are made here: KB_TEMP,
 * or KB_LOCAL inside a parallel loop. */
void tile_pack(sched *s, frame *f, tile_sum *t, kbuf_role role);
/* Makes those of them that tile_pack made where it stood, but only the part that f binds. */
void tile_pack_part(sched *s, frame *f, const tile_sum *t);

/* A number that counts the elements of several axes: what it is along the last of them takes its
 * place, what it is along the others comes back. */
const kexpr *tile_split(sched *s, const kexpr **number, const ix *axis, const char *name);
/* Row numbers first, first + 1 ... into registers, none above end - 1; with several row axes they
 * count all of them, the last one fastest. Fills at->row. */
void tile_rows(sched *s, frame *f, const tile_sum *t, tile_at *at, const kexpr *first,
               const kexpr *end);
/* The sum of one tile. f binds what is neither row nor column nor bound. */
void tile_run(sched *s, frame *f, const tile_sum *t, const tile_at *at);

/* --- schedule_panel.c --- */
bool panel_of_params(const sched *s, const value *x);
bool panel_is_early(const sched *s, const value *x, uint32_t home);
bool panel_possible(const sched *s, const frame *f, const tile_sum *t, const value *x, bool early);

#endif
