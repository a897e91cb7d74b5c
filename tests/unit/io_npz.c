/*
 * io_npz.c - .npz: round trips, archives made by hand with libzip, damage at every byte.
 * bug/L-19 L-22 L-25 L-26.
 */
#include "io_support.h"

#include <unistd.h>
#include <zip.h>

#define NPY_HEAD "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }"

/* An .npy of n zero bytes whose header claims `claimed`. */
static size_t build_npy(unsigned char *out, size_t claimed, size_t n)
{
    int len = snprintf((char *)out + 10, 200, NPY_HEAD, claimed);
    memcpy(out, "\x93NUMPY\x01\0", 8);
    out[8] = (unsigned char)len;
    out[9] = 0;
    memset(out + 10 + len, 0, n);
    return 10 + (size_t)len + n;
}

/* Makes an archive of one member with libzip and reads the file back into memory. */
static size_t build_zip(unsigned char **out, const char *member, const void *data, size_t n,
                        int method)
{
    const char *path = scratch("made.npz");
    unlink(path);
    zip_t *z = zip_open(path, ZIP_CREATE, NULL);
    ck_assert_ptr_nonnull(z);
    zip_source_t *source = zip_source_buffer(z, data, n, 0);
    zip_int64_t index = zip_file_add(z, member, source, ZIP_FL_ENC_UTF_8);
    ck_assert_int_ge(index, 0);
    ck_assert_int_eq(zip_set_file_compression(z, (zip_uint64_t)index, method, 0), 0);
    ck_assert_int_eq(zip_close(z), 0);
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    *out = malloc(size);
    ck_assert_uint_eq(fread(*out, 1, size, f), size);
    fclose(f);
    return size;
}

static void refused(const char *member, const void *data, size_t n, int method,
                    attn_io_status status, const char *message)
{
    unsigned char *file;
    size_t size = build_zip(&file, member, data, n, method);
    check_refused(ATTN_IO_NPZ, file, size, status, message);
    free(file);
}

START_TEST(round_trip)
{
    check_round_trip(scratch("all.npz"), false);
}
END_TEST

START_TEST(same_bytes)
{
    attn_allocator libc = attn_allocator_libc();
    unsigned char *content[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        attn_tensor_set set;
        attn_text error;
        attn_tensor_set_init(&set, &libc);
        attn_text_init(&error, &libc);
        add_samples(&set, false);
        ck_assert_int_eq(attn_io_write(scratch("same.npz"), &set, &error), ATTN_IO_OK);
        attn_tensor_set_free(&set);
        FILE *f = fopen(scratch("same.npz"), "rb");
        content[i] = malloc(100000);
        size[i] = fread(content[i], 1, 100000, f);
        fclose(f);
        if (i == 0)
            sleep(1);
    }
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_int_eq(memcmp(content[0], content[1], size[0]), 0);
    free(content[0]);
    free(content[1]);
}
END_TEST

START_TEST(empty_archives)
{
    attn_allocator libc = attn_allocator_libc();
    attn_tensor_set set;
    attn_text error;
    unsigned char end[22] = "PK\5\6";
    check_accepted(ATTN_IO_NPZ, end, sizeof end, &set);
    ck_assert_uint_eq(set.n, 0);
    check_refused(ATTN_IO_NPZ, end, 0, ATTN_IO_FORMAT, "no readable zip archive");
    check_refused(ATTN_IO_NPZ, "hello", 5, ATTN_IO_FORMAT, "no readable zip archive");
    /* A set without tensors is such an archive. */
    attn_text_init(&error, &libc);
    ck_assert_int_eq(attn_io_write(scratch("none.npz"), &set, &error), ATTN_IO_OK);
    ck_assert_int_eq(attn_io_read(scratch("none.npz"), NULL, &set, &error), ATTN_IO_OK);
    ck_assert_uint_eq(set.n, 0);
    attn_tensor_set_free(&set);
}
END_TEST

