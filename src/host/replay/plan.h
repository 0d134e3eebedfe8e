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
#include "file/event_residence.h"
#include "plan/stream.h"
#include "replay/traits.h"

#define SEEP_PLAN_WINDOW      8192u
#define SEEP_PLAN_EVENTS_MAX  (UINT64_C(1) << 28) // 4 GiB of operations
#define SEEP_PLAN_THREADS_MAX (UINT32_C(1) << 16)

// What is done otherwise than it was recorded, to try an advice: the blocks of one group are treated so.
enum seep_treatment {
    SEEP_TREAT_NONE,
    SEEP_TREAT_POOL,    // pieces of one size
    SEEP_TREAT_ARENA,   // freed together, when the last one of its thread is
    SEEP_TREAT_BUFFER,  // the last one is kept for the next
    SEEP_TREAT_STACK,   // on the stack
    SEEP_TREAT_RESERVE, // a block that grows has from its start the size that it comes to
};

struct seep_plan_change {
    enum seep_treatment treatment;
    uint32_t group;
    const struct seep_groups *groups;
    const struct seep_traits *traits;
    bool copies; // a block that a larger one replaces is copied into it, as the program did
};

struct seep_plan_options {
    const struct seep_plan_change *change; // NULL: none
    bool touch_recorded; // of blocks of which it was seen as many pages as were in memory; of others all
    bool touch_needed;   // with it: it is an error that nothing was seen
    bool exact;          // every event waits for the one before it
    bool at_speed;       // and for its time
    uint64_t pid;        // 0: the first process
};

struct seep_plan {
    int fd; // the memory file
    char *program;
    uint64_t pid;
    size_t nr_others; // processes of the recording, of which nothing is replayed
    // Time is that of the processor: at recorded speed nearly all of the other is waiting, and of one thread
    // it is the same but for what else the machine does meanwhile.
    bool is_cpu_time;
    uint32_t nr_threads;
    uint64_t nr_calls; // of the allocator
    uint64_t nr_waits;
    uint64_t written_bytes; // most of live blocks that a replay writes, with SEEP_REPLAY_TOUCH_PAGES
    uint64_t nr_touched;    // blocks of which it was seen what was in memory
    uint64_t nr_skipped;    // frees of blocks that were there before the recording
    uint64_t peak_bytes;    // most that was live, and when, of
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
