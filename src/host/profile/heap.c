// SPDX-License-Identifier: BSD-2-Clause
// Keeps the heap of a process by its events, see heap.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/heap.h"
#include "image/sample.h"

struct seep_error *seep_heap_init(pid_t pid, struct seep_heap *ret_heap) {
    struct seep_heap heap = {.pid = pid};
    bool room = seep_grow(&heap.modules, &heap.modules_capacity, 1, sizeof(*heap.modules)) &&
                seep_grow(&heap.nodes, &heap.nodes_capacity, 1, sizeof(*heap.nodes));
    struct seep_error *err = room ? NULL : seep_error_no_memory();
    heap.nr_modules = heap.nr_nodes = 1;
    for (int i = 0; i < 2 && !err; i++)
        err = seep_heap_add_site(&heap, 0, SEEP_VIA_NONE);
    if (err) {
        seep_heap_deinit(&heap);
        return err;
    }
    heap.modules[0].module = (struct seep_module){.path = "", .unloaded_ns = -1};
    *ret_heap = heap;
    return NULL;
}

void seep_heap_deinit(struct seep_heap *heap) {
    struct seep_map *maps[] = {&heap->frame_ids,       &heap->node_ids,    &heap->stack_ids,
                               &heap->last_modules,    &heap->site_ids,    &heap->thread_ids,
                               &heap->thread_site_ids, &heap->map_site_ids};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(maps); i++)
        seep_map_deinit(maps[i]);
    void *arrays[] = {heap->modules, heap->areas,        heap->nodes,    heap->sites,
                      heap->threads, heap->thread_sites, heap->mappings, heap->mapping_sites};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(arrays); i++)
        free(arrays[i]);
    seep_block_table_deinit(&heap->blocks);
    seep_block_table_deinit(&heap->weights);
    seep_block_table_deinit(&heap->pages);
    seep_arena_deinit(&heap->arena);
    *heap = (struct seep_heap){.pid = heap->pid};
}

// ---- threads ----

static void read_thread_name(pid_t pid, struct seep_heap_thread *thread) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)pid, thread->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t nr = read(fd, thread->name, sizeof(thread->name) - 1);
    close(fd);
    thread->name[nr > 0 ? nr : 0] = 0;
    thread->name[strcspn(thread->name, "\n")] = 0;
}

static struct seep_error *find_thread(struct seep_heap *heap, uint32_t tid, uint32_t *ret_thread) {
    if (heap->nr_threads && heap->threads[heap->nr_threads - 1].tid == tid) {
        *ret_thread = (uint32_t)heap->nr_threads - 1;
        return NULL;
    }
    bool is_new;
    uint64_t *id = seep_map_at(&heap->thread_ids, tid, &is_new);
    if (!id)
        return seep_error_no_memory();
    if (is_new) {
        if (!seep_grow(&heap->threads, &heap->threads_capacity, heap->nr_threads + 1, sizeof(*heap->threads)))
            return seep_error_no_memory();
        struct seep_heap_thread *thread = &heap->threads[heap->nr_threads++];
        *thread = (struct seep_heap_thread){.tid = tid};
        read_thread_name(heap->pid, thread);
        *id = heap->nr_threads;
    }
    *ret_thread = (uint32_t)*id - 1;
    return NULL;
}

static struct seep_error *find_thread_site(struct seep_heap *heap, uint32_t site, uint32_t thread,
                                           struct seep_counters **ret_counters) {
    bool is_new;
    uint64_t *id = seep_map_at(&heap->thread_site_ids, (uint64_t)site << 32 | thread, &is_new);
    if (!id)
        return seep_error_no_memory();
    if (is_new) {
        if (!seep_grow(&heap->thread_sites, &heap->thread_sites_capacity, heap->nr_thread_sites + 1,
                       sizeof(*heap->thread_sites)))
            return seep_error_no_memory();
        heap->thread_sites[heap->nr_thread_sites++] =
            (struct seep_thread_site){.site = site, .thread = thread, .counters.size_min = UINT64_MAX};
        *id = heap->nr_thread_sites;
    }
    *ret_counters = &heap->thread_sites[*id - 1].counters;
    return NULL;
}

// ---- operations ----

// What a block counts for: itself, or where it is a sample all that it stands for.
struct amount {
    uint64_t number; // units of 1/1024 where it is a sample
    uint64_t bytes;
    uint64_t size;
};

#define WEIGHT_MAX (UINT64_C(1) << 47) // as much as there are addresses

