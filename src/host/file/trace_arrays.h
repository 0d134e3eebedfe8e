// SPDX-License-Identifier: BSD-2-Clause
//
// The arrays of a profile in a trace: modules, nodes, sites, threads, figures of threads at sites, blocks. An
// array may lie in several sections. They are collected, and become one array after the last.
//
// Invariant: an array is allocated only after its sections were unpacked, for as many elements as their bytes
// can hold. An id is stored only after a bounds check against the array that it points into.
#ifndef SEEP_FILE_TRACE_ARRAYS_H
#define SEEP_FILE_TRACE_ARRAYS_H

#include "base/records.h"
#include "file/trace.h"
#include "profile/profile.h"

struct seep_trace_same; // trace_same.h

// A section of an array, unpacked, that waits until all sections of its type are there.
struct seep_trace_part {
    struct seep_trace_section section;
    unsigned char *raw;
    struct seep_take take; // behind first and count
    uint64_t first;
    uint64_t count;
};

// Zero-initialised it is empty.
struct seep_trace_arrays {
    const struct seep_trace_reader *reader; // borrowed
    struct seep_trace_same *same;           // borrowed: what processes share
    struct seep_profile *profile;           // the process at work, the caller's; NULL: none
    uint32_t type;                          // of the last section of the process
    uint64_t promised[SEEP_TRACE_TYPE_NR];  // elements, by type of section
    uint64_t loaded[SEEP_TRACE_TYPE_NR];    // the same, as far as there
    struct seep_trace_part *parts;          // malloc'ed, all of `type`
    size_t nr_parts;
    size_t parts_capacity;

    // The part at work.
    const struct seep_trace_part *part;
    struct seep_take take;
    uint64_t previous;
};
void seep_trace_arrays_deinit(struct seep_trace_arrays *arrays); // leaves the profile

// Adds a section of one of the arrays, unpacked. Owner: takes `raw` when it succeeds.
SEEP_MUST_CHECK struct seep_error *seep_trace_arrays_add(struct seep_trace_arrays *arrays,
                                                         const struct seep_trace_section *section,
                                                         unsigned char *raw);
// Makes the array of the sections that were added; nothing where there are none. Its memory is the
// profile's, or that of what processes share.
SEEP_MUST_CHECK struct seep_error *seep_trace_arrays_finish(struct seep_trace_arrays *arrays);

// Copies a text of a section into `arena`. *ret_text is NULL where NULL was saved. false: out of memory.
SEEP_MUST_CHECK bool seep_trace_take_text(struct seep_arena *arena, struct seep_take *take,
                                          const char **ret_text);

#endif
