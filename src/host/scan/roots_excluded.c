// SPDX-License-Identifier: BSD-2-Clause
// Memory that is no root: of allocators, unused and cached stacks, devices, seep's own. See roots.h.
#include <string.h>

#include "base/map.h"
#include "scan/heap_areas.h"
#include "scan/musl_areas.h"
#include "scan/root_finder.h"
#include "scan/stopped_registers.h"

// Whether memory that no file lies behind has blocks of an allocator that does not tell what is free. Chunks
// of glibc that have a mapping of their own are excluded exactly.
static bool is_of_allocator(struct seep_root_finder *finder, const struct seep_memory_area *mapping,
                            bool *ret_is) {
    const struct seep_graph *graph = finder->graph;
    uint32_t i = seep_root_first_block(graph, mapping->start);
    bool is_heap = strcmp(mapping->path, "[heap]") == 0;
    // Hooks see what the program takes by sbrk, and not what glibc takes for its main arena. So the arena is
    // known even if no block is left in it.
    *ret_is = is_heap && finder->areas.nr_items != 0;
    while (!*ret_is && i < graph->nr_blocks && graph->blocks[i].address < mapping->end) {
        const struct seep_span *area = seep_spans_find(&finder->areas, graph->blocks[i].address);
        if (area) {
            i = seep_root_first_block(graph, area->end);
            continue;
        }
        bool is_chunk = false;
        if (!is_heap &&
            !seep_heap_areas_chunk(finder->memory, graph->blocks[i].address, &finder->excluded, &is_chunk))
            return false;
        if (!is_chunk) {
            *ret_is = true;
            return true;
        }
        i++;
    }
    return true;
}

// Whether a mapping is the stack of one thread and nothing else, as far as can be told without its control
// block.
static bool is_only_stack_of(const struct seep_root_finder *finder, const struct seep_memory_area *mapping,
                             size_t thread) {
    const struct seep_stopped_thread *threads = finder->stopped->threads, *self = &threads[thread];
    bool own = strncmp(mapping->path, "[stack", 6) == 0 ||
               (self->tls >= mapping->start && self->tls < mapping->end && self->tls > self->sp);
    for (size_t i = 0; own && i < finder->stopped->nr_threads; i++)
        own = i == thread || ((threads[i].sp < mapping->start || threads[i].sp >= mapping->end) &&
                              (threads[i].tls < mapping->start || threads[i].tls >= mapping->end));
    return own;
}

// Of the first thread, which a child of another thread does not have.
static bool exclude_stack_of_first(struct seep_root_finder *finder) {
    for (uint32_t i = 0; i < finder->profile->nr_regions; i++) {
        const struct seep_region *region = &finder->profile->regions[i];
        if (region->kind != SEEP_REGION_FIRST_STACK)
            continue;
        uint64_t used = seep_stack_used_from(region->start);
        const struct seep_memory_area *mapping = seep_memory_find(finder->memory, used);
        bool is_its = mapping && strncmp(mapping->path, "[stack", 6) == 0;
        for (size_t k = 0; is_its && k < finder->stopped->nr_threads; k++)
            is_its = finder->stopped->threads[k].sp < mapping->start ||
                     finder->stopped->threads[k].sp >= mapping->end;
        if (is_its && !seep_spans_add(&finder->excluded, mapping->start, used))
            return false;
    }
    return true;
}

// Whether the thread runs on the stack that it was started with, whose bounds are known.
static bool is_on_own_stack(const struct seep_root_finder *finder, size_t thread) {
    const uint64_t sp = finder->stopped->threads[thread].sp;
    const struct seep_memory_area *mapping = seep_memory_find(finder->memory, sp);
    uint32_t in_block;
    uint64_t off;
    return mapping && !seep_graph_find(finder->graph, sp, &in_block, &off) &&
           (finder->places[thread].told || is_only_stack_of(finder, mapping, thread));
}

// Stack that is not in use any more.
static bool exclude_unused_stack(struct seep_root_finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    for (size_t i = 0; i < stopped->nr_threads; i++)
        if (is_on_own_stack(finder, i) && !seep_spans_add(&finder->excluded, finder->places[i].stack_start,
                                                          seep_root_stack_from(finder, &stopped->threads[i])))
            return false;
    return true;
}

// Whether the memory of the stack is still a stack. false: blocks begin or end in it, so the program freed
// its memory, and the kernel still has its address.
static bool is_still_stack(const struct seep_root_finder *finder, const struct seep_signal_stack *stack) {
    const struct seep_graph *graph = finder->graph;
    const uint64_t end = stack->start + stack->bytes;
    uint32_t block;
    uint64_t off;
    if (seep_graph_find(graph, stack->start, &block, &off))
        return graph->blocks[block].size - off >= stack->bytes;
    block = seep_root_first_block(graph, stack->start);
    return block == graph->nr_blocks || graph->blocks[block].address >= end;
}

