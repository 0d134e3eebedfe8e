// SPDX-License-Identifier: BSD-2-Clause
// Adds up the counters of threads, see counters_sum.h.
#include "preload/counters_sum.h"
#include "preload/image_swap.h"
#include "preload/image_window.h"

#define CHUNK_BYTES (SEEP_CHUNK_SITES * sizeof(struct seep_image_counters))

// Pages that were never written are not read, as long as the kernel may be asked: that would make them.
// Other threads count on meanwhile: each word is one of theirs, a little older or newer.
SEEP_NO_TSAN static void add_chunk(const struct seep_image_counters *counters, uint32_t nr_sites, bool asks,
                                   seep_sums *sums) {
    unsigned char present[CHUNK_BYTES / SEEP_IMAGE_PAGE];
    // With swap those that were written may look as if they were not.
    if (!asks || seep_confined.filtered || seep_swap_is_used())
        __builtin_memset(present, 1, sizeof(present));
    else if (!seep_pages_present((const unsigned char *)counters, sizeof(present), present))
        return;
    uint32_t nr_in_page = SEEP_IMAGE_PAGE / sizeof(*counters);
    for (uint32_t i = 0; i < nr_sites; i++) {
        if (!(present[i / nr_in_page] & 1))
            continue;
        sums[i][0] += counters[i].allocations;
        sums[i][1] += counters[i].allocated_bytes;
        sums[i][2] += counters[i].frees;
        sums[i][3] += counters[i].freed_bytes;
        sums[i][4] += SEEP_TEMPORARY(counters[i].temporary);
    }
}

SEEP_NO_TSAN bool seep_counters_sum(uint64_t first, uint32_t nr_sites, seep_sums *ret_sums) {
    uint64_t used = __atomic_load_n(&seep_g.header->areas[SEEP_AREA_THREADS].used, __ATOMIC_ACQUIRE);
    uint32_t nr_threads =
        (uint32_t)SEEP_MIN(used, seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread));
    bool any = false;
    for (uint32_t i = 0; i < nr_threads; i++) {
        const uint32_t *dir = seep_window_pages(seep_g.base, seep_g.threads[i].chunk_dir_page,
                                                SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
        uint32_t page = dir ? __atomic_load_n(&dir[first >> SEEP_CHUNK_SITES_SHIFT], __ATOMIC_ACQUIRE) : 0;
        const struct seep_image_counters *chunk = seep_window_pages(seep_g.base, page, CHUNK_BYTES);
        if (!chunk)
            continue;
        if (!any)
            __builtin_memset(ret_sums, 0, nr_sites * sizeof(*ret_sums));
        add_chunk(chunk, nr_sites, !seep_counters_are_few(nr_threads, (uint32_t)first + nr_sites), ret_sums);
        any = true;
    }
    return any;
}
