// SPDX-License-Identifier: BSD-2-Clause
// A copy of the image of a recorded process without its rings and stamps, see image_source.h. The program
// says where both are. If it says so wrongly, its own report lacks what lies there, and no more.
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "source/image/event_rings.h"
#include "source/image/image_reader.h"
#include "source/image/image_source.h"

// Whole pages that the copy does not have.
struct left_out {
    uint64_t start, end;
};

struct left_outs {
    struct left_out *items;
    size_t nr, capacity;
};

static int compare_items(const void *left, const void *right) {
    const struct left_out *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static bool leave_out(struct left_outs *outs, uint64_t start, uint64_t end) {
    if (!seep_grow(&outs->items, &outs->capacity, outs->nr + 1, sizeof(*outs->items)))
        return false;
    outs->items[outs->nr++] = (struct left_out){start, end};
    return true;
}

static bool leave_out_rings(struct left_outs *outs, const struct seep_event_rings *rings) {
    for (size_t i = 0; i < rings->nr_rings; i++) {
        const struct seep_event_ring *ring = &rings->rings[i];
        uint64_t start = ring->off + SEEP_IMAGE_PAGE;
        uint64_t end =
            (start + ring->capacity * sizeof(struct seep_event)) & ~(uint64_t)(SEEP_IMAGE_PAGE - 1);
        if (ring->off && !leave_out(outs, start, end))
            return false;
    }
    return true;
}

// The second plane of each leaf that the directory names. The directory is not trusted: a leaf has at least
// one page of data, so there are no more leaves than pages.
static bool leave_out_stamps(struct left_outs *outs, const struct seep_image_source *source,
                             const struct seep_image_head *head) {
    const struct seep_image_header *header = &head->header;
    const struct seep_image_area *directory = &header->areas[SEEP_AREA_DIR];
    uint64_t pages_off = header->areas[SEEP_AREA_PAGES].off, plane = seep_image_leaf_bytes(header);
    uint64_t at = directory->off, end = at + seep_image_dir_bytes(header), stop = 0;
    size_t most = outs->nr + source->data_bytes / SEEP_IMAGE_PAGE;
    unsigned char bytes[SEEP_IMAGE_PAGE];
    while (plane % SEEP_IMAGE_PAGE == 0 && seep_image_source_data(source, at, end, &at, &stop))
        for (ssize_t got; at < stop; at += (uint64_t)got) {
            got = pread(source->fd, bytes, SEEP_MIN(stop - at, (uint64_t)sizeof(bytes)), (off_t)at);
            if (got < (ssize_t)sizeof(uint32_t) || got % (ssize_t)sizeof(uint32_t))
                return true;
            for (ssize_t i = 0; i < got; i += (ssize_t)sizeof(uint32_t)) {
                uint64_t page = seep_image_u32(head, bytes + i), leaf = pages_off + page * SEEP_IMAGE_PAGE;
                if (page && (outs->nr == most || !leave_out(outs, leaf + plane, leaf + 2 * plane)))
                    return outs->nr == most;
            }
        }
    return true;
}

struct seep_error *seep_image_copy_around_rings(struct seep_image_copy *copy,
                                                const struct seep_image_source *source,
                                                const struct seep_image_head *head, uint64_t at, uint64_t end,
                                                seep_image_copy_part *part, bool *ret_short) {
    struct seep_event_rings rings;
    if (!seep_event_rings_init(source->fd, &rings))
        return part(copy, source, at, end, ret_short);
    struct left_outs outs = {NULL, 0, 0};
    bool fits = seep_event_rings_look(&rings) && leave_out_rings(&outs, &rings) &&
                leave_out_stamps(&outs, source, head);
    struct seep_error *err = fits ? NULL : seep_error_no_memory();
    if (outs.nr)
        qsort(outs.items, outs.nr, sizeof(*outs.items), compare_items);
    for (size_t i = 0; !err && i < outs.nr; i++) {
        if (outs.items[i].start < at || outs.items[i].end < outs.items[i].start)
            continue;
        err = part(copy, source, at, SEEP_MIN(outs.items[i].start, end), ret_short);
        at = outs.items[i].end;
    }
    if (!err)
        err = part(copy, source, at, end, ret_short);
    free(outs.items);
    seep_event_rings_deinit(&rings);
    return err;
}
