/* backend_files.c: what the backend writes: objects, shared objects as a program without the
 * compiler sees them, and the header as C and C++ compilers see it. Uses $CC (cc), c++, readelf and
 * nm; what is missing is left out, but for the C compiler. */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char model[] =
    "kernel @run real f32 {\n"
    "  dims B, T\n"
    "  check B <= T \"a */ in the text\"\n"
    "  buffer x : input f32[B, T] \"x\"\n"
    "  buffer n : input i64[B] \"register\" optional\n"
    "  buffer W : param f32[2, T] \"layer.{l}.W\" family 1 from \"enc/*{l}*/W\"\n"
    "  buffer y : output f32[B, T] \"y\"\n"
    "  buffer z : output bool[B] \"class\"\n"
    "  buffer t : temp f32[T]\n"
    "  for b in 0 .. B {\n"
    "    for i in 0 .. T {\n"
    "      t[i] = exp(x[b, i])\n"
    "    }\n"
    "    for i2 in 0 .. T {\n"
    "      y[b, i2] = add(mul(t[i2], W[0, i2]), W[1, i2])\n"
    "    }\n"
    "    z[b] = given(n)\n"
    "  }\n"
    "}\n";
static const char names[] = "kernel @div real f64 {\n"
                            "  dims I, NULL\n"
                            "  buffer a : input f64[I] \"asm\"\n"
                            "  buffer b : input f16[NULL] \"remove\"\n"
                            "  buffer c : input u8[2] \"div__inputs\"\n"
                            "  buffer d : output i32[I] \"errno\"\n"
                            "  buffer e : output f64[I] \"é\"\n"
                            "  for i in 0 .. I {\n"
                            "    d[i] = 1\n"
                            "    e[i] = sin(a[i])\n"
                            "  }\n"
                            "}\n";
static const char nothing[] = "kernel @nothing real f32 {\n  dims\n}\n";