// Alternate signal stacks on which no handler runs: the next handler overwrites what is there. A stack is
// left out if a thread is on it, or if its thread is on no stack of its own: the thread may be in a coroutine
// that a handler has called.
static bool exclude_idle_signal_stacks(struct seep_root_finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    struct seep_spans *idle = &finder->ranges->idle;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const uint64_t sp = stopped->threads[i].sp;
        size_t nr;
        const struct seep_signal_stack *stacks = seep_root_signal_stacks(finder, &stopped->threads[i], &nr);
        if (sp < finder->places[i].stack_start || sp >= finder->places[i].end || !is_on_own_stack(finder, i))
            continue;
        for (size_t k = 0; k < nr; k++)
            if (sp - stacks[k].start >= stacks[k].bytes && is_still_stack(finder, &stacks[k]) &&
                !seep_spans_add(idle, stacks[k].start, stacks[k].start + stacks[k].bytes))
                return false;
    }
    seep_spans_settle(idle);
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const uint64_t sp = stopped->threads[i].sp;
        const size_t at = seep_spans_from(idle, sp);
        if (at < idle->nr_items && idle->items[at].start <= sp)
            idle->items[at].start = idle->items[at].end;
    }
    for (size_t i = 0; i < idle->nr_items; i++)
        if (!seep_spans_add(&finder->excluded, idle->items[i].start, idle->items[i].end))
            return false;
    return true;
}

// Blocks in data of modules, on stacks, or in what the program mapped (a pool that it gave to an allocator).
static bool exclude_blocks_in(struct seep_root_finder *finder, uint64_t start, uint64_t end) {
    const struct seep_graph *graph = finder->graph;
    for (uint32_t i = seep_root_first_block(graph, start);
         i < graph->nr_blocks && graph->blocks[i].address < end; i++)
        if (!seep_spans_add(&finder->excluded, graph->blocks[i].address,
                            graph->blocks[i].address + graph->blocks[i].size))
            return false;
    return true;
}

// Memory that has blocks of such an allocator, where the kernel may have joined it with other memory: all but
// what is known to be another's.
static bool exclude_allocator(struct seep_root_finder *finder, const struct seep_memory_area *mapping) {
    if (finder->ranges->beside_malloc)
        return exclude_blocks_in(finder, mapping->start, mapping->end);
    const struct seep_spans *kept = &finder->kept;
    uint64_t at = mapping->start;
    if (seep_root_is_of_module(finder, mapping)) {
        at = SEEP_MIN(finder->data_end, mapping->end);
        if (!exclude_blocks_in(finder, mapping->start, at))
            return false;
    }
    for (size_t i = seep_spans_from(kept, at); i < kept->nr_items && kept->items[i].start < mapping->end;
         i++) {
        uint64_t start = SEEP_MAX(kept->items[i].start, at), end = SEEP_MIN(kept->items[i].end, mapping->end);
        if (!seep_spans_add(&finder->excluded, at, start) || !exclude_blocks_in(finder, start, end))
            return false;
        at = end;
    }
    return seep_spans_add(&finder->excluded, at, mapping->end);
}

// ---- what is no allocator's ----

// What called for a mapping: allocators do that in few places. 0: not known.
static uint64_t caller_of(const struct seep_profile *profile, const struct seep_mapping *mapped) {
    const struct seep_node *node = &profile->nodes[profile->sites[mapped->site].node];
    bool known = node != profile->nodes && node->kind == SEEP_NODE_FRAME;
    return known ? ((uint64_t)node->module << 48) ^ node->offset : 0;
}
// What the program mapped and no block lies in; but not what was mapped from where an allocator gets memory,
// too.
static bool keep_mappings(struct seep_root_finder *finder) {
    const struct seep_profile *profile = finder->profile;
    struct seep_map callers = SEEP_MAP_INIT; // of mappings with blocks
    bool fits = true;
    for (uint32_t i = 0; fits && i < profile->nr_mappings; i++) {
        const struct seep_mapping *mapped = &profile->mappings[i];
        uint64_t caller = caller_of(profile, mapped);
        if (!caller || !seep_root_has_blocks(finder->graph, mapped->start, mapped->start + mapped->bytes))
            continue;
        uint64_t *known = seep_map_at(&callers, caller, NULL);
        fits = known != NULL;
        if (known)
            *known = 1;
    }
    for (uint32_t i = 0; fits && i < profile->nr_mappings; i++) {
        const struct seep_mapping *mapped = &profile->mappings[i];
        uint64_t end = mapped->start + mapped->bytes;
        if (!seep_map_find(&callers, caller_of(profile, mapped)) &&
            !seep_root_has_blocks(finder->graph, mapped->start, end))
            fits = seep_spans_add(&finder->kept, mapped->start, end);
    }
    seep_map_deinit(&callers);
    return fits;
}

