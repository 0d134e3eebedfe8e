// SPDX-License-Identifier: BSD-2-Clause
// Where outputs get the events of a recording from: a walk over its chunks that the caller makes.
#ifndef SEEP_OUTPUT_EVENT_SOURCE_H
#define SEEP_OUTPUT_EVENT_SOURCE_H

#include "base/error.h"
#include "profile/recorded_events.h"

// `next` NULL: there are none.
struct seep_event_source {
    void *data;
    // The next chunk is the first. Those may be left out that have no event of that time.
    struct seep_error *(*rewind)(void *data, int64_t from_ns, int64_t to_ns);
    // *ret_chunk NULL: no more. Valid until the next call.
    struct seep_error *(*next)(void *data, const struct seep_chunk **ret_chunk,
                               const struct seep_recorded **ret_events);
    int64_t (*time)(const struct seep_chunk *chunk, uint64_t stamp);
    // The data of a second walk over the same events, for close().
    struct seep_error *(*again)(void *data, void **ret_data);
    void (*close)(void *data);
};

#endif
