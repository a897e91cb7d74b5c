/* by_interp.c: the same call by the reference interpreter: tensors widened to f64, results
 * narrowed. */
#include <math.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "ir/interp.h"
#include "runtime/io/half.h"

static const span nowhere = {0};

static bool holds_reals(store_type st)
{
    return store_table[st].value == DT_F32 || store_table[st].value == DT_F64;
}

static int64_t integer(const attn_tensor *t, int64_t n)
{
    return t->dtype == ATTN_I64 ? ((const int64_t *)t->data)[n] : (int64_t)tensor_number(t, n);
}

/* The rows of the record that make one value of the graph: one, or all of a family. */
typedef struct rows {
    const binding *b;
    attn_role role;
    int64_t at; /* the next row to look at */
} rows;

static int64_t next_row(rows *r)
{
    while (r->at < r->b->info->n_tensors && r->b->info->tensors[r->at].role != r->role)
        r->at++;
    if (r->at == r->b->info->n_tensors)
        ice("the record of %s has fewer tensors than its graph", r->b->info->name);
    return r->at++;
}

static int64_t extent(const dim *d, const int64_t *symbols)
{
    int64_t n;
    if (!dim_eval(d, symbols, &n) || n < 0)
        ice("an extent that the solver accepted");
    return n;
}

/* Shape and memory of a tensor with `n_axes` extents, the first n_family of which count its
 * members. */
static interp_tensor make(session *s, const ix *const *axes, uint32_t n_axes, uint32_t n_family,
                          bool real, const int64_t *symbols, int64_t *members, int64_t *each)
{
    int64_t *shape = ARENA_ARRAY(s->a, int64_t, n_axes);
    *members = *each = 1;
    for (uint32_t i = 0; i < n_axes; i++) {
        shape[i] = extent(axes[i]->extent, symbols);
        *(i < n_family ? members : each) *= shape[i];
    }
    interp_tensor t = {.rank = n_axes, .shape = shape};
    size_t n = (size_t)(*members * *each);
    if (real)
        t.f = ARENA_ARRAY(s->a, double, n);
    else
        t.i = ARENA_ARRAY(s->a, int64_t, n);
    return t;
}

static interp_tensor widen(session *s, const value *v, rows *r, const int64_t *symbols)
{
    bool real = holds_reals((store_type)v->kind);
    int64_t members, each;
    interp_tensor t = make(s, v->ix, v->n_ix, v->n_family, real, symbols, &members, &each);
    for (int64_t m = 0; m < members; m++) {
        const attn_tensor *from = bind_tensor(r->b, next_row(r));
        t.absent = t.absent || !from;
        for (int64_t k = 0; k < each && from; k++) {
            if (real)
                t.f[m * each + k] = tensor_number(from, k);
            else
                t.i[m * each + k] = integer(from, k);
        }
    }
    return t;
}

static void store_real(attn_tensor *t, int64_t n, double v)
{
    switch (t->dtype) {
    case ATTN_F32:
        ((float *)t->data)[n] = (float)v;
        break;
    case ATTN_F16:
        ((uint16_t *)t->data)[n] = attn_double_to_f16(v);
        break;
    case ATTN_BF16:
        ((uint16_t *)t->data)[n] = attn_double_to_bf16(v);
        break;
    default:
        ((double *)t->data)[n] = v;
    }
}

/* Narrow types keep the low bits, as the compiled store does. */
static void store_int(attn_tensor *t, int64_t n, int64_t v)
{
    switch (t->dtype) {
    case ATTN_I32:
        ((uint32_t *)t->data)[n] = (uint32_t)v;
        break;
    case ATTN_U8:
    case ATTN_BOOL:
        ((uint8_t *)t->data)[n] = (uint8_t)v;
        break;
    default:
        ((int64_t *)t->data)[n] = v;
    }
}

static void narrow(const interp_tensor *t, int64_t members, int64_t each, rows *r)
{
    for (int64_t m = 0; m < members; m++) {
        attn_tensor *to = bind_tensor(r->b, next_row(r));
        for (int64_t k = 0; k < each; k++) {
            if (t->f)
                store_real(to, k, t->f[m * each + k]);
            else
                store_int(to, k, t->i[m * each + k]);
        }
    }
}

/* The dims in the order of the graph's symbols, over the whole table of its dims. */
static int64_t *symbol_values(session *s, const graph *g, const binding *b)
{
    int64_t *symbols = ARENA_ARRAY(s->a, int64_t, g->symbols.n);
    for (size_t i = 0; i < g->symbols.n; i++) {
        for (int64_t k = 0; k < b->info->n_dims; k++) {
            if (strcmp(g->symbols.v[i], b->info->dim_names[k]) == 0)
                symbols[i] = b->dims[k];
        }
    }
    return symbols;
}

/* dim_eval wants a value for every symbol of the table, in the table's order. */
static int64_t *table_values(session *s, const graph *g, const int64_t *symbols)
{
    uint32_t n = dims_n_symbols(g->dims);
    int64_t *all = ARENA_ARRAY(s->a, int64_t, n);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g->symbols.n; k++) {
            if (strcmp(dims_symbol(g->dims, i), g->symbols.v[k]) == 0)
                all[i] = symbols[k];
        }
    }
    return all;
}

bool run_interp(session *s, const graph *g, const binding *b)
{
    phase_begin(s, "interpreting");
    int64_t *symbols = symbol_values(s, g, b), *table = table_values(s, g, symbols);
    interp_tensor *inputs = ARENA_ARRAY(s->a, interp_tensor, g->inputs.n);
    interp_tensor *params = ARENA_ARRAY(s->a, interp_tensor, g->params.n);
    interp_tensor *outputs = ARENA_ARRAY(s->a, interp_tensor, g->results.n);
    rows in = {b, ATTN_INPUT, 0}, par = {b, ATTN_PARAM, 0}, out = {b, ATTN_OUTPUT, 0};
    for (size_t i = 0; i < g->inputs.n; i++)
        inputs[i] = widen(s, g->inputs.v[i], &in, table);
    for (size_t i = 0; i < g->params.n; i++)
        params[i] = widen(s, g->params.v[i], &par, table);

    const char *message = NULL;
    interp_status status = interp_run(s->a, g, symbols, inputs, params, outputs, &message);
    if (status != INTERP_OK) {
        static const attn_status same[] = {ATTN_OK, ATTN_DIM, ATTN_INDEX, ATTN_INT};
        diag *d = diag_error(&s->ds, nowhere, "the run of '%s' stopped: %s", g->name,
                             attn_status_text(same[status]));
        if (message)
            diag_note(d, nowhere, "%s", message);
        return false;
    }
    for (size_t i = 0; i < g->results.n; i++) {
        const graph_result *r = &g->results.v[i];
        int64_t members = 1, each = 1;
        for (uint32_t k = 0; k < r->n_axes; k++)
            *(k < r->n_family ? &members : &each) *= extent(r->axes[k]->extent, table);
        narrow(&outputs[i], members, each, &out);
    }
    phase_end(s);
    return true;
}
