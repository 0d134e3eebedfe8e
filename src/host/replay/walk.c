// SPDX-License-Identifier: BSD-2-Clause
// Walks through the events of a process, see walk.h.
#include <inttypes.h>

#include "replay/walk.h"
#include "base/shown_text.h"

static struct seep_error *walk(struct seep_event_file *file, struct seep_profile *profile, void *data,
                               struct seep_error *(*step)(void *, const struct seep_recorded *, int64_t)) {
    const struct seep_process *process = &profile->process;
    uint64_t nr_events = 0;
    for (;;) {
        const struct seep_chunk *chunk;
        struct seep_error *error = seep_event_file_next(file, &chunk);
        if (!error && !chunk)
            error = seep_event_file_note(file, profile);
        if (!error && !chunk)
            error = seep_event_file_note_dropped(file, nr_events, profile);
        if (error || !chunk)
            return error;
        if (!seep_process_is(process, chunk->pid, chunk->start_realtime_ns))
            continue;
        const struct seep_recorded *events = seep_event_file_events(file);
        nr_events += chunk->nr_events;
        struct seep_chunk_scale scale = seep_chunk_scale_of(chunk);
        for (uint64_t i = 0; !error && i < chunk->nr_events; i++)
            error = step(data, &events[i], seep_chunk_scaled_ns(&scale, events[i].stamp));
        if (error)
            return error;
    }
}

struct seep_error *seep_walk_events(const char *path, struct seep_profile *profile, void *data,
                                    struct seep_error *(*step)(void *, const struct seep_recorded *,
                                                               int64_t)) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    if (!error)
        error = walk(file, profile, data, step);
    seep_event_file_close(file);
    return error;
}

struct seep_error *seep_walk_choose(const struct seep_session *session, uint64_t pid, const char *path,
                                    struct seep_profile **ret_profile) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (!pid || session->profiles[i]->process.pid == pid) {
            *ret_profile = session->profiles[i];
            return NULL;
        }
    return seep_shell_hint(
        seep_error_create(SEEP_E_NOT_FOUND, "%s: there is no process %" PRIu64 " in it", path, pid),
        "'seep report", path, "' lists its processes");
}
