/* failure.h: what is left for the report of a fault of ours: the input of the stage that failed. */
#ifndef ATTNC_FRONTEND_CLI_FAILURE_H
#define ATTNC_FRONTEND_CLI_FAILURE_H

#include "frontend/cli/session.h"

/* Writes the text to a new file in the folder for temporary files and prints, at once, where it is
 * and the command that repeats the failure: `attnc COMMAND OPTIONS FILE`. */
void keep_failed(session *s, const char *stage, const strbuf *text, const char *command,
                 const char *options);

#endif
