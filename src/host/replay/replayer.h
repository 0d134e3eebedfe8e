// SPDX-License-Identifier: BSD-2-Clause
//
// Starts the replayer and waits for its end: a fresh process for each run of a plan.
#ifndef SEEP_REPLAY_REPLAYER_H
#define SEEP_REPLAY_REPLAYER_H

#include "replay/allocator_choice.h"
#include "replay/plan.h"

// Where no call ends for so long, the allocator will not return.
#define SEEP_REPLAY_PATIENCE_NS INT64_C(60000000000)

struct seep_replayer {
    char *path;
    int results_fd;
    int errors_fd;                       // what the allocator or the loader says, as much as has room
    struct seep_replay_results *results; // of the last run
    uint64_t results_bytes;
    int64_t patience_ns;
};

// `nr_threads`: most of a plan that is to be run.
SEEP_MUST_CHECK struct seep_error *seep_replayer_init(struct seep_replayer *replayer, uint32_t nr_threads,
                                                      int64_t patience_ns);
void seep_replayer_deinit(struct seep_replayer *replayer);

// `round` decides how large the environment is. Errors: it could not be started, crashed, exited, or stood
// still for longer than is waited.
SEEP_MUST_CHECK struct seep_error *seep_replayer_run(const struct seep_replayer *replayer,
                                                     const struct seep_allocator_choice *choice,
                                                     const struct seep_plan *plan, struct seep_replay_how how,
                                                     uint32_t round);

#endif
