/* main.c: the process around a session. What happens is in session.c and the cmd_*.c files. */
#include <signal.h>

#include "frontend/cli/session.h"

int main(int argc, char **argv)
{
    /* A reader of standard output that goes away must not end the process in the middle of writing
     * a file: the failed write is met where it happens. */
    signal(SIGPIPE, SIG_IGN);
    session s;
    return session_run(&s, argc, argv);
}
