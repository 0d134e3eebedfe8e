// SPDX-License-Identifier: BSD-2-Clause
//
// Looks on while a service runs: snapshots by time and by memory, and of what is killed its last state. Runs
// beside the service, in its control group; the service knows nothing of it, and it ends with the service.
#ifndef SEEP_SERVICE_WATCH_UNIT_H
#define SEEP_SERVICE_WATCH_UNIT_H

#include "service/unit.h"

struct seep_unit_watch {
    const char *folder;
    uint64_t keep_bytes; // 0: no bound
    int64_t every_ns;    // 0: none by time
    uint64_t at_bytes;   // of resident memory of all its processes; 0: none
    uint32_t at_percent; // of the limit of its memory; 0: none
    pid_t main_pid;      // 0: not known; then it ends when no traced process is left
    void *data;
    void (*trouble)(void *data, const struct seep_error *error); // one thing failed; it goes on
};

// Returns when the service has ended, or after SIGINT or SIGTERM.
SEEP_MUST_CHECK struct seep_error *seep_unit_watch(const struct seep_unit_watch *watch);

#endif
