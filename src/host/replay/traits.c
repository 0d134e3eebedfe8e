// SPDX-License-Identifier: BSD-2-Clause
// Finds how the places of a program allocate, in one walk through its events, see traits.h.
#include <stdlib.h>
#include <string.h>

#include "replay/traits.h"
#include "replay/walk.h"

enum { LIVES_EVENTS_MAX = 4096 };

struct trait_block {
    uint64_t address; // 0: the entry is free
    uint64_t size;
    uint64_t event;     // of this block
    uint64_t at_thread; // events of its thread before it
    uint64_t first_event;
    uint64_t most_bytes; // since first_event
    uint64_t copied_bytes;
    uint32_t group;
    uint32_t grew_at; // group of the last step
    uint32_t thread;
    uint32_t steps;
    size_t place; // in the stack of its thread
};

struct generation {
    uint64_t live, blocks, between, since; // frees between allocations; frees since the last allocation
};

struct trait_thread {
    size_t *stack; // indexes + 1 of live blocks in the order of their allocation; 0: freed out of order
    size_t nr_stack;
    size_t capacity;
    uint64_t nr_events;
    struct trait_block pending; // taken by a realloc that has not returned
    bool is_pending;
    uint64_t last_address; // of its last event, where that was an allocation
    bool has_events;
};

struct finder {
    const struct seep_groups *groups;
    struct seep_traits *traits;
    struct seep_map addresses; // -> 1 + index in blocks
    struct trait_block *blocks;
    size_t nr_blocks;
    size_t blocks_capacity;
    size_t *free_blocks;
    size_t nr_free;
    size_t free_capacity;
    struct trait_thread *threads;
    size_t nr_threads;
    size_t threads_capacity;
    struct seep_map generations_of; // group << 32 | thread -> 1 + index
    struct generation *generations;
    size_t nr_generations;
    size_t generations_capacity;
    size_t growths_capacity;
    uint64_t live_bytes;
    uint64_t noted_bytes; // peak whose parts are noted
    bool higher;          // than that, since
};

// Source: glibc 2.36, malloc/malloc.c, request2size and checked_request2size; from 128 KiB on a mapping.
static uint64_t chunk_bytes(uint64_t size) {
    uint64_t chunk = (size + 8 + 15) & ~UINT64_C(15);
    return SEEP_MAX(chunk, UINT64_C(32));
}

// ---- peak ------------------------------------------------------------------------------------------------

static void note_peak(struct finder *finder) {
    struct seep_traits *traits = finder->traits;
    for (uint32_t i = 0; i < traits->nr_groups; i++) {
        struct seep_group_traits *group = &traits->groups[i];
        group->peak_blocks = group->live_blocks;
        group->peak_bytes = group->live_bytes;
        group->peak_cost_bytes = group->live_cost_bytes;
    }
    finder->noted_bytes = finder->live_bytes;
    finder->higher = false;
}

static void count_live(struct finder *finder, uint32_t group_id, uint64_t size, bool adds) {
    struct seep_traits *traits = finder->traits;
    struct seep_group_traits *group = &traits->groups[group_id];
    if (!adds && finder->higher)
        note_peak(finder);
    uint64_t cost = chunk_bytes(size);
    group->live_blocks += adds ? 1 : UINT64_MAX;
    group->live_bytes += adds ? size : 0 - size;
    group->live_cost_bytes += adds ? cost : 0 - cost;
    finder->live_bytes += adds ? size : 0 - size;
    group->most_blocks = SEEP_MAX(group->most_blocks, group->live_blocks);
    traits->peak_bytes = SEEP_MAX(traits->peak_bytes, finder->live_bytes);
    finder->higher |= adds && finder->live_bytes > finder->noted_bytes + finder->noted_bytes / 100;
}

// ---- generations -----------------------------------------------------------------------------------------

static struct generation *generation_of(struct finder *finder, uint32_t group, uint32_t thread) {
    uint64_t *index = seep_map_at(&finder->generations_of, (uint64_t)group << 32 | thread, NULL);
    if (!index)
        return NULL;
    if (!*index) {
        if (!seep_grow(&finder->generations, &finder->generations_capacity, finder->nr_generations + 1,
                       sizeof(*finder->generations)))
            return NULL;
        *index = ++finder->nr_generations;
    }
    return &finder->generations[*index - 1];
}

static void end_generation(struct seep_group_traits *group, struct generation *generation) {
    if (generation->blocks >= SEEP_GENERATION_BLOCKS && generation->between <= generation->blocks / 20) {
        group->generations++;
        group->generation_blocks += generation->blocks;
    }
    *generation = (struct generation){0};
}

static bool count_generation(struct finder *finder, const struct trait_block *block, bool adds) {
    struct generation *generation = generation_of(finder, block->group, block->thread);
    if (!generation)
        return false;
    if (adds) {
        generation->between += generation->since;
        generation->since = 0;
        generation->live++;
        generation->blocks++;
    } else {
        generation->since++;
        if (--generation->live == 0)
            end_generation(&finder->traits->groups[block->group], generation);
    }
    return true;
}

