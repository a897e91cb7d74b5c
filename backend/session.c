/* session.c: what LLVM keeps once per process.
 *
 * LLVM's target registry is global and not locked, and its fatal error handler gets no context. So
 * this file holds the only variables of the compiler that are not on some session's arena: a
 * once-flag, and for each thread the name of what it is working on. */
#include "backend/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/llvm_compat.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local const char *doing, *subject;

/* LLVM cannot go on after this, and would end the process with exit code 1. */
static void fatal(const char *reason)
{
    fflush(stdout);
    if (doing)
        fprintf(stderr, "internal error: LLVM: %s (while %s @%s)\n", reason, doing, subject);
    else
        fprintf(stderr, "internal error: LLVM: %s\n", reason);
    _Exit(3);
}

static void start(void)
{
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
    LLVMInstallFatalErrorHandler(fatal);
}

void session_start(void)
{
    pthread_once(&once, start);
}

void session_doing(const char *what, const char *name)
{
    doing = what;
    subject = name;
}
