/*
 * folder.c - a folder of .npy files, one per tensor, named after it.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct names {
    char **item;
    size_t n;
    size_t cap;
} names;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_free(names *list, const attn_allocator *alloc)
{
    for (size_t i = 0; i < list->n; i++)
        io_string_free(alloc, list->item[i]);
    attn_free(alloc, list->item, list->cap * sizeof *list->item);
}

/* Files that end in .npy and do not begin with a dot, sorted. */
static attn_io_status list_folder(io_ctx *c, const char *path, names *list)
{
    const attn_allocator *alloc = &c->set->alloc;
    DIR *dir = opendir(path);
    if (!dir)
        return io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be opened: %s", strerror(errno));
    attn_io_status status = ATTN_IO_OK;
    while (status == ATTN_IO_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno)
                status = io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be read: %s", strerror(errno));
            break;
        }
        size_t n = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || n < 5 || strcmp(entry->d_name + n - 4, ".npy") != 0)
            continue;
        void *grown = attn_grow(alloc, list->item, list->n, &list->cap, sizeof *list->item);
        if (grown) {
            list->item = grown;
            list->item[list->n] = io_join(alloc, entry->d_name, "");
        }
        if (!grown || !list->item[list->n])
            status = io_fail_nomem(c, NULL);
        else
            list->n++;
    }
    closedir(dir);
    if (list->n)
        qsort(list->item, list->n, sizeof *list->item, by_text);
    return status;
}

/* folder/file as one path. */
static char *path_in(const attn_allocator *alloc, const char *folder, const char *file)
{
    size_t n = strlen(folder);
    char *base = io_join(alloc, folder, n && folder[n - 1] == '/' ? "" : "/");
    char *path = base ? io_join(alloc, base, file) : NULL;
    io_string_free(alloc, base);
    return path;
}

static attn_io_status read_one(io_ctx *c, const char *folder, char *file)
{
    const attn_allocator *alloc = &c->set->alloc;
    char *path = path_in(alloc, folder, file);
    if (!path)
        return io_fail_nomem(c, NULL);
    io_ctx inner = *c;
    inner.file = path;
    io_source src;
    attn_io_status status = io_source_open(&src, &inner, path);
    if (status == ATTN_IO_OK) {
        char *dot = file + strlen(file) - 4;
        *dot = '\0';
        status = io_read_npy(&inner, &src, file);
        *dot = '.';
        io_source_close(&src);
    }
    io_string_free(alloc, path);
    return status;
}

attn_io_status io_read_folder(io_ctx *c, const char *path)
{
    names list = {NULL, 0, 0};
    attn_io_status status = list_folder(c, path, &list);
    for (size_t i = 0; i < list.n && status == ATTN_IO_OK; i++)
        status = read_one(c, path, list.item[i]);
    names_free(&list, &c->set->alloc);
    return status;
}

static attn_io_status check_file_names(io_ctx *c, const attn_tensor_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *name = set->item[i].name;
        if (strchr(name, '/') || name[0] == '.')
            return io_fail(c, ATTN_IO_ARGUMENT, name,
                           "the name cannot be a file name in a folder; use .safetensors or .npz");
    }
    return ATTN_IO_OK;
}

/* Writes one tensor to its temporary file, complete but not yet named. */
static attn_io_status stage(io_ctx *c, const char *folder, const attn_tensor *t, io_out *out)
{
    attn_allocator alloc = c->error->alloc;
    char *file = io_join(&alloc, t->name, ".npy");
    char *path = file ? path_in(&alloc, folder, file) : NULL;
    attn_text header;
    attn_text_init(&header, &alloc);
    io_npy_format_header(&header, t);
    attn_io_status status =
        !path || header.failed ? io_fail_nomem(c, t->name) : io_out_open(out, c, path);
    if (status == ATTN_IO_OK)
        status = io_out_write(out, c, header.s, header.len);
    if (status == ATTN_IO_OK)
        status = io_out_write(out, c, t->data, t->bytes);
    if (status == ATTN_IO_OK)
        status = io_out_finish(out, c);
    attn_text_free(&header);
    io_string_free(&alloc, path);
    io_string_free(&alloc, file);
    return status;
}

attn_io_status io_write_folder(io_ctx *c, const char *path, const attn_tensor_set *set)
{
    const attn_allocator *alloc = &c->error->alloc;
    attn_io_status status = check_file_names(c, set);
    if (status != ATTN_IO_OK)
        return status;
    size_t bytes = (set->n + 1) * sizeof(io_out);
    io_out *outs = attn_alloc(alloc, bytes);
    if (!outs)
        return io_fail_nomem(c, NULL);
    memset(outs, 0, bytes);
    bool made = mkdir(path, 0777) == 0;
    if (!made && errno != EEXIST)
        status = io_fail(c, ATTN_IO_SYSTEM, NULL, "cannot be made: %s", strerror(errno));
    for (size_t i = 0; i < set->n && status == ATTN_IO_OK; i++)
        status = stage(c, path, &set->item[i], &outs[i]);
    for (size_t i = 0; i < set->n && status == ATTN_IO_OK; i++)
        status = io_out_commit(&outs[i], c);
    for (size_t i = 0; i < set->n; i++)
        io_out_discard(&outs[i]);
    attn_free(alloc, outs, bytes);
    /* Only goes if it is empty. */
    if (status != ATTN_IO_OK && made)
        rmdir(path);
    return status;
}
