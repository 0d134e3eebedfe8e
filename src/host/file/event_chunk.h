// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of a recording: the EVENTS section of a trace (docs/trace-format.md). Each is decoded by itself.
// Columns, in which a model of the program says most of what comes: the site after the site, the size of the
// site, the address that was given back last; a free names its allocation by the distance to it.
#ifndef SEEP_FILE_EVENT_CHUNK_H
#define SEEP_FILE_EVENT_CHUNK_H

#include "base/error.h"
#include "base/records.h"
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

// In the order of `events`. false: out of memory.
SEEP_MUST_CHECK bool seep_chunk_put(struct seep_put *put, const struct seep_chunk *chunk,
                                    const struct seep_recorded *events);
// What it begins with, and then the events themselves: room for chunk.nr_events, which is at most
// SEEP_CHUNK_EVENTS. false: damaged.
SEEP_MUST_CHECK bool seep_chunk_take(struct seep_take *take, struct seep_chunk *ret_chunk);
SEEP_MUST_CHECK bool seep_chunk_take_events(struct seep_take *take, const struct seep_chunk *chunk,
                                            struct seep_recorded *ret_events);

// When it was, from the start of the process's image.
int64_t seep_chunk_ns(const struct seep_chunk *chunk, uint64_t stamp);

static inline bool seep_event_is_free(uint32_t kind) {
    return kind >= SEEP_EVENT_FREE && kind < SEEP_EVENT_FREE + SEEP_RELEASE_IMPLICIT + 1;
}

#endif
