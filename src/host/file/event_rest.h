// SPDX-License-Identifier: BSD-2-Clause
//
// The files that the library wrote for a recording when its tool was gone: NAME.PID beside the trace, each
// with the events that the trace lacks and the image of its process. They are read as the end of the trace.
#ifndef SEEP_FILE_EVENT_REST_H
#define SEEP_FILE_EVENT_REST_H

#include "base/error.h"
#include "profile/recorded_events.h"

struct seep_event_rests;

SEEP_MUST_CHECK struct seep_error *seep_event_rests_create(struct seep_event_rests **ret_rests);
void seep_event_rests_destroy(struct seep_event_rests *rests); // takes NULL

// Tells which events the trace has, chunk by chunk: they are not given a second time. May be called again
// after a rewind.
SEEP_MUST_CHECK struct seep_error *seep_event_rests_pass(struct seep_event_rests *rests,
                                                         const struct seep_chunk *chunk,
                                                         const struct seep_recorded *events);
// Behind the last chunk of the trace at `path`: the files that go on from it. Does something once.
SEEP_MUST_CHECK struct seep_error *seep_event_rests_find(struct seep_event_rests *rests, const char *path);
// The next of their events, at most SEEP_CHUNK_EVENTS; ret_chunk->nr_events 0: there are none.
SEEP_MUST_CHECK struct seep_error *seep_event_rests_next(struct seep_event_rests *rests,
                                                         struct seep_chunk *ret_chunk,
                                                         struct seep_recorded *ret_events);
void seep_event_rests_rewind(struct seep_event_rests *rests);

// The name of the i-th of them, and when the trace says that its process began; NULL: there are not so many.
const char *seep_event_rests_path(const struct seep_event_rests *rests, size_t i,
                                  int64_t *ret_start_realtime_ns);

#endif
