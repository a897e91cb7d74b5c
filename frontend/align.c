/* align.c: values meet by the names of their axes; elementwise operations, contractions and joins
 * of them. */
#include "frontend/align.h"

#include <string.h>

tv tv_poison(span at)
{
    return (tv){.kind = TV_POISON, .at = at};
}

tv tv_value(value *v, span at)
{
    return (tv){.kind = TV_VALUE, .v = v, .at = at};
}

bool tv_bad(const tv *v)
{
    return v->kind == TV_POISON || v->kind == TV_UNKNOWN;
}

tv tv_join_bad(const tv *a, const tv *b, span at)
{
    if (a->kind == TV_POISON || b->kind == TV_POISON)
        return tv_poison(at);
    return (tv){.kind = TV_UNKNOWN, .at = at};
}

/* --- moving axes --- */

/* Axis `a` of a value is to stand on the indices of `want` (same size, perhaps packed otherwise).
 */
void move_axis(sema *s, mover *m, const axis *a, const axis *want)
{
    if (a->n == want->n) {
        for (uint32_t k = 0; k < a->n; k++) {
            vec_push(s->a, &m->from, a->ix[k]);
            vec_push(s->a, &m->to, graph_index(s->g, want->ix[k]));
        }
        return;
    }
    value *flat = graph_index(s->g, want->ix[0]);
    for (uint32_t k = 1; k < want->n; k++) {
        flat = b_elem(s, OP_mul, flat, b_dim(s, want->d[k]), NULL);
        flat = b_elem(s, OP_add, flat, graph_index(s->g, want->ix[k]), NULL);
    }
    for (uint32_t k = a->n; k-- > 0;) {
        value *size = b_dim(s, a->d[k]);
        vec_push(s->a, &m->from, a->ix[k]);
        vec_push(s->a, &m->to, k ? b_elem(s, OP_imod, flat, size, NULL) : flat);
        if (k)
            flat = b_elem(s, OP_idiv, flat, size, NULL);
    }
}

void apply_moves(sema *s, tv *v, const mover *m)
{
    v->v = b_read(s, v->v, m->from.v, m->to.v, (uint32_t)m->from.n, NULL);
    if (v->support)
        v->support = b_read(s, v->support, m->from.v, m->to.v, (uint32_t)m->from.n, NULL);
}

axis fresh_axis(sema *s, const axis *like, ix_list *avoid)
{
    axis a = *like;
    const ix **ixs = ARENA_ARRAY(s->a, const ix *, a.n);
    for (uint32_t k = 0; k < a.n; k++) {
        ixs[k] = pool_ix(s, a.d[k], avoid->v, avoid->n, like->ix[k] ? like->ix[k]->name : NULL);
        vec_push(s->a, avoid, ixs[k]);
    }
    a.ix = ixs;
    return a;
}

static bool has_ix(const ix *const *list, size_t n, const ix *i)
{
    for (size_t k = 0; k < n; k++)
        if (list[k] == i)
            return true;
    return false;
}

tv rename_axes(env *e, tv v, const ix *const *avoid, size_t n_avoid)
{
    sema *s = e->in->s;
    ix_list no = {0};
    bool clash = false;
    if (v.kind != TV_VALUE)
        return v;
    for (size_t i = 0; i < n_avoid; i++)
        vec_push(s->a, &no, avoid[i]);
    for (uint32_t i = 0; i < v.n_axes; i++)
        for (uint32_t k = 0; k < v.axes[i].n; k++)
            clash = clash || has_ix(avoid, n_avoid, v.axes[i].ix[k]);
    if (!clash)
        return v;
    mover m = {0};
    axis *ax = ARENA_ARRAY(s->a, axis, v.n_axes);
    /* free indices that are not axes stay */
    for (uint32_t i = 0; i < v.v->n_ix; i++) {
        bool own = false;
        for (uint32_t j = 0; j < v.n_axes; j++)
            own = own || has_ix(v.axes[j].ix, v.axes[j].n, v.v->ix[i]);
        if (!own)
            vec_push(s->a, &no, v.v->ix[i]);
    }
    for (uint32_t i = 0; i < v.n_axes; i++) {
        ax[i] = fresh_axis(s, &v.axes[i], &no);
        move_axis(s, &m, &v.axes[i], &ax[i]);
    }
    apply_moves(s, &v, &m);
    v.axes = ax;
    return v;
}

