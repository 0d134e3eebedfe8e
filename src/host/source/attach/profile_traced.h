// SPDX-License-Identifier: BSD-2-Clause
// From the traced processes to a session, as of now; the tracing goes on.
#ifndef SEEP_SOURCE_ATTACH_PROFILE_TRACED_H
#define SEEP_SOURCE_ATTACH_PROFILE_TRACED_H

#include "source/attach/attach_heap.h"
#include "profile/profile.h"

// All of it is copied. O(sites + blocks).
SEEP_MUST_CHECK struct seep_error *seep_session_from_trace(const struct seep_attached *attached,
                                                           struct seep_session **ret_session);

// Of one process alone, by its index, with what realloc is moving.
SEEP_MUST_CHECK struct seep_error *seep_profile_from_trace(const struct seep_attached *attached, size_t index,
                                                           struct seep_profile **ret_profile);

#endif