static struct amount sample_of(uint64_t size, uint64_t weight) {
    size = SEEP_MIN(size, WEIGHT_MAX);
    weight = SEEP_MAX(SEEP_MIN(weight, WEIGHT_MAX), size);
    uint64_t number = (weight << SEEP_WEIGHT_SHIFT) / SEEP_MAX(size, UINT64_C(1));
    return (struct amount){SEEP_MAX(number, UINT64_C(1) << SEEP_WEIGHT_SHIFT), weight, size};
}

static void count_alloc(struct seep_counters *counters, const struct amount *amount) {
    counters->allocations += amount->number;
    counters->allocated_bytes += amount->bytes;
    counters->size_min = SEEP_MIN(counters->size_min, amount->size);
    counters->size_max = SEEP_MAX(counters->size_max, amount->size);
}

static void count_peak(const struct seep_heap *heap, struct seep_counters *counters) {
    if (heap->is_sampled) {
        counters->peak_bytes++;
        return;
    }
    uint64_t live = counters->allocated_bytes - counters->freed_bytes;
    if (counters->allocated_bytes > counters->freed_bytes && live > counters->peak_bytes)
        counters->peak_bytes = live;
}

static void count_free(struct seep_counters *counters, const struct amount *amount, bool temporary) {
    counters->frees += amount->number;
    counters->freed_bytes += amount->bytes;
    counters->temporary += temporary ? amount->number : 0;
}

// Takes what the block stood for.
static struct amount amount_of(struct seep_heap *heap, const struct seep_heap_block *block) {
    struct seep_heap_block weight;
    if (heap->is_sampled && seep_block_table_take(&heap->weights, block->address, &weight))
        return sample_of(block->size, weight.size);
    return (struct amount){1, block->size, block->size};
}

static struct seep_error *release(struct seep_heap *heap, const struct seep_heap_block *block,
                                  uint32_t thread, uint32_t how) {
    struct seep_counters *counters;
    struct seep_error *err = find_thread_site(heap, block->site, thread, &counters);
    if (err)
        return err;
    struct seep_heap_thread *by = &heap->threads[thread];
    bool temporary = by->latest == block->address && how != SEEP_RELEASE_IMPLICIT;
    struct amount amount = amount_of(heap, block);
    count_free(counters, &amount, temporary);
    count_free(&heap->sites[block->site].counters, &amount, temporary);
    by->frees += amount.number;
    by->freed_bytes += amount.bytes;
    heap->live_bytes -= amount.bytes;
    heap->releases[how] += !heap->is_sampled;
    return NULL;
}

static struct seep_error *add_weight(struct seep_heap *heap, const struct seep_heap_event *event,
                                     struct amount *ret_amount) {
    struct seep_heap_block *weight = seep_block_table_at(&heap->weights, event->address);
    if (!weight)
        return seep_error_no_memory();
    *ret_amount = sample_of(event->size, event->weight);
    *weight = (struct seep_heap_block){.address = event->address, .size = ret_amount->bytes};
    if (ret_amount->bytes > ret_amount->size &&
        (!heap->least_weight || ret_amount->bytes < heap->least_weight))
        heap->least_weight = ret_amount->bytes;
    return NULL;
}

static struct seep_error *add_block(struct seep_heap *heap, const struct seep_heap_event *event,
                                    uint32_t thread) {
    uint32_t site = 0;
    struct seep_counters *counters = NULL;
    struct seep_error *err = seep_heap_find_site(heap, event->stack, event->via, &site, NULL);
    struct seep_heap_block *block = err ? NULL : seep_block_table_at(&heap->blocks, event->address);
    if (!err && !block)
        err = seep_error_no_memory();
    // Its free was not seen.
    if (!err && block->address) {
        heap->lost[SEEP_LOST_FREE_UNSEEN]++;
        err = release(heap, block, thread, SEEP_RELEASE_IMPLICIT);
    }
    if (!err)
        err = find_thread_site(heap, site, thread, &counters);
    if (err)
        return err;
    struct amount amount = {1, event->size, event->size};
    if (heap->is_sampled) {
        err = add_weight(heap, event, &amount);
        if (err)
            return err;
    }
    *block = (struct seep_heap_block){event->address, amount.size, event->now_ns, site, thread};
    count_alloc(counters, &amount);
    count_peak(heap, counters);
    count_alloc(&heap->sites[site].counters, &amount);
    count_peak(heap, &heap->sites[site].counters);
    struct seep_heap_thread *by = &heap->threads[thread];
    by->allocations += amount.number;
    by->allocated_bytes += amount.bytes;
    by->latest = event->address;
    unsigned class = amount.size ? 64 - (unsigned)__builtin_clzll(amount.size) : 0;
    heap->size_class[SEEP_MIN(class, SEEP_IMAGE_SIZE_CLASSES - 1u)] += amount.number;
    heap->live_bytes += amount.bytes;
    heap->peak_bytes = SEEP_MAX(heap->peak_bytes, heap->live_bytes);
    return NULL;
}

