/* peak.h: what this machine can do at most, measured now: for a share to be of something. Clocks of
 * shared machines drift, so it is measured next to what it is compared with. */
#ifndef ATTNC_FRONTEND_CLI_PEAK_H
#define ATTNC_FRONTEND_CLI_PEAK_H

#include "frontend/cli/session.h"

/* Multiply-adds (each two operations) a second, of the widest vectors there are, on the threads of
 * `exec` (NULL: this one). Some 20 ms. */
double peak_flops(const attn_exec *exec, bool f64);
/* Bytes a second read from memory. Takes some 0.2 s and, while it lasts, 256 MiB; 0 where these
 * cannot be had. */
double peak_bandwidth(session *s, const attn_exec *exec);

#endif
