/* read.c: graph text to modules, line by line. A wrong line is reported and skipped; what it would
 * have defined counts as known, so that one fault gives one report. Expressions and ops are in
 * read_expr.c and read_value.c. */
#include "ir/graph/read.h"

#include <string.h>

#include "ir/graph/scratch.h"

/* --- lines --- */

/* To the next line that says something; false at the end of the text. */
static bool next_line(reader *r)
{
    while (read_end(r)) {
        if (r->at == r->n)
            return false;
        r->at++;
    }
    return true;
}

/* Gives up the rest of the line; true where it ends with `{`. */
static bool skip_line(reader *r)
{
    char last = 0;
    for (; r->at < r->n && r->s[r->at] != '\n' && r->s[r->at] != ';'; r->at++) {
        if (r->s[r->at] != ' ' && r->s[r->at] != '\t' && r->s[r->at] != '\r')
            last = r->s[r->at];
    }
    read_end(r);
    return last == '{';
}

static bool line_done(reader *r)
{
    if (read_end(r))
        return true;
    read_error(r, r->at, r->at + 1, "expected the end of the line");
    return false;
}

/* --- values --- */

static bool all_digits(const char *s)
{
    return s[strspn(s, "0123456789")] == '\0';
}

static void define(reader *r, const char *name, value *v, size_t lo, size_t hi)
{
    uintptr_t *known = name_map_at(&r->values, name);
    if (*known) {
        read_error(r, lo, hi, "%%%s is defined twice", name);
        return;
    }
    *known = v ? (uintptr_t)v + 1 : 1;
    vec_push(r->scratch, &r->value_names, name);
    if (!v)
        return;
    if (!v->hint && !all_digits(name))
        v->hint = name;
    if (v->at.file == 0)
        v->at = (span){.file = r->file, .lo = (uint32_t)lo, .hi = (uint32_t)hi};
}

/* `scan #n t [backward] {` behind the op's word. */
static bool read_scan_head(reader *r, const char *name, size_t lo)
{
    uint32_t text = 0;
    if (!read_declare_indices(r) || !read_scan_number(r, &text))
        return false;
    if (read_find_scan(r, text) != UINT32_MAX) {
        read_error(r, lo, r->at, "two scans are #%u", text);
        return false;
    }
    const ix *step = read_index(r);
    if (!step)
        return false;
    open_scan o = {.name = name, .step = step, .at = lo};
    o.backward = read_word_is(r, "backward");
    if (!read_expect(r, "{") || !line_done(r))
        return false;
    o.scan = graph_new_scan(r->g);
    vec_push(r->scratch, &r->scan_text, text);
    vec_push(r->scratch, &r->open, o);
    return true;
}

static const char *value_name(reader *r)
{
    size_t len = 0;
    const char *name = NULL;
    while (r->at + len < r->n && r->s[r->at + len] >= '0' && r->s[r->at + len] <= '9')
        len++;
    if (len == 0)
        return read_name(r, "a value's name");
    name = intern_n(r->m->names, r->s + r->at, len);
    r->at += len;
    return name;
}

static bool read_op(reader *r, op_id *op)
{
    read_blanks(r);
    size_t lo = r->at;
    const char *word = NULL;
    size_t len = name_scan(r->m->names, r->scratch, r->s + lo, r->n - lo, &word);
    if (len == 0) {
        read_error(r, lo, lo + 1, "expected an operation");
        return false;
    }
    r->at += len;
    if (find_op(word, op))
        return true;
    const char *known[OP_COUNT];
    for (int i = 0; i < OP_COUNT; i++)
        known[i] = op_table[i].text;
    const char *near = str_nearest(r->scratch, word, known, OP_COUNT);
    diag *d = read_error(r, lo, r->at, "unknown operation %s", word);
    if (near)
        diag_help(d, "is it `%s`?", near);
    return false;
}

/* A line that begins with `%`. */
static bool read_definition(reader *r)
{
    size_t lo = r->at++;
    const char *name = value_name(r);
    size_t hi = r->at;
    op_id op = OP_const;
    if (!name)
        return false;
    value *v = NULL;
    if (read_expect(r, "=") && read_op(r, &op)) {
        if (op == OP_scan && r->open.n >= READ_MAX_DEPTH)
            read_error(r, lo, r->at, "scans nest too deep");
        else if (op == OP_scan && read_scan_head(r, name, lo))
            return true; /* defined where its region ends */
        else if (op != OP_scan)
            v = read_value_body(r, op, lo);
    }
    if (v && !line_done(r))
        v = NULL;
    define(r, name, v, lo, hi);
    return v != NULL;
}

