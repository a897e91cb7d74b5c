/* interp_fold.c: runs plans into tensors: assignment, reductions, and the normalisers, which work
 * in place on what an assignment has left. */
#include <math.h>
#include <stdint.h>

#include "ir/interp_internal.h"

/* What has been seen of one output element. */
typedef struct acc {
    double f, s;
    int64_t i, at; /* argmax, argmin: the position of the best */
    uint32_t bad;
    bool any;
} acc;

static acc start(int kind)
{
    acc c = {0};
    bool largest = kind == RED_max || kind == RED_logsumexp || kind == FOLD_EXP_SUM;
    c.f = kind == RED_prod ? 1 : largest ? -INFINITY : 0;
    c.f = kind == RED_min ? INFINITY : c.f;
    c.i = kind == RED_prod || kind == RED_all;
    return c;
}

static void add_real(acc *c, int kind, double x, int64_t at)
{
    switch (kind) {
    case FOLD_ASSIGN:
        c->f = x;
        break;
    case RED_sum:
        c->f += x;
        break;
    case RED_prod:
        c->f *= x;
        break;
    case RED_max:
        c->f = isnan(x) || isnan(c->f) ? (double)NAN : x > c->f ? x : c->f;
        break;
    case RED_min:
        c->f = isnan(x) || isnan(c->f) ? (double)NAN : x < c->f ? x : c->f;
        break;
    case FOLD_MASS:
        c->f += x == -INFINITY ? 0 : x;
        break;
    case FOLD_EXP_SUM:
    case RED_logsumexp: /* s times e^f so far */
        if (isnan(x) || isnan(c->f) || c->f == INFINITY) {
            c->f = isnan(x) ? x : c->f;
        } else if (x > c->f) {
            c->s = c->s * exp(c->f - x) + 1;
            c->f = x;
        } else if (x > -INFINITY) {
            c->s += exp(x - c->f);
        }
        break;
    default: { /* argmax, argmin: the first NaN, else the first of the best */
        bool nan = isnan(x), had = isnan(c->f);
        bool better = kind == RED_argmax ? x > c->f : x < c->f;
        if (!c->any || (nan && !had) || (!had && better) ||
            ((nan ? had : x == c->f) && at < c->at)) {
            c->f = x;
            c->at = at;
        }
        c->any = true;
    }
    }
}

/* False on overflow. */
static bool add_int(acc *c, int kind, int64_t x, int64_t at)
{
    bool first = !c->any;
    c->any = true;
    switch (kind) {
    case FOLD_ASSIGN:
        c->i = x;
        return true;
    case RED_sum:
        return !__builtin_add_overflow(c->i, x, &c->i);
    case RED_prod:
        return !__builtin_mul_overflow(c->i, x, &c->i);
    case RED_count:
        c->i += x;
        return true;
    case RED_any:
        c->i |= x;
        return true;
    case RED_all:
        c->i &= x;
        return true;
    default: { /* max, min, argmax, argmin */
        bool up = kind == RED_max || kind == RED_argmax;
        if (first || (up ? x > c->i : x < c->i) || (x == c->i && at < c->at)) {
            c->i = x;
            c->at = at;
        }
        return true;
    }
    }
}

static void store(machine *m, const fold *f, const acc *c, int64_t at)
{
    tensor *t = f->out;
    bool arg = f->kind == RED_argmax || f->kind == RED_argmin;
    if (t->f) {
        double x = c->f;
        if (f->kind == RED_logsumexp && x > -INFINITY && x < INFINITY)
            x += log(c->s);
        if (f->kind == FOLD_EXP_SUM)
            x = isnan(x) || x == INFINITY ? (double)NAN : c->s;
        t->f[at] = x;
    } else {
        t->i[at] = arg ? c->at : c->i;
    }
    if (c->bad)
        tensor_need_bad(m, t);
    if (t->bad && (c->bad || f->clear_bad))
        t->bad[at] = c->bad;
}

