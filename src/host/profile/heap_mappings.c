// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that the program mapped by itself, and the pages that its page faults brought in; see
// heap.h. Mappings count as the library counts them: image/layout.h, struct seep_image_mapping_site.
#include <string.h>

#include "base/search.h"
#include "profile/heap.h"

struct seep_error *seep_heap_map_site(struct seep_heap *heap, uint32_t site,
                                      struct seep_mapping_counts **ret_counts) {
    bool is_new;
    uint64_t *id = seep_map_at(&heap->map_site_ids, site, &is_new);
    if (!id || (is_new && !seep_grow(&heap->mapping_sites, &heap->map_sites_capacity,
                                     heap->nr_mapping_sites + 1, sizeof(*heap->mapping_sites))))
        return seep_error_no_memory();
    if (is_new) {
        heap->mapping_sites[heap->nr_mapping_sites++] = (struct seep_mapping_site){.site = site};
        *id = heap->nr_mapping_sites;
    }
    *ret_counts = &heap->mapping_sites[*id - 1].counts;
    return NULL;
}

static void count_map(struct seep_mapping_counts *counts, uint64_t bytes) {
    counts->maps++;
    counts->mapped_bytes += bytes;
    counts->peak_bytes = SEEP_MAX(counts->peak_bytes, counts->mapped_bytes - counts->unmapped_bytes);
}

static void count_unmap(struct seep_mapping_counts *counts, uint64_t bytes) {
    counts->unmaps++;
    counts->unmapped_bytes += bytes;
}

// The first mapping that ends behind `address`.
static size_t find_mapping(const struct seep_heap *heap, uint64_t address) {
    return SEEP_FIRST_WHERE(at, heap->nr_mappings,
                            heap->mappings[at].start + heap->mappings[at].bytes > address);
}

static struct seep_error *insert(struct seep_heap *heap, size_t at, const struct seep_heap_mapping *mapping) {
    if (!seep_grow(&heap->mappings, &heap->mappings_capacity, heap->nr_mappings + 1, sizeof(*heap->mappings)))
        return seep_error_no_memory();
    memmove(heap->mappings + at + 1, heap->mappings + at, (heap->nr_mappings - at) * sizeof(*heap->mappings));
    heap->mappings[at] = *mapping;
    heap->nr_mappings++;
    return NULL;
}

static void take_out(struct seep_heap *heap, size_t at) {
    memmove(heap->mappings + at, heap->mappings + at + 1,
            (--heap->nr_mappings - at) * sizeof(*heap->mappings));
}

// Takes [start, end) away from the mappings in it; one in the middle leaves two.
static struct seep_error *carve(struct seep_heap *heap, uint64_t start, uint64_t end) {
    uint64_t taken = 0;
    size_t at = find_mapping(heap, start);
    while (at < heap->nr_mappings && heap->mappings[at].start < end) {
        struct seep_heap_mapping old = heap->mappings[at];
        uint64_t old_end = old.start + old.bytes, from = SEEP_MAX(start, old.start),
                 to = SEEP_MIN(end, old_end);
        struct seep_mapping_counts *counts;
        struct seep_error *err = seep_heap_map_site(heap, old.site, &counts);
        if (err)
            return err;
        count_unmap(counts, to - from);
        taken += to - from;
        take_out(heap, at);
        struct seep_heap_mapping left = old, right = old;
        left.bytes = from - old.start;
        right.start = to;
        right.bytes = old_end - to;
        if (left.bytes)
            err = insert(heap, at++, &left);
        if (!err && right.bytes)
            err = insert(heap, at++, &right);
        if (err)
            return err;
    }
    if (taken)
        count_unmap(&heap->mapping_totals, taken);
    return NULL;
}

// Whole pages, as the kernel takes it. false: nothing of it is an address.
static bool page_range(const struct seep_heap_event *call, uint64_t *ret_start, uint64_t *ret_end) {
    *ret_start = call->address & ~UINT64_C(4095);
    return call->size && call->size < UINT64_C(1) << 47 &&
           !__builtin_add_overflow(*ret_start, (call->size + 4095) & ~UINT64_C(4095), ret_end);
}

struct seep_error *seep_heap_map(struct seep_heap *heap, const struct seep_heap_event *call) {
    uint64_t start, end;
    uint32_t site;
    bool inside = false;
    if (!page_range(call, &start, &end))
        return NULL;
    struct seep_error *err = carve(heap, start, end);
    if (!err)
        err = seep_heap_find_site(heap, call->stack, call->via, &site, &inside);
    if (err || inside)
        return err;
    struct seep_mapping_counts *counts;
    err = seep_heap_map_site(heap, site, &counts);
    if (err)
        return err;
    count_map(counts, end - start);
    count_map(&heap->mapping_totals, end - start);
    struct seep_heap_mapping mapping = {start, end - start, call->now_ns, site, call->detail};
    return insert(heap, find_mapping(heap, start), &mapping);
}

struct seep_error *seep_heap_unmap(struct seep_heap *heap, const struct seep_heap_event *call) {
    uint64_t start, end;
    return page_range(call, &start, &end) ? carve(heap, start, end) : NULL;
}

struct seep_error *seep_heap_inherit_mappings(struct seep_heap *child, const struct seep_heap *parent) {
    struct seep_error *err = NULL;
    for (size_t i = 0; i < parent->nr_mappings && !err; i++) {
        struct seep_mapping_counts *counts;
        err = seep_heap_map_site(child, parent->mappings[i].site, &counts);
        if (err)
            return err;
        count_map(counts, parent->mappings[i].bytes);
        count_map(&child->mapping_totals, parent->mappings[i].bytes);
        err = insert(child, i, &parent->mappings[i]);
    }
    return err;
}

// A page that was brought in before has left meanwhile, or it would not have been missing.
struct seep_error *seep_heap_fault(struct seep_heap *heap, const struct seep_heap_event *call) {
    uint32_t site;
    bool inside = false;
    struct seep_mapping_counts *counts;
    struct seep_error *err = seep_heap_find_site(heap, call->stack, call->via, &site, &inside);
    if (!err)
        err = seep_heap_map_site(heap, site, &counts);
    if (err)
        return err;
    struct seep_heap_block *page = seep_block_table_at(&heap->pages, call->address);
    if (!page)
        return seep_error_no_memory();
    *page = (struct seep_heap_block){call->address, call->size, call->now_ns, site, 0};
    count_map(counts, call->size);
    heap->nr_faults++;
    return NULL;
}
