/* read_expr.c: expressions of the kernel text. */
#include <math.h>
#include <string.h>

#include "ir/kernel/names.h"
#include "ir/kernel/reader.h"

static const kexpr *read_number(reader *r, bool negative)
{
    const char *s = r->lex.text + r->t.lo;
    size_t n = r->t.hi - r->t.lo;
    const kexpr *e = NULL;
    if (r->t.kind == TK_NAME) {
        double f = strcmp(r->t.name, "inf") == 0 ? (double)INFINITY : (double)NAN;
        e = kx_real(r->k, negative ? -f : f);
    } else if (r->t.kind == TK_REAL) {
        double f = 0;
        str_to_double(r->lex.a, s, n, &f);
        e = kx_real(r->k, negative ? -f : f);
    } else {
        int64_t i = 0; /* built downwards: the smallest int has no positive twin */
        for (size_t j = 0; j < n; j++) {
            if (__builtin_mul_overflow(i, 10, &i) || __builtin_sub_overflow(i, s[j] - '0', &i)) {
                reader_error(r, "the number does not fit 64 bits");
                return NULL;
            }
        }
        if (!negative && i == INT64_MIN) {
            reader_error(r, "the number does not fit 64 bits");
            return NULL;
        }
        e = kx_int(r->k, negative ? i : -i);
    }
    reader_next(r);
    return e;
}

static bool is_plain_word(const reader *r)
{
    return r->t.kind == TK_NAME && r->lex.text[r->t.lo] != '\'';
}

static bool at_number(const reader *r)
{
    return r->t.kind == TK_INT || r->t.kind == TK_REAL || reader_at_word(r, "inf") ||
           reader_at_word(r, "nan");
}

static op_id find_op(const char *name)
{
    for (op_id op = 0; op < OP_COUNT; op++) {
        if (OP_HAS(op, T_ELEM) && strcmp(op_table[op].text, name) == 0)
            return op;
    }
    return OP_COUNT;
}

/* op "(" e {"," e} ")", from the parenthesis on. */
static const kexpr *read_call(reader *r, op_id op, bool overflow, span at)
{
    const kexpr *args[3] = {NULL};
    dtype types[3] = {DT_NONE};
    int n = 0, want = op_table[op].n_args;
    reader_expect(r, '(');
    do {
        if (n == want) {
            reader_error(r, "%s takes %d operands", op_table[op].text, want);
            return NULL;
        }
        args[n] = reader_expr(r);
        if (!args[n])
            return NULL;
        types[n] = args[n]->dt;
        n++;
    } while (reader_take(r, ','));
    if (n < want) {
        reader_error(r, "%s takes %d operands", op_table[op].text, want);
        return NULL;
    }
    reader_expect(r, ')');
    if (r->failed)
        return NULL;
    dtype dt = kernel_op_type(r->k, op, types);
    if (dt == DT_NONE || (overflow && dt != DT_I64)) {
        diag *d = diag_error(r->ds, at, "%s has no meaning over %s", op_table[op].text,
                             dtype_text[types[0]]);
        for (int i = 0; i < n; i++)
            diag_note(d, at, "operand %d is %s", i + 1, dtype_text[types[i]]);
        r->failed = true;
        return NULL;
    }
    return overflow ? kx_overflow(r->k, op, args) : kx_op(r->k, op, args);
}

static const kexpr *read_given(reader *r)
{
    reader_expect(r, '(');
    if (r->failed)
        return NULL;
    meaning *m = r->t.kind == TK_NAME ? reader_find(r, r->t.name) : NULL;
    if (!m || !m->buf || !m->buf->optional) {
        reader_error(r, "given asks about an optional input");
        return NULL;
    }
    reader_next(r);
    reader_expect(r, ')');
    return r->failed ? NULL : kx_given(r->k, m->buf);
}

