// SPDX-License-Identifier: BSD-2-Clause
// From holders in the graph to chains, see chains.h.
#include <string.h>

#include "scan/chains.h"

#define STEPS_MAX 6    // blocks of a chain that are kept; of a longer one the middle is left out
#define CHAIN_MAX 4096 // blocks that are followed at all
#define LINKS_MAX (STEPS_MAX + 4)

// ---- modules ----

// Paths differ where the loader was told a symbolic link.
static bool is_same(const struct seep_module *a, const struct seep_module *b) {
    return a->bias_rt == b->bias_rt && a->unloaded_ns < 0 && a->start_rt < b->end_rt &&
           b->start_rt < a->end_rt;
}

struct seep_error *seep_chains_add_modules(struct seep_profile *profile, struct seep_root_ranges *ranges) {
    uint32_t nr = profile->nr_modules;
    struct seep_module *modules =
        seep_arena_alloc(&profile->arena, (size_t)nr + ranges->nr_modules, sizeof(*modules));
    if (!modules)
        return seep_error_no_memory();
    memcpy(modules, profile->modules, nr * sizeof(*modules));
    for (size_t i = 0; i < ranges->nr_modules; i++) {
        struct seep_root_module *root = &ranges->modules[i];
        root->id = 1;
        while (root->id < nr && !is_same(&modules[root->id], &root->module))
            root->id++;
        if (root->id < nr)
            continue;
        modules[nr] = root->module;
        modules[nr].path = seep_arena_strdup(&profile->arena, root->module.path);
        if (!modules[nr++].path)
            return seep_error_no_memory();
    }
    profile->modules = modules;
    profile->nr_modules = nr;
    return NULL;
}

static uint32_t module_at(const struct seep_profile *profile, uint64_t address) {
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        const struct seep_module *module = &profile->modules[i];
        if (address >= module->start_rt && address < module->end_rt && module->unloaded_ns < 0)
            return i;
    }
    return 0;
}

// ---- links ----

// The functions whose variable the word of a stack or of a register may be.
static void add_frames(const struct seep_chains *chains, const struct seep_root_edge *root,
                       struct seep_link *link) {
    bool of_register = link->kind == SEEP_LINK_REGISTER;
    uint64_t value = 0;
    if (!chains->kept || link->whole || (link->kind != SEEP_LINK_STACK && !of_register))
        return;
    if (of_register && root->to_off != UINT32_MAX)
        value = chains->graph->blocks[root->target].address + root->to_off;
    struct seep_link_frame frames[SEEP_LINK_FRAMES_MAX];
    size_t nr =
        seep_kept_stacks_find(chains->kept, chains->profile, (pid_t)link->id, root->address, value, frames);
    struct seep_link_frame *copy = nr ? seep_arena_alloc(chains->arena, nr, sizeof(*copy)) : NULL;
    if (!copy)
        return; // the thread is named without them
    memcpy(copy, frames, nr * sizeof(*copy));
    link->frames = copy;
    link->nr_frames = (uint8_t)nr;
    link->at = of_register ? value : root->address;
}

struct seep_link seep_chains_root(const struct seep_chains *chains, const struct seep_root_edge *root,
                                  bool whole) {
    const struct seep_root_range *range = &chains->ranges->items[root->range];
    struct seep_link link = {.whole = whole, .id = (uint32_t)range->tid};
    switch (range->kind) {
    case SEEP_ROOT_DATA:
        link.kind = SEEP_LINK_DATA;
        link.id = chains->ranges->modules[range->module].id;
        link.at = root->address - chains->profile->modules[link.id].bias_rt;
        break;
    case SEEP_ROOT_STACK:
        link.kind = SEEP_LINK_STACK;
        break;
    case SEEP_ROOT_TLS:
        link.kind = range->tid ? SEEP_LINK_TLS : SEEP_LINK_KEPT;
        break;
    case SEEP_ROOT_REGISTERS:
        link.kind = SEEP_LINK_REGISTER;
        break;
    case SEEP_ROOT_REALLOC:
        link.kind = SEEP_LINK_REALLOC;
        break;
    case SEEP_ROOT_IGNORED:
        link.kind = SEEP_LINK_IGNORED;
        break;
    case SEEP_ROOT_TOLD:
    case SEEP_ROOT_MEMORY:
        link.kind = range->kind == SEEP_ROOT_TOLD ? SEEP_LINK_TOLD : SEEP_LINK_MEMORY;
        link.at = range->start;
        link.off = root->address - range->start;
        break;
    }
    add_frames(chains, root, &link);
    return link;
}

struct seep_link seep_chains_block(const struct seep_chains *chains, uint32_t block, uint32_t off,
                                   bool whole) {
    const struct seep_block *at = &chains->graph->blocks[block];
    uint64_t vtable = seep_graph_vtable_of(chains->graph, block);
    uint32_t module = vtable ? module_at(chains->profile, vtable) : 0;
    return (struct seep_link){
        .kind = SEEP_LINK_BLOCK,
        .whole = whole,
        .lost = chains->graph->kinds[block] == SEEP_KIND_LOST,
        .id = at->site,
        .at = at->size,
        .off = whole ? 0 : off,
        .vtable_module = module,
        .vtable = module ? vtable - chains->profile->modules[module].bias_rt : 0,
    };
}

// ---- chains ----

struct seep_error *seep_chains_make(const struct seep_chains *chains, uint32_t block, bool itself,
                                    struct seep_arena *arena, const struct seep_chain **ret_chain) {
    const struct seep_graph *graph = chains->graph;
    uint32_t chain[CHAIN_MAX]; // [0] is the block itself
    struct seep_link links[LINKS_MAX];
    uint32_t nr_links = 0;
    size_t nr = 0;
    uint32_t at = block;
    for (;;) {
        chain[nr++] = at;
        if (graph->held_by_root[at] || graph->holder[at] == SEEP_NO_BLOCK || nr == CHAIN_MAX)
            break;
        at = graph->holder[at];
    }
    if (itself) {
        links[nr_links++] = seep_chains_block(chains, block, 0, true);
        links[nr_links++] = (struct seep_link){.kind = SEEP_LINK_SEVERAL};
    }
    if (graph->held_by_root[at])
        links[nr_links++] = seep_chains_root(chains, &graph->roots[graph->holder[at]], false);
    else if (nr == CHAIN_MAX)
        links[nr_links++] = (struct seep_link){.kind = SEEP_LINK_TOO_LONG, .at = CHAIN_MAX};
    size_t nr_named = 0;
    for (size_t i = nr - 1; i > 0; i--) {
        if (nr - 1 > STEPS_MAX && nr_named == STEPS_MAX - 2 && i > 2) {
            links[nr_links++] = (struct seep_link){.kind = SEEP_LINK_LEFT_OUT, .at = i - 2};
            i = 2;
        }
        links[nr_links++] = seep_chains_block(chains, chain[i], graph->holder_off[chain[i - 1]], false);
        nr_named++;
    }
    *ret_chain = NULL;
    if (!nr_links)
        return NULL;
    struct seep_chain *made = seep_arena_alloc(arena, 1, sizeof(*made));
    struct seep_link *kept = seep_arena_alloc(arena, nr_links, sizeof(*kept));
    if (!made || !kept)
        return seep_error_no_memory();
    memcpy(kept, links, nr_links * sizeof(*kept));
    *made = (struct seep_chain){kept, nr_links};
    *ret_chain = made;
    return NULL;
}
