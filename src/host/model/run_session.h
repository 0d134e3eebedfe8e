// SPDX-License-Identifier: BSD-2-Clause
//
// A run of a program as a session: the program first, then its descendants that did anything with
// their heap, in order of start. A program that could not be traced has a profile without events and
// a note that says why: never an empty report without a reason.
#ifndef SEEP_MODEL_RUN_SESSION_H
#define SEEP_MODEL_RUN_SESSION_H

#include "capture/run.h"
#include "model/profile.h"

// Looks at a process that is leaving (options.scan) and makes the profile of its image, with leaks.
// Releases it as soon as it is not needed any more. An error is told in the notes of the process.
struct seep_exit_look {
    struct seep_error *(*look)(void *data, struct seep_run_parked *parked, struct seep_profile **ret_profile);
    void *data;
};

// Returns when the program has ended. *ret_status is the program's exit status, 128+N when signal N
// killed it; on failure what a shell would exit with (126, 127) or 1.
// `look` is used where options.scan is set.
SEEP_MUST_CHECK struct seep_error *seep_session_run(const struct seep_run_options *options,
                                                    const struct seep_exit_look *look,
                                                    struct seep_session **ret_session, int *ret_status);

#endif
