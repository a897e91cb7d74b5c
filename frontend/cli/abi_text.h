/* abi_text.h: the text of runtime/attn_abi.h, built into the compiler. */
#ifndef ATTNC_FRONTEND_CLI_ABI_TEXT_H
#define ATTNC_FRONTEND_CLI_ABI_TEXT_H

#include <stddef.h>

struct abi_file {
    const char *name;
    const char *text;
    size_t size;
};

extern const struct abi_file abi_files[];
extern const size_t n_abi_files;

#endif
