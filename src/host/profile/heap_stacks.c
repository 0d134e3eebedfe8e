// SPDX-License-Identifier: BSD-2-Clause
// From addresses to modules, stacks and sites, see heap.h.
#include <stdlib.h>
#include <string.h>

#include "profile/heap.h"
#include "base/search.h"
#include "image/bpf_events.h"

// In the values of stack_ids: node, then the via of operator new.
#define VIA_SHIFT 32
#define INSIDE    (UINT64_C(1) << 63) // some frame is in the allocator's code

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

// ---- sites ----

struct seep_error *seep_heap_add_site(struct seep_heap *heap, uint32_t node, uint32_t via) {
    if (!seep_grow(&heap->sites, &heap->sites_capacity, heap->nr_sites + 1, sizeof(*heap->sites)))
        return seep_error_no_memory();
    heap->sites[heap->nr_sites++] =
        (struct seep_site){.node = node, .via = via, .counters.size_min = UINT64_MAX};
    return NULL;
}

struct seep_error *seep_heap_find_site(struct seep_heap *heap, uint64_t stack, uint32_t via,
                                       uint32_t *ret_site, bool *ret_inside) {
    if (ret_inside) {
        const uint64_t *known = stack ? seep_map_find(&heap->stack_ids, stack) : NULL;
        *ret_inside = known && *known & INSIDE;
    }
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
        struct seep_error *err = seep_heap_add_site(heap, node, via);
        if (err)
            return err;
        *site = heap->nr_sites - 1;
    }
    *ret_site = (uint32_t)*site;
    return NULL;
}
