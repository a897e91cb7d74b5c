/* bind.c: matching tensors by name, types, dims. */
#include "frontend/cli/bind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/cli/files.h"
#include "frontend/cli/program.h"
#include "runtime/extent.h"

static const span nowhere = {0};

const char *bind_name(const attn_tensor_info *t)
{
    return t->source ? t->source : t->name;
}

attn_tensor *bind_tensor(const binding *b, int64_t row)
{
    const slot *sl = &b->slots[row];
    return sl->set ? &sl->set->item[sl->at] : NULL;
}

/* What -i or -w is for. */
typedef struct source_kind {
    attn_role role;
    option_id option;
    const char *letter, *what, *many;
} source_kind;
static const source_kind kinds[] = {
    {ATTN_INPUT, OPT_inputs, "-i", "input", "inputs"},
    {ATTN_PARAM, OPT_weights, "-w", "parameter", "parameters"},
};

typedef struct binder {
    session *s;
    binding *b;
    const source_kind *kind;
    attn_tensor_set *set; /* that the kind is read into */
} binder;

static attn_tensor_set *set_of(session *s, attn_role role)
{
    return role == ATTN_INPUT ? &s->inputs : role == ATTN_PARAM ? &s->weights : &s->results;
}

/* A library's one-line message as an error. */
static diag *report_text(session *s)
{
    const char *t = attn_text_cstr(&s->text);
    diag *d = diag_error(&s->ds, nowhere, "%.*s", (int)strcspn(t, "\n"), t);
    attn_text_free(&s->text);
    return d;
}

static bool wanted(void *ctx, const char *name)
{
    const binder *w = ctx;
    const attn_model_info *info = w->b->info;
    for (int64_t i = 0; i < info->n_tensors; i++) {
        if (info->tensors[i].role == w->kind->role &&
            strcmp(bind_name(&info->tensors[i]), name) == 0)
            return true;
    }
    return false;
}

static bool read_set(binder *w)
{
    session *s = w->s;
    const char *path = opt_text(s, w->kind->option);
    if (!path)
        return true;
    phase_begin(s, w->kind->role == ATTN_PARAM ? "reading weights" : "reading inputs");
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        atomic_store(&s->progress.total, (uint64_t)st.st_size);
    attn_io_options o = {.want = wanted, .want_ctx = w};
    attn_io_status status = attn_io_read(path, &o, w->set, &s->text);
    phase_end(s);
    if (status == ATTN_IO_NOMEM)
        session_no_memory(s);
    if (status != ATTN_IO_OK)
        report_text(s);
    return status == ATTN_IO_OK;
}

static const char *shown_name(session *s, const char *name)
{
    attn_text_add_name(&s->text, name);
    const char *t = attn_text_cstr(&s->text);
    const char *copy = arena_strndup(s->a, t, strlen(t));
    attn_text_free(&s->text);
    return copy;
}

/* Whether some row of this role was found under that name. */
static bool used(const binding *b, attn_role role, const char *name)
{
    for (int64_t i = 0; i < b->info->n_tensors; i++) {
        const attn_tensor_info *t = &b->info->tensors[i];
        if (t->role == role && strcmp(bind_name(t), name) == 0)
            return true;
    }
    return false;
}

static void find_rows(binder *w, bool *missing)
{
    for (int64_t i = 0; i < w->b->info->n_tensors; i++) {
        const attn_tensor_info *t = &w->b->info->tensors[i];
        if (t->role != w->kind->role)
            continue;
        attn_tensor *found = attn_tensor_set_find(w->set, bind_name(t));
        if (found)
            w->b->slots[i] = (slot){w->set, (size_t)(found - w->set->item)};
        else if (!(t->flags & ATTN_OPTIONAL))
            missing[i] = true;
    }
}

/* All missing names in one message, each with the nearest unused name of the file. */
static void report_missing(binder *w, const bool *missing)
{
    session *s = w->s;
    const attn_model_info *info = w->b->info;
    const char *path = opt_text(s, w->kind->option);
    const char **spare = ARENA_ARRAY(s->a, const char *, w->set->n);
    size_t n_spare = 0, n = 0;
    for (size_t i = 0; i < w->set->n; i++) {
        if (!used(w->b, w->kind->role, w->set->item[i].name))
            spare[n_spare++] = w->set->item[i].name;
    }
    strbuf names = {.a = s->a};
    for (int64_t i = 0; i < info->n_tensors; i++) {
        if (missing[i] && info->tensors[i].role == w->kind->role && n++ < 8)
            sb_printf(&names, "%s%s", n > 1 ? ", " : "",
                      shown_name(s, bind_name(&info->tensors[i])));
    }
    if (n == 0)
        return;
    if (n > 8)
        sb_printf(&names, " and %zu more", n - 8);
    const char *what = n > 1 ? w->kind->many : w->kind->what;
    if (!path) {
        diag *d = diag_error(&s->ds, nowhere, "the model needs the %s %s", what, sb_text(&names));
        diag_help(d, "give %s FILE, or --seed N for random values", w->kind->letter);
        return;
    }
    diag *d = diag_error(&s->ds, nowhere, "%s lacks the %s %s", path, what, sb_text(&names));
    for (int64_t i = 0, shown = 0; i < info->n_tensors && shown < 8; i++) {
        if (!missing[i] || info->tensors[i].role != w->kind->role)
            continue;
        const char *name = bind_name(&info->tensors[i]);
        const char *near = str_nearest(s->a, name, spare, n_spare);
        if (near) {
            diag_note(d, nowhere, "it has %s, which resembles %s", shown_name(s, near),
                      shown_name(s, name));
            shown++;
        }
    }
    diag_help(d, "%s; --seed N fills in random values",
              w->kind->role == ATTN_PARAM ? "`attnc params` lists the parameters"
                                          : "inputs are found by their names in the program");
}

