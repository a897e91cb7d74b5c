/* read.c: kernel text back to a kernel: header, buffers and statements. Recursive descent; the
 * first error ends it. What only concerns the kernel as a whole is kernel_verify's (verify.c). */
#include <string.h>

#include "ir/kernel/names.h"
#include "ir/kernel/reader.h"

/* --- words --- */

span reader_span(const reader *r)
{
    return (span){.file = r->file, .lo = r->t.lo, .hi = r->t.hi};
}

diag *reader_error(reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(r->lex.a, fmt, ap);
    va_end(ap);
    if (r->failed)
        return &r->ds->dropped;
    r->failed = true;
    return diag_error(r->ds, reader_span(r), "%s", r->t.kind == TK_BAD ? r->t.error : text);
}

void reader_next(reader *r)
{
    r->end = r->t.hi;
    r->t = lex_next(&r->lex);
}

bool reader_at(const reader *r, char punct)
{
    return !r->failed && r->t.kind == TK_PUNCT && r->t.punct == punct;
}

bool reader_at_word(const reader *r, const char *word)
{
    return !r->failed && r->t.kind == TK_NAME && r->lex.text[r->t.lo] != '\'' &&
           strcmp(r->t.name, word) == 0;
}

bool reader_take(reader *r, char punct)
{
    if (!reader_at(r, punct))
        return false;
    reader_next(r);
    return true;
}

bool reader_take_word(reader *r, const char *word)
{
    if (!reader_at_word(r, word))
        return false;
    reader_next(r);
    return true;
}

void reader_expect(reader *r, char punct)
{
    if (r->failed || reader_take(r, punct))
        return;
    if (punct == '.')
        reader_error(r, "expected `..`");
    else
        reader_error(r, "expected `%c`", punct);
}

bool reader_enter(reader *r)
{
    if (r->failed)
        return false;
    if (r->depth >= READER_MAX_DEPTH) {
        reader_error(r, "nested deeper than %d levels", READER_MAX_DEPTH);
        return false;
    }
    r->depth++;
    return true;
}

/* Reads a dim from where the word at hand begins. */
const dim *reader_dim(reader *r)
{
    size_t used = 0;
    const char *error = NULL;
    if (r->failed)
        return NULL;
    const dim *d = dim_parse(r->k->dims, r->lex.a, r->lex.text + r->t.lo, r->lex.size - r->t.lo,
                             &used, &error);
    r->lex.at = r->t.lo + (uint32_t)used;
    if (!d) {
        r->t.hi = r->lex.at < r->lex.size ? r->lex.at + 1 : r->lex.at;
        r->t.lo = r->lex.at;
        r->t.kind = TK_PUNCT;
        reader_error(r, "%s", error);
        return NULL;
    }
    r->t.hi = r->lex.at;
    reader_next(r);
    return d;
}

/* The name at hand, or NULL after reporting. */
static const char *read_plain_name(reader *r, const char *what)
{
    if (r->failed)
        return NULL;
    if (r->t.kind != TK_NAME) {
        reader_error(r, "expected %s", what);
        return NULL;
    }
    const char *name = r->t.name;
    reader_next(r);
    return name;
}

static uint32_t read_count(reader *r, const char *what)
{
    uint64_t n = 0;
    if (r->failed)
        return 0;
    if (r->t.kind != TK_INT) {
        reader_error(r, "expected %s", what);
        return 0;
    }
    for (uint32_t i = r->t.lo; i < r->t.hi && n <= UINT32_MAX; i++)
        n = n * 10 + (uint64_t)(r->lex.text[i] - '0');
    if (n > INT32_MAX)
        reader_error(r, "the number is too large");
    reader_next(r);
    return (uint32_t)n;
}

/* Which of n texts the name at hand is; n after reporting. */
static size_t read_choice(reader *r, const char *const *texts, size_t n, const char *what)
{
    if (r->failed)
        return n;
    for (size_t i = 0; i < n; i++) {
        if (texts[i] && reader_take_word(r, texts[i]))
            return i;
    }
    reader_error(r, "expected %s", what);
    return n;
}

/* --- names --- */

static meaning *slot_of(meaning *slots, size_t cap, const char *name)
{
    size_t at = hash_bytes(1, &name, sizeof name) & (cap - 1);
    while (slots[at].name && slots[at].name != name)
        at = (at + 1) & (cap - 1);
    return &slots[at];
}

meaning *reader_find(reader *r, const char *name)
{
    meaning *m = slot_of(r->slots, r->cap, name);
    return m->name ? m : NULL;
}