/* How two axes may be the same: what is surest comes first. */
typedef enum likeness {
    BY_NAME,
    BY_NUMBER, /* one has no name: a fixed size is also the same as its number */
    BY_CHOICE, /* sizes of callees, fixed to one number: they may be made one */
    LIKENESSES
} likeness;

static bool same_size(sema *s, const dim *a, const dim *b, likeness how)
{
    return how == BY_NAME     ? dims_resolve(s, a) == dims_resolve(s, b)
           : how == BY_NUMBER ? dims_same(s, a, b)
                              : dims_choosable(s, a, b);
}

static bool same_axis(sema *s, const axis *a, const axis *b, likeness how)
{
    if (a->n == b->n) {
        for (uint32_t k = 0; k < a->n; k++)
            if (!same_size(s, a->d[k], b->d[k], how))
                return false;
        return true;
    }
    return same_size(s, axis_size(s, a), axis_size(s, b), how);
}

static bool unify_axis(sema *s, const axis *a, const axis *b)
{
    if (a->n == b->n) {
        bool ok = true;
        for (uint32_t k = 0; k < a->n; k++)
            ok = dims_unify(s, a->d[k], b->d[k]) && ok;
        return ok;
    }
    return dims_unify(s, axis_size(s, a), axis_size(s, b));
}

/* Where the axis comes from, unless that is the operand itself. */
static void note_axis(sema *s, diag *d, const axis *a, span operand)
{
    bool inside = a->at.file == operand.file && operand.lo <= a->at.lo && a->at.hi <= operand.hi;
    if (a->at.file && !inside)
        diag_note(d, a->at, "its axis %s comes from here", axes_show(s, a, 1));
}

/* For each axis of b: which axis of a it is (UINT32_MAX: none). skip_a, skip_b: trailing axes left
 * out. */
static bool match_axes(env *e, const tv *a, uint32_t na, const tv *b, uint32_t nb, uint32_t *to,
                       span at, const char *what)
{
    sema *s = e->in->s;
    uint32_t matched = 0;
    for (uint32_t j = 0; j < nb; j++)
        to[j] = UINT32_MAX;
    for (uint32_t turn = 0; turn < LIKENESSES * nb; turn++) {
        const likeness how = (likeness)(turn / nb);
        const uint32_t j = turn % nb;
        uint32_t hits = 0;
        if (to[j] != UINT32_MAX)
            continue;
        /* a position of its own first, so that two equal axes meet in order */
        for (uint32_t i = 0; i < na; i++) {
            bool taken = false;
            for (uint32_t k = 0; k < nb; k++)
                taken = taken || (k != j && to[k] == i);
            if (!taken && same_axis(s, &a->axes[i], &b->axes[j], how)) {
                if (!hits)
                    to[j] = i;
                hits++;
            }
        }
        uint32_t same_b = 0;
        for (uint32_t k = 0; k < nb; k++)
            same_b += same_axis(s, &b->axes[k], &b->axes[j], how);
        if (hits > 1 && same_b < hits && nb != na) {
            diag *d = diag_error(s->ds, at, "two axes of one operand of %s are both %s", what,
                                 axes_show(s, &b->axes[j], 1));
            diag_note(d, a->at, "this is %s", axes_show(s, a->axes, na));
            diag_note(d, b->at, "this is %s", axes_show(s, b->axes, nb));
            diag_help(d, "name the indices, so that it is clear which one is meant");
            return false;
        }
        matched += to[j] != UINT32_MAX;
        if (how == BY_CHOICE && to[j] != UINT32_MAX)
            unify_axis(s, &a->axes[to[j]], &b->axes[j]);
    }
    uint32_t unmatched_a = na - matched, unmatched_b = nb - matched;
    if (unmatched_a == 0 || unmatched_b == 0)
        return true;
    /* one side is unknown yet: in order of position */
    if (unmatched_a == unmatched_b) {
        bool ok = true;
        for (uint32_t j = 0, i = 0; j < nb && ok; j++) {
            if (to[j] != UINT32_MAX)
                continue;
            for (;; i++) {
                bool taken = false;
                for (uint32_t k = 0; k < nb; k++)
                    taken = taken || to[k] == i;
                if (!taken)
                    break;
            }
            size_t waiting = s->pending.n;
            ok = unify_axis(s, &a->axes[i], &b->axes[j]);
            if (ok && s->pending.n == waiting)
                to[j] = i;
            else if (ok)
                to[j] = i; /* to be settled later */
        }
        if (ok)
            return true;
    }
    diag *d = diag_error(s->ds, at, "the axes of %s do not meet: %s and %s", what,
                         axes_show(s, a->axes, na), axes_show(s, b->axes, nb));
    diag_note(d, a->at, "this has %s", axes_show(s, a->axes, na));
    for (uint32_t i = 0; i < na; i++) {
        bool taken = false;
        for (uint32_t k = 0; k < nb; k++)
            taken = taken || to[k] == i;
        if (!taken)
            note_axis(s, d, &a->axes[i], a->at);
    }
    diag_note(d, b->at, "this has %s", axes_show(s, b->axes, nb));
    for (uint32_t j = 0; j < nb; j++)
        if (to[j] == UINT32_MAX)
            note_axis(s, d, &b->axes[j], b->at);
    diag_help(d, "axes meet by name: use one name for one size, or name the indices");
    return false;
}

