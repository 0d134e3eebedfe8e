// SPDX-License-Identifier: BSD-2-Clause
//
// The places of thousands of stacks. Each node of the tree is looked at once, however many stacks it is in.
#ifndef SEEP_VIEW_STACK_PLACES_H
#define SEEP_VIEW_STACK_PLACES_H

#include "view/stacks.h"

struct seep_stack_places {
    struct seep_stacks *stacks; // borrowed
    uint32_t *of;               // by node: the node of its place; 0: not asked yet
    uint32_t *outer;            // by node of a place: the place that called it; 0: not asked yet
    uint32_t *path;
    size_t path_capacity;
};

#define SEEP_NO_PLACE UINT32_MAX

// Resolves names. `places` is empty before (all bits 0). seep_stack_places_deinit takes an empty one, too.
SEEP_MUST_CHECK struct seep_error *seep_stack_places_init(struct seep_stack_places *places,
                                                          struct seep_stacks *stacks);
void seep_stack_places_deinit(struct seep_stack_places *places);

// *ret_place: the frame that seep_stacks_blamed names; SEEP_NO_FRAME: there is none. *ret_callers is equal
// for two stacks of one place if their next SEEP_STACK_CALLERS places outwards are equal. Recursion is passed
// over.
#define SEEP_STACK_CALLERS 4u
SEEP_MUST_CHECK struct seep_error *seep_stack_places_find(struct seep_stack_places *places, uint32_t node,
                                                          uint32_t *ret_place, uint64_t *ret_callers);

#endif
