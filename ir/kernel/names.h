/* names.h: the names a kernel uses, each once: dims, buffers, variables. Private to ir/kernel. */
#ifndef ATTNC_IR_KERNEL_NAMES_H
#define ATTNC_IR_KERNEL_NAMES_H

#include "ir/kernel/kernel.h"

struct kernel_names *kernel_names_new(arena *a, strtab *names);
void kernel_names_take(struct kernel_names *t, const char *interned);
bool kernel_names_has(const struct kernel_names *t, const char *interned);
/* `name` as an identifier of the text form, with a number behind it where it is taken; then taken.
 */
const char *kernel_names_unique(struct kernel_names *t, const char *name);

/* Bytes an identifier may begin with and go on with. */
bool kernel_name_start(unsigned char c);
bool kernel_name_byte(unsigned char c);

/* The ops that KX_OVERFLOW asks about. */
bool kernel_can_overflow(op_id op);

#endif
