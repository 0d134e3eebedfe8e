// SPDX-License-Identifier: BSD-2-Clause
//
// What the outputs without a health line leave unsaid: their readers would take figures for whole that are
// not.
#ifndef SEEP_COMMAND_WARN_H
#define SEEP_COMMAND_WARN_H

#include "profile/profile.h"

// One line on stderr for each process of which something was not seen, three at most, and how many more.
void seep_warn_incomplete(const struct seep_session *session);

#endif