/* Folds n elements of the row: all into c[0], or each into its own. */
static void fold_row(machine *m, const plan *p, const fold *f, acc *c, bool spread, size_t n,
                     int64_t at, int64_t at_step)
{
    const node *x = &p->nodes[p->root], *w = p->where >= 0 ? &p->nodes[p->where] : NULL;
    if (f->kind == RED_sum && x->f && !w && !x->bad && !spread) {
        double sum = c->f;
        for (size_t r = 0; r < n; r++)
            sum += x->f[(int64_t)r * x->step];
        c->f = sum;
        return;
    }
    for (size_t r = 0; r < n; r++) {
        acc *to = spread ? &c[r] : c;
        int64_t k = (int64_t)r;
        uint32_t bad = w && w->bad ? w->bad[k * w->step] : 0;
        if (bad == 0 && w && !w->i[k * w->step])
            continue;
        if (bad == 0 && x->bad)
            bad = x->bad[k * x->step];
        if (x->f)
            add_real(to, f->kind, x->f[k * x->step], at + k * at_step);
        else if (!add_int(to, f->kind, x->i[k * x->step], at + k * at_step) && !bad)
            bad = new_trap(m, INTERP_INT, "integer overflow in a reduction");
        if (bad && !to->bad)
            to->bad = bad;
    }
}

/* The next place of the indices from..to but for the row; false after the last. */
static bool advance(machine *m, const plan *p, uint32_t from, uint32_t to)
{
    for (uint32_t k = to; k-- > from;) {
        int64_t *x = &m->cur[p->space[k]->id];
        if ((int)k == p->row)
            continue;
        if (++*x < m->extent[p->space[k]->id])
            return true;
        *x = 0;
    }
    return false;
}

static bool rewind_space(machine *m, const plan *p, uint32_t from, uint32_t to)
{
    bool any = true;
    for (uint32_t k = from; k < to; k++) {
        m->cur[p->space[k]->id] = 0;
        any = any && m->extent[p->space[k]->id] > 0;
    }
    return any;
}

/* The position among the bound indices, first index slowest, and how it grows along the row. */
static int64_t position(const machine *m, const plan *p, int64_t *row_step)
{
    int64_t at = 0, stride = 1;
    *row_step = 0;
    for (uint32_t k = p->n_space; k-- > p->n_free;) {
        if ((int)k == p->row)
            *row_step = stride;
        else
            at += m->cur[p->space[k]->id] * stride;
        stride *= m->extent[p->space[k]->id];
    }
    return at;
}

static size_t chunk(int64_t extent, int64_t r0)
{
    return (size_t)(extent - r0 < ROW ? extent - r0 : ROW);
}

/* Whether the element counts: a bad predicate makes a bad element, not an excluded one. */
static bool holds(const node *w, size_t r)
{
    int64_t k = w ? (int64_t)r * w->step : 0;
    return !w || w->i[k] || (w->bad && w->bad[k]);
}

/* n output elements from `base` on, `step` apart: those of the row from r0, or a single one. */
static void run_cells(machine *m, plan *p, const fold *f, int64_t base, int64_t step, int64_t r0,
                      size_t n)
{
    bool row_bound = p->row >= (int)p->n_free;
    acc *c = m->acc;
    for (size_t r = 0; r < n; r++)
        c[r] = start(f->kind);
    bool any = rewind_space(m, p, p->n_free, p->n_space);
    while (any) {
        int64_t row_step = 0, at = position(m, p, &row_step);
        if (row_bound) {
            int64_t extent = m->extent[p->space[p->row]->id];
            for (int64_t b = 0; b < extent; b += ROW) {
                size_t some = chunk(extent, b);
                run_nodes(m, p, b, some);
                fold_row(m, p, f, c, false, some, at + b * row_step, row_step);
            }
        } else {
            run_nodes(m, p, r0, n);
            fold_row(m, p, f, c, true, n, at, 0);
            const node *w = f->live && p->where >= 0 ? &p->nodes[p->where] : NULL;
            for (size_t r = 0; f->live && r < n; r++)
                f->live[base + (int64_t)r * step] = holds(w, r);
        }
        any = advance(m, p, p->n_free, p->n_space);
    }
    for (size_t r = 0; r < n; r++)
        store(m, f, &c[r], base + (int64_t)r * step);
}

void run_fold(machine *m, plan *p, const fold *f)
{
    bool row_free = p->row >= 0 && p->row < (int)p->n_free;
    int64_t extent = row_free ? m->extent[p->space[p->row]->id] : 1;
    int64_t row_stride = row_free ? f->stride[p->row] : 0;
    if (!m->acc)
        m->acc = ARENA_ARRAY(m->scratch, acc, ROW);
    bool any = rewind_space(m, p, 0, p->n_free);
    while (any) {
        int64_t base = f->base;
        for (uint32_t k = 0; k < p->n_free; k++) {
            if ((int)k != p->row)
                base += f->stride[k] * m->cur[p->space[k]->id];
        }
        for (int64_t r0 = 0; r0 < extent; r0 += ROW)
            run_cells(m, p, f, base + r0 * row_stride, row_stride, r0, chunk(extent, r0));
        any = advance(m, p, 0, p->n_free);
    }
}

