// SPDX-License-Identifier: BSD-2-Clause
// Drops matched pairs of recordings, see shrink.h.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "file/event_file.h"
#include "file/session_file.h"
#include "profile/anonymize.h"
#include "profile/verdict.h"
#include "session/session_open.h"
#include "session/shrink.h"

// An event that nothing has matched yet, and when it was.
struct kept {
    struct seep_recorded event;
    int64_t at_ns;
    bool gone;
};

struct process {
    uint32_t pid;
    int64_t start_realtime_ns;
    struct kept *kept; // in the order of the events
    size_t nr_kept;
    size_t capacity;
    size_t nr_gone;
    struct seep_map live;  // address to index + 1 in kept
    uint64_t *latest;      // by slot: stamp, of the files before this one
    uint64_t *latest_here; // and of this one too
    size_t nr_slots;
    size_t slots_capacity;
    size_t here_capacity;
    uint64_t seen; // stamp up to which files that were shrunk had all events, of the files before this one
    uint64_t seen_here; // and of this one too
    uint64_t latest_of_all;
    struct seep_profile *profile; // of the last file that has it; the session's
};

struct shrinking {
    struct process *processes;
    size_t nr;
    size_t capacity;
    struct seep_session **sessions; // by path
    size_t nr_sessions;
    struct stat *rests; // files that were read as the end of one of the paths
    size_t nr_rests;
    size_t rests_capacity;
    struct seep_shrunk counts;
};

static struct process *process_of(struct shrinking *shrinking, uint32_t pid, int64_t start_realtime_ns) {
    for (size_t i = 0; i < shrinking->nr; i++)
        if (shrinking->processes[i].pid == pid &&
            shrinking->processes[i].start_realtime_ns == start_realtime_ns)
            return &shrinking->processes[i];
    if (!seep_grow(&shrinking->processes, &shrinking->capacity, shrinking->nr + 1,
                   sizeof(*shrinking->processes)))
        return NULL;
    shrinking->processes[shrinking->nr] =
        (struct process){.pid = pid, .start_realtime_ns = start_realtime_ns};
    return &shrinking->processes[shrinking->nr++];
}

static void shrinking_deinit(struct shrinking *shrinking) {
    for (size_t i = 0; i < shrinking->nr; i++) {
        free(shrinking->processes[i].kept);
        free(shrinking->processes[i].latest);
        free(shrinking->processes[i].latest_here);
        seep_map_deinit(&shrinking->processes[i].live);
    }
    for (size_t i = 0; i < shrinking->nr_sessions; i++)
        seep_session_destroy(shrinking->sessions[i]);
    free(shrinking->sessions);
    free(shrinking->processes);
    free(shrinking->rests);
}

// ---- matching ----------------------------------------------------------------------------------------

// Those that are gone go when they are half of all.
static bool sweep(struct process *process) {
    size_t nr = 0;
    for (size_t i = 0; i < process->nr_kept; i++) {
        if (process->kept[i].gone)
            continue;
        process->kept[nr] = process->kept[i];
        if (!seep_event_is_free(process->kept[nr].event.kind)) {
            uint64_t *place = seep_map_at(&process->live, process->kept[nr].event.address, NULL);
            if (!place)
                return false;
            *place = nr + 1;
        }
        nr++;
    }
    process->nr_kept = nr;
    process->nr_gone = 0;
    return true;
}

static bool keep(struct process *process, const struct seep_recorded *event, int64_t at_ns) {
    enum { SWEEP_FROM = 1 << 16 };
    if (process->nr_kept >= SWEEP_FROM && process->nr_gone * 2 > process->nr_kept && !sweep(process))
        return false;
    if (!seep_grow(&process->kept, &process->capacity, process->nr_kept + 1, sizeof(*process->kept)))
        return false;
    process->kept[process->nr_kept++] = (struct kept){.event = *event, .at_ns = at_ns};
    return true;
}

static bool take(struct process *process, const struct seep_recorded *event, int64_t at_ns) {
    uint64_t *place = seep_map_at(&process->live, event->address, NULL);
    if (!place)
        return false;
    if (seep_event_is_free(event->kind)) {
        if (!*place)
            return keep(process, event, at_ns);
        process->kept[*place - 1].gone = true;
        process->nr_gone++;
        *place = 0;
        return true;
    }
    if (*place) { // handed out twice: its free was never seen
        process->kept[*place - 1].gone = true;
        process->nr_gone++;
        *place = 0;
    }
    if (!keep(process, event, at_ns))
        return false;
    place = seep_map_at(&process->live, event->address, NULL); // the sweep may have moved it
    if (place)
        *place = process->nr_kept;
    return place;
}

