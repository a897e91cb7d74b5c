/* parse_fuzz.c: any bytes are parsed; what parses is formatted, parsed again to the same tree and
 * formatted to the same text. Built with -fsanitize=fuzzer, or with ATTNC_FUZZ_REPLAY as a program
 * that replays the files of the folders it is given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/ast.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct reading {
    source_set sources;
    diags ds;
    uint32_t number;
    ast_file *file;
    strbuf tree, text;
} reading;

static void read_text(reading *r, arena *a, const char *text, size_t n)
{
    source_set_init(&r->sources, a);
    diags_init(&r->ds, a, &r->sources);
    r->number = source_add(&r->sources, "fuzz.attn", text, n);
    r->file = ast_parse(a, strtab_new(a), &r->ds, r->number);
    r->tree = r->text = (strbuf){.a = a};
    ast_dump(r->file, &r->tree);
    if (r->ds.n_errors == 0)
        ast_format(r->file, r->sources.files.v[r->number], &r->text);
}

static void fail(const char *what, const char *a, const char *b)
{
    fprintf(stderr, "%s\n--- first\n%s\n--- then\n%s\n", what, a, b);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mem m = {0};
    arena *a = arena_new(&m);
    reading first, again;
    read_text(&first, a, (const char *)data, size);
    if (first.ds.n_errors) {
        FILE *null = fopen("/dev/null", "w");
        diags_print(&first.ds, null, true);
        fclose(null);
    } else {
        const char *once = sb_text(&first.text);
        read_text(&again, a, once, strlen(once));
        if (again.ds.n_errors)
            fail("the canonical text does not parse", (const char *)data, once);
        if (strcmp(sb_text(&first.tree), sb_text(&again.tree)) != 0)
            fail("the canonical text has another tree", sb_text(&first.tree), sb_text(&again.tree));
        if (strcmp(once, sb_text(&again.text)) != 0)
            fail("formatting twice differs", once, sb_text(&again.text));
    }
    arena_free(a);
    return 0;
}

#ifdef ATTNC_FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
