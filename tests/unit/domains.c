/* domains.c: bounds and tile tests of predicates against brute force: every tile of many sizes,
 * every element. Never wrong; and as sharp as can be where the text of the case says so. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "passes/domains.h"
#include "passes/domains_internal.h"

enum { MAX_SIZE = 40 };

enum {
    HULL = 1 << 0,  /* the hull of a tile has no element too many */
    FULL = 1 << 1,  /* ... and its full range none too few */
    TESTS = 1 << 2, /* a tile that the test lets in has a live element; all live: it knows */
};

typedef struct inputs {
    int64_t n, w;
    int64_t doc_i[MAX_SIZE], doc_j[MAX_SIZE];
    int64_t valid[MAX_SIZE];
    double at[MAX_SIZE];
} inputs;

typedef struct setting {
    mem m;
    arena *a;
    graph *g;
    const value *p;
    const ix *i, *j;
    int64_t symbols[8];
    int64_t T, S;
    inputs in;
    numbers num;
    kvar *scalars[2]; /* n and w */
} setting;

/* --- a predicate's element --- */

typedef struct cell {
    int64_t i;
    double f;
    bool bad;
} cell;

static cell element(const setting *s, const value *v, int64_t i, int64_t j);

static cell read_input(const setting *s, const value *v, int64_t i, int64_t j)
{
    const value *x = v->op == OP_read ? v->args[0] : v;
    int64_t at = -1;
    if (v->op == OP_read) {
        cell c = element(s, v->args[1], i, j);
        at = c.i;
    } else if (v->n_ix) {
        at = v->ix[0] == s->i ? i : j;
    }
    if (strcmp(x->name, "n") == 0)
        return (cell){.i = s->in.n};
    if (strcmp(x->name, "w") == 0)
        return (cell){.i = s->in.w};
    if (strcmp(x->name, "di") == 0)
        return (cell){.i = s->in.doc_i[at]};
    if (strcmp(x->name, "dj") == 0)
        return (cell){.i = s->in.doc_j[at]};
    if (strcmp(x->name, "valid") == 0)
        return (cell){.i = s->in.valid[at]};
    if (strcmp(x->name, "at") == 0)
        return (cell){.f = s->in.at[at]};
    ck_abort_msg("input %s", x->name);
    return (cell){0};
}

static cell elementwise(const setting *s, const value *v, int64_t i, int64_t j)
{
    cell c[3] = {{0}}, r = {0};
    for (uint32_t k = 0; k < v->n_args; k++) {
        c[k] = element(s, v->args[k], i, j);
        r.bad = r.bad || c[k].bad;
    }
    bool real = v->args[0]->dt != DT_I64 && v->args[0]->dt != DT_BOOL;
    if (r.bad)
        return r;
    switch (v->op) {
    case OP_add:
        r.bad = __builtin_add_overflow(c[0].i, c[1].i, &r.i);
        break;
    case OP_sub:
        r.bad = __builtin_sub_overflow(c[0].i, c[1].i, &r.i);
        break;
    case OP_mul:
        r.bad = __builtin_mul_overflow(c[0].i, c[1].i, &r.i);
        break;
    case OP_neg:
        r.bad = __builtin_sub_overflow(0, c[0].i, &r.i);
        break;
    case OP_abs:
        r.i = c[0].i < 0 ? -c[0].i : c[0].i;
        break;
    case OP_idiv:
    case OP_imod:
        if (c[1].i == 0 || (c[1].i == -1 && c[0].i == INT64_MIN)) {
            r.bad = true;
            break;
        }
        r.i = c[0].i % c[1].i;
        r.i += r.i != 0 && (r.i < 0) != (c[1].i < 0) ? c[1].i : 0;
        if (v->op == OP_idiv)
            r.i = c[0].i / c[1].i - (c[0].i % c[1].i != 0 && (c[0].i < 0) != (c[1].i < 0));
        break;
    case OP_max:
        r.i = c[0].i > c[1].i ? c[0].i : c[1].i;
        break;
    case OP_min:
        r.i = c[0].i < c[1].i ? c[0].i : c[1].i;
        break;
    case OP_le:
        r.i = real ? c[0].f <= c[1].f : c[0].i <= c[1].i;
        break;
    case OP_lt:
        r.i = real ? c[0].f < c[1].f : c[0].i < c[1].i;
        break;
    case OP_eq:
        r.i = real ? c[0].f == c[1].f : c[0].i == c[1].i;
        break;
    case OP_ne:
        r.i = real ? c[0].f != c[1].f : c[0].i != c[1].i;
        break;
    case OP_and:
        r.i = c[0].i && c[1].i;
        break;
    case OP_or:
        r.i = c[0].i || c[1].i;
        break;
    case OP_not:
        r.i = !c[0].i;
        break;
    case OP_select:
        r = c[0].i ? c[1] : c[2];
        break;
    case OP_real:
        r.f = (double)c[0].i;
        break;
    default:
        ck_abort_msg("op %s", op_table[v->op].text);
    }
    if (real && v->op == OP_abs)
        r.f = fabs(c[0].f);
    if (real && v->op == OP_sub)
        r = (cell){.f = (double)(float)(c[0].f - c[1].f)};
    return r;
}

