// SPDX-License-Identifier: BSD-2-Clause
//
// The rings of a recorded process (image/ring.h), as the tool takes events out of them. The image is hostile:
// it is read by read calls and never through a map, every number in it is checked, and an impossible ring
// counts as empty.
#ifndef SEEP_SOURCE_IMAGE_EVENT_RINGS_H
#define SEEP_SOURCE_IMAGE_EVENT_RINGS_H

#include <sys/types.h>

#include "source/image/image_decode.h"

struct seep_event_ring {
    uint64_t off; // in the file; 0: not there yet
    uint64_t capacity;
    uint64_t read;     // what was taken
    uint64_t done;     // as told to the program
    uint64_t prepared; // events, from the first of the ring on, whose pages are in memory
};

struct seep_event_rings {
    int fd;                      // borrowed
    struct seep_image_head head; // as it was at first
    uint64_t dir_off;
    uint64_t pages_off;
    uint64_t pages_bytes;
    struct seep_event_ring *rings; // by slot
    size_t nr_rings;
    size_t capacity;
    uint64_t prepared_bytes; // of all rings of the process
    bool own;                // the library has taken over: see image/ring.h
};

// false: no image that records events.
SEEP_MUST_CHECK bool seep_event_rings_init(int fd, struct seep_event_rings *ret_rings);
void seep_event_rings_deinit(struct seep_event_rings *rings);

// Learns of threads that have come; false: out of memory.
SEEP_MUST_CHECK bool seep_event_rings_look(struct seep_event_rings *rings);

// How many events of a slot wait. `over`: the process has ended, and what its library has not written itself
// is to be had.
size_t seep_event_rings_waiting(struct seep_event_rings *rings, size_t slot, bool over);
// Takes so many of them, or none. They stay in the ring until seep_event_rings_done(), which is told how many
// of those that were taken are not done with yet.
size_t seep_event_rings_take(struct seep_event_rings *rings, size_t slot, struct seep_event *ret_events,
                             size_t nr, bool over);
// Gives their room back to the library, which may overwrite it. No system call if nothing has changed.
void seep_event_rings_done(struct seep_event_rings *rings, size_t slot, size_t nr_held);

// The name that the library of the process makes of a pattern (SEEP_OUT), malloc'ed; NULL: not known.
char *seep_event_rings_rest(const struct seep_event_rings *rings, const char *pattern);

// Tells the program that its events are taken: `beat` grows.
void seep_event_rings_beat(const struct seep_event_rings *rings, uint64_t beat);

#endif
