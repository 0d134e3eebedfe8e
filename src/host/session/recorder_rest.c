// SPDX-License-Identifier: BSD-2-Clause
// The last events of an ended process, also those that its library wrote itself after it took over from the
// recorder. See recorder_parts.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/opener.h"
#include "confine/untrusted.h"
#include "session/recorder_parts.h"
#include "source/image/event_alone.h"

// The file that it left: with its last name, or of a process that was killed with the pid behind.
static char *find_rest(const struct seep_recorder *recorder, const struct seep_recorded_process *process) {
    const struct seep_event_rings *rings = &process->rings;
    char *name = recorder->options.rest ? seep_event_rings_rest(rings, recorder->options.rest) : NULL;
    char *longer = NULL;
    if (!name || access(name, F_OK) == 0)
        return name;
    if (asprintf(&longer, "%s.%u", name, rings->head.header.pid) < 0 || access(longer, F_OK) != 0) {
        free(longer);
        longer = NULL;
    }
    free(name);
    return longer;
}

static struct seep_error *merge_rest(struct seep_recorder *recorder, struct seep_recorded_process *process,
                                     struct seep_event_alone *alone) {
    struct seep_error *error = NULL;
    for (uint32_t slot = 0; !error && slot < process->nr_queues; slot++) {
        size_t nr;
        struct seep_recorded *events = seep_recorder_unpack_queue(&process->queues[slot], slot, &nr);
        if (!events || !seep_event_alone_add_ring(alone, slot, events, nr))
            error = seep_error_no_memory();
        free(events);
    }
    process->nr_events = 0;
    if (!error)
        error = seep_event_alone_rewind(alone);
    while (!error && !recorder->out.error) {
        struct seep_chunk chunk;
        size_t nr = 0;
        error = seep_event_alone_next(alone, &chunk, recorder->chunk);
        if (error || !chunk.nr_events)
            break;
        for (size_t i = 0; i < chunk.nr_events; i++) { // what we wrote before it took over is in both
            const struct seep_recorded *event = &recorder->chunk[i];
            if (event->slot >= process->nr_queues || event->stamp > process->queues[event->slot].last_stamp)
                recorder->chunk[nr++] = *event;
        }
        if (nr)
            seep_recorder_write_chunk(recorder, process, recorder->chunk, nr);
    }
    return error;
}

// Of the process, by the owner of its image, or ours: others may write to the folder too.
static int open_rest(const struct seep_recorded_process *process, const char *name) {
    struct stat status, image;
    int fd = seep_open_no_link(name);
    bool is_its = fd >= 0 && fstat(process->rings.fd, &image) == 0 && seep_file_status(fd, &status) &&
                  (status.st_uid == image.st_uid || status.st_uid == geteuid());
    if (fd >= 0 && !is_its) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// The process has ended, and has left a file. Where no ring was taken over all of it is in the image too.
static void add_rest(struct seep_recorder *recorder, struct seep_recorded_process *process, char *name) {
    struct seep_event_alone *alone = NULL;
    struct seep_error *error = NULL;
    int fd = open_rest(process, name);
    if (fd < 0)
        error = seep_error_create(SEEP_E_NOT_FOUND,
                                  "%s: not a file of process %u, which went on recording without us", name,
                                  process->rings.head.header.pid);
    if (!error)
        error = seep_event_alone_create(fd, name, seep_trace_most_bytes(fd), &alone);
    bool is_its = !error && seep_event_alone_start(alone) == process->rings.head.header.start_realtime_ns;
    if (is_its && process->rings.own)
        error = merge_rest(recorder, process, alone);
    else
        seep_recorder_seal(recorder, process, 0, true);
    if (is_its && !error && !recorder->out.error && !seep_event_alone_damaged(alone))
        unlink(name);
    // The file of one process, which may lie, does not end the recording of the others.
    if (error && error->code == SEEP_E_MEMORY) {
        seep_recording_fail(&recorder->out, error);
    } else {
        if (error && process->rings.own)
            process->left_out = strdup(error->message);
        seep_error_destroy(error);
    }
    seep_event_alone_destroy(alone);
    if (fd >= 0)
        close(fd);
}

void seep_recorder_finish_process(struct seep_recorder *recorder, struct seep_recorded_process *process) {
    char *name = find_rest(recorder, process);
    if (name)
        add_rest(recorder, process, name);
    else
        seep_recorder_seal(recorder, process, 0, true);
    free(name);
    seep_recording_end_sums(&recorder->out, &process->life);
}
