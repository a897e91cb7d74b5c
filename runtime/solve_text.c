/*
 * solve_text.c - the sentences of attn_solve. Each function adds one problem and its line; a
 * contradiction always names both places and both sizes.
 */
#include "solve_internal.h"

static const char *role_name(attn_role role)
{
    return role == ATTN_INPUT ? "input" : role == ATTN_PARAM ? "param" : "output";
}

static attn_problem blank(attn_problem_kind kind)
{
    return (attn_problem){kind, -1, -1, -1, -1, -1, -1, 0, 0};
}

/* Opens a line; the returned position goes to `finish`. */
static size_t begin(solver *s)
{
    if (s->problems->text.len)
        attn_text_add(&s->problems->text, "\n");
    return s->problems->text.len;
}

static void finish(solver *s, attn_problem problem, size_t at)
{
    attn_problems *p = s->problems;
    void *grown = attn_grow(&p->alloc, p->item, p->n, &p->cap, sizeof *p->item);
    if (!grown) {
        s->no_memory = true;
        return;
    }
    p->item = grown;
    problem.text_at = at;
    problem.text_len = p->text.len - at;
    p->item[p->n++] = problem;
}

static void say_tensor(solver *s, int64_t t)
{
    const attn_tensor_info *tensor = &s->info->tensors[t];
    attn_text_add(&s->problems->text, "%s %s", role_name(tensor->role), tensor->name);
}

static void say_axis(solver *s, int64_t t, int64_t axis)
{
    attn_text_add(&s->problems->text, "axis %lld of ", (long long)axis);
    say_tensor(s, t);
}

static void say_declared_shape(solver *s, int64_t t)
{
    const attn_tensor_info *tensor = &s->info->tensors[t];
    attn_text *text = &s->problems->text;
    attn_text_add(text, "[");
    for (int64_t i = 0; i < tensor->rank; i++)
        attn_text_add(text, "%s%s", i ? ", " : "", tensor->shape[i].text);
    attn_text_add(text, "]");
}

static void say_origin(solver *s, int64_t dim)
{
    attn_text *text = &s->problems->text;
    int64_t origin = s->origin[dim];
    if (origin == ORIGIN_GIVEN)
        attn_text_add(text, "as given");
    else if (s->equations[origin].tensor >= 0)
        say_axis(s, s->equations[origin].tensor, s->equations[origin].axis);
    else
        attn_text_add(text, "from %s = %s", s->equations[origin].lhs->text,
                      s->equations[origin].rhs->text);
}

/* ", with E = 3 (axis 2 of input x), H = 5 (as given)" for the known dims of an extent. */
static void say_known(solver *s, const attn_extent *a, const attn_extent *b)
{
    const char *lead = ", with ";
    for (int64_t d = 0; d < s->info->n_dims; d++) {
        bool used = attn_extent_uses(a, d) || (b && attn_extent_uses(b, d));
        if (!used || s->origin[d] == ORIGIN_NONE)
            continue;
        attn_text_add(&s->problems->text, "%s%s = %lld (", lead, s->info->dim_names[d],
                      (long long)s->dims[d]);
        say_origin(s, d);
        attn_text_add(&s->problems->text, ")");
        lead = ", ";
    }
}

/* The axis that told a dim, for the structured half of a problem. */
static void set_other(solver *s, attn_problem *problem, int64_t dim)
{
    int64_t origin = s->origin[dim];
    problem->dim = dim;
    if (origin >= 0) {
        problem->other = s->equations[origin].tensor;
        problem->other_axis = s->equations[origin].axis;
        problem->check = s->equations[origin].check;
    }
}

