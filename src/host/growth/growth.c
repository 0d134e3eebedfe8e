// SPDX-License-Identifier: BSD-2-Clause
// From snapshots to the series of each site, which trend.c judges, see growth.h.
#include <stdlib.h>

#include "base/sum.h"
#include "growth/growth.h"
#include "profile/verdict.h"

// A change of one site from one snapshot on.
struct change {
    uint32_t snapshot;
    uint64_t live_blocks;
    uint64_t live_bytes;
};

// The changes of all sites, those of a site side by side and in order of time.
struct changes {
    struct change *all;
    size_t *first; // by site; one more at the end
};

static struct seep_error *sort_by_site(const struct seep_profile *profile, struct changes *changes) {
    size_t nr = 0;
    changes->first = calloc((size_t)profile->nr_sites + 2, sizeof(*changes->first));
    if (!changes->first)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < profile->nr_snapshots; i++) {
        nr += profile->snapshots[i].nr_sites;
        for (uint32_t k = 0; k < profile->snapshots[i].nr_sites; k++)
            changes->first[profile->snapshots[i].sites[k].site + 2]++;
    }
    for (uint32_t site = 0; site < profile->nr_sites; site++)
        changes->first[site + 2] += changes->first[site + 1];
    changes->all = calloc(nr ? nr : 1, sizeof(*changes->all));
    if (!changes->all)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < profile->nr_snapshots; i++)
        for (uint32_t k = 0; k < profile->snapshots[i].nr_sites; k++) {
            const struct seep_snapshot_site *from = &profile->snapshots[i].sites[k];
            changes->all[changes->first[from->site + 1]++] =
                (struct change){i, from->live_blocks, from->live_bytes};
        }
    return NULL;
}

// Which snapshots are judged: all, or every so many of them, the last one among them.
struct picked {
    uint32_t index[SEEP_TREND_MOST];
    double seconds[SEEP_TREND_MOST];
    size_t nr;
    bool is_short; // they cover too short a time for a verdict
};

static struct picked pick(const struct seep_profile *profile, bool is_short) {
    struct picked picked = {.is_short = is_short};
    uint32_t nr = profile->nr_snapshots, step = (nr + SEEP_TREND_MOST - 1) / SEEP_TREND_MOST;
    for (uint32_t i = (nr - 1) % step; i < nr; i += step) {
        picked.index[picked.nr] = i;
        picked.seconds[picked.nr++] = (double)profile->snapshots[i].at_ns / 1e9;
    }
    return picked;
}

