// SPDX-License-Identifier: BSD-2-Clause
// Roots in mappings: each mapping is divided into ranges of one kind, and what is not excluded is fed.
#include "scan/root_finder.h"

// The range without what is excluded (settled).
static bool feed_range(struct seep_root_finder *finder, struct seep_root_range range) {
    if (range.start >= range.end)
        return true;
    if (!seep_root_add_range(finder, range))
        return false;
    const struct seep_spans *spans = &finder->excluded;
    const struct seep_memory *memory = finder->memory;
    uint64_t at = seep_word_up(memory, range.start); // the break may be anywhere
    for (size_t i = seep_spans_from(spans, at); i < spans->nr_items && at < range.end; i++) {
        uint64_t stop = seep_word_down(memory, SEEP_MIN(SEEP_MAX(spans->items[i].start, at), range.end));
        if (at < stop && !seep_root_feed(finder, at, stop))
            return false;
        at = seep_word_up(memory, spans->items[i].end);
    }
    return at >= range.end || seep_root_feed(finder, at, range.end);
}

// The first thread that has range->start on its stack or in the storage behind that. Where others begin, the
// range ends.
static void give_to_thread(const struct seep_root_finder *finder, bool told, struct seep_root_range *range) {
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

// Where in the mapping of the first thread's storage the loader allocated, before there was an allocator.
// What the program mapped is cut off.
static bool is_of_loader(const struct seep_root_finder *finder, const struct seep_memory_area *mapping,
                         pid_t tid, struct seep_root_range *range) {
    if (tid != finder->stopped->pid || seep_root_is_of_module(finder, mapping) ||
        seep_root_has_blocks(finder->graph, mapping->start, mapping->end))
        return false;
    const struct seep_mapping *mapped = seep_root_mapped_from(finder->profile, range->start);
    bool inside = mapped && mapped->start <= range->start;
    if (mapped)
        range->end = SEEP_MIN(range->end, inside ? mapped->start + mapped->bytes : mapped->start);
    return !inside;
}

// Storage that does not lie behind a stack, as that of the first thread.
static void give_to_storage(const struct seep_root_finder *finder, const struct seep_memory_area *mapping,
                            struct seep_root_range *range) {
    // The kernel joins zeroed data of a module with a thread's storage that is mapped behind it.
    bool is_data = seep_root_is_of_module(finder, mapping) && range->start < finder->data_end;
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
static struct seep_root_range range_at(const struct seep_root_finder *finder,
                                       const struct seep_memory_area *mapping, uint64_t at) {
    struct seep_root_range range = {.kind = SEEP_ROOT_MEMORY, .start = at, .end = mapping->end};
    give_to_thread(finder, true, &range);
    if (!range.tid)
        give_to_thread(finder, false, &range);
    if (!range.tid)
        give_to_storage(finder, mapping, &range);
    // The kernel joins zeroed data of a module with what the program maps behind it.
    if (!range.tid && seep_root_is_of_module(finder, mapping) && at < finder->data_end) {
        range.kind = SEEP_ROOT_DATA;
        range.module = finder->module;
        range.end = SEEP_MIN(range.end, finder->data_end);
    }
    return range;
}

static bool is_wanted(const struct seep_root_finder *finder, const struct seep_memory_area *mapping,
                      const struct seep_root_range *range) {
    return range->kind != SEEP_ROOT_MEMORY || finder->which != SEEP_ROOTS_LSAN ||
           (*mapping->path && !mapping->shared);
}

bool seep_roots_feed_mappings(struct seep_root_finder *finder, bool data) {
    const struct seep_memory *memory = finder->memory;
    finder->path = NULL;
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!seep_root_enter_file(finder, mapping))
            return false;
        if (!seep_root_may_hold(mapping) || mapping->of_seep || seep_root_is_device(mapping))
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
