// SPDX-License-Identifier: BSD-2-Clause
//
// The call tree of a page: texts, functions, frames and nodes, each once, from any number of views. A node is
// (caller's node, frame), a frame (function, file, line, inlined), a function (name, module), or (module,
// offset) where it has no name. Stacks that differ in return addresses alone are one path.
//
// Invariant: node 0 is the root; parent < own id, and so for texts (0 is "not known").
#ifndef SEEP_PAGE_PAGE_TREE_H
#define SEEP_PAGE_PAGE_TREE_H

#include "base/arena.h"
#include "base/ids.h"
#include "base/map.h"
#include "page/page_column.h"
#include "view/view.h"

struct seep_page_tree {
    struct seep_texts texts;
    struct seep_arena arena; // of the texts, because a view may be destroyed before the page is made
    struct seep_map functions;
    struct seep_map places; // (function, file)
    struct seep_map frames;
    struct seep_page_child {
        uint32_t frame;
        uint32_t node; // 0: none
    } * first;         // by node: its first child; the others are in `nodes`, by caller and frame
    size_t first_capacity;
    struct seep_map nodes;
    struct seep_page_known {
        const char *function, *file;
        uint32_t module; // text
        uint32_t line;
        bool inlined;
        uint32_t frame;
    } * known; // frames by the addresses of their texts, which views have from the same symbols
    size_t nr_known;
    size_t known_capacity;
    struct seep_ids known_ids;
    bool full_names; // else as people read them
    uint32_t nr_functions;
    uint32_t nr_places;
    uint32_t nr_frames;
    uint32_t nr_nodes;
    struct seep_page_column function_names; // the difference to the one before
    struct seep_page_column function_modules;
    struct seep_page_column function_offsets; // 0: it has a name
    struct seep_page_column frame_functions;  // the difference to the one before
    struct seep_page_column frame_files;
    struct seep_page_file {
        uint32_t text; // what it is called
        const char *path;
    } * files; // of frames; borrowed from the symbols
    size_t nr_files;
    size_t files_capacity;
    struct seep_map file_ids;             // by text
    struct seep_page_column frame_lines;  // line << 1 | inlined
    struct seep_page_column node_parents; // own id - parent's
    uint32_t *node_frames;                // by node
    size_t node_frames_capacity;
    uint32_t last_name;
    uint32_t last_function;
};

// What of a view is in the tree already.
struct seep_page_branch {
    struct seep_view *view; // borrowed
    uint32_t *nodes;        // by node of the view's stacks: id + 1, 0: not yet
    struct seep_page_span {
        uint32_t begin; // in frames
        uint32_t nr;    // 0: not yet
    } * spans;          // by frame of the view's stacks
    uint32_t *frames;   // ids, outermost first
    size_t nr_frames;
    size_t frames_capacity;
    uint32_t *path;
    size_t path_capacity;
};

SEEP_MUST_CHECK struct seep_error *seep_page_tree_init(struct seep_page_tree *ret_tree);
void seep_page_tree_deinit(struct seep_page_tree *tree);
// 0 for NULL.
SEEP_MUST_CHECK struct seep_error *seep_page_tree_text(struct seep_page_tree *tree, const char *text,
                                                       uint32_t *ret_id);

SEEP_MUST_CHECK struct seep_error *seep_page_branch_init(struct seep_page_branch *branch,
                                                         struct seep_view *view);
void seep_page_branch_deinit(struct seep_page_branch *branch); // of zeros, too
// The node of the row's stack.
SEEP_MUST_CHECK struct seep_error *seep_page_branch_node(struct seep_page_tree *tree,
                                                         struct seep_page_branch *branch,
                                                         const struct seep_view_row *row, uint32_t *ret_node);
// The innermost node of the row's stack that is in the tree already.
uint32_t seep_page_branch_known(const struct seep_page_branch *branch, const struct seep_view_row *row);
// The child of `parent` that is no function but words; *ret_frame is its frame.
SEEP_MUST_CHECK struct seep_error *seep_page_tree_words(struct seep_page_tree *tree, uint32_t parent,
                                                        const char *words, uint32_t *ret_node,
                                                        uint32_t *ret_frame);
// The frame that the row is attributed to by function, file and line; 0 where there is none, else id + 1.
SEEP_MUST_CHECK struct seep_error *seep_page_branch_self(struct seep_page_tree *tree,
                                                         struct seep_page_branch *branch,
                                                         const struct seep_view_row *row,
                                                         uint32_t *ret_frame);

#endif
