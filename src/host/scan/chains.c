// SPDX-License-Identifier: BSD-2-Clause
// From holders in the graph to chains, see chains.h.
#include <string.h>

#include "scan/chains.h"

#define BLOCKS_MAX 7 // of a chain that are kept; of a longer one the middle is left out, two or more
#define BLOCKS_END 2 // that are kept behind what is left out
#define LINKS_MAX  (BLOCKS_MAX + 4)

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
    case SEEP_ROOT_EPOLL:
        link.kind = SEEP_LINK_EPOLL;
        link.at = range->start;
        break;
    case SEEP_ROOT_TIMER:
        link.kind = SEEP_LINK_TIMER;
        break;
    case SEEP_ROOT_KERNEL:
        link.kind = SEEP_LINK_KERNEL;
        link.at = range->start;
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

static uint64_t arrival(uint32_t to_off) {
    return to_off == UINT32_MAX ? 0 : (uint64_t)to_off + 1;
}

// Where in `block` the pointer leads that holds it, as a link has it.
static uint64_t arrival_of(const struct seep_graph *graph, uint32_t block) {
    uint32_t holder = graph->holder[block], off = graph->holder_off[block];
    if (holder == SEEP_NO_BLOCK)
        return 0;
    if (graph->held_by_root[block])
        return arrival(graph->roots[holder].to_off);
    uint64_t low = graph->first_edge[holder], high = graph->first_edge[holder + 1], end = high;
    while (low < high) { // they are in order of where they lie
        uint64_t middle = low + (high - low) / 2;
        if (graph->edges[middle].from_off < off)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && graph->edges[low].from_off == off; low++)
        if (graph->edges[low].target == block)
            return arrival(graph->edges[low].to_off);
    return 0;
}

bool seep_chains_lead_to_start(const struct seep_chains *chains, uint32_t block) {
    return arrival_of(chains->graph, block) == arrival(0);
}

// Block `i` of a chain, with the pointer to the one before it.
static struct seep_link link_of(const struct seep_chains *chains, const uint32_t *chain, size_t i) {
    const struct seep_graph *graph = chains->graph;
    struct seep_link link = seep_chains_block(chains, chain[i], graph->holder_off[chain[i - 1]], false);
    link.arrival = arrival_of(graph, chain[i]);
    return link;
}

static struct seep_known_block known_of(const struct seep_chains *chains, uint32_t block) {
    struct seep_known_block *kept = chains->known ? &chains->known[block] : NULL;
    if (kept && kept->is_known)
        return *kept;
    struct seep_link link = seep_chains_block(chains, block, 0, false);
    struct seep_known_block known = {.vtable = link.vtable,
                                     .arrival = arrival_of(chains->graph, block),
                                     .vtable_module = link.vtable_module,
                                     .is_known = true};
    if (kept)
        *kept = known;
    return known;
}

// As of link_of(). The chains of a list that has thousands of blocks go through the same ones.
static struct seep_link_step step_of(const struct seep_chains *chains, const uint32_t *chain, size_t i) {
    const struct seep_graph *graph = chains->graph;
    struct seep_known_block known = known_of(chains, chain[i]);
    return (struct seep_link_step){.nr = 1,
                                   .bytes = graph->blocks[chain[i]].size,
                                   .off = graph->holder_off[chain[i - 1]],
                                   .arrival = known.arrival,
                                   .vtable_module = known.vtable_module,
                                   .vtable = known.vtable};
}

// The blocks of a chain from `first` down to `last`, which are left out: what types need, equal ones as one.
// Without it where they are too many.
static struct seep_error *leave_out(const struct seep_chains *chains, const uint32_t *chain, size_t first,
                                    size_t last, struct seep_arena *arena, struct seep_link *ret_link) {
    struct seep_link_step steps[SEEP_LINK_STEPS_MAX];
    uint8_t nr = 0;
    *ret_link = (struct seep_link){.kind = SEEP_LINK_LEFT_OUT, .at = first - last + 1};
    for (size_t i = first; i >= last; i--) {
        struct seep_link_step step = step_of(chains, chain, i), *before = nr ? &steps[nr - 1] : NULL;
        if (before && seep_link_steps_are_same(before, &step)) {
            before->nr++;
            continue;
        }
        if (nr == SEEP_LINK_STEPS_MAX)
            return NULL;
        steps[nr++] = step;
    }
    struct seep_link_step *kept = seep_arena_alloc(arena, nr, sizeof(*kept));
    if (!kept)
        return seep_error_no_memory();
    memcpy(kept, steps, nr * sizeof(*kept));
    ret_link->steps = kept;
    ret_link->nr_steps = nr;
    return NULL;
}

struct seep_error *seep_chains_make(const struct seep_chains *chains, uint32_t block, bool itself,
                                    struct seep_arena *arena, const struct seep_chain **ret_chain) {
    const struct seep_graph *graph = chains->graph;
    uint32_t chain[SEEP_CHAIN_BLOCKS_MAX]; // [0] is the block itself
    struct seep_link links[LINKS_MAX];
    uint32_t nr_links = 0;
    size_t nr = 0;
    uint32_t at = block;
    for (;;) {
        chain[nr++] = at;
        if (graph->held_by_root[at] || graph->holder[at] == SEEP_NO_BLOCK || nr == SEEP_CHAIN_BLOCKS_MAX)
            break;
        at = graph->holder[at];
    }
    if (itself) {
        links[nr_links++] = seep_chains_block(chains, block, 0, true);
        links[nr_links++] = (struct seep_link){.kind = SEEP_LINK_SEVERAL};
    }
    if (graph->held_by_root[at])
        links[nr_links++] = seep_chains_root(chains, &graph->roots[graph->holder[at]], false);
    else if (nr == SEEP_CHAIN_BLOCKS_MAX)
        links[nr_links++] = (struct seep_link){.kind = SEEP_LINK_TOO_LONG, .at = SEEP_CHAIN_BLOCKS_MAX};
    size_t nr_named = 0;
    struct seep_error *err = NULL;
    *ret_chain = NULL;
    for (size_t i = nr - 1; !err && i > 0; i--) {
        if (nr - 1 > BLOCKS_MAX && nr_named == BLOCKS_MAX - BLOCKS_END - 1) {
            err = leave_out(chains, chain, i, BLOCKS_END + 1, arena, &links[nr_links++]);
            i = BLOCKS_END;
        }
        links[nr_links++] = link_of(chains, chain, i);
        nr_named++;
    }
    if (err || !nr_links)
        return err;
    struct seep_chain *made = seep_arena_alloc(arena, 1, sizeof(*made));
    struct seep_link *kept = seep_arena_alloc(arena, nr_links, sizeof(*kept));
    if (!made || !kept)
        return seep_error_no_memory();
    memcpy(kept, links, nr_links * sizeof(*kept));
    *made = (struct seep_chain){kept, nr_links};
    *ret_chain = made;
    return NULL;
}
