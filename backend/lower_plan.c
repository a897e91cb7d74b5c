/* lower_plan.c: whether a vector loop can be built in lanes, and which of its values differ from
 * lane to lane. Nothing is built here.
 *
 * In lanes can be all that IR.md allows in a vector loop but for a few forms that no schedule
 * makes: a loop inside whose bounds differ between lanes, a choice of a family's pointer by lane, a
 * reduction whose element depends on a loop inside. Such a loop is a plain one. */
#include "backend/lower.h"

typedef enum standing {
    OUTSIDE,
    UNIFORM,
    COPIED,
    VARYING
} standing; /* COPIED: the variable of an unrolled loop */

typedef struct reduced {
    const kstmt *first; /* of those that reduce the same variable or buffer */
    bool moving;        /* its index is no constant once built */
} reduced;

struct lane_plan {
    const low *c;
    const kstmt *loop;
    unsigned char *place; /* by kvar id */
    ptr_map varies;       /* kexpr -> whether it does */
    VEC(reduced) reductions;
    bool reg_index;
    bool ok;
};

/* ---- Comparing
 * ----------------------------------------------------------------------------------- */

static bool same(const kexpr *x, const kexpr *y, int *budget)
{
    if (x == y)
        return true;
    if (--*budget < 0 || x->kind != y->kind || x->dt != y->dt || x->n_args != y->n_args)
        return false;
    switch (x->kind) {
    case KX_CONST:
        return x->i == y->i && memcmp(&x->f, &y->f, sizeof x->f) == 0;
    case KX_DIM:
        return x->dim == y->dim;
    case KX_VAR:
        return x->var == y->var;
    case KX_LOAD:
    case KX_GIVEN:
        if (x->buf != y->buf)
            return false;
        break;
    case KX_OP:
    case KX_OVERFLOW:
        if (x->op != y->op)
            return false;
        break;
    }
    for (uint32_t i = 0; i < x->n_args; i++)
        if (!same(x->args[i], y->args[i], budget))
            return false;
    return true;
}

bool low_same_expr(const kexpr *x, const kexpr *y)
{
    int budget = 64; /* nodes; what is larger counts as another */
    return same(x, y, &budget);
}

static bool same_index(const kstmt *x, const kstmt *y)
{
    for (uint32_t i = 0; i < x->n_index; i++)
        if (!low_same_expr(x->index[i], y->index[i]))
            return false;
    return true;
}

/* ---- What differs between lanes
 * ------------------------------------------------------------------ */

static bool varies(struct lane_plan *p, const kexpr *e)
{
    if (e->kind == KX_VAR)
        return p->place[e->var->id] == VARYING;
    if (e->n_args == 0)
        return false;
    void *const yes = (void *)(uintptr_t)1, *const no = (void *)(uintptr_t)2;
    ptr_entry *known = ptr_map_at(&p->varies, e);
    if (known->value)
        return known->value == yes;
    bool r = false;
    for (uint32_t i = 0; i < e->n_args && !r; i++)
        r = varies(p, e->args[i]);
    ptr_map_at(&p->varies, e)->value = r ? yes : no;
    return r;
}

bool low_varies(const low *c, const kexpr *e)
{
    /* The plan's map remembers; nobody sees it change. */
    return c->lanes.n > 1 && varies((struct lane_plan *)(uintptr_t)c->lanes.plan, e);
}

/* Variables of the loop's body, and what stands still in it. Each is defined before it is used. */
static void place_vars(struct lane_plan *p, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        switch (s->kind) {
        case KS_LET:
            p->place[s->var->id] = varies(p, s->e) ? VARYING : UNIFORM;
            break;
        case KS_VAR:
            p->place[s->var->id] = VARYING;
            break;
        case KS_FOR:
            p->place[s->var->id] = s->loop == KL_UNROLL ? COPIED : UNIFORM;
            p->ok = p->ok && !varies(p, s->lo) && !varies(p, s->hi);
            break;
        default:
            break;
        }
        place_vars(p, &s->body);
        place_vars(p, &s->other);
    }
}

/* ---- Reductions
 * ---------------------------------------------------------------------------------- */

const kexpr *low_reduced(const kstmt *s)
{
    const kexpr *e = s->e;
    if (e->kind != KX_OP || e->n_args != 2 || !OP_HAS(e->op, T_COMM) || e->dt != e->args[0]->dt ||
        e->op == OP_eq || e->op == OP_ne || e->op == OP_bitand)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const kexpr *old = e->args[i];
        if (s->kind == KS_SET && old->kind == KX_VAR && old->var == s->var)
            return e->args[1 - i];
        if (s->kind != KS_STORE || old->kind != KX_LOAD || old->buf != s->buf)
            continue;
        bool is = true;
        for (uint32_t j = 0; j < s->n_index && is; j++)
            is = low_same_expr(old->args[j], s->index[j]);
        if (is)
            return e->args[1 - i];
    }
    return NULL;
}

/* What the index of a reduction's element is made of. */
typedef struct parts {
    bool copied, moving, bad;
} parts;