static struct seep_error *allocate(struct seep_heap *heap, const struct seep_heap_event *event) {
    uint32_t thread;
    struct seep_error *err = find_thread(heap, event->tid, &thread);
    return err ? err : add_block(heap, event, thread);
}

static struct seep_error *free_block(struct seep_heap *heap, const struct seep_heap_event *event) {
    struct seep_heap_block block;
    uint32_t thread;
    struct seep_error *err = find_thread(heap, event->tid, &thread);
    if (err)
        return err;
    if (seep_block_table_take(&heap->blocks, event->address, &block))
        err = release(heap, &block, thread, SEEP_RELEASE_FREE);
    else
        heap->unknown_frees++;
    heap->threads[thread].latest = 0;
    return err;
}

// A realloc left its block as it was, or its end was not seen.
static struct seep_error *put_back(struct seep_heap *heap, const struct seep_heap_block *old,
                                   uint32_t thread) {
    struct seep_heap_block *block = seep_block_table_at(&heap->blocks, old->address);
    if (!block)
        return seep_error_no_memory();
    if (block->address) {
        heap->lost[SEEP_LOST_FREE_UNSEEN]++;
        return release(heap, old, thread, SEEP_RELEASE_IMPLICIT);
    }
    *block = *old;
    return NULL;
}

static struct seep_error *begin_resize(struct seep_heap *heap, const struct seep_heap_event *event) {
    uint32_t thread;
    struct seep_error *err = find_thread(heap, event->tid, &thread);
    if (!err && heap->threads[thread].resizing.address)
        err = put_back(heap, &heap->threads[thread].resizing, thread);
    if (err)
        return err;
    struct seep_heap_thread *by = &heap->threads[thread];
    by->resizing_address = event->address;
    if (!seep_block_table_take(&heap->blocks, event->address, &by->resizing))
        by->resizing.address = 0;
    return NULL;
}

static struct seep_error *end_resize(struct seep_heap *heap, const struct seep_heap_event *event) {
    uint32_t thread;
    struct seep_error *err = find_thread(heap, event->tid, &thread);
    if (err)
        return err;
    struct seep_heap_block old = heap->threads[thread].resizing;
    bool was_known = old.address != 0, gone = event->address || !event->size;
    heap->threads[thread].resizing.address = 0;
    heap->failed += !event->address && event->size;
    if (was_known)
        err = gone ? release(heap, &old, thread, SEEP_RELEASE_REALLOC) : put_back(heap, &old, thread);
    else if (gone)
        heap->unknown_frees++;
    heap->threads[thread].latest = 0;
    return err || !event->address ? err : add_block(heap, event, thread);
}

bool seep_heap_is_resizing(const struct seep_heap *heap, const struct seep_heap_thread *thread) {
    const struct seep_heap_block *block = &thread->resizing;
    if (!block->address || seep_block_table_find(&heap->blocks, block->address))
        return false;
    // Another thread may have got the address since, and be in a realloc, too: then the younger block is
    // live.
    for (size_t i = 0; i < heap->nr_threads; i++) {
        const struct seep_heap_thread *other = &heap->threads[i];
        if (other == thread || other->resizing.address != block->address)
            continue;
        if (other->resizing.born_ns > block->born_ns ||
            (other->resizing.born_ns == block->born_ns && other > thread))
            return false;
    }
    return true;
}

struct seep_error *seep_heap_apply(struct seep_heap *heap, const struct seep_heap_event *event) {
    switch (event->kind) {
    case SEEP_HEAP_ALLOC:
        return allocate(heap, event);
    case SEEP_HEAP_FREE:
        return free_block(heap, event);
    case SEEP_HEAP_RESIZE:
        return begin_resize(heap, event);
    case SEEP_HEAP_RESIZED:
        return end_resize(heap, event);
    case SEEP_HEAP_FAILED:
        heap->failed++;
        return NULL;
    case SEEP_HEAP_MAP:
        return seep_heap_map(heap, event);
    case SEEP_HEAP_UNMAP:
        return seep_heap_unmap(heap, event);
    case SEEP_HEAP_FAULT:
        return seep_heap_fault(heap, event);
    }
    return NULL;
}

