/* shape.h: what the schedule knows of the machine that a kernel is for: sizes, never names. The
 * backend fills it in for a target; a kernel made for one shape runs on every machine. */
#ifndef ATTNC_IR_KERNEL_SHAPE_H
#define ATTNC_IR_KERNEL_SHAPE_H

#include <stdint.h>

typedef struct machine_shape {
    int vector_bytes; /* of the widest vector register that is worth using */
    int vector_regs;  /* how many of them the code may name */
    int64_t l1_bytes; /* data cache next to a core */
    int64_t l2_bytes; /* a core's own, or its share */
} machine_shape;

/* What every supported machine has at least. */
#define MACHINE_SHAPE_DEFAULT                                                                      \
    ((machine_shape){                                                                              \
        .vector_bytes = 16, .vector_regs = 16, .l1_bytes = 32 << 10, .l2_bytes = 256 << 10})

/* Of no machine: the schedule then stays plain, without tiles, lanes, threads and shared memory. */
#define MACHINE_SHAPE_PLAIN ((machine_shape){0})

#endif
