// SPDX-License-Identifier: BSD-2-Clause
// Chains of pointers as text, see holders.h.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/stacks.h"
#include "scan/holders.h"

#define STEPS_MAX  6    // blocks of a chain that are named; of a longer one the middle is left out
#define CHAIN_MAX  4096 // blocks that are followed at all
#define TEXT_BYTES 4096

struct writer {
    struct seep_profile *profile;
    const struct seep_graph *graph;
    const struct seep_root_ranges *ranges;
    struct seep_symbols *symbols;
    struct seep_stacks *stacks;
    uint32_t *nodes; // of the profile to nodes of stacks
    char text[TEXT_BYTES];
    size_t used;
};

static SEEP_PRINTF(2, 3) void put(struct writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int nr = vsnprintf(writer->text + writer->used, TEXT_BYTES - writer->used, format, args);
    va_end(args);
    if (nr > 0)
        writer->used = SEEP_MIN(writer->used + (size_t)nr, (size_t)TEXT_BYTES - 1);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_offset(struct writer *writer, uint32_t off) {
    if (off == UINT32_MAX)
        put(writer, "+4G or more");
    else
        put(writer, "+0x%" PRIx32, off);
}

// ---- roots ----

static struct seep_error *put_data(struct writer *writer, const struct seep_root_range *range, uint64_t address) {
    const char *name = NULL;
    uint64_t off = 0;
    unsigned module;
    struct seep_error *err = seep_symbols_module(writer->symbols, range->path, NULL, 0, &module);
    if (!err)
        err = seep_symbols_variable(writer->symbols, module, address - range->bias_rt, &name, &off);
    if (err)
        return err;
    if (name)
        put(writer, "global %s+0x%" PRIx64 " in %s", name, off, base_name(range->path));
    else
        put(writer, "data of %s+0x%" PRIx64, base_name(range->path), address - range->bias_rt);
    return NULL;
}

static struct seep_error *put_root(struct writer *writer, const struct seep_root_edge *root) {
    const struct seep_root_range *range = &writer->ranges->items[root->range];
    switch (range->kind) {
    case SEEP_ROOT_DATA:
        return put_data(writer, range, root->address);
    case SEEP_ROOT_STACK:
        put(writer, "stack of thread %d", (int)range->tid);
        break;
    case SEEP_ROOT_TLS:
        if (range->tid == 0) {
            put(writer, "stack that glibc keeps for the next thread");
            break;
        }
        put(writer, "thread-local storage of thread %d", (int)range->tid);
        break;
    case SEEP_ROOT_REGISTERS:
        put(writer, "register of thread %d", (int)range->tid);
        break;
    case SEEP_ROOT_REALLOC:
        put(writer, "block that thread %d is reallocating", (int)range->tid);
        break;
    case SEEP_ROOT_MEMORY:
        put(writer, "memory mapped at 0x%" PRIx64 "+0x%" PRIx64, range->start, root->address - range->start);
        break;
    }
    return NULL;
}

// ---- blocks ----

static struct seep_error *put_site(struct writer *writer, uint32_t site) {
    uint32_t frame;
    unsigned inlined;
    struct seep_error *err = seep_stacks_self(writer->stacks, writer->nodes[writer->profile->sites[site].node],
                                              true, &frame, &inlined);
    const struct seep_symbol *symbol = NULL;
    if (!err && frame != SEEP_NO_FRAME)
        err = seep_stacks_resolve(writer->stacks, frame, &symbol);
    if (err || !symbol)
        return err;
    const struct seep_symbol_frame *at = &symbol->frames[inlined];
    const struct seep_stack_frame *where = &writer->stacks->frames[frame];
    if (at->function)
        put(writer, " from %s", at->function);
    else
        put(writer, " from %s+0x%" PRIx64, base_name(writer->stacks->modules[where->module].path), where->offset);
    if (at->file && at->line)
        put(writer, " (%s:%u)", base_name(at->file), at->line);
    return NULL;
}

static struct seep_error *put_block(struct writer *writer, uint32_t block, uint32_t off) {
    const struct seep_block *b = &writer->graph->blocks[block];
    uint8_t kind = writer->graph->kinds[block];
    const char *lost = kind == SEEP_KIND_LOST ? "lost " : "";
    put(writer, "%sblock of %" PRIu64 " B", lost, b->size);
    struct seep_error *err = put_site(writer, b->site);
    put(writer, " ");
    put_offset(writer, off);
    return err;
}

// The holders of `block`, the outermost first. Nothing where nobody holds it.
static struct seep_error *describe(struct writer *writer, uint32_t block) {
    const struct seep_graph *graph = writer->graph;
    uint32_t chain[CHAIN_MAX]; // [0] is the block itself
    size_t nr = 0;
    uint32_t at = block;
    writer->used = 0;
    writer->text[0] = 0;
    for (;;) {
        chain[nr++] = at;
        if (graph->held_by_root[at] || graph->holder[at] == SEEP_NO_BLOCK || nr == CHAIN_MAX)
            break;
        at = graph->holder[at];
    }
    struct seep_error *err = NULL;
    if (graph->held_by_root[at])
        err = put_root(writer, &graph->roots[graph->holder[at]]);
    else if (nr == CHAIN_MAX)
        put(writer, "a chain of more than %d blocks", CHAIN_MAX);
    size_t nr_named = 0;
    for (size_t i = nr - 1; !err && i > 0; i--) {
        if (nr - 1 > STEPS_MAX && nr_named == STEPS_MAX - 2 && i > 2) {
            put(writer, " -> ... %zu blocks ...", i - 2);
            i = 2;
        }
        nr_named++;
        put(writer, "%s", writer->used ? " -> " : "");
        err = put_block(writer, chain[i], graph->holder_off[chain[i - 1]]);
    }
    return err;
}

// ---- sites ----

struct choice {
    uint32_t site;
    uint32_t block;
    uint64_t size;
};

static int larger_first(const void *left, const void *right) {
    const struct choice *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->site > b->site) - (a->site < b->site);
}

