/*
 * io_safetensors.c - .safetensors: round trips, every kind of damage with its message, failing
 * memory and failing writes. bug/L-01 L-02 L-04 L-07 L-08 L-10 L-11 L-14 L-31, Y-10.
 */
#include "io_support.h"

#include <jansson.h>
#include <unistd.h>

/* Length, header text and n zero bytes of data; returns the size. */
static size_t build(unsigned char *out, const char *header, size_t n)
{
    size_t len = strlen(header);
    memset(out, 0, 8 + len + n);
    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)len >> 8 * i & 0xff);
    memcpy(out + 8, header, len);
    return 8 + len + n;
}

static void refused(const char *header, size_t n, attn_io_status status, const char *message)
{
    static unsigned char file[1 << 16];
    check_refused(ATTN_IO_SAFETENSORS, file, build(file, header, n), status, message);
}

#define ENTRY(dtype, shape, begin, end)                                                            \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

START_TEST(round_trip)
{
    check_round_trip(scratch("all.safetensors"), false);
    int before = scratch_count();
    check_round_trip(scratch("all.safetensors"), false); /* over an existing file */
    ck_assert_int_eq(scratch_count(), before);
}
END_TEST

START_TEST(damaged_length)
{
    unsigned char file[64] = {0};
    check_refused(ATTN_IO_SAFETENSORS, file, 0, ATTN_IO_FORMAT, "too short");
    check_refused(ATTN_IO_SAFETENSORS, file, 7, ATTN_IO_FORMAT, "7 bytes, too short");
    check_refused(ATTN_IO_SAFETENSORS, file, 8, ATTN_IO_FORMAT, "does not begin with '{'");
    file[7] = 0x80; /* 2^63 */
    check_refused(ATTN_IO_SAFETENSORS, file, 64, ATTN_IO_FORMAT,
                  "length is 9223372036854775808, but only 56 bytes follow");
    memset(file, 0xff, 8);
    file[0] = 0xfd; /* 2^64 - 3 */
    check_refused(ATTN_IO_SAFETENSORS, file, 64, ATTN_IO_FORMAT, "but only 56 bytes follow");
}
END_TEST

START_TEST(damaged_json)
{
    const attn_io_status F = ATTN_IO_FORMAT;
    refused("{", 0, F, "not valid JSON");
    refused(" {}", 0, F, "does not begin with '{'");
    refused("{} x", 0, F, "not valid JSON");
    refused("{\"a\":[[[[1]]]]}", 0, F, "nests deeper than 3");
    refused("{\"a\":1}", 0, F, "tensor 'a': its header entry is not an object");
    refused("{\"a\":{}}", 0, F, "\"dtype\" is missing");
    refused("{\"a\":{\"dtype\":3}}", 0, F, "\"dtype\" is missing or not a string");
    refused("{\"a\":{\"dtype\":\"F32\"}}", 0, F, "\"shape\" is missing");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, F, "\"data_offsets\" is missing");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", 4, F,
            "not a pair of integers");
    refused("{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"a\":" ENTRY("F32", "[1]", "4", "8") "}", 8,
            F, "duplicate object key");
    refused("{\"__metadata__\":{\"k\":1}}", 0, F, "not a string");
    refused("{\"__metadata__\":[]}", 0, F, "not an object");
    refused("{\"a\\u0000b\":" ENTRY("F32", "[1]", "0", "4") "}", 4, F, "not valid JSON");
    refused("{\"a\\nb\":" ENTRY("F32", "[1]", "0", "4") "}", 4, F,
            "'a\\x0ab': the name has a cont");
    refused("{\"a\xff\":" ENTRY("F32", "[1]", "0", "4") "}", 4, F, "not valid JSON");
    refused("{\"\":" ENTRY("F32", "[1]", "0", "4") "}", 4, F, "empty name");
}
END_TEST

