// SPDX-License-Identifier: BSD-2-Clause
// What was live at each snapshot, see snapshots.h.
#include <stdlib.h>

#include "base/sum.h"
#include "growth/snapshots.h"

static void apply(const struct seep_snapshot *snapshot, struct seep_snapshot_live *sites) {
    for (uint32_t i = 0; i < snapshot->nr_sites; i++)
        sites[snapshot->sites[i].site] =
            (struct seep_snapshot_live){snapshot->sites[i].live_blocks, snapshot->sites[i].live_bytes};
}

struct seep_snapshot_live *seep_snapshots_sites(const struct seep_profile *profile, uint32_t index) {
    struct seep_snapshot_live *sites = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*sites));
    for (uint32_t i = 0; sites && i <= index && i < profile->nr_snapshots; i++)
        apply(&profile->snapshots[i], sites);
    return sites;
}

// The sum over all sites is taken anew for each snapshot: what a file says may not add up to any difference.
struct seep_snapshot_live *seep_snapshots_totals(const struct seep_profile *profile) {
    struct seep_snapshot_live *sites = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*sites));
    struct seep_snapshot_live *totals = calloc(SEEP_MAX(profile->nr_snapshots, 1u), sizeof(*totals));
    for (uint32_t i = 0; sites && totals && i < profile->nr_snapshots; i++) {
        apply(&profile->snapshots[i], sites);
        for (uint32_t site = 0; site < profile->nr_sites; site++) {
            seep_add_up(&totals[i].blocks, sites[site].blocks);
            seep_add_up(&totals[i].bytes, sites[site].bytes);
        }
    }
    if (!sites) {
        free(totals);
        totals = NULL;
    }
    free(sites);
    return totals;
}

uint32_t seep_snapshots_until(const struct seep_profile *profile, int64_t at_ns) {
    uint32_t nr = 0;
    while (nr < profile->nr_snapshots && profile->snapshots[nr].at_ns <= at_ns)
        nr++;
    return nr;
}
