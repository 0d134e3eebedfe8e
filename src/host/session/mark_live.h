// SPDX-License-Identifier: BSD-2-Clause
// A mark in a running process, made by the tool.
#ifndef SEEP_SESSION_MARK_LIVE_H
#define SEEP_SESSION_MARK_LIVE_H

#include <sys/types.h>

#include "profile/profile.h"

// Names this moment in the image of a traced process, with what each site has now. The process is neither
// stopped nor signalled. `name` is up to SEEP_MARK_NAME_MAX bytes.
SEEP_MUST_CHECK struct seep_error *seep_mark_live(pid_t pid, const char *name);

#endif
