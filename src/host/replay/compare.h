// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a plan with one allocator after the other, in rounds, and says what they cost against the first.
#ifndef SEEP_REPLAY_COMPARE_H
#define SEEP_REPLAY_COMPARE_H

#include "replay/plan.h"
#include "replay/statistics.h"

struct seep_replay_figures {
    const char *name; // as it was asked for; borrowed
    double wall_ns;   // of a round, less what the replayer itself takes in that round; the median
    double own_ns;    // what was taken away; the median
    bool is_noise;    // rounds of the replayer alone differ by as much as its calls take
    struct seep_interval
        against;              // the ratio of rounds to those of the first allocator; of the first itself 1
    bool is_known;            // there is a ratio: neither is noise, and no call of either failed
    bool differs;             // as the interval says
    uint64_t peak_rss_bytes;  // the lowest of all runs that measured it, and
    uint64_t peak_most_bytes; // the highest
    uint64_t end_rss_bytes;   // at the last sample
    uint64_t end_live_bytes;
    double rss_over_live;      // at the peak of live bytes
    double mean_rss_over_live; // over all samples of at least a sixteenth of the peak
    double faults;             // of a round
    uint64_t nr_failed;        // calls that returned no block, in the round with most of them
    double latency_ns[SEEP_REPLAY_CALLS_NR][3]; // 50, 99 and 99.9 per cent; NaN: no such call was measured
    uint64_t *rss;                              // by sample of the plan
    // Of a program that was run itself:
    double cpu_ns;        // of all its threads and the processes that it waited for
    int64_t rss_every_ns; // between two of rss
    uint32_t nr_rss;
};

// All figures, allocator by allocator. Owned.
struct seep_comparison {
    struct seep_replay_figures *rows;
    size_t nr_rows;
    uint32_t nr_rounds;
};

struct seep_compare_options {
    const char *const *names; // of allocators: those of --allocator, and glibc:TUNABLE=VALUE
    size_t nr_names;
    const struct seep_plan *const *plans; // by name; NULL: one for all
    uint32_t nr_rounds;                   // that count; one more comes before them
    uint32_t nr_rounds_most; // as many where intervals are wide after nr_rounds; 0: no more. Of replays that
                             // take seconds 40
    uint32_t nr_memory_runs; // 0: one
    enum seep_replay_touch touch;
    int64_t patience_ns; // 0: SEEP_REPLAY_PATIENCE_NS (replayer.h)
    // What is known of the first from a comparison before, of the same plan; NULL: nothing. Its memory is not
    // measured again, and no round comes before those that count.
    const struct seep_replay_figures *first;
    void *data;
    // Asked after each round that counts, with the interval of the last allocator so far. May be NULL.
    bool (*is_enough)(void *data, uint32_t nr_rounds, double first_ns, const struct seep_interval *interval,
                      const struct seep_replay_figures *last);
    // May be NULL. A round beyond `nr_most` is the end.
    void (*progress)(void *data, uint32_t round, uint32_t nr_rounds, uint32_t nr_most);
};

// Errors: no such allocator, one that crashed in the replay, not enough memory for it: before anything is
// run.
SEEP_MUST_CHECK struct seep_error *seep_compare(const struct seep_plan *plan,
                                                const struct seep_compare_options *options,
                                                struct seep_comparison *ret_comparison);
void seep_comparison_deinit(struct seep_comparison *comparison);

#endif