void solve_say_missing(solver *s, int64_t t)
{
    const attn_tensor_info *tensor = &s->info->tensors[t];
    size_t at = begin(s);
    say_tensor(s, t);
    attn_text_add(&s->problems->text, " is missing: expected %s", attn_dtype_name(tensor->dtype));
    say_declared_shape(s, t);
    if (tensor->source) {
        attn_text_add(&s->problems->text, " under the name ");
        attn_text_add_name(&s->problems->text, tensor->source);
    }
    attn_problem problem = blank(ATTN_PROBLEM_MISSING);
    problem.tensor = t;
    finish(s, problem, at);
}

void solve_say_rank(solver *s, int64_t t, const attn_fact *fact)
{
    size_t at = begin(s);
    say_tensor(s, t);
    attn_text_add(&s->problems->text, " has shape ");
    attn_text_add_shape(&s->problems->text, fact->rank, fact->shape);
    attn_text_add(&s->problems->text, ", %lld %s, but ", (long long)fact->rank,
                  fact->rank == 1 ? "axis" : "axes");
    say_declared_shape(s, t);
    attn_text_add(&s->problems->text, " has %lld", (long long)s->info->tensors[t].rank);
    attn_problem problem = blank(ATTN_PROBLEM_RANK);
    problem.tensor = t;
    finish(s, problem, at);
}

void solve_say_contradiction(solver *s, const equation *eq)
{
    attn_text *text = &s->problems->text;
    attn_problem problem = blank(ATTN_PROBLEM_SIZE);
    problem.tensor = eq->tensor;
    problem.axis = eq->axis;
    size_t at = begin(s);
    say_axis(s, eq->tensor, eq->axis);
    attn_text_add(text, " is %lld but ", (long long)eq->size);
    int64_t dim = attn_extent_single(eq->lhs);
    int64_t value = 0;
    attn_eval eval = attn_extent_eval(eq->lhs, s->dims, s->info->n_dims, &value);
    if (dim >= 0) {
        set_other(s, &problem, dim);
        if (problem.other >= 0) {
            say_axis(s, problem.other, problem.other_axis);
            attn_text_add(text, " says ");
        }
        attn_text_add(text, "%s = %lld", eq->lhs->text, (long long)value);
        if (problem.other < 0) {
            attn_text_add(text, " ");
            say_origin(s, dim);
        }
    } else {
        for (int64_t d = s->info->n_dims - 1; d >= 0; d--)
            if (attn_extent_uses(eq->lhs, d))
                set_other(s, &problem, d);
        if (eval == ATTN_EVAL_OK)
            attn_text_add(text, "%s = %lld", eq->lhs->text, (long long)value);
        else
            attn_text_add(text, "%s %s", eq->lhs->text, attn_eval_text(eval));
        say_known(s, eq->lhs, NULL);
    }
    finish(s, problem, at);
}

void solve_say_no_value(solver *s, const equation *eq, int64_t dim)
{
    size_t at = begin(s);
    say_axis(s, eq->tensor, eq->axis);
    attn_text_add(&s->problems->text, " is %lld, but no %s makes %s = %lld", (long long)eq->size,
                  s->info->dim_names[dim], eq->lhs->text, (long long)eq->size);
    say_known(s, eq->lhs, NULL);
    attn_problem problem = blank(ATTN_PROBLEM_SIZE);
    problem.tensor = eq->tensor;
    problem.axis = eq->axis;
    problem.dim = dim;
    for (int64_t d = s->info->n_dims - 1; d >= 0; d--)
        if (s->origin[d] >= 0 && attn_extent_uses(eq->lhs, d)) {
            problem.other = s->equations[s->origin[d]].tensor;
            problem.other_axis = s->equations[s->origin[d]].axis;
        }
    finish(s, problem, at);
}

