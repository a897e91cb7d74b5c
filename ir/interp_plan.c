/* interp_plan.c: which values are stored and which are virtual, the order of statements, and a plan
 * for each statement. All of it depends on the dims alone and is done once, before the run. */
#include <stdint.h>
#include <string.h>

#include "ir/interp_internal.h"

enum {
    LARGE = 1 << 20,    /* elements: elementwise values from here on are virtual */
    VIRTUAL_NODES = 64, /* ... but for trees of more nodes than this */
};

/* --- plans --- */

static bool is_row(const plan *p, const ix *i)
{
    return p->row >= 0 && p->space[p->row] == i;
}

/* A read that only renames indices: the base itself, at other indices. */
static bool is_view(const machine *m, const value *v, const tensor *base)
{
    if (v->where || base->absent)
        return false;
    for (uint32_t k = 0; k < base->n_axes; k++) {
        const value *at = v->args[base->pos[k] + 1];
        if (at->op != OP_index || m->extent[at->ix[0]->id] > m->extent[base->axes[k]->id])
            return false;
    }
    return true;
}

static void make_const(machine *m, node *x, const value *v)
{
    x->kind = NODE_CONST;
    x->cf = v->f;
    x->ci = v->i;
    if (v->op == OP_dim && !dim_eval(v->dim, m->symbols, &x->ci)) {
        const char *text =
            arena_printf(m->a, "the dim %s has no value", dim_text(m->scratch, v->dim));
        x->cbad = new_trap(m, INTERP_INT, text);
    }
    if (v->op == OP_given) {
        for (size_t i = 0; i < m->g->inputs.n; i++) {
            if (m->g->inputs.v[i] == v->args[0])
                x->ci = !m->inputs[i].absent;
        }
    }
}

static void make_tensor(machine *m, const plan *p, node *x, const value *v, bool view)
{
    x->kind = NODE_TENSOR;
    x->base = m->of[view ? v->args[0]->id : v->id];
    x->at = ARENA_ARRAY(m->scratch, const ix *, x->base->n_axes);
    for (uint32_t k = 0; k < x->base->n_axes; k++) {
        x->at[k] = view ? v->args[x->base->pos[k] + 1]->ix[0] : x->base->axes[k];
        x->varies = x->varies || is_row(p, x->at[k]);
    }
}

static void make_operands(machine *m, plan *p, node *x, const value *v)
{
    bool read = v->op == OP_read;
    x->kind = read ? NODE_READ : NODE_ELEM;
    x->base = read ? m->of[v->args[0]->id] : NULL;
    x->n_args = read ? x->base->n_axes : v->n_args;
    x->args = ARENA_ARRAY(m->scratch, uint32_t, x->n_args);
    for (uint32_t k = 0; k < x->n_args; k++) {
        x->args[k] = (uint32_t)add_node(m, p, v->args[read ? x->base->pos[k] + 1 : k]);
        x->varies = x->varies || p->nodes[x->args[k]].varies;
    }
    x->where = v->where ? add_node(m, p, v->where) : -1;
    x->varies = x->varies || (v->where && p->nodes[x->where].varies);
}

static int append_node(machine *m, plan *p, const node *x)
{
    if (p->n == p->cap) {
        const node *old = p->nodes;
        p->cap = p->cap ? p->cap * 2 : 8;
        p->nodes = ARENA_ARRAY(m->scratch, node, p->cap);
        if (p->n)
            memcpy(p->nodes, old, p->n * sizeof *old);
    }
    p->nodes[p->n] = *x;
    return (int)p->n++;
}

static bool is_leaf(const value *v)
{
    return v->op == OP_const || v->op == OP_dim || v->op == OP_index || v->op == OP_given;
}

/* The node of v in the plan, made with what it needs; `top`: v is what the plan computes, stored or
 * not. */
