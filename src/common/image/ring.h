// SPDX-License-Identifier: BSD-2-Clause
//
// Events: what a thread did to the heap, one after the other, in a ring of its own in the image
// (SEEP_FLAG_EVENTS). The library writes and counts up `written`; the tool takes, and counts up `read`, the
// only word of it that the tool writes, when what it took is in its file. A tool that is gone or stuck is
// taken over from: the library then writes what is in its rings into a file of its own, and says so in `own`.
// docs/recording.md says the same in words, and has the proof of the order.
//
// Invariants
//  - An event is complete before `written` counts it (release store, acquire load by the reader).
//  - A stamp is above that of the thread's event before, and above that of the event before on the same
//  address,
//    whichever thread made that.
//  - A free is written before the block is freed, an allocation after it was had.
//  - Once `own` of any ring is set the tool takes nothing more of the process while that lives: what was not
//    counted in `read` by then is in the library's file, or still in the rings. What is in both has the same
//    stamps.
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

// At the start of an image page. The events follow in the next page.
struct seep_ring {
    uint64_t written;    // events, ever
    uint64_t capacity;   // events: a power of two, at most SEEP_RING_EVENTS
    uint64_t last_stamp; // of the latest
    uint64_t own;        // 0, or 1 + so many events, ever, that the library itself has written to a file
    uint64_t unused[4];
    uint64_t read; // events, ever
    uint64_t unused_too[7];
};
#define SEEP_RING_EVENTS 262144u // at most: 6 MiB
// Threads are few or many: of the slots from the first on, from the fifth on, and so on. The first rings have
// room for bursts of a thread that allocates faster than the tool packs. In 32 bits they have half of it,
// because the address space is small.
#define SEEP_RING_CAPACITY(slot)                                                                             \
    ((slot) < 4u      ? (sizeof(void *) < 8 ? SEEP_RING_EVENTS / 2 : SEEP_RING_EVENTS)                       \
     : (slot) < 64u   ? 16384u                                                                               \
     : (slot) < 1024u ? 4096u                                                                                \
                      : 1024u)

// header.ring_dir_page: the page where a table of so many uint32_t begins, the page of each slot's ring; 0:
// none.
#define SEEP_RING_SLOTS 65536u

_Static_assert(sizeof(struct seep_event) == 24, "wire size");
_Static_assert(sizeof(struct seep_ring) == 128, "wire size");

#endif
