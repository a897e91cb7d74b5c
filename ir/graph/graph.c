/* graph.c: modules, graphs, indices and the hash-consing constructors. Type rules are in type.c. */
#include "ir/graph/graph.h"

#include <math.h>
#include <string.h>

#include "ir/graph/graph_internal.h"
#include "ir/graph/name_map.h"

typedef struct cons {
    value **slots; /* open addressing, a power of two, at most half full */
    size_t cap, n;
    name_map ixs; /* const ix * by name */
} cons;

module *module_new(arena *a, strtab *names)
{
    module *m = ARENA_NEW(a, module);
    m->a = a;
    m->names = names;
    return m;
}

graph *graph_new(module *m, const char *name, dtype real)
{
    graph *g = ARENA_NEW(m->a, graph);
    g->a = m->a;
    g->names = m->names;
    g->dims = dims_new(m->a, m->names);
    g->name = intern(m->names, name);
    g->real = real;
    g->cons = ARENA_NEW(m->a, cons);
    g->cons->cap = 256;
    g->cons->ixs.a = m->a;
    g->cons->slots = ARENA_ARRAY(m->a, value *, g->cons->cap);
    vec_push(m->a, &m->graphs, g);
    return g;
}

const ix *graph_find_ix(const graph *g, const char *name)
{
    return (const ix *)name_map_get(&g->cons->ixs, intern(g->names, name));
}

const ix *graph_ix(graph *g, const char *name, const dim *extent)
{
    const ix *old = graph_find_ix(g, name);
    if (old)
        return old->extent == extent ? old : NULL;
    ix *i = ARENA_NEW(g->a, ix);
    *i = (ix){.id = (uint32_t)g->ixs.n, .name = intern(g->names, name), .extent = extent};
    vec_push(g->a, &g->ixs, i);
    *name_map_at(&g->cons->ixs, i->name) = (uintptr_t)i;
    return i;
}

/* --- hash-consing --- */

static uint64_t value_hash(const value *v)
{
    uint64_t key[] = {v->op,
                      (uint64_t)v->dt,
                      (uint64_t)v->kind,
                      v->scan,
                      v->where ? v->where->id + 1 : 0,
                      v->n_ix,
                      v->n_args,
                      v->n_bound,
                      (uint64_t)v->i,
                      v->dim ? v->dim->id + 1 : 0};
    uint64_t h = hash_bytes(0, key, sizeof key);
    h = hash_bytes(h, &v->f, sizeof v->f);
    for (uint32_t i = 0; i < v->n_args; i++)
        h = hash_bytes(h, &v->args[i]->id, sizeof v->args[i]->id);
    for (uint32_t i = 0; i < v->n_bound; i++)
        h = hash_bytes(h, &v->bound[i]->id, sizeof v->bound[i]->id);
    if (v->n_args == 0) {
        for (uint32_t i = 0; i < v->n_ix; i++)
            h = hash_bytes(h, &v->ix[i]->id, sizeof v->ix[i]->id);
    }
    return v->name ? hash_bytes(h, v->name, strlen(v->name)) : h;
}

static bool same_list(const void *x, const void *y, uint32_t n)
{
    return n == 0 || memcmp(x, y, n * sizeof(void *)) == 0;
}

static bool value_same(const value *x, const value *y)
{
    return x->op == y->op && x->dt == y->dt && x->kind == y->kind && x->scan == y->scan &&
           x->where == y->where && x->n_ix == y->n_ix && x->n_args == y->n_args &&
           x->n_bound == y->n_bound && x->i == y->i && memcmp(&x->f, &y->f, sizeof x->f) == 0 &&
           x->dim == y->dim && x->name == y->name && x->source == y->source &&
           x->n_family == y->n_family && x->optional == y->optional &&
           same_list(x->ix, y->ix, x->n_ix) && same_list(x->args, y->args, x->n_args) &&
           same_list(x->bound, y->bound, x->n_bound);
}