static int add_node_of(machine *m, plan *p, const value *v, bool top)
{
    if (m->stamp[v->id] == m->stamps)
        return (int)m->node_of[v->id];
    bool real = is_real(v) || v->op == OP_online;
    node x = {.op = v->op, .v = v, .real = real, .where = -1};
    if (v->op == OP_index) {
        x.kind = NODE_INDEX;
        x.varies = is_row(p, v->ix[0]);
    } else if (is_leaf(v)) {
        make_const(m, &x, v);
    } else if (v->op == OP_read && (top || m->is_virtual[v->id]) &&
               is_view(m, v, m->of[v->args[0]->id])) {
        make_tensor(m, p, &x, v, true);
    } else if (top || m->is_virtual[v->id]) {
        make_operands(m, p, &x, v);
    } else {
        make_tensor(m, p, &x, v, false);
    }
    int k = append_node(m, p, &x);
    m->stamp[v->id] = m->stamps;
    m->node_of[v->id] = (uint32_t)k;
    return k;
}

int add_node(machine *m, plan *p, const value *v)
{
    return add_node_of(m, p, v, false);
}

static void make_space(machine *m, plan *p, const block *in, const ix *const *free, uint32_t n_free,
                       const ix *const *bound, uint32_t n_bound)
{
    p->space = ARENA_ARRAY(m->scratch, const ix *, (size_t)n_free + n_bound);
    for (uint32_t k = 0; k < n_free; k++) {
        if (!in || !in->fixed[free[k]->id])
            p->space[p->n_space++] = free[k];
    }
    p->n_free = p->n_space;
    for (uint32_t k = 0; k < n_bound; k++)
        p->space[p->n_space++] = bound[k];
    p->row = -1;
    for (uint32_t k = 0; k < p->n_space; k++) { /* the longest, the last of equal ones */
        if (p->row < 0 || m->extent[p->space[k]->id] >= m->extent[p->space[p->row]->id])
            p->row = (int)k;
    }
}

void open_plan(machine *m, plan *p, const block *in, const ix *const *free, uint32_t n_free,
               const ix *const *bound, uint32_t n_bound)
{
    m->stamps++;
    make_space(m, p, in, free, n_free, bound, n_bound);
}

/* The product under a contraction or a weighted sum, which is no value of its own. */
int add_product(machine *m, plan *p, op_id op, const value *v, const value *a, const value *b)
{
    node x = {.kind = NODE_ELEM, .op = op, .v = v, .real = true, .n_args = 2, .where = -1};
    x.args = ARENA_ARRAY(m->scratch, uint32_t, 2);
    for (uint32_t k = 0; k < 2; k++) {
        x.args[k] = (uint32_t)add_node(m, p, k ? b : a);
        x.varies = x.varies || p->nodes[x.args[k]].varies;
    }
    return append_node(m, p, &x);
}

void make_plan(machine *m, plan *p, const value *root, const value *where, const block *in,
               const ix *const *free, uint32_t n_free, const ix *const *bound, uint32_t n_bound)
{
    open_plan(m, p, in, free, n_free, bound, n_bound);
    p->root = add_node(m, p, root);
    p->where = where ? add_node(m, p, where) : -1;
}

/* The plan that computes a stored elementwise value, read or contraction. */
static void make_own_plan(machine *m, plan *p, const value *v, const block *in)
{
    bool product = v->op == OP_contract;
    open_plan(m, p, in, v->ix, v->n_ix, v->bound, v->n_bound);
    p->root =
        product ? add_product(m, p, OP_mul, v, v->args[0], v->args[1]) : add_node_of(m, p, v, true);
    p->where = product && v->where ? add_node(m, p, v->where) : -1;
}

/* --- which values are virtual --- */

/* What is read at other indices has to be stored, even a leaf. */
static void find_bases(machine *m)
{
    m->base = ARENA_ARRAY(m->scratch, unsigned char, m->g->values.n);
    for (size_t i = 0; i < m->live.n; i++) {
        const value *v = m->live.v[i];
        if (v->op == OP_read)
            m->base[v->args[0]->id] = 1;
    }
}

static bool holds_data(const machine *m, const value *v)
{
    return v->op != OP_scan && (!is_leaf(v) || m->base[v->id]);
}

