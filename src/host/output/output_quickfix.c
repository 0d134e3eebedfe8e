// SPDX-License-Identifier: BSD-2-Clause
//
// A line per site for editors, "file:line: text", as compilers write theirs: vim's :cfile, emacs' M-x compile
// and others lead to the line. The line is that of the innermost frame of the program's own code that has
// one; where a scan was made and no kinds are asked for, only what leaks is there.
#include <stdlib.h>

#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"

static const struct seep_view_frame *place_of(const struct seep_view_frame *frames, size_t nr) {
    const struct seep_view_frame *place = seep_view_blamed(frames, nr);
    return place && place->file && place->line ? place : NULL;
}

static void put_row(FILE *out, const struct seep_view *view, const struct seep_view_row *row,
                    const struct seep_view_frame *frame) {
    uint64_t live = seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BYTES], row);
    uint64_t nr_live = seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BLOCKS], row);
    seep_put_escaped(out, frame->file);
    bool leaks = row->kind == SEEP_KIND_LOST || row->kind == SEEP_KIND_INDIRECT;
    fprintf(out, ":%u: %s: %s", frame->line, leaks ? "error" : "warning", seep_format_bytes(live).text);
    fprintf(out, " in %s block%s %s%s", seep_format_count(nr_live).text, nr_live == 1 ? "" : "s",
            row->kind ? seep_view_partly(row) : "", row->kind ? seep_kind_name(row->kind) : "live");
    if (!nr_live)
        fprintf(out, ", %s allocations", seep_format_count(row->counters.allocations).text);
    fputs(", allocated in ", out);
    seep_put_escaped(out, frame->name ? frame->name : frame->module);
    fprintf(out, " by %s\n", seep_via_name(row->via));
}

static struct seep_error *write_quickfix(FILE *out, struct seep_view *view,
                                         const struct seep_summary *summary) {
    for (size_t i = 0; i < view->nr_rows; i++) {
        const struct seep_view_frame *frames = NULL;
        size_t nr = 0;
        uint32_t more = 0;
        struct seep_error *error = seep_view_frames(view, &view->rows[i], &frames, &nr, &more);
        if (error)
            return error;
        const struct seep_view_frame *frame = place_of(frames, nr);
        if (frame)
            put_row(out, view, &view->rows[i], frame);
    }
    return NULL;
}

const struct seep_output seep_output_quickfix = {
    .name = "quickfix",
    .suffix = ".txt",
    .what = "a line per site as compilers write them, for editors",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_PATHS | SEEP_OUTPUT_LEAKS,
    .write = write_quickfix,
};
