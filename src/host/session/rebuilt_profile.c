// SPDX-License-Identifier: BSD-2-Clause
// What a rebuilt heap is in a profile: its figures at a moment, and its peak. See rebuilt_heap.h.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "session/session_at_mark.h"
#include "session/rebuilt_heap.h"

// ---- a moment --------------------------------------------------------------------------------------------

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static bool show_blocks(const struct seep_rebuilt_heap *heap, int64_t at_ns, struct seep_profile *profile) {
    struct seep_block *blocks = seep_arena_alloc(&profile->arena, heap->nr_blocks + 1, sizeof(*blocks));
    size_t nr = 0;
    for (size_t i = 0; blocks && i < heap->nr_used; i++) {
        const struct seep_rebuilt_block *from = &heap->blocks[i];
        if (!from->address)
            continue;
        blocks[nr++] =
            (struct seep_block){.address = from->address,
                                .size = from->size,
                                .site = from->site,
                                .thread = from->slot < profile->nr_threads ? from->slot : UINT32_MAX,
                                .age_ns = SEEP_MAX(at_ns - from->at_ns, INT64_C(0))};
    }
    if (blocks && nr)
        qsort(blocks, nr, sizeof(*blocks), compare_blocks);
    profile->blocks = blocks;
    profile->nr_blocks = blocks ? nr : 0;
    return blocks;
}

static bool show_threads(const struct seep_rebuilt_heap *heap, struct seep_profile *profile) {
    struct seep_thread_site *rows =
        seep_arena_alloc(&profile->arena, heap->nr_thread_sites + 1, sizeof(*rows));
    size_t nr = 0;
    for (uint32_t i = 0; i < profile->nr_threads; i++) {
        struct seep_thread *thread = &profile->threads[i];
        thread->allocations = thread->allocated_bytes = thread->frees = thread->freed_bytes = 0;
    }
    for (size_t i = 0; rows && i < heap->nr_thread_sites; i++) {
        const struct seep_thread_site *from = &heap->thread_sites[i];
        if (from->thread >= profile->nr_threads)
            continue;
        struct seep_thread *thread = &profile->threads[from->thread];
        seep_add_up(&thread->allocations, from->counters.allocations);
        seep_add_up(&thread->allocated_bytes, from->counters.allocated_bytes);
        seep_add_up(&thread->frees, from->counters.frees);
        seep_add_up(&thread->freed_bytes, from->counters.freed_bytes);
        rows[nr++] = *from;
    }
    if (nr)
        qsort(rows, nr, sizeof(*rows), seep_thread_site_compare);
    profile->thread_sites = rows;
    profile->nr_thread_sites = nr;
    return rows;
}

struct seep_error *seep_rebuilt_heap_show(const struct seep_rebuilt_heap *heap, int64_t at_ns,
                                          struct seep_profile *profile) {
    uint32_t nr_threads = profile->nr_threads;
    seep_at_mark_drop_details(profile);
    profile->nr_threads = nr_threads; // blocks name theirs
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        struct seep_counters none = {.size_min = UINT64_MAX};
        bool is_heap = i && i < heap->nr_sites && seep_via_is_heap(profile->sites[i].via);
        profile->sites[i].counters = is_heap ? heap->sites[i] : none;
        profile->sites[i].kind = SEEP_KIND_UNKNOWN;
        profile->sites[i].held = NULL;
    }
    memcpy(profile->totals.releases, heap->releases, sizeof(heap->releases));
    memcpy(profile->totals.size_class, heap->size_class, sizeof(heap->size_class));
    if (!show_blocks(heap, at_ns, profile) || !show_threads(heap, profile))
        return seep_error_no_memory();
    if (at_ns < profile->process.duration_ns) {
        profile->process.exit_kind = SEEP_EXIT_RUNNING;
        profile->process.is_past = true;
    }
    profile->process.duration_ns = SEEP_MIN(at_ns, profile->process.duration_ns);
    seep_profile_derive(profile);
    profile->totals.peak_bytes = (uint64_t)SEEP_MAX(heap->peak_bytes, INT64_C(0));
    profile->totals.peak_exact = !profile->health.lost[SEEP_LOST_EVENT];
    profile->totals.peak_error_bytes = 0;
    return NULL;
}

// ---- the peak --------------------------------------------------------------------------------------------

static struct seep_mark_site mark_of_end(uint32_t index, const struct seep_counters *site) {
    return (struct seep_mark_site){index,       site->allocations, site->allocated_bytes,
                                   site->frees, site->freed_bytes, site->temporary};
}

static struct seep_mark_site mark_of_then(uint32_t index, const struct seep_rebuilt_site_then *then) {
    return (struct seep_mark_site){index,       then->allocations, then->allocated_bytes,
                                   then->frees, then->freed_bytes, then->temporary};
}

