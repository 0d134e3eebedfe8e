// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of the recorder share. It belongs to the recorder's thread, except the members that the lock
// guards.
#ifndef SEEP_SESSION_RECORDER_PARTS_H
#define SEEP_SESSION_RECORDER_PARTS_H

#include <pthread.h>

#include "session/recorder.h"
#include "session/recording_writer.h"
#include "source/image/event_rings.h"

// Events of one thread that were taken and not yet written, in the order of their stamps.
struct seep_recorder_queue {
    struct seep_event *events;
    size_t first;
    size_t end;
    size_t capacity;
    uint64_t last_stamp; // of what is in the trace
};

struct seep_recorded_process {
    char *left_out; // why the events that its library wrote alone are missing; NULL: they are not
    struct seep_event_rings rings;
    int fd;
    bool is_named; // the file says which process it is
    struct seep_recorded_life life;
    struct seep_recorder_queue *queues; // by slot
    size_t nr_queues;
    size_t queues_capacity;
    size_t nr_events;       // in all of them
    size_t nr_room;         // events that there is room for in all of them
    uint64_t nr_unwritten;  // events that were taken, and that an error has kept out of the trace
    bool pressed;           // a ring is half full of what is not written yet
    uint64_t latest_before; // stamp: the latest that there was a pass ago
    uint64_t latest;
    int64_t passed_ns; // when the rings were read last
};

// Of a process that has ended and whose events are all written.
struct seep_ended_process {
    uint32_t pid;
    int64_t start_realtime_ns;
    char *left_out; // as of the process
    uint64_t nr_unwritten;
    struct seep_rebuilt_peak peak;
    bool has_peak;
};

struct seep_recorder {
    struct seep_recorder_options options;
    pthread_t thread;
    bool started;
    bool begun;                          // the trace, or it failed
    pthread_mutex_t lock;                // guards the members below, up to the next comment
    struct seep_recorded_process *fresh; // new processes that the thread has not seen
    size_t nr_fresh;
    size_t fresh_capacity;
    bool stop;
    bool look_for_ended;
    pthread_cond_t came; // one of these
    // Of the thread alone, and of the one that has joined it.
    struct seep_recorded_process **processes;
    size_t nr_processes;
    size_t capacity;
    struct seep_ended_process *ended;
    size_t nr_ended;
    size_t ended_capacity;
    struct seep_recording_writer out;
    struct seep_recorded *chunk; // SEEP_CHUNK_EVENTS
    uint32_t *heap;              // slots of the process at hand, the one with the lowest stamp first
    size_t heap_capacity;
    uint64_t beat;
    int64_t nap_ns; // until the next pass, from the rates of the rings
};
#define SEEP_RECORDER_NAP_MOST_NS 5000000

// ---- recorded_process.c: from the rings into the queues ----

// Takes what is in the rings of all threads of a process, and lowers nap_ns. `over`: the process has ended.
// Lack of memory is kept in `out`.
void seep_recorded_process_take(struct seep_recorder *recorder, struct seep_recorded_process *process,
                                bool over);
// After an error nothing more is written. So that threads do not wait, the events in the rings and queues are
// taken as lost. Returns how many events were in the rings.
size_t seep_recorded_process_drop(struct seep_recorded_process *process, bool over);
// Forgets events that were taken and not written: they are in the library's file, or still in the rings.
void seep_recorded_process_forget(struct seep_recorded_process *process);
// Frees the memory of empty queues, because one slot after another may have had many events.
void seep_recorded_process_trim(struct seep_recorded_process *process);
// Whether the process has ended, or its image cannot be read any more.
bool seep_recorded_process_is_over(const struct seep_recorded_process *process);
// Frees the process and its queues, and closes the descriptor of its image.
void seep_recorded_process_destroy(struct seep_recorded_process *process);

// ---- recorder_order.c: from the queues into chunks ----

// Writes the events of all queues up to a stamp, in their order: when it is time, or when they are many. Up
// to that stamp the queues are complete. `all`: writes all events now. An error is kept in `out`.
void seep_recorder_seal(struct seep_recorder *recorder, struct seep_recorded_process *process, uint64_t up_to,
                        bool all);
// Writes a chunk. An error is kept in `out`.
void seep_recorder_write_chunk(struct seep_recorder *recorder, struct seep_recorded_process *process,
                               const struct seep_recorded *events, size_t nr);
// Takes all *ret_nr events of a queue, in the form of chunks, malloc'ed. NULL: out of memory.
struct seep_recorded *seep_recorder_unpack_queue(struct seep_recorder_queue *queue, uint32_t slot,
                                                 size_t *ret_nr);
// Tells threads that wait for room that the recorder makes progress.
void seep_recorder_beat(struct seep_recorder *recorder);

// ---- recorder_rest.c ----

// Writes the last events of a process that has ended: those of its queues and, where its library has taken
// over, those of the file that it left.
void seep_recorder_finish_process(struct seep_recorder *recorder, struct seep_recorded_process *process);

#endif
