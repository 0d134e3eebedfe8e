// SPDX-License-Identifier: BSD-2-Clause
// Takes events out of rings, see event_rings.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_name.h"
#include "base/map.h"
#include "base/read_at.h"
#include "source/image/event_rings.h"

static bool read_number(const struct seep_event_rings *rings, uint64_t off, uint64_t *ret_number) {
    if (!seep_read_at(rings->fd, off, ret_number, sizeof(*ret_number)))
        return false;
    seep_image_swap_words(&rings->head, ret_number, 1);
    return true;
}

bool seep_event_rings_init(int fd, struct seep_event_rings *ret_rings) {
    struct seep_image_head head;
    if (!seep_image_head_try(fd, &head) || !(head.header.flags & SEEP_FLAG_EVENTS))
        return false;
    const struct seep_image_area *pages = &head.header.areas[SEEP_AREA_PAGES];
    uint64_t nr_pages = pages->size / SEEP_IMAGE_PAGE;
    uint64_t dir_pages = SEEP_RING_SLOTS * sizeof(uint32_t) / SEEP_IMAGE_PAGE;
    uint64_t dir_page = head.header.ring_dir_page;
    if (!dir_page || dir_page >= nr_pages || nr_pages - dir_page < dir_pages)
        return false;
    *ret_rings = (struct seep_event_rings){
        .fd = fd,
        .head = head,
        .dir_off = pages->off + dir_page * SEEP_IMAGE_PAGE,
        .pages_off = pages->off,
        .pages_bytes = pages->size,
    };
    return true;
}

void seep_event_rings_deinit(struct seep_event_rings *rings) {
    free(rings->rings);
    *rings = (struct seep_event_rings){.fd = -1};
}

// Takes a ring that lies in the pages and has a possible capacity. Otherwise the next pass looks for it
// again.
static void find_ring(struct seep_event_rings *rings, size_t slot) {
    struct seep_event_ring *ring = &rings->rings[slot];
    unsigned char entry[sizeof(uint32_t)];
    struct seep_ring head;
    if (!seep_read_at(rings->fd, rings->dir_off + slot * sizeof(entry), entry, sizeof(entry)))
        return;
    uint32_t page = seep_image_u32(&rings->head, entry);
    if (!page || page >= rings->pages_bytes / SEEP_IMAGE_PAGE)
        return;
    uint64_t off = rings->pages_off + (uint64_t)page * SEEP_IMAGE_PAGE;
    if (!seep_read_at(rings->fd, off, &head, sizeof(head)))
        return;
    seep_image_swap_ring(&rings->head, &head);
    if (!head.capacity || head.capacity > SEEP_RING_EVENTS || head.capacity & (head.capacity - 1))
        return;
    uint64_t room = rings->pages_bytes - (uint64_t)page * SEEP_IMAGE_PAGE;
    if (room < SEEP_IMAGE_PAGE + head.capacity * sizeof(struct seep_event))
        return;
    *ring =
        (struct seep_event_ring){.off = off, .capacity = head.capacity, .read = head.read, .done = head.read};
}

bool seep_event_rings_look(struct seep_event_rings *rings) {
    uint64_t nr = 0;
    if (!read_number(rings, rings->head.used_at[SEEP_AREA_THREADS], &nr))
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

// Whether the library has taken over. What it has written out itself since is not to be had here.
static bool is_own(struct seep_event_rings *rings, struct seep_event_ring *ring) {
    struct seep_ring head;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); // behind what was read of its events
    if (!seep_read_at(rings->fd, ring->off, &head, sizeof(head)))
        return false;
    seep_image_swap_ring(&rings->head, &head);
    if (!head.own)
        return false;
    rings->own = true;
    if (head.capacity && head.capacity <= ring->capacity && !(head.capacity & (head.capacity - 1)))
        ring->capacity = head.capacity;
    ring->read = SEEP_MAX(ring->read, head.own - 1);
    return true;
}

