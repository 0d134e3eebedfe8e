// SPDX-License-Identifier: BSD-2-Clause
// Keeps the heap of a process by its events, see heap.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/heap.h"
#include "base/search.h"
#include "image/bpf_events.h"
#include "image/sample.h"

// In the values of stack_ids: node, then the via of operator new.
#define VIA_SHIFT 32
#define INSIDE    (UINT64_C(1) << 63) // some frame is in the allocator's code

static struct seep_error *add_site(struct seep_heap *heap, uint32_t node, uint32_t via) {
    if (!seep_grow(&heap->sites, &heap->sites_capacity, heap->nr_sites + 1, sizeof(*heap->sites)))
        return seep_error_no_memory();
    heap->sites[heap->nr_sites++] =
        (struct seep_site){.node = node, .via = via, .counters.size_min = UINT64_MAX};
    return NULL;
}

struct seep_error *seep_heap_init(pid_t pid, struct seep_heap *ret_heap) {
    struct seep_heap heap = {.pid = pid};
    bool room = seep_grow(&heap.modules, &heap.modules_capacity, 1, sizeof(*heap.modules)) &&
                seep_grow(&heap.nodes, &heap.nodes_capacity, 1, sizeof(*heap.nodes));
    struct seep_error *err = room ? NULL : seep_error_no_memory();
    heap.nr_modules = heap.nr_nodes = 1;
    for (int i = 0; i < 2 && !err; i++)
        err = add_site(&heap, 0, SEEP_VIA_NONE);
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

// ---- modules ----

static bool same_module(const struct seep_module *a, const struct seep_module *b) {
    return a->bias_rt == b->bias_rt && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 && strcmp(a->path, b->path) == 0;
}

struct seep_error *seep_heap_add_module(struct seep_heap *heap, const struct seep_heap_module *module,
                                        uint32_t *ret_id) {
    for (size_t i = 1; i < heap->nr_modules; i++) {
        struct seep_module *known = &heap->modules[i].module;
        if (!same_module(known, &module->module))
            continue;
        known->unloaded_ns = -1;
        known->start_rt = SEEP_MIN(known->start_rt, module->module.start_rt);
        known->end_rt = SEEP_MAX(known->end_rt, module->module.end_rt);
        *ret_id = (uint32_t)i;
        return NULL;
    }
    if (heap->nr_modules >= 0xffff) {
        heap->lost[SEEP_LOST_NO_MODULE]++;
        *ret_id = 0;
        return NULL;
    }
    if (!seep_grow(&heap->modules, &heap->modules_capacity, heap->nr_modules + 1, sizeof(*heap->modules)))
        return seep_error_no_memory();
    struct seep_heap_module *added = &heap->modules[heap->nr_modules];
    *added = *module;
    added->module.path = seep_arena_strdup(&heap->arena, module->module.path);
    if (!added->module.path)
        return seep_error_no_memory();
    *ret_id = (uint32_t)heap->nr_modules++;
    return NULL;
}

static int compare_areas(const void *left, const void *right) {
    const struct seep_heap_area *a = left;
    const struct seep_heap_area *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

struct seep_error *seep_heap_set_areas(struct seep_heap *heap, const struct seep_heap_area *areas,
                                       size_t nr_areas, int64_t now_ns) {
    if (!seep_grow(&heap->areas, &heap->areas_capacity, SEEP_MAX(nr_areas, (size_t)1), sizeof(*heap->areas)))
        return seep_error_no_memory();
    heap->nr_areas = nr_areas;
    if (nr_areas) {
        memcpy(heap->areas, areas, nr_areas * sizeof(*areas));
        qsort(heap->areas, nr_areas, sizeof(*areas), compare_areas);
    }
    for (size_t i = 1; i < heap->nr_modules; i++) {
        bool here = false;
        for (size_t j = 0; j < nr_areas; j++)
            here |= areas[j].module == i;
        if (!here && heap->modules[i].module.unloaded_ns < 0)
            heap->modules[i].module.unloaded_ns = now_ns;
    }
    return NULL;
}

struct seep_error *seep_heap_add_area(struct seep_heap *heap, const struct seep_heap_area *area) {
    for (size_t i = 0; i < heap->nr_areas; i++)
        if (heap->areas[i].start == area->start)
            return NULL;
    if (!seep_grow(&heap->areas, &heap->areas_capacity, heap->nr_areas + 1, sizeof(*heap->areas)))
        return seep_error_no_memory();
    heap->areas[heap->nr_areas++] = *area;
    qsort(heap->areas, heap->nr_areas, sizeof(*area), compare_areas);
    return NULL;
}

static uint32_t module_at(const struct seep_heap *heap, uint64_t address) {
    const size_t low = SEEP_FIRST_WHERE(at, heap->nr_areas, heap->areas[at].start > address);
    return low && address < heap->areas[low - 1].end ? heap->areas[low - 1].module : 0;
}

// ---- stacks ----

static struct seep_error *frame_id(struct seep_heap *heap, uint64_t frame, uint32_t *ret_id) {
    bool is_new;
    uint64_t *id = seep_map_at(&heap->frame_ids, frame, &is_new);
    if (!id)
        return seep_error_no_memory();
    if (is_new)
        *id = ++heap->nr_frames;
    *ret_id = (uint32_t)*id;
    return NULL;
}

static struct seep_error *node_id(struct seep_heap *heap, uint32_t key_of_frame, const struct seep_node *node,
                                  uint32_t *ret_id) {
    bool is_new;
    uint64_t key = (uint64_t)node->parent << 32 | key_of_frame;
    uint64_t *id = seep_map_at(&heap->node_ids, key, &is_new);
    if (!id)
        return seep_error_no_memory();
    if (is_new) {
        if (!seep_grow(&heap->nodes, &heap->nodes_capacity, heap->nr_nodes + 1, sizeof(*heap->nodes)))
            return seep_error_no_memory();
        heap->nodes[heap->nr_nodes] = *node;
        *id = heap->nr_nodes++;
    }
    *ret_id = (uint32_t)*id;
    return NULL;
}

static uint64_t frame_in(const struct seep_heap *heap, uint64_t address, uint32_t module) {
    bool exact = (address & SEEP_BPF_EXACT) != 0;
    return SEEP_FRAME_MAKE(module, exact, (address & ~SEEP_BPF_EXACT) - heap->modules[module].module.bias_rt);
}

static uint32_t module_of(const struct seep_heap *heap, uint64_t address) {
    return module_at(heap, address & SEEP_BPF_EXACT ? address & ~SEEP_BPF_EXACT : address - 1);
}

// Cuts are children of the root with numbers that no frame has.
static struct seep_error *cut_node(struct seep_heap *heap, uint32_t cut, uint32_t *ret_node) {
    struct seep_node node = {.kind = SEEP_NODE_CUT, .offset = cut};
    return node_id(heap, UINT32_MAX - cut, &node, ret_node);
}

static struct seep_error *frame_node(struct seep_heap *heap, uint64_t address, uint32_t module,
                                     uint32_t parent, uint32_t *ret_node) {
    struct seep_node node = {.parent = parent, .module = module};
    uint64_t frame = frame_in(heap, address, module);
    node.offset = SEEP_FRAME_OFFSET(frame);
    node.exact = SEEP_FRAME_EXACT(frame);
    uint32_t id = 0;
    struct seep_error *err = frame_id(heap, frame, &id);
    return err ? err : node_id(heap, id, &node, ret_node);
}

// The part of the allocator that this frame is in, or NULL.
static const struct seep_heap_operator *operator_at(const struct seep_heap *heap, uint64_t address) {
    uint32_t id = module_of(heap, address);
    uint64_t offset = SEEP_FRAME_OFFSET(frame_in(heap, address, id));
    const struct seep_heap_module *module = &heap->modules[id];
    for (size_t i = 0; i < module->nr_operators; i++)
        if (offset > module->operators[i].start && offset <= module->operators[i].end)
            return &module->operators[i];
    return NULL;
}

struct seep_error *seep_heap_last_module(struct seep_heap *heap, uint64_t id, uint32_t module) {
    uint64_t *last = seep_map_at(&heap->last_modules, id, NULL);
    if (!last)
        return seep_error_no_memory();
    *last = module;
    return NULL;
}

static bool is_in_module(const struct seep_heap *heap, uint32_t id, uint64_t address) {
    const struct seep_module *module = &heap->modules[id].module;
    address = address & SEEP_BPF_EXACT ? address & ~SEEP_BPF_EXACT : address - 1;
    return id && address >= module->start_rt && address < module->end_rt;
}

struct seep_error *seep_heap_stack(struct seep_heap *heap, uint64_t id, const uint64_t *addresses,
                                   uint32_t nr_addresses, uint32_t end) {
    uint32_t via = 0, node = 0, first = 0;
    bool inside = false;
    while (first + 1 < nr_addresses) {
        const struct seep_heap_operator *operator= operator_at(heap, addresses[first]);
        if (!operator|| operator->via == SEEP_VIA_NONE)
            break;
        via = operator->via;
        first++;
    }
    for (uint32_t i = 0; i < nr_addresses && !inside; i++) {
        const struct seep_heap_operator *code = operator_at(heap, addresses[i]);
        inside = code && code->is_heap;
    }
    struct seep_error *err = end ? cut_node(heap, end - 1, &node) : NULL;
    const uint64_t *last = seep_map_find(&heap->last_modules, id);
    for (uint32_t i = nr_addresses; !err && i-- > first;) {
        uint32_t module = last && is_in_module(heap, (uint32_t)*last, addresses[i])
                              ? (uint32_t)*last
                              : module_of(heap, addresses[i]);
        err = frame_node(heap, addresses[i], module, node, &node);
    }
    if (err)
        return err;
    uint64_t *stack = seep_map_at(&heap->stack_ids, id, NULL);
    if (!stack)
        return seep_error_no_memory();
    *stack = (inside ? INSIDE : 0) | (uint64_t)via << VIA_SHIFT | node;
    return NULL;
}

bool seep_heap_find_stack(const struct seep_heap *heap, uint64_t id, uint32_t *ret_node, uint32_t *via) {
    const uint64_t *known = id ? seep_map_find(&heap->stack_ids, id) : NULL;
    *ret_node = known ? (uint32_t)*known : 0;
    uint32_t operator= known ? (uint32_t)((*known & ~INSIDE) >> VIA_SHIFT) : 0;
    if (operator)
        *via = operator;
    return known != NULL;
}

static struct seep_error *find_site(struct seep_heap *heap, uint64_t stack, uint32_t via,
                                    uint32_t *ret_site) {
    uint32_t node;
    if (!seep_heap_find_stack(heap, stack, &node, &via)) {
        heap->lost[SEEP_LOST_NO_SITE]++;
        *ret_site = SEEP_SITE_UNKNOWN;
        return NULL;
    }
    bool is_new;
    uint64_t *site = seep_map_at(&heap->site_ids, (uint64_t)node << 8 | via, &is_new);
    if (!site)
        return seep_error_no_memory();
    if (is_new) {
        struct seep_error *err = add_site(heap, node, via);
        if (err)
            return err;
        *site = heap->nr_sites - 1;
    }
    *ret_site = (uint32_t)*site;
    return NULL;
}

struct seep_error *seep_heap_find_site(struct seep_heap *heap, uint64_t stack, uint32_t via,
                                       uint32_t *ret_site, bool *ret_inside) {
    const uint64_t *known = stack ? seep_map_find(&heap->stack_ids, stack) : NULL;
    *ret_inside = known && *known & INSIDE;
    return find_site(heap, stack, via, ret_site);
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
    struct seep_error *err = find_site(heap, event->stack, event->via, &site);
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