void solve_say_unsolved(solver *s, int64_t dim)
{
    attn_text *text = &s->problems->text;
    const char *name = s->info->dim_names[dim];
    attn_problem problem = blank(ATTN_PROBLEM_UNSOLVED);
    problem.dim = dim;
    size_t at = begin(s);
    attn_text_add(text, "dim %s cannot be found from the shapes: ", name);
    int64_t shown = 0;
    for (int64_t i = 0; i < s->n_equations && shown < 3; i++) {
        const equation *eq = &s->equations[i];
        if (!attn_extent_uses(eq->lhs, dim) && !(eq->rhs && attn_extent_uses(eq->rhs, dim)))
            continue;
        attn_text_add(text, "%s%s = ", shown++ ? ", " : "only ", eq->lhs->text);
        if (eq->rhs) {
            attn_text_add(text, "%s", eq->rhs->text);
            continue;
        }
        attn_text_add(text, "%lld (", (long long)eq->size);
        say_axis(s, eq->tensor, eq->axis);
        attn_text_add(text, ")");
        if (problem.tensor < 0) {
            problem.tensor = eq->tensor;
            problem.axis = eq->axis;
        }
    }
    if (shown)
        attn_text_add(text, " is known; give -D %s=...", name);
    else
        attn_text_add(text, "no tensor at hand has it; give -D %s=...", name);
    finish(s, problem, at);
}

void solve_say_negative(solver *s, int64_t dim)
{
    size_t at = begin(s);
    attn_text_add(&s->problems->text, "dim %s is %lld, but a dimension is at least 0",
                  s->info->dim_names[dim], (long long)s->dims[dim]);
    attn_problem problem = blank(ATTN_PROBLEM_RANGE);
    problem.dim = dim;
    finish(s, problem, at);
}

static void say_check(solver *s, int64_t c)
{
    const attn_check_info *check = &s->info->checks[c];
    attn_text_add(&s->problems->text, "%s: %s %s %s is required",
                  check->message ? check->message : "condition", check->lhs.text,
                  check->relation == ATTN_EQ ? "=" : "<=", check->rhs.text);
}

void solve_say_check(solver *s, int64_t c, int64_t lhs, int64_t rhs)
{
    const attn_check_info *check = &s->info->checks[c];
    size_t at = begin(s);
    say_check(s, c);
    attn_text_add(&s->problems->text, ", found %lld and %lld", (long long)lhs, (long long)rhs);
    say_known(s, &check->lhs, &check->rhs);
    attn_problem problem = blank(ATTN_PROBLEM_CHECK);
    problem.check = c;
    finish(s, problem, at);
}

void solve_say_check_undefined(solver *s, int64_t c, attn_eval eval)
{
    const attn_check_info *check = &s->info->checks[c];
    size_t at = begin(s);
    say_check(s, c);
    attn_text_add(&s->problems->text, ", but one side %s", attn_eval_text(eval));
    say_known(s, &check->lhs, &check->rhs);
    attn_problem problem = blank(ATTN_PROBLEM_CHECK);
    problem.check = c;
    finish(s, problem, at);
}

void solve_say_axis(solver *s, int64_t t, int64_t axis, attn_eval eval, int64_t size)
{
    const attn_extent *extent = &s->info->tensors[t].shape[axis];
    size_t at = begin(s);
    say_axis(s, t, axis);
    if (eval == ATTN_EVAL_OK)
        attn_text_add(&s->problems->text, " would be %s = %lld, a negative size", extent->text,
                      (long long)size);
    else
        attn_text_add(&s->problems->text, ": %s %s", extent->text, attn_eval_text(eval));
    say_known(s, extent, NULL);
    attn_problem problem = blank(ATTN_PROBLEM_RANGE);
    problem.tensor = t;
    problem.axis = axis;
    finish(s, problem, at);
}

void solve_say_too_large(solver *s, int64_t t, const int64_t *shape)
{
    size_t at = begin(s);
    say_tensor(s, t);
    attn_text_add(&s->problems->text, " is too large: ");
    attn_text_add_shape(&s->problems->text, s->info->tensors[t].rank, shape);
    attn_text_add(&s->problems->text, " elements exceed 2^63 bytes");
    attn_problem problem = blank(ATTN_PROBLEM_RANGE);
    problem.tensor = t;
    finish(s, problem, at);
}