bool align(env *e, tv *a, tv *b, span at, const char *what)
{
    sema *s = e->in->s;
    if (a->n_axes == 0 && b->n_axes == 0)
        return true;
    uint32_t *to = ARENA_ARRAY(s->a, uint32_t, b->n_axes);
    if (!match_axes(e, a, a->n_axes, b, b->n_axes, to, at, what))
        return false;
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    tv_ixs(a, &avoid, s->a);
    for (uint32_t i = 0; i < b->v->n_ix; i++) {
        bool own = false;
        for (uint32_t j = 0; j < b->n_axes; j++)
            own = own || has_ix(b->axes[j].ix, b->axes[j].n, b->v->ix[i]);
        if (!own)
            vec_push(s->a, &avoid, b->v->ix[i]);
    }
    mover m = {0};
    axis *bx = ARENA_ARRAY(s->a, axis, b->n_axes);
    uint32_t matched = 0;
    for (uint32_t j = 0; j < b->n_axes; j++) {
        if (to[j] != UINT32_MAX) {
            bx[j] = a->axes[to[j]];
            matched++;
        } else {
            bx[j] = fresh_axis(s, &b->axes[j], &avoid);
        }
        move_axis(s, &m, &b->axes[j], &bx[j]);
    }
    apply_moves(s, b, &m);
    b->axes = bx;
    /* the union, in the order of the one that has them all */
    VEC(axis) all = {0};
    if (matched == a->n_axes) {
        for (uint32_t j = 0; j < b->n_axes; j++)
            vec_push(s->a, &all, bx[j]);
    } else {
        for (uint32_t i = 0; i < a->n_axes; i++)
            vec_push(s->a, &all, a->axes[i]);
        for (uint32_t j = 0; j < b->n_axes; j++)
            if (to[j] == UINT32_MAX)
                vec_push(s->a, &all, bx[j]);
    }
    a->axes = b->axes = all.v;
    a->n_axes = b->n_axes = (uint32_t)all.n;
    return true;
}

bool fit_axes(env *e, tv *v, const axis *want, uint32_t n, span at, span want_at, const char *what)
{
    sema *s = e->in->s;
    uint32_t *to = ARENA_ARRAY(s->a, uint32_t, v->n_axes);
    bool ok = v->n_axes <= n;
    if (ok && v->n_axes == n) { /* position by position */
        for (uint32_t i = 0; i < n && ok; i++) {
            to[i] = i;
            ok = same_axis(s, &v->axes[i], &want[i], BY_NAME);
        }
    }
    if (!ok || v->n_axes != n) {
        tv w = {.kind = TV_VALUE, .n_axes = n, .axes = (axis *)want, .at = want_at};
        ok = v->n_axes <= n;
        s->ds->muted++;
        ok = ok && match_axes(e, &w, n, v, v->n_axes, to, at, what);
        s->ds->muted--;
        for (uint32_t j = 0; j < v->n_axes && ok; j++)
            ok = to[j] != UINT32_MAX;
    }
    if (!ok) {
        diag *d = diag_error(s->ds, at, "%s is %s, but this is %s", what, axes_show(s, want, n),
                             axes_show(s, v->axes, v->n_axes));
        if (want_at.file)
            diag_note(d, want_at, "it is declared here");
        if (v->n_axes > n)
            diag_help(d, "here is an axis too many: index it or sum over it");
        else
            diag_help(d, "use one name for one size, or transpose by naming the indices");
        return false;
    }
    mover m = {0};
    axis *ax = ARENA_ARRAY(s->a, axis, n);
    memcpy(ax, want, n * sizeof *ax);
    for (uint32_t j = 0; j < v->n_axes; j++)
        move_axis(s, &m, &v->axes[j], &want[to[j]]);
    apply_moves(s, v, &m);
    v->axes = ax;
    v->n_axes = n;
    return true;
}

