// SPDX-License-Identifier: BSD-2-Clause
// A file of events as outputs want it, see events_of.h.
#include <stdlib.h>

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

static struct seep_error *open_again(void *data, void **ret_data) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_again(data, &file);
    *ret_data = file;
    return error;
}

static void close_file(void *data) {
    seep_event_file_close(data);
}

struct seep_event_source seep_events_of(struct seep_event_file *file) {
    return (struct seep_event_source){.data = file,
                                      .rewind = rewind_events,
                                      .next = file ? next_chunk : NULL,
                                      .time = seep_chunk_ns,
                                      .again = open_again,
                                      .close = close_file};
}

// Indexed by the profile of the process.
static struct seep_error *count_events(struct seep_event_file *file, const struct seep_session *session,
                                       uint64_t *ret_counts) {
    struct seep_error *error = seep_event_file_rewind(file);
    const struct seep_chunk *chunk = NULL;
    while (!error && !(error = seep_event_file_next(file, &chunk)) && chunk) {
        size_t i =
            seep_profiles_find(session->profiles, session->nr_profiles, chunk->pid, chunk->start_realtime_ns);
        if (i < session->nr_profiles)
            ret_counts[i] += chunk->nr_events;
    }
    return error;
}

struct seep_error *seep_events_note_dropped(struct seep_event_file *file, struct seep_session *session) {
    if (seep_event_file_is_whole(file))
        return NULL;
    uint64_t *counts = calloc(session->nr_profiles, sizeof(*counts));
    struct seep_error *error = counts ? count_events(file, session, counts) : seep_error_no_memory();
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = seep_event_file_note_dropped(file, counts[i], session->profiles[i]);
    free(counts);
    return error;
}
