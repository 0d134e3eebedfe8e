// SPDX-License-Identifier: BSD-2-Clause
//
// What the summary of a view is about: the rows that have most of what is lost, of what is live, of the peak,
// of what was freed at once, and of all allocations, whatever the order of the rows is; and what the rows
// with cut stacks come to.
#include "base/sum.h"
#include "view/view_build.h"

static uint64_t positive(int64_t value) {
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t value_of(enum seep_lead lead, const struct seep_view_row *row) {
    bool suppressed = row->suppressed_blocks && row->suppressed_blocks >= row->live_blocks;
    switch (lead) {
    case SEEP_LEAD_LEAKED:
        return row->owned.bytes;
    case SEEP_LEAD_LIVE:
        return row->known & SEEP_KNOWN_LIVE && !suppressed ? positive(row->live_bytes) : 0;
    case SEEP_LEAD_PEAK:
        return row->known & SEEP_KNOWN_AT_PEAK ? row->counters.at_peak_bytes : 0;
    case SEEP_LEAD_TEMPORARY:
        return row->known & SEEP_KNOWN_TEMPORARY ? row->counters.temporary : 0;
    case SEEP_LEAD_ALLOCATED:
        return row->counters.allocations;
    default:
        return 0;
    }
}

static void offer(struct seep_view_leaders *leaders, const struct seep_view_row *row, uint64_t value) {
    if (!value)
        return;
    leaders->nr_rows_all++;
    seep_add_up(&leaders->all, value);
    size_t at = leaders->nr_rows;
    while (at && leaders->values[at - 1] < value)
        at--;
    if (at == SEEP_VIEW_LEADERS)
        return;
    leaders->nr_rows = SEEP_MIN(leaders->nr_rows + 1, (size_t)SEEP_VIEW_LEADERS);
    for (size_t i = leaders->nr_rows - 1; i > at; i--) {
        leaders->rows[i] = leaders->rows[i - 1];
        leaders->values[i] = leaders->values[i - 1];
    }
    leaders->rows[at] = *row;
    leaders->values[at] = value;
}

void seep_view_build_leaders(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    if (view->options.by != SEEP_BY_SITE)
        return;
    for (size_t i = 0; i < build->nr_rows; i++) {
        const struct seep_view_row *row = &build->rows[i];
        for (int lead = 0; lead < SEEP_LEAD_NR; lead++)
            offer(&view->leaders[lead], row, value_of((enum seep_lead)lead, row));
        if (row->cut >= 0) {
            seep_add_up(&view->cut_allocations, row->counters.allocations);
            seep_add_up(&view->cut_live_bytes, positive(row->live_bytes));
        }
    }
}