static cell element(const setting *s, const value *v, int64_t i, int64_t j)
{
    cell c = {0};
    switch (v->op) {
    case OP_const:
        return (cell){.i = v->i, .f = v->f};
    case OP_dim:
        ck_assert(dim_eval(v->dim, s->symbols, &c.i));
        return c;
    case OP_index:
        c.i = v->ix[0] == s->i ? i : j;
        return c;
    case OP_input:
    case OP_read:
        return read_input(s, v, i, j);
    default:
        return elementwise(s, v, i, j);
    }
}

/* --- the analysis, with numbers --- */

static const kexpr *constant(kernel *k, dtype dt, cell c)
{
    return dt == DT_I64 ? kx_int(k, c.i) : dt == DT_BOOL ? kx_bool(k, c.i != 0) : kx_real(k, c.f);
}

static const kexpr *point(void *ctx, const value *v)
{
    setting *s = ctx;
    if (v->op == OP_input && v->n_ix == 0) /* known when the kernel runs */
        return kx_var(s->num.k, s->scalars[strcmp(v->name, "w") == 0]);
    cell c = element(s, v, 0, 0);
    return c.bad ? NULL : constant(s->num.k, v->dt, c);
}

/* Bounds of data over a span: the span's ends are variables, so they are found when they have
 * values. */
typedef struct block {
    const kvar *least, *greatest;
    const value *v;
    const domain_span *along;
} block;

typedef struct ends {
    const kvar *v[4];
} ends;

static VEC(block) blocks;

static bool data(void *ctx, const value *v, const domain_span *along, const kexpr **least,
                 const kexpr **greatest)
{
    setting *s = ctx;
    dtype dt = v->dt == DT_BOOL ? DT_I64 : v->dt;
    for (int64_t x = 0; x < (along->i == s->i ? s->T : s->S); x++) {
        if (element(s, v, x, x).bad)
            return false;
    }
    kvar *lo = kernel_var(s->num.k, "least", dt, false);
    kvar *hi = kernel_var(s->num.k, "greatest", dt, false);
    vec_push(s->a, &blocks, ((block){lo, hi, v, along}));
    *least = kx_var(s->num.k, lo);
    *greatest = kx_var(s->num.k, hi);
    return true;
}

static const kexpr *held(void *ctx, const kexpr *e, const char *name)
{
    return numbers_hold(&((setting *)ctx)->num, e, name);
}

static void fill_blocks(setting *s)
{
    for (size_t k = 0; k < blocks.n; k++) {
        const block *b = &blocks.v[k];
        int64_t lo = numbers_value(&s->num, b->along->lo).i;
        int64_t hi = numbers_value(&s->num, b->along->hi).i;
        scalar *least = &s->num.of[b->least->id], *greatest = &s->num.of[b->greatest->id];
        for (int64_t x = lo; x <= hi; x++) {
            cell c = element(s, b->v, x, x);
            ck_assert(!c.bad);
            if (x == lo || c.i < least->i)
                least->i = c.i;
            if (x == lo || c.i > greatest->i)
                greatest->i = c.i;
            if (x == lo || c.f < least->f || isnan(c.f))
                least->f = isnan(least->f) && x > lo ? least->f : c.f;
            if (x == lo || c.f > greatest->f || isnan(c.f))
                greatest->f = isnan(greatest->f) && x > lo ? greatest->f : c.f;
        }
    }
}

