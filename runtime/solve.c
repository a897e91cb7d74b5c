/*
 * solve.c - dims from shapes, by substitution to a fixed point. The sentences about what went
 * wrong are in solve_text.c.
 */
#include "solve.h"

#include "checked.h"
#include "extent.h"
#include "solve_internal.h"

#include <string.h>

void attn_problems_init(attn_problems *problems, const attn_allocator *alloc)
{
    *problems = (attn_problems){.alloc = *alloc};
    attn_text_init(&problems->text, alloc);
}

void attn_problems_free(attn_problems *problems)
{
    attn_free(&problems->alloc, problems->item, problems->cap * sizeof *problems->item);
    attn_text_free(&problems->text);
    problems->item = NULL;
    problems->n = problems->cap = 0;
}

static bool is_set(const solver *s, int64_t dim)
{
    return s->origin[dim] != ORIGIN_NONE;
}

/* Counts the distinct unknown dims of an equation, up to 2; the first found goes to *dim. */
static int unknowns(const solver *s, const equation *eq, const bool *assumed, int64_t *dim)
{
    int n = 0;
    for (int64_t d = 0; d < s->info->n_dims && n < 2; d++) {
        if (is_set(s, d) || (assumed && assumed[d]))
            continue;
        if (attn_extent_uses(eq->lhs, d) || (eq->rhs && attn_extent_uses(eq->rhs, d))) {
            if (n++ == 0)
                *dim = d;
        }
    }
    return n;
}

/* Whether the two sides are equal now that all their dims are known. */
static bool holds(const solver *s, const equation *eq)
{
    int64_t n = s->info->n_dims;
    int64_t lhs;
    int64_t rhs = eq->size;
    if (attn_extent_eval(eq->lhs, s->dims, n, &lhs) != ATTN_EVAL_OK)
        return false;
    if (eq->rhs && attn_extent_eval(eq->rhs, s->dims, n, &rhs) != ATTN_EVAL_OK)
        return false;
    return lhs == rhs;
}

typedef enum isolated { ISOLATED, NOT_LINEAR, NO_VALUE } isolated;

/* Solves (a x + b) / r = (c x + d) / q for an x >= 0 that makes the equation hold exactly. */
static isolated isolate(solver *s, const equation *eq, int64_t dim)
{
    int64_t n = s->info->n_dims;
    int64_t a, b, r, c = 0, d = eq->size, q = 1;
    if (!attn_extent_affine(eq->lhs, s->dims, n, dim, &a, &b, &r))
        return NOT_LINEAR;
    if (eq->rhs && !attn_extent_affine(eq->rhs, s->dims, n, dim, &c, &d, &q))
        return NOT_LINEAR;
    int64_t aq, br, cr, dr, slope, offset, x, rest;
    if (!attn_mul64(a, q, &aq) || !attn_mul64(b, q, &br) || !attn_mul64(c, r, &cr) ||
        !attn_mul64(d, r, &dr) || !attn_sub64(aq, cr, &slope) || !attn_sub64(dr, br, &offset))
        return NO_VALUE;
    if (slope == 0)
        return NOT_LINEAR; /* true or false for every x: it tells nothing about x */
    if (!attn_div64(offset, slope, &x, &rest) || rest != 0 || x < 0)
        return NO_VALUE;
    s->dims[dim] = x;
    if (holds(s, eq))
        return ISOLATED;
    s->dims[dim] = ATTN_DIM_UNKNOWN;
    return NO_VALUE;
}

/*
 * One sweep over the equations. Plain axes (`[T, E]`) go first in each round, so that a dim is
 * credited to the plainest place that tells it. Returns whether a dim was found.
 */
