// SPDX-License-Identifier: BSD-2-Clause
// From the processes of a heap trace to a session, as of now; the trace goes on.
#ifndef SEEP_SOURCE_ATTACH_PROFILE_TRACED_H
#define SEEP_SOURCE_ATTACH_PROFILE_TRACED_H

#include "source/attach/attach_heap.h"
#include "profile/profile.h"

// All of it is copied. O(sites + blocks).
SEEP_MUST_CHECK struct seep_error *seep_session_from_trace(const struct seep_heap_trace *trace,
                                                           struct seep_session **ret_session);

// Of one process alone, by its index, with what realloc is moving.
SEEP_MUST_CHECK struct seep_error *seep_profile_from_trace(const struct seep_heap_trace *trace, size_t index,
                                                           struct seep_profile **ret_profile);

#endif
