// SPDX-License-Identifier: BSD-2-Clause
// Takes the events of a process out of its rings into a queue for each thread, see recorder_parts.h.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/recorder_parts.h"

enum {
    SURE_EVENTS = 1 << 20, // of a process that the tool may hold, whatever the size of its image
    // Where rings have events: a thread that begins to do nothing but allocate fills a small ring in less
    // than a millisecond, and one of the full size in five. A process that exits waits for the next pass.
    NAP_MOST_NS = 2000000,
};

// How many events all rings of the process can hold. An event that the tool holds is still in its ring,
// because the library does not overwrite it. So events beyond this number are false, and count as lost.
static size_t most_events(const struct seep_recorded_process *process) {
    struct stat status;
    uint64_t bytes = fstat(process->fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
    return SEEP_MAX((size_t)(bytes / sizeof(struct seep_event)), (size_t)SURE_EVENTS);
}

static bool is_too_many(const struct seep_recorded_process *process, size_t nr) {
    return process->nr_events + nr > SURE_EVENTS && process->nr_events + nr > most_events(process);
}

void seep_recorded_process_trim(struct seep_recorded_process *process) {
    if (process->nr_room <= 4 * (size_t)SURE_EVENTS || process->nr_room <= 4 * most_events(process))
        return;
    for (size_t slot = 0; slot < process->nr_queues; slot++) {
        struct seep_recorder_queue *queue = &process->queues[slot];
        if (queue->first < queue->end)
            continue;
        free(queue->events);
        process->nr_room -= queue->capacity;
        *queue = (struct seep_recorder_queue){.last_stamp = queue->last_stamp};
    }
}

// Room for so many more at the end of a queue. false: out of memory.
static bool make_room(struct seep_recorded_process *process, size_t slot, size_t nr) {
    if (slot >= process->nr_queues) {
        if (!seep_grow(&process->queues, &process->queues_capacity, slot + 1, sizeof(*process->queues)))
            return false;
        memset(process->queues + process->nr_queues, 0,
               (slot + 1 - process->nr_queues) * sizeof(*process->queues));
        process->nr_queues = slot + 1;
    }
    struct seep_recorder_queue *queue = &process->queues[slot];
    if (queue->first) {
        memmove(queue->events, queue->events + queue->first,
                (queue->end - queue->first) * sizeof(*queue->events));
        queue->end -= queue->first;
        queue->first = 0;
    }
    process->nr_room -= queue->capacity;
    bool fits = seep_grow(&queue->events, &queue->capacity, queue->end + nr, sizeof(*queue->events));
    process->nr_room += queue->capacity;
    return fits;
}

void seep_recorded_process_forget(struct seep_recorded_process *process) {
    for (size_t slot = 0; slot < process->nr_queues; slot++)
        process->queues[slot].first = process->queues[slot].end = 0;
    process->nr_events = 0;
}

size_t seep_recorded_process_drop(struct seep_recorded_process *process, bool over) {
    size_t sum = 0;
    for (size_t slot = 0; slot < process->rings.nr_rings; slot++) {
        size_t nr = seep_event_rings_waiting(&process->rings, slot, over);
        process->rings.rings[slot].read += nr;
        if (process->rings.rings[slot].off)
            seep_event_rings_done(&process->rings, slot, 0);
        sum += nr;
    }
    process->nr_unwritten += sum + process->nr_events;
    seep_recorded_process_forget(process);
    return sum;
}

// During a nap a ring at its present rate fills by at most a quarter, and not beyond half full with the
// events that the tool still holds. In the first round it fills at most half of the prepared pages. Each pass
// takes a dozen system calls, and takes processor time from the program if the tool has no processor of its
// own.
static void plan_nap(struct seep_recorder *recorder, const struct seep_event_ring *ring, size_t nr,
                     size_t nr_held, int64_t since_ns) {
    uint64_t half = ring->capacity / 2;
    uint64_t room = SEEP_MIN(SEEP_MAX(half - SEEP_MIN((uint64_t)nr_held, half), half / 4), half / 2);
    if (ring->read < ring->capacity && ring->prepared > ring->read)
        room = SEEP_MIN(room, (ring->prepared - ring->read) / 2);
    int64_t nap_ns = (int64_t)((double)since_ns * (double)room / (double)nr);
    recorder->nap_ns = SEEP_MIN(recorder->nap_ns, SEEP_MIN(nap_ns, (int64_t)NAP_MOST_NS));
}

void seep_recorded_process_take(struct seep_recorder *recorder, struct seep_recorded_process *process,
                                bool over) {
    int64_t now_ns = seep_monotonic_ns(), since_ns = now_ns - process->passed_ns;
    process->passed_ns = now_ns;
    process->pressed = false;
    for (size_t slot = 0; slot < process->rings.nr_rings; slot++) {
        size_t nr = seep_event_rings_waiting(&process->rings, slot, over);
        if (is_too_many(process, nr)) {
            process->rings.rings[slot].read += nr;
            process->nr_unwritten += nr;
            continue;
        }
        if (nr && !make_room(process, slot, nr)) {
            seep_recording_fail(&recorder->out, seep_error_no_memory());
            continue;
        }
        struct seep_recorder_queue *queue = slot < process->nr_queues ? &process->queues[slot] : NULL;
        if (nr)
            nr = seep_event_rings_take(&process->rings, slot, queue->events + queue->end, nr, over);
        // What is of one event stays together.
        if (nr > 1 && SEEP_EVENT_KIND(queue->events[queue->end + nr - 1]) == SEEP_EVENT_WIDE) {
            process->rings.rings[slot].read--;
            nr--;
        }
        if (nr) {
            queue->end += nr;
            process->nr_events += nr;
            process->latest = SEEP_MAX(process->latest, SEEP_EVENT_STAMP(queue->events[queue->end - 1]));
            plan_nap(recorder, &process->rings.rings[slot], nr, queue->end - queue->first, since_ns);
        }
        process->pressed |= queue && (queue->end - queue->first) * 2 > process->rings.rings[slot].capacity;
    }
    // A thread waits or will soon, and what this pass may not write yet the next one may.
    if (process->pressed)
        recorder->nap_ns = 0;
}

bool seep_recorded_process_is_over(const struct seep_recorded_process *process) {
    if (kill((pid_t)process->life.chunk.pid, 0) && errno == ESRCH)
        return true;
    struct seep_image_head head;
    return !seep_image_head_try(process->fd, &head);
}

void seep_recorded_process_destroy(struct seep_recorded_process *process) {
    seep_recorded_life_deinit(&process->life);
    seep_event_rings_deinit(&process->rings);
    if (process->fd >= 0)
        close(process->fd);
    for (size_t i = 0; i < process->nr_queues; i++)
        free(process->queues[i].events);
    free(process->queues);
    free(process->left_out);
    free(process);
}