/* --- comparing --- */

typedef struct found {
    bool any, all, bad;
    int64_t lo, hi; /* of live j */
} found;

static found brute(const setting *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    found f = {.all = true, .lo = j1, .hi = j0};
    for (int64_t i = i0; i < i1; i++) {
        for (int64_t j = j0; j < j1; j++) {
            cell c = element(s, s->p, i, j);
            f.bad = f.bad || c.bad;
            if (c.bad)
                continue;
            f.all = f.all && c.i;
            if (!c.i)
                continue;
            f.any = true;
            f.lo = j < f.lo ? j : f.lo;
            f.hi = j + 1 > f.hi ? j + 1 : f.hi;
        }
    }
    return f;
}

static bool all_live(const setting *s, int64_t i0, int64_t i1, int64_t j)
{
    found f = brute(s, i0, i1, j, j + 1);
    return f.all && !f.bad;
}

typedef struct answer {
    ends e;
    domain_range r;
    domain_truth t;
} answer;

static void check_row(setting *s, const answer *a, int64_t i0, int64_t i1, int64_t keys,
                      unsigned sharp)
{
    numbers *n = &s->num;
    n->of[a->e.v[0]->id].i = i0;
    n->of[a->e.v[1]->id].i = i1 - 1;
    n->of[a->e.v[2]->id].i = n->of[a->e.v[3]->id].i = 0;
    n->of[s->scalars[0]->id].i = s->in.n;
    n->of[s->scalars[1]->id].i = s->in.w;
    fill_blocks(s);
    numbers_run(n, 0, n->lets.n);
    int64_t lo = numbers_value(n, a->r.lo).i, hi = numbers_value(n, a->r.hi).i;
    int64_t full_lo = numbers_value(n, a->r.full_lo).i, full_hi = numbers_value(n, a->r.full_hi).i;
    found f = brute(s, i0, i1, 0, s->S);
    ck_assert_msg(lo >= 0 && hi <= s->S && full_lo >= 0 && full_hi <= s->S, "ends");
    if (f.any)
        ck_assert_msg(lo <= f.lo && f.hi <= hi, "rows %d..%d: hull %d..%d, live %d..%d", (int)i0,
                      (int)i1, (int)lo, (int)hi, (int)f.lo, (int)f.hi);
    if ((sharp & HULL) && f.any)
        ck_assert_msg(lo == f.lo && f.hi == hi, "rows %d..%d: hull %d..%d, live %d..%d", (int)i0,
                      (int)i1, (int)lo, (int)hi, (int)f.lo, (int)f.hi);
    if ((sharp & HULL) && !f.any)
        ck_assert_msg(hi <= lo, "rows %d..%d: hull %d..%d, nothing lives", (int)i0, (int)i1,
                      (int)lo, (int)hi);
    for (int64_t j = 0; j < s->S; j++) {
        bool live = all_live(s, i0, i1, j), in = full_lo <= j && j < full_hi;
        ck_assert_msg(live || !in, "rows %d..%d: key %d is not live for all", (int)i0, (int)i1,
                      (int)j);
        if (sharp & FULL)
            ck_assert_msg(in || !live, "rows %d..%d: key %d is live for all", (int)i0, (int)i1,
                          (int)j);
    }
    for (int64_t j = 0; j < s->S; j += keys) {
        int64_t end = j + keys < s->S ? j + keys : s->S;
        n->of[a->e.v[2]->id].i = j;
        n->of[a->e.v[3]->id].i = end - 1;
        fill_blocks(s);
        numbers_run(n, 0, n->lets.n);
        bool can = numbers_value(n, a->t.can).i != 0, must = numbers_value(n, a->t.must).i != 0;
        f = brute(s, i0, i1, j, end);
        ck_assert_msg(!n->failed, "a division by 0");
        /* what is bad does not count where another conjunct is false */
        bool and = s->p->op == OP_and;
        ck_assert_msg(can || (!f.any && (and || !f.bad)), "tile %d %d is not empty", (int)i0,
                      (int)j);
        ck_assert_msg(!must || (f.all && !f.bad), "tile %d %d is not full", (int)i0, (int)j);
        if (sharp & TESTS) {
            ck_assert_msg(!can || f.any, "tile %d %d is empty", (int)i0, (int)j);
            ck_assert_msg(must || !f.all, "tile %d %d is full", (int)i0, (int)j);
        }
    }
}