static bool make_slots(struct process *process, uint32_t slot) {
    if (slot < process->nr_slots)
        return true;
    if (!seep_grow(&process->latest, &process->slots_capacity, (size_t)slot + 1, sizeof(*process->latest)) ||
        !seep_grow(&process->latest_here, &process->here_capacity, (size_t)slot + 1,
                   sizeof(*process->latest_here)))
        return false;
    process->nr_slots = (size_t)slot + 1;
    return true;
}

static bool take_event(struct shrinking *shrinking, struct process *process,
                       const struct seep_recorded *event, int64_t at_ns) {
    if (!make_slots(process, event->slot))
        return false;
    shrinking->counts.nr_events++;
    if (event->stamp <= SEEP_MAX(process->latest[event->slot], process->seen)) {
        shrinking->counts.nr_repeated++;
        return true;
    }
    process->latest_of_all = SEEP_MAX(process->latest_of_all, event->stamp);
    process->latest_here[event->slot] = SEEP_MAX(process->latest_here[event->slot], event->stamp);
    return take(process, event, at_ns);
}

// Notes which files were read as the end of a trace: `seep shrink app.seep*` names these files, too.
static bool note_rests(struct shrinking *shrinking, const struct seep_event_file *file) {
    int64_t start_ns;
    const char *path;
    for (size_t i = 0; (path = seep_event_file_rest(file, i, &start_ns)); i++) {
        if (!seep_grow(&shrinking->rests, &shrinking->rests_capacity, shrinking->nr_rests + 1,
                       sizeof(*shrinking->rests)))
            return false;
        shrinking->nr_rests += stat(path, &shrinking->rests[shrinking->nr_rests]) == 0;
    }
    return true;
}

// The name of a trace's end begins with the name of the trace. Only a read of the trace tells whether a file
// is its end.
static bool may_be_rest(const char *const *paths, size_t nr_paths, const char *path) {
    bool may = false;
    for (size_t i = 0; i < nr_paths; i++) {
        size_t length = strlen(paths[i]);
        may |= strncmp(path, paths[i], length) == 0 && path[length] == '.';
    }
    return may;
}

static bool is_rest(const struct shrinking *shrinking, const char *path) {
    struct stat about;
    bool is_one = false;
    for (size_t i = 0; i < shrinking->nr_rests && stat(path, &about) == 0; i++)
        is_one |= about.st_dev == shrinking->rests[i].st_dev && about.st_ino == shrinking->rests[i].st_ino;
    return is_one;
}

static struct seep_error *take_file(struct shrinking *shrinking, const char *path,
                                    struct seep_profile *profile) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    while (!error) {
        const struct seep_chunk *chunk;
        error = seep_event_file_next(file, &chunk);
        if (error || !chunk)
            break;
        const struct seep_recorded *events = seep_event_file_events(file);
        struct process *process = process_of(shrinking, chunk->pid, chunk->start_realtime_ns);
        for (uint64_t i = 0; process && i < chunk->nr_events; i++)
            if (!take_event(shrinking, process, &events[i], seep_chunk_ns(chunk, events[i].stamp)))
                process = NULL;
        if (!process)
            error = seep_error_no_memory();
        else if (!chunk->nr_events) // what shrinking has left behind the rest
            process->seen_here = SEEP_MAX(process->seen_here, chunk->end.stamp);
    }
    if (!error && !note_rests(shrinking, file))
        error = seep_error_no_memory();
    if (!error)
        error = seep_event_file_note(file, profile);
    shrinking->counts.nr_damaged += !error && seep_profile_verdict(profile) != SEEP_VERDICT_COMPLETE;
    seep_event_file_close(file);
    for (size_t i = 0; i < shrinking->nr; i++) {
        struct process *process = &shrinking->processes[i];
        process->seen = process->seen_here;
        if (process->nr_slots)
            memcpy(process->latest, process->latest_here, process->nr_slots * sizeof(uint64_t));
    }
    return error;
}

// ---- writing -----------------------------------------------------------------------------------------

static struct seep_error *write_chunk(struct seep_trace_writer *writer, struct seep_chunk_packer *packer,
                                      const struct process *process, struct seep_recorded *events,
                                      uint64_t nr, int64_t first_ns, int64_t last_ns) {
    struct seep_chunk chunk = {
        .pid = process->pid, .start_realtime_ns = process->start_realtime_ns, .nr_events = nr};
    if (nr)
        chunk.begin = (struct seep_chunk_clock){events[0].stamp, (uint64_t)SEEP_MAX(first_ns, INT64_C(0))};
    chunk.end = (struct seep_chunk_clock){nr ? events[nr - 1].stamp
                                             : SEEP_MAX(process->latest_of_all, process->seen_here),
                                          (uint64_t)SEEP_MAX(last_ns, INT64_C(0))};
    for (uint64_t i = 0; i < nr; i++) {
        int64_t size = (int64_t)SEEP_MIN(events[i].size, (uint64_t)INT64_MAX / SEEP_CHUNK_EVENTS);
        chunk.net_bytes += seep_event_is_free(events[i].kind) ? -size : size;
        chunk.most_bytes = SEEP_MAX(chunk.most_bytes, chunk.net_bytes);
    }
    struct seep_put put = {0};
    struct seep_error *error = seep_chunk_write(writer, packer, &put, &chunk, events);
    seep_put_deinit(&put);
    return error;
}

