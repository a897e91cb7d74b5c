/* backend_tile.c: sums by tiles that become calls of one function, and statements that look like
 * them and must not, against the same statements in plain loops. All numbers are small ints, so
 * that no order of additions makes a difference. */
#include "tests/unit/backend_support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_K = 9 };

/* acc is cleared, then `sum`; `put` says where each of its elements goes. called: it is a tile. */
typedef struct form {
    const char *name, *sum, *put, *after;
    bool called;
} form;

#define ROWS    "unroll for r in 0 .. 3 {\n"
#define COLUMNS "VECTOR for c in 0 .. 16 {\n acc[r, c] = add(acc[r, c], mul("
#define END     ")) }\n }\n"
#define PUT     "y[1, add(r4, 2), c4] = acc[r4, c4]"

static const form forms[] = {
    {"unit", "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[1, k, c], x" END "}",
     PUT, "", true},
    {"strided",
     "for k in 0 .. K {\n" ROWS "let x : REAL = a[r, k, 2]\n" COLUMNS "p[0, k, c], x" END "}", PUT,
     "", true},
    {"swapped",
     "for k in 0 .. K {\n" ROWS "let x : REAL = a[2, k, r]\n" COLUMNS "x, p[0, k, c]" END "}", PUT,
     "", true},
    {"row numbers",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[row[r], k]\n" COLUMNS "p[0, k, c], x" END "}",
     PUT, "", true},
    {"some of k",
     "for k in 2 .. sub(K, 1) {\n" ROWS "let x : REAL = b[r, sub(k, 1)]\n" COLUMNS
     "p[1, add(k, 1), c], x" END "}",
     PUT, "", true},
    {"backwards",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, sub(sub(K, 1), k)]\n" COLUMNS
     "p[1, k, c], x" END "}",
     PUT, "", true},
    {"two loops",
     "for j in 0 .. 2 {\n for k in 0 .. K {\n" ROWS "let x : REAL = a[add(r, 1), k, j]\n" COLUMNS
     "p[j, k, c], x" END "}\n}",
     PUT, "", true},
    {"a part of wider rows",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[1, k, c], x" END "}",
     "w[add(r4, 1), add(c4, 9)] = acc[r4, c4]", "", true},
    {"read once more",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[1, k, c], x" END "}", PUT,
     "for r9 in 0 .. 3 {\n for c9 in 0 .. 16 {\n w[r9, c9] = acc[r9, c9]\n }\n }", true},
    {"gather",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, q[k]]\n" COLUMNS "p[1, k, c], x" END "}", PUT,
     "", false},
    {"computed",
     "for k in 0 .. K {\n" ROWS "let x : REAL = mul(b[r, k], 2.0)\n" COLUMNS "p[1, k, c], x" END
     "}",
     PUT, "", false},
    {"with a condition",
     "for k in 0 .. K {\n if ne(k, 1) {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS
     "p[1, k, c], x" END "}\n }",
     PUT, "", false},
    {"triangle",
     "for j in 0 .. 2 {\n for k in 0 .. add(j, 1) {\n" ROWS "let x : REAL = a[r, k, j]\n" COLUMNS
     "p[j, k, c], x" END "}\n}",
     PUT, "", false},
    {"a panel by row",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[imod(r, 2), k, c], x" END "}",
     PUT, "", false},
    {"every second row of a panel",
     "for k in 0 .. idiv(K, 2) {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS
     "p[0, add(k, k), c], x" END "}",
     PUT, "", false},
    {"columns the other way round",
     "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[1, k, c], x" END "}",
     "y[1, r4, sub(15, c4)] = acc[r4, c4]", "", false},
    {"added", "for k in 0 .. K {\n" ROWS "let x : REAL = b[r, k]\n" COLUMNS "p[1, k, c], x" END "}",
     "y[0, r4, c4] = add(y[0, r4, c4], acc[r4, c4])", "", false},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const char *text_of(arena *a, const form *f, const char *real, const char *name, bool tile)
{
    const char *text = arena_printf(
        a,
        "kernel @%s real REAL {\n dims K\n"
        " buffer a : input REAL[6, K, 3] \"a\"\n buffer b : input REAL[6, K] \"b\"\n"
        " buffer p : input REAL[2, K, 16] \"p\"\n buffer q : input i32[K] \"q\"\n"
        " buffer y : output REAL[2, 6, 16] \"y\"\n buffer w : output REAL[5, 32] \"w\"\n"
        " buffer acc : reg REAL[3, 16]\n buffer row : reg i64[3]\n"
        " for i1 in 0 .. 2 {\n for r1 in 0 .. 6 {\n for c1 in 0 .. 16 {\n"
        " y[i1, r1, c1] = 1.0\n }\n }\n }\n"
        " for i2 in 0 .. 5 {\n for c2 in 0 .. 32 {\n w[i2, c2] = 2.0\n }\n }\n"
        " unroll for r2 in 0 .. 3 {\n row[r2] = min(mul(r2, 3), 5)\n }\n"
        " unroll for r3 in 0 .. 3 {\n VECTOR for c3 in 0 .. 16 {\n acc[r3, c3] = 0.0\n }\n }\n"
        " %s\n unroll for r4 in 0 .. 3 {\n VECTOR for c4 in 0 .. 16 {\n %s\n }\n }\n %s\n}\n",
        name, f->sum, f->put, f->after);
    return text_replaced(a, text_replaced(a, text, "VECTOR", tile ? "vector" : ""), "REAL", real);
}

