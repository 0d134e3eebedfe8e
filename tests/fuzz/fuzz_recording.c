// SPDX-License-Identifier: BSD-2-Clause
//
// A recording of any bytes, as far as its user goes: its chunks in order and by its index, the history with pages,
// the plan of a replay, moments and what came between two of them, the ages of its end, and a smaller one. Besides
// not crashing: what it says of numbers and times is kept.
// Checksums are put right, or nearly every input would end at the door.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/diff.h"
#include "file/event_file.h"
#include "file/session_file.h"
#include "replay/plan.h"
#include "session/recording_history.h"
#include "session/recording_rebuild.h"
#include "session/session_at_mark.h"
#include "session/shrink.h"
#include "fuzz.h"
#include "trace_repair.h"

#define ALL_NS INT64_MAX

// The chunks from where the file is.
static void read_chunks(struct seep_event_file *file) {
    const struct seep_chunk *chunk;
    struct seep_error *error;
    while (!(error = seep_event_file_next(file, &chunk)) && chunk)
        MUST(chunk->nr_events <= SEEP_CHUNK_EVENTS && seep_event_file_events(file));
    seep_error_destroy(error);
}

static void read_file(const char *path) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_event_file_open(path, &file);
    MUST(!error != !file);
    seep_error_destroy(error);
    if (!file)
        return;
    read_chunks(file);
    seep_event_file_is_whole(file);
    seep_event_file_trouble(file);
    error = seep_event_file_seek(file, 0, ALL_NS);
    if (!error)
        read_chunks(file); // an index may lead behind what ended the recording: that is its own lie
    seep_error_destroy(error);
    error = seep_event_file_rewind(file);
    if (!error) {
        uint32_t type = 1;
        struct seep_take take;
        while (type && !error)
            error = seep_event_file_section(file, &type, &take);
    }
    seep_error_destroy(error);
    seep_event_file_close(file);
}

static void use(const char *path, const uint8_t *data, size_t size) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_load_bytes(data, size, path, &session);
    seep_error_destroy(error);
    if (!session)
        return;
    const struct seep_history_options options = {.nr_bins = 7, .pages = true};
    struct seep_history *histories = NULL;
    error = seep_histories_make(session, path, &options, &histories);
    MUST(!error == !!histories);
    seep_error_destroy(error);
    seep_histories_destroy(histories, session);
    struct seep_plan plan;
    const struct seep_plan_options how = {.exact = size % 2, .at_speed = size % 3 == 0};
    error = seep_plan_make(path, session, &how, &plan);
    if (!error) {
        MUST(plan.nr_threads <= SEEP_PLAN_THREADS_MAX && plan.nr_calls <= SEEP_PLAN_EVENTS_MAX);
        seep_plan_deinit(&plan);
    }
    seep_error_destroy(error);
    error = seep_history_snapshots(session, path, 5, NULL);
    seep_error_destroy(error);
    seep_session_destroy(session);
}

// NULL: the recording has no such moment.
static struct seep_session *session_at(const char *path, const uint8_t *data, size_t size, const char *when,
                                       bool counts_only) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_load_bytes(data, size, path, &session);
    if (!error)
        error = seep_at_mark_go_in(session, path, when, counts_only);
    for (size_t p = 0; !error && p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++)
            MUST(session->profiles[p]->blocks[i].age_ns >= 0 || !seep_rebuild_is_recording(path));
    if (error) {
        seep_session_destroy(session);
        session = NULL;
    }
    seep_error_destroy(error);
    return session;
}

static void go_to_moments(const char *path, const uint8_t *data, size_t size) {
    static const char *const times[] = {"1ns", "1500us", "3s", "2500000h"};
    static const char *const others[] = {"900us", "peak", "1", "exit"}; // a time, a snapshot, a mark
    struct seep_session *before = session_at(path, data, size, times[size % 4], size % 3 == 0);
    struct seep_session *after = session_at(path, data, size, others[size / 4 % 4], size % 3 == 1);
    struct seep_diff *diff = NULL;
    const struct seep_view_options options = {.top = 5};
    if (before && after) {
        struct seep_error *error = seep_diff_create(before, after, NULL, &options, &diff);
        MUST(!error == !!diff);
        seep_error_destroy(error);
    }
    seep_diff_destroy(diff);
    seep_session_destroy(before);
    seep_session_destroy(after);
    struct seep_session *end = NULL;
    struct seep_error *error = seep_session_load_bytes(data, size, path, &end);
    if (!error)
        error = seep_rebuild_births(end, path);
    seep_error_destroy(error);
    seep_session_destroy(end);
    end = NULL;
    error = seep_rebuild_recover(path, &end);
    MUST(!error == !!end);
    seep_error_destroy(error);
    seep_session_destroy(end);
}

static void shrink(const char *path) {
    char output[64];
    snprintf(output, sizeof(output), "/tmp/fuzz-shrunk.%ld", (long)getpid());
    struct seep_shrunk shrunk;
    struct seep_error *error = seep_shrink(&path, 1, output, false, &shrunk);
    if (!error)
        MUST(shrunk.nr_kept <= shrunk.nr_events && unlink(output) == 0);
    seep_error_destroy(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    MUST(copy);
    if (size)
        memcpy(copy, data, size);
    trace_repair(copy, size);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    read_file(path);
    use(path, copy, size);
    go_to_moments(path, copy, size);
    shrink(path);
    close(fd);
    free(copy);
    return 0;
}