// The largest block of each site, of the site's kind. *ret_choices is malloc'ed.
static struct seep_error *choose(const struct seep_profile *profile, struct choice **ret_choices, size_t *ret_nr) {
    struct choice *choices = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*choices));
    if (!choices)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        choices[i] = (struct choice){i, SEEP_NO_BLOCK, 0};
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        struct choice *choice = &choices[profile->blocks[i].site];
        if (profile->block_kinds[i] != profile->sites[choice->site].kind)
            continue;
        if (choice->block == SEEP_NO_BLOCK || profile->blocks[i].size > choice->size) {
            choice->block = (uint32_t)i;
            choice->size = profile->blocks[i].size;
        }
    }
    size_t nr = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        if (choices[i].block == SEEP_NO_BLOCK)
            continue;
        choices[nr] = choices[i];
        choices[nr++].size = profile->sites[i].live_bytes;
    }
    qsort(choices, nr, sizeof(*choices), larger_first);
    *ret_choices = choices;
    *ret_nr = nr;
    return NULL;
}

struct seep_error *seep_holders_describe(struct seep_profile *profile, const struct seep_graph *graph,
                                         const struct seep_root_ranges *ranges, struct seep_symbols *symbols) {
    struct writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return seep_error_no_memory();
    writer->profile = profile;
    writer->graph = graph;
    writer->ranges = ranges;
    writer->symbols = symbols;
    struct choice *choices = NULL;
    size_t nr = 0;
    struct seep_error *err = seep_stacks_create(symbols, &writer->stacks);
    if (!err)
        err = seep_stacks_add(writer->stacks, profile, &writer->nodes);
    if (!err)
        err = choose(profile, &choices, &nr);
    for (size_t i = 0; !err && i < nr && i < SEEP_HELD_SITES_MAX; i++) {
        err = describe(writer, choices[i].block);
        if (err || !writer->used)
            continue;
        profile->sites[choices[i].site].held_by = seep_arena_strdup(&profile->arena, writer->text);
        if (!profile->sites[choices[i].site].held_by)
            err = seep_error_no_memory();
    }
    free(choices);
    free(writer->nodes);
    seep_stacks_destroy(writer->stacks);
    free(writer);
    return err;
}