static void grow_cons(graph *g)
{
    cons *c = g->cons;
    value **old = c->slots;
    size_t old_cap = c->cap;
    c->cap *= 2;
    c->slots = ARENA_ARRAY(g->a, value *, c->cap);
    for (size_t i = 0; i < old_cap; i++) {
        if (!old[i])
            continue;
        size_t at = value_hash(old[i]) & (c->cap - 1);
        while (c->slots[at])
            at = (at + 1) & (c->cap - 1);
        c->slots[at] = old[i];
    }
}

value *graph_make(graph *g, const value *proto, const char **error)
{
    value probe = *proto;
    if (!graph_infer(g, &probe, error))
        return NULL;
    cons *c = g->cons;
    size_t at = value_hash(&probe) & (c->cap - 1);
    for (; c->slots[at]; at = (at + 1) & (c->cap - 1)) {
        if (value_same(c->slots[at], &probe))
            return c->slots[at];
    }
    value *v = ARENA_NEW(g->a, value);
    *v = probe;
    v->id = (uint32_t)g->values.n;
    v->ix = arena_copy(g->a, probe.ix, probe.n_ix * sizeof(const ix *));
    v->args = arena_copy(g->a, probe.args, probe.n_args * sizeof(value *));
    v->bound = arena_copy(g->a, probe.bound, probe.n_bound * sizeof(const ix *));
    vec_push(g->a, &g->values, v);
    if (v->op == OP_input)
        vec_push(g->a, &g->inputs, v);
    if (v->op == OP_param)
        vec_push(g->a, &g->params, v);
    c->slots[at] = v;
    if (++c->n > c->cap / 2)
        grow_cons(g);
    return v;
}

static value *make(graph *g, const value *proto)
{
    const char *error = NULL;
    value *v = graph_make(g, proto, &error);
    if (!v)
        ice("graph @%s: %s: %s", g->name, op_table[proto->op].text, error);
    return v;
}

/* --- constructors --- */

value *graph_real(graph *g, double f)
{
    return make(g, &(value){.op = OP_const, .dt = g->real, .f = isnan(f) ? (double)NAN : f});
}

value *graph_int(graph *g, int64_t i)
{
    return make(g, &(value){.op = OP_const, .dt = DT_I64, .i = i});
}

value *graph_bool(graph *g, bool b)
{
    return make(g, &(value){.op = OP_const, .dt = DT_BOOL, .i = b});
}

value *graph_dim(graph *g, const dim *d)
{
    return make(g, &(value){.op = OP_dim, .dim = d});
}

value *graph_index(graph *g, const ix *i)
{
    const ix *list[1] = {i};
    return make(g, &(value){.op = OP_index, .n_ix = 1, .ix = list});
}

value *graph_input(graph *g, const char *name, store_type st, const ix *const *axes, uint32_t n,
                   bool optional, uint32_t n_family, const char *from)
{
    return make(g, &(value){.op = OP_input,
                            .name = intern(g->names, name),
                            .kind = (int)st,
                            .ix = axes,
                            .n_ix = n,
                            .optional = optional,
                            .n_family = n_family,
                            .source = from ? intern(g->names, from) : NULL});
}

value *graph_param(graph *g, const char *name, store_type st, const ix *const *axes, uint32_t n,
                   uint32_t n_family, const char *from)
{
    return make(g, &(value){.op = OP_param,
                            .name = intern(g->names, name),
                            .kind = (int)st,
                            .ix = axes,
                            .n_ix = n,
                            .n_family = n_family,
                            .source = from ? intern(g->names, from) : NULL});
}

value *graph_given(graph *g, value *input)
{
    return make(g, &(value){.op = OP_given, .n_args = 1, .args = &input});
}

value *graph_elem(graph *g, op_id op, value *const *args, value *where)
{
    ICE_UNLESS(OP_HAS(op, T_ELEM));
    return make(
        g,
        &(value){.op = op, .n_args = (uint32_t)op_table[op].n_args, .args = args, .where = where});
}