static void choose_virtual(machine *m)
{
    size_t n = m->g->values.n;
    unsigned *nodes = ARENA_ARRAY(m->scratch, unsigned, n);
    m->is_virtual = ARENA_ARRAY(m->scratch, unsigned char, n);
    for (size_t i = 0; i < m->live.n; i++) {
        const value *v = m->live.v[i];
        unsigned count = 1;
        for (uint32_t k = 0; k < v->n_args + 1; k++) {
            const value *x = k < v->n_args ? v->args[k] : v->where;
            if (x && count <= VIRTUAL_NODES)
                count += m->is_virtual[x->id] ? nodes[x->id] : 1;
        }
        nodes[v->id] = count;
        if (m->base[v->id] || count > VIRTUAL_NODES)
            continue;
        bool read = v->op == OP_read;
        m->is_virtual[v->id] = (read && is_view(m, v, m->of[v->args[0]->id])) ||
                               ((read || OP_HAS(v->op, T_ELEM)) && m->of[v->id]->n >= LARGE);
    }
}

/* --- blocks and statements --- */

static block *new_block(machine *m, const value *scan)
{
    block *b = ARENA_NEW(m->scratch, block);
    b->scan = scan;
    b->fixed = ARENA_ARRAY(m->scratch, bool, m->g->ixs.n);
    if (scan)
        b->history = ARENA_ARRAY(m->scratch, tensor *, scan->n_args);
    return b;
}

static void find_blocks(machine *m)
{
    m->blocks = ARENA_ARRAY(m->scratch, block *, (size_t)m->g->n_scans + 1);
    m->blocks[0] = new_block(m, NULL);
    for (size_t i = m->live.n; i-- > 0;) { /* scans around others first */
        const value *v = m->live.v[i];
        if (v->op != OP_scan)
            continue;
        block *b = new_block(m, v);
        b->parent = m->blocks[m->home[v->id]];
        memcpy(b->fixed, b->parent->fixed, m->g->ixs.n * sizeof *b->fixed);
        b->fixed[v->bound[0]->id] = true;
        m->blocks[v->scan + 1] = b;
    }
}

void make_tensors(machine *m)
{
    find_blocks(m);
    find_bases(m);
    m->of = ARENA_ARRAY(m->scratch, tensor *, m->g->values.n);
    for (size_t i = 0; i < m->live.n; i++) {
        const value *v = m->live.v[i];
        block *b = m->blocks[m->home[v->id]];
        if (!holds_data(m, v))
            continue;
        if (v->op == OP_append) { /* the history's own memory */
            m->of[v->id] = m->of[v->args[0]->id];
            continue;
        }
        if (v->op == OP_result) {
            m->of[v->id] = m->of[v->args[0]->args[v->kind]->args[0]->id];
            continue;
        }
        tensor *t = v->op == OP_online ? online_tensor(m, v) : ARENA_NEW(m->scratch, tensor);
        t->v = v->op == OP_online ? t->v : v;
        t->home = v->op == OP_history ? b->parent : b;
        tensor_layout(m, t, t->home->fixed);
        m->of[v->id] = t;
        if (v->op == OP_history)
            b->history[v->kind] = t;
    }
}

/* Notes that the statement at `at` of block b uses t. */
static void use(tensor *t, const block *b, size_t at)
{
    while (b != t->home) {
        at = b->at;
        b = b->parent;
    }
    if (at > t->last)
        t->last = at;
}

static void use_plan(const plan *p, const block *b, size_t at)
{
    for (uint32_t k = 0; k < p->n; k++) {
        if (p->nodes[k].base)
            use(p->nodes[k].base, b, at);
    }
}

