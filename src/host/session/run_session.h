// SPDX-License-Identifier: BSD-2-Clause
//
// A run of a program as a session: the program first, then its descendants that did anything with
// their heap, in order of start. A program that could not be traced has a profile without events and
// a note that says why: never an empty report without a reason.
#ifndef SEEP_SESSION_RUN_SESSION_H
#define SEEP_SESSION_RUN_SESSION_H

#include "source/run/run.h"
#include "process/process_map.h"
#include "profile/profile.h"
#include "session/recorder.h"
#include "session/session_store.h"

// Looks at a process that is leaving (options.scan) and makes the profile of its image, with leaks.
// Releases it as soon as it is not needed any more. An error is told in the notes of the process. *ret_code:
// the code that it had mapped.
struct seep_exit_look {
    struct seep_error *(*look)(void *data, struct seep_run_parked *parked, struct seep_profile **ret_profile,
                               struct seep_process_map *ret_code);
    void *data;
};

struct seep_run_reached {
    uint64_t bytes;
    uint64_t limit_bytes;
    const char *what; // of which it is: "memory.max of /job", "resident memory of 3 processes"
};

// What is looked at while the program runs. All of it is copied from live images: the program is not stopped.
struct seep_run_watch {
    int64_t interval_ns; // between two looks; 0: none. What they saw is kept as the snapshots of each process
    uint64_t count;      // so many looks; 0: as long as it runs
    // Called with what is there at each look; NULL: they are only kept.
    void (*looked)(void *data, const struct seep_session *session);

    uint64_t
        snap_bytes; // when resident memory of all traced processes comes to that, or what the limit counts; 0
    unsigned snap_percent; // or to that much of the tightest limit (process/memory_limit.h); 0: neither
    // Called once, when it has; the session has the accounts of resident memory.
    void (*reached)(void *data, const struct seep_session *session, const struct seep_run_reached *reached);
    // Called now and then with the state so far, for a trace that outlives us; NULL: none is kept meanwhile.
    void (*keep)(void *data, const struct seep_session *session);
    struct seep_recorder *recorder; // takes the events of every image; NULL: none
    // As of capture/run.h.
    void (*waiting)(void *data, const struct seep_run_idle *left, size_t nr_left);
    void *data;
};

// Returns as seep_run_program() does. *ret_status is the program's exit status, 128+N when signal N
// killed it; on failure what a shell would exit with (126, 127) or 1.
// `look` is used where options.scan is set. `watch` may be NULL. Where processes are many, those that ended
// are in the store: seep_store_complete() before anything but saving.
SEEP_MUST_CHECK struct seep_error *seep_session_run(const struct seep_run_options *options,
                                                    const struct seep_exit_look *look,
                                                    const struct seep_run_watch *watch,
                                                    struct seep_store *store,
                                                    struct seep_session **ret_session, int *ret_status);

#endif
