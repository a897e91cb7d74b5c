/* files.c: reading sources and writing results. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "frontend/cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const span nowhere = {0};

typedef struct file_text {
    char *s;
    size_t n;
} file_text;

static diag *cannot_read(session *s, const char *name, int error)
{
    return diag_error(&s->ds, nowhere, "cannot read %s: %s", name, strerror(error));
}

/* All of an open file, up to the limit. The descriptor stays open. False after a report. */
static bool read_all(session *s, int fd, const char *name, file_text *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        cannot_read(s, name, errno);
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        diag *d = diag_error(&s->ds, nowhere, "%s is a folder, not a file", name);
        diag_help(d, "name a file in it");
        return false;
    }
    /* Not in the arena: the block grows, and is given back when the text was copied into a source.
     * Its growth returns NULL instead of jumping, so that the file is closed first. */
    size_t cap =
        S_ISREG(st.st_mode) && st.st_size < (off_t)SOURCE_LIMIT ? (size_t)st.st_size + 1 : 65536;
    char *buf = NULL;
    size_t n = 0;
    for (;;) {
        if (!buf || n == cap) {
            if (buf)
                cap *= 2;
            char *grown = mem_try_realloc(&s->m, buf, cap);
            if (!grown) {
                mem_free(&s->m, buf);
                *out = (file_text){0};
                return true; /* the caller closes and fails */
            }
            buf = grown;
        }
        ssize_t got = read(fd, buf + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            cannot_read(s, name, errno);
            mem_free(&s->m, buf);
            return false;
        }
        n += (size_t)got;
        if (n > SOURCE_LIMIT) {
            diag *d = diag_error(&s->ds, nowhere,
                                 "%s is larger than %zu MiB, the limit for a source file", name,
                                 SOURCE_LIMIT >> 20);
            diag_help(d, "weights and inputs are given with -w and -i");
            mem_free(&s->m, buf);
            return false;
        }
        if (got == 0)
            break;
    }
    *out = (file_text){buf, n};
    return true;
}

static bool read_path(session *s, const char *path, const char *name, file_text *out)
{
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cannot_read(s, name, errno);
        return false;
    }
    bool ok = read_all(s, fd, name, out);
    if (fd != STDIN_FILENO)
        close(fd);
    if (ok && !out->s)
        session_no_memory(s);
    return ok;
}

/* Text that no reader of ours should meet. False after a report. */
static bool check_text(session *s, uint32_t file)
{
    const source *src = s->sources.files.v[file];
    const unsigned char *t = (const unsigned char *)src->text;
    if (src->size >= 2 && ((t[0] == 0xFF && t[1] == 0xFE) || (t[0] == 0xFE && t[1] == 0xFF))) {
        diag *d = diag_error(&s->ds, nowhere, "%s is UTF-16", src->name);
        diag_help(d, "save it as UTF-8");
        return false;
    }
    const char *nul = memchr(src->text, 0, src->size);
    if (nul) {
        uint32_t at = (uint32_t)(nul - src->text);
        diag *d = diag_error(&s->ds, (span){file, at, at + 1}, "a NUL byte: %s is not a text file",
                             src->name);
        diag_help(d, "a source file is UTF-8 text");
        return false;
    }
    return true;
}

uint32_t file_add_source(session *s, const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    file_text t;
    if (!read_path(s, path, name, &t))
        return 0;
    /* The copy may jump: the block must be the arena's by then. */
    if (t.n == 0) {
        mem_free(&s->m, t.s);
        t = (file_text){NULL, 0};
    }
    s->held = t.s;
    uint32_t file = source_add(&s->sources, name, t.s ? t.s : "", t.n);
    mem_free(&s->m, s->held);
    s->held = NULL;
    return check_text(s, file) ? file : 0;
}

const char *file_load_import(void *ctx, arena *a, const char *from, const char *path, size_t *size)
{
    session *s = ctx;
    const char *full = path[0] == '/' ? path : arena_printf(a, "%s/%s", file_dir(a, from), path);
    if (access(full, F_OK) != 0)
        return NULL; /* the frontend says so, with the place of the import */
    file_text t;
    if (!read_path(s, full, full, &t))
        return NULL;
    s->held = t.s;
    const char *copy = arena_strndup(a, t.s, t.n);
    mem_free(&s->m, s->held);
    s->held = NULL;
    *size = t.n;
    return copy;
}

const char *file_dir(arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

const char *file_stem(arena *a, const char *path)
{
    if (strcmp(path, "-") == 0)
        return "stdin";
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    return n ? arena_strndup(a, base, n) : "model";
}

bool file_is_ir(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".ir") == 0;
}

static bool cannot_write(session *s, const char *path, int error)
{
    diag_error(&s->ds, nowhere, "cannot write %s: %s", path, strerror(error));
    return false;
}

static bool write_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t put = write(fd, text, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        text += put;
        n -= (size_t)put;
    }
    return true;
}

/* The mode a new file gets from open(). */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Temporary files are known to the session for as long as they exist. */
static void remember(session *s, const file_out *out)
{
    for (size_t i = 0; i < sizeof s->temps / sizeof s->temps[0]; i++) {
        if (!s->temps[i]) {
            s->temps[i] = out->temp;
            return;
        }
    }
    ice("more temporary files than places");
}

static void forget(session *s, file_out *out)
{
    for (size_t i = 0; i < sizeof s->temps / sizeof s->temps[0]; i++) {
        if (out->temp && s->temps[i] == out->temp)
            s->temps[i] = NULL;
    }
    out->temp = NULL;
}

bool file_begin(session *s, const char *path, const char *text, size_t n, file_out *out)
{
    char *real = arena_alloc(s->a, PATH_MAX);
    struct stat st;
    bool exists = stat(path, &st) == 0;
    *out = (file_out){.path = path};
    if (exists && S_ISDIR(st.st_mode))
        return cannot_write(s, path, EISDIR);
    if (exists && realpath(path, real))
        out->path = real;
    bool device = exists && !S_ISREG(st.st_mode);
    if (exists && !device && access(path, W_OK) != 0) /* read-only means: leave it */
        return cannot_write(s, path, errno);
    char *temp = device ? NULL : arena_printf(s->a, "%s.XXXXXX", out->path);
    int fd = device ? open(path, O_WRONLY | O_CLOEXEC) : mkstemp(temp);
    if (fd < 0)
        return cannot_write(s, path, errno);
    bool ok = write_all(fd, text, n) &&
              (device || fchmod(fd, exists ? st.st_mode & 07777 : new_mode()) == 0);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    out->temp = temp;
    if (temp)
        remember(s, out);
    if (!ok) {
        file_drop(s, out);
        return cannot_write(s, path, error);
    }
    return true;
}

bool file_commit(session *s, file_out *out)
{
    if (out->temp && rename(out->temp, out->path) != 0) {
        int error = errno;
        file_drop(s, out);
        return cannot_write(s, out->path, error);
    }
    forget(s, out);
    return true;
}

void file_drop(session *s, file_out *out)
{
    if (out->temp)
        unlink(out->temp);
    forget(s, out);
}

bool file_write(session *s, const char *path, const char *text, size_t n)
{
    file_out out;
    return file_begin(s, path, text, n, &out) && file_commit(s, &out);
}
