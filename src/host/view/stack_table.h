// SPDX-License-Identifier: BSD-2-Clause
//
// Frames and stacks as tables: each distinct frame once, and the stacks as a tree whose nodes name a frame
// and the node of its caller. Formats that many programs read are built of it. Views of several processes
// may be put into one table.
//
// Invariant: a node's caller has a smaller id; equal stacks of one view have one node.
#ifndef SEEP_VIEW_STACK_TABLE_H
#define SEEP_VIEW_STACK_TABLE_H

#include "base/arena.h"
#include "base/ids.h"
#include "base/map.h"
#include "view/view.h"

#define SEEP_NO_STACK UINT32_MAX

// The key of a frame in a view. It has no padding, because it is hashed and compared as bytes.
struct seep_frame_key {
    const char *function;
    const char *file;
    const char *module;
    uint64_t offset;
    uint64_t line;
    uint64_t inlined;
};
static inline struct seep_frame_key seep_frame_key_of(const struct seep_view_frame *frame) {
    return (struct seep_frame_key){frame->function, frame->file, frame->module,
                                   frame->offset,   frame->line, frame->inlined};
}

struct seep_table_frame {
    struct seep_view_frame frame; // texts are the table's own
    const char *label;            // what to call it: its function, or "module+0x12"
};

struct seep_table_node {
    uint32_t frame;
    uint32_t caller;       // SEEP_NO_STACK: none
    uint32_t first_callee; // + 1; 0: none
};

struct seep_stack_table {
    struct seep_table_frame *frames;
    size_t nr_frames;
    size_t frames_capacity;
    struct seep_table_node *nodes;
    size_t nr_nodes;
    size_t nodes_capacity;
    struct seep_ids frame_ids;
    struct seep_ids node_ids; // of those that are not their caller's first
    uint32_t first_root;      // + 1; 0: none
    struct seep_map texts;
    struct seep_arena arena;
};

// Without stacks. _deinit frees it.
#define SEEP_STACK_TABLE_INIT                                                                                \
    { 0 }
void seep_stack_table_deinit(struct seep_stack_table *table);

// The stacks of one view in a table.
struct seep_stack_filler {
    struct seep_stack_table *table;
    struct seep_view *view;
    uint32_t *nodes;      // by node of the view's stacks: node of the table + 1; 0: not there yet
    uint32_t *frames;     // by frame of the view's stacks: its outermost frame of the table + 1, see .c
    struct seep_map kept; // by address of a text of the view: that of the table
    uint32_t *path;       // nodes on the way to one that is added
    size_t path_capacity;
};
// The table and the view must outlive it.
SEEP_MUST_CHECK struct seep_error *seep_stack_filler_init(struct seep_stack_filler *filler,
                                                          struct seep_stack_table *table,
                                                          struct seep_view *view);
void seep_stack_filler_deinit(struct seep_stack_filler *filler);

// The node of the innermost frame of row->node; SEEP_NO_STACK for a stack without frames.
SEEP_MUST_CHECK struct seep_error *seep_stack_filler_add(struct seep_stack_filler *filler,
                                                         const struct seep_view_row *row, uint32_t *ret_node);

// All rows of a view by site: (*ret_nodes)[i] is the node of view->rows[i]; malloc'ed, the caller frees it.
SEEP_MUST_CHECK struct seep_error *seep_stack_table_of(struct seep_stack_table *table, struct seep_view *view,
                                                       uint32_t **ret_nodes);

#endif
