// SPDX-License-Identifier: BSD-2-Clause
//
// `seep run`, and what is `seep run` with a judgement at the end.
#ifndef SEEP_COMMAND_RUNNING_H
#define SEEP_COMMAND_RUNNING_H

#include "command/options.h"
#include "profile/profile.h"
#include "names/symbols.h"

// The options of `seep run` itself.
extern const struct seep_option_group seep_run_group;

// Called when the program has ended and suppressions were applied. Without -o no trace is saved, and
// without --report no report is written.
struct seep_judge {
    void *data;
    // Changes *status, the exit status so far, as it likes; `failure_status` is --error-exitcode, or 1.
    // An error makes it 1.
    struct seep_error *(*judge)(void *data, const struct seep_session *session, struct seep_symbols *symbols,
                                bool quiet, int failure_status, int *status);
};

// Runs the program that the operands name. `judge` may be NULL.
SEEP_MUST_CHECK struct seep_error *seep_run_judged(const struct seep_arguments *arguments,
                                                   const struct seep_judge *judge, int *ret_status);

#endif