value *graph_read(graph *g, value *x, value *const *index, value *where)
{
    value **args = ARENA_ARRAY(g->a, value *, (size_t)x->n_ix + 1);
    args[0] = x;
    for (uint32_t i = 0; i < x->n_ix; i++)
        args[i + 1] = index[i];
    return make(g, &(value){.op = OP_read, .n_args = x->n_ix + 1, .args = args, .where = where});
}

value *graph_join(graph *g, const ix *joined, value *const *parts, const ix *const *part_ix,
                  uint32_t n)
{
    const ix **bound = ARENA_ARRAY(g->a, const ix *, (size_t)n + 1);
    bound[0] = joined;
    for (uint32_t i = 0; i < n; i++)
        bound[i + 1] = part_ix[i];
    return make(
        g, &(value){.op = OP_join, .n_args = n, .args = parts, .n_bound = n + 1, .bound = bound});
}

value *graph_reduce(graph *g, reduce_kind k, value *x, const ix *const *over, uint32_t n,
                    value *where)
{
    return make(g, &(value){.op = OP_reduce,
                            .kind = (int)k,
                            .n_args = 1,
                            .args = &x,
                            .n_bound = n,
                            .bound = over,
                            .where = where});
}

value *graph_contract(graph *g, value *a, value *b, const ix *const *over, uint32_t n, value *where)
{
    value *args[2] = {a, b};
    return make(g, &(value){.op = OP_contract,
                            .n_args = 2,
                            .args = args,
                            .n_bound = n,
                            .bound = over,
                            .where = where});
}

value *graph_norm(graph *g, op_id op, value *x, const ix *const *over, uint32_t n, value *where)
{
    ICE_UNLESS(OP_HAS(op, T_NORM));
    return make(
        g,
        &(value){.op = op, .n_args = 1, .args = &x, .n_bound = n, .bound = over, .where = where});
}

value *graph_online(graph *g, online_kind k, value *score, value *const *streams,
                    uint32_t n_streams, const ix *const *over, uint32_t n, value *where)
{
    value **args = ARENA_ARRAY(g->a, value *, (size_t)n_streams + 1);
    args[0] = score;
    for (uint32_t i = 0; i < n_streams; i++)
        args[i + 1] = streams[i];
    return make(g, &(value){.op = OP_online,
                            .kind = (int)k,
                            .n_args = n_streams + 1,
                            .args = args,
                            .n_bound = n,
                            .bound = over,
                            .where = where});
}

value *graph_part(graph *g, value *online, int which)
{
    return make(g, &(value){.op = OP_part, .kind = which, .n_args = 1, .args = &online});
}

uint32_t graph_new_scan(graph *g)
{
    return g->n_scans++;
}

value *graph_history(graph *g, uint32_t scan, int slot, const char *name, dtype dt,
                     const ix *const *axes, uint32_t n, const ix *row)
{
    return make(g, &(value){.op = OP_history,
                            .dt = dt,
                            .scan = scan,
                            .kind = slot,
                            .name = intern(g->names, name),
                            .ix = axes,
                            .n_ix = n,
                            .n_bound = 1,
                            .bound = &row});
}

value *graph_append(graph *g, value *history, value *row, const ix *step)
{
    value *args[2] = {history, row};
    return make(g,
                &(value){.op = OP_append, .n_args = 2, .args = args, .n_bound = 1, .bound = &step});
}

value *graph_scan(graph *g, uint32_t scan, const ix *step, bool backward, value *const *appended,
                  uint32_t n)
{
    return make(g, &(value){.op = OP_scan,
                            .scan = scan,
                            .kind = backward,
                            .n_args = n,
                            .args = appended,
                            .n_bound = 1,
                            .bound = &step});
}

value *graph_result_of(graph *g, value *scan, int slot)
{
    return make(g, &(value){.op = OP_result, .kind = slot, .n_args = 1, .args = &scan});
}
