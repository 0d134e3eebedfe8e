// SPDX-License-Identifier: BSD-2-Clause
// A copy of the image of a recorded process without its rings, see image_source.h. The places of the rings
// are what the program says: at worst its report lacks what lies there.
#include <stdlib.h>

#include "source/image/event_rings.h"
#include "source/image/image_source.h"

static int compare_rings(const void *left, const void *right) {
    const struct seep_event_ring *a = left, *b = right;
    return (a->off > b->off) - (a->off < b->off);
}

struct seep_error *seep_image_copy_around_rings(struct seep_image_copy *copy,
                                                const struct seep_image_source *source, uint64_t at,
                                                uint64_t end, seep_image_copy_part *part, bool *ret_short) {
    struct seep_event_rings rings;
    if (!seep_event_rings_init(source->fd, &rings))
        return part(copy, source, at, end, ret_short);
    struct seep_error *err = seep_event_rings_look(&rings) ? NULL : seep_error_no_memory();
    if (rings.nr_rings)
        qsort(rings.rings, rings.nr_rings, sizeof(*rings.rings), compare_rings);
    for (size_t i = 0; !err && i < rings.nr_rings; i++) {
        const struct seep_event_ring *ring = &rings.rings[i];
        uint64_t start = ring->off + SEEP_IMAGE_PAGE;
        if (!ring->off || start < at)
            continue;
        err = part(copy, source, at, SEEP_MIN(start, end), ret_short);
        at = (start + ring->capacity * sizeof(struct seep_event)) & ~(uint64_t)(SEEP_IMAGE_PAGE - 1);
    }
    if (!err)
        err = part(copy, source, at, end, ret_short);
    seep_event_rings_deinit(&rings);
    return err;
}
