/* schedule_plan.c: where values are kept. Outputs and histories first take in place what will be
 * stored in them; schedule_use.c then decides what else is stored, and the rest of the buffers are
 * temps. */
#include "passes/schedule_internal.h"

enum { MAX_COST = 1000, DEEP = 48, STRIDE_BUDGET = 64 };

bool is_leaf(const value *v)
{
    switch (v->op) {
    case OP_const:
    case OP_dim:
    case OP_index:
    case OP_input:
    case OP_param:
    case OP_given:
        return true;
    default:
        return false;
    }
}

const value *history_of(const value *v)
{
    if (v->op == OP_result)
        v = v->args[0]->args[v->kind];
    return v->op == OP_append ? v->args[0] : v;
}

bool is_step_of(const sched *s, const value *v, const ix *i)
{
    for (uint32_t r = s->home[v->id]; r;) {
        const value *scan = s->scan_of[r - 1];
        if (scan->bound[0] == i)
            return true;
        r = s->home[scan->id];
    }
    return false;
}

bool in_region_around(const sched *s, const value *v, uint32_t home)
{
    uint32_t r = s->home[v->id];
    while (r && r != home)
        r = s->home[s->scan_of[r - 1]->id];
    return r == home;
}

static void gather(arena *a, const value *v, conjuncts *out, const value **room, uint32_t reserve)
{
    /* Every `and` yields at least one more, so one place is kept for each that is still to come. */
    if (v->op == OP_and && out->n + reserve + 1 < MAX_CONJUNCTS) {
        gather(a, v->args[0], out, room, reserve + 1);
        gather(a, v->args[1], out, room, reserve);
        return;
    }
    for (uint32_t i = 0; i < out->n; i++) {
        if (room[i] == v)
            return;
    }
    room[out->n++] = v;
}

void split_conjuncts(arena *a, const value *where, conjuncts *out)
{
    const value **room = ARENA_ARRAY(a, const value *, MAX_CONJUNCTS);
    *out = (conjuncts){.v = room};
    gather(a, where, out, room, 0);
}

/* --- costs, bottom up --- */

static bool same_indices(const value *a, const value *b)
{
    for (uint32_t i = 0; i < b->n_ix; i++) {
        if (!value_has_ix(a, b->ix[i]))
            return false;
    }
    return a->n_ix == b->n_ix;
}

static void find_unsafe(sched *s, const value *v, plan *p)
{
    const value *x = v->args[0];
    for (uint32_t i = 0; i < x->n_ix; i++) {
        if (!range_inside(s->range, v->args[i + 1], x->ix[i]->extent, v, v->where))
            p->unsafe |= (uint64_t)1 << (i < 63 ? i : 63);
    }
}

/* Operations that need statements of their own: checks. */
bool checks(const sched *s, const value *v)
{
    if (v->op == OP_idiv || v->op == OP_imod)
        return !range_divides(s->range, v);
    if (op_table[v->op].sig == SIG_TOINT)
        return true;
    return OP_HAS(v->op, T_TRAP) && v->dt == DT_I64 && v->op != OP_read && !range_fits(s->range, v);
}

/* Operand x of v lacks an index that v's code runs over, and is too dear to be computed again for
 * each of its elements: it will be stored. */
static bool will_be_stored(const sched *s, const value *v, const value *x)
{
    if (is_leaf(x) || OP_HAS(x->op, T_REGION) || x->op == OP_join ||
        (!OP_HAS(x->op, T_BINDS) && is_cheap(x, &s->plan[x->id])))
        return false;
    if (!OP_HAS(v->op, T_ELEM | T_BINDS))
        return false;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (!value_has_ix(x, v->ix[i]) && !is_step_of(s, v, v->ix[i]))
            return true;
    }
    for (uint32_t i = 0; i < v->n_bound; i++) {
        if (!value_has_ix(x, v->bound[i]))
            return true;
    }
    return false;
}

static unsigned depth_of(const value *v, unsigned below)
{
    if (is_leaf(v) || OP_HAS(v->op, T_NORM | T_REGION) || v->op == OP_online || v->op == OP_part)
        return 0;
    if (OP_HAS(v->op, T_BINDS))
        return below + 8; /* each is a loop: they nest less deep */
    return below + (v->op == OP_join ? 4 : 1);
}

/* Symbols in the shapes of params: what is made of params alone and as large can be kept by the
 * host from one call to the next, whatever the sizes of the inputs. */
