/* case.c: reads a case file and the raw tensors it names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/worker.h"

const char *case_text(const bench_case *c, const char *key)
{
    for (size_t i = 0; i < c->keys.n; i++) {
        if (strcmp(c->keys.v[i].key, key) == 0)
            return c->keys.v[i].value;
    }
    return "";
}

double case_number(const bench_case *c, const char *key)
{
    return strtod(case_text(c, key), NULL);
}

const case_tensor *case_find(const bench_case *c, const char *name)
{
    for (size_t i = 0; i < c->in.n; i++) {
        if (strcmp(c->in.v[i].name, name) == 0)
            return &c->in.v[i];
    }
    return NULL;
}

static const char *read_tensor(arena *a, case_tensor *t, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return arena_printf(a, "cannot open %s", path);
    t->data = ARENA_ARRAY(a, float, (size_t)t->n);
    size_t got = fread(t->data, sizeof(float), (size_t)t->n, f);
    fclose(f);
    return got == (size_t)t->n ? NULL : arena_printf(a, "%s is too short", path);
}

/* `rest` stands behind `in `. */
static const char *add_tensor(bench_case *c, char *rest)
{
    char *at = NULL;
    const char *name = strtok_r(rest, " ", &at), *type = strtok_r(NULL, " ", &at),
               *rank = strtok_r(NULL, " ", &at);
    if (!rank || strcmp(type, "f32") != 0)
        return "a tensor is `in NAME f32 RANK DIMS FILE`";
    case_tensor t = {
        .name = arena_strndup(c->a, name, strlen(name)), .rank = strtoll(rank, NULL, 10), .n = 1};
    if (t.rank < 0 || t.rank > CASE_MAX_RANK)
        return "a tensor has too many axes";
    for (int64_t i = 0; i < t.rank; i++) {
        const char *size = strtok_r(NULL, " ", &at);
        t.shape[i] = size ? strtoll(size, NULL, 10) : -1;
        if (t.shape[i] < 0 || (t.shape[i] > 0 && t.n > INT64_MAX / 4 / t.shape[i]))
            return "the shape of a tensor is no shape";
        t.n *= t.shape[i];
    }
    const char *file = strtok_r(NULL, "", &at);
    const char *why = file ? read_tensor(c->a, &t, file) : "a tensor has no file";
    if (!why)
        vec_push(c->a, &c->in, t);
    return why;
}

const char *case_read(bench_case *c, arena *a, const char *path)
{
    *c = (bench_case){.a = a};
    FILE *f = fopen(path, "r");
    if (!f)
        return arena_printf(a, "cannot open %s", path);
    char line[8192];
    const char *why = NULL;
    while (!why && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = '\0';
        if (strcmp(line, "in") == 0) {
            why = add_tensor(c, space + 1);
        } else {
            case_key k = {arena_strndup(a, line, strlen(line)),
                          arena_strndup(a, space + 1, strlen(space + 1))};
            vec_push(a, &c->keys, k);
        }
    }
    fclose(f);
    return why;
}
