// SPDX-License-Identifier: BSD-2-Clause
// One block and its surroundings, out of a scan: see inspect.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "base/map.h"
#include "view/chain_words.h"
#include "scan/heap_areas.h"
#include "scan/holders.h"
#include "scan/scan.h"
#include "scan/inspect.h"

// Chains, and what puts them into words.
struct teller {
    const struct seep_chains *chains;
    struct seep_stacks *stacks;
    uint32_t *nodes;
    struct seep_chain_words *words;
};

static void teller_deinit(struct teller *teller) {
    free(teller->words);
    free(teller->nodes);
    seep_stacks_destroy(teller->stacks);
}

static struct seep_error *teller_init(struct teller *teller, const struct seep_chains *chains,
                                      struct seep_symbols *symbols) {
    *teller = (struct teller){.chains = chains, .words = malloc(sizeof(*teller->words))};
    struct seep_error *err = teller->words ? NULL : seep_error_no_memory();
    if (!err)
        err = seep_stacks_create(symbols, &teller->stacks);
    if (!err)
        err = seep_stacks_add(teller->stacks, chains->profile, &teller->nodes);
    if (!err)
        seep_chain_words_init(teller->words, chains->profile, teller->stacks, teller->nodes);
    return err;
}

struct question {
    uint64_t nr_pointers_max;
    struct seep_symbols *symbols;
    struct seep_whois *whois;
};

static struct seep_error *keep_text(struct seep_whois *whois, const char *text, const char **ret_text) {
    *ret_text = seep_arena_strdup(&whois->arena, text);
    return *ret_text ? NULL : seep_error_no_memory();
}

// ---- the block ----

static struct seep_error *add_frame(struct seep_whois *whois, struct seep_whois_stack *stack,
                                    struct seep_whois_frame frame) {
    if (!seep_arena_more(&whois->arena, &stack->frames, stack->nr_frames, 1, sizeof(*stack->frames)))
        return seep_error_no_memory();
    stack->frames[stack->nr_frames++] = frame;
    return NULL;
}

// Texts of symbols live as long as the symbols do, which is longer than the answer.
static struct seep_error *fill_stack(struct seep_whois *whois, struct seep_whois_stack *stack,
                                     struct seep_stacks *stacks, uint32_t node) {
    struct seep_error *err = NULL;
    stack->cut = -1;
    for (; !err && node; node = stacks->nodes[node].parent) {
        const struct seep_stack_node *at = &stacks->nodes[node];
        const struct seep_symbol *symbol = NULL;
        if (at->cut >= 0)
            stack->cut = at->cut;
        if (at->frame == SEEP_NO_FRAME)
            continue;
        err = seep_stacks_resolve(stacks, at->frame, &symbol);
        struct seep_whois_frame frame = {.offset = stacks->frames[at->frame].offset};
        if (!err)
            err = keep_text(whois, stacks->modules[stacks->frames[at->frame].module].path, &frame.module);
        for (unsigned i = 0; !err && i < symbol->nr_frames; i++) {
            frame.function = symbol->frames[i].function;
            frame.file = symbol->frames[i].file;
            frame.line = symbol->frames[i].line;
            frame.inlined = symbol->frames[i].inlined;
            err = add_frame(whois, stack, frame);
        }
    }
    return err;
}

static struct seep_error *fill_block(struct seep_whois *whois, const struct seep_profile *profile,
                                     struct seep_stacks *stacks, const uint32_t *nodes, uint32_t block) {
    const struct seep_site *site = &profile->sites[profile->blocks[block].site];
    whois->place = SEEP_PLACE_BLOCK;
    whois->block = profile->blocks[block];
    whois->via = site->via;
    whois->kind = profile->block_kinds ? profile->block_kinds[block] : SEEP_KIND_UNKNOWN;
    if (whois->block.thread < profile->nr_threads)
        whois->tid = profile->threads[whois->block.thread].tid;
    return fill_stack(whois, &whois->stack, stacks, nodes[site->node]);
}

// What it was, where that is known.
static struct seep_error *fill_freed(struct seep_whois *whois, const struct seep_scan_state *state,
                                     struct teller *teller) {
    const struct seep_site *sites = state->profile->sites;
    if (!state->freed->address)
        return NULL;
    const struct seep_site *from = &sites[state->freed->site];
    const struct seep_site *at = &sites[state->freed->release_site];
    whois->freed = *state->freed;
    whois->freed_via = from->via;
    whois->release_via = at->via;
    struct seep_error *err =
        fill_stack(whois, &whois->freed_stack, teller->stacks, teller->nodes[from->node]);
    return err ? err : fill_stack(whois, &whois->release_stack, teller->stacks, teller->nodes[at->node]);
}

