// SPDX-License-Identifier: BSD-2-Clause
// Which memory is a root, see roots.h. Everything here runs while the process is stopped.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "scan/cached_stacks.h"
#include "scan/heap_areas.h"
#include "scan/jemalloc_own.h"
#include "scan/loaded_module.h"
#include "scan/musl_areas.h"
#include "scan/roots.h"
#include "scan/thread_places.h"

// What functions may use below their stack pointer. Source: System V ABI, AMD64 supplement, 3.2.2; AArch64
// has none.
#define RED_ZONE_BYTES 128
// A thread inside realloc has the new place of the block in a register or this near to its stack
// pointer: allocators are shallow, but a signal handler may be at work on top.
#define REALLOC_STACK_BYTES ((uint64_t)64 << 10)
#define REALLOC_PLACES_MAX  256
#define REALLOC_UNKNOWN_MAX ((uint64_t)1 << 20) // of a block whose size is not known

struct finder {
    struct seep_memory *memory;
    const struct seep_stopped *stopped;
    const struct seep_profile *profile;
    enum seep_roots which;
    struct seep_graph *graph;
    struct seep_root_ranges *ranges;
    struct seep_cached_stacks cached;
    struct seep_thread_place *places; // by thread
    struct seep_spans areas;          // of allocators whose own structures tell what is free; settled
    struct seep_spans kept;           // what is no allocator's, whatever lies beside it; settled
    struct seep_spans excluded;
    uint32_t range; // that is being fed

    // The module of the latest file mapping, since its zeroed data follows without a name.
    const char *path; // NULL: none
    uint32_t module;
    uint64_t data_end;
};

void seep_root_ranges_deinit(struct seep_root_ranges *ranges) {
    free(ranges->items);
    free(ranges->modules);
    *ranges = (struct seep_root_ranges){NULL};
}

static bool add_range(struct finder *finder, struct seep_root_range range) {
    struct seep_root_ranges *ranges = finder->ranges;
    if (!seep_grow(&ranges->items, &ranges->capacity, ranges->nr_items + 1, sizeof(*ranges->items)))
        return false;
    finder->range = (uint32_t)ranges->nr_items;
    ranges->items[ranges->nr_items++] = range;
    return true;
}

static bool take_piece(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct finder *finder = data;
    return seep_graph_feed_root(finder->graph, finder->range, address, bytes, nr_bytes);
}

// The range without what is excluded (settled).
static bool feed_range(struct finder *finder, struct seep_root_range range) {
    if (range.start >= range.end)
        return true;
    if (!add_range(finder, range))
        return false;
    const struct seep_spans *spans = &finder->excluded;
    const struct seep_memory *memory = finder->memory;
    uint64_t at = seep_word_up(memory, range.start); // the break may be anywhere
    for (size_t i = seep_spans_from(spans, at); i < spans->nr_items && at < range.end; i++) {
        uint64_t stop = seep_word_down(memory, SEEP_MIN(SEEP_MAX(spans->items[i].start, at), range.end));
        if (at < stop && !seep_memory_walk(finder->memory, at, stop, take_piece, finder))
            return false;
        at = seep_word_up(memory, spans->items[i].end);
    }
    return at >= range.end || seep_memory_walk(finder->memory, at, range.end, take_piece, finder);
}

// ---- modules ----

// false: out of memory.
static bool enter_file(struct finder *finder, const struct seep_memory_area *mapping) {
    struct seep_root_ranges *ranges = finder->ranges;
    struct seep_root_module found = {.id = 0};
    if (mapping->shared || mapping->path[0] != '/' || mapping->file_off != 0 ||
        (finder->path && strcmp(finder->path, mapping->path) == 0) ||
        !seep_loaded_module_read(finder->memory, mapping, &found.module))
        return true;
    found.module.path = finder->path = mapping->path;
    finder->data_end = (found.module.end_rt + 4095) & ~UINT64_C(4095);
    for (finder->module = 0; finder->module < ranges->nr_modules; finder->module++)
        if (ranges->modules[finder->module].module.start_rt == mapping->start)
            return true;
    if (!seep_grow(&ranges->modules, &ranges->modules_capacity, ranges->nr_modules + 1,
                   sizeof(*ranges->modules)))
        return false;
    ranges->modules[ranges->nr_modules++] = found;
    return true;
}

