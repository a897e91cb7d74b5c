/* diag.c: collecting what is to be said to the user. How it looks is in diag_print.c. */
#include "ir/base/diag.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 20

void diags_init(diags *ds, arena *a, const source_set *sources)
{
    *ds = (diags){.a = a, .sources = sources, .limit = DEFAULT_LIMIT};
}

static diag *new_diag(diags *ds, diag_kind kind, span at, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static diag *new_diag(diags *ds, diag_kind kind, span at, const char *fmt, va_list ap)
{
    diag *d = ARENA_NEW(ds->a, diag);
    d->kind = kind;
    d->at = at;
    d->text = arena_vprintf(ds->a, fmt, ap);
    d->owner = ds;
    return d;
}

static void append(diags *ds, diag *d)
{
    if (ds->last)
        ds->last->next = d;
    else
        ds->first = d;
    ds->last = d;
}

/* Callers may go on describing a report that nobody keeps: without an owner, notes are not
 * recorded. */
static diag *dropped(diags *ds, diag_kind kind)
{
    ds->dropped = (diag){.kind = kind, .text = ""};
    return &ds->dropped;
}

/* One fault may be met several times: a function is checked for each of its calls. */
static bool is_repeat(const diags *ds, const diag *d)
{
    for (const diag *o = ds->first; o; o = o->next)
        if (o->kind == d->kind && o->at.file == d->at.file && o->at.lo == d->at.lo &&
            o->at.hi == d->at.hi && !strcmp(o->text, d->text))
            return true;
    return false;
}

diag *diag_error(diags *ds, span at, const char *fmt, ...)
{
    if (ds->muted) {
        ds->n_muted++;
        return dropped(ds, DIAG_ERROR);
    }
    ds->n_errors++;
    if (ds->n_errors - ds->n_repeats > (ds->limit ? ds->limit : DEFAULT_LIMIT))
        return dropped(ds, DIAG_ERROR);
    va_list ap;
    va_start(ap, fmt);
    diag *d = new_diag(ds, DIAG_ERROR, at, fmt, ap);
    va_end(ap);
    if (is_repeat(ds, d)) {
        ds->n_repeats++;
        return dropped(ds, DIAG_ERROR);
    }
    append(ds, d);
    return d;
}

diag *diag_warning(diags *ds, span at, const char *fmt, ...)
{
    if (ds->muted)
        return dropped(ds, DIAG_WARNING);
    va_list ap;
    va_start(ap, fmt);
    diag *d = new_diag(ds, DIAG_WARNING, at, fmt, ap);
    va_end(ap);
    append(ds, d);
    return d;
}

static void add_sub(diag *d, diag *sub)
{
    diag **end = &d->sub;
    while (*end)
        end = &(*end)->next;
    *end = sub;
}

void diag_note(diag *d, span at, const char *fmt, ...)
{
    if (!d->owner)
        return;
    va_list ap;
    va_start(ap, fmt);
    add_sub(d, new_diag(d->owner, DIAG_NOTE, at, fmt, ap));
    va_end(ap);
}

void diag_help(diag *d, const char *fmt, ...)
{
    if (!d->owner)
        return;
    va_list ap;
    va_start(ap, fmt);
    add_sub(d, new_diag(d->owner, DIAG_HELP, (span){0}, fmt, ap));
    va_end(ap);
}

/* An internal error is given no context, so who has last words to say leaves them here. */
typedef struct ice_watch {
    void (*last_words)(void *ctx);
    void *ctx;
    struct ice_watch *outer;
    jmp_buf here, *on_oom;
} ice_watch;
static _Thread_local ice_watch *watch;

void with_last_words(mem *m, void (*f)(void *ctx), void (*last_words)(void *ctx), void *ctx)
{
    ice_watch w = {.last_words = last_words, .ctx = ctx, .outer = watch, .on_oom = m->on_oom};
    watch = &w;
    m->on_oom = &w.here;
    if (setjmp(w.here)) {
        watch = w.outer;
        m->on_oom = w.on_oom;
        mem_fail(m);
    }
    f(ctx);
    watch = w.outer;
    m->on_oom = w.on_oom;
}

_Noreturn void ice_(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "internal error: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n  at %s:%d; this is a fault of the compiler, please report it\n", file,
            line);
    va_end(ap);
    ice_watch *w = watch;
    watch = NULL; /* an error of the last words has none */
    if (w)
        w->last_words(w->ctx);
    exit(3);
}
