// SPDX-License-Identifier: BSD-2-Clause
//
// What the library makes of each area of the image that has pages of its own. A new area is a line in
// areas.c, one in enum seep_area_kind (image/layout.h), behind those that it refers to, and one in the host's
// image_decode.c.
#ifndef SEEP_PRELOAD_AREAS_H
#define SEEP_PRELOAD_AREAS_H

#include "preload/preload.h"

struct seep_area_plan {
    uint64_t most_bytes;    // address space that it has
    uint64_t step_bytes;    // it is opened in these, whole pages of any size
    uint32_t element_bytes; // what the header says; see SEEP_AREA_* for what `used` counts
    bool is_filled;         // `used` elements from its start; else they may lie anywhere in it
    bool shrinks;           // has less where address space is limited
    bool is_inherited;      // `used` elements from its start are copied for a child of fork
};
extern const struct seep_area_plan seep_areas[SEEP_AREA_PAGED_NR];

// Bytes from the start of an area with `used` elements that are filled; 0: they may lie anywhere in it.
SEEP_INLINE uint64_t seep_area_filled_bytes(int area, uint64_t used) {
    return seep_areas[area].is_filled ? used * seep_areas[area].element_bytes : 0;
}

#endif
