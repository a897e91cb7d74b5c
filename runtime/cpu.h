/*
 * cpu.h - how many threads this process may keep busy. Which instructions the processor has is
 * not asked here.
 */
#ifndef ATTN_CPU_H
#define ATTN_CPU_H

/*
 * The processors the scheduler lets this thread use, and no more than the CPU quota of its control
 * group (rounded up). At least 1. Reads /proc and /sys; ask once, not per call.
 */
int attn_cpu_count(void);

#endif
