/*
 * pool.h - a thread pool that implements attn_exec, for hosts without threads of their own. It
 * shares work out and knows nothing of kernels; that results do not depend on who does what is
 * the kernels' duty.
 */
#ifndef ATTN_POOL_H
#define ATTN_POOL_H

#include "alloc.h"
#include "attn_abi.h"

typedef struct attn_pool attn_pool;

/*
 * A pool of `threads` workers, the calling thread counted as one; 0 or less: attn_cpu_count().
 * If the system gives fewer threads the pool has fewer (see the exec's `threads`). NULL if memory
 * ran out. Workers block all signals and sleep when idle.
 */
attn_pool *attn_pool_create(int threads, const attn_allocator *alloc);

/* Joins the workers. No call may be in progress. NULL is accepted. */
void attn_pool_destroy(attn_pool *pool);

/*
 * The pool as generated code sees it; valid until the pool is destroyed. Calls from several
 * threads take turns. In a child after fork the first call makes new workers.
 */
attn_exec attn_pool_exec(attn_pool *pool);

#endif
