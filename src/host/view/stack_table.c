// SPDX-License-Identifier: BSD-2-Clause
// Frames and stacks as tables, see stack_table.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/stack_table.h"
#include "view/stacks.h"

void seep_stack_table_deinit(struct seep_stack_table *table) {
    free(table->frames);
    free(table->nodes);
    seep_ids_deinit(&table->frame_ids);
    seep_ids_deinit(&table->node_ids);
    seep_map_deinit(&table->texts);
    seep_arena_deinit(&table->arena);
}

struct seep_error *seep_stack_filler_init(struct seep_stack_filler *filler, struct seep_stack_table *table,
                                          struct seep_view *view) {
    *filler = (struct seep_stack_filler){.table = table, .view = view};
    filler->nodes = calloc(SEEP_MAX(view->stacks->nr_nodes, (size_t)1), sizeof(*filler->nodes));
    filler->frames = calloc(SEEP_MAX(view->stacks->nr_frames, (size_t)1), sizeof(*filler->frames));
    if (filler->nodes && filler->frames)
        return NULL;
    seep_stack_filler_deinit(filler);
    return seep_error_no_memory();
}

void seep_stack_filler_deinit(struct seep_stack_filler *filler) {
    free(filler->nodes);
    free(filler->frames);
    free(filler->path);
    seep_map_deinit(&filler->kept);
    filler->nodes = NULL;
    filler->frames = NULL;
    filler->path = NULL;
    filler->path_capacity = 0;
}

// One of each text. Texts whose hashes are the same are copied each time.
static struct seep_error *copy(struct seep_stack_table *table, const char *text, const char **ret_text) {
    uint64_t *slot = seep_map_at(&table->texts, seep_hash_bytes(text, strlen(text)), NULL);
    const char *known = slot ? (const char *)(uintptr_t)*slot : NULL;
    if (known && strcmp(known, text) == 0) {
        *ret_text = known;
        return NULL;
    }
    *ret_text = slot ? seep_arena_strdup(&table->arena, text) : NULL;
    if (*ret_text && !known)
        *slot = (uintptr_t)*ret_text;
    return *ret_text ? NULL : seep_error_no_memory();
}

// The table's own copy of a text of the view. Many frames have the same one.
static struct seep_error *keep(struct seep_stack_filler *filler, const char *text, const char **ret_text) {
    *ret_text = NULL;
    if (!text)
        return NULL;
    uint64_t *slot = seep_map_at(&filler->kept, (uintptr_t)text, NULL);
    if (!slot)
        return seep_error_no_memory();
    *ret_text = (const char *)(uintptr_t)*slot;
    struct seep_error *error = *ret_text ? NULL : copy(filler->table, text, ret_text);
    if (!error)
        *slot = (uintptr_t)*ret_text;
    return error;
}

static struct seep_error *add_frame(struct seep_stack_filler *filler, struct seep_view_frame frame,
                                    uint32_t *ret_frame) {
    struct seep_stack_table *table = filler->table;
    struct seep_error *error = keep(filler, frame.function, &frame.function);
    if (!error)
        error = keep(filler, frame.name, &frame.name);
    if (!error)
        error = keep(filler, frame.file, &frame.file);
    if (!error)
        error = keep(filler, frame.module, &frame.module);
    if (!error)
        error = keep(filler, frame.linkage, &frame.linkage);
    if (error)
        return error;
    struct seep_frame_key key = seep_frame_key_of(&frame);
    uint64_t hash = seep_hash_bytes(&key, sizeof(key));
    size_t at;
    uint32_t id = seep_ids_first(&table->frame_ids, hash, &at);
    for (; id != SEEP_NO_ID; id = seep_ids_next(&table->frame_ids, hash, &at)) {
        struct seep_frame_key known = seep_frame_key_of(&table->frames[id].frame);
        if (memcmp(&known, &key, sizeof(key)) == 0) {
            *ret_frame = id;
            return NULL;
        }
    }
    const char *label = frame.name;
    if (!label && strcmp(frame.module, "[jit]") == 0)
        label = seep_arena_printf(&table->arena, "0x%" PRIx64, frame.offset);
    else if (!label)
        label = seep_arena_printf(&table->arena, "%s+0x%" PRIx64, frame.module, frame.offset);
    if (!label || table->nr_frames >= SEEP_NO_STACK - 1 ||
        !seep_grow(&table->frames, &table->frames_capacity, table->nr_frames + 1, sizeof(*table->frames)) ||
        !seep_ids_add(&table->frame_ids, hash, (uint32_t)table->nr_frames))
        return seep_error_no_memory();
    table->frames[table->nr_frames] = (struct seep_table_frame){frame, label};
    *ret_frame = (uint32_t)table->nr_frames++;
    return NULL;
}