// A sum of what a trace says may be more than fits.
static uint64_t whole(double value) {
    return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

static struct seep_growth_of judge(const struct picked *picked, const double *bytes, const double *blocks) {
    size_t last = picked->nr - 1;
    struct seep_growth_of growth = {.first_bytes = whole(bytes[0]), .last_bytes = whole(bytes[last])};
    growth.least_bytes = growth.most_bytes = growth.first_bytes;
    for (size_t i = 1; i <= last; i++) {
        growth.least_bytes = SEEP_MIN(growth.least_bytes, whole(bytes[i]));
        growth.most_bytes = SEEP_MAX(growth.most_bytes, whole(bytes[i]));
    }
    if (!picked->is_short)
        seep_trend_judge(picked->seconds, bytes, picked->nr, &growth.trend);
    if (blocks && last)
        growth.blocks_per_s = (blocks[last] - blocks[0]) / (picked->seconds[last] - picked->seconds[0]);
    growth.last_blocks = blocks ? whole(blocks[last]) : 0;
    return growth;
}

// Adds what a site has at each of the picked snapshots.
static void add_site(const struct picked *picked, const struct change *changes, size_t nr_changes,
                     double *bytes, double *blocks) {
    size_t at = 0;
    for (size_t i = 0; i < picked->nr; i++) {
        while (at < nr_changes && changes[at].snapshot <= picked->index[i])
            at++;
        bytes[i] += at ? (double)changes[at - 1].live_bytes : 0;
        blocks[i] += at ? (double)changes[at - 1].live_blocks : 0;
    }
}

static void judge_all(const struct seep_profile *profile, const struct picked *picked,
                      const struct changes *changes, struct seep_growth *growth) {
    double bytes[SEEP_TREND_MOST] = {0}, blocks[SEEP_TREND_MOST] = {0}, rss[SEEP_TREND_MOST];
    bool has_rss = true;
    for (uint32_t site = 1; site < profile->nr_sites; site++) {
        size_t nr = changes->first[site + 1] - changes->first[site];
        if (!nr || !seep_via_is_heap(profile->sites[site].via))
            continue;
        double site_bytes[SEEP_TREND_MOST] = {0}, site_blocks[SEEP_TREND_MOST] = {0};
        add_site(picked, changes->all + changes->first[site], nr, site_bytes, site_blocks);
        for (size_t i = 0; i < picked->nr; i++) {
            bytes[i] += site_bytes[i];
            blocks[i] += site_blocks[i];
        }
        growth->sites[site] = judge(picked, site_bytes, site_blocks);
        growth->nr_verdicts[growth->sites[site].trend.verdict]++;
    }
    growth->live = judge(picked, bytes, blocks);
    for (size_t i = 0; i < picked->nr; i++) {
        rss[i] = (double)profile->snapshots[picked->index[i]].rss_bytes;
        has_rss &= rss[i] > 0;
    }
    if (has_rss)
        growth->rss = judge(picked, rss, NULL);
}

static bool covers(const struct seep_profile *profile, int64_t least_ns) {
    const struct seep_snapshot *all = profile->snapshots;
    return seep_time_less(all[profile->nr_snapshots - 1].at_ns, all[0].at_ns) >= least_ns;
}

struct seep_error *seep_growth_judge(struct seep_profile *profile, int64_t least_ns) {
    if (!profile->nr_snapshots)
        return NULL;
    struct seep_growth *growth = seep_arena_alloc(&profile->arena, 1, sizeof(*growth));
    struct changes changes = {0};
    struct seep_error *error = growth ? sort_by_site(profile, &changes) : seep_error_no_memory();
    if (!error) {
        growth->sites = seep_arena_alloc(&profile->arena, profile->nr_sites, sizeof(*growth->sites));
        if (!growth->sites)
            error = seep_error_no_memory();
    }
    if (!error) {
        if (profile->nr_snapshots >= SEEP_TREND_LEAST && !covers(profile, least_ns))
            growth->least_ns = least_ns;
        struct picked picked = pick(profile, growth->least_ns != 0);
        judge_all(profile, &picked, &changes, growth);
        profile->growth = growth;
    }
    free(changes.all);
    free(changes.first);
    return error;
}

// The sites of each group side by side: those of group g from first[g] to first[g + 1].
static void sort_by_group(const struct seep_profile *profile, const uint32_t *group_of, uint32_t nr_groups,
                          uint32_t *first, uint32_t *sites) {
    for (uint32_t site = 1; site < profile->nr_sites; site++)
        if (group_of[site])
            first[group_of[site] + 2]++;
    for (uint32_t group = 0; group <= nr_groups; group++)
        first[group + 2] += first[group + 1];
    for (uint32_t site = 1; site < profile->nr_sites; site++)
        if (group_of[site])
            sites[first[group_of[site] + 1]++] = site;
}

static void judge_groups(const struct seep_profile *profile, const struct changes *changes,
                         const uint32_t *first, const uint32_t *sites, uint32_t nr_groups,
                         struct seep_growth_of *groups) {
    struct picked picked = pick(profile, profile->growth && profile->growth->least_ns);
    for (uint32_t group = 1; group <= nr_groups; group++) {
        double bytes[SEEP_TREND_MOST] = {0}, blocks[SEEP_TREND_MOST] = {0};
        bool any = false;
        for (uint32_t i = first[group]; i < first[group + 1]; i++) {
            size_t at = changes->first[sites[i]], nr = changes->first[sites[i] + 1] - at;
            any |= nr != 0;
            add_site(&picked, changes->all + at, nr, bytes, blocks);
        }
        if (any)
            groups[group - 1] = judge(&picked, bytes, blocks);
    }
}

struct seep_error *seep_growth_judge_groups(const struct seep_profile *profile, const uint32_t *group_of,
                                            uint32_t nr_groups, struct seep_growth_of *groups) {
    struct changes changes = {0};
    uint32_t *first = calloc((size_t)nr_groups + 3, sizeof(*first));
    uint32_t *sites = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*sites));
    struct seep_error *error = first && sites ? sort_by_site(profile, &changes) : seep_error_no_memory();
    if (!error) {
        sort_by_group(profile, group_of, nr_groups, first, sites);
        judge_groups(profile, &changes, first, sites, nr_groups, groups);
    }
    free(changes.all);
    free(changes.first);
    free(sites);
    free(first);
    return error;
}

double seep_growth_seconds(const struct seep_growth_of *growth, uint64_t bytes) {
    if (growth->trend.verdict != SEEP_TREND_GROWING || growth->trend.slope <= 0)
        return -1;
    return (double)bytes / growth->trend.slope;
}

bool seep_growth_is_beside_heap(const struct seep_growth *growth) {
    return growth->rss.trend.verdict == SEEP_TREND_GROWING &&
           growth->live.trend.verdict != SEEP_TREND_GROWING && !growth->nr_verdicts[SEEP_TREND_GROWING];
}

enum seep_growth_unknown seep_growth_why_unknown(const struct seep_profile *profile) {
    bool is_said = profile->growth->live.trend.verdict != SEEP_TREND_UNKNOWN;
    if (!is_said && seep_profile_has_note(profile, SEEP_NOTE_STOOD_STILL))
        return SEEP_GROWTH_STOOD_STILL;
    if (profile->growth->least_ns)
        return SEEP_GROWTH_TOO_SHORT;
    return is_said ? SEEP_GROWTH_SAID : SEEP_GROWTH_TOO_FEW;
}

bool seep_growth_is_known(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_growth *growth = session->profiles[i]->growth;
        if (growth && growth->live.trend.verdict != SEEP_TREND_UNKNOWN)
            return true;
    }
    return false;
}