/* Names nobody asks for: a note, or an error under --strict. */
static void report_extra(binder *w, const bool *missing)
{
    session *s = w->s;
    const attn_model_info *info = w->b->info;
    const char *path = opt_text(s, w->kind->option);
    const char *inputs = opt_text(s, OPT_inputs), *weights = opt_text(s, OPT_weights);
    bool shared = inputs && weights && strcmp(inputs, weights) == 0;
    const char **wants = ARENA_ARRAY(s->a, const char *, (size_t)info->n_tensors);
    size_t n_wants = 0, n = 0;
    for (int64_t i = 0; i < info->n_tensors; i++) {
        const attn_tensor_info *t = &info->tensors[i];
        if (t->role == w->kind->role && !bind_tensor(w->b, i) &&
            !missing[i]) /* optional, not given */
            wants[n_wants++] = bind_name(t);
    }
    strbuf names = {.a = s->a}, near_text = {.a = s->a};
    for (size_t i = 0; i < w->set->n; i++) {
        const char *name = w->set->item[i].name;
        if (used(w->b, w->kind->role, name) ||
            (shared && used(w->b, w->kind->role == ATTN_INPUT ? ATTN_PARAM : ATTN_INPUT, name)))
            continue;
        if (n++ < 8)
            sb_printf(&names, "%s%s", n > 1 ? ", " : "", shown_name(s, name));
        const char *near = str_nearest(s->a, name, wants, n_wants);
        if (near)
            sb_printf(&near_text, "%s%s resembles the optional %s %s", near_text.n ? "; " : "",
                      shown_name(s, name), w->kind->what, shown_name(s, near));
    }
    if (n == 0)
        return;
    if (n > 8)
        sb_printf(&names, " and %zu more", n - 8);
    if (opt_set(s, OPT_strict)) {
        diag *d = diag_error(&s->ds, nowhere, "%s has %zu tensor%s that the model does not use: %s",
                             path, n, n > 1 ? "s" : "", sb_text(&names));
        if (near_text.n)
            diag_note(d, nowhere, "%s", sb_text(&near_text));
        diag_help(d, "without --strict they are left alone");
        return;
    }
    fprintf(stderr, "note: %s: not used: %s\n", path, sb_text(&names));
    if (near_text.n)
        fprintf(stderr, "note: %s\n", sb_text(&near_text));
}

static void convert(binder *w)
{
    session *s = w->s;
    for (int64_t i = 0; i < w->b->info->n_tensors; i++) {
        const attn_tensor_info *t = &w->b->info->tensors[i];
        attn_tensor *have = t->role == w->kind->role ? bind_tensor(w->b, i) : NULL;
        if (!have || have->dtype == t->dtype)
            continue;
        attn_io_status status = attn_tensor_convert(have, t->dtype, 0, &s->alloc, &s->text);
        if (status == ATTN_IO_NOMEM)
            session_no_memory(s);
        if (status != ATTN_IO_OK) {
            const char *why = attn_text_cstr(&s->text);
            why = arena_strndup(s->a, why, strcspn(why, "\n"));
            attn_text_free(&s->text);
            diag *d = diag_error(
                &s->ds, nowhere, "%s: tensor %s is %s, but the %s %s of the model is %s",
                opt_text(s, w->kind->option), shown_name(s, have->name),
                attn_dtype_name(have->dtype), w->kind->what, t->name, attn_dtype_name(t->dtype));
            diag_note(d, nowhere, "%s", why);
        }
    }
}