// ---- blocks ----------------------------------------------------------------------------------------------

static struct trait_block *block_at(struct finder *finder, uint64_t address) {
    const uint64_t *index = seep_map_find(&finder->addresses, address);
    return index && *index ? &finder->blocks[*index - 1] : NULL;
}

static bool push(struct finder *finder, struct trait_thread *thread, size_t index) {
    if (!seep_grow(&thread->stack, &thread->capacity, thread->nr_stack + 1, sizeof(*thread->stack)))
        return false;
    finder->blocks[index].place = thread->nr_stack;
    thread->stack[thread->nr_stack++] = index + 1;
    return true;
}

// Whether the block is the latest of its thread that lives.
static bool pop(struct trait_thread *thread, const struct trait_block *block) {
    thread->stack[block->place] = 0;
    bool is_top = block->place + 1 == thread->nr_stack;
    while (thread->nr_stack && !thread->stack[thread->nr_stack - 1])
        thread->nr_stack--;
    return is_top;
}

static bool add(struct finder *finder, struct trait_block block) {
    uint64_t *index = seep_map_at(&finder->addresses, block.address, NULL);
    if (!index || *index)
        return index;
    if (finder->nr_free) {
        *index = finder->free_blocks[--finder->nr_free] + 1;
    } else {
        if (!seep_grow(&finder->blocks, &finder->blocks_capacity, finder->nr_blocks + 1, sizeof(block)))
            return false;
        *index = ++finder->nr_blocks;
    }
    finder->blocks[*index - 1] = block;
    count_live(finder, block.group, block.size, true);
    return count_generation(finder, &block, true) &&
           push(finder, &finder->threads[block.thread], (size_t)*index - 1);
}

static bool take(struct finder *finder, uint64_t address, uint32_t thread, struct trait_block *ret_block) {
    uint64_t *index = seep_map_find(&finder->addresses, address);
    if (!index || !*index ||
        !seep_grow(&finder->free_blocks, &finder->free_capacity, finder->nr_free + 1,
                   sizeof(*finder->free_blocks)))
        return false;
    struct trait_block *block = &finder->blocks[*index - 1];
    struct seep_group_traits *group = &finder->traits->groups[block->group];
    struct trait_thread *own = &finder->threads[block->thread];
    uint64_t lived = own->nr_events - block->at_thread;
    bool is_top = pop(own, block);
    if (thread != block->thread) {
        group->elsewhere++;
    } else if (is_top && lived <= LIVES_EVENTS_MAX) {
        group->nested++;
        group->nested_events += lived;
    }
    count_live(finder, block->group, block->size, false);
    bool good = count_generation(finder, block, false);
    *ret_block = *block;
    block->address = 0;
    finder->free_blocks[finder->nr_free++] = (size_t)*index - 1;
    *index = 0;
    return good;
}

// ---- growth ----------------------------------------------------------------------------------------------

static bool end_chain(struct finder *finder, const struct trait_block *block) {
    struct seep_traits *traits = finder->traits;
    if (block->steps < 2)
        return true;
    struct seep_group_traits *group = &traits->groups[block->grew_at];
    group->chains++;
    group->steps += block->steps;
    group->copied_bytes += block->copied_bytes;
    uint64_t *index = seep_map_at(&traits->growth_of, block->first_event, NULL);
    if (!index || !seep_grow(&traits->growths, &finder->growths_capacity, traits->nr_growths + 1,
                             sizeof(*traits->growths)))
        return false;
    traits->growths[traits->nr_growths++] =
        (struct seep_grown){.bytes = block->most_bytes, .group = block->grew_at};
    *index = traits->nr_growths;
    return true;
}

static void go_on_as(struct trait_block *next, const struct trait_block *block) {
    bool grows = next->size > block->size;
    next->first_event = block->first_event;
    next->most_bytes = SEEP_MAX(block->most_bytes, next->size);
    next->steps = block->steps + grows;
    next->grew_at = grows ? next->group : block->grew_at;
    next->copied_bytes = block->copied_bytes + SEEP_MIN(block->size, next->size);
}

// A block that is freed right after the same place made a larger one: a container that grows.
static bool is_copied(const struct trait_block *block, const struct trait_block *next, uint32_t thread) {
    return next && next->group == block->group && next->thread == thread && block->thread == thread &&
           next->first_event == next->event && next->size >= block->size + block->size / 5 && block->size;
}

// ---- events ----------------------------------------------------------------------------------------------