static void check_tiles(setting *s, int64_t rows, int64_t keys, unsigned sharp)
{
    static const char *const names[4] = {"i0", "i1", "j0", "j1"};
    strtab *names_of = strtab_new(s->a);
    kernel *k = kernel_new(s->a, names_of, s->g->dims, "k", DT_F32);
    s->num = (numbers){.k = k, .a = s->a, .symbols = s->symbols};
    memset(&blocks, 0, sizeof blocks);
    domain_host h = {k, s, point, data, held, NULL};
    answer a;
    for (int e = 0; e < 2; e++)
        s->scalars[e] = kernel_var(k, e ? "w" : "n", DT_I64, false);
    for (int e = 0; e < 4; e++)
        a.e.v[e] = kernel_var(k, names[e], DT_I64, false);
    domain_span tile[2] = {{s->i, kx_var(k, a.e.v[0]), kx_var(k, a.e.v[1])},
                           {s->j, kx_var(k, a.e.v[2]), kx_var(k, a.e.v[3])}};
    a.r = domain_bounds(&h, s->p, s->j, tile, 1);
    a.t = domain_test(&h, s->p, tile, 2);
    numbers_room(&s->num);
    for (int64_t i = 0; i < s->T; i += rows)
        check_row(s, &a, i, i + rows < s->T ? i + rows : s->T, keys, sharp);
}

static const int64_t odd_ints[] = {0, 1, 3, 7, 12, -1, -4, 64, INT64_MAX, INT64_MIN, INT64_MIN + 3};

static void fill(setting *s, unsigned seed)
{
    unsigned r = seed * 2654435761u + 12345u;
    s->in.n = odd_ints[seed % (sizeof odd_ints / sizeof *odd_ints)];
    s->in.w = odd_ints[(seed / 2 + 3) % (sizeof odd_ints / sizeof *odd_ints)];
    for (int i = 0, doc_i = 0, doc_j = 0; i < MAX_SIZE; i++) {
        r = r * 1664525u + 1013904223u;
        doc_i += (r >> 20) % 9 == 0;
        doc_j += (r >> 10) % 9 == 0;
        s->in.doc_i[i] = seed % 3 ? doc_i : (int)(r >> 16) % 5;
        s->in.doc_j[i] = seed % 3 ? doc_j : (int)(r >> 18) % 5;
        s->in.valid[i] = seed % 3 ? i % 20 < 12 : (r >> 15) % 4 != 0;
        s->in.at[i] = (seed + (unsigned)i) % 23 == 0 ? (double)NAN : (double)((r >> 12) % 400) / 10;
    }
}

typedef struct one {
    const char *p; /* over i < T, j < S */
    unsigned sharp;
    domain_way way;
} one;

