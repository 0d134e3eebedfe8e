// SPDX-License-Identifier: BSD-2-Clause
//
// A scan of the process that is being traced by probes: which of its outstanding blocks are lost.
#ifndef SEEP_COMMAND_ATTACH_SCAN_H
#define SEEP_COMMAND_ATTACH_SCAN_H

#include "source/attach/attach_heap.h"
#include "profile/profile.h"

// Stops the first process of the trace that runs, and puts what is found in the place of its profile in the
// session. `from_start`: all its blocks are known; else what lies in memory of the allocator outside of known
// blocks is taken to hold.
SEEP_MUST_CHECK struct seep_error *seep_attach_scan(struct seep_attached *attached, bool from_start,
                                                    struct seep_session *session);

#endif
