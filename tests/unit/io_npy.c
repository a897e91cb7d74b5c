/*
 * io_npy.c - .npy alone and in a folder: round trips, headers in every accepted form, damage with
 * its message. bug/L-04 L-16 L-17 L-20 L-25 L-28 L-29.
 */
#include "io_support.h"

#include <sys/stat.h>
#include <unistd.h>

static size_t build(unsigned char *out, int version, const char *header, const void *data, size_t n)
{
    size_t len = strlen(header);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    size_t at = 8;
    for (size_t i = 0; i < (version == 1 ? 2u : 4u); i++)
        out[at++] = (unsigned char)(len >> 8 * i & 0xff);
    memcpy(out + at, header, len);
    if (data)
        memcpy(out + at + len, data, n);
    else
        memset(out + at + len, 0, n);
    return at + len + n;
}

static void refused(const char *header, size_t n, attn_io_status status, const char *message)
{
    static unsigned char file[1 << 18];
    check_refused(ATTN_IO_NPY, file, build(file, 1, header, NULL, n), status, message);
}

#define HEADER(descr, fortran, shape)                                                              \
    "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }"

START_TEST(folder_round_trip)
{
    check_round_trip(scratch("folder/"), true);
    check_round_trip(scratch("folder"), true);
}
END_TEST

START_TEST(one_file)
{
    attn_allocator libc = attn_allocator_libc();
    const char *path = scratch("x.y.npy");
    for (long at = 0; at < 16; at++) {
        torture plan = {.fail_at = at};
        attn_allocator alloc = torture_allocator(&plan);
        attn_tensor_set out;
        attn_tensor_set in;
        attn_text error;
        attn_io_status status;
        const int64_t shape[] = {3, 2};
        attn_tensor_set_init(&out, &libc);
        attn_tensor_set_init(&in, &alloc);
        attn_text_init(&error, &alloc);
        attn_tensor_set_add(&out, "x.y", ATTN_F32, 2, shape, &status);
        status = attn_io_write(path, &out, &error);
        if (status == ATTN_IO_OK)
            status = attn_io_read(path, NULL, &in, &error);
        if (status == ATTN_IO_OK)
            assert_sets_equal(&out, &in);
        if (at == 0)
            ck_assert_msg(status == ATTN_IO_OK, "%s", attn_text_cstr(&error));
        attn_tensor_set_free(&in);
        if (at == 0) {
            attn_tensor_set_add(&out, "second", ATTN_F32, 2, shape, &status);
            ck_assert_int_eq(attn_io_write(path, &out, &error), ATTN_IO_ARGUMENT);
            ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "holds one tensor, 2 were given"));
        }
        attn_tensor_set_free(&out);
        attn_text_free(&error);
        ck_assert_uint_eq(plan.live, 0);
    }
}
END_TEST

START_TEST(accepted_forms)
{
    unsigned char file[512];
    attn_tensor_set set;
    const float v[6] = {0, 1, 2, 3, 4, 5};
    const unsigned char big[4] = {0x3f, 0x80, 0, 0};
    for (int version = 1; version <= 3; version++) {
        size_t n = build(file, version, HEADER("<f4", "False", "(2, 3)"), v, sizeof v);
        check_accepted(ATTN_IO_NPY, file, n, &set);
        ck_assert_str_eq(set.item[0].name, "memory");
        ck_assert_int_eq(memcmp(set.item[0].data, v, sizeof v), 0);
        attn_tensor_set_free(&set);
    }
    /* Column-major [[0, 2, 4], [1, 3, 5]]; other quotes, key order and Python 2 longs. */
    size_t n =
        build(file, 1, "{\"shape\":(2L,3L),'fortran_order':True,'descr':'<f4'}  \n", v, sizeof v);
    check_accepted(ATTN_IO_NPY, file, n, &set);
    const float rows[6] = {0, 2, 4, 1, 3, 5};
    ck_assert_int_eq(memcmp(set.item[0].data, rows, sizeof rows), 0);
    attn_tensor_set_free(&set);
    check_read_torture(ATTN_IO_NPY, file, n);

    n = build(file, 1, HEADER(">f4", "False", "()"), big, 4);
    check_accepted(ATTN_IO_NPY, file, n, &set);
    ck_assert_int_eq(set.item[0].rank, 0);
    ck_assert_float_eq(*(float *)set.item[0].data, 1.0f);
    attn_tensor_set_free(&set);

    n = build(file, 1, HEADER(">u2", "False", "(2,)"), big, 4);
    check_accepted(ATTN_IO_NPY, file, n, &set);
    ck_assert_int_eq(((int32_t *)set.item[0].data)[0], 0x3f80);
    attn_tensor_set_free(&set);

    n = build(file, 1, HEADER("|b1", "False", "(0, 5)"), NULL, 0);
    check_accepted(ATTN_IO_NPY, file, n, &set);
    ck_assert_ptr_nonnull(set.item[0].data);
    attn_tensor_set_free(&set);
}
END_TEST