static bool step_allocation(struct finder *finder, const struct seep_recorded *event, uint32_t thread) {
    struct seep_traits *traits = finder->traits;
    struct trait_thread *own = &finder->threads[thread];
    struct trait_block block = {.address = event->address,
                                .size = event->size,
                                .event = traits->nr_events,
                                .at_thread = own->nr_events,
                                .first_event = traits->nr_events,
                                .most_bytes = event->size,
                                .group = seep_group_of(finder->groups, event->site),
                                .thread = thread},
                       lost;
    if (block_at(finder, event->address) && !take(finder, event->address, thread, &lost))
        return false;
    struct seep_group_traits *group = &traits->groups[block.group];
    bool is_resized = own->is_pending;
    own->is_pending = false;
    if (is_resized && own->pending.thread == thread)
        go_on_as(&block, &own->pending);
    else if (is_resized && !end_chain(finder, &own->pending))
        return false;
    group->allocations++;
    group->allocated_bytes += event->size;
    group->size_min = group->allocations == 1 ? event->size : SEEP_MIN(group->size_min, event->size);
    group->size_max = SEEP_MAX(group->size_max, event->size);
    traits->allocations++;
    traits->allocated_bytes += event->size;
    traits->largest = SEEP_MAX(traits->largest, event->size);
    own->last_address = event->address;
    return add(finder, block);
}

static bool step_free(struct finder *finder, const struct seep_recorded *event, uint32_t thread) {
    struct trait_thread *own = &finder->threads[thread];
    uint64_t last = own->last_address;
    own->last_address = 0;
    struct trait_block block;
    if (!block_at(finder, event->address))
        return true;
    if (!take(finder, event->address, thread, &block))
        return false;
    struct seep_group_traits *group = &finder->traits->groups[block.group];
    if (event->kind == SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC) {
        group->resized++;
        own->pending = block;
        own->is_pending = true;
        return true;
    }
    group->frees++;
    struct trait_block *next = last ? block_at(finder, last) : NULL;
    if (!is_copied(&block, next, thread))
        return end_chain(finder, &block);
    go_on_as(next, &block);
    uint64_t *address = seep_map_at(&finder->traits->successor, next->event, NULL);
    if (address)
        *address = block.address;
    return address;
}

static struct seep_error *step(void *data, const struct seep_recorded *event, int64_t at_ns) {
    struct finder *finder = data;
    uint32_t thread = event->slot;
    (void)at_ns;
    if (!seep_grow(&finder->threads, &finder->threads_capacity, (size_t)thread + 1, sizeof(*finder->threads)))
        return seep_error_no_memory();
    finder->nr_threads = SEEP_MAX(finder->nr_threads, (size_t)thread + 1);
    struct trait_thread *own = &finder->threads[thread];
    finder->traits->nr_threads += !own->has_events;
    own->has_events = true;
    bool good = true;
    if (event->kind == SEEP_EVENT_ALLOCATION) {
        good = step_allocation(finder, event, thread);
    } else if (event->kind == SEEP_EVENT_KEPT) {
        if (own->is_pending)
            good = add(finder, own->pending);
        own->is_pending = false;
    } else if (seep_event_is_free(event->kind)) {
        if (own->is_pending) // realloc(p, 0)
            good = end_chain(finder, &own->pending);
        own->is_pending = false;
        good = good && step_free(finder, event, thread);
    }
    finder->threads[thread].nr_events++;
    finder->traits->nr_events++;
    return good ? NULL : seep_error_no_memory();
}

static struct seep_error *end(struct finder *finder) {
    if (finder->higher)
        note_peak(finder);
    for (size_t i = 0; i < finder->nr_blocks; i++)
        if (finder->blocks[i].address && !end_chain(finder, &finder->blocks[i]))
            return seep_error_no_memory();
    uint64_t key, index;
    for (size_t at = 0; seep_map_next(&finder->generations_of, &at, &key, &index);)
        if (index)
            end_generation(&finder->traits->groups[key >> 32], &finder->generations[index - 1]);
    return NULL;
}

static void finder_deinit(struct finder *finder) {
    for (size_t i = 0; i < finder->nr_threads; i++)
        free(finder->threads[i].stack);
    free(finder->threads);
    free(finder->blocks);
    free(finder->free_blocks);
    free(finder->generations);
    seep_map_deinit(&finder->generations_of);
    seep_map_deinit(&finder->addresses);
}

struct seep_error *seep_traits_find(const char *path, struct seep_profile *profile,
                                    const struct seep_groups *groups, struct seep_traits *ret_traits) {
    struct seep_traits traits = {
        .nr_groups = groups->nr, .growth_of = SEEP_MAP_INIT, .successor = SEEP_MAP_INIT};
    struct finder finder = {
        .groups = groups, .traits = &traits, .addresses = SEEP_MAP_INIT, .generations_of = SEEP_MAP_INIT};
    traits.groups = calloc(groups->nr ? groups->nr : 1, sizeof(*traits.groups));
    struct seep_error *error =
        traits.groups ? seep_walk_events(path, profile, &finder, step) : seep_error_no_memory();
    if (!error)
        error = end(&finder);
    finder_deinit(&finder);
    if (error)
        seep_traits_deinit(&traits);
    else
        *ret_traits = traits;
    return error;
}

void seep_traits_deinit(struct seep_traits *traits) {
    free(traits->groups);
    free(traits->growths);
    seep_map_deinit(&traits->growth_of);
    seep_map_deinit(&traits->successor);
    *traits = (struct seep_traits){NULL};
}
