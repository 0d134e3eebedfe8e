// SPDX-License-Identifier: BSD-2-Clause
// What the files that find roots ask of mappings, modules and threads, see root_finder.h.
#include <string.h>

#include "base/search.h"
#include "scan/loaded_module.h"
#include "scan/root_finder.h"

bool seep_root_add_range(struct seep_root_finder *finder, struct seep_root_range range) {
    struct seep_root_ranges *ranges = finder->ranges;
    if (!seep_grow(&ranges->items, &ranges->capacity, ranges->nr_items + 1, sizeof(*ranges->items)))
        return false;
    finder->range = (uint32_t)ranges->nr_items;
    ranges->items[ranges->nr_items++] = range;
    return true;
}

static bool take_piece(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct seep_root_finder *finder = data;
    return seep_graph_feed_root(finder->graph, finder->range, address, bytes, nr_bytes);
}

bool seep_root_feed(struct seep_root_finder *finder, uint64_t start, uint64_t end) {
    return seep_memory_walk(finder->memory, start, end, take_piece, finder);
}

// ---- modules and mappings ----

bool seep_root_enter_file(struct seep_root_finder *finder, const struct seep_memory_area *mapping) {
    struct seep_root_ranges *ranges = finder->ranges;
    struct seep_root_module found = {.id = 0};
    // A module's data may be mapped from the start of its file, too. Behind the module's end it is another
    // copy.
    bool is_inside =
        finder->path && strcmp(finder->path, mapping->path) == 0 && mapping->start < finder->data_end;
    if (mapping->shared || mapping->path[0] != '/' || mapping->file_off != 0 || is_inside ||
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

bool seep_root_is_anonymous(const struct seep_memory_area *mapping) {
    return !*mapping->path || strcmp(mapping->path, "[heap]") == 0 ||
           strncmp(mapping->path, "[anon:", 6) == 0;
}

bool seep_root_is_of_module(const struct seep_root_finder *finder, const struct seep_memory_area *mapping) {
    if (!finder->path || mapping->start >= finder->data_end || mapping->shared)
        return false;
    return seep_root_is_anonymous(mapping) || strcmp(mapping->path, finder->path) == 0;
}

// Shared memory that is no file which others may have made.
static bool is_shared_memory(const struct seep_memory_area *mapping) {
    return mapping->shared &&
           (strncmp(mapping->path, "/dev/zero", 9) == 0 || strncmp(mapping->path, "/memfd:", 7) == 0 ||
            strncmp(mapping->path, "/SYSV", 5) == 0);
}

bool seep_root_may_hold(const struct seep_memory_area *mapping) {
    // Code that a program has made: trampolines and just-in-time compilers keep addresses beside it. Where
    // shared memory is executable, the same memory is mapped a second time to be written.
    bool is_code = mapping->executable && (mapping->shared || !seep_root_is_anonymous(mapping));
    if (!mapping->readable)
        return (mapping->present_bytes || mapping->shared) && !is_code;
    // Memory that a program has written and then made read-only still holds blocks: its own data, a private
    // copy of a file, memory that it shares with its children.
    bool was_written = seep_root_is_anonymous(mapping) || (mapping->was_written && !mapping->shared) ||
                       is_shared_memory(mapping);
    return mapping->writable || (was_written && !is_code);
}

bool seep_root_is_device(const struct seep_memory_area *mapping) {
    return strncmp(mapping->path, "/dev/", 5) == 0 && strncmp(mapping->path, "/dev/zero", 9) != 0 &&
           strncmp(mapping->path, "/dev/shm/", 9) != 0;
}

// ---- threads ----

static bool is_of_libc(const struct seep_memory_area *mapping) {
    const char *name = mapping ? strrchr(mapping->path, '/') : NULL;
    if (mapping && strcmp(mapping->path, "[vdso]") == 0) // libc makes system calls through it on i386
        return true;
    return name && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2.", 8) == 0 ||
                    strncmp(name, "/libpthread", 11) == 0 || strncmp(name, "/ld-musl-", 9) == 0);
}

bool seep_root_waits_in_libc(const struct seep_root_finder *finder,
                             const struct seep_stopped_thread *thread) {
    return thread->in_system_call && is_of_libc(seep_memory_find(finder->memory, thread->pc));
}

uint64_t seep_root_stack_from(const struct seep_root_finder *finder,
                              const struct seep_stopped_thread *thread) {
    uint64_t sp = thread->sp & ~UINT64_C(7);
    return seep_root_waits_in_libc(finder, thread) ? SEEP_MAX(sp, thread->stack_from_rt)
                                                   : thread->stack_from_rt;
}

const struct seep_signal_stack *seep_root_signal_stacks(const struct seep_root_finder *finder,
                                                        const struct seep_stopped_thread *thread,
                                                        size_t *ret_nr) {
    const struct seep_signal_stack *stacks = finder->profile->hints.signal_stacks;
    const size_t nr_all = finder->profile->hints.nr_signal_stacks;
    const uint32_t own_tid = (uint32_t)thread->own_tid;
    const size_t first = SEEP_FIRST_WHERE(at, nr_all, stacks[at].tid >= own_tid);
    size_t nr = 0;
    while (first + nr < nr_all && stacks[first + nr].tid == own_tid)
        nr++;
    *ret_nr = nr;
    return nr ? &stacks[first] : NULL;
}

// ---- blocks, and mappings that the program made ----

bool seep_root_has_blocks(const struct seep_graph *graph, uint64_t start, uint64_t end) {
    uint32_t block = seep_root_first_block(graph, start);
    uint64_t off;
    return (block < graph->nr_blocks && graph->blocks[block].address < end) ||
           seep_graph_find(graph, start, &block, &off);
}

const struct seep_mapping *seep_root_mapped_from(const struct seep_profile *profile, uint64_t address) {
    const uint32_t low = SEEP_FIRST_WHERE(
        at, profile->nr_mappings, profile->mappings[at].start + profile->mappings[at].bytes > address);
    return low < profile->nr_mappings ? &profile->mappings[low] : NULL;
}
