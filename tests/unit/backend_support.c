/* backend_support.c: kernels as text to running code, for the backend's tests. */
#include "tests/unit/backend_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_init(bench *b)
{
    *b = (bench){0};
    b->a = arena_new(&b->m);
    b->names = strtab_new(b->a);
    source_set_init(&b->sources, b->a);
    diags_init(&b->ds, b->a, &b->sources);
}

void bench_done(bench *b)
{
    backend_free(b->module);
    arena_free(b->a);
}

static void no_errors(bench *b)
{
    if (b->ds.n_errors > 0) {
        diags_print(&b->ds, stderr, false);
        exit(1); /* fails a Check test, which runs in a child */
    }
}

/* Not of Check: programs use this too. */
static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

kernel *bench_kernel(bench *b, const char *text)
{
    uint32_t file = source_add(&b->sources, "test", text, strlen(text));
    kernel *k = kernel_parse(b->a, b->names, &b->ds, file);
    no_errors(b);
    need(k != NULL, "no kernel");
    kernel_verify(k, &b->ds, "the test");
    no_errors(b);
    vec_push(b->a, &b->kernels, k);
    return k;
}

void bench_compile(bench *b, const backend_options *o)
{
    static const backend_options usual = {.level = 2, .verify_each = true};
    b->module = backend_compile(b->kernels.v, b->kernels.n, o ? o : &usual, &b->ds);
    no_errors(b);
    need(b->module != NULL, "no module");
}

backend_entry bench_entry(bench *b, const char *name)
{
    backend_entry e = {0};
    bool ok = backend_jit(b->module, name, &e, &b->ds);
    no_errors(b);
    need(ok, "no entry point");
    return e;
}

backend_entry bench_run(bench *b, const char *name, const char *text)
{
    bench_kernel(b, text);
    bench_compile(b, NULL);
    return bench_entry(b, name);
}

const char *bench_errors(bench *b)
{
    strbuf s = {.a = b->a};
    for (const diag *d = b->ds.first; d; d = d->next) {
        sb_printf(&s, "%s\n", d->text);
        for (const diag *n = d->sub; n; n = n->next)
            sb_printf(&s, "  %s\n", n->text);
    }
    return sb_text(&s);
}

const char *text_replaced(arena *a, const char *text, const char *word, const char *by)
{
    strbuf b = {.a = a};
    const char *at;
    for (; (at = strstr(text, word)) != NULL; text = at + strlen(word)) {
        sb_putn(&b, text, (size_t)(at - text));
        sb_puts(&b, by);
    }
    sb_puts(&b, text);
    return sb_text(&b);
}
