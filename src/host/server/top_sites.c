// SPDX-License-Identifier: BSD-2-Clause
// The sites that have most, with their stacks, as a session of its own; see top_sites.h.
#include <stdlib.h>
#include <string.h>

#include "server/top_sites.h"

#define REST_NAME "(the other sites, which come next)"

struct cut {
    const struct seep_profile *from;
    struct seep_profile *to;
    uint32_t *chosen; // sites of `from`
    uint32_t nr_chosen;
    uint32_t *node_of;   // of `from` to `to`; 0: not there, but the root
    uint32_t *module_of; // the same
};

static bool has_less(const struct seep_profile *profile, uint32_t a, uint32_t b) {
    return profile->sites[a].live_bytes < profile->sites[b].live_bytes;
}

// The chosen ones are a heap, the least of them first.
static void sift(const struct seep_profile *profile, uint32_t *heap, uint32_t nr) {
    for (uint32_t at = 0;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < nr; child++)
            if (has_less(profile, heap[child], heap[least]))
                least = child;
        if (least == at)
            return;
        uint32_t kept = heap[at];
        heap[at] = heap[least];
        heap[least] = kept;
        at = least;
    }
}

static void choose(struct cut *cut, uint32_t most) {
    const struct seep_profile *from = cut->from;
    for (uint32_t i = 1; i < from->nr_sites; i++) {
        if (!seep_via_is_heap(from->sites[i].via) || !from->sites[i].counters.allocations)
            continue;
        if (cut->nr_chosen == most && !has_less(from, cut->chosen[0], i))
            continue;
        if (cut->nr_chosen == most) {
            cut->chosen[0] = i;
            sift(from, cut->chosen, most);
            continue;
        }
        uint32_t at = cut->nr_chosen++;
        cut->chosen[at] = i;
        for (; at && has_less(from, cut->chosen[at], cut->chosen[(at - 1) / 2]); at = (at - 1) / 2) {
            uint32_t kept = cut->chosen[at];
            cut->chosen[at] = cut->chosen[(at - 1) / 2];
            cut->chosen[(at - 1) / 2] = kept;
        }
    }
}

static struct seep_error *take_modules(struct cut *cut) {
    const struct seep_profile *from = cut->from;
    struct seep_profile *to = cut->to;
    for (uint32_t i = 0; i < from->nr_nodes; i++)
        if (cut->node_of[i] && from->nodes[i].kind == SEEP_NODE_FRAME)
            cut->module_of[from->nodes[i].module] = 1;
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
        if (!module->path)
            return seep_error_no_memory();
    }
    return NULL;
}

// The stacks of the chosen sites, and one for the rest.
static struct seep_error *take_stacks(struct cut *cut, uint32_t *ret_rest) {
    const struct seep_profile *from = cut->from;
    struct seep_profile *to = cut->to;
    uint32_t nr = 2;
    for (uint32_t i = 0; i < cut->nr_chosen; i++)
        for (uint32_t node = from->sites[cut->chosen[i]].node; node && !cut->node_of[node];
             node = from->nodes[node].parent) {
            cut->node_of[node] = 1;
            nr++;
        }
    struct seep_error *error = take_modules(cut);
    if (error)
        return error;
    to->nodes = seep_arena_alloc(&to->arena, nr, sizeof(*to->nodes));
    if (!to->nodes)
        return seep_error_no_memory();
    to->nodes[to->nr_nodes++] = (struct seep_node){.parent = 0};
    for (uint32_t i = 1; i < from->nr_nodes; i++) { // parents come first
        if (!cut->node_of[i])
            continue;
        struct seep_node node = from->nodes[i];
        node.parent = cut->node_of[node.parent];
        if (node.kind == SEEP_NODE_FRAME)
            node.module = cut->module_of[node.module];
        cut->node_of[i] = to->nr_nodes;
        to->nodes[to->nr_nodes++] = node;
    }
    to->modules[to->nr_modules] = (struct seep_module){.path = REST_NAME, .unloaded_ns = -1};
    *ret_rest = to->nr_nodes;
    to->nodes[to->nr_nodes++] = (struct seep_node){.module = to->nr_modules++};
    return NULL;
}

