// SPDX-License-Identifier: BSD-2-Clause
//
// Snapshots of one process, as they come: only what changed is kept, and never more than SEEP_SERIES_MOST of
// them, however long the process runs. When there are so many every other one is given up.
#ifndef SEEP_GROWTH_SERIES_H
#define SEEP_GROWTH_SERIES_H

#include "profile/profile.h"

#define SEEP_SERIES_MOST 64u

struct seep_series {
    struct seep_snapshot *snapshots; // malloc'ed, as are their sites
    uint32_t nr_snapshots;
    uint32_t step;    // one of so many snapshots is kept; 0: all, as 1
    uint32_t skipped; // snapshots since the last that was kept
    uint32_t nr_looks;
    uint32_t nr_still;  // looks that were left out, because the process had not run since the last one kept
    uint64_t cpu_ns;    // of the process, at the last look that was kept; 0: not known
    uint64_t nr_events; // heap operations so far, at that look
    bool is_by_events;  // some looks were left out by nr_events alone
    struct seep_snapshot_site *last; // by id: what is known of each site
    size_t capacity;
    uint64_t limit_bytes; // 0: none
    char limit[96];
};

void seep_series_deinit(struct seep_series *series); // of zeros, too

// What the kernel says at that moment.
struct seep_series_memory {
    uint64_t rss_bytes; // 0: not known, as the others
    uint64_t used_bytes;
    uint64_t limit_bytes;
    const char *limit; // borrowed until the next call
    uint64_t cpu_ns;   // that its threads have run
};

// What the profile has now. Its sites are those of the profiles before, and more.
SEEP_MUST_CHECK struct seep_error *seep_series_add(struct seep_series *series,
                                                   const struct seep_profile *profile,
                                                   const struct seep_series_memory *memory);

// Copies the snapshots to a later profile of the same process, and judges them. What the profile does not
// have (it was damaged since) is left out.
SEEP_MUST_CHECK struct seep_error *seep_series_give(const struct seep_series *series,
                                                    struct seep_profile *profile);

#endif
