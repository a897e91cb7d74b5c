/* read_expr.c: words and expressions of graph text. */
#include <math.h>
#include <string.h>

#include "ir/graph/read.h"

diag *read_error(reader *r, size_t lo, size_t hi, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(r->scratch, fmt, ap);
    va_end(ap);
    span sp = {.file = r->file, .lo = (uint32_t)lo, .hi = (uint32_t)(hi > lo ? hi : lo + 1)};
    if (sp.hi > r->n)
        sp.hi = (uint32_t)r->n;
    if (sp.lo > sp.hi)
        sp.lo = sp.hi;
    return diag_error(r->ds, sp, "%s", text);
}

/* --- words --- */

void read_blanks(reader *r)
{
    while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\t' || r->s[r->at] == '\r'))
        r->at++;
}

bool read_end(reader *r)
{
    read_blanks(r);
    if (r->at < r->n && r->s[r->at] == ';') {
        while (r->at < r->n && r->s[r->at] != '\n')
            r->at++;
    }
    return r->at == r->n || r->s[r->at] == '\n';
}

static bool next_is(const reader *r, const char *text)
{
    size_t len = strlen(text);
    return r->n - r->at >= len && memcmp(r->s + r->at, text, len) == 0;
}

bool read_take(reader *r, const char *text)
{
    read_blanks(r);
    if (!next_is(r, text))
        return false;
    r->at += strlen(text);
    return true;
}

static bool digit_at(const reader *r, size_t at)
{
    return at < r->n && r->s[at] >= '0' && r->s[at] <= '9';
}

/* The plain word at the place, not taken; length 0 where there is none. */
static size_t peek_word(reader *r, const char **word)
{
    read_blanks(r);
    if (r->at < r->n && r->s[r->at] == '\'')
        return 0;
    return name_scan(r->m->names, r->scratch, r->s + r->at, r->n - r->at, word);
}

bool read_word_is(reader *r, const char *word)
{
    const char *found = NULL;
    size_t len = peek_word(r, &found);
    if (len == 0 || strcmp(found, word) != 0)
        return false;
    r->at += len;
    return true;
}

bool read_expect(reader *r, const char *text)
{
    bool word = text[0] >= 'a' && text[0] <= 'z';
    if (word ? read_word_is(r, text) : read_take(r, text))
        return true;
    read_error(r, r->at, r->at + 1, "expected `%s`", text);
    return false;
}

const char *read_name(reader *r, const char *what)
{
    const char *name = NULL;
    read_blanks(r);
    size_t len = name_scan(r->m->names, r->scratch, r->s + r->at, r->n - r->at, &name);
    if (len == 0) {
        read_error(r, r->at, r->at + 1, "expected %s", what);
        return NULL;
    }
    r->at += len;
    return name;
}

static int hex(const reader *r, size_t at)
{
    char c = at < r->n ? r->s[at] : '?';
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* From behind the opening quote to behind the closing one; the text goes to b (if any). */
static bool scan_string(const reader *r, size_t *at, strbuf *b)
{
    for (size_t i = *at; i < r->n && r->s[i] != '\n'; i++) {
        char c = r->s[i];
        if (c == '"') {
            *at = i + 1;
            return true;
        }
        if (c == '\\' && i + 1 < r->n && (r->s[i + 1] == '"' || r->s[i + 1] == '\\')) {
            c = r->s[++i];
        } else if (c == '\\') {
            if (i + 1 >= r->n || r->s[i + 1] != 'x' || hex(r, i + 2) < 0 || hex(r, i + 3) < 0)
                return false;
            c = (char)(hex(r, i + 2) * 16 + hex(r, i + 3));
            i += 3;
        }
        if (c == '\0')
            return false;
        if (b)
            sb_putn(b, &c, 1);
    }
    return false;
}

bool read_string(reader *r, const char **out)
{
    strbuf b = {.a = r->scratch};
    read_blanks(r);
    size_t start = r->at, at = start + 1;
    if (!next_is(r, "\"")) {
        read_error(r, start, start + 1, "expected a text in double quotes");
        return false;
    }
    if (!scan_string(r, &at, &b)) {
        diag *d = read_error(r, start, start + 1, "this text does not end");
        diag_help(d, "close it with `\"`; within, \\\" \\\\ and \\xNN are escapes");
        return false;
    }
    r->at = at;
    *out = intern(r->m->names, sb_text(&b));
    return true;
}

bool read_int(reader *r, int64_t *out, const char *what)
{
    read_blanks(r);
    size_t start = r->at;
    int64_t x = 0;
    while (digit_at(r, r->at)) {
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_sub_overflow(x, r->s[r->at] - '0', &x)) {
            read_error(r, start, r->at + 1, "this number does not fit in 64 bits");
            return false;
        }
        r->at++;
    }
    if (r->at == start || x == INT64_MIN) {
        read_error(r, start, r->at, r->at == start ? "expected %s" : "%s does not fit in 64 bits",
                   what);
        return false;
    }
    *out = -x;
    return true;
}