START_TEST(damaged_numbers)
{
    const attn_io_status F = ATTN_IO_FORMAT;
    refused("{\"a\":" ENTRY("F32", "[-1]", "0", "4") "}", 4, F, "axis 0 of \"shape\"");
    refused("{\"a\":" ENTRY("F32", "[2.5]", "0", "4") "}", 4, F, "axis 0 of \"shape\"");
    refused("{\"a\":" ENTRY("F32", "[1,1e300]", "0", "4") "}", 4, F, "axis 1 of \"shape\"");
    refused("{\"a\":" ENTRY("F32", "[9223372036854775808]", "0", "4") "}", 4, F, "too big integer");
    refused("{\"a\":" ENTRY("F32", "[4294967296,4294967296]", "0", "0") "}", 0, F, "2^63");
    refused("{\"a\":" ENTRY("F32", "[9223372036854775807,2]", "0", "4") "}", 4, F, "2^63");
    refused("{\"a\":" ENTRY("F32", "[4611686018427387904]", "0", "0") "}", 0, F, "2^63");
    refused("{\"a\":" ENTRY("F32", "[2]", "8", "4") "}", 8, F, "[8, 4] is no range");
    refused("{\"a\":" ENTRY("F32", "[2]", "-4", "4") "}", 8, F, "[-4, 4] is no range");
    refused("{\"a\":" ENTRY("F32", "[2]", "0", "8") "}", 4, F,
            "ends at byte 8, but the file holds 4");
    refused("{\"a\":" ENTRY("F32", "[2]", "0", "4") "}", 4, F, "needs 8 bytes of F32");
    refused("{\"a\":" ENTRY("I16", "[2]", "0", "8") "}", 8, F, "needs 4 bytes of I16");
    refused("{\"a\":" ENTRY("F32", "[1]", "4", "8") "}", 8, F, "leaving a gap after");
    refused("{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "2", "6") "}", 6,
            F, "tensor 'b': data begins at byte 2, overlapping");
    refused("{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 5, F, "1 bytes follow the last tensor");
    refused("{\"a\":" ENTRY("F8_E4M3", "[1]", "0", "1") "}", 1, ATTN_IO_UNSUPPORTED,
            "tensor 'a': element type F8_E4M3 is not supported");
    refused("{\"a\":" ENTRY("\\u001b[2J", "[1]", "0", "1") "}", 1, ATTN_IO_UNSUPPORTED,
            "element type ?[2J");
}
END_TEST

START_TEST(many_axes)
{
    char header[1024] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1";
    for (int i = 0; i < 64; i++)
        strcat(header, ",1");
    strcat(header, "],\"data_offsets\":[0,4]}}");
    refused(header, 4, ATTN_IO_FORMAT, "more than 64 entries");
}
END_TEST

START_TEST(values)
{
    unsigned char file[512];
    attn_tensor_set set;
    size_t n = build(file, "{\"a\":" ENTRY("BOOL", "[2]", "0", "2") "}", 2);
    file[n - 1] = 2;
    check_refused(ATTN_IO_SAFETENSORS, file, n, ATTN_IO_FORMAT, "element 1 is 2, but a bool is");
    n = build(file, "{\"a\":" ENTRY("U64", "[1]", "0", "8") "}", 8);
    file[n - 1] = 0x80;
    check_refused(ATTN_IO_SAFETENSORS, file, n, ATTN_IO_UNSUPPORTED, "too large for a signed");

    /* Narrow integers widen; an odd header length leaves everything misaligned. */
    n = build(file,
              "{\"a\":" ENTRY("I8", "[1]", "0", "1") ",\"b\":" ENTRY(
                  "U32", "[1]", "1", "5") ","
                                          "\"c\":" ENTRY("I16", "[1]", "5", "7") ",\"d\":" ENTRY(
                                              "U16", "[1]", "7", "9") "}",
              9);
    memset(file + n - 9, 0xff, 9);
    check_accepted(ATTN_IO_SAFETENSORS, file, n, &set);
    ck_assert_int_eq(*(int32_t *)attn_tensor_set_find(&set, "a")->data, -1);
    ck_assert_int_eq(*(int64_t *)attn_tensor_set_find(&set, "b")->data, 4294967295);
    ck_assert_int_eq(*(int32_t *)attn_tensor_set_find(&set, "c")->data, -1);
    ck_assert_int_eq(*(int32_t *)attn_tensor_set_find(&set, "d")->data, 65535);
    attn_tensor_set_free(&set);
    check_read_torture(ATTN_IO_SAFETENSORS, file, n);
}
END_TEST

static bool want_b(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "b") == 0;
}

