// SPDX-License-Identifier: BSD-2-Clause
// Merges the queues of a process's threads by the stamps of their events, and writes them as chunks, see
// recorder_parts.h.
#include <stdlib.h>

#include "base/clock.h"
#include "base/merge_heap.h"
#include "session/recorder_parts.h"

enum { SEAL_MS = 20 }; // until a chunk is written. A kill of tool and program loses that, and two naps.

void seep_recorder_beat(struct seep_recorder *recorder) {
    recorder->beat++;
    for (size_t i = 0; i < recorder->nr_processes; i++)
        seep_event_rings_beat(&recorder->processes[i]->rings, recorder->beat);
}

void seep_recorder_write_chunk(struct seep_recorder *recorder, struct seep_recorded_process *process,
                               const struct seep_recorded *events, size_t nr) {
    seep_recording_write_chunk(&recorder->out, &process->life, events, nr);
    seep_recorder_beat(recorder);
}

static bool is_known(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION || kind == SEEP_EVENT_KEPT || seep_event_is_free(kind);
}

// The key of a queue in the merge.
static uint64_t first_stamp(const void *of_process, uint32_t slot) {
    const struct seep_recorded_process *process = of_process;
    const struct seep_recorder_queue *queue = &process->queues[slot];
    return queue->first < queue->end ? SEEP_EVENT_STAMP(queue->events[queue->first]) : UINT64_MAX;
}

// The next event of a queue: false where it was none.
SEEP_INLINE bool take_next(struct seep_recorder_queue *queue, uint32_t slot,
                           struct seep_recorded *ret_event) {
    const struct seep_event *event = &queue->events[queue->first++];
    uint64_t wide = 0;
    if (SEEP_EVENT_KIND(*event) == SEEP_EVENT_WIDE && queue->first < queue->end) {
        wide = event->address;
        event = &queue->events[queue->first++];
    }
    *ret_event = (struct seep_recorded){
        .stamp = SEEP_EVENT_STAMP(*event),
        .address = event->address,
        .size = wide ? wide : SEEP_ENTRY_SIZE(event->entry),
        .site = SEEP_ENTRY_SITE(event->entry),
        .slot = slot,
        .kind = SEEP_EVENT_KIND(*event),
    };
    return is_known(ret_event->kind);
}

// What is in the file need not stay in the rings.
static void acknowledge(struct seep_recorded_process *process) {
    for (size_t slot = 0; slot < process->nr_queues; slot++) {
        struct seep_recorder_queue *queue = &process->queues[slot];
        queue->last_stamp =
            queue->first ? SEEP_EVENT_STAMP(queue->events[queue->first - 1]) : queue->last_stamp;
        if (slot < process->rings.nr_rings && process->rings.rings[slot].off)
            seep_event_rings_done(&process->rings, slot, queue->end - queue->first);
    }
}

struct seep_recorded *seep_recorder_unpack_queue(struct seep_recorder_queue *queue, uint32_t slot,
                                                 size_t *ret_nr) {
    struct seep_recorded *events = calloc(queue->end - queue->first + 1, sizeof(*events));
    *ret_nr = 0;
    while (events && queue->first < queue->end)
        *ret_nr += take_next(queue, slot, &events[*ret_nr]);
    return events;
}

// Merges what the threads did up to a stamp into chunks. A part of one is written only when it is `due`.
static void merge(struct seep_recorder *recorder, struct seep_recorded_process *process, uint64_t up_to,
                  bool due) {
    uint32_t *heap = recorder->heap;
    size_t nr_heap = 0, nr = 0;
    for (uint32_t slot = 0; slot < process->nr_queues; slot++)
        if (first_stamp(process, slot) <= up_to)
            heap[nr_heap++] = slot;
    seep_merge_heap_make(heap, nr_heap, first_stamp, process);
    while (nr_heap && first_stamp(process, heap[0]) <= up_to &&
           (due || nr || process->nr_events >= SEEP_CHUNK_EVENTS)) {
        uint64_t limit = up_to; // from there on another thread is first
        for (size_t child = 1; child <= 2 && child < nr_heap; child++)
            limit = SEEP_MIN(limit, first_stamp(process, heap[child]));
        struct seep_recorder_queue *queue = &process->queues[heap[0]];
        size_t before = queue->first;
        while (nr < SEEP_CHUNK_EVENTS && first_stamp(process, heap[0]) <= limit)
            nr += take_next(queue, heap[0], &recorder->chunk[nr]);
        process->nr_events -= queue->first - before;
        seep_merge_heap_sift_down(heap, nr_heap, 0, first_stamp, process);
        if (nr < SEEP_CHUNK_EVENTS)
            continue;
        if (!recorder->out.error)
            seep_recorder_write_chunk(recorder, process, recorder->chunk, nr);
        if (recorder->out.error)
            process->nr_unwritten += nr;
        acknowledge(process);
        nr = 0;
    }
    if (nr && !recorder->out.error)
        seep_recorder_write_chunk(recorder, process, recorder->chunk, nr);
    if (recorder->out.error)
        process->nr_unwritten += nr;
    acknowledge(process);
}

void seep_recorder_seal(struct seep_recorder *recorder, struct seep_recorded_process *process, uint64_t up_to,
                        bool all) {
    bool due = all || process->pressed ||
               seep_monotonic_ns() - process->life.sealed_ns >= SEAL_MS * INT64_C(1000000);
    if (!process->nr_events || (!due && process->nr_events < 2 * SEEP_CHUNK_EVENTS))
        return;
    if (!seep_grow(&recorder->heap, &recorder->heap_capacity, process->nr_queues, sizeof(*recorder->heap)))
        seep_recording_fail(&recorder->out, seep_error_no_memory());
    else
        merge(recorder, process, all ? UINT64_MAX - 1 : up_to, due);
}
