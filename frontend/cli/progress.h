/* progress.h: one line on a terminal that says what is going on, once it takes more than a second.
 *
 * A thread of its own draws it, since the work (LLVM's, a library's) cannot be asked to. Away from
 * a terminal nothing is drawn and no thread is made. */
#ifndef ATTNC_FRONTEND_CLI_PROGRESS_H
#define ATTNC_FRONTEND_CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool enabled;
    bool running;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;                         /* under lock */
    const char *what;                  /* under lock */
    double start;                      /* of this phase */
    atomic_uint_least64_t done, total; /* bytes; total 0: unknown or not bytes */
} progress;

void progress_init(progress *p, bool enabled);
void progress_begin(progress *p, const char *what);
void progress_end(progress *p); /* erases the line; fine where nothing runs */

#endif