static void define(reader *r, const char *name, kbuf *b, kvar *v)
{
    if (2 * (r->n + 1) > r->cap) {
        size_t cap = r->cap * 2;
        meaning *slots = ARENA_ARRAY(r->lex.a, meaning, cap);
        for (size_t i = 0; i < r->cap; i++) {
            if (r->slots[i].name)
                *slot_of(slots, cap, r->slots[i].name) = r->slots[i];
        }
        r->slots = slots;
        r->cap = cap;
    }
    *slot_of(r->slots, r->cap, name) = (meaning){.name = name, .buf = b, .var = v, .visible = true};
    r->n++;
}

/* A name that is being defined; NULL after reporting. */
static const char *read_new_name(reader *r, const char *what)
{
    if (r->failed)
        return NULL;
    if (r->t.kind == TK_NAME && kernel_taken(r->k, r->t.name)) {
        reader_error(r, "the name %s is in use already, or a word of the kernel text", r->t.name);
        return NULL;
    }
    if (r->t.kind == TK_NAME) {
        for (const char *p = r->t.name; *p; p++) {
            if (!kernel_name_byte((unsigned char)*p)) {
                reader_error(r, "%s takes letters, digits and _ only", what);
                return NULL;
            }
        }
    }
    return read_plain_name(r, what);
}

static kvar *read_new_var(reader *r, dtype dt, const char *name, bool is_mutable)
{
    kvar *v = kernel_var(r->k, name, dt, is_mutable);
    define(r, v->name, NULL, v);
    return v;
}

/* --- statements --- */

static void read_block(reader *r, kblock *b);

static void read_for(reader *r, kblock *in, kloop loop)
{
    const char *name = read_new_name(r, "a loop variable");
    if (name && !reader_take_word(r, "in"))
        reader_error(r, "expected `in`");
    const kexpr *lo = reader_typed(r, DT_I64, "a loop bound");
    reader_expect(r, '.');
    const kexpr *hi = lo ? reader_typed(r, DT_I64, "a loop bound") : NULL;
    if (!hi)
        return;
    uint32_t step = 1;
    if (reader_take_word(r, "step")) {
        step = read_count(r, "a step");
        if (!r->failed && step == 0)
            reader_error(r, "the step must be positive");
    }
    uint32_t ahead = reader_take_word(r, "ahead") ? read_count(r, "a number of steps") : 0;
    bool down = reader_take_word(r, "down");
    if (r->failed)
        return;
    kvar *v = read_new_var(r, DT_I64, name, false);
    kstmt *s = ks_for(r->k, in, v, lo, hi, loop);
    s->step = step;
    s->ahead = ahead;
    s->down = down;
    reader_expect(r, '{');
    s->note = r->t.note;
    read_block(r, &s->body);
    reader_find(r, v->name)->visible = false;
}

static void read_if(reader *r, kblock *in)
{
    const kexpr *e = reader_typed(r, DT_BOOL, "a condition");
    if (!e)
        return;
    kstmt *s = ks_if(r->k, in, e);
    reader_expect(r, '{');
    s->note = r->t.note;
    read_block(r, &s->body);
    if (reader_take_word(r, "else")) {
        reader_expect(r, '{');
        read_block(r, &s->other);
    }
}

static void read_definition(reader *r, kblock *in, bool is_mutable)
{
    const char *name = read_new_name(r, "a variable");
    reader_expect(r, ':');
    dtype dt = (dtype)read_choice(r, dtype_text, DT_BOOL + 1, "a type: f32, f64, i64 or bool");
    reader_expect(r, '=');
    const kexpr *e = r->failed ? NULL : reader_typed(r, dt, "the value");
    if (!e)
        return;
    kvar *v = read_new_var(r, dt, name, is_mutable);
    kstmt *s = is_mutable ? ks_var(r->k, in, v, e) : ks_let(r->k, in, v, e);
    s->note = r->t.note;
}

static void read_check(reader *r, kblock *in)
{
    static const struct {
        const char *text;
        int status;
    } statuses[] = {
#define X(text, number) {#text, number},
        KERNEL_STATUSES(X)
#undef X
    };
    const kexpr *e = reader_typed(r, DT_BOOL, "a condition");
    if (e && !reader_take_word(r, "else"))
        reader_error(r, "expected `else` and a status");
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (reader_take_word(r, statuses[i].text)) {
            ks_check(r->k, in, e, statuses[i].status)->note = r->t.note;
            return;
        }
    }
    reader_error(r, "expected a status: INDEX or INT");
}

