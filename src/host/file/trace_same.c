// SPDX-License-Identifier: BSD-2-Clause
// What several processes of a trace have in common, see trace_same.h.
#include <string.h>

#include "base/map.h"
#include "file/trace_same.h"

struct seep_error *seep_trace_same_init(struct seep_trace_same *same) {
    return seep_shared_create(&same->shared);
}

void seep_trace_same_deinit(struct seep_trace_same *same) {
    free(same->known);
    seep_ids_deinit(&same->ids);
    seep_arena_deinit(&same->decoded);
    seep_shared_release(same->shared);
}

static bool may_be_same(const struct seep_trace_same *same, uint32_t type) {
    return same->shared &&
           (type == SEEP_TRACE_NODES || type == SEEP_TRACE_THREAD_SITES || type == SEEP_TRACE_PEAK);
}

static uint64_t hash_of(const struct seep_trace_section *section) {
    return seep_hash64((uint64_t)section->crc << 32 ^ section->raw_bytes << 8 ^ section->type);
}

static bool is_same(const struct seep_trace_known *known, const struct seep_profile *profile,
                    const struct seep_trace_section *section) {
    const struct seep_trace_section *one = &known->section;
    return one->type == section->type && one->version == section->version && one->flags == section->flags &&
           one->crc == section->crc && one->raw_bytes == section->raw_bytes &&
           one->stored_bytes == section->stored_bytes && known->nr_modules == profile->nr_modules &&
           (section->type == SEEP_TRACE_NODES || known->nr_nodes == profile->nr_nodes) &&
           known->nr_sites == profile->nr_sites && known->nr_threads == profile->nr_threads &&
           memcmp(one->stored, section->stored, (size_t)section->stored_bytes) == 0;
}

static const struct seep_trace_known *find(const struct seep_trace_same *same,
                                           const struct seep_profile *profile,
                                           const struct seep_trace_section *section) {
    uint64_t hash = hash_of(section);
    size_t at;
    for (uint32_t id = seep_ids_first(&same->ids, hash, &at); id != SEEP_NO_ID;
         id = seep_ids_next(&same->ids, hash, &at))
        if (is_same(&same->known[id], profile, section))
            return &same->known[id];
    return NULL;
}

bool seep_trace_same_take(const struct seep_trace_same *same, struct seep_trace_arrays *arrays,
                          const struct seep_trace_section *section) {
    if (!may_be_same(same, section->type))
        return false;
    struct seep_profile *profile = arrays->profile;
    const struct seep_trace_known *known = find(same, profile, section);
    if (!known)
        return false;
    if (section->type == SEEP_TRACE_PEAK) {
        profile->at_peak = known->at_peak;
        return true;
    }
    uint64_t nr = known->nr - (section->type == SEEP_TRACE_NODES); // the root is in no file
    // Behind parts without elements it is one of several.
    if (arrays->nr_parts || arrays->loaded[section->type] || arrays->promised[section->type] != nr)
        return false;
    arrays->loaded[section->type] = nr;
    if (section->type == SEEP_TRACE_NODES) {
        profile->nodes = known->elements;
        profile->nr_nodes = (uint32_t)known->nr;
    } else {
        profile->thread_sites = known->elements;
        profile->nr_thread_sites = (size_t)known->nr;
    }
    return true;
}

struct seep_arena *seep_trace_same_arena(struct seep_trace_same *same, struct seep_profile *profile,
                                         uint32_t type) {
    if (may_be_same(same, type))
        return &same->shared->arena;
    if (!same->shared)
        return &profile->arena;
    switch (type) {
    case SEEP_TRACE_HOLDERS:
    case SEEP_TRACE_CHAINS:
    case SEEP_TRACE_ARRIVALS:
    case SEEP_TRACE_HELD:
        return &same->decoded;
    default:
        return &profile->arena;
    }
}

// An array moves into the profile's own memory. false: out of memory.
static bool keep(struct seep_profile *profile, void *array_of_any, size_t nr, size_t element_bytes) {
    void *array;
    memcpy(&array, array_of_any, sizeof(array));
    void *own = array ? seep_arena_alloc(&profile->arena, nr, element_bytes) : NULL;
    if (own && nr)
        memcpy(own, array, nr * element_bytes);
    memcpy(array_of_any, &own, sizeof(own));
    return own || !array;
}

bool seep_trace_same_own(const struct seep_trace_same *same, struct seep_profile *profile, uint32_t type) {
    return !same->shared || type != SEEP_TRACE_SLABS ||
           keep(profile, &profile->thread_sites, profile->nr_thread_sites, sizeof(*profile->thread_sites));
}

bool seep_trace_same_add(struct seep_trace_same *same, const struct seep_profile *profile,
                         const struct seep_trace_section *section) {
    if (!may_be_same(same, section->type) || same->nr_known >= SEEP_NO_ID)
        return true;
    struct seep_trace_known known = {.section = *section,
                                     .nr_modules = profile->nr_modules,
                                     .nr_nodes = profile->nr_nodes,
                                     .nr_sites = profile->nr_sites,
                                     .nr_threads = profile->nr_threads};
    if (section->type == SEEP_TRACE_PEAK)
        known.at_peak = profile->at_peak;
    else if (section->type == SEEP_TRACE_NODES)
        known.elements = profile->nodes, known.nr = profile->nr_nodes;
    else
        known.elements = profile->thread_sites, known.nr = profile->nr_thread_sites;
    if (!seep_grow(&same->known, &same->known_capacity, same->nr_known + 1, sizeof(*same->known)) ||
        !seep_ids_add(&same->ids, hash_of(section), (uint32_t)same->nr_known))
        return false;
    same->known[same->nr_known++] = known;
    return true;
}

static bool take_in(struct seep_shared *shared, const struct seep_chain **chain) {
    return !*chain || (*chain = seep_shared_chain(shared, *chain)) != NULL;
}

struct seep_error *seep_trace_same_finish(struct seep_trace_same *same, struct seep_profile *profile) {
    struct seep_shared *shared = same->shared;
    if (!shared)
        return NULL;
    struct seep_leaks *leaks = &profile->leaks;
    bool good = keep(profile, &leaks->holders, leaks->nr_holders, sizeof(*leaks->holders)) &&
                keep(profile, &leaks->held, leaks->nr_held, sizeof(*leaks->held));
    for (uint32_t i = 0; good && i < profile->nr_sites; i++)
        good = take_in(shared, &profile->sites[i].held);
    for (uint32_t i = 0; good && i < leaks->nr_holders; i++)
        good = take_in(shared, &leaks->holders[i].chain);
    for (uint32_t i = 0; good && i < leaks->nr_held; i++)
        good = take_in(shared, &leaks->held[i].chain);
    if (!good)
        return seep_error_no_memory();
    seep_arena_deinit(&same->decoded);
    return NULL;
}