// ---- who points to it ----

static struct seep_error *add_pointer(struct seep_whois *whois, const struct seep_chain_words *words,
                                      uint64_t max, uint64_t address, uint64_t to_off) {
    struct seep_whois_pointer pointer = {.address = address, .to_off = to_off};
    struct seep_error *err = keep_text(whois, words->text, &pointer.from);
    if (!err && !whois->pointers) {
        whois->pointers = seep_arena_alloc(&whois->arena, (size_t)max, sizeof(*whois->pointers));
        if (!whois->pointers)
            err = seep_error_no_memory();
    }
    if (!err)
        whois->pointers[whois->nr_pointers++] = pointer;
    return err;
}

// A word may lie in two root ranges, as a variable in thread-local storage on top of a stack: it is one
// pointer, told as what the first of them is. `told`: the addresses so far.
static struct seep_error *is_first(struct seep_map *told, const struct seep_root_edge *root,
                                   bool *ret_first) {
    *ret_first = true;
    if (!root->address) // registers have none
        return NULL;
    return seep_map_at(told, root->address, ret_first) ? NULL : seep_error_no_memory();
}

static struct seep_error *count_pointers(const struct seep_graph *graph, uint32_t block, uint64_t *ret_nr) {
    struct seep_map told = SEEP_MAP_INIT;
    struct seep_error *err = NULL;
    uint64_t nr = 0;
    for (size_t i = 0; !err && i < graph->nr_roots; i++) {
        bool first = false;
        if (graph->roots[i].target == block)
            err = is_first(&told, &graph->roots[i], &first);
        nr += first;
    }
    for (size_t i = 0; i < graph->nr_edges; i++)
        nr += graph->edges[i].target == block;
    seep_map_deinit(&told);
    *ret_nr = nr;
    return err;
}

static struct seep_error *put_pointer(struct seep_whois *whois, struct seep_chain_words *words, uint64_t max,
                                      const struct seep_link *link, uint64_t address, uint64_t to_off) {
    seep_chain_words_clear(words);
    struct seep_error *err = seep_chain_put_link(words, link);
    return err ? err : add_pointer(whois, words, max, address, to_off);
}

static struct seep_error *fill_pointers(struct seep_whois *whois, struct teller *teller, uint32_t block,
                                        uint64_t max) {
    const struct seep_graph *graph = teller->chains->graph;
    struct seep_map told = SEEP_MAP_INIT;
    struct seep_error *err = count_pointers(graph, block, &whois->nr_pointers_all);
    whois->pointers_known = true;
    max = max ? SEEP_MIN(max, whois->nr_pointers_all) : whois->nr_pointers_all;
    for (size_t i = 0; !err && i < graph->nr_roots && whois->nr_pointers < max; i++) {
        const struct seep_root_edge *root = &graph->roots[i];
        bool first = false;
        if (root->target == block)
            err = is_first(&told, root, &first);
        if (err || !first)
            continue;
        struct seep_link link = seep_chains_root(teller->chains, root, false);
        err = put_pointer(whois, teller->words, max, &link, root->address, root->to_off);
    }
    seep_map_deinit(&told);
    for (uint32_t b = 0; !err && b < graph->nr_blocks && whois->nr_pointers < max; b++) {
        for (uint64_t e = graph->first_edge[b]; !err && e < graph->first_edge[b + 1]; e++) {
            const struct seep_edge *edge = &graph->edges[e];
            if (edge->target != block || whois->nr_pointers == max)
                continue;
            struct seep_link link = seep_chains_block(teller->chains, b, edge->from_off, false);
            err = put_pointer(whois, teller->words, max, &link, graph->blocks[b].address + edge->from_off,
                              edge->to_off);
        }
    }
    return err;
}

// ---- what is no block ----

static struct seep_error *put_code(struct seep_chain_words *words, uint64_t address, const char *path) {
    const struct seep_profile *profile = words->profile;
    struct seep_symbols *symbols = words->stacks->symbols;
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        const struct seep_module *module = &profile->modules[i];
        if (address < module->start_rt || address >= module->end_rt || module->unloaded_ns >= 0)
            continue;
        unsigned id;
        const struct seep_symbol *symbol = NULL;
        struct seep_error *err =
            seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
        if (!err)
            err = seep_symbols_resolve(symbols, id, address - module->bias_rt, true, &symbol);
        if (err)
            return err;
        const struct seep_symbol_frame *frame = &symbol->frames[symbol->nr_frames - 1];
        if (frame->function) {
            seep_chain_put(words, "%s+0x%" PRIx64 " in %s", frame->function, frame->function_offset,
                           module->path);
            return NULL;
        }
    }
    seep_chain_put(words, "%s", path);
    return NULL;
}