static void read_assignment(reader *r, kblock *in)
{
    meaning *m = r->t.kind == TK_NAME ? reader_find(r, r->t.name) : NULL;
    if (!m || !m->visible) {
        reader_error(r, "expected a statement");
        return;
    }
    if (m->var && !m->var->mutable) {
        diag *d = reader_error(r, "%s cannot be set", m->name);
        diag_help(d, "Only what `var` defines can.");
        return;
    }
    reader_next(r);
    if (m->var) {
        reader_expect(r, '=');
        const kexpr *e = r->failed ? NULL : reader_typed(r, m->var->dt, "the value");
        if (e)
            ks_set(r->k, in, m->var, e)->note = r->t.note;
        return;
    }
    const kexpr **index = reader_index(r, m->buf);
    reader_expect(r, '=');
    if (r->failed)
        return;
    dtype dt = store_table[m->buf->store].value;
    if (dt == DT_F32 || dt == DT_F64)
        dt = r->k->real;
    const kexpr *e = reader_typed(r, dt, "the value");
    if (e)
        ks_store(r->k, in, m->buf, index, e)->note = r->t.note;
}

static void read_stmt(reader *r, kblock *in)
{
    size_t before = in->s.n;
    span at = reader_span(r);
    kloop loop = KL_COUNT;
    while (--loop != KL_SEQ && !reader_take_word(r, kloop_text[loop])) {
    }
    if (reader_take_word(r, "for"))
        read_for(r, in, loop);
    else if (loop != KL_SEQ)
        reader_error(r, "expected `for`");
    else if (reader_take_word(r, "if"))
        read_if(r, in);
    else if (reader_take_word(r, "let"))
        read_definition(r, in, false);
    else if (reader_take_word(r, "var"))
        read_definition(r, in, true);
    else if (reader_take_word(r, "check"))
        read_check(r, in);
    else
        read_assignment(r, in);
    if (r->failed || in->s.n == before)
        return;
    at.hi = r->end;
    in->s.v[before]->at = at;
}

/* Statements up to the closing brace, which is taken; what they define is hidden again. */
static void read_block(reader *r, kblock *b)
{
    if (!reader_enter(r))
        return;
    while (!r->failed && !reader_at(r, '}'))
        read_stmt(r, b);
    r->depth--;
    if (r->failed)
        return;
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        if (s->kind == KS_LET || s->kind == KS_VAR)
            reader_find(r, s->var->name)->visible = false;
    }
    reader_next(r);
}

/* --- header --- */

/* `check` begins a condition on the dims as well as a statement; only the former holds a text. */
static bool at_dim_check(const reader *r)
{
    lexer ahead = r->lex;
    if (!reader_at_word(r, "check"))
        return false;
    for (token t = lex_next(&ahead); t.kind != TK_END; t = lex_next(&ahead)) {
        if (t.kind == TK_STRING)
            return true;
        if (t.kind == TK_NAME && strcmp(t.name, "else") == 0)
            return false;
    }
    return false;
}

static void read_dim_check(reader *r)
{
    span at = reader_span(r);
    reader_next(r);
    graph_check c = {.a = reader_dim(r)};
    c.le = reader_take(r, '<');
    reader_expect(r, '=');
    if (!c.le)
        reader_expect(r, '=');
    c.b = reader_dim(r);
    if (!r->failed && r->t.kind != TK_STRING)
        reader_error(r, "expected the text of the check");
    if (r->failed)
        return;
    c.text = r->t.name;
    reader_next(r);
    at.hi = r->end;
    c.at = at;
    vec_push(r->k->a, &r->k->checks, c);
}

static void read_dims(reader *r)
{
    if (!reader_take_word(r, "dims")) {
        reader_error(r, "expected `dims`");
        return;
    }
    if (r->t.kind != TK_NAME || reader_at_word(r, "buffer") || reader_at_word(r, "check"))
        return;
    do {
        for (size_t i = 0; i < r->k->symbols.n; i++) {
            if (r->t.kind == TK_NAME && r->k->symbols.v[i] == r->t.name)
                reader_error(r, "the dim %s is named twice", r->t.name);
        }
        const char *name = read_plain_name(r, "a dim");
        if (name && dim_sym(r->k->dims, name))
            kernel_symbol(r->k, name);
    } while (reader_take(r, ','));
}