static void add_counters(struct seep_counters *to, const struct seep_counters *from) {
    to->allocations += from->allocations;
    to->allocated_bytes += from->allocated_bytes;
    to->frees += from->frees;
    to->freed_bytes += from->freed_bytes;
    to->temporary += from->temporary;
    to->peak_bytes += from->peak_bytes; // no more than that at any time
    to->size_min = to->size_min ? SEEP_MIN(to->size_min, from->size_min) : from->size_min;
    to->size_max = SEEP_MAX(to->size_max, from->size_max);
}

static struct seep_error *take_sites(struct cut *cut, uint32_t rest_node) {
    const struct seep_profile *from = cut->from;
    struct seep_profile *to = cut->to;
    to->sites = seep_arena_alloc(&to->arena, (size_t)cut->nr_chosen + 2, sizeof(*to->sites));
    bool *is_chosen = calloc((size_t)from->nr_sites + 1, 1);
    if (!to->sites || !is_chosen) {
        free(is_chosen);
        return seep_error_no_memory();
    }
    to->nr_sites = 1;
    for (uint32_t i = 0; i < cut->nr_chosen; i++) {
        const struct seep_site *site = &from->sites[cut->chosen[i]];
        is_chosen[cut->chosen[i]] = true;
        to->sites[to->nr_sites++] = (struct seep_site){
            .node = cut->node_of[site->node], .via = site->via, .counters = site->counters};
    }
    struct seep_site rest = {.node = rest_node, .via = SEEP_VIA_MALLOC};
    for (uint32_t i = 1; i < from->nr_sites; i++)
        if (!is_chosen[i] && seep_via_is_heap(from->sites[i].via))
            add_counters(&rest.counters, &from->sites[i].counters);
    if (rest.counters.allocations)
        to->sites[to->nr_sites++] = rest;
    free(is_chosen);
    return NULL;
}

static struct seep_error *take_process(struct cut *cut) {
    const struct seep_profile *from = cut->from;
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

static struct seep_error *cut_profile(const struct seep_profile *from, uint32_t nr,
                                      struct seep_profile **ret_profile) {
    struct cut cut = {.from = from};
    uint32_t rest = 0;
    struct seep_error *error = seep_profile_create(&cut.to);
    if (error)
        return error;
    cut.to->nr_modules = cut.to->nr_nodes = 0; // ours are made from the first on
    cut.chosen = calloc((size_t)nr + 1, sizeof(*cut.chosen));
    cut.node_of = calloc((size_t)from->nr_nodes + 1, sizeof(*cut.node_of));
    cut.module_of = calloc((size_t)from->nr_modules + 1, sizeof(*cut.module_of));
    if (!cut.chosen || !cut.node_of || !cut.module_of)
        error = seep_error_no_memory();
    if (!error)
        error = take_process(&cut);
    if (!error)
        choose(&cut, nr);
    if (!error)
        error = take_stacks(&cut, &rest);
    if (!error)
        error = take_sites(&cut, rest);
    free(cut.chosen);
    free(cut.node_of);
    free(cut.module_of);
    if (error) {
        seep_profile_destroy(cut.to);
        return error;
    }
    seep_profile_derive(cut.to);
    *ret_profile = cut.to;
    return NULL;
}

struct seep_error *seep_server_top_make(const struct seep_session *session, uint32_t nr,
                                        struct seep_session **ret_top) {
    struct seep_session *top = NULL;
    struct seep_error *error = seep_session_create(&top);
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        struct seep_profile *profile = NULL;
        error = cut_profile(session->profiles[i], nr, &profile);
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