/* --- operations --- */

tv to_real(env *e, tv v)
{
    if (v.kind == TV_VALUE && v.v->dt == DT_I64)
        v.v = b_real(e->in->s, v.v);
    v.literal = false;
    return v;
}

/* Numbers of one type: an int meets a real as a real. False after a message. */
bool promote(env *e, tv *v, uint32_t n, span at, const char *what)
{
    sema *s = e->in->s;
    bool real = false;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].v->dt == DT_BOOL) {
            diag *d = diag_error(s->ds, v[i].at, "%s needs numbers, this is a bool", what);
            if (at.file)
                diag_help(d, "a bool is never a number: write `1 where c else 0`");
            return false;
        }
        real = real || v[i].v->dt != DT_I64;
    }
    for (uint32_t i = 0; real && i < n; i++)
        v[i] = to_real(e, v[i]);
    return true;
}

bool all_values(const tv *v, uint32_t n, tv *bad, span at)
{
    for (uint32_t i = 0; i < n; i++)
        if (tv_bad(&v[i])) {
            *bad = v[i];
            bad->at = at;
            for (uint32_t k = i; k < n; k++)
                if (v[k].kind == TV_POISON)
                    bad->kind = TV_POISON;
            return false;
        }
    return true;
}

/* Without what holds wherever v has an element: that an axis of v's is not empty. */
static value *without_sizes(sema *s, value *support, const value *v)
{
    if (!support)
        return NULL;
    if (support->op == OP_and)
        return b_and(s, without_sizes(s, support->args[0], v),
                     without_sizes(s, support->args[1], v));
    if (support->op != OP_le || support->args[0]->op != OP_const || support->args[0]->i != 1 ||
        support->args[1]->op != OP_dim)
        return support;
    for (uint32_t i = 0; i < v->n_ix; i++)
        if (dims_equal(s, v->ix[i]->extent, support->args[1]->dim))
            return NULL;
    return support;
}