static const char *folder(arena *a)
{
    const char *tmp = getenv("TMPDIR");
    char *name = arena_printf(a, "%s/attnc-test-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(name));
    return name;
}

static void shell(arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void shell(arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *command = arena_vprintf(a, fmt, ap);
    va_end(ap);
    fflush(NULL);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

static bool have(arena *a, const char *program)
{
    return system(arena_printf(a, "command -v %s >/dev/null 2>&1", program)) == 0;
}

static const char *cc(void)
{
    const char *s = getenv("CC");
    return s && s[0] ? s : "cc";
}

static const char *output_of(arena *a, const char *command)
{
    fflush(NULL);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    strbuf s = {.a = a};
    char buf[512];
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;)
        sb_putn(&s, buf, n);
    ck_assert_int_eq(pclose(f), 0);
    return sb_text(&s);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static const char *write_header(bench *b, const char *dir, const char *name)
{
    strbuf s = {.a = b->a};
    ck_assert(backend_check(b->kernels.v, b->kernels.n, &b->ds));
    backend_print_header(b->kernels.v, b->kernels.n, name, &s);
    write_text(arena_printf(b->a, "%s/%s", dir, name), sb_text(&s));
    return sb_text(&s);
}

/* ---- The header
 * ---------------------------------------------------------------------------------- */

START_TEST(header)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, model);
    bench_kernel(&b, names);
    bench_kernel(&b, nothing);
    const char *dir = folder(b.a);
    const char *text = write_header(&b, dir, "model-1.h");
    ck_assert_ptr_nonnull(strstr(text, "const float *layer_W[2];"));
    ck_assert_ptr_nonnull(strstr(text, "const int64_t *register_;"));
    ck_assert_ptr_nonnull(strstr(text, "uint8_t *class_;"));
    ck_assert_ptr_nonnull(strstr(text, "optional: may be NULL"));
    ck_assert_ptr_nonnull(strstr(text, "x: f32[B, T]"));
    ck_assert_ptr_nonnull(strstr(text, "attn_status div_(const div__dims *dims"));
    ck_assert_ptr_nonnull(strstr(text, "#ifndef ATTN_MODEL_MODEL_1_H"));
    /* All headers that could get in the way, and the header twice. */
    static const char use[] =
        "#include <stdlib.h>\n#include <stdio.h>\n#include <math.h>\n#include <string.h>\n#include "
        "<errno.h>\n"
        "#ifndef __cplusplus\n#include <complex.h>\n#endif\n#include \"model-1.h\"\n#include "
        "\"model-1.h\"\n"
        "int main(void)\n{\n    run_dims d = {1, 2};\n    run_params p;\n    run_inputs i;\n    "
        "run_outputs o;\n"
        "    p.layer_W[0] = p.layer_W[1] = NULL;\n    i.x = NULL;\n    i.register_ = NULL;\n"
        "    o.y = NULL;\n    o.class_ = NULL;\n    (void)p;\n    (void)i;\n    (void)o;\n"
        "    return (int)(d.B + d.T) - 3;\n}\n";
    write_text(arena_printf(b.a, "%s/use.c", dir), use);
    write_text(arena_printf(b.a, "%s/use.cpp", dir), use);
    const char *source = getenv("ATTNC_SOURCE");
    ck_assert_ptr_nonnull(source);
    static const char flags[] = "-Wall -Wextra -Wpedantic -Werror -fsyntax-only";
    shell(b.a, "%s -std=c11 %s -I%s/runtime %s/use.c", cc(), flags, source, dir);
    if (have(b.a, "c++"))
        shell(b.a, "c++ -std=c++17 %s -I%s/runtime %s/use.cpp", flags, source, dir);
    if (have(b.a, "clang"))
        shell(b.a, "clang -std=c11 %s -I%s/runtime %s/use.c", flags, source, dir);
    shell(b.a, "rm -r %s", dir);
    bench_done(&b);
}
END_TEST

/* ---- Objects
 * ------------------------------------------------------------------------------------- */

static const char host[] =
    "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include \"model.h\"\n"
    "int main(int argc, char **argv)\n{\n"
    "    void *lib = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);\n"
    "    if (!lib) {\n        fprintf(stderr, \"%s\\n\", dlerror());\n        return 1;\n    }\n"
    "    union { void *p; attn_run_fn *f; } entry;\n    entry.p = dlsym(lib, \"run\");\n"
    "    union { void *p; attn_workspace_fn *f; } size;\n    size.p = dlsym(lib, "
    "\"run_workspace\");\n"
    "    const attn_model_info *info = dlsym(lib, \"run_info\");\n"
    "    if (!entry.p || !size.p || !info || info->n_tensors != 6)\n        return 2;\n"
    "    run_dims d = {2, 3};\n    float x[6] = {0, 0, 0, 0, 0, 0}, w[6] = {1, 2, 3, 10, 20, 30}, "
    "y[6];\n"
    "    uint8_t z[2];\n    run_params p = {{w, w + 3}};\n    run_inputs in = {x, NULL};\n"
    "    run_outputs out = {y, z};\n"
    "    void *work = aligned_alloc(64, size.f((const int64_t *)&d, 1));\n"
    "    attn_status s = entry.f((const int64_t *)&d, (const void *const *)&p, NULL,\n"
    "                            (const void *const *)&in, (void *const *)&out, work, NULL);\n"
    "    if (s != ATTN_OK || y[4] != 22 || z[1] != 0)\n        return 3;\n"
    "    free(work);\n    dlclose(lib);\n    return 0;\n}\n";

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* As a host uses it: by a program that is linked with libc alone. */
START_TEST(shared_object)
{
    static const char *const cpus[] = {NULL, "x86-64-v2"};
    for (int i = 0; i < 2; i++) {
        bench b;
        bench_init(&b);
        bench_kernel(&b, model);
        const char *dir = folder(b.a), *so = arena_printf(b.a, "%s/libmodel.so", dir);
        write_header(&b, dir, "model.h");
#if !defined(__x86_64__)
        if (cpus[i])
            continue;
#endif
        bench_compile(&b, &(backend_options){.level = 2, .cpu = cpus[i]});
        ck_assert_msg(backend_write_shared(b.module, so, &b.ds), "%s", bench_errors(&b));
        write_text(arena_printf(b.a, "%s/host.c", dir), host);
        shell(b.a, "%s -std=gnu11 -I%s -I%s/runtime %s/host.c -ldl -o %s/host", cc(), dir,
              getenv("ATTNC_SOURCE"), dir, dir);
        shell(b.a, "%s/host %s", dir, so);
        if (have(b.a, "readelf")) {
            const char *dynamic = output_of(b.a, arena_printf(b.a, "LC_ALL=C readelf -dW %s", so));
            ck_assert_ptr_null(strstr(dynamic, "NEEDED"));
            ck_assert_ptr_null(strstr(dynamic, "TEXTREL"));
            ck_assert_ptr_nonnull(strstr(dynamic, "soname: [libmodel.so]"));
            const char *segments = output_of(b.a, arena_printf(b.a, "LC_ALL=C readelf -lW %s", so));
            const char *stack = strstr(segments, "GNU_STACK");
            ck_assert_ptr_nonnull(stack);
            ck_assert_ptr_null(strstr(arena_strndup(b.a, stack, strcspn(stack, "\n")), "RWE"));
        }
        if (have(b.a, "nm"))
            ck_assert_str_eq(
                output_of(b.a, arena_printf(b.a,
                                            "nm -D --defined-only %s | sed 's/.* //' | "
                                            "LC_ALL=C sort",
                                            so)),
                "run\nrun_info\nrun_prepare\nrun_prepared\nrun_workspace\n");
        /* Nothing else is left in the folder; what is there may be run. */
        ck_assert_str_eq(output_of(b.a, arena_printf(b.a, "LC_ALL=C ls %s", dir)),
                         "host\nhost.c\nlibmodel.so\nmodel.h\n");
        shell(b.a, "rm -r %s", dir);
        bench_done(&b);
    }
}
END_TEST

START_TEST(with_libm)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, names);
    bench_compile(&b, NULL);
    const char *dir = folder(b.a), *so = arena_printf(b.a, "%s/m.so", dir);
    ck_assert_msg(backend_write_shared(b.module, so, &b.ds), "%s", bench_errors(&b));
    static const char load[] =
        "#include <dlfcn.h>\nint main(int c, char **v)\n{\n    void *p = dlopen(v[c - 1], "
        "RTLD_NOW);\n    return !(p && dlsym(p, \"div_\"));\n}\n";
    write_text(arena_printf(b.a, "%s/load.c", dir), load);
    shell(b.a, "%s %s/load.c -ldl -o %s/load && %s/load %s", cc(), dir, dir, dir, so);
    if (have(b.a, "readelf"))
        ck_assert_str_eq(output_of(b.a, arena_printf(b.a,
                                                     "LC_ALL=C readelf -dW %s | sed -n "
                                                     "'s/.*NEEDED.*: //p'",
                                                     so)),
                         "[libm.so.6]\n");
    shell(b.a, "rm -r %s", dir);
    bench_done(&b);
}
END_TEST

