// SPDX-License-Identifier: BSD-2-Clause
//
// Warnings on stderr about facts that no output contains.
#ifndef SEEP_COMMAND_WARN_H
#define SEEP_COMMAND_WARN_H

#include "profile/profile.h"

// One line for each process that was not traced, or not completely: three at most, then how many more there
// are.
void seep_warn_incomplete(const struct seep_session *session);
// Warns if SEEP_DEBUG_DIR names no folder.
void seep_warn_debug_dir(void);

#endif
