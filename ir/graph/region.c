/* region.c: which values the results reach, and in which recurrence's region a value lies. */
#include "ir/graph/graph_internal.h"

void graph_live(const graph *g, arena *scratch, value_list *out)
{
    unsigned char *live = ARENA_ARRAY(scratch, unsigned char, g->values.n);
    for (size_t i = 0; i < g->results.n; i++)
        live[g->results.v[i].v->id] = 1;
    size_t n = 0;
    for (size_t i = g->values.n; i-- > 0;) { /* users before operands */
        const value *v = g->values.v[i];
        if (!live[i])
            continue;
        n++;
        for (uint32_t k = 0; k < v->n_args; k++)
            live[v->args[k]->id] = 1;
        if (v->where)
            live[v->where->id] = 1;
    }
    *out = (value_list){.v = ARENA_ARRAY(scratch, value *, n), .cap = n};
    for (size_t i = 0; i < g->values.n; i++) {
        if (live[i])
            out->v[out->n++] = g->values.v[i];
    }
}

/* Operands have smaller ids, so one walk upwards fills what is missing: 1 outside, 2 inside. */
bool graph_in_region(const graph *g, const value *v, uint32_t scan, unsigned char *memo)
{
    for (uint32_t i = 0; i <= v->id; i++) {
        const value *x = g->values.v[i];
        if (memo[i])
            continue;
        bool in = x->op == OP_history && x->scan == scan;
        if (!(x->op == OP_scan && x->scan == scan)) {
            for (uint32_t k = 0; k < x->n_args; k++)
                in = in || memo[x->args[k]->id] == 2;
            in = in || (x->where && memo[x->where->id] == 2);
        }
        memo[i] = in ? 2 : 1;
    }
    return memo[v->id] == 2;
}

/* The regions a value lies in, as a set of scans: one bit each, `words` words a value. */
typedef struct region_sets {
    uint64_t *bits;
    size_t words;
} region_sets;

static uint64_t *set_of(const region_sets *r, uint32_t id)
{
    return r->bits + (size_t)id * r->words;
}

/* Live values only: their number in `at`, by id. Bits are given to live scans alone. */
static region_sets find_regions(const graph *g, arena *scratch, const value_list *live,
                                const uint32_t *at, const uint32_t *bit, size_t n_scans)
{
    region_sets r = {.words = n_scans / 64 + 1};
    size_t total = 0;
    const value *stepped = graph_step_scan(g, live);
    const int *axis = stepped ? graph_step_axes(g, scratch, live) : NULL;
    if (__builtin_mul_overflow(live->n, r.words, &total))
        mem_fail(arena_mem(g->a));
    r.bits = ARENA_ARRAY(scratch, uint64_t, total);
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        uint64_t *s = set_of(&r, (uint32_t)i);
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            for (size_t w = 0; x && w < r.words; w++)
                s[w] |= set_of(&r, at[x->id])[w];
            if (stepped && x && axis[x->id] >= 0)
                s[bit[stepped->scan] / 64] |= UINT64_C(1) << bit[stepped->scan] % 64;
        }
        if (v->op == OP_history && bit[v->scan] != UINT32_MAX)
            s[bit[v->scan] / 64] |= UINT64_C(1) << bit[v->scan] % 64;
        if (v->op == OP_scan)
            s[bit[v->scan] / 64] &= ~(UINT64_C(1) << bit[v->scan] % 64);
    }
    return r;
}

uint32_t *graph_homes(const graph *g, arena *scratch, const value_list *live)
{
    uint32_t *home = ARENA_ARRAY(scratch, uint32_t, g->values.n);
    uint32_t *at = ARENA_ARRAY(scratch, uint32_t, g->values.n);
    uint32_t *bit = ARENA_ARRAY(scratch, uint32_t, g->n_scans);
    uint32_t n_scans = 0;
    for (uint32_t i = 0; i < g->n_scans; i++)
        bit[i] = UINT32_MAX;
    const value **scans = ARENA_ARRAY(scratch, const value *, g->n_scans);
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        at[v->id] = (uint32_t)i;
        if (v->op == OP_scan && bit[v->scan] == UINT32_MAX) {
            scans[n_scans] = v;
            bit[v->scan] = n_scans++;
        }
    }
    if (n_scans == 0)
        return home;
    region_sets r = find_regions(g, scratch, live, at, bit, n_scans);
    /* Scans in the order of their ids stand inner before outer: the innermost of a set is its first
     * bit. */
    for (size_t i = 0; i < live->n; i++) {
        const uint64_t *s = set_of(&r, (uint32_t)i);
        for (size_t w = 0; w < r.words; w++) {
            if (s[w]) {
                size_t first = w * 64 + (size_t)__builtin_ctzll(s[w]);
                home[live->v[i]->id] = scans[first]->scan + 1;
                break;
            }
        }
    }
    return home;
}
