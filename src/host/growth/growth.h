// SPDX-License-Identifier: BSD-2-Clause
//
// What the snapshots of a profile say: for each site, for all that is live, for resident memory, whether it
// grows, how fast, and when that comes to a limit. Views show it; nothing is said of fewer than
// SEEP_TREND_LEAST snapshots.
#ifndef SEEP_GROWTH_GROWTH_H
#define SEEP_GROWTH_GROWTH_H

#include "profile/profile.h"
#include "growth/trend.h"

struct seep_growth_of {
    struct seep_trend trend; // of bytes, per second
    double blocks_per_s;     // from the first to the last
    uint64_t first_bytes;
    uint64_t least_bytes; // of all that are judged
    uint64_t most_bytes;
    uint64_t last_bytes;
    uint64_t last_blocks;
};

struct seep_growth {
    struct seep_growth_of *sites;        // by site
    struct seep_growth_of live;          // all of the heap
    struct seep_growth_of rss;           // verdict unknown where it was not taken
    uint32_t nr_verdicts[SEEP_TREND_NR]; // sites with anything live in any snapshot
    int64_t least_ns; // not 0: the snapshots cover less time than this, so there is no verdict
};

// The time that snapshots must cover, because what a program does in less is its start. It is longer for a
// recording, whose moments were not chosen by the user.
#define SEEP_GROWTH_LEAST_NS     INT64_C(100000000)
#define SEEP_GROWTH_RECORDING_NS INT64_C(1000000000)

// Fills profile->growth from its snapshots; does nothing where there are none. Once they are complete.
// `least_ns`: one of those above.
SEEP_MUST_CHECK struct seep_error *seep_growth_judge(struct seep_profile *profile, int64_t least_ns);

// Judges groups of sites: the sites of a group are one series. `group_of` is indexed by site: 1 to nr_groups,
// 0: no group. groups[group - 1] is written if a site of the group was live in a snapshot. Call it after
// seep_growth_judge().
SEEP_MUST_CHECK struct seep_error *seep_growth_judge_groups(const struct seep_profile *profile,
                                                            const uint32_t *group_of, uint32_t nr_groups,
                                                            struct seep_growth_of *groups);

// Seconds until `bytes` more are taken at that rate; -1: never, as far as one sees.
double seep_growth_seconds(const struct seep_growth_of *growth, uint64_t bytes);

// Resident memory of the process grows without bound though nothing of the heap does: mappings, stacks, or a
// heap whose free memory cannot be used.
bool seep_growth_is_beside_heap(const struct seep_growth *growth);

// Why there is no verdict about what is live; SEEP_GROWTH_SAID: there is one. The profile has a growth.
enum seep_growth_unknown {
    SEEP_GROWTH_SAID,
    SEEP_GROWTH_STOOD_STILL,
    SEEP_GROWTH_TOO_SHORT,
    SEEP_GROWTH_TOO_FEW
};
enum seep_growth_unknown seep_growth_why_unknown(const struct seep_profile *profile);

// Whether there were enough snapshots of any process to say what grows.
bool seep_growth_is_known(const struct seep_session *session);

#endif
