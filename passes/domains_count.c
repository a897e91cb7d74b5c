/* domains_count.c: how well a predicate is solved, told before anything runs: the way of each
 * conjunct, and with sizes given the share of tiles that are visited. */
#include <math.h>

#include "passes/domains_internal.h"

const char *const domain_way_text[DOMAIN_WAY_COUNT] = {
#define X(id, text) text,
    DOMAIN_WAYS(X)
#undef X
};

/* --- numbers --- */

const kexpr *numbers_hold(numbers *n, const kexpr *e, const char *name)
{
    kvar *v = kernel_var(n->k, name, e->dt, false);
    vec_push(n->a, &n->lets, ((let_var){v, e}));
    return kx_var(n->k, v);
}

void numbers_room(numbers *n)
{
    n->n_of = n->k->vars.n;
    n->of = ARENA_ARRAY(n->a, scalar, n->n_of);
}

void numbers_run(numbers *n, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        n->of[n->lets.v[i].v->id] = numbers_value(n, n->lets.v[i].e);
}

static int64_t wrap(op_id op, int64_t x, int64_t y, bool *overflows)
{
    int64_t out = 0;
    if (op == OP_neg || op == OP_abs) {
        y = x;
        x = 0;
        if (op == OP_abs && y >= 0) {
            *overflows = false;
            return y;
        }
        op = OP_sub;
    }
    *overflows = op == OP_add   ? __builtin_add_overflow(x, y, &out)
                 : op == OP_sub ? __builtin_sub_overflow(x, y, &out)
                                : __builtin_mul_overflow(x, y, &out);
    return out;
}

static int64_t int_op(numbers *n, op_id op, int64_t x, int64_t y)
{
    bool ignored;
    int64_t q;
    switch (op) {
    case OP_idiv:
    case OP_imod:
        if (y == 0 || (y == -1 && x == INT64_MIN)) {
            n->failed = true;
            return 0;
        }
        q = x % y;
        if (op == OP_imod)
            return q + (q != 0 && (q < 0) != (y < 0) ? y : 0);
        return x / y - (q != 0 && (q < 0) != (y < 0));
    case OP_max:
        return x > y ? x : y;
    case OP_min:
        return x < y ? x : y;
    case OP_bitand:
        return x & y;
    default:
        return wrap(op, x, y, &ignored);
    }
}

static bool compare(op_id op, scalar x, scalar y, bool real)
{
    switch (op) {
    case OP_le:
        return real ? x.f <= y.f : x.i <= y.i;
    case OP_lt:
        return real ? x.f < y.f : x.i < y.i;
    case OP_eq:
        return real ? x.f == y.f : x.i == y.i;
    default:
        return real ? x.f != y.f : x.i != y.i;
    }
}

static double nan_or(op_id op, double x, double y)
{
    if (isnan(x) || isnan(y))
        return (double)NAN;
    return (x < y) == (op == OP_min) ? x : y;
}

static double real_value(op_id op, scalar x, double y, dtype from)
{
    double r;
    switch (op) {
    case OP_neg:
        return -x.f;
    case OP_abs:
        return fabs(x.f);
    case OP_add:
        r = x.f + y;
        break;
    case OP_sub:
        r = x.f - y;
        break;
    case OP_real:
        r = (double)x.i;
        break;
    default:
        return nan_or(op, x.f, y);
    }
    return from == DT_F32 ? (double)(float)r : r;
}

static scalar op_value(numbers *n, const kexpr *e)
{
    scalar x[3] = {{0}};
    for (uint32_t i = 0; i < e->n_args; i++)
        x[i] = numbers_value(n, e->args[i]);
    bool real = e->args[0]->dt == DT_F32 || e->args[0]->dt == DT_F64;
    if (op_table[e->op].sig == SIG_CMP)
        return (scalar){.i = compare(e->op, x[0], x[1], real)};
    switch (e->op) {
    case OP_select:
        return x[0].i ? x[1] : x[2];
    case OP_and:
        return (scalar){.i = x[0].i && x[1].i};
    case OP_or:
        return (scalar){.i = x[0].i || x[1].i};
    case OP_not:
        return (scalar){.i = !x[0].i};
    default:
        break;
    }
    if (e->dt == DT_I64)
        return (scalar){.i = int_op(n, e->op, x[0].i, x[1].i)};
    return (scalar){.f = real_value(e->op, x[0], x[1].f, e->dt)};
}

