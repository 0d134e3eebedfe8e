// SPDX-License-Identifier: BSD-2-Clause
// Looking on while a program runs; for run_session.c. See struct seep_run_watch.
#ifndef SEEP_SESSION_RUN_WATCH_H
#define SEEP_SESSION_RUN_WATCH_H

#include "session/run_session.h"
#include "growth/series.h"
#include "process/memory_limit.h"

struct seep_watched { // one image
    size_t order;     // of the run
    struct seep_series series;
};

struct seep_watching {
    const struct seep_run_watch *watch; // NULL: none does
    struct seep_watched **images;
    size_t nr_images;
    size_t capacity;
    int64_t look_ns; // CLOCK_MONOTONIC: when the next look is due
    uint64_t nr_looks;
    int64_t keep_ns; // when all is kept next
    int64_t ask_ns;  // when memory is asked for next
    int64_t asked_ns;
    uint64_t asked_bytes; // and what it was the last time
    bool reached;
    // Of the program while it is there: what it ended in is not to be found when it is gone.
    struct seep_memory_limit limit;
    int64_t limit_ns;       // when that was looked up
    uint64_t killed_before; // in its group, when that was met
    uint64_t nr_failed;     // looks that showed nothing
    char *trouble;          // malloc'ed: why the first of them did
};

// `watch` is borrowed; NULL: nothing is watched.
void seep_watching_init(struct seep_watching *watching, const struct seep_run_watch *watch);
void seep_watching_deinit(struct seep_watching *watching);

// As the event of source/run/run.h.
void seep_watching_look_on(struct seep_watching *watching, const struct seep_run *run, int64_t now_ns,
                           int64_t *ret_next_ns);

// Told when the program has ended: that the kernel ended it, or some of its descendants, for want of memory;
// that memory came to where a snapshot was wanted and none was made.
SEEP_MUST_CHECK struct seep_error *seep_watching_note_memory(const struct seep_watching *watching,
                                                             const struct seep_run *run,
                                                             struct seep_profile *profile);

// The snapshots of an image go to its profile, with a note where looks failed.
SEEP_MUST_CHECK struct seep_error *seep_watching_give(const struct seep_watching *watching, size_t order,
                                                      struct seep_profile *profile);

#endif
