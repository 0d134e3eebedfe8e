// SPDX-License-Identifier: BSD-2-Clause
// Sums of a recording, see event_sums.h.
#include <stdlib.h>

#include "file/event_sums.h"

void seep_event_sums_put(struct seep_put *put, const struct seep_event_sums *sums) {
    seep_put_leb(put, sums->pid);
    seep_put_zigzag(put, sums->start_realtime_ns);
    seep_put_leb(put, sums->whole);
    seep_put_leb(put, sums->nr_events);
    seep_put_zigzag(put, sums->most_ns);
    seep_put_zigzag(put, sums->latest_ns);
    seep_put_zigzag(put, sums->live_bytes);
    seep_put_zigzag(put, sums->peak_bytes);
    seep_put_leb(put, sums->peak_event);
    seep_put_list(put, sums->releases, SEEP_RELEASE_NR);
    seep_put_list(put, sums->size_class, SEEP_IMAGE_SIZE_CLASSES);
    seep_put_leb(put, sums->nr_last);
    for (size_t i = 0; i < sums->nr_last; i++)
        seep_put_leb(put, sums->last[i]);
    seep_put_leb(put, sums->nr_sites);
    uint32_t before = 0;
    for (size_t i = 0; i < sums->nr_sites; i++) {
        const struct seep_counters *counters = &sums->counters[i];
        seep_put_leb(put, sums->sites[i] - before);
        before = sums->sites[i];
        seep_put_leb(put, counters->allocations);
        seep_put_leb(put, counters->allocated_bytes);
        seep_put_leb(put, counters->frees);
        seep_put_leb(put, counters->freed_bytes);
        seep_put_leb(put, counters->temporary);
        seep_put_leb(put, counters->peak_bytes);
        seep_put_leb(put, counters->size_min + 1); // none: UINT64_MAX
        seep_put_leb(put, counters->size_max);
    }
}

static bool take_sites(struct seep_take *take, size_t nr, uint32_t *sites, struct seep_counters *counters) {
    uint64_t site = 0;
    for (size_t i = 0; i < nr; i++) {
        uint64_t step = seep_take_leb(take);
        site += step;
        if (!step || step > UINT32_MAX || site > UINT32_MAX)
            return false;
        sites[i] = (uint32_t)site;
        counters[i].allocations = seep_take_leb(take);
        counters[i].allocated_bytes = seep_take_leb(take);
        counters[i].frees = seep_take_leb(take);
        counters[i].freed_bytes = seep_take_leb(take);
        counters[i].temporary = seep_take_leb(take);
        counters[i].peak_bytes = seep_take_leb(take);
        counters[i].size_min = seep_take_leb(take) - 1;
        counters[i].size_max = seep_take_leb(take);
    }
    return !take->failed;
}

bool seep_event_sums_take(struct seep_take *take, struct seep_event_sums *ret_sums) {
    struct seep_event_sums sums = {.pid = seep_take_u32(take)};
    sums.start_realtime_ns = seep_take_zigzag(take);
    sums.whole = seep_take_bool(take);
    sums.nr_events = seep_take_leb(take);
    sums.most_ns = seep_take_zigzag(take);
    sums.latest_ns = seep_take_zigzag(take);
    sums.live_bytes = seep_take_zigzag(take);
    sums.peak_bytes = seep_take_zigzag(take);
    sums.peak_event = seep_take_leb(take);
    seep_take_list(take, sums.releases, SEEP_RELEASE_NR);
    seep_take_list(take, sums.size_class, SEEP_IMAGE_SIZE_CLASSES);
    uint64_t nr_last = seep_take_leb(take);
    // A number has a byte at least: what is promised is there, and bounds the memory.
    uint64_t *last = nr_last <= seep_take_left(take) ? calloc((size_t)nr_last + 1, sizeof(*last)) : NULL;
    for (size_t i = 0; last && i < nr_last; i++)
        last[i] = seep_take_leb(take);
    enum { SITE_LEAST = 9 };
    uint64_t nr = seep_take_leb(take);
    bool fits = nr <= seep_take_left(take) / SITE_LEAST;
    uint32_t *sites = fits ? calloc((size_t)nr + 1, sizeof(*sites)) : NULL;
    struct seep_counters *counters = fits ? calloc((size_t)nr + 1, sizeof(*counters)) : NULL;
    bool good =
        last && sites && counters && take_sites(take, (size_t)nr, sites, counters) && !seep_take_left(take);
    sums.last = last;
    sums.nr_last = (size_t)nr_last;
    sums.sites = sites;
    sums.counters = counters;
    sums.nr_sites = (size_t)nr;
    if (good)
        *ret_sums = sums;
    else
        seep_event_sums_deinit(&sums);
    return good;
}

void seep_event_sums_deinit(struct seep_event_sums *sums) {
    free((void *)sums->last);
    free((void *)sums->sites);
    free((void *)sums->counters);
    *sums = (struct seep_event_sums){0};
}