typedef struct data {
    double a[6 * MAX_K * 3], b[6 * MAX_K], p[2 * MAX_K * 16], y[2 * 6 * 16], w[5 * 32];
    int32_t q[MAX_K];
} data;

static void fill(double *to, size_t n, bool wide, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)((i * 7 + seed) % 11) - 5;
        if (wide)
            to[i] = v;
        else
            ((float *)to)[i] = (float)v;
    }
}

static data *run(bench *b, const char *name, bool wide, int64_t k)
{
    data *d = calloc(1, sizeof *d);
    ck_assert_ptr_nonnull(d);
    fill(d->a, 6 * MAX_K * 3, wide, 1);
    fill(d->b, 6 * MAX_K, wide, 2);
    fill(d->p, 2 * MAX_K * 16, wide, 3);
    for (int64_t i = 0; i < k; i++)
        d->q[i] = (int32_t)(k - 1 - i);
    backend_entry e = bench_entry(b, name);
    size_t size = e.workspace(&k, 1);
    void *work = aligned_alloc(64, size + 64);
    ck_assert_ptr_nonnull(work);
    const void *in[] = {d->a, d->b, d->p, d->q};
    void *out[] = {d->y, d->w};
    ck_assert_int_eq(e.run(&k, NULL, NULL, in, out, work, NULL), ATTN_OK);
    free(work);
    return d;
}

static void check_form(const form *f, bool wide, const backend_options *o)
{
    bench b;
    bench_init(&b);
    const char *real = wide ? "f64" : "f32";
    bench_kernel(&b, text_of(b.a, f, real, "tile", true));
    bench_kernel(&b, text_of(b.a, f, real, "plain", false));
    bench_compile(&b, o);
    for (int64_t k = 1; k <= MAX_K; k++) {
        data *x = run(&b, "tile", wide, k), *y = run(&b, "plain", wide, k);
        ck_assert_msg(memcmp(x, y, sizeof *x) == 0, "%s, K = %d", f->name, (int)k);
        free(x);
        free(y);
    }
    strbuf s = {.a = b.a};
    ck_assert(backend_print_llvm(b.module, &s, &b.ds));
    bool called = strstr(sb_text(&s), "@attn.tile.") != NULL;
    ck_assert_msg(called == f->called, "%s: %s", f->name, called ? "a call" : "no call");
    bench_done(&b);
}

START_TEST(one_function)
{
    static const backend_options o = {.level = 2};
    check_form(&forms[_i], false, &o);
    check_form(&forms[_i], true, &o);
}
END_TEST

START_TEST(unoptimised)
{
    static const backend_options o = {.level = 0};
    check_form(&forms[_i], false, &o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend_tile");
    TCase *t = tcase_create("forms");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, one_function, 0, N_FORMS);
    tcase_add_loop_test(t, unoptimised, 0, N_FORMS);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
