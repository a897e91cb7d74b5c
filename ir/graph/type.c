/* type.c: the type rules of IR.md: what each op asks of its operands and what it gives.
 * Constructors, reader and verifier all come here, so that there is one statement of the rules. */
#include <string.h>

#include "ir/graph/graph_internal.h"

bool ix_in(const ix *const *list, uint32_t n, const ix *i)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == i)
            return true;
    }
    return false;
}

bool value_has_ix(const value *v, const ix *i)
{
    return ix_in(v->ix, v->n_ix, i);
}

void type_print(strbuf *out, dtype dt, const ix *const *list, uint32_t n)
{
    sb_printf(out, "%s<", dt == DT_NONE ? "" : dtype_text[dt]);
    for (uint32_t i = 0; i < n; i++) {
        sb_puts(out, i ? ", " : "");
        name_print(out, list[i]->name);
        sb_puts(out, ":");
        dim_print(list[i]->extent, out);
    }
    sb_puts(out, ">");
}

const char *type_text(arena *a, const value *v)
{
    strbuf b = {.a = a};
    type_print(&b, v->dt, v->ix, v->n_ix);
    return sb_text(&b);
}

bool op_takes_where(op_id op)
{
    return OP_HAS(op, T_TRAP) || OP_HAS(op, T_BINDS) || OP_HAS(op, T_NORM);
}

bool find_op(const char *text, op_id *op)
{
    for (int i = 0; i < OP_COUNT; i++) {
        if (strcmp(op_table[i].text, text) == 0) {
            *op = (op_id)i;
            return true;
        }
    }
    return false;
}