/* -D for dims that are still open (the frontend has put in the others). */
static void given_dims(session *s, binding *b)
{
    const option_value *v = &s->o.o[OPT_define];
    for (int64_t k = 0; k < b->info->n_dims; k++)
        b->dims[k] = ATTN_DIM_UNKNOWN;
    for (size_t i = 0; i < v->n; i++) {
        const char *equals = strchr(v->items[i], '=');
        size_t n = (size_t)(equals - v->items[i]);
        bool found = false;
        for (int64_t k = 0; k < b->info->n_dims; k++) {
            const char *name = b->info->dim_names[k];
            if (strlen(name) != n || memcmp(name, v->items[i], n) != 0)
                continue;
            char *end;
            found = true;
            b->dims[k] = strtoll(equals + 1, &end, 10);
            if (*end || b->dims[k] < 0 || b->dims[k] > DIM_LIMIT) {
                diag_error(&s->ds, nowhere,
                           "the dimension %s is a whole number from 0 to 2^40, not '%s'", name,
                           equals + 1);
                b->dims[k] = ATTN_DIM_UNKNOWN;
            }
        }
        if (!found && file_is_ir(s->o.operands[0]))
            report_unknown_name(s, "dimension", arena_strndup(s->a, v->items[i], n),
                                b->info->dim_names, (size_t)b->info->n_dims);
    }
}

/* Dims from the shapes at hand. Tensors that --seed will make have no shape yet: to the solver they
 * are optional. */
static bool solve(session *s, binding *b, const bool *missing)
{
    size_t n = (size_t)b->info->n_tensors;
    attn_tensor_info *rows = arena_copy(s->a, b->info->tensors, n * sizeof *rows);
    attn_fact *facts = ARENA_ARRAY(s->a, attn_fact, n);
    for (size_t i = 0; i < n; i++) {
        const attn_tensor *t = bind_tensor(b, (int64_t)i);
        if (t)
            facts[i] = (attn_fact){true, t->rank, t->shape};
        if (missing[i])
            rows[i].flags |= ATTN_OPTIONAL;
    }
    attn_model_info info = *b->info;
    info.tensors = rows;
    attn_status status = attn_solve(&info, facts, b->dims, &s->problems);
    if (status == ATTN_NOMEM)
        session_no_memory(s);
    if (status == ATTN_ABI)
        ice("reflection record of version %u", (unsigned)info.abi_version);
    for (size_t i = 0; i < s->problems.n; i++) {
        const attn_problem *p = &s->problems.item[i];
        diag_error(&s->ds, nowhere, "%.*s", (int)p->text_len,
                   attn_text_cstr(&s->problems.text) + p->text_at);
    }
    return status == ATTN_OK && s->problems.n == 0;
}

/* A new tensor for a row, at the dims found. */
static void add_tensor(session *s, binding *b, int64_t row)
{
    const attn_tensor_info *t = &b->info->tensors[row];
    attn_tensor_set *set = set_of(s, t->role);
    int64_t *shape = ARENA_ARRAY(s->a, int64_t, (size_t)t->rank);
    size_t bytes;
    if (attn_tensor_extent(t, b->dims, b->info->n_dims, shape, &bytes) != ATTN_OK)
        ice("the shape of %s, which the solver accepted", t->name);
    attn_io_status status;
    if (!attn_tensor_set_add(set, bind_name(t), t->dtype, t->rank, shape, &status)) {
        if (status == ATTN_IO_NOMEM)
            session_no_memory(s);
        diag_error(&s->ds, nowhere, "%s has %lld axes; files hold at most %d", t->name,
                   (long long)t->rank, ATTN_IO_MAX_RANK);
        return;
    }
    b->slots[row] = (slot){set, set->n - 1};
}

/* What every index of the model may be: below its smallest dim (dims of 1, such as a batch, aside).
 */
static int64_t index_limit(const binding *b)
{
    int64_t limit = 8;
    for (int64_t k = 0; k < b->info->n_dims; k++) {
        if (b->dims[k] > 1 && b->dims[k] < limit)
            limit = b->dims[k];
    }
    return limit;
}

bool bind_tensors(session *s, const attn_model_info *info, binding *b)
{
    size_t n = (size_t)info->n_tensors;
    *b = (binding){.info = info,
                   .dims = ARENA_ARRAY(s->a, int64_t, (size_t)info->n_dims),
                   .slots = ARENA_ARRAY(s->a, slot, n)};
    bool *missing = ARENA_ARRAY(s->a, bool, n);
    bool seeded = opt_set(s, OPT_seed);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        binder w = {s, b, &kinds[k], set_of(s, kinds[k].role)};
        if (!read_set(&w))
            continue;
        find_rows(&w, missing);
        if (!seeded)
            report_missing(&w, missing);
        report_extra(&w, missing);
        convert(&w);
    }
    if (s->ds.n_errors)
        return false;
    given_dims(s, b);
    if (s->ds.n_errors || !solve(s, b, missing))
        return false;

    phase_begin(s, "preparing tensors");
    uint64_t seed = (uint64_t)opt_number(s, OPT_seed, 0);
    for (int64_t i = 0; i < info->n_tensors; i++) {
        if (info->tensors[i].role == ATTN_OUTPUT || missing[i])
            add_tensor(s, b, i);
        if (missing[i] && bind_tensor(b, i))
            fill_random(bind_tensor(b, i), seed, info->tensors[i].role, index_limit(b));
    }
    phase_end(s);
    return s->ds.n_errors == 0;
}