static void look(const struct lane_plan *p, const kexpr *e, parts *r)
{
    if (e->kind == KX_LOAD || e->kind == KX_GIVEN)
        r->bad = true;
    if (e->kind == KX_DIM)
        r->moving = true;
    if (e->kind == KX_VAR) {
        switch ((standing)p->place[e->var->id]) {
        case OUTSIDE: {
            LLVMValueRef v = p->c->var[e->var->id].v;
            r->moving = r->moving || !v || !LLVMIsConstant(v);
            break;
        }
        case COPIED:
            r->copied = true;
            break;
        case UNIFORM:
        case VARYING:
            r->bad = true;
            break;
        }
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        look(p, e->args[i], r);
}

static bool same_target(const kstmt *x, const kstmt *y)
{
    return x->kind == y->kind && (x->kind == KS_SET ? x->var == y->var : x->buf == y->buf);
}

/* One more reduction. Those of one target have one operation; a moving index is one and the same.
 */
static void reduces(struct lane_plan *p, const kstmt *s)
{
    parts of = {0};
    for (uint32_t i = 0; i < s->n_index; i++)
        look(p, s->index[i], &of);
    if (!low_reduced(s) || of.bad || (of.moving && of.copied) ||
        (s->kind == KS_STORE && s->buf->role != KB_REG)) {
        p->ok = false;
        return;
    }
    for (size_t i = 0; i < p->reductions.n; i++) {
        const reduced *r = &p->reductions.v[i];
        if (!same_target(r->first, s))
            continue;
        if (r->first->e->op != s->e->op || ((r->moving || of.moving) && !same_index(r->first, s)))
            p->ok = false;
        return;
    }
    vec_push(p->c->a, &p->reductions, ((reduced){s, of.moving}));
}

static bool index_varies(struct lane_plan *p, const kexpr *const *index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (varies(p, index[i]))
            return true;
    return false;
}

static bool is_reduction(struct lane_plan *p, const kstmt *s)
{
    if (s->kind == KS_SET)
        return p->place[s->var->id] == OUTSIDE;
    return s->kind == KS_STORE && !index_varies(p, s->index, s->n_index);
}

static void find_reductions(struct lane_plan *p, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (is_reduction(p, s))
            reduces(p, s);
        find_reductions(p, &s->body);
        find_reductions(p, &s->other);
    }
}

/* ---- What is read
 * -------------------------------------------------------------------------------- */

/* A target of a reduction has no value before the end of the loop. */
static bool is_target(const struct lane_plan *p, const kexpr *e)
{
    for (size_t i = 0; i < p->reductions.n; i++) {
        const kstmt *s = p->reductions.v[i].first;
        if (s->kind == KS_SET ? e->kind == KX_VAR && e->var == s->var
                              : e->kind == KX_LOAD && e->buf == s->buf)
            return true;
    }
    return false;
}

static void read_expr(struct lane_plan *p, ptr_map *seen, const kexpr *e)
{
    if (e == NULL)
        return;
    ptr_entry *known = ptr_map_at(seen, e);
    if (known->value)
        return;
    known->value = seen;
    if (is_target(p, e))
        p->ok = false;
    if (e->kind == KX_LOAD) {
        if (index_varies(p, e->args, e->buf->n_family))
            p->ok = false;
        p->reg_index = p->reg_index || (e->buf->role == KB_REG && varies(p, e));
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        read_expr(p, seen, e->args[i]);
}

static void read_block(struct lane_plan *p, ptr_map *seen, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        read_expr(p, seen, is_reduction(p, s) && p->ok ? low_reduced(s) : s->e);
        read_expr(p, seen, s->lo);
        read_expr(p, seen, s->hi);
        for (uint32_t j = 0; j < s->n_index; j++)
            read_expr(p, seen, s->index[j]);
        if (s->kind == KS_STORE) {
            bool moves = !is_reduction(p, s);
            for (size_t j = 0; moves && j < p->reductions.n; j++)
                p->ok = p->ok && !same_target(p->reductions.v[j].first, s);
            p->ok = p->ok && !index_varies(p, s->index, s->buf->n_family);
            p->reg_index = p->reg_index || (s->buf->role == KB_REG && moves);
        }
        read_block(p, seen, &s->body);
        read_block(p, seen, &s->other);
    }
}

const lane_plan *low_plan(low *c, const kstmt *loop)
{
    struct lane_plan *p = ARENA_NEW(c->a, struct lane_plan);
    *p = (struct lane_plan){.c = c, .loop = loop, .varies = {.a = c->a}, .ok = true};
    p->place = ARENA_ARRAY(c->a, unsigned char, c->k->vars.n + 1);
    p->place[loop->var->id] = VARYING;
    place_vars(p, &loop->body);
    if (p->ok)
        find_reductions(p, &loop->body);
    ptr_map seen = {.a = c->a};
    if (p->ok)
        read_block(p, &seen, &loop->body);
    return p->ok ? p : NULL;
}

bool low_plan_reduces(const lane_plan *p)
{
    return p->reductions.n > 0;
}

bool low_plan_indexes_regs(const lane_plan *p)
{
    return p->reg_index;
}
