/* cost_share.c: how much of its index space a predicate leaves, by the analysis of domains. */
#include "passes/cost.h"
#include "passes/domains.h"

/* Blocks for a few thousand tiles at most: what lies in mixed tiles is then a small part, and half
 * of it is a good guess. */
enum { MOST_TILES = 1 << 14 };

static int64_t size_of(const ix *i, const int64_t *symbols)
{
    int64_t n;
    return i && dim_eval(i->extent, symbols, &n) && n > 0 ? n : 1;
}

static int64_t blocks(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

static bool is_data(const value *v)
{
    return v->op == OP_input || v->op == OP_param || OP_HAS(v->op, T_REGION);
}

/* The index of the other side: one that the predicate has besides j. */
static const ix *other_index(const value *p, const ix *j)
{
    for (uint32_t k = 0; k < p->n_ix; k++) {
        if (p->ix[k] != j)
            return p->ix[k];
    }
    return NULL;
}

double cost_share(const graph *g, arena *scratch, const value *p, const ix *j,
                  const int64_t *symbols, bool *exact)
{
    if (p->n_ix == 0 || is_data(p))
        return 1;
    if (!j)
        j = p->ix[0];
    const ix *row = other_index(p, j);
    int64_t keys = size_of(j, symbols), rows = size_of(row, symbols);
    int64_t key_block = 1, row_block = 1;
    for (;;) {
        int64_t key_tiles = blocks(keys, key_block), row_tiles = blocks(rows, row_block);
        if ((double)key_tiles * (double)row_tiles <= MOST_TILES)
            break;
        *(key_tiles > row_tiles ? &key_block : &row_block) *= 2;
    }
    domain_share s;
    if (!domain_count(scratch, g, p, row, j, row_block, key_block, symbols, &s) || s.tiles == 0) {
        *exact = false;
        return 1;
    }
    *exact = *exact && s.exact;
    return ((double)s.visited + (double)s.full) / (2 * (double)s.tiles);
}

/* x - x != 0, or one of several */
static bool is_not_finite(const value *v)
{
    if (v->op == OP_reduce && v->kind == RED_any)
        v = v->args[0];
    const value *zero = v->op == OP_ne ? v->args[0] : v;
    return zero->op == OP_sub && zero->args[0] == zero->args[1] && zero->dt != DT_I64;
}

bool cost_is_rare(const value *p)
{
    if (!p || p->where)
        return false;
    if (p->op == OP_and)
        return cost_is_rare(p->args[0]) || cost_is_rare(p->args[1]);
    return p->op == OP_or && (is_not_finite(p->args[0]) || is_not_finite(p->args[1]));
}
