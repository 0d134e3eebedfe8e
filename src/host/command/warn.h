// SPDX-License-Identifier: BSD-2-Clause
//
// Warnings on stderr, of what no output says.
#ifndef SEEP_COMMAND_WARN_H
#define SEEP_COMMAND_WARN_H

#include "profile/profile.h"

// One line for each process that was not traced, or not completely: three at most, then how many more there
// are.
void seep_warn_incomplete(const struct seep_session *session);
// That SEEP_DEBUG_DIR names no folder, if it does not.
void seep_warn_debug_dir(void);

#endif
