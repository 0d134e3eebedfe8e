// SPDX-License-Identifier: BSD-2-Clause
// Copies of the counters at peaks, see at_peak.h.
#include "preload/at_peak.h"
#include "preload/counters_sum.h"
#include "preload/image_window.h"

enum {
    // Of the peak: what it grows by is worth another copy, and so much below it the peak is over. Finer
    // where a copy is of few sites.
    GROWTH_PARTS = 160,
    DIP_PARTS = 256,
    FEW_SITES = 2048,
    FINER_BY = 3,
    LEAST_BYTES = 64,
    // Counters that copies may read: so many, and these for each allocation: a hundredth of what it costs.
    // What is
    // beyond that is missed.
    FREE_COUNTERS = 1 << 20,
    COUNTERS_PER_ALLOCATION = 2,
    ASKING_COUNTERS = 1000, // what it costs to ask for a filter
};

static _Atomic uint32_t busy; // tid of the thread that copies
static _Atomic int64_t seen;  // the peak that was copied last, or missed
static uint64_t nr_read;      // counters, by all copies
// Where the chunks of the two copies lie: the image has it too, and is not asked.
static uint32_t pages[2][SEEP_CHUNKS_PER_THREAD];
static uint32_t nr_chunks[2];
static uint32_t dir_pages[2];

static int64_t part_of(int64_t bytes, int64_t parts) {
    return SEEP_MAX(bytes / parts, (int64_t)LEAST_BYTES);
}

static uint64_t used_of(enum seep_area_kind area) {
    return __atomic_load_n(&seep_g.header->areas[area].used, __ATOMIC_ACQUIRE);
}

void seep_peak_begin(void) {
    atomic_store_explicit(&busy, 0, memory_order_relaxed);
    atomic_store_explicit(&seen, 0, memory_order_relaxed);
    nr_read = 0;
    for (int i = 0; i < 2; i++) {
        __builtin_memset(pages[i], 0, nr_chunks[i] * sizeof(pages[i][0]));
        nr_chunks[i] = dir_pages[i] = 0;
    }
    __builtin_memset(seep_g.header->at_peak, 0, sizeof(seep_g.header->at_peak));
    seep_g.header->at_peak_which = 0;
}

// The chunk of a copy, made where it is not there yet. NULL: no room.
static seep_sums *chunk_of(unsigned copy, uint64_t index) {
    if (!dir_pages[copy])
        dir_pages[copy] = seep_pages_take(SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
    uint32_t *dir =
        seep_window_pages(seep_g.base, dir_pages[copy], SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
    if (!dir)
        return NULL;
    if (index >= nr_chunks[copy]) {
        pages[copy][index] = seep_pages_take(SEEP_CHUNK_SITES * sizeof(seep_sums));
        if (!pages[copy][index])
            return NULL;
        nr_chunks[copy] = (uint32_t)index + 1;
        __atomic_store_n(&dir[index], pages[copy][index], __ATOMIC_RELEASE);
    }
    return seep_window_pages(seep_g.base, pages[copy][index], SEEP_CHUNK_SITES * sizeof(seep_sums));
}

// false: no room for all of it.
static bool copy_counters(unsigned copy, uint64_t nr_sites) {
    for (uint64_t first = 0; first < nr_sites; first += SEEP_CHUNK_SITES) {
        seep_sums *chunk = chunk_of(copy, first / SEEP_CHUNK_SITES);
        if (!chunk)
            return false;
        uint32_t nr = (uint32_t)SEEP_MIN(nr_sites - first, (uint64_t)SEEP_CHUNK_SITES);
        if (!seep_counters_sum(first, nr, chunk))
            __builtin_memset(chunk, 0, nr * sizeof(*chunk));
    }
    return true;
}

// Other threads count on: a little less is as good.
SEEP_NO_TSAN static uint64_t nr_allocations(uint64_t nr_threads) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < nr_threads; i++)
        for (uint32_t class = 0; class < SEEP_IMAGE_SIZE_CLASSES; class ++)
            sum += seep_g.threads[i].size_class[class];
    return sum;
}

static void copy_peak(int64_t peak) {
    struct seep_image_header *header = seep_g.header;
    uint64_t nr_sites = SEEP_MIN(used_of(SEEP_AREA_SITES), (uint64_t)SEEP_MAX_SITES);
    uint64_t nr_threads = SEEP_MIN(used_of(SEEP_AREA_THREADS),
                                   seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread));
    nr_read += nr_sites * nr_threads;
    if (nr_read > FREE_COUNTERS && nr_read > nr_allocations(nr_threads) * COUNTERS_PER_ALLOCATION) {
        nr_read -= nr_sites * nr_threads;
        return;
    }
    if (!seep_counters_are_few(nr_threads, nr_sites)) {
        nr_read += ASKING_COUNTERS;
        // A filter that was not told of is found before the kernel is asked for pages.
        (void)seep_calls_are_free();
    }
    unsigned copy = header->at_peak_which == 1; // the one that does not count
    struct seep_image_peak *record = &header->at_peak[copy];
    if (!copy_counters(copy, nr_sites))
        return;
    record->dir_page = dir_pages[copy];
    record->nr_sites = nr_sites;
    record->peak_bytes = (uint64_t)peak;
    record->at_ns = seep_confined.filtered ? 0 : seep_clock_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&header->at_peak_which, copy + 1, __ATOMIC_RELEASE);
}

struct seep_peak_room seep_peak_look(const struct seep_image_thread *slot, int64_t net) {
    const struct seep_image_header *header = seep_g.header;
    uint64_t nr_threads = SEEP_MAX(used_of(SEEP_AREA_THREADS), UINT64_C(1));
    int64_t live =
        (int64_t)__atomic_load_n(&header->live_bytes_flushed, __ATOMIC_RELAXED) - slot->flushed_bytes + net;
    int64_t peak = SEEP_MAX((int64_t)__atomic_load_n(&header->peak_bytes_flushed, __ATOMIC_RELAXED), live);
    if (nr_threads == 1)
        peak = SEEP_MAX(peak, slot->peak_bytes);
    bool few = used_of(SEEP_AREA_SITES) <= FEW_SITES;
    int64_t growth_parts = few ? GROWTH_PARTS * FINER_BY : GROWTH_PARTS;
    int64_t dip_parts = few ? DIP_PARTS * FINER_BY : DIP_PARTS;
    int64_t last = atomic_load_explicit(&seen, memory_order_relaxed);
    int64_t next = last + part_of(last, growth_parts); // the peak that is worth a copy
    int64_t floor = peak - part_of(peak, dip_parts);   // and where it is over
    if (peak >= next && live < floor) {
        uint32_t nobody = 0;
        if (atomic_compare_exchange_strong_explicit(&busy, &nobody, 1, memory_order_acquire,
                                                    memory_order_relaxed)) {
            copy_peak(peak);
            // Also where it was not copied: later is not the peak any more.
            atomic_store_explicit(&seen, peak, memory_order_relaxed);
            atomic_store_explicit(&busy, 0, memory_order_release);
        }
        next = peak + part_of(peak, growth_parts);
    }
    if (peak < next)
        return (struct seep_peak_room){.up = nr_threads == 1 ? next - peak : INT64_MAX, .down = INT64_MAX};
    return (struct seep_peak_room){.up = INT64_MAX, .down = SEEP_MAX(live - floor, 0) / (int64_t)nr_threads};
}