const dim *read_dim(reader *r)
{
    const char *error = NULL;
    size_t used = 0, start;
    read_blanks(r);
    start = r->at;
    const dim *d = dim_parse(r->g->dims, r->scratch, r->s + r->at, r->n - r->at, &used, &error);
    r->at += used;
    if (!d) {
        const char *word = NULL;
        size_t len = peek_word(r, &word);
        read_error(r, r->at, r->at + len, "%s", error);
        return NULL;
    }
    if (!dim_proved_le(r->g->dims, d, d)) { /* also what subtraction could not hold */
        read_error(r, start, r->at, "this dim is too large");
        return NULL;
    }
    return d;
}

/* --- indices --- */

/* Whether what follows `name:` is the type of the line, `f32<` or `<`, and not the name's extent.
 */
static bool at_type(reader *r)
{
    const char *word = NULL;
    size_t len = peek_word(r, &word);
    return r->at + len < r->n && r->s[r->at + len] == '<';
}

static bool declare(reader *r, const char *name, size_t lo, size_t hi)
{
    const dim *extent = read_dim(r);
    if (!extent)
        return false;
    for (size_t i = 0; i < r->g->symbols.n; i++) {
        if (r->g->symbols.v[i] == name) {
            read_error(r, lo, hi, "%s is a dim and cannot be an index too", name);
            return false;
        }
    }
    if (!graph_ix(r->g, name, extent)) {
        read_error(r, lo, hi, "index %s has two extents: %s here and %s above", name,
                   dim_text(r->scratch, extent),
                   dim_text(r->scratch, graph_find_ix(r->g, name)->extent));
        return false;
    }
    return true;
}

bool read_declare_indices(reader *r)
{
    size_t start = r->at;
    bool ok = true;
    while (ok && !read_end(r)) {
        const char *name = NULL;
        size_t lo = r->at;
        size_t len = name_scan(r->m->names, r->scratch, r->s + lo, r->n - lo, &name);
        if (len > 0 && lo > 0 && r->s[lo - 1] == '%') {
            r->at += len; /* a value, not an index */
        } else if (len > 0) {
            r->at += len;
            if (read_take(r, ":") && !at_type(r))
                ok = declare(r, name, lo, lo + len);
        } else if (r->s[lo] == '"') {
            size_t at = lo + 1;
            r->at = scan_string(r, &at, NULL) ? at : lo + 1;
        } else {
            r->at++;
        }
    }
    r->at = start;
    return ok;
}

static const char *suggest(reader *r, const char *name)
{
    VEC(const char *) known = {0};
    for (size_t i = 0; i < r->g->ixs.n; i++)
        vec_push(r->scratch, &known, r->g->ixs.v[i]->name);
    for (size_t i = 0; i < r->g->symbols.n; i++)
        vec_push(r->scratch, &known, r->g->symbols.v[i]);
    return str_nearest(r->scratch, name, known.v, known.n);
}

