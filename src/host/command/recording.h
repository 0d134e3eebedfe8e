// SPDX-License-Identifier: BSD-2-Clause
// The trace of `seep run --mode record`: its events while the program runs, and the rest behind them.
#ifndef SEEP_COMMAND_RECORDING_H
#define SEEP_COMMAND_RECORDING_H

#include "profile/profile.h"
#include "session/recorder.h"

struct seep_recording {
    const char *pattern; // of its name; borrowed, as is the next
    const char *program;
    const char *rest;               // see struct seep_recorder_options
    uint64_t keep_bytes;            // of events, the latest; 0: all
    bool keeps_others;              // the user has not named it: a file that is there is kept
    struct seep_recorder *recorder; // NULL: nothing is recorded
    char *name;                     // once it is open
    bool has_begun;
};

// Where a library goes on that has taken over: beside the trace, malloc'ed. NULL: not there.
char *seep_recording_rest(const char *pattern);
SEEP_MUST_CHECK struct seep_error *seep_recording_begin(struct seep_recording *recording);
void seep_recording_deinit(
    struct seep_recording *recording); // what was not saved stays, as a trace that was cut

// Whether a process was recorded: the session goes behind its events, or saving tells what failed.
bool seep_recording_has_begun(const struct seep_recording *recording);
// *ret_name: malloc'ed; NULL for standard output.
SEEP_MUST_CHECK struct seep_error *seep_recording_save(struct seep_recording *recording,
                                                       const struct seep_session *session, char **ret_name);

#endif
