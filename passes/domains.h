/* domains.h: where a predicate holds, for whole tiles at once.
 *
 * A tile is a box: an interval for each of some indices; every other index has one value in the
 * code at hand. The answers are expressions over the ends of those intervals, so they are worked
 * out when the kernel is compiled and cost a few instructions per tile when it runs. They are never
 * wrong, only coarse: what the analysis cannot see into (a mask that is data in two indices, an int
 * that would overflow) counts as "may hold, may not", and the elements are tested one by one.
 *
 * Comparisons of indices, dims and run-time ints are solved through + - * // % min max abs; what
 * depends on data along one index (document ids, a validity mask) through the least and greatest
 * value of each block, which the host makes. No code is emitted here but through the host. */
#ifndef ATTNC_PASSES_DOMAINS_H
#define ATTNC_PASSES_DOMAINS_H

#include "ir/kernel/kernel.h"

typedef struct domain_span { /* lo <= i <= hi, not empty */
    const ix *i;
    const kexpr *lo, *hi;
} domain_span;

typedef struct domain_host {
    kernel *k;
    void *ctx;
    /* v, which has no index of the tile; NULL: not known. */
    const kexpr *(*point)(void *ctx, const value *v);
    /* Bounds of v, of whose indices the tile has one, over that one: ints as i64, bools as i64 0
     * and 1, reals as they are, NaN where one of them is. False: not known. May be NULL. */
    bool (*data)(void *ctx, const value *v, const domain_span *along, const kexpr **least,
                 const kexpr **greatest);
    /* e as something that may be written many times. May be NULL. */
    const kexpr *(*hold)(void *ctx, const kexpr *e, const char *name);
    uint32_t *hits; /* by rule_id: how often it was applied; NULL: nobody asks */
} domain_host;

/* For a tile of all indices: whether the predicate can hold anywhere in it, and whether it must
 * hold everywhere. */
typedef struct domain_truth {
    const kexpr *can, *must;
} domain_truth;
domain_truth domain_test(const domain_host *h, const value *p, const domain_span *tile, uint32_t n);

/* For index j, 0 <= j < its extent, and a tile of the others: p holds for no element of the tile
 * with j outside lo .. hi, and for all of them with j in full_lo .. full_hi (upper ends excluded;
 * ranges may be empty, hi < lo too). All four lie in 0 .. extent. */
typedef struct domain_range {
    const kexpr *lo, *hi, *full_lo, *full_hi;
} domain_range;
domain_range domain_bounds(const domain_host *h, const value *p, const ix *j,
                           const domain_span *tile, uint32_t n);

/* How a conjunct's tiles are found, from the best way to the last. X(id, text). */
#define DOMAIN_WAYS(X)                                                                             \
    X(OUTER, "once for all of a row's tiles")                                                      \
    X(BOUNDS, "bounds of the loop over tiles")                                                     \
    X(TILES, "a test per tile")                                                                    \
    X(DATA, "a test per tile, by the least and greatest value of each block")                      \
    X(ELEMENTS, "element by element")
typedef enum domain_way {
#define X(id, text) DOMAIN_##id,
    DOMAIN_WAYS(X)
#undef X
        DOMAIN_WAY_COUNT
} domain_way;
extern const char *const domain_way_text[DOMAIN_WAY_COUNT];
/* `rows`: the indices that a tile spans besides j. p: a conjunct or a whole predicate (whose way is
 * that of its worst part). */
domain_way domain_way_of(arena *scratch, const value *p, const ix *j, const ix *const *rows,
                         uint32_t n);

/* What tiles of `row_block` by `key_block` elements cost, with sizes given: how many there are, how
 * many are visited, and how many of these need no test of their elements. Values that are not made
 * of dims and indices alone (run-time ints, data) are unknown, so `visited` is then an upper bound
 * and `exact` false. `row` may be NULL: the predicate has one row. False where a size cannot be
 * known, or there are more than 2^22 tiles. `symbols`: as dim_eval has them. */
typedef struct domain_share {
    int64_t tiles, visited, full;
    bool exact;
} domain_share;
bool domain_count(arena *scratch, const graph *g, const value *p, const ix *row, const ix *j,
                  int64_t row_block, int64_t key_block, const int64_t *symbols, domain_share *out);

#endif