static bool read_yield(reader *r, size_t lo)
{
    if (r->open.n == 0) {
        read_error(r, lo, r->at, "yield outside a scan");
        return false;
    }
    open_scan *o = &vec_last(&r->open);
    VEC(value *) args = {0};
    if (o->yielded) {
        read_error(r, lo, r->at, "a scan yields once, at its end");
        return false;
    }
    o->yielded = true;
    if (o->poisoned)
        return skip_line(r) || true;
    while (!read_end(r)) {
        value *v = args.n && !read_expect(r, ",") ? NULL : read_ref(r);
        if (!v) {
            o->poisoned = true;
            return false;
        }
        vec_push(r->scratch, &args, v);
    }
    value proto = {.op = OP_scan,
                   .scan = o->scan,
                   .kind = o->backward,
                   .n_args = (uint32_t)args.n,
                   .args = args.v,
                   .n_bound = 1,
                   .bound = &o->step};
    const char *error = NULL;
    o->made = graph_make(r->g, &proto, &error);
    if (!o->made) {
        o->poisoned = true;
        read_error(r, lo, r->at, "%s", error);
    }
    return o->made != NULL;
}

/* A `}` inside the graph: the end of a region. */
static bool close_scan(reader *r)
{
    open_scan o = vec_last(&r->open);
    r->open.n--;
    if (!o.yielded)
        read_error(r, r->at - 1, r->at, "a scan ends with `yield`");
    if (o.name)
        define(r, o.name, o.poisoned ? NULL : o.made, o.at, o.at + 1 + strlen(o.name));
    return line_done(r);
}

/* --- the other lines of a graph --- */

static bool read_dims(reader *r)
{
    if (r->g->values.n || r->g->symbols.n) {
        read_error(r, r->at, r->at + 1, "the dims stand once, before everything that uses them");
        return false;
    }
    do {
        read_blanks(r);
        size_t lo = r->at;
        const char *name = read_name(r, "a dim");
        if (!name)
            return false;
        for (size_t i = 0; i < r->g->symbols.n; i++) {
            if (r->g->symbols.v[i] == name) {
                read_error(r, lo, r->at, "the dim %s is listed twice", name);
                return false;
            }
        }
        if (r->g->symbols.n >= READ_MAX_DIMS) {
            read_error(r, lo, r->at, "a graph has at most %d dims", READ_MAX_DIMS);
            return false;
        }
        dim_sym(r->g->dims, name);
        vec_push(r->g->a, &r->g->symbols, name);
    } while (read_take(r, ","));
    return line_done(r);
}

static bool read_check(reader *r, size_t lo)
{
    graph_check c = {.at = {.file = r->file, .lo = (uint32_t)lo}};
    c.a = read_dim(r);
    if (!c.a)
        return false;
    c.le = read_take(r, "<=");
    if (!c.le && !read_take(r, "==")) {
        read_error(r, r->at, r->at + 1, "expected `==` or `<=`");
        return false;
    }
    c.b = read_dim(r);
    if (!c.b || !read_string(r, &c.text))
        return false;
    c.at.hi = (uint32_t)r->at;
    vec_push(r->g->a, &r->g->checks, c);
    return line_done(r);
}

static bool read_output(reader *r)
{
    graph_result o = {0};
    VEC(const ix *) axes = {0};
    if (!read_declare_indices(r) || !read_string(r, &o.name) || !read_store(r, &o.store))
        return false;
    o.v = read_ref(r);
    if (!o.v || !read_expect(r, "["))
        return false;
    while (!read_take(r, "]")) {
        const ix *i = axes.n && !read_expect(r, ",") ? NULL : read_index(r);
        if (!i)
            return false;
        vec_push(r->g->a, &axes, i);
    }
    o.n_axes = (uint32_t)axes.n;
    o.axes = axes.v;
    if (!read_family(r, &o.n_family, &o.source) || !line_done(r))
        return false;
    vec_push(r->g->a, &r->g->results, o);
    return true;
}

