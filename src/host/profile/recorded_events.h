// SPDX-License-Identifier: BSD-2-Clause
//
// Events of a recording as the host has them: the same whether the tool took them or the library wrote them.
#ifndef SEEP_PROFILE_RECORDED_EVENTS_H
#define SEEP_PROFILE_RECORDED_EVENTS_H

#include "core/attr.h"
#include "image/ring.h"

struct seep_recorded {
    uint64_t stamp;
    uint64_t address;
    uint64_t size;
    uint32_t site;
    uint32_t slot; // of the thread
    uint32_t kind; // enum seep_event_kind, never WIDE
};

#define SEEP_CHUNK_EVENTS 65536u

// The same moment by the stamps and by CLOCK_MONOTONIC, from the start of the process's image.
struct seep_chunk_clock {
    uint64_t stamp;
    uint64_t at_ns;
};

struct seep_chunk {
    uint32_t pid;
    int64_t start_realtime_ns; // of the process: with the pid it says which of the trace it is
    uint64_t nr_events;
    struct seep_chunk_clock begin, end; // when the tool took the first and the last of it
    int64_t net_bytes;                  // allocated less freed
    int64_t most_bytes;                 // the highest that the sum was within it; never below 0
};

// Whether the event ends a block, whichever function did it.
static inline bool seep_event_is_free(uint32_t kind) {
    return kind >= SEEP_EVENT_FREE && kind < SEEP_EVENT_FREE + SEEP_RELEASE_IMPLICIT + 1;
}

#endif
