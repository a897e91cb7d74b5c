/* main.c: the process around a session. What happens is in session.c and the cmd_*.c files. */
#include <pthread.h>
#include <signal.h>

#include "frontend/cli/session.h"

/* The compiler follows what a program nests and chains by recursion, to limits of its own: DEEPEST
 * definitions in a chain, a few thousand levels of one expression. This holds them, and only what
 * is used of it takes memory. */
#define STACK_SIZE ((size_t)512 << 20)

typedef struct command_line {
    int argc;
    char **argv;
    int code;
} command_line;

static void *run(void *p)
{
    command_line *c = p;
    session s;
    c->code = session_run(&s, c->argc, c->argv);
    return NULL;
}

int main(int argc, char **argv)
{
    /* A reader of standard output that goes away must not end the process in the middle of writing
     * a file: the failed write is met where it happens. */
    signal(SIGPIPE, SIG_IGN);
    command_line c = {argc, argv, 3};
    pthread_attr_t attr;
    pthread_t thread;
    bool own = pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK_SIZE) == 0 &&
               pthread_create(&thread, &attr, run, &c) == 0;
    if (own)
        pthread_join(thread, NULL);
    else
        run(&c); /* where so much address space is not to be had */
    return c.code;
}
