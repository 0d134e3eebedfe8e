// SPDX-License-Identifier: BSD-2-Clause
// Who holds nearly empty regions, see view_pins.h. Blocks come by address, so those of a region are in a row.
#include <stdlib.h>

#include "view/stacks.h"
#include "view/view_pins.h"

#define NEARLY_EMPTY_PART 10u // a tenth, as of a recording (session/recording_history.c)

struct node_pins {
    uint64_t regions;
    uint64_t bytes;
    uint64_t last; // region + 1
};

struct counting {
    const struct seep_view *view;
    const struct seep_profile *profile;
    const uint32_t *nodes;
    struct node_pins *of; // by node
    struct seep_view_pins pins;
};

static uint64_t region_of(const struct seep_block *block) {
    return block->address / SEEP_PINS_REGION_BYTES;
}

static uint32_t node_of(const struct counting *counting, const struct seep_block *block) {
    uint32_t node = counting->nodes[counting->profile->sites[block->site].node];
    return counting->view->alike ? counting->view->alike[node] : node;
}

// Blocks [from, end) are those of one region.
static void add_region(struct counting *counting, size_t from, size_t end) {
    const struct seep_block *blocks = counting->profile->blocks;
    struct seep_view_pins *pins = &counting->pins;
    uint64_t bytes = 0, region = region_of(&blocks[from]);
    for (size_t i = from; i < end; i++)
        bytes += SEEP_MIN(blocks[i].size, SEEP_PINS_REGION_BYTES);
    pins->nr_regions++;
    if (bytes > SEEP_PINS_REGION_BYTES / NEARLY_EMPTY_PART)
        return;
    pins->nr_nearly_empty++;
    pins->bytes += bytes;
    for (size_t i = from; i < end; i++) {
        uint32_t node = node_of(counting, &blocks[i]);
        struct node_pins *of = &counting->of[node];
        of->regions += of->last != region + 1;
        of->last = region + 1;
        of->bytes += blocks[i].size;
        if (of->regions > pins->most || (of->regions == pins->most && of->bytes > pins->most_bytes)) {
            pins->most = of->regions;
            pins->node = node;
            pins->most_bytes = of->bytes;
        }
    }
}

struct seep_error *seep_view_find_pins(const struct seep_view *view, size_t process,
                                       struct seep_view_pins *ret_pins) {
    const struct seep_profile *profile = view->session->profiles[process];
    struct counting counting = {
        .view = view, .profile = profile, .nodes = view->nodes[process - view->first_process]};
    *ret_pins = counting.pins;
    if (profile->health.sample_bytes || !profile->nr_blocks)
        return NULL;
    counting.of = calloc(view->stacks->nr_nodes, sizeof(*counting.of));
    if (!counting.of)
        return seep_error_no_memory();
    for (size_t from = 0, end; from < profile->nr_blocks; from = end) {
        for (end = from + 1; end < profile->nr_blocks &&
                             region_of(&profile->blocks[end]) == region_of(&profile->blocks[from]);)
            end++;
        add_region(&counting, from, end);
    }
    free(counting.of);
    *ret_pins = counting.pins;
    return NULL;
}
