// SPDX-License-Identifier: BSD-2-Clause
// Reads the memory of the kernel's tracer, see kernel_memory.h.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "source/kernel/kernel_memory.h"

// Those that are there by now; what the heap's sites point into.
static struct seep_error *read_sites(const struct seep_kernel_memory *memory, struct seep_kernel_heap *heap) {
    size_t nr = SEEP_MIN(*memory->nr_sites, memory->nr_sites_max);
    heap->all_sites = calloc(nr + 1, sizeof(*heap->all_sites));
    if (!heap->all_sites)
        return seep_error_no_memory();
    if (nr)
        memcpy(heap->all_sites, memory->sites, nr * sizeof(*heap->all_sites));
    heap->nr_all_sites = nr;
    for (size_t i = 1; i < nr; i++)
        heap->nr_cut += heap->all_sites[i].nr_frames >= SEEP_KERNEL_FRAMES_MAX;
    return NULL;
}

static struct seep_error *read_processes(const struct seep_kernel_memory *memory,
                                         struct seep_kernel_heap *heap) {
    size_t nr = SEEP_MIN(*memory->nr_processes, memory->nr_processes_max);
    size_t nr_kept = SEEP_MAX(nr, (size_t)SEEP_KERNEL_PROCESS_FIRST);
    heap->all_processes = calloc(nr_kept, sizeof(*heap->all_processes));
    if (!heap->all_processes)
        return seep_error_no_memory();
    if (nr)
        memcpy(heap->all_processes, memory->processes, nr * sizeof(*heap->all_processes));
    heap->nr_all_processes = nr_kept;
    return NULL;
}

static const struct seep_kernel_site *find_site(const struct seep_kernel_heap *heap, uint32_t number) {
    return number && number < heap->nr_all_sites ? &heap->all_sites[number] : NULL;
}

// ---- by the blocks ----

struct block_order {
    uint32_t site;
    struct seep_kernel_live_block block;
};

struct block_list {
    struct block_order *blocks;
    size_t nr;
    size_t capacity;
};

static int compare_blocks(const void *left, const void *right) {
    const struct block_order *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->block.process != b->block.process)
        return a->block.process < b->block.process ? -1 : 1;
    if (a->block.age_ns != b->block.age_ns)
        return a->block.age_ns > b->block.age_ns ? -1 : 1;
    return (a->block.address > b->block.address) - (a->block.address < b->block.address);
}

// The programs go on meanwhile: a block counts when its key is the same before and after.
static bool read_block(const struct seep_kernel_memory *memory, size_t bucket, size_t i, uint64_t *ret_key,
                       struct seep_kernel_block *ret_block) {
    const volatile uint64_t *key = &memory->buckets[bucket].keys[i];
    const volatile struct seep_kernel_block *block = &memory->blocks[bucket * SEEP_KERNEL_BUCKET_BLOCKS + i];
    *ret_key = *key;
    if (*ret_key <= SEEP_KERNEL_KEY_TAKEN)
        return false;
    *ret_block = *block;
    return *key == *ret_key;
}

static struct seep_error *list_blocks(const struct seep_kernel_memory *memory, int64_t older_ns,
                                      struct block_list *list) {
    uint64_t now_ns = (uint64_t)seep_monotonic_ns();
    for (size_t bucket = 0; bucket < memory->nr_buckets; bucket++)
        for (size_t i = 0; i < SEEP_KERNEL_BUCKET_BLOCKS; i++) {
            uint64_t key;
            struct seep_kernel_block block;
            if (!read_block(memory, bucket, i, &key, &block))
                continue;
            int64_t age_ns = block.born_ns < now_ns ? (int64_t)(now_ns - block.born_ns) : 0;
            if (age_ns < older_ns)
                continue;
            if (!seep_grow(&list->blocks, &list->capacity, list->nr + 1, sizeof(*list->blocks)))
                return seep_error_no_memory();
            list->blocks[list->nr++] = (struct block_order){block.site,
                                                            {.address = key,
                                                             .size = block.size,
                                                             .age_ns = age_ns,
                                                             .slab_bytes = block.slab_bytes,
                                                             .process = block.process}};
        }
    return NULL;
}

