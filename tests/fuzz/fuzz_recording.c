// SPDX-License-Identifier: BSD-2-Clause
//
// A recording of any bytes, as far as its user goes: its chunks in order and by its index, the history with pages,
// the plan of a replay, and its events as text. Besides not crashing: what it says of numbers and times is kept.
// Checksums are put right, or nearly every input would end at the door.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/event_file.h"
#include "file/session_file.h"
#include "replay/plan.h"
#include "session/recording_history.h"
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
    close(fd);
    free(copy);
    return 0;
}
