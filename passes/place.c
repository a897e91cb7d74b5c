/* place.c: memory: temps of a kernel that are not in use at the same time share it.
 *
 * A temp is in use from the first statement of the body that names it to the last; a loop counts
 * as one statement, so nothing is said about temps within a recurrence. Of two temps of one shape
 * the later one moves into the earlier one: whatever of it is loaded was stored before.
 *
 * require: a verified kernel.  keep: what it computes.  give: fewer temps, of the same sizes. */
#include "passes/pass.h"

typedef struct placing {
    const kernel_pass_ctx *pc;
    kernel *k;
    arena *scratch;
    size_t *first, *last; /* by buffer: statements of the body; first > last: in none */
    bool *elsewhere;      /* ... it is named outside of the body */
    const kbuf **to;      /* ... where it moves; NULL: it stays */
    size_t now;
    bool outside;
} placing;

/* --- who is where --- */

static void name(placing *p, const kbuf *b)
{
    if (p->outside) {
        p->elsewhere[b->id] = true;
        return;
    }
    if (p->first[b->id] > p->now)
        p->first[b->id] = p->now;
    p->last[b->id] = p->now;
}

static void name_expr(placing *p, const kexpr *e)
{
    if (!e)
        return;
    if (e->buf)
        name(p, e->buf);
    for (uint32_t i = 0; i < e->n_args; i++)
        name_expr(p, e->args[i]);
}

static void name_block(placing *p, const kblock *b, bool top)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *st = b->s.v[i];
        p->now = top ? i : p->now;
        if (st->buf)
            name(p, st->buf);
        name_expr(p, st->e);
        name_expr(p, st->lo);
        name_expr(p, st->hi);
        for (uint32_t k = 0; k < st->n_index; k++)
            name_expr(p, st->index[k]);
        name_block(p, &st->body, false);
        name_block(p, &st->other, false);
    }
}

/* --- who moves --- */

static bool same_memory(const kbuf *a, const kbuf *b)
{
    bool same = a->store == b->store && a->rank == b->rank;
    for (uint32_t i = 0; i < a->rank && same; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool may_move(const placing *p, const kbuf *b)
{
    return b->role == KB_TEMP && !p->elsewhere[b->id] && p->first[b->id] <= p->last[b->id];
}

/* In order of their first use, each into the first memory that is free by then. */
static bool choose(placing *p)
{
    size_t n = p->k->bufs.n, n_order = 0;
    const kbuf **order = ARENA_ARRAY(p->scratch, const kbuf *, n);
    size_t *busy = ARENA_ARRAY(p->scratch, size_t, n); /* by buffer: the last use of its memory */
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const kbuf *b = p->k->bufs.v[i];
        if (!may_move(p, b))
            continue;
        size_t at = n_order++;
        for (; at > 0 && p->first[order[at - 1]->id] > p->first[b->id]; at--)
            order[at] = order[at - 1];
        order[at] = b;
    }
    for (size_t i = 0; i < n_order; i++) {
        const kbuf *b = order[i];
        busy[b->id] = p->last[b->id];
        for (size_t k = 0; k < i; k++) {
            const kbuf *home = order[k];
            if (p->to[home->id] || !same_memory(home, b) || busy[home->id] >= p->first[b->id])
                continue;
            p->to[b->id] = home;
            kernel_rule_hit(p->pc, RULE_place_shared);
            busy[home->id] = p->last[b->id];
            any = true;
            break;
        }
    }
    return any;
}

/* --- the move --- */

static const kexpr *moved(placing *p, const kexpr *e)
{
    if (!e || !e->n_args)
        return e && e->kind == KX_LOAD && p->to[e->buf->id]
                   ? kx_load(p->k, p->to[e->buf->id], e->args)
                   : e;
    const kexpr **args = ARENA_ARRAY(p->scratch, const kexpr *, e->n_args);
    bool same = e->kind != KX_LOAD || !p->to[e->buf->id];
    for (uint32_t i = 0; i < e->n_args; i++) {
        args[i] = moved(p, e->args[i]);
        same = same && args[i] == e->args[i];
    }
    if (same)
        return e;
    if (e->kind == KX_LOAD)
        return kx_load(p->k, p->to[e->buf->id] ? p->to[e->buf->id] : e->buf, args);
    return e->kind == KX_OVERFLOW ? kx_overflow(p->k, e->op, args) : kx_op(p->k, e->op, args);
}

static void move_block(placing *p, kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        kstmt *st = b->s.v[i];
        st->e = moved(p, st->e);
        st->lo = moved(p, st->lo);
        st->hi = moved(p, st->hi);
        if (st->kind == KS_STORE) {
            const kexpr **index = ARENA_ARRAY(p->k->a, const kexpr *, st->n_index);
            for (uint32_t k = 0; k < st->n_index; k++)
                index[k] = moved(p, st->index[k]);
            st->index = index;
            st->buf = p->to[st->buf->id] ? p->to[st->buf->id] : st->buf;
        }
        move_block(p, &st->body);
        move_block(p, &st->other);
    }
}

static void drop_moved(placing *p)
{
    kernel *k = p->k;
    size_t n = 0;
    for (size_t i = 0; i < k->bufs.n; i++) {
        kbuf *b = k->bufs.v[i];
        if (!p->to[i])
            k->bufs.v[n++] = b;
    }
    k->bufs.n = n;
    for (size_t i = 0; i < n; i++)
        k->bufs.v[i]->id = (uint32_t)i;
}

bool pass_place(kernel_pass_ctx *pc)
{
    kernel *k = pc->k;
    arena *scratch = pc->scratch;
    size_t n = k->bufs.n;
    placing p = {.pc = pc, .k = k, .scratch = scratch};
    p.first = ARENA_ARRAY(scratch, size_t, n);
    p.last = ARENA_ARRAY(scratch, size_t, n);
    p.elsewhere = ARENA_ARRAY(scratch, bool, n);
    p.to = ARENA_ARRAY(scratch, const kbuf *, n);
    for (size_t i = 0; i < n; i++)
        p.first[i] = SIZE_MAX;
    name_block(&p, &k->body, true);
    p.outside = true;
    name_block(&p, &k->prepare, false);
    name_block(&p, &k->step, false);
    pc->changed = choose(&p);
    if (!pc->changed)
        return true;
    move_block(&p, &k->body);
    drop_moved(&p);
    return true;
}
