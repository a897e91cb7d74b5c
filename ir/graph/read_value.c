/* read_value.c: the ops of graph text: everything between `=` and the end of a value's line. */
#include <string.h>

#include "ir/graph/read.h"

typedef VEC(value *) operands;
typedef VEC(const ix *) indices;

bool read_scan_number(reader *r, uint32_t *text)
{
    int64_t n = 0;
    read_blanks(r);
    size_t lo = r->at;
    if (!read_expect(r, "#") || !read_int(r, &n, "a scan's number"))
        return false;
    if (n > 1000000) {
        read_error(r, lo, r->at, "a scan's number is at most 1000000");
        return false;
    }
    *text = (uint32_t)n;
    return true;
}

uint32_t read_find_scan(const reader *r, uint32_t text)
{
    for (size_t i = 0; i < r->scan_text.n; i++) {
        if (r->scan_text.v[i] == text)
            return (uint32_t)i;
    }
    return UINT32_MAX;
}

bool read_store(reader *r, store_type *st)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *word = read_name(r, "a store type");
    if (!word)
        return false;
    if (find_store(word, st))
        return true;
    const char *known[ST_COUNT];
    for (int i = 0; i < ST_COUNT; i++)
        known[i] = store_table[i].text;
    const char *near = str_nearest(r->scratch, word, known, ST_COUNT);
    diag *d = read_error(r, lo, r->at, "unknown store type %s", word);
    diag_help(d, near ? "is it `%s`?" : "known are f32, f64, f16, bf16, i64, i32, u8 and bool",
              near);
    return false;
}

bool read_family(reader *r, uint32_t *n_family, const char **from)
{
    int64_t n = 0;
    if (read_word_is(r, "family")) {
        if (!read_int(r, &n, "the number of family axes"))
            return false;
        *n_family = n > 1000 ? 1000 : (uint32_t)n;
    }
    return !read_word_is(r, "from") || read_string(r, from);
}

static bool read_list(reader *r, operands *to)
{
    do {
        value *x = read_expr(r, 0);
        if (!x)
            return false;
        vec_push(r->scratch, to, x);
    } while (read_take(r, ","));
    return true;
}

static bool read_over(reader *r, indices *bound)
{
    if (!read_expect(r, "over"))
        return false;
    do {
        const ix *i = read_index(r);
        if (!i)
            return false;
        vec_push(r->scratch, bound, i);
    } while (read_take(r, ","));
    return true;
}

static bool read_interface(reader *r, value *proto)
{
    store_type st = ST_F32;
    if (!read_string(r, &proto->name) || !read_store(r, &st))
        return false;
    proto->kind = (int)st;
    proto->optional = proto->op == OP_input && read_word_is(r, "optional");
    return read_family(r, &proto->n_family, &proto->source);
}

static bool read_read(reader *r, operands *args)
{
    value *x = read_ref(r);
    if (!x || !read_expect(r, "["))
        return false;
    vec_push(r->scratch, args, x);
    if (read_take(r, "]"))
        return true;
    return read_list(r, args) && read_expect(r, "]");
}

static bool read_join(reader *r, operands *args, indices *bound)
{
    const ix *joined = read_index(r);
    if (!joined || !read_expect(r, "of"))
        return false;
    vec_push(r->scratch, bound, joined);
    do {
        const ix *part = NULL;
        value *x = NULL;
        if (!read_expect(r, "(") || !(part = read_index(r)) || !(x = read_expr(r, 0)) ||
            !read_expect(r, ")"))
            return false;
        vec_push(r->scratch, args, x);
        vec_push(r->scratch, bound, part);
    } while (read_take(r, ","));
    return true;
}

static bool read_history(reader *r, value *proto, indices *bound)
{
    uint32_t text = 0;
    int64_t slot = 0;
    read_blanks(r);
    size_t lo = r->at;
    if (!read_scan_number(r, &text))
        return false;
    proto->scan = read_find_scan(r, text);
    bool inside = false;
    for (size_t i = 0; i < r->open.n; i++)
        inside = inside || (!r->open.v[i].poisoned && r->open.v[i].scan == proto->scan);
    if (proto->scan == UINT32_MAX || !inside) {
        read_error(r, lo, r->at, "a history of scan #%u outside its region", text);
        return false;
    }
    if (!read_int(r, &slot, "the history's slot") || !read_string(r, &proto->name) ||
        !read_expect(r, "rows"))
        return false;
    proto->kind = slot > 1000000 ? 1000000 : (int)slot;
    const ix *row = read_index(r);
    vec_push(r->scratch, bound, row);
    return row != NULL;
}

static bool read_result(reader *r, value *proto, operands *args)
{
    int64_t slot = 0;
    value *s = read_ref(r);
    if (!s || !read_int(r, &slot, "the number of the history"))
        return false;
    vec_push(r->scratch, args, s);
    proto->kind = slot > 1000000 ? 1000000 : (int)slot;
    return true;
}

/* `softmax %s over j`; what is summed stands behind the predicate. */
static bool read_online(reader *r, value *proto, operands *args, indices *bound)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *word = read_name(r, "a kind of online op");
    if (!word)
        return false;
    if (!find_online(word, &proto->kind)) {
        diag *d = read_error(r, lo, r->at, "unknown kind of online op %s", word);
        diag_help(d, "known are softmax, normalize and plain");
        return false;
    }
    value *score = read_expr(r, 0);
    if (!score)
        return false;
    vec_push(r->scratch, args, score);
    return read_over(r, bound);
}

