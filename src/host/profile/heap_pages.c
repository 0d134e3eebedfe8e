// SPDX-License-Identifier: BSD-2-Clause
//
// Which of the pages that page faults brought in are still in memory. A fault says that a page came; that it
// went (munmap, madvise, brk, reclaim) is not told but looked up, so no way of freeing memory is missed.
// Source: Linux admin-guide/mm/pagemap.rst.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/page_scan.h"
#include "profile/heap.h"

#define PAGE_BYTES    UINT64_C(4096)
#define HUGE_BYTES    (UINT64_C(2) << 20)
#define ENTRY_PRESENT (UINT64_C(1) << 63)

static int compare_addresses(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static struct seep_error *page_addresses(const struct seep_block_table *pages, uint64_t **ret_addresses) {
    uint64_t *addresses = malloc((pages->nr_used + 1) * sizeof(*addresses));
    if (!addresses)
        return seep_error_no_memory();
    size_t nr = 0;
    for (size_t i = 0; i < pages->nr_slots; i++)
        if (pages->slots[i].address)
            addresses[nr++] = pages->slots[i].address;
    if (nr)
        qsort(addresses, nr, sizeof(*addresses), compare_addresses);
    *ret_addresses = addresses;
    return NULL;
}

// Whether what is mapped there is one huge page. Kernels before 6.7 do not tell.
static bool is_huge(int pagemap, uint64_t start) {
    struct seep_page_region region;
    uint64_t walk_end;
    return seep_page_scan(pagemap, start, start + HUGE_BYTES, SEEP_PAGE_HUGE, &region, 1, &walk_end) == 1 &&
           region.start == start && region.end - region.start == HUGE_BYTES;
}

// The page now counts for so many bytes; 0: it is gone.
static struct seep_error *resize_page(struct seep_heap *heap, uint64_t address, uint64_t bytes) {
    struct seep_heap_block page;
    struct seep_mapping_counts *counts;
    if (!seep_block_table_take(&heap->pages, address, &page))
        return NULL;
    struct seep_error *err = seep_heap_map_site(heap, page.site, &counts);
    if (err)
        return err;
    if (bytes > page.size)
        counts->mapped_bytes += bytes - page.size;
    else
        counts->unmapped_bytes += page.size - bytes;
    counts->peak_bytes = SEEP_MAX(counts->peak_bytes, counts->mapped_bytes - counts->unmapped_bytes);
    if (!bytes)
        return NULL;
    struct seep_heap_block *slot = seep_block_table_at(&heap->pages, address);
    if (!slot)
        return seep_error_no_memory();
    *slot = page;
    slot->size = bytes;
    return NULL;
}

// The pages that were brought in of one stretch of HUGE_BYTES. Of a huge page the first counts for all of it.
static struct seep_error *look_at_stretch(struct seep_heap *heap, int pagemap, const uint64_t *addresses,
                                          size_t nr) {
    uint64_t entries[HUGE_BYTES / PAGE_BYTES], start = addresses[0] & ~(HUGE_BYTES - 1);
    ssize_t got = pread(pagemap, entries, sizeof(entries), (off_t)(start / PAGE_BYTES * sizeof(*entries)));
    if (got != sizeof(entries))
        return NULL;
    bool huge = is_huge(pagemap, start);
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++) {
        bool is_there = entries[(addresses[i] - start) / PAGE_BYTES] & ENTRY_PRESENT;
        uint64_t bytes = huge ? (i ? 0 : HUGE_BYTES) : is_there ? PAGE_BYTES : 0;
        err = resize_page(heap, addresses[i], bytes);
    }
    return err;
}

struct seep_error *seep_heap_look_at_pages(struct seep_heap *heap) {
    char name[64];
    uint64_t *addresses = NULL;
    if (!heap->pages.nr_used)
        return NULL;
    snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)seep_live_thread(heap->pid));
    int pagemap = open(name, O_RDONLY | O_CLOEXEC);
    if (pagemap < 0)
        return NULL;
    size_t nr = heap->pages.nr_used;
    struct seep_error *err = page_addresses(&heap->pages, &addresses);
    if (err) {
        close(pagemap);
        return err;
    }
    for (size_t i = 0, end; !err && i < nr; i = end) {
        for (end = i; end < nr && addresses[end] / HUGE_BYTES == addresses[i] / HUGE_BYTES; end++)
            ;
        err = look_at_stretch(heap, pagemap, addresses + i, end - i);
    }
    free(addresses);
    close(pagemap);
    return err;
}