static bool sweep(solver *s, bool plain_only)
{
    bool found = false;
    for (int64_t i = 0; i < s->n_equations; i++) {
        equation *eq = &s->equations[i];
        if (eq->done || (plain_only && (eq->rhs || attn_extent_single(eq->lhs) < 0)))
            continue;
        int64_t dim = -1;
        int n = unknowns(s, eq, NULL, &dim);
        if (n == 0) {
            eq->done = true;
            /* Entry conditions have messages of their own and are tested at the end. */
            if (!eq->rhs && !holds(s, eq))
                solve_say_contradiction(s, eq);
        } else if (n == 1) {
            isolated how = isolate(s, eq, dim);
            if (how == ISOLATED) {
                eq->done = true;
                s->origin[dim] = i;
                found = true;
            } else if (how == NO_VALUE && !eq->rhs) {
                eq->done = true;
                s->tainted[dim] = true;
                solve_say_no_value(s, eq, dim);
            }
        }
    }
    return found;
}

static bool mentions(const attn_tensor_info *tensor, int64_t dim)
{
    for (int64_t axis = 0; axis < tensor->rank; axis++)
        if (attn_extent_uses(&tensor->shape[axis], dim))
            return true;
    return false;
}

/*
 * A tensor that cannot be used: the dims it would have told are not reported a second time. An
 * absent optional tensor or output is no reason to keep silent.
 */
static void taint(solver *s, int64_t tensor)
{
    for (int64_t d = 0; d < s->info->n_dims; d++)
        if (mentions(&s->info->tensors[tensor], d))
            s->tainted[d] = true;
}

static void add_equation(solver *s, int64_t tensor, int64_t axis, int64_t size)
{
    s->equations[s->n_equations++] = (equation){
        .tensor = tensor,
        .axis = axis,
        .check = -1,
        .lhs = &s->info->tensors[tensor].shape[axis],
        .size = size,
    };
}

static void collect_tensor(solver *s, int64_t t, const attn_fact *fact)
{
    const attn_tensor_info *tensor = &s->info->tensors[t];
    if (!fact->present) {
        if (tensor->role != ATTN_OUTPUT && !(tensor->flags & ATTN_OPTIONAL)) {
            solve_say_missing(s, t);
            taint(s, t);
        }
        return;
    }
    bool one = fact->rank == 1 && fact->shape[0] == 1;
    if (tensor->rank == 0 && (fact->rank == 0 || one))
        return;
    if (tensor->rank == 1 && fact->rank == 0) {
        add_equation(s, t, 0, 1);
        return;
    }
    if (tensor->rank != fact->rank) {
        solve_say_rank(s, t, fact);
        taint(s, t);
        return;
    }
    for (int64_t axis = 0; axis < tensor->rank; axis++)
        add_equation(s, t, axis, fact->shape[axis]);
}

static void collect_checks(solver *s)
{
    for (int64_t c = 0; c < s->info->n_checks; c++) {
        const attn_check_info *check = &s->info->checks[c];
        if (check->relation == ATTN_EQ)
            s->equations[s->n_equations++] = (equation){
                .tensor = -1, .axis = -1, .check = c, .lhs = &check->lhs, .rhs = &check->rhs};
    }
}

/*
 * Reports unknown dims. Once one is reported it counts as given, so that `N * K = 768` asks for N
 * and not for K as well.
 */
static void report_unsolved(solver *s)
{
    for (int64_t d = 0; d < s->info->n_dims; d++) {
        if (is_set(s, d) || s->assumed[d])
            continue;
        s->assumed[d] = true;
        if (!s->tainted[d])
            solve_say_unsolved(s, d);
        for (bool again = true; again;) {
            again = false;
            for (int64_t i = 0; i < s->n_equations; i++) {
                int64_t other;
                if (unknowns(s, &s->equations[i], s->assumed, &other) == 1)
                    s->assumed[other] = again = true;
            }
        }
    }
}

static bool all_known(const solver *s, const attn_extent *extent)
{
    for (int64_t d = 0; d < s->info->n_dims; d++)
        if (!is_set(s, d) && attn_extent_uses(extent, d))
            return false;
    return true;
}