scalar numbers_value(numbers *n, const kexpr *e)
{
    scalar x = {0};
    bool wraps = false;
    switch (e->kind) {
    case KX_CONST:
        return (scalar){.i = e->i, .f = e->f};
    case KX_DIM:
        if (!dim_eval(e->dim, n->symbols, &x.i))
            n->failed = true;
        return x;
    case KX_VAR:
        ICE_UNLESS(e->var->id < n->n_of);
        return n->of[e->var->id];
    case KX_OP:
        return op_value(n, e);
    case KX_OVERFLOW: {
        int64_t a = numbers_value(n, e->args[0]).i;
        wrap(e->op, a, e->n_args > 1 ? numbers_value(n, e->args[1]).i : 0, &wraps);
        return (scalar){.i = wraps};
    }
    default:
        ice("a load where only numbers are known");
    }
}

/* --- ways --- */

static const kexpr *some_point(void *ctx, const value *v)
{
    kernel *k = ctx;
    return kx_var(k, kernel_var(k, "x", v->dt, false));
}

static bool some_data(void *ctx, const value *v, const domain_span *along, const kexpr **least,
                      const kexpr **greatest)
{
    kernel *k = ctx;
    dtype dt = v->dt == DT_BOOL ? DT_I64 : v->dt;
    (void)along;
    *least = kx_var(k, kernel_var(k, "least", dt, false));
    *greatest = kx_var(k, kernel_var(k, "greatest", dt, false));
    return true;
}

static const kexpr *some_hold(void *ctx, const kexpr *e, const char *name)
{
    kernel *k = ctx;
    return kx_var(k, kernel_var(k, name, e->dt, false));
}

static domain_way worst(domain_way x, domain_way y)
{
    return x > y ? x : y;
}

static domain_way way(const domain_host *h, const value *p, const ix *j, const domain_span *tile,
                      uint32_t n)
{
    if ((p->op == OP_and || p->op == OP_or) && !p->where)
        return worst(way(h, p->args[0], j, tile, n), way(h, p->args[1], j, tile, n));
    if (p->op == OP_not && !p->where)
        return way(h, p->args[0], j, tile, n);
    if (p->op == OP_const)
        return DOMAIN_OUTER;
    bool has_j = value_has_ix(p, j);
    box b = {.h = h, .tile = tile, .n = n - 1}; /* the last is j */
    if (has_j)
        (void)range_of(&b, p, j, false);
    else
        (void)truth_of(&b, p);
    if (!b.coarse)
        return has_j ? DOMAIN_BOUNDS : DOMAIN_OUTER;
    b = (box){.h = h, .tile = tile, .n = n};
    (void)truth_of(&b, p);
    return b.coarse ? DOMAIN_ELEMENTS : b.by_data ? DOMAIN_DATA : DOMAIN_TILES;
}

static kernel *scratch_kernel(arena *a, dims *d, dtype real)
{
    return kernel_new(a, strtab_new(a), d, "tiles", real);
}

/* The type of the reals that p compares. */
static dtype real_of(const value *p)
{
    dtype found = p->dt == DT_F64 ? DT_F64 : DT_F32;
    for (uint32_t i = 0; i < p->n_args && found != DT_F64; i++) {
        const value *x = p->args[i];
        found = x->dt == DT_BOOL && p->dt == DT_BOOL ? real_of(x) : x->dt;
    }
    return found == DT_F64 ? DT_F64 : DT_F32;
}

domain_way domain_way_of(arena *scratch, const value *p, const ix *j, const ix *const *rows,
                         uint32_t n)
{
    kernel *k = scratch_kernel(scratch, dims_new(scratch, strtab_new(scratch)), real_of(p));
    domain_host h = {k, k, some_point, some_data, some_hold, NULL};
    domain_span *tile = ARENA_ARRAY(scratch, domain_span, n + 1);
    for (uint32_t i = 0; i <= n; i++) {
        tile[i].i = i < n ? rows[i] : j;
        tile[i].lo = kx_var(k, kernel_var(k, "lo", DT_I64, false));
        tile[i].hi = kx_var(k, kernel_var(k, "hi", DT_I64, false));
    }
    return way(&h, p, j, tile, n + 1);
}

/* --- shares --- */

typedef struct count {
    numbers n;
    bool exact;
} count;