tv apply_elem(env *e, op_id op, tv *args, uint32_t n, span at)
{
    sema *s = e->in->s;
    const op_info *info = &op_table[op];
    tv r, bad = {0};
    if (!all_values(args, n, &bad, at)) {
        /* the shape of the known side is good enough for a trial */
        if (bad.kind == TV_UNKNOWN)
            for (uint32_t i = 0; i < n; i++)
                if (args[i].kind == TV_VALUE && args[i].n_axes > 0 && info->sig != SIG_CMP) {
                    r = args[i];
                    if (info->sig == SIG_REAL)
                        r = to_real(e, r);
                    return r;
                }
        return bad;
    }
    for (uint32_t i = 0; i < n; i++)
        if (args[i].kind == TV_FUNC) {
            diag *d =
                diag_error(s->ds, args[i].at, "%s needs values, this is a function", op_word(op));
            diag_help(d, "call it: a function is not a value");
            return tv_poison(at);
        }
    switch (info->sig) {
    case SIG_REAL:
    case SIG_TOINT:
        for (uint32_t i = 0; i < n; i++) {
            if (args[i].v->dt == DT_BOOL) {
                diag *d =
                    diag_error(s->ds, args[i].at, "%s needs a number, this is a bool", op_word(op));
                diag_help(d, "a bool is never a number: write `1 where c else 0`");
                return tv_poison(at);
            }
            if (info->sig == SIG_TOINT && args[i].v->dt == DT_I64)
                return args[i]; /* an int is its own floor */
            args[i] = to_real(e, args[i]);
        }
        break;
    case SIG_INT:
        for (uint32_t i = 0; i < n; i++)
            if (args[i].v->dt != DT_I64) {
                diag *d = diag_error(s->ds, args[i].at, "%s needs ints, this is %s", op_word(op),
                                     dtype_word(args[i].v->dt));
                diag_help(d, "floor, round and ceil make an int; `/` divides reals");
                return tv_poison(at);
            }
        break;
    case SIG_BOOL:
        for (uint32_t i = 0; i < n; i++)
            if (args[i].v->dt != DT_BOOL) {
                diag *d = diag_error(s->ds, args[i].at, "%s needs conditions, this is %s",
                                     op_word(op), dtype_word(args[i].v->dt));
                diag_help(d, "compare it with something: `x != 0`");
                return tv_poison(at);
            }
        break;
    case SIG_CMP:
        if ((op == OP_eq || op == OP_ne) && args[0].v->dt == DT_BOOL && args[1].v->dt == DT_BOOL)
            break;
        if (!promote(e, args, n, at, "a comparison"))
            return tv_poison(at);
        break;
    default:
        if (!promote(e, args, n, at, op_word(op)))
            return tv_poison(at);
    }
    /* every operand onto the union of all axes */
    for (uint32_t i = 1; i < n; i++)
        if (!align(e, &args[0], &args[i], at, op_word(op)))
            return tv_poison(at);
    value *where = OP_HAS(op, T_TRAP) && (args[0].v->dt == DT_I64 || info->sig == SIG_TOINT)
                       ? e->demand
                       : NULL;
    r = args[0];
    r.at = at;
    r.weight = false;
    r.literal = args[0].literal;
    for (uint32_t i = 1; i < n; i++) {
        r.support = b_and(s, r.support, args[i].support);
        r.literal = r.literal && args[i].literal;
    }
    if (where) {
        value *both = b_and(s, where, r.support);
        where = both;
    }
    if (info->sig == SIG_CMP)
        r.v = b_cmp(s, op, args[0].v, args[1].v);
    else if (op == OP_and)
        r.v = b_and(s, args[0].v, args[1].v);
    else if (op == OP_or)
        r.v = b_or(s, args[0].v, args[1].v);
    else if (op == OP_not)
        r.v = b_not(s, args[0].v);
    else if (n == 1)
        r.v = b_elem1(s, op, args[0].v, value_is_data(args[0].v) ? where : NULL);
    else
        r.v = b_elem(s, op, args[0].v, args[1].v, where);
    if (!r.v)
        r.v = graph_bool(s->g, true);
    r.support = without_sizes(s, r.support, r.v);
    return r;
}

tv apply_mul(env *e, tv a, tv b, span at)
{
    sema *s = e->in->s;
    if (a.kind == TV_VALUE && b.kind == TV_VALUE && a.weight != b.weight) {
        tv *w = a.weight ? &a : &b, *o = a.weight ? &b : &a;
        tv pair[2] = {*w, *o};
        if (!promote(e, pair, 2, at, "`*`"))
            return tv_poison(at);
        /* keep the order of the axes as written */
        if (!align(e, a.weight ? &pair[0] : &pair[1], a.weight ? &pair[1] : &pair[0], at, "`*`"))
            return tv_poison(at);
        tv r = pair[0];
        r.at = at;
        r.v = b_elem(s, OP_weigh, pair[0].v, pair[1].v, NULL);
        r.support = without_sizes(s, b_and(s, pair[0].support, pair[1].support), r.v);
        return r;
    }
    tv args[2] = {a, b};
    tv r = apply_elem(e, OP_mul, args, 2, at);
    if (r.kind == TV_VALUE && a.kind == TV_VALUE && b.kind == TV_VALUE)
        r.weight = a.weight && b.weight;
    return r;
}

bool mentions_any(const value *v, const ix *const *ixs, uint32_t n)
{
    for (uint32_t i = 0; v && i < n; i++)
        if (value_has_ix(v, ixs[i]))
            return true;
    return false;
}

/* Splits a support into what depends on the bound indices and what does not. */
static void split_support(sema *s, value *p, const ix *const *bound, uint32_t n, value **inner,
                          value **outer)
{
    if (!p)
        return;
    if (p->op == OP_and) {
        split_support(s, p->args[0], bound, n, inner, outer);
        split_support(s, p->args[1], bound, n, inner, outer);
        return;
    }
    value **to = mentions_any(p, bound, n) ? inner : outer;
    *to = b_and(s, *to, p);
}