// Of a stack whose bounds nothing tells, what is in use up to the next block.
static bool keep_thread(struct seep_root_finder *finder, const struct seep_stopped_thread *thread,
                        const struct seep_thread_place *place) {
    const struct seep_graph *graph = finder->graph;
    uint32_t block;
    uint64_t off;
    if (place->told)
        return seep_spans_add(&finder->kept, place->stack_start, place->end);
    if (!seep_spans_add(&finder->kept, place->tls_low, place->tls_high))
        return false;
    if (seep_graph_find(graph, thread->sp, &block, &off))
        return true; // see seep_roots_feed_thread()
    block = seep_root_first_block(graph, thread->sp);
    uint64_t end = block < graph->nr_blocks ? SEEP_MIN(graph->blocks[block].address, place->end) : place->end;
    return seep_spans_add(&finder->kept, seep_root_stack_from(finder, thread), end);
}

static bool keep(struct seep_root_finder *finder) {
    bool fits = keep_mappings(finder);
    for (size_t i = 0; fits && i < finder->stopped->nr_threads; i++)
        fits = keep_thread(finder, &finder->stopped->threads[i], &finder->places[i]);
    seep_spans_settle(&finder->kept);
    return fits;
}

static bool is_of_file(const struct seep_memory *memory, uint64_t address) {
    const struct seep_memory_area *mapping = seep_memory_find(memory, address);
    return mapping && mapping->path[0] == '/';
}

// The allocators that tell. The main arena's own words, in the data of libc, lead to free chunks only.
static bool exclude_areas(struct seep_root_finder *finder) {
    struct seep_memory *memory = finder->memory;
    struct seep_graph *graph = finder->graph;
    bool all_known = finder->which != SEEP_ROOTS_HEAP;
    if (!seep_heap_areas_find(memory, &finder->areas))
        return false;
    for (size_t i = 0; i < finder->areas.nr_items; i++)
        if ((all_known || is_of_file(memory, finder->areas.items[i].start)) &&
            !seep_spans_add(&finder->excluded, finder->areas.items[i].start, finder->areas.items[i].end))
            return false;
    if (all_known && !seep_musl_areas_find(memory, &graph->index, graph->blocks, graph->nr_blocks,
                                           &finder->areas, &finder->excluded))
        return false;
    seep_spans_settle(&finder->areas);
    return true;
}

// The memory that the library gave to the program before there was an allocator. It is the only range of the
// library's memory that lies in the data of a module, which is the library. Other ranges may lie in a gap
// between segments of any module. NULL: the latest module is not the library.
static const struct seep_image_range *given_at_start(const struct seep_root_finder *finder) {
    const struct seep_hints *hints = &finder->profile->hints;
    const uint64_t start = finder->ranges->modules[finder->module].module.start_rt;
    for (size_t i = 0; i < hints->nr_own; i++) {
        const struct seep_image_range *own = &hints->own[i];
        if (own->start - start >= finder->data_end - start)
            continue;
        // A core file has no bytes of other ranges.
        const struct seep_memory_area *mapping = seep_memory_find(finder->memory, own->start);
        if (mapping && mapping->readable && !mapping->of_seep)
            return own;
    }
    return NULL;
}

// The library's own data have addresses of stacks, mappings and code of the program, which hold nothing.
// musl's allocator uses what is left of a page that data begin or end in; the zeroed data begin with a page.
static bool exclude_data_of_library(struct seep_root_finder *finder, const struct seep_memory_area *mapping) {
    const struct seep_image_range *given =
        seep_root_is_of_module(finder, mapping) ? given_at_start(finder) : NULL;
    if (!given)
        return true;
    uint64_t end = SEEP_MIN(mapping->end, finder->ranges->modules[finder->module].module.end_rt);
    return seep_spans_add(&finder->excluded, mapping->start, SEEP_MIN(end, given->start)) &&
           seep_spans_add(&finder->excluded, SEEP_MAX(mapping->start, given->start + given->bytes), end);
}

static bool exclude_mapping(struct seep_root_finder *finder, const struct seep_memory_area *mapping) {
    if (!exclude_data_of_library(finder, mapping))
        return false;
    if (mapping->of_seep || seep_root_is_device(mapping))
        return seep_spans_add(&finder->excluded, mapping->start, mapping->end);
    if (!seep_root_is_anonymous(mapping) || finder->which == SEEP_ROOTS_HEAP)
        return exclude_blocks_in(finder, mapping->start, mapping->end);
    bool of_allocator;
    return is_of_allocator(finder, mapping, &of_allocator) &&
           (!of_allocator || exclude_allocator(finder, mapping));
}

bool seep_roots_exclude(struct seep_root_finder *finder) {
    struct seep_memory *memory = finder->memory;
    if (!exclude_areas(finder) || !keep(finder) ||
        !seep_cached_stacks_find(memory, finder->stopped, &finder->cached))
        return false;
    for (size_t i = 0; i < finder->cached.nr_items; i++)
        if (!seep_spans_add(&finder->excluded, finder->cached.items[i].start, finder->cached.items[i].end))
            return false;
    finder->path = NULL;
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!seep_root_enter_file(finder, mapping) ||
            (seep_root_may_hold(mapping) && !exclude_mapping(finder, mapping)))
            return false;
    }
    if (!exclude_unused_stack(finder) || !exclude_stack_of_first(finder) ||
        !exclude_idle_signal_stacks(finder))
        return false;
    seep_spans_settle(&finder->excluded);
    return true;
}
