/*
 * io_support.c - see io_support.h.
 */
#define _GNU_SOURCE /* nftw */
#include "io_support.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scratch(const char *name)
{
    static char paths[4][200];
    static int next;
    if (!folder[0]) {
        strcpy(folder, "/tmp/attn-io-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        atexit(remove_folder);
    }
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void scratch_write(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

int scratch_count(void)
{
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void add(attn_tensor_set *set, const char *name, attn_dtype dtype, int64_t rank,
                const int64_t *shape)
{
    attn_io_status status;
    attn_tensor *t = attn_tensor_set_add(set, name, dtype, rank, shape, &status);
    ck_assert_int_eq(status, ATTN_IO_OK);
    unsigned char *p = t->data;
    for (size_t i = 0; i < t->bytes; i++)
        p[i] = (unsigned char)(dtype == ATTN_BOOL ? i & 1 : i * 37 + 11);
}

void add_samples(attn_tensor_set *set, bool file_names)
{
    const int64_t shape[] = {2, 3, 5};
    const int64_t empty[] = {4, 0};
    add(set, "bytes", ATTN_U8, 1, shape + 2);
    add(set, "flags", ATTN_BOOL, 2, shape);
    add(set, "f32", ATTN_F32, 3, shape);
    add(set, "f64", ATTN_F64, 2, shape + 1);
    add(set, "scalar", ATTN_F64, 0, NULL);
    add(set, file_names ? "layer.0.W" : "layer/0 \"W\"\\", ATTN_F16, 2, shape);
    add(set, "\xce\xb1\xe2\x82\xac\xf0\x9f\x98\x80", ATTN_BF16, 1, shape);
    add(set, "ids", ATTN_I64, 2, shape);
    add(set, "i32", ATTN_I32, 1, shape + 1);
    add(set, "nothing", ATTN_F32, 2, empty);
}

void assert_sets_equal(const attn_tensor_set *a, const attn_tensor_set *b)
{
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const attn_tensor *x = &a->item[i];
        const attn_tensor *y = attn_tensor_set_find(b, x->name);
        ck_assert_msg(y != NULL, "%s is missing", x->name);
        ck_assert_int_eq(x->dtype, y->dtype);
        ck_assert_int_eq(x->rank, y->rank);
        for (int64_t k = 0; k < x->rank; k++)
            ck_assert_int_eq(x->shape[k], y->shape[k]);
        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_ptr_nonnull(y->data);
        ck_assert_int_eq(memcmp(x->data, y->data, x->bytes), 0);
    }
}

/* Write and read under one torture plan; the status of whichever failed. */
static attn_io_status there_and_back(const char *path, bool file_names, torture *plan)
{
    attn_allocator libc = attn_allocator_libc();
    attn_allocator alloc = torture_allocator(plan);
    attn_tensor_set out;
    attn_tensor_set in;
    attn_text error;
    attn_tensor_set_init(&out, &libc);
    attn_tensor_set_init(&in, &alloc);
    attn_text_init(&error, &alloc);
    add_samples(&out, file_names);
    attn_io_status status = attn_io_write(path, &out, &error);
    if (status == ATTN_IO_OK)
        status = attn_io_read(path, NULL, &in, &error);
    if (status == ATTN_IO_OK)
        assert_sets_equal(&out, &in);
    else
        ck_assert_uint_eq(in.n, 0);
    if (!plan->fail_at)
        ck_assert_msg(status == ATTN_IO_OK, "%s", attn_text_cstr(&error));
    else if (status != ATTN_IO_OK)
        ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "out of memory"));
    attn_tensor_set_free(&in);
    attn_tensor_set_free(&out);
    attn_text_free(&error);
    ck_assert_uint_eq(plan->live, 0);
    return status;
}

void check_round_trip(const char *path, bool file_names)
{
    torture none = {0};
    ck_assert_int_eq(there_and_back(path, file_names, &none), ATTN_IO_OK);
    int before = scratch_count();
    for (int for_good = 0; for_good < 2; for_good++)
        for (long at = 1; at <= none.calls; at++) {
            torture plan = {.fail_at = at, .for_good = for_good};
            ck_assert_int_eq(there_and_back(path, file_names, &plan), ATTN_IO_NOMEM);
        }
    ck_assert_int_eq(scratch_count(), before);
}

void check_write_fails(const char *path, const char *message)
{
    attn_allocator libc = attn_allocator_libc();
    attn_tensor_set set;
    attn_text error;
    attn_tensor_set_init(&set, &libc);
    attn_text_init(&error, &libc);
    add_samples(&set, true);
    if (attn_io_format_of(path) == ATTN_IO_NPY)
        attn_tensor_set_truncate(&set, 1);
    ck_assert_int_eq(attn_io_write(path, &set, &error), ATTN_IO_SYSTEM);
    ck_assert_msg(strstr(attn_text_cstr(&error), message), "%s", attn_text_cstr(&error));
    attn_tensor_set_free(&set);
    attn_text_free(&error);
}

void check_full_disk(const char *path)
{
    struct rlimit old;
    struct stat st;
    scratch_write(path, "old", 3);
    int before = scratch_count();
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit small = {64, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_write_fails(path, "cannot be written");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 3);
    ck_assert_int_eq(scratch_count(), before);
}

static const char *extension(attn_io_format format)
{
    return format == ATTN_IO_NPY   ? "damaged.npy"
           : format == ATTN_IO_NPZ ? "damaged.npz"
                                   : "damaged.safetensors";
}

void check_refused(attn_io_format format, const void *data, size_t n, attn_io_status status,
                   const char *message)
{
    torture plan = {0};
    attn_allocator alloc = torture_allocator(&plan);
    attn_tensor_set set;
    attn_text error;
    attn_tensor_set_init(&set, &alloc);
    const char *path = scratch(extension(format));
    scratch_write(path, data, n);
    for (int from_file = 0; from_file < 2; from_file++) {
        attn_text_init(&error, &alloc);
        attn_io_status got = from_file
                                 ? attn_io_read(path, NULL, &set, &error)
                                 : attn_io_read_memory(format, data, n, path, NULL, &set, &error);
        ck_assert_msg(got == status, "status %d for: %s", (int)got, attn_text_cstr(&error));
        ck_assert_msg(strstr(attn_text_cstr(&error), message) != NULL, "'%s' is not in: %s",
                      message, attn_text_cstr(&error));
        ck_assert_msg(strncmp(attn_text_cstr(&error), path, strlen(path)) == 0, "no file in: %s",
                      attn_text_cstr(&error));
        ck_assert_uint_eq(set.n, 0);
        attn_text_free(&error);
    }
    attn_tensor_set_free(&set);
    ck_assert_uint_eq(plan.live, 0);
}

void check_accepted(attn_io_format format, const void *data, size_t n, attn_tensor_set *set)
{
    attn_allocator libc = attn_allocator_libc();
    attn_text error;
    attn_text_init(&error, &libc);
    attn_tensor_set_init(set, &libc);
    attn_io_status got =
        attn_io_read_memory(format, data, n, "folder/memory.npy", NULL, set, &error);
    ck_assert_msg(got == ATTN_IO_OK, "%s", attn_text_cstr(&error));
    attn_text_free(&error);
}

void check_read_torture(attn_io_format format, const void *data, size_t n)
{
    long calls = 1;
    for (long at = 0; at <= calls; at++) {
        torture plan = {.fail_at = at};
        attn_allocator alloc = torture_allocator(&plan);
        attn_tensor_set set;
        attn_text error;
        attn_tensor_set_init(&set, &alloc);
        attn_text_init(&error, &alloc);
        attn_io_status got = attn_io_read_memory(format, data, n, "memory.npy", NULL, &set, &error);
        ck_assert_int_eq(got, at ? ATTN_IO_NOMEM : ATTN_IO_OK);
        if (at == 0)
            calls = plan.calls;
        attn_tensor_set_free(&set);
        attn_text_free(&error);
        ck_assert_uint_eq(plan.live, 0);
    }
}
