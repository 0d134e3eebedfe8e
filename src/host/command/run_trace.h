// SPDX-License-Identifier: BSD-2-Clause
//
// The file of `seep run` with its trace: saved again and again while the program runs, for when seep is
// killed, and in the end as a whole.
#ifndef SEEP_COMMAND_RUN_TRACE_H
#define SEEP_COMMAND_RUN_TRACE_H

#include <sys/types.h>

#include "command/recording.h"
#include "profile/profile.h"

struct seep_run_trace {
    const char
        *pattern; // of -o, borrowed as is the next; NULL: the usual name, and a file that is there is kept
    const char *program;
    struct seep_recording *recording; // borrowed; open: the session goes behind its events
    char *name;                  // malloc'ed: the file that has the trace; NULL: none yet, or standard output
    struct seep_trace_file file; // it
};

void seep_run_trace_deinit(struct seep_run_trace *trace);

// Saves all of it. What another user put in the place of a file of ours is not replaced: the trace gets
// another name.
SEEP_MUST_CHECK struct seep_error *seep_run_trace_save(struct seep_run_trace *trace,
                                                       const struct seep_session *session);

// Saves what there is so far, where the file can take more than one trace, and its name is known (from the
// main process).
SEEP_MUST_CHECK struct seep_error *seep_run_trace_keep(struct seep_run_trace *trace,
                                                       const struct seep_session *session);

// Saves it beside, once more under another name: "app.seep" becomes "app.snap.seep". *ret_name: malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_run_trace_snap(const struct seep_run_trace *trace,
                                                       const struct seep_session *session, char **ret_name);

#endif
