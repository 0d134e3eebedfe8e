// SPDX-License-Identifier: BSD-2-Clause
//
// The call tree by function: top-down from the outermost frames, or bottom-up from the functions that
// allocate to their callers. A node's total is the sum over the sites below it; children are ordered by it.
//
// Invariant: parent < own id; a node's total is what it has by itself and the totals of its children; the
// total of the root is the sum of all values.
#ifndef SEEP_VIEW_CALL_TREE_H
#define SEEP_VIEW_CALL_TREE_H

#include "view/stack_table.h"

#define SEEP_NO_CALL UINT32_MAX

struct seep_call {
    uint32_t parent;
    uint32_t frame; // of the table: the first that was seen there; not of the root
    uint64_t total;
    uint64_t own;         // of sites whose stacks end here
    uint32_t first_child; // SEEP_NO_CALL: none
    uint32_t next;        // of the same parent
};

struct seep_call_tree {
    const struct seep_stack_table *table; // borrowed
    struct seep_call *calls;              // [0] is the root
    size_t nr_calls;
    size_t capacity;
    uint64_t least; // see seep_call_tree_init
};

// values[i] belongs to the stack nodes[i] of the table; what is 0 is left out. Bottom-up, where stacks share
// little, a tree of whole stacks takes as much memory as all of them together: it ends `depth` frames from
// its root, and at calls that have less than `least_per_mille` of the whole (`least`, at least 1). What lies
// deeper is the own of those. Top-down it is whole.
SEEP_MUST_CHECK struct seep_error *seep_call_tree_init(struct seep_call_tree *tree,
                                                       const struct seep_stack_table *table,
                                                       const uint32_t *nodes, const uint64_t *values,
                                                       size_t nr, bool callers, size_t depth,
                                                       unsigned least_per_mille);
void seep_call_tree_deinit(struct seep_call_tree *tree);

#endif
