// SPDX-License-Identifier: BSD-2-Clause
//
// Events: what a thread did to the heap, one after the other, in a ring of its own in the image
// (SEEP_FLAG_EVENTS). The library writes and counts up `written`; the tool takes and counts up `read`, the
// only word of it that the tool writes. docs/recording.md says the same in words, and has the proof of the
// order.
//
// Invariants
//  - An event is complete before `written` counts it (release store, acquire load by the reader).
//  - A stamp is above that of the thread's event before, and above that of the event before on the same
//  address,
//    whichever thread made that.
//  - A free is written before the block is freed, an allocation after it was had.
//  - Each side treats what the other writes as hostile: the library never reads an event, and a wrong `read`
//  makes it
//    wait for a limited time, or write over what was not read.
#ifndef SEEP_IMAGE_RING_H
#define SEEP_IMAGE_RING_H

#include "image/layout.h"

enum seep_event_kind {
    SEEP_EVENT_NONE,
    SEEP_EVENT_ALLOCATION, // a block came to life
    SEEP_EVENT_FREE,     // SEEP_EVENT_FREE + enum seep_release: it is freed so; realloc: it is given to that
    SEEP_EVENT_KEPT = 8, // the realloc that it was given to has failed
    SEEP_EVENT_WIDE,     // what follows is of a block too large for an entry: address is its size
    SEEP_EVENT_KINDS_NR
};

// 24 bytes. stamp << SEEP_EVENT_KIND_BITS | kind; the address; the heap map entry of the block: its site and
// size.
struct seep_event {
    uint64_t stamp_kind;
    uint64_t address;
    uint64_t entry;
};
#define SEEP_EVENT_KIND_BITS    5
#define SEEP_STAMP_TICKS_SHIFT  4 // of a processor whose counter runs at gigahertz: a stamp is some ns
#define SEEP_EVENT_KIND(event)  ((uint32_t)((event).stamp_kind & ((1u << SEEP_EVENT_KIND_BITS) - 1)))
#define SEEP_EVENT_STAMP(event) ((event).stamp_kind >> SEEP_EVENT_KIND_BITS)

// At the start of a pool page. The events follow in the next page.
struct seep_ring {
    uint64_t written;    // events, ever
    uint64_t capacity;   // events: a power of two, at most SEEP_RING_EVENTS
    uint64_t last_stamp; // of the latest
    uint64_t unused[5];
    uint64_t read; // events, ever
    uint64_t unused_too[7];
};
#define SEEP_RING_EVENTS     8192u
#define SEEP_RING_EVENTS_FEW 1024u // of slots from this one on:
#define SEEP_RING_SLOTS_MANY 64u

// header.ring_dir_page: the page where a table of so many uint32_t begins, the page of each slot's ring; 0:
// none.
#define SEEP_RING_SLOTS 65536u

_Static_assert(sizeof(struct seep_event) == 24, "wire size");
_Static_assert(sizeof(struct seep_ring) == 128, "wire size");

#endif