// Most nodes have one callee: only others are looked up by what they are.
static struct seep_error *add_node(struct seep_stack_table *table, uint32_t frame, uint32_t caller,
                                   uint32_t *ret_node) {
    uint32_t first = caller == SEEP_NO_STACK ? table->first_root : table->nodes[caller].first_callee;
    if (first && table->nodes[first - 1].frame == frame) {
        *ret_node = first - 1;
        return NULL;
    }
    uint64_t hash = seep_hash64((uint64_t)caller << 32 | frame);
    size_t at;
    uint32_t id = first ? seep_ids_first(&table->node_ids, hash, &at) : SEEP_NO_ID;
    for (; id != SEEP_NO_ID; id = seep_ids_next(&table->node_ids, hash, &at)) {
        if (table->nodes[id].frame == frame && table->nodes[id].caller == caller) {
            *ret_node = id;
            return NULL;
        }
    }
    if (table->nr_nodes >= SEEP_NO_STACK - 1 ||
        !seep_grow(&table->nodes, &table->nodes_capacity, table->nr_nodes + 1, sizeof(*table->nodes)) ||
        (first && !seep_ids_add(&table->node_ids, hash, (uint32_t)table->nr_nodes)))
        return seep_error_no_memory();
    table->nodes[table->nr_nodes] = (struct seep_table_node){frame, caller, 0};
    *ret_node = (uint32_t)table->nr_nodes++;
    if (!first && caller == SEEP_NO_STACK)
        table->first_root = *ret_node + 1;
    else if (!first)
        table->nodes[caller].first_callee = *ret_node + 1;
    return NULL;
}

// All frames of one return address, outermost first, below `caller`.
static struct seep_error *add_address(struct seep_stack_filler *filler, uint32_t frame, uint32_t caller,
                                      uint32_t *ret_node) {
    struct seep_stacks *stacks = filler->view->stacks;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    uint32_t node = caller, id = 0;
    for (unsigned i = error ? 0 : symbol->nr_frames; !error && i > 0; i--) {
        // Most addresses stand for one frame, which is looked up once.
        bool alone = symbol->nr_frames == 1;
        if (alone && filler->frames[frame]) {
            id = filler->frames[frame] - 1;
        } else {
            error = add_frame(filler, seep_view_frame_of(filler->view, frame, symbol, i - 1), &id);
            if (!error && alone)
                filler->frames[frame] = id + 1;
        }
        if (!error)
            error = add_node(filler->table, id, node, &node);
    }
    *ret_node = node;
    return error;
}

struct seep_error *seep_stack_filler_add(struct seep_stack_filler *filler, const struct seep_view_row *row,
                                         uint32_t *ret_node) {
    const struct seep_stack_node *nodes = filler->view->stacks->nodes;
    *ret_node = SEEP_NO_STACK;
    // From the last ancestor that is there inward: the path is written down on the way out.
    size_t nr = 0;
    uint32_t node = row->node;
    for (; node && !filler->nodes[node]; node = nodes[node].parent) {
        if (!seep_grow(&filler->path, &filler->path_capacity, nr + 1, sizeof(*filler->path)))
            return seep_error_no_memory();
        filler->path[nr++] = node;
    }
    uint32_t at = node ? filler->nodes[node] - 1 : SEEP_NO_STACK;
    struct seep_error *error = NULL;
    while (!error && nr) {
        uint32_t inner = filler->path[--nr];
        if (nodes[inner].frame != SEEP_NO_FRAME)
            error = add_address(filler, nodes[inner].frame, at, &at);
        filler->nodes[inner] = at + 1; // 0 for SEEP_NO_STACK, which is cheap to compute again
    }
    *ret_node = at;
    return error;
}

struct seep_error *seep_stack_table_of(struct seep_stack_table *table, struct seep_view *view,
                                       uint32_t **ret_nodes) {
    struct seep_stack_filler filler;
    uint32_t *nodes = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*nodes));
    if (!nodes)
        return seep_error_no_memory();
    struct seep_error *error = seep_stack_filler_init(&filler, table, view);
    if (!error) {
        for (size_t i = 0; !error && i < view->nr_rows; i++)
            error = seep_stack_filler_add(&filler, &view->rows[i], &nodes[i]);
        seep_stack_filler_deinit(&filler);
    }
    if (error) {
        free(nodes);
        return error;
    }
    *ret_nodes = nodes;
    return NULL;
}
