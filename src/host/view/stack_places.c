// SPDX-License-Identifier: BSD-2-Clause
// The places of thousands of stacks, see stack_places.h.
#include <stdlib.h>

#include "base/map.h"
#include "view/stack_places.h"

struct seep_error *seep_stack_places_init(struct seep_stack_places *places, struct seep_stacks *stacks) {
    *places = (struct seep_stack_places){.stacks = stacks,
                                         .of = calloc(stacks->nr_nodes + 1, sizeof(*places->of)),
                                         .outer = calloc(stacks->nr_nodes + 1, sizeof(*places->outer))};
    return places->of && places->outer ? NULL : seep_error_no_memory();
}

void seep_stack_places_deinit(struct seep_stack_places *places) {
    free(places->of);
    free(places->outer);
    free(places->path);
    *places = (struct seep_stack_places){NULL};
}

static uint32_t frame_at(const struct seep_stack_places *places, uint32_t at) {
    return at == SEEP_NO_PLACE ? SEEP_NO_FRAME : places->stacks->nodes[at].frame;
}

// The place of a node. `outer` is the place of its parent.
static struct seep_error *place_of(struct seep_stack_places *places, uint32_t node, uint32_t outer,
                                   uint32_t *ret_place) {
    uint32_t frame = frame_at(places, node), outer_frame = frame_at(places, outer);
    enum seep_blame own = SEEP_BLAME_NR, best = SEEP_BLAME_NR;
    struct seep_error *error = NULL;
    if (outer_frame != SEEP_NO_FRAME)
        error = seep_stacks_least_blame(places->stacks, outer_frame, &best);
    if (!error && frame != SEEP_NO_FRAME && !seep_stacks_is_passed_runtime(places->stacks, frame, best))
        error = seep_stacks_least_blame(places->stacks, frame, &own);
    *ret_place = own < SEEP_BLAME_NR && own <= best ? node : outer;
    return error;
}

// Goes outwards to a node whose place is known, or that is its own place with any caller. Then goes back.
static struct seep_error *find_place(struct seep_stack_places *places, uint32_t node) {
    const struct seep_stacks *stacks = places->stacks;
    size_t nr = 0;
    struct seep_error *error = NULL;
    uint32_t at = node;
    for (; at && !places->of[at]; at = stacks->nodes[at].parent) {
        enum seep_blame least = SEEP_BLAME_NR;
        uint32_t frame = stacks->nodes[at].frame;
        bool is_known =
            frame != SEEP_NO_FRAME && !seep_stacks_is_passed_runtime(stacks, frame, SEEP_BLAME_LINE);
        if (is_known && (error = seep_stacks_least_blame(places->stacks, frame, &least)))
            return error;
        if (least == SEEP_BLAME_LINE) {
            places->of[at] = at;
            break;
        }
        if (!seep_grow(&places->path, &places->path_capacity, nr + 1, sizeof(*places->path)))
            return seep_error_no_memory();
        places->path[nr++] = at;
    }
    uint32_t outer = at ? places->of[at] : SEEP_NO_PLACE;
    while (!error && nr) {
        at = places->path[--nr];
        error = place_of(places, at, outer, &places->of[at]);
        outer = places->of[at];
    }
    return error;
}

// A recursion has thousands of nodes of one place. The caller of the outermost node is the caller of all.
static struct seep_error *find_outer(struct seep_stack_places *places, uint32_t place) {
    size_t nr = 0;
    uint32_t at = place, outer = SEEP_NO_PLACE;
    while (at != SEEP_NO_PLACE) {
        if (places->outer[at]) {
            outer = places->outer[at];
            break;
        }
        uint32_t parent = places->stacks->nodes[at].parent;
        struct seep_error *error = parent ? find_place(places, parent) : NULL;
        if (error)
            return error;
        outer = parent ? places->of[parent] : SEEP_NO_PLACE;
        if (frame_at(places, outer) != frame_at(places, at)) {
            places->outer[at] = outer;
            break;
        }
        at = outer;
        nr++;
    }
    for (at = place; nr; nr--) {
        places->outer[at] = outer;
        at = places->of[places->stacks->nodes[at].parent];
    }
    return NULL;
}

struct seep_error *seep_stack_places_find(struct seep_stack_places *places, uint32_t node,
                                          uint32_t *ret_place, uint64_t *ret_callers) {
    struct seep_error *error = node ? find_place(places, node) : NULL;
    uint32_t at = !error && node ? places->of[node] : SEEP_NO_PLACE;
    *ret_place = frame_at(places, at);
    *ret_callers = 0;
    for (unsigned i = 0; i < SEEP_STACK_CALLERS && !error && at != SEEP_NO_PLACE; i++) {
        error = find_outer(places, at);
        at = error ? at : places->outer[at];
        *ret_callers = seep_hash64(*ret_callers ^ frame_at(places, at));
    }
    return error;
}
