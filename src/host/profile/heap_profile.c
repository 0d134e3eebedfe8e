// SPDX-License-Identifier: BSD-2-Clause
// The profile of a heap that was made of events, see heap.h. Ids stay the same, so what refers to what needs
// no check.
#include <stdlib.h>
#include <string.h>

#include "image/sample.h"
#include "profile/heap.h"

struct copying {
    const struct seep_heap *heap;
    struct seep_profile *profile;
    int64_t now_ns;
};

static struct seep_error *copy_modules(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_module *modules = seep_arena_alloc(&profile->arena, heap->nr_modules, sizeof(*modules));
    if (!modules)
        return seep_error_no_memory();
    modules[0] = profile->modules[0];
    for (size_t i = 1; i < heap->nr_modules; i++) {
        modules[i] = heap->modules[i].module;
        modules[i].path = seep_arena_strdup(&profile->arena, modules[i].path);
        if (!modules[i].path)
            return seep_error_no_memory();
    }
    profile->modules = modules;
    profile->nr_modules = (uint32_t)heap->nr_modules;
    return NULL;
}

static struct seep_error *copy_nodes(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_node *nodes = seep_arena_alloc(&profile->arena, heap->nr_nodes, sizeof(*nodes));
    if (!nodes)
        return seep_error_no_memory();
    memcpy(nodes, heap->nodes, heap->nr_nodes * sizeof(*nodes));
    profile->nodes = nodes;
    profile->nr_nodes = (uint32_t)heap->nr_nodes;
    return NULL;
}

// Samples stand for parts of allocations.
static uint64_t number_of(const struct copying *copying, uint64_t sum) {
    if (!copying->heap->is_sampled)
        return sum;
    return (sum >> SEEP_WEIGHT_SHIFT) + (sum >> (SEEP_WEIGHT_SHIFT - 1) & 1);
}

static struct seep_counters copy_counters(const struct copying *copying, const struct seep_counters *from) {
    struct seep_counters counters = *from;
    counters.allocations = number_of(copying, from->allocations);
    counters.frees = number_of(copying, from->frees);
    counters.temporary = number_of(copying, from->temporary);
    return counters;
}

// The outermost node of a stack says whether it is cut.
static uint32_t cut_of(const struct seep_profile *profile, uint32_t node) {
    while (node && profile->nodes[node].parent)
        node = profile->nodes[node].parent;
    return node && profile->nodes[node].kind == SEEP_NODE_CUT ? (uint32_t)profile->nodes[node].offset
                                                              : SEEP_CUT_NR;
}

static struct seep_error *copy_sites(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_site *sites = seep_arena_alloc(&profile->arena, heap->nr_sites, sizeof(*sites));
    struct seep_thread_site *thread_sites =
        seep_arena_alloc(&profile->arena, heap->nr_thread_sites, sizeof(*thread_sites));
    if (!sites || !thread_sites)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_sites; i++) {
        const struct seep_site *from = &heap->sites[i];
        sites[i] = *from;
        sites[i].counters = copy_counters(copying, &from->counters);
        uint32_t cut = cut_of(profile, from->node);
        if (cut < SEEP_CUT_NR && (from->counters.allocations || from->via >= SEEP_VIA_HEAP_NR))
            profile->health.cut[cut]++;
    }
    for (size_t i = 0; i < heap->nr_thread_sites; i++) {
        const struct seep_thread_site *from = &heap->thread_sites[i];
        thread_sites[i] =
            (struct seep_thread_site){from->site, from->thread, copy_counters(copying, &from->counters)};
    }
    profile->sites = sites;
    profile->nr_sites = (uint32_t)heap->nr_sites;
    profile->thread_sites = thread_sites;
    profile->nr_thread_sites = heap->nr_thread_sites;
    return NULL;
}

static struct seep_error *copy_threads(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    profile->threads = seep_arena_alloc(&profile->arena, heap->nr_threads, sizeof(*profile->threads));
    if (!profile->threads)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_threads; i++) {
        const struct seep_heap_thread *from = &heap->threads[i];
        struct seep_thread *thread = &profile->threads[i];
        thread->tid = from->tid;
        thread->nr_owners = 1;
        memcpy(thread->name, from->name, sizeof(thread->name));
        thread->allocations = number_of(copying, from->allocations);
        thread->allocated_bytes = from->allocated_bytes;
        thread->frees = number_of(copying, from->frees);
        thread->freed_bytes = from->freed_bytes;
    }
    profile->nr_threads = (uint32_t)heap->nr_threads;
    return NULL;
}

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left;
    const struct seep_block *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void copy_block(const struct copying *copying, const struct seep_heap_block *from) {
    struct seep_profile *profile = copying->profile;
    profile->blocks[profile->nr_blocks++] =
        (struct seep_block){from->address, from->size, from->site, from->thread,
                            SEEP_MAX(copying->now_ns - from->born_ns, (int64_t)0)};
}

