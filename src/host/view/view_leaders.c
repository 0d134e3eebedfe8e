// SPDX-License-Identifier: BSD-2-Clause
//
// What the summary of a view is about: the rows that have most of what is lost, of what is live, of the peak,
// of what was freed at once, and of all allocations, whatever the order of the rows is; and what the rows
// with cut stacks come to.
#include <string.h>

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

// Whether the outermost frame of the stack is a function of the Go runtime, whose assembly changes the stack.
static struct seep_error *ends_in_go(struct seep_stacks *stacks, uint32_t node, bool *ret_ends) {
    *ret_ends = false;
    uint32_t outermost = SEEP_NO_FRAME;
    for (; stacks->nodes[node].frame != SEEP_NO_FRAME; node = stacks->nodes[node].parent)
        outermost = stacks->nodes[node].frame;
    if (outermost == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, outermost, &symbol);
    if (!error && symbol->nr_frames) {
        const char *function = symbol->frames[symbol->nr_frames - 1].function;
        *ret_ends = function && strncmp(function, "runtime.", 8) == 0;
    }
    return error;
}

static struct seep_error *look_for_go(struct seep_view_build *build) {
    bool ends = false;
    for (size_t i = 0; i < build->nr_rows; i++) {
        if (build->rows[i].cut != SEEP_CUT_NO_CFI)
            continue;
        struct seep_error *error = ends_in_go(build->stacks, build->rows[i].node, &ends);
        if (error)
            return error;
        if (!ends)
            break;
    }
    build->view->cut_by_go = ends;
    return NULL;
}

struct seep_error *seep_view_build_leaders(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    if (view->options.by != SEEP_BY_SITE)
        return NULL;
    for (size_t i = 0; i < build->nr_rows; i++) {
        const struct seep_view_row *row = &build->rows[i];
        for (int lead = 0; lead < SEEP_LEAD_NR; lead++)
            offer(&view->leaders[lead], row, value_of((enum seep_lead)lead, row));
        if (row->cut >= 0) {
            seep_add_up(&view->cut_allocations, row->counters.allocations);
            seep_add_up(&view->cut_live_bytes, positive(row->live_bytes));
        }
    }
    return look_for_go(build);
}