static struct seep_error *put_free(struct teller *teller, const struct seep_memory_area *mapping,
                                   uint64_t address) {
    const struct seep_graph *graph = teller->chains->graph;
    uint32_t behind = seep_block_index_from(&graph->index, address + 1);
    seep_chain_put(teller->words, "memory of the allocator, in no live block");
    if (behind == 0 || graph->blocks[behind - 1].address < mapping->start)
        return NULL;
    const struct seep_block *block = &graph->blocks[behind - 1];
    uint64_t further = address - block->address - block->size;
    seep_chain_put(teller->words, "; %" PRIu64 " byte%s behind ", further, seep_plural(further));
    struct seep_link link = seep_chains_block(teller->chains, behind - 1, 0, true);
    return seep_chain_put_link(teller->words, &link);
}

static bool is_of_allocator(struct seep_memory *memory, uint64_t address, bool *ret_is) {
    struct seep_spans spans = {NULL, 0, 0};
    bool fits = seep_heap_areas_find(memory, &spans);
    seep_spans_settle(&spans);
    *ret_is = fits && seep_spans_find(&spans, address) != NULL;
    seep_spans_deinit(&spans);
    return fits;
}

static const struct seep_root_range *find_range(const struct seep_root_ranges *ranges, uint64_t address) {
    for (size_t i = 0; i < ranges->nr_items; i++)
        if (ranges->items[i].start <= address && address < ranges->items[i].end)
            return &ranges->items[i];
    return NULL;
}

static struct seep_error *describe_place(struct seep_whois *whois, struct teller *teller,
                                         struct seep_memory *memory) {
    const struct seep_memory_area *mapping = seep_memory_find(memory, whois->address);
    struct seep_chain_words *words = teller->words;
    const struct seep_root_range *range = find_range(teller->chains->ranges, whois->address);
    struct seep_error *err = NULL;
    bool of_allocator = false;
    seep_chain_words_clear(words);
    if (!mapping) {
        whois->place = SEEP_PLACE_NOTHING;
        seep_chain_put(words, "no memory is mapped there");
    } else if (mapping->of_seep) {
        whois->place = SEEP_PLACE_SEEP;
        seep_chain_put(words, "memory of libseep.so");
    } else if (!is_of_allocator(memory, whois->address, &of_allocator)) {
        return seep_error_no_memory();
    } else if (of_allocator || strcmp(mapping->path, "[heap]") == 0) {
        whois->place = SEEP_PLACE_FREE;
        err = put_free(teller, mapping, whois->address);
    } else if (mapping->executable) {
        whois->place = SEEP_PLACE_CODE;
        err = put_code(words, whois->address, *mapping->path ? mapping->path : "code without a file");
    } else if (range) {
        struct seep_root_edge here = {.address = whois->address,
                                      .range = (uint32_t)(range - teller->chains->ranges->items)};
        whois->place = range->kind == SEEP_ROOT_DATA    ? SEEP_PLACE_DATA
                       : range->kind == SEEP_ROOT_STACK ? SEEP_PLACE_STACK
                                                        : SEEP_PLACE_MAPPING;
        struct seep_link link = seep_chains_root(teller->chains, &here, false);
        err = seep_chain_put_link(words, &link);
        if (range->kind == SEEP_ROOT_MEMORY && *mapping->path)
            seep_chain_put(words, " (%s)", mapping->path);
    } else {
        whois->place = *mapping->path == '/' ? SEEP_PLACE_DATA : SEEP_PLACE_MAPPING;
        seep_chain_put(words, "%s at 0x%" PRIx64 "+0x%" PRIx64 "%s",
                       *mapping->path ? mapping->path : "memory mapped", mapping->start,
                       whois->address - mapping->start,
                       mapping->writable   ? ""
                       : mapping->readable ? ", read only"
                                           : ", without access");
    }
    return err ? err : keep_text(whois, words->text, &whois->what);
}

// ---- the answer ----

static struct seep_error *fill_retained(struct seep_whois *whois, const struct seep_scan_state *state,
                                        uint32_t block) {
    struct seep_holders *holders;
    struct seep_error *err = seep_holders_create(state->chains, &holders);
    if (err)
        return err;
    whois->retained_bytes = holders->dominators->items[block].bytes;
    whois->retained_blocks = holders->dominators->items[block].blocks;
    seep_holders_destroy(holders);
    return NULL;
}