START_TEST(members)
{
    unsigned char npy[1000];
    attn_tensor_set set;
    unsigned char *file;
    size_t n = build_npy(npy, 5, 5);
    for (int method = ZIP_CM_STORE; method <= ZIP_CM_DEFLATE; method += ZIP_CM_DEFLATE) {
        size_t size = build_zip(&file, "a/b.npy", npy, n, method);
        check_accepted(ATTN_IO_NPZ, file, size, &set);
        ck_assert_str_eq(set.item[0].name, "a/b");
        ck_assert_uint_eq(set.item[0].bytes, 5);
        attn_tensor_set_free(&set);
        check_read_torture(ATTN_IO_NPZ, file, size);
        free(file);
    }
    const attn_io_status F = ATTN_IO_FORMAT;
    refused("readme.txt", npy, n, ZIP_CM_STORE, F, "'readme.txt': the member is no .npy");
    refused(".npy", npy, n, ZIP_CM_STORE, F, "the member is no .npy");
    refused("a.npy", "junk", 4, ZIP_CM_STORE, F, "tensor 'a': 4 bytes are too short");
    n = build_npy(npy, (size_t)1 << 40, 5);
    refused("a.npy", npy, n, ZIP_CM_DEFLATE, F, "needs 1099511627776 bytes of |u1, but 5 follow");
    n = build_npy(npy, 5, 6);
    refused("a.npy", npy, n, ZIP_CM_STORE, F, "needs 5 bytes of |u1, but 6 follow");
}
END_TEST

START_TEST(bomb)
{
    attn_allocator libc = attn_allocator_libc();
    size_t n = 4 << 20;
    unsigned char *npy = malloc(n + 300);
    unsigned char *file;
    size_t size = build_npy(npy, n, n);
    size = build_zip(&file, "zeros.npy", npy, size, ZIP_CM_DEFLATE);
    ck_assert_uint_lt(size, n / 500);
    attn_io_options options = {.inflate_limit = 1 << 20};
    attn_tensor_set set;
    attn_text error;
    attn_tensor_set_init(&set, &libc);
    attn_text_init(&error, &libc);
    ck_assert_int_eq(attn_io_read_memory(ATTN_IO_NPZ, file, size, "m", &options, &set, &error),
                     ATTN_IO_FORMAT);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "the archive expands too far"));
    attn_text_free(&error);
    attn_tensor_set_free(&set);
    /* The central directory claims more than deflate can deliver. */
    unsigned char *central = file + size - 22;
    while (memcmp(central, "PK\1\2", 4) != 0)
        central--;
    memset(central + 24, 0x7f, 4);
    check_refused(ATTN_IO_NPZ, file, size, ATTN_IO_FORMAT, "cannot come from");
    memcpy(central + 24, "\0\0\x01\0", 4);
    check_refused(ATTN_IO_NPZ, file, size, ATTN_IO_FORMAT, "");
    free(file);
    free(npy);
}
END_TEST

START_TEST(every_byte)
{
    unsigned char npy[300];
    unsigned char *file;
    size_t size = build_zip(&file, "a.npy", npy, build_npy(npy, 50, 50), ZIP_CM_DEFLATE);
    attn_allocator libc = attn_allocator_libc();
    for (size_t i = 0; i < size * 3; i++) {
        attn_tensor_set set;
        attn_text error;
        attn_tensor_set_init(&set, &libc);
        attn_text_init(&error, &libc);
        /* First each byte inverted, then each set to 0, then each truncation. */
        unsigned char old = file[i % size];
        size_t n = i < 2 * size ? size : i - 2 * size;
        if (i < size)
            file[i] = (unsigned char)~old;
        else if (i < 2 * size)
            file[i - size] = 0;
        attn_io_status got = attn_io_read_memory(ATTN_IO_NPZ, file, n, "m", NULL, &set, &error);
        file[i % size] = old;
        ck_assert(got == ATTN_IO_OK || attn_text_cstr(&error)[0]);
        ck_assert(got != ATTN_IO_OK || n == size);
        attn_tensor_set_free(&set);
        attn_text_free(&error);
    }
    free(file);
}
END_TEST

START_TEST(checksum)
{
    unsigned char npy[300];
    unsigned char *file;
    size_t size = build_zip(&file, "a.npy", npy, build_npy(npy, 50, 50), ZIP_CM_STORE);
    file[size / 2] ^= 1; /* in the array */
    check_refused(ATTN_IO_NPZ, file, size, ATTN_IO_FORMAT, "the member is damaged: CRC error");
    free(file);
}
END_TEST

START_TEST(failing_writes)
{
    const char *full = scratch("full.npz");
    ck_assert_int_eq(symlink("/dev/full", full), 0);
    check_write_fails(full, "is not a regular file");
    check_write_fails(scratch("no/such/folder.npz"), "cannot be written");
    check_full_disk(scratch("limited.npz"));
}
END_TEST

RUN_TESTS("io_npz", round_trip, same_bytes, empty_archives, members, bomb, every_byte, checksum,
          failing_writes)
