/* iface.h: a kernel as its C caller sees it: symbols, structs, pointer slots. Header, reflection
 * record and entry points all follow this one layout. No LLVM here. */
#ifndef ATTNC_BACKEND_IFACE_H
#define ATTNC_BACKEND_IFACE_H

#include "backend/backend.h"

#define IFACE_MAX_POINTERS ((int64_t)1 << 20) /* of one family */

/* The entry points that take tensors: NAME, NAME_begin, NAME_step. */
typedef enum iface_part { PART_RUN, PART_BEGIN, PART_STEP, PART_COUNT } iface_part;

/* One input, param or output: `n` consecutive pointers from `slot` on (1, or all of a family). */
typedef struct iface_buf {
    const kbuf *buf;
    attn_role role;
    int64_t slot, n;
    const char *member; /* in the struct */
} iface_buf;

typedef struct iface {
    const kernel *k;
    iface_part part;
    const char *symbol;         /* the entry point; the other symbols add _workspace, _info, ... */
    const char *const *members; /* of the dims struct, one per k->symbols */
    size_t n_bufs;
    iface_buf *bufs;         /* in the kernel's order, without states and temps, of this part */
    const iface_buf **by_id; /* by kbuf id; NULL: not in the interface */
    int64_t n_slots[3];      /* by attn_role */
} iface;

/* The kernel must have passed backend_check. */
iface *iface_new(arena *a, const kernel *k);
iface *iface_of_part(arena *a, const kernel *k, iface_part part); /* of a step kernel */
/* Whether a body may look at the buffer. */
bool iface_has(const kernel *k, iface_part part, const kbuf *b);
/* The struct of a role is SYMBOL_ plus this. */
const char *iface_struct(iface_part part, attn_role role);

/* Names of C: a member or a file-scope name made of `name`. */
const char *c_member(arena *a, const char *name, const char *struct_name);
const char *c_symbol(arena *a, const char *name);

/* The position of a symbol atom in the dims struct. */
uint32_t iface_dim(const kernel *k, const dim_atom *atom);
/* Pointers of a family (1 for a single tensor); -1 where an extent is no constant or there are too
 * many. */
int64_t iface_family(const kbuf *b);
/* The extent as a program of attn_abi.h; *depth is the stack it needs. */
attn_extent iface_extent(arena *a, const kernel *k, const dim *d, int64_t *depth);

#endif
