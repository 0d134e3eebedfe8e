// SPDX-License-Identifier: BSD-2-Clause
//
// A program that is started behind a screen or a server, by `seep run` or its like: it is in a group of its
// own, so that the keys of the terminal are not for it, and what it writes goes to a file without a name.
#ifndef SEEP_SESSION_STARTED_PROGRAM_H
#define SEEP_SESSION_STARTED_PROGRAM_H

#include <sys/types.h>

#include "base/error.h"

struct seep_started {
    pid_t run;     // of seep run
    pid_t program; // as it is found
    int output_fd; // what both wrote
    off_t told;    // of that
};

// Waits until the program is traced. SEEP_E_NOT_FOUND with what it wrote last where it ended before.
// `runner`: the command that runs another program traced: {"seep", "run", "-q", "--", NULL}.
// With `own` its streams are ours: what it writes goes where ours does.
SEEP_MUST_CHECK struct seep_error *seep_started_begin(char *const *runner, char *const *program, bool own,
                                                      struct seep_started *ret_started);
// The next whole line of what was written since; malloc'ed; NULL: none.
char *seep_started_line(struct seep_started *started);
// `error` of a look at the program, or NULL. Where the program was not there, and has ended, an error that
// says so takes its place.
SEEP_MUST_CHECK struct seep_error *seep_started_look_error(struct seep_started *started, char *const *runner,
                                                           struct seep_error *error);
void seep_started_end(struct seep_started *started); // the program goes on

#endif