// The first time round a ring, each of its pages has to be allocated and zeroed. A page fault takes the
// program as long as a hundred events, so the tool does it: for AHEAD events, and three times as many as were
// written. The pages are mapped only for the call and not touched. They are charged to the tool, and
// `written` is the program's word, so there is a limit.
static void prepare(struct seep_event_rings *rings, size_t slot, uint64_t written) {
    enum { AHEAD = 1024, AHEAD_FIRST = 8192 }; // of the first thread
    enum { BYTES_MOST = 64 << 20 };            // of a process
    struct seep_event_ring *ring = &rings->rings[slot];
    if (ring->prepared >= ring->capacity || (!written && slot))
        return;
    uint64_t ahead = slot ? AHEAD : AHEAD_FIRST;
    if (ring->prepared > 2 * written + ahead / 2)
        return;
    uint64_t until = SEEP_MIN(ring->capacity, 4 * written + ahead);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t at = ring->off + SEEP_IMAGE_PAGE;
    uint64_t from =
        (at + SEEP_MAX(ring->prepared, SEEP_MIN(written, until)) * sizeof(struct seep_event)) & ~(page - 1);
    uint64_t bytes = at + until * sizeof(struct seep_event) - from;
    ring->prepared = until;
    if (bytes > BYTES_MOST - rings->prepared_bytes)
        return;
    rings->prepared_bytes += bytes;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rings->fd, (off_t)from);
    if (map == MAP_FAILED)
        return;
    (void)madvise(map, bytes, MADV_POPULATE_WRITE); // a kernel before 5.14 refuses: then the program does it
    munmap(map, bytes);
}

size_t seep_event_rings_waiting(struct seep_event_rings *rings, size_t slot, bool over) {
    struct seep_event_ring *ring = &rings->rings[slot];
    uint64_t written = 0;
    if (over && ring->off)
        (void)is_own(rings, ring);
    if (!ring->off || !read_number(rings, ring->off + offsetof(struct seep_ring, written), &written))
        return 0;
    if (!over)
        prepare(rings, slot, written);
    uint64_t nr = written - ring->read;
    if (nr > ring->capacity) { // overwritten, or no ring at all: what is left of it
        ring->read = written - ring->capacity;
        nr = ring->capacity;
    }
    return (size_t)nr;
}

size_t seep_event_rings_take(struct seep_event_rings *rings, size_t slot, struct seep_event *ret_events,
                             size_t nr, bool over) {
    struct seep_event_ring *ring = &rings->rings[slot];
    uint64_t first = ring->read & (ring->capacity - 1);
    uint64_t straight = SEEP_MIN(nr, ring->capacity - first);
    uint64_t off = ring->off + SEEP_IMAGE_PAGE;
    if (!seep_read_at(rings->fd, off + first * sizeof(*ret_events), ret_events,
                      straight * sizeof(*ret_events)) ||
        (nr > straight &&
         !seep_read_at(rings->fd, off, ret_events + straight, (nr - straight) * sizeof(*ret_events))))
        return 0;
    if (!over && is_own(rings, ring))
        return 0;
    seep_image_swap_words(&rings->head, &ret_events->stamp_kind, nr * sizeof(*ret_events) / sizeof(uint64_t));
    ring->read += nr;
    return nr;
}

static void write_number(const struct seep_event_rings *rings, uint64_t off, uint64_t number) {
    seep_image_swap_words(&rings->head, &number, 1);
    bool done = seep_write_memory_file(rings->fd, off, &number, sizeof(number));
    (void)done; // a program that has truncated its image waits its time, and counts
}

void seep_event_rings_done(struct seep_event_rings *rings, size_t slot, size_t nr_held) {
    struct seep_event_ring *ring = &rings->rings[slot];
    if (ring->done == ring->read - nr_held)
        return;
    ring->done = ring->read - nr_held;
    write_number(rings, ring->off + offsetof(struct seep_ring, read), ring->done);
}

void seep_event_rings_beat(const struct seep_event_rings *rings, uint64_t beat) {
    write_number(rings, rings->head.ring_beat_at, beat);
}

// As the library does: see expand() in tracee/preload/dump.c.
char *seep_event_rings_rest(const struct seep_event_rings *rings, const char *pattern) {
    char exe[4097] = {0};
    const struct seep_image_area *strings = &rings->head.header.areas[SEEP_AREA_STRINGS];
    uint64_t off = rings->head.header.exe_off;
    if (off < strings->size && !seep_read_at(rings->fd, strings->off + off, exe,
                                             (size_t)SEEP_MIN(strings->size - off, sizeof(exe) - 1)))
        return NULL;
    char *name = NULL;
    size_t bytes;
    FILE *to = open_memstream(&name, &bytes);
    for (const char *at = pattern; to && *at; at++) {
        if (at[0] == '%' && at[1] == 'e')
            fputs(seep_file_name(exe), to), at++;
        else if (at[0] == '%' && at[1] == 'p')
            fprintf(to, "%u", rings->head.header.pid), at++;
        else
            fputc(*at, to);
    }
    if (to && fclose(to) != 0) {
        free(name);
        name = NULL;
    }
    return name;
}