static void find_weight_dims(sched *s)
{
    uint32_t n = dims_n_symbols(s->g->dims);
    bool *of_params = ARENA_ARRAY(s->scratch, bool, n);
    for (size_t i = 0; i < s->g->params.n; i++) {
        const value *p = s->g->params.v[i];
        for (uint32_t k = 0; k < n; k++) {
            for (uint32_t a = 0; a < p->n_ix; a++)
                of_params[k] =
                    of_params[k] || dim_mentions(p->ix[a]->extent, dims_symbol(s->g->dims, k));
        }
    }
    s->weight_dims = of_params;
    s->weights = ARENA_ARRAY(s->scratch, bool, s->g->values.n);
}

static bool is_weight_dim(const sched *s, const dim *d)
{
    for (uint32_t k = 0; k < dims_n_symbols(s->g->dims); k++) {
        if (!s->weight_dims[k] && dim_mentions(d, dims_symbol(s->g->dims, k)))
            return false;
    }
    return true;
}

/* Nothing but params, constants and their dims is in it, and it cannot fail. */
static bool is_weight(const sched *s, const value *v)
{
    if (v->op == OP_input || v->op == OP_given || OP_HAS(v->op, T_REGION) || checks(s, v) ||
        (v->op == OP_read && s->plan[v->id].unsafe) || (v->dim && !is_weight_dim(s, v->dim)))
        return false;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (!is_weight_dim(s, v->ix[i]->extent))
            return false;
    }
    for (uint32_t i = 0; i < v->n_bound; i++) {
        if (!is_weight_dim(s, v->bound[i]->extent))
            return false;
    }
    for (uint32_t i = 0; i < v->n_args; i++) {
        if (!s->weights[v->args[i]->id])
            return false;
    }
    return !v->where || s->weights[v->where->id];
}

/* Whatever of v might be computed in place; what is stored for sure ends it. */
static bool may_fail(const sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    if (OP_HAS(v->op, T_NORM | T_REGION) || v->op == OP_online || v->op == OP_part)
        return false;
    bool any = checks(s, v) || (v->op == OP_read && p->unsafe) ||
               (v->where && s->plan[v->where->id].may_fail);
    for (uint32_t i = 0; i < v->n_args && !any; i++)
        any = s->plan[v->args[i]->id].may_fail;
    return any;
}

static void measure(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    unsigned cost = v->op == OP_const || v->op == OP_dim || v->op == OP_index ? 0 : 1, depth = 0;
    unsigned size = 1;
    p->index_only = v->op == OP_const || v->op == OP_dim || v->op == OP_index ||
                    (OP_HAS(v->op, T_ELEM) && (v->dt == DT_I64 || v->dt == DT_BOOL));
    p->costly = OP_HAS(v->op, T_COSTLY) || checks(s, v);
    for (uint32_t i = 0; i < v->n_args + 1; i++) {
        const value *x = i < v->n_args ? v->args[i] : v->where;
        if (!x)
            continue;
        const plan *q = &s->plan[x->id];
        p->index_only = p->index_only && q->index_only;
        size += q->size;
        if (OP_HAS(v->op, T_ELEM)) {
            cost += q->cost;
            p->costly = p->costly || (q->costly && same_indices(x, v));
        }
        if (q->depth > depth && !will_be_stored(s, v, x))
            depth = q->depth;
    }
    if (v->op == OP_read) {
        const plan *q = &s->plan[v->args[0]->id];
        find_unsafe(s, v, p);
        p->costly = v->where || p->unsafe || q->costly;
        cost = q->cost ? q->cost : 1;
        for (uint32_t i = 1; i < v->n_args; i++)
            cost += s->plan[v->args[i]->id].cost;
    }
    if (v->op == OP_join)
        cost = MAX_COST;
    p->size = (uint16_t)(size < MAX_COST ? size : MAX_COST);
    p->cost = (uint16_t)(p->index_only ? 0 : cost < MAX_COST ? cost : MAX_COST);
    depth = depth_of(v, depth);
    p->stored = depth >= DEEP || OP_HAS(v->op, T_NORM) || v->op == OP_online || v->op == OP_part;
    p->depth = (uint16_t)(p->stored ? 0 : depth);
    p->may_fail = may_fail(s, v);
    s->weights[v->id] = is_weight(s, v);
}

