// SPDX-License-Identifier: BSD-2-Clause
// The sites that have most, with their stacks, as a session of its own; see top_sites.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sum.h"
#include "profile/verdict.h"
#include "server/top_sites.h"

#define REST_NAME "(the other sites, which come next)"
#define PIECE     512u // sites that are read at once

struct chosen {
    uint64_t live_bytes;
    struct seep_site site; // `node` is that of the image
};

struct cut {
    const struct seep_image_look *from;
    struct seep_profile *to;
    struct chosen *chosen; // a heap, the least of them first
    uint32_t nr_chosen;
    uint32_t most;
    struct seep_counters all; // of all sites of the heap
    struct seep_look_site sites[PIECE];
    uint32_t first; // id of the first of `sites`
    uint32_t nr_sites;
    struct seep_map place_of; // from a node of the image to its place in `nodes`, later in `to`
    struct node_of *nodes;
    size_t nr_nodes, nodes_capacity;
    uint32_t *module_of; // module of `to` by module of `from`
};

struct node_of {
    uint32_t id;
    struct seep_node node;
};

// ---- choosing the sites ----

static void sift(struct chosen *heap, uint32_t nr) {
    for (uint32_t at = 0;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < nr; child++)
            if (heap[child].live_bytes < heap[least].live_bytes)
                least = child;
        if (least == at)
            return;
        struct chosen kept = heap[at];
        heap[at] = heap[least];
        heap[least] = kept;
        at = least;
    }
}

static void add_chosen(struct cut *cut, const struct chosen *one) {
    if (cut->nr_chosen == cut->most) {
        cut->chosen[0] = *one;
        sift(cut->chosen, cut->most);
        return;
    }
    uint32_t at = cut->nr_chosen++;
    for (; at && one->live_bytes < cut->chosen[(at - 1) / 2].live_bytes; at = (at - 1) / 2)
        cut->chosen[at] = cut->chosen[(at - 1) / 2];
    cut->chosen[at] = *one;
}

static struct seep_error *find_site(struct cut *cut, uint32_t site) {
    if (site - cut->first < cut->nr_sites)
        return NULL;
    cut->first = site;
    cut->nr_sites = SEEP_MIN(seep_image_look_nr_sites(cut->from) - site, PIECE);
    return seep_image_look_sites(cut->from, site, cut->nr_sites, cut->sites);
}

static void add_counters(struct seep_counters *to, const struct seep_counters *from) {
    seep_add_up(&to->allocations, from->allocations);
    seep_add_up(&to->allocated_bytes, from->allocated_bytes);
    seep_add_up(&to->frees, from->frees);
    seep_add_up(&to->freed_bytes, from->freed_bytes);
    seep_add_up(&to->temporary, from->temporary);
    seep_add_up(&to->peak_bytes, from->peak_bytes); // an upper bound: the peaks may be at different times
    to->size_min = SEEP_MIN(to->size_min, from->size_min);
    to->size_max = SEEP_MAX(to->size_max, from->size_max);
}

static struct seep_error *choose(void *data, uint32_t id, const unsigned char *bytes, size_t nr_bytes) {
    struct cut *cut = data;
    struct seep_figures figures = seep_figures_read(bytes, nr_bytes);
    const uint64_t *values = figures.values;
    struct seep_error *error = find_site(cut, id);
    if (error)
        return error;
    const struct seep_look_site *from = &cut->sites[id - cut->first];
    struct chosen one = {.site = {.node = from->node,
                                  .via = from->via,
                                  .counters = {.allocations = values[0],
                                               .allocated_bytes = values[1],
                                               .frees = values[2],
                                               .freed_bytes = values[3],
                                               .temporary = values[4],
                                               .peak_bytes = values[5],
                                               .size_min = values[6],
                                               .size_max = values[7]}}};
    if (!seep_via_is_heap(from->via))
        return NULL;
    add_counters(&cut->all, &one.site.counters);
    one.live_bytes = values[1] - SEEP_MIN(values[1], values[3]);
    if (values[0] && (cut->nr_chosen < cut->most || cut->chosen[0].live_bytes < one.live_bytes))
        add_chosen(cut, &one);
    return NULL;
}

// ---- stacks of the chosen sites ----

