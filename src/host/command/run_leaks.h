// SPDX-License-Identifier: BSD-2-Clause
//
// What --error-exitcode of `seep run` goes by.
#ifndef SEEP_COMMAND_RUN_LEAKS_H
#define SEEP_COMMAND_RUN_LEAKS_H

#include "profile/profile.h"
#include "view/view.h"

// Whether the program leaked: blocks of the kinds that `view` selects (without: those that are lost), less
// those that were suppressed or that --ignore-last lets go. Also where a process was not looked at: then it
// says so on standard error, as a check must not pass unseen.
bool seep_run_has_leaks(const struct seep_session *session, const struct seep_view_options *view);

#endif