tv apply_contract(env *e, tv a, tv b, span at, bool dot)
{
    sema *s = e->in->s;
    tv two[2] = {a, b}, bad;
    if (!all_values(two, 2, &bad, at)) {
        /* `W @ x` with x unknown: W's other axes are the result's */
        if (bad.kind == TV_UNKNOWN && !dot && a.kind == TV_VALUE && a.n_axes > 1) {
            a.n_axes--;
            return to_real(e, a);
        }
        return bad;
    }
    for (int i = 0; i < 2; i++)
        if (two[i].kind == TV_FUNC || two[i].n_axes == 0) {
            diag *d =
                diag_error(s->ds, two[i].at, "%s needs a vector here, this is a single number",
                           dot ? "dot" : "`@`");
            diag_help(d, dot ? "index fewer axes of it" : "`*` multiplies numbers");
            return tv_poison(at);
        }
    if (!promote(e, two, 2, at, dot ? "dot" : "`@`"))
        return tv_poison(at);
    a = two[0];
    b = two[1];
    axis la = a.axes[a.n_axes - 1], lb = b.axes[b.n_axes - 1];
    if (!same_axis(s, &la, &lb, BY_NUMBER) && !unify_axis(s, &la, &lb)) {
        diag *d = diag_error(s->ds, at, "%s contracts axis %s with axis %s", dot ? "dot" : "`@`",
                             axes_show(s, &la, 1), axes_show(s, &lb, 1));
        diag_note(d, a.at, "this is %s", axes_show(s, a.axes, a.n_axes));
        note_axis(s, d, &la, a.at);
        diag_note(d, b.at, "this is %s", axes_show(s, b.axes, b.n_axes));
        note_axis(s, d, &lb, b.at);
        diag_help(d, "the last axes must have one size: use one name for it");
        return tv_poison(at);
    }
    uint32_t na = a.n_axes - 1, nb = b.n_axes - 1;
    uint32_t *to = ARENA_ARRAY(s->a, uint32_t, b.n_axes);
    /* extra leading axes meet by name; others stay apart */
    ix_list avoid = {0};
    env_ixs(e, &avoid, s->a);
    tv_ixs(&a, &avoid, s->a);
    for (uint32_t i = 0; i < b.v->n_ix; i++) {
        bool own = false;
        for (uint32_t j = 0; j < b.n_axes; j++)
            own = own || has_ix(b.axes[j].ix, b.axes[j].n, b.v->ix[i]);
        if (!own)
            vec_push(s->a, &avoid, b.v->ix[i]);
    }
    mover m = {0};
    VEC(axis) all = {0};
    for (uint32_t j = 0; j < nb; j++)
        to[j] = UINT32_MAX;
    for (uint32_t turn = 0; turn < BY_CHOICE * nb; turn++)
        for (uint32_t i = 0, j = turn % nb; i < na && to[j] == UINT32_MAX; i++) {
            bool taken = false;
            for (uint32_t k = 0; k < nb; k++)
                taken = taken || to[k] == i;
            if (!taken && same_axis(s, &a.axes[i], &b.axes[j], (likeness)(turn / nb)))
                to[j] = i;
        }
    for (uint32_t j = 0; j < nb; j++) {
        axis target = to[j] != UINT32_MAX ? a.axes[to[j]] : fresh_axis(s, &b.axes[j], &avoid);
        move_axis(s, &m, &b.axes[j], &target);
        vec_push(s->a, &all, target);
    }
    move_axis(s, &m, &lb, &la);
    apply_moves(s, &b, &m);
    for (uint32_t i = 0; i < na; i++) {
        bool taken = false;
        for (uint32_t j = 0; j < nb; j++)
            taken = taken || to[j] == i;
        if (!taken)
            vec_push(s->a, &all, a.axes[i]);
    }
    value *inner = NULL, *outer = NULL;
    split_support(s, b_and(s, a.support, b.support), la.ix, la.n, &inner, &outer);
    tv r = {.kind = TV_VALUE, .at = at, .axes = all.v, .n_axes = (uint32_t)all.n, .support = outer};
    if (a.v->dt == DT_I64 || a.weight != b.weight) {
        value *p = a.v->dt == DT_I64 ? b_elem(s, OP_mul, a.v, b.v, e->demand)
                   : a.weight        ? b_elem(s, OP_weigh, a.v, b.v, NULL)
                                     : b_elem(s, OP_weigh, b.v, a.v, NULL);
        r.v = graph_reduce(s->g, RED_sum, p, la.ix, la.n, inner);
    } else {
        r.v = graph_contract(s->g, a.v, b.v, la.ix, la.n, inner);
    }
    return r;
}