static struct seep_error *write_process(struct shrinking *shrinking, const struct process *process,
                                        struct seep_trace_writer *writer) {
    struct seep_recorded *events = calloc(SEEP_CHUNK_EVENTS, sizeof(*events));
    struct seep_chunk_packer *packer = seep_chunk_packer_create();
    struct seep_error *error = events && packer ? NULL : seep_error_no_memory();
    uint64_t nr = 0;
    int64_t first_ns = 0, last_ns = 0;
    for (size_t i = 0; !error && i < process->nr_kept; i++) {
        if (process->kept[i].gone)
            continue;
        first_ns = nr ? first_ns : process->kept[i].at_ns;
        last_ns = process->kept[i].at_ns;
        events[nr++] = process->kept[i].event;
        shrinking->counts.nr_kept++;
        if (nr == SEEP_CHUNK_EVENTS) {
            error = write_chunk(writer, packer, process, events, nr, first_ns, last_ns);
            nr = 0;
        }
    }
    if (!error && nr)
        error = write_chunk(writer, packer, process, events, nr, first_ns, last_ns);
    // Without events: up to where all were seen.
    if (!error)
        error = write_chunk(writer, packer, process, events, 0, last_ns, last_ns);
    free(events);
    seep_chunk_packer_destroy(packer);
    return error;
}

// The profiles of the last file that has each, in the order in which processes came.
static struct seep_error *gather(struct shrinking *shrinking, struct seep_session *whole) {
    for (size_t s = 0; s < shrinking->nr_sessions; s++) {
        struct seep_session *session = shrinking->sessions[s];
        for (size_t i = 0; i < session->nr_profiles; i++) {
            const struct seep_process *process = &session->profiles[i]->process;
            struct process *of = process_of(shrinking, process->pid, process->start_realtime_ns);
            if (!of)
                return seep_error_no_memory();
            of->profile = session->profiles[i];
        }
    }
    whole->profiles = calloc(shrinking->nr + 1, sizeof(*whole->profiles));
    if (!whole->profiles)
        return seep_error_no_memory();
    for (size_t i = 0; i < shrinking->nr; i++)
        if (shrinking->processes[i].profile)
            whole->profiles[whole->nr_profiles++] = shrinking->processes[i].profile;
    return NULL;
}

static struct seep_error *write_out(struct shrinking *shrinking, const char *output, bool anonymize) {
    struct seep_session whole = {NULL}; // borrows its profiles
    struct seep_trace_writer *writer = NULL;
    struct seep_error *error = gather(shrinking, &whole);
    if (!error && anonymize)
        error = seep_session_anonymize(&whole);
    if (!error)
        error = seep_trace_writer_create(output, &writer);
    for (size_t i = 0; !error && i < shrinking->nr; i++)
        error = write_process(shrinking, &shrinking->processes[i], writer);
    if (!error)
        error = seep_session_save_behind(&whole, output, writer);
    seep_trace_writer_destroy(writer);
    free(whole.profiles);
    return error;
}

static struct seep_error *take_path(struct shrinking *shrinking, const char *path) {
    if (is_rest(shrinking, path))
        return NULL;
    struct seep_session **session = &shrinking->sessions[shrinking->nr_sessions];
    struct seep_error *error = seep_session_open(path, session);
    shrinking->nr_sessions += !error;
    return error ? error : take_file(shrinking, path, (*session)->profiles[0]);
}

struct seep_error *seep_shrink(const char *const *paths, size_t nr_paths, const char *output, bool anonymize,
                               struct seep_shrunk *ret_shrunk) {
    struct shrinking shrinking = {.sessions = calloc(nr_paths, sizeof(struct seep_session *))};
    struct seep_error *error = shrinking.sessions ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr_paths; i++)
        if (!may_be_rest(paths, nr_paths, paths[i]))
            error = take_path(&shrinking, paths[i]);
    for (size_t i = 0; !error && i < nr_paths; i++)
        if (may_be_rest(paths, nr_paths, paths[i]))
            error = take_path(&shrinking, paths[i]);
    if (!error)
        error = write_out(&shrinking, output, anonymize);
    if (!error)
        *ret_shrunk = shrinking.counts;
    shrinking_deinit(&shrinking);
    return error;
}
