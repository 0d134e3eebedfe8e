// SPDX-License-Identifier: BSD-2-Clause
//
// The STACKS section of a trace (docs/trace-format.md): what the events of a recording refer to. Each adds to
// those of the same process before it, and stands before the first chunk that refers to what it has. So a
// recording can be read that has no end: while it is written, or when it was cut.
#ifndef SEEP_FILE_EVENT_STACKS_H
#define SEEP_FILE_EVENT_STACKS_H

#include "base/records.h"
#include "profile/recorded_stacks.h"

// Test put->failed.
void seep_recorded_stacks_put(struct seep_put *put, const struct seep_recorded_stacks *stacks);
// NULL, or what is wrong with it; "out of memory" too. What refers to elements of before is checked against
// `first`.
SEEP_MUST_CHECK const char *seep_recorded_stacks_take(struct seep_take *take,
                                                      struct seep_recorded_stacks *ret_stacks);

#endif
