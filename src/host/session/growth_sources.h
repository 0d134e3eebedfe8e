// SPDX-License-Identifier: BSD-2-Clause
// Where snapshots come from but a run: several traces of one process, or a process that is looked at.
#ifndef SEEP_SESSION_GROWTH_SOURCES_H
#define SEEP_SESSION_GROWTH_SOURCES_H

#include <signal.h>
#include <sys/types.h>

#include "profile/profile.h"

// Traces of the same process, as 'seep snap' makes them, in any order: the session of the latest, with the
// others as its snapshots. SEEP_E_UNSUPPORTED where they are of several runs.
SEEP_MUST_CHECK struct seep_error *seep_growth_of_files(char *const *names, size_t nr,
                                                        struct seep_session **ret_session);

struct seep_growth_look {
    pid_t pid; // traced by libseep.so; neither stopped nor signalled
    int64_t interval_ns;
    uint64_t count;                          // 0: until it ends
    const volatile sig_atomic_t *stop;       // becomes 1 when the user has seen enough
    void (*looked)(void *data, uint64_t nr); // after each; may be NULL
    void *data;
};
// The session is of the last look. An end of the process ends it, unless nothing was seen before.
SEEP_MUST_CHECK struct seep_error *seep_growth_of_process(const struct seep_growth_look *look,
                                                          struct seep_session **ret_session);

#endif
