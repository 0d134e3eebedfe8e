// SPDX-License-Identifier: BSD-2-Clause
//
// The figures of a row by name and unit, for formats that carry several, or one of choice.
#ifndef SEEP_OUTPUT_MEASURES_H
#define SEEP_OUTPUT_MEASURES_H

#include "view/view.h"

enum seep_measure_id {
    SEEP_MEASURE_LIVE_BYTES,
    SEEP_MEASURE_LIVE_BLOCKS,
    SEEP_MEASURE_ALLOCATED_BYTES,
    SEEP_MEASURE_ALLOCATIONS,
    SEEP_MEASURE_TEMPORARY,
    SEEP_MEASURE_PEAK_BYTES, // at the peak of the process; where that is not kept, at the site's own
    SEEP_MEASURE_LEAKED_BYTES,
    SEEP_MEASURE_NR
};

struct seep_measure {
    enum seep_measure_id id;
    const char *name;  // "live_bytes", as in JSON
    const char *title; // "live bytes"
    bool bytes;        // else a count
};

extern const struct seep_measure seep_measures[SEEP_MEASURE_NR];

// Whether a view has it: without a scan nothing is known of leaks, and peaks of samples are none.
bool seep_measure_is_known(const struct seep_measure *measure, const struct seep_view *view);
// 0 where the row does not know it, or it is net and below 0. At most INT64_MAX, as most formats have it.
uint64_t seep_measure_value(const struct seep_measure *measure, const struct seep_view_row *row);
// What rows of that order are sorted by, or live bytes.
const struct seep_measure *seep_measure_of_sort(int sort);

// The measures of Go's heap profiles by the names that they have there, so that every reader of those knows
// them; lost_space is added where a scan was made.
struct seep_go_type {
    enum seep_measure_id measure;
    const char *type;
    const char *unit;
};
#define SEEP_GO_TYPES_NR 5u
extern const struct seep_go_type seep_go_types[SEEP_GO_TYPES_NR];
bool seep_go_type_is_known(const struct seep_go_type *type, const struct seep_view *view);

#endif
