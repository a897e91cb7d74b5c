/* simplify_scan.c: drops histories of recurrences that neither a result nor another history needs.
 */
#include "passes/simplify_internal.h"

typedef struct scan_use {
    const value *scan;
    bool *used; /* by slot */
    int *slot;  /* its new number, -1: dropped */
    uint32_t kept;
} scan_use;

/* Marks the slots that the value's computation reads, and through them others. */
static void mark_reached(arena *scratch, const value *from, scan_use *u, unsigned char *seen)
{
    VEC(const value *) todo = {0};
    vec_push(scratch, &todo, from);
    while (todo.n) {
        const value *v = todo.v[--todo.n];
        if (seen[v->id])
            continue;
        seen[v->id] = 1;
        if (v->op == OP_history && v->scan == u->scan->scan) {
            u->used[v->kind] = true;
            vec_push(scratch, &todo, u->scan->args[v->kind]);
        }
        for (uint32_t k = 0; k < v->n_args; k++)
            vec_push(scratch, &todo, v->args[k]);
        if (v->where)
            vec_push(scratch, &todo, v->where);
    }
}

/* By scan number; NULL where nothing is to be dropped. */
static scan_use **find_unused(graph *g, arena *scratch, const value_list *live)
{
    scan_use **of = ARENA_ARRAY(scratch, scan_use *, g->n_scans);
    bool any = false;
    for (size_t i = 0; i < live->n; i++) {
        const value *v = live->v[i];
        if (v->op != OP_scan)
            continue;
        scan_use *u = of[v->scan] = ARENA_NEW(scratch, scan_use);
        unsigned char *seen = ARENA_ARRAY(scratch, unsigned char, g->values.n);
        u->scan = v;
        u->used = ARENA_ARRAY(scratch, bool, v->n_args);
        u->slot = ARENA_ARRAY(scratch, int, v->n_args);
        for (size_t k = 0; k < live->n; k++) {
            const value *r = live->v[k];
            if (r->op == OP_result && r->args[0] == v && !u->used[r->kind]) {
                u->used[r->kind] = true;
                mark_reached(scratch, v->args[r->kind], u, seen);
            }
        }
        for (uint32_t k = 0; k < v->n_args; k++) {
            u->slot[k] = u->used[k] ? (int)u->kept++ : -1;
            any = any || !u->used[k];
        }
    }
    return any ? of : NULL;
}

static value *without_slots(graph *g, scan_use *const *of, const value *v, value *const *args)
{
    const scan_use *u = of[v->op == OP_result ? v->args[0]->scan : v->scan];
    if (v->op == OP_result)
        return graph_result_of(g, args[0], u->slot[v->kind]);
    if (v->op == OP_history) {
        if (u->slot[v->kind] < 0)
            return NULL;
        return graph_history(g, v->scan, u->slot[v->kind], v->name, v->dt, v->ix, v->n_ix,
                             v->bound[0]);
    }
    value **kept = ARENA_ARRAY(g->a, value *, u->kept);
    for (uint32_t k = 0; k < v->n_args; k++) {
        if (u->slot[k] >= 0)
            kept[u->slot[k]] = args[k];
    }
    return graph_scan(g, v->scan, v->bound[0], v->kind, kept, u->kept);
}

bool drop_histories(graph *g, arena *scratch)
{
    value_list live = {0};
    graph_live(g, scratch, &live);
    scan_use **of = g->n_scans ? find_unused(g, scratch, &live) : NULL;
    if (!of)
        return false;
    value **now =
        ARENA_ARRAY(scratch, value *, g->values.n); /* NULL: only what is dropped needs it */
    for (size_t i = 0; i < live.n; i++) {
        value *v = live.v[i];
        value **args = ARENA_ARRAY(scratch, value *, v->n_args);
        bool lost = v->where && !now[v->where->id],
             changed = v->where && now[v->where->id] != v->where;
        for (uint32_t k = 0; k < v->n_args; k++) {
            args[k] = now[v->args[k]->id];
            lost = lost || (!args[k] && v->op != OP_scan);
            changed = changed || args[k] != v->args[k];
        }
        if (lost)
            continue;
        value *made = v;
        if (v->op == OP_scan || v->op == OP_history || v->op == OP_result)
            made = without_slots(g, of, v, args);
        else if (changed)
            made = graph_with_args(g, v, args, v->where ? now[v->where->id] : NULL);
        if (made && !made->hint)
            made->hint = v->hint;
        if (made && made->at.file == 0)
            made->at = v->at;
        now[v->id] = made;
    }
    for (size_t i = 0; i < g->results.n; i++)
        g->results.v[i].v = now[g->results.v[i].v->id];
    return true;
}
