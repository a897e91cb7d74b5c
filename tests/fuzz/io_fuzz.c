/*
 * io_fuzz.c - libFuzzer target for the tensor file readers. The first byte chooses the format, the
 * rest is the file. Built with -DATTN_FUZZ_REPLAY it is a program that replays files and folders.
 */
#include "runtime/io/io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool want_some(void *ctx, const char *name)
{
    (void)ctx;
    return name[0] & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    attn_io_format format = (attn_io_format)(data[0] % 3);
    attn_io_options options = {.want = data[0] & 0x40 ? want_some : NULL,
                               .inflate_limit = 16 << 20};
    attn_allocator alloc = attn_allocator_libc();
    attn_tensor_set set;
    attn_text error;
    attn_tensor_set_init(&set, &alloc);
    attn_text_init(&error, &alloc);
    attn_io_status status =
        attn_io_read_memory(format, data + 1, size - 1, "f.npy", &options, &set, &error);
    /* Success is silent and failure speaks and leaves nothing. */
    if (status == ATTN_IO_OK ? error.len != 0 : error.len == 0 || set.n != 0)
        abort();
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < set.n; i++)
        for (size_t k = 0; k < set.item[i].bytes; k++)
            sum = (unsigned char)(sum + ((unsigned char *)set.item[i].data)[k]);
    attn_tensor_set_free(&set);
    attn_text_free(&error);
    return 0;
}

#ifdef ATTN_FUZZ_REPLAY
#include <dirent.h>
#include <stdio.h>
#include <string.h>

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t cap = 1 << 24;
    uint8_t *data = malloc(cap);
    size_t n = data ? fread(data, 1, cap, f) : 0;
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            failed |= replay(argv[i]);
            continue;
        }
        for (const struct dirent *e; (e = readdir(dir));) {
            char path[4096];
            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            failed |= replay(path);
        }
        closedir(dir);
    }
    return failed;
}
#endif
