/* interp_row.c: the nodes of a plan, computed along a row. */
#include <stdint.h>
#include <string.h>

#include "ir/interp_internal.h"

static void more_buffers(machine *m, size_t n)
{
    if (n <= m->n_buf)
        return;
    double **f = ARENA_ARRAY(m->scratch, double *, n);
    int64_t **i = ARENA_ARRAY(m->scratch, int64_t *, n);
    uint32_t **bad = ARENA_ARRAY(m->scratch, uint32_t *, n);
    if (m->n_buf) {
        memcpy(f, m->fbuf, m->n_buf * sizeof *f);
        memcpy(i, m->ibuf, m->n_buf * sizeof *i);
        memcpy(bad, m->badbuf, m->n_buf * sizeof *bad);
    }
    m->fbuf = f;
    m->ibuf = i;
    m->badbuf = bad;
    m->n_buf = n;
}

static double *f_buffer(machine *m, uint32_t k)
{
    if (!m->fbuf[k])
        m->fbuf[k] = ARENA_ARRAY(m->scratch, double, ROW);
    return m->fbuf[k];
}

static int64_t *i_buffer(machine *m, uint32_t k)
{
    if (!m->ibuf[k])
        m->ibuf[k] = ARENA_ARRAY(m->scratch, int64_t, ROW);
    return m->ibuf[k];
}

/* The node's own bad marks, all 0 at first. */
static uint32_t *bad_buffer(machine *m, node *x, uint32_t k, size_t n)
{
    if (!m->badbuf[k])
        m->badbuf[k] = ARENA_ARRAY(m->scratch, uint32_t, ROW);
    if (x->bad != m->badbuf[k]) {
        memset(m->badbuf[k], 0, n * sizeof *m->badbuf[k]);
        x->bad = m->badbuf[k];
    }
    return m->badbuf[k];
}

static uint32_t bad_at(const node *x, size_t r)
{
    return x->bad ? x->bad[(int64_t)r * x->step] : 0;
}

static void run_tensor(machine *m, const plan *p, node *x, int64_t r0)
{
    const tensor *t = x->base;
    int64_t at = 0;
    x->step = 0;
    for (uint32_t k = 0; k < t->n_axes; k++) {
        bool row = p->row >= 0 && x->at[k] == p->space[p->row];
        at += t->stride[k] * (row ? r0 : m->cur[x->at[k]->id]);
        x->step += row ? t->stride[k] : 0;
    }
    x->f = t->f ? t->f + at : NULL;
    x->i = t->i ? t->i + at : NULL;
    x->bad = t->bad ? t->bad + at : NULL;
}

static uint32_t outside(machine *m, const node *x, uint32_t axis, int64_t index)
{
    const value *base = x->v->args[0];
    const char *text = arena_printf(m->a, "index %lld is outside the extent %lld of index %s of %s",
                                    (long long)index, (long long)m->extent[x->base->axes[axis]->id],
                                    x->base->axes[axis]->name, value_label(m, base));
    return new_trap(m, INTERP_INDEX, text);
}

static void run_read(machine *m, plan *p, node *x, uint32_t self, size_t n)
{
    const tensor *t = x->base;
    double *f = x->real ? f_buffer(m, self) : NULL;
    int64_t *i = x->real ? NULL : i_buffer(m, self);
    const node *where = x->where >= 0 ? &p->nodes[x->where] : NULL;
    x->f = f;
    x->i = i;
    x->bad = NULL;
    x->step = x->varies ? 1 : 0;
    for (size_t r = 0; r < n; r++) {
        uint32_t bad = where ? bad_at(where, r) : 0;
        bool live = !bad && (!where || where->i[(int64_t)r * where->step]);
        int64_t at = 0;
        for (uint32_t k = 0; live && !bad && k < t->n_axes; k++) {
            const node *index = &p->nodes[x->args[k]];
            int64_t j = index->i[(int64_t)r * index->step];
            bad = bad_at(index, r);
            if (!bad && (j < 0 || j >= m->extent[t->axes[k]->id]))
                bad = outside(m, x, k, j);
            at += bad ? 0 : j * t->stride[k];
        }
        if (live && !bad && t->absent)
            bad = new_trap(m, INTERP_INDEX, "an optional input that was not given is read");
        live = live && !bad;
        if (f)
            f[r] = live ? t->f[at] : 0;
        else
            i[r] = live ? t->i[at] : 0;
        if (live && t->bad)
            bad = t->bad[at];
        if (bad)
            bad_buffer(m, x, self, n)[r] = bad;
    }
}

