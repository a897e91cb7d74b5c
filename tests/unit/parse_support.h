/* parse_support.h: one text, parsed, with what was reported. Not a test itself. */
#ifndef ATTNC_TESTS_PARSE_SUPPORT_H
#define ATTNC_TESTS_PARSE_SUPPORT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/ast.h"

typedef struct parsed {
    mem m;
    arena *a;
    source_set sources;
    diags ds;
    ast_file *file;
} parsed;

static inline void parse_bytes(parsed *p, const char *text, size_t n)
{
    memset(p, 0, sizeof *p);
    p->a = arena_new(&p->m);
    source_set_init(&p->sources, p->a);
    uint32_t file = source_add(&p->sources, "t.attn", text, n);
    diags_init(&p->ds, p->a, &p->sources);
    p->file = ast_parse(p->a, strtab_new(p->a), &p->ds, file);
}

static inline const char *parsed_tree(parsed *p)
{
    strbuf out = {.a = p->a};
    ast_dump(p->file, &out);
    return sb_text(&out);
}

static inline const char *parsed_format(parsed *p)
{
    strbuf out = {.a = p->a};
    ast_format(p->file, p->sources.files.v[1], &out);
    return sb_text(&out);
}

/* All reports as lines "line:column: text", notes and help indented. */
static inline const char *parsed_reports(parsed *p)
{
    strbuf out = {.a = p->a};
    for (const diag *d = p->ds.first; d; d = d->next) {
        place at = source_place(&p->sources, d->at);
        sb_printf(&out, "%u:%u: %s\n", at.line, at.column, d->text);
        for (const diag *s = d->sub; s; s = s->next) {
            at = source_place(&p->sources, s->at);
            if (s->kind == DIAG_HELP)
                sb_printf(&out, "  help: %s\n", s->text);
            else
                sb_printf(&out, "  %u:%u: %s\n", at.line, at.column, s->text);
        }
    }
    return sb_text(&out);
}

static inline void parsed_free(parsed *p)
{
    arena_free(p->a);
}

static inline char *read_whole(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    size_t cap = (size_t)1 << 20;
    char *text = malloc(cap);
    *n = fread(text, 1, cap - 1, f);
    text[*n] = '\0';
    fclose(f);
    return text;
}

static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
