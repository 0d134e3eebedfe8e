// SPDX-License-Identifier: BSD-2-Clause
//
// Files that a run leaves: reports and results for other programs. Half of one is worse than none.
#ifndef SEEP_COMMAND_RESULT_FILE_H
#define SEEP_COMMAND_RESULT_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "base/new_file.h"

// Closes it. An error where not everything was written; such a file is removed, if it is a regular one.
// `what`: "the report"; `hint`: what to do now.
SEEP_MUST_CHECK struct seep_error *seep_result_close(FILE *out, const char *path, const char *what,
                                                     const char *hint);

// An error where `save` (may be NULL) is one of the files that are read: what is made of them has less in it.
SEEP_MUST_CHECK struct seep_error *seep_result_is_no_input(const char *save, const char *const *inputs,
                                                           int nr);

// Removes it, if it is a regular file: what should be in it could not be made.
void seep_result_drop(const char *path);

// Reports can have hundreds of megabytes: by the 4 KiB of stdio a third of the time is spent in write().
#define SEEP_OUTPUT_BUFFER_BYTES ((size_t)64 << 10)

// A file that is replaced as a whole, or left as it was. What is no regular file is written as it is, and a
// trace is not replaced. The file is for its owner alone, as traces are.
struct seep_result {
    FILE *out;
    const char *path; // borrowed
    char *real;       // its path without links; NULL: written in place
    struct seep_new_file new_file;
    char *buffer; // of out
};
SEEP_MUST_CHECK struct seep_error *seep_result_begin(const char *path, struct seep_result *ret_result);
// Takes `error`, with which writing failed (NULL: it did not); what comes of it is returned.
SEEP_MUST_CHECK struct seep_error *seep_result_end(struct seep_result *result, struct seep_error *error);

#endif
