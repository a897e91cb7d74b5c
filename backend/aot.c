/* aot.c: objects and shared objects as files.
 *
 * Everything is made under other names beside the file and renamed at the end: a file that was
 * there stays until then, and is never half written. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/link.h"
#include "backend/module.h"
#include "backend/vecmath.h"

/* A file in the making, and what must be given back if it does not come to be. */
typedef struct work {
    backend_module *m;
    const char *path;
    diags *ds;
    const char *object, *shared; /* temporary files; NULL: not made */
    LLVMMemoryBufferRef code;
} work;

static bool fail(work *w, const char *what, const char *path)
{
    diag_error(w->ds, (span){0}, "cannot %s %s: %s", what, path, strerror(errno));
    return false;
}

/* A new, empty file beside the one to be written, with the permissions any new file gets. */
static int make_beside(work *w, const char *ending, const char **name)
{
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++) {
        const char *s = arena_printf(w->m->a, "%s.%ld.%d%s", w->path, (long)getpid(), i, ending);
        int fd = open(s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *name = s;
            return fd;
        }
        if (errno != EEXIST)
            break;
    }
    fail(w, "write", w->path);
    return -1;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static bool write_object(work *w)
{
    w->code = module_emit(w->m, LLVMObjectFile, w->ds);
    if (!w->code)
        return false;
    int fd = make_beside(w, ".o", &w->object);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, LLVMGetBufferStart(w->code), LLVMGetBufferSize(w->code));
    int e = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        e = errno;
    }
    errno = e;
    return ok || fail(w, "write", w->path);
}

/* The file is there from here on. */
static bool publish(work *w, const char **temporary)
{
    if (rename(*temporary, w->path) != 0)
        return fail(w, "write", w->path);
    *temporary = NULL;
    return true;
}

static bool calls_libm(const backend_module *m)
{
    for (size_t i = 0; i < vecmath_n_externs; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m->mod, vecmath_externs[i].name);
        if (f && LLVMIsDeclaration(f) && LLVMGetFirstUse(f))
            return true;
    }
    return false;
}

static bool make_object(work *w)
{
    return write_object(w) && publish(w, &w->object);
}

static bool make_shared(work *w)
{
    backend_module *m = w->m;
    if (!m->target.posix_elf) {
        diag *d =
            diag_error(w->ds, (span){0}, "shared objects are made for Linux and BSD, not for %s",
                       m->target.triple);
        diag_help(d, "write an object with --emit=obj and link it there");
        return false;
    }
    if (!write_object(w))
        return false;
    int fd = make_beside(w, ".so", &w->shared);
    if (fd < 0)
        return false;
    close(fd);
    const char *slash = strrchr(w->path, '/');
    link_job job = {.object = w->object,
                    .out = w->shared,
                    .soname = slash ? slash + 1 : w->path,
                    .libm = calls_libm(m),
                    .triple = m->target.triple};
    return link_shared(m->a, &job, w->ds) && publish(w, &w->shared);
}

static void clean(work *w)
{
    if (w->object)
        unlink(w->object);
    if (w->shared)
        unlink(w->shared);
    if (w->code)
        LLVMDisposeMemoryBuffer(w->code);
}

/* Also where memory runs out on the way, nothing is left behind. */
static bool guarded(work *w, bool (*make)(work *))
{
    mem *mm = arena_mem(w->m->a);
    jmp_buf here, *outer = mm->on_oom;
    if (setjmp(here)) {
        mm->on_oom = outer;
        clean(w);
        mem_fail(mm);
    }
    mm->on_oom = &here;
    bool ok = make(w);
    mm->on_oom = outer;
    clean(w);
    return ok;
}

bool backend_write_object(backend_module *m, const char *path, diags *ds)
{
    work w = {.m = m, .path = path, .ds = ds};
    return guarded(&w, make_object);
}

bool backend_write_shared(backend_module *m, const char *path, diags *ds)
{
    work w = {.m = m, .path = path, .ds = ds};
    return guarded(&w, make_shared);
}
