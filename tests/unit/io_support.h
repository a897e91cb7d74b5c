/*
 * io_support.h - what the tests of tensor files share: a scratch folder, sets to write, damaged
 * files to refuse.
 */
#ifndef ATTN_TEST_IO_SUPPORT_H
#define ATTN_TEST_IO_SUPPORT_H

#include "runtime/io/io.h"
#include "runtime_support.h"

/* A path in this program's scratch folder. The text holds until the next but three calls. */
const char *scratch(const char *name);
void scratch_write(const char *path, const void *data, size_t n);
/* Number of entries in the scratch folder. */
int scratch_count(void);

/* Adds one tensor of each element type, of ranks 0 to 3, one empty, with names worth testing. */
void add_samples(attn_tensor_set *set, bool file_names);
void assert_sets_equal(const attn_tensor_set *a, const attn_tensor_set *b);

/* Writes the samples, reads them back, compares; then the same with every allocation failing. */
void check_round_trip(const char *path, bool file_names);
/* Writing to `path` fails with `message`, whatever is there. */
void check_write_fails(const char *path, const char *message);
/* With a limit on file sizes the write fails, and the old content stays. */
void check_full_disk(const char *path);

/* The content is refused, from memory and from a file, with `message` in the error. */
void check_refused(attn_io_format format, const void *data, size_t n, attn_io_status status,
                   const char *message);
/* The content is accepted; the set is filled for inspection. */
void check_accepted(attn_io_format format, const void *data, size_t n, attn_tensor_set *set);
/* Reads with the n-th allocation failing, for every n; nothing leaks, each is ATTN_IO_NOMEM. */
void check_read_torture(attn_io_format format, const void *data, size_t n);

#endif
