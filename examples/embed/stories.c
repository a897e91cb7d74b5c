/* stories.c - tells a story: ../stories260k.attn step by step. The state holds the keys and values
 * of every layer, so a token costs one step.
 *
 *   attnc build examples/stories260k.attn --entry run_next -o libstories.so
 *   cc examples/embed/stories.c -I. -L. -lstories -Wl,-rpath,. -o stories
 *   ./stories stories260K.safetensors tok512.bin [TOKENS [ids]]
 *
 * TOKENS (256) is where it ends at the latest; `ids` prints numbers in place of the words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libstories.h"

enum { BOS = 1 };

static void quit(const char *what, const char *which)
{
    fprintf(stderr, "stories: %s%s\n", what, which);
    exit(1);
}

/* The bytes of a file and a 0 behind them, aligned to ATTN_BLOCK_ALIGN. */
static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    void *data = NULL;
    long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (n < 0 || fseek(f, 0, SEEK_SET) != 0 ||
        posix_memalign(&data, ATTN_BLOCK_ALIGN, (size_t)n + 1) != 0 ||
        fread(data, 1, (size_t)n, f) != (size_t)n)
        quit("cannot read ", path);
    fclose(f);
    ((char *)data)[n] = 0;
    *size = (size_t)n;
    return data;
}

/* A tensor of a .safetensors file: a length, a table in JSON, then the data it tells the places of.
 * Enough for names and shapes as they are here. */
static const void *find_tensor(const char *file, size_t size, const char *name, long long shape[2])
{
    unsigned long long table;
    char key[128];
    long long begin, end;
    memcpy(&table, file, sizeof table);
    if (size < 8 || table > size - 8)
        quit("these are no weights", "");
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *entry = strstr(file + 8, key);
    const char *dims = entry ? strstr(entry, "\"shape\":[") : NULL;
    const char *place = entry ? strstr(entry, "\"data_offsets\":[") : NULL;
    shape[1] = 1;
    if (!dims || !place || sscanf(dims, "\"shape\":[%lld,%lld", &shape[0], &shape[1]) < 1 ||
        sscanf(place, "\"data_offsets\":[%lld,%lld", &begin, &end) != 2 || begin < 0 ||
        end - begin != shape[0] * shape[1] * 4 || end > (long long)(size - 8 - table))
        quit("the weights have no f32 tensor ", name);
    return file + 8 + table + begin;
}

/* Every parameter by its name in the file; then the sizes, from their shapes. */
static void load(const char *file, size_t size, run_next_params *params, run_next_dims *d)
{
    const void **slot = (const void **)params;
    long long shape[2];
    for (int64_t i = 0; i < run_next_info.n_tensors; i++) {
        const attn_tensor_info *t = &run_next_info.tensors[i];
        if (t->role == ATTN_PARAM)
            slot[t->slot] = find_tensor(file, size, t->source ? t->source : t->name, shape);
    }
    find_tensor(file, size, "model.embed_tokens.weight", shape);
    d->V = shape[0];
    d->E = shape[1];
    find_tensor(file, size, "model.layers.0.mlp.gate_proj.weight", shape);
    d->F = shape[0];
    find_tensor(file, size, "model.layers.0.self_attn.v_proj.weight", shape);
    d->D = shape[0] / 4; /* 4 heads of keys and values */
    d->P = d->D / 2;
    find_tensor(file, size, "model.layers.0.self_attn.q_proj.weight", shape);
    d->R = shape[0] / 4 / d->D;
}

/* Token `id` of the vocabulary, which has a length, then for each token a score, a length, bytes.
 * The first word of a story begins with a blank that is not printed; <0x0A> is a byte. */
static void print_token(const char *words, size_t size, int64_t id, int first)
{
    size_t at = 4;
    int n = 0;
    unsigned byte;
    for (;; at += 8 + (size_t)n, id--) {
        if (at + 8 > size)
            return;
        memcpy(&n, words + at + 4, sizeof n);
        if (n < 0 || (size_t)n > size - at - 8)
            return;
        if (id == 0)
            break;
    }
    const char *text = words + at + 8;
    if (n == 6 && sscanf(text, "<0x%2X>", &byte) == 1) {
        putchar((int)byte);
    } else {
        int blank = first && n > 0 && text[0] == ' ';
        fwrite(text + blank, 1, (size_t)(n - blank), stdout);
    }
    fflush(stdout);
}

static void *block(size_t bytes)
{
    void *p = NULL;
    if (bytes == SIZE_MAX || posix_memalign(&p, ATTN_BLOCK_ALIGN, bytes ? bytes : 1) != 0)
        quit("these sizes are refused", "");
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        quit("usage: stories WEIGHTS.safetensors VOCABULARY.bin [TOKENS [ids]]", "");
    size_t weights_size, words_size;
    char *weights = read_file(argv[1], &weights_size), *words = read_file(argv[2], &words_size);
    int ids = argc > 4 && strcmp(argv[4], "ids") == 0;
    run_next_params params;
    run_next_dims d = {.T = argc > 3 ? atoll(argv[3]) : 256}; /* the capacity of the state */
    load(weights, weights_size, &params, &d);

    void *work = block(run_next_workspace(&d, 1)), *state = block(run_next_state(&d));
    void *prepared = block(run_next_prepared(&d));
    attn_status status = run_next_prepare(&d, &params, prepared);
    if (status == ATTN_OK)
        status = run_next_begin(&d, &params, prepared, NULL, state, work, NULL);

    int64_t id = BOS, next = BOS, t = 0;
    run_next_step_inputs in = {&id};
    run_next_step_outputs out = {&next};
    double begin = now();
    if (ids)
        printf("%lld\n", (long long)id);
    for (; t + 1 < d.T && status == ATTN_OK; t++) {
        status = run_next_step(state, 1, &in, &out, work, NULL);
        if (status != ATTN_OK || next == BOS)
            break;
        id = next;
        if (ids)
            printf("%lld\n", (long long)id);
        else
            print_token(words, words_size, id, t == 0);
    }
    double seconds = now() - begin;
    if (status != ATTN_OK)
        quit("", attn_status_text(status));
    if (!ids)
        putchar('\n');
    fprintf(stderr, "%lld tokens, %.0f tokens/s\n", (long long)t, (double)t / seconds);
    free(prepared);
    free(state);
    free(work);
    free(words);
    free(weights);
    return 0;
}
