// SPDX-License-Identifier: BSD-2-Clause
// A file of events as outputs want it, see events_of.h.
#include "command/events_of.h"

static struct seep_error *rewind_events(void *data, int64_t from_ns, int64_t to_ns) {
    return seep_event_file_seek(data, from_ns, to_ns);
}

static struct seep_error *next_chunk(void *data, const struct seep_chunk **ret_chunk,
                                     const struct seep_recorded **ret_events) {
    struct seep_error *error = seep_event_file_next(data, ret_chunk);
    *ret_events = seep_event_file_events(data);
    return error;
}

struct seep_event_source seep_events_of(struct seep_event_file *file) {
    return (struct seep_event_source){
        .data = file, .rewind = rewind_events, .next = file ? next_chunk : NULL, .time = seep_chunk_ns};
}