/* --- strides --- */

static int combine(int a, int b)
{
    return a > b ? a : b;
}

static int stride(const sched *s, const value *v, const ix *i, unsigned *budget);

static int read_stride(const sched *s, const value *v, const ix *i, unsigned *budget)
{
    const value *x = v->args[0];
    int found = 0;
    for (uint32_t k = 0; k < x->n_ix; k++) {
        int slope = range_slope(s->range, v->args[k + 1], i);
        if (slope == 0)
            continue;
        if (found || slope == 2)
            return 2;
        found = stride(s, x, x->ix[k], budget);
    }
    return found;
}

static int stride(const sched *s, const value *v, const ix *i, unsigned *budget)
{
    const plan *p = &s->plan[history_of(v)->id];
    if (v->op == OP_index)
        return v->ix[0] == i;
    if (*budget == 0)
        return 2;
    (*budget)--;
    if (v->op == OP_join && v->bound[0] == i) {
        int all = 1;
        for (uint32_t k = 0; k < v->n_args; k++)
            all = combine(all, stride(s, v->args[k], v->bound[k + 1], budget));
        return all;
    }
    if (!value_has_ix(v, i))
        return 0;
    if (p->buf)
        return p->buf->rank && p->axes[plan_n_axes(p) - 1] == i ? 1 : 2;
    int all = 0;
    if (v->op == OP_read)
        return read_stride(s, v, i, budget);
    if (!OP_HAS(v->op, T_ELEM) && v->op != OP_join)
        return v->ix[v->n_ix - 1] == i ? 1 : 2;
    for (uint32_t k = 0; k < v->n_args; k++)
        all = combine(all, stride(s, v->args[k], i, budget));
    return all;
}

int stride_of(const sched *s, const value *v, const ix *i)
{
    unsigned budget = STRIDE_BUDGET;
    return stride(s, v, i, &budget);
}

/* --- buffers --- */

bool in_prepare(const sched *s, const value *x, unsigned *budget)
{
    const plan *p = &s->plan[x->id];
    if (!s->weights[x->id] || *budget == 0)
        return false;
    (*budget)--;
    if (is_leaf(x))
        return true;
    if (p->stored)
        return p->buf && p->buf->role == KB_PREPARED;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!in_prepare(s, x->args[i], budget))
            return false;
    }
    return !x->where || in_prepare(s, x->where, budget);
}

const kbuf *output_buf(const sched *s, size_t result)
{
    return s->k->bufs.v[s->g->inputs.n + s->g->params.n + result];
}

store_type temp_store(const sched *s, dtype dt)
{
    return dt == DT_I64 ? ST_I64 : dt == DT_BOOL ? ST_BOOL : s->k->real == DT_F32 ? ST_F32 : ST_F64;
}

/* v, to be stored, can be computed in `prepare`: what it is made of is there as well. */
static bool is_prepared(const sched *s, const value *v)
{
    if (!s->weights[v->id])
        return false;
    for (uint32_t i = 0; i < v->n_args + (v->where != NULL); i++) {
        const value *x = i < v->n_args ? v->args[i] : v->where;
        unsigned budget = STRIDE_BUDGET;
        if (!in_prepare(s, x, &budget))
            return false;
    }
    return true;
}

/* A stream is summed along what it has and the score has not. */
static const ix *last_of_part(const value *v)
{
    const value *online = v->args[0];
    if (v->kind == PART_weights)
        return online->bound[online->n_bound - 1];
    for (uint32_t i = v->n_ix; v->kind >= 0 && i-- > 0;) {
        if (!value_has_ix(online->args[0], v->ix[i]))
            return v->ix[i];
    }
    return NULL;
}

/* The index that is best last in v's memory: where v's loops run along the memory of what they
 * read. */
static const ix *last_axis(const sched *s, const value *v)
{
    const plan *p = &s->plan[v->id];
    if (p->tiling)
        return tiling_column(p->tiling);
    if (p->row_form || p->scatter)
        return p->axes[0]; /* chosen by schedule_use.c */
    if (OP_HAS(v->op, T_NORM))
        return v->bound[v->n_bound - 1];
    if (v->op == OP_part)
        return last_of_part(v);
    if (!OP_HAS(v->op, T_ELEM) && v->op != OP_read)
        return NULL;
    const ix *best = NULL;
    int most = 0;
    for (uint32_t i = v->n_ix; i-- > 0;) {
        int n = 0;
        for (uint32_t k = 0; k < v->n_args; k++) {
            int st = stride_of(s, v->args[k], v->ix[i]);
            n += st == 1 ? 1 : st == 2 ? -1 : 0;
        }
        if (v->op == OP_read)
            n = stride_of(s, v, v->ix[i]) == 1;
        if (n > most && !is_step_of(s, v, v->ix[i])) {
            most = n;
            best = v->ix[i];
        }
    }
    return best;
}