START_TEST(selection)
{
    unsigned char file[512];
    attn_io_options options = {.want = want_b};
    size_t n = build(
        file, "{\"a\":" ENTRY("F4", "[3,2]", "0", "3") ",\"b\":" ENTRY("U8", "[1]", "3", "4") "}",
        4);
    file[n - 1] = 77;
    for (long at = 0; at < 12; at++) {
        torture plan = {.fail_at = at};
        attn_allocator alloc = torture_allocator(&plan);
        attn_tensor_set set;
        attn_text error;
        attn_tensor_set_init(&set, &alloc);
        attn_text_init(&error, &alloc);
        attn_io_status got =
            attn_io_read_memory(ATTN_IO_SAFETENSORS, file, n, "m", &options, &set, &error);
        if (at == 0) {
            ck_assert_msg(got == ATTN_IO_OK, "%s", attn_text_cstr(&error));
            const attn_tensor *a = attn_tensor_set_find(&set, "a");
            ck_assert_ptr_null(a->data);
            ck_assert_int_eq(a->rank, 2);
            ck_assert_int_eq(a->shape[1], 2);
            ck_assert_int_eq(*(unsigned char *)attn_tensor_set_find(&set, "b")->data, 77);
            /* The same file again: its names are there already. */
            got = attn_io_read_memory(ATTN_IO_SAFETENSORS, file, n, "m", &options, &set, &error);
            ck_assert_int_eq(got, ATTN_IO_ARGUMENT);
            ck_assert_str_eq(attn_text_cstr(&error), "m: tensor 'a': the name occurs twice");
            ck_assert_uint_eq(set.n, 2);
        }
        attn_tensor_set_free(&set);
        attn_text_free(&error);
        ck_assert_uint_eq(plan.live, 0);
    }
}
END_TEST

static long json_calls;
static long json_fail_at;

static void *failing_malloc(size_t n)
{
    return ++json_calls == json_fail_at ? NULL : malloc(n);
}

START_TEST(json_memory)
{
    unsigned char file[256];
    size_t n = build(file, "{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 4);
    json_set_alloc_funcs(failing_malloc, free);
    for (json_fail_at = 1;; json_fail_at++) {
        attn_allocator libc = attn_allocator_libc();
        attn_tensor_set set;
        attn_text error;
        attn_tensor_set_init(&set, &libc);
        attn_text_init(&error, &libc);
        json_calls = 0;
        attn_io_status got =
            attn_io_read_memory(ATTN_IO_SAFETENSORS, file, n, "m", NULL, &set, &error);
        attn_tensor_set_free(&set);
        attn_text_free(&error);
        if (json_calls < json_fail_at) {
            ck_assert_int_eq(got, ATTN_IO_OK);
            break;
        }
        ck_assert_int_ne(got, ATTN_IO_OK);
    }
    json_set_alloc_funcs(malloc, free);
    ck_assert_int_gt(json_fail_at, 5);
}
END_TEST

START_TEST(failing_writes)
{
    const char *full = scratch("full.safetensors");
    ck_assert_int_eq(symlink("/dev/full", full), 0);
    check_write_fails(full, "No space left on device");
    check_write_fails(scratch("no/such/folder.safetensors"), "No such file or directory");
    check_full_disk(scratch("limited.safetensors"));
}
END_TEST

START_TEST(missing_file)
{
    attn_allocator libc = attn_allocator_libc();
    attn_tensor_set set;
    attn_text error;
    attn_tensor_set_init(&set, &libc);
    attn_text_init(&error, &libc);
    ck_assert_int_eq(attn_io_read("/nonexistent/w.safetensors", NULL, &set, &error),
                     ATTN_IO_SYSTEM);
    ck_assert_str_eq(attn_text_cstr(&error),
                     "/nonexistent/w.safetensors: cannot be opened: No such file or directory");
    attn_text_free(&error);
    ck_assert_int_eq(attn_io_read("w.bin", NULL, &set, &error), ATTN_IO_ARGUMENT);
    attn_text_free(&error);
    const char *device = scratch("device.safetensors");
    ck_assert_int_eq(symlink("/dev/zero", device), 0);
    ck_assert_int_eq(attn_io_read(device, NULL, &set, &error), ATTN_IO_SYSTEM);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&error), "not a regular file"));
    attn_text_free(&error);
    attn_tensor_set_free(&set);
}
END_TEST

RUN_TESTS("io_safetensors", round_trip, damaged_length, damaged_json, damaged_numbers, many_axes,
          values, selection, json_memory, failing_writes, missing_file)