bool find_reduce(const char *text, int *kind)
{
    for (int i = 0; i < RED_COUNT; i++) {
        if (strcmp(reduce_table[i].text, text) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}

bool find_store(const char *text, store_type *st)
{
    for (int i = 0; i < ST_COUNT; i++) {
        if (strcmp(store_table[i].text, text) == 0) {
            *st = (store_type)i;
            return true;
        }
    }
    return false;
}

bool find_dtype(const char *text, dtype *dt)
{
    for (int i = DT_NONE; i <= DT_BOOL; i++) {
        if (strcmp(dtype_text[i], text) == 0) {
            *dt = (dtype)i;
            return true;
        }
    }
    return false;
}

bool find_online(const char *text, int *kind)
{
    for (int i = 0; i < ON_COUNT; i++) {
        if (strcmp(online_text[i], text) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}

bool find_part(const char *text, int *kind)
{
    for (int i = -1; part_of_kind(i); i--) {
        if (strcmp(part_of_kind(i)->text, text) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}

/* --- the work of one inference --- */

typedef struct infer {
    const graph *g;
    value *v;
    const char *error;
    VEC(const ix *) ix; /* free indices so far */
} infer;

static bool bad(infer *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool bad(infer *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!f->error)
        f->error = arena_vprintf(f->g->a, fmt, ap);
    va_end(ap);
    return false;
}

static const char *tt(infer *f, const value *v)
{
    return type_text(f->g->a, v);
}

static void add_ix(infer *f, const ix *i)
{
    if (!ix_in(f->ix.v, (uint32_t)f->ix.n, i))
        vec_push(f->g->a, &f->ix, i);
}

/* The operand's free indices, without those that v binds if `drop`. */
static void add_all(infer *f, const value *x, bool drop)
{
    for (uint32_t i = 0; i < x->n_ix; i++) {
        if (!drop || !ix_in(f->v->bound, f->v->n_bound, x->ix[i]))
            add_ix(f, x->ix[i]);
    }
}

static bool numeric(dtype dt)
{
    return dt == DT_I64 || dt == DT_F32 || dt == DT_F64;
}

static bool distinct(infer *f, const ix *const *list, uint32_t n, const char *what)
{
    for (uint32_t i = 0; i < n; i++) {
        if (ix_in(list, i, list[i]))
            return bad(f, "%s %s occurs twice", what, list[i]->name);
    }
    return true;
}

/* All operands from the first-th on have one element type, which `want` (if any) names. */
static bool same_types(infer *f, uint32_t first, dtype want)
{
    value *v = f->v;
    for (uint32_t i = first; i < v->n_args; i++) {
        if (want != DT_NONE && v->args[i]->dt != want)
            return bad(f, "%s takes %s operands, but operand %u is %s", op_table[v->op].text,
                       dtype_text[want], i + 1, tt(f, v->args[i]));
        if (v->args[i]->dt != v->args[first]->dt || v->args[i]->dt == DT_NONE)
            return bad(f, "%s takes operands of one element type, but these are %s and %s",
                       op_table[v->op].text, tt(f, v->args[first]), tt(f, v->args[i]));
    }
    return true;
}

static bool infer_elem_type(infer *f)
{
    value *v = f->v;
    dtype first = v->n_args ? v->args[0]->dt : DT_NONE;
    switch (op_table[v->op].sig) {
    case SIG_SAME:
        v->dt = first;
        if (!numeric(first))
            return bad(f, "%s takes numbers, but its operand is %s", op_table[v->op].text,
                       tt(f, v->args[0]));
        return same_types(f, 0, DT_NONE);
    case SIG_REAL:
        v->dt = f->g->real;
        return same_types(f, 0, f->g->real);
    case SIG_INT:
        v->dt = DT_I64;
        return same_types(f, 0, DT_I64);
    case SIG_BOOL:
        v->dt = DT_BOOL;
        return same_types(f, 0, DT_BOOL);
    case SIG_CMP:
        v->dt = DT_BOOL;
        return same_types(f, 0, DT_NONE);
    case SIG_SELECT:
        v->dt = v->args[1]->dt;
        if (first != DT_BOOL)
            return bad(f, "select takes a bool first, but this is %s", tt(f, v->args[0]));
        return same_types(f, 1, DT_NONE);
    case SIG_TOINT:
        v->dt = DT_I64;
        return same_types(f, 0, f->g->real);
    case SIG_TOREAL:
        v->dt = f->g->real;
        return same_types(f, 0, DT_I64);
    default:
        return bad(f, "%s is not elementwise", op_table[v->op].text);
    }
}

static bool infer_leaf(infer *f)
{
    value *v = f->v;
    if (v->op == OP_index || v->op == OP_dim) {
        v->dt = DT_I64;
        if (v->op == OP_dim && !v->dim)
            return bad(f, "a dim that is too large");
    } else if (v->op == OP_const) {
        if (v->dt != DT_I64 && v->dt != DT_BOOL && v->dt != f->g->real)
            return bad(f, "a constant of type %s in a graph of %s", dtype_text[v->dt],
                       dtype_text[f->g->real]);
    } else if (v->op == OP_history) {
        if (v->dt == DT_NONE || ((v->dt == DT_F32 || v->dt == DT_F64) && v->dt != f->g->real))
            return bad(f, "a history of type %s in a graph of %s", dtype_text[v->dt],
                       dtype_text[f->g->real]);
        if (v->n_bound != 1 || !value_has_ix(v, v->bound[0]))
            return bad(f, "a history's rows are one of its indices");
    } else {
        dtype dt = store_table[v->kind].value;
        v->dt = dt == DT_I64 || dt == DT_BOOL ? dt : f->g->real;
        if (v->n_family > v->n_ix)
            return bad(f, "a family of more axes than the tensor has");
    }
    for (uint32_t i = 0; i < v->n_ix; i++)
        vec_push(f->g->a, &f->ix, v->ix[i]);
    return distinct(f, v->ix, v->n_ix, "index");
}

static bool infer_read(infer *f)
{
    value *v = f->v;
    if (v->n_args == 0 || v->n_args - 1 != v->args[0]->n_ix)
        return bad(f, "%u index values for %s, which has %u indices", v->n_args ? v->n_args - 1 : 0,
                   v->n_args ? tt(f, v->args[0]) : "nothing", v->n_args ? v->args[0]->n_ix : 0);
    v->dt = v->args[0]->dt;
    for (uint32_t i = 1; i < v->n_args; i++) {
        if (v->args[i]->dt != DT_I64)
            return bad(f, "index value %u is %s; indices are i64", i, tt(f, v->args[i]));
        add_all(f, v->args[i], false);
    }
    return true;
}

static bool infer_join(infer *f)
{
    value *v = f->v;
    if (v->n_args == 0 || v->n_bound != v->n_args + 1)
        return bad(f, "a join needs parts, each with its index");
    add_ix(f, v->bound[0]);
    const dim *sum = dim_const(f->g->dims, 0);
    for (uint32_t i = 0; i < v->n_args; i++) {
        const ix *part = v->bound[i + 1];
        if (value_has_ix(v->args[i], v->bound[0]))
            return bad(f, "part %u of the join depends on the joined index %s", i + 1,
                       v->bound[0]->name);
        for (uint32_t k = 0; k < v->args[i]->n_ix; k++) {
            if (v->args[i]->ix[k] != part)
                add_ix(f, v->args[i]->ix[k]);
        }
        sum = dim_add(f->g->dims, sum, part->extent);
    }
    if (sum != v->bound[0]->extent)
        return bad(f, "the parts of the join are %s long together, but %s is %s",
                   sum ? dim_text(f->g->a, sum) : "too", v->bound[0]->name,
                   dim_text(f->g->a, v->bound[0]->extent));
    for (uint32_t i = 1; i < v->n_bound; i++) {
        if (ix_in(f->ix.v, (uint32_t)f->ix.n, v->bound[i]))
            return bad(f, "%s is a part's own index and also free in the join", v->bound[i]->name);
    }
    v->dt = v->args[0]->dt;
    return same_types(f, 0, DT_NONE);
}

static bool infer_reduce(infer *f)
{
    value *v = f->v;
    value *x = v->args[0];
    const char *name = reduce_table[v->kind].text;
    bool over_bool = v->kind == RED_any || v->kind == RED_all || v->kind == RED_count;
    if (over_bool                  ? x->dt != DT_BOOL
        : v->kind == RED_logsumexp ? x->dt != f->g->real
                                   : !numeric(x->dt))
        return bad(f, "reduce %s takes %s, but this is %s", name,
                   over_bool                  ? "bools"
                   : v->kind == RED_logsumexp ? "reals"
                                              : "numbers",
                   tt(f, x));
    op_sig sig = reduce_table[v->kind].result;
    v->dt = sig == SIG_SAME ? x->dt : sig == SIG_INT ? DT_I64 : DT_BOOL;
    return true;
}

static bool infer_append(infer *f)
{
    value *v = f->v;
    const value *h = v->args[0], *row = v->args[1];
    if (h->op != OP_history)
        return bad(f, "append takes a history first, but this is %s", op_table[h->op].text);
    const ix *step = v->bound[0];
    if (row->dt != h->dt)
        return bad(f, "a row of type %s for a history of type %s", tt(f, row), tt(f, h));
    if (step->extent != h->bound[0]->extent)
        return bad(f, "the history has %s rows, but %s runs over %s steps",
                   dim_text(f->g->a, h->bound[0]->extent), step->name,
                   dim_text(f->g->a, step->extent));
    bool fits = !value_has_ix(h, step);
    for (uint32_t i = 0; fits && i < row->n_ix; i++)
        fits = row->ix[i] == step || (value_has_ix(h, row->ix[i]) && row->ix[i] != h->bound[0]);
    if (!fits)
        return bad(f, "the row is %s; the history %s takes at most those indices with %s for %s",
                   tt(f, row), tt(f, h), step->name, h->bound[0]->name);
    v->dt = h->dt;
    for (uint32_t i = 0; i < h->n_ix; i++)
        vec_push(f->g->a, &f->ix, h->ix[i]);
    return true;
}

static bool infer_scan(infer *f)
{
    value *v = f->v;
    v->dt = DT_NONE;
    if (v->n_bound != 1)
        return bad(f, "a scan has one step index");
    for (uint32_t i = 0; i < v->n_args; i++) {
        const value *x = v->args[i];
        if (x->op != OP_append || x->args[0]->scan != v->scan || x->args[0]->kind != (int)i)
            return bad(f, "yield %u of the scan is not the append to its history %u", i + 1, i);
        if (x->bound[0] != v->bound[0])
            return bad(f, "yield %u is appended at %s, but the scan's step is %s", i + 1,
                       x->bound[0]->name, v->bound[0]->name);
    }
    return true;
}

static bool infer_result(infer *f)
{
    value *v = f->v;
    const value *s = v->args[0];
    if (s->op != OP_scan)
        return bad(f, "result takes a scan, but this is %s", op_table[s->op].text);
    if (v->kind < 0 || (uint32_t)v->kind >= s->n_args)
        return bad(f, "result %d of a scan with %u histories", v->kind, s->n_args);
    v->dt = s->args[v->kind]->dt;
    add_all(f, s->args[v->kind], false);
    return true;
}

/* One element for each index of score and predicate that it does not bind; what a stream has
 * besides comes with its part. */
static bool infer_online(infer *f)
{
    value *v = f->v;
    v->dt = DT_NONE;
    if (v->n_args == 0)
        return bad(f, "online takes a score");
    if (v->n_bound == 0)
        return bad(f, "online over no index");
    add_all(f, v->args[0], true);
    return same_types(f, 0, f->g->real) && distinct(f, v->bound, v->n_bound, "bound index");
}

static bool infer_part(infer *f)
{
    value *v = f->v;
    const value *on = v->args[0];
    const part_info *statistic = part_of_kind(v->kind);
    v->dt = f->g->real;
    if (on->op != OP_online)
        return bad(f, "part takes an online op, but this is %s", op_table[on->op].text);
    if (statistic && !(statistic->kinds >> on->kind & 1))
        return bad(f, "online %s has no %s", online_text[on->kind], statistic->text);
    if (!statistic && (v->kind < 0 || (uint32_t)v->kind + 1 >= on->n_args))
        return bad(f, "part %d of an online op with %u sum%s", v->kind, on->n_args - 1,
                   on->n_args == 2 ? "" : "s");
    if (v->kind == PART_weights) {
        add_all(f, on->args[0], false);
        for (uint32_t i = 0; on->where && i < on->where->n_ix; i++)
            add_ix(f, on->where->ix[i]);
        for (uint32_t i = 0; i < on->n_bound; i++)
            add_ix(f, on->bound[i]);
        return true;
    }
    add_all(f, on, false);
    for (uint32_t i = 0; !statistic && i < on->args[v->kind + 1]->n_ix; i++) {
        const ix *x = on->args[v->kind + 1]->ix[i];
        if (!ix_in(on->bound, on->n_bound, x))
            add_ix(f, x);
    }
    return true;
}

static bool infer_given(infer *f)
{
    value *v = f->v;
    v->dt = DT_BOOL;
    if (v->args[0]->op != OP_input || !v->args[0]->optional)
        return bad(f, "given takes an optional input");
    return true;
}

/* reduce, contract and normalisers: the indices they bind, and what is left of the operands'. */
static bool infer_bound(infer *f)
{
    value *v = f->v;
    bool norm = OP_HAS(v->op, T_NORM);
    for (uint32_t i = 0; norm && i < v->n_bound; i++) {
        if (!value_has_ix(v->args[0], v->bound[i]))
            return bad(f, "%s over %s, but %s does not depend on it", op_table[v->op].text,
                       v->bound[i]->name, tt(f, v->args[0]));
    }
    if (v->n_bound == 0)
        return bad(f, "%s over no index", op_table[v->op].text);
    for (uint32_t i = 0; i < v->n_args; i++)
        add_all(f, v->args[i], !norm);
    return distinct(f, v->bound, v->n_bound, "bound index");
}

static bool infer_by_sig(infer *f)
{
    value *v = f->v;
    switch (op_table[v->op].sig) {
    case SIG_LEAF:
        return infer_leaf(f);
    case SIG_READ:
        return infer_read(f);
    case SIG_JOIN:
        return infer_join(f);
    case SIG_REDUCE:
        return infer_reduce(f) && infer_bound(f);
    case SIG_APPEND:
        return infer_append(f);
    case SIG_RESULT:
        return infer_result(f);
    case SIG_ONLINE:
        return infer_online(f);
    case SIG_PART:
        return infer_part(f);
    case SIG_NONE:
        return infer_scan(f);
    default:
        break;
    }
    if (v->op == OP_dim || v->op == OP_index)
        return infer_leaf(f);
    if (v->op == OP_given)
        return infer_given(f);
    if (OP_HAS(v->op, T_BINDS | T_NORM)) {
        v->dt = f->g->real;
        return same_types(f, 0, f->g->real) && infer_bound(f);
    }
    for (uint32_t i = 0; i < v->n_args; i++)
        add_all(f, v->args[i], false);
    return infer_elem_type(f);
}

bool graph_infer(const graph *g, value *v, const char **error)
{
    infer f = {.g = g, .v = v};
    const op_info *info = &op_table[v->op];
    bool ok = info->n_args < 0 || v->n_args == (uint32_t)info->n_args;
    if (!ok)
        bad(&f, "%s takes %d operand%s, not %u", info->text, info->n_args,
            info->n_args == 1 ? "" : "s", v->n_args);
    for (uint32_t i = 0; ok && i < v->n_args; i++) {
        ok = v->args[i]->dt != DT_NONE || v->op == OP_result || v->op == OP_part;
        if (!ok)
            bad(&f, "%s is read by `%s`", v->args[i]->op == OP_scan ? "a scan" : "an online op",
                op_table[v->args[i]->op == OP_scan ? OP_result : OP_part].text);
    }
    if (ok && v->where && !op_takes_where(v->op))
        ok = bad(&f, "%s takes no `where`", info->text);
    if (ok && v->where && v->where->dt != DT_BOOL)
        ok = bad(&f, "`where` takes a bool, but this is %s", type_text(g->a, v->where));
    ok = ok && infer_by_sig(&f);
    if (ok && v->where)
        add_all(&f, v->where, OP_HAS(v->op, T_BINDS));
    v->n_ix = (uint32_t)f.ix.n;
    v->ix = f.ix.v;
    *error = f.error;
    return ok;
}
