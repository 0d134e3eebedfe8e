// SPDX-License-Identifier: BSD-2-Clause
// The classes of blocks: names, and the figures that follow from them. See profile.h.
#include <string.h>

#include "base/search.h"
#include "base/sum.h"
#include "profile/profile.h"

const char *const seep_kind_names[SEEP_KIND_NR + 1] = {"unknown",  "lost",      "indirect",
                                                       "possible", "reachable", NULL};

const char *seep_kind_name(uint32_t kind) {
    return kind < SEEP_KIND_NR ? seep_kind_names[kind] : "unknown";
}

int64_t seep_profile_late_ns(const struct seep_profile *profile, unsigned percent) {
    int64_t duration_ns = SEEP_MAX(profile->process.duration_ns, INT64_C(0));
    return percent ? duration_ns - duration_ns / 100 * (int64_t)percent : INT64_MAX;
}

bool seep_profile_is_late(const struct seep_profile *profile, const struct seep_block *block,
                          unsigned percent) {
    return percent && block->age_ns >= 0 &&
           seep_time_less(profile->process.duration_ns, block->age_ns) >=
               seep_profile_late_ns(profile, percent);
}

struct seep_leaked seep_profile_leaked(const struct seep_profile *profile) {
    const struct seep_leaks *leaks = &profile->leaks;
    const struct seep_totals *totals = &profile->totals;
    struct seep_leaked leaked = {.blocks = leaks->blocks[SEEP_KIND_LOST] + leaks->blocks[SEEP_KIND_INDIRECT],
                                 .bytes = leaks->bytes[SEEP_KIND_LOST]};
    seep_add_up(&leaked.bytes, leaks->bytes[SEEP_KIND_INDIRECT]);
    if (leaks->known)
        return leaked;
    leaked.blocks = totals->live_blocks - SEEP_MIN(totals->live_blocks, leaks->suppressed_blocks);
    leaked.bytes = totals->live_bytes - SEEP_MIN(totals->live_bytes, leaks->suppressed_bytes);
    return leaked;
}

const struct seep_held *seep_profile_held(const struct seep_profile *profile, uint32_t site,
                                          uint32_t *ret_nr) {
    const struct seep_leaks *leaks = &profile->leaks;
    const uint32_t low = SEEP_FIRST_WHERE(at, leaks->nr_held, leaks->held[at].site >= site);
    uint32_t nr = 0;
    while (low + nr < leaks->nr_held && leaks->held[low + nr].site == site)
        nr++;
    *ret_nr = nr;
    return nr ? &leaks->held[low] : NULL;
}

void seep_profile_derive_leaks(struct seep_profile *profile) {
    struct seep_leaks *leaks = &profile->leaks;
    leaks->known = true;
    memset(leaks->blocks, 0, sizeof(leaks->blocks));
    memset(leaks->bytes, 0, sizeof(leaks->bytes));
    leaks->suppressed_blocks = leaks->suppressed_bytes = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        profile->sites[i].kind = profile->sites[i].held_kind = SEEP_KIND_UNKNOWN;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        uint8_t kind = profile->block_kinds[i];
        struct seep_site *site = &profile->sites[block->site];
        if (seep_profile_block_suppressed(profile, i)) {
            leaks->suppressed_blocks++;
            seep_add_up(&leaks->suppressed_bytes, block->size);
            continue;
        }
        leaks->blocks[kind]++;
        seep_add_up(&leaks->bytes[kind], block->size);
        if (kind != SEEP_KIND_UNKNOWN && (site->kind == SEEP_KIND_UNKNOWN || kind < site->kind))
            site->kind = kind;
        site->held_kind = SEEP_MAX(site->held_kind, kind);
    }
    // What is lost has no holder.
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        if (profile->sites[i].kind != SEEP_KIND_LOST)
            profile->sites[i].held_kind = profile->sites[i].kind;
}
