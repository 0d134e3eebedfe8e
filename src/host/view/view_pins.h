// SPDX-License-Identifier: BSD-2-Clause
//
// Why the allocator cannot give free memory to the kernel: regions of 2 MiB in which few blocks live, and the
// stack that has blocks in most of them. `seep history --pages` says the same of each moment of a recording;
// this is of the blocks of one profile.
#ifndef SEEP_VIEW_VIEW_PINS_H
#define SEEP_VIEW_VIEW_PINS_H

#include "view/view.h"

#define SEEP_PINS_REGION_BYTES (UINT64_C(2) << 20)

struct seep_view_pins {
    uint64_t nr_regions; // in which a block lives
    uint64_t nr_nearly_empty;
    uint64_t bytes; // live in nearly empty regions
    uint64_t most;  // nearly empty regions in which the node has a block
    uint64_t most_bytes;
    uint32_t node; // of the view's stacks
};

// Blocks of less than a region count. All 0: there is none, or blocks are samples. `process` is an index in
// the session, and one of the view. O(blocks).
SEEP_MUST_CHECK struct seep_error *seep_view_find_pins(const struct seep_view *view, size_t process,
                                                       struct seep_view_pins *ret_pins);

#endif