static void test_checks(solver *s)
{
    for (int64_t c = 0; c < s->info->n_checks; c++) {
        const attn_check_info *check = &s->info->checks[c];
        if (!all_known(s, &check->lhs) || !all_known(s, &check->rhs))
            continue;
        int64_t lhs;
        int64_t rhs;
        int64_t n = s->info->n_dims;
        attn_eval le = attn_extent_eval(&check->lhs, s->dims, n, &lhs);
        attn_eval re = attn_extent_eval(&check->rhs, s->dims, n, &rhs);
        if (le != ATTN_EVAL_OK || re != ATTN_EVAL_OK)
            solve_say_check_undefined(s, c, le != ATTN_EVAL_OK ? le : re);
        else if (check->relation == ATTN_EQ ? lhs != rhs : lhs > rhs)
            solve_say_check(s, c, lhs, rhs);
    }
}

/* Every tensor of the model, given or not, must have a size. Only run when all dims are known. */
static void test_sizes(solver *s, int64_t *shape)
{
    for (int64_t t = 0; t < s->info->n_tensors; t++) {
        const attn_tensor_info *tensor = &s->info->tensors[t];
        bool fine = true;
        for (int64_t axis = 0; axis < tensor->rank && fine; axis++) {
            attn_eval eval =
                attn_extent_eval(&tensor->shape[axis], s->dims, s->info->n_dims, &shape[axis]);
            fine = eval == ATTN_EVAL_OK && shape[axis] >= 0;
            if (!fine)
                solve_say_axis(s, t, axis, eval, shape[axis]);
        }
        int64_t elements;
        size_t bytes;
        if (fine && !attn_shape_bytes(tensor->rank, shape, attn_dtype_size(tensor->dtype),
                                      &elements, &bytes))
            solve_say_too_large(s, t, shape);
    }
}

static void solve(solver *s, const attn_fact *facts, int64_t *shape)
{
    for (int64_t d = 0; d < s->info->n_dims; d++) {
        s->origin[d] = s->dims[d] == ATTN_DIM_UNKNOWN ? ORIGIN_NONE : ORIGIN_GIVEN;
        if (is_set(s, d) && s->dims[d] < 0)
            solve_say_negative(s, d);
    }
    for (int64_t t = 0; t < s->info->n_tensors; t++)
        collect_tensor(s, t, &facts[t]);
    collect_checks(s);
    do {
        while (sweep(s, true))
            ;
    } while (sweep(s, false));
    report_unsolved(s);
    test_checks(s);
    if (s->problems->n == 0)
        test_sizes(s, shape);
}

attn_status attn_solve(const attn_model_info *info, const attn_fact *facts, int64_t *dims,
                       attn_problems *problems)
{
    if (info->abi_version != ATTN_ABI_VERSION)
        return ATTN_ABI;
    const attn_allocator *alloc = &problems->alloc;
    int64_t max_rank = 1;
    int64_t n_equations = info->n_checks + 1;
    for (int64_t t = 0; t < info->n_tensors; t++) {
        int64_t rank = info->tensors[t].rank;
        n_equations += rank;
        max_rank = rank > max_rank ? rank : max_rank;
    }
    /* One spare entry each, so that no size is 0. */
    size_t n_dims = (size_t)info->n_dims + 1;
    size_t equation_bytes = (size_t)n_equations * sizeof(equation);
    size_t shape_bytes = (size_t)max_rank * sizeof(int64_t);
    solver s = {.info = info, .dims = dims, .problems = problems};
    s.equations = attn_alloc(alloc, equation_bytes);
    s.origin = attn_alloc(alloc, n_dims * sizeof *s.origin);
    s.tainted = attn_alloc(alloc, n_dims);
    s.assumed = attn_alloc(alloc, n_dims);
    int64_t *shape = attn_alloc(alloc, shape_bytes);
    if (s.equations && s.origin && s.tainted && s.assumed && shape) {
        memset(s.tainted, 0, n_dims);
        memset(s.assumed, 0, n_dims);
        solve(&s, facts, shape);
    } else {
        s.no_memory = true;
    }
    attn_free(alloc, shape, shape_bytes);
    attn_free(alloc, s.assumed, n_dims);
    attn_free(alloc, s.tainted, n_dims);
    attn_free(alloc, s.origin, n_dims * sizeof *s.origin);
    attn_free(alloc, s.equations, equation_bytes);
    if (s.no_memory || problems->text.failed)
        return ATTN_NOMEM;
    return problems->n ? ATTN_DIM : ATTN_OK;
}
