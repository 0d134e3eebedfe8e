// SPDX-License-Identifier: BSD-2-Clause
//
// A plan: what each thread of a recorded process did to the heap, as operations that can be done again, and
// the few places where one thread has to wait for another. Kept in a memory file (plan/stream.h), which all
// runs map.
//
// Order. A block that one thread allocates and another frees makes the second one wait for the first. Besides
// that no thread is ahead of another by more than two windows of SEEP_PLAN_WINDOW events, so that what is
// live together in the recording is live together in the replay.
#ifndef SEEP_REPLAY_PLAN_H
#define SEEP_REPLAY_PLAN_H

#include "profile/profile.h"
#include "plan/stream.h"

#define SEEP_PLAN_WINDOW      8192u
#define SEEP_PLAN_EVENTS_MAX  (UINT64_C(1) << 28) // 4 GiB of operations
#define SEEP_PLAN_THREADS_MAX 4096u

struct seep_plan_options {
    bool exact;    // every event waits for the one before it
    bool at_speed; // and for its time
    uint64_t pid;  // 0: the first process
};

struct seep_plan {
    int fd; // the memory file
    char *program;
    uint64_t pid;
    bool at_speed; // then time is that of processors: nearly all of the other is waiting
    uint32_t nr_threads;
    uint64_t nr_calls; // of the allocator
    uint64_t nr_waits;
    uint64_t nr_skipped; // frees of blocks that were there before the recording
    uint64_t peak_bytes; // most that was live, and when, of
    uint64_t peak_blocks;
    int64_t duration_ns;
    uint32_t nr_samples;
    uint64_t *sample_live; // by sample: what is live then
    int64_t *sample_ns;    // and when that was in the recording
};

// `session` was read from the file: it says by which function a site allocates. Errors: no recording, no such
// process, too many events for this machine.
SEEP_MUST_CHECK struct seep_error *seep_plan_make(const char *path, const struct seep_session *session,
                                                  const struct seep_plan_options *options,
                                                  struct seep_plan *ret_plan);
void seep_plan_deinit(struct seep_plan *plan);

#endif