static void unknown_name(reader *r, const char *name, size_t lo, bool index)
{
    const char *near = suggest(r, name);
    diag *d = read_error(r, lo, r->at, "unknown %s %s", index ? "index" : "index or dim", name);
    if (near)
        diag_help(d, "is it `%s`?", near);
    else
        diag_help(d, "give an index its extent where it is bound: `over %s:EXTENT`", name);
}

const ix *read_index(reader *r)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *name = read_name(r, "an index");
    const ix *i = name ? graph_find_ix(r->g, name) : NULL;
    if (name && !i)
        unknown_name(r, name, lo, true);
    size_t behind = r->at;
    if (i && read_take(r, ":")) {
        if (at_type(r))
            r->at = behind;
        else if (!read_dim(r))
            return NULL;
    }
    return i;
}

/* --- values by name --- */

value *read_ref(reader *r)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *name = NULL;
    if (!next_is(r, "%")) {
        read_error(r, lo, lo + 1, "expected a value: `%%name`");
        return NULL;
    }
    r->at++;
    size_t len = 0;
    while (digit_at(r, r->at + len))
        len++;
    if (len > 0)
        name = intern_n(r->m->names, r->s + r->at, len);
    else
        len = name_scan(r->m->names, r->scratch, r->s + r->at, r->n - r->at, &name);
    r->at += len;
    if (len == 0) {
        read_error(r, lo, r->at, "expected a value's name behind `%%`");
        return NULL;
    }
    uintptr_t found = name_map_get(&r->values, name);
    if (found == 0) {
        diag *d = read_error(r, lo, r->at, "unknown value %%%s", name);
        const char *near = str_nearest(r->scratch, name, r->value_names.v, r->value_names.n);
        if (near)
            diag_help(d, "is it `%%%s`?", near);
    }
    return found > 1 ? (value *)(found - 1) : NULL;
}

/* --- expressions --- */

static value *read_number(reader *r, bool negative)
{
    size_t lo = r->at, at = lo;
    bool real = false;
    while (digit_at(r, at))
        at++;
    if (at < r->n && r->s[at] == '.' && digit_at(r, at + 1)) {
        real = true;
        for (at++; digit_at(r, at);)
            at++;
    }
    if (at < r->n && r->s[at] == 'e') {
        size_t e = at + 1;
        if (e < r->n && (r->s[e] == '-' || r->s[e] == '+'))
            e++;
        real = real || digit_at(r, e);
        while (digit_at(r, e))
            at = ++e;
    }
    if (real) {
        double f = 0;
        str_to_double(r->scratch, r->s + lo, at - lo, &f);
        r->at = at;
        return graph_real(r->g, negative ? -f : f);
    }
    uint64_t x = 0;
    for (; r->at < at; r->at++) {
        if (__builtin_mul_overflow(x, UINT64_C(10), &x) ||
            __builtin_add_overflow(x, (uint64_t)(r->s[r->at] - '0'), &x) ||
            x > (uint64_t)INT64_MAX + negative) {
            read_error(r, lo, at, "this number does not fit in 64 bits");
            return NULL;
        }
    }
    return graph_int(r->g, negative ? (int64_t)(0 - x) : (int64_t)x);
}

/* inf, nan, true, false; NULL where the next word is none of them. */
static value *read_word_const(reader *r, bool negative)
{
    if (read_word_is(r, "inf"))
        return graph_real(r->g, negative ? -INFINITY : INFINITY);
    if (read_word_is(r, "nan"))
        return graph_real(r->g, NAN);
    if (!negative && read_word_is(r, "true"))
        return graph_bool(r->g, true);
    if (!negative && read_word_is(r, "false"))
        return graph_bool(r->g, false);
    return NULL;
}

