// SPDX-License-Identifier: BSD-2-Clause
//
// Outputs without a health line do not say that figures are incomplete. These warnings say it on stderr.
#ifndef SEEP_COMMAND_WARN_H
#define SEEP_COMMAND_WARN_H

#include "profile/profile.h"

// One line for each process that was not traced, or not completely: three at most, then how many more there
// are.
void seep_warn_incomplete(const struct seep_session *session);

#endif
