// SPDX-License-Identifier: BSD-2-Clause
// Where snapshots come from but a run: several traces of one process, or processes that are looked at.
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
    // A process and its descendants, or those of a control group (version 1 or 2), which may come and go.
    // Those that are traced by libseep.so are looked at; none is stopped or signalled.
    pid_t pid; // 0: of the group
    const char *cgroup;
    int64_t interval_ns;
    uint64_t count;                          // 0: until they end
    const volatile sig_atomic_t *stop;       // becomes 1 when the user has seen enough
    void (*looked)(void *data, uint64_t nr); // after each; may be NULL
    void *data;
};
struct seep_growth_left_out {
    size_t nr_short;  // processes that ended after too few looks to say anything
    size_t nr_beyond; // most that a look had beyond those that are looked at
};
// The session is of the last look at each, the process that was named first. The end of that one, or of all
// of the group, ends it, unless nothing was seen before.
SEEP_MUST_CHECK struct seep_error *seep_growth_of_processes(const struct seep_growth_look *look,
                                                            struct seep_session **ret_session,
                                                            struct seep_growth_left_out *ret_left_out);

#endif