// ---- fork ----

static bool copy_array(void *to_of_any, size_t *capacity, const void *from, size_t nr, size_t element_bytes) {
    void **to = to_of_any;
    if (!seep_grow(to, capacity, SEEP_MAX(nr, (size_t)1), element_bytes))
        return false;
    if (nr)
        memcpy(*to, from, nr * element_bytes);
    return true;
}

static struct seep_error *inherit(struct seep_heap *child, const struct seep_heap *parent,
                                  const struct seep_heap_block *from) {
    struct seep_heap_block *block = seep_block_table_at(&child->blocks, from->address);
    struct seep_counters *counters;
    struct seep_error *err = block ? NULL : seep_error_no_memory();
    if (!err)
        err = find_thread_site(child, from->site, 0, &counters);
    if (err)
        return err;
    *block = *from;
    block->thread = 0;
    struct amount amount = {1, from->size, from->size};
    if (child->is_sampled) {
        const struct seep_heap_block *weight = seep_block_table_find(&parent->weights, from->address);
        struct seep_heap_event event = {
            .address = from->address, .size = from->size, .weight = weight ? weight->size : 0};
        err = add_weight(child, &event, &amount);
        if (err)
            return err;
    }
    count_alloc(counters, &amount);
    count_peak(child, counters);
    count_alloc(&child->sites[from->site].counters, &amount);
    count_peak(child, &child->sites[from->site].counters);
    child->threads[0].allocations += amount.number;
    child->threads[0].allocated_bytes += amount.bytes;
    child->live_bytes += amount.bytes;
    return NULL;
}

struct seep_error *seep_heap_fork(const struct seep_heap *parent, pid_t pid, struct seep_heap *ret_heap) {
    struct seep_heap child = {
        .pid = pid, .is_sampled = parent->is_sampled, .least_weight = parent->least_weight};
    uint32_t thread;
    bool copied = copy_array(&child.modules, &child.modules_capacity, parent->modules, parent->nr_modules,
                             sizeof(*child.modules)) &&
                  copy_array(&child.areas, &child.areas_capacity, parent->areas, parent->nr_areas,
                             sizeof(*child.areas)) &&
                  copy_array(&child.nodes, &child.nodes_capacity, parent->nodes, parent->nr_nodes,
                             sizeof(*child.nodes)) &&
                  copy_array(&child.sites, &child.sites_capacity, parent->sites, parent->nr_sites,
                             sizeof(*child.sites)) &&
                  seep_map_copy(&parent->frame_ids, &child.frame_ids) &&
                  seep_map_copy(&parent->node_ids, &child.node_ids) &&
                  seep_map_copy(&parent->site_ids, &child.site_ids);
    child.nr_modules = parent->nr_modules;
    child.nr_areas = parent->nr_areas;
    child.nr_frames = parent->nr_frames;
    child.nr_nodes = parent->nr_nodes;
    child.nr_sites = parent->nr_sites;
    struct seep_error *err = copied ? find_thread(&child, (uint32_t)pid, &thread) : seep_error_no_memory();
    for (size_t i = 1; i < child.nr_modules && !err; i++)
        if (!(child.modules[i].module.path = seep_arena_strdup(&child.arena, parent->modules[i].module.path)))
            err = seep_error_no_memory();
    for (size_t i = 0; i < child.nr_sites && !err; i++)
        child.sites[i].counters = (struct seep_counters){.size_min = UINT64_MAX};
    for (size_t i = 0; i < parent->blocks.nr_slots && !err; i++)
        if (parent->blocks.slots[i].address)
            err = inherit(&child, parent, &parent->blocks.slots[i]);
    for (size_t i = 0; i < parent->nr_threads && !err; i++)
        if (seep_heap_is_resizing(parent, &parent->threads[i]))
            err = inherit(&child, parent, &parent->threads[i].resizing);
    if (!err)
        err = seep_heap_inherit_mappings(&child, parent);
    child.peak_bytes = child.live_bytes;
    if (err)
        seep_heap_deinit(&child);
    else
        *ret_heap = child;
    return err;
}