/* One line of a graph. False after reporting; *closed where the graph ends. */
static bool read_line(reader *r, bool *closed)
{
    size_t lo = r->at;
    if (read_take(r, "}")) {
        *closed = r->open.n == 0;
        return *closed ? line_done(r) : close_scan(r);
    }
    if (r->s[r->at] == '%')
        return read_definition(r);
    if (read_word_is(r, "yield"))
        return read_yield(r, lo);
    if (r->open.n == 0) {
        if (read_word_is(r, "dims"))
            return read_dims(r);
        if (read_word_is(r, "check"))
            return read_check(r, lo);
        if (read_word_is(r, "output"))
            return read_output(r);
    }
    diag *d = read_error(r, lo, lo + 1, "this line is none that a graph has here");
    diag_help(d, r->open.n ? "a region has lines `%%name = ...`, `yield` and `}`"
                           : "a graph has lines `dims`, `check`, `%%name = ...`, `output` and `}`");
    return false;
}

/* `graph @name real f32 [recurrence [step t]] {` */
static bool read_head(reader *r)
{
    dtype real = DT_NONE;
    if (!read_expect(r, "graph") || !read_expect(r, "@"))
        return false;
    size_t lo = r->at;
    const char *name = read_name(r, "the graph's name");
    if (!name || !read_expect(r, "real"))
        return false;
    for (size_t i = 0; i < r->m->graphs.n; i++) {
        if (r->m->graphs.v[i]->name == name) {
            read_error(r, lo, r->at, "two graphs are named @%s", name);
            return false;
        }
    }
    read_blanks(r);
    lo = r->at;
    const char *word = read_name(r, "f32 or f64");
    if (!word)
        return false;
    if (!find_dtype(word, &real) || (real != DT_F32 && real != DT_F64)) {
        read_error(r, lo, r->at, "a graph's real is f32 or f64");
        return false;
    }
    bool recurrence = read_word_is(r, "recurrence");
    r->step = NULL;
    if (recurrence && read_word_is(r, "step")) {
        r->step = read_name(r, "the index of the steps");
        if (!r->step)
            return false;
    }
    if (!read_expect(r, "{") || !line_done(r))
        return false;
    r->g = graph_new(r->m, name, real);
    r->g->recurrence = recurrence;
    return true;
}

static bool read_graph(reader *r)
{
    size_t errors = r->ds->n_errors + r->ds->n_muted, lo = r->at;
    r->values = (name_map){.a = r->scratch};
    r->value_names.n = r->open.n = r->scan_text.n = 0;
    if (!read_head(r))
        return false;
    for (bool closed = false; !closed;) {
        if (!next_line(r)) {
            read_error(r, lo, lo + 5, "this graph does not end");
            return false;
        }
        size_t open = r->open.n;
        if (!read_line(r, &closed) && skip_line(r) && r->open.n == open) {
            if (open >= READ_MAX_DEPTH)
                return false;
            open_scan poison = {.poisoned = true, .at = lo};
            vec_push(r->scratch, &r->open, poison);
        }
    }
    if (r->ds->n_errors + r->ds->n_muted != errors)
        return false;
    r->g->step = r->step ? graph_find_ix(r->g, r->step) : NULL;
    if (r->step && !r->g->step) {
        read_error(r, lo, lo + 5, "the index %s of the steps does not occur in this graph",
                   r->step);
        return false;
    }
    return graph_verify(r->g, r->ds, NULL);
}

static void read_module(void *ctx, arena *scratch)
{
    reader *r = ctx;
    bool ok = true;
    r->scratch = scratch;
    while (next_line(r)) {
        if (!read_graph(r)) {
            ok = false;
            break; /* where a graph's end was lost, nothing behind it makes sense */
        }
    }
    if (!ok)
        r->m = NULL;
}

module *module_parse(arena *a, strtab *names, diags *ds, uint32_t file)
{
    const source *src = ds->sources->files.v[file];
    reader r = {.m = module_new(a, names), .ds = ds, .file = file, .s = src->text, .n = src->size};
    with_scratch(arena_mem(a), read_module, &r);
    return r.m;
}