static struct seep_error *tell_block(struct question *question, const struct seep_scan_state *state,
                                     struct teller *teller, uint32_t block) {
    struct seep_whois *whois = question->whois;
    struct seep_chain_words *words = teller->words;
    struct seep_link link = seep_chains_block(teller->chains, block, 0, true);
    struct seep_error *err = fill_block(whois, state->profile, teller->stacks, teller->nodes, block);
    if (!err)
        err = seep_chain_put_class(words, &link);
    if (!err && words->used)
        err = keep_text(whois, words->text, &whois->class_name);
    seep_chain_words_clear(words);
    const struct seep_chain *chain = NULL;
    if (!err)
        err = seep_chains_make(teller->chains, block, false, &whois->arena, &chain);
    if (!err && chain)
        err = seep_chain_put_all(words, chain);
    if (!err && chain)
        err = keep_text(whois, words->text, &whois->held_by);
    if (!err && chain &&
        seep_chains_lead_to_start(teller->chains, block)) // else it is of a part of the block
        err = seep_chain_type(words, &whois->type);
    if (!err && whois->type)
        err = keep_text(whois, whois->type, &whois->type);
    if (!err)
        err = fill_pointers(whois, teller, block, question->nr_pointers_max);
    return err ? err : fill_retained(whois, state, block);
}

static struct seep_error *answer(void *data, const struct seep_scan_state *state) {
    struct question *question = data;
    struct seep_whois *whois = question->whois;
    struct teller teller;
    uint32_t block;
    uint64_t off;
    whois->pid = state->profile->process.pid;
    struct seep_error *err = teller_init(&teller, state->chains, question->symbols);
    if (!err && state->profile->process.exe)
        err = keep_text(whois, state->profile->process.exe, &whois->exe);
    if (!err)
        err = seep_graph_find(state->chains->graph, whois->address, &block, &off)
                  ? tell_block(question, state, &teller, block)
                  : describe_place(whois, &teller, state->memory);
    if (!err && whois->place != SEEP_PLACE_BLOCK)
        err = fill_freed(whois, state, &teller);
    teller_deinit(&teller);
    return err;
}

static struct seep_whois *create(uint64_t address) {
    struct seep_whois *whois = calloc(1, sizeof(*whois));
    if (whois) {
        whois->address = address;
        whois->place = SEEP_PLACE_UNKNOWN;
        whois->stack.cut = -1;
    }
    return whois;
}

struct seep_error *seep_whois_process(pid_t pid, uint64_t address, uint64_t nr_pointers_max,
                                      struct seep_symbols *symbols, struct seep_whois **ret_whois) {
    struct seep_whois *whois = create(address);
    if (!whois)
        return seep_error_no_memory();
    struct question question = {nr_pointers_max, symbols, whois};
    struct seep_scan_options options = {.inspect = answer, .inspect_data = &question, .asked_rt = address};
    struct seep_session *session = NULL;
    struct seep_error *err = seep_scan_process(pid, &options, &session);
    seep_session_destroy(session);
    if (err) {
        seep_whois_destroy(whois);
        return err;
    }
    *ret_whois = whois;
    return NULL;
}

struct seep_error *seep_whois_profile(const struct seep_profile *profile, uint64_t address,
                                      struct seep_symbols *symbols, struct seep_whois **ret_whois) {
    struct seep_whois *whois = create(address);
    if (!whois)
        return seep_error_no_memory();
    struct seep_stacks *stacks = NULL;
    uint32_t *nodes = NULL;
    struct seep_graph *graph = NULL;
    uint32_t block;
    uint64_t off;
    whois->pid = profile->process.pid;
    struct seep_error *err =
        profile->process.exe ? keep_text(whois, profile->process.exe, &whois->exe) : NULL;
    if (!err)
        err = seep_graph_create(profile->blocks, profile->nr_blocks, &graph);
    if (!err)
        err = seep_stacks_create(symbols, &stacks);
    if (!err)
        err = seep_stacks_add(stacks, profile, &nodes);
    if (!err && seep_graph_find(graph, address, &block, &off))
        err = fill_block(whois, profile, stacks, nodes, block);
    else if (!err)
        err = keep_text(
            whois, "in no live block; other memory is described only for a program that runs on this machine",
            &whois->what);
    free(nodes);
    seep_stacks_destroy(stacks);
    seep_graph_destroy(graph);
    if (err) {
        seep_whois_destroy(whois);
        return err;
    }
    *ret_whois = whois;
    return NULL;
}