START_TEST(damaged_start)
{
    unsigned char file[64] = "\x93NUMPY\x01";
    const attn_io_status F = ATTN_IO_FORMAT;
    check_refused(ATTN_IO_NPY, file, 0, F, "0 bytes are too short for an npy header");
    check_refused(ATTN_IO_NPY, file, 9, F, "9 bytes are too short");
    check_refused(ATTN_IO_NPY, "not an npy file", 15, F, "is no npy file");
    memcpy(file + 6, "\x04\0", 2);
    check_refused(ATTN_IO_NPY, file, 20, ATTN_IO_UNSUPPORTED, "npy version 4.0 is not");
    memcpy(file + 6, "\x02\0\xf0\xff\xff\xff", 6);
    check_refused(ATTN_IO_NPY, file, 12, F, "length is 4294967280, but only 0 bytes follow");
    memcpy(file + 6, "\x02\0", 2);
    check_refused(ATTN_IO_NPY, file, 10, F, "ends early");
    unsigned char *large = calloc(1, 100000);
    memcpy(large, "\x93NUMPY\x02\0\x10\x80\x01\0", 12);
    check_refused(ATTN_IO_NPY, large, 100000, F, "the limit is 65536");
    free(large);
}
END_TEST

START_TEST(damaged_header)
{
    const attn_io_status F = ATTN_IO_FORMAT;
    refused("__import__('os').system('x')", 0, F, "has no '{' at character 0");
    refused("{'descr': '<f4', 'fortran_order': False}", 0, F, "lacks 'descr'");
    refused("{'descr': '<f4', 'descr': '<f4'}", 0, F, "has 'descr' twice");
    refused("{'descr': '<f4' 'shape': ()}", 0, F, "no ',' or '}'");
    refused("{'descr' '<f4'}", 0, F, "no ':'");
    refused("{'other': 1}", 0, F, "unknown key other");
    refused("{'descr': '<f4', ", 0, F, "no key");
    refused("{'descr': '<f4", 0, F, "no string for 'descr'");
    refused("{'descr': 4}", 0, F, "no string for 'descr'");
    refused("{'fortran_order': 1}", 0, F, "no True or False");
    refused(HEADER("<f4", "False", "[1]"), 4, F, "no tuple for 'shape'");
    refused(HEADER("<f4", "False", "(1)"), 4, F, "no ',' in a tuple of one");
    refused(HEADER("<f4", "False", "(1 2)"), 8, F, "no ',' or ')'");
    refused(HEADER("<f4", "False", "(a,)"), 4, F, "no axis size");
    refused(HEADER("<f4", "False", "(-1,)"), 4, F, "no axis size");
    refused(HEADER("<f4", "False", "(2.5,)"), 4, F, "no ',' or ')'");
    refused(HEADER("<f4", "False", "(99999999999999999999,)"), 4, F, "an axis exceeds 64 bits");
    refused(HEADER("<f4", "False", "()") " x", 4, F, "no end");
    refused(HEADER("f4", "False", "()"), 4, F, "does not say its byte order");
    refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4,
            ATTN_IO_UNSUPPORTED, "structured element type");
    refused(HEADER("|O", "False", "()"), 8, ATTN_IO_UNSUPPORTED, "Python objects cannot be read");
    refused(HEADER("<c8", "False", "()"), 8, ATTN_IO_UNSUPPORTED, "element type <c8 is not");
}
END_TEST

START_TEST(damaged_sizes)
{
    const attn_io_status F = ATTN_IO_FORMAT;
    refused(HEADER("<f4", "False", "(1099511627776,)"), 4, F,
            "needs 4398046511104 bytes of <f4, but 4 follow");
    refused(HEADER("<f4", "False", "(4294967296, 4294967296)"), 0, F, "exceeds 2^63 bytes");
    refused(HEADER("<f4", "False", "(4611686018427387904,)"), 0, F, "exceeds 2^63 bytes");
    refused(HEADER("<f4", "False", "(2,)"), 7, F, "needs 8 bytes of <f4, but 7 follow");
    refused(HEADER("<f4", "False", "(2,)"), 9, F, "but 9 follow");
    char header[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 65; i++)
        strcat(header, "1,");
    strcat(header, ")}");
    refused(header, 4, F, "more than 64 axes");
}
END_TEST

START_TEST(folders)
{
    attn_allocator libc = attn_allocator_libc();
    attn_tensor_set set;
    attn_text error;
    attn_io_status status;
    const char *path = scratch("mixed");
    ck_assert_int_eq(mkdir(path, 0777), 0);
    scratch_write(scratch("mixed/readme.txt"), "x", 1);
    scratch_write(scratch("mixed/bad.npy"), "x", 1);
    attn_tensor_set_init(&set, &libc);
    attn_text_init(&error, &libc);
    ck_assert_int_eq(attn_io_read(path, NULL, &set, &error), ATTN_IO_FORMAT);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "mixed/bad.npy: tensor 'bad': 1 bytes"));
    attn_text_free(&error);
    attn_tensor_set_add(&set, "../escape", ATTN_F32, 0, NULL, &status);
    ck_assert_int_eq(attn_io_write(path, &set, &error), ATTN_IO_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "'../escape': the name cannot be"));
    attn_text_free(&error);
    attn_tensor_set_free(&set);
}
END_TEST

START_TEST(failing_writes)
{
    const char *full = scratch("full.npy");
    ck_assert_int_eq(symlink("/dev/full", full), 0);
    check_write_fails(full, "No space left on device");
    check_write_fails(scratch("no/such/folder/"), "cannot be made: No such file");
    scratch_write(scratch("plain"), "x", 1);
    check_write_fails(scratch("plain/"), "Not a directory");
    check_full_disk(scratch("limited.npy"));
}
END_TEST

RUN_TESTS("io_npy", folder_round_trip, one_file, accepted_forms, damaged_start, damaged_header,
          damaged_sizes, folders, failing_writes)
