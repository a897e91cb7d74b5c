/* graph_support.c: see graph_support.h. */
#include "graph_support.h"

#include <stdlib.h>

void open_fixture(fixture *s)
{
    memset(s, 0, sizeof *s);
    s->a = arena_new(&s->m);
    s->names = strtab_new(s->a);
    source_set_init(&s->sources, s->a);
    diags_init(&s->ds, s->a, &s->sources);
}

void close_fixture(fixture *s)
{
    arena_free(s->a);
}

module *read_text(fixture *s, const char *text)
{
    uint32_t file = source_add(&s->sources, "test.ir", text, strlen(text));
    module *m = module_parse(s->a, s->names, &s->ds, file);
    if (!m)
        diags_print(&s->ds, stderr, false);
    ck_assert_ptr_nonnull(m);
    return m;
}

graph *read_one(fixture *s, const char *text)
{
    module *m = read_text(s, text);
    ck_assert_uint_eq(m->graphs.n, 1);
    return m->graphs.v[0];
}

const char *reports(fixture *s, const char *text)
{
    uint32_t file = source_add(&s->sources, "test.ir", text, strlen(text));
    diags_init(&s->ds, s->a, &s->sources);
    ck_assert_ptr_null(module_parse(s->a, s->names, &s->ds, file));
    strbuf b = {.a = s->a};
    for (const diag *d = s->ds.first; d; d = d->next) {
        place at = source_place(&s->sources, d->at);
        sb_printf(&b, "%u: %s\n", at.src ? at.line : 0, d->text);
        for (const diag *x = d->sub; x; x = x->next)
            sb_printf(&b, "%s\n", x->text);
    }
    return sb_text(&b);
}

const char *print_one(fixture *s, const graph *g)
{
    strbuf b = {.a = s->a};
    graph_print(g, &b);
    return sb_text(&b);
}

static void fill(fixture *s, const value *v, const int64_t *syms, const double **numbers,
                 interp_tensor *t)
{
    int64_t *shape = ARENA_ARRAY(s->a, int64_t, v->n_ix);
    size_t n = 1;
    for (uint32_t k = 0; k < v->n_ix; k++) {
        ck_assert(dim_eval(v->ix[k]->extent, syms, &shape[k]));
        n *= (size_t)shape[k];
    }
    t->rank = v->n_ix;
    t->shape = shape;
    if (v->dt == DT_I64 || v->dt == DT_BOOL)
        t->i = ARENA_ARRAY(s->a, int64_t, n);
    else
        t->f = ARENA_ARRAY(s->a, double, n);
    for (size_t k = 0; k < n; k++) {
        if (t->i)
            t->i[k] = (int64_t)(*numbers)[k];
        else
            t->f[k] = (*numbers)[k];
    }
    if (n)
        *numbers += n;
}

run run_graph(fixture *s, const graph *g, const int64_t *symbols, const double *numbers,
              const char *absent)
{
    run r = {0};
    int64_t *syms = ARENA_ARRAY(s->a, int64_t, dims_n_symbols(g->dims));
    for (uint32_t k = 0; k < dims_n_symbols(g->dims); k++) {
        for (size_t i = 0; i < g->symbols.n; i++) {
            if (strcmp(g->symbols.v[i], dims_symbol(g->dims, k)) == 0)
                syms[k] = symbols[i];
        }
    }
    interp_tensor *inputs = ARENA_ARRAY(s->a, interp_tensor, g->inputs.n);
    interp_tensor *params = ARENA_ARRAY(s->a, interp_tensor, g->params.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        if (absent && strcmp(g->inputs.v[i]->name, absent) == 0)
            inputs[i].absent = true;
        else
            fill(s, g->inputs.v[i], syms, &numbers, &inputs[i]);
    }
    for (size_t i = 0; i < g->params.n; i++)
        fill(s, g->params.v[i], syms, &numbers, &params[i]);
    ck_assert_uint_le(g->results.n, 16);
    r.status = interp_run(s->a, g, symbols, inputs, params, r.out, &r.message);
    return r;
}

run run_text(fixture *s, const char *text, const int64_t *symbols, const double *numbers)
{
    return run_graph(s, read_one(s, text), symbols, numbers, NULL);
}

static size_t elements(const interp_tensor *t)
{
    size_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++)
        n *= (size_t)t->shape[k];
    return n;
}

void want_reals(const interp_tensor *t, size_t n, const double *want, double tolerance)
{
    ck_assert_ptr_nonnull(t->f);
    ck_assert_uint_eq(elements(t), n);
    for (size_t k = 0; k < n; k++) {
        bool same = isnan(want[k]) ? isnan(t->f[k])
                                   : t->f[k] == want[k] || fabs(t->f[k] - want[k]) <= tolerance;
        ck_assert_msg(same, "element %zu is %.17g, not %.17g", k, t->f[k], want[k]);
    }
}

void want_ints(const interp_tensor *t, size_t n, const int64_t *want)
{
    ck_assert_ptr_nonnull(t->i);
    ck_assert_uint_eq(elements(t), n);
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(t->i[k] == want[k], "element %zu is %lld, not %lld", k, (long long)t->i[k],
                      (long long)want[k]);
}

int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