START_TEST(object)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, model);
    bench_compile(&b, NULL);
    const char *dir = folder(b.a), *o = arena_printf(b.a, "%s/model.o", dir);
    write_text(o, "an older file");
    ck_assert(backend_write_object(b.module, o, &b.ds));
    struct stat st;
    ck_assert_int_eq(stat(o, &st), 0);
    ck_assert_int_gt(st.st_size, 1000);
    /* The same bytes each time. */
    const char *again = arena_printf(b.a, "%s/again.o", dir);
    ck_assert(backend_write_object(b.module, again, &b.ds));
    shell(b.a, "cmp %s %s", o, again);
    if (have(b.a, "readelf"))
        ck_assert_ptr_nonnull(strstr(
            output_of(b.a, arena_printf(b.a, "LC_ALL=C readelf -SW %s", o)), ".note.GNU-stack"));
    shell(b.a, "rm -r %s", dir);
    bench_done(&b);
}
END_TEST

START_TEST(failures)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, model);
    bench_compile(&b, NULL);
    const char *dir = folder(b.a);
    ck_assert(!backend_write_object(b.module, arena_printf(b.a, "%s/no/such/model.o", dir), &b.ds));
    ck_assert_ptr_nonnull(strstr(bench_errors(&b), "No such file"));

    /* Without a linker: the older file stays, nothing else appears. */
    const char *so = arena_printf(b.a, "%s/model.so", dir);
    write_text(so, "older");
    const char *path = arena_printf(b.a, "%s", getenv("PATH"));
    setenv("PATH", dir, 1);
    ck_assert(!backend_write_shared(b.module, so, &b.ds));
    setenv("PATH", path, 1);
    ck_assert_ptr_nonnull(strstr(bench_errors(&b), "--emit=obj"));
    ck_assert_str_eq(output_of(b.a, arena_printf(b.a, "ls %s; cat %s", dir, so)),
                     "model.so\nolder");

    /* A linker that fails says why. */
    write_text(arena_printf(b.a, "%s/ld.lld", dir), "#!/bin/sh\necho 'out of luck' >&2\nexit 1\n");
    shell(b.a, "chmod +x %s/ld.lld", dir);
    setenv("PATH", arena_printf(b.a, "%s:%s", dir, path), 1);
    ck_assert(!backend_write_shared(b.module, so, &b.ds));
    setenv("PATH", path, 1);
    ck_assert_ptr_nonnull(strstr(bench_errors(&b), "out of luck"));
    ck_assert_str_eq(output_of(b.a, arena_printf(b.a, "ls %s", dir)), "ld.lld\nmodel.so\n");
    shell(b.a, "rm -r %s", dir);
    bench_done(&b);
}
END_TEST

