// SPDX-License-Identifier: BSD-2-Clause
//
// Writes a plan as one C program that needs nothing else: the replayer's own source, with the plan as text in
// it. For the report of a bug in an allocator: it has sizes, order and threads, and no name, address or byte
// of the program.
#ifndef SEEP_REPLAY_GENERATE_H
#define SEEP_REPLAY_GENERATE_H

#include <stdio.h>

#include "replay/plan.h"

#define SEEP_GENERATE_OPS_MAX (UINT64_C(1) << 25) // about 180 MB of source

// What the stream does not take is told by ferror(out).
SEEP_MUST_CHECK struct seep_error *seep_generate(FILE *out, const struct seep_plan *plan,
                                                 enum seep_replay_touch touch);

#endif