/* --- normalisers --- */

/* What a group of a normaliser comes to. */
typedef struct group_sum {
    double max, sum;
    uint32_t bad;
    bool nan;
} group_sum;

static group_sum sum_group(op_id op, const tensor *t, const unsigned char *live, int64_t base,
                           const int64_t *off, size_t n)
{
    group_sum s = {.max = -INFINITY};
    for (size_t k = 0; k < n; k++) {
        int64_t at = base + off[k];
        double x = t->f[at];
        if (!live[at])
            continue;
        if (t->bad && t->bad[at] && !s.bad)
            s.bad = t->bad[at];
        s.nan = s.nan || isnan(x) || (x == INFINITY && op == OP_softmax);
        s.max = x > s.max ? x : s.max;
        s.sum += x > -INFINITY ? x : 0;
    }
    if (op == OP_softmax) {
        s.sum = 0;
        for (size_t k = 0; k < n && !s.nan; k++) {
            double x = t->f[base + off[k]];
            s.sum += live[base + off[k]] && x > -INFINITY ? exp(x - s.max) : 0;
        }
    }
    return s;
}

/* One group: the elements at base + off[k]. -inf counts as excluded. A live NaN makes all that is
 * not excluded NaN, and to softmax so does +inf. */
static void normalise(op_id op, tensor *t, const unsigned char *live, int64_t base,
                      const int64_t *off, size_t n)
{
    group_sum s = sum_group(op, t, live, base, off, n);
    bool found = false;
    for (size_t k = 0; k < n; k++) {
        int64_t at = base + off[k];
        double x = t->f[at], y = 0;
        if (t->bad)
            t->bad[at] = live[at] ? s.bad : 0;
        if (live[at] && s.nan) {
            y = NAN;
        } else if (live[at] && x > -INFINITY && op == OP_hardmax) {
            y = x == s.max && !found;
            found = found || x == s.max;
        } else if (live[at] && x > -INFINITY && s.sum != 0) {
            y = (op == OP_softmax ? exp(x - s.max) : x) / s.sum;
        }
        t->f[at] = y;
    }
}

static bool binds(const value *v, const ix *i)
{
    for (uint32_t k = 0; k < v->n_bound; k++) {
        if (v->bound[k] == i)
            return true;
    }
    return false;
}

/* Offsets of all places of some of t's axes, the first axis slowest. */
static int64_t *offsets(machine *m, const tensor *t, const uint32_t *axes, uint32_t n_axes,
                        size_t *n)
{
    *n = 1;
    for (uint32_t k = 0; k < n_axes; k++)
        *n *= (size_t)m->extent[t->axes[axes[k]]->id];
    int64_t *off = own(m, *n, sizeof *off);
    size_t faster = 1;
    for (uint32_t k = n_axes; k-- > 0;) {
        size_t extent = (size_t)m->extent[t->axes[axes[k]]->id];
        for (size_t at = 0; at < *n; at++)
            off[at] += (int64_t)(at / faster % extent) * t->stride[axes[k]];
        faster *= extent;
    }
    return off;
}

void run_norm(machine *m, const value *v, op_id op, tensor *t, const unsigned char *live)
{
    if (t->n == 0)
        return;
    uint32_t *axes = own(m, (size_t)t->n_axes + 1, sizeof *axes), n_outer = 0, n_bound = 0;
    size_t n_groups = 0, n = 0;
    for (uint32_t k = 0; k < t->n_axes; k++) {
        if (!binds(v, t->axes[k]))
            axes[n_outer++] = k;
    }
    for (uint32_t j = 0; j < v->n_bound; j++) { /* in the order that says which maximum is first */
        for (uint32_t k = 0; k < t->n_axes; k++) {
            if (t->axes[k] == v->bound[j])
                axes[n_outer + n_bound++] = k;
        }
    }
    int64_t *group = offsets(m, t, axes, n_outer, &n_groups);
    int64_t *off = offsets(m, t, axes + n_outer, n_bound, &n);
    for (size_t k = 0; k < n_groups; k++)
        normalise(op, t, live, group[k], off, n);
    disown(m, group);
    disown(m, off);
    disown(m, axes);
}
