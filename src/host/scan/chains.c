// SPDX-License-Identifier: BSD-2-Clause
// Names for roots and blocks, see chains.h.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/chains.h"

#define STEPS_MAX 6    // blocks of a chain that are named; of a longer one the middle is left out
#define CHAIN_MAX 4096 // blocks that are followed at all

void seep_chains_put(struct seep_chains *chains, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int nr = vsnprintf(chains->text + chains->used, SEEP_CHAIN_TEXT_BYTES - chains->used, format, args);
    va_end(args);
    if (nr > 0)
        chains->used = SEEP_MIN(chains->used + (size_t)nr, (size_t)SEEP_CHAIN_TEXT_BYTES - 1);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void seep_chains_put_offset(struct seep_chains *chains, uint32_t off) {
    if (off == UINT32_MAX)
        seep_chains_put(chains, "+4G or more");
    else
        seep_chains_put(chains, "+0x%" PRIx32, off);
}

// ---- roots ----

static struct seep_error *put_data(struct seep_chains *chains, const struct seep_root_range *range,
                                   uint64_t address, bool place) {
    const char *name = NULL;
    uint64_t off = 0;
    unsigned module;
    struct seep_error *err = seep_symbols_module(chains->symbols, range->path, NULL, 0, &module);
    if (!err)
        err = seep_symbols_variable(chains->symbols, module, address - range->bias_rt, &name, &off);
    if (err)
        return err;
    seep_chains_put(chains, name ? "global %s" : "data", name);
    if (name && place)
        seep_chains_put(chains, "+0x%" PRIx64, off);
    seep_chains_put(chains, name ? " in %s" : " of %s", base_name(range->path));
    if (!name && place)
        seep_chains_put(chains, "+0x%" PRIx64, address - range->bias_rt);
    return NULL;
}

struct seep_error *seep_chains_put_root(struct seep_chains *chains, const struct seep_root_edge *root,
                                        bool place) {
    const struct seep_root_range *range = &chains->ranges->items[root->range];
    int tid = (int)range->tid;
    switch (range->kind) {
    case SEEP_ROOT_DATA:
        return put_data(chains, range, root->address, place);
    case SEEP_ROOT_STACK:
        seep_chains_put(chains, "stack of thread %d", tid);
        break;
    case SEEP_ROOT_TLS:
        if (tid)
            seep_chains_put(chains, "thread-local storage of thread %d", tid);
        else
            seep_chains_put(chains, "stack that glibc keeps for the next thread");
        break;
    case SEEP_ROOT_REGISTERS:
        seep_chains_put(chains, place ? "register of thread %d" : "stack of thread %d", tid);
        break;
    case SEEP_ROOT_REALLOC:
        seep_chains_put(chains, place ? "block that thread %d is reallocating" : "stack of thread %d", tid);
        break;
    case SEEP_ROOT_IGNORED:
        seep_chains_put(chains, "seep_ignore() of the program");
        break;
    case SEEP_ROOT_TOLD:
        seep_chains_put(chains, "memory of seep_root_add() at 0x%" PRIx64, range->start);
        if (place)
            seep_chains_put(chains, "+0x%" PRIx64, root->address - range->start);
        break;
    case SEEP_ROOT_MEMORY:
        seep_chains_put(chains, "memory mapped at 0x%" PRIx64, range->start);
        if (place)
            seep_chains_put(chains, "+0x%" PRIx64, root->address - range->start);
        break;
    }
    return NULL;
}

// ---- blocks ----

static struct seep_error *put_site(struct seep_chains *chains, uint32_t site) {
    uint32_t frame;
    unsigned inlined;
    struct seep_error *err = seep_stacks_self(
        chains->stacks, chains->nodes[chains->profile->sites[site].node], true, &frame, &inlined);
    const struct seep_symbol *symbol = NULL;
    if (!err && frame != SEEP_NO_FRAME)
        err = seep_stacks_resolve(chains->stacks, frame, &symbol);
    if (err || !symbol)
        return err;
    const struct seep_symbol_frame *at = &symbol->frames[inlined];
    const struct seep_stack_frame *where = &chains->stacks->frames[frame];
    if (at->function)
        seep_chains_put(chains, " from %s", at->function);
    else
        seep_chains_put(chains, " from %s+0x%" PRIx64, base_name(chains->stacks->modules[where->module].path),
                        where->offset);
    if (at->file && at->line)
        seep_chains_put(chains, " (%s:%u)", base_name(at->file), at->line);
    return NULL;
}

struct seep_error *seep_chains_put_class(struct seep_chains *chains, uint32_t block) {
    static const char before[] = "vtable for ";
    uint64_t vtable = seep_graph_vtable_of(chains->graph, block);
    const struct seep_profile *profile = chains->profile;
    for (uint32_t i = 1; vtable && i < profile->nr_modules; i++) {
        const struct seep_module *module = &profile->modules[i];
        if (vtable < module->start_rt || vtable >= module->end_rt || module->unloaded_ns >= 0)
            continue;
        unsigned id;
        const char *name = NULL;
        uint64_t off;
        struct seep_error *err =
            seep_symbols_module(chains->symbols, module->path, module->build_id, module->build_id_bytes, &id);
        if (!err)
            err = seep_symbols_variable(chains->symbols, id, vtable - module->bias_rt, &name, &off);
        if (err)
            return err;
        if (name && strncmp(name, before, strlen(before)) == 0)
            seep_chains_put(chains, "%s", name + strlen(before));
        else if (name && strncmp(name, "_ZTV", 4) == 0)
            seep_chains_put(chains, "%s", name);
        return NULL;
    }
    return NULL;
}

struct seep_error *seep_chains_put_block(struct seep_chains *chains, uint32_t block) {
    const struct seep_block *b = &chains->graph->blocks[block];
    const char *lost = chains->graph->kinds[block] == SEEP_KIND_LOST ? "lost " : "";
    seep_chains_put(chains, "%sblock of %" PRIu64 " B", lost, b->size);
    size_t before = chains->used;
    seep_chains_put(chains, " (");
    size_t opened = chains->used;
    struct seep_error *err = seep_chains_put_class(chains, block);
    if (chains->used > opened)
        seep_chains_put(chains, ")");
    else
        chains->text[chains->used = before] = 0;
    return err ? err : put_site(chains, b->site);
}

struct seep_error *seep_chains_put_holders(struct seep_chains *chains, uint32_t block) {
    const struct seep_graph *graph = chains->graph;
    uint32_t chain[CHAIN_MAX]; // [0] is the block itself
    size_t nr = 0;
    uint32_t at = block;
    for (;;) {
        chain[nr++] = at;
        if (graph->held_by_root[at] || graph->holder[at] == SEEP_NO_BLOCK || nr == CHAIN_MAX)
            break;
        at = graph->holder[at];
    }
    struct seep_error *err = NULL;
    bool first = true;
    if (graph->held_by_root[at])
        err = seep_chains_put_root(chains, &graph->roots[graph->holder[at]], true);
    else if (nr == CHAIN_MAX)
        seep_chains_put(chains, "a chain of more than %d blocks", CHAIN_MAX);
    else
        first = false; // nothing was put: the first block needs no arrow
    size_t nr_named = 0;
    for (size_t i = nr - 1; !err && i > 0; i--) {
        if (nr - 1 > STEPS_MAX && nr_named == STEPS_MAX - 2 && i > 2) {
            seep_chains_put(chains, " -> ... %zu blocks ...", i - 2);
            i = 2;
        }
        seep_chains_put(chains, "%s", first || nr_named ? " -> " : "");
        nr_named++;
        err = seep_chains_put_block(chains, chain[i]);
        seep_chains_put(chains, " ");
        seep_chains_put_offset(chains, graph->holder_off[chain[i - 1]]);
    }
    return err;
}

// ---- the whole ----

void seep_chains_clear(struct seep_chains *chains) {
    chains->used = 0;
    chains->text[0] = 0;
}

struct seep_error *seep_chains_create(const struct seep_profile *profile, const struct seep_graph *graph,
                                      const struct seep_root_ranges *ranges, struct seep_symbols *symbols,
                                      struct seep_chains **ret_chains) {
    struct seep_chains *chains = calloc(1, sizeof(*chains));
    if (!chains)
        return seep_error_no_memory();
    chains->profile = profile;
    chains->graph = graph;
    chains->ranges = ranges;
    chains->symbols = symbols;
    struct seep_error *err = seep_stacks_create(symbols, &chains->stacks);
    if (!err)
        err = seep_stacks_add(chains->stacks, profile, &chains->nodes);
    if (err) {
        seep_chains_destroy(chains);
        return err;
    }
    *ret_chains = chains;
    return NULL;
}

void seep_chains_destroy(struct seep_chains *chains) {
    if (!chains)
        return;
    free(chains->nodes);
    seep_stacks_destroy(chains->stacks);
    free(chains);
}
