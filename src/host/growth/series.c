// SPDX-License-Identifier: BSD-2-Clause
// Snapshots as they come, see series.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "growth/growth.h"
#include "growth/series.h"
#include "profile/verdict.h"

void seep_series_deinit(struct seep_series *series) {
    for (uint32_t i = 0; i < series->nr_snapshots; i++)
        free(series->snapshots[i].sites);
    free(series->snapshots);
    free(series->last);
    *series = (struct seep_series){0};
}

static bool is_as_before(const struct seep_snapshot_site *last, const struct seep_site *site) {
    return last->live_blocks == site->live_blocks && last->live_bytes == site->live_bytes;
}

// Whether the process used no processor time and allocated nothing since the look before. If its processor
// time is not known (a file, another machine): whether it neither allocated nor freed anything.
static bool stands_still(const struct seep_series *series, const struct seep_profile *profile,
                         const struct seep_series_memory *memory) {
    bool is_known = memory->cpu_ns && series->cpu_ns;
    if (!series->nr_snapshots || (is_known && memory->cpu_ns != series->cpu_ns) ||
        (!is_known && profile->health.events != series->nr_events) || series->capacity < profile->nr_sites)
        return false;
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        if (!is_as_before(&series->last[i], &profile->sites[i]))
            return false;
    return true;
}

// What is different from `last`, which it then is.
static struct seep_error *take_changes(struct seep_series *series, const struct seep_profile *profile,
                                       struct seep_snapshot *snapshot) {
    if (!seep_grow(&series->last, &series->capacity, profile->nr_sites, sizeof(*series->last)))
        return seep_error_no_memory();
    uint32_t nr = 0;
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        nr += !is_as_before(&series->last[i], &profile->sites[i]);
    snapshot->sites = calloc(SEEP_MAX(nr, 1u), sizeof(*snapshot->sites));
    if (!snapshot->sites)
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        const struct seep_site *site = &profile->sites[i];
        if (is_as_before(&series->last[i], site))
            continue;
        series->last[i] = (struct seep_snapshot_site){i, site->live_blocks, site->live_bytes};
        snapshot->sites[snapshot->nr_sites++] = series->last[i];
    }
    return NULL;
}

// Adds to `into` what `from`, the snapshot before it, has and it has not.
static struct seep_error *merge(struct seep_snapshot *into, const struct seep_snapshot *from) {
    struct seep_snapshot_site *both = calloc((size_t)into->nr_sites + from->nr_sites + 1, sizeof(*both));
    if (!both)
        return seep_error_no_memory();
    uint32_t i = 0, j = 0, nr = 0;
    while (i < into->nr_sites || j < from->nr_sites) {
        bool older = i == into->nr_sites || (j < from->nr_sites && from->sites[j].site < into->sites[i].site);
        if (!older && j < from->nr_sites && from->sites[j].site == into->sites[i].site)
            j++;
        both[nr++] = older ? from->sites[j++] : into->sites[i++];
    }
    free(into->sites);
    into->sites = both;
    into->nr_sites = nr;
    return NULL;
}

// Every other one goes; the last one stays.
static struct seep_error *thin(struct seep_series *series) {
    uint32_t nr = 0;
    for (uint32_t i = 0; i + 1 < series->nr_snapshots; i += 2) {
        struct seep_error *error = merge(&series->snapshots[i + 1], &series->snapshots[i]);
        if (error)
            return error;
    }
    for (uint32_t i = 0; i < series->nr_snapshots; i++) {
        if (i % 2 == 0 && i + 1 < series->nr_snapshots)
            free(series->snapshots[i].sites);
        else
            series->snapshots[nr++] = series->snapshots[i];
    }
    series->nr_snapshots = nr;
    series->step = SEEP_MAX(series->step, 1u) * 2;
    return NULL;
}

struct seep_error *seep_series_add(struct seep_series *series, const struct seep_profile *profile,
                                   const struct seep_series_memory *memory) {
    series->nr_looks++;
    if (stands_still(series, profile, memory)) {
        series->nr_still++;
        series->is_by_events |= !memory->cpu_ns;
        return NULL;
    }
    series->nr_events = profile->health.events;
    series->cpu_ns = memory->cpu_ns;
    if (++series->skipped < series->step && series->nr_snapshots)
        return NULL;
    if (!series->snapshots) {
        series->snapshots = calloc(SEEP_SERIES_MOST, sizeof(*series->snapshots));
        if (!series->snapshots)
            return seep_error_no_memory();
    }
    struct seep_snapshot snapshot = {.at_ns = profile->process.duration_ns,
                                     .rss_bytes = memory->rss_bytes,
                                     .used_bytes = memory->used_bytes};
    if (series->nr_snapshots && snapshot.at_ns <= series->snapshots[series->nr_snapshots - 1].at_ns)
        return NULL;
    struct seep_error *error = series->nr_snapshots == SEEP_SERIES_MOST ? thin(series) : NULL;
    if (!error)
        error = take_changes(series, profile, &snapshot);
    if (error)
        return error;
    series->skipped = 0;
    series->limit_bytes = memory->limit_bytes;
    snprintf(series->limit, sizeof(series->limit), "%s", memory->limit ? memory->limit : "");
    series->snapshots[series->nr_snapshots++] = snapshot;
    return NULL;
}

struct seep_error *seep_series_give(const struct seep_series *series, struct seep_profile *profile) {
    struct seep_snapshot *all =
        seep_arena_alloc(&profile->arena, SEEP_MAX(series->nr_snapshots, 1u), sizeof(*all));
    if (!all)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < series->nr_snapshots; i++) {
        const struct seep_snapshot *from = &series->snapshots[i];
        all[i] = *from;
        all[i].sites = seep_arena_alloc(&profile->arena, SEEP_MAX(from->nr_sites, 1u), sizeof(*all[i].sites));
        if (!all[i].sites)
            return seep_error_no_memory();
        while (all[i].nr_sites && from->sites[all[i].nr_sites - 1].site >= profile->nr_sites)
            all[i].nr_sites--;
        memcpy(all[i].sites, from->sites, all[i].nr_sites * sizeof(*all[i].sites));
    }
    profile->limit_bytes = series->limit_bytes;
    profile->limit = series->limit_bytes ? seep_arena_strdup(&profile->arena, series->limit) : NULL;
    if (series->limit_bytes && !profile->limit)
        return seep_error_no_memory();
    profile->snapshots = all;
    profile->nr_snapshots = series->nr_snapshots;
    struct seep_error *error = seep_growth_judge(profile, SEEP_GROWTH_LEAST_NS);
    if (!error && series->nr_still)
        error = seep_profile_note(
            profile, SEEP_NOTE_STOOD_STILL, "the process %s between looks: %u of %u say nothing of growth",
            series->is_by_events ? "neither allocated nor freed anything" : "did not run", series->nr_still,
            series->nr_looks);
    return error;
}