static bool read_part(reader *r, value *proto, operands *args)
{
    value *on = read_ref(r);
    int64_t stream = 0;
    if (!on)
        return false;
    vec_push(r->scratch, args, on);
    read_blanks(r);
    size_t lo = r->at;
    if (lo < r->n && r->s[lo] >= '0' && r->s[lo] <= '9') {
        if (!read_int(r, &stream, "the number of the sum"))
            return false;
        proto->kind = stream > 1000000 ? 1000000 : (int)stream;
        return true;
    }
    const char *word = read_name(r, "the number of a sum or a statistic");
    if (!word)
        return false;
    if (find_part(word, &proto->kind))
        return true;
    diag *d = read_error(r, lo, r->at, "an online op has no part %s", word);
    diag_help(d, "it has its sums, 0 upwards, and weights, lse, max and sum");
    return false;
}

static bool read_leaf(reader *r, value *proto)
{
    value *x = read_expr(r, 0);
    if (!x)
        return false;
    if (x->op != proto->op) {
        read_error(r, r->at, r->at + 1, "expected %s", op_table[proto->op].meaning);
        return false;
    }
    *proto = *x;
    return true;
}

static bool read_reduce_kind(reader *r, value *proto)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *word = read_name(r, "a kind of reduction");
    if (!word)
        return false;
    if (find_reduce(word, &proto->kind))
        return true;
    const char *known[RED_COUNT];
    for (int i = 0; i < RED_COUNT; i++)
        known[i] = reduce_table[i].text;
    const char *near = str_nearest(r->scratch, word, known, RED_COUNT);
    diag *d = read_error(r, lo, r->at, "unknown kind of reduction %s", word);
    if (near)
        diag_help(d, "is it `%s`?", near);
    return false;
}

/* What stands between the op's word and `where`. */
static bool read_parts(reader *r, value *proto, operands *args, indices *bound)
{
    switch (proto->op) {
    case OP_const:
    case OP_dim:
    case OP_index:
        return read_leaf(r, proto);
    case OP_input:
    case OP_param:
        return read_interface(r, proto);
    case OP_read:
        return read_read(r, args);
    case OP_join:
        return read_join(r, args, bound);
    case OP_history:
        return read_history(r, proto, bound);
    case OP_result:
        return read_result(r, proto, args);
    case OP_append:
        if (!read_list(r, args) || !read_expect(r, "at"))
            return false;
        vec_push(r->scratch, bound, read_index(r));
        return bound->v[0] != NULL;
    case OP_online:
        return read_online(r, proto, args, bound);
    case OP_part:
        return read_part(r, proto, args);
    case OP_reduce:
        if (!read_reduce_kind(r, proto))
            return false;
        break;
    default:
        break;
    }
    return read_list(r, args) && (!OP_HAS(proto->op, T_BINDS | T_NORM) || read_over(r, bound));
}

/* An online op has indices, but no element type. */
static bool read_type(reader *r, op_id op, dtype *dt, indices *list)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *word = op == OP_online ? "none" : read_name(r, "an element type");
    if (!word)
        return false;
    if (!find_dtype(word, dt) || (*dt == DT_NONE && op != OP_online)) {
        read_error(r, lo, r->at, "unknown element type %s; known are f32, f64, i64 and bool", word);
        return false;
    }
    if (!read_expect(r, "<"))
        return false;
    if (read_take(r, ">"))
        return true;
    do {
        const ix *i = read_index(r);
        if (!i)
            return false;
        vec_push(r->scratch, list, i);
    } while (read_take(r, ","));
    return read_expect(r, ">");
}

static bool same_type(const value *v, dtype dt, const indices *list)
{
    bool same = v->dt == dt && v->n_ix == list->n;
    for (uint32_t i = 0; same && i < v->n_ix; i++)
        same = v->ix[i] == list->v[i];
    return same;
}

value *read_value_body(reader *r, op_id op, size_t start)
{
    value proto = {.op = op};
    operands args = {0};
    indices bound = {0}, list = {0};
    dtype dt = DT_NONE;
    if (!read_declare_indices(r) || !read_parts(r, &proto, &args, &bound))
        return NULL;
    if (read_word_is(r, "where")) {
        proto.where = read_expr(r, 0);
        if (!proto.where)
            return NULL;
    }
    if (op == OP_online && read_word_is(r, "sum") && !read_list(r, &args))
        return NULL;
    if (!read_expect(r, ":"))
        return NULL;
    read_blanks(r);
    size_t type_at = r->at;
    if (!read_type(r, op, &dt, &list))
        return NULL;
    size_t type_end = r->at;
    if (op == OP_input || op == OP_param || op == OP_history) { /* these have their type stated */
        proto.ix = list.v;
        proto.n_ix = (uint32_t)list.n;
        proto.dt = op == OP_history ? dt : DT_NONE;
    }
    proto.args = args.v;
    proto.n_args = (uint32_t)args.n;
    proto.bound = bound.v;
    proto.n_bound = (uint32_t)bound.n;
    const char *error = NULL;
    value *v = graph_make(r->g, &proto, &error);
    if (!v) {
        read_error(r, start, r->at, "%s", error);
        return NULL;
    }
    if (!same_type(v, dt, &list)) {
        strbuf b = {.a = r->scratch};
        type_print(&b, dt, list.v, (uint32_t)list.n);
        read_error(r, type_at, type_end, "the type is %s, but its line says %s",
                   type_text(r->scratch, v), sb_text(&b));
        return NULL;
    }
    return v;
}
