// SPDX-License-Identifier: BSD-2-Clause
//
// Adds up the snapshots of a profile, each of which keeps only what changed: what was live at each of them,
// of each site and of all.
#ifndef SEEP_GROWTH_SNAPSHOTS_H
#define SEEP_GROWTH_SNAPSHOTS_H

#include "profile/profile.h"

// What one site held at one snapshot.
struct seep_snapshot_live {
    uint64_t blocks;
    uint64_t bytes;
};

// What each site had at the snapshot `index`: nr_sites of them. The caller frees it. NULL: out of memory.
SEEP_MUST_CHECK struct seep_snapshot_live *seep_snapshots_sites(const struct seep_profile *profile,
                                                                uint32_t index);

// What all sites had together at each snapshot: nr_snapshots of them. The caller frees it. NULL: out of
// memory.
SEEP_MUST_CHECK struct seep_snapshot_live *seep_snapshots_totals(const struct seep_profile *profile);

// How many of them were taken until then, since the start of the process.
uint32_t seep_snapshots_until(const struct seep_profile *profile, int64_t at_ns);

#endif