static struct seep_error *copy_blocks(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    const struct seep_block_table *table = &heap->blocks;
    struct seep_profile *profile = copying->profile;
    profile->blocks =
        seep_arena_alloc(&profile->arena, table->nr_used + heap->nr_threads, sizeof(*profile->blocks));
    if (!profile->blocks)
        return seep_error_no_memory();
    for (size_t i = 0; i < table->nr_slots; i++)
        if (table->slots[i].address)
            copy_block(copying, &table->slots[i]);
    for (size_t i = 0; i < heap->nr_threads; i++)
        if (seep_heap_is_resizing(heap, &heap->threads[i]))
            copy_block(copying, &heap->threads[i].resizing);
    qsort(profile->blocks, profile->nr_blocks, sizeof(*profile->blocks), compare_blocks);
    return NULL;
}

static int compare_map_sites(const void *left, const void *right) {
    const struct seep_mapping_site *a = left, *b = right;
    return (a->site > b->site) - (a->site < b->site);
}

static struct seep_error *copy_mappings(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    profile->mapping_sites =
        seep_arena_alloc(&profile->arena, heap->nr_mapping_sites, sizeof(*profile->mapping_sites));
    profile->mappings = seep_arena_alloc(&profile->arena, heap->nr_mappings, sizeof(*profile->mappings));
    if (!profile->mapping_sites || !profile->mappings)
        return seep_error_no_memory();
    profile->mapping_totals = heap->mapping_totals;
    if (heap->nr_mapping_sites)
        memcpy(profile->mapping_sites, heap->mapping_sites,
               heap->nr_mapping_sites * sizeof(*heap->mapping_sites));
    profile->nr_mapping_sites = (uint32_t)heap->nr_mapping_sites;
    if (profile->nr_mapping_sites)
        qsort(profile->mapping_sites, profile->nr_mapping_sites, sizeof(*profile->mapping_sites),
              compare_map_sites);
    for (size_t i = 0; i < heap->nr_mappings; i++) {
        const struct seep_heap_mapping *from = &heap->mappings[i];
        profile->mappings[i] = (struct seep_mapping){from->start, from->bytes, from->site, from->kind,
                                                     SEEP_MAX(copying->now_ns - from->born_ns, (int64_t)0)};
    }
    profile->nr_mappings = (uint32_t)heap->nr_mappings;
    return NULL;
}

// The program does not say how far its samples are apart. A small one stands for about that many bytes, and
// none for less but one that is bigger than that.
static uint64_t sample_bytes_of(const struct seep_heap *heap) {
    if (!heap->is_sampled)
        return 0;
    return heap->least_weight ? UINT64_C(1) << (63 - __builtin_clzll(heap->least_weight)) : 1;
}

static void copy_totals(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_totals *totals = &profile->totals;
    qsort(profile->thread_sites, profile->nr_thread_sites, sizeof(*profile->thread_sites),
          seep_thread_site_compare);
    memcpy(profile->health.lost, heap->lost, sizeof(profile->health.lost));
    profile->health.state = SEEP_STATE_LIVE;
    profile->health.depth_limit = 1023;
    totals->failed = heap->failed;
    totals->unknown_frees = heap->unknown_frees;
    memcpy(totals->releases, heap->releases, sizeof(totals->releases));
    for (size_t i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++)
        totals->size_class[i] = number_of(copying, heap->size_class[i]);
    profile->health.sample_bytes = sample_bytes_of(heap);
    seep_profile_derive(profile);
    totals->peak_bytes = heap->peak_bytes;
    totals->peak_exact = !heap->is_sampled;
}

// Blocks that a thread has given to realloc are in no table meanwhile.
static struct seep_error *copy_moving(const struct copying *copying) {
    const struct seep_heap *heap = copying->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_moving *moving = seep_arena_alloc(&profile->arena, heap->nr_threads, sizeof(*moving));
    if (!moving)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_threads; i++) {
        const struct seep_heap_block *block = &heap->threads[i].resizing;
        if (block->address)
            moving[profile->hints.nr_moving++] =
                (struct seep_moving){block->address, block->size, heap->threads[i].tid, 0};
    }
    profile->hints.moving = moving;
    return NULL;
}

struct seep_error *seep_heap_profile(const struct seep_heap *heap, int64_t now_ns,
                                     struct seep_profile **ret_profile) {
    static struct seep_error *(*const steps[])(const struct copying *) = {
        copy_modules, copy_nodes, copy_sites, copy_threads, copy_blocks, copy_mappings, copy_moving,
    };
    struct copying copying = {.heap = heap, .now_ns = now_ns};
    struct seep_error *err = seep_profile_create(&copying.profile);
    if (err)
        return err;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(steps) && !err; i++)
        err = steps[i](&copying);
    if (err) {
        seep_profile_destroy(copying.profile);
        return err;
    }
    copy_totals(&copying);
    *ret_profile = copying.profile;
    return NULL;
}

bool seep_heap_has_events(const struct seep_heap *heap) {
    return heap->nr_thread_sites || heap->nr_mapping_sites || heap->unknown_frees || heap->failed;
}
