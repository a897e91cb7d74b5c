/* link.c: the linker as a child process: ld.lld or ld from PATH, never a shell, never a C compiler.
 *
 * The result needs no other library, or libm.so.6 alone, which is then named by its path: the
 * linker is not left to search for it, and a program that loads the result need not be linked with
 * it. */
#include "backend/link.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define STR_(x) #x
#define STR(x)  STR_(x)

static const char *const linkers[] = {"ld.lld", ("ld.lld-" STR(LLVM_VERSION_MAJOR)), "ld"};

/* The program of that name in an absolute folder of PATH. */
static const char *on_path(arena *a, const char *name)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        if (*p == '/') {
            const char *full = arena_printf(a, "%.*s/%s", (int)n, p, name);
            if (access(full, X_OK) == 0)
                return full;
        }
        p += n + (p[n] == ':');
    }
    return NULL;
}

static const char *find_linker(arena *a, diags *ds)
{
    for (size_t i = 0; i < sizeof linkers / sizeof linkers[0]; i++) {
        const char *full = on_path(a, linkers[i]);
        if (full)
            return full;
    }
    diag *d = diag_error(ds, (span){0}, "no linker: neither ld.lld nor ld is in PATH");
    diag_help(d, "install lld or binutils (Debian: apt-get install lld), or write an object with "
                 "--emit=obj, which needs no linker");
    return NULL;
}

static const char *find_libm(arena *a, const char *triple, diags *ds)
{
    const char *arch = arena_strndup(a, triple, strcspn(triple, "-"));
    const char *const folders[] = {
        arena_printf(a, "/lib/%s-linux-gnu", arch),
        arena_printf(a, "/usr/lib/%s-linux-gnu", arch),
        arena_printf(a, "/usr/%s-linux-gnu/lib", arch),
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *full = arena_printf(a, "%s/libm.so.6", folders[i]);
        if (access(full, R_OK) == 0)
            return full;
    }
    diag *d = diag_error(ds, (span){0}, "no libm.so.6 for %s on this machine", arch);
    diag_note(d, (span){0}, "f64 models call functions of the C library, such as exp");
    diag_help(d, "use --real f32, or write an object with --emit=obj and link it on its machine");
    return NULL;
}

/* Runs argv; what it prints, up to a limit, goes to `said`. -1: it could not be started (errno is
 * set). */
static int run(char *const *argv, char *said, size_t size)
{
    int fd[2];
    if (pipe(fd) != 0)
        return -1;
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int e = posix_spawn_file_actions_init(&actions);
    if (e == 0) {
        e = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        for (int to = 1; e == 0 && to <= 2; to++)
            e = posix_spawn_file_actions_adddup2(&actions, fd[1], to);
        for (int i = 0; e == 0 && i < 2; i++)
            if (fd[i] > 2)
                e = posix_spawn_file_actions_addclose(&actions, fd[i]);
        if (e == 0)
            e = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(fd[1]);
    size_t n = 0;
    while (e == 0) {
        char rest[256];
        char *to = n + 1 < size ? said + n : rest; /* behind the limit it is read and dropped */
        ssize_t got = read(fd[0], to, n + 1 < size ? size - 1 - n : sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (to != rest)
            n += (size_t)got;
    }
    said[n] = 0;
    close(fd[0]);
    int status = 0;
    while (e == 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            e = errno;
    errno = e;
    return e != 0 ? -1 : status;
}

bool link_shared(arena *a, const link_job *job, diags *ds)
{
    const char *linker = find_linker(a, ds);
    const char *libm = linker && job->libm ? find_libm(a, job->triple, ds) : NULL;
    if (!linker || (job->libm && !libm))
        return false;
    const char *const args[] = {
        linker,
        "-shared",
        "-soname",
        job->soname,
        "-o",
        job->out,
        "--build-id=none",
        "--hash-style=gnu",
        "-z",
        "text",
        "-z",
        "now",
        "-z",
        "relro",
        "-z",
        "noexecstack",
        "-z",
        "defs",
        job->object,
        libm,
        NULL,
    };
    size_t n = sizeof args / sizeof args[0];
    char **argv = ARENA_ARRAY(a, char *, n);
    for (size_t i = 0; i < n; i++)
        argv[i] = args[i] ? arena_printf(a, "%s", args[i]) : NULL;
    enum { LIMIT = 4000 };
    char *said = ARENA_ARRAY(a, char, LIMIT);
    int status = run(argv, said, LIMIT);
    if (status == 0)
        return true;
    if (status == -1) {
        diag_error(ds, (span){0}, "the linker %s cannot be run: %s", linker, strerror(errno));
        return false;
    }
    diag *d = diag_error(ds, (span){0}, "the linker %s failed", linker);
    if (said[0])
        diag_note(d, (span){0}, "it says: %s", said);
    diag_help(d, "ld of another machine cannot link for %s; ld.lld links for all", job->triple);
    return false;
}
