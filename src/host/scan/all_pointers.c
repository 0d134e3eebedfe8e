// SPDX-License-Identifier: BSD-2-Clause
// The whole graph, kept, see all_pointers.h.
#include <stdlib.h>
#include <string.h>

#include "scan/all_pointers.h"

// The roots of each holder, together: counted, then put in their places.
static struct seep_error *keep_holders(struct seep_profile *profile, const struct seep_chains *chains,
                                       const struct seep_holders *holders, struct seep_pointers *pointers) {
    const struct seep_graph *graph = chains->graph;
    pointers->nr_holders = holders->nr;
    pointers->holders =
        seep_arena_alloc(&profile->arena, SEEP_MAX(holders->nr, 1u), sizeof(*pointers->holders));
    pointers->held =
        seep_arena_alloc(&profile->arena, SEEP_MAX(graph->nr_roots, (size_t)1), sizeof(*pointers->held));
    size_t *next = calloc((size_t)holders->nr + 1, sizeof(*next));
    if (!pointers->holders || !pointers->held || !next) {
        free(next);
        return seep_error_no_memory();
    }
    for (uint32_t i = 0; i < holders->nr; i++)
        pointers->holders[i] = (struct seep_pointer_holder){
            .link = seep_chains_root(chains, &graph->roots[holders->first[i]], true)};
    for (size_t i = 0; i < graph->nr_roots; i++) {
        next[holders->of_root[i] + 1]++;
        pointers->holders[holders->of_root[i]].nr++;
    }
    for (uint32_t i = 0; i < holders->nr; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < graph->nr_roots; i++)
        pointers->held[next[holders->of_root[i]]++] = (struct seep_pointer){graph->roots[i].target, 0};
    free(next);
    return NULL;
}

static struct seep_error *keep_blocks(struct seep_profile *profile, const struct seep_graph *graph,
                                      struct seep_pointers *pointers) {
    struct seep_pointer *items =
        seep_arena_alloc(&profile->arena, SEEP_MAX(graph->nr_edges, (size_t)1), sizeof(*items));
    uint64_t *first = seep_arena_alloc(&profile->arena, (size_t)graph->nr_blocks + 1, sizeof(*first));
    if (!items || !first)
        return seep_error_no_memory();
    for (size_t i = 0; i < graph->nr_edges; i++)
        items[i] = (struct seep_pointer){graph->edges[i].target, graph->edges[i].from_off};
    for (uint32_t i = 0; i <= graph->nr_blocks; i++)
        first[i] = graph->nr_blocks ? graph->first_edge[i] : 0;
    pointers->items = items;
    pointers->first = first;
    return NULL;
}

static struct seep_error *keep_objects(struct seep_profile *profile, const struct seep_chains *chains,
                                       struct seep_pointers *pointers) {
    const struct seep_graph *graph = chains->graph;
    pointers->objects =
        seep_arena_alloc(&profile->arena, SEEP_MAX(graph->nr_objects, (size_t)1), sizeof(*pointers->objects));
    if (!pointers->objects)
        return seep_error_no_memory();
    for (size_t i = 0; i < graph->nr_objects; i++) {
        struct seep_link link = seep_chains_block(chains, graph->objects[i].block, 0, true);
        if (link.vtable_module)
            pointers->objects[pointers->nr_objects++] =
                (struct seep_pointer_object){graph->objects[i].block, link.vtable_module, link.vtable};
    }
    return NULL;
}

struct seep_error *seep_pointers_keep(struct seep_profile *profile, const struct seep_chains *chains,
                                      const struct seep_holders *holders) {
    struct seep_pointers *pointers = seep_arena_alloc(&profile->arena, 1, sizeof(*pointers));
    if (!pointers)
        return seep_error_no_memory();
    *pointers = (struct seep_pointers){NULL};
    struct seep_error *error = keep_holders(profile, chains, holders, pointers);
    if (!error)
        error = keep_blocks(profile, chains->graph, pointers);
    if (!error)
        error = keep_objects(profile, chains, pointers);
    if (!error)
        profile->pointers = pointers;
    return error;
}