static int compare_nodes(const void *left, const void *right) {
    const struct node_of *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static struct seep_error *find_stack(struct cut *cut, uint32_t id) {
    while (id) {
        bool is_new = false;
        struct seep_error *error = NULL;
        if (!seep_map_at(&cut->place_of, id, &is_new) ||
            (is_new && !seep_grow(&cut->nodes, &cut->nodes_capacity, cut->nr_nodes + 1, sizeof(*cut->nodes))))
            return seep_error_no_memory();
        if (!is_new)
            return NULL;
        struct node_of *node = &cut->nodes[cut->nr_nodes++];
        node->id = id;
        error = seep_image_look_nodes(cut->from, id, 1, &node->node);
        if (error)
            return error;
        if (node->node.kind == SEEP_NODE_FRAME)
            cut->module_of[node->node.module] = 1;
        id = node->node.parent;
    }
    return NULL;
}

static struct seep_error *take_modules(struct cut *cut) {
    const struct seep_profile *from = seep_image_look_profile(cut->from);
    struct seep_profile *to = cut->to;
    to->modules = seep_arena_alloc(&to->arena, (size_t)from->nr_modules + 2, sizeof(*to->modules));
    if (!to->modules)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < from->nr_modules; i++) {
        if (i && !cut->module_of[i])
            continue;
        cut->module_of[i] = to->nr_modules;
        struct seep_module *module = &to->modules[to->nr_modules++];
        *module = from->modules[i];
        module->path = seep_arena_strdup(&to->arena, module->path ? module->path : "");
        module->names = NULL;
        module->nr_names = 0;
        module->places = NULL;
        module->nr_places = 0;
        if (!module->path)
            return seep_error_no_memory();
    }
    return NULL;
}

static uint32_t place_of(struct cut *cut, uint32_t id) {
    bool is_new = false;
    uint64_t *place = id ? seep_map_at(&cut->place_of, id, &is_new) : NULL;
    return place ? (uint32_t)*place : 0;
}

// The stacks of the chosen sites, and one for the rest.
static struct seep_error *take_stacks(struct cut *cut, uint32_t *ret_rest) {
    struct seep_profile *to = cut->to;
    struct seep_error *error = NULL;
    for (uint32_t i = 0; !error && i < cut->nr_chosen; i++)
        error = find_stack(cut, cut->chosen[i].site.node);
    if (!error)
        error = take_modules(cut);
    if (error)
        return error;
    to->nodes = seep_arena_alloc(&to->arena, cut->nr_nodes + 2, sizeof(*to->nodes));
    if (!to->nodes)
        return seep_error_no_memory();
    to->nodes[to->nr_nodes++] = (struct seep_node){.parent = 0};
    if (cut->nr_nodes)
        qsort(cut->nodes, cut->nr_nodes, sizeof(*cut->nodes), compare_nodes);
    for (size_t i = 0; i < cut->nr_nodes; i++) { // parents come first
        bool is_new = false;
        struct seep_node node = cut->nodes[i].node;
        node.parent = place_of(cut, node.parent);
        if (node.kind == SEEP_NODE_FRAME)
            node.module = cut->module_of[node.module];
        uint64_t *place = seep_map_at(&cut->place_of, cut->nodes[i].id, &is_new);
        if (!place)
            return seep_error_no_memory();
        *place = to->nr_nodes;
        to->nodes[to->nr_nodes++] = node;
    }
    to->modules[to->nr_modules] = (struct seep_module){.path = REST_NAME, .unloaded_ns = -1};
    *ret_rest = to->nr_nodes;
    to->nodes[to->nr_nodes++] = (struct seep_node){.module = to->nr_modules++};
    return NULL;
}

static uint64_t less(uint64_t all, uint64_t part) {
    return all - SEEP_MIN(all, part);
}

