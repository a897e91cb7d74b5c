/* iface_check.h: what a kernel must satisfy to have a C interface; shared by iface.c and
 * iface_check.c. */
#ifndef ATTNC_BACKEND_IFACE_CHECK_H
#define ATTNC_BACKEND_IFACE_CHECK_H

#include "backend/iface.h"

/* The struct of a role is SYMBOL_ plus this. */
extern const char *const iface_struct_suffix[3];

#endif