/* Ints and bools of dims; an optional input is taken as absent. */
static bool number_of(count *c, const value *v, unsigned depth, int64_t *out)
{
    int64_t x[3] = {0};
    kernel *k = c->n.k;
    if (v->op == OP_given) {
        c->exact = false;
        *out = 0;
        return true;
    }
    if (v->op == OP_const || v->op == OP_dim) {
        *out = v->i;
        return (v->dt == DT_I64 || v->dt == DT_BOOL) &&
               (v->op == OP_const || dim_eval(v->dim, c->n.symbols, out));
    }
    if (v->where || !OP_HAS(v->op, T_ELEM) || depth > DOMAIN_MAX_DEPTH ||
        (v->dt != DT_I64 && v->dt != DT_BOOL) || op_table[v->op].sig == SIG_TOINT)
        return false;
    const kexpr *args[3] = {NULL};
    if (v->op == OP_select) /* only one side need be known */
        return number_of(c, v->args[0], depth + 1, &x[0]) &&
               number_of(c, v->args[x[0] ? 1 : 2], depth + 1, out);
    for (uint32_t i = 0; i < v->n_args; i++) {
        if (!number_of(c, v->args[i], depth + 1, &x[i]))
            return false;
        args[i] = v->args[i]->dt == DT_BOOL ? kx_bool(k, x[i] != 0) : kx_int(k, x[i]);
    }
    *out = numbers_value(&c->n, kx_op(k, v->op, args)).i;
    return !c->n.failed;
}

static const kexpr *known_point(void *ctx, const value *v)
{
    count *c = ctx;
    int64_t x;
    if (!number_of(c, v, 0, &x)) {
        c->exact = false;
        return NULL;
    }
    return v->dt == DT_BOOL ? kx_bool(c->n.k, x != 0) : kx_int(c->n.k, x);
}

static const kexpr *count_hold(void *ctx, const kexpr *e, const char *name)
{
    return numbers_hold(&((count *)ctx)->n, e, name);
}

typedef struct grid {   /* what is worked out for each row of tiles, and for each tile */
    const kvar *end[4]; /* first and last row, first and last key */
    domain_range bounds;
    domain_truth truth;
    size_t n_bounds; /* lets of the bounds */
} grid;

static void count_row(count *c, const grid *d, int64_t extent, int64_t block, domain_share *out)
{
    numbers *n = &c->n;
    numbers_run(n, 0, d->n_bounds);
    int64_t lo = numbers_value(n, d->bounds.lo).i, hi = numbers_value(n, d->bounds.hi).i;
    int64_t full_lo = numbers_value(n, d->bounds.full_lo).i;
    int64_t full_hi = numbers_value(n, d->bounds.full_hi).i;
    for (int64_t j = lo / block * block; j < hi; j += block) {
        int64_t end = j + block < extent ? j + block : extent;
        n->of[d->end[2]->id].i = j;
        n->of[d->end[3]->id].i = end - 1;
        numbers_run(n, d->n_bounds, n->lets.n);
        bool full = full_lo <= j && end <= full_hi;
        out->visited += full || numbers_value(n, d->truth.can).i != 0;
        out->full += full || numbers_value(n, d->truth.must).i != 0;
    }
}

bool domain_count(arena *scratch, const graph *g, const value *p, const ix *row, const ix *j,
                  int64_t row_block, int64_t key_block, const int64_t *symbols, domain_share *out)
{
    kernel *k = scratch_kernel(scratch, g->dims, g->real);
    count c = {.n = {.k = k, .a = scratch, .symbols = symbols}, .exact = true};
    domain_host h = {k, &c, known_point, NULL, count_hold, NULL};
    int64_t rows = 1, keys;
    grid d;
    *out = (domain_share){0};
    if ((row && !dim_eval(row->extent, symbols, &rows)) || !dim_eval(j->extent, symbols, &keys) ||
        rows < 0 || keys < 0)
        return false;
    int64_t n_rows = rows / row_block + (rows % row_block != 0);
    int64_t n_keys = keys / key_block + (keys % key_block != 0);
    if (n_rows > INT64_C(1) << 22 || n_keys > INT64_C(1) << 22 ||
        n_rows * n_keys > INT64_C(1) << 22)
        return false;
    for (int i = 0; i < 4; i++)
        d.end[i] = kernel_var(k, "end", DT_I64, false);
    domain_span tile[2] = {{row, kx_var(k, d.end[0]), kx_var(k, d.end[1])},
                           {j, kx_var(k, d.end[2]), kx_var(k, d.end[3])}};
    d.bounds = domain_bounds(&h, p, j, tile, row ? 1 : 0);
    d.n_bounds = c.n.lets.n;
    d.truth = domain_test(&h, p, row ? tile : tile + 1, row ? 2 : 1);
    numbers_room(&c.n);
    for (int64_t i = 0; i < rows; i += row_block) {
        c.n.of[d.end[0]->id].i = i;
        c.n.of[d.end[1]->id].i = (i + row_block < rows ? i + row_block : rows) - 1;
        count_row(&c, &d, keys, key_block, out);
    }
    out->tiles = n_rows * n_keys;
    out->exact = c.exact && !c.n.failed;
    return !c.n.failed;
}
