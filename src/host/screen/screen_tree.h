// SPDX-License-Identifier: BSD-2-Clause
//
// The call tree of live bytes as the rows of a screen: what is large is open at first, and a row is opened
// and closed by hand.
#ifndef SEEP_SCREEN_SCREEN_TREE_H
#define SEEP_SCREEN_SCREEN_TREE_H

#include "base/map.h"
#include "view/call_tree.h"

struct seep_branch {
    uint32_t call;
    unsigned depth;
    uint64_t key; // of the path from the root, the same from look to look
    bool open;
    bool has_more;
};

struct seep_screen_tree {
    struct seep_stack_table table;
    struct seep_call_tree tree;
    bool made;
    struct seep_branch *branches;
    size_t nr_branches;
    size_t capacity;
    struct seep_map toggled; // by key: 1 where it is not as it would be by itself
};

// Of the rows of a view by site, which must not be cut. Without branches: seep_screen_tree_take lists them.
SEEP_MUST_CHECK struct seep_error *seep_screen_tree_make(struct seep_screen_tree *tree,
                                                         struct seep_view *view);
// Takes one that was made, in place of what `tree` has; what was opened and closed stays so.
SEEP_MUST_CHECK struct seep_error *seep_screen_tree_take(struct seep_screen_tree *tree,
                                                         struct seep_screen_tree *made);
SEEP_MUST_CHECK struct seep_error *seep_screen_tree_toggle(struct seep_screen_tree *tree, size_t branch);
void seep_screen_tree_clear(struct seep_screen_tree *tree); // all but what was opened and closed
void seep_screen_tree_deinit(struct seep_screen_tree *tree);
const char *seep_branch_label(const struct seep_screen_tree *tree, const struct seep_branch *branch);

#endif