static void read_buf_tail(reader *r, kbuf *b)
{
    if (!r->failed && r->t.kind == TK_STRING) {
        b->label = r->t.name;
        reader_next(r);
    }
    b->optional = reader_take_word(r, "optional");
    if (reader_take_word(r, "family"))
        b->n_family = read_count(r, "the number of family axes");
    if (reader_take_word(r, "from")) {
        if (!r->failed && r->t.kind != TK_STRING)
            reader_error(r, "expected the name in the checkpoint");
        b->source = r->t.name;
        reader_next(r);
    }
}

static void read_buf(reader *r)
{
    static const char *const stores[] = {
#define X(id, text, bytes, value) [ST_##id] = text,
        STORE_TYPES(X)
#undef X
    };
    VEC(const dim *) shape = {0};
    reader_next(r);
    const char *name = read_new_name(r, "a buffer");
    reader_expect(r, ':');
    size_t role = read_choice(r, kbuf_role_text, KB_ROLE_COUNT,
                              "a role: input, param, output, state, prepared, temp, local or reg");
    size_t store = read_choice(r, stores, ST_COUNT, "a storage type, such as f32");
    reader_expect(r, '[');
    while (!r->failed && !reader_at(r, ']')) {
        if (shape.n)
            reader_expect(r, ',');
        vec_push(r->lex.a, &shape, reader_dim(r));
    }
    reader_expect(r, ']');
    if (r->failed)
        return;
    kbuf *b =
        kernel_buf(r->k, (kbuf_role)role, name, (store_type)store, shape.v, (uint32_t)shape.n);
    define(r, b->name, b, NULL);
    read_buf_tail(r, b);
}

/* `steps rows of capacity` behind its first word. */
static void read_steps(reader *r)
{
    const char *rows = read_new_name(r, "the dim of a call's steps");
    if (rows && !reader_take_word(r, "of"))
        reader_error(r, "expected `of` and the capacity");
    const dim *capacity = reader_dim(r);
    if (!r->failed)
        kernel_steps(r->k, rows, capacity);
}

/* `begin { ... } step pos { ... } }` */
static void read_bodies(reader *r)
{
    if (!reader_take_word(r, "begin"))
        reader_error(r, "expected `begin {`");
    reader_expect(r, '{');
    if (!r->failed)
        read_block(r, &r->k->body);
    if (!r->failed && !reader_take_word(r, "step"))
        reader_error(r, "expected `step`");
    const char *name = read_new_name(r, "the variable of the steps done");
    reader_expect(r, '{');
    if (r->failed)
        return;
    r->k->pos = read_new_var(r, DT_I64, name, false);
    read_block(r, &r->k->step);
    reader_expect(r, '}');
}

static void read_kernel(reader *r, strtab *names)
{
    static const char *const reals[] = {"f32", "f64"};
    if (!reader_take_word(r, "kernel"))
        reader_error(r, "expected `kernel`");
    reader_expect(r, '@');
    const char *name = read_plain_name(r, "the name of the kernel");
    if (name && !reader_take_word(r, "real"))
        reader_error(r, "expected `real`");
    bool f64 = read_choice(r, reals, 2, "f32 or f64") == 1;
    arena *a = r->lex.a;
    r->k = kernel_new(a, names, dims_new(a, names), name, f64 ? DT_F64 : DT_F32);
    r->k->recurrence = reader_take_word(r, "recurrence");
    reader_expect(r, '{');
    read_dims(r);
    if (reader_take_word(r, "steps"))
        read_steps(r);
    while (at_dim_check(r))
        read_dim_check(r);
    while (reader_at_word(r, "buffer"))
        read_buf(r);
    if (!r->failed && reader_take_word(r, "prepare")) {
        reader_expect(r, '{');
        if (!r->failed)
            read_block(r, &r->k->prepare);
    }
    if (r->k->rows)
        read_bodies(r);
    else if (!r->failed)
        read_block(r, &r->k->body);
    if (!r->failed && r->t.kind != TK_END)
        reader_error(r, "expected the end of the text");
}

kernel *kernel_parse(arena *a, strtab *names, diags *ds, uint32_t file)
{
    const source *src = ds->sources->files.v[file];
    reader r = {.ds = ds, .file = file};
    r.lex = (lexer){.a = a, .names = names, .text = src->text, .size = src->size};
    r.cap = 64;
    r.slots = ARENA_ARRAY(a, meaning, r.cap);
    r.t = lex_next(&r.lex);
    read_kernel(&r, names);
    return r.failed ? NULL : r.k;
}
