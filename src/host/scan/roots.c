// SPDX-License-Identifier: BSD-2-Clause
// Which memory is a root, see roots.h. Everything here runs while the process is stopped.
#include <stdlib.h>

#include "profile/chain.h"
#include "scan/jemalloc_own.h"
#include "scan/root_finder.h"

void seep_root_ranges_deinit(struct seep_root_ranges *ranges) {
    free(ranges->items);
    free(ranges->modules);
    seep_spans_deinit(&ranges->idle);
    *ranges = (struct seep_root_ranges){NULL};
}

// ---- what the program told ----

// Only what is mapped: a program may tell anything.
static bool feed_told(struct seep_root_finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_TOLD,
                                    .start = seep_word_up(finder->memory, region->start)};
    if (__builtin_add_overflow(region->start, region->bytes, &range.end))
        range.end = UINT64_MAX;
    bool fits = seep_root_add_range(finder, range);
    for (size_t i = 0; fits && i < finder->memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &finder->memory->mappings[i];
        uint64_t start = SEEP_MAX(range.start, mapping->start), end = SEEP_MIN(range.end, mapping->end);
        if (start < end && (mapping->readable || mapping->present_bytes) && !mapping->of_seep &&
            !seep_root_is_device(mapping))
            fits = seep_root_feed(finder, start, end);
    }
    return fits;
}

static bool feed_ignored(struct seep_root_finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_IGNORED, .start = region->start};
    return seep_root_add_range(finder, range) &&
           seep_graph_feed_start(finder->graph, finder->range, region->start, region->start);
}

static bool feed_regions(struct seep_root_finder *finder) {
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

// ---- what the kernel keeps ----

static bool feed_kernel_kept(struct seep_root_finder *finder, const struct seep_kernel_kept *kept) {
    bool fits = true;
    for (size_t i = 0; fits && i < kept->nr_items; i++) {
        const struct seep_kernel_word *word = &kept->items[i];
        struct seep_root_range range = {.kind = word->kind, .start = word->of, .tid = word->id};
        // A 32-bit program fills half of the word. Pointers are little-endian.
        fits = seep_root_add_range(finder, range) &&
               (word->is_start ? seep_graph_feed_start(finder->graph, finder->range, 0, word->word)
                               : seep_graph_feed_root(finder->graph, finder->range, 0, &word->word,
                                                      finder->memory->word_bytes));
    }
    // At least one word.
    finder->memory->unread_bytes += kept->is_cut ? finder->memory->word_bytes : 0;
    return fits;
}

static bool feed_signal_stack(struct seep_root_finder *finder, const struct seep_stopped_thread *thread) {
    struct seep_root_range range = {
        .kind = SEEP_ROOT_KERNEL, .start = SEEP_KERNEL_SIGNAL_STACK, .tid = thread->tid};
    size_t nr;
    const struct seep_signal_stack *stacks = seep_root_signal_stacks(finder, thread, &nr);
    bool fits = true;
    for (size_t i = 0; fits && i < nr; i++)
        fits = seep_root_add_range(finder, range) &&
               seep_graph_feed_start(finder->graph, finder->range, 0, stacks[i].start);
    return fits;
}

// Those of threads that live: the kernel forgets a stack when its thread ends.
static bool feed_signal_stacks(struct seep_root_finder *finder) {
    bool fits = true;
    for (size_t i = 0; fits && i < finder->stopped->nr_threads; i++)
        fits = feed_signal_stack(finder, &finder->stopped->threads[i]);
    return fits;
}

struct seep_error *seep_roots_feed(struct seep_memory *memory, const struct seep_stopped *stopped,
                                   const struct seep_profile *profile, const struct seep_kernel_kept *kept,
                                   enum seep_roots which, struct seep_graph *graph,
                                   struct seep_root_ranges *ret_ranges) {
    struct seep_root_ranges ranges = {.beside_malloc = seep_is_beside_malloc(memory)};
    struct seep_root_finder finder = {.memory = memory,
                                      .stopped = stopped,
                                      .profile = profile,
                                      .which = which,
                                      .graph = graph,
                                      .ranges = &ranges};
    bool fits = seep_roots_find_places(&finder) && seep_roots_exclude(&finder);
    // Data first: of two holders that are equally near, a variable with a name is the better one.
    fits = fits && seep_roots_feed_mappings(&finder, true) && seep_roots_feed_mappings(&finder, false);
    for (size_t i = 0; fits && i < stopped->nr_threads; i++)
        fits = seep_roots_feed_thread(&finder, &stopped->threads[i]);
    fits = fits && seep_roots_feed_cached_stacks(&finder) && seep_roots_feed_reallocs(&finder) &&
           feed_kernel_kept(&finder, kept) && feed_signal_stacks(&finder) && feed_regions(&finder);
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
