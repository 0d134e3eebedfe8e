// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of a recording: the EVENTS section of a trace (docs/trace-format.md). Each is decoded by itself.
// Columns, in which a model of the program says most of what comes: the site after the last two, the size of
// the site, the address that was freed last or lies behind the last; a free names its allocation.
#ifndef SEEP_FILE_EVENT_CHUNK_H
#define SEEP_FILE_EVENT_CHUNK_H

#include "base/error.h"
#include "base/records.h"
#include "profile/recorded_events.h"

#define SEEP_CHUNK_VERSION 2u // of the section, as it is written; 1 is read too
#define SEEP_CHUNK_COLUMNS 15

// Where the columns begin in what was put.
struct seep_chunk_starts {
    size_t at[SEEP_CHUNK_COLUMNS];
};

// What chunks are made and read with, one after the other. NULL: out of memory.
struct seep_chunk_packer *seep_chunk_packer_create(void);
void seep_chunk_packer_destroy(struct seep_chunk_packer *packer);
struct seep_chunk_unpacker *seep_chunk_unpacker_create(void);
void seep_chunk_unpacker_destroy(struct seep_chunk_unpacker *unpacker);

// In the order of `events`, of which a chunk has at most SEEP_CHUNK_EVENTS. false: out of memory.
SEEP_MUST_CHECK bool seep_chunk_put(struct seep_chunk_packer *packer, struct seep_put *put,
                                    const struct seep_chunk *chunk, const struct seep_recorded *events,
                                    struct seep_chunk_starts *ret_starts);
// The same as a section of a trace; `scratch` is emptied first.
struct seep_trace_writer;
SEEP_MUST_CHECK struct seep_error *seep_chunk_write(struct seep_trace_writer *writer,
                                                    struct seep_chunk_packer *packer,
                                                    struct seep_put *scratch, const struct seep_chunk *chunk,
                                                    const struct seep_recorded *events);
// What it begins with, and then the events themselves: room for chunk.nr_events, which is at most
// SEEP_CHUNK_EVENTS. false: damaged.
SEEP_MUST_CHECK bool seep_chunk_take(struct seep_take *take, struct seep_chunk *ret_chunk);
SEEP_MUST_CHECK bool seep_chunk_take_events(struct seep_chunk_unpacker *unpacker, struct seep_take *take,
                                            unsigned version, const struct seep_chunk *chunk,
                                            struct seep_recorded *ret_events);
SEEP_MUST_CHECK bool seep_chunk_take_events_v1(struct seep_take *take, const struct seep_chunk *chunk,
                                               struct seep_recorded *ret_events);

// When it was, from the start of the process's image.
int64_t seep_chunk_ns(const struct seep_chunk *chunk, uint64_t stamp);

// The same for many events of a chunk, without a division for each.
struct seep_chunk_scale {
    uint64_t stamp;
    double at_ns;
    double ns_per_stamp; // 0: the stamps say nothing of the time
};
struct seep_chunk_scale seep_chunk_scale_of(const struct seep_chunk *chunk);

// As seep_chunk_ns: nanoseconds from the start of the image, never negative, at most INT64_MAX.
static inline int64_t seep_chunk_scaled_ns(const struct seep_chunk_scale *scale, uint64_t stamp) {
    double at = scale->at_ns + (double)(int64_t)(stamp - scale->stamp) * scale->ns_per_stamp;
    return at <= 0 ? 0 : at >= 9e18 ? INT64_MAX : (int64_t)at;
}

#endif
