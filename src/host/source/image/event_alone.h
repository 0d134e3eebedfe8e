// SPDX-License-Identifier: BSD-2-Clause
//
// The events in the file that the library leaves when it records alone (image/raw.h): each thread's stand by
// themselves in it, and the last of each in its ring. They are merged by their stamps into chunks, as the
// tool would have made them.
#ifndef SEEP_SOURCE_IMAGE_EVENT_ALONE_H
#define SEEP_SOURCE_IMAGE_EVENT_ALONE_H

#include "base/error.h"
#include "profile/recorded_events.h"

struct seep_event_alone;

// SEEP_E_UNSUPPORTED where it has no events. `fd` is borrowed as long as it lives: rows are read when their
// turn comes. Memory: the image, at most `most_bytes`, 64 bytes a live block, and rows of a ring for each
// thread.
SEEP_MUST_CHECK struct seep_error *seep_event_alone_create(int fd, const char *name, uint64_t most_bytes,
                                                           struct seep_event_alone **ret_alone);
void seep_event_alone_destroy(struct seep_event_alone *alone); // takes NULL

// CLOCK_REALTIME, in nanoseconds: with the pid it says of which process it is.
uint64_t seep_event_alone_start(const struct seep_event_alone *alone);

// What the rings of a process that has ended had besides, where the file does not have them: in the order of
// their stamps. false: out of memory. Rewind before the next chunk is asked for.
SEEP_MUST_CHECK bool seep_event_alone_add_ring(struct seep_event_alone *alone, uint32_t slot,
                                               const struct seep_recorded *events, size_t nr);

// The next at most SEEP_CHUNK_EVENTS; ret_chunk->nr_events 0: there are none.
SEEP_MUST_CHECK struct seep_error *seep_event_alone_next(struct seep_event_alone *alone,
                                                         struct seep_chunk *ret_chunk,
                                                         struct seep_recorded *ret_events);
// The next chunk is the first again.
SEEP_MUST_CHECK struct seep_error *seep_event_alone_rewind(struct seep_event_alone *alone);
// Rows that made no sense ended the events of their thread there: how many times.
uint64_t seep_event_alone_damaged(const struct seep_event_alone *alone);

#endif
