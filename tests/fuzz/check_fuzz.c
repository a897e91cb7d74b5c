/* check_fuzz.c: any text is compiled to graphs, which must verify; what the checker refuses, it
 * must say. Built with -fsanitize=fuzzer, or with ATTNC_FUZZ_REPLAY as a program that replays the
 * files of the folders it is given. No code is generated: that is program_gen.py's part. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "passes/passes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 8192) /* longer ones say nothing new, slowly */
        return 0;
    mem m = {0};
    arena *a = arena_new(&m);
    source_set sources;
    diags ds;
    source_set_init(&sources, a);
    diags_init(&ds, a, &sources);
    strtab *names = strtab_new(a);
    uint32_t file = source_add(&sources, "fuzz.attn", (const char *)data, size);
    static const frontend_define sizes[] = {{"N", "2"}, {"heads", "2"}};
    frontend_options o = {.real = DT_F32};
    if (size && data[size - 1] % 2) { /* sizes that arrays of parts need */
        o.n_defines = 2;
        o.defines = sizes;
    }
    module *mod = frontend_compile(a, names, &sources, &ds, file, &o);
    if (!mod && ds.n_errors == 0)
        fail("refused without a message");
    for (size_t i = 0; mod && i < mod->graphs.n; i++)
        if (!graph_verify(mod->graphs.v[i], &ds, "as made"))
            fail("the graph does not verify");
    FILE *null = fopen("/dev/null", "w");
    if (null) {
        diags_print(&ds, null, true);
        fclose(null);
    }
    arena_free(a);
    return 0;
}

#ifdef ATTNC_FUZZ_REPLAY
#include "tests/fuzz/replay.h"
#endif