static void plan_join(machine *m, stmt *s, const block *b)
{
    const value *v = s->v;
    s->n_plans = v->n_args;
    s->plans = ARENA_ARRAY(m->scratch, plan, v->n_args);
    const ix **free = ARENA_ARRAY(m->scratch, const ix *, v->n_ix);
    memcpy(free, v->ix, v->n_ix * sizeof *free);
    for (uint32_t k = 0; k < v->n_args; k++) {
        for (uint32_t j = 0; j < v->n_ix; j++) {
            if (v->ix[j] == v->bound[0])
                free[j] = v->bound[k + 1];
        }
        make_plan(m, &s->plans[k], v->args[k], NULL, b, free, v->n_ix, NULL, 0);
    }
}

static void plan_stmt(machine *m, stmt *s, const block *b)
{
    const value *v = s->v;
    if (v->op == OP_join) {
        plan_join(m, s, b);
        return;
    }
    s->n_plans = 1;
    s->plans = ARENA_ARRAY(m->scratch, plan, 1);
    plan *p = s->plans;
    if (v->op == OP_append) {
        /* over the history's indices: a row may be the same along some of them */
        const value *h = v->args[0];
        const ix **all = ARENA_ARRAY(m->scratch, const ix *, h->n_ix);
        for (uint32_t k = 0; k < h->n_ix; k++)
            all[k] = h->ix[k] == h->bound[0] ? v->bound[0] : h->ix[k];
        make_plan(m, p, v->args[1], NULL, b, all, h->n_ix, NULL, 0);
    } else if (v->op == OP_online) {
        plan_online(m, p, v, b);
    } else if (v->op == OP_part) {
        plan_part(m, p, v, b);
    } else if (OP_HAS(v->op, T_NORM)) {
        make_plan(m, p, v->args[0], v->where, b, v->ix, v->n_ix, NULL, 0);
    } else if (v->op == OP_reduce) {
        make_plan(m, p, v->args[0], v->where, b, v->ix, v->n_ix, v->bound, v->n_bound);
    } else {
        make_own_plan(m, p, v, b);
    }
}

/* Keeps what an output reads: the value, or all that a virtual one is made of. Virtual trees are
 * small. */
static void keep(machine *m, const value *v)
{
    tensor *t = m->of[v->id];
    if (t && !m->is_virtual[v->id]) {
        t->last = SIZE_MAX;
        return;
    }
    for (uint32_t k = 0; t && k < v->n_args; k++)
        keep(m, v->args[k]);
    if (t && v->where)
        keep(m, v->where);
}

/* Where each tensor is used last; what outputs use stays. */
static void find_last_uses(machine *m)
{
    for (size_t i = 0; i <= m->g->n_scans; i++) {
        block *b = m->blocks[i];
        for (size_t k = 0; b && k < b->s.n; k++) {
            stmt *s = &b->s.v[k];
            if (s->out)
                use(s->out, b, k);
            for (uint32_t j = 0; j < s->n_plans; j++)
                use_plan(&s->plans[j], b, k);
        }
    }
    for (size_t i = 0; i < m->live.n; i++) {
        const value *v = m->live.v[i];
        tensor *t = m->of[v->id];
        bool own = t && (t->v == v || v->op == OP_online);
        if (own && !m->is_virtual[v->id] && v->op != OP_input && v->op != OP_param &&
            t->last < t->home->s.n)
            vec_push(m->scratch, &t->home->s.v[t->last].done, t);
    }
}

void make_blocks(machine *m)
{
    choose_virtual(m);
    for (size_t i = 0; i < m->live.n; i++) {
        const value *v = m->live.v[i];
        block *b = m->blocks[m->home[v->id]];
        if (!holds_data(m, v) && v->op != OP_scan)
            continue;
        if (v->op == OP_input || v->op == OP_param || v->op == OP_history || v->op == OP_result ||
            m->is_virtual[v->id])
            continue;
        stmt s = {.v = v, .out = m->of[v->id]};
        if (v->op == OP_scan) {
            s.region = m->blocks[v->scan + 1];
            s.region->at = b->s.n;
        } else {
            plan_stmt(m, &s, b);
        }
        vec_push(m->scratch, &b->s, s);
    }
    for (size_t i = 0; i < m->g->results.n; i++)
        keep(m, m->g->results.v[i].v);
    find_last_uses(m);
}
