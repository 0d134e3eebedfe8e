// SPDX-License-Identifier: BSD-2-Clause
// The figures of a row by name, see measures.h.
#include "output/measures.h"

const struct seep_measure seep_measures[SEEP_MEASURE_NR] = {
    {SEEP_MEASURE_LIVE_BYTES, "live_bytes", "live bytes", true},
    {SEEP_MEASURE_LIVE_BLOCKS, "live_blocks", "live blocks", false},
    {SEEP_MEASURE_ALLOCATED_BYTES, "allocated_bytes", "allocated bytes", true},
    {SEEP_MEASURE_ALLOCATIONS, "allocations", "allocations", false},
    {SEEP_MEASURE_TEMPORARY, "temporary", "temporary allocations", false},
    {SEEP_MEASURE_PEAK_BYTES, "peak_bytes", "bytes at the peak", true},
    {SEEP_MEASURE_LEAKED_BYTES, "leaked_bytes", "lost bytes", true},
};

bool seep_measure_is_known(const struct seep_measure *measure, const struct seep_view *view) {
    uint32_t known = view->all.known;
    switch (measure->id) {
    case SEEP_MEASURE_LIVE_BYTES:
    case SEEP_MEASURE_LIVE_BLOCKS:
        return known & SEEP_KNOWN_LIVE && !view->live_is_net;
    case SEEP_MEASURE_ALLOCATED_BYTES:
        return known & SEEP_KNOWN_BYTES;
    case SEEP_MEASURE_ALLOCATIONS:
        return known & SEEP_KNOWN_ALLOCATIONS;
    case SEEP_MEASURE_TEMPORARY:
        return known & SEEP_KNOWN_TEMPORARY;
    case SEEP_MEASURE_PEAK_BYTES:
        return !view->sampled && !view->filtered;
    case SEEP_MEASURE_LEAKED_BYTES:
        for (size_t p = 0; p < view->nr_processes; p++)
            if (view->session->profiles[view->first_process + p]->leaks.known)
                return true;
        return false;
    default:
        return false;
    }
}

static uint64_t value_of(const struct seep_measure *measure, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    switch (measure->id) {
    case SEEP_MEASURE_LIVE_BYTES:
        return row->known & SEEP_KNOWN_LIVE ? (uint64_t)SEEP_MAX(row->live_bytes, (int64_t)0) : 0;
    case SEEP_MEASURE_LIVE_BLOCKS:
        return row->known & SEEP_KNOWN_LIVE ? (uint64_t)SEEP_MAX(row->live_blocks, (int64_t)0) : 0;
    case SEEP_MEASURE_ALLOCATED_BYTES:
        return row->known & SEEP_KNOWN_BYTES ? c->allocated_bytes : 0;
    case SEEP_MEASURE_ALLOCATIONS:
        return row->known & SEEP_KNOWN_ALLOCATIONS ? c->allocations : 0;
    case SEEP_MEASURE_TEMPORARY:
        return row->known & SEEP_KNOWN_TEMPORARY ? c->temporary : 0;
    case SEEP_MEASURE_PEAK_BYTES:
        if (row->known & SEEP_KNOWN_AT_PEAK)
            return c->at_peak_bytes;
        return row->known & SEEP_KNOWN_PEAK ? c->peak_bytes : 0;
    case SEEP_MEASURE_LEAKED_BYTES:
        return (uint64_t)SEEP_MAX(row->leaked_bytes, (int64_t)0);
    default:
        return 0;
    }
}

uint64_t seep_measure_value(const struct seep_measure *measure, const struct seep_view_row *row) {
    return SEEP_MIN(value_of(measure, row), (uint64_t)INT64_MAX);
}

const struct seep_measure *seep_measure_of_sort(int sort) {
    switch (sort) {
    case SEEP_SORT_LEAKED:
        return &seep_measures[SEEP_MEASURE_LEAKED_BYTES];
    case SEEP_SORT_ALLOCATIONS:
        return &seep_measures[SEEP_MEASURE_ALLOCATIONS];
    case SEEP_SORT_BYTES:
        return &seep_measures[SEEP_MEASURE_ALLOCATED_BYTES];
    case SEEP_SORT_PEAK:
        return &seep_measures[SEEP_MEASURE_PEAK_BYTES];
    case SEEP_SORT_TEMPORARY:
        return &seep_measures[SEEP_MEASURE_TEMPORARY];
    case SEEP_SORT_BLOCKS:
        return &seep_measures[SEEP_MEASURE_LIVE_BLOCKS];
    default:
        return &seep_measures[SEEP_MEASURE_LIVE_BYTES];
    }
}

const struct seep_go_type seep_go_types[SEEP_GO_TYPES_NR] = {
    {SEEP_MEASURE_ALLOCATIONS, "alloc_objects", "count"},
    {SEEP_MEASURE_ALLOCATED_BYTES, "alloc_space", "bytes"},
    {SEEP_MEASURE_LIVE_BLOCKS, "inuse_objects", "count"},
    {SEEP_MEASURE_LIVE_BYTES, "inuse_space", "bytes"},
    {SEEP_MEASURE_LEAKED_BYTES, "lost_space", "bytes"},
};

bool seep_go_type_is_known(const struct seep_go_type *type, const struct seep_view *view) {
    return type->measure != SEEP_MEASURE_LEAKED_BYTES ||
           seep_measure_is_known(&seep_measures[type->measure], view);
}
