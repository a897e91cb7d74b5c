/* replay.h: the main of a fuzz target built without a fuzzer: runs it on every file of the folders
 * given.
 *
 * Included once, at the end of a target, where ATTNC_FUZZ_REPLAY is defined. */
#ifndef ATTNC_TESTS_FUZZ_REPLAY_H
#define ATTNC_TESTS_FUZZ_REPLAY_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    uint8_t *data = malloc((size_t)1 << 20);
    size_t n = data ? fread(data, 1, (size_t)1 << 20, f) : 0;
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
}

int main(int argc, char **argv)
{
    size_t n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (!d) {
            fprintf(stderr, "cannot open the folder %s\n", argv[i]);
            return 1;
        }
        for (struct dirent *e = readdir(d); e; e = readdir(d)) {
            char path[4096];
            if (e->d_name[0] == '.' ||
                snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name) >= (int)sizeof path)
                continue;
            replay(path);
            n++;
        }
        closedir(d);
    }
    printf("%zu files\n", n);
    return n ? 0 : 1;
}

#endif