static struct seep_error *take_sites(struct cut *cut, uint32_t rest_node) {
    struct seep_profile *to = cut->to;
    to->sites = seep_arena_alloc(&to->arena, (size_t)cut->nr_chosen + 2, sizeof(*to->sites));
    if (!to->sites)
        return seep_error_no_memory();
    struct seep_site rest = {.node = rest_node, .via = SEEP_VIA_MALLOC, .counters = cut->all};
    struct seep_counters *left = &rest.counters;
    to->nr_sites = 1;
    for (uint32_t i = 0; i < cut->nr_chosen; i++) {
        struct seep_site *site = &to->sites[to->nr_sites++];
        *site = cut->chosen[i].site;
        site->node = place_of(cut, site->node);
        left->allocations = less(left->allocations, site->counters.allocations);
        left->allocated_bytes = less(left->allocated_bytes, site->counters.allocated_bytes);
        left->frees = less(left->frees, site->counters.frees);
        left->freed_bytes = less(left->freed_bytes, site->counters.freed_bytes);
        left->temporary = less(left->temporary, site->counters.temporary);
        left->peak_bytes = less(left->peak_bytes, site->counters.peak_bytes);
    }
    if (left->allocations)
        to->sites[to->nr_sites++] = rest;
    return NULL;
}

static struct seep_error *take_process(struct cut *cut) {
    const struct seep_profile *from = seep_image_look_profile(cut->from);
    struct seep_profile *to = cut->to;
    struct seep_error *error = NULL;
    to->process = from->process;
    to->process.nr_args = SEEP_MIN(from->process.nr_args, 1u);
    const char **args = seep_arena_alloc(&to->arena, 1, sizeof(*args));
    to->process.exe = seep_arena_strdup(&to->arena, from->process.exe);
    if (!args || !to->process.exe)
        return seep_error_no_memory();
    args[0] = to->process.nr_args ? seep_arena_strdup(&to->arena, from->process.args[0]) : "";
    to->process.args = args;
    to->totals = from->totals;
    const struct seep_health *health = &from->health;
    to->health = *health;
    to->health.notes = NULL;
    to->health.nr_notes = 0;
    to->health.preempted_by =
        health->preempted_by ? seep_arena_strdup(&to->arena, health->preempted_by) : NULL;
    for (size_t i = 0; !error && i < health->nr_notes; i++)
        error = seep_profile_note(to, health->notes[i].code, "%s", health->notes[i].text);
    if (!error && (!args[0] || (health->preempted_by && !to->health.preempted_by)))
        error = seep_error_no_memory();
    return error;
}

static struct seep_error *fill(struct cut *cut) {
    const struct seep_profile *from = seep_image_look_profile(cut->from);
    uint32_t rest = 0;
    cut->to->nr_modules = cut->to->nr_nodes = 0; // nodes and modules are made anew here
    cut->all.size_min = UINT64_MAX;
    cut->chosen = calloc((size_t)cut->most + 1, sizeof(*cut->chosen));
    cut->module_of = calloc((size_t)from->nr_modules + 1, sizeof(*cut->module_of));
    if (!cut->chosen || !cut->module_of)
        return seep_error_no_memory();
    struct seep_error *error = take_process(cut);
    if (!error)
        error = seep_image_look_each(cut->from, 0, false, choose, cut);
    if (!error)
        error = take_stacks(cut, &rest);
    return error ? error : take_sites(cut, rest);
}

static struct seep_error *cut_profile(const struct seep_image_look *from, uint32_t nr,
                                      struct seep_profile **ret_profile) {
    struct cut cut = {.from = from, .most = nr};
    struct seep_error *error = seep_profile_create(&cut.to);
    if (error)
        return error;
    error = fill(&cut);
    free(cut.chosen);
    free(cut.nodes);
    free(cut.module_of);
    seep_map_deinit(&cut.place_of);
    if (error) {
        seep_profile_destroy(cut.to);
        return error;
    }
    seep_profile_derive(cut.to);
    *ret_profile = cut.to;
    return NULL;
}

struct seep_error *seep_server_top_make(const struct seep_images *images, uint32_t nr,
                                        struct seep_session **ret_top) {
    struct seep_session *top = NULL;
    struct seep_error *error = seep_session_create(&top);
    for (size_t i = 0; !error && i < images->nr; i++) {
        struct seep_profile *profile = NULL;
        error = cut_profile(images->items[i], nr, &profile);
        if (!error)
            error = seep_session_add(top, profile);
    }
    if (error) {
        seep_session_destroy(top);
        return error;
    }
    *ret_top = top;
    return NULL;
}