/* What users leave out by inputs is not known in `prepare`. */
static void keep_prepared(sched *s, conjuncts *need)
{
    const value **keep = ARENA_ARRAY(s->scratch, const value *, need->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < need->n; i++) {
        if (s->plan[need->v[i]->id].index_only && s->weights[need->v[i]->id])
            keep[n++] = need->v[i];
    }
    *need = (conjuncts){.v = keep, .n = n};
}

static void make_temp(sched *s, const value *v)
{
    plan *p = &s->plan[v->id];
    const ix **axes = ARENA_ARRAY(s->scratch, const ix *, v->n_ix);
    const dim **shape = ARENA_ARRAY(s->scratch, const dim *, v->n_ix);
    const ix *last = last_axis(s, v);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_ix; i++) {
        if (!is_step_of(s, v, v->ix[i]) && v->ix[i] != last)
            axes[n++] = v->ix[i];
    }
    if (last)
        axes[n++] = last;
    for (uint32_t i = 0; i < n; i++) {
        shape[i] = axes[i]->extent;
        if (p->ring && axes[i] == v->bound[0]) {
            form(s, RULE_schedule_ring);
            p->ring_axis = i;
            shape[i] = dim_const(s->g->dims, p->ring);
        }
    }
    kbuf_role role = !OP_HAS(v->op, T_REGION) && is_prepared(s, v) ? KB_PREPARED : KB_TEMP;
    if (role == KB_PREPARED)
        keep_prepared(s, &p->need);
    p->buf = kernel_buf(s->k, role, name_of(v), temp_store(s, v->dt), shape, n);
    p->axes = axes;
}

/* A history of a step kernel that no step reads. */
static bool is_dropped(const sched *s, const value *history)
{
    const value *scan = s->scan_of[history->scan];
    return s->plan[scan->args[history->kind]->id].done;
}

void plan_values(sched *s)
{
    for (size_t i = 0; i < s->g->inputs.n + s->g->params.n; i++) {
        const value *v =
            i < s->g->inputs.n ? s->g->inputs.v[i] : s->g->params.v[i - s->g->inputs.n];
        s->plan[v->id].buf = s->k->bufs.v[i];
        s->plan[v->id].axes = v->ix;
    }
    find_weight_dims(s);
    plan_rings(s);
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        measure(s, v);
        if (v->op == OP_part && v->kind == PART_weights)
            s->plan[v->args[0]->id].weights = v;
        for (uint32_t k = 0; k < v->n_args && !(v->op == OP_append && s->plan[v->id].done); k++)
            s->plan[v->args[k]->id].n_uses++;
        if (v->where)
            s->plan[v->where->id].n_uses++;
    }
    for (size_t i = 0; i < s->conditions.n; i++)
        measure(s, s->conditions.v[i]);
    for (size_t i = 0; i < s->g->results.n; i++)
        s->plan[s->outs[i].v->id].n_uses++;
    plan_outputs(s);
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        if (v->op == OP_history && !s->plan[v->id].buf && !is_dropped(s, v)) {
            make_temp(s, v);
            s->plan[v->id].stored = true;
        }
    }
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_append)
            plan_row(s, s->live.v[i]);
    }
    double begun = choice_begin(s);
    plan_uses(s);
    choice_end(s, CHOICE_fuse_maps, begun);
    for (size_t i = 0; i < s->live.n; i++) {
        const value *v = s->live.v[i];
        plan *p = &s->plan[v->id];
        if (v->op == OP_online)
            continue;
        if (p->stored && !OP_HAS(v->op, T_REGION | T_NORM) && v->op != OP_join && v->op != OP_part)
            choose_tiling(s, v);
        if (p->stored && !p->buf)
            make_temp(s, v);
    }
    for (size_t i = 0; i < s->live.n; i++) {
        if (s->live.v[i]->op == OP_online)
            place_online(s, s->live.v[i]);
    }
}