/* GNU ld serves as well as lld. */
START_TEST(other_linker)
{
    bench b;
    bench_init(&b);
    bench_kernel(&b, model);
    bench_kernel(&b, names);
    bench_compile(&b, NULL);
    const char *dir = folder(b.a), *so = arena_printf(b.a, "%s/model.so", dir);
    const char *path = arena_printf(b.a, "%s", getenv("PATH"));
    if (have(b.a, "ld")) {
        shell(b.a, "mkdir %s/bin && ln -s \"$(command -v ld)\" %s/bin/ld", dir, dir);
        setenv("PATH", arena_printf(b.a, "%s/bin", dir), 1);
        ck_assert_msg(backend_write_shared(b.module, so, &b.ds), "%s", bench_errors(&b));
        setenv("PATH", path, 1);
        ck_assert(is_there(so));
    }
    shell(b.a, "rm -r %s", dir);
    bench_done(&b);
}
END_TEST

/* Loops are vectors, and no function is called in them. */
START_TEST(code)
{
#if defined(__x86_64__)
    bench b;
    bench_init(&b);
    bench_kernel(
        &b,
        "kernel @f real f32 {\n  dims N\n  buffer x : input f32[N] \"x\"\n"
        "  buffer h : input f16[N] \"h\"\n  buffer y : output f32[N] \"y\"\n"
        "  buffer s : output bf16[N] \"s\"\n  buffer d : output f32[] \"d\"\n"
        "  var acc : f32 = 0.0\n  var m : f32 = -inf\n"
        "  for i in 0 .. N {\n    acc = add(acc, mul(x[i], x[i]))\n    m = max(m, x[i])\n  }\n"
        "  for j in 0 .. N {\n"
        "    y[j] = add(tanh(exp(x[j])), add(erf(log1p(h[j])), add(sin(x[j]), pow(x[j], h[j]))))\n"
        "    s[j] = y[j]\n  }\n  d[] = add(acc, m)\n}\n");
    bench_compile(&b, &(backend_options){.cpu = "x86-64-v3", .level = 2});
    strbuf s = {.a = b.a};
    ck_assert(backend_print_llvm(b.module, &s, &b.ds));
    const char *ir = sb_text(&s);
    ck_assert_ptr_nonnull(strstr(ir, "fadd reassoc nsz arcp contract <8 x float>"));
    ck_assert_ptr_nonnull(strstr(ir, "llvm.maximum.v8f32"));
    ck_assert_ptr_null(strstr(ir, "nnan"));
    ck_assert_ptr_null(strstr(ir, "ninf"));
    for (const char *d = ir; (d = strstr(d, "declare float @")) != NULL; d++)
        ck_assert_int_eq(strncmp(d, "declare float @llvm.", 20), 0);
    s = (strbuf){.a = b.a};
    ck_assert(backend_print_asm(b.module, &s, &b.ds));
    const char *body = strstr(sb_text(&s), "f.body:");
    ck_assert_ptr_nonnull(body);
    body = arena_strndup(b.a, body, (size_t)(strstr(body, ".Lfunc_end") - body));
    ck_assert_ptr_nonnull(strstr(body, "vfmadd"));
    ck_assert_ptr_nonnull(strstr(body, "ymm"));
    ck_assert_ptr_null(strstr(body, "call"));
    bench_done(&b);
#endif
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_files");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, header);
    tcase_add_test(t, shared_object);
    tcase_add_test(t, with_libm);
    tcase_add_test(t, object);
    tcase_add_test(t, failures);
    tcase_add_test(t, other_linker);
    tcase_add_test(t, code);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
