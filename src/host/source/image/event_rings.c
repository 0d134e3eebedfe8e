// SPDX-License-Identifier: BSD-2-Clause
// Takes events out of rings, see event_rings.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "source/image/event_rings.h"
#include "source/image/image_copy.h"

static bool read_at(int fd, uint64_t off, void *bytes, size_t nr_bytes) {
    return off <= INT64_MAX && pread(fd, bytes, nr_bytes, (off_t)off) == (ssize_t)nr_bytes;
}

bool seep_event_rings_init(int fd, struct seep_event_rings *ret_rings) {
    struct seep_image_header header;
    if (!read_at(fd, 0, &header, sizeof(header)) || !(header.flags & SEEP_FLAG_EVENTS))
        return false;
    struct seep_error *err = seep_image_check_header(&header, "image");
    if (err) {
        seep_error_destroy(err);
        return false;
    }
    const struct seep_image_area *pool = &header.areas[SEEP_AREA_POOL];
    uint64_t nr_pages = pool->size / SEEP_POOL_PAGE;
    uint64_t dir_pages = SEEP_RING_SLOTS * sizeof(uint32_t) / SEEP_POOL_PAGE;
    if (!header.ring_dir_page || header.ring_dir_page >= nr_pages ||
        nr_pages - header.ring_dir_page < dir_pages)
        return false;
    *ret_rings = (struct seep_event_rings){
        .fd = fd,
        .dir_off = pool->off + header.ring_dir_page * SEEP_POOL_PAGE,
        .pool_off = pool->off,
        .pool_bytes = pool->size,
        .threads_off = offsetof(struct seep_image_header, areas) +
                       SEEP_AREA_THREADS * sizeof(struct seep_image_area) +
                       offsetof(struct seep_image_area, used),
    };
    return true;
}

void seep_event_rings_deinit(struct seep_event_rings *rings) {
    free(rings->rings);
    *rings = (struct seep_event_rings){.fd = -1};
}

// One that lies in the pool and is as long as one may be; else it is looked for again the next time.
static void find_ring(struct seep_event_rings *rings, size_t slot) {
    struct seep_event_ring *ring = &rings->rings[slot];
    uint32_t page = 0;
    struct seep_ring head;
    if (!read_at(rings->fd, rings->dir_off + slot * sizeof(page), &page, sizeof(page)) || !page ||
        page >= rings->pool_bytes / SEEP_POOL_PAGE)
        return;
    uint64_t off = rings->pool_off + (uint64_t)page * SEEP_POOL_PAGE;
    if (!read_at(rings->fd, off, &head, sizeof(head)) || !head.capacity || head.capacity > SEEP_RING_EVENTS ||
        head.capacity & (head.capacity - 1))
        return;
    uint64_t room = rings->pool_bytes - (uint64_t)page * SEEP_POOL_PAGE;
    if (room < SEEP_POOL_PAGE + head.capacity * sizeof(struct seep_event))
        return;
    *ring = (struct seep_event_ring){.off = off, .capacity = head.capacity, .read = head.read};
}

bool seep_event_rings_look(struct seep_event_rings *rings) {
    uint64_t nr = 0;
    if (!read_at(rings->fd, rings->threads_off, &nr, sizeof(nr)))
        return true; // truncated by its program: nothing more comes
    nr = SEEP_MIN(nr, (uint64_t)SEEP_RING_SLOTS);
    if (nr > rings->nr_rings) {
        if (!seep_grow(&rings->rings, &rings->capacity, (size_t)nr, sizeof(*rings->rings)))
            return false;
        memset(rings->rings + rings->nr_rings, 0, (nr - rings->nr_rings) * sizeof(*rings->rings));
        rings->nr_rings = (size_t)nr;
    }
    for (size_t i = 0; i < rings->nr_rings; i++)
        if (!rings->rings[i].off)
            find_ring(rings, i);
    return true;
}

size_t seep_event_rings_take(struct seep_event_rings *rings, size_t slot, struct seep_event *ret_events,
                             size_t room) {
    struct seep_event_ring *ring = &rings->rings[slot];
    uint64_t written = 0;
    if (!ring->off ||
        !read_at(rings->fd, ring->off + offsetof(struct seep_ring, written), &written, sizeof(written)))
        return 0;
    uint64_t nr = written - ring->read;
    if (!nr)
        return 0;
    if (nr > ring->capacity) { // overwritten, or no ring at all: what is left of it
        ring->read = written - ring->capacity;
        nr = ring->capacity;
    }
    nr = SEEP_MIN(nr, (uint64_t)room);
    uint64_t first = ring->read & (ring->capacity - 1);
    uint64_t straight = SEEP_MIN(nr, ring->capacity - first);
    uint64_t off = ring->off + SEEP_POOL_PAGE;
    if (!read_at(rings->fd, off + first * sizeof(*ret_events), ret_events, straight * sizeof(*ret_events)) ||
        (nr > straight &&
         !read_at(rings->fd, off, ret_events + straight, (nr - straight) * sizeof(*ret_events))))
        return 0;
    ring->read += nr;
    return (size_t)nr;
}

void seep_event_rings_done(struct seep_event_rings *rings, size_t slot) {
    const struct seep_event_ring *ring = &rings->rings[slot];
    ssize_t done = pwrite(rings->fd, &ring->read, sizeof(ring->read),
                          (off_t)(ring->off + offsetof(struct seep_ring, read)));
    (void)done; // a program that has truncated its image waits its time, and counts
}
