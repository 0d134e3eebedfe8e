// SPDX-License-Identifier: BSD-2-Clause
// A profile that grows by parts, see recorded_stacks.h.
#include <string.h>

#include "profile/recorded_stacks.h"

static const char no_memory[] = "out of memory";

void seep_recorded_stacks_deinit(struct seep_recorded_stacks *stacks) {
    seep_arena_deinit(&stacks->arena);
    *stacks = (struct seep_recorded_stacks){.first_module = 0};
}

// Room for the elements of a part behind those that are there. The old ones stay in the arena: each doubling
// costs as much as all before it.
static bool grow(struct seep_arena *arena, void *array_of_any, size_t *capacity, uint32_t nr, uint64_t need,
                 size_t element_bytes) {
    void **array = array_of_any;
    if (need <= *capacity)
        return true;
    size_t larger = SEEP_MAX((size_t)need, *capacity * 2);
    void *fresh = seep_arena_alloc(arena, larger, element_bytes);
    if (!fresh)
        return false;
    if (nr)
        memcpy(fresh, *array, nr * element_bytes);
    *array = fresh;
    *capacity = larger;
    return true;
}

static const char *add_process(struct seep_profile *profile, const struct seep_process *from) {
    struct seep_process *process = &profile->process;
    if (process->pid)
        return NULL;
    *process = *from;
    process->exe = seep_arena_strdup(&profile->arena, from->exe);
    const char **args = seep_arena_alloc(&profile->arena, from->nr_args + 1, sizeof(*args));
    for (uint32_t i = 0; args && i < from->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&profile->arena, from->args[i])))
            return no_memory;
    process->args = args;
    return process->exe && args ? NULL : no_memory;
}

// There may be nothing yet, and nothing that comes.
static void append(void *items, size_t nr, const void *more, size_t nr_more, size_t nr_bytes) {
    if (nr_more)
        memcpy((char *)items + nr * nr_bytes, more, nr_more * nr_bytes);
}

static const char *add_modules(struct seep_recorded_growing *growing,
                               const struct seep_recorded_stacks *part) {
    struct seep_profile *profile = growing->profile;
    for (uint32_t i = 0; i < part->nr_modules; i++) {
        struct seep_module *to = &profile->modules[profile->nr_modules + i];
        *to = part->modules[i];
        to->path = seep_arena_strdup(&profile->arena, part->modules[i].path);
        if (!to->path)
            return no_memory;
    }
    profile->nr_modules += part->nr_modules;
    return NULL;
}

const char *seep_recorded_stacks_add(struct seep_recorded_growing *growing,
                                     const struct seep_recorded_stacks *part) {
    struct seep_profile *profile = growing->profile;
    struct seep_arena *arena = &profile->arena;
    if (part->first_module != profile->nr_modules || part->first_node != profile->nr_nodes ||
        part->first_site != profile->nr_sites || part->first_thread != profile->nr_threads)
        return "does not continue where the one before ended";
    if (!grow(arena, &profile->modules, &growing->modules_capacity, profile->nr_modules,
              (uint64_t)profile->nr_modules + part->nr_modules, sizeof(*profile->modules)) ||
        !grow(arena, &profile->nodes, &growing->nodes_capacity, profile->nr_nodes,
              (uint64_t)profile->nr_nodes + part->nr_nodes, sizeof(*profile->nodes)) ||
        !grow(arena, &profile->sites, &growing->sites_capacity, profile->nr_sites,
              (uint64_t)profile->nr_sites + part->nr_sites, sizeof(*profile->sites)) ||
        !grow(arena, &profile->threads, &growing->threads_capacity, profile->nr_threads,
              (uint64_t)profile->nr_threads + part->nr_threads, sizeof(*profile->threads)))
        return no_memory;
    const char *wrong = add_process(profile, &part->process);
    if (!wrong)
        wrong = add_modules(growing, part);
    if (wrong)
        return wrong;
    append(profile->nodes, profile->nr_nodes, part->nodes, part->nr_nodes, sizeof(*part->nodes));
    append(profile->sites, profile->nr_sites, part->sites, part->nr_sites, sizeof(*part->sites));
    append(profile->threads, profile->nr_threads, part->threads, part->nr_threads, sizeof(*part->threads));
    profile->nr_nodes += part->nr_nodes;
    profile->nr_sites += part->nr_sites;
    profile->nr_threads += part->nr_threads;
    profile->health.flags |= part->image_flags & SEEP_HEALTH_IMAGE_FLAGS;
    return NULL;
}