static const one cases[] = {
    {"j <= i", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j < i", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"i <= j", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j <= i + {S} - {T}", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j <= i and i < j + 5", HULL | FULL, DOMAIN_BOUNDS},
    {"i - 3 <= j and j <= i + 3", HULL | FULL, DOMAIN_BOUNDS},
    {"j < %n", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j <= %n", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"%n < j", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"not (j <= %n)", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j <= i and j < %n", HULL | FULL, DOMAIN_BOUNDS},
    {"j < %n or j <= i", HULL, DOMAIN_BOUNDS},
    {"i - %w <= j and j <= i", 0, DOMAIN_BOUNDS},
    {"i - j < %w", 0, DOMAIN_BOUNDS},
    {"j * 3 <= i", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j * 3 + 1 < 2 * i", 0, DOMAIN_BOUNDS},
    {"i < 4 * j", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j * %w <= i", 0, DOMAIN_BOUNDS},
    {"i // 4 == j // 4", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"i // 4 == j // 7", 0, DOMAIN_BOUNDS},
    {"j // 3 <= i // 5 + 1", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"j // %w == i // %w", 0, DOMAIN_BOUNDS},
    {"(j + 2 * i) // 3 < 9", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"not (i // 4 == j // 4)", 0, DOMAIN_BOUNDS},
    {"j != i", 0, DOMAIN_BOUNDS},
    {"j != 3 and j <= i", 0, DOMAIN_BOUNDS},
    {"(i - j) % 4 == 0", 0, DOMAIN_TILES},
    {"(i - j) % 16 == 0 and j <= i", 0, DOMAIN_TILES},
    {"(i - j) % {S} == 0", 0, DOMAIN_TILES},
    {"j % %w < 2", 0, DOMAIN_TILES},
    {"%di == %dj", 0, DOMAIN_DATA},
    {"%di == %dj and j <= i", 0, DOMAIN_DATA},
    {"%valid", TESTS, DOMAIN_DATA},
    {"%valid and j <= i", 0, DOMAIN_DATA},
    {"not %valid or i < j", 0, DOMAIN_DATA},
    {"%di < %n", 0, DOMAIN_OUTER},
    {"j <= %di", HULL, DOMAIN_BOUNDS},
    {"j <= i and (j < 3 or i < j + 4)", 0, DOMAIN_BOUNDS},
    {"j <= i and not (j < 3 and 6 <= i)", 0, DOMAIN_BOUNDS},
    {"i == j or j == 0", 0, DOMAIN_BOUNDS},
    {"j == i + 1", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"2 * j == i", 0, DOMAIN_BOUNDS},
    {"true", HULL | FULL | TESTS, DOMAIN_OUTER},
    {"3 <= i", HULL | FULL | TESTS, DOMAIN_OUTER},
    {"j < 0", HULL | FULL | TESTS, DOMAIN_BOUNDS},
    {"i * j < 20", 0, DOMAIN_TILES},
    {"%near", 0, DOMAIN_DATA},
    {"%capped", HULL, DOMAIN_BOUNDS},
    {"%wide", HULL | FULL, DOMAIN_BOUNDS},
    {"%far", 0, DOMAIN_BOUNDS},
};

static const char head[] = "graph @g real f32 {\n  dims T, S\n"
                           "  %n = input \"n\" i64 : i64<>\n"
                           "  %w = input \"w\" i64 : i64<>\n"
                           "  %di = input \"di\" i64 : i64<i:T>\n"
                           "  %dj = input \"dj\" i64 : i64<j:S>\n"
                           "  %valid = input \"valid\" bool : bool<j:S>\n"
                           "  %at = input \"at\" f32 : f32<i:T>\n"
                           "  %x = input \"x\" f32 : f32<i:T, j:S>\n"
                           "  %rj = real j : f32<j:S>\n"
                           "  %off = sub %rj, %at : f32<j:S, i:T>\n"
                           "  %dist = abs %off : f32<j:S, i:T>\n"
                           "  %near = le %dist, 4.0 : bool<j:S, i:T>\n"
                           "  %up = max i, 5 : i64<i:T>\n"
                           "  %mx = max j - 2, 3 : i64<j:S>\n"
                           "  %capped = lt %mx, %up : bool<j:S, i:T>\n"
                           "  %ij = sub i, j : i64<i:T, j:S>\n"
                           "  %gap = abs %ij : i64<i:T, j:S>\n"
                           "  %wide = le %gap, 4 : bool<i:T, j:S>\n"
                           "  %far = lt 4, %gap : bool<i:T, j:S>\n";

static void open_case(setting *s, const one *c)
{
    *s = (setting){0};
    s->a = arena_new(&s->m);
    strtab *names = strtab_new(s->a);
    source_set sources;
    diags ds;
    source_set_init(&sources, s->a);
    diags_init(&ds, s->a, &sources);
    const char *text = arena_printf(s->a,
                                    "%s  %%r = reduce sum %%x over j where %s : f32<i:T>\n"
                                    "  output \"r\" f32 %%r[i]\n}\n",
                                    head, c->p);
    module *mod = module_parse(s->a, names, &ds, source_add(&sources, "t.ir", text, strlen(text)));
    if (!mod)
        diags_print(&ds, stderr, false);
    ck_assert_msg(mod != NULL, "%s", c->p);
    s->g = mod->graphs.v[0];
    s->p = s->g->results.v[0].v->where;
    s->i = graph_find_ix(s->g, intern(names, "i"));
    s->j = graph_find_ix(s->g, intern(names, "j"));
}

static void set_sizes(setting *s, int64_t T, int64_t S)
{
    s->T = T;
    s->S = S;
    for (uint32_t k = 0; k < dims_n_symbols(s->g->dims); k++)
        s->symbols[k] = strcmp(dims_symbol(s->g->dims, k), "T") == 0 ? T : S;
}

START_TEST(never_wrong)
{
    static const int64_t sizes[][2] = {{13, 13}, {7, 20}, {20, 7}, {1, 33}};
    static const int64_t tiles[][2] = {{1, 1}, {4, 4}, {5, 8}, {48, 3}};
    setting s;
    const one *c = &cases[_i];
    open_case(&s, c);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        set_sizes(&s, sizes[k][0], sizes[k][1]);
        for (unsigned seed = 0; seed < 23; seed++) {
            fill(&s, seed);
            for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
                check_tiles(&s, tiles[t][0], tiles[t][1], c->sharp);
        }
    }
    arena_free(s.a);
}
END_TEST

START_TEST(ways)
{
    setting s;
    const one *c = &cases[_i];
    open_case(&s, c);
    if (s.p) {
        domain_way way = domain_way_of(s.a, s.p, s.j, &s.i, 1);
        ck_assert_msg(way == c->way, "%s: %s", c->p, domain_way_text[way]);
    }
    arena_free(s.a);
}
END_TEST

static domain_share share_of(const char *p, int64_t T, int64_t S)
{
    setting s;
    domain_share d;
    open_case(&s, &(one){.p = p});
    set_sizes(&s, T, S);
    ck_assert(domain_count(s.a, s.g, s.p, s.i, s.j, 48, 64, s.symbols, &d));
    arena_free(s.a);
    return d;
}

START_TEST(shares)
{
    domain_share d = share_of("j <= i", 4096, 4096);
    ck_assert_int_eq(d.tiles, 86 * 64);
    ck_assert(d.exact && d.visited > d.tiles / 2 && d.visited < d.tiles * 53 / 100);
    ck_assert(d.full > d.tiles * 47 / 100 && d.full < d.visited);
    d = share_of("j <= i and i < j + 256", 4096, 4096);
    ck_assert(d.exact && d.visited < d.tiles * 10 / 100);
    d = share_of("i // 512 == j // 512", 4096, 4096);
    ck_assert(d.exact && d.visited < d.tiles * 15 / 100);
    d = share_of("(i - j) % 512 == 0", 4096, 4096);
    ck_assert(d.exact && d.visited < d.tiles * 30 / 100 && d.full == 0);
    d = share_of("j <= i and j < %n", 4096, 4096);
    ck_assert(!d.exact && d.visited < d.tiles * 53 / 100 && d.full == 0);
    d = share_of("(%valid or %di == %dj) and j <= i", 4096, 4096); /* neither side is known */
    ck_assert(d.visited < d.tiles * 53 / 100 && d.full == 0);
    d = share_of("j <= i", 0, 4096);
    ck_assert(d.tiles == 0 && d.visited == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("domains");
    TCase *tc = tcase_create("domains");
    int n = (int)(sizeof cases / sizeof *cases);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, never_wrong, 0, n);
    tcase_add_loop_test(tc, ways, 0, n);
    tcase_add_test(tc, shares);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
