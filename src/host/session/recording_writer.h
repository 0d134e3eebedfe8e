// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the sections of a recording into its trace: chunks of events, the stacks and sites that these refer
// to, sums, newly resident pages, and at the end the index. The recorder decides which events a chunk has.
//
// Invariants
//  - What an event refers to is in the trace before the event.
//  - After an error nothing is written.
#ifndef SEEP_SESSION_RECORDING_WRITER_H
#define SEEP_SESSION_RECORDING_WRITER_H

#include "file/event_chunk.h"
#include "file/event_file.h"
#include "file/trace.h"
#include "session/rebuilt_heap.h"
#include "session/residence.h"
#include "source/image/event_rings.h"
#include "source/image/event_stacks_image.h"
#include "source/run/run.h"

// The sums of the events of a process so far, written now and then (file/event_sums.h).
struct seep_life_sums {
    struct seep_rebuilt_heap heap; // counts only
    bool begun;
    uint64_t nr_summed; // events, when the last were written
    int64_t most_ns;
    uint64_t nr_written; // sites in all sections since the last that was whole
    bool is_in_file;
};

// Where a chunk is, and its first event and end.
struct seep_chunk_place {
    uint64_t off;
    uint64_t from_ns;
    uint64_t until_ns;
};

struct seep_kept_chunks {
    struct seep_trace_span *spans; // of chunks in the file: a ring
    size_t first;
    size_t nr;
    size_t capacity;
    uint64_t bytes;
};

// A process, and the part of it that the trace has.
struct seep_recorded_life {
    struct seep_image_stacks stacks; // what events refer to
    struct seep_chunk chunk;         // the fields that stay: pid, start
    uint64_t start_ns;               // CLOCK_MONOTONIC of the image's start
    uint16_t machine;                // EM_*
    struct seep_life_sums summing;   // not with keep_bytes
    struct seep_residence residence;
    struct seep_chunk_clock clock; // when the last chunk was written
    int64_t sealed_ns;             // the same, CLOCK_MONOTONIC
};
// `fd` is borrowed, of the image; `head` is its beginning.
void seep_recorded_life_init(struct seep_recorded_life *life, const struct seep_run_image *image, int fd,
                             const struct seep_image_head *head);
void seep_recorded_life_deinit(struct seep_recorded_life *life);

// Of one thread at a time.
struct seep_recording_writer {
    struct seep_trace_writer *trace; // owned; NULL: not yet
    struct seep_error *error;        // owned; the first
    uint64_t keep_bytes;             // of chunks: the latest of them; 0: all
    struct seep_chunk_packer *packer;
    struct seep_put put;
    struct seep_kept_chunks kept;    // with keep_bytes
    struct seep_chunk_place *placed; // without
    size_t nr_placed;
    size_t placed_capacity;
    struct seep_event_sums_place *sums;
    size_t nr_sums;
    size_t sums_capacity;
};
// false: out of memory.
SEEP_MUST_CHECK bool seep_recording_writer_init(struct seep_recording_writer *out, uint64_t keep_bytes);
void seep_recording_writer_deinit(struct seep_recording_writer *out);

// Keeps the error if it is the first; takes it in either case.
void seep_recording_fail(struct seep_recording_writer *out, struct seep_error *error);

// Writes which process it is.
SEEP_MUST_CHECK struct seep_error *seep_recording_write_process(struct seep_recording_writer *out,
                                                                struct seep_recorded_life *life);
// Writes events of one process in the order of their stamps, and before them the stacks and sites that they
// refer to. At most SEEP_CHUNK_EVENTS. With keep_bytes the oldest chunks are cut off the trace. An error is
// kept in `out`.
void seep_recording_write_chunk(struct seep_recording_writer *out, struct seep_recorded_life *life,
                                const struct seep_recorded *events, size_t nr);
// Writes the residence that was gathered since the last call. An error is kept in `out`.
void seep_recording_write_residence(struct seep_recording_writer *out, struct seep_recorded_life *life);
// Writes the last sums of a process that has ended; they give the time of its peak. An error is kept in
// `out`.
void seep_recording_end_sums(struct seep_recording_writer *out, struct seep_recorded_life *life);
// Writes the index of all chunks and sums. With keep_bytes it shortens the trace to the kept chunks.
SEEP_MUST_CHECK struct seep_error *seep_recording_write_index(struct seep_recording_writer *out);

#endif
