// SPDX-License-Identifier: BSD-2-Clause
// Roots of threads: where their stacks and storage lie, registers, dynamic storage, stacks that are blocks.
#include <stdlib.h>

#include "scan/root_finder.h"

// Of a stack that the program mapped for itself the ends are known.
static void bound_by_mapping(const struct seep_profile *profile, uint64_t sp,
                             struct seep_thread_place *place) {
    const struct seep_mapping *mapped = seep_root_mapped_from(profile, sp);
    if (place->told || !mapped || mapped->start > sp)
        return;
    place->stack_start = SEEP_MAX(place->stack_start, mapped->start);
    place->end = SEEP_MIN(place->end, mapped->start + mapped->bytes);
    place->tls_start = SEEP_MIN(place->tls_start, place->end);
}

bool seep_roots_find_places(struct seep_root_finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    finder->places = calloc(SEEP_MAX(stopped->nr_threads, (size_t)1), sizeof(*finder->places));
    for (size_t i = 0; finder->places && i < stopped->nr_threads; i++) {
        finder->places[i] = seep_thread_place_find(finder->memory, &stopped->threads[i]);
        bound_by_mapping(finder->profile, stopped->threads[i].sp, &finder->places[i]);
    }
    return finder->places != NULL;
}

static bool feed_dynamic_tls(struct seep_root_finder *finder, uint64_t tls) {
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
static size_t live_words(const struct seep_root_finder *finder, const struct seep_stopped_thread *thread) {
    return seep_root_waits_in_libc(finder, thread) ? thread->nr_general_words : thread->nr_words;
}

bool seep_roots_feed_thread(struct seep_root_finder *finder, const struct seep_stopped_thread *thread) {
    // Static storage and the control block are roots already (thread_places.h; those of the first thread lie
    // in a mapping of their own); this adds what is behind.
    struct seep_root_range tls = {.kind = SEEP_ROOT_TLS, .tid = thread->tid};
    if (!seep_root_add_range(finder, tls) || !feed_dynamic_tls(finder, thread->tls))
        return false;
    uint32_t block;
    uint64_t off;
    if (seep_graph_find(finder->graph, thread->sp, &block, &off)) { // its stack was allocated
        struct seep_root_range stack = {.kind = SEEP_ROOT_STACK, .tid = thread->tid};
        stack.start =
            seep_word_up(finder->memory, SEEP_MAX(seep_root_stack_from(finder, thread), thread->sp - off));
        stack.end = thread->sp - off + finder->graph->blocks[block].size;
        if (!seep_root_add_range(finder, stack) || !seep_root_feed(finder, stack.start, stack.end))
            return false;
    }
    // A block that it runs on is held as a whole: the frame of a signal need not have its start.
    struct seep_root_range registers = {.kind = SEEP_ROOT_REGISTERS, .tid = thread->tid};
    return seep_root_add_range(finder, registers) &&
           seep_graph_feed_start(finder->graph, finder->range, 0, thread->sp) &&
           seep_graph_feed_root(finder->graph, finder->range, 0, thread->words,
                                live_words(finder, thread) * 8);
}

bool seep_roots_feed_cached_stacks(struct seep_root_finder *finder) {
    bool fits = true;
    for (size_t i = 0; fits && i < finder->cached.nr_items; i++) {
        struct seep_root_range kept = {.kind = SEEP_ROOT_TLS};
        const struct seep_cached_stack *stack = &finder->cached.items[i];
        fits = seep_root_add_range(finder, kept) && feed_dynamic_tls(finder, stack->tls) &&
               (!stack->result ||
                seep_graph_feed_root(finder->graph, finder->range, stack->result_rt, &stack->result,
                                     finder->memory->word_bytes)); // little-endian
    }
    return fits;
}