static void add_block(struct seep_kernel_heap *heap, const struct block_order *at) {
    struct seep_kernel_live_site *live = heap->nr_sites ? &heap->sites[heap->nr_sites - 1] : NULL;
    if (!live || live->number != at->site) {
        live = &heap->sites[heap->nr_sites++];
        *live = (struct seep_kernel_live_site){.number = at->site,
                                               .site = find_site(heap, at->site),
                                               .size_min = UINT64_MAX,
                                               .first_block = heap->nr_blocks};
    }
    live->live_blocks++;
    live->live_bytes += at->block.size;
    live->live_slab_bytes += at->block.slab_bytes;
    live->size_min = SEEP_MIN(live->size_min, at->block.size);
    live->size_max = SEEP_MAX(live->size_max, at->block.size);
    heap->blocks[heap->nr_blocks++] = at->block;
}

// Sorted by site, then by process, oldest first.
static struct seep_error *add_blocks(struct block_list *list, struct seep_kernel_heap *heap) {
    for (size_t i = 0; i < list->nr; i++) {
        if (!find_site(heap, list->blocks[i].site))
            list->blocks[i].site = 0;
        if (list->blocks[i].block.process >= heap->nr_all_processes)
            list->blocks[i].block.process = SEEP_KERNEL_PROCESS_UNKNOWN;
    }
    if (list->nr)
        qsort(list->blocks, list->nr, sizeof(*list->blocks), compare_blocks);
    heap->sites = calloc(SEEP_MIN(list->nr, heap->nr_all_sites) + 1, sizeof(*heap->sites));
    heap->blocks = calloc(list->nr + 1, sizeof(*heap->blocks));
    if (!heap->sites || !heap->blocks)
        return seep_error_no_memory();
    for (size_t i = 0; i < list->nr; i++)
        add_block(heap, &list->blocks[i]);
    return NULL;
}

struct seep_error *seep_kernel_memory_blocks(const struct seep_kernel_memory *memory, int64_t older_ns,
                                             struct seep_kernel_heap *heap) {
    struct block_list list = {NULL};
    struct seep_error *err = list_blocks(memory, older_ns, &list);
    if (!err)
        err = read_sites(memory, heap); // after the blocks: the site of each is there
    if (!err)
        err = read_processes(memory, heap);
    if (!err)
        err = add_blocks(&list, heap);
    free(list.blocks);
    return err;
}

// ---- by the counts ----

struct seep_error *seep_kernel_memory_combined(const struct seep_kernel_memory *memory,
                                               struct seep_kernel_heap *heap) {
    struct seep_error *err = read_sites(memory, heap);
    if (err)
        return err;
    heap->sites = calloc(heap->nr_all_sites + 1, sizeof(*heap->sites));
    if (!heap->sites)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < heap->nr_all_sites; i++) {
        const struct seep_kernel_site *site = &heap->all_sites[i];
        // Read while it changes: the one figure may be newer than the other.
        if ((int64_t)site->live_blocks > 0 && (int64_t)site->live_bytes >= 0)
            heap->sites[heap->nr_sites++] = (struct seep_kernel_live_site){
                .number = i,
                .site = find_site(heap, i),
                .live_blocks = site->live_blocks,
                .live_bytes = site->live_bytes,
                .live_slab_bytes = (uint64_t)SEEP_MAX((int64_t)site->live_slab_bytes, (int64_t)0)};
    }
    return NULL;
}

void seep_kernel_heap_deinit(struct seep_kernel_heap *heap) {
    free(heap->sites);
    free(heap->blocks);
    free(heap->all_sites);
    free(heap->all_processes);
    *heap = (struct seep_kernel_heap){NULL};
}
