// SPDX-License-Identifier: BSD-2-Clause
//
// What would make a recorded program allocate less. Each advice is drawn from how a place of the program
// allocates (traits.h), and tried: the recording is replayed with the change beside the recording as it is.
#ifndef SEEP_REPLAY_ADVICE_H
#define SEEP_REPLAY_ADVICE_H

#include "replay/compare.h"

#define SEEP_ADVICE_MAX   10u
#define SEEP_ADVICE_LEAST 0.01 // of the run's time, or of the peak of memory

// In the order in which one of two that are worth the same is taken.
enum seep_advice_kind {
    SEEP_ADVICE_STACK,
    SEEP_ADVICE_RESERVE,
    SEEP_ADVICE_BUFFER, // large blocks of short life
    SEEP_ADVICE_ARENA,
    SEEP_ADVICE_POOL,
    SEEP_ADVICE_PACK, // requested against usable
    SEEP_ADVICE_HUGE_PAGES,
    SEEP_ADVICE_TUNABLE,
    SEEP_ADVICE_NR
};

struct seep_advice {
    enum seep_advice_kind kind;
    uint32_t group;      // 0: the whole process
    const char *setting; // of GLIBC_TUNABLES; NULL: none
    bool is_tried;       // else a candidate: what follows is what it could save at most
    double saved_ns, saved_least_ns, saved_most_ns;           // below 0: it takes more
    int64_t saved_bytes, saved_least_bytes, saved_most_bytes; // of the peak
    double time_share;                                        // of the run
    double memory_share;
};

struct seep_advices {
    struct seep_advice rows[SEEP_ADVICE_MAX]; // the most first
    uint32_t nr_rows;
    uint32_t nr_tried;
    double replay_ns; // of the recording as it is
    uint64_t peak_rss_bytes;
    uint64_t nr_calls;
    int64_t run_ns;   // as it was recorded
    bool is_cpu_time; // run_ns is what the processors worked for it, which waiting does not lengthen
    struct seep_traits traits;
};

struct seep_advise_options {
    uint64_t pid;
    uint32_t nr_rounds;
    const struct seep_groups *groups;
    enum seep_replay_touch touch;
    void *data;
    void (*progress)(void *data, uint32_t nr, uint32_t nr_all); // may be NULL
};

// Tries what could help against the recording `path`, by replaying it. Owner: the caller deinits
// *ret_advices.
SEEP_MUST_CHECK struct seep_error *seep_advise(const char *path, const struct seep_session *session,
                                               const struct seep_advise_options *options,
                                               struct seep_advices *ret_advices);
void seep_advices_deinit(struct seep_advices *advices);

const char *seep_advice_name(enum seep_advice_kind kind); // "pool"

#endif