static const kexpr *unknown_name(reader *r)
{
    const char **known = ARENA_ARRAY(r->lex.a, const char *, r->n + r->k->symbols.n);
    size_t n = 0;
    for (size_t i = 0; i < r->cap; i++) {
        if (r->slots[i].name && r->slots[i].visible)
            known[n++] = r->slots[i].name;
    }
    for (size_t i = 0; i < r->k->symbols.n; i++)
        known[n++] = r->k->symbols.v[i];
    meaning *hidden = reader_find(r, r->t.name);
    const char *near = str_nearest(r->lex.a, r->t.name, known, n);
    diag *d = reader_error(r, hidden ? "%s is not visible here" : "unknown name %s", r->t.name);
    if (hidden)
        diag_help(d, "A variable can be used until the end of the block that defines it.");
    else if (near)
        diag_help(d, "Is it %s?", near);
    return NULL;
}

static const kexpr *read_name(reader *r)
{
    const char *name = r->t.name;
    span at = reader_span(r);
    meaning *m = reader_find(r, name);
    if (m && m->visible) {
        reader_next(r);
        if (m->var)
            return kx_var(r->k, m->var);
        const kexpr **index = reader_index(r, m->buf);
        return index ? kx_load(r->k, m->buf, index) : NULL;
    }
    bool call = r->t.hi < r->lex.size && r->lex.text[r->t.hi] == '(';
    bool is_dim = r->k->rows == name;
    for (size_t i = 0; i < r->k->symbols.n && !is_dim; i++)
        is_dim = r->k->symbols.v[i] == name;
    if (is_dim && !call) {
        reader_next(r);
        return kx_dim(r->k, dim_sym(r->k->dims, name));
    }
    if (is_plain_word(r) && call) {
        bool overflow = strncmp(name, "overflows.", 10) == 0;
        op_id op = find_op(overflow ? name + 10 : name);
        if (op != OP_COUNT && (!overflow || kernel_can_overflow(op))) {
            reader_next(r);
            return read_call(r, op, overflow, at);
        }
    }
    return unknown_name(r);
}

static const kexpr *read_primary(reader *r)
{
    bool minus = reader_take(r, '-');
    if (at_number(r) && (is_plain_word(r) || r->t.kind != TK_NAME))
        return read_number(r, minus);
    if (minus) {
        diag_help(reader_error(r, "expected a number behind `-`"), "Write neg(...) for the rest.");
        return NULL;
    }
    if (reader_at(r, '{')) {
        reader_next(r);
        const dim *d = reader_dim(r);
        if (d)
            reader_expect(r, '}');
        return r->failed ? NULL : kx_dim(r->k, d);
    }
    if (r->t.kind != TK_NAME) {
        reader_error(r, "expected an expression");
        return NULL;
    }
    if (is_plain_word(r) && (reader_at_word(r, "true") || reader_at_word(r, "false"))) {
        bool b = reader_at_word(r, "true");
        reader_next(r);
        return kx_bool(r->k, b);
    }
    if (is_plain_word(r) && r->t.hi < r->lex.size && r->lex.text[r->t.hi] == '(' &&
        reader_take_word(r, "given"))
        return read_given(r);
    return read_name(r);
}

const kexpr *reader_expr(reader *r)
{
    if (!reader_enter(r))
        return NULL;
    const kexpr *e = read_primary(r);
    r->depth--;
    return r->failed ? NULL : e;
}

const kexpr *reader_typed(reader *r, dtype dt, const char *what)
{
    span at = reader_span(r);
    const kexpr *e = reader_expr(r);
    if (!e || e->dt == dt)
        return e;
    at.hi = r->end;
    diag_error(r->ds, at, "%s must be %s, this is %s", what, dtype_text[dt], dtype_text[e->dt]);
    r->failed = true;
    return NULL;
}

const kexpr **reader_index(reader *r, const kbuf *b)
{
    const kexpr **index = ARENA_ARRAY(r->k->a, const kexpr *, b->rank);
    reader_expect(r, '[');
    for (uint32_t i = 0; i < b->rank && !r->failed; i++) {
        if (i)
            reader_expect(r, ',');
        if (!r->failed)
            index[i] = reader_typed(r, DT_I64, "an index");
    }
    if (!r->failed && !reader_at(r, ']'))
        reader_error(r, "buffer %s has %u axes", b->name, b->rank);
    else
        reader_expect(r, ']');
    return r->failed ? NULL : index;
}
