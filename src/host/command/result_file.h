// SPDX-License-Identifier: BSD-2-Clause
//
// Files that a run leaves: reports and results for other programs. Half of one is worse than none.
#ifndef SEEP_COMMAND_RESULT_FILE_H
#define SEEP_COMMAND_RESULT_FILE_H

#include <stdio.h>

#include "base/error.h"

// Closes it. An error where not everything was written; such a file is removed, if it is a regular one.
// `what`: "the report"; `hint`: what to do now.
SEEP_MUST_CHECK struct seep_error *seep_result_close(FILE *out, const char *path, const char *what,
                                                     const char *hint);

// Removes it, if it is a regular file: what should be in it could not be made.
void seep_result_drop(const char *path);

#endif