bool seep_rebuilt_heap_peak(const struct seep_rebuilt_heap *heap, struct seep_rebuilt_peak *ret_peak) {
    uint32_t nr = 0;
    for (uint32_t i = 1; i < heap->nr_sites; i++)
        nr += heap->sites[i].allocations || heap->sites[i].frees;
    struct seep_rebuilt_peak peak = {
        .at_ns = heap->peak_ns, .live_bytes = heap->peak_bytes, .sites = calloc(nr + 1, sizeof(*peak.sites))};
    for (uint32_t i = 1; peak.sites && i < heap->nr_sites; i++) {
        const struct seep_counters *site = &heap->sites[i];
        if (!site->allocations && !site->frees)
            continue;
        struct seep_rebuilt_peak_site *to = &peak.sites[peak.nr_sites++];
        bool changed = heap->then[i].peak_event == heap->peak_event;
        to->end = mark_of_end(i, site);
        to->then = changed ? mark_of_then(i, &heap->then[i]) : to->end;
        to->most_bytes = site->peak_bytes;
    }
    *ret_peak = peak;
    return peak.sites;
}

void seep_rebuilt_peak_deinit(struct seep_rebuilt_peak *peak) {
    free(peak->sites);
    *peak = (struct seep_rebuilt_peak){0};
}

// What was live before the first event was so all the time, as far as its frees are not events: a forked
// process began with it.
static struct seep_mark_site with_before(const struct seep_rebuilt_peak_site *site,
                                         const struct seep_counters *last) {
    const struct seep_mark_site *then = &site->then, *end = &site->end;
    return (struct seep_mark_site){
        .site = then->site,
        .allocations = then->allocations + seep_above(last->allocations, end->allocations),
        .allocated_bytes = then->allocated_bytes + seep_above(last->allocated_bytes, end->allocated_bytes),
        .frees = then->frees + seep_above(last->frees, end->frees),
        .freed_bytes = then->freed_bytes + seep_above(last->freed_bytes, end->freed_bytes),
        .temporary = then->temporary + seep_above(last->temporary, end->temporary)};
}

// Whether the process had blocks that no event tells of and that no fork gave it.
static bool is_late(const struct seep_rebuilt_peak *peak, const struct seep_profile *profile) {
    bool forked = profile->health.flags & SEEP_FLAG_FORKED;
    for (uint32_t i = 1, at = 0; !forked && i < profile->nr_sites; i++) {
        while (at < peak->nr_sites && peak->sites[at].end.site < i)
            at++;
        bool known = at < peak->nr_sites && peak->sites[at].end.site == i;
        uint64_t allocations = known ? peak->sites[at].end.allocations : 0;
        if (seep_via_is_heap(profile->sites[i].via) && profile->sites[i].counters.allocations > allocations)
            return true;
    }
    return false;
}

// A process may write any number into its counters.
static int64_t no_more(uint64_t bytes) {
    return (int64_t)SEEP_MIN(bytes, (uint64_t)INT64_MAX);
}

struct seep_error *seep_rebuilt_peak_give(const struct seep_rebuilt_peak *peak,
                                          struct seep_profile *profile) {
    if (is_late(peak, profile))
        return NULL;
    struct seep_mark_site *sites = seep_arena_alloc(&profile->arena, profile->nr_sites, sizeof(*sites));
    if (!sites)
        return seep_error_no_memory();
    uint32_t nr = 0;
    int64_t live_bytes = peak->live_bytes;
    for (uint32_t i = 1, at = 0; i < profile->nr_sites; i++) {
        struct seep_counters *last = &profile->sites[i].counters;
        while (at < peak->nr_sites && peak->sites[at].end.site < i)
            at++;
        bool known = at < peak->nr_sites && peak->sites[at].end.site == i;
        struct seep_rebuilt_peak_site site = {.then.site = i, .end.site = i};
        if (known)
            site = peak->sites[at];
        if (!seep_via_is_heap(profile->sites[i].via))
            continue;
        int64_t before = no_more(seep_above(last->allocated_bytes, site.end.allocated_bytes)) -
                         no_more(seep_above(last->freed_bytes, site.end.freed_bytes));
        int64_t most_bytes = (int64_t)site.most_bytes;
        seep_add_signed(&live_bytes, before);
        seep_add_signed(&most_bytes, before);
        last->peak_bytes = (uint64_t)SEEP_MAX(most_bytes, INT64_C(0));
        sites[nr] = with_before(&site, last);
        nr += sites[nr].allocations != 0;
    }
    profile->at_peak = (struct seep_mark){
        .name = "peak", .at_ns = peak->at_ns, .counted = true, .sites = sites, .nr_sites = nr};
    profile->totals.peak_bytes = (uint64_t)SEEP_MAX(live_bytes, INT64_C(0));
    profile->totals.peak_exact = true;
    profile->totals.peak_error_bytes = 0;
    seep_profile_derive(profile);
    return NULL;
}
