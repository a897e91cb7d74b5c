/* cmd_build.c: `attnc build`: files made from a model. */
#include <string.h>

#include "frontend/cli/abi_text.h"
#include "frontend/cli/files.h"
#include "frontend/cli/program.h"

/* What --emit knows: id, its name, how the file's name ends, whether a library's prefix goes before
 * it. */
#define EMITS(X)                                                                                   \
    X(so, ".so", true)                                                                             \
    X(obj, ".o", false)                                                                            \
    X(asm, ".s", false)                                                                            \
    X(llvm, ".ll", false)                                                                          \
    X(ir, ".ir", false)
typedef enum emit {
#define X(id, ending, library) EMIT_##id,
    EMITS(X)
#undef X
        EMIT_COUNT
} emit;
typedef struct emit_info {
    const char *name, *ending;
    bool library;
} emit_info;
static const emit_info emit_table[EMIT_COUNT] = {
#define X(id, ending, library) [EMIT_##id] = {#id, ending, library},
    EMITS(X)
#undef X
};

typedef struct builder {
    session *s;
    compile_options c;
    program p;
    bool emit[EMIT_COUNT];
    const char *path[EMIT_COUNT];
    const char *header; /* NULL: none is written */
    strbuf said;        /* the paths, for the user */
} builder;

static bool read_emit(builder *b)
{
    const char *list = opt_text(b->s, OPT_emit);
    if (!list) {
        b->emit[EMIT_so] = true;
        return true;
    }
    for (const char *at = list;;) {
        size_t n = strcspn(at, ",");
        int e = 0;
        while (e < EMIT_COUNT &&
               !(strlen(emit_table[e].name) == n && memcmp(emit_table[e].name, at, n) == 0))
            e++;
        if (e == EMIT_COUNT) {
            usage_error(CMD_build, "--emit takes so, obj, asm, llvm and ir, not '%.*s'", (int)n,
                        at);
            return false;
        }
        b->emit[e] = true;
        if (!at[n])
            return true;
        at += n + 1;
    }
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n > k && strcmp(s + n - k, end) == 0;
}

/* -o names the file of a single kind as it is; of several kinds, the endings differ. */
static void name_files(builder *b)
{
    arena *a = b->s->a;
    const char *given = opt_text(b->s, OPT_library);
    int kinds = 0;
    for (int e = 0; e < EMIT_COUNT; e++)
        kinds += b->emit[e];
    const char *stem = given;
    for (int e = 0; given && e < EMIT_COUNT; e++) {
        if (ends_with(given, emit_table[e].ending))
            stem = arena_strndup(a, given, strlen(given) - strlen(emit_table[e].ending));
    }
    for (int e = 0; e < EMIT_COUNT; e++) {
        if (!b->emit[e])
            continue;
        if (given && kinds == 1)
            b->path[e] = given;
        else if (given)
            b->path[e] = arena_printf(a, "%s%s", stem, emit_table[e].ending);
        else
            b->path[e] = arena_printf(a, "%s%s%s", emit_table[e].library ? "lib" : "",
                                      file_stem(a, b->s->o.operands[0]), emit_table[e].ending);
    }
    if (b->emit[EMIT_so] || b->emit[EMIT_obj]) {
        const char *of = b->path[b->emit[EMIT_so] ? EMIT_so : EMIT_obj];
        const char *ending = emit_table[b->emit[EMIT_so] ? EMIT_so : EMIT_obj].ending;
        size_t n = ends_with(of, ending) ? strlen(of) - strlen(ending) : strlen(of);
        b->header = arena_printf(a, "%s.h", arena_strndup(a, of, n));
    }
}

/* Text files are prepared first, so that nothing is in place when one of them cannot be written. */
typedef struct texts {
    file_out file[8];
    const char *path[8];
    size_t n;
} texts;

static bool add_text(session *s, texts *t, const char *path, const char *text, size_t n)
{
    t->path[t->n] = path;
    return file_begin(s, path, text, n, &t->file[t->n]) && ++t->n;
}

static bool prepare_texts(builder *b, texts *t)
{
    session *s = b->s;
    if (b->emit[EMIT_ir]) {
        strbuf out = {.a = s->a};
        for (size_t i = 0; i < b->p.graphs.n; i++)
            graph_print(b->p.graphs.v[i], &out);
        if (!add_text(s, t, b->path[EMIT_ir], sb_text(&out), out.n))
            return false;
    }
    for (int e = EMIT_asm; e <= EMIT_llvm; e++) {
        strbuf out = {.a = s->a};
        if (!b->emit[e])
            continue;
        if (!(e == EMIT_asm ? backend_print_asm : backend_print_llvm)(s->code, &out, &s->ds) ||
            !add_text(s, t, b->path[e], sb_text(&out), out.n))
            return false;
    }
    if (!b->header)
        return true;
    strbuf out = {.a = s->a};
    backend_print_header(b->p.kernels.v, b->p.kernels.n, file_stem(s->a, b->header), &out);
    if (!add_text(s, t, b->header, sb_text(&out), out.n))
        return false;
    for (size_t i = 0; i < n_abi_files; i++) {
        const char *path =
            arena_printf(s->a, "%s/%s", file_dir(s->a, b->header), abi_files[i].name);
        if (!add_text(s, t, path, abi_files[i].text, abi_files[i].size))
            return false;
    }
    return true;
}

static bool write_files(builder *b)
{
    session *s = b->s;
    texts t = {0};
    bool ok = prepare_texts(b, &t);
    /* From the first file in place on, no memory is asked for. */
    for (int e = EMIT_so; e <= EMIT_obj; e++) {
        if (b->emit[e])
            sb_printf(&b->said, "%s\n", b->path[e]);
    }
    for (size_t i = 0; i < t.n; i++)
        sb_printf(&b->said, "%s\n", t.path[i]);
    phase_begin(s, "linking");
    if (ok && b->emit[EMIT_obj])
        ok = backend_write_object(s->code, b->path[EMIT_obj], &s->ds);
    if (ok && b->emit[EMIT_so])
        ok = backend_write_shared(s->code, b->path[EMIT_so], &s->ds);
    phase_end(s);
    for (size_t i = 0; i < t.n; i++) {
        if (ok)
            ok = file_commit(s, &t.file[i]);
        else
            file_drop(s, &t.file[i]);
    }
    return ok;
}

int cmd_build(session *s)
{
    builder b = {.s = s, .said = {.a = s->a}};
    if (!compile_options_read(s, &b.c) || !read_emit(&b))
        return 2;
    name_files(&b);
    const char *path = s->o.operands[0];
    bool ok = program_load(s, path, &b.c, &b.p) && program_optimise(s, &b.c, &b.p) &&
              program_schedule(s, &b.c, &b.p) && program_codegen(s, &b.c, &b.p) && write_files(&b);
    if (session_report(s) || !ok)
        return 1;
    return session_print(s, &b.said) ? 0 : 1;
}