// The break begins where a program's data ends, unless that is left to chance: then they are one mapping.
static bool is_anonymous(const struct seep_memory_area *mapping) {
    return !*mapping->path || strcmp(mapping->path, "[heap]") == 0 ||
           strncmp(mapping->path, "[anon:", 6) == 0;
}

static bool is_of_module(const struct finder *finder, const struct seep_memory_area *mapping) {
    if (!finder->path || mapping->start >= finder->data_end || mapping->shared)
        return false;
    return is_anonymous(mapping) || strcmp(mapping->path, finder->path) == 0;
}

// ---- what is no root ----

static uint32_t first_block(const struct seep_graph *graph, uint64_t address) {
    return seep_block_index_from(&graph->index, address);
}

// Whether memory that no file lies behind has blocks of an allocator that does not tell what is free. Chunks
// of glibc that have a mapping of their own are excluded exactly.
static bool is_of_allocator(struct finder *finder, const struct seep_memory_area *mapping, bool *ret_is) {
    const struct seep_graph *graph = finder->graph;
    uint32_t i = first_block(graph, mapping->start);
    *ret_is = false;
    while (i < graph->nr_blocks && graph->blocks[i].address < mapping->end) {
        const struct seep_span *area = seep_spans_find(&finder->areas, graph->blocks[i].address);
        if (area) {
            i = first_block(graph, area->end);
            continue;
        }
        bool is_chunk = false;
        if (strcmp(mapping->path, "[heap]") != 0 &&
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

// What was written may have been sealed since, or be out of the program's reach for a moment (PROT_NONE),
// which does not keep a tracer out. Of shared memory our page table does not tell whether anything is there.
// Files are not looked at when they cannot be written: what the loader seals of a module has no addresses of
// blocks.
static bool may_hold(const struct seep_memory_area *mapping) {
    if (!mapping->readable)
        return (mapping->present_bytes || mapping->shared) && !mapping->executable;
    return mapping->writable || (!*mapping->path && !mapping->executable);
}

static bool is_device(const struct seep_memory_area *mapping) {
    return strncmp(mapping->path, "/dev/", 5) == 0 && strncmp(mapping->path, "/dev/zero", 9) != 0 &&
           strncmp(mapping->path, "/dev/shm/", 9) != 0;
}

static bool is_of_libc(const struct seep_memory_area *mapping) {
    const char *name = mapping ? strrchr(mapping->path, '/') : NULL;
    if (mapping && strcmp(mapping->path, "[vdso]") == 0) // libc makes system calls through it on i386
        return true;
    return name && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2.", 8) == 0 ||
                    strncmp(name, "/libpthread", 11) == 0 || strncmp(name, "/ld-musl-", 9) == 0);
}

static bool waits_in_libc(const struct finder *finder, const struct seep_stopped_thread *thread) {
    return thread->in_system_call && is_of_libc(seep_memory_find(finder->memory, thread->pc));
}

// Where the used part of the thread's stack begins. If a function of libc made the system call, words below
// the stack pointer are dead: that function keeps its values in registers and in its frame, and its caller
// has no red zone during a call. Code of the program that makes a system call itself may have values in its
// red zone.
static uint64_t stack_from(const struct finder *finder, const struct seep_stopped_thread *thread) {
    uint64_t sp = thread->sp & ~UINT64_C(7);
    return waits_in_libc(finder, thread) ? SEEP_MAX(sp, thread->stack_from_rt) : thread->stack_from_rt;
}

// Whether a mapping is the stack of one thread and nothing else, as far as can be told without its control
// block.
static bool is_only_stack_of(const struct finder *finder, const struct seep_memory_area *mapping,
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
static bool exclude_stack_of_first(struct finder *finder) {
    for (uint32_t i = 0; i < finder->profile->nr_regions; i++) {
        const struct seep_region *region = &finder->profile->regions[i];
        if (region->kind != SEEP_REGION_FIRST_STACK || region->start < RED_ZONE_BYTES)
            continue;
        uint64_t used = (region->start - RED_ZONE_BYTES) & ~UINT64_C(7);
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

// Stack that is not in use any more.
static bool exclude_unused_stack(struct finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &stopped->threads[i];
        const struct seep_memory_area *mapping = seep_memory_find(finder->memory, thread->sp);
        uint32_t in_block;
        uint64_t off;
        if (!mapping || seep_graph_find(finder->graph, thread->sp, &in_block, &off))
            continue;
        if ((finder->places[i].told || is_only_stack_of(finder, mapping, i)) &&
            !seep_spans_add(&finder->excluded, finder->places[i].stack_start, stack_from(finder, thread)))
            return false;
    }
    return true;
}

// Blocks in data of modules, on stacks, or in what the program mapped (a pool that it gave to an allocator).
static bool exclude_blocks_in(struct finder *finder, uint64_t start, uint64_t end) {
    const struct seep_graph *graph = finder->graph;
    for (uint32_t i = first_block(graph, start); i < graph->nr_blocks && graph->blocks[i].address < end; i++)
        if (!seep_spans_add(&finder->excluded, graph->blocks[i].address,
                            graph->blocks[i].address + graph->blocks[i].size))
            return false;
    return true;
}

// Memory that has blocks of such an allocator, where the kernel may have joined it with other memory: all but
// what is known to be another's.
static bool exclude_allocator(struct finder *finder, const struct seep_memory_area *mapping) {
    if (finder->ranges->beside_malloc)
        return exclude_blocks_in(finder, mapping->start, mapping->end);
    const struct seep_spans *kept = &finder->kept;
    uint64_t at = mapping->start;
    if (is_of_module(finder, mapping)) {
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

static bool has_blocks(const struct seep_graph *graph, uint64_t start, uint64_t end) {
    uint32_t block = first_block(graph, start);
    uint64_t off;
    return (block < graph->nr_blocks && graph->blocks[block].address < end) ||
           seep_graph_find(graph, start, &block, &off);
}

// What the program mapped and no block lies in; but not what was mapped from where an allocator gets memory,
// too.
static bool keep_mappings(struct finder *finder) {
    const struct seep_profile *profile = finder->profile;
    struct seep_map callers = SEEP_MAP_INIT; // of mappings with blocks
    bool fits = true;
    for (uint32_t i = 0; fits && i < profile->nr_mappings; i++) {
        const struct seep_mapping *mapped = &profile->mappings[i];
        uint64_t caller = caller_of(profile, mapped);
        if (!caller || !has_blocks(finder->graph, mapped->start, mapped->start + mapped->bytes))
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
            !has_blocks(finder->graph, mapped->start, end))
            fits = seep_spans_add(&finder->kept, mapped->start, end);
    }
    seep_map_deinit(&callers);
    return fits;
}

// Of a stack whose bounds nothing tells, what is in use up to the next block.
static bool keep_thread(struct finder *finder, const struct seep_stopped_thread *thread,
                        const struct seep_thread_place *place) {
    const struct seep_graph *graph = finder->graph;
    uint32_t block;
    uint64_t off;
    if (place->told)
        return seep_spans_add(&finder->kept, place->stack_start, place->end);
    if (!seep_spans_add(&finder->kept, place->tls_low, place->tls_high))
        return false;
    if (seep_graph_find(graph, thread->sp, &block, &off))
        return true; // see feed_thread()
    block = first_block(graph, thread->sp);
    uint64_t end = block < graph->nr_blocks ? SEEP_MIN(graph->blocks[block].address, place->end) : place->end;
    return seep_spans_add(&finder->kept, stack_from(finder, thread), end);
}

static bool keep(struct finder *finder) {
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
static bool exclude_areas(struct finder *finder) {
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

static bool exclude_mapping(struct finder *finder, const struct seep_memory_area *mapping) {
    if (mapping->of_seep || is_device(mapping))
        return seep_spans_add(&finder->excluded, mapping->start, mapping->end);
    if (!is_anonymous(mapping) || finder->which == SEEP_ROOTS_HEAP)
        return exclude_blocks_in(finder, mapping->start, mapping->end);
    bool of_allocator;
    return is_of_allocator(finder, mapping, &of_allocator) &&
           (!of_allocator || exclude_allocator(finder, mapping));
}

static bool exclude(struct finder *finder) {
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
        if (!enter_file(finder, mapping) || (may_hold(mapping) && !exclude_mapping(finder, mapping)))
            return false;
    }
    if (!exclude_unused_stack(finder) || !exclude_stack_of_first(finder))
        return false;
    seep_spans_settle(&finder->excluded);
    return true;
}

// ---- what is one ----

// The first thread that has range->start on its stack or in the storage behind that. Where others begin, the
// range ends.
static void give_to_thread(const struct finder *finder, bool told, struct seep_root_range *range) {
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_thread_place *place = &finder->places[i];
        if (place->told != told || place->end <= range->start || place->stack_start >= range->end)
            continue;
        if (place->stack_start > range->start) {
            range->end = place->stack_start;
        } else if (!range->tid) {
            bool stack = range->start < place->tls_start;
            range->tid = finder->stopped->threads[i].tid;
            range->kind = stack ? SEEP_ROOT_STACK : SEEP_ROOT_TLS;
            range->end = SEEP_MIN(range->end, stack ? place->tls_start : place->end);
        }
    }
}

// The first mapping by the program that ends behind `address`, or NULL.
static const struct seep_mapping *mapped_from(const struct seep_profile *profile, uint64_t address) {
    uint32_t low = 0, high = profile->nr_mappings;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (profile->mappings[middle].start + profile->mappings[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < profile->nr_mappings ? &profile->mappings[low] : NULL;
}

// Where in the mapping of the first thread's storage the loader allocated, before there was an allocator.
// What the program mapped is cut off.
static bool is_of_loader(const struct finder *finder, const struct seep_memory_area *mapping, pid_t tid,
                         struct seep_root_range *range) {
    if (tid != finder->stopped->pid || is_of_module(finder, mapping) ||
        has_blocks(finder->graph, mapping->start, mapping->end))
        return false;
    const struct seep_mapping *mapped = mapped_from(finder->profile, range->start);
    bool inside = mapped && mapped->start <= range->start;
    if (mapped)
        range->end = SEEP_MIN(range->end, inside ? mapped->start + mapped->bytes : mapped->start);
    return !inside;
}

// Storage that does not lie behind a stack, as that of the first thread.
static void give_to_storage(const struct finder *finder, const struct seep_memory_area *mapping,
                            struct seep_root_range *range) {
    // The kernel joins zeroed data of a module with a thread's storage that is mapped behind it.
    bool is_data = is_of_module(finder, mapping) && range->start < finder->data_end;
    for (size_t i = 0; i < finder->stopped->nr_threads && !range->tid; i++) {
        const struct seep_thread_place *place = &finder->places[i];
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if (!place->tls_high || thread->tls < mapping->start || thread->tls >= mapping->end)
            continue;
        if (is_data && thread->tls >= finder->data_end)
            continue;
        bool near = range->start >= place->tls_low && range->start < place->tls_high;
        uint64_t next = near ? place->tls_high : range->start < place->tls_low ? place->tls_low : UINT64_MAX;
        range->end = SEEP_MIN(range->end, next);
        if (!near && !is_of_loader(finder, mapping, thread->tid, range))
            continue;
        range->tid = thread->tid;
        range->kind = SEEP_ROOT_TLS;
    }
}

// What of a mapping begins at `at`, and is of one kind.
static struct seep_root_range range_at(const struct finder *finder, const struct seep_memory_area *mapping,
                                       uint64_t at) {
    struct seep_root_range range = {.kind = SEEP_ROOT_MEMORY, .start = at, .end = mapping->end};
    give_to_thread(finder, true, &range);
    if (!range.tid)
        give_to_thread(finder, false, &range);
    if (!range.tid)
        give_to_storage(finder, mapping, &range);
    // The kernel joins zeroed data of a module with what the program maps behind it.
    if (!range.tid && is_of_module(finder, mapping) && at < finder->data_end) {
        range.kind = SEEP_ROOT_DATA;
        range.module = finder->module;
        range.end = SEEP_MIN(range.end, finder->data_end);
    }
    return range;
}

static bool is_wanted(const struct finder *finder, const struct seep_memory_area *mapping,
                      const struct seep_root_range *range) {
    return range->kind != SEEP_ROOT_MEMORY || finder->which != SEEP_ROOTS_LSAN ||
           (*mapping->path && !mapping->shared);
}

static bool feed_mappings(struct finder *finder, bool data) {
    const struct seep_memory *memory = finder->memory;
    finder->path = NULL;
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!enter_file(finder, mapping))
            return false;
        if (!may_hold(mapping) || mapping->of_seep || is_device(mapping))
            continue;
        struct seep_root_range range = {.end = mapping->start};
        while (range.end < mapping->end) {
            range = range_at(finder, mapping, range.end);
            if ((range.kind == SEEP_ROOT_DATA) != data || !is_wanted(finder, mapping, &range))
                continue;
            finder->graph->outward = range.kind == SEEP_ROOT_STACK;
            bool fits = feed_range(finder, range);
            finder->graph->outward = false;
            if (!fits)
                return false;
        }
    }
    return true;
}

static bool feed_dynamic_tls(struct finder *finder, uint64_t tls) {
    struct seep_graph *graph = finder->graph;
    struct seep_tls_vector vector;
    if (!seep_tls_vector_find(finder->memory, tls, &vector) ||
        !seep_graph_feed_start(graph, finder->range, vector.where, vector.start))
        return true;
    for (uint64_t i = 1; i <= vector.nr; i++) {
        uint64_t at = vector.start + vector.step * i, storage;
        if (!seep_memory_read_words(finder->memory, at, &storage, 1))
            return true;
        if (!seep_graph_feed_start(graph, finder->range, at, storage))
            return false;
    }
    return true;
}

// A function of libc was called to make a system call: what its callers had in vector registers they have
// saved, and what is left there is old. Source: System V ABI, AMD64 supplement, 3.2.1: none is callee-saved.
// A system call in the program's own code may have kept something there.
static size_t live_words(const struct finder *finder, const struct seep_stopped_thread *thread) {
    return waits_in_libc(finder, thread) ? thread->nr_general_words : thread->nr_words;
}

static bool feed_thread(struct finder *finder, const struct seep_stopped_thread *thread) {
    // Static storage and the control block are roots already (thread_places.h; those of the first thread lie
    // in a mapping of their own); this adds what is behind.
    struct seep_root_range tls = {.kind = SEEP_ROOT_TLS, .tid = thread->tid};
    if (!add_range(finder, tls) || !feed_dynamic_tls(finder, thread->tls))
        return false;
    uint32_t block;
    uint64_t off;
    if (seep_graph_find(finder->graph, thread->sp, &block, &off)) { // its stack was allocated
        struct seep_root_range stack = {.kind = SEEP_ROOT_STACK, .tid = thread->tid};
        stack.start = seep_word_up(finder->memory, SEEP_MAX(stack_from(finder, thread), thread->sp - off));
        stack.end = thread->sp - off + finder->graph->blocks[block].size;
        if (!add_range(finder, stack) ||
            !seep_memory_walk(finder->memory, stack.start, stack.end, take_piece, finder))
            return false;
    }
    // A block that it runs on is held as a whole: the frame of a signal need not have its start.
    struct seep_root_range registers = {.kind = SEEP_ROOT_REGISTERS, .tid = thread->tid};
    return add_range(finder, registers) &&
           seep_graph_feed_start(finder->graph, finder->range, 0, thread->sp) &&
           seep_graph_feed_root(finder->graph, finder->range, 0, thread->words,
                                live_words(finder, thread) * 8);
}

// ---- what realloc moves ----

static const struct seep_stopped_thread *thread_of(const struct finder *finder,
                                                   const struct seep_moving *moving) {
    const struct seep_stopped_thread *found = NULL;
    const struct seep_memory_area *stack = seep_memory_find(finder->memory, moving->stack_rt);
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if ((uint32_t)thread->tid == moving->tid)
            return thread;
        if (stack && thread->sp >= stack->start && thread->sp < stack->end)
            found = thread; // it has another number in its own pid namespace
    }
    return found;
}

// Contents of a block that is in no map, as far as no live block and no end of memory cuts it short.
static bool feed_moved(struct finder *finder, const struct seep_moving *moving, uint64_t address, pid_t tid) {
    const struct seep_graph *graph = finder->graph;
    const struct seep_memory_area *mapping = seep_memory_find(finder->memory, address);
    uint32_t block;
    uint64_t off;
    if (!mapping || mapping->of_seep || seep_graph_find(graph, address, &block, &off))
        return true;
    uint64_t nr_bytes = SEEP_MIN(moving->size ? moving->size : REALLOC_UNKNOWN_MAX, mapping->end - address);
    uint32_t next = first_block(graph, address);
    if (next < graph->nr_blocks)
        nr_bytes = SEEP_MIN(nr_bytes, graph->blocks[next].address - address);
    struct seep_root_range range = {
        .kind = SEEP_ROOT_REALLOC, .start = address, .end = address + nr_bytes, .tid = tid};
    return add_range(finder, range) &&
           seep_memory_walk(finder->memory, range.start, range.end, take_piece, finder);
}

struct places {
    const struct finder *finder;
    const struct seep_moving *moving;
    uint64_t items[REALLOC_PLACES_MAX];
    size_t nr_items;
};

// Words that lead to memory of the allocator where no live block is. What is not the new place of the
// block is free memory, which costs at worst that a lost block is found by the next scan only.
static bool take_places(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct places *places = data;
    (void)address;
    const unsigned step = places->finder->memory->word_bytes;
    for (size_t at = 0; at + step <= nr_bytes && places->nr_items < REALLOC_PLACES_MAX; at += step) {
        uint64_t word = seep_word_at((const char *)bytes + at, step);
        if (word % 8 || word == places->moving->address || !seep_spans_find(&places->finder->excluded, word))
            continue;
        size_t known = 0;
        while (known < places->nr_items && places->items[known] != word)
            known++;
        if (known == places->nr_items)
            places->items[places->nr_items++] = word;
    }
    return true;
}

static bool feed_reallocs(struct finder *finder) {
    for (size_t i = 0; i < finder->profile->hints.nr_moving; i++) {
        const struct seep_moving *moving = &finder->profile->hints.moving[i];
        const struct seep_stopped_thread *thread = thread_of(finder, moving);
        const struct seep_memory_area *stack = thread ? seep_memory_find(finder->memory, thread->sp) : NULL;
        if (!thread || moving->address % 8)
            continue; // left by a thread that was killed, or not to be believed
        struct places places = {.finder = finder, .moving = moving};
        uint64_t sp = stack_from(finder, thread);
        bool fits =
            feed_moved(finder, moving, moving->address, thread->tid) &&
            take_places(&places, 0, thread->words, thread->nr_words * 8) &&
            (!stack || seep_memory_walk(finder->memory, sp, SEEP_MIN(stack->end, sp + REALLOC_STACK_BYTES),
                                        take_places, &places));
        for (size_t j = 0; fits && j < places.nr_items; j++)
            fits = feed_moved(finder, moving, places.items[j], thread->tid);
        if (!fits)
            return false;
    }
    return true;
}

// ---- what the program told ----

// Only what is mapped: a program may tell anything.
static bool feed_told(struct finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_TOLD,
                                    .start = seep_word_up(finder->memory, region->start)};
    if (__builtin_add_overflow(region->start, region->bytes, &range.end))
        range.end = UINT64_MAX;
    bool fits = add_range(finder, range);
    for (size_t i = 0; fits && i < finder->memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &finder->memory->mappings[i];
        uint64_t start = SEEP_MAX(range.start, mapping->start), end = SEEP_MIN(range.end, mapping->end);
        if (start < end && (mapping->readable || mapping->present_bytes) && !mapping->of_seep &&
            !is_device(mapping))
            fits = seep_memory_walk(finder->memory, start, end, take_piece, finder);
    }
    return fits;
}

static bool feed_ignored(struct finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_IGNORED, .start = region->start};
    return add_range(finder, range) &&
           seep_graph_feed_start(finder->graph, finder->range, region->start, region->start);
}

static bool feed_regions(struct finder *finder) {
    bool fits = true;
    for (uint32_t i = 0; fits && i < finder->profile->nr_regions; i++) {
        const struct seep_region *region = &finder->profile->regions[i];
        if (region->kind == SEEP_REGION_IGNORED)
            fits = feed_ignored(finder, region);
        else if (region->kind == SEEP_REGION_ROOT)
            fits = feed_told(finder, region);
    }
    return fits;
}

// Of a stack that the program mapped for itself the ends are known.
static void bound_by_mapping(const struct seep_profile *profile, uint64_t sp,
                             struct seep_thread_place *place) {
    const struct seep_mapping *mapped = mapped_from(profile, sp);
    if (place->told || !mapped || mapped->start > sp)
        return;
    place->stack_start = SEEP_MAX(place->stack_start, mapped->start);
    place->end = SEEP_MIN(place->end, mapped->start + mapped->bytes);
    place->tls_start = SEEP_MIN(place->tls_start, place->end);
}

static bool find_places(struct finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    finder->places = calloc(SEEP_MAX(stopped->nr_threads, (size_t)1), sizeof(*finder->places));
    for (size_t i = 0; finder->places && i < stopped->nr_threads; i++) {
        finder->places[i] = seep_thread_place_find(finder->memory, &stopped->threads[i]);
        bound_by_mapping(finder->profile, stopped->threads[i].sp, &finder->places[i]);
    }
    return finder->places != NULL;
}

struct seep_error *seep_roots_feed(struct seep_memory *memory, const struct seep_stopped *stopped,
                                   const struct seep_profile *profile, enum seep_roots which,
                                   struct seep_graph *graph, struct seep_root_ranges *ret_ranges) {
    struct seep_root_ranges ranges = {.beside_malloc = seep_is_beside_malloc(memory)};
    struct finder finder = {.memory = memory,
                            .stopped = stopped,
                            .profile = profile,
                            .which = which,
                            .graph = graph,
                            .ranges = &ranges};
    bool fits = find_places(&finder) && exclude(&finder);
    // Data first: of two holders that are equally near, a variable with a name is the better one.
    fits = fits && feed_mappings(&finder, true) && feed_mappings(&finder, false);
    for (size_t i = 0; fits && i < stopped->nr_threads; i++)
        fits = feed_thread(&finder, &stopped->threads[i]);
    for (size_t i = 0; fits && i < finder.cached.nr_items; i++) {
        struct seep_root_range kept = {.kind = SEEP_ROOT_TLS};
        const struct seep_cached_stack *stack = &finder.cached.items[i];
        fits = add_range(&finder, kept) && feed_dynamic_tls(&finder, stack->tls) &&
               (!stack->result || seep_graph_feed_root(graph, finder.range, stack->result_rt, &stack->result,
                                                       memory->word_bytes)); // little-endian
    }
    fits = fits && feed_reallocs(&finder) && feed_regions(&finder);
    seep_cached_stacks_deinit(&finder.cached);
    seep_spans_deinit(&finder.areas);
    seep_spans_deinit(&finder.kept);
    seep_spans_deinit(&finder.excluded);
    free(finder.places);
    if (!fits) {
        seep_root_ranges_deinit(&ranges);
        return seep_error_no_memory();
    }
    *ret_ranges = ranges;
    return NULL;
}