static const char *trap_text(const machine *m, const node *x)
{
    bool division = x->op == OP_idiv || x->op == OP_imod;
    bool rounding = op_table[x->op].sig == SIG_TOINT;
    return arena_printf(m->a, "%s in %s (%s)",
                        division   ? "division by zero or overflow"
                        : rounding ? "a real that fits no int"
                                   : "integer overflow",
                        op_table[x->op].text, value_label(m, x->v));
}

static void run_op(machine *m, plan *p, node *x, uint32_t self, size_t n)
{
    row_call c = {.n = n, .trap = m->trapped};
    const node *where = x->where >= 0 ? &p->nodes[x->where] : NULL;
    bool real_args = false;
    x->bad = NULL;
    for (uint32_t k = 0; k < x->n_args; k++) {
        const node *a = &p->nodes[x->args[k]];
        c.a[k] = (lane){.f = a->f, .i = a->i, .step = a->step};
        real_args = a->real;
        for (size_t r = 0; a->bad && r < n; r++) {
            if (bad_at(a, r))
                bad_buffer(m, x, self, n)[r] = bad_at(a, r);
        }
    }
    c.f = x->real ? f_buffer(m, self) : NULL;
    c.i = x->real ? NULL : i_buffer(m, self);
    x->f = c.f;
    x->i = c.i;
    x->step = x->varies ? 1 : 0;
    run_elem(x->op, real_args, &c);
    for (size_t r = 0; c.trapped && r < n; r++) {
        uint32_t *bad = bad_buffer(m, x, self, n);
        if (c.trap[r] && !bad[r])
            bad[r] = new_trap(m, INTERP_INT, trap_text(m, x));
        c.trap[r] = 0;
    }
    for (size_t r = 0; where && r < n; r++) {
        if (!bad_at(where, r) && where->i[(int64_t)r * where->step])
            continue;
        if (x->bad || bad_at(where, r))
            bad_buffer(m, x, self, n)[r] = bad_at(where, r);
        if (c.f)
            c.f[r] = 0;
        else
            c.i[r] = 0;
    }
}

static void run_leaf(machine *m, const plan *p, node *x, uint32_t self, int64_t r0, size_t n)
{
    x->bad = NULL;
    x->step = x->varies ? 1 : 0;
    if (x->real) {
        double *f = f_buffer(m, self);
        f[0] = x->cf;
        x->f = f;
        return;
    }
    int64_t *i = i_buffer(m, self);
    i[0] = x->ci;
    for (size_t r = 0; x->kind == NODE_INDEX && r < n; r++)
        i[r] = x->varies ? r0 + (int64_t)r : m->cur[x->v->ix[0]->id];
    x->i = i;
    if (x->cbad)
        bad_buffer(m, x, self, 1)[0] = x->cbad;
    (void)p;
}

void run_nodes(machine *m, plan *p, int64_t r0, size_t n)
{
    more_buffers(m, p->n);
    for (uint32_t k = 0; k < p->n; k++) {
        node *x = &p->nodes[k];
        size_t count = x->varies ? n : 1;
        switch (x->kind) {
        case NODE_CONST:
        case NODE_INDEX:
            run_leaf(m, p, x, k, r0, count);
            break;
        case NODE_TENSOR:
            run_tensor(m, p, x, r0);
            break;
        case NODE_READ:
            run_read(m, p, x, k, count);
            break;
        case NODE_ELEM:
            run_op(m, p, x, k, count);
            break;
        }
    }
}