static value *apply(reader *r, op_id op, value *a, value *b, size_t lo)
{
    value *args[2] = {a, b};
    const char *error = NULL;
    if (!a || (op_table[op].n_args == 2 && !b))
        return NULL;
    if (op_table[op].sig == SIG_SAME && a->dt != DT_I64 && a->dt != DT_BOOL) {
        diag *d = read_error(r, lo, r->at, "infix `%s` is for ints, but this is %s",
                             infix_table[op].text, type_text(r->scratch, a));
        diag_help(d, "give the result a line: `%%name = %s ...`", op_table[op].text);
        return NULL;
    }
    value proto = {.op = op, .n_args = (uint32_t)op_table[op].n_args, .args = args};
    value *v = graph_make(r->g, &proto, &error);
    if (!v)
        read_error(r, lo, r->at, "%s", error);
    return v;
}

static value *read_primary(reader *r)
{
    size_t lo = r->at;
    if (read_take(r, "(")) {
        value *v = read_expr(r, 0);
        return v && read_expect(r, ")") ? v : NULL;
    }
    if (read_take(r, "{")) {
        const dim *d = read_dim(r);
        return d && read_expect(r, "}") ? graph_dim(r->g, d) : NULL;
    }
    if (next_is(r, "%"))
        return read_ref(r);
    if (digit_at(r, r->at))
        return read_number(r, false);
    value *word = read_word_const(r, false);
    if (word)
        return word;
    const char *name = read_name(r, "a value, an index, a dim or a number");
    if (!name)
        return NULL;
    for (size_t i = 0; i < r->g->symbols.n; i++) {
        if (r->g->symbols.v[i] == name)
            return graph_dim(r->g, dim_sym(r->g->dims, name));
    }
    const ix *i = graph_find_ix(r->g, name);
    if (!i)
        unknown_name(r, name, lo, false);
    return i ? graph_index(r->g, i) : NULL;
}

static value *read_unary(reader *r)
{
    read_blanks(r);
    size_t lo = r->at;
    if (r->depth >= READ_MAX_DEPTH) {
        read_error(r, lo, lo + 1, "the expression nests too deep");
        return NULL;
    }
    r->depth++;
    value *v = NULL;
    if (read_word_is(r, "not")) {
        v = apply(r, OP_not, read_expr(r, PREC_NOT), NULL, lo);
    } else if (read_take(r, "-")) {
        if (digit_at(r, r->at))
            v = read_number(r, true);
        else if ((v = read_word_const(r, true)) == NULL)
            v = apply(r, OP_neg, read_expr(r, PREC_NEG), NULL, lo);
    } else {
        v = read_primary(r);
    }
    r->depth--;
    return v;
}

/* The binary operator that comes next, not taken; its length, 0 for none. `<=` goes before `<`. */
static size_t peek_operator(reader *r, op_id *op)
{
    const char *word = NULL;
    size_t best = 0, len = peek_word(r, &word);
    for (int i = 0; i < OP_COUNT; i++) {
        const char *text = infix_table[i].text;
        if (!text || op_table[i].n_args != 2)
            continue;
        size_t n = strlen(text);
        bool is = len > 0 ? strcmp(word, text) == 0 : next_is(r, text);
        if (is && n > best) {
            best = n;
            *op = (op_id)i;
        }
    }
    return best;
}

value *read_expr(reader *r, int prec)
{
    read_blanks(r);
    size_t lo = r->at, len;
    value *v = read_unary(r);
    op_id op = OP_or, before = OP_COUNT;
    while (v && (len = peek_operator(r, &op)) > 0 && infix_table[op].prec >= prec) {
        if (before != OP_COUNT && infix_table[before].prec == PREC_CMP &&
            infix_table[op].prec == PREC_CMP) {
            diag *d = read_error(r, r->at, r->at + len, "comparisons do not chain");
            diag_help(d, "write `a <= b and b <= c`");
            return NULL;
        }
        r->at += len;
        v = apply(r, op, v, read_expr(r, infix_table[op].prec + 1), lo);
        before = op;
    }
    return v;
}
