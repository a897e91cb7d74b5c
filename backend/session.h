/* session.h: what LLVM keeps once per process: its registered targets and its handler of fatal
 * errors. */
#ifndef ATTNC_BACKEND_SESSION_H
#define ATTNC_BACKEND_SESSION_H

/* Registers the targets and the handler, once, from whatever thread comes first. */
void session_start(void);

/* What this thread works on ("lowering run"), for the message of a fatal error; NULL: nothing. The
 * text must live until the next call. */
void session_doing(const char *what, const char *name);

#endif
