// SPDX-License-Identifier: BSD-2-Clause
// Roots of blocks that a realloc is moving while the process is stopped: the old place and the new one.
#include "scan/root_finder.h"

// A thread inside realloc has the new place of the block in a register or this near to its stack
// pointer: allocators are shallow, but a signal handler may be at work on top.
#define REALLOC_STACK_BYTES ((uint64_t)64 << 10)
#define REALLOC_PLACES_MAX  256
#define REALLOC_UNKNOWN_MAX ((uint64_t)1 << 20) // of a block whose size is not known

static const struct seep_stopped_thread *thread_of(const struct seep_root_finder *finder,
                                                   const struct seep_moving *moving) {
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if ((uint32_t)(moving->stack_rt ? thread->own_tid : thread->tid) == moving->tid)
            return thread;
    }
    return NULL;
}

// Contents of a block that is in no map, as far as no live block and no end of memory cuts it short.
static bool feed_moved(struct seep_root_finder *finder, const struct seep_moving *moving, uint64_t address,
                       pid_t tid) {
    const struct seep_graph *graph = finder->graph;
    const struct seep_memory_area *mapping = seep_memory_find(finder->memory, address);
    uint32_t block;
    uint64_t off;
    if (!mapping || mapping->of_seep || seep_graph_find(graph, address, &block, &off))
        return true;
    uint64_t nr_bytes = SEEP_MIN(moving->size ? moving->size : REALLOC_UNKNOWN_MAX, mapping->end - address);
    uint32_t next = seep_root_first_block(graph, address);
    if (next < graph->nr_blocks)
        nr_bytes = SEEP_MIN(nr_bytes, graph->blocks[next].address - address);
    struct seep_root_range range = {
        .kind = SEEP_ROOT_REALLOC, .start = address, .end = address + nr_bytes, .tid = tid};
    return seep_root_add_range(finder, range) && seep_root_feed(finder, range.start, range.end);
}

struct places {
    const struct seep_root_finder *finder;
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

bool seep_roots_feed_reallocs(struct seep_root_finder *finder) {
    for (size_t i = 0; i < finder->profile->hints.nr_moving; i++) {
        const struct seep_moving *moving = &finder->profile->hints.moving[i];
        const struct seep_stopped_thread *thread = thread_of(finder, moving);
        const struct seep_memory_area *stack = thread ? seep_memory_find(finder->memory, thread->sp) : NULL;
        if (!thread || moving->address % 8)
            continue; // left by a thread that was killed, or not to be believed
        struct places places = {.finder = finder, .moving = moving};
        uint64_t sp = seep_root_stack_from(finder, thread);
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
